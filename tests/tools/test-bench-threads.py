#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of vkgdr-bench in a process that cannot create all of its threads.

    test-bench-threads.py VKGDR-BENCH NO-STREAM-THREADS [unittest's arguments]

NO-STREAM-THREADS is a library that refuses the second thread of several streams.
"""

import json
import os
import subprocess
import sys
import unittest

BENCH, LIBRARY = sys.argv[1:3]
QUICK = ("--quick", "--seconds", "0.02", "--repeat", "1")


class Threads(unittest.TestCase):
    def test_error_of_the_measurement(self):
        """The measurement has an error, and the other ones have results."""
        run = subprocess.run(
            [BENCH, "pipelines", "--section", "streams", *QUICK, "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(os.environ, LD_PRELOAD=LIBRARY),
            encoding="utf-8",
            timeout=50,
            check=False,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        variants = [
            variant
            for case in json.loads(run.stdout)["pipelines"]
            for variant in case["variants"]
            if variant["id"] != "cudaupload"  # may not be installed
        ]
        errors = [variant["error"] for variant in variants if "error" in variant]
        self.assertEqual(errors, ["a thread cannot be started: no thread is available"])
        for variant in variants:
            self.assertTrue("error" in variant or variant["median"] > 0, variant)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
