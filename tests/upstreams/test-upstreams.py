#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Upstream elements from Debian's packages, with and without GPU memory.

    test-upstreams.py PART [unittest's arguments]
    test-upstreams.py --write

PART is a part of the table: decoders, filters, sources or streams. Each of its
elements is run with `vkgdrupload ! vkgdrdownload` after it and without these, and the
output must be the same. If docs/upstreams.md was made with the same version of GStreamer,
it must have the same results. An element that does not write directly into GPU memory
must have a reason there. Elements that are not installed are skipped.

--write runs all parts and writes the results to docs/upstreams.md. Elements that are not
installed keep their text. Run it through scripts/env.
"""

import os
import pathlib
import re
import sys
import tempfile
import unittest

# A window that the CPU must not read, as on a GPU. Must be set before the
# device is opened.
os.environ.update(VKGDR_DRIVER="software", VKGDR_DEBUG="bar")

import runner  # noqa: E402
import table  # noqa: E402
from runner import Gst  # noqa: E402

WITH = "vkgdrupload name=up access=direct ! vkgdrdownload !"
ATTEMPTS = 3  # for a sender whose packets may be lost

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/upstreams.md"
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


def version():
    return "{}.{}".format(*Gst.version()[:2])


def describe(case, result):
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


def compare(run, case):
    """Runs @case with GPU memory and without. Returns the result with it."""
    for attempt in range(ATTEMPTS if case.sender else 1):
        plain = run.run(case, "")
        result = run.run(case, WITH)
        if plain.digests and result.digests == plain.digests:
            return result
    raise AssertionError(
        f"the output differs: {len(result.digests)} buffers with vkgdrupload, "
        f"{len(plain.digests)} without"
    )


class Upstreams(unittest.TestCase):
    """One test for each element. The tests are added below."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="vkgdr-upstreams-")
        cls.addClassCleanup(folder.cleanup)
        cls.runner = runner.Runner(folder.name)
        text = PAGE.read_text(encoding="utf-8")
        cls.rows = {m[1]: (m[2], m[3]) for m in ROW.finditer(text)}
        cls.is_same_version = VERSION.search(text)[1] == version()

    def check(self, element, case):
        missing = runner.missing(case)
        if missing:
            self.skipTest("there is no " + ", ".join(missing))
        result = compare(self.runner, case)
        text = describe(case, result)
        print(f"{element}: {text}")
        saved, reason = self.rows[element]
        if result.ways["direct"] < sum(result.ways.values()):
            self.assertTrue(reason, "docs/upstreams.md does not say why")
        if self.is_same_version:
            self.assertEqual(saved, text, "run test-upstreams.py --write")


def add_tests(part):
    for name, case in table.PARTS[part].items():
        setattr(Upstreams, "test_" + name, lambda self, n=name, c=case: self.check(n, c))


def write():
    text = VERSION.sub(f"Made with GStreamer {version()}, ", PAGE.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="vkgdr-upstreams-") as folder:
        run = runner.Runner(folder)
        for name, case in [item for part in table.PARTS.values() for item in part.items()]:
            if not runner.missing(case):
                row = f"| `{name}` | {describe(case, compare(run, case))} |"
                text = re.sub(rf"^\| `{name}` \| .*? \|", lambda _, row=row: row, text, flags=re.M)
    PAGE.write_text(text, encoding="utf-8")


def main():
    Gst.init(None)
    if not Gst.ElementFactory.find("vkgdrupload"):
        print("There is no vkgdrupload: run this through scripts/env.")
        return 1
    if sys.argv[1:] == ["--write"]:
        return write()
    if sys.argv[1:2] == [] or sys.argv[1] not in table.PARTS:
        print(__doc__)
        return 2
    add_tests(sys.argv.pop(1))
    return unittest.main(verbosity=2)


if __name__ == "__main__":
    sys.exit(main())
