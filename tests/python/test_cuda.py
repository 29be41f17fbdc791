# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of streams, of memory that is shared, and of arrays on streams, from Python."""

import gc
import os
import struct
import weakref
from typing import Any

import gst_support
import support
from gst_support import READ, WRITE, DeviceTestCase
from gi.repository import GLib, Gst, GstVkgdr
from vkgdr import compiler, driver


SOURCE = """
__global__ void hold (volatile int *gate, int *x, int turns)
{
  while (*gate == 0)
    ;
  *x = turns;
}
"""


class Gate:
    """A kernel that runs until open() is called. The cleanup of the test calls
    it at the latest.
    """

    def __init__(self, case: DeviceTestCase, target: Any, stream: GstVkgdr.Stream) -> None:
        case.addCleanup(self.close)
        self._stream = stream
        array = target
        if isinstance(target, Gst.Memory):
            array = GstVkgdr.device_array(target, None, READ | WRITE, stream)
        with case.context:
            self._flag = driver.pagelocked_zeros(1, "i4")
            self._hold = compiler.SourceModule(SOURCE).get_function("hold").prepare("PPi")
            self._hold.prepared_async_call(
                (1,), (1,), stream, self._flag.ctypes.data, array.pointer, 20_000_000)
        if isinstance(target, Gst.Memory):
            array.close()

    def open(self) -> None:
        self._flag[0] = 1

    def close(self) -> None:
        self.open()
        self._stream.synchronize()
        del self._hold  # unloads the module, which waits


class Streams(DeviceTestCase):
    def test_streams_of_others(self) -> None:
        stream = GstVkgdr.Stream(GstVkgdr.Context(0))
        self.assertEqual(stream.__cuda_stream__(), (0, stream.handle))
        others = [type("Other", (), {name: stream.handle})()
                  for name in ("cuda_stream", "ptr", "handle")]
        others.append(type("Other", (), {"__cuda_stream__": lambda self: (0, stream.handle)})())
        for other in others:
            self.assertEqual(
                GstVkgdr.as_stream(self.context, other).handle, stream.handle, other
            )
        self.assertIs(GstVkgdr.as_stream(self.context, stream), stream)

    def test_no_streams(self) -> None:
        as_stream, memory = GstVkgdr.as_stream, self.new_memory(bytes(4))
        own, other = GstVkgdr.Stream(self.context), gst_support.other_cuda_context()
        foreign = Gst.Buffer.new_wrapped(b"four").peek_memory(0)
        self.assert_raise(
            *((TypeError, "is neither a CUDA stream", as_stream, self.context, bad)
              for bad in ("stream", None, 1.5, True)),
            (TypeError, "is neither a CUDA stream",
             lambda: GstVkgdr.device_array(memory, stream="stream")),
            (ValueError, "a CUstream is -1, and cannot be negative", as_stream, self.context, -1),
            (ValueError, "another CUDA context", as_stream, other, own),
            (GstVkgdr.LogicError, "another CUDA context", GstVkgdr.Mapping.new, memory, READ, None,
             GstVkgdr.Stream(other)),
            (ValueError, "put vkgdrupload", lambda: GstVkgdr.device_array(foreign, stream=1)),
            (TypeError, "", GstVkgdr.Stream),
            # NVIDIA's driver takes any number for an address.
            *([(GLib.Error, "CUDA_ERROR_INVALID_HANDLE", GstVkgdr.Stream, self.context, 12345)]
              if self.context.is_software() else []),
        )


class Memory(DeviceTestCase):
    def upload_and_wait(self, memory: Gst.Memory, data: bytes) -> None:
        """Another memory does not wait for this one, though its bytes are the same."""
        with GstVkgdr.Mapping.new(memory, READ | WRITE) as mapping:
            mapping.data[: len(data)] = data
        with self.context:
            driver.Context.synchronize()

    def test_file_descriptors(self) -> None:
        """The memory that is made from a file descriptor has the same bytes."""
        data = support.pattern(5000)
        memory = self.allocator.alloc_exportable(len(data))
        self.upload_and_wait(memory, data)
        fd, description, offset = GstVkgdr.memory_export_fd(memory)
        self.addCleanup(os.close, fd)
        imported = self.allocator.import_fd(fd, description)
        imported.resize(offset, len(data))
        self.assertEqual(gst_support.download(imported), data)
        self.upload_and_wait(imported, bytes([9]) * 100)
        self.assertEqual(gst_support.download(memory), b"\11" * 100 + data[100:])

    def test_ordinary_memory(self) -> None:
        """Functions that need device memory raise an error for other memory, and have
        no other effect.
        """
        memory, ordinary = self.allocator.alloc(100), Gst.Allocator.find(None).alloc(100, None)
        functions = [getattr(GstVkgdr, name) for name in dir(GstVkgdr)
                     if name.startswith("memory_") and "dlpack" not in name]
        self.assertGreater(len(functions), 15)
        text = "the memory is not device memory"
        self.assert_raise(
            *((TypeError, text, function, ordinary) for function in functions),
            *((TypeError, "", function, 5) for function in functions),
            (TypeError, text, GstVkgdr.memory_copy_rect, memory, 0, 0, ordinary, 0, 0, 10, 1,
             GstVkgdr.Stream(self.context)),
            (TypeError, text, lambda: GstVkgdr.memory_get_context(memory=ordinary)),
        )


