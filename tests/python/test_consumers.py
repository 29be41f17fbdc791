# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of arrays in other libraries, and of their tensors in pipelines.

Each test is skipped if its library is not installed, or if the device is softcuda's,
which these libraries cannot use. A library that is installed but cannot be imported, or
finds no device, is a failure.
"""

import gc
import unittest
from typing import Any

from gst_support import (
    READ, WRITE, DeviceTestCase, GstVkgdr, buffer_of, host_bytes, video_caps,
)

import numpy as np
import support

WIDTH, HEIGHT = 64, 48
SIZE = 4 * WIDTH * HEIGHT

# Ways of a library to take an array: its module, the call, and the copy to NumPy. PyTorch
# takes no read-only __cuda_array_interface__.
CONSUMERS = (
    ("torch", "torch", READ, lambda m, a: m.from_dlpack(a), lambda t: t.cpu().numpy()),
    ("torch", "torch", WRITE, lambda m, a: m.as_tensor(a, device="cuda"),
     lambda t: t.cpu().numpy()),
    ("cupy", "cupy", READ, lambda m, a: m.from_dlpack(a), lambda t: t.get()),
    ("cupy", "cupy", READ, lambda m, a: m.asarray(a), lambda t: t.get()),
    ("numba", "numba.cuda", READ, lambda m, a: m.as_cuda_array(a), lambda t: t.copy_to_host()),
)

# How a library makes a tensor of NumPy's array, and copies it back.
MAKERS = (
    ("torch", lambda m, a: m.from_numpy(a).cuda(), lambda t: t.cpu().numpy()),
    ("cupy", lambda m, a: m.asarray(a), lambda t: t.get()),
)


@unittest.skipIf(support.is_software(), "the device is a processor")
class Consumers(DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.buffer = self.new_buffer(support.pattern(SIZE))
        self.memory = self.buffer.peek_memory(0)
        self.caps = video_caps("RGBA", WIDTH, HEIGHT, "(memory:VkgdrMemory)")
        self.expected = np.frombuffer(support.pattern(SIZE), "u1").reshape(HEIGHT, WIDTH, 4)

    def push(self, elements: str, tensor: Any, **arguments: Any) -> Any:
        memory = GstVkgdr.memory_from_dlpack(tensor, self.context, **arguments)
        data = self.run_buffer(elements, self.caps, buffer_of(memory))
        return np.frombuffer(data, "u1").reshape(HEIGHT, WIDTH, 4)

    def test_arrays(self) -> None:
        """Without a copy, in rows without and with padding, until the consumer is freed."""
        padded = np.ndarray((HEIGHT, 61), "u1", self.expected.tobytes(), 0, (64, 1))
        for name, module, flags, take, copy in CONSUMERS:
            for caps, expected in (
                (self.caps, self.expected), (video_caps("GRAY8", 61, HEIGHT), padded)
            ):
                with self.subTest(library=name, flags=flags, shape=expected.shape):
                    library = support.load(name, module)
                    array = take(library, GstVkgdr.device_array(self.buffer, caps, flags))
                    self.assertEqual(
                        array.__cuda_array_interface__["data"][0], int(self.memory))
                    np.testing.assert_array_equal(copy(array), expected)
                    self.assert_writable(self.memory, False)
                    del array
                    gc.collect()
                    self.assert_writable(self.memory, True)

    def test_tensors_in_a_pipeline(self) -> None:
        inverted = np.concatenate([255 - self.expected[..., :3], self.expected[..., 3:]], -1)
        for name, make, copy in MAKERS:
            with self.subTest(library=name):
                tensor = make(support.load(name), self.expected.copy())
                for elements, is_writable, expected in (
                    ("", False, self.expected), ("cudafilter kernel=invert ! ", False, inverted),
                    ("cudafilter kernel=invert ! ", True, inverted),
                ):
                    found = self.push(elements + "vkgdrdownload", tensor, writable=is_writable)
                    np.testing.assert_array_equal(found, expected)
                    if not is_writable:
                        np.testing.assert_array_equal(copy(tensor), self.expected)

    # --- work that is still queued -----------------------------------------------------

    def slow(self, torch: Any) -> Any:
        """Ones, after some work of the device."""
        slow = torch.ones(4096, 4096, device="cuda")
        for _ in range(20):
            slow = slow @ slow / 4096
        return slow

    def test_writes_are_waited_for(self) -> None:
        torch = support.load("torch")
        with torch.cuda.stream(torch.cuda.Stream()):
            tensor = torch.from_dlpack(GstVkgdr.device_array(self.buffer, self.caps, WRITE))
            slow = self.slow(torch)
            tensor.copy_((slow[0, 0] * 7).to(torch.uint8).expand_as(tensor))
            del tensor
        gc.collect()
        self.assertEqual(host_bytes(self.buffer), bytes([7]) * SIZE)

    def test_tensors_are_waited_for(self) -> None:
        torch = support.load("torch")
        with torch.cuda.stream(torch.cuda.Stream()):
            slow = self.slow(torch)
            tensor = (slow[:HEIGHT, : WIDTH * 4] * 9).to(torch.uint8).contiguous()
            tensor = tensor.view(HEIGHT, WIDTH, 4)
        self.assertTrue((self.push("vkgdrdownload", tensor) == 9).all())

    # --- cuda.core ----------------------------------------------------------------------

    def test_strided_memory_view(self) -> None:
        utils = support.load("cuda.core", "cuda.core.utils")
        array = GstVkgdr.device_array(self.buffer, self.caps)
        view = utils.StridedMemoryView(array, stream_ptr=-1)
        self.assertEqual((view.ptr, view.device_id), (int(self.memory), self.context.get_device()))
        self.assertTrue(view.is_device_accessible)
        self.assertEqual(tuple(view.shape), (HEIGHT, WIDTH, 4))

    def test_streams_of_cuda_core(self) -> None:
        core = support.load("cuda.core")
        device = core.Device(self.context.get_device())
        device.set_current()
        stream = device.create_stream()
        with GstVkgdr.device_array(self.memory, stream=stream) as array:
            self.assertEqual(array.stream.handle, int(stream.handle))


if __name__ == "__main__":
    support.main()
