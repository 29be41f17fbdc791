# SPDX-License-Identifier: LGPL-2.1-or-later
"""The results of vkgdr-bench: statistics, JSON and tables. Measures nothing."""

import statistics

from bench_cases import COPIES

MOST_COMPARED = 4  # variants in a table with comparisons
DIFFERENCES = ("us/frame", "ms")  # units whose differences say more than ratios
NOT_COMPARED = ("process", "tensor-kernel", "ipc-delay")  # sections
MACHINE = ("name", "software", "pci-address", "window-size", "cuda-driver", "vulkan-driver",
           "gstreamer", "cudaupload", "cpu", "cpus", "copy-isa", "kernel", "date")

# Section -> ratios of medians: the title, the variants of which the best one counts, and
# those by which it is divided. `+` adds the medians of two variants, and `-` subtracts.
SUMMARY = {
    "process": [("first frame, vkgdrupload / cudaupload", "vkgdrupload", "cudaupload"),
                ("first frame, vkgdrupload / CUDA alone + Vulkan alone", "vkgdrupload",
                 "bare-cuda + bare-vulkan")],
    "loops": [("vkgdrupload / better loop", "vkgdrupload", "loop-window loop-staged")],
    "frames": [("vkgdrupload / cudaupload", "vkgdrupload", "cudaupload")],
    "sources": [("vkgdrupload / cudaupload", "vkgdrupload", "cudaupload")],
    "streams": [("vkgdrupload / better of direct and staged", "vkgdrupload",
                 "vkgdrupload-direct vkgdrupload-staged")],
    "buffers": [("vkgdrupload / identity", "vkgdrupload", "identity")],
    "chain": [("cost of four cudafilters / of one", "four-cudafilters - vkgdrupload",
               "cudafilter - vkgdrupload")],
    "ipc": [("vkgdripcsink / in one process", "vkgdripcsink", "vkgdrupload"),
            ("vkgdripcsink / better cudaipcsink", "vkgdripcsink",
             "cudaipcsink-legacy cudaipcsink-mmap"),
            ("client in C / vkgdripcsrc", "client-c", "vkgdripcsink"),
            ("client in Python / vkgdripcsrc", "client-python", "vkgdripcsink")],
}

# --- data


def summarize(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def describe_variant(variant):
    members = "id", "label", "pipeline", "error"
    result = {name: getattr(variant, name) for name in members if getattr(variant, name)}
    if not variant.error:
        result.update(summarize(variant.samples), samples=variant.samples)
    return result


def compare(case):
    """Compares the first variant with the others, by the samples of the same repetition."""
    first, *others = case.variants
    for other in others:
        if not first.error and not other.error and case.section not in NOT_COMPARED:
            pairs = zip(first.samples, other.samples)
            both = [a - b if case.unit in DIFFERENCES else a / b for a, b in pairs]
            yield {"of": first.id, "to": other.id, **summarize(both)}


def describe_case(case):
    members = "section", "table", "id", "title", "unit", "bytes", "streams", "fill"
    result = {name: getattr(case, name) for name in members}
    result["variants"] = [describe_variant(variant) for variant in case.variants]
    result["differences" if case.unit in DIFFERENCES else "ratios"] = list(compare(case))
    return result


def describe_point(case, variant):
    if variant.error:
        return {"bytes": case.bytes, "error": variant.error}
    return {"bytes": case.bytes, "us": summarize([s * 1e6 for s in variant.samples]),
            "GB/s": summarize([case.bytes / s / 1e9 for s in variant.samples])}


def describe_copies(copies):
    """A curve for each way to copy, which has a point for each size."""
    for name, (label, direction, *_) in COPIES.items():
        points = [describe_point(case, variant)
                  for case in copies for variant in case.variants if variant.id == name]
        if points:
            yield {"id": name, "label": label, "direction": direction, "points": points}


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
    for case in cases:
        medians = {v["id"]: v["median"] for v in case["variants"] if "median" in v}
        for what, *terms in SUMMARY.get(case["section"], ()):
            value, other = (evaluate(term, medians) for term in terms)
            if value > 0 and other > 0:
                yield {"title": f"{case['title']}: {what}", "value": value / other}


def describe(version, machine, options, copies, cases):
    """All results, as in the JSON output."""
    results = {"version": version, "machine": machine, "options": {
        "repeat": options.repeat, "seconds": options.seconds, "fill": options.fill or "default",
        "quick": options.quick}}
    if copies:
        results["memory"] = list(describe_copies(copies))
    if cases:
        results["pipelines"] = [describe_case(case) for case in cases]
        results["summary"] = list(make_summary(results["pipelines"]))
    return results


# --- tables


def format_number(value):
    """Three significant digits, and all digits in front of the point."""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}"


