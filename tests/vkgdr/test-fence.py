#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests the instructions of the store fence on other processors.

    test-fence.py SOURCE-FOLDER [unittest's arguments]

On aarch64, write-combined stores to a device have to be ordered for the outer shareable
domain. No test on another processor would notice an error. The test is skipped if there
is no compiler for aarch64.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = sys.argv[1]
TIME_LIMIT = 60  # seconds, for one run of a compiler

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


def find_compiler():
    """Returns the command of a compiler for aarch64, or None."""
    if shutil.which("aarch64-linux-gnu-gcc"):
        return ["aarch64-linux-gnu-gcc"]
    if shutil.which("clang"):
        # Only declarations are needed, so this machine's C headers suffice.
        command = ["clang", "--target=aarch64-linux-gnu"]
        triplet = subprocess.run(
            ["cc", "-print-multiarch"], stdout=subprocess.PIPE, check=False, timeout=TIME_LIMIT
        ).stdout.decode().strip()
        return [*command, "-idirafter", f"/usr/include/{triplet}"]
    return None


COMPILER = find_compiler()


def assemble(path):
    """Returns the assembly that the compiler makes of a C file."""
    with tempfile.TemporaryDirectory() as folder:
        # The C library's headers for x86-64 include this file if the compiler
        # is for another processor. It is only installed on machines that build
        # 32-bit programs.
        os.mkdir(os.path.join(folder, "gnu"))
        with open(os.path.join(folder, "gnu", "stubs-32.h"), "w"):
            pass
        run = subprocess.run(
            [
                *COMPILER,
                "-std=c11",
                "-O2",
                "-S",
                "-o",
                "-",
                "-I" + os.path.join(ROOT, "lib", "vkgdr"),
                "-I" + os.path.join(ROOT, "include"),
                "-idirafter",
                folder,
                path,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=TIME_LIMIT,
            check=False,
        )
    if run.returncode != 0:
        raise AssertionError(run.stderr)
    return run.stdout


def barriers(text):
    return [" ".join(found) for found in re.findall(r"^\s+(d[ms]b)\s+(\w+)", text, re.M)]


class Aarch64(unittest.TestCase):
    def test_fence_reaches_the_device(self):
        with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
            source.write(FENCE)
            source.flush()
            text = assemble(source.name)
        self.assertEqual(barriers(text), ["dmb oshst"])
        # Neither store is moved across the fence, or removed.
        before, _, after = text.partition("oshst")
        self.assertRegex(before, r"\bstr\s")
        self.assertRegex(after, r"\bstr\s")

    def test_generic_copy_ends_with_it(self):
        text = assemble(os.path.join(ROOT, "lib", "vkgdr", "copy-lines.c"))
        self.assertEqual(barriers(text), ["dmb oshst"])


if __name__ == "__main__":
    if COMPILER is None:
        print("there is no compiler for aarch64")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
