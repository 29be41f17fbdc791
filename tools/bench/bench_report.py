# SPDX-License-Identifier: LGPL-2.1-or-later
"""The results of vkgdr-bench: statistics, JSON and tables. Measures nothing."""

import json
import statistics

MOST_COMPARED = 4  # variants in a table with comparisons
SHORT = 14  # characters of the longest error that a cell shows
DIFFERENCES = ("us/frame", "ms")  # units whose differences say more than ratios

TITLES = {
    "process": "From the start of a process to the first frame",
    "loops": "What the machine allows: one stream, and loops without GStreamer",
    "frames": "One stream of frames",
    "streams": "Streams at once, in all",
    "roundtrip": "To the device and back",
    "download": "Back from the device",
    "buffers": "Small buffers",
    "overhead": "What running a kernel costs",
    "chain": "What several kernels in a row cost",
    "effect": "A kernel on large frames",
    "convert": "Conversion of frames on the device",
    "convert-kernel": "Inside the conversion, bytes read and written",
    "change": "Another kernel while frames flow",
    "cuda": "Compared with GStreamer's own CUDA elements",
    "tensors": "Frames as tensors of float16",
    "tensor-kernel": "A frame to such a tensor, time on the device",
    "ipc": "Frames in other processes",
    "ipc-delay": "From the end of writing to other processes",
    "compare": "Pipelines in comparison",
}

# Section -> ratios of medians: the title, the variants of which the best one counts, and
# those by which it is divided. `+` adds the medians of two variants, and `-` subtracts.
SUMMARY = {
    "process": [("first frame, vkgdrupload / cudaupload", "vkgdrupload", "cudaupload"),
                ("first frame, vkgdrupload / CUDA alone + Vulkan alone", "vkgdrupload",
                 "bare-cuda + bare-vulkan")],
    "loops": [("vkgdrupload / better loop", "vkgdrupload", "loop-window loop-staged")],
    "frames": [("vkgdrupload / cudaupload", "vkgdrupload", "cudaupload")],
    "streams": [("vkgdrupload / better of direct and staged", "vkgdrupload",
                 "vkgdrupload-direct vkgdrupload-staged"),
                ("vkgdrupload / loops, best mix", "vkgdrupload", "loops-best-mix")],
    "buffers": [("vkgdrupload / identity", "vkgdrupload", "identity")],
    "chain": [("cost of four cudafilters / of one", "four-cudafilters - vkgdrupload",
               "cudafilter - vkgdrupload")],
    "ipc": [("vkgdripcsink / in one process", "vkgdripcsink", "vkgdrupload"),
            ("vkgdripcsink / better cudaipcsink", "vkgdripcsink",
             "cudaipcsink-legacy cudaipcsink-mmap"),
            ("client in C / vkgdripcsrc", "client-c", "vkgdripcsink"),
            ("client in Python / vkgdripcsrc", "client-python", "vkgdripcsink")],
}


# --- statistics


