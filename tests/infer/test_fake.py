# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of vkgdrinfer with a libonnxruntime of the tests: the CUDA provider, whose pointers
are those of the device, and each call that fails once.
"""

import ctypes
import os
import tempfile
import time
import unittest
from typing import List, Optional

os.environ["VKGDR_DRIVER"] = "software"
os.environ["VKGDR_ONNXRUNTIME"] = FAKE = os.environ["FAKE_ONNXRUNTIME"]

from gst_support import DeviceTestCase, GLib, Gst  # noqa: E402
from infer_support import Box, infer, tensors  # noqa: E402

import numpy as np  # noqa: E402

FULL = Box(0, 0, 8, 8)


class Fake(DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.library = ctypes.CDLL(FAKE)
        self.model = tempfile.NamedTemporaryFile(suffix=".onnx")
        self.addCleanup(self.model.close)
        os.environ["FAKE_PCI"] = self.context.describe().get_string("pci-address")
        os.environ.pop("FAKE_FAIL", None)

    def elements(self, provider: str) -> str:
        library = f"provider-library={self.model.name}" if provider != "cpu" else ""
        return (f"vkgdrinfer name=infer model-file={self.model.name} {library} "
                f"execution-provider={provider}")

    def run_network(self, provider: str, box: Box = FULL, n: int = 1) -> List[Gst.Sample]:
        return infer(8, 8, box, self.elements(provider), "RGB", n)

    def check(self, sample: Gst.Sample, mean: float) -> None:
        (y_id, y), (z_id, z) = tensors(sample.get_buffer())
        self.assertEqual((y_id, z_id), ("y", "z"))
        np.testing.assert_allclose(y.ravel(), [mean, 1, 2, 3, 4], atol=1e-3)
        self.assertEqual(z.shape, (2, 4))
        np.testing.assert_allclose(z, mean, atol=1e-3)

    def test_numbers(self) -> None:
        """What a provider wrote to the device, or to mapped memory, is what the CPU reads."""
        for provider in "cuda", "cpu", "auto":
            with self.subTest(provider):
                for sample in self.run_network(provider, n=3):
                    self.check(sample, 1)
                half = Box(0, 0, 4, 8)
                self.check(self.run_network(provider, half)[0], (1 + 16 / 255) / 2)

    def test_provider_without_our_stream(self) -> None:
        """A provider that refuses the stream, or that is not known to take it, runs in order."""
        for name, value in ("FAKE_REFUSES", "1"), ("FAKE_NAME", "CudaPluginExecutionProvider"):
            os.environ[name] = value
            try:
                for sample in self.run_network("cuda", n=5):
                    self.check(sample, 1)
            finally:
                del os.environ[name]

    def test_stop_during_a_run(self) -> None:
        """A run is told to end before the element waits for it. It is no error."""
        for provider in "cuda", "cpu":
            pipeline = Gst.parse_launch(
                f"videotestsrc ! vkgdrupload ! {self.elements(provider)} ! fakesink")
            os.environ["FAKE_ENDLESS"] = "1"
            try:
                pipeline.set_state(Gst.State.PLAYING)
                self.wait_until(self.library.fake_running)
                begin = time.monotonic()
                pipeline.set_state(Gst.State.NULL)
                self.assertLess(time.monotonic() - begin, 5)
            finally:
                del os.environ["FAKE_ENDLESS"]
            self.assertIsNone(pipeline.get_bus().timed_pop_filtered(0, Gst.MessageType.ERROR))
            self.assertFalse(self.library.fake_running())
            self.check(self.run_network(provider)[0], 1)

    def test_nothing_is_left(self) -> None:
        self.run_network("cpu")
        live = self.library.fake_live()
        for provider in "cuda", "cpu":
            self.run_network(provider, n=3)
        self.wait_until(lambda: self.library.fake_live() == live)

    def test_memory_of_the_provider_lives_with_the_buffer(self) -> None:
        samples = self.run_network("cuda", n=3)
        live = self.library.fake_live()
        for sample in samples:
            self.check(sample, 1)
        del sample, samples
        self.wait_until(lambda: self.library.fake_live() == live - 3)

    def test_provider_of_another_device(self) -> None:
        for address in "0000:7f:00.0", None:
            if address:
                os.environ["FAKE_PCI"] = address
            else:
                del os.environ["FAKE_PCI"]
            with self.assertRaisesRegex(GLib.Error, "does not have the device 0 .*set device"):
                self.run_network("cuda")
            self.check(self.run_network("auto")[0], 1)

    def failing(self, provider: str, number: int) -> Optional[str]:
        """The error if call `number` of a run fails, or None if there are fewer calls."""
        before = self.library.fake_calls()
        os.environ["FAKE_FAIL"] = str(before + number)
        try:
            self.run_network(provider)
        except GLib.Error as error:
            return error.message
        finally:
            del os.environ["FAKE_FAIL"]
        return None if self.library.fake_calls() < before + number else ""

    def test_each_call_fails_once(self) -> None:
        """The element says which call failed, or does without it. It goes on afterwards."""
        for provider in "cpu", "cuda", "cpu":  # the first one loads the library
            silent = number = 0
            while (message := self.failing(provider, number + 1)) is not None:
                number += 1
                if message:
                    self.assertRegex(message, "is told to fail")
                else:
                    silent += 1
            self.assertGreater(number, 25)
            # AllocatorFree (four times), the option for the stream, and
            # RunOptionsSetTerminate at the end.
            self.assertLessEqual(silent, 6)
            self.check(self.run_network(provider)[0], 1)
        # The environment stays, and what AllocatorFree could not free.
        self.assertLessEqual(self.library.fake_live(), 1 + 3 * 4)


if __name__ == "__main__":
    unittest.main()
