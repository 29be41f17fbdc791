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
import datetime
import os
import platform
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
EXIT_USAGE = 2
END = """
The tables have medians. JSON has the extremes, too. Ratios are those of samples
of the same repetition.

VKGDR_BENCH_HELPER is the command of the program that measures, if it is not
vkgdr-bench-helper beside this program.

Exit status: 0 if the measurements were made (the tables show the errors of single
ones), 1 if there is no device or no output can be written, 2 if the arguments are
wrong.
"""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        sys.stderr.write(f"vkgdr-bench: {message}\nSee vkgdr-bench --help.\n")
        sys.exit(EXIT_USAGE)


def make_parser():
    parser = Parser(
        prog="vkgdr-bench", description=__doc__, epilog=END,
        usage="vkgdr-bench [OPTION…] [memory | pipelines | all | compare PIPELINE…]",
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    add = parser.add_argument
    add("what", nargs="*", help=argparse.SUPPRESS)
    add("--json", action="store_true", help="write JSON instead of tables")
    add("--markdown", action="store_true", help="write the tables in Markdown")
    add("--save", metavar="FILE.json", help="also write JSON to a file, for vkgdr-plot")
    add("--repeat", type=int, metavar="N",
        help="repetitions of each measurement (5; with --quick 1)")
    add("--seconds", type=float, metavar="S",
        help="time of a pipeline's measurement; a copy takes a 20th of it (1; with --quick 0.1)")
    add("--device", type=int, default=-1, metavar="N",
        help="CUDA device (-1: CUDA_DEVICE, or the first that works)")
    add("--buffers", type=int, default=4, metavar="N",
        help="smallest number of buffers of a source (4)")
    add("--fill", choices=bench_measure.FILLS, metavar="HOW",
        help="how sources write: memset, copy (of a pattern) or uncached (copies of a large"
        " area) (several streams: uncached, others: memset)")
    add("--section", metavar="NAME[,NAME]",
        help="only measure pipelines of these sections: " + ", ".join(bench_cases.SECTIONS))
    add("--consumer-prefix", metavar="COMMAND",
        help="starts the other processes of the sections ipc and ipc-delay, such as"
        " 'unshare --pid --fork --kill-child'")
    add("--quick", action="store_true",
        help="fewer sizes and smaller frames, for a short test of at most three minutes")
    add("--version", action="version", version=f"vkgdr-bench {VERSION}")
    return parser


def parse_options():
    """Also sets what is measured: memory, pipelines, and the pipelines of compare."""
    parser = make_parser()
    options = parser.parse_intermixed_args()
    what, *further = options.what or ["all"]
    options.compare = further if what == "compare" else []
    options.memory = what in ("memory", "all")
    options.pipelines = what != "memory"
    options.sections = (options.section or ",".join(bench_cases.SECTIONS)).split(",")
    unknown = [name for name in options.sections if name not in bench_cases.SECTIONS]
    if options.repeat is None:
        options.repeat = 1 if options.quick else 5
    if options.seconds is None:
        options.seconds = 0.1 if options.quick else 1.0
    for wrong, text in (
        (what == "compare" and not further, "compare takes pipelines, each as one argument"),
        (what not in ("memory", "pipelines", "all", "compare"),
         f'"{what}" can not be measured: give memory, pipelines, all or compare'),
        (further and what != "compare", f'"{"".join(further[:1])}" is one argument too many'),
        (not 1 <= options.repeat <= 1000, "--repeat takes a number from 1 to 1000"),
        (not 0.001 <= options.seconds <= 600, "--seconds takes a number from 0.001 to 600"),
        (options.device < -1, "--device takes the index of a CUDA device, or -1"),
        (not 1 <= options.buffers <= 16, "--buffers takes a number from 1 to 16"),
        (options.json and options.markdown,
         "--json and --markdown exclude each other: use --save for JSON"),
        (unknown, f'there is no section "{"".join(unknown[:1])}" of pipelines'),
    ):
        if wrong:
            parser.error(text)
    return options


def fail(text):
    sys.exit(f"vkgdr-bench: {text}")


def check_save(path):
    """Fails before anything is measured if the file cannot be written."""
    existed = os.path.exists(path)
    with open(path, "ab"):
        pass
    if not existed:
        os.remove(path)


def show_progress(number=0, options=None, total=0, repeat=0, text=""):
    """One line on the terminal. Without arguments, removes it. Standard output is for
    results."""
    if sys.stderr.isatty():
        line = ""
        if options:
            percent = 100 * (number * options.repeat + repeat) // (total * options.repeat)
            line = f"{percent:3}%  {text}, repetition {repeat + 1} of {options.repeat}"[:78]
        sys.stderr.write(f"\r\033[K{line}")
        sys.stderr.flush()


def measure_memory(measurer, options):
    """All kinds of copies are measured in turn for each size, and this is repeated. So a
    disturbance of the machine affects all kinds."""
    sizes = (bench_cases.QUICK if options.quick else bench_cases.FULL).copies
    curves = {}
    for number, size in enumerate(sizes):
        points = {}
        for repeat in range(options.repeat):
            show_progress(number, options, len(sizes), repeat, f"copies of {size} bytes")
            for copy in measurer.measure_copies(size):
                curve = {key: copy[key] for key in ("id", "label", "direction")}
                curves.setdefault(copy["id"], {**curve, "points": []})
                point = points.setdefault(copy["id"], {"bytes": size, "samples": []})
                if "error" in copy:
                    point.setdefault("error", copy["error"])
                else:
                    point["samples"].append(copy["seconds"])
        for name, point in points.items():
            curves[name]["points"].append(point)
    return list(curves.values())


def measure_pipelines(measurer, options):
    """The variants of a case are measured in turn, and this is repeated."""
    if options.compare:
        cases = [bench_cases.make_comparison(options.compare)]
    else:
        cases = bench_cases.Maker(options, measurer.hello).make_all(options.sections)
    for number, case in enumerate(cases):
        for repeat in range(options.repeat):
            for variant in case.variants:
                show_progress(number, options, len(cases), repeat,
                              f"{case.title}: {variant.label}")
                measurer.measure(case, variant)
    return cases


def describe_cpu():
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def describe_machine(hello):
    machine = dict(hello["machine"])
    version = machine.get("cuda-driver-version", 0)
    machine["cuda-driver"] = f"{version // 1000}.{version % 1000 // 10}"
    machine["cudaupload"] = hello["peers"].get("cudaupload", "not installed")
    machine["cpu"] = describe_cpu()
    machine["cpus"] = os.cpu_count()
    machine["kernel"] = f"{platform.system()} {platform.release()}"
    machine["date"] = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return machine


def put_out(options, machine, curves, cases):
    text = bench_report.make_json(VERSION, machine, options, curves, cases)
    if options.save:
        with open(options.save, "w", encoding="utf-8") as file:
            file.write(text)
    try:
        if options.json:
            sys.stdout.write(text)
        else:
            bench_report.print_tables(machine, options, curves, cases)
        sys.stdout.flush()
    except OSError as error:
        # Otherwise Python tries to write the rest at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        fail(f"standard output: {error}")


def main():
    options = parse_options()
    curves = cases = None
    try:
        if options.save:
            check_save(options.save)
        measurer = bench_measure.Measurer(options, FOLDER)
        if options.memory:
            curves = measure_memory(measurer, options)
        if options.pipelines:
            cases = measure_pipelines(measurer, options)
        show_progress()
        put_out(options, describe_machine(measurer.hello), curves, cases)
    except (bench_measure.Failure, OSError) as error:
        fail(error)
    except KeyboardInterrupt:
        show_progress()
        fail("interrupted")


if __name__ == "__main__":
    main()
