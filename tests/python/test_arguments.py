# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of kernel arguments: numbers, pointers, structures and arrays."""

import ctypes
import gc
import struct
import time
import unittest
from typing import Any

import gst_support
import support
from gi.overrides import _gstvkgdr_arguments as arguments
from gi.repository import Gst, GstVkgdr

try:
    import numpy as np
except ImportError:
    np = None

SOURCE = """
__global__ void scale (float *x, float factor, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= factor;
}

struct Complex { float re, im; };
struct DoubleComplex { double re, im; };
__global__ void complexes (double *out, Complex a, DoubleComplex b)
{
  out[0] = a.re; out[1] = a.im; out[2] = b.re; out[3] = b.im;
}

__global__ void integers (long long *out, signed char a, unsigned short b, int c,
    unsigned long long d, bool e)
{
  out[0] = a; out[1] = b; out[2] = c; out[3] = (long long) d; out[4] = e;
}

__global__ void reals (double *out, float a, double b) { out[0] = a; out[1] = b; }

struct Triple { int a, b, c; };
__global__ void structure (int *out, Triple t) { *out = t.a + 10 * t.b + 100 * t.c; }

__global__ void is_null (int *out, const void *p) { *out = p == 0; }

__global__ void slow (int *x, int ticks)
{
  long long begin = clock64 ();
  while (clock64 () - begin < ticks)
    ;
  *x = ticks;
}
"""


