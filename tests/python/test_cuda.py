# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of devices, streams, events, copies, modules and launches from Python."""

import ctypes
import gc
import os
import pathlib
import struct
import tempfile
import time
import unittest
import unittest.mock
import weakref
from typing import Any

import gst_support
import support
from gst_support import READ, WRITE
from gi.overrides import _gstvkgdr_code as code
from gi.repository import GLib, Gst, GstVkgdr

try:
    import numpy as np
except ImportError:
    np = None

SOURCE = """
__device__ float gain = 3;
__constant__ int offsets[4] = { 1, 2, 3, 4 };

__global__ void scale (float *x, float factor, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = x[i] * factor * gain + offsets[0];
}

__global__ void mixed (char a, short b, double c, char d, long long e, double *out)
{
  out[0] = a;
  out[1] = b;
  out[2] = c;
  out[3] = d;
  out[4] = e;
}

struct Pair { int a; float b; };
__global__ void structure (Pair pair, double *out) { *out = pair.a + pair.b; }

__global__ void slow (int *x, int turns)
{
  /* Not a variable: NVRTC 13 leaves out a loop that writes to a volatile one. */
  for (int i = 0; i <= turns; i++)
    *(volatile int *) x = i;
}

__global__ void hold (volatile int *gate, int *x, int turns)
{
  while (*gate == 0)
    ;
  *x = turns;
}

__global__ void shape (int *out)
{
  extern __shared__ int shared[];
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
    shared[0] = 7;
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    out[block] = shared[0] + 100 * (blockDim.x + 10 * blockDim.y + 100 * blockDim.z);
  }
}

__global__ void nothing () {}
"""


def foreign_memory() -> Gst.Memory:
    return Gst.Buffer.new_wrapped(b"four").peek_memory(0)


class CudaTestCase(gst_support.DeviceTestCase):
    def assert_error(self, pattern: str, code: Any, call: Any, *args: Any, **kwargs: Any) -> None:
        """The call fails with an error of the library."""
        with self.assertRaisesRegex(GLib.Error, pattern) as caught:
            call(*args, **kwargs)
        self.assertTrue(
            caught.exception.matches(GstVkgdr.error_quark(), code), caught.exception
        )

    def floats(self, memory: Gst.Memory, n: int) -> tuple:
        return struct.unpack(f"{n}f", GstVkgdr.download(memory)[: 4 * n])


class Gate:
    """A kernel that runs until open() is called. The cleanup of the test calls
    it at the latest.
    """

    def __init__(self, case: CudaTestCase, memory: Gst.Memory, stream: Any) -> None:
        pinned = case.allocator.alloc_pinned(4)
        self._mapping = GstVkgdr.Mapping.new(pinned, READ | WRITE)
        pointer = self._mapping.get_pointer()
        self._flag = ctypes.c_int.from_address(pointer)
        self._flag.value = 0
        self._stream = GstVkgdr.as_stream(case.context, stream)
        case.addCleanup(self.close)
        module = GstVkgdr.SourceModule(SOURCE, case.context)
        self._hold = module.get_function("hold")
        self._hold(pointer, memory, 20_000_000, block=1, stream=stream)

    def open(self) -> None:
        self._flag.value = 1

    def close(self) -> None:
        self.open()
        self._stream.synchronize()
        del self._hold


