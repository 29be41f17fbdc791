#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each public header can be included alone in C, and all of them in C++.

    test-headers.py SOURCE-FOLDER PKG-CONFIG-FOLDER [unittest's arguments]

Compiles sources that only include headers, with all warnings. As in a program, the flags
come from pkg-config. The pkg-config files are those of the build folder.
"""

import glob
import os
import shlex
import subprocess
import sys
import unittest

SOURCE, PKG_CONFIG = sys.argv[1:3]
INCLUDE = os.path.join(SOURCE, "include")

TIME_LIMIT = 60  # seconds, for one run of the compiler
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wundef")
LANGUAGES = {
    "c": ["cc", "-std=c11", "-Wstrict-prototypes", *WARNINGS],
    "c++": ["c++", "-std=c++14", *WARNINGS],
}
# This header is CUDA code, which the compiler of kernels includes.
KERNEL = "vkgdr/kernel.h"


def list_headers(folder):
    paths = glob.glob(os.path.join(INCLUDE, folder, "**", "*.h"), recursive=True)
    return sorted({os.path.relpath(path, INCLUDE) for path in paths} - {KERNEL})


def flags_of(package):
    """Returns the flags that a program uses. Warnings in headers of other projects are
    suppressed.
    """
    text = subprocess.check_output(
        ["pkg-config", "--cflags", package],
        env=dict(os.environ, PKG_CONFIG_PATH=PKG_CONFIG),
        encoding="utf-8",
    )
    # pkg-config escapes the spaces of a folder.
    return ["-isystem" + flag[2:] if flag.startswith("-I/usr") else flag
            for flag in shlex.split(text)]


def compile_headers(headers, language, flags):
    """Returns the compiler's messages. Headers are included twice, as in a program that
    includes two headers which use them.
    """
    return subprocess.run(
        [*LANGUAGES[language], "-I" + INCLUDE, *flags, "-fsyntax-only", "-x", language, "-"],
        input="".join(f"#include <{header}>\n" for header in headers) * 2,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
        timeout=TIME_LIMIT, check=False).stdout


class Headers(unittest.TestCase):
    def check(self, headers, *flags):
        for header in headers:
            with self.subTest(header=header):
                self.assertEqual(compile_headers([header], "c", flags), "")
        self.assertEqual(compile_headers(headers, "c++", flags), "")

    def test_gstreamer_library(self):
        headers = list_headers("gst")
        self.assertGreater(len(headers), 15)
        self.check(headers, *flags_of("gstreamer-vkgdr-1.0"))

    def test_core(self):
        headers = list_headers("vkgdr")
        self.assertEqual(headers, ["vkgdr/frames.h", "vkgdr/vkgdr.h"])
        # A program for vkgdr 0.1 includes the header by its name alone.
        self.check(["vkgdr.h", *headers], *flags_of("vkgdr"), "-DVKGDR_NO_CUDA_H")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
