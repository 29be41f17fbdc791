# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of devices, contexts, streams, events and memory as objects of Python."""

import ctypes
import gc
import os
import struct
import sys
import threading
import unittest
import weakref
from typing import Any

import gst_support
import support
from gi.overrides import _gstvkgdr_objects as objects
from gst_support import READ, WRITE
from gi.repository import GLib, Gst, GstVkgdr

try:
    import numpy as np
except ImportError:
    np = None

ATTRIBUTES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pycuda-attributes.txt")

SOURCE = """
__global__ void add (int *x, int n) { *x += n; }
__global__ void nothing () {}
"""


class Devices(gst_support.DeviceTestCase):
    def test_comparisons(self) -> None:
        one, same = GstVkgdr.Device(0), GstVkgdr.Device(0)
        self.assertTrue(one == same)
        self.assertFalse(one != same)
        self.assertTrue(one != 0)
        self.assertEqual(hash(one), hash(same))

    def test_attributes_by_name(self) -> None:
        device = GstVkgdr.Device(0)
        self.assertEqual(device.warp_size, device.get_attribute("warp-size"))
        self.assertEqual(device.max_threads_per_block, device.attributes["max-threads-per-block"])
        self.assertIn("warp_size", dir(device))
        self.assertFalse(hasattr(device, "no_such_attribute"))
        with self.assertRaisesRegex(AttributeError, "no_such_attribute"):
            device.no_such_attribute
        for name in ("__array__", "Warp_Size", "_private"):
            self.assertFalse(hasattr(device, name), name)

    def test_all_names_of_pycuda(self) -> None:
        """For each attribute the driver has a number, or there is an error."""
        with open(ATTRIBUTES, encoding="utf-8") as file:
            names = [line.strip() for line in file if not line.startswith("#")]
        self.assertEqual(len(names), 107)
        device = GstVkgdr.Device(0)
        for name in names:
            with self.subTest(name=name):
                try:
                    self.assertIsInstance(device.get_attribute(name), int)
                except GLib.Error as error:
                    self.assertTrue(
                        error.matches(GstVkgdr.error_quark(), GstVkgdr.Error.FAILED), error
                    )

    def test_old_names(self) -> None:
        device = GstVkgdr.Device(0)
        self.assertEqual(device.shared_memory_per_block, device.max_shared_memory_per_block)
        self.assertEqual(device.registers_per_block, device.max_registers_per_block)


class Contexts(gst_support.DeviceTestCase):
    def test_two_of_one_device_are_equal(self) -> None:
        other = GstVkgdr.Context(0)
        self.assertIsNot(other, self.context)
        self.assertTrue(other == self.context)
        self.assertFalse(other != self.context)
        self.assertEqual(hash(other), hash(self.context))
        self.assertEqual(len({other, self.context}), 1)
        self.assertTrue(other != 0)

    def test_another_cuda_context_is_not(self) -> None:
        with gst_support.other_cuda_context() as other:
            self.assertFalse(other == self.context)
            self.assertTrue(other != self.context)

    def test_their_streams_mix(self) -> None:
        other = GstVkgdr.Context(0)
        stream = GstVkgdr.Stream(other)
        self.assertIs(GstVkgdr.as_stream(self.context, stream), stream)
        memory = self.new_memory(bytes(4))
        add = GstVkgdr.SourceModule(SOURCE, self.context).get_function("add")
        add(memory, 3, block=1, stream=stream)
        GstVkgdr.SourceModule(SOURCE, other).get_function("add")(memory, 4, block=1)
        with GstVkgdr.device_array(memory, stream=stream) as array:
            self.assertEqual(array.nbytes, 4)
        self.assertEqual(struct.unpack("i", GstVkgdr.download(memory)), (7,))
        with gst_support.other_cuda_context() as third:
            with self.assertRaisesRegex(ValueError, "another CUDA context"):
                GstVkgdr.as_stream(third, stream)

    def test_pop_with_nothing_pushed(self) -> None:
        context = GstVkgdr.Context(0)
        with support.PrimaryContext() as primary:
            current = support.current_context()
            with self.assertRaisesRegex(GstVkgdr.LogicError, "not been pushed"):
                context.pop()
            self.assertEqual(support.current_context(), current)
        primary.release()
        context.push()
        context.push()
        context.pop()
        context.pop()
        with self.assertRaises(GstVkgdr.LogicError):
            context.pop()
        self.assertIsNone(support.current_context())

    def test_pop_in_another_thread(self) -> None:
        self.context.push()
        caught = []

        def pop() -> None:
            try:
                self.context.pop()
            except GstVkgdr.LogicError as error:
                caught.append(error)

        thread = threading.Thread(target=pop)
        thread.start()
        thread.join()
        self.assertEqual(len(caught), 1)
        self.context.pop()

    def test_pop_out_of_order(self) -> None:
        with gst_support.other_cuda_context() as other:
            self.context.push()
            other.push()
            with self.assertRaisesRegex(GstVkgdr.LogicError, "another context"):
                self.context.pop()
            other.pop()
            self.context.pop()

    def test_memory_info(self) -> None:
        free, total = self.context.get_memory_info()
        self.assertTrue(0 < free <= total)


