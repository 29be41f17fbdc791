#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each public header can be included alone, as C and as C++.

    test-headers.py SOURCE-FOLDER PKG-CONFIG-FOLDER [unittest's arguments]

For each header, compiles a source that only includes it, with all warnings. As
in a program, the flags come from pkg-config. The pkg-config files are those of
the build folder.
"""

import concurrent.futures
import os
import subprocess
import sys
import unittest

SOURCE, PKG_CONFIG = sys.argv[1:3]
INCLUDE = os.path.join(SOURCE, "include")

TIME_LIMIT = 60  # seconds, for one header
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wundef")
LANGUAGES = {
    "c": ["cc", "-std=c11", "-Wstrict-prototypes", *WARNINGS],
    "c++": ["c++", "-std=c++14", *WARNINGS],
}
# This header is CUDA code, which the compiler of kernels includes.
KERNEL = "vkgdr/kernel.h"


def list_headers():
    for folder, _, names in os.walk(INCLUDE):
        for name in sorted(names):
            if name.endswith(".h"):
                yield os.path.relpath(os.path.join(folder, name), INCLUDE)


def compiler_flags(package):
    """Returns the flags that a program uses. Warnings in headers of other projects are
    suppressed.
    """
    run = subprocess.run(
        ["pkg-config", "--cflags", package],
        env=dict(os.environ, PKG_CONFIG_PATH=PKG_CONFIG),
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    return [
        "-isystem" + flag[2:] if flag.startswith("-I/usr") else flag for flag in run.stdout.split()
    ]


def compile_header(header, language, flags):
    return subprocess.run(
        [*LANGUAGES[language], "-I" + INCLUDE, *flags, "-fsyntax-only", "-x", language, "-"],
        # The header is included twice, as in a program that includes two headers which
        # use it.
        input=f"#include <{header}>\n" * 2,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=TIME_LIMIT,
        check=False,
    )


class Headers(unittest.TestCase):
    def compile_all(self, language, package, headers, *options):
        flags = (*compiler_flags(package), *options)
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            runs = pool.map(lambda header: compile_header(header, language, flags), headers)
            for header, run in zip(headers, runs):
                with self.subTest(header=header, language=language):
                    self.assertEqual(run.returncode, 0, run.stdout)

    def gstreamer_headers(self):
        headers = [header for header in list_headers() if header.startswith("gst/")]
        self.assertGreater(len(headers), 15)
        return headers

    def test_gstreamer_library_in_c(self):
        self.compile_all("c", "gstreamer-vkgdr-1.0", self.gstreamer_headers())

    def test_gstreamer_library_in_cxx(self):
        self.compile_all("c++", "gstreamer-vkgdr-1.0", self.gstreamer_headers())

    def test_core(self):
        headers = [
            header for header in list_headers() if header.startswith("vkgdr/") and header != KERNEL
        ]
        self.assertEqual(headers, ["vkgdr/frames.h", "vkgdr/vkgdr.h"])
        for language in LANGUAGES:
            self.compile_all(language, "vkgdr", headers, "-DVKGDR_NO_CUDA_H")

    def test_that_faults_are_seen(self):
        for language in LANGUAGES:
            self.assertNotEqual(compile_header("vkgdr/missing.h", language, ()).returncode, 0)
            # Without GStreamer's flags, which this header needs.
            run = compile_header("gst/vkgdr/vkgdr.h", language, ())
            self.assertNotEqual(run.returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