class ArraysOnStreams(DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.memory = self.new_memory(bytes(4))
        self.ours, self.other = (GstVkgdr.Stream(self.context) for _ in range(2))

    def array(self, flags: Gst.MapFlags = READ | WRITE) -> GstVkgdr.DeviceArray:
        return GstVkgdr.device_array(self.memory, None, flags, self.ours)

    def gate(self) -> Gate:
        """Holds a stream that has nothing to do with the arrays."""
        return Gate(self, self.allocator.alloc(4), GstVkgdr.Stream(self.context))

    def test_the_cpu_does_not_wait(self) -> None:
        gate = Gate(self, self.memory, self.other)
        array = self.array()
        fence = self.other.record()
        self.assertFalse(fence.is_signaled())
        self.assertIs(array.stream, self.ours)
        self.assertEqual(array.__cuda_array_interface__["stream"], self.ours.handle)
        gate.open()
        self.ours.synchronize()
        self.wait_until(fence.is_signaled)

    def test_the_next_user_waits_for_the_consumer(self) -> None:
        """The next user waits for the work of a stream that was declared by use_on()."""
        array = self.array()
        array.use_on(self.other)
        gate = Gate(self, array, self.other)
        array.close()
        self.assertFalse(self.ours.record().is_signaled())
        gate.open()
        self.assertEqual(struct.unpack("i", gst_support.download(self.memory)), (20_000_000,))

    def test_dlpack_orders_the_stream_it_is_given(self) -> None:
        one, consumer, free = (GstVkgdr.Stream(self.context) for _ in range(3))
        gate = Gate(self, self.memory, one)
        fence = one.record()
        array = self.array(READ)
        capsule = array.__dlpack__(stream=consumer.handle)
        self.assertFalse(consumer.record().is_signaled())
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
        array = self.array()
        array.__dlpack__(stream=self.other.handle)
        self.other.synchronize()
        del self.other
        gc.collect()
        gate = self.gate()
        array.close()
        self.assertFalse(GstVkgdr.memory_is_idle(self.memory), "the whole context counts")
        gate.open()
        self.assertEqual(gst_support.download(self.memory), bytes(4))
        self.assertTrue(GstVkgdr.memory_is_idle(self.memory))

    def test_the_own_stream_by_its_number(self) -> None:
        """A consumer may pass the number of the array's own stream. Then nothing waits
        for the whole context.
        """
        array = self.array()
        array.__dlpack__(stream=self.ours.handle)
        gate = self.gate()
        array.close()
        self.ours.synchronize()
        self.assertTrue(GstVkgdr.memory_is_idle(self.memory))
        gate.open()

    def test_the_stream_of_a_library_is_kept(self) -> None:
        class Theirs:
            def __init__(self, stream: GstVkgdr.Stream) -> None:
                self.ptr = stream.handle
                self.stream = stream

        theirs = Theirs(self.other)
        gone = weakref.ref(theirs)
        array = self.array()
        array.use_on(theirs)
        del theirs
        gc.collect()
        self.assertIsNotNone(gone())
        array.close()
        gc.collect()
        self.assertIsNone(gone())


class WithTheDriver(DeviceTestCase):
    """vkgdr.driver works on the memory of this library."""

    def test_arrays_are_pointers(self) -> None:
        memory = self.new_memory(support.pattern(64))
        with self.context, GstVkgdr.device_array(memory, flags=READ | WRITE) as array:
            self.assertEqual(driver.from_device(array, 64, "u1").tobytes(), support.pattern(64))
            self.assertEqual(array.__cuda_array_interface__["data"], (array.pointer, False))
            self.assertFalse(array.readonly)
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


if __name__ == "__main__":
    support.main()
