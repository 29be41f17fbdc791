# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of contexts, streams and memory as objects of Python."""

import gc
import sys
import threading
import unittest

import gst_support
import support
from gst_support import READ, WRITE
from gi.repository import Gst, GstVkgdr

try:
    import numpy as np
except ImportError:
    np = None


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
        with GstVkgdr.device_array(self.new_memory(bytes(4)), stream=stream) as array:
            self.assertEqual(array.nbytes, 4)
        with gst_support.other_cuda_context() as third:
            with self.assertRaisesRegex(ValueError, "another CUDA context"):
                GstVkgdr.as_stream(third, stream)

    def test_pop_what_was_not_pushed(self) -> None:
        """Not at all, not in this thread, or not as the last one."""
        with support.PrimaryContext() as primary:
            current = support.current_context()
            with self.assertRaisesRegex(GstVkgdr.LogicError, "not been pushed"):
                self.context.pop()
            self.assertEqual(support.current_context(), current)
        primary.release()
        self.context.push()
        self.context.push()
        self.context.pop()
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
        with gst_support.other_cuda_context() as other:
            other.push()
            with self.assertRaisesRegex(GstVkgdr.LogicError, "another context"):
                self.context.pop()
            other.pop()
        self.context.pop()
        with self.assertRaises(GstVkgdr.LogicError):
            self.context.pop()
        self.assertIsNone(support.current_context())

    def test_memory_info(self) -> None:
        free, total = self.context.get_memory_info()
        self.assertTrue(0 < free <= total)


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
        with self.assertRaises(OverflowError):
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
        self.assertEqual(gst_support.download(memory), b"abc" + data[3:])
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
        memory = self.new_memory(bytes(100))
        for thing, expected in (
            (self.context, r"<GstVkgdr.Context of device 0, CUcontext 0x[0-9a-f]+>"),
            (stream, rf"<GstVkgdr.Stream {stream.handle:#x} of device 0>"),
            (GstVkgdr.Stream(self.context, 0), r"<GstVkgdr.Stream 0x0 of device 0>"),
            (GstVkgdr.device_array(memory), r"<GstVkgdr.DeviceArray \(100,\) \|u1 at 0x.*>"),
        ):
            self.assertRegex(repr(thing), f"^{expected}$")



@unittest.skipIf(np is None, "numpy is missing")
class NumbersOfNumpy(gst_support.DeviceTestCase):
    def test_wherever_an_int_goes(self) -> None:
        zero, four = np.int64(0), np.uint16(4)
        self.assertEqual(GstVkgdr.Context(zero).get_device(), 0)
        stream = GstVkgdr.Stream(self.context)
        handle = np.uint64(stream.handle)
        self.assertEqual(GstVkgdr.Stream(self.context, handle).handle, stream.handle)
        self.assertEqual(GstVkgdr.as_stream(self.context, handle).handle, stream.handle)
        memory = self.allocator.alloc(np.int64(16))
        self.assertEqual(len(self.allocator.alloc(np.int64(10), None)), 10)
        wrapped = self.allocator.alloc_wrapped(
            np.uint64(int(memory)), np.int64(16), Gst.MemoryFlags(0)
        )
        self.assertEqual(int(wrapped), int(memory))
        self.assertEqual(len(self.allocator.alloc_pinned(four)), 4)
        self.assertEqual(len(self.allocator.alloc_device_only(four)), 4)
        GstVkgdr.device_array(memory, stream=stream).use_on(handle)

    def test_what_is_no_integer(self) -> None:
        with self.assertRaises(TypeError):
            GstVkgdr.Context(1.5)
        with self.assertRaises(TypeError):
            GstVkgdr.Stream(self.context, 1.5)

    def test_the_dtype_of_a_device_array(self) -> None:
        memory = self.new_memory(bytes(16))
        self.assertEqual(GstVkgdr.device_array(memory).dtype, np.dtype("u1"))


if __name__ == "__main__":
    support.main()
