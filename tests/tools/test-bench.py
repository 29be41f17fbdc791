#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of vkgdr-bench on the software device: its output, not its figures.

    test-bench.py VKGDR-BENCH VKGDR-INFO VKGDR-PLOT NO-STREAM-THREADS [unittest's arguments]

Runs the program as a user does, and checks its output, its files and its exit status.
NO-STREAM-THREADS is a library that refuses the second thread of several streams. The
test is skipped if vkgdr-info reports that no device can be used.
"""

import importlib.util
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

BENCH, INFO, PLOT, NO_THREADS = sys.argv[1:5]

QUICK = ("--quick", "--seconds", "0.05", "--repeat", "1")
SECTIONS = (
    "process loops frames streams roundtrip download buffers overhead chain effect convert"
    " convert-kernel change cuda tensors tensor-kernel ipc ipc-delay".split()
)
DIFFERENCES = "process overhead chain change tensor-kernel ipc-delay".split()
# GStreamer's scanner of plugins cannot load a plugin that needs a sanitizer's library.
WITH_SANITIZER = bool(os.environ.get("WITH_SANITIZER"))


def bench(*args, **environment):
    return subprocess.run(
        [BENCH, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ, **environment),
        encoding="utf-8",
        timeout=240,
        check=False,
    )


def setUpModule():
    info = subprocess.run([INFO], stdout=subprocess.PIPE, check=False)
    if info.returncode != 0:
        raise unittest.SkipTest("vkgdr-info finds no device that can be used")


class Case(unittest.TestCase):
    def check_positive(self, *values):
        for value in values:
            self.assertTrue(math.isfinite(value) and value > 0, value)

    def check_order(self, summary):
        self.assertLessEqual(summary["min"], summary["median"])
        self.assertLessEqual(summary["median"], summary["max"])

    def run_json(self, *args, **environment):
        run = bench(*args, *QUICK, "--json", **environment)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotRegex(run.stderr, "CRITICAL|WARNING")
        return json.loads(run.stdout)

    def run_section(self, sections, *args, **environment):
        return self.run_json("pipelines", "--section", sections, *args, **environment)


class All(Case):
    """One run of all sections."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.save = os.path.join(cls.folder.name, "save.json")
        began = time.monotonic()
        cls.run_of_all = bench("all", "--quick", "--repeat", "2", "--json", "--save", cls.save)
        cls.took = time.monotonic() - began
        if cls.run_of_all.returncode != 0:
            raise AssertionError(cls.run_of_all.stderr)
        cls.results = json.loads(cls.run_of_all.stdout)

    def test_output(self):
        with open(self.save, encoding="utf-8") as file:
            self.assertEqual(json.load(file), self.results)
        self.assertNotIn("\r", self.run_of_all.stderr)  # progress is for terminals
        self.assertLess(self.took, 200)

    def test_machine(self):
        machine = self.results["machine"]
        self.assertIs(machine["software"], True)
        for field in ("name uuid cuda-driver vulkan-driver gstreamer cudaupload cpu copy-isa kernel"
                      " date").split():
            self.assertTrue(machine[field], field)

    def test_memory(self):
        curves = {curve["id"]: curve for curve in self.results["memory"]}
        self.assertLessEqual({
            "window-memcpy", "window-copy-1", "window-copy-2", "window-read-memcpy",
            "window-read-copy", "ram-memcpy", "htod-pageable", "htod-pinned-async",
            "dtoh-pageable", "dtoh-pinned-async"}, curves.keys())
        directions = {curve["direction"] for curve in curves.values()}
        self.assertEqual(directions, {"to-device", "from-device"})
        for curve in curves.values():
            sizes = [point["bytes"] for point in curve["points"]]
            self.assertGreaterEqual(len(sizes), 2)
            self.assertEqual(sizes, sorted(set(sizes)))
            for point in curve["points"]:
                for unit in "us", "GB/s":
                    with self.subTest(curve=curve["id"], bytes=point["bytes"], unit=unit):
                        self.check_positive(*point[unit].values())
                        self.check_order(point[unit])

    def test_pipelines(self):
        self.assertEqual(list(dict.fromkeys(c["section"] for c in self.results["pipelines"])),
                         SECTIONS)
        for case in self.results["pipelines"]:
            self.assertNotEqual(case["table"], case["section"], "the table has no title")
            for variant in case["variants"]:
                with self.subTest(case=case["id"], variant=variant["id"]):
                    if "error" in variant and WITH_SANITIZER \
                            and variant["id"] in ("bare-cuda", "client-python"):
                        continue  # Python has to load a library of ours
                    if "error" in variant:  # may not be installed
                        self.assertRegex(variant["error"], "^not installed$|1.24 or later")
                        continue
                    self.assertEqual(len(variant["samples"]), 2)
                    self.assertEqual(variant["median"], statistics.median(variant["samples"]))
                    self.check_order(variant)
                    if case["section"] != "change":
                        self.check_positive(*variant["samples"])

    def test_comparisons(self):
        """Ratios or differences of samples of the same repetition"""
        for case in self.results["pipelines"]:
            samples = {v["id"]: v.get("samples") for v in case["variants"]}
            self.assertEqual("differences" in case, case["section"] in DIFFERENCES)
            self.assertNotEqual("differences" in case, "ratios" in case)
            for entry in case.get("differences", case.get("ratios")):
                with self.subTest(case=case["id"], to=entry["to"]):
                    # The difference of two percentiles has no meaning.
                    self.assertNotIn("p99", entry["to"])
                    pairs = list(zip(samples[entry["of"]], samples[entry["to"]]))
                    both = [a - b if "differences" in case else a / b for a, b in pairs]
                    expected = (min(both), statistics.median(both), max(both))
                    self.assertEqual((entry["min"], entry["median"], entry["max"]), expected)

    def test_summary(self):
        """Ratios of medians"""
        ratios = {line["title"]: line["value"] for line in self.results["summary"]}
        for case in self.results["pipelines"]:
            of = {v["id"]: v["median"] for v in case["variants"] if "median" in v}
            if case["section"] == "loops":
                title, others = "vkgdrupload / better loop", ("loop-window", "loop-staged")
            elif case["section"] == "streams":
                title = "vkgdrupload / better of direct and staged"
                others = ("vkgdrupload-direct", "vkgdrupload-staged")
            else:
                continue
            expected = of["vkgdrupload"] / max(of[name] for name in others)
            self.assertEqual(ratios[f"{case['title']}: {title}"], expected)

    def test_streams(self):
        cases = [c for c in self.results["pipelines"] if c["section"] == "streams"]
        self.assertEqual([case["streams"] for case in cases], [1, 2])
        for case in cases:
            variants = {variant["id"]: variant for variant in case["variants"]}
            pipeline = variants["vkgdrupload-staged"]["pipeline"]
            self.assertEqual(case["fill"], "uncached")
            self.assertEqual(pipeline.count("fill=uncached"), case["streams"])
            self.assertEqual(pipeline.count("access=staged"), case["streams"])
            self.assertRegex(variants["loops-best-mix"]["note"],
                             f"^[0-{case['streams']}] of {case['streams']} threads direct$")

    def test_plot(self):
        """vkgdr-plot reads the files that vkgdr-bench saves."""
        if importlib.util.find_spec("matplotlib") is None:
            self.skipTest("matplotlib is not installed")
        subprocess.run([sys.executable, PLOT, self.save, self.folder.name], check=True, timeout=150)
        names = {name[:-4] for name in os.listdir(self.folder.name) if name.endswith(".svg")}
        self.assertEqual(names, {"to-device", "from-device", *SECTIONS})
        with open(os.path.join(self.folder.name, "frames.svg"), encoding="utf-8") as file:
            self.assertIn("360p NV12, into its own pool", file.read())


class Parts(Case):
    """Single sections, and errors of single measurements."""

    def test_compare(self):
        pipelines = [f"fakesrc sizetype=fixed sizemax=64 ! {element} fakesink"
                     for element in ("", "identity !")]
        (case,) = self.run_json("compare", *pipelines)["pipelines"]
        self.assertEqual([v["pipeline"] for v in case["variants"]], pipelines)
        self.assertEqual(case["unit"], "buffers/s")
        self.assertEqual(len(case["ratios"]), 1)

    def test_compare_others(self):
        """Payloaders push lists, whose buffers are counted."""
        errors = {
            "videotestsrc ! rtpvrawpay ! fakesink": None,
            "fakesrc": "no sink",
            "fakesrc ! identity": "no sink",
            "playbin uri=file:///nothing": 'has no pad "sink"',
            "fakesrc num-buffers=3 ! fakesink": "ended by itself",
        }
        (case,) = self.run_json("compare", *errors)["pipelines"]
        for variant, error in zip(case["variants"], errors.values()):
            with self.subTest(pipeline=variant["pipeline"]):
                if error:
                    self.assertIn(error, variant["error"])
                else:
                    self.check_positive(variant["median"])

    def test_no_window(self):
        """Only the copies through the window are left out."""
        results = self.run_json("all", "--section", "loops", VKGDR_DEBUG="no-vulkan")
        names = {curve["id"] for curve in results["memory"]}
        self.assertFalse([name for name in names if name.startswith("window-")])
        self.assertLessEqual({"ram-copy-2", "htod-pinned-async", "dtoh-pageable"}, names)
        for case in results["pipelines"]:
            measured = {v["id"] for v in case["variants"] if "error" not in v}
            self.assertEqual(measured, {"vkgdrupload", "loop-staged", "loop-ram"})

    def test_single_errors(self):
        """Each is an error of one measurement, and the others have results."""
        fault = "cuMemcpyDtoHAsync:3:CUDA_ERROR_LAUNCH_FAILED"
        points = [point for curve in self.run_json("memory", SOFTCUDA_FAIL=fault)["memory"]
                  for point in curve["points"]]
        errors = [point["error"] for point in points if "error" in point]
        self.assertEqual(len(errors), 1)
        self.assertIn("CUDA_ERROR_LAUNCH_FAILED", errors[0])
        if WITH_SANITIZER:  # its library has to be the first one
            return
        results = self.run_section("streams", LD_PRELOAD=NO_THREADS)
        variants = [v for case in results["pipelines"] for v in case["variants"]]
        errors = [v["error"] for v in variants if "error" in v and v["id"] != "cudaupload"]
        self.assertEqual(errors, ["a thread cannot be started: no thread is available"])

    def test_crash_of_the_helper(self):
        """It is an error of one measurement, and a new helper measures the others."""
        with tempfile.TemporaryDirectory() as folder:
            helper = os.path.join(folder, "helper")
            with open(helper, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\necho '{\"machine\": {\"software\": true}, \"peers\": {},"
                           " \"device\": 0}'\nread line\ncase $line in *crash*) kill -9 $$ ;; esac\n"
                           "echo '{\"rate\": 3}'\nread line\n")
            os.chmod(helper, 0o755)
            results = self.run_json("compare", "crash", "works", VKGDR_BENCH_HELPER=helper)
        crashed, works = results["pipelines"][0]["variants"]
        self.assertIn("ended with status -9", crashed["error"])
        self.assertEqual(works["median"], 3)

    @unittest.skipIf(WITH_SANITIZER, "with a sanitizer")
    def test_cuda_elements(self):
        """GStreamer's own CUDA elements load softcuda, because its libraries have the names
        of NVIDIA's."""
        softcuda = os.environ.get("VKGDR_SOFTCUDA_DIR", "")
        path = ":".join(filter(None, (softcuda, os.environ.get("LD_LIBRARY_PATH"))))
        with tempfile.TemporaryDirectory() as folder:
            cases = self.run_section(
                "cuda,ipc",
                LD_LIBRARY_PATH=path,
                GST_CUDA_NVRTC_LIBNAME=os.path.join(softcuda, "libnvrtc.so.13"),
                GST_REGISTRY=os.path.join(folder, "registry.bin"),
            )["pipelines"]
        of = {case["id"]: {v["id"]: v for v in case["variants"]} for case in cases}
        errors = {v["error"] for case in of.values() for v in case.values() if "error" in v}
        if any("1.24 or later" in error for error in errors):
            self.skipTest("no GStreamer's plugin nvcodec of 1.24 or later")
        self.assertEqual(errors, set())
        case = of["360p-nv12-cuda"]
        self.assertNotIn("upload", case["none"]["pipeline"])
        self.assertEqual(
            case["vkgdrupload"]["pipeline"].replace("vkgdrupload", "cudaupload cuda-device-id=0"),
            case["cudaupload"]["pipeline"])

    def test_tables(self):
        """All rows of a table have the same columns. A long error is below the table."""
        registry = os.environ.get("GST_REGISTRY", "")
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "registry.bin")
            if os.path.exists(registry):  # so that not all plugins are read again
                shutil.copy(registry, copy)
            run = bench("all", *QUICK, "--section", "frames,ipc,ipc-delay", "--markdown",
                        GST_PLUGIN_PATH_1_0=folder, GST_REGISTRY=copy)
        self.assertEqual(run.returncode, 0, run.stderr)
        tables = [block for block in run.stdout.split("\n\n") if block.startswith("|")]
        self.assertEqual(len(tables), 1 + 4 + 3)
        for table in tables:
            rows = table.splitlines()
            self.assertRegex(rows[1], r"^(\|---:?)+\|$")
            self.assertEqual({row.count("|") for row in rows}, {rows[1].count("|")})
        self.assertIn("failed (1)", run.stdout)
        self.assertIn('\n(1) no element "vkgdrupload"\n', run.stdout)

    def test_arguments(self):
        for wrong in (
            "everything", "compare", "memory pipelines", "--repeat 0", "--seconds nan",
            "--fill zero", "--buffers 0", "--json --markdown", "--nonsense", "--section nonsense",
        ):
            with self.subTest(arguments=wrong):
                run = bench(*wrong.split())
                self.assertEqual((run.returncode, run.stdout), (2, ""))
                self.assertIn("--help", run.stderr)
        for option, text in ("--help", "--save"), ("--version", "vkgdr-bench "):
            run = bench(option)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn(text, run.stdout)

    def test_failures(self):
        """A file that cannot be written is an error before anything is measured."""
        save = os.path.join(os.devnull, "save.json")
        for args, text in (
            (("memory", "--device", "77"), "there is no CUDA device 77"),
            (("all", "--repeat", "1000", "--save", save), "save.json"),
        ):
            run = bench(*args)
            self.assertEqual((run.returncode, run.stdout), (1, ""))
            self.assertIn(text, run.stderr)
            self.assertNotIn("Traceback", run.stderr)
        with open("/dev/full", "w", encoding="utf-8") as full:
            run = subprocess.run([BENCH, "memory", *QUICK], stdout=full, stderr=subprocess.PIPE,
                                 encoding="utf-8", timeout=100, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("standard output", run.stderr)


class Moved(Case):
    def test_program_finds_its_parts(self):
        """The program and the folder with its parts may be moved together."""
        build = os.path.dirname(os.path.abspath(BENCH))
        with tempfile.TemporaryDirectory() as folder:
            moved = os.path.join(folder, "bin", "vkgdr-bench")
            parts = os.path.join(folder, "libexec", "gst-vkgdr")
            shutil.copytree(os.path.join(build, "bench"), parts)
            os.mkdir(os.path.dirname(moved))
            shutil.copy(BENCH, moved)
            run = subprocess.run([moved, "memory", *QUICK, "--json"], stdout=subprocess.PIPE,
                                 timeout=100, check=True)
        self.assertTrue(json.loads(run.stdout)["memory"])


if __name__ == "__main__":
    program = unittest.main(argv=sys.argv[:1] + sys.argv[5:], exit=False)
    sys.stdout.flush()
    sys.stderr.flush()
    # Python does not free all memory, which a leak checker would report.
    os._exit(not program.result.wasSuccessful())
