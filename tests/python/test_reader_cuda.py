# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of TensorReader with frames in the memory of GStreamer's own CUDA elements.

These elements load the CUDA driver by its usual name. Without a GPU, this is softcuda.
Skipped if the elements are missing, or older than 1.24.
"""

import ctypes
import os
import unittest
from typing import Any, List

from gst_support import Gst, GstVkgdr
from test_reader import FRAMES, GRAY, ReaderTestCase, write_clip

import support


def load_driver() -> None:
    """Loads softcuda under the names of NVIDIA's libraries."""
    folder = os.environ["VKGDR_SOFTCUDA_DIR"]
    for name in ("libcuda.so.1", "libnvidia-encode.so.1"):
        ctypes.CDLL(os.path.join(folder, name))
    os.environ["GST_CUDA_NVRTC_LIBNAME"] = os.path.join(folder, "libnvrtc.so")


def load_elements() -> bool:
    """Loads the plugin even if the registry has it without elements, because it was
    scanned without a driver.
    """
    plugin = Gst.Registry.get().find_plugin("nvcodec")
    if plugin is None or int(plugin.get_version().split(".")[1]) < 24:
        return False
    if support.is_software():
        load_driver()
    Gst.Plugin.load_file(plugin.get_filename())
    return Gst.ElementFactory.find("cudaupload") is not None


HAS_ELEMENTS = load_elements()


def input_caps(reader: Any) -> Gst.Caps:
    """Returns the caps of vkgdrtensor's first pad."""
    elements = reader._pipeline.iterate_elements()
    while True:
        result, element = elements.next()
        if result != Gst.IteratorResult.OK:
            raise AssertionError("there is no vkgdrtensor")
        if element.get_factory().get_name() == "vkgdrtensor":
            return element.get_static_pad("sink_0").get_current_caps()


@unittest.skipUnless(HAS_ELEMENTS, "GStreamer's CUDA elements are missing")
class CudaMemory(ReaderTestCase):
    """The same frames as from system memory: each once, and in its place."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.bright = os.path.join(cls.folder, "bright.mkv")
        write_clip(cls.bright, 60, 10)

    def description(self, upload: str = " ! cudaupload") -> str:
        # The CUDA elements do not support GRAY8.
        return (
            f'filesrc location="{self.bright}" ! matroskademux ! {FRAMES} ! videoconvert '
            f"! video/x-raw,format=NV12{upload}"
        )

    def expected(self) -> List[int]:
        (values,) = self.read(self.description(upload=""), batch=10)
        self.assertEqual(len(set(values)), 10)
        return values

    def test_each_frame_is_in_its_place(self) -> None:
        found = []
        with GstVkgdr.TensorReader(self.description(), batch=4, **GRAY) as reader:
            for batch in reader:
                found.append(self.values(batch))
                features = input_caps(reader).get_features(0)
                self.assertTrue(features.contains("memory:CUDAMemory"), features.to_string())
        values = self.expected()
        self.assertEqual(found, [values[:4], values[4:8], values[8:]])

    def test_beside_another_memory(self) -> None:
        values = self.expected()
        found = self.read([self.description(), self.other])
        self.assertEqual(
            found, [[values[i], 101 + i] for i in range(7)] + [[value] for value in values[7:]]
        )

    def test_batches_stay_valid(self) -> None:
        """Frames return to the pool of the CUDA elements before the batches are read."""
        with GstVkgdr.TensorReader(self.description(), batch=2, **GRAY) as reader:
            batches = list(reader)
            found = [self.values(batch) for batch in batches]
        values = self.expected()
        self.assertEqual(found, [values[i:i + 2] for i in range(0, 10, 2)])


if __name__ == "__main__":
    support.main()
