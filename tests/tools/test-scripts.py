#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests how tests are counted, what is said of those that fail, and the variables of an
installation.

    test-scripts.py SOURCE-FOLDER ENVIRONMENT.SH PREFIX [unittest's arguments]

Runs scripts/count-tests.py with made-up logs, and tests/run with made-up programs: a program
that ends without its summary has failed. Runs .ci/run with made-up scripts.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT, ENVIRONMENT, PREFIX = sys.argv[1:4]

PASSED = "Running suite(s): x\n100%: Checks: 6, Failures: 0, Errors: 0\n"
FAILED = "66%: Checks: 6, Failures: 1, Errors: 1\nx.c:1:F: wrong\nx.c:2:P: Passed\n"
OF_ANOTHER = "100%: Checks: 1, Failures: 0, Errors: 0\n"
# libcheck counts cases that were skipped (TEST_NEEDS) as passed.
LESS = "Skipped case: test_b needs a window\n" * 2 + PASSED

# The last line, words of the output, and tests: the name, Meson's result and the output.
LOGS = [
    ("4 passed, 2 failed, 0 skipped", "  gst / ipc: FAIL\n    x.c:1:F: wrong\n4 passed",
     ("p:gst / ipc", "FAIL", FAILED)),
    ("6 passed, 0 failed, 1 skipped", "", ("a", "OK", PASSED), ("b", "SKIP", "no device\n")),
    ("4 passed, 3 failed, 1 skipped", "    E   assert 1 == 2\n    FAILED test_x.py::test_y",
     ("a", "FAIL", "    assert x == 2\nE   assert 1 == 2\nFAILED test_x.py::test_y - assert\n"
      "= 2 failed, 3 passed, 1 skipped, 1 xfailed, 1 error in 1.2s =\n")),
    ("3 passed, 3 failed, 1 skipped", "    FAIL: test_y (x)\n    AssertionError: 1 != 2\n    [1]",
     ("a", "FAIL", "FAIL: test_y (x)\n----\nTraceback (most recent call last):\n"
      "    self.assertEqual(1, 2)\nAssertionError: 1 != 2\n[1]\n\n---\nRan 7 tests in 1.0s\n\n"
      "FAILED (failures=1, errors=1, skipped=1, unexpected successes=1)\n")),
    ("1 passed, 0 failed, 0 skipped", "", ("a", "OK", "Ran 1 test in 1.0s\n\nOK\n")),
    ("10 passed, 0 failed, 2 skipped", "", ("a", "OK", PASSED), ("b", "OK", LESS)),
    ("10 passed, 1 failed, 2 skipped", "", ("a", "OK", PASSED), ("b", "TIMEOUT", LESS)),
    ("0 passed, 1 failed, 1 skipped", "", ("a", "TIMEOUT", LESS[:LESS.index("\n") + 1])),
    # no summary
    ("6 passed, 1 failed, 0 skipped", "  b: OK, without a summary\n    Running\n",
     ("a", "OK", PASSED), ("b", "OK", "Running\n")),
    # a program without a framework
    ("1 passed, 0 failed, 0 skipped", "", ("p:vkgdr / api-c-without-cuda", "OK", "")),
    ("0 passed, 1 failed, 0 skipped", "vkgdr / api-c: FAIL", ("p:vkgdr / api-c", "FAIL", "")),
    # a failure after the summary
    ("12 passed, 2 failed, 0 skipped", "  b: TIMEOUT\n    Running suite(s): x\n    100%",
     ("a", "FAIL", PASSED), ("b", "TIMEOUT", PASSED)),
    # a crash
    ("0 passed, 1 failed, 0 skipped", "  a: FAIL, signal 11\n    Fatal Python error: Segmenta",
     ("a", "FAIL", "Fatal Python error: Segmentation fault\n" + 9 * "  File\n", 0, 0, -11)),
]
# The last line, words of the output, and programs: the output and the exit status.
PROGRAMS = [
    ("6 passed, 0 failed, 1 skipped", "", (PASSED, 0), ("no device\n", 77)),
    ("10 passed, 2 failed, 0 skipped", "x.c:1:F: wrong", (PASSED, 0), (FAILED, 2)),
    ("6 passed, 1 failed, 0 skipped", "no summary", (PASSED, 0), ("Running\n", 0)),
    ("10 passed, 0 failed, 2 skipped", "", (PASSED, 0), (LESS, 0)),
    ("6 passed, 1 failed, 1 skipped", "no summary", (PASSED, 0), (LESS[:LESS.index("\n") + 1], 0)),
    # a test that runs several cases at a time has several summaries
    ("7 passed, 0 failed, 0 skipped", "", (OF_ANOTHER + PASSED, 0)),
    ("6 passed, 1 failed, 0 skipped", "exit status 1", (PASSED, 1)),
]

# What .ci/run prints at its end, its exit status, and scripts: the name and first argument,
# the output and the exit status. Those that are not named print nothing and succeed.
WHAT = "What failed:\n  gst / x: FAIL\n    x.c:1:F: wrong\n"
COUNT = "6 passed, 1 failed, 0 skipped\n"
CI_RUNS = [
    ("\n6 passed, 0 failed\n", 0, {"test ": ("noise\n6 passed, 0 failed\n", 0)}),
    (f"\nFAILED: scripts/test (exit status 1)\n{WHAT}{COUNT}{COUNT}", 1,
     {"test ": (f"noise\n{WHAT}{COUNT}", 1)}),
    ("\nFAILED: scripts/docs (exit status 2)\nno gi-docgen\n", 1, {"docs": ("no gi-docgen\n", 2)}),
    # on forky, failures are only listed
    ("\nFAILED: scripts/test-in-root forky vkgdr gst launch python softcuda (exit status 1)\n"
     + WHAT, 0, {"test-in-root forky vkgdr": (WHAT, 1)}),
    ("\nNOT RUN: scripts/test-in-root trixie vkgdr gst softcuda\n", 0,
     {"test-in-root trixie vkgdr": ("no debootstrap\n", 3)}),
    ("\nFAILED: scripts/test-in-root forky infer (exit status 1)\n", 1,
     {"test-in-root forky infer": (WHAT, 1)}),
]

NAMES = "LD_LIBRARY_PATH PKG_CONFIG_PATH GST_PLUGIN_PATH GI_TYPELIB_PATH PYTHONPATH PATH".split()


class Counts(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def check(self, line, words, *command):
        """The exit status shows whether all tests have passed. Returns the output's lines."""
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             encoding="utf-8", timeout=60, check=False)
        passed = " 0 failed" in line and not line.startswith("0 passed")
        self.assertEqual(run.returncode, 0 if passed else 1, run.stdout)
        self.assertEqual(run.stdout.splitlines()[-1], line, run.stdout)
        self.assertIn(words, run.stdout)
        return run.stdout.splitlines()

    def count(self, line, words, *tests):
        names = "name", "result", "stdout", "starttime", "duration", "returncode"
        log = self.folder / "testlog.json"
        log.write_text("".join(json.dumps(dict(zip(names, (*test, 0, 0, 0)))) + "\n"
                               for test in tests), encoding="utf-8")
        return self.check(line, words, sys.executable, f"{ROOT}/scripts/count-tests.py", log)

    def test_logs_of_meson(self):
        for row in LOGS:
            with self.subTest(row=row):
                self.count(*row)

    def test_installed_tests(self):
        for number, (line, words, *programs) in enumerate(PROGRAMS):
            with self.subTest(programs=programs):
                folder = self.folder / str(number)
                folder.mkdir()
                shutil.copy(f"{ROOT}/tests/run", folder)
                for name, (text, status) in zip("ab", programs):
                    path = folder / f"test-{name}"
                    path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}END\nexit {status}\n")
                    path.chmod(0o755)
                self.check(line, words, folder / "run")

    def test_ci_says_what_failed(self):
        for number, (words, status, outputs) in enumerate(CI_RUNS):
            with self.subTest(outputs=outputs):
                folder = self.folder / f"ci-{number}"
                shutil.copytree(f"{ROOT}/.ci", folder / ".ci")
                (folder / "scripts").mkdir()
                cases = "".join(f"  '{name}'*) cat <<'END'\n{text}END\n  exit {result} ;;\n"
                                for name, (text, result) in outputs.items())
                for name in "docs test test-in-root test-pycuda abi sizes".split():
                    path = folder / "scripts" / name
                    path.write_text(f"#!/bin/sh\ncase \"{name} $*\" in\n"
                                    f"{cases}esac\n")
                    path.chmod(0o755)
                run = subprocess.run(folder / ".ci/run", stdout=subprocess.PIPE, text=True,
                                     stderr=subprocess.DEVNULL, timeout=60, check=False)
                self.assertEqual(run.returncode, status, run.stdout)
                self.assertIn(words, run.stdout)

    def test_slowest_tests(self):
        """The time of the run is from the first start to the last end."""
        tests = [(f"p:x / t{i}", "OK", PASSED, 1000.0 + i, 5.0 * i) for i in range(1, 21)]
        first, *slowest, share, _ = self.count("120 passed, 0 failed, 0 skipped", "", *tests)
        self.assertEqual(first, "The tests took 1 min 59 s; the slowest 10 of 20:")
        names = [line.split()[-1] for line in slowest]
        self.assertEqual(names, [f"t{i}" for i in range(20, 10, -1)])
        self.assertEqual(slowest[0].split(), "1 min 40 s x / t20".split())
        self.assertEqual(slowest[-1].split(), "55.0 s x / t11".split())
        self.assertIn("74%", share)  # 155 of 210 parts
        self.assertEqual(len(self.count("0 passed, 0 failed, 0 skipped", "")), 1)


