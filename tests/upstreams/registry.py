#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The elements of all installed plugins: what a pipeline does with elements of this project
is what it does with identity.

    registry.py [ELEMENT...]

Tries the elements that are named; without names, a tenth of all, chosen by the day, or all
with VKGDR_ELEMENTS=all. Each one is played with `identity`, and with elements of this
project before, behind and around it, from up to three kinds of source. The end, the caps
and the bytes must be the same, no element of this project may post two errors, and none
may post an error after that of another element. What differs for a reason has a row in
differences.py.

A survey, not a test yet: with GStreamer 1.22, 34 of the 421 elements that play differ without
a row, and not all of these have been looked at.

Prints what was found for each element that was tried, and the reason for each that was not.
A pipeline that gives other bytes each time is compared by its end, caps and count of
buffers. If the pipeline with identity fails, the others have to fail, too; if all of an
element do, its row says so.
"""

import collections
import concurrent.futures
import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

import pipelines  # noqa: E402
from differences import DIFFERENCES  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
DAYS = 10  # in which all elements are tried
PROCESSES = 2


def play_in_child(names, on_result):
    """Plays the elements in another process. If it ends or hangs, a new one goes on with the
    next element.
    """
    while names:
        where = None  # the pipeline that runs
        with subprocess.Popen(
                [sys.executable, str(HERE / "run-registry.py")], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            process.stdin.write("\n".join(names))
            process.stdin.close()
            for line in process.stdout:
                if line.startswith("{"):
                    where = json.loads(line)
                    if "result" in where:
                        on_result(where)
                        where = None
        if where is None:
            return
        status = process.returncode
        end = "hang" if status == -signal.SIGALRM else f"exit status {status}"
        on_result({**where, "result": {"end": end, "caps": "", "bytes": [], "errors": []}})
        names = names[names.index(where["element"]) + 1:]


def compare(plain, again, other):
    """Returns what differs, or None."""
    if other["end"] != plain["end"]:
        return f"ends with {other['end']}, not {plain['end']}: {'; '.join(other['errors'][:1])}"
    posters = [text.partition(":")[0] for text in other["errors"]]
    ours = [name for name in posters if name.startswith(("vkgdr", "cudafilter"))]
    if len(ours) > 1 or (ours and posters[0] not in ours):
        return f"posts several errors: {'; '.join(other['errors'])}"
    if plain["end"] != "eos" or plain["caps"] != again["caps"]:
        return None
    if other["caps"] != plain["caps"]:
        return f"has the caps {other['caps']}, not {plain['caps']}"
    if len(plain["bytes"]) != len(other["bytes"]):
        same_count = len(plain["bytes"]) == len(again["bytes"])
        return f"gives {len(other['bytes'])} buffers, not {len(plain['bytes'])}" if same_count else None
    if plain["bytes"] != again["bytes"] or plain["bytes"] == other["bytes"]:
        return None
    return "gives other bytes or times"


def judge(results):
    """Returns the differences of one element, as texts by "case, way"; and the count of its
    cases in which the pipeline with identity plays to its end.
    """
    found, plays = {}, 0
    for case, ways in results.items():
        plain, again = ways["plain"], ways.get("again")
        if plain["end"] == "eos" and again and again["end"] == "eos":
            plays += 1
        elif plain["end"] != "error":
            continue  # it hangs, or ends the process, without this project
        for way, other in ways.items():
            text = way not in ("plain", "again") and compare(plain, again or plain, other)
            if text:
                found[f"{case}, {way}"] = text
    return found, plays


def why_nothing_plays(results):
    plain = next(iter(results.values()))["plain"]
    if plain["end"] == "timeout":
        return "it does not end, as elements of several streams do"
    return f"{plain['end']}: {plain['errors'][0]}" if plain["errors"] else plain["end"]


def choose(names):
    if sys.argv[1:]:
        return sys.argv[1:]
    if os.environ.get("VKGDR_ELEMENTS") == "all":
        return names
    return names[datetime.date.today().toordinal() % DAYS::DAYS]


def play(names):
    """Returns the results by element, case and way."""
    results = collections.defaultdict(lambda: collections.defaultdict(dict))

    def on_result(found):
        results[found["element"]][found["case"]][found["way"]] = found["result"]

    with concurrent.futures.ThreadPoolExecutor(PROCESSES) as threads:
        parts = [names[i::PROCESSES] for i in range(PROCESSES)]
        list(threads.map(lambda part: play_in_child(part, on_result), parts))
    return results


def report(name, results):
    """Prints the row of an element. Returns whether it differs without a reason, and whether
    it plays.
    """
    if not results:
        print(f"{name}: FAILED, was not played")
        return True, False
    found, plays = judge(results)
    reasons = DIFFERENCES.get(name, {})
    used = {key for key in reasons for where in found if key in where}
    unexplained = {where: text for where, text in found.items()
                   if not any(key in where for key in reasons)}
    if not plays:
        print(f"{name}: does not play with identity: {why_nothing_plays(results)}")
    elif not found:
        print(f"{name}: the same in {plays} of {len(results)} cases; "
              f"{len(results) - plays} do not play with identity")
    for key in sorted(used):
        print(f"{name}: differs {key}: {reasons[key]}")
    for where, text in unexplained.items():
        print(f"{name}: FAILED, {where}: {text}")
    return bool(unexplained), plays > 0


def main():
    Gst.init(None)
    left_out, names = collections.defaultdict(list), []
    for one in pipelines.all_elements():
        reason = pipelines.why_not(one)
        (left_out[reason] if reason else names).append(one.name)
    names = choose(names)
    results = play(names)
    rows = [report(name, results.get(name)) for name in names]
    for reason, elements in sorted(left_out.items()):
        print(f"Not tried, because it {reason}: {' '.join(elements)}")
    failed, played = sum(row[0] for row in rows), sum(row[1] for row in rows)
    print(f"{len(names)} elements were tried, {played} of them play with identity, {failed} "
          f"differ without a reason, {sum(map(len, left_out.values()))} are not tried.")
    # If few of them play, the sources or the comparison are broken.
    return 1 if failed or played * 2 < len(names) else 0


if __name__ == "__main__":
    sys.exit(main())
