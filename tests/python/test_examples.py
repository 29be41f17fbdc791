# SPDX-License-Identifier: LGPL-2.1-or-later
"""The examples of the documentation, run as a reader would."""

import os
import re
import subprocess
import sys
import unittest

import support

EXAMPLES = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "examples", "python"
)


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
        # 0 to 255, and 0 to 63 once more.
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
