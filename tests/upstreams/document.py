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

HEAD = """\
<!-- SPDX-License-Identifier: LGPL-2.1-or-later -->
<!-- Written by tests/upstreams/test-upstreams.py --write: change that. -->

# Upstream elements

Any element can be in front of `vkgdrupload`. This table shows how elements of
Debian's packages bring frames, audio or bytes to the GPU. Each one was run with
`vkgdrupload ! vkgdrdownload` after it, and without these two, and the output was the
same. The property `stats` of `vkgdrupload` counts the bytes:

| in the table | in `stats` | meaning |
|---|---|---|
| written directly | `bytes-direct` | The element wrote into GPU memory. Nothing was copied. |
| staged | `bytes-staged` | The element wrote into a staging buffer of pinned memory, which was sent by DMA when the element unmapped it. |
| DMA | `bytes-dma` | The element has memory of its own, which was sent by DMA without another copy. |
| copied | `bytes-copied` | The element has memory of its own, which the CPU copied into GPU memory. |

The property `access` was `direct`, so that the table does not depend on measurements.
With `access=auto`, "staged" can replace "written directly" if it is faster. The sizes
are those of the buffers at the end of the pipeline.

"""

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
    """The content of the page in the tree."""

    def __init__(self, text: str) -> None:
        version = VERSION.search(text)
        self.version: Optional[str] = version[1] if version else None
        self.rows: Dict[str, List[str]] = {m[1]: [m[2], m[3]] for m in ROW.finditer(text)}


def read() -> Page:
    return Page(PATH.read_text() if PATH.exists() else "")


def row(case: Case, result: Result) -> List[str]:
    """Returns the cells of an element's row after its name."""
    return [describe(case, result), "" if is_direct(result) else case.reason or ""]


def write(version: str, results: Dict[Case, Optional[Result]]) -> None:
    """Writes the page. Elements without a result keep their text. They are not
    installed on this machine. For example, unixfdsrc is only in GStreamer 1.24 and
    later.
    """
    old = read().rows
    lines = [HEAD + f"Made with GStreamer {version}, on the software device.\n"]
    group = None
    for case, result in results.items():
        if case.group != group:
            group = case.group
            lines.append(f"\n## {group}\n\n| element | how its bytes reach the GPU | why |\n|---|---|---|\n")
        cells = row(case, result) if result else old.get(case.element, ["not tried", ""])
        lines.append("| `{}` | {} | {} |\n".format(case.element, *cells))
    PATH.write_text("".join(lines))
