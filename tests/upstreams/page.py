#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the second part of docs/upstreams.md from docs/upstreams.json.

    page.py [--check] [SUMMARY...]

A SUMMARY is a file that registry.py --save has written, on one release. It takes the place
of that release's results in docs/upstreams.json. --check writes nothing, and fails if the page is
not the one that would be made.
"""

import argparse
import json
import pathlib
import sys

import gi

gi.require_version("Gst", "1.0")

from differences import DIFFERENCES, OTHER_BYTES  # noqa: E402
from elements import KINDS  # noqa: E402

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
DATA, PAGE = DOCS / "upstreams.json", DOCS / "upstreams.md"
LICENSE = "SPDX-License-Identifier: LGPL-2.1-or-later"
BEGIN = "<!-- What follows is made by tests/upstreams/page.py. -->\n"
PLURALS = {"Filter": "filters", "Source": "sources", "Sink": "sinks", "other": "others",
           "Visualization": "visualizations", "Effect": "other effects"}
# Too many to list: for most, nothing in Debian makes such a stream.
COUNTED = ("has caps that GStreamer does not know",
           "takes neither raw frames or audio, nor what an encoder or payloader gives")


def sort_names(names):
    return ", ".join(f"`{name}`" for name in sorted(names))


def say_versions(found, versions):
    return "all" if list(found) == list(versions) else ", ".join(found)


def make_table(titles, rows):
    return "\n".join(["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|",
                      *("| " + " | ".join(row) + " |" for row in rows)])


def make_counts(data):
    """The table of the kinds: one column for each release."""
    def cell(counts):
        return " / ".join(str(counts.get(key, 0)) for key in ("same", "differs", "alone"))

    kinds = [kind for kind in (*KINDS, "other") if any(kind in one["kinds"] for one in data.values())]
    rows = [[PLURALS.get(kind, kind.lower() + "s"),
             *(cell(one["kinds"].get(kind, {})) for one in data.values())] for kind in kinds]
    totals = [{key: sum(counts[key] for counts in one["kinds"].values())
               for key in ("same", "differs", "alone")} for one in data.values()]
    rows.append(["**all**", *(f"**{cell(total)}**" for total in totals)])
    return make_table(["kind", *(f"GStreamer {version}" for version in data)], rows)


def make_differences(data):
    rows = []
    for row in DIFFERENCES:
        found = {version: [name for name, places in one["differences"].items()
                           if row.where in places and row.has(name, version)]
                 for version, one in data.items()}
        names = set().union(*found.values())
        if names:
            versions = say_versions([version for version in data if found[version]], data)
            rows.append([sort_names(names), row.where, versions, row.reason])
    return make_table(["element", "pipelines", "GStreamer", "why"], rows)


def make_left_out(data):
    found = {}
    for one in data.values():
        for reason, names in one["left out"].items():
            found.setdefault(reason, set()).update(names.split())
    return make_table(["reason: it …", "elements"],
                      [[reason, f"{len(names)}" if reason in COUNTED else sort_names(names)]
                       for reason, names in sorted(found.items())])


def make_alone(data):
    return sort_names(set().union(*(one["alone"].split() for one in data.values())))


def make_page(data):
    return f"""{BEGIN}
## Beside all elements

`tests/upstreams/registry.py` plays the elements of all plugins that Debian 12, 13 and forky
install: with `identity`, and with `vkgdrupload ! vkgdrdownload`, or these with
`cudafilter kernel=copy` between them, in its place: in front of the element, behind it, and,
if it takes any memory, with the element in the middle. The frames come from `videotestsrc`,
which lets the element choose the format, from an `appsrc` with fixed caps, and from a decoder;
bytes come from an encoder or a payloader. The pipelines must end in the same way, with the
same caps, bytes and times, and with one error, that of the cause, if they fail.

Three numbers: elements that do the same, that differ in some pipeline for a reason, and that
do not play in these pipelines with `identity` either.

{make_counts(data)}

A stream without caps is called `application/octet-stream` behind `vkgdrupload`. Apart from
that, this differs:

{make_differences(data)}

The bytes of these elements are not compared:

{make_table(["element", "why: it …"], [[f"`{name}`", reason]
            for name, reason in sorted(OTHER_BYTES.items())])}

### Not tried

{make_left_out(data)}

These do not play with `identity` either, on at least one release: they need another stream,
other properties or another format, or fail themselves. {make_alone(data)}.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("summaries", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    data = json.loads(DATA.read_text(encoding="utf-8"))["releases"] if DATA.exists() else {}
    for path in arguments.summaries:
        data.update(json.loads(path.read_text(encoding="utf-8")))
    data = dict(sorted(data.items()))
    old = PAGE.read_text(encoding="utf-8")
    new = old.partition(BEGIN)[0].rstrip() + "\n\n" + make_page(data)
    if arguments.check:
        if new != old:
            sys.exit("docs/upstreams.md is not made from docs/upstreams.json and differences.py: "
                     "run tests/upstreams/page.py")
        print("100%: Checks: 1, Failures: 0, Errors: 0")
        return
    if arguments.summaries:
        DATA.write_text(json.dumps({"license": LICENSE, "releases": data}, indent=1) + "\n",
                        encoding="utf-8")
    PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
