# SPDX-License-Identifier: LGPL-2.1-or-later
"""Real libraries on our arrays, and their tensors in our pipelines.

Each test is skipped where its library is missing, or finds no device: none of
them knows softcuda.
"""

import ctypes
import gc
import importlib
import unittest
from typing import Any, Callable

from gst_support import WRITE, DeviceTestCase, GLib, Gst, GstVkgdr, host_bytes, video_caps

import support

try:
    import numpy
except ImportError:
    numpy = None

WIDTH, HEIGHT = 64, 48
SIZE = 4 * WIDTH * HEIGHT


def load(name: str, has_device: Callable[[Any], bool] = lambda module: True) -> Any:
    """A library that works here, or the end of the test."""
    if numpy is None:
        raise unittest.SkipTest("NumPy is missing")
    try:
        module = importlib.import_module(name)
        usable = has_device(module)
    except Exception as error:  # each library has its own where there is no GPU
        raise unittest.SkipTest(f"{name}: {type(error).__name__}: {error}") from None
    if not usable:
        raise unittest.SkipTest(f"{name} finds no CUDA device")
    return module


class Consumer(DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        if self.context.is_software():
            self.skipTest("the device is a processor")
        self.data = support.pattern(SIZE)
        self.buffer = self.new_buffer(self.data)
        self.memory = self.buffer.peek_memory(0)
        self.caps = video_caps("RGBA", WIDTH, HEIGHT, "(memory:VkgdrMemory)")

    def array(self, flags: Gst.MapFlags = Gst.MapFlags.READ) -> Any:
        return GstVkgdr.device_array(self.buffer, self.caps, flags)

    def expected(self) -> Any:
        return numpy.frombuffer(self.data, "u1").reshape(HEIGHT, WIDTH, 4)

    def padded(self) -> Any:
        """A frame whose rows have gaps, so that strides count."""
        caps = video_caps("GRAY8", 61, HEIGHT)  # rows of 64 bytes
        array = GstVkgdr.device_array(self.buffer, caps)
        self.assertEqual(array.strides, (64, 1))
        expected = numpy.frombuffer(self.data, "u1")[: 64 * HEIGHT].reshape(HEIGHT, 64)[:, :61]
        return array, expected

    def assert_returned(self) -> None:
        gc.collect()
        self.assert_writable(self.memory, True)

    def push(self, elements: str, tensor: Any, **arguments: Any) -> bytes:
        buffer = Gst.Buffer.new()
        buffer.append_memory(GstVkgdr.memory_from_dlpack(tensor, self.context, **arguments))
        (sample,) = self.run_buffers(elements, self.caps, [buffer])
        return host_bytes(sample.get_buffer())


class Torch(Consumer):
    def setUp(self) -> None:
        super().setUp()
        self.torch = load("torch", lambda torch: torch.cuda.is_available())

    def test_from_dlpack(self) -> None:
        tensor = self.torch.from_dlpack(self.array())
        self.assertEqual(tuple(tensor.shape), (HEIGHT, WIDTH, 4))
        self.assertEqual(
            tensor.data_ptr(), GstVkgdr.memory_get_device_pointer(self.memory)
        )
        numpy.testing.assert_array_equal(tensor.cpu().numpy(), self.expected())
        self.assert_writable(self.memory, False)
        del tensor
        self.assert_returned()

    def test_strides(self) -> None:
        array, expected = self.padded()
        tensor = self.torch.from_dlpack(array)
        numpy.testing.assert_array_equal(tensor.cpu().numpy(), expected)

    def test_as_tensor(self) -> None:
        tensor = self.torch.as_tensor(self.array(WRITE), device="cuda")
        numpy.testing.assert_array_equal(tensor.cpu().numpy(), self.expected())

    def test_writes_are_waited_for(self) -> None:
        stream = self.torch.cuda.Stream()
        with self.torch.cuda.stream(stream):
            tensor = self.torch.from_dlpack(self.array(WRITE))
            slow = self.torch.ones(4096, 4096, device="cuda")
            for _ in range(20):
                slow = slow @ slow / 4096
            tensor.copy_((slow[0, 0] * 7).to(self.torch.uint8).expand_as(tensor))
            del tensor
        gc.collect()
        self.assertEqual(host_bytes(self.buffer), bytes([7]) * SIZE)

    def test_a_tensor_in_a_pipeline(self) -> None:
        tensor = self.torch.from_numpy(self.expected().copy()).cuda()
        self.assertEqual(self.push("vkgdrdownload", tensor), self.data)
        inverted = self.push("cudafilter kernel=invert ! vkgdrdownload", tensor)
        expected = self.expected().copy()
        expected[..., :3] = 255 - expected[..., :3]
        self.assertEqual(inverted, expected.tobytes())
        numpy.testing.assert_array_equal(tensor.cpu().numpy(), self.expected())

    def test_work_that_is_still_queued(self) -> None:
        stream = self.torch.cuda.Stream()
        with self.torch.cuda.stream(stream):
            slow = self.torch.ones(4096, 4096, device="cuda")
            for _ in range(20):
                slow = slow @ slow / 4096
            tensor = (slow[:HEIGHT, : WIDTH * 4] * 9).to(self.torch.uint8).contiguous()
            tensor = tensor.view(HEIGHT, WIDTH, 4)
        self.assertEqual(self.push("vkgdrdownload", tensor), bytes([9]) * SIZE)

    def test_bad_tensors(self) -> None:
        wrap = GstVkgdr.memory_from_dlpack
        with self.assertRaisesRegex(ValueError, "not in the memory of a CUDA device"):
            wrap(self.torch.zeros(16), self.context)
        with self.assertRaisesRegex(GLib.Error, "not contiguous"):
            wrap(self.torch.zeros(16, 16, device="cuda")[:, ::2], self.context)
        with self.assertRaisesRegex(GLib.Error, "is empty"):
            wrap(self.torch.zeros(0, device="cuda"), self.context)


class Cupy(Consumer):
    def setUp(self) -> None:
        super().setUp()
        self.cupy = load("cupy", lambda cupy: cupy.cuda.runtime.getDeviceCount() > 0)

    def test_from_dlpack(self) -> None:
        array = self.cupy.from_dlpack(self.array())
        numpy.testing.assert_array_equal(array.get(), self.expected())
        del array
        self.assert_returned()

    def test_asarray(self) -> None:
        array = self.cupy.asarray(self.array())
        self.assertEqual(array.data.ptr, GstVkgdr.memory_get_device_pointer(self.memory))
        numpy.testing.assert_array_equal(array.get(), self.expected())
        del array
        self.assert_returned()

    def test_strides(self) -> None:
        array, expected = self.padded()
        numpy.testing.assert_array_equal(self.cupy.asarray(array).get(), expected)
        numpy.testing.assert_array_equal(self.cupy.from_dlpack(array).get(), expected)

    def test_writing(self) -> None:
        array = self.cupy.asarray(self.array(WRITE))
        array[...] = 255 - array
        del array
        gc.collect()
        self.assertEqual(host_bytes(self.buffer), (255 - self.expected()).tobytes())

    def test_a_tensor_in_a_pipeline(self) -> None:
        array = self.cupy.asarray(self.expected())
        self.assertEqual(self.push("vkgdrdownload", array), self.data)
        self.push("cudafilter kernel=invert ! vkgdrdownload", array, writable=True)


class Numba(Consumer):
    def test_as_cuda_array(self) -> None:
        cuda = load("numba.cuda", lambda cuda: cuda.is_available())
        array = cuda.as_cuda_array(self.array())
        numpy.testing.assert_array_equal(array.copy_to_host(), self.expected())
        del array
        self.assert_returned()


class CudaCore(Consumer):
    def test_strided_memory_view(self) -> None:
        try:
            utils = load("cuda.core.utils")
        except unittest.SkipTest:
            utils = load("cuda.core.experimental.utils")
        array, _ = self.padded()
        for view in (
            utils.StridedMemoryView(array, stream_ptr=-1),
            utils.StridedMemoryView(self.array(), stream_ptr=-1),
        ):
            self.assertEqual(view.ptr, GstVkgdr.memory_get_device_pointer(self.memory))
            self.assertTrue(view.is_device_accessible)
            self.assertEqual(view.device_id, self.context.get_device())
        self.assertEqual(tuple(view.shape), (HEIGHT, WIDTH, 4))


class Pycuda(unittest.TestCase):
    def setUp(self) -> None:
        load("pycuda.autoprimaryctx")
        self.driver = load("pycuda.driver")
        import vkgdr.pycuda

        self.vkgdr = vkgdr

    def test_a_memory_is_gpudata(self) -> None:
        gpuarray = importlib.import_module("pycuda.gpuarray")
        handle = self.vkgdr.Vkgdr.open_current_context()
        memory = self.vkgdr.pycuda.Memory(handle, SIZE)
        numpy.asarray(memory)[:] = numpy.frombuffer(support.pattern(SIZE), "u1")
        memory.flush(0, SIZE)
        array = gpuarray.GPUArray((SIZE,), numpy.uint8, gpudata=memory)
        self.assertEqual(array.get().tobytes(), support.pattern(SIZE))
        del memory
        gc.collect()
        self.assertEqual(array.get().tobytes(), support.pattern(SIZE))

    def test_copies_to_and_from(self) -> None:
        handle = self.vkgdr.Vkgdr.open_current_context()
        memory = self.vkgdr.pycuda.Memory(handle, SIZE)
        self.driver.memcpy_htod(memory, support.pattern(SIZE))
        data = numpy.empty(SIZE, "u1")
        self.driver.memcpy_dtoh(data, memory)
        self.assertEqual(data.tobytes(), support.pattern(SIZE))
        self.assertEqual(ctypes.c_ulonglong(int(memory)).value, memory.device_ptr)

    def test_free_and_collection(self) -> None:
        handle = self.vkgdr.Vkgdr.open_current_context()
        for _ in range(100):
            memory = self.vkgdr.pycuda.Memory(handle, 16 << 20)
        memory.free()
        memory.free()
        with self.assertRaises(self.vkgdr.VkgdrError):
            memory.get_pointer()


if __name__ == "__main__":
    support.main()
