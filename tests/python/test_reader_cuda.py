# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of TensorReader with frames in the memory of GStreamer's own CUDA elements.

These elements load the CUDA driver by its usual name. Without a GPU, this is softcuda.
Skipped if the elements are missing, or older than 1.24.
"""

import ctypes
import os
import unittest

from gst_support import Gst
from test_reader import FRAMES, ReaderTestCase, write_clip

import support


def load_elements() -> bool:
    """Loads the plugin even if the registry has it without elements, because it was
    scanned without a driver. Without a GPU, loads softcuda under the names of NVIDIA's
    libraries before.
    """
    plugin = Gst.Registry.get().find_plugin("nvcodec")
    if plugin is None or int(plugin.get_version().split(".")[1]) < 24:
        return False
    if support.is_software():
        folder = os.environ["VKGDR_SOFTCUDA_DIR"]
        for name in ("libcuda.so.1", "libnvidia-encode.so.1"):
            ctypes.CDLL(os.path.join(folder, name))
        os.environ["GST_CUDA_NVRTC_LIBNAME"] = os.path.join(folder, "libnvrtc.so")
    Gst.Plugin.load_file(plugin.get_filename())
    return Gst.ElementFactory.find("cudaupload") is not None


HAS_ELEMENTS = load_elements()


@unittest.skipUnless(HAS_ELEMENTS, "GStreamer's CUDA elements are missing")
class CudaMemory(ReaderTestCase):
    """The same frames as from system memory: each once, and in its place."""

    def setUp(self) -> None:
        super().setUp()
        bright = os.path.join(self.folder, "bright.mkv")
        if not os.path.exists(bright):
            write_clip(bright, 60, 10)
        # The CUDA elements do not support GRAY8.
        system = (f'filesrc location="{bright}" ! matroskademux ! {FRAMES} ! videoconvert '
                  "! video/x-raw,format=NV12")
        self.description = system + " ! cudaupload"
        (self.expected,) = self.read(system, batch=10)
        self.assertEqual(len(set(self.expected)), 10)

    def test_each_frame_is_in_its_place(self) -> None:
        """Also when frames return to the pool of the CUDA elements before the batches are
        read.
        """
        reader = self.reader(self.description, batch=4)
        batches = [next(reader)]
        tensor = next(
            one for one in reader._pipeline.iterate_elements()
            if one.get_factory().get_name() == "vkgdrtensor"
        )
        features = tensor.get_static_pad("sink_0").get_current_caps().get_features(0)
        self.assertTrue(features.contains("memory:CUDAMemory"), features.to_string())
        batches += reader
        values = self.expected
        self.assertEqual(
            [self.values(batch) for batch in batches], [values[:4], values[4:8], values[8:]])

    def test_beside_another_memory(self) -> None:
        values = self.expected
        self.assertEqual(
            self.read([self.description, self.other]),
            [[values[i], 101 + i] for i in range(7)] + [[value] for value in values[7:]])


if __name__ == "__main__":
    support.main()