class Events(gst_support.DeviceTestCase):
    def test_they_return_themselves(self) -> None:
        stream = GstVkgdr.Stream(self.context)
        event = GstVkgdr.Event(self.context)
        self.assertIs(event.record(stream), event)
        self.assertIs(event.synchronize(), event)
        self.assertIs(event.record(), event)
        self.assertIs(event.record(stream.handle).synchronize(), event)
        self.assertTrue(event.query())


class Memory(gst_support.DeviceTestCase):
    def test_as_any_allocator(self) -> None:
        """The allocator can be called like any other GstAllocator."""
        for allocator in (Gst.Allocator.find("VkgdrMemory"), self.allocator):
            params = Gst.AllocationParams()
            params.prefix, params.padding, params.align = 16, 8, 15
            for memory in (
                allocator.alloc(1000, params),
                allocator.alloc(size=1000, params=params),
                allocator.alloc(1000, None),
                allocator.alloc(1000),
                allocator.alloc(size=1000),
            ):
                self.assertTrue(GstVkgdr.is_vkgdr_memory(memory))
                self.assertEqual(memory.size, 1000)
        self.assertEqual(allocator.alloc(1000, params).offset, 16)
        with self.assertRaises(TypeError):
            allocator.alloc(1000, "params")
        with self.assertRaises(TypeError):
            allocator.alloc(1.5)
        with self.assertRaises(ValueError):
            allocator.alloc(-1)

    def test_it_is_made_by_its_class(self) -> None:
        allocator = GstVkgdr.Allocator(self.context)
        self.assertEqual(allocator.alloc(10).size, 10)
        self.assertIsInstance(GstVkgdr.Allocator(), GstVkgdr.Allocator)

    def test_no_host_pointer(self) -> None:
        self.assertIsNone(
            GstVkgdr.memory_get_host_pointer(self.allocator.alloc_device_only(100))
        )
        self.assertIsInstance(GstVkgdr.memory_get_host_pointer(self.allocator.alloc(100)), int)

    def test_length_and_pointer(self) -> None:
        memory = self.allocator.alloc(1000)
        self.assertEqual(len(memory), 1000)
        self.assertEqual(int(memory), GstVkgdr.memory_get_device_pointer(memory))
        self.assertTrue(memory)
        part = memory.share(100, 50)
        self.assertEqual(len(part), 50)
        self.assertEqual(int(part), int(memory) + 100)
        ordinary = Gst.Allocator.find(None).alloc(10, None)
        self.assertEqual(len(ordinary), 10)
        self.assertTrue(ordinary)
        with self.assertRaisesRegex(TypeError, "not device memory"):
            int(ordinary)

    def test_mappings(self) -> None:
        data = support.pattern(100)
        memory = self.new_memory(data)
        with GstVkgdr.Mapping.new(memory, READ) as mapping:
            self.assertEqual(len(mapping), 100)
            self.assertIsInstance(mapping.data, memoryview)
            self.assertEqual(mapping.data.tobytes(), data)
            self.assertTrue(mapping.data.readonly)
            self.assert_writable(memory, False)
        self.assert_writable(memory, True)
        with self.assertRaisesRegex(ValueError, "unmapped"):
            mapping.data
        with GstVkgdr.Mapping.new(memory, READ | WRITE) as mapping:
            mapping.data[:3] = b"abc"
        self.assertEqual(GstVkgdr.download(memory), b"abc" + data[3:])
        with GstVkgdr.Mapping.new(memory, READ | GstVkgdr.MAP_VKGDR) as mapping:
            with self.assertRaisesRegex(BufferError, "the device"):
                mapping.data

    def test_a_view_keeps_its_mapping(self) -> None:
        memory = self.new_memory(b"four")
        view = GstVkgdr.Mapping.new(memory, READ).data
        gc.collect()
        self.assertEqual(bytes(view), b"four")
        self.assert_writable(memory, False)
        del view
        gc.collect()
        self.assert_writable(memory, True)

    @unittest.skipIf(sys.version_info < (3, 12), "classes have __buffer__ from Python 3.12 on")
    def test_mappings_are_buffers(self) -> None:
        memory = self.new_memory(b"four")
        with GstVkgdr.Mapping.new(memory, READ) as mapping:
            self.assertEqual(bytes(memoryview(mapping)), b"four")


