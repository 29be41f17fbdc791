# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of contexts, streams and memory as objects of Python."""

import gc

import gst_support
import support
import numpy as np
from gst_support import READ, WRITE
from gi.repository import Gst, GstVkgdr


class Contexts(gst_support.DeviceTestCase):
    def test_two_of_one_device_are_equal(self) -> None:
        same, other = GstVkgdr.Context(0), gst_support.other_cuda_context()
        self.assertIsNot(same, self.context)
        self.assertTrue(same == self.context and not same != self.context)
        self.assertEqual(len({same, self.context}), 1)
        for different in other, 0:
            self.assertTrue(self.context != different and not self.context == different)

    def test_memory_info(self) -> None:
        free, total = self.context.get_memory_info()
        self.assertTrue(0 < free <= total)


class Memory(gst_support.DeviceTestCase):
    def test_as_any_allocator(self) -> None:
        """The allocator can be called like any other GstAllocator."""
        params = Gst.AllocationParams()
        params.prefix, params.padding, params.align = 16, 8, 15
        for allocator in (
            Gst.Allocator.find("VkgdrMemory"), self.allocator, GstVkgdr.Allocator(),
            GstVkgdr.Allocator(self.context),
        ):
            for memory in (
                allocator.alloc(1000, params), allocator.alloc(size=1000, params=params),
                allocator.alloc(1000, None), allocator.alloc(1000), allocator.alloc(size=1000),
                allocator.alloc(np.int64(1000)), allocator.alloc(np.uint16(1000), None),
            ):
                self.assertTrue(GstVkgdr.is_vkgdr_memory(memory))
                self.assertEqual(memory.size, 1000)
            self.assertEqual(allocator.alloc(1000, params).offset, 16)
            self.assert_raise(
                (TypeError, "", allocator.alloc, 1000, "params"),
                (TypeError, "", allocator.alloc, 1.5),
                (OverflowError, "", allocator.alloc, -1),
            )

    def test_length_and_pointers(self) -> None:
        memory = self.allocator.alloc(1000)
        part, ordinary = memory.share(100, 50), Gst.Allocator.find(None).alloc(10, None)
        self.assertEqual([len(one) for one in (memory, part, ordinary)], [1000, 50, 10])
        self.assertEqual(int(memory), GstVkgdr.memory_get_device_pointer(memory))
        self.assertEqual(int(part), int(memory) + 100)
        self.assertTrue(memory and ordinary)
        self.assert_raise((TypeError, "not device memory", int, ordinary))
        self.assertIsInstance(GstVkgdr.memory_get_host_pointer(memory), int)
        self.assertIsNone(GstVkgdr.memory_get_host_pointer(self.allocator.alloc_device_only(100)))

    def test_mappings(self) -> None:
        data = support.pattern(100)
        memory = self.new_memory(data)
        with GstVkgdr.Mapping.new(memory, READ) as mapping:
            self.assertIsInstance(mapping.data, memoryview)
            self.assertEqual((len(mapping), bytes(mapping.data)), (100, data))
            self.assertTrue(mapping.data.readonly)
            self.assert_writable(memory, False)
        self.assert_writable(memory, True)
        self.assert_raise((ValueError, "unmapped", lambda: mapping.data))
        with GstVkgdr.Mapping.new(memory, READ | WRITE) as mapping:
            mapping.data[:3] = b"abc"
        self.assertEqual(gst_support.download(memory), b"abc" + data[3:])
        with GstVkgdr.Mapping.new(memory, READ | GstVkgdr.MAP_VKGDR) as mapping:
            self.assert_raise((BufferError, "the device", lambda: mapping.data))

    def test_a_view_keeps_its_mapping(self) -> None:
        memory = self.new_memory(b"four")
        view = GstVkgdr.Mapping.new(memory, READ).data
        gc.collect()
        self.assertEqual(bytes(view), b"four")
        self.assert_writable(memory, False)
        del view
        gc.collect()
        self.assert_writable(memory, True)


class All(gst_support.DeviceTestCase):
    def test_representations(self) -> None:
        stream = GstVkgdr.Stream(self.context)
        for thing, expected in (
            (self.context, r"<GstVkgdr.Context of device 0, CUcontext 0x[0-9a-f]+>"),
            (stream, rf"<GstVkgdr.Stream {stream.handle:#x} of device 0>"),
            (GstVkgdr.Stream(self.context, 0), r"<GstVkgdr.Stream 0x0 of device 0>"),
            (GstVkgdr.device_array(self.new_memory(bytes(100))),
             r"<GstVkgdr.DeviceArray \(100,\) \|u1 at 0x.*>"),
        ):
            self.assertRegex(repr(thing), f"^{expected}$")

    def test_numbers_of_numpy(self) -> None:
        """They are accepted wherever an int is."""
        self.assertEqual(GstVkgdr.Context(np.int64(0)).get_device(), 0)
        stream = GstVkgdr.Stream(self.context)
        handle, four = np.uint64(stream.handle), np.uint16(4)
        self.assertEqual(GstVkgdr.Stream(self.context, handle).handle, stream.handle)
        self.assertEqual(GstVkgdr.as_stream(self.context, handle).handle, stream.handle)
        memory = self.allocator.alloc(16)
        wrapped = self.allocator.alloc_wrapped(
            np.uint64(int(memory)), np.int64(16), Gst.MemoryFlags(0))
        self.assertEqual(int(wrapped), int(memory))
        self.assertEqual(len(self.allocator.alloc_pinned(four)), 4)
        self.assertEqual(len(self.allocator.alloc_device_only(four)), 4)
        GstVkgdr.device_array(memory, stream=stream).use_on(handle)
        self.assert_raise(
            (TypeError, "", GstVkgdr.Context, 1.5),
            (TypeError, "", GstVkgdr.Stream, self.context, 1.5),
        )


if __name__ == "__main__":
    support.main()
