# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the examples of the documentation as a reader does, and the code in its pages."""

import os
import re
import shlex
import tempfile
import unittest.mock
from typing import List

import gst_support
import support
import numpy as np

DOCS = os.path.join(os.path.dirname(support.__file__), "../../docs")
EXAMPLES = os.path.join(DOCS, "examples/python")

# The library has boxes from GStreamer 1.24 on.
HAS_ANALYTICS = "1.0" in gst_support.gi.Repository.get_default().enumerate_versions("GstAnalytics")


class Examples(unittest.TestCase):
    def run_example(self, command: str, is_good: bool = True) -> str:
        name, *arguments = shlex.split(command)
        result = support.run_python(os.path.join(EXAMPLES, name), *arguments)
        self.assertEqual(result.returncode == 0, is_good, result.stdout)
        return result.stdout

    def test_numpy_to_gpu(self) -> None:
        output = self.run_example("numpy_to_gpu.py --frames 3 --kernel copy")
        # The values 0 to 255, and then 0 to 63 again.
        mean = (sum(range(256)) + sum(range(64))) / 320
        self.assertEqual(
            [line for line in output.splitlines() if line.startswith("frame")],
            [f"frame {i}: mean {mean:.2f}" for i in range(3)],
        )

    def test_gpu_element(self) -> None:
        for backend in ("kernel", "numpy", "torch", "cupy"):
            with self.subTest(backend=backend):
                if backend in ("torch", "cupy"):
                    support.load(backend)
                    if support.is_software():
                        self.skipTest("the device is a processor")
                output = self.run_example(f"gpu_element.py --frames 4 --backend {backend}")
                self.assertIn(f"4 frames, by {backend}", output)

    def test_gpu_to_tensor(self) -> None:
        output = self.run_example("gpu_to_tensor.py --frames 2")
        self.assertEqual(len([line for line in output.splitlines() if "240" in line]), 2, output)

    def balls(self, frames: int) -> List[List[int]]:
        """Finds the ball without a network: these pixels have more red than blue."""
        found = []
        for sample in gst_support.play(
            f"videotestsrc num-buffers={frames} pattern=ball foreground-color=0xffff8020 "
            "background-color=0xff203050 ! video/x-raw,format=RGB,width=640,height=360 "
            "! appsink name=sink sync=false"
        ):
            data = gst_support.host_bytes(sample.get_buffer())
            pixels = np.frombuffer(data, "u1").reshape(360, 640, 3).astype(int)
            rows, columns = np.nonzero(pixels[..., 0] > pixels[..., 2] + 60)
            found.append([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
        return found

    def check_ball(self, command: str) -> List[str]:
        """Compares the position of the ball in each frame. Returns the names of pictures."""
        with tempfile.TemporaryDirectory(suffix=" of pictures") as folder:
            output = self.run_example(command.format(folder=shlex.quote(folder)) + " --frames 9")
            names = sorted(os.listdir(folder))
        self.assertIn("9 frames, by", output)
        boxes = [[int(number) for number in re.findall(r" (\d+)", line)]
                 for line in output.splitlines() if re.match(r"\d+:", line)]
        # A pixel of the tensor has the size of five pixels of the frame, and
        # the blur adds some more.
        np.testing.assert_allclose(boxes, self.balls(9), atol=10, rtol=0)
        return names

    def test_detect_ball(self) -> None:
        backends = ["numpy"]
        if not support.is_software() and not support.is_missing("torch"):
            backends.append("torch")
        for backend in backends:
            names = self.check_ball(
                f"detect_ball.py --backend {backend} --pictures {{folder}}")
            masks = [f"mask-{i:03d}.png" for i in range(9)]
            self.assertEqual(names, ["input.png", *masks, "tensor.png"])

    def test_detect_boxes(self) -> None:
        if not HAS_ANALYTICS:
            output = self.run_example("detect_boxes.py", is_good=False)
            self.assertRegex(output, "analytics library .* is missing")
            self.skipTest("GStreamer's analytics library is missing")
        # Not a multiple of the batch.
        has_overlay = gst_support.Gst.ElementFactory.find("objectdetectionoverlay")
        names = self.check_ball("detect_boxes.py --backend numpy"
                                + (" --pictures {folder}" if has_overlay else ""))
        self.assertEqual(names, [f"boxes-{i:03d}.png" for i in range(9)] if has_overlay else [])

    def test_camera_and_consumers(self) -> None:
        with tempfile.TemporaryDirectory(suffix=" of sockets") as folder, \
                unittest.mock.patch.dict(os.environ, TMPDIR=folder):
            output = self.run_example("camera_and_consumers.py --frames 20")
        # The processes write to one pipe, and may write between a line and its end.
        means = re.findall(r"consumer: 20 frames, mean (\d+\.\d\d)", output)
        self.assertEqual(len(means), 3, output)
        # The mean of a white ball on black is neither that of white nor that of black.
        for mean in means:
            self.assertTrue(1 < float(mean) < 50, mean)
        self.assertRegex(output.splitlines()[-1], r"camera: \d+ frames sent, 0 copied")

    def test_kernel_by_hand(self) -> None:
        output = self.run_example("kernel_by_hand.py --frames 2")
        found = re.findall(r"^(\d+) pixels, mean brightness ([\d.]+)$", output, re.M)
        self.assertEqual([int(pixels) for pixels, _ in found], [321 * 240] * 2, output)
        self.assertTrue(all(20 < float(mean) < 200 for _, mean in found), output)

    def test_vkgdr_pycuda(self) -> None:
        support.load("pycuda")
        self.assertIn("doubled on the GPU", self.run_example("vkgdr_pycuda.py"))


def read(name: str) -> str:
    with open(os.path.join(DOCS, name), encoding="utf-8") as file:
        return file.read()


def blocks(page: str) -> List[str]:
    return re.findall(r"```python\n(.*?)```", read(page), re.DOTALL)


class Pages(gst_support.DeviceTestCase):
    def test_import_lines(self) -> None:
        self.assert_prints("True\n", blocks("from-pycuda.md")[1] + (
            "pool = DeviceMemoryPool()\nprint(cuda.Context.get_current() is not None)"))

    def test_one_line(self) -> None:
        support.load("pycuda")  # for its gpuarray
        self.assert_prints("True\n", blocks("from-pycuda.md")[0] + (
            "import numpy\nx = numpy.ones(4, numpy.float32)\n"
            "print(gpuarray.to_gpu(x).get().tolist() == [1] * 4)"))

    def test_code_is_python(self) -> None:
        for page in ("from-pycuda.md", "frames-as-arrays.md", "python.md"):
            for block in blocks(page):
                compile(block, page, "exec")

    def test_kernels_on_frames(self) -> None:
        (code,) = [one for one in blocks("frames-as-arrays.md") if "scale" in one]
        self.assert_prints(
            "True\n", "import gst_support\nfrom gst_support import Gst, GstVkgdr\n"
            "case = gst_support.DeviceTestCase()\ncase.setUp()\n"
            "source = '__global__ void scale (unsigned char *x, int n, float f)"
            " { if (threadIdx.x < n) x[threadIdx.x] *= f; }'\n"
            "buffer, caps = case.new_buffer(bytes([3]) * 64), None\n"
            "grid, block = (1,), (64, 1, 1)\n" + code
            + "\nprint(gst_support.host_bytes(buffer) == bytes([6]) * 64)\n")


if __name__ == "__main__":
    support.main()
