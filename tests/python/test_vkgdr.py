# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of the module vkgdr: it has the API of vkgdr 0.1, and does not crash."""

import gc
import sys
import unittest

import support
import vkgdr

try:
    import numpy
except ImportError:
    numpy = None

SIZE = 10000


class WithContext(unittest.TestCase):
    def setUp(self) -> None:
        self.context = support.PrimaryContext()
        self.context.push()
        self.addCleanup(self.context.release)
        self.addCleanup(self.context.pop)


class Numbers(WithContext):
    """Integers of any library are accepted, and no other types."""

    def test_what_is_no_integer(self) -> None:
        handle = vkgdr.Vkgdr.open_current_context()
        memory = vkgdr.RawMemory(handle, SIZE)
        for call in (
            lambda: vkgdr.RawMemory(handle, 1.5),
            lambda: vkgdr.RawMemory(handle, "1"),
            lambda: vkgdr.RawMemory(handle, 16, 0.0),
            lambda: vkgdr.Vkgdr(0.0),
            lambda: vkgdr.Vkgdr(0, 1.0),
            lambda: vkgdr.Vkgdr.open_current_context("0"),
            lambda: memory.flush(0.5, 16),
            lambda: memory.invalidate(0, 1.5),
        ):
            with self.assertRaisesRegex(TypeError, "is an integer, not"):
                call()
        memory.free()

    @unittest.skipIf(numpy is None, "numpy is missing")
    def test_integers_of_numpy(self) -> None:
        handle = vkgdr.Vkgdr(numpy.int64(0), numpy.uint32(0))
        with vkgdr.RawMemory(handle, numpy.int64(SIZE), numpy.int8(0)) as memory:
            self.assertEqual(len(memory), SIZE)
            memory.flush(numpy.int32(0), numpy.uint64(SIZE))
            memory.invalidate(numpy.int32(0), numpy.uint64(SIZE))

    @unittest.skipIf(sys.version_info < (3, 12), "classes have __buffer__ from Python 3.12 on")
    def test_memory_is_a_buffer(self) -> None:
        handle = vkgdr.Vkgdr.open_current_context()
        memory = vkgdr.RawMemory(handle, 16)
        view = memoryview(memory)
        view[:4] = b"four"
        memory.free()
        self.assertEqual(bytes(view[:4]), b"four")
        with self.assertRaises(vkgdr.VkgdrError):
            memoryview(memory)


class Opening(WithContext):
    def test_flags_have_the_values_of_0_1(self) -> None:
        flags = vkgdr.OpenFlags
        self.assertEqual(flags.CURRENT_CONTEXT_BIT, 1)
        self.assertEqual(flags.FORCE_NON_COHERENT_BIT, 2)
        self.assertEqual(flags.REQUIRE_COHERENT_BIT, 4)
        self.assertIsInstance(flags.CURRENT_CONTEXT_BIT | flags.REQUIRE_COHERENT_BIT, flags)

    def test_opens_by_number_and_by_context(self) -> None:
        for handle in (
            vkgdr.Vkgdr(0),
            vkgdr.Vkgdr(device=0, flags=vkgdr.OpenFlags.CURRENT_CONTEXT_BIT),
            vkgdr.Vkgdr.open_current_context(),
            vkgdr.Vkgdr.open_current_context(flags=0),
        ):
            with vkgdr.RawMemory(handle, SIZE) as memory:
                self.assertEqual(len(memory), SIZE)
            with self.assertRaises(vkgdr.VkgdrError):
                len(memory)

    def test_a_subclass_is_opened_as_itself(self) -> None:
        class Mine(vkgdr.Vkgdr):
            pass

        self.assertIsInstance(Mine.open_current_context(), Mine)

    def test_what_cannot_be_opened_says_why(self) -> None:
        for device, flags in ((1000, 0), (-5, 0), (1 << 40, 0), (0, 16), (0, -1), (0, 1 << 32)):
            with self.subTest(device=device, flags=flags):
                with self.assertRaisesRegex(vkgdr.VkgdrError, r"\w+ \w+"):
                    vkgdr.Vkgdr(device, flags)
        with self.assertRaises(TypeError):
            vkgdr.Vkgdr("0")

    def test_memory_can_be_forced_to_be_non_coherent(self) -> None:
        flags = vkgdr.OpenFlags
        handle = vkgdr.Vkgdr(0, flags.FORCE_NON_COHERENT_BIT)
        memory = vkgdr.RawMemory(handle, SIZE)
        self.addCleanup(memory.free)
        self.assertFalse(memory.is_coherent)
        self.assertGreaterEqual(memory.non_coherent_atom_size, 1)


class WithoutContext(unittest.TestCase):
    def test_needs_a_context(self) -> None:
        self.assertIsNone(support.current_context())
        with self.assertRaisesRegex(vkgdr.VkgdrError, "context"):
            vkgdr.Vkgdr.open_current_context()
        handle = vkgdr.Vkgdr(0)
        with self.assertRaisesRegex(vkgdr.VkgdrError, "no CUDA context is current"):
            vkgdr.RawMemory(handle, SIZE)

    def test_is_freed_where_no_context_is_current(self) -> None:
        with support.PrimaryContext() as context:
            memory = vkgdr.RawMemory(vkgdr.Vkgdr(0), SIZE)
        memory.free()
        self.assertIsNone(support.current_context())
        context.release()


