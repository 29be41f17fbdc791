#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests how tests are counted: a program that ends without its summary has failed.

    test-count.py SOURCE-FOLDER [unittest's arguments]

Runs scripts/count-tests.py and scripts/slow-tests.py with made-up logs, and tests/run
with made-up programs.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = sys.argv[1]
TIME_LIMIT = 60  # seconds, for one run

PASSED = "Running suite(s): x\n100%: Checks: 6, Failures: 0, Errors: 0\n"
FAILED = "66%: Checks: 6, Failures: 1, Errors: 1\nx.c:1:F: wrong\n"
OF_ANOTHER = "100%: Checks: 1, Failures: 0, Errors: 0\n"


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_and_check(self, command, line):
        """Checks that the last line of the output is @line, and that the exit
        status shows whether all tests have passed.
        """
        run = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=TIME_LIMIT,
            check=False,
        )
        self.assertEqual(run.stdout.splitlines()[-1], line, run.stdout)
        passed = " 0 failed" in line and not line.startswith("0 passed")
        self.assertEqual(run.returncode, 0 if passed else 1, run.stdout)
        return run.stdout


class MesonLogs(Case):
    """scripts/count-tests.py"""

    def count(self, line, *tests):
        path = os.path.join(self.folder, "testlog.json")
        with open(path, "w", encoding="utf-8") as log:
            for name, result, stdout in tests:
                log.write(json.dumps({"name": name, "result": result, "stdout": stdout}) + "\n")
        command = [sys.executable, os.path.join(ROOT, "scripts", "count-tests.py"), path]
        return self.run_and_check(command, line)

    def test_summaries(self):
        self.count("6 passed, 0 failed, 0 skipped", ("p:gst / ipc", "OK", PASSED))
        self.count("4 passed, 2 failed, 0 skipped", ("p:gst / ipc", "FAIL", FAILED))
        self.count(
            "6 passed, 0 failed, 1 skipped", ("a", "OK", PASSED), ("b", "SKIP", "no device\n")
        )

    def test_no_summary(self):
        text = self.count("0 passed, 1 failed, 0 skipped", ("p:gst / ipc", "OK", "Running\n"))
        self.assertIn("p:gst / ipc", text)
        self.count("6 passed, 1 failed, 0 skipped", ("a", "OK", PASSED), ("b", "OK", ""))

    def test_program_without_a_framework(self):
        self.count("1 passed, 0 failed, 0 skipped", ("p:vkgdr / api-c-without-cuda", "OK", ""))
        self.count("0 passed, 1 failed, 0 skipped", ("p:vkgdr / api-c", "FAIL", ""))

    def test_failure_after_the_summary(self):
        self.count("6 passed, 1 failed, 0 skipped", ("a", "FAIL", PASSED))
        self.count("6 passed, 1 failed, 0 skipped", ("a", "TIMEOUT", PASSED))


class SlowTests(Case):
    """scripts/slow-tests.py"""

    def slow(self, *tests):
        """Each test has a name, a start and a duration."""
        path = os.path.join(self.folder, "testlog.json")
        with open(path, "w", encoding="utf-8") as log:
            for name, start, duration in tests:
                entry = {"name": name, "starttime": start, "duration": duration}
                log.write(json.dumps(entry) + "\n")
        command = [sys.executable, os.path.join(ROOT, "scripts", "slow-tests.py"), path]
        return subprocess.run(
            command, stdout=subprocess.PIPE, encoding="utf-8", timeout=TIME_LIMIT, check=True
        ).stdout.splitlines()

    def test_time_of_the_run_is_from_the_first_start_to_the_last_end(self):
        lines = self.slow(("p:gst / a", 1000.0, 90.0), ("p:gst / b", 1010.0, 115.5))
        self.assertEqual(lines[0], "The tests took 2 min 5 s; the slowest 2 of 2:")
        self.assertEqual(lines[1].split(), ["1", "min", "55", "s", "gst", "/", "b"])
        self.assertEqual(lines[2].split(), ["1", "min", "30", "s", "gst", "/", "a"])

    def test_ten_of_many(self):
        lines = self.slow(*((f"p:x / t{i}", 5.0, float(i)) for i in range(1, 21)))
        self.assertIn("the slowest 10 of 20", lines[0])
        names = [line.split()[-1] for line in lines[1:-1]]
        self.assertEqual(names, [f"t{i}" for i in range(20, 10, -1)])
        self.assertIn("74%", lines[-1])  # 155 of 210 seconds

    def test_no_tests(self):
        self.assertEqual(self.slow(), [])


class InstalledTests(Case):
    """tests/run"""

    def count(self, line, **programs):
        """The programs print a text, and end with a status."""
        shutil.copy(os.path.join(ROOT, "tests", "run"), self.folder)
        for name, (text, status) in programs.items():
            path = os.path.join(self.folder, "test-" + name)
            with open(path, "w", encoding="utf-8") as program:
                program.write(f"#!/bin/sh\ncat <<'END'\n{text}END\nexit {status}\n")
            os.chmod(path, 0o755)
        return self.run_and_check([os.path.join(self.folder, "run")], line)

    def test_summaries(self):
        self.count("6 passed, 0 failed, 1 skipped", a=(PASSED, 0), b=("no device\n", 77))

    def test_failures_are_shown(self):
        text = self.count("10 passed, 2 failed, 0 skipped", a=(PASSED, 0), b=(FAILED, 2))
        self.assertIn("x.c:1:F: wrong", text)

    def test_no_summary(self):
        text = self.count("6 passed, 1 failed, 0 skipped", a=(PASSED, 0), b=("Running\n", 0))
        self.assertIn("no summary", text)

    def test_a_program_that_it_starts_has_a_summary_too(self):
        self.count("6 passed, 0 failed, 0 skipped", a=(OF_ANOTHER + PASSED, 0))

    def test_failure_after_the_summary(self):
        text = self.count("6 passed, 1 failed, 0 skipped", a=(PASSED, 1))
        self.assertIn("exit status 1", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