class Representations(gst_support.DeviceTestCase):
    def test_they_say_something(self) -> None:
        stream = GstVkgdr.Stream(self.context)
        module = GstVkgdr.SourceModule(SOURCE, self.context)
        memory = self.new_memory(bytes(100))
        pointer = hex(int(memory))
        for thing, expected in (
            (GstVkgdr.Device(0), r"<GstVkgdr.Device 0: .+>"),
            (self.context, r"<GstVkgdr.Context of device 0, CUcontext 0x[0-9a-f]+>"),
            (stream, rf"<GstVkgdr.Stream {stream.handle:#x} of device 0>"),
            (GstVkgdr.Stream(self.context, 0), r"<GstVkgdr.Stream 0x0 of device 0>"),
            (stream.record(), r"<GstVkgdr.Fence, (signaled|pending)>"),
            (GstVkgdr.Event(self.context), r"<GstVkgdr.Event, reached>"),
            (module, r"<GstVkgdr.Module: (add, nothing|nothing, add)>"),
            (module.get_function("add"), r"<GstVkgdr.Function add\(\) with parameters of 8, 4 bytes>"),
            (module.get_function("nothing"), r"<GstVkgdr.Function nothing\(\) without parameters>"),
            (GstVkgdr.Allocator(self.context), r"<GstVkgdr.Allocator: 0 blocks in use>"),
            (memory, rf"<Gst.Memory: 100 bytes of VkgdrMemory at {pointer}>"),
            (GstVkgdr.Mapping.new(memory, READ), r"<GstVkgdr.Mapping of 100 bytes at 0x[0-9a-f]+>"),
            (GstVkgdr.In(3), r"GstVkgdr.In\(3\)"),
            (GstVkgdr.InOut(memory), r"GstVkgdr.InOut\(<Gst.Memory: .*>\)"),
            (GstVkgdr.device_array(memory), r"<GstVkgdr.DeviceArray \(100,\) \|u1 at 0x.*>"),
        ):
            self.assertRegex(repr(thing), f"^{expected}$")

    def test_of_other_memory(self) -> None:
        self.assertIn("Gst.Memory object at", repr(Gst.Allocator.find(None).alloc(10, None)))

    def test_of_what_was_unmapped(self) -> None:
        mapping = GstVkgdr.Mapping.new(self.new_memory(bytes(4)), READ)
        mapping.unmap()
        self.assertEqual(repr(mapping), "<GstVkgdr.Mapping, unmapped>")


