#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The example of an effect in CONTRIBUTING.md compiles.

    test-contributing.py SOURCE-FOLDER [COMMAND THAT COMPILES EFFECTS…]

Compiles its row of effects.c as C with all warnings, and its kernel with the build's command
for effects, if there is one.
"""

import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import unittest

ROOT, *COMMAND = sys.argv[1:]
ROW = """#include "effects.h"
const GstEffect effects[] = {
  %s
};"""


def read_block(language, word):
    text = pathlib.Path(ROOT, "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(rf"^ *```{language}\n(.*?)^ *```$", text, re.S | re.M)
    return textwrap.dedent(next(block for block in blocks if word in block))


class Effect(unittest.TestCase):
    def compile(self, text, *command):
        run = subprocess.run(command, input=text, stdout=subprocess.PIPE, timeout=60, text=True,
                             stderr=subprocess.STDOUT, check=False)
        self.assertFalse(run.returncode or run.stdout, run.stdout)

    def test_row(self):
        flags = shlex.split(subprocess.check_output(
            ["pkg-config", "--cflags", "gstreamer-1.0"], text=True, timeout=60))
        self.compile(ROW % read_block("c", '"posterize"'), "cc", "-Wall", "-fsyntax-only", *flags,
                     "-I", f"{ROOT}/gst/cudafilter", "-x", "c", "-")

    @unittest.skipUnless(COMMAND, "no compiler of effects")
    def test_kernel(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "posterize.cu")
            source.write_text(read_block("cuda", "posterize"), encoding="utf-8")
            self.compile("", *COMMAND, "-o", f"{folder}/posterize.ptx", source)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