class Devices(CudaTestCase):
    def test_count(self) -> None:
        self.assertGreaterEqual(GstVkgdr.device_count(), 1)
        self.assertEqual(GstVkgdr.Device.count(), GstVkgdr.device_count())

    def test_device(self) -> None:
        device = GstVkgdr.Device(0)
        description = self.context.describe()
        self.assertEqual(device.get_index(), 0)
        self.assertEqual(device.get_uuid(), description.get_string("uuid"))
        self.assertRegex(device.get_pci_address(), r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.0$")
        self.assertGreater(device.get_total_memory(), 1 << 20)
        self.assertGreaterEqual(device.get_driver_version(), 11000)
        self.assertTrue(device.get_model())
        self.assertEqual(device, GstVkgdr.Device(device.get_pci_address()))
        self.assertEqual(device.can_access_peer(device), False)

    def test_attributes(self) -> None:
        device = GstVkgdr.Device(0)
        n = device.get_attribute("max-threads-per-block")
        self.assertGreaterEqual(n, 256)
        self.assertEqual(n, device.get_attribute("MAX_THREADS_PER_BLOCK"))
        attributes = device.attributes
        self.assertEqual(attributes["max-threads-per-block"], n)
        self.assertGreater(len(attributes), 10)
        major, minor = device.compute_capability
        self.assertEqual(attributes["compute-capability-major"], major)
        self.assertEqual(attributes["compute-capability-minor"], minor)

    def test_what_is_not_there(self) -> None:
        errors = GstVkgdr.Error
        self.assert_error("no CUDA device 99", errors.NO_DEVICE, GstVkgdr.Device, 99)
        self.assert_error("no CUDA device at ffff:", errors.NO_DEVICE, GstVkgdr.Device, "ffff:00")
        self.assert_error("named \"size\"", errors.NOT_FOUND,
                          GstVkgdr.Device(0).get_attribute, "size")
        with self.assertRaisesRegex(ValueError, "no CUDA device -5"):
            GstVkgdr.Context(-5)

    def test_context(self) -> None:
        context = GstVkgdr.Context(GstVkgdr.Device(0))
        with context:
            self.assertEqual(support.current_context(), context.get_cuda_context())
        free, total = context.get_memory_info()
        self.assertTrue(0 < free <= total)


class Streams(CudaTestCase):
    def test_is_done(self) -> None:
        stream = GstVkgdr.Stream(self.context)
        self.assertTrue(stream.is_done())
        self.assertEqual(stream.__cuda_stream__(), (0, stream.handle))
        gate = Gate(self, self.allocator.alloc(4), stream)
        self.assertFalse(stream.is_done())
        gate.open()
        stream.synchronize()
        self.assertTrue(stream.is_done())

    def test_wrapped(self) -> None:
        stream = GstVkgdr.Stream(self.context)
        same = GstVkgdr.Stream(self.context, stream.handle)
        self.assertEqual(same.handle, stream.handle)
        memory = self.new_memory(bytes(16))
        GstVkgdr.upload(memory, b"x" * 16, stream=same)
        del same
        GstVkgdr.upload(memory, b"y" * 16, stream=stream.handle)
        stream.synchronize()
        self.assertEqual(GstVkgdr.download(memory), b"y" * 16)

    def test_default_streams(self) -> None:
        memory = self.new_memory(bytes(16))
        for number in (1, 2):
            GstVkgdr.fill(memory, number, stream=number)
            self.assertEqual(GstVkgdr.download(memory), bytes([number]) * 16)
        self.assertEqual(GstVkgdr.as_stream(self.context, 1).handle, 0)

    def test_streams_of_others(self) -> None:
        stream = GstVkgdr.Stream(self.context)
        names = ("cuda_stream", "ptr", "handle")
        others = [type("Other", (), {name: stream.handle})() for name in names]
        others.append(type("Other", (), {"__cuda_stream__": lambda self: (0, stream.handle)})())
        for other in others:
            self.assertEqual(
                GstVkgdr.as_stream(self.context, other).handle, stream.handle, other
            )
        self.assertIs(GstVkgdr.as_stream(self.context, stream), stream)

    def test_no_streams(self) -> None:
        for bad in ("stream", None, 1.5, True):
            with self.assertRaisesRegex(TypeError, "is neither a CUDA stream"):
                GstVkgdr.as_stream(self.context, bad)
        with self.assertRaisesRegex(ValueError, "-1 is not a CUDA stream"):
            GstVkgdr.as_stream(self.context, -1)
        with gst_support.other_cuda_context() as other:
            with self.assertRaisesRegex(ValueError, "another CUDA context"):
                GstVkgdr.as_stream(other, GstVkgdr.Stream(self.context))
        with self.assertRaises(TypeError):
            GstVkgdr.Stream()
        with self.assertRaisesRegex(TypeError, "a GstVkgdr.Context is needed, not int"):
            GstVkgdr.Event(3)

    def test_a_handle_that_is_none(self) -> None:
        if not self.context.is_software():
            self.skipTest("NVIDIA's driver takes any number for an address")
        self.assert_error("CUDA_ERROR_INVALID_HANDLE", GstVkgdr.Error.FAILED,
                          GstVkgdr.Stream, self.context, 12345)


class Events(CudaTestCase):
    def test_time(self) -> None:
        stream = GstVkgdr.Stream(self.context)
        start, end = GstVkgdr.Event(self.context), GstVkgdr.Event(self.context)
        self.assertTrue(start.query())
        start.record(stream).synchronize()  # a busy machine may record it late
        gate = Gate(self, self.allocator.alloc(4), stream)
        end.record(stream)
        self.assertFalse(end.is_done())
        self.assert_error("CUDA_ERROR_NOT_READY", GstVkgdr.Error.FAILED, end.time_since, start)
        time.sleep(0.002)
        gate.open()
        end.synchronize()
        elapsed = end.time_since(start)
        self.assertGreater(elapsed, 0.1)
        self.assertEqual(start.time_till(end), elapsed)
        self.assertAlmostEqual(start.time_since(end), -elapsed, places=3)

    def test_never_recorded(self) -> None:
        one, other = GstVkgdr.Event(self.context), GstVkgdr.Event(self.context)
        self.assert_error("cuEventElapsedTime", GstVkgdr.Error.FAILED, one.get_elapsed, other)

    def test_a_stream_waits(self) -> None:
        one, other = GstVkgdr.Stream(self.context), GstVkgdr.Stream(self.context)
        event = GstVkgdr.Event(self.context)
        gate = Gate(self, self.allocator.alloc(4), one)
        event.record(one)
        other.wait_for_event(event)
        self.assertFalse(other.is_done())
        gate.open()
        other.synchronize()
        self.assertTrue(event.is_done())


class Copies(CudaTestCase):
    def test_another_process(self) -> None:
        """The import from a file descriptor has the same bytes."""
        data = support.pattern(5000)
        memory = self.allocator.alloc_exportable(len(data))
        with GstVkgdr.Mapping.new(memory, Gst.MapFlags.WRITE) as mapping:
            mapping.data[:] = data
        fd, size, offset = GstVkgdr.memory_export_fd(memory)
        try:
            os.set_inheritable(fd, True)
            code = f"""
import gst_support
from gi.repository import GstVkgdr
allocator = GstVkgdr.Context(0).get_allocator()
memory = allocator.import_fd({fd}, {size}, {offset}, 5000)
print(GstVkgdr.download(memory) == {data!r})
GstVkgdr.fill(memory, 9, count=100)
"""
            result = support.run_python(code, close_fds=False)
            self.assertEqual((result.returncode, result.stdout), (0, "True\n"))
        finally:
            os.close(fd)
        self.assertEqual(GstVkgdr.download(memory), b"\11" * 100 + data[100:])

    def run_elsewhere(self, code: str) -> str:
        result = support.run_python(
            "import gst_support\nfrom gi.repository import GLib, GstVkgdr\n"
            "context = GstVkgdr.Context(0)\n" + code
        )
        self.assertEqual(result.returncode, 0, result.stdout)
        return result.stdout

    def test_handles_for_another_process(self) -> None:
        data = support.pattern(5000)
        memory = self.allocator.alloc_device_only(5000)
        GstVkgdr.upload(memory, data)
        handle = GstVkgdr.get_ipc_handle(memory)
        self.assertIsInstance(handle, bytes)
        output = self.run_elsewhere(f"""
memory, same = (GstVkgdr.open_ipc_handle({handle!r}, context) for _ in range(2))
print(GstVkgdr.download(memory) == {data!r})
del memory
GstVkgdr.fill(same, 9, count=100)
print(GstVkgdr.download(same)[:100] == b"\\11" * 100)
try:
    GstVkgdr.get_ipc_handle(same)
except GLib.Error as error:
    print(error.message)
""")
        self.assertEqual(output.split()[:2], ["True", "True"], output)
        self.assertIn("not of memory of its pools or of another process", output)
        self.assertEqual(GstVkgdr.download(memory), b"\11" * 100 + data[100:])

    def test_what_a_mapping_shows_of_another_process(self) -> None:
        """The content that the CPU has fetched before is not current any more."""
        memory = self.allocator.alloc_device_only(100)
        GstVkgdr.fill(memory, 1)
        handle = GstVkgdr.get_ipc_handle(memory)
        self.assertEqual(self.map(memory), b"\1" * 100)
        self.run_elsewhere(f"GstVkgdr.fill(GstVkgdr.open_ipc_handle({handle!r}, context), 2)")
        self.assertEqual(self.map(memory), b"\2" * 100)

    def map(self, memory: Gst.Memory) -> bytes:
        buffer = Gst.Buffer.new()
        buffer.append_memory(memory)
        return buffer.extract_dup(0, buffer.get_size())

    def test_what_has_no_handle(self) -> None:
        argument = GstVkgdr.Error.ARGUMENT
        self.assert_error(
            "lies in the window", argument, GstVkgdr.get_ipc_handle, self.allocator.alloc(100)
        )
        handle = GstVkgdr.get_ipc_handle(self.allocator.alloc_device_only(100))
        self.assert_error(
            "cannot open a handle that it made", argument,
            GstVkgdr.open_ipc_handle, handle, self.context,
        )
        self.assert_error(
            "these 3 bytes are not a handle", argument,
            GstVkgdr.open_ipc_handle, b"abc", self.context,
        )
        with self.assertRaisesRegex(TypeError, "not str"):
            GstVkgdr.open_ipc_handle("abc", self.context)
        with self.assertRaisesRegex(TypeError, "a GstVkgdr.Context is needed"):
            GstVkgdr.open_ipc_handle(handle, self.allocator)
        with self.assertRaisesRegex(TypeError, "Gst.Memory is needed"):
            GstVkgdr.get_ipc_handle(self.context)

    def test_what_cannot_be_exported(self) -> None:
        inner, error = self.allocator.alloc(4096), GstVkgdr.Error.ARGUMENT
        wrapped = self.allocator.alloc_wrapped(
            GstVkgdr.memory_get_device_pointer(inner), 4096, Gst.MemoryFlags(0)
        )
        self.assert_error("has no file descriptor", error, GstVkgdr.memory_export_fd, wrapped)
        self.assert_error("inside an allocation of 10 bytes", error, self.allocator.import_fd, 0, 10, 5, 6)
        self.assert_error("not an open file descriptor", error, self.allocator.import_fd, 9999, 10, 0, 6)

    def test_ordinary_memory(self) -> None:
        """Functions that need device memory raise an error for other memory, and have
        no other effect.
        """
        ordinary, count = Gst.Allocator.find(None).alloc(100, None), 0
        for name in dir(GstVkgdr):
            if not name.startswith("memory_") or "dlpack" in name:
                continue
            with self.subTest(name=name):
                function = getattr(GstVkgdr, name)
                with self.assertRaisesRegex(TypeError, "the memory is not device memory"):
                    function(ordinary)
                with self.assertRaisesRegex(TypeError, "a Gst.Memory is needed, not int"):
                    function(5)
                count += 1
        self.assertGreater(count, 15)
        memory = self.allocator.alloc(100)
        with self.assertRaisesRegex(TypeError, "the memory is not device memory"):
            GstVkgdr.memory_copy_from(memory, 0, ordinary, 0, 10, GstVkgdr.Stream(self.context))
        with self.assertRaisesRegex(TypeError, "the memory is not device memory"):
            GstVkgdr.memory_get_context(memory=ordinary)
        self.assertIs(GstVkgdr.memory_get_context(memory=memory), self.context)
        self.assertIn("The `CUdeviceptr` of", GstVkgdr.memory_get_device_pointer.__doc__)

    def test_there_and_back(self) -> None:
        memory = self.allocator.alloc(1000)
        data = support.pattern(1000)
        GstVkgdr.upload(memory, data)
        self.assertEqual(GstVkgdr.download(memory), data)
        GstVkgdr.upload(memory, b"abc", offset=10)
        self.assertEqual(GstVkgdr.download(memory, offset=8)[:6], data[8:10] + b"abc" + data[13:14])
        out = bytearray(3)
        self.assertIs(GstVkgdr.download(memory, out, offset=10), out)
        self.assertEqual(out, b"abc")
        GstVkgdr.upload(memory, b"")
        GstVkgdr.upload(memory, (ctypes.c_ubyte * 4)(9, 9, 9, 9))
        self.assertEqual(GstVkgdr.download(memory)[:4], b"\11" * 4)

    def test_wrapped_memory(self) -> None:
        """The source is memory of another owner, which is notified when the memory is
        free.
        """
        gone = []
        inner = self.allocator.alloc(4096)
        address = GstVkgdr.memory_get_device_pointer(inner)
        memory = self.allocator.alloc_wrapped(
            address, 4096, Gst.MemoryFlags(0), lambda: gone.append(1)
        )
        data = support.pattern(4096)
        GstVkgdr.upload(memory, data)
        self.assertEqual(GstVkgdr.download(memory), data)
        self.assertEqual(GstVkgdr.download(inner), data)
        self.assertFalse(GstVkgdr.memory_get_host_pointer(memory))
        del memory
        self.wait_until(lambda: bool(gone))

    def test_between_memories(self) -> None:
        data = support.pattern(100)
        source, dest = self.new_memory(data), self.new_memory(bytes(100))
        GstVkgdr.copy(dest, source)
        self.assertEqual(GstVkgdr.download(dest), data)
        GstVkgdr.copy(dest, source, size=10, dest_offset=50, source_offset=20)
        self.assertEqual(GstVkgdr.download(dest), data[:50] + data[20:30] + data[60:])

    def test_between_contexts(self) -> None:
        other = GstVkgdr.Context(0)
        data = support.pattern(64)
        dest = other.get_allocator().alloc(64)
        GstVkgdr.copy(dest, self.new_memory(data))
        self.assertEqual(GstVkgdr.download(dest), data)

    def test_two_cuda_contexts(self) -> None:
        handle = ctypes.c_void_p()
        self.assertEqual(support.driver.cuCtxCreate_v2(ctypes.byref(handle), 0, 0), 0)
        other = GstVkgdr.Context.new_from_current()
        support.driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
        data = support.pattern(60)
        source = self.new_memory(data)
        dest = other.get_allocator().alloc(60)
        GstVkgdr.copy(dest, source)
        self.assertEqual(GstVkgdr.download(dest), data)
        stream = GstVkgdr.Stream(other)
        GstVkgdr.memory_copy_rect(dest, 0, 20, source, 2, 20, 10, 3, stream)
        stream.synchronize()
        expected = b"".join(data[2 + y : 12 + y] + data[10 + y : 20 + y] for y in (0, 20, 40))
        self.assertEqual(GstVkgdr.download(dest), expected)

    def test_on_a_stream(self) -> None:
        """The order is kept although the CPU does not wait."""
        one, other = GstVkgdr.Stream(self.context), GstVkgdr.Stream(self.context)
        memory, copy = self.allocator.alloc(4), self.allocator.alloc(4)
        gate = Gate(self, memory, one)
        GstVkgdr.copy(copy, memory, stream=other)
        self.assertFalse(other.is_done())
        gate.open()
        self.assertEqual(struct.unpack("i", GstVkgdr.download(copy))[0], 20_000_000)

    def test_data_is_kept(self) -> None:
        stream = GstVkgdr.Stream(self.context)
        memory = self.allocator.alloc(1 << 16)
        for i in range(5):
            GstVkgdr.upload(memory, bytes([i]) * (1 << 16), stream=stream)
        self.assertEqual(set(GstVkgdr.download(memory)), {4})

    def test_rows(self) -> None:
        data = support.pattern(30)
        memory = self.new_memory(bytes(64))
        view = memoryview(data).cast("B", (3, 10))
        GstVkgdr.upload(memory, view, offset=4, pitch=20)
        expected = bytearray(64)
        for y in range(3):
            expected[4 + 20 * y : 14 + 20 * y] = data[10 * y : 10 * y + 10]
        self.assertEqual(GstVkgdr.download(memory), bytes(expected))
        out = bytearray(30)
        GstVkgdr.download(memory, memoryview(out).cast("B", (3, 10)), offset=4, pitch=20)
        self.assertEqual(out, data)

    @unittest.skipIf(np is None, "numpy is missing")
    def test_arrays(self) -> None:
        array = np.arange(64, dtype=np.int32).reshape(8, 8)
        memory = self.allocator.alloc(array.nbytes)
        GstVkgdr.upload(memory, array)
        out = np.zeros_like(array)
        GstVkgdr.download(memory, out)
        np.testing.assert_array_equal(out, array)
        # Both sides have gaps between rows.
        GstVkgdr.fill(memory, 0)
        GstVkgdr.upload(memory, array[:, 2:4], pitch=16)
        out = np.full((8, 5), -1, np.int32)
        GstVkgdr.download(memory, out[:, 1:3], pitch=16)
        np.testing.assert_array_equal(out[:, 1:3], array[:, 2:4])
        self.assertEqual(set(out[:, 0]) | set(out[:, 3]), {-1})
        with self.assertRaisesRegex(ValueError, "not contiguous"):
            GstVkgdr.upload(memory, array[:, 2:4])
        with self.assertRaisesRegex(ValueError, "not contiguous"):
            GstVkgdr.upload(memory, array[:, ::2], pitch=16)
        with self.assertRaisesRegex(ValueError, "backwards"):
            GstVkgdr.upload(memory, array[::-1], pitch=32)
        out.flags.writeable = False
        with self.assertRaisesRegex(TypeError, "not writable host memory"):
            GstVkgdr.download(memory, out)

    @unittest.skipIf(np is None, "numpy is missing")
    def test_pinned(self) -> None:
        array = GstVkgdr.pagelocked_empty((4, 8), np.float32, self.context)
        self.assertEqual((array.shape, array.dtype), ((4, 8), np.float32))
        array[:] = 2.5
        memory = self.allocator.alloc(array.nbytes)
        stream = GstVkgdr.Stream(self.context)
        GstVkgdr.upload(memory, array, stream=stream)
        back = GstVkgdr.pagelocked_empty(32, "f4", self.context)
        GstVkgdr.download(memory, back, stream=stream)
        stream.synchronize()
        self.assertEqual(set(back), {2.5})
        for bad in ((0, 4), -1):
            with self.assertRaises(ValueError):
                GstVkgdr.pagelocked_empty(bad, np.uint8)
        with self.assertRaises(ValueError):
            GstVkgdr.pagelocked_empty(4, object)

    def test_an_offset_behind_the_end(self) -> None:
        memory, other = self.allocator.alloc(64), self.allocator.alloc(64)
        for call in (
            lambda: GstVkgdr.fill(memory, 2, offset=65),
            lambda: GstVkgdr.copy(other, memory, source_offset=65),
            lambda: GstVkgdr.download(memory, offset=65),
        ):
            with self.assertRaisesRegex(ValueError, "the memory has 64 bytes"):
                call()

    def test_fill(self) -> None:
        memory = self.new_memory(bytes(32))
        GstVkgdr.fill(memory, 7)
        self.assertEqual(GstVkgdr.download(memory), b"\7" * 32)
        GstVkgdr.fill(memory, 0x1234, 2, count=3, offset=4)
        expected = b"\7" * 4 + struct.pack("3H", *[0x1234] * 3) + b"\7" * 22
        self.assertEqual(GstVkgdr.download(memory), expected)
        GstVkgdr.fill(memory, 0xDEADBEEF, 4)
        self.assertEqual(GstVkgdr.download(memory), struct.pack("8I", *[0xDEADBEEF] * 8))
        stream = GstVkgdr.Stream(self.context)
        GstVkgdr.memory_fill(memory, 1, 8, 2, 4, 0, 1, stream)
        self.assertEqual(GstVkgdr.download(memory)[:8], b"\xef\0\0\xde\xef\xbe\xad\xde")

    def test_bad_ranges(self) -> None:
        memory, error = self.new_memory(bytes(16)), GstVkgdr.Error.ARGUMENT
        host = bytearray(17)
        self.assert_error("exceed a memory of 16", error, GstVkgdr.upload, memory, host)
        self.assert_error("exceed a memory of 16", error, GstVkgdr.download, memory, host)
        self.assert_error("exceed a memory of 16", error, GstVkgdr.copy, memory, memory, 17)
        self.assert_error("exceed a memory of 16", error, GstVkgdr.fill, memory, 0, count=17)
        self.assert_error("exceed a memory of 16", error, GstVkgdr.upload, memory,
                          memoryview(host)[:16].cast("B", (4, 4)), pitch=5)
        self.assert_error("of 3 bytes is smaller than a row of 4", error, GstVkgdr.upload, memory,
                          memoryview(host)[:16].cast("B", (4, 4)), pitch=3)
        self.assert_error("does not fit in 1 bytes", error, GstVkgdr.fill, memory, 256)
        self.assert_error("multiples of the value", error, GstVkgdr.fill, memory, 0, 4, offset=2,
                          count=1)
        self.assert_error("has 1, 2, 4 or 8", error, GstVkgdr.fill, memory, 0, 3, count=1)

    def test_bad_arguments(self) -> None:
        memory = self.new_memory(bytes(16))
        for call in (
            lambda: GstVkgdr.upload(memory, 3),
            lambda: GstVkgdr.upload("memory", b"x"),
            lambda: GstVkgdr.upload(foreign_memory(), b"x"),
            lambda: GstVkgdr.download(memory, b"read-only"),
        ):
            with self.assertRaises(TypeError):
                call()
        for call in (
            lambda: GstVkgdr.upload(memory, b"x", offset=-1),
            lambda: GstVkgdr.download(memory, offset=17),
            lambda: GstVkgdr.download(memory, stream=1),
            lambda: GstVkgdr.fill(memory, -1),
            lambda: GstVkgdr.copy(memory, memory, size=-1),
        ):
            with self.assertRaises(ValueError):
                call()
        with gst_support.other_cuda_context() as other:
            self.assert_error("another CUDA context", GstVkgdr.Error.ARGUMENT,
                              GstVkgdr.memory_fill, memory, 0, 1, 1, 1, 0, 1,
                              GstVkgdr.Stream(other))

    def test_kept_until_the_end_of_the_interpreter(self) -> None:
        result = support.run_python(
            "import gst_support\n"
            "from gi.overrides import _gstvkgdr_host\n"
            "_gstvkgdr_host.kept = _gstvkgdr_host.HostMemory(b'abc')"
        )
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_a_driver_that_fails(self) -> None:
        result = support.run_python("""
import os
os.environ["SOFTCUDA_FAIL"] = "cuMemsetD2D32Async:1:2,cuMemcpy2DAsync:1"
import gst_support
from gi.repository import GLib, GstVkgdr
context = GstVkgdr.Context(0)
if context.is_software():
    memory = context.get_allocator().alloc(64)
    for call in (lambda: GstVkgdr.fill(memory, 1, 4),
                 lambda: GstVkgdr.upload(memory, memoryview(bytes(16)).cast("B", (4, 4)), pitch=8)):
        try:
            call()
            print("no error")
        except GLib.Error as error:
            print(error.message)
    GstVkgdr.fill(memory, 1, 4)
    print(GstVkgdr.download(memory)[:4])
else:
    print("CUDA_ERROR_OUT_OF_MEMORY CUDA_ERROR_UNKNOWN b'\\\\x01\\\\x00\\\\x00\\\\x00'")
""")
        self.assertEqual(result.returncode, 0, result.stdout)
        for text in ("CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_UNKNOWN", r"b'\x01\x00\x00\x00'"):
            self.assertIn(text, result.stdout)


class Modules(CudaTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.module = GstVkgdr.SourceModule(SOURCE, self.context)

    def test_options(self) -> None:
        source = "__global__ void value (int *x) { *x = VALUE; }"
        memory = self.allocator.alloc(4)
        for options in (["-DVALUE=7"], ("-D", "VALUE=7"), "-DVALUE=7 -DOTHER='a b'"):
            module = GstVkgdr.SourceModule(source, self.context, options=options)
            module.get_function("value")(memory, block=1)
            self.assertEqual(struct.unpack("i", GstVkgdr.download(memory)), (7,))
            GstVkgdr.fill(memory, 0)
        with self.assertRaisesRegex(GstVkgdr.CompileError, "VALUE"):
            GstVkgdr.SourceModule(source, self.context)
        with self.assertRaisesRegex(GstVkgdr.LogicError, "no-such-option"):
            GstVkgdr.SourceModule(source, self.context, options=["--no-such-option"])
        for bad in ({"options": [3]}, {"include_dirs": "/usr/include"}, {"include_dirs": [3]}):
            with self.assertRaises(TypeError):
                GstVkgdr.SourceModule(source, self.context, **bad)

    def test_folders_of_headers(self) -> None:
        source = '#include "value.h"\n__global__ void value (int *x) { *x = VALUE; }'
        memory = self.allocator.alloc(4)
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "value.h").write_text("#define VALUE 8\n", encoding="utf-8")
            for folders in ([folder], (pathlib.Path(folder),)):
                module = GstVkgdr.SourceModule(source, self.context, include_dirs=folders)
                module.get_function("value")(memory, block=1)
                self.assertEqual(struct.unpack("i", GstVkgdr.download(memory)), (8,))
                GstVkgdr.fill(memory, 0)
        with self.assertRaisesRegex(GstVkgdr.CompileError, "value.h"):
            GstVkgdr.SourceModule(source, self.context, label="another")

    def test_functions(self) -> None:
        names = self.module.list_functions()
        self.assertEqual(
            set(names), {"scale", "mixed", "structure", "slow", "hold", "shape", "nothing"}
        )
        scale = self.module.get_function("scale")
        self.assertEqual(scale.get_entry(), "scale")
        self.assertIs(scale.get_module(), self.module)
        self.assertEqual(list(scale.get_param_sizes()), [8, 4, 4])
        self.assertEqual(list(scale.get_param_offsets()), [0, 8, 12])
        self.assertTrue(scale.has_param_info())

    def test_launch(self) -> None:
        memory = self.new_memory(struct.pack("8f", *range(8)))
        scale = self.module.get_function("scale")
        self.assertIsNone(scale(memory, 2.0, 8, block=(4, 1, 1), grid=(2, 1)))
        self.assertEqual(self.floats(memory, 8), tuple(6.0 * i + 1 for i in range(8)))

    def test_arguments_of_all_widths(self) -> None:
        out = self.allocator.alloc(40)
        mixed = self.module.get_function("mixed")
        mixed(-3, 300, 2.5, 100, -(1 << 40), out, block=1)
        self.assertEqual(struct.unpack("5d", GstVkgdr.download(out)),
                         (-3, 300, 2.5, 100, -(1 << 40)))
        mixed(ctypes.c_byte(1), ctypes.c_short(2), ctypes.c_double(3), ctypes.c_byte(4),
              ctypes.c_longlong(5), out, block=1)
        self.assertEqual(struct.unpack("5d", GstVkgdr.download(out)), (1, 2, 3, 4, 5))

    def test_structures(self) -> None:
        out = self.allocator.alloc(8)
        self.module.get_function("structure")(struct.pack("if", 3, 0.25), out, block=1)
        self.assertEqual(struct.unpack("d", GstVkgdr.download(out)), (3.25,))

    def test_grid_block_and_shared(self) -> None:
        out = self.new_memory(bytes(24 * 4))
        self.module.get_function("shape")(out, grid=(2, 3, 4), block=(2, 3, 4), shared=64)
        found = struct.unpack("24i", GstVkgdr.download(out))
        self.assertEqual(set(found), {7 + 100 * (2 + 30 + 400)})

    @unittest.skipIf(np is None, "numpy is missing")
    def test_numpy(self) -> None:
        scale = self.module.get_function("scale")
        array = np.arange(8, dtype=np.float32)
        scale(GstVkgdr.InOut(array), np.float32(1), np.int32(8), block=8)
        np.testing.assert_array_equal(array, np.arange(8) * 3 + 1)
        memory = self.allocator.alloc(32)
        GstVkgdr.upload(memory, array)
        with GstVkgdr.device_array(memory, flags=READ | WRITE) as view:
            scale(view, np.float32(0), np.int32(8), block=8)
        self.assertEqual(self.floats(memory, 8), (1.0,) * 8)
        out = np.zeros(1, np.int32)
        self.module.get_function("slow")(GstVkgdr.Out(out), np.int32(5), block=1)
        self.assertEqual(out[0], 5)

    def test_globals(self) -> None:
        pointer, size = self.module.get_global("gain")
        self.assertEqual(size, 4)
        self.assertEqual(self.module.get_global("offsets")[1], 16)
        support.write_device(pointer, struct.pack("f", 10))
        memory = self.new_memory(struct.pack("f", 1))
        self.module.get_function("scale")(memory, 1.0, 1, block=1)
        self.assertEqual(self.floats(memory, 1), (11.0,))
        self.assert_error("no variable named \"loss\"", GstVkgdr.Error.NOT_FOUND,
                          self.module.get_global, "loss")

    def test_order_is_kept_between_streams(self) -> None:
        scale = self.module.get_function("scale")
        streams = [GstVkgdr.Stream(self.context) for _ in range(3)]
        memory = self.new_memory(struct.pack("f", 0))
        value = 0.0
        for i in range(60):
            scale(memory, 0.25, 1, block=1, stream=streams[i % 3])
            value = value * 0.75 + 1
        self.assertAlmostEqual(self.floats(memory, 1)[0], value, places=5)

    def test_prepared(self) -> None:
        scale = self.module.get_function("scale").prepare("Pfi")
        memory = self.new_memory(struct.pack("f", 1))
        stream = GstVkgdr.Stream(self.context)
        scale.prepared_call((1, 1), (1, 1, 1), memory, 1.0, 1)
        scale.prepared_async_call((1, 1), (1, 1, 1), stream, memory, 1.0, 1)
        seconds = scale.prepared_timed_call((1, 1), (1, 1, 1), memory, 1.0, 1)()
        self.assertGreaterEqual(seconds, 0)
        self.assertEqual(self.floats(memory, 1), (40.0,))
        with self.assertRaisesRegex(TypeError, r"have \[8, 4, 4\] bytes"):
            scale.prepare("Pdi")
        with self.assertRaisesRegex(ValueError, "'Z' is not a type"):
            scale.prepare("Z")

    def test_attributes_and_occupancy(self) -> None:
        scale = self.module.get_function("scale")
        most = scale.get_attribute("max-threads-per-block")
        self.assertGreaterEqual(most, 256)
        self.assertGreaterEqual(scale.num_regs, 0)
        self.assertGreaterEqual(scale.shared_size_bytes + scale.local_size_bytes, 0)
        scale.set_attribute("MAX_DYNAMIC_SHARED_SIZE_BYTES", 32768)
        good = scale.get_good_block_size(0)
        self.assertTrue(0 < good <= most)
        self.assertGreaterEqual(scale.get_max_blocks(good, 0), 1)
        self.assertTrue(0 < scale.occupancy(good) <= 1)
        self.assert_error("no function attribute named \"size\"", GstVkgdr.Error.NOT_FOUND,
                          scale.get_attribute, "size")
        self.assert_error("cuFuncSetAttribute", GstVkgdr.Error.FAILED,
                          scale.set_attribute, "num-regs", 3)

    def test_timed(self) -> None:
        memory = self.allocator.alloc(4)
        slow = self.module.get_function("slow")
        self.assertGreater(slow(memory, 2_000_000, block=1, time_kernel=True), 1e-5)

    def test_bad_launches(self) -> None:
        scale, error = self.module.get_function("scale"), GstVkgdr.Error.ARGUMENT
        memory = self.new_memory(bytes(32))
        for pattern, args in (
            ("takes 3 arguments, not 1", (memory,)),
            ("argument 2 .* a str cannot be an argument", (memory, "x", 1)),
            ("argument 3 .*1.5 cannot be a parameter|argument 2", (memory, b"123", 1)),
            ("argument 1 .* has 4 bytes, and the parameter 8", (ctypes.c_int(1), 1.0, 1)),
        ):
            with self.assertRaisesRegex(TypeError, pattern):
                scale(*args, block=1)
        with self.assertRaisesRegex(OverflowError, "does not fit 4 bytes"):
            scale(memory, 1.0, 1 << 40, block=1)
        with self.assertRaisesRegex(TypeError, "not device memory"):
            scale(foreign_memory(), 1.0, 1, block=1)
        for shape in ({}, {"block": 0}, {"block": (1, 1, 1, 1)}, {"block": 1, "grid": ()}):
            with self.assertRaises(ValueError):
                scale(memory, 1.0, 1, **shape)
        self.assert_error("2048x1x1 threads is too large", error,
                          scale, memory, 1.0, 1, block=2048)
        with gst_support.other_cuda_context() as other:
            with self.assertRaisesRegex(ValueError, "another CUDA context"):
                scale(memory, 1.0, 1, block=1, stream=GstVkgdr.Stream(other))
        self.assert_error("have 16 bytes together, and 3 are given", error, scale.launch,
                          GstVkgdr.Stream(self.context), 1, 1, 1, 1, 1, 1, 0, b"abc")
        # nothing has changed the memory
        self.assertEqual(GstVkgdr.download(memory), bytes(32))

    def test_all_accesses_end(self) -> None:
        memories = [self.new_memory(bytes(4)) for _ in range(3)]
        ended = []

        def end_access(memory: Gst.Memory, *args: Any) -> None:
            ended.append(memory)
            if len(ended) < 3:
                raise ValueError(f"failure {len(ended)}")

        add = GstVkgdr.SourceModule(
            "__global__ void add (int *a, int *b, int *c) { *c = *a + *b; }", self.context
        ).get_function("add")
        with unittest.mock.patch.object(code.GstVkgdr, "memory_end_access", end_access):
            with self.assertRaisesRegex(ValueError, "failure 1"):
                add(*memories, block=1)
        self.assertEqual(ended, memories)

    def test_bad_sources(self) -> None:
        errors = GstVkgdr.Error
        self.assert_error("mine does not compile", errors.COMPILE,
                          GstVkgdr.SourceModule, "nonsense", self.context, "mine")
        self.assert_error("no kernel named \"no\"; it has: .*scale", errors.NOT_FOUND,
                          self.module.get_function, "no")
        self.assert_error("has several kernels", errors.NOT_FOUND, self.module.get_function, None)
        self.assert_error("cannot be loaded", errors.IMAGE, GstVkgdr.Module.new_from_image,
                          self.context, GLib.Bytes.new(b"\x7fELF nonsense"), None)
        self.assert_error("No such file", errors.NOT_FOUND, GstVkgdr.Module.new_from_file,
                          self.context, "/no/such/file")
        for call in (GstVkgdr.Module, GstVkgdr.Function):
            with self.assertRaises(TypeError):
                call()
        with self.assertRaisesRegex(TypeError, "a source is a str"):
            GstVkgdr.SourceModule(b"bytes", self.context)


class ArraysOnStreams(CudaTestCase):
    def test_the_cpu_does_not_wait(self) -> None:
        one, other = GstVkgdr.Stream(self.context), GstVkgdr.Stream(self.context)
        memory = self.allocator.alloc(4)
        gate = Gate(self, memory, one)
        array = GstVkgdr.device_array(memory, stream=other)
        self.assertFalse(one.is_done())
        self.assertIs(array.stream, other)
        self.assertEqual(array.__cuda_array_interface__["stream"], other.handle)
        gate.open()
        other.synchronize()
        self.assertTrue(one.is_done())

    def test_the_next_user_waits_for_the_consumer(self) -> None:
        """The next user waits for the work of a stream that was declared by use_on()."""
        ours, consumer = GstVkgdr.Stream(self.context), GstVkgdr.Stream(self.context)
        memory = self.allocator.alloc(4)
        GstVkgdr.fill(memory, 0)
        array = GstVkgdr.device_array(memory, flags=READ | WRITE, stream=ours)
        array.use_on(consumer)
        gate = Gate(self, array, consumer)
        array.close()
        self.assertFalse(ours.is_done())
        gate.open()
        self.assertEqual(struct.unpack("i", GstVkgdr.download(memory)), (20_000_000,))

    def test_dlpack_orders_the_stream_it_is_given(self) -> None:
        one, ours, consumer = (GstVkgdr.Stream(self.context) for _ in range(3))
        memory = self.allocator.alloc(4)
        gate = Gate(self, memory, one)
        array = GstVkgdr.device_array(memory, stream=ours)
        capsule = array.__dlpack__(stream=consumer.handle)
        self.assertFalse(consumer.is_done())
        free = GstVkgdr.Stream(self.context)
        array.__dlpack__(stream=-1)
        self.assertTrue(free.is_done())
        gate.open()
        consumer.synchronize()
        self.assertTrue(one.is_done())
        del capsule
        array.__dlpack__()

    def test_a_stream_that_is_gone_is_not_touched(self) -> None:
        """A consumer passes a stream as a number, and destroys it before the array is
        freed.
        """
        ours, consumer = GstVkgdr.Stream(self.context), GstVkgdr.Stream(self.context)
        memory = self.allocator.alloc(4)
        GstVkgdr.fill(memory, 0)
        array = GstVkgdr.device_array(memory, flags=READ | WRITE, stream=ours)
        capsule = array.__dlpack__(stream=consumer.handle)
        consumer.synchronize()
        del consumer, capsule
        gc.collect()
        gate = Gate(self, self.allocator.alloc(4), GstVkgdr.Stream(self.context))
        array.close()
        self.assertFalse(GstVkgdr.memory_is_idle(memory), "the whole context counts")
        gate.open()
        self.assertEqual(GstVkgdr.download(memory), bytes(4))
        self.assertTrue(GstVkgdr.memory_is_idle(memory))

    def test_the_own_stream_by_its_number(self) -> None:
        """A consumer may pass the number of the array's own stream. Then nothing waits
        for the whole context.
        """
        ours = GstVkgdr.Stream(self.context)
        memory = self.allocator.alloc(4)
        GstVkgdr.fill(memory, 0)
        array = GstVkgdr.device_array(memory, flags=READ | WRITE, stream=ours)
        array.__dlpack__(stream=ours.handle)
        gate = Gate(self, self.allocator.alloc(4), GstVkgdr.Stream(self.context))
        array.close()
        ours.synchronize()
        self.assertTrue(GstVkgdr.memory_is_idle(memory))
        gate.open()

    def test_the_stream_of_a_library_is_kept(self) -> None:
        class Theirs:
            def __init__(self, stream: GstVkgdr.Stream) -> None:
                self.ptr = stream.handle
                self.stream = stream

        theirs = Theirs(GstVkgdr.Stream(self.context))
        gone = weakref.ref(theirs)
        memory = self.allocator.alloc(4)
        GstVkgdr.fill(memory, 0)
        array = GstVkgdr.device_array(memory, stream=GstVkgdr.Stream(self.context))
        array.use_on(theirs)
        del theirs
        gc.collect()
        self.assertIsNotNone(gone())
        array.close()
        gc.collect()
        self.assertIsNone(gone())

    def test_no_writer_beside_a_reader(self) -> None:
        memory = self.new_memory(bytes(4))
        stream = GstVkgdr.Stream(self.context)
        with GstVkgdr.device_array(memory, flags=READ, stream=stream):
            self.assert_writable(memory, False)
            self.assert_error("cannot be mapped", GstVkgdr.Error.ARGUMENT,
                              GstVkgdr.device_array, memory, flags=WRITE, stream=stream)
        self.assert_writable(memory, True)

    def test_the_buffer_is_kept(self) -> None:
        buffer = self.new_buffer(bytes(16))
        array = GstVkgdr.device_array(buffer, stream=GstVkgdr.Stream(self.context))
        del buffer
        self.assertEqual(array.nbytes, 16)
        array.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            array.use_on(1)

    def test_bad_arguments(self) -> None:
        memory = self.new_memory(bytes(4))
        with self.assertRaisesRegex(TypeError, "is neither a CUDA stream"):
            GstVkgdr.device_array(memory, stream="stream")
        with self.assertRaisesRegex(ValueError, "put vkgdrupload"):
            GstVkgdr.device_array(foreign_memory(), stream=1)
        with gst_support.other_cuda_context() as other:
            self.assert_error("another CUDA context", GstVkgdr.Error.ARGUMENT,
                              GstVkgdr.Mapping.new_on_stream, memory, None, READ,
                              GstVkgdr.Stream(other))


if __name__ == "__main__":
    support.main()