@unittest.skipIf(np is None, "numpy is missing")
class NumbersOfNumpy(gst_support.DeviceTestCase):
    def test_wherever_an_int_goes(self) -> None:
        zero, one, four = np.int64(0), np.int32(1), np.uint16(4)
        self.assertEqual(GstVkgdr.Device(zero).get_index(), 0)
        self.assertEqual(GstVkgdr.Context(zero).get_device(), 0)
        stream = GstVkgdr.Stream(self.context)
        handle = np.uint64(stream.handle)
        self.assertEqual(GstVkgdr.Stream(self.context, handle).handle, stream.handle)
        self.assertEqual(GstVkgdr.as_stream(self.context, handle).handle, stream.handle)
        memory = self.allocator.alloc(np.int64(16))
        GstVkgdr.fill(memory, np.int64(0), one)
        GstVkgdr.upload(memory, b"ab", offset=one)
        GstVkgdr.upload(memory, np.zeros((2, 2), "u1"), offset=np.int8(8), pitch=four)
        self.assertEqual(GstVkgdr.download(memory, offset=one)[:2], b"ab")
        GstVkgdr.copy(memory, memory, np.int64(2), np.int64(4), one)
        self.assertEqual(GstVkgdr.download(memory)[:6], b"\0ab\0ab")
        self.assertEqual(len(GstVkgdr.pagelocked_empty(four, np.uint8, self.context)), 4)
        self.assertEqual(
            GstVkgdr.pagelocked_empty((one, four), np.uint8, self.context).shape, (1, 4)
        )
        self.assertEqual(len(self.allocator.alloc(np.int64(10), None)), 10)
        wrapped = self.allocator.alloc_wrapped(
            np.uint64(int(memory)), np.int64(16), Gst.MemoryFlags(0)
        )
        self.assertEqual(int(wrapped), int(memory))
        self.assertEqual(len(self.allocator.alloc_pinned(four)), 4)
        self.assertEqual(len(self.allocator.alloc_device_only(four)), 4)
        GstVkgdr.device_array(memory, stream=stream).use_on(handle)

    def test_functions_of_the_library_take_addresses(self) -> None:
        """Any sequence is accepted, including arrays."""
        memory, stream = self.allocator.alloc(16), GstVkgdr.Stream(self.context)
        array, out = np.arange(16, dtype=np.uint8), np.zeros(16, np.uint8)
        GstVkgdr.memory_upload(
            memory, np.int64(0), np.uint64(array.ctypes.data), np.int64(16), stream
        )
        GstVkgdr.memory_download(memory, 0, out, 16, stream)
        stream.synchronize()
        np.testing.assert_array_equal(out, array)
        GstVkgdr.memory_write(memory, 0, array[::-1].copy(), 16)
        self.assertEqual(GstVkgdr.download(memory), bytes(range(15, -1, -1)))
        with self.assertRaisesRegex(ValueError, "17 bytes"):
            GstVkgdr.memory_write(memory, 0, array, 17)
        out.flags.writeable = False
        with self.assertRaisesRegex(TypeError, "writable"):
            GstVkgdr.memory_download(memory, 0, out, 16, stream)

    def test_what_is_no_integer(self) -> None:
        memory = self.allocator.alloc(16)
        for call in (
            lambda: GstVkgdr.Device(1.5),
            lambda: GstVkgdr.Context(1.5),
            lambda: GstVkgdr.Stream(self.context, 1.5),
            lambda: GstVkgdr.upload(memory, b"a", offset=1.0),
            lambda: GstVkgdr.fill(memory, 0, count=1.5),
            lambda: GstVkgdr.copy(memory, memory, 1.5),
            lambda: GstVkgdr.pagelocked_empty(1.5, np.uint8, self.context),
        ):
            with self.assertRaises(TypeError):
                call()


class FakeStream:
    """Records fences while other threads do the same."""

    def __init__(self, n_threads: int) -> None:
        self._barrier = threading.Barrier(n_threads, timeout=30)
        self._is_done = False

    def record(self) -> Any:
        self._barrier.wait()
        return self

    def is_signaled(self) -> bool:
        return self._is_done

    def finish(self) -> None:
        self._is_done = True
        self._barrier = threading.Barrier(1)


class Kept:
    pass


