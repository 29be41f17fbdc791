#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws the results that vkgdr-bench saved with --save.

Makes one picture for each table, which is narrow enough for a telephone. Each
line of text has its own place, so that texts do not overlap. The bars of one
case have a common scale. The thin line at the end of a bar goes from the
smallest to the largest sample, if the file has these.
"""

import argparse
import json
import os
import sys
import textwrap

try:
    import matplotlib
    from matplotlib.figure import Figure
except ImportError as error:  # --help works without it
    MISSING = str(error)
else:
    MISSING = None

VERSION = "@VERSION@"

# Lengths are in inches.
WIDTH = 4.5
MARGIN = 0.15
FULL = WIDTH - 2 * MARGIN
LINE = 0.21  # height of a line of text
BAR = 0.12
GAP = 0.12
PLOT_HEIGHT = 3.0
AXIS_LEFT = 0.65  # room for the numbers of an axis
AXIS_BELOW = 0.45
SAMPLE = 0.45  # the line of a curve, in front of its name

# The number of characters in a line, in the widest font that a viewer may choose.
TITLE_COLUMNS = 34
COLUMNS = 48
VALUE_COLUMNS = 10

LESS_IS_BETTER = ("ms", "us/frame")
MEMORY_TITLES = {"to-device": "Copies to the device", "from-device": "Copies from the device"}
SIZE_TICKS = [64, 1 << 10, 16 << 10, 256 << 10, 4 << 20, 64 << 20]

LICENSE = "<!-- SPDX-License-Identifier: LGPL-2.1-or-later -->\n"
STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
    "font.size": 10,
    # The same file always gives the same picture, and its text can be searched.
    "svg.fonttype": "none",
    "svg.hashsalt": "vkgdr-plot",
}
GREY = "#555555"
COLOURS = ("#00a060", "#2060d0", "#d06020", "#a030c0", "#707070", "#c02020", "#009090")
DASHES = ("-", "--", ":")


def format_number(value):
    """Three digits, or all digits in front of the point."""
    digits = next((n for n, least in enumerate((99.95, 9.995, 0.995)) if value >= least), 3)
    return f"{value:.{digits}f}"


def format_size(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size:g} B"


class Sheet:
    """A picture that is filled from the top to the bottom, on axes in inches. Its height is
    only known at the end."""

    def __init__(self, title, unit):
        self.figure = Figure(figsize=(WIDTH, 1))
        self.canvas = self.figure.add_axes([0, 0, 1, 1])
        self.curves = None
        self.y = MARGIN
        self.add_text(title, columns=TITLE_COLUMNS, size=12, weight="bold")
        word = "less" if unit in LESS_IS_BETTER else "more"
        self.add_text(f"{unit}, {word} is better", color=GREY)

    def add_text(self, text, value="", columns=COLUMNS, left=MARGIN, **style):
        """Adds a text of one or more lines. The value is at the right of the last line."""
        if value:
            columns -= max(VALUE_COLUMNS, len(value) + 1)
        # Texts are not formulas, even if they contain signs of formulas.
        style.update(va="center", parse_math=False)
        for line in textwrap.wrap(text, columns):
            self.canvas.text(left, self.y + LINE / 2, line, **style)
            self.y += LINE
        if value:
            self.canvas.text(WIDTH - MARGIN, self.y - LINE / 2, value, ha="right", **style)

    def add_bar(self, color, length, low, high):
        """Adds a bar, and the range of its samples, as parts of the width."""
        y = self.y + BAR / 2
        self.canvas.barh(y, length * FULL, BAR, MARGIN, color=color)
        self.canvas.plot([MARGIN + low * FULL, MARGIN + high * FULL], [y, y], "#111111", lw=1)
        self.y += BAR + GAP / 2

    def add_curves(self, curves):
        """Adds curves, which are (label, points), and their names. Returns their axes."""
        top = self.y = self.y + GAP
        axes = self.figure.add_axes([0, 0, 1, 1])
        axes.grid(color="#dddddd")
        self.y += PLOT_HEIGHT + AXIS_BELOW
        for i, (label, points) in enumerate(curves):
            # If two curves are at the same place, dashes make both visible.
            look = {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)],
                    "linewidth": 2}
            axes.plot(*zip(*points), **look)
            self.canvas.plot([MARGIN, MARGIN + SAMPLE], 2 * [self.y + LINE / 2], **look)
            self.add_text(label, left=MARGIN + SAMPLE + 0.1, columns=COLUMNS - 8)
        self.curves = axes, top
        return axes

    def finish(self, results):
        """Adds a description of the machine. Returns the figure."""
        machine = results["machine"]
        self.y += GAP
        for text in (f"{machine['name']}, {machine['cpu']}", f"vkgdr-bench {results['version']},"
                     f" {machine['gstreamer']}, {machine['date'][:10]}"):
            self.add_text(text, columns=COLUMNS + 6, color=GREY, size=9)
        height = self.y + MARGIN
        self.figure.set_figheight(height)
        self.canvas.set(xlim=(0, WIDTH), ylim=(height, 0))
        self.canvas.axis("off")
        if self.curves:
            axes, top = self.curves
            axes.set_position([AXIS_LEFT / WIDTH, (height - top - PLOT_HEIGHT) / height,
                               (FULL - AXIS_LEFT) / WIDTH, PLOT_HEIGHT / height])
        return self.figure


def is_shown(name, names):
    """Whether the curve is drawn. Some curves are almost the same as others."""
    if name.replace("-async", "") != name and name.replace("-async", "") in names:
        return False
    return not name.startswith("ram-") or name.endswith("memcpy")


def draw_memory(results, direction):
    curves = {c["id"]: c for c in results["memory"] if c["direction"] == direction}
    points = {name: [(p["bytes"], p["GB/s"]["median"]) for p in curve["points"]
                     if "error" not in p] for name, curve in curves.items()}
    sheet = Sheet(MEMORY_TITLES[direction], "GB/s")
    axes = sheet.add_curves((curves[name]["label"], points[name]) for name in curves
                            if points[name] and is_shown(name, curves))
    axes.set(xscale="log", yscale="log", xlabel="bytes of a copy")
    low, high = axes.get_xlim()
    sizes = [size for size in SIZE_TICKS if low <= size <= high]
    axes.set_xticks(sizes, map(format_size, sizes))
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")
    return sheet.finish(results)


def draw_streams(results, cases):
    """Draws curves over the number of streams. These have equal distances, so that there is
    room for 1, 4, 8 and 16."""
    columns = zip(*(case["variants"] for case in cases), strict=True)
    curves = [(column[0]["label"], [(n, v["median"]) for n, v in enumerate(column)
                                    if "median" in v]) for column in columns]
    sheet = Sheet(title_of(cases[0]), cases[0]["unit"])
    axes = sheet.add_curves(curve for curve in curves if curve[1])
    axes.set_xticks(range(len(cases)), [str(case["streams"]) for case in cases])
    axes.set(xlim=(-0.1, len(cases) - 0.9), ylim=(0, None), xlabel="streams")
    return sheet.finish(results)


def draw_cases(results, cases):
    """Draws bars for each case."""
    sheet = Sheet(title_of(cases[0]), cases[0]["unit"])
    for case in cases:
        sheet.y += GAP
        sheet.add_text(case["title"], columns=COLUMNS - 6, weight="bold")
        scale = max(v.get("max", v.get("median", 0)) for v in case["variants"])
        for number, variant in enumerate(case["variants"]):
            if "median" not in variant:
                sheet.add_text(f"{variant['label']}: not measured", color=GREY)
                continue
            median = variant["median"]
            sheet.add_text(variant["label"], format_number(median))
            values = median, variant.get("min", median), variant.get("max", median)
            sheet.add_bar(COLOURS[number % len(COLOURS)],
                          *(max(value, 0) / scale if scale > 0 else 0 for value in values))
    return sheet.finish(results)


def title_of(case):
    """Returns the title of the case's table. Files of older versions do not have it."""
    return case.get("table", case["section"])


