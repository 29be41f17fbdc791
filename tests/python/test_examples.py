# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the examples of the documentation as a reader does."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from typing import List

import gst_support
import support

EXAMPLES = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "examples", "python"
)


# The library has boxes from GStreamer 1.24 on.
HAS_ANALYTICS = "1.0" in gst_support.gi.Repository.get_default().enumerate_versions("GstAnalytics")


class Examples(unittest.TestCase):
    def run_example(self, name: str, *arguments: str) -> str:
        result = subprocess.run(
            [sys.executable, "-X", "faulthandler", os.path.join(EXAMPLES, name), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=100,
        )
        self.assertEqual(result.returncode, 0, result.stdout)
        return result.stdout

    @unittest.skipIf(support.is_missing("numpy"), "numpy is missing")
    def test_numpy_to_gpu(self) -> None:
        output = self.run_example("numpy_to_gpu.py", "--frames", "3", "--kernel", "copy")
        # The values 0 to 255, and then 0 to 63 again.
        mean = (sum(range(256)) + sum(range(64))) / 320
        self.assertEqual(
            [line for line in output.splitlines() if line.startswith("frame")],
            [f"frame {i}: mean {mean:.2f}" for i in range(3)],
        )

    def test_gpu_element(self) -> None:
        output = self.run_example("gpu_element.py", "--frames", "4", "--backend", "kernel")
        self.assertIn("4 frames, by kernel", output)

    @unittest.skipIf(support.is_missing("numpy"), "numpy is missing")
    def test_gpu_element_on_the_cpu(self) -> None:
        output = self.run_example("gpu_element.py", "--frames", "4", "--backend", "numpy")
        self.assertIn("4 frames, by numpy", output)

    def test_gpu_element_on_tensors(self) -> None:
        backends = [name for name in ("torch", "cupy") if not support.is_missing(name)]
        if support.is_software():
            self.skipTest("the device is a processor")
        if not backends:
            self.skipTest("torch is missing")
        for name in backends:
            with self.subTest(backend=name):
                output = self.run_example("gpu_element.py", "--frames", "4", "--backend", name)
                self.assertIn(f"4 frames, by {name}", output)

    def test_gpu_element_that_is_missing_something(self) -> None:
        if not support.is_missing("torch"):
            self.skipTest("PyTorch is there")
        with self.assertRaisesRegex(AssertionError, "ModuleNotFoundError: No module named 'torch'"):
            self.run_example("gpu_element.py", "--frames", "4", "--backend", "torch")

    def test_gpu_to_tensor(self) -> None:
        output = self.run_example("gpu_to_tensor.py", "--frames", "2")
        lines = [line for line in output.splitlines() if "240" in line]
        self.assertEqual(len(lines), 2, output)

    def boxes(self, output: str) -> List[List[int]]:
        """Returns the position of the ball in each frame, in pixels of the original."""
        return [
            [int(number) for number in re.findall(r" (\d+)", line)]
            for line in output.splitlines() if re.match(r"\d+:", line)
        ]

    def balls(self, frames: int) -> List[List[int]]:
        """Finds the ball without a network: these pixels have more red than blue."""
        numpy = support.load("numpy")
        pipeline = gst_support.Gst.parse_launch(
            f"videotestsrc num-buffers={frames} pattern=ball foreground-color=0xffff8020 "
            "background-color=0xff203050 ! video/x-raw,format=RGB,width=640,height=360 "
            "! appsink name=sink sync=false"
        )
        pipeline.set_state(gst_support.Gst.State.PLAYING)
        found = []
        for _ in range(frames):
            sample = pipeline.get_by_name("sink").emit("try-pull-sample", 20 * 10**9)
            data = gst_support.host_bytes(sample.get_buffer())
            pixels = numpy.frombuffer(data, "u1").reshape(360, 640, 3).astype(int)
            rows, columns = numpy.nonzero(pixels[..., 0] > pixels[..., 2] + 60)
            found.append([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
        pipeline.set_state(gst_support.Gst.State.NULL)
        return found

    def check_detect_ball(self, backend: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            output = self.run_example(
                "detect_ball.py", "--frames", "9", "--backend", backend, "--pictures", folder
            )
            names = sorted(os.listdir(folder))
        self.assertIn("9 frames, by", output)
        masks = [f"mask-{i:03d}.png" for i in range(9)]
        self.assertEqual(names, ["input.png", *masks, "tensor.png"])
        self.check_boxes(output, 9)

    def check_boxes(self, output: str, frames: int) -> None:
        boxes = self.boxes(output)
        self.assertEqual(len(boxes), frames, output)
        # A pixel of the tensor has the size of five pixels of the frame, and
        # the blur adds some more.
        for found, ball in zip(boxes, self.balls(frames)):
            self.assertEqual(len(found), 4, output)
            for one, other in zip(found, ball):
                self.assertLessEqual(abs(one - other), 10, f"{found} is not {ball}")

    @unittest.skipIf(support.is_missing("numpy"), "numpy is missing")
    def test_detect_ball(self) -> None:
        self.check_detect_ball("numpy")

    def test_detect_ball_on_the_device(self) -> None:
        if support.is_software():
            self.skipTest("the device is a processor")
        if support.is_missing("torch"):
            self.skipTest("torch is missing")
        self.check_detect_ball("torch")

    @unittest.skipUnless(HAS_ANALYTICS, "GStreamer's analytics library is missing")
    @unittest.skipIf(support.is_missing("numpy"), "numpy is missing")
    def test_detect_boxes(self) -> None:
        # Not a multiple of the batch.
        output = self.run_example("detect_boxes.py", "--frames", "9", "--backend", "numpy")
        self.assertIn("9 frames, by", output)
        self.assertEqual(len(re.findall(r"^\d+: ball ", output, re.M)), 9, output)
        self.check_boxes(output, 9)

    @unittest.skipUnless(HAS_ANALYTICS, "GStreamer's analytics library is missing")
    @unittest.skipIf(support.is_missing("numpy"), "numpy is missing")
    def test_detect_boxes_draws_them(self) -> None:
        if gst_support.Gst.ElementFactory.find("objectdetectionoverlay") is None:
            self.skipTest("objectdetectionoverlay is missing")
        with tempfile.TemporaryDirectory() as folder:
            self.run_example(
                "detect_boxes.py", "--frames", "2", "--backend", "numpy", "--pictures", folder
            )
            self.assertEqual(sorted(os.listdir(folder)), ["boxes-000.png", "boxes-001.png"])

    @unittest.skipIf(HAS_ANALYTICS, "GStreamer's analytics library is there")
    def test_detect_boxes_without_the_library(self) -> None:
        with self.assertRaisesRegex(AssertionError, "analytics library .* is missing"):
            self.run_example("detect_boxes.py")

    def test_camera_and_consumers(self) -> None:
        output = self.run_example("camera_and_consumers.py", "--frames", "20")
        # The processes write to one pipe, and may write between a line and its end.
        means = re.findall(r"consumer: 20 frames, mean (\d+\.\d\d)", output)
        self.assertEqual(len(means), 3, output)
        # The mean of a white ball on black is neither that of white nor that of black.
        for mean in means:
            self.assertTrue(1 < float(mean) < 50, mean)
        self.assertRegex(output.splitlines()[-1], r"camera: \d+ frames sent, 0 copied")

    def test_kernel_by_hand(self) -> None:
        output = self.run_example("kernel_by_hand.py", "--frames", "2")
        lines = output.splitlines()
        self.assertEqual(len(lines), 2, output)
        for line in lines:
            pixels, mean = re.fullmatch(r"(\d+) pixels, mean brightness ([\d.]+)", line).groups()
            self.assertEqual(int(pixels), 321 * 240)
            self.assertTrue(20 < float(mean) < 200, line)

    @unittest.skipIf(support.is_missing("pycuda"), "pycuda is missing")
    def test_vkgdr_pycuda(self) -> None:
        self.assertIn("doubled on the GPU", self.run_example("vkgdr_pycuda.py"))


if __name__ == "__main__":
    support.main()