class ArgumentsTestCase(gst_support.DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.module = GstVkgdr.SourceModule(SOURCE, self.context)

    def function(self, name: str, types: Any = None) -> Any:
        function = self.module.get_function(name)
        return function if types is None else function.prepare(types)

    def call(self, function: Any, *args: Any) -> None:
        function.prepared_call((1, 1), (1, 1, 1), *args)

    def floats(self, memory: Gst.Memory) -> tuple:
        return struct.unpack(f"{len(memory) // 4}f", GstVkgdr.download(memory))


class Prepared(ArgumentsTestCase):
    def test_numbers_are_converted_by_letter(self) -> None:
        memory = self.new_memory(struct.pack("f", 3))
        scale = self.function("scale", "Pfi")
        self.call(scale, memory, 2, 1)
        self.assertEqual(self.floats(memory), (6.0,))
        self.call(scale, memory, 0.5, True)
        self.assertEqual(self.floats(memory), (3.0,))

    def test_reals(self) -> None:
        out = self.allocator.alloc(16)
        reals = self.function("reals", "Pfd")
        self.call(reals, out, 3, 4)
        self.assertEqual(struct.unpack("2d", GstVkgdr.download(out)), (3, 4))
        for bad in (1j, "1", None, b"1234", out):
            with self.assertRaisesRegex(TypeError, "argument 2 of reals"):
                self.call(reals, out, bad, 0)

    def test_integers(self) -> None:
        out = self.allocator.alloc(40)
        integers = self.function("integers", "PbHiQ?")
        self.call(integers, out, -3, 65535, -70000, (1 << 64) - 1, 7)
        self.assertEqual(
            struct.unpack("5q", GstVkgdr.download(out)), (-3, 65535, -70000, -1, 1)
        )
        with self.assertRaisesRegex(OverflowError, "argument 3 .*-1 does not fit"):
            self.call(integers, out, 0, -1, 0, 0, 0)
        with self.assertRaisesRegex(OverflowError, "argument 2 .*128 does not fit"):
            self.call(integers, out, 128, 0, 0, 0, 0)
        with self.assertRaisesRegex(TypeError, "argument 4 .*2.5"):
            self.call(integers, out, 0, 0, 2.5, 0, 0)

    def test_complex_numbers(self) -> None:
        out = self.allocator.alloc(32)
        complexes = self.function("complexes", "PFD")
        self.call(complexes, out, 1 + 2j, 3 - 4j)
        self.assertEqual(struct.unpack("4d", GstVkgdr.download(out)), (1, 2, 3, -4))
        self.call(complexes, out, 5, 6.5)
        self.assertEqual(struct.unpack("4d", GstVkgdr.download(out)), (5, 0, 6.5, 0))

    def test_capital_letters_for_reals(self) -> None:
        """PyCUDA's documentation calls F and D floating-point numbers. The size of the
        parameter decides what they are.
        """
        out = self.allocator.alloc(16)
        self.call(self.function("reals", "PFD"), out, 3, 4)
        self.assertEqual(struct.unpack("2d", GstVkgdr.download(out)), (3, 4))

    def test_a_pointer_is_no_int(self) -> None:
        memory = self.new_memory(struct.pack("f", 3))
        scale = self.function("scale", "Pfi")
        for bad in (5, int(memory), True, 1.5):
            with self.assertRaisesRegex(TypeError, "argument 1 of scale.*no pointer"):
                self.call(scale, bad, 2.0, 1)
        self.call(scale, ctypes.c_void_p(int(memory)), 2.0, 1)
        self.context.synchronize()
        self.assertEqual(self.floats(memory), (6.0,))
        out = self.allocator.alloc(4)
        self.call(self.function("is_null", "PP"), out, None)
        self.assertEqual(struct.unpack("i", GstVkgdr.download(out)), (1,))

    def test_pointers_of_other_objects(self) -> None:
        memory = self.new_memory(struct.pack("f", 3))

        class Holder:  # like PyCUDA's PointerHolderBase
            def get_pointer(self) -> int:
                return int(memory)

        self.call(self.function("scale", "Pfi"), Holder(), 2.0, 1)
        self.function("scale")(Holder(), 2.0, 1, block=1)
        self.context.synchronize()
        self.assertEqual(self.floats(memory), (12.0,))

    @unittest.skipIf(np is None, "numpy is missing")
    def test_types_of_numpy(self) -> None:
        memory = self.new_memory(struct.pack("f", 3))
        for types in (
            [np.intp, np.float32, np.int32],
            [np.dtype(np.uintp), np.dtype("f4"), np.dtype("i4")],
            ["P", np.float32, "i"],
        ):
            self.call(self.function("scale", types), memory, 2, np.int64(1))
        self.assertEqual(self.floats(memory), (24.0,))
        self.call(self.function("scale", "Pfi"), np.uint64(int(memory)), np.float64(0.5),
                  np.uint8(1))
        self.context.synchronize()
        self.assertEqual(self.floats(memory), (12.0,))
        with self.assertRaisesRegex(OverflowError, "does not fit"):
            self.call(self.function("scale", "Pfi"), memory, 1.0, np.int64(1 << 40))
        with self.assertRaisesRegex(TypeError, "argument 1 .*no pointer"):
            self.call(self.function("scale", "Pfi"), np.float64(1), 1.0, 1)

    @unittest.skipIf(np is None, "numpy is missing")
    def test_structures(self) -> None:
        triple = np.dtype([("a", "i4"), ("b", "i4"), ("c", "i4")])
        out = self.allocator.alloc(4)
        value = np.zeros(1, triple)
        value[0] = (1, 2, 3)
        structure = self.function("structure", ["P", triple])
        for argument in (value[0], value, value[0].tobytes(), struct.pack("3i", 1, 2, 3)):
            self.call(structure, out, argument)
            self.assertEqual(struct.unpack("i", GstVkgdr.download(out)), (321,))
            self.function("structure")(out, argument, block=1)
        with self.assertRaisesRegex(TypeError, "argument 2"):
            self.call(structure, out, b"short")

    def test_what_is_no_type(self) -> None:
        for types, kind in (("Z", ValueError), ([3], TypeError), ("Pfii", TypeError),
                            ("Pdi", TypeError)):
            with self.assertRaises(kind):
                self.function("scale", types)
        with self.assertRaisesRegex(TypeError, "takes 3 arguments, not 2"):
            self.call(self.function("scale", "Pfi"), self.allocator.alloc(4), 1.0)

    def test_a_timed_call_is_queued(self) -> None:
        """The call does not wait. The function that it returns waits."""
        memory = self.allocator.alloc(4)
        slow = self.function("slow", "Pi")
        begin = time.monotonic()
        timer = slow.prepared_timed_call((1, 1), (1, 1, 1), memory, 300_000_000)
        queued = time.monotonic() - begin
        seconds = timer()
        total = time.monotonic() - begin
        self.assertGreater(seconds, 0)
        self.assertLess(queued, total / 2)
        self.assertEqual(timer(), seconds)


class ByTheirSize(ArgumentsTestCase):
    """Arguments of a function that was not prepared. The driver knows the sizes."""

    @unittest.skipIf(np is None, "numpy is missing")
    def test_integers_of_numpy_fit_the_parameter(self) -> None:
        memory = self.new_memory(struct.pack("f", 3))
        scale = self.function("scale")
        scale(memory, np.float32(2), np.int64(1), block=1)
        scale(memory, np.float64(2), np.uint8(1), block=np.int64(1), grid=(np.int32(1),))
        self.assertEqual(self.floats(memory), (12.0,))
        with self.assertRaisesRegex(OverflowError, "argument 3"):
            scale(memory, 1.0, np.int64(1 << 40), block=1)

    @unittest.skipIf(np is None, "numpy is missing")
    def test_arrays_go_there_and_back(self) -> None:
        array = np.arange(4, dtype=np.float32)
        self.function("scale")(array, 2.0, 4, block=4)
        np.testing.assert_array_equal(array, [0, 2, 4, 6])
        self.call(self.function("scale", "Pfi"), array, 2, 1)
        np.testing.assert_array_equal(array, [0, 2, 4, 6])
        self.call(self.function("scale", "Pfi"), array[1:], 2, 1)
        np.testing.assert_array_equal(array, [0, 4, 4, 6])

    @unittest.skipIf(np is None, "numpy is missing")
    def test_a_read_only_array_stays(self) -> None:
        array = np.ones(4, np.float32)
        array.flags.writeable = False
        self.function("scale")(array, 2.0, 4, block=4)
        np.testing.assert_array_equal(array, [1, 1, 1, 1])

    @unittest.skipIf(np is None, "numpy is missing")
    def test_an_array_with_gaps(self) -> None:
        with self.assertRaisesRegex(ValueError, "not contiguous"):
            self.function("scale")(np.zeros((4, 4), np.float32)[:, 1:3], 2.0, 4, block=4)

    @unittest.skipIf(np is None, "numpy is missing")
    def test_pinned_arrays_are_used_where_they_lie(self) -> None:
        stream = GstVkgdr.Stream(self.context)
        array = GstVkgdr.pagelocked_empty((2, 4), np.float32, self.context)
        array[:] = 1
        scale = self.function("scale")
        scale(array, 2.0, 8, block=8, stream=stream)
        scale(array[1], 2.0, 4, block=8, stream=stream)
        stream.synchronize()
        np.testing.assert_array_equal(array, [[2] * 4, [4] * 4])
        with self.assertRaisesRegex(ValueError, "not contiguous"):
            scale(array[:, ::2], 2.0, 4, block=8)

    @unittest.skipIf(np is None, "numpy is missing")
    def test_a_mapped_array_is_copied(self) -> None:
        """The array may be in the window, whose host address the device cannot use."""
        caps = gst_support.video_caps("GRAY8", 4, 4)
        buffer = self.new_buffer(struct.pack("4f", 1, 2, 3, 4))
        array = GstVkgdr.pagelocked_empty(4, np.float32, self.context)
        self.assertTrue(arguments._is_pinned(array))
        self.assertTrue(arguments._is_pinned(array[1:]))
        with GstVkgdr.mapped(buffer, caps, gst_support.READ | gst_support.WRITE) as (pixels,):
            self.assertFalse(arguments._is_pinned(pixels))
            self.function("scale")(pixels, 2.0, 4, block=4)
        self.assertEqual(
            struct.unpack("4f", GstVkgdr.download(buffer)), (2, 4, 6, 8)
        )

    @unittest.skipIf(np is None, "numpy is missing")
    def test_a_pinned_array_is_kept(self) -> None:
        """The block is not recycled before the kernel has finished."""
        array = GstVkgdr.pagelocked_empty(4, np.int32, self.context)
        address = array.ctypes.data
        stream = GstVkgdr.Stream(self.context)
        self.function("slow")(array, 30_000_000, block=1, stream=stream)
        del array
        gc.collect()
        other = GstVkgdr.pagelocked_empty(4, np.int32, self.context)
        self.assertNotEqual(other.ctypes.data, address)
        stream.synchronize()

    @unittest.skipIf(np is None, "numpy is missing")
    def test_a_pinned_array_is_kept_for_a_stream_of_a_library(self) -> None:
        """The library's stream object exists only during the call."""
        array = GstVkgdr.pagelocked_empty(4, np.int32, self.context)
        address = array.ctypes.data
        stream = GstVkgdr.Stream(self.context)
        self.function("slow")(array, 30_000_000, block=1, stream=stream.handle)
        del array
        gc.collect()
        other = GstVkgdr.pagelocked_empty(4, np.int32, self.context)
        self.assertNotEqual(other.ctypes.data, address)
        stream.synchronize()

    def test_in_and_out_of_device_memory(self) -> None:
        memory = self.new_memory(struct.pack("f", 3))
        self.function("scale")(GstVkgdr.InOut(memory), 2.0, 1, block=1)
        self.assertEqual(self.floats(memory), (6.0,))

    def test_none_is_a_null_pointer(self) -> None:
        out = self.allocator.alloc(4)
        self.function("is_null")(out, None, block=1)
        self.assertEqual(struct.unpack("i", GstVkgdr.download(out)), (1,))
        with self.assertRaises(TypeError):
            self.function("scale")(out, None, 1, block=1)


class Attributes(ArgumentsTestCase):
    def test_by_name(self) -> None:
        scale = self.function("scale")
        self.assertEqual(
            scale.max_threads_per_block, scale.get_attribute("max-threads-per-block")
        )
        for name in ("const_size_bytes", "local_size_bytes", "shared_size_bytes", "num_regs"):
            self.assertIsInstance(getattr(scale, name), int)
            self.assertIn(name, dir(scale))
        self.assertFalse(hasattr(scale, "size"))
        self.assertFalse(hasattr(scale, "__array__"))


if __name__ == "__main__":
    support.main()
