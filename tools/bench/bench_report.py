# SPDX-License-Identifier: LGPL-2.1-or-later
"""The results of vkgdr-bench: statistics, JSON and tables. Measures nothing."""

import json
import statistics

MOST_COMPARED = 4  # variants in a table with comparisons
SHORT = 14  # characters of the longest error that a cell shows
DIFFERENCES = ("us/frame", "ms", "MB")  # units whose differences say more than ratios

TITLES = {
    "start": "From the start to the first frame",
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
    "kernel": "Inside the kernel, bytes read and written",
    "convert": "Conversion of frames on the device",
    "convert-kernel": "Inside the conversion, bytes read and written",
    "change": "Another kernel while frames flow",
    "cuda": "Compared with GStreamer's own CUDA elements",
    "cuda-memory": "Memory of the device that frames for those take",
    "tensors": "Frames as tensors of float16",
    "tensor-kernel": "A frame to such a tensor, time on the device",
    "ipc": "Frames in other processes",
    "ipc-delay": "From the end of writing to other processes",
    "compare": "Pipelines in comparison",
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
    if case.unit in DIFFERENCES:
        return summarize([a - b for a, b in pairs])
    return summarize([a / b for a, b in pairs])


def make_summary(cases):
    """The most important ratios of medians, some of which the tables do not have."""
    lines = []
    for case in cases:
        medians = {v.id: statistics.median(v.samples) for v in case.variants
                   if v.samples and not v.error}

        def add(what, value, other, title=case.title):
            if value > 0 and other > 0:
                lines.append({"title": f"{title}: {what}", "value": value / other})

        def of(*names, medians=medians):
            return max(medians.get(name, 0) for name in names)

        ours = of("vkgdrupload")
        if case.section == "streams":
            add("vkgdrupload / better of direct and staged", ours,
                of("vkgdrupload-direct", "vkgdrupload-staged"))
            add("vkgdrupload / loops, best mix", ours, of("loops-best-mix"))
        elif case.section == "frames":
            add("vkgdrupload / cudaupload", ours, of("cudaupload"))
        elif case.section == "loops":
            add("vkgdrupload / better loop", ours, of("loop-window", "loop-staged"))
        elif case.section == "buffers":
            add("vkgdrupload / identity", ours, of("identity"))
        elif case.section == "chain" and ours:
            add("cost of four cudafilters / of one", of("four-cudafilters") - ours,
                of("cudafilter") - ours)
        elif case.section == "process":
            add("first frame, vkgdrupload / cudaupload", ours, of("cudaupload"))
            if of("bare-cuda") and of("bare-vulkan"):
                add("first frame, vkgdrupload / CUDA alone + Vulkan alone", ours,
                    of("bare-cuda") + of("bare-vulkan"))
        elif case.section == "ipc":
            add("vkgdripcsink / in one process", of("vkgdripcsink"), ours)
            add("vkgdripcsink / better cudaipcsink", of("vkgdripcsink"),
                of("cudaipcsink-legacy", "cudaipcsink-mmap"))
            add("client in C / vkgdripcsrc", of("client-c"), of("vkgdripcsink"))
            add("client in Python / vkgdripcsrc", of("client-python"), of("vkgdripcsink"))
    return lines


# --- JSON


def scale(summary, factor):
    return {name: value * factor for name, value in summary.items()}


def describe_point(point):
    result = {"bytes": point["bytes"]}
    if "error" in point:
        return {**result, "error": point["error"]}
    seconds = summarize(point["samples"])
    return {**result, "us": scale(seconds, 1e6),
            "GB/s": {"median": point["bytes"] / seconds["median"] / 1e9,
                     "min": point["bytes"] / seconds["max"] / 1e9,
                     "max": point["bytes"] / seconds["min"] / 1e9}}


def describe_curves(curves):
    return [{**curve, "points": [describe_point(point) for point in curve["points"]]}
            for curve in curves]


def describe_variant(variant):
    result = {"id": variant.id, "label": variant.label}
    if variant.pipeline:
        result["pipeline"] = variant.pipeline
    if variant.note:
        result["note"] = variant.note
    if variant.error:
        return {**result, "error": variant.error}
    return {**result, **summarize(variant.samples), "samples": variant.samples}


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
        results["memory"] = describe_curves(curves)
    if cases is not None:
        results["pipelines"] = [describe_case(case) for case in cases]
        results["summary"] = make_summary(cases)
    return json.dumps(results, indent=2, ensure_ascii=False) + "\n"


# --- tables


def format_number(value):
    """Three significant digits."""
    size = abs(value)
    digits = sum(size < limit for limit in (99.95, 9.995, 0.995, 0.0995))
    return f"{value:.{digits}f}"


def format_size(size):
    for bits, unit in (20, "MiB"), (10, "KiB"), (0, "B"):
        if size >= 1 << bits:
            return f"{size >> bits} {unit}"
    return "0 B"


class Table:
    """A table of texts, for a terminal or in Markdown. The first row is the head."""

    def __init__(self, title, numbers=True):
        self.title = title
        self.numbers = numbers
        self.rows = []
        self.notes = []

    def fail(self, error):
        """The cell for an error. A long one is written below the table."""
        if len(error) <= SHORT:
            return error
        if error not in self.notes:
            self.notes.append(error)
        return f"failed ({self.notes.index(error) + 1})"

    def format_row(self, row, widths, markdown):
        cells = [cell.rjust(width) if i and self.numbers else cell.ljust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        if markdown:
            return "| " + " | ".join(cells) + " |"
        return ("  " + "  ".join(cells)).rstrip()

    def print(self, markdown):
        widths = [max(map(len, column)) for column in zip(*self.rows)]
        print(f"### {self.title}\n" if markdown else self.title)
        for number, row in enumerate(self.rows):
            print(self.format_row(row, widths, markdown))
            if markdown and number == 0:
                rules = ["---:" if i and self.numbers else "---" for i in range(len(row))]
                print("|" + "|".join(rules) + "|")
        if markdown and self.notes:
            print()
        for number, note in enumerate(self.notes, 1):
            print(f"({number}) {note}" if markdown else f"  ({number}) {note}")
        print()


def print_copies(curves, direction, title, format_point, markdown):
    sizes = sorted({point["bytes"] for curve in curves for point in curve["points"]})
    table = Table(title)
    table.rows.append(["copy", *map(format_size, sizes)])
    for curve in curves:
        if curve["direction"] != direction:
            continue
        points = {point["bytes"]: point for point in curve["points"]}
        row = [curve["label"]]
        for size in sizes:
            point = points.get(size)
            if point is None:
                row.append("-")
            elif "error" in point:
                row.append(table.fail(point["error"]))
            else:
                row.append(format_number(format_point(size, statistics.median(point["samples"]))))
        table.rows.append(row)
    table.print(markdown)


def make_head(case, compared):
    head = [case.unit, *(variant.label for variant in case.variants)]
    difference = case.unit in DIFFERENCES
    if len(case.variants) == 2 and compared:
        return head + ["difference" if difference else "ratio"]
    first = case.variants[0].label
    return head + [f"{first} {'-' if difference else '/'} {other.label}" for other in compared]


def add_case(table, case, head, compared):
    variants = {variant.id: variant for variant in case.variants}
    row = [case.title]
    for column in head.variants:
        variant = variants.get(column.id)
        if variant is None:
            row.append("-")
        elif variant.error:
            row.append(table.fail(variant.error))
        else:
            row.append(format_number(statistics.median(variant.samples)))
    for column in compared:
        variant = variants.get(column.id)
        comparison = compare(case, variant) if variant else None
        suffix = "" if case.unit in DIFFERENCES else "x"
        row.append(format_number(comparison["median"]) + suffix if comparison else "-")
    table.rows.append(row)


def print_section(cases, markdown):
    """The first case decides the columns. A table of many variants has no room for
    comparisons. The summary has the important ones, and JSON has all."""
    head = cases[0]
    compared = [v for v in head.variants[1:] if not v.part.is_single]
    if len(head.variants) > MOST_COMPARED:
        compared = []
    table = Table(TITLES[head.section])
    table.rows.append(make_head(head, compared))
    for case in cases:
        add_case(table, case, head, compared)
    table.print(markdown)


def print_pipelines(cases, markdown):
    if cases[0].section == "compare":
        key = Table("Pipelines", numbers=False)
        key.rows = [[variant.label, variant.pipeline] for variant in cases[0].variants]
        key.print(markdown)
    for section in dict.fromkeys(case.section for case in cases):
        print_section([case for case in cases if case.section == section], markdown)
    summary = Table("In short")
    summary.rows = [[line["title"], format_number(line["value"])] for line in make_summary(cases)]
    if summary.rows:
        summary.rows.insert(0, ["of medians", "ratio"])
        summary.print(markdown)


def print_machine(machine, options):
    def known(name):
        return machine.get(name) or "unknown"

    software = " (software: these figures tell nothing about a GPU)"
    table = Table("Measured on", numbers=False)
    table.rows = [
        ["device", known("name") + (software if machine["software"] else "")],
        ["PCI address", known("pci-address")],
        ["window", f"{machine.get('window-size', 0) >> 20} MiB"],
        ["CUDA driver", f"API {known('cuda-driver')}"],
        ["Vulkan driver", known("vulkan-driver")],
        ["GStreamer", f"{known('gstreamer')}, cudaupload {known('cudaupload')}"],
        ["processor",
         f"{known('cpu')}, {machine['cpus']} threads, copies with {known('copy-isa')}"],
        ["system", known("kernel")],
        ["run", f"{known('date')}, medians of {options.repeat}, {options.seconds:g} s a pipeline"
         + (", quick" if options.quick else "")],
        ["source", f"writes by {options.fill or 'memset (several streams: uncached)'},"
         f" pools of at least {options.buffers} buffers"],
    ]
    table.print(options.markdown)


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

