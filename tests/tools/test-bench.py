#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of vkgdr-bench on the software device: its output, not its figures.

    test-bench.py VKGDR-BENCH VKGDR-PLOT [unittest's arguments]

Runs the program as a user does, and checks its output, its files and its exit status.
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

BENCH, PLOT = sys.argv[1:3]

QUICK = ("--quick", "--seconds", "0.05")
SECTIONS = ("process loops frames streams roundtrip download buffers overhead effect convert cuda"
            " tensors tensor-kernel ipc ipc-delay").split()
# GStreamer's scanner of plugins cannot load a plugin that needs a sanitizer's library.
WITH_SANITIZER = bool(os.environ.get("WITH_SANITIZER"))


def bench(*args, program=BENCH, stdout=subprocess.PIPE, **environment):
    return subprocess.run([program, *args], stdout=stdout, stderr=subprocess.PIPE,
                          env=dict(os.environ, **environment), encoding="utf-8", timeout=240,
                          check=False)


class Case(unittest.TestCase):
    def run_json(self, *args, **environment):
        run = bench(*args, *QUICK, "--json", **environment)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotRegex(run.stderr, "CRITICAL|WARNING")
        return json.loads(run.stdout)

    def check_comparisons(self, case):
        """Ratios or differences of samples of the same repetition"""
        samples = {v["id"]: v.get("samples") for v in case["variants"]}
        self.assertEqual("differences" in case, case["unit"] in ("us/frame", "ms"))
        for entry in case["differences"] if "differences" in case else case["ratios"]:
            pairs = zip(samples[entry["of"]], samples[entry["to"]])
            both = [a - b if "differences" in case else a / b for a, b in pairs]
            self.assertEqual((entry["min"], entry["median"], entry["max"]),
                             (min(both), statistics.median(both), max(both)))


class All(Case):
    """One run of all sections."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.save = os.path.join(cls.folder.name, "save.json")
        began = time.monotonic()
        cls.run_of_all = bench("all", *QUICK, "--json", "--save", cls.save)
        cls.took = time.monotonic() - began
        if cls.run_of_all.returncode != 0:
            raise AssertionError(cls.run_of_all.stderr)
        cls.results = json.loads(cls.run_of_all.stdout)
        cls.cases = cls.results["pipelines"]

    def test_output(self):
        with open(self.save, encoding="utf-8") as file:
            self.assertEqual(json.load(file), self.results)
        self.assertNotIn("\r", self.run_of_all.stderr)  # progress is for terminals
        self.assertLess(self.took, 200)
        machine = self.results["machine"]
        self.assertIs(machine["software"], True)
        for field in ("name uuid cuda-driver vulkan-driver gstreamer cudaupload cpu copy-isa kernel"
                      " date").split():
            self.assertTrue(machine[field], field)

    def test_memory(self):
        self.assertEqual({c["id"] for c in self.results["memory"]}, set(
            "window-memcpy window-copy-1 window-copy-2 htod-pageable htod-pinned ram-memcpy"
            " ram-copy-1 ram-copy-2 window-read-memcpy window-read-copy dtoh-pageable dtoh-pinned"
            " ram-read-memcpy ram-read-copy".split()))
        for curve in self.results["memory"]:
            self.assertIn(curve["direction"], ("to-device", "from-device"))
            self.assertEqual([point["bytes"] for point in curve["points"]], [64, 4096, 262144])
            for point in curve["points"]:
                us, rate = point["us"]["median"], point["GB/s"]["median"]
                self.assertAlmostEqual(us * rate * 1e3 / point["bytes"], 1)

    def test_pipelines(self):
        self.assertEqual(list(dict.fromkeys(c["section"] for c in self.cases)), SECTIONS)
        for case in self.cases:
            self.assertNotEqual(case["table"], case["section"], "the table has no title")
            self.check_comparisons(case)
            for variant in case["variants"]:
                with self.subTest(case=case["id"], variant=variant["id"]):
                    if "error" in variant and WITH_SANITIZER and variant["id"] == "client-python":
                        continue  # Python has to load a library of ours
                    if "error" in variant:  # may not be installed
                        self.assertRegex(variant["error"] + variant["pipeline"],
                                         'no element "cuda|cudaconvertscale')
                        continue
                    (sample,) = variant["samples"]
                    self.assertTrue(0 < sample < math.inf)

    def test_streams(self):
        cases = [case for case in self.cases if case["section"] == "streams"]
        self.assertEqual([case["streams"] for case in cases], [1, 2])
        for case in cases:
            of = {variant["id"]: variant for variant in case["variants"]}
            pipeline = of["vkgdrupload-staged"]["pipeline"]
            self.assertEqual(case["fill"], "uncached")
            self.assertEqual(pipeline.count(f"area={(4 << 20) // case['streams']}"),
                             case["streams"])
            self.assertEqual(pipeline.count("access=staged"), case["streams"])

    def test_plot(self):
        """vkgdr-plot reads the files that vkgdr-bench saves."""
        if importlib.util.find_spec("matplotlib") is None:
            self.skipTest("matplotlib is not installed")
        some = [case for case in self.cases if case["section"] in ("frames", "streams")]
        path = os.path.join(self.folder.name, "some.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**self.results, "pipelines": some}, file)
        subprocess.run([sys.executable, PLOT, path, self.folder.name], check=True, timeout=150)
        names = {name[:-4] for name in os.listdir(self.folder.name) if name.endswith(".svg")}
        self.assertEqual(names, {"to-device", "from-device", "frames", "streams"})
        with open(os.path.join(self.folder.name, "frames.svg"), encoding="utf-8") as file:
            self.assertIn("360p NV12, into its own pool", file.read())


class Parts(Case):
    """Other runs, and errors of single measurements."""

    def test_compare(self):
        """Payloaders push lists, whose buffers are counted. All rows of a table have the same
        columns, and long errors are below the table."""
        errors = {
            "fakesrc sizetype=fixed sizemax=64 ! fakesink": None,
            "videotestsrc ! rtpvrawpay ! fakesink": None,
            "fakesrc": "no sink",
            "fakesrc ! identity": "no sink",
            "playbin uri=file:///nothing": 'has no pad "sink"',
            "fakesrc num-buffers=3 ! fakesink": "ended by itself",
            "fakesrc ! nothing ! fakesink": 'no element "nothing"',
        }
        with tempfile.TemporaryDirectory() as folder:
            save = os.path.join(folder, "save.json")
            run = bench("compare", *errors, *QUICK, "--repeat", "3", "--save", save)
            self.assertEqual(run.returncode, 0, run.stderr)
            with open(save, encoding="utf-8") as file:
                (case,) = json.load(file)["pipelines"]
        self.assertEqual(case["unit"], "buffers/s")
        self.assertEqual([entry["to"] for entry in case["ratios"]], ["2"])
        self.check_comparisons(case)
        for variant, (pipeline, error) in zip(case["variants"], errors.items()):
            with self.subTest(pipeline=pipeline):
                self.assertEqual(variant["pipeline"], pipeline)
                if error:
                    self.assertIn(error, variant["error"])
                else:
                    self.assertEqual(len(variant["samples"]), 3)
                    self.assertGreater(min(variant["samples"]), 0)
                    self.assertEqual(variant["median"], statistics.median(variant["samples"]))
        tables = [block for block in run.stdout.split("\n\n") if block.startswith("|")]
        self.assertEqual(len(tables), 3)
        for table in tables:
            rows = table.splitlines()
            self.assertRegex(rows[1], r"^(\| -+:? )+\|$")
            self.assertEqual({row.count(" | ") for row in rows[2:]}, {rows[0].count(" | ")})
        self.assertIn("failed (4)", run.stdout)
        self.assertIn('\n(4) no element "nothing"\n', run.stdout)

    def test_no_window_and_single_errors(self):
        """Only the copies through the window are left out. A failure is an error of one
        measurement, and the others have results."""
        results = self.run_json("all", "--section", "loops", VKGDR_DEBUG="no-vulkan",
                                SOFTCUDA_FAIL="cuMemcpyDtoH:2:CUDA_ERROR_LAUNCH_FAILED")
        curves = {curve["id"]: curve["points"] for curve in results["memory"]}
        self.assertFalse([name for name in curves if name.startswith("window-")])
        self.assertLessEqual({"ram-copy-2", "htod-pinned"}, curves.keys())
        for name, points in curves.items():
            for point in points:
                wrong = name in ("dtoh-pageable", "dtoh-pinned")
                self.assertEqual("CUDA_ERROR_LAUNCH_FAILED" in point.get("error", ""), wrong)
        for case in results["pipelines"]:
            measured = {v["id"] for v in case["variants"] if "error" not in v}
            self.assertEqual(measured, {"vkgdrupload", "loop-staged", "loop-ram"})

    def test_crash_of_the_helper(self):
        """It is an error of one measurement, and a new helper measures the others."""
        with tempfile.TemporaryDirectory() as folder:
            helper = os.path.join(folder, "helper")
            with open(helper, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\necho '{\"software\": true}'\nread line\ncase $line in *crash*) kill -9 $$ ;; esac\n"
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
            environment = {"LD_LIBRARY_PATH": path,
                           "GST_CUDA_NVRTC_LIBNAME": os.path.join(softcuda, "libnvrtc.so.13"),
                           "GST_REGISTRY": os.path.join(folder, "registry.bin")}
            inspect = bench("--exists", "--atleast-version=1.24", "cudaupload",
                            program="gst-inspect-1.0", **environment)
            if inspect.returncode != 0:
                self.skipTest("no GStreamer's plugin nvcodec of 1.24 or later")
            cases = self.run_json("pipelines", "--section", "cuda,ipc", **environment)["pipelines"]
        of = {case["id"]: {v["id"]: v for v in case["variants"]} for case in cases}
        self.assertEqual([v["error"] for c in of.values() for v in c.values() if "error" in v], [])
        case = of["360p-nv12-cuda"]
        self.assertNotIn("upload", case["none"]["pipeline"])
        self.assertEqual(
            case["vkgdrupload"]["pipeline"].replace("vkgdrupload", "cudaupload cuda-device-id=0"),
            case["cudaupload"]["pipeline"])

    def test_arguments(self):
        """A file that cannot be written is an error before anything is measured."""
        save = os.path.join(os.devnull, "save.json")
        for status, text, *commands in (
            (2, "vkgdr-bench: error: ", "everything", "compare", "memory pipelines", "--repeat 0",
             "--seconds nan", "--fill zero", "--nonsense", "--section nonsense"),
            (1, "there is no CUDA device 77", "memory --device 77"),
            (1, "save.json", f"all --repeat 1000 --save {save}"),
            (0, "--save", "--help"), (0, "vkgdr-bench ", "--version"),
        ):
            for command in commands:
                with self.subTest(command=command):
                    run = bench(*command.split())
                    self.assertEqual(run.returncode, status)
                    self.assertEqual(run.stdout == "", status != 0)
                    self.assertIn(text, run.stdout + run.stderr)
                    self.assertNotIn("Traceback", run.stderr)

    def test_moved_program(self):
        """The program and the folder with its parts may be moved together. An output that
        cannot be written is an error."""
        build = os.path.dirname(os.path.abspath(BENCH))
        with tempfile.TemporaryDirectory() as folder, open("/dev/full", "wb") as full:
            moved = os.path.join(folder, "bin", "vkgdr-bench")
            shutil.copytree(os.path.join(build, "bench"), os.path.join(folder, "libexec/gst-vkgdr"))
            os.mkdir(os.path.dirname(moved))
            shutil.copy(BENCH, moved)
            save = os.path.join(folder, "save.json")
            run = bench("memory", *QUICK, "--save", save, program=moved, stdout=full)
            self.assertEqual(run.returncode, 1)
            self.assertIn("No space left", run.stderr)
            with open(save, encoding="utf-8") as file:
                self.assertTrue(json.load(file)["memory"])


if __name__ == "__main__":
    program = unittest.main(argv=sys.argv[:1] + sys.argv[3:], exit=False)
    sys.stdout.flush()
    sys.stderr.flush()
    # Python does not free all memory, which a leak checker would report.
    os._exit(not program.result.wasSuccessful())