def draw_all(results):
    """Yields the names and the figures."""
    if "memory" not in results and "pipelines" not in results:
        raise ValueError("it has no results")
    for direction in MEMORY_TITLES:
        if any(curve["direction"] == direction for curve in results.get("memory", [])):
            yield direction, draw_memory(results, direction)
    cases = results.get("pipelines", [])
    for section in dict.fromkeys(case["section"] for case in cases):
        group = [case for case in cases if case["section"] == section]
        several = len({case["streams"] for case in group}) > 1
        yield section, (draw_streams if several else draw_cases)(results, group)


def save(figure, path):
    """As SVG, it has a licence, and the same figure gives the same bytes."""
    if not path.endswith(".svg"):
        figure.savefig(path, dpi=160)
        return
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    with open(path, encoding="utf-8") as file:
        head, rest = file.read().split("\n", 1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{head}\n{LICENSE}{rest}")


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="vkgdr-plot", description="Draws the results that vkgdr-bench saved with --save: "
        "a picture for each table.")
    parser.add_argument("file", metavar="FILE.json", help="a file that vkgdr-bench has saved")
    parser.add_argument("folder", metavar="FOLDER", help="the folder for the pictures")
    parser.add_argument("--png", action="store_true", help="write PNG instead of SVG")
    parser.add_argument("--prefix", default="", help="the beginning of the pictures' names")
    parser.add_argument("--version", action="version", version=f"vkgdr-plot {VERSION}")
    return parser.parse_args()


def main():
    options = parse_arguments()
    if MISSING:
        sys.exit(f"vkgdr-plot: matplotlib cannot be imported ({MISSING}): install the package "
                 "python3-matplotlib")
    matplotlib.use("Agg")
    matplotlib.rcParams.update(STYLE)
    try:
        with open(options.file, encoding="utf-8") as file:
            results = json.load(file)
        os.makedirs(options.folder, exist_ok=True)
        suffix = "png" if options.png else "svg"
        for name, figure in draw_all(results):
            path = os.path.join(options.folder, f"{options.prefix}{name}.{suffix}")
            save(figure, path)
            print(path)
    except OSError as error:
        sys.exit(f"vkgdr-plot: {error}")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        sys.exit(f"vkgdr-plot: {options.file} is not a file of vkgdr-bench: {error!r}")


if __name__ == "__main__":
    main()
