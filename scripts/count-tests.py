#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts single test cases in Meson's test logs.

    count-tests.py TESTLOG.json...

Prints `N passed, N failed, N skipped`, and fails if one has failed or none has passed.
Meson counts programs, but a program here runs many cases, and prints their number in
the format of its framework: libcheck, pytest or unittest. A program without such a
summary has failed, even if it ends without an error. Only programs without a framework
(api-*, fuzz-*) count as one case. Does not depend on how the tests are built or run.

On standard error: how long the tests took, and which of them took most of it. Tests run
in parallel, so the sum of their times is more than the time of the run. Then the programs
that failed, with the lines of their output that say why.
"""

import collections
import json
import re
import sys

# A summary, and the words that it has in front of or behind numbers.
CHECK = re.compile(r"^\d+%: (Checks: \d+, Failures: \d+, Errors: \d+)$", re.M)
CHECK_SKIPPED = re.compile(r"^Skipped case: ", re.M)  # these are also in Checks
PYTEST = re.compile(r"^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s(?: .*)?$", re.M)
UNITTEST = re.compile(r"^(Ran \d+ tests?) in .*\n\s*(?:OK|FAILED)(?: (\(.*\)))?$", re.M)
NUMBER = re.compile(r"(\d+) ([a-z]+)|([A-Za-z][a-z ]*?)(?:: |=| )(\d+)")
FAILED = {"Failures", "Errors", "failed", "error", "errors", "xpassed", "failures",
          "unexpected successes"}

# Meson's names of tests that are one case each, and print no summary.
WITHOUT_SUMMARY = re.compile(r"(?:^|[ /:])(?:api|fuzz)-[\w-]+$")
SLOWEST = 10

# The lines that say which case failed and why: of libcheck, pytest and unittest, of GLib
# and of sanitizers. A program without such a line has crashed: its last lines are shown.
REASON = re.compile(r"^\S+:\d+:[FE]:|^(?:FAILED|ERROR) (?!\()|^E  |^(?:FAIL|ERROR): "
                    r"|^Fatal Python error|(?:-|: )(?:ERROR|CRITICAL) \*\*|^(?:==\d+==)?ERROR"
                    r"|^SUMMARY: ")
# unittest explains the difference in the next lines.
PYTHON_ERROR = re.compile(r"^[\w.]*Error\b")
REASONS = 20
LAST_LINES = 5


def count_cases(text):
    """Adds up the summaries of the frameworks in a program's output: the numbers of cases
    that passed, failed and were skipped."""
    passed = failed = skipped = 0
    for pattern, total in (CHECK, "Checks"), (PYTEST, ""), (UNITTEST, "Ran"):
        for match in pattern.finditer(text):
            number = collections.Counter()
            for n, word, name, value in NUMBER.findall(" ".join(filter(None, match.groups()))):
                number[word or name] += int(n or value)
            bad = sum(number[word] for word in FAILED)
            passed += (number[total] - bad - number["skipped"] if total
                       else number["passed"] + number["xfailed"])
            failed += bad
            skipped += number["skipped"]
    cases = len(CHECK_SKIPPED.findall(text))
    return max(passed - cases, 0), failed, skipped + cases


def output_of(test):
    return test.get("stdout", "") + "\n" + test.get("stderr", "")


def short_name(test):
    """Meson's name is "project:suite / test"."""
    return test["name"].split(":", 1)[-1]


def has_passed(test):
    return test["result"] in ("OK", "EXPECTEDFAIL")


def lacks_summary(test):
    return not any(count_cases(output_of(test))) and not WITHOUT_SUMMARY.search(test["name"])


def count_test(test):
    """Counts the cases of one entry of a test log: a program that Meson ran."""
    if test["result"] == "SKIP":
        return 0, 0, 1
    count = count_cases(output_of(test))
    if has_passed(test):
        return count if any(count) else (0, 1, 0) if lacks_summary(test) else (1, 0, 0)
    # A program can fail although its cases passed: by a crash or a leak at its
    # end, by a sanitizer's report, or by a time limit before it prints its
    # summary.
    return count[0], count[1] or 1, count[2]


def format_time(seconds):
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"


def show_slowest(tests):
    """Each has a name, a start and a duration, in seconds."""
    start = min(test["starttime"] for test in tests)
    end = max(test["starttime"] + test["duration"] for test in tests)
    slowest = sorted(tests, key=lambda test: -test["duration"])[:SLOWEST]
    total, part = (sum(test["duration"] for test in some) for some in (tests, slowest))
    print(f"The tests took {format_time(end - start)}; the slowest {len(slowest)} of"
          f" {len(tests)}:", file=sys.stderr)
    for test in slowest:
        print(f"{format_time(test['duration']):>12}  {short_name(test)}", file=sys.stderr)
    print(f"Together these are {part / (total or 1):.0%} of the time of all tests.",
          file=sys.stderr)


def find_reasons(lines):
    for i, line in enumerate(lines):
        if PYTHON_ERROR.search(line):
            yield from lines[i:i + 3]
        elif REASON.search(line):
            yield line


def show_failures(tests):
    print("What failed:", file=sys.stderr)
    for test in tests:
        code = test.get("returncode") or 0
        ending = (", without a summary" if has_passed(test)
                  else f", signal {-code}" if code < 0 else "")
        print(f"  {short_name(test)}: {test['result']}{ending}", file=sys.stderr)
        lines = [line for line in output_of(test).splitlines() if line.strip("-= ")]
        reasons = list(dict.fromkeys(find_reasons(lines)))[:REASONS]
        for line in reasons or lines[-LAST_LINES:]:
            print("    " + line, file=sys.stderr)


def main(paths):
    tests = []
    for path in paths:
        with open(path, encoding="utf-8") as log:
            tests += map(json.loads, log)
    if tests:
        show_slowest(tests)
    counts = [count_test(test) for test in tests]
    if any(failed for _, failed, _ in counts):
        show_failures([test for test, count in zip(tests, counts) if count[1]])
    passed, failed, skipped = map(sum, zip((0, 0, 0), *counts))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
