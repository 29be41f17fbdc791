#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws the results that vkgdr-bench saved with --save: a picture for each table, as SVG.

The pictures are narrow enough for a telephone. Each line of text has its own place, so
that texts do not overlap. The bars of one case have a common scale. The thin line at
the end of a bar goes from the smallest to the largest sample, if the file has these.
"""

import argparse
import io
import itertools
import json
import math
import os
import re
import sys
import textwrap

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
MOST_TICKS = 8
# Curves that are not drawn. Only files of older versions have asynchronous copies.
LIKE_OTHERS = re.compile("^ram-(read-)?copy|-async$")

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
    """Three significant digits, and all digits in front of the point."""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}"


def format_size(size):
    for bits, unit in (20, "MiB"), (10, "KiB"):
        if size >= 1 << bits:
            return f"{size >> bits} {unit}"
    return f"{size} B"


class Sheet:
    """A picture that is filled from the top, where y is 0, to the bottom, on axes in inches.
    Its height is only known at the end."""

    def __init__(self, title, unit):
        from matplotlib.figure import Figure

        self.figure = Figure(figsize=(WIDTH, 1))
        self.canvas = self.figure.add_axes([0, 0, 1, 1])
        self.y = -MARGIN
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
            self.canvas.text(left, self.y - LINE / 2, line, **style)
            self.y -= LINE
        self.canvas.text(WIDTH - MARGIN, self.y + LINE / 2, value, ha="right", **style)

    def finish(self, results):
        """Adds a description of the machine. Returns the figure."""
        machine = results["machine"]
        self.y -= GAP
        for text in (f"{machine['name']}, {machine['cpu']}", f"vkgdr-bench {results['version']},"
                     f" {machine['gstreamer']}, {machine['date'][:10]}"):
            self.add_text(text, columns=COLUMNS + 6, color=GREY, size=9)
        height = MARGIN - self.y
        self.figure.set_figheight(height)
        self.canvas.set(xlim=(0, WIDTH), ylim=(-height, 0))
        self.canvas.axis("off")
        return self.figure


def draw_curves(results, title, unit, curves, ticks, **style):
    """Draws curves, label -> values, over ticks at equal distances. A value is None if it
    was not measured."""
    sheet = Sheet(title, unit)
    sheet.y -= GAP + PLOT_HEIGHT
    axes = sheet.canvas.inset_axes([AXIS_LEFT, sheet.y, FULL - AXIS_LEFT, PLOT_HEIGHT],
                                   transform=sheet.canvas.transData)
    axes.grid(color="#dddddd")
    sheet.y -= AXIS_BELOW
    # If two curves are at the same place, dashes make both visible.
    looks = zip(itertools.cycle(COLOURS), itertools.cycle(DASHES))
    for (label, values), (color, dashes) in zip(curves.items(), looks):
        look = {"color": color, "linestyle": dashes, "linewidth": 2}
        axes.plot([math.nan if value is None else value for value in values], **look)
        sheet.canvas.plot([MARGIN, MARGIN + SAMPLE], 2 * [sheet.y - LINE / 2], **look)
        sheet.add_text(label, left=MARGIN + SAMPLE + 0.1, columns=COLUMNS - 8)
    step = 1 + len(ticks) // MOST_TICKS
    axes.set_xticks(range(0, len(ticks), step), ticks[::step])
    axes.set(**style)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")
    return sheet.finish(results)


def draw_memory(results, title, curves):
    sizes = sorted({point["bytes"] for curve in curves for point in curve["points"]})
    rates = {curve["label"]: {p["bytes"]: p["GB/s"]["median"] for p in curve["points"]
                              if "error" not in p} for curve in curves}
    return draw_curves(results, title, "GB/s", {
        label: [of.get(size) for size in sizes] for label, of in rates.items()
    }, [format_size(size) for size in sizes], yscale="log", xlabel="bytes of a copy")


def draw_streams(results, title, cases):
    """Draws curves over the number of streams."""
    columns = zip(*(case["variants"] for case in cases), strict=True)
    return draw_curves(results, title, cases[0]["unit"], {
        column[0]["label"]: [variant.get("median") for variant in column] for column in columns
    }, [str(case["streams"]) for case in cases], ylim=(0, None), xlabel="streams")


def draw_cases(results, title, cases):
    """Draws bars for each case."""
    sheet = Sheet(title, cases[0]["unit"])
    for case in cases:
        sheet.y -= GAP
        sheet.add_text(case["title"], columns=COLUMNS - 6, weight="bold")
        scale = max(v.get("max", v.get("median", 0)) for v in case["variants"]) or 1
        for color, variant in zip(itertools.cycle(COLOURS), case["variants"]):
            if "median" not in variant:
                sheet.add_text(f"{variant['label']}: not measured", color=GREY)
                continue
            median = variant["median"]
            sheet.add_text(variant["label"], format_number(median))
            length, *samples = (max(value, 0) / scale * FULL for value in (
                median, variant.get("min", median), variant.get("max", median)))
            y = sheet.y - BAR / 2
            sheet.canvas.barh(y, length, BAR, MARGIN, color=color)
            sheet.canvas.plot([MARGIN + end for end in samples], [y, y], "#111111", lw=1)
            sheet.y -= BAR + GAP / 2
    return sheet.finish(results)


def draw_all(results):
    """Yields the names and the figures."""
    if "memory" not in results and "pipelines" not in results:
        raise ValueError("it has no results")
    for direction, title in MEMORY_TITLES.items():
        curves = [curve for curve in results.get("memory", [])
                  if curve["direction"] == direction and not LIKE_OTHERS.search(curve["id"])]
        if curves:
            yield direction, draw_memory(results, title, curves)
    cases = results.get("pipelines", [])
    for section in dict.fromkeys(case["section"] for case in cases):
        group = [case for case in cases if case["section"] == section]
        # Files of older versions have no titles of tables.
        title = group[0].get("table", section)
        several = len({case["streams"] for case in group}) > 1
        yield section, (draw_streams if several else draw_cases)(results, title, group)


def save(figure, path):
    """The picture has a licence, and the same figure gives the same bytes."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.getvalue().replace("\n", "\n" + LICENSE, 1))


def main():
    parser = argparse.ArgumentParser(prog="vkgdr-plot", description=__doc__.partition("\n")[0])
    parser.add_argument("file", metavar="FILE.json", help="a file that vkgdr-bench has saved")
    parser.add_argument("folder", metavar="FOLDER", help="the folder for the pictures")
    parser.add_argument("--prefix", default="", help="the beginning of the pictures' names")
    parser.add_argument("--version", action="version", version=f"vkgdr-plot {VERSION}")
    options = parser.parse_args()
    try:
        import matplotlib  # --help works without it

        matplotlib.rcParams.update(STYLE)
        with open(options.file, encoding="utf-8") as file:
            results = json.load(file)
        os.makedirs(options.folder, exist_ok=True)
        for name, figure in draw_all(results):
            path = os.path.join(options.folder, f"{options.prefix}{name}.svg")
            save(figure, path)
            print(path)
    except ImportError as error:
        sys.exit(f"vkgdr-plot: matplotlib cannot be imported ({error}): install the package "
                 "python3-matplotlib")
    except OSError as error:
        sys.exit(f"vkgdr-plot: {error}")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        sys.exit(f"vkgdr-plot: {options.file} is not a file of vkgdr-bench: {error!r}")


if __name__ == "__main__":
    main()
