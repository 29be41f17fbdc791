# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of arrays in other libraries, and of their tensors in pipelines.

Each test is skipped if its library is not installed, or if the device is softcuda's,
which these libraries cannot use. A library that is installed but cannot be imported, or
finds no device, is a failure.
"""

import ctypes
import gc
import importlib
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock
from typing import Any, Optional, Tuple

from gst_support import WRITE, DeviceTestCase, GLib, Gst, GstVkgdr, host_bytes, video_caps

import support

try:
    import numpy
    from vkgdr import compiler, driver
except ImportError:
    numpy = None

WIDTH, HEIGHT = 64, 48
SIZE = 4 * WIDTH * HEIGHT


def load(name: str, module: Optional[str] = None) -> Any:
    """Imports a library that works with NumPy, or skips the test."""
    support.load("numpy")
    return support.load(name, module)


class Consumer(DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        if self.context.is_software():
            self.skipTest("the device is a processor")
        self.data = support.pattern(SIZE)
        self.buffer = self.new_buffer(self.data)
        self.memory = self.buffer.peek_memory(0)
        self.caps = video_caps("RGBA", WIDTH, HEIGHT, "(memory:VkgdrMemory)")

    def array(self, flags: Gst.MapFlags = Gst.MapFlags.READ) -> Any:
        return GstVkgdr.device_array(self.buffer, self.caps, flags)

    def expected(self) -> Any:
        return numpy.frombuffer(self.data, "u1").reshape(HEIGHT, WIDTH, 4)

    def padded(self) -> Any:
        """A frame whose rows have padding, so that strides matter."""
        caps = video_caps("GRAY8", 61, HEIGHT)  # rows of 64 bytes
        array = GstVkgdr.device_array(self.buffer, caps)
        self.assertEqual(array.strides, (64, 1))
        expected = numpy.frombuffer(self.data, "u1")[: 64 * HEIGHT].reshape(HEIGHT, 64)[:, :61]
        return array, expected

    def assert_returned(self) -> None:
        gc.collect()
        self.assert_writable(self.memory, True)

    def push(self, elements: str, tensor: Any, **arguments: Any) -> bytes:
        buffer = Gst.Buffer.new()
        buffer.append_memory(GstVkgdr.memory_from_dlpack(tensor, self.context, **arguments))
        (sample,) = self.run_buffers(elements, self.caps, [buffer])
        return host_bytes(sample.get_buffer())


class Torch(Consumer):
    def setUp(self) -> None:
        super().setUp()
        self.torch = load("torch")
        self.assertTrue(self.torch.cuda.is_available(), "PyTorch finds no CUDA device")

    def slow(self) -> Any:
        """Ones, after some work of the device."""
        slow = self.torch.ones(4096, 4096, device="cuda")
        for _ in range(20):
            slow = slow @ slow / 4096
        return slow

    def test_from_dlpack(self) -> None:
        tensor = self.torch.from_dlpack(self.array())
        self.assertEqual(tuple(tensor.shape), (HEIGHT, WIDTH, 4))
        self.assertEqual(
            tensor.data_ptr(), GstVkgdr.memory_get_device_pointer(self.memory)
        )
        numpy.testing.assert_array_equal(tensor.cpu().numpy(), self.expected())
        self.assert_writable(self.memory, False)
        del tensor
        self.assert_returned()

    def test_strides(self) -> None:
        array, expected = self.padded()
        tensor = self.torch.from_dlpack(array)
        numpy.testing.assert_array_equal(tensor.cpu().numpy(), expected)

    def test_as_tensor(self) -> None:
        tensor = self.torch.as_tensor(self.array(WRITE), device="cuda")
        numpy.testing.assert_array_equal(tensor.cpu().numpy(), self.expected())

    def test_writes_are_waited_for(self) -> None:
        stream = self.torch.cuda.Stream()
        with self.torch.cuda.stream(stream):
            tensor = self.torch.from_dlpack(self.array(WRITE))
            slow = self.slow()
            tensor.copy_((slow[0, 0] * 7).to(self.torch.uint8).expand_as(tensor))
            del tensor
        gc.collect()
        self.assertEqual(host_bytes(self.buffer), bytes([7]) * SIZE)

    def test_a_tensor_in_a_pipeline(self) -> None:
        tensor = self.torch.from_numpy(self.expected().copy()).cuda()
        self.assertEqual(self.push("vkgdrdownload", tensor), self.data)
        inverted = self.push("cudafilter kernel=invert ! vkgdrdownload", tensor)
        expected = self.expected().copy()
        expected[..., :3] = 255 - expected[..., :3]
        self.assertEqual(inverted, expected.tobytes())
        numpy.testing.assert_array_equal(tensor.cpu().numpy(), self.expected())

    def test_work_that_is_still_queued(self) -> None:
        stream = self.torch.cuda.Stream()
        with self.torch.cuda.stream(stream):
            slow = self.slow()
            tensor = (slow[:HEIGHT, : WIDTH * 4] * 9).to(self.torch.uint8).contiguous()
            tensor = tensor.view(HEIGHT, WIDTH, 4)
        self.assertEqual(self.push("vkgdrdownload", tensor), bytes([9]) * SIZE)

    def test_bad_tensors(self) -> None:
        wrap = GstVkgdr.memory_from_dlpack
        with self.assertRaisesRegex(ValueError, "not in the memory of a CUDA device"):
            wrap(self.torch.zeros(16), self.context)
        with self.assertRaisesRegex(GLib.Error, "not contiguous"):
            wrap(self.torch.zeros(16, 16, device="cuda")[:, ::2], self.context)
        with self.assertRaisesRegex(GLib.Error, "is empty"):
            wrap(self.torch.zeros(0, device="cuda"), self.context)


class Cupy(Consumer):
    def setUp(self) -> None:
        super().setUp()
        self.cupy = load("cupy")
        self.assertGreater(self.cupy.cuda.runtime.getDeviceCount(), 0)

    def test_from_dlpack(self) -> None:
        array = self.cupy.from_dlpack(self.array())
        numpy.testing.assert_array_equal(array.get(), self.expected())
        del array
        self.assert_returned()

    def test_asarray(self) -> None:
        array = self.cupy.asarray(self.array())
        self.assertEqual(array.data.ptr, GstVkgdr.memory_get_device_pointer(self.memory))
        numpy.testing.assert_array_equal(array.get(), self.expected())
        del array
        self.assert_returned()

    def test_strides(self) -> None:
        array, expected = self.padded()
        numpy.testing.assert_array_equal(self.cupy.asarray(array).get(), expected)
        numpy.testing.assert_array_equal(self.cupy.from_dlpack(array).get(), expected)

    def test_writing(self) -> None:
        array = self.cupy.asarray(self.array(WRITE))
        array[...] = 255 - array
        del array
        gc.collect()
        self.assertEqual(host_bytes(self.buffer), (255 - self.expected()).tobytes())

    def test_a_tensor_in_a_pipeline(self) -> None:
        array = self.cupy.asarray(self.expected())
        self.assertEqual(self.push("vkgdrdownload", array), self.data)
        self.push("cudafilter kernel=invert ! vkgdrdownload", array, writable=True)


class Numba(Consumer):
    def test_as_cuda_array(self) -> None:
        cuda = load("numba", "numba.cuda")
        self.assertTrue(cuda.is_available(), "Numba finds no CUDA device")
        array = cuda.as_cuda_array(self.array())
        numpy.testing.assert_array_equal(array.copy_to_host(), self.expected())
        del array
        self.assert_returned()


class CudaCore(Consumer):
    def test_strided_memory_view(self) -> None:
        utils = load("cuda.core", "cuda.core.utils")
        array, _ = self.padded()
        for view in (
            utils.StridedMemoryView(array, stream_ptr=-1),
            utils.StridedMemoryView(self.array(), stream_ptr=-1),
        ):
            self.assertEqual(view.ptr, GstVkgdr.memory_get_device_pointer(self.memory))
            self.assertTrue(view.is_device_accessible)
            self.assertEqual(view.device_id, self.context.get_device())
        self.assertEqual(tuple(view.shape), (HEIGHT, WIDTH, 4))

    def test_its_streams(self) -> None:
        core = load("cuda.core")
        device = core.Device(self.context.get_device())
        device.set_current()
        stream = device.create_stream()
        ours = GstVkgdr.as_stream(self.context, stream)
        self.assertEqual(ours.handle, int(stream.handle))
        own = GstVkgdr.Stream(self.context)
        self.assertEqual(int(core.Stream.from_handle(own.handle).handle), own.handle)
        with GstVkgdr.device_array(self.memory, stream=stream) as array:
            self.assertEqual(array.stream.handle, int(stream.handle))


class Arguments(Consumer):
    """Arrays of other libraries as arguments of kernels of vkgdr.driver."""

    SOURCE = "__global__ void add (int *x, int n) { x[threadIdx.x] += n; }"

    def run_on(self, array: Any) -> None:
        driver.init()
        with self.context:
            add = compiler.SourceModule(self.SOURCE).get_function("add")
            add(array, numpy.int32(5), block=(8, 1, 1))
            driver.Context.synchronize()

    def test_arrays(self) -> None:
        for name, module, make, wait, read in (
            ("torch", "torch", lambda m: m.zeros(8, dtype=m.int32, device="cuda"),
             lambda m: m.cuda.synchronize(), lambda array: array.tolist()),
            ("cupy", "cupy", lambda m: m.zeros(8, m.int32),
             lambda m: m.cuda.runtime.deviceSynchronize(), lambda array: array.tolist()),
            ("numba", "numba.cuda", lambda m: m.to_device(numpy.zeros(8, numpy.int32)),
             lambda m: m.synchronize(), lambda array: array.copy_to_host().tolist()),
        ):
            with self.subTest(library=name):
                library = load(name, module)
                array = make(library)
                wait(library)
                self.run_on(array)
                self.assertEqual(read(array), [5] * 8)

    def test_a_tensor_that_torch_refuses(self) -> None:
        """The tensor is on another device than the consumer requests."""
        torch = load("torch")
        with self.assertRaises((BufferError, RuntimeError)):
            torch.from_dlpack(self.array().__dlpack__(dl_device=(1, 0)))
        self.assert_returned()


class Pycuda(unittest.TestCase):
    def setUp(self) -> None:
        if support.is_software():
            self.skipTest("the device is a processor")
        load("pycuda", "pycuda.autoprimaryctx")
        self.driver = load("pycuda", "pycuda.driver")
        import vkgdr.pycuda

        self.vkgdr = vkgdr

    def test_a_memory_is_gpudata(self) -> None:
        gpuarray = importlib.import_module("pycuda.gpuarray")
        handle = self.vkgdr.Vkgdr.open_current_context()
        memory = self.vkgdr.pycuda.Memory(handle, SIZE)
        numpy.asarray(memory)[:] = numpy.frombuffer(support.pattern(SIZE), "u1")
        memory.flush(0, SIZE)
        array = gpuarray.GPUArray((SIZE,), numpy.uint8, gpudata=memory)
        self.assertEqual(array.get().tobytes(), support.pattern(SIZE))
        del memory
        gc.collect()
        self.assertEqual(array.get().tobytes(), support.pattern(SIZE))

    def test_copies_to_and_from(self) -> None:
        handle = self.vkgdr.Vkgdr.open_current_context()
        memory = self.vkgdr.pycuda.Memory(handle, SIZE)
        self.driver.memcpy_htod(memory, support.pattern(SIZE))
        data = numpy.empty(SIZE, "u1")
        self.driver.memcpy_dtoh(data, memory)
        self.assertEqual(data.tobytes(), support.pattern(SIZE))
        self.assertEqual(ctypes.c_ulonglong(int(memory)).value, memory.device_ptr)

    def test_free_and_collection(self) -> None:
        handle = self.vkgdr.Vkgdr.open_current_context()
        for _ in range(100):
            memory = self.vkgdr.pycuda.Memory(handle, 16 << 20)
        memory.free()
        memory.free()
        with self.assertRaises(self.vkgdr.VkgdrError):
            memory.get_pointer()


class Runner(unittest.TestCase):
    """Tests that run-consumers does not skip a required library."""

    def run_it(self, *modules: str, path: str = "") -> Tuple[int, str]:
        here = os.path.dirname(os.path.abspath(__file__))
        result = subprocess.run(
            [sys.executable, os.path.join(here, "run-consumers"), *modules],
            env={**os.environ, "PYTHONPATH": f"{path}:{os.environ.get('PYTHONPATH', '')}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )
        return result.returncode, result.stdout

    def test_libraries(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "cupy.py"), "w", encoding="utf-8") as file:
                file.write("import a_part_that_is_missing\n")
            for name, status, text in (
                ("no_such_library", 1, "no_such_library cannot be imported"),
                ("cupy", 1, "cupy cannot be imported: ModuleNotFoundError"),
                ("json", 2, "no test knows json"),
            ):
                with self.subTest(library=name):
                    found, output = self.run_it(name, path=folder)
                    self.assertEqual(found, status)
                    self.assertIn(text, output)

    def load_runner(self) -> types.ModuleType:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run-consumers")
        loader = importlib.machinery.SourceFileLoader("run_consumers", path)
        runner = importlib.util.module_from_spec(
            importlib.util.spec_from_loader("run_consumers", loader)
        )
        loader.exec_module(runner)
        return runner

    def test_reasons(self) -> None:
        runner = self.load_runner()
        for reason, accepted in (
            ("pycuda is missing", True), ("torch is missing", False),
            ("the device is a processor", False), ("ImportError: torch", False),
        ):
            self.assertEqual(runner.is_explained(reason, ["torch"]), accepted, reason)

    def test_reasons_of_all_tests(self) -> None:
        """If only some libraries are required, run-consumers accepts all reasons of
        skipped tests, except those about the device and the required libraries.
        """
        runner = self.load_runner()
        pattern = re.compile(r"""\b(?:skip(?:If|Unless|Test))\((?:.*, )?"([^"]+)"\)""")
        found = set()
        for name in runner.TESTS:
            path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
            with open(path, encoding="utf-8") as file:
                found.update(pattern.findall(file.read()))
        refused = {one for one in found if not runner.is_explained(one, ["pycuda", "numpy"])}
        self.assertLessEqual({"torch is missing", "PyTorch is there"}, found)
        self.assertEqual(refused, {
            "the device is a processor", "numpy is missing", "pycuda is missing", "NumPy >= 1.22",
        })


class OptionalModules(unittest.TestCase):
    def test_the_list_is_exact(self) -> None:
        with self.assertRaisesRegex(ValueError, "not among the optional"):
            support.is_missing("vkgdr")
        self.assertFalse(support.is_missing("numpy") and numpy is not None)

    def test_an_import_that_fails_is_no_skip(self) -> None:
        """The library is installed, but an import in it fails."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "pycuda.py"), "w", encoding="utf-8") as file:
                file.write("import a_part_that_is_missing\n")
            with unittest.mock.patch.object(sys, "path", [folder, *sys.path]):
                importlib.invalidate_caches()
                with self.assertRaises(ModuleNotFoundError):
                    support.load("pycuda")


if __name__ == "__main__":
    support.main()