class Memory(WithContext):
    def setUp(self) -> None:
        super().setUp()
        self.memory = vkgdr.RawMemory(vkgdr.Vkgdr(0), SIZE)
        self.addCleanup(self.memory.free)

    def test_properties(self) -> None:
        self.assertEqual(len(self.memory), SIZE)
        self.assertGreater(self.memory.device_ptr, 0)
        self.assertIsInstance(self.memory.is_coherent, bool)
        self.assertGreaterEqual(self.memory.non_coherent_atom_size, 1)
        self.assertIn(str(SIZE), repr(self.memory))

    def test_the_owner_is_kept(self) -> None:
        gc.collect()  # it was a temporary object
        self.memory.flush(0, SIZE)

    @unittest.skipIf(numpy is None, "numpy is missing")
    def test_is_an_array_without_a_copy(self) -> None:
        array = numpy.asarray(self.memory)
        self.assertEqual((array.shape, array.dtype), ((SIZE,), numpy.dtype("uint8")))
        self.assertTrue(numpy.shares_memory(array, numpy.asarray(self.memory)))
        array[:] = numpy.frombuffer(support.pattern(SIZE), "uint8")
        self.memory.flush(0, SIZE)
        found = support.read_device(self.memory.device_ptr, SIZE)
        self.assertEqual(found, support.pattern(SIZE))

        support.write_device(self.memory.device_ptr, support.pattern(SIZE, 2))
        self.memory.invalidate(0, SIZE)
        self.assertEqual(array.tobytes(), support.pattern(SIZE, 2))

    def test_ranges(self) -> None:
        wrong = ((0, SIZE + 1), (SIZE, 1), (SIZE + 1, 0), (-1, 1), (0, -1), (1 << 64, 1),
                 (0, 1 << 64), ((1 << 64) - 1, 2))
        for function in (self.memory.flush, self.memory.invalidate):
            for offset, size in wrong:
                with self.subTest(function=function, offset=offset, size=size):
                    with self.assertRaises(vkgdr.VkgdrError):
                        function(offset, size)
            for offset, size in ((0, SIZE), (0, 0), (SIZE, 0), (1, 7)):
                function(offset, size)

    def test_after_free_everything_raises(self) -> None:
        self.memory.free()
        self.memory.free()
        for use in (
            len,
            lambda m: m.device_ptr,
            lambda m: m.is_coherent,
            lambda m: m.non_coherent_atom_size,
            lambda m: m.flush(0, 1),
            lambda m: m.invalidate(0, 1),
            lambda m: m.__array_interface__,
            lambda m: m.__enter__(),
        ):
            with self.assertRaisesRegex(vkgdr.VkgdrError, "has been freed"):
                use(self.memory)
        self.assertFalse(self.memory)
        self.assertIn("freed", repr(self.memory))

    @unittest.skipIf(numpy is None, "numpy is missing")
    def test_arrays_outlive_free(self) -> None:
        array = numpy.asarray(self.memory)
        part = array[5000:]
        array[:] = 3
        self.memory.free()
        del array
        gc.collect()
        part[:] = 5
        self.assertEqual(part.sum(), 5 * 5000)
        with self.assertRaises(vkgdr.VkgdrError):
            numpy.asarray(self.memory).sum()

    def test_the_last_view_frees(self) -> None:
        freed = []
        real = vkgdr.lib.vkgdr_memory_free

        class Spy(vkgdr.RawMemory):
            def _releaser(self):  # type: ignore[no-untyped-def]
                return lambda handle: (freed.append(handle), real(handle))

        memory = Spy(vkgdr.Vkgdr(0), SIZE)
        view = memory.__array_interface__["data"]
        memory.free()
        self.assertEqual(freed, [])
        del view
        self.assertEqual(len(freed), 1)
        memory.free()
        self.assertEqual(len(freed), 1)

    def test_what_cannot_be_allocated(self) -> None:
        handle = vkgdr.Vkgdr(0)
        for size, flags in ((0, 0), (-1, 0), (1 << 64, 0), (1 << 62, 0), (1, 1), (1, -1)):
            with self.subTest(size=size, flags=flags):
                with self.assertRaises(vkgdr.VkgdrError):
                    vkgdr.RawMemory(handle, size, flags)
        with self.assertRaises(TypeError):
            vkgdr.RawMemory(None, 1)


class Alone(unittest.TestCase):
    def test_needs_no_numpy_and_no_gi(self) -> None:
        result = support.run_python(
            "import sys; sys.modules['numpy'] = sys.modules['gi'] = None; "
            "import vkgdr; print(vkgdr.VkgdrError.__name__)"
        )
        self.assertEqual((result.returncode, result.stdout), (0, "VkgdrError\n"))

    def test_a_missing_library_is_named(self) -> None:
        result = support.run_python(
            "import ctypes\n"
            "def missing(name, *arguments):\n"
            "    raise OSError(name + ': cannot open shared object file')\n"
            "ctypes.CDLL = missing\n"
            "import vkgdr\n"
        )
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, "ImportError: libvkgdr.so.1 cannot be loaded .*install")

    def test_a_missing_pycuda_is_named(self) -> None:
        result = support.run_python(
            "import sys; sys.modules['pycuda'] = None; import vkgdr; import vkgdr.pycuda"
        )
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, "ImportError: vkgdr.pycuda needs PyCUDA, .*python3-pycuda")

    def test_ends_well_with_what_is_left(self) -> None:
        result = support.run_python(
            "import support, vkgdr\n"
            "context = support.PrimaryContext(); context.push()\n"
            "memory = vkgdr.RawMemory(vkgdr.Vkgdr(0), 100)\n"
            "view = memory.__array_interface__['data']\n"
            "kept = [memory, view]; kept.append(kept)\n"
        )
        self.assertEqual((result.returncode, result.stdout), (0, ""))


if __name__ == "__main__":
    support.main()
