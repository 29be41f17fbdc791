# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of the module vkgdr: it has the API of vkgdr 0.1, and does not crash."""

import gc

import support
import numpy as np
import vkgdr
from vkgdr import OpenFlags, RawMemory, Vkgdr, VkgdrError

SIZE = 10000


class WithContext(support.TestCase):
    def setUp(self) -> None:
        context = support.primary_context()
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)


class Arguments(WithContext):
    def test_wrong_arguments(self) -> None:
        handle = Vkgdr.open_current_context()
        memory = RawMemory(handle, SIZE)
        self.assert_raise(
            *((TypeError, "", call, *arguments) for call, *arguments in (
                (RawMemory, handle, 1.5), (RawMemory, handle, "1"), (RawMemory, handle, 16, 0.0),
                (Vkgdr, 0.0), (Vkgdr, "0"), (Vkgdr, 0, 1.0), (Vkgdr.open_current_context, "0"),
                (memory.flush, 0.5, 16), (memory.invalidate, 0, 1.5),
            )),
            (TypeError, "", RawMemory, None, 1),
            *((VkgdrError, r"\w+ \w+", Vkgdr, device, flags) for device, flags in (
                (1000, 0), (-5, 0), (1 << 40, 0), (0, 16), (0, -1), (0, 1 << 32))),
            *((VkgdrError, "", RawMemory, handle, size, flags) for size, flags in (
                (0, 0), (-1, 0), (1 << 64, 0), (1 << 62, 0), (1, 1), (1, -1))),
            *((VkgdrError, "", function, offset, size)
              for function in (memory.flush, memory.invalidate)
              for offset, size in (
                (SIZE, 1), (-1, 1), (0, -1), (1 << 64, 1), (0, 1 << 64))),
        )


class Opening(WithContext):
    def test_opens_by_number_and_by_context(self) -> None:
        class Mine(Vkgdr):
            pass

        for handle in (
            Vkgdr(0), Vkgdr(device=0, flags=OpenFlags.CURRENT_CONTEXT_BIT),
            Mine.open_current_context(), Vkgdr.open_current_context(flags=0),
            Vkgdr(np.int64(0), np.uint32(OpenFlags.FORCE_NON_COHERENT_BIT)),
        ):
            with RawMemory(handle, np.int64(SIZE), np.int8(0)) as memory:
                self.assertEqual(len(memory), SIZE)
                memory.flush(np.int32(0), np.uint64(SIZE))
                memory.invalidate(np.int32(0), np.uint64(SIZE))
                self.assertGreaterEqual(memory.non_coherent_atom_size, 1)
                is_coherent = memory.is_coherent
            self.assertRaises(VkgdrError, len, memory)
        self.assertIs(is_coherent, False)
        self.assertIsInstance(Mine.open_current_context(), Mine)
        self.assertEqual(OpenFlags.CURRENT_CONTEXT_BIT | OpenFlags.REQUIRE_COHERENT_BIT,
                         OpenFlags(1 | 4))


class WithoutContext(support.TestCase):
    def test_needs_a_context(self) -> None:
        self.assert_raise(
            (VkgdrError, "context", Vkgdr.open_current_context),
            (VkgdrError, "no CUDA context is current", RawMemory, Vkgdr(0), SIZE),
        )


class Memory(WithContext):
    def setUp(self) -> None:
        super().setUp()
        self.memory = RawMemory(Vkgdr(0), SIZE)
        self.addCleanup(self.memory.free)
        gc.collect()  # the owner of the memory was a temporary object, which it keeps

    def test_is_an_array_without_a_copy(self) -> None:
        array = np.asarray(self.memory)
        self.assertEqual((array.shape, array.dtype), ((SIZE,), np.uint8))
        array[:] = np.frombuffer(support.pattern(SIZE), "uint8")
        self.memory.flush(0, SIZE)
        found = support.read_device(self.memory.device_ptr, SIZE)
        self.assertEqual(found, support.pattern(SIZE))
        support.write_device(self.memory.device_ptr, support.pattern(SIZE, 2))
        self.memory.invalidate(0, SIZE)
        self.assertEqual(array.tobytes(), support.pattern(SIZE, 2))

    def test_after_free_everything_raises(self) -> None:
        self.assertIn(str(SIZE), repr(self.memory))
        self.memory.free()
        self.memory.free()
        self.assert_raise(*((VkgdrError, "has been freed", use, self.memory) for use in (
            len, lambda m: m.device_ptr, lambda m: m.is_coherent,
            lambda m: m.non_coherent_atom_size, lambda m: m.flush(0, 1),
            lambda m: m.invalidate(0, 1), lambda m: m.__array_interface__,
            lambda m: m.__enter__(), np.asarray,
        )))
        self.assertFalse(self.memory)
        self.assertIn("freed", repr(self.memory))

    def test_the_last_view_frees(self) -> None:
        freed = []

        class Spy(RawMemory):
            def _releaser(self):  # type: ignore[no-untyped-def]
                return lambda handle: (freed.append(handle), vkgdr.lib.vkgdr_memory_free(handle))

        memory = Spy(Vkgdr(0), SIZE)
        part = np.asarray(memory)[5000:]
        memory.free()
        gc.collect()
        part[:] = 5
        self.assertEqual((freed, part.sum()), ([], 5 * 5000))
        del part
        memory.free()
        self.assertEqual(len(freed), 1)


class Alone(support.TestCase):
    def test_needs_no_numpy_and_no_gi(self) -> None:
        self.assert_prints(
            "VkgdrError\n", "import sys; sys.modules['numpy'] = sys.modules['gi'] = None; "
            "import vkgdr; print(vkgdr.VkgdrError.__name__)")

    def test_what_is_missing_is_named(self) -> None:
        self.assert_prints(
            ".*ImportError: libvkgdr.so.1 cannot be loaded .*install.*",
            "import ctypes\n"
            "def missing(name, *arguments):\n"
            "    raise OSError(name + ': cannot open shared object file')\n"
            "ctypes.CDLL = missing\n"
            "import vkgdr\n", status=1)
        self.assert_prints(
            ".*ImportError: vkgdr.pycuda needs PyCUDA, .*python3-pycuda.*",
            "import sys; sys.modules['pycuda'] = None; import vkgdr; import vkgdr.pycuda",
            status=1)

    def test_ends_well_with_what_is_left(self) -> None:
        self.assert_prints(
            "", "import vkgdr, vkgdr.autoprimaryctx\n"
            "memory = vkgdr.RawMemory(vkgdr.Vkgdr(0), 100)\n"
            "view = memory.__array_interface__['data']\n"
            "kept = [memory, view]; kept.append(kept)\n")


if __name__ == "__main__":
    support.main()
