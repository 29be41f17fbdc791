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
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest

BENCH, PLOT = sys.argv[1:3]

QUICK = ("--quick", "--seconds", "0.05")
SECTIONS = ("process loops frames streams roundtrip download buffers overhead chain effect convert"
            " convert-kernel change cuda sources processor nvdec tensors tensor-kernel ipc"
            " ipc-delay").split()
COPIES = ("window-memcpy window-copy-1 window-copy-2 htod-pageable htod-pinned ram-memcpy"
          " ram-copy-1 ram-copy-2 window-read-memcpy window-read-copy dtoh-pageable dtoh-pinned"
          " ram-read-memcpy ram-read-copy").split()
# GStreamer's scanner of plugins cannot load a plugin that needs a sanitizer's library.
WITH_SANITIZER = bool(os.environ.get("WITH_SANITIZER"))


def run(*command, stdout=subprocess.PIPE, **environment):
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE,
                          env=dict(os.environ, **environment), encoding="utf-8", check=False,
                          timeout=200)  # --quick measures for at most 150 seconds


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(
            tempfile.TemporaryDirectory(prefix="vkgdr bench ")))

    def measure(self, *args, **environment):
        """Returns the results, which are also in a file, and the tables."""
        save = self.folder / "save.json"
        ended = run(BENCH, *args, *QUICK, "--save", save, TMPDIR=self.folder, **environment)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        # Progress is for terminals.
        self.assertNotRegex(ended.stderr, "CRITICAL|WARNING|\r")
        return json.loads(save.read_text(encoding="utf-8")), ended.stdout

    def check_comparisons(self, case):
        """Ratios or differences of samples of the same repetition"""
        samples = {v["id"]: v.get("samples") for v in case["variants"]}
        kind = "differences" if case["unit"] in ("us/frame", "ms") else "ratios"
        for entry in case[kind]:
            pairs = zip(samples[entry["of"]], samples[entry["to"]])
            both = [a - b if kind == "differences" else a / b for a, b in pairs]
            self.assertEqual((entry["min"], entry["median"], entry["max"]),
                             (min(both), statistics.median(both), max(both)))

    def check_pipelines(self, cases, ratios):
        self.assertEqual(list(dict.fromkeys(c["section"] for c in cases)), SECTIONS)
        for case in cases:
            self.assertNotEqual(case["table"], case["section"], "the table has no title")
            self.check_comparisons(case)
            for variant in case["variants"]:
                with self.subTest(case=case["id"], variant=variant["id"]):
                    if "error" not in variant:
                        (sample,) = variant["samples"]
                        self.assertTrue(math.isfinite(sample))
                        self.assertTrue(sample > 0 or case["section"] == "change")
                    # Python has to load a library of ours.
                    elif not WITH_SANITIZER or variant["id"] not in ("bare-cuda", "client-python"):
                        self.assertRegex(variant["error"] + variant["pipeline"],
                                         'no element "|cudaconvertscale')
        streams = [case for case in cases if case["section"] == "streams"]
        self.assertEqual([(c["streams"], c["fill"]) for c in streams],
                         [(1, "uncached"), (2, "uncached")])
        staged = streams[1]["variants"][2]["pipeline"]
        self.assertEqual(staged.count(f"area={2 << 20}"), 2)
        self.assertEqual(staged.count("access=staged"), 2)
        of = {variant["id"]: variant.get("median") for variant in streams[1]["variants"]}
        self.assertEqual(
            ratios[f"{streams[1]['title']}: vkgdrupload / better of direct and staged"],
            of["vkgdrupload"] / max(of["vkgdrupload-direct"], of["vkgdrupload-staged"]))

    def test_all(self):
        """vkgdr-plot reads the file."""
        results, _ = self.measure("all")
        self.check_pipelines(results["pipelines"],
                             {line["title"]: line["value"] for line in results["summary"]})
        self.assertIs(results["machine"]["software"], True)
        for field in ("name uuid cuda-driver vulkan-driver gstreamer cudaupload cpu copy-isa kernel"
                      " date").split():
            self.assertTrue(results["machine"][field], field)
        self.assertEqual([curve["id"] for curve in results["memory"]], COPIES)
        for curve in results["memory"]:
            self.assertIn(curve["direction"], ("to-device", "from-device"))
            self.assertEqual([point["bytes"] for point in curve["points"]], [64, 4096, 262144])
            for point in curve["points"]:
                us, rate = point["us"]["median"], point["GB/s"]["median"]
                self.assertAlmostEqual(us * rate * 1e3 / point["bytes"], 1)
        if importlib.util.find_spec("matplotlib"):
            drawn = run(sys.executable, PLOT, self.folder / "save.json", self.folder)
            self.assertEqual(drawn.returncode, 0, drawn.stderr)
            names = {path.stem for path in self.folder.glob("*.svg")}
            self.assertEqual(names, {"to-device", "from-device", *SECTIONS})

    def test_compare(self):
        """Payloaders push lists, whose buffers are counted. All rows of a table have the same
        columns, and errors are below the table."""
        errors = {
            "fakesrc sizetype=fixed sizemax=64 ! fakesink": None,
            "videotestsrc ! rtpvrawpay ! fakesink": None,
            "fakesrc": "no sink",
            "fakesrc ! identity": "no sink",
            "playbin uri=file:///nothing": 'has no pad "sink"',
            "fakesrc num-buffers=3 ! fakesink": "ended by itself",
            "fakesrc ! nothing ! fakesink": 'no element "nothing"',
        }
        results, text = self.measure("compare", *errors, "--repeat", "3")
        (case,) = results["pipelines"]
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
        tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
        self.assertEqual(len(tables), 3)
        for rows in tables:
            self.assertRegex(rows[1], r"^(\| -+:? )+\|$")
            self.assertEqual({row.count(" | ") for row in rows}, {rows[0].count(" | ")})
        self.assertIn("failed (4)", text)
        self.assertIn('\n(4) no element "nothing"\n', text)

    def test_no_window_and_single_errors(self):
        """Only the copies through the window are left out. A failure is an error of one
        measurement, and the others have results."""
        results, _ = self.measure("all", "--section", "loops", VKGDR_DEBUG="no-vulkan",
                                  SOFTCUDA_FAIL="cuMemcpyDtoH:2:CUDA_ERROR_LAUNCH_FAILED")
        errors = {curve["id"]: {"CUDA_ERROR_LAUNCH_FAILED" in point.get("error", "")
                                for point in curve["points"]} for curve in results["memory"]}
        self.assertEqual(errors, {name: {name.startswith("dtoh")} for name in COPIES
                                  if not name.startswith("window")})
        for case in results["pipelines"]:
            measured = {v["id"] for v in case["variants"] if "error" not in v}
            self.assertEqual(measured, {"vkgdrupload", "loop-staged", "loop-ram"})

    def test_crash_of_the_helper(self):
        """It is an error of one measurement, and a new helper measures the others."""
        helper = self.folder / "helper"
        helper.write_text("""#!/bin/sh
            echo '{"software": true}'
            read line
            case $line in *crash*) kill -9 $$ ;; esac
            echo '{"rate": 3}'
            read line""", encoding="utf-8")
        helper.chmod(0o755)
        ended = run(BENCH, "compare", "crash", "works", "--json", "--repeat", "1",
                    VKGDR_BENCH_HELPER=shlex.quote(str(helper)))
        crashed, works = json.loads(ended.stdout)["pipelines"][0]["variants"]
        self.assertIn("ended with status -9", crashed["error"])
        self.assertEqual(works["median"], 3)

    @unittest.skipIf(WITH_SANITIZER, "with a sanitizer")
    def test_cuda_elements(self):
        """GStreamer's own CUDA elements load softcuda, because its libraries have the names
        of NVIDIA's."""
        softcuda = os.environ.get("VKGDR_SOFTCUDA_DIR", "")
        path = ":".join(filter(None, (softcuda, os.environ.get("LD_LIBRARY_PATH"))))
        environment = {"LD_LIBRARY_PATH": path,
                       "GST_CUDA_NVRTC_LIBNAME": os.path.join(softcuda, "libnvrtc.so.13"),
                       "GST_REGISTRY": str(self.folder / "registry.bin")}
        if run("gst-inspect-1.0", "--exists", "--atleast-version=1.24", "cudaupload",
               **environment).returncode != 0:
            self.skipTest("no GStreamer's plugin nvcodec of 1.24 or later")
        cases = self.measure("pipelines", "--section", "cuda,ipc", **environment)[0]["pipelines"]
        of = {case["id"]: {v["id"]: v for v in case["variants"]} for case in cases}
        self.assertEqual([v["error"] for c in of.values() for v in c.values() if "error" in v], [])
        case = of["360p-nv12-cuda"]
        self.assertNotIn("upload", case["none"]["pipeline"])
        self.assertEqual(
            case["vkgdrupload"]["pipeline"].replace("vkgdrupload", "cudaupload cuda-device-id=0"),
            case["cudaupload"]["pipeline"])

    def test_arguments(self):
        """A file that cannot be written is an error before anything is measured."""
        for status, text, *commands in (
            (2, "vkgdr-bench: error: ", "everything", "compare", "memory pipelines", "--repeat 0",
             "--seconds nan", "--fill zero", "--nonsense", "--section nonsense"),
            (1, "there is no CUDA device 77", "memory --device 77"),
            (1, "save.json", "all --repeat 1000 --save /dev/null/save.json"),
            (0, "--save", "--help"), (0, "vkgdr-bench ", "--version"),
        ):
            for command in commands:
                with self.subTest(command=command):
                    ended = run(BENCH, *command.split())
                    self.assertEqual(ended.returncode, status)
                    self.assertEqual(ended.stdout == "", status != 0)
                    self.assertIn(text, ended.stdout + ended.stderr)
                    self.assertNotIn("Traceback", ended.stderr)

    def test_moved_program(self):
        """The program and the folder with its parts may be moved together. An output that
        cannot be written is an error."""
        moved = self.folder / "bin" / "vkgdr-bench"
        shutil.copytree(pathlib.Path(BENCH).parent / "bench", self.folder / "libexec/gst-vkgdr")
        moved.parent.mkdir()
        shutil.copy(BENCH, moved)
        save = self.folder / "save.json"
        with open("/dev/full", "wb") as full:
            ended = run(moved, "memory", *QUICK, "--save", save, stdout=full)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("No space left", ended.stderr)
        self.assertTrue(json.loads(save.read_text(encoding="utf-8"))["memory"])


if __name__ == "__main__":
    program = unittest.main(argv=sys.argv[:1] + sys.argv[3:], exit=False)
    sys.stdout.flush()
    sys.stderr.flush()
    # Python does not free all memory, which a leak checker would report.
    os._exit(not program.result.wasSuccessful())