class Users(unittest.TestCase):
    """Not each user has a home, can write to it, or may use sudo."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        # apt-get prints its arguments, and dpkg-query knows no package.
        self.add_programs(**{"apt-get": 'echo "$@"', "dpkg-query": "", "sudo": 'exec "$@"'})

    def add_programs(self, **programs):
        for name, text in programs.items():
            path = pathlib.Path(self.folder, name)
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)

    def run_deps(self, argument, status=0, **home):
        run = subprocess.run([f"{ROOT}/scripts/deps", argument], stdout=subprocess.PIPE, text=True,
                             env={"PATH": f"{self.folder}:/usr/bin:/bin", **home},
                             stderr=subprocess.STDOUT, timeout=60, check=False)
        self.assertEqual(run.returncode, status, run.stdout)
        return run.stdout

    def test_without_home(self):
        for home in {}, {"HOME": ""}:
            with self.subTest(home=home):
                self.assertIn("Usage: scripts/deps", self.run_deps("--help", **home))

    def test_deps_installs(self):
        for home in "/proc/missing", __file__:
            with self.subTest(home):
                self.assertIn("install clang-format", self.run_deps("lint", HOME=home))

    def test_without_sudo(self):
        """The message is what root has to type."""
        self.add_programs(id="echo 1000", sudo="exit 1")
        self.assertIn("Type as root: apt-get install --no-install-recommends clang-format\n",
                      self.run_deps("lint", 1, HOME="/proc/missing"))


@unittest.skipIf(PREFIX == "/usr", "there are no variables to set")
class Environment(unittest.TestCase):
    def variables_after(self, program):
        """The variables that a strict shell has after the program."""
        show = "\n".join(f'echo "${name}"' for name in NAMES)
        output = subprocess.check_output(
            ["/bin/sh", "-euc", f"{program}\n{show}", "sh", ENVIRONMENT], encoding="utf-8",
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": "/own folder"}, timeout=60)
        return dict(zip(NAMES, output.splitlines()))

    def test_folders_come_first_and_what_was_set_stays(self):
        once = self.variables_after('. "$1"')
        for name, value in once.items():
            self.assertTrue(value.startswith(PREFIX + "/"), f"{name}={value}")
        self.assertTrue(once["PYTHONPATH"].endswith(":/own folder"), once)
        self.assertEqual(self.variables_after('. "$1"; . "$1"'), once)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
