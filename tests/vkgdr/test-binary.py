#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests that a program built for vkgdr 0.1 still works with the library.

    test-binary.py LIBRARY PKG-CONFIG-FOLDER INCLUDE-FOLDER [unittest's arguments]

The soname and the exported functions are those of vkgdr 0.1. The flags of pkg-config
find the header under both of its names.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

LIBRARY, PKG_CONFIG_FOLDER, INCLUDE_FOLDER = sys.argv[1:4]
TIME_LIMIT = 60  # seconds, for one run of a tool

FUNCTIONS_OF_0_1 = {
    "vkgdr_last_error",
    "vkgdr_open",
    "vkgdr_close",
    "vkgdr_memory_alloc",
    "vkgdr_memory_free",
    "vkgdr_memory_get_host_ptr",
    "vkgdr_memory_get_device_ptr",
    "vkgdr_memory_get_size",
    "vkgdr_memory_is_coherent",
    "vkgdr_memory_non_coherent_atom_size",
    "vkgdr_memory_flush",
    "vkgdr_memory_invalidate",
}
PROGRAM = """
#include {header}
vkgdr_t use (void);
vkgdr_t use (void)
{{
  return vkgdr_open (0, VKGDR_OPEN_REQUIRE_COHERENT_BIT);
}}
"""


def output_of(*command):
    return subprocess.run(
        command,
        stdout=subprocess.PIPE,
        env=dict(os.environ, PKG_CONFIG_PATH=PKG_CONFIG_FOLDER, LC_ALL="C"),
        encoding="utf-8",
        timeout=TIME_LIMIT,
        check=True,
    ).stdout


class Binary(unittest.TestCase):
    @unittest.skipUnless(shutil.which("readelf"), "there is no readelf")
    def test_name_for_the_linker(self):
        text = output_of("readelf", "-d", LIBRARY)
        self.assertEqual(re.findall(r"soname: \[(.*)\]", text), ["libvkgdr.so.1"])

    @unittest.skipUnless(shutil.which("nm"), "there is no nm")
    def test_exported_functions(self):
        symbols = {
            line.split()[-1] for line in output_of("nm", "-D", "--defined-only", LIBRARY).splitlines()
        }
        self.assertLessEqual(FUNCTIONS_OF_0_1, symbols)
        foreign = {s for s in symbols if not s.startswith(("vkgdr_", "_"))}
        self.assertEqual(foreign, set())

    @unittest.skipUnless(shutil.which("pkg-config"), "there is no pkg-config")
    def test_header_is_found(self):
        flags = output_of(
            "pkg-config", "--define-variable=includedir=" + INCLUDE_FOLDER, "--cflags", "vkgdr"
        ).split()
        for header in '"vkgdr.h"', "<vkgdr.h>", "<vkgdr/vkgdr.h>":
            with self.subTest(header=header), tempfile.NamedTemporaryFile("w", suffix=".c") as source:
                source.write(PROGRAM.format(header=header))
                source.flush()
                output_of("cc", "-Werror", "-fsyntax-only", *flags, source.name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
