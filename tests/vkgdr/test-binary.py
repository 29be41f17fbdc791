#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests that a program built for vkgdr 0.1 still works with the library, and the
instructions of the store fence on other processors.

    test-binary.py LIBRARY PKG-CONFIG-FOLDER SOURCE-FOLDER [unittest's arguments]
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

LIBRARY, PKG_CONFIG_FOLDER, ROOT = sys.argv[1:4]
INCLUDE = os.path.join(ROOT, "include")
INTERNAL = os.path.join(ROOT, "lib", "vkgdr")
TIME_LIMIT = 60  # seconds, for one run of a tool

# This program uses every function of vkgdr 0.1.
with open(os.path.join(ROOT, "tests", "vkgdr", "api-vkgdr-0.1.c"), encoding="utf-8") as api:
    FUNCTIONS_OF_0_1 = set(re.findall(r"\b(vkgdr_\w+) \(", api.read()))
PROGRAM = """
#include {header}
vkgdr_t use (void);
vkgdr_t use (void)
{{
  return vkgdr_open (0, VKGDR_OPEN_REQUIRE_COHERENT_BIT);
}}
"""
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
    run = subprocess.run(
        command,
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ, PKG_CONFIG_PATH=PKG_CONFIG_FOLDER, LC_ALL="C"),
        encoding="utf-8",
        timeout=TIME_LIMIT,
        check=False,
    )
    if run.returncode != 0:
        raise AssertionError(run.stderr)
    return run.stdout


class Binary(unittest.TestCase):
    """The soname and the exported functions are those of vkgdr 0.1. The flags of
    pkg-config find the header under both of its names.
    """

    @unittest.skipUnless(shutil.which("readelf"), "there is no readelf")
    def test_name_for_the_linker(self):
        text = output_of("readelf", "-d", LIBRARY)
        self.assertEqual(re.findall(r"soname: \[(.*)\]", text), ["libvkgdr.so.1"])

    @unittest.skipUnless(shutil.which("nm"), "there is no nm")
    def test_exported_functions(self):
        lines = output_of("nm", "-D", "--defined-only", LIBRARY).splitlines()
        symbols = {line.split()[-1] for line in lines}
        self.assertEqual(len(FUNCTIONS_OF_0_1), 12)
        self.assertLessEqual(FUNCTIONS_OF_0_1, symbols)
        self.assertEqual({s for s in symbols if not s.startswith(("vkgdr_", "_"))}, set())

    @unittest.skipUnless(shutil.which("pkg-config"), "there is no pkg-config")
    def test_header_is_found(self):
        flags = output_of(
            "pkg-config", "--define-variable=includedir=" + INCLUDE, "--cflags", "vkgdr").split()
        for header in '"vkgdr.h"', "<vkgdr.h>", "<vkgdr/vkgdr.h>":
            with self.subTest(header=header):
                output_of("cc", "-Werror", "-fsyntax-only", *flags, "-x", "c", "-",
                          text=PROGRAM.format(header=header))


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


@unittest.skipUnless(COMPILER, "there is no compiler for aarch64")
class Aarch64(unittest.TestCase):
    """Write-combined stores to a device have to be ordered for the outer shareable domain.
    No test on another processor would notice an error.
    """

    def assemble(self, code):
        """Returns the assembly that the compiler makes of C code. It has one barrier."""
        with tempfile.TemporaryDirectory() as folder:
            # The C library's headers for x86-64 include this file if the compiler is for
            # another processor. It is only installed on machines that build 32-bit programs.
            os.mkdir(os.path.join(folder, "gnu"))
            with open(os.path.join(folder, "gnu", "stubs-32.h"), "w"):
                pass
            text = output_of(
                *COMPILER, "-std=c11", "-O2", "-S", "-o", "-", "-I" + INTERNAL, "-I" + INCLUDE,
                "-idirafter", folder, "-x", "c", "-", text=code)
        barriers = re.findall(r"^\s+(d[ms]b)\s+(\w+)", text, re.M)
        self.assertEqual(barriers, [("dmb", "oshst")])
        return text

    def test_fence_reaches_the_device(self):
        # Neither store is moved across the fence, or removed.
        before, _, after = self.assemble(FENCE).partition("oshst")
        self.assertRegex(before, r"\bstr\s")
        self.assertRegex(after, r"\bstr\s")

    def test_generic_copy_ends_with_it(self):
        with open(os.path.join(INTERNAL, "copy-lines.c"), encoding="utf-8") as file:
            self.assemble(file.read())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
