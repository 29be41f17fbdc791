# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of contexts, streams, memory and errors as objects of Python."""

import builtins
import copy
import gc
from typing import Any

import gst_support
import support
import numpy as np
from gst_support import READ, WRITE
from gi.repository import GLib, Gst, GstVkgdr


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
            Gst.Allocator.find("VkgdrMemory"), GstVkgdr.Allocator(),
            GstVkgdr.Allocator(self.context),
        ):
            for memory in (
                allocator.alloc(1000, params), allocator.alloc(size=1000, params=params),
                allocator.alloc(np.int64(1000)), allocator.alloc(np.uint16(1000), None),
            ):
                self.assertTrue(GstVkgdr.is_vkgdr_memory(memory))
                self.assertEqual(memory.size, 1000)
        self.assertEqual(self.allocator.alloc(1000, params).offset, 16)
        self.assert_raise(
            (TypeError, "", self.allocator.alloc, 1000, "params"),
            (TypeError, "", self.allocator.alloc, 1.5),
            (OverflowError, "", self.allocator.alloc, -1),
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


class Errors(gst_support.DeviceTestCase):
    def test_compile_error(self) -> None:
        with self.assertRaises(GstVkgdr.CompileError) as caught:
            GstVkgdr.Kernel.new_from_source(
                self.context, "__global__ void f () { nonsense; }", "mine", None)
        error = caught.exception
        self.assertIsInstance(error, GstVkgdr.CudaError)
        self.assertTrue(error.matches(GstVkgdr.error_quark(), GstVkgdr.Error.COMPILE))
        self.assertIn("mine does not compile", error.message)
        self.assertIn("nonsense", error.stderr)
        self.assertNotIn("mine does not compile", error.stderr)
        for other in (error.copy(), copy.copy(error)):
            self.assertIsInstance(other, GstVkgdr.CompileError)
            self.assertEqual((other.message, other.domain, other.code),
                             (error.message, error.domain, error.code))

    def test_classes(self) -> None:
        """Errors of the caller, of the machine, and a lack of memory."""
        memory, stream = self.allocator.alloc(16), GstVkgdr.Stream(self.context)
        for kind, of_python, call, *arguments in (
            (GstVkgdr.LogicError, GLib.Error, GstVkgdr.Kernel.new_from_source, self.context,
             "__global__ void f () {}", "mine", "g"),
            (GstVkgdr.LogicError, GLib.Error, GstVkgdr.memory_fill, memory, 0, 17, 0, stream),
            (GstVkgdr.RuntimeError, builtins.RuntimeError, GstVkgdr.Context, 99),
            (GstVkgdr.MemoryError, builtins.MemoryError, self.allocator.alloc, 1 << 60),
        ):
            with self.assertRaises(kind) as caught:
                call(*arguments)
            self.assertIsInstance(caught.exception, of_python)
            self.assertEqual(isinstance(caught.exception, GstVkgdr.LogicError),
                             kind is GstVkgdr.LogicError)
        self.assertIn("no memory for", caught.exception.message)

    def test_launch_error(self) -> None:
        """A later call raises the error. This runs in its own process, because
        the CUDA context cannot be used afterwards.
        """
        self.assert_prints(".*CUDA_ERROR_(LAUNCH_FAILED|ILLEGAL_ADDRESS) True\n", """
import os
from gst_support import GLib, GstVkgdr
from vkgdr import compiler
context = GstVkgdr.Context()
try:
    with context:
        compiler.SourceModule("__global__ void f () { *(int *) 16 = 1; }").get_function("f")(
            block=(1, 1, 1))
        context.synchronize()
except GstVkgdr.LaunchError as error:
    print(error.cuda_error, isinstance(error, GLib.Error), flush=True)
os._exit(0)
""")

    def test_names_of_the_driver(self) -> None:
        for name, kind in (
            ("CUDA_ERROR_OUT_OF_MEMORY", GstVkgdr.MemoryError),
            ("CUDA_ERROR_LAUNCH_TIMEOUT", GstVkgdr.LaunchError),
            ("CUDA_ERROR_MISALIGNED_ADDRESS", GstVkgdr.LaunchError),
            ("CUDA_ERROR_INVALID_VALUE", GstVkgdr.LogicError),
            ("CUDA_ERROR_NOT_READY", GstVkgdr.RuntimeError),
            (None, GstVkgdr.RuntimeError),
        ):
            message = f"cuX: {name} (t)" if name else "it failed"
            error: Any = GLib.Error(message, "gst-vkgdr-error-quark", int(GstVkgdr.Error.FAILED))
            self.assertEqual(
                (type(error), error.cuda_error, error.args), (kind, name, (message,)))

    def test_errors_of_others_are_left_alone(self) -> None:
        class Own(GLib.Error):
            pass

        with self.assertRaises(GLib.Error) as caught:
            Gst.parse_launch("no-such-element")
        for error in caught.exception, GLib.Error("plain"), GLib.Error():
            self.assertIs(type(error), GLib.Error)
        self.assertIs(type(Own("m", "gst-vkgdr-error-quark", 4)), Own)


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
