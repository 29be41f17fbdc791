# SPDX-License-Identifier: LGPL-2.1-or-later
"""The results of vkgdr-bench: statistics, JSON and tables. Measures nothing."""

import statistics

from bench_cases import COPIES, TITLES

MOST_COMPARED = 4  # variants in a table with comparisons
SHORT = 14  # characters of the longest error that a cell shows
DIFFERENCES = ("us/frame", "ms")  # units whose differences say more than ratios

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


# --- data


def summarize(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def describe_variant(variant):
    members = "id", "label", "pipeline", "note", "error"
    result = {name: getattr(variant, name) for name in members if getattr(variant, name)}
    if not variant.error:
        result.update(summarize(variant.samples), samples=variant.samples)
    return result


def compare(case):
    """Compares the first variant with the others, by the samples of the same repetition, but
    not with percentiles of the same delays: their difference has no meaning."""
    first, *others = case.variants
    for other in others:
        if not first.error and not other.error and "p99" not in other.id:
            pairs = zip(first.samples, other.samples)
            both = [a - b if case.unit in DIFFERENCES else a / b for a, b in pairs]
            yield {"of": first.id, "to": other.id, **summarize(both)}


def describe_case(case):
    result = {"section": case.section, "table": TITLES[case.section]}
    for name in "id", "title", "unit", "bytes", "streams", "fill":
        result[name] = getattr(case, name)
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
        "buffers": options.buffers, "quick": options.quick}}
    if copies:
        results["memory"] = list(describe_copies(copies))
    if cases:
        results["pipelines"] = [describe_case(case) for case in cases]
        results["summary"] = list(make_summary(results["pipelines"]))
    return results


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


def format_cell(result, notes):
    """The text of a result that has a median or an error, or is None. A long error is
    written below the table."""
    if not result:
        return "-"
    if "error" not in result:
        return format_number(result["median"])
    error = result["error"]
    if len(error) <= SHORT:
        return error
    if error not in notes:
        notes.append(error)
    return f"failed ({notes.index(error) + 1})"


def print_table(title, rows, markdown, notes=(), numbers=True):
    """For a terminal or in Markdown. The first row is the head."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    print(f"### {title}\n" if markdown else title)
    for number, row in enumerate(rows):
        cells = [cell.rjust(width) if i and numbers else cell.ljust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        print(f"| {' | '.join(cells)} |" if markdown else ("  " + "  ".join(cells)).rstrip())
        if markdown and number == 0:
            print("|---" + len(row[1:]) * ("|---:" if numbers else "|---") + "|")
    if markdown and notes:
        print()
    for number, note in enumerate(notes, 1):
        print(f"{'' if markdown else '  '}({number}) {note}")
    print()


def print_copies(curves, unit, title, markdown):
    sizes = sorted({point["bytes"] for curve in curves for point in curve["points"]})
    rows, notes = [["copy", *map(format_size, sizes)]], []
    for curve in curves:
        points = {p["bytes"]: p.get(unit, p) for p in curve["points"]}
        rows.append([curve["label"], *(format_cell(points.get(size), notes) for size in sizes)])
    print_table(title, rows, markdown, notes)


def print_section(cases, markdown):
    """The first case decides the columns. A table of many variants has no room for
    comparisons. The summary has the important ones, and JSON has all."""
    columns, unit = cases[0]["variants"], cases[0]["unit"]
    compared = [v for v in columns[1:] if "p99" not in v["id"] and len(columns) <= MOST_COMPARED]
    kind, sign, suffix = (("differences", "-", "") if unit in DIFFERENCES
                          else ("ratios", "/", "x"))
    titles = [f"{columns[0]['label']} {sign} {other['label']}" for other in compared]
    if len(columns) == 2 and compared:
        titles = [kind[:-1]]
    rows, notes = [[unit, *(column["label"] for column in columns), *titles]], []
    for case in cases:
        variants = {variant["id"]: variant for variant in case["variants"]}
        found = {entry["to"]: entry for entry in case[kind]}
        rows.append([case["title"]]
                    + [format_cell(variants.get(c["id"]), notes) for c in columns]
                    + [format_number(found[c["id"]]["median"]) + suffix if c["id"] in found
                       else "-" for c in compared])
    print_table(cases[0]["table"], rows, markdown, notes)


def print_machine(results, markdown):
    machine, options = results["machine"], results["options"]
    known = {name: value or "unknown" for name, value in machine.items()}
    software = " (software: these figures tell nothing about a GPU)"
    fill = options["fill"].replace("default", "memset (several streams: uncached)")
    print_table("Measured on", [
        ["device", known["name"] + (software if machine["software"] else "")],
        ["PCI address", known["pci-address"]],
        ["window", f"{machine['window-size'] >> 20} MiB"],
        ["CUDA driver", f"API {known['cuda-driver']}"],
        ["Vulkan driver", known["vulkan-driver"]],
        ["GStreamer", f"{known['gstreamer']}, cudaupload {known['cudaupload']}"],
        ["processor",
         f"{known['cpu']}, {machine['cpus']} threads, copies with {known['copy-isa']}"],
        ["system", known["kernel"]],
        ["run", f"{known['date']}, medians of {options['repeat']}, {options['seconds']:g} s a"
         f" pipeline{', quick' if options['quick'] else ''}"],
        ["source", f"writes by {fill}, pools of at least {options['buffers']} buffers"],
    ], markdown, numbers=False)


def print_tables(results, markdown):
    print_machine(results, markdown)
    for direction, title in ("to-device", "To the device"), ("from-device", "From the device"):
        curves = [c for c in results.get("memory", ()) if c["direction"] == direction]
        if curves:
            print_copies(curves, "GB/s", f"{title}, GB/s", markdown)
            print_copies(curves, "us", f"{title}, microseconds a call", markdown)
    cases = results.get("pipelines", ())
    for section in dict.fromkeys(case["section"] for case in cases):
        group = [case for case in cases if case["section"] == section]
        if section == "compare":
            print_table("Pipelines", [[v["label"], v["pipeline"]] for v in group[0]["variants"]],
                        markdown, numbers=False)
        print_section(group, markdown)
    summary = [[line["title"], format_number(line["value"])]
               for line in results.get("summary", ())]
    if summary:
        print_table("In short", [["of medians", "ratio"], *summary], markdown)