def summarize(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def compare(case, other):
    """Compares the first variant with another one, by the samples of the same repetition.
    None if one of them has no samples."""
    first = case.variants[0]
    if first.error or other.error or not first.samples or not other.samples:
        return None
    pairs = zip(first.samples, other.samples)
    return summarize([a - b if case.unit in DIFFERENCES else a / b for a, b in pairs])


def evaluate(names, medians):
    """The value of a text in SUMMARY, or 0 if a variant that it needs was not measured."""
    words = names.split()
    values = [medians.get(word, 0) for word in words]
    if len(words) == 3 and words[1] in "+-":
        a, _, b = values
        return (a + b if words[1] == "+" else a - b) if a and b else 0
    return max(values)


def make_summary(cases):
    """The most important ratios of medians, some of which the tables do not have."""
    lines = []
    for case in cases:
        medians = {v.id: statistics.median(v.samples) for v in case.variants
                   if v.samples and not v.error}
        for what, *terms in SUMMARY.get(case.section, ()):
            value, other = (evaluate(term, medians) for term in terms)
            if value > 0 and other > 0:
                lines.append({"title": f"{case.title}: {what}", "value": value / other})
    return lines


# --- JSON


def describe_point(point):
    result = {"bytes": point["bytes"]}
    if "error" in point:
        return {**result, "error": point["error"]}
    samples = point["samples"]
    return {**result, "us": summarize([seconds * 1e6 for seconds in samples]),
            "GB/s": summarize([point["bytes"] / seconds / 1e9 for seconds in samples])}


def describe_variant(variant):
    result = {"id": variant.id, "label": variant.label}
    for member in "pipeline", "note", "error":
        if getattr(variant, member):
            result[member] = getattr(variant, member)
    if not variant.error:
        result.update(summarize(variant.samples), samples=variant.samples)
    return result


def describe_case(case):
    comparisons = [{"of": case.variants[0].id, "to": other.id, **compare(case, other)}
                   for other in case.variants[1:]
                   if not other.part.is_single and compare(case, other)]
    return {"section": case.section, "table": TITLES[case.section], "id": case.id,
            "title": case.title, "unit": case.unit, "bytes": case.bytes,
            "streams": case.streams, "fill": case.fill,
            "variants": [describe_variant(variant) for variant in case.variants],
            "differences" if case.unit in DIFFERENCES else "ratios": comparisons}


def make_json(version, machine, options, curves, cases):
    results = {"version": version, "machine": machine, "options": {
        "repeat": options.repeat, "seconds": options.seconds, "fill": options.fill or "default",
        "buffers": options.buffers, "quick": options.quick}}
    if curves is not None:
        results["memory"] = [{**curve, "points": [describe_point(p) for p in curve["points"]]}
                             for curve in curves]
    if cases is not None:
        results["pipelines"] = [describe_case(case) for case in cases]
        results["summary"] = make_summary(cases)
    return json.dumps(results, indent=2, ensure_ascii=False) + "\n"


# --- tables


def format_number(value):
    """Three significant digits."""
    digits = sum(abs(value) < limit for limit in (99.95, 9.995, 0.995, 0.0995))
    return f"{value:.{digits}f}"


def format_size(size):
    for bits, unit in (20, "MiB"), (10, "KiB"):
        if size >= 1 << bits:
            return f"{size >> bits} {unit}"
    return f"{size} B"


class Table:
    """A table of texts, for a terminal or in Markdown. The first row is the head."""

    def __init__(self, title, rows=(), numbers=True):
        self.title = title
        self.numbers = numbers
        self.rows = list(rows)
        self.notes = []

    def fail(self, error):
        """The cell for an error. A long one is written below the table."""
        if len(error) <= SHORT:
            return error
        if error not in self.notes:
            self.notes.append(error)
        return f"failed ({self.notes.index(error) + 1})"

    def print(self, markdown):
        widths = [max(map(len, column)) for column in zip(*self.rows)]
        print(f"### {self.title}\n" if markdown else self.title)
        for number, row in enumerate(self.rows):
            cells = [cell.rjust(width) if i and self.numbers else cell.ljust(width)
                     for i, (cell, width) in enumerate(zip(row, widths))]
            print(f"| {' | '.join(cells)} |" if markdown else ("  " + "  ".join(cells)).rstrip())
            if markdown and number == 0:
                print("|---" + len(row[1:]) * ("|---:" if self.numbers else "|---") + "|")
        if markdown and self.notes:
            print()
        for number, note in enumerate(self.notes, 1):
            print(f"{'' if markdown else '  '}({number}) {note}")
        print()


def print_copies(curves, direction, title, format_point, markdown):
    sizes = sorted({point["bytes"] for curve in curves for point in curve["points"]})
    table = Table(title, [["copy", *map(format_size, sizes)]])
    for curve in curves:
        points = {point["bytes"]: point for point in curve["points"]}
        row = [curve["label"]]
        for size in sizes:
            point = points.get(size, {"error": "-"})
            row.append(table.fail(point["error"]) if "error" in point else format_number(
                format_point(size, statistics.median(point["samples"]))))
        if curve["direction"] == direction:
            table.rows.append(row)
    table.print(markdown)


def print_section(cases, markdown):
    """The first case decides the columns. A table of many variants has no room for
    comparisons. The summary has the important ones, and JSON has all."""
    columns = cases[0].variants
    compared = [v for v in columns[1:] if not v.part.is_single]
    if len(columns) > MOST_COMPARED:
        compared = []
    sign, suffix, word = ("-", "", "difference") if cases[0].unit in DIFFERENCES else (
        "/", "x", "ratio")
    titles = [f"{columns[0].label} {sign} {other.label}" for other in compared]
    if len(columns) == 2 and compared:
        titles = [word]
    table = Table(TITLES[cases[0].section],
                  [[cases[0].unit, *(column.label for column in columns), *titles]])
    for case in cases:
        variants = {variant.id: variant for variant in case.variants}
        row = [case.title]
        for column in columns:
            variant = variants.get(column.id)
            if variant is None:
                row.append("-")
            elif variant.error:
                row.append(table.fail(variant.error))
            else:
                row.append(format_number(statistics.median(variant.samples)))
        for column in compared:
            found = compare(case, variants[column.id]) if column.id in variants else None
            row.append(format_number(found["median"]) + suffix if found else "-")
        table.rows.append(row)
    table.print(markdown)


def print_pipelines(cases, markdown):
    if cases[0].section == "compare":
        Table("Pipelines", [[variant.label, variant.pipeline] for variant in cases[0].variants],
              numbers=False).print(markdown)
    for section in dict.fromkeys(case.section for case in cases):
        print_section([case for case in cases if case.section == section], markdown)
    summary = [[line["title"], format_number(line["value"])] for line in make_summary(cases)]
    if summary:
        Table("In short", [["of medians", "ratio"], *summary]).print(markdown)


def print_machine(machine, options):
    known = {name: value or "unknown" for name, value in machine.items()}
    software = " (software: these figures tell nothing about a GPU)"
    Table("Measured on", [
        ["device", known["name"] + (software if machine["software"] else "")],
        ["PCI address", known["pci-address"]],
        ["window", f"{machine['window-size'] >> 20} MiB"],
        ["CUDA driver", f"API {known['cuda-driver']}"],
        ["Vulkan driver", known["vulkan-driver"]],
        ["GStreamer", f"{known['gstreamer']}, cudaupload {known['cudaupload']}"],
        ["processor",
         f"{known['cpu']}, {machine['cpus']} threads, copies with {known['copy-isa']}"],
        ["system", known["kernel"]],
        ["run", f"{known['date']}, medians of {options.repeat}, {options.seconds:g} s a pipeline"
         + (", quick" if options.quick else "")],
        ["source", f"writes by {options.fill or 'memset (several streams: uncached)'},"
         f" pools of at least {options.buffers} buffers"],
    ], numbers=False).print(options.markdown)


def print_tables(machine, options, curves, cases):
    print_machine(machine, options)
    for direction in ("to-device", "from-device") if curves else ():
        title = "To the device" if direction == "to-device" else "From the device"
        print_copies(curves, direction, f"{title}, GB/s",
                     lambda size, seconds: size / seconds / 1e9, options.markdown)
        print_copies(curves, direction, f"{title}, microseconds a call",
                     lambda size, seconds: seconds * 1e6, options.markdown)
    if cases:
        print_pipelines(cases, options.markdown)