def format_size(size):
    for bits, unit in (20, "MiB"), (10, "KiB"):
        if size >= 1 << bits:
            return f"{size >> bits} {unit}"
    return f"{size} B"


def format_cell(result, notes):
    """The text of a result that has a median or an error, or is None. Errors are written
    below the table."""
    if not result:
        return "-"
    if "error" not in result:
        return format_number(result["median"])
    if result["error"] not in notes:
        notes.append(result["error"])
    return f"failed ({notes.index(result['error']) + 1})"


def format_table(title, rows, notes=(), numbers=True):
    """In Markdown. The first row is the head."""
    first, *others = (max(map(len, column)) for column in zip(*rows))
    rows.insert(1, ["-" * first, *("-" * (n - 1) + ("-:"[numbers]) for n in others)])
    lines = [f"### {title}", ""]
    for head, *cells in rows:
        cells = [f"{cell:{'<>'[numbers]}{width}}" for cell, width in zip(cells, others)]
        lines.append(f"| {' | '.join([head.ljust(first), *cells])} |")
    lines += [""] * bool(notes) + [f"({n}) {note}" for n, note in enumerate(notes, 1)]
    return "\n".join(lines) + "\n"


def format_copies(curves, quantity, title):
    sizes = sorted({point["bytes"] for curve in curves for point in curve["points"]})
    rows, notes = [["", *map(format_size, sizes)]], []
    for curve in curves:
        points = {p["bytes"]: p.get(quantity, p) for p in curve["points"]}
        rows.append([curve["label"], *(format_cell(points.get(size), notes) for size in sizes)])
    return format_table(title, rows, notes)


def format_section(cases):
    """The first case decides the columns. A table of many variants has no room for
    comparisons, but JSON has all."""
    columns, unit = cases[0]["variants"], cases[0]["unit"]
    kind, sign, suffix = (("differences", "-", "") if unit in DIFFERENCES
                          else ("ratios", "/", "x"))
    compared = []
    if len(columns) <= MOST_COMPARED and any(case[kind] for case in cases):
        compared = columns[1:]
    titles = [f"{columns[0]['label']} {sign} {other['label']}" for other in compared]
    if len(compared) == 1:
        titles = [kind[:-1]]
    rows, notes = [[unit, *(column["label"] for column in columns), *titles]], []
    for case in cases:
        variants = {variant["id"]: variant for variant in case["variants"]}
        found = {entry["to"]: entry for entry in case[kind]}
        rows.append([case["title"]]
                    + [format_cell(variants.get(c["id"]), notes) for c in columns]
                    + [format_number(found[c["id"]]["median"]) + suffix if c["id"] in found
                       else "-" for c in compared])
    return format_table(cases[0]["table"], rows, notes)


def format_tables(results):
    machine = [[name, str(results["machine"][name])] for name in MACHINE]
    options = [[name, str(value)] for name, value in results["options"].items()]
    tables = [format_table("Measured on", machine + options, numbers=False)]
    for direction, title in ("to-device", "To the device"), ("from-device", "From the device"):
        curves = [c for c in results.get("memory", ()) if c["direction"] == direction]
        if curves:
            tables += [format_copies(curves, "GB/s", f"{title}, GB/s"),
                       format_copies(curves, "us", f"{title}, microseconds a call")]
    cases = results.get("pipelines", ())
    for section in dict.fromkeys(case["section"] for case in cases):
        group = [case for case in cases if case["section"] == section]
        if section == "compare":
            pipelines = [[v["label"], v["pipeline"]] for v in group[0]["variants"]]
            tables.append(format_table("Pipelines", [["", "pipeline"], *pipelines], numbers=False))
        tables.append(format_section(group))
    summary = [[line["title"], format_number(line["value"])]
               for line in results.get("summary", ())]
    if summary:
        tables.append(format_table("In short", [["of medians", "ratio"], *summary]))
    return "\n".join(tables)
