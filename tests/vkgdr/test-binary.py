#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The name of the library is that of vkgdr 0.1, and on aarch64 its store fence reaches the device.

    test-binary.py LIBRARY SOURCE-FOLDER [unittest's arguments]
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

LIBRARY, ROOT = sys.argv[1:3]
INCLUDE = os.path.join(ROOT, "include")
INTERNAL = os.path.join(ROOT, "lib", "vkgdr")
TIME_LIMIT = 60  # seconds, for one run of a tool

# Uses the fence in the same way as the copies and the flush.
FENCE = """
#include "fence.h"
void publish (volatile int *a, int *b)
{
  *b = 1;
  vkgdr_store_fence ();
  *b = 2;
}
"""


def output_of(*command, text=None):
    return subprocess.run(
        command, input=text, stdout=subprocess.PIPE, env=dict(os.environ, LC_ALL="C"),
        encoding="utf-8", timeout=TIME_LIMIT, check=True).stdout


def find_compiler():
    """Returns the command of a compiler for aarch64, or None."""
    if shutil.which("aarch64-linux-gnu-gcc"):
        return ["aarch64-linux-gnu-gcc"]
    if shutil.which("clang"):
        # Only declarations are needed, so this machine's C headers suffice.
        triplet = output_of("cc", "-print-multiarch").strip()
        return ["clang", "--target=aarch64-linux-gnu", "-idirafter", f"/usr/include/{triplet}"]
    return None


COMPILER = find_compiler()


class Binary(unittest.TestCase):
    @unittest.skipUnless(shutil.which("readelf"), "there is no readelf")
    def test_name_for_the_linker(self):
        text = output_of("readelf", "-d", LIBRARY)
        self.assertEqual(re.findall(r"soname: \[(.*)\]", text), ["libvkgdr.so.1"])

    @unittest.skipUnless(COMPILER, "there is no compiler for aarch64")
    def test_fence_of_aarch64(self):
        """Write-combined stores to a device have to be ordered for the outer shareable
        domain, and no store may move across the fence. The generic copy ends with it, too.
        No test on another processor would notice an error.
        """
        with open(os.path.join(INTERNAL, "copy-lines.c"), encoding="utf-8") as file:
            codes = {FENCE: r"(?s)\bstr\s.*oshst.*\bstr\s", file.read(): "oshst"}
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        # The C library's headers for x86-64 include this file if the compiler is for another
        # processor. Only machines that build 32-bit programs have it.
        os.mkdir(os.path.join(folder.name, "gnu"))
        with open(os.path.join(folder.name, "gnu", "stubs-32.h"), "w"):
            pass
        for code, pattern in codes.items():
            text = output_of(
                *COMPILER, "-std=c11", "-O2", "-S", "-o", "-", "-I" + INTERNAL, "-I" + INCLUDE,
                "-idirafter", folder.name, "-x", "c", "-", text=code)
            barriers = re.findall(r"^\s+(d[ms]b)\s+(\w+)", text, re.M)
            self.assertEqual(barriers, [("dmb", "oshst")])
            self.assertRegex(text, pattern)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