class Keeping(unittest.TestCase):
    def test_in_two_threads(self) -> None:
        """Each object is kept until the work behind it is done."""
        stream = FakeStream(2)
        kept = [Kept(), Kept()]
        references = [weakref.ref(one) for one in kept]
        threads = [
            threading.Thread(target=objects.keep, args=(stream, one)) for one in kept
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        del kept, threads, thread
        gc.collect()
        self.assertNotIn(None, [reference() for reference in references])
        stream.finish()
        objects.keep(stream, None)
        gc.collect()
        self.assertEqual([reference() for reference in references], [None, None])

    def test_what_is_freed_may_keep_others(self) -> None:
        stream = FakeStream(1)
        last = Kept()
        reference = weakref.ref(last)

        class Keeper:
            def __del__(self) -> None:
                nonlocal last
                objects.keep(stream, last)
                last = None

        objects.keep(stream, Keeper())
        stream.finish()
        objects.keep(stream, None)
        gc.collect()
        self.assertIsNone(last)
        objects.keep(stream, None)
        self.assertIsNone(reference())


class Fill(gst_support.DeviceTestCase):
    def filled(self, value: object, *args: int) -> bytes:
        memory = self.new_memory(bytes(16))
        GstVkgdr.fill(memory, value, *args)
        return GstVkgdr.download(memory)

    def test_plain_numbers(self) -> None:
        self.assertEqual(self.filled(1.0), struct.pack("4f", *[1] * 4))
        self.assertEqual(self.filled(1.5, 4), struct.pack("4f", *[1.5] * 4))
        self.assertEqual(self.filled(1.5, 2), struct.pack("8e", *[1.5] * 8))
        self.assertEqual(self.filled(1.5, 8), struct.pack("2d", *[1.5] * 2))
        self.assertEqual(self.filled(0x0102030405060708, 8),
                         struct.pack("2Q", *[0x0102030405060708] * 2))

    @unittest.skipIf(np is None, "numpy is missing")
    def test_numbers_of_numpy(self) -> None:
        """They have the width and the bits of their type."""
        for value in (np.float32(1), np.float16(1), np.float64(-1), np.int8(-1), np.uint16(7),
                      np.int32(-5), np.int64(-5), np.complex64(1 + 2j), np.bool_(True)):
            with self.subTest(value=repr(value)):
                expected = value.tobytes() * (16 // value.itemsize)
                self.assertEqual(self.filled(value), expected)
                self.assertEqual(self.filled(value, value.itemsize), expected)
        self.assertEqual(self.filled(np.float32(1), 4), struct.pack("4f", *[1] * 4))
        self.assertEqual(self.filled(np.int64(1), 4), struct.pack("4i", *[1] * 4))
        with self.assertRaisesRegex(TypeError, "float32 has 4 bytes, not 2"):
            self.filled(np.float32(1), 2)

    def test_part_of_it(self) -> None:
        memory = self.new_memory(bytes(32))
        GstVkgdr.fill(memory, 2.0, 8, count=2, offset=8)
        self.assertEqual(GstVkgdr.download(memory), bytes(8) + struct.pack("2d", 2, 2) + bytes(8))

    def test_what_cannot_be(self) -> None:
        for value, size, kind in (
            (1.5, 1, TypeError), ("1", 4, TypeError), (-1, 4, ValueError),
            (1 << 64, 8, GLib.Error), (1e300, 4, OverflowError),
        ):
            with self.subTest(value=value), self.assertRaises(kind):
                self.filled(value, size)


@unittest.skipIf(np is None, "numpy is missing")
class Pinned(gst_support.DeviceTestCase):
    def test_order(self) -> None:
        array = GstVkgdr.pagelocked_empty((3, 5), np.float32, self.context, order="F")
        self.assertTrue(array.flags.f_contiguous)
        self.assertEqual(array.strides, (4, 12))
        self.assertTrue(
            GstVkgdr.pagelocked_empty((3, 5), np.float32, self.context).flags.c_contiguous
        )
        with self.assertRaisesRegex(ValueError, "order"):
            GstVkgdr.pagelocked_empty((3, 5), np.float32, self.context, order="X")

    def test_columns_are_copied_as_they_lie(self) -> None:
        array = GstVkgdr.pagelocked_empty((3, 5), np.float32, self.context, order="F")
        array[:] = np.arange(15).reshape(3, 5)
        memory = self.allocator.alloc(array.nbytes)
        GstVkgdr.upload(memory, array)
        self.assertEqual(GstVkgdr.download(memory), array.tobytes(order="F"))
        back = np.zeros((3, 5), np.float32, order="F")
        GstVkgdr.download(memory, back)
        np.testing.assert_array_equal(back, array)
        with self.assertRaisesRegex(ValueError, "not contiguous"):
            GstVkgdr.upload(memory, array[::2])

    def test_the_dtype_of_a_device_array(self) -> None:
        memory = self.new_memory(bytes(16))
        self.assertEqual(GstVkgdr.device_array(memory).dtype, np.dtype("u1"))


if __name__ == "__main__":
    support.main()
