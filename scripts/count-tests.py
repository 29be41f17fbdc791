#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts single test cases in Meson's test logs.

    count-tests.py TESTLOG.json...

Prints `N passed, N failed, N skipped`, and fails if one has failed or none has passed.
Meson counts programs, but a program here runs many cases, and prints their number in
the format of its framework: libcheck, pytest or unittest. A program without such a
summary has failed, even if it ends without an error. Only programs without a framework
(api-*) count as one case. Does not depend on how the tests are built or run.
"""

import json
import re
import sys
from typing import NamedTuple

CHECK = re.compile(r"^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)$", re.M)
PYTEST = re.compile(r"^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s(?: .*)?$", re.M)
UNITTEST = re.compile(r"^Ran (\d+) tests? in .*\n\s*(?:OK|FAILED)(?: \((.*)\))?$", re.M)


# Meson's names of tests that are one case each, and print no summary.
WITHOUT_SUMMARY = re.compile(r"(?:^|[ /:])api-[\w-]+$")


class Count(NamedTuple):
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other):
        return Count(*(a + b for a, b in zip(self, other)))


def count_check(match):
    checks, failures, errors = map(int, match.groups())
    return Count(checks - failures - errors, failures + errors)


def count_pytest(match):
    number = {word: int(n) for n, word in re.findall(r"(\d+) ([a-z]+)", match[1])}
    return Count(
        number.get("passed", 0) + number.get("xfailed", 0),
        sum(number.get(w, 0) for w in ("failed", "error", "errors", "xpassed")),
        number.get("skipped", 0),
    )


def count_unittest(match):
    number = {
        word: int(n) for word, n in re.findall(r"([a-z][a-z ]*)=(\d+)", match[2] or "")
    }
    failed = sum(
        number.get(w, 0) for w in ("failures", "errors", "unexpected successes")
    )
    skipped = number.get("skipped", 0)
    return Count(int(match[1]) - failed - skipped, failed, skipped)


READERS = ((CHECK, count_check), (PYTEST, count_pytest), (UNITTEST, count_unittest))


def count_cases(text):
    """Adds up the summaries of the frameworks in a program's output."""
    count = Count()
    for pattern, reader in READERS:
        for match in pattern.finditer(text):
            count += reader(match)
    return count


def count_test(test):
    """Counts the cases of one entry of a test log: a program that Meson ran."""
    result = test["result"]
    if result == "SKIP":
        return Count(skipped=1)

    count = count_cases(test.get("stdout", "") + "\n" + test.get("stderr", ""))
    if result in ("OK", "EXPECTEDFAIL"):
        if any(count):
            return count
        if WITHOUT_SUMMARY.search(test["name"]):
            return Count(passed=1)
        print("{}: it ended without a summary".format(test["name"]), file=sys.stderr)
        return Count(failed=1)
    # A program can fail although its cases passed: by a crash or a leak at its
    # end, by a sanitizer's report, or by a time limit before it prints its
    # summary.
    return count if count.failed else count + Count(failed=1)


def main(paths):
    total = Count()
    for path in paths:
        with open(path, encoding="utf-8") as log:
            for line in log:
                total += count_test(json.loads(line))
    print("{} passed, {} failed, {} skipped".format(*total))
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
