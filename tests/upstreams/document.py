# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the results to docs/upstreams.md, and reads them from there.

Must not depend on how the results are made.
"""

import pathlib
import re
from typing import Dict, List, Optional

from runner import Result
from table import Case

PATH = pathlib.Path(__file__).resolve().parents[2] / "docs/upstreams.md"

VERSION = re.compile(r"^Made with GStreamer (\d+\.\d+), ", re.M)
ROW = re.compile(r"^\| `([\w-]+)` \| (.*?) \| (.*?) \|$", re.M)

NAMES = {
    "direct": "written directly",
    "staged": "staged",
    "dma": "DMA",
    "copied": "copied",
    "peer": "copied on the device",
    "untouched": "not written by the CPU",
}


def describe(case: Case, result: Result) -> str:
    """Describes where the bytes were written.

    Which memories of a pool are used again, and therefore sent by DMA, depends
    on the timing. So their share is not given. The padding of a decoder is not
    given either, because it depends on the processor.
    """
    ways = {w: n for w, n in result.ways.items() if n > 0}
    mean = f"{round(result.size / result.buffers)} bytes a buffer"
    if case.stream:
        mean = f"{result.size} bytes"
    if len(ways) == 1:
        return f"{NAMES[next(iter(ways))]}; {mean}"
    if set(ways) == {"dma", "copied"}:
        return f"DMA; copied the first time each memory is used; {mean}"
    first, *others = sorted(ways, key=lambda w: -ways[w])
    less = ", ".join(f"{NAMES[w]} {ways[w]} bytes" for w in others)
    return f"{NAMES[first]}, {less}; {mean}"


def is_direct(result: Result) -> bool:
    return all(n == 0 for w, n in result.ways.items() if w != "direct")


class Page:
    """The page in the tree: what is above the tables, and the cells of each element."""

    def __init__(self) -> None:
        text = PATH.read_text()
        version = VERSION.search(text)
        self.head = text[: version.start()] if version else text
        self.version: Optional[str] = version[1] if version else None
        self.rows: Dict[str, List[str]] = {m[1]: [m[2], m[3]] for m in ROW.finditer(text)}


def row(case: Case, result: Result) -> List[str]:
    """Returns the cells of an element's row after its name."""
    return [describe(case, result), "" if is_direct(result) else case.reason or ""]


def write(version: str, results: Dict[Case, Optional[Result]]) -> None:
    """Writes the tables of the page. Elements without a result keep their text. They are not
    installed on this machine. For example, unixfdsrc is only in GStreamer 1.24 and
    later.
    """
    page = Page()
    lines = [page.head + f"Made with GStreamer {version}, on the software device.\n"]
    group = None
    for case, result in results.items():
        if case.group != group:
            group = case.group
            lines.append(f"\n## {group}\n\n| element | how its bytes reach the GPU | why |\n|---|---|---|\n")
        cells = row(case, result) if result else page.rows.get(case.element, ["not tried", ""])
        lines.append("| `{}` | {} | {} |\n".format(case.element, *cells))
    PATH.write_text("".join(lines))
