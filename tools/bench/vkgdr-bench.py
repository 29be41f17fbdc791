#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures how fast data get to the GPU: copies by size, and pipelines with
vkgdrupload, with cudaupload if it is installed, and without an upload.

  memory      copies: bandwidth and latency by size
  pipelines   frames and buffers per second
  all         both (default)
  compare     buffers per second at the sinks of the given pipelines, in the
              syntax of gst-launch-1.0, and ratios of the first one to the others
"""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import platform
import re
import sys

# The modules and the helper are in a folder below this program's (in a build), or
# beside it. The installation may have been moved.
HERE = os.path.dirname(os.path.realpath(__file__))
FOLDER = os.path.join(HERE, "bench")
if not os.path.exists(FOLDER):
    FOLDER = os.path.join(HERE, os.path.relpath("@BENCH_DIR@", "@BINDIR@"))
sys.path.insert(0, FOLDER)
sys.dont_write_bytecode = True

import bench_cases  # noqa: E402
import bench_measure  # noqa: E402
import bench_report  # noqa: E402

VERSION = "@VERSION@"
END = """
The tables have medians. JSON has the extremes, too. Ratios are those of samples
of the same repetition.

VKGDR_BENCH_HELPER is the command of the program that measures, if it is not
vkgdr-bench-helper beside this program.

Exit status: 0 if the measurements were made (the tables show the errors of single
ones), 1 if there is no device or no output can be written, 2 if the arguments are
wrong.
"""


def number(kind, low, high):
    """The type of an option."""
    def parse(text):
        with contextlib.suppress(ValueError):
            if low <= kind(text) <= high:
                return kind(text)
        raise argparse.ArgumentTypeError(f"takes a number from {low} to {high}")
    return parse


def sections(text):
    names = text.split(",")
    for name in names:
        if name not in bench_cases.SECTIONS:
            raise argparse.ArgumentTypeError(f'there is no section "{name}" of pipelines')
    return names


def parse_options():
    parser = argparse.ArgumentParser(
        prog="vkgdr-bench", description=__doc__, epilog=END,
        usage="vkgdr-bench [OPTION…] [memory | pipelines | all | compare PIPELINE…]",
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    add = parser.add_argument
    add("what", nargs="?", default="all", choices=("memory", "pipelines", "all", "compare"),
        help=argparse.SUPPRESS)
    add("compare", nargs="*", help=argparse.SUPPRESS)
    form = parser.add_mutually_exclusive_group().add_argument
    form("--json", action="store_true", help="write JSON instead of tables")
    form("--markdown", action="store_true", help="write tables in Markdown (default)")
    add("--save", metavar="FILE.json", help="also write JSON to a file, for vkgdr-plot")
    add("--repeat", type=number(int, 1, 1000), metavar="N",
        help="repetitions of each measurement (5; with --quick 1)")
    add("--seconds", type=number(float, 0.001, 600), metavar="S",
        help="time of a pipeline's measurement; a copy takes a 20th of it (1; with --quick 0.1)")
    add("--device", type=number(int, -1, 1000), default=-1, metavar="N",
        help="CUDA device (-1: CUDA_DEVICE, or the first that works)")
    add("--fill", choices=("memset", "copy", "uncached"), metavar="HOW",
        help="how sources write: memset, copy (of a pattern) or uncached (copies of a large"
        " area) (several streams: uncached, others: memset)")
    add("--section", type=sections, default=bench_cases.SECTIONS, metavar="NAME[,NAME]",
        help="only measure pipelines of these sections: " + ", ".join(bench_cases.SECTIONS))
    add("--consumer-prefix", metavar="COMMAND", default="",
        help="starts the other processes of the sections ipc and ipc-delay, such as"
        " 'unshare --pid --fork --kill-child'")
    add("--quick", action="store_true",
        help="fewer sizes and smaller frames, for a short test of at most three minutes")
    add("--version", action="version", version=f"vkgdr-bench {VERSION}")
    options = parser.parse_intermixed_args()
    if bool(options.compare) != (options.what == "compare"):
        parser.error("compare, and nothing else, takes pipelines, each as one argument")
    options.repeat = options.repeat or (1 if options.quick else 5)
    options.seconds = options.seconds or (0.1 if options.quick else 1.0)
    return options


def show_progress(text=""):
    """One line on the terminal. Standard output is for results."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text[:78]}")
        sys.stderr.flush()


def measure(measurer, cases, repeat):
    """The variants of a case are measured in turn, and this is repeated. So a disturbance
    of the machine affects all of them."""
    steps = [(case, turn, variant) for case in cases for turn in range(1, repeat + 1)
             for variant in case.variants]
    for number, (case, turn, variant) in enumerate(steps):
        show_progress(f"{100 * number // len(steps):3}%  {case.title}: {variant.label},"
                      f" repetition {turn} of {repeat}")
        measurer.measure(case, variant)
    show_progress()


def describe_machine(machine):
    """What the helper says about the device, and the computer."""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        cpu = re.search(r"^model name\s*: (.*)", file.read(), re.M)
    version = machine.get("cuda-driver-version", 0)
    return {**machine, "cuda-driver": f"{version // 1000}.{version % 1000 // 10}",
            "cpu": cpu[1] if cpu else platform.machine(), "cpus": os.cpu_count(),
            "kernel": f"{platform.system()} {platform.release()}",
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}


def run(options):
    if options.save:  # if the file cannot be written, nothing is measured
        open(options.save, "a", encoding="utf-8").close()
    measurer = bench_measure.Measurer(options, FOLDER)
    machine = describe_machine(measurer.machine)
    copies, cases = [], []
    if options.what in ("memory", "all"):
        copies = list(bench_cases.make_copies(options.quick, machine))
    if options.compare:
        cases = [bench_cases.make_comparison(options.compare)]
    elif options.what != "memory":
        cases = bench_cases.make_cases(options, machine["device"], options.section)
    measure(measurer, copies + cases, options.repeat)
    measurer.helper.communicate()
    results = bench_report.describe(VERSION, machine, options, copies, cases)
    text = json.dumps(results, indent=2, ensure_ascii=False) + "\n"
    if options.save:
        pathlib.Path(options.save).write_text(text, encoding="utf-8")
    # After an error, Python would write the rest of sys.stdout once more at its end.
    with open(sys.stdout.fileno(), "w", closefd=False, encoding="utf-8") as output:
        output.write(text if options.json else bench_report.format_tables(results))


def main():
    try:
        run(parse_options())
    except (bench_measure.Failure, OSError) as error:
        sys.exit(f"vkgdr-bench: {error}")
    except KeyboardInterrupt:
        show_progress()
        sys.exit("vkgdr-bench: interrupted")


if __name__ == "__main__":
    main()
