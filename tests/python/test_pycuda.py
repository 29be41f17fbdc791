# SPDX-License-Identifier: LGPL-2.1-or-later
"""vkgdr.pycuda.Memory, with PyCUDA itself replaced by as much of it as is used.

The real one needs a GPU: see test_consumers.py.
"""

import gc
import sys
import types
import unittest
import unittest.mock

import support


class PointerHolderBase:
    def __init__(self) -> None:
        self.initialized = True


class Context:
    """PyCUDA's context objects, on the driver's primary context."""

    stack: list = []

    def __init__(self) -> None:
        self.primary = support.PrimaryContext()
        self.pushes = 0

    def push(self) -> None:
        self.pushes += 1
        self.primary.push()
        Context.stack.append(self)

    @classmethod
    def pop(cls) -> None:
        cls.stack.pop().primary.pop()

    @classmethod
    def get_current(cls) -> "Context":
        return cls.stack[-1] if cls.stack else None


def fake_pycuda() -> dict:
    package = types.ModuleType("pycuda")
    package.driver = types.ModuleType("pycuda.driver")
    package.driver.PointerHolderBase = PointerHolderBase
    package.driver.Context = Context
    return {"pycuda": package, "pycuda.driver": package.driver}


class Pycuda(unittest.TestCase):
    def setUp(self) -> None:
        patch = unittest.mock.patch.dict(sys.modules, fake_pycuda())
        patch.start()
        self.addCleanup(patch.stop)
        sys.modules.pop("vkgdr.pycuda", None)
        self.addCleanup(sys.modules.pop, "vkgdr.pycuda", None)
        import vkgdr.pycuda

        self.vkgdr = vkgdr
        self.context = Context()
        self.context.push()
        self.addCleanup(self.context.primary.release)
        self.owner = vkgdr.Vkgdr.open_current_context()

    def pop(self) -> None:
        while Context.stack:
            Context.pop()

    def tearDown(self) -> None:
        self.pop()

    def test_is_a_pointer_holder_and_a_memory(self) -> None:
        memory = self.vkgdr.pycuda.Memory(self.owner, 100)
        self.assertIsInstance(memory, PointerHolderBase)
        self.assertIsInstance(memory, self.vkgdr.RawMemory)
        self.assertTrue(memory.initialized)
        self.assertEqual(memory.get_pointer(), memory.device_ptr)
        self.assertEqual(int(memory), memory.device_ptr)
        self.assertEqual(len(memory), 100)

    def test_free_enters_its_context(self) -> None:
        memory = self.vkgdr.pycuda.Memory(self.owner, 100)
        self.pop()
        before = self.context.pushes
        memory.free()
        memory.free()
        self.assertEqual(self.context.pushes, before + 1)
        self.assertEqual(Context.stack, [])
        self.assertIsNone(support.current_context())
        with self.assertRaisesRegex(self.vkgdr.VkgdrError, "has been freed"):
            memory.get_pointer()

    def test_garbage_collection_frees(self) -> None:
        memory = self.vkgdr.pycuda.Memory(self.owner, 100)
        self.pop()
        before = self.context.pushes
        del memory
        gc.collect()
        self.assertEqual(self.context.pushes, before + 1)

    def test_arrays_keep_memory_and_context(self) -> None:
        memory = self.vkgdr.pycuda.Memory(self.owner, 100)
        view = memory.__array_interface__["data"]
        before = self.context.pushes
        del memory
        gc.collect()
        view[99] = 1
        self.assertEqual(self.context.pushes, before)
        del view
        self.assertEqual(self.context.pushes, before + 1)

    def test_needs_a_context(self) -> None:
        self.pop()
        with self.assertRaisesRegex(self.vkgdr.VkgdrError, "no CUDA context"):
            self.vkgdr.pycuda.Memory(self.owner, 100)

    def test_what_cannot_be_allocated(self) -> None:
        for size, flags in ((0, 0), (1 << 62, 0), (1, 1)):
            with self.assertRaises(self.vkgdr.VkgdrError):
                self.vkgdr.pycuda.Memory(self.owner, size, flags)


class WithoutPycuda(unittest.TestCase):
    def test_the_import_says_what_is_missing(self) -> None:
        result = support.run_python(
            "import sys; sys.modules['pycuda'] = None; import vkgdr; import vkgdr.pycuda"
        )
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, "ImportError: vkgdr.pycuda needs PyCUDA, .*python3-pycuda")


if __name__ == "__main__":
    support.main()
