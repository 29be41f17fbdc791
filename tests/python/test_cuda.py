# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of streams, of memory that is shared, and of arrays on streams, from Python."""

import gc
import os
import struct
import unittest
import weakref
from typing import Any

import gst_support
import support
from gst_support import READ, WRITE
from gi.repository import GLib, Gst, GstVkgdr

if not support.is_missing("numpy"):
    from vkgdr import compiler, driver

    driver.init()

SOURCE = """
__global__ void hold (volatile int *gate, int *x, int turns)
{
  while (*gate == 0)
    ;
  *x = turns;
}
"""


def foreign_memory() -> Gst.Memory:
    return Gst.Buffer.new_wrapped(b"four").peek_memory(0)


@unittest.skipIf(support.is_missing("numpy"), "numpy is missing")
class CudaTestCase(gst_support.DeviceTestCase):
    def assert_error(self, pattern: str, code: Any, call: Any, *args: Any, **kwargs: Any) -> None:
        """The call fails with an error of the library."""
        with self.assertRaisesRegex(GLib.Error, pattern) as caught:
            call(*args, **kwargs)
        self.assertTrue(
            caught.exception.matches(GstVkgdr.error_quark(), code), caught.exception
        )


class Gate:
    """A kernel that runs until open() is called. The cleanup of the test calls
    it at the latest.
    """

    def __init__(self, case: CudaTestCase, memory: Gst.Memory, stream: Any) -> None:
        self._stream = GstVkgdr.as_stream(case.context, stream)
        case.addCleanup(self.close)
        is_memory = isinstance(memory, Gst.Memory)
        with case.context:
            self._flag = driver.pagelocked_zeros(1, "i4")
            hold = compiler.SourceModule(SOURCE).get_function("hold").prepare("PPi")
            if is_memory:
                GstVkgdr.memory_begin_access(memory, self._stream, READ | WRITE)
            pointer = int(memory) if is_memory else memory.pointer
            hold.prepared_async_call(
                (1,), (1,), self._stream, self._flag.ctypes.data, pointer, 20_000_000)
            if is_memory:
                GstVkgdr.memory_end_access(memory, self._stream, READ | WRITE)
        self._hold = hold

    def open(self) -> None:
        self._flag[0] = 1

    def close(self) -> None:
        self.open()
        self._stream.synchronize()
        del self._hold  # unloads the module, which waits


class Streams(CudaTestCase):
    def test_a_fence_is_behind_the_work(self) -> None:
        stream = GstVkgdr.Stream(self.context)
        self.assertEqual(stream.__cuda_stream__(), (0, stream.handle))
        gate = Gate(self, self.allocator.alloc(4), stream)
        fence = stream.record()
        self.assertFalse(fence.is_signaled())
        gate.open()
        stream.synchronize()
        self.assertTrue(fence.is_signaled())

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
        with self.assertRaisesRegex(ValueError, "a CUstream is -1, and cannot be negative"):
            GstVkgdr.as_stream(self.context, -1)
        with gst_support.other_cuda_context() as other:
            with self.assertRaisesRegex(ValueError, "another CUDA context"):
                GstVkgdr.as_stream(other, GstVkgdr.Stream(self.context))
        with self.assertRaises(TypeError):
            GstVkgdr.Stream()

    def test_a_handle_that_is_none(self) -> None:
        if not self.context.is_software():
            self.skipTest("NVIDIA's driver takes any number for an address")
        self.assert_error("CUDA_ERROR_INVALID_HANDLE", GstVkgdr.Error.FAILED,
                          GstVkgdr.Stream, self.context, 12345)


class Shared(CudaTestCase):
    def test_another_process(self) -> None:
        """The import from a file descriptor has the same bytes."""
        data = support.pattern(5000)
        memory = self.allocator.alloc_exportable(len(data))
        with GstVkgdr.Mapping.new(memory, Gst.MapFlags.WRITE) as mapping:
            mapping.data[:] = data
        fd, description, offset = GstVkgdr.memory_export_fd(memory)
        try:
            os.set_inheritable(fd, True)
            code = f"""
import gst_support
from gi.repository import GLib, GstVkgdr
allocator = GstVkgdr.Context(0).get_allocator()
memory = allocator.import_fd({fd}, GLib.Bytes.new({description.get_data()!r}))
memory.resize({offset}, 5000)
print(gst_support.download(memory) == {data!r})
gst_support.upload(memory, bytes([9]) * 100)
"""
            result = support.run_python(code, close_fds=False)
            self.assertEqual((result.returncode, result.stdout), (0, "True\n"))
        finally:
            os.close(fd)
        self.assertEqual(gst_support.download(memory), b"\11" * 100 + data[100:])

    def test_what_cannot_be_exported(self) -> None:
        inner, error = self.allocator.alloc(4096), GstVkgdr.Error.ARGUMENT
        wrapped = self.allocator.alloc_wrapped(
            GstVkgdr.memory_get_device_pointer(inner), 4096, Gst.MemoryFlags(0)
        )
        self.assert_error("has no file descriptor", error, GstVkgdr.memory_export_fd, wrapped)
        self.assert_error("not a description", error, self.allocator.import_fd, 0, GLib.Bytes.new(b"6"))

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
            GstVkgdr.memory_copy_rect(
                memory, 0, 0, ordinary, 0, 0, 10, 1, GstVkgdr.Stream(self.context))
        with self.assertRaisesRegex(TypeError, "the memory is not device memory"):
            GstVkgdr.memory_get_context(memory=ordinary)
        self.assertIs(GstVkgdr.memory_get_context(memory=memory), self.context)

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
        gst_support.upload(memory, data)
        self.assertEqual(gst_support.download(memory), data)
        with self.context:
            # CUDA's copy does not wait for the upload, which is on a stream of its own.
            driver.Context.synchronize()
            self.assertEqual(driver.from_device(int(inner), 4096, "u1").tobytes(), data)
        self.assertFalse(GstVkgdr.memory_get_host_pointer(memory))
        del memory
        self.wait_until(lambda: bool(gone))


