#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints how long a run of the tests took, and which of them took most of it.

    slow-tests.py TESTLOG.json...

Reads Meson's test logs. Tests run in parallel, so the sum of their times is
more than the time of the run. Prints nothing if the logs have no tests.
"""

import json
import sys

COUNT = 10


def read_tests(paths):
    """Yields each test's name, start and duration, in seconds."""
    for path in paths:
        with open(path, encoding="utf-8") as log:
            for line in log:
                test = json.loads(line)
                yield test["name"], test["starttime"], test["duration"]


def format_time(seconds):
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def main(paths):
    tests = list(read_tests(paths))
    if not tests:
        return
    start = min(start for _, start, _ in tests)
    end = max(start + duration for _, start, duration in tests)
    slowest = sorted(tests, key=lambda test: -test[2])[:COUNT]
    total = sum(duration for _, _, duration in tests)
    part = sum(duration for _, _, duration in slowest)

    print(f"The tests took {format_time(end - start)}; the slowest {len(slowest)} of {len(tests)}:")
    for name, _, duration in slowest:
        # Meson's "project:suite / test"
        print(f"{format_time(duration):>12}  {name.split(':', 1)[-1]}")
    if total > 0:
        print(f"Together these are {part / total:.0%} of the time of all tests.")


if __name__ == "__main__":
    main(sys.argv[1:])
