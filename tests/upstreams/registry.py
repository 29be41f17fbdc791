#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The elements of all installed plugins: what a pipeline does with elements of this project
is what it does with identity.

    registry.py [--save FILE] [ELEMENT...]

Tries the elements that are named. Without names, those of one of ten parts, chosen by the
day: VKGDR_ELEMENTS=0 to 9 chooses another part, VKGDR_ELEMENTS=all all of them.

Each one is played with `identity`, and with elements of this project before, behind and
around it, from up to three kinds of source. The end, the caps and the bytes must be the same,
no element of this project may post two errors, and none may post an error after that of
another element. What differs for a reason has a row in differences.py; a row that has nothing
to explain any more is a failure, too. What differs each time is not compared. If the pipeline
with identity fails, the others have to fail, too.

Prints what was found for each element that was tried, and the reason for each that was not.
--save writes a summary, of which page.py makes docs/upstreams.md.
"""

import argparse
import collections
import concurrent.futures
import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import zlib
from typing import Dict, List, NamedTuple

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

from differences import DIFFERENCES, OTHER_BYTES  # noqa: E402
from elements import all_elements  # noqa: E402
from pipelines import why_not  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PARTS = 10  # in as many days, all elements are tried
PROCESSES = 2


def play_in_child(names, folder, on_result):
    """Plays the elements in another process. If it ends or hangs, a new one goes on with the
    next element. What elements write into the current folder is in the given one.
    """
    while names:
        where = None  # the pipeline that runs
        with subprocess.Popen(
                [sys.executable, str(HERE / "run-registry.py")], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                cwd=folder) as process:
            process.stdin.write("\n".join(names))
            process.stdin.close()
            for line in process.stdout:
                if line.startswith("{"):
                    where = json.loads(line)
                    if "result" in where:
                        on_result(**where)
                        where = None
        if where is None:
            return
        status = process.returncode
        end = "hangs" if status == -signal.SIGALRM else f"ends the process, status {status}"
        on_result(**where, result=end, once="")
        names = names[names.index(where["element"]) + 1:]


def play(names):
    """Returns the results by element, case and way."""
    results = collections.defaultdict(lambda: collections.defaultdict(dict))

    def on_result(element, case, way, result, once):
        results[element][case][way] = result
        if once:
            print(f"{element}: differed once, {case}, {way}: {once}")

    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(PROCESSES) as threads:
        parts = [names[i::PROCESSES] for i in range(PROCESSES)]
        list(threads.map(lambda part: play_in_child(part, folder, on_result), parts))
    return results


class Judgement(NamedTuple):
    """plays: the count of the cases in which the pipeline with identity plays to its end
    explained: the indexes of the rows that explain something, and where
    """

    plays: int
    cases: int
    alone: str  # what the first pipeline with identity does, if none plays
    explained: Dict[int, List[str]]
    failures: List[str]


def judge(element, results, version):
    """Compares what was found for an element with its rows."""
    if not results:
        return Judgement(0, 0, "", {}, ["was not played"])
    rows = {i: row for i, row in enumerate(DIFFERENCES) if row.has(element, version)}
    explained, failures = collections.defaultdict(list), []
    for case, ways in results.items():
        for way, text in ways.items():
            where = f"{case}, {way}"
            if way == "plain" or not text or (element in OTHER_BYTES
                                              and text in ("gives other bytes", "gives other sizes")):
                continue
            reasons = [i for i, row in rows.items() if row.where in where]
            for i in reasons:
                explained[i].append(where)
            if not reasons:
                failures.append(f"{where}: {text}")
    ends = [ways["plain"] for ways in results.values()]
    plays = ends.count("eos")
    failures += [f"does not differ any more: {row.where}: {row.reason}"
                 for i, row in rows.items() if i not in explained]
    return Judgement(plays, len(ends), "" if plays else ends[0], explained, failures)


def report(name, judgement):
    if not judgement.plays:
        print(f"{name}: does not play with identity: {judgement.alone}")
    elif not judgement.explained and not judgement.failures:
        print(f"{name}: the same in {judgement.plays} of {judgement.cases} cases")
    for i, places in judgement.explained.items():
        print(f"{name}: differs in {len(places)} pipelines, {DIFFERENCES[i].where}: "
              f"{DIFFERENCES[i].reason}")
    for text in judgement.failures:
        print(f"{name}: FAILED, {text}")


def choose(names, part):
    """The part of a name is the same on all machines."""
    if part == "all":
        return names
    return [name for name in names if zlib.crc32(name.encode()) % PARTS == int(part)]


def get_part():
    today = str(datetime.date.today().toordinal() % PARTS)
    part = os.environ.get("VKGDR_ELEMENTS") or today
    if part != "all" and part not in map(str, range(PARTS)):
        sys.exit(f"VKGDR_ELEMENTS={part} is neither \"all\" nor a number below {PARTS}")
    return part


def summarize(judgements, left_out):
    """What docs/upstreams.md says: counts by kind, for each element the places of the rows that
    explain something, and the elements that were not tried or do not play. Names have a space
    between them.
    """
    kinds, places, alone = {}, {}, []
    for one, judgement in judgements.items():
        outcome = ("alone" if not judgement.plays else "differs" if judgement.explained else "same")
        kinds.setdefault(one.kind(), {"same": 0, "differs": 0, "alone": 0})[outcome] += 1
        if judgement.explained:
            places[one.name] = sorted(DIFFERENCES[i].where for i in judgement.explained)
        if outcome == "alone":
            alone.append(one.name)
    return {"kinds": kinds, "differences": places, "alone": " ".join(alone),
            "left out": {reason: " ".join(names) for reason, names in left_out.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", type=pathlib.Path)
    parser.add_argument("elements", nargs="*")
    arguments = parser.parse_args()
    Gst.init(None)
    version = "{}.{}".format(*Gst.version()[:2])
    left_out, tried = collections.defaultdict(list), {}
    for one in all_elements():
        reason = why_not(one)
        if reason:
            left_out[reason].append(one.name)
        else:
            tried[one.name] = one
    for name in arguments.elements:
        if name not in tried:
            reason = next((why for why, names in left_out.items() if name in names),
                          "is not installed")
            sys.exit(f"{name} is not tried, because it {reason}")
    part = "" if arguments.elements else get_part()
    names = arguments.elements or choose(list(tried), part)
    results = play(names)
    judgements = {tried[name]: judge(name, results.get(name), version) for name in names}
    for one, judgement in judgements.items():
        report(one.name, judgement)
    for reason, elements in sorted(left_out.items()):
        print(f"Not tried, because it {reason}: {' '.join(elements)}")
    failed = [one.name for one, judgement in judgements.items() if judgement.failures]
    played = sum(judgement.plays > 0 for judgement in judgements.values())
    print(f"GStreamer {version}: {len(names)} elements were tried, {played} of them play with "
          f"identity, {len(failed)} failed, {sum(map(len, left_out.values()))} are not tried.")
    if part not in ("", "all"):
        print(f"This was part {part} of {PARTS}: VKGDR_ELEMENTS={part} repeats it.")
    if arguments.save and part == "all":
        arguments.save.write_text(json.dumps({version: summarize(judgements, left_out)}, indent=1,
                                             sort_keys=True) + "\n")
    if failed:
        print(f"Failed: {' '.join(failed)}")
    # In libcheck's words, which scripts/count-tests.py counts.
    print(f"{100 * (len(names) - len(failed)) // len(names)}%: Checks: {len(names)}, "
          f"Failures: {len(failed)}, Errors: 0")
    # If few of them play, the sources or the comparison are broken.
    return 1 if failed or played * 2 < len(names) else 0


if __name__ == "__main__":
    os.environ.setdefault("VKGDR_DRIVER", "software")
    sys.exit(main())
