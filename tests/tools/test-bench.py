#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of vkgdr-bench on the software device: its output, not its figures.

    test-bench.py VKGDR-BENCH VKGDR-INFO VKGDR-PLOT [unittest's arguments]

Runs the program as a user does, and checks its output, its files and its exit status.
Does not depend on how the program measures. The test is skipped if vkgdr-info reports
that no device can be used.
"""

import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

BENCH, INFO, PLOT = sys.argv[1:4]

QUICK = ("--quick", "--seconds", "0.05", "--repeat", "1")
SECTIONS = {
    "start",
    "process",
    "loops",
    "frames",
    "streams",
    "roundtrip",
    "download",
    "buffers",
    "overhead",
    "chain",
    "effect",
    "kernel",
    "convert",
    "cuda",
    "cuda-memory",
    "tensors",
    "tensor-kernel",
    "ipc",
    "ipc-delay",
}
# Pipelines that need GStreamer's own CUDA elements of 1.24 or later.
CUDA_SECTIONS = ("cuda", "cuda-memory")
SVG = "{http://www.w3.org/2000/svg}"


def bench(*args, **environment):
    return subprocess.run(
        [BENCH, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ, **environment),
        encoding="utf-8",
        timeout=150,
        check=False,
    )


def setUpModule():
    info = subprocess.run([INFO], stdout=subprocess.PIPE, check=False)
    if info.returncode != 0:
        raise unittest.SkipTest("vkgdr-info finds no device that can be used")


class All(unittest.TestCase):
    """One run of all sections."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            save = os.path.join(folder, "save.json")
            run = bench("all", *QUICK, "--json", "--save", save)
            if run.returncode != 0:
                raise AssertionError(run.stderr)
            with open(save, encoding="utf-8") as file:
                cls.saved = file.read()
        cls.output = run.stdout
        cls.errors = run.stderr
        cls.results = json.loads(run.stdout)

    def check_positive(self, value):
        self.assertTrue(math.isfinite(value) and value > 0, value)

    def check_summary(self, summary):
        for value in summary["min"], summary["median"], summary["max"]:
            self.check_positive(value)
        self.assertLessEqual(summary["min"], summary["median"])
        self.assertLessEqual(summary["median"], summary["max"])

    def test_file_is_like_output(self):
        saved, printed = json.loads(self.saved), dict(self.results)
        saved["machine"] = printed["machine"] = None  # budgets and times change between two runs
        self.assertEqual(saved, printed)

    def test_no_progress_without_a_terminal(self):
        self.assertNotIn("\r", self.errors)

    def test_machine(self):
        machine = self.results["machine"]
        self.assertIs(machine["software"], True)
        for field in (
            "name",
            "uuid",
            "cuda-driver",
            "vulkan-driver",
            "gstreamer",
            "cudaupload",
            "cpu",
            "copy-isa",
            "kernel",
            "date",
        ):
            self.assertTrue(machine[field], field)

    def test_memory(self):
        curves = {curve["id"]: curve for curve in self.results["memory"]}
        for name in (
            "window-memcpy",
            "window-copy-1",
            "window-copy-2",
            "window-read-memcpy",
            "window-read-copy",
            "ram-memcpy",
            "htod-pageable",
            "htod-pinned-async",
            "dtoh-pageable",
            "dtoh-pinned-async",
        ):
            self.assertIn(name, curves)
        self.assertEqual(
            {curve["direction"] for curve in curves.values()},
            {"to-device", "from-device"},
        )
        for curve in curves.values():
            sizes = [point["bytes"] for point in curve["points"]]
            self.assertGreaterEqual(len(sizes), 2)
            self.assertEqual(sizes, sorted(set(sizes)))
            for point in curve["points"]:
                with self.subTest(curve=curve["id"], bytes=point["bytes"]):
                    self.check_summary(point["us"])
                    self.check_summary(point["GB/s"])

    def test_sections(self):
        sections = {case["section"] for case in self.results["pipelines"]}
        self.assertEqual(sections, SECTIONS)
        for case in self.results["pipelines"]:
            self.assertNotEqual(case["table"], case["section"], "the table has no title")

    def test_pipelines(self):
        for case in self.results["pipelines"]:
            for variant in case["variants"]:
                with self.subTest(case=case["id"], variant=variant["id"]):
                    if "error" in variant and (
                        variant["id"] in ("cudaupload", "cudaipcsink")
                        or case["section"] in CUDA_SECTIONS
                    ):
                        continue  # may not be installed, or not work here
                    self.assertNotIn("error", variant)
                    self.check_summary(variant)
                    self.assertEqual(len(variant["samples"]), 1)

    def test_comparisons(self):
        for case in self.results["pipelines"]:
            with self.subTest(case=case["id"]):
                medians = {v["id"]: v.get("median") for v in case["variants"]}
                for entry in case.get("differences", []):
                    expected = medians[entry["of"]] - medians[entry["to"]]
                    self.assertAlmostEqual(entry["median"], expected, places=3)
                self.assertEqual(
                    "differences" in case,
                    case["section"]
                    in (
                        "start",
                        "process",
                        "overhead",
                        "chain",
                        "cuda-memory",
                        "tensor-kernel",
                        "ipc-delay",
                    ),
                )
                # The difference of two percentiles has no meaning.
                for entry in case.get("differences", []):
                    self.assertNotEqual(entry["to"], "delay-p99")
                for entry in case.get("ratios", []):
                    expected = medians[entry["of"]] / medians[entry["to"]]
                    self.assertAlmostEqual(entry["median"] / expected, 1, places=6)

    def test_plot(self):
        """vkgdr-plot reads the files that vkgdr-bench saves."""
        if importlib.util.find_spec("matplotlib") is None:
            self.skipTest("matplotlib is not installed")
        with tempfile.TemporaryDirectory() as folder:
            save = os.path.join(folder, "save.json")
            with open(save, "w", encoding="utf-8") as file:
                file.write(self.saved)
            subprocess.run([sys.executable, PLOT, save, folder], check=True, timeout=150)
            names = {name[:-4] for name in os.listdir(folder) if name.endswith(".svg")}
            self.assertEqual(names, {"to-device", "from-device"} | SECTIONS)
            with open(os.path.join(folder, "frames.svg"), encoding="utf-8") as file:
                texts = [text.text for text in ElementTree.parse(file).iter(SVG + "text")]
        self.assertIn("One stream of frames", texts)
        self.assertIn("360p NV12, into its own pool", texts)


# GStreamer's scanner of plugins cannot load a plugin that needs a sanitizer's library.
WITH_SANITIZER = any(name in os.environ for name in ("ASAN_OPTIONS", "TSAN_OPTIONS"))


class Parts(unittest.TestCase):
    """Single sections, and errors."""

    def test_compare(self):
        pipelines = [
            "fakesrc sizetype=fixed sizemax=64 ! %s fakesink" % element
            for element in ("", "identity !")
        ]
        done = bench("compare", *pipelines, *QUICK, "--seconds", "0.02", "--json")
        (case,) = json.loads(done.stdout)["pipelines"]
        self.assertEqual([v["pipeline"] for v in case["variants"]], pipelines)
        self.assertEqual(case["unit"], "buffers/s")
        self.assertEqual(len(case["ratios"]), 1)

    def compare_one(self, pipeline):
        """Returns the result of one pipeline. The program must not print warnings."""
        run = bench("compare", pipeline, *QUICK, "--seconds", "0.02", "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotRegex(run.stderr, "CRITICAL|WARNING")
        (case,) = json.loads(run.stdout)["pipelines"]
        return case["variants"][0]

    def test_compare_lists_of_buffers(self):
        """Payloaders push lists. Each buffer of a list is counted."""
        result = self.compare_one("videotestsrc ! rtpvrawpay ! fakesink")
        self.assertGreater(result.get("median", 0), 0, result)

    def test_compare_without_a_sink(self):
        for pipeline, text in (
            ("fakesrc", "no sink"),
            ("fakesrc ! identity", "no sink"),
            ("playbin uri=file:///nothing", 'has no pad "sink"'),
        ):
            with self.subTest(pipeline=pipeline):
                self.assertIn(text, self.compare_one(pipeline).get("error", "no error"))

    def test_no_window(self):
        """Only the copies through the window are left out."""
        run = bench("all", "--section", "loops", *QUICK, "--json", VKGDR_DEBUG="no-vulkan")
        self.assertEqual(run.returncode, 0, run.stderr)
        results = json.loads(run.stdout)
        names = {curve["id"] for curve in results["memory"]}
        self.assertFalse([name for name in names if name.startswith("window-")])
        self.assertLessEqual({"ram-copy-2", "htod-pinned-async", "dtoh-pageable"}, names)
        for curve in results["memory"]:
            for point in curve["points"]:
                self.assertGreater(point["us"]["median"], 0, curve["id"])
        for case in results["pipelines"]:
            without = {v["id"] for v in case["variants"] if "error" not in v}
            self.assertLessEqual({"vkgdrupload", "loop-staged"}, without)

    def test_rows_have_all_columns(self):
        """A case without one of the variants has an empty cell for it."""
        run = bench("pipelines", "--section", "ipc", *QUICK, "--markdown")
        self.assertEqual(run.returncode, 0, run.stderr)
        rows = [line for line in run.stdout.splitlines() if " to eight other processes" in line
                or " to one other process" in line]
        self.assertGreaterEqual(len(rows), 2, run.stdout)
        one, eight = rows[:2]
        self.assertEqual(one.count("|"), eight.count("|"), run.stdout)

    def test_percentiles_are_not_compared(self):
        run = bench("pipelines", "--section", "ipc-delay", *QUICK, "--markdown")
        self.assertEqual(run.returncode, 0, run.stderr)
        head = next(line for line in run.stdout.splitlines() if line.startswith("| us/frame"))
        self.assertIn(" launched - received ", head)
        self.assertNotIn(" launched - 99 of 100 launched ", head)

    def test_section(self):
        run = bench("pipelines", "--section", "buffers", *QUICK, "--json")
        cases = json.loads(run.stdout)["pipelines"]
        self.assertEqual({case["section"] for case in cases}, {"buffers"})
        run = bench("pipelines", "--section", "nonsense", *QUICK)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn('no section "nonsense"', run.stderr)

    def test_streams(self):
        run = bench("pipelines", "--section", "streams,buffers", *QUICK, "--json")
        results = json.loads(run.stdout)
        cases = [c for c in results["pipelines"] if c["section"] == "streams"]
        self.assertEqual([case["streams"] for case in cases], [1, 2])
        for case in cases:
            variants = {variant["id"]: variant for variant in case["variants"]}
            self.assertEqual(case["fill"], "uncached")
            self.assertIn("fill=uncached", variants["vkgdrupload"]["pipeline"])
            self.assertIn("access=staged", variants["vkgdrupload-staged"]["pipeline"])
            self.assertRegex(
                variants["loops-best-mix"]["note"],
                f"^[0-{case['streams']}] of {case['streams']} threads direct$",
            )
            better = max(
                variants["vkgdrupload-direct"]["median"],
                variants["vkgdrupload-staged"]["median"],
            )
            (ratio,) = [
                line["value"]
                for line in results["summary"]
                if line["title"] == case["title"]
                + ": vkgdrupload / better of direct and staged"
            ]
            expected = variants["vkgdrupload"]["median"] / better
            self.assertAlmostEqual(ratio / expected, 1, places=6)

    def test_summary(self):
        """Ratios of variants that were measured in turn."""
        run = bench("pipelines", "--section", "loops,chain", *QUICK, "--json")
        results = json.loads(run.stdout)
        expected = {}
        for case in results["pipelines"]:
            of = {variant["id"]: variant["median"] for variant in case["variants"]}
            if case["section"] == "loops":
                title = f"{case['title']}: vkgdrupload / better loop"
                loop = max(of["loop-window"], of["loop-staged"])
                expected[title] = of["vkgdrupload"] / loop
            else:
                title = f"{case['title']}: cost of four cudafilters / of one"
                none = of["vkgdrupload"]
                four, one = of["four-cudafilters"] - none, of["cudafilter"] - none
                # On a busy machine, frames may take less time with kernels than
                # without. Then there is no ratio.
                if four > 0 and one > 0:
                    expected[title] = four / one
        ratios = {line["title"]: line["value"] for line in results["summary"]}
        self.assertEqual(ratios.keys(), expected.keys())
        for title, value in expected.items():
            self.assertAlmostEqual(ratios[title] / value, 1, places=6)

    def run_with_cuda_elements(self, section):
        """Runs a section with GStreamer's own CUDA elements, and returns its
        cases. The elements load softcuda, because its libraries have the names
        of NVIDIA's.
        """
        softcuda = os.environ.get("VKGDR_SOFTCUDA_DIR", "")
        with tempfile.TemporaryDirectory() as folder:
            run = bench(
                "pipelines",
                "--section",
                section,
                *QUICK,
                "--json",
                LD_LIBRARY_PATH=":".join(
                    filter(None, (softcuda, os.environ.get("LD_LIBRARY_PATH")))
                ),
                GST_CUDA_NVRTC_LIBNAME=os.path.join(softcuda, "libnvrtc.so.13"),
                GST_REGISTRY=os.path.join(folder, "registry.bin"),
            )
        self.assertEqual(run.returncode, 0, run.stderr)
        cases = json.loads(run.stdout)["pipelines"]
        for case in cases:
            for variant in case["variants"]:
                if "error" in variant:
                    reasons = "1.24 or later|not installed"
                    # This happens sometimes, on the software device.
                    if variant["id"] == "cudaipcsink":
                        reasons += "|Internal data stream error"
                    self.assertRegex(variant["error"], reasons)
                    self.skipTest(variant["error"])
        return cases

    @unittest.skipIf(WITH_SANITIZER, "with a sanitizer")
    def test_cuda_elements(self):
        for case in self.run_with_cuda_elements("cuda"):
            ours, theirs, alone = case["variants"]
            self.assertNotIn("upload", alone["pipeline"])
            self.assertIn("vkgdrupload ! video/x-raw(memory:CUDAMemory)", ours["pipeline"])
            self.assertEqual(
                ours["pipeline"].replace("vkgdrupload", "cudaupload cuda-device-id=0"),
                theirs["pipeline"],
            )
            for variant in ours, theirs, alone:
                self.assertGreater(variant["median"], 0)

    @unittest.skipIf(WITH_SANITIZER, "with a sanitizer")
    def test_cuda_ipc(self):
        single, eight = self.run_with_cuda_elements("ipc")
        self.assertEqual(
            [variant["id"] for variant in single["variants"]],
            ["vkgdripcsink", "vkgdrupload", "cudaipcsink"],
        )
        self.assertEqual(len(eight["variants"]), 2)
        for variant in single["variants"]:
            self.assertGreater(variant["median"], 0)

    @unittest.skipIf(WITH_SANITIZER, "with a sanitizer")
    def test_memory_of_the_device(self):
        (case,) = self.run_with_cuda_elements("cuda-memory")
        used = {variant["id"]: variant["median"] for variant in case["variants"]}
        # the window is in lavapipe's memory, which softcuda does not count
        self.assertEqual(used["memory-vkgdrupload"], 0)
        self.assertGreaterEqual(used["memory-pool"], 4 * case["bytes"] / 1e6)
        self.assertGreaterEqual(used["memory-cudaupload"], case["bytes"] / 1e6)

    def test_markdown(self):
        run = bench("memory", *QUICK, "--markdown", "--seconds", "0.001")
        self.assertEqual(run.returncode, 0, run.stderr)
        tables = [block for block in run.stdout.split("\n\n") if block.startswith("|")]
        self.assertEqual(len(tables), 5)
        for table in tables:
            rows = table.splitlines()
            self.assertRegex(rows[1], r"^(\|---:?)+\|$")
            self.assertEqual({row.count("|") for row in rows}, {rows[1].count("|")})

    def test_failing_copy_is_told_in_its_cell(self):
        run = bench(
            "memory",
            *QUICK,
            "--json",
            "--seconds",
            "0.001",
            SOFTCUDA_FAIL="cuMemcpyDtoHAsync:3:CUDA_ERROR_LAUNCH_FAILED",
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        errors = [
            point["error"]
            for curve in json.loads(run.stdout)["memory"]
            for point in curve["points"]
            if "error" in point
        ]
        self.assertEqual(len(errors), 1)
        self.assertIn("CUDA_ERROR_LAUNCH_FAILED", errors[0])

    def test_missing_plugin_is_told_in_its_cells(self):
        registry = os.environ.get("GST_REGISTRY", "")
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "registry.bin")
            if os.path.exists(registry):  # so that not all plugins are read again
                shutil.copy(registry, copy)
            run = bench(
                "pipelines",
                *QUICK,
                "--seconds",
                "0.01",
                GST_PLUGIN_PATH_1_0=folder,
                GST_REGISTRY=copy,
            )
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("failed (1)", run.stdout)
        self.assertIn('(1) no element "vkgdrupload"', run.stdout)

    def test_no_such_device(self):
        run = bench("memory", *QUICK, "--device", "77")
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("there is no CUDA device 77", run.stderr)

    def test_file_that_cannot_be_written(self):
        save = os.path.join(os.devnull, "save.json")
        run = bench("memory", *QUICK, "--seconds", "0.001", "--json", "--save", save)
        self.assertEqual(run.returncode, 1)
        self.assertIn("save.json", run.stderr)
        json.loads(run.stdout)  # the results are printed nevertheless

    def test_arguments(self):
        for wrong in (
            ("everything",),
            ("compare",),
            ("memory", "pipelines"),
            ("--repeat", "0"),
            ("--seconds", "nan"),
            ("--fill", "zero"),
            ("--buffers", "0"),
            ("--json", "--markdown"),
            ("--nonsense",),
        ):
            with self.subTest(arguments=wrong):
                run = bench(*wrong)
                self.assertEqual((run.returncode, run.stdout), (2, ""))
                self.assertIn("--help", run.stderr)

    def test_help_and_version(self):
        for option, text in ("--help", "--save"), ("--version", "vkgdr-bench "):
            run = bench(option)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn(text, run.stdout)


if __name__ == "__main__":
    program = unittest.main(argv=sys.argv[:1] + sys.argv[4:], exit=False)
    sys.stdout.flush()
    sys.stderr.flush()
    # Python does not free all memory, which a leak checker would report.
    os._exit(not program.result.wasSuccessful())