class ArraysOnStreams(CudaTestCase):
    def test_the_cpu_does_not_wait(self) -> None:
        one, other = GstVkgdr.Stream(self.context), GstVkgdr.Stream(self.context)
        memory = self.allocator.alloc(4)
        gate = Gate(self, memory, one)
        array = GstVkgdr.device_array(memory, stream=other)
        fence = one.record()
        self.assertFalse(fence.is_signaled())
        self.assertIs(array.stream, other)
        self.assertEqual(array.__cuda_array_interface__["stream"], other.handle)
        gate.open()
        other.synchronize()
        self.wait_until(fence.is_signaled)

    def test_the_next_user_waits_for_the_consumer(self) -> None:
        """The next user waits for the work of a stream that was declared by use_on()."""
        ours, consumer = GstVkgdr.Stream(self.context), GstVkgdr.Stream(self.context)
        memory = self.allocator.alloc(4)
        gst_support.upload(memory, bytes(4))
        array = GstVkgdr.device_array(memory, flags=READ | WRITE, stream=ours)
        array.use_on(consumer)
        gate = Gate(self, array, consumer)
        array.close()
        self.assertFalse(ours.record().is_signaled())
        gate.open()
        self.assertEqual(struct.unpack("i", gst_support.download(memory)), (20_000_000,))

    def test_dlpack_orders_the_stream_it_is_given(self) -> None:
        one, ours, consumer = (GstVkgdr.Stream(self.context) for _ in range(3))
        memory = self.allocator.alloc(4)
        gate = Gate(self, memory, one)
        fence = one.record()
        array = GstVkgdr.device_array(memory, stream=ours)
        capsule = array.__dlpack__(stream=consumer.handle)
        self.assertFalse(consumer.record().is_signaled())
        free = GstVkgdr.Stream(self.context)
        array.__dlpack__(stream=-1)
        free.synchronize()
        gate.open()
        consumer.synchronize()
        self.wait_until(fence.is_signaled)
        del capsule
        array.__dlpack__()

    def test_a_stream_that_is_gone_is_not_touched(self) -> None:
        """A consumer passes a stream as a number, and destroys it before the array is
        freed.
        """
        ours, consumer = GstVkgdr.Stream(self.context), GstVkgdr.Stream(self.context)
        memory = self.allocator.alloc(4)
        gst_support.upload(memory, bytes(4))
        array = GstVkgdr.device_array(memory, flags=READ | WRITE, stream=ours)
        capsule = array.__dlpack__(stream=consumer.handle)
        consumer.synchronize()
        del consumer, capsule
        gc.collect()
        gate = Gate(self, self.allocator.alloc(4), GstVkgdr.Stream(self.context))
        array.close()
        self.assertFalse(GstVkgdr.memory_is_idle(memory), "the whole context counts")
        gate.open()
        self.assertEqual(gst_support.download(memory), bytes(4))
        self.assertTrue(GstVkgdr.memory_is_idle(memory))

    def test_the_own_stream_by_its_number(self) -> None:
        """A consumer may pass the number of the array's own stream. Then nothing waits
        for the whole context.
        """
        ours = GstVkgdr.Stream(self.context)
        memory = self.allocator.alloc(4)
        gst_support.upload(memory, bytes(4))
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
        gst_support.upload(memory, bytes(4))
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
                              GstVkgdr.Mapping.new, memory, READ, None,
                              GstVkgdr.Stream(other))


class WithTheDriver(CudaTestCase):
    """vkgdr.driver works on the memory of this library."""

    def test_arrays_are_pointers(self) -> None:
        memory = self.new_memory(support.pattern(64))
        with self.context, GstVkgdr.device_array(memory, flags=READ | WRITE) as array:
            self.assertEqual(driver.from_device(array, 64, "u1").tobytes(), support.pattern(64))
            driver.memset_d8(array, 7, 32)
        self.assertEqual(gst_support.download(memory), b"\7" * 32 + support.pattern(64)[32:])

    def test_allocations_are_memory(self) -> None:
        with self.context:
            theirs = driver.mem_alloc(4096)
            driver.memset_d8(theirs, 7, 4096)
            address, gone = int(theirs), weakref.ref(theirs)
            memory = GstVkgdr.memory_from_dlpack(theirs, self.context)
            del theirs
        self.assertEqual((len(memory), int(memory)), (4096, address))
        self.assertEqual(gst_support.download(memory), b"\7" * 4096)
        del memory
        self.wait_until(lambda: gone() is None)

    def test_numpy_refuses_an_array_of_the_device(self) -> None:
        import numpy

        with GstVkgdr.device_array(self.new_memory(bytes(16))) as array:
            with self.assertRaisesRegex(TypeError, "is on the device"):
                numpy.asarray(array)


if __name__ == "__main__":
    support.main()
