# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/upstreams.md: the table as a page, and what a page says of an element.

Must not know how results come about.
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

Any element can be before `vkgdrupload`. This table shows what becomes of the
frames, audio or bytes of elements from Debian's packages. Each runs once into
`vkgdrupload ! vkgdrdownload` and once without these two: the bytes that arrive
are the same. How they went is what the property `stats` of `vkgdrupload` counts:

| in the table | in `stats` | what it means |
|---|---|---|
| written straight | `bytes-direct` | The element wrote into GPU memory. Nothing was copied. |
| staged | `bytes-staged` | The element wrote into a staging buffer of pinned memory, which was sent by DMA when the element unmapped it. |
| DMA | `bytes-dma` | The element has memory of its own, which was sent by DMA from where it lay. |
| copied | `bytes-copied` | The element has memory of its own, which the CPU copied into GPU memory. |

The property `access` was `direct`, so that the table does not depend on what is
measured: with `access=auto`, staged may take the place of written straight where
that is faster. The sizes are those of the buffers that arrive.

"""

VERSION = re.compile(r"^Made with GStreamer (\d+\.\d+), ", re.M)
ROW = re.compile(r"^\| `([\w-]+)` \| (.*?) \| (.*?) \|$", re.M)

NAMES = {
    "direct": "written straight",
    "staged": "staged",
    "dma": "DMA",
    "copied": "copied",
    "peer": "copied on the device",
    "untouched": "written by no CPU",
}


def describe(case: Case, result: Result) -> str:
    """How the bytes went. Which of a pool's memories come back in time to be
    sent by DMA is chance: their share is not told. Nor is the padding that a
    decoder adds, which depends on the processor."""
    ways = {w: n for w, n in result.ways.items() if n > 0}
    mean = f"{round(result.size / result.buffers)} bytes a buffer"
    if case.stream:
        mean = f"{result.size} bytes"
    if len(ways) == 1:
        return f"{NAMES[next(iter(ways))]}; {mean}"
    if set(ways) == {"dma", "copied"}:
        return f"DMA, new memory copied; {mean}"
    first, *others = sorted(ways, key=lambda w: -ways[w])
    less = ", ".join(f"{NAMES[w]} {ways[w]} bytes" for w in others)
    return f"{NAMES[first]}, {less}; {mean}"


def is_straight(result: Result) -> bool:
    return all(n == 0 for w, n in result.ways.items() if w != "direct")


class Page:
    """What the page in the tree says."""

    def __init__(self, text: str) -> None:
        version = VERSION.search(text)
        self.version: Optional[str] = version[1] if version else None
        self.rows: Dict[str, List[str]] = {m[1]: [m[2], m[3]] for m in ROW.finditer(text)}


def read() -> Page:
    return Page(PATH.read_text() if PATH.exists() else "")


def row(case: Case, result: Result) -> List[str]:
    """The cells of an element beside its name."""
    return [describe(case, result), "" if is_straight(result) else case.reason or ""]


def write(version: str, results: Dict[Case, Optional[Result]]) -> None:
    """Elements without a result keep what the page has said of them: they are not
    on this machine, as unixfdsrc is only in GStreamer 1.24 and later."""
    old = read().rows
    lines = [HEAD + f"Made with GStreamer {version}, on the software device.\n"]
    group = None
    for case, result in results.items():
        if case.group != group:
            group = case.group
            lines.append(f"\n## {group}\n\n| element | its bytes are | why |\n|---|---|---|\n")
        cells = row(case, result) if result else old.get(case.element, ["not tried", ""])
        lines.append("| `{}` | {} | {} |\n".format(case.element, *cells))
    PATH.write_text("".join(lines))
