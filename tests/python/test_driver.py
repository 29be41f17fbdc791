# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of vkgdr.driver, vkgdr.compiler and vkgdr.tools: PyCUDA's interface.

scripts/test-pycuda runs PyCUDA's own tests.
"""

import concurrent.futures
import contextlib
import copy
import gc
import inspect
import io
import operator
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import types
import unittest.mock
import warnings
from typing import Any, Iterator, List, Tuple

import support
import numpy as np
import vkgdr
from vkgdr import _nvrtc, compiler, driver, frames, tools

HERE = os.path.dirname(os.path.abspath(__file__))

SOURCE = """
__constant__ float constant;

__global__ void scale (float *x, int n, float factor)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;

  if (i < n)
    x[i] *= factor;
}

__global__ void slow (volatile int *x, int turns)
{
  for (int i = 0; i < turns; i++)
    x[0] = x[0] * 3 + 1;
  x[1] = 42;
}

struct pair { int first; double second; };

__global__ void sum (double *x, pair p, short s, double2 z)
{
  *x = p.first + p.second + s + z.x + z.y;
}
"""

source_module = tools.context_dependent_memoize(compiler.SourceModule)


class WithContext(support.TestCase):
    def setUp(self) -> None:
        self.context = tools.make_default_context()
        self.addCleanup(self.leave)

    def leave(self) -> None:
        tools.clear_context_caches()
        gc.collect()
        self.context.pop()
        self.context.detach()

    def function(self, name: str) -> driver.Function:
        return source_module(SOURCE).get_function(name)

    @property
    def scale(self) -> driver.Function:
        """Multiplies the first elements of an array: x, n, factor."""
        return self.function("scale")

    def assert_device(self, memory: Any, expected: list, dtype: Any = np.float32) -> None:
        self.assertEqual(driver.from_device(memory, len(expected), dtype).tolist(), expected)


class Names(WithContext):
    def test_every_documented_name_exists(self) -> None:
        objects: Any = types.SimpleNamespace(
            Array=driver.matrix_to_array(np.ones((2, 2), "f4"), "C"),
            CompileError=driver.CompileError("", (), "", ""), Function=self.scale,
            RegisteredHostMemory=driver.register_host_memory(driver.aligned_empty(8, "u1")).base)
        objects.tools = types.SimpleNamespace(
            DeviceData=tools.DeviceData(), DeviceMemoryPool=tools.DeviceMemoryPool(),
            OccupancyRecord=tools.OccupancyRecord(tools.DeviceData(), 32),
            PageLockedMemoryPool=tools.PageLockedMemoryPool())

        def find(name: str) -> Any:
            for place in (objects, driver, compiler, vkgdr):
                with contextlib.suppress(AttributeError):
                    return operator.attrgetter(name)(place)

        with open(os.path.join(HERE, "pycuda-names.txt"), encoding="utf-8") as names:
            lines = [line.split() for line in names if line[0] != "#"]
        self.assertEqual([name for name, *_ in lines if find(name) is None], [])
        for name, *constants in lines:
            for constant, value in (pair.split("=") for pair in constants):
                self.assertEqual(getattr(find(name), constant), int(value), name)

    def test_errors_of_the_environment(self) -> None:
        """An unknown driver, an unknown device, an unknown size, and calls before init()."""
        for variable, program, text in (
            ("PATH", "d.Device.count()", "LogicError cuDeviceGetCount failed"),
            ("VKGDR_DRIVER", "d.init()", "RuntimeError .*VKGDR_DRIVER"),
            ("CUDA_DEVICE", "import vkgdr.autoinit", 'ValueError CUDA_DEVICE is "banana"'),
            *([("SOFTCUDA_MEMORY", "import vkgdr.autoinit; d.mem_alloc(16)",
                '.*SOFTCUDA_MEMORY is "banana"')] if support.is_software() else []),
        ):
            self.assert_prints(f"{text}.*", (
                f"import os; os.environ['{variable}'] = 'banana'\nimport vkgdr.driver as d\n"
                f"try: {program}\nexcept Exception as e: print(type(e).__name__, e)"))


def public_objects() -> Iterator[Tuple[str, str, Any]]:
    """The place, the name and the value of all that the modules and their classes offer."""
    for module in (vkgdr, compiler, driver, frames, tools):
        for name in module.__all__:
            value = getattr(module, name)
            yield module.__name__, name, value
            if inspect.isclass(value) and not issubclass(value, (int, BaseException)):
                for owner in inspect.getmro(value):
                    if owner.__module__.startswith("vkgdr"):
                        for method, function in vars(owner).items():
                            if not method.startswith("_"):
                                yield f"{module.__name__}.{name}", method, function


class Face(unittest.TestCase):
    """What help(), an editor and a type checker show."""

    ALIASES = {"CudaError", "HostAllocation", "PreparedFunction", "py_memcpy_atoh",
               "py_memcpy_htoa"}

    def check_function(self, name: str, function: Any) -> None:
        function = inspect.unwrap(getattr(function, "__func__", function))
        self.assertTrue(function.__doc__, "has no docstring")
        if name not in self.ALIASES:
            self.assertEqual(function.__name__, name)
        signature = inspect.signature(function)
        untyped = [one.name for one in signature.parameters.values()
                   if one.annotation is inspect.Parameter.empty and one.name not in ("self", "cls")]
        self.assertEqual(untyped, [])
        self.assertIsNot(signature.return_annotation, inspect.Signature.empty)

    def test_each_public_object_explains_itself(self) -> None:
        count = 0
        for where, name, value in public_objects():
            with self.subTest(f"{where}.{name}"):
                if isinstance(value, property):
                    self.check_function(name, value.fget)
                elif inspect.isclass(value):
                    self.assertTrue(value.__doc__, "has no docstring")
                    self.assertTrue(name in self.ALIASES or value.__name__ == name)
                    self.assertRegex(value.__module__, r"^vkgdr(\.[a-z]\w*)?$")
                elif callable(value) or hasattr(value, "__func__"):
                    self.check_function(name, value)
                count += 1
        self.assertGreater(count, 350)

    def test_a_module_offers_only_what_it_lists(self) -> None:
        """`import *` and completion show no module of others, no type of typing."""
        for module in (vkgdr, compiler, driver, frames, tools):
            others = set(dir(module)).difference(module.__all__)
            self.assertEqual({name for name in others if not os.path.exists(
                os.path.join(os.path.dirname(vkgdr.__file__), name + ".py"))}, set())
            for name in module.__all__:
                self.assertFalse(inspect.ismodule(getattr(module, name)), name)
                self.assertNotIn("typing", str(getattr(module, name)), name)

    def test_a_missing_argument_is_told_with_the_name(self) -> None:
        call: Any = driver.memcpy_htod
        with self.assertRaisesRegex(TypeError, r"memcpy_htod\(\) missing .* 'src'"):
            call(0)


class AsPycuda(support.TestCase):
    PROGRAM = """
import vkgdr
vkgdr.as_pycuda()
vkgdr.as_pycuda()
from pycuda import driver, gpuarray
from pycuda.compiler import SourceModule
import pycuda.autoinit, pycuda.tools, pycuda._driver, vkgdr.driver, vkgdr.pycuda, numpy
print(gpuarray.cuda is driver is pycuda._driver is vkgdr.driver, pycuda.marker)
print(pycuda.autoinit.device == driver.Device(0), pycuda.tools.get_arg_type("const float *x"))
x = numpy.ones(2, "f4")
f = SourceModule("__global__ void f (float *x) { x[threadIdx.x] *= 2; }").get_function("f")
f(driver.InOut(x), block=(2, 1, 1))
print(x, issubclass(vkgdr.pycuda.Memory, vkgdr.driver.PointerHolderBase))
try: SourceModule("nonsense")
except vkgdr.driver.CompileError as e: print(type(e) is gpuarray.cuda.CompileError)
"""

    def run_program(self, program: str, files: dict) -> str:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                os.makedirs(os.path.join(folder, "pycuda"), exist_ok=True)
                with open(os.path.join(folder, "pycuda", name), "w", encoding="utf-8") as file:
                    file.write(text)
            path = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
            done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=100,
                                  env={**os.environ, "PYTHONPATH": path})
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_the_modules_in_python_run_on_this_driver(self) -> None:
        """All modules have the same classes, whatever they were imported as."""
        found = self.run_program(self.PROGRAM, {
            "__init__.py": "marker = 'theirs'", "driver.py": "raise Exception('not ours')",
            "gpuarray.py": "import pycuda.driver as cuda"})
        self.assertEqual(found, "True theirs\nTrue P\n[2. 2.] True\nTrue\n")

    def test_programs_run_without_pycuda(self) -> None:
        self.assertRegex(self.run_program(
            "import vkgdr; vkgdr.as_pycuda(); import pycuda, pycuda.driver\n"
            "print(pycuda.VERSION >= (2020,), pycuda.driver is vkgdr.driver)\n"
            "try: import pycuda.gpuarray\nexcept ImportError as e: print(e)\n", {}),
            r"^True True\n.*pycuda\.gpuarray.*PYTHONPATH")

    def test_it_is_not_too_late(self) -> None:
        self.assertIn("before", self.run_program(
            "import vkgdr, pycuda.driver\ntry: vkgdr.as_pycuda()\nexcept ImportError as e: print(e)",
            {"__init__.py": "", "driver.py": ""}))


class Contexts(support.TestCase):
    def test_stack(self) -> None:
        device = driver.Device(0)
        first = device.make_context()
        second = device.make_context()
        self.assertIs(driver.Context.get_current(), second)
        self.assertNotEqual(first, second)
        first.push()  # a context may be on the stack more than once
        self.assertIs(driver.Context.get_current(), first)
        driver.Context.pop()
        second.detach()
        self.assertIs(driver.Context.get_current(), first)
        self.assertRaises(driver.LogicError, second.detach)
        driver.mem_alloc(16).free()
        first.pop()
        self.assertIsNone(driver.Context.get_current())
        primary = driver.Device(0).retain_primary_context()
        self.assertIsNone(driver.Context.get_current())
        primary.push()
        driver.mem_alloc(16)
        primary.pop()
        primary.detach()
        self.assert_raise(
            (driver.LogicError, "", driver.Context.pop),
            (driver.LogicError, "no context is current", driver.mem_alloc, 16))
        first.detach()

    def test_what_is_left_at_the_end_is_freed_with_its_context(self) -> None:
        for name in ("autoinit", "autoprimaryctx"):
            self.assert_prints(
                "True True\n", f"import vkgdr.{name} as a, vkgdr.driver as d\n"
                "from vkgdr.compiler import DynamicModule\n"
                "print(a.device == d.Device(0), d.Context.get_current() is a.context)\n"
                "stream, event, memory, module = d.Stream(), d.Event(), d.mem_alloc(16), "
                "DynamicModule()")

    def test_an_object_is_freed_in_another_thread(self) -> None:
        """Or later than its context."""
        context = driver.Device(0).make_context()
        memory = driver.mem_alloc(64 << 20)  # nothing else is in its blocks
        rest: Any = [driver.mem_alloc(16), driver.Stream(), driver.Event()]
        free = driver.mem_get_info()[0]
        with concurrent.futures.ThreadPoolExecutor(1) as thread:
            thread.submit(memory.free).result()
        self.assertGreaterEqual(driver.mem_get_info()[0], free + (64 << 20))
        context.detach()
        rest.clear()


class Memory(WithContext):
    def test_allocations_are_integers(self) -> None:
        memory = driver.mem_alloc(64)
        driver.memset_d32(memory, 7, 16)
        driver.memcpy_htod(int(memory) + 4, np.int32(9))
        self.assert_device(memory, [7, 9, 7], np.int32)
        memory.free()
        for call in memory.free, memory.__int__:
            self.assertRaises(driver.LogicError, call)

    def test_fortran_order(self) -> None:
        array = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4))
        memory = driver.mem_alloc_like(array)
        driver.memcpy_htod(memory, array)
        self.assertTrue((driver.from_device_like(memory, array) == array).all())
        for empty in (driver.pagelocked_empty_like, driver.managed_empty_like,
                      driver.aligned_empty_like):
            self.assertTrue(empty(array).flags.f_contiguous, empty)

    def test_rows(self) -> None:
        memory, pitch = driver.mem_alloc_pitch(40, 4, 4)
        array, back = np.arange(80, dtype=np.float32).reshape(4, 20), np.zeros((4, 10), np.float32)
        copy = driver.Memcpy2D()
        copy.set_src_host(array[:, 5:15])  # rows with a pitch
        copy.set_dst_device(memory)
        copy.width_in_bytes, copy.height = np.int64(40), 4
        copy.src_pitch, copy.dst_pitch = array.strides[0], pitch
        copy(aligned=True)
        copy.set_src_unified(memory)
        copy.set_dst_host(back)
        copy.src_pitch, copy.dst_pitch = pitch, 40
        stream = driver.Stream()
        copy(stream)
        stream.synchronize()
        np.testing.assert_array_equal(back, array[:, 5:15])
        self.assertEqual(copy.src_memory_type, driver.memory_type.UNIFIED)

    def test_host_memory(self) -> None:
        pinned = driver.pagelocked_zeros((4, 4), np.dtype([("x", "i4"), ("y", "f8")]))
        self.assertIsInstance(pinned.base, driver.PagelockedHostAllocation)
        self.assertEqual(pinned.base.get_device_pointer(), pinned.ctypes.data)
        aligned = driver.aligned_empty(100, np.float64, alignment=8192)
        self.assertEqual(aligned.ctypes.data % 8192, 0)
        registered = driver.register_host_memory(aligned)
        self.assertIs(registered.base.base, aligned)
        registered[:] = 3
        self.assertEqual(aligned.sum(), 300)
        registered.base.unregister()

    def test_managed_memory(self) -> None:
        array = driver.managed_zeros(8, np.float32)
        array[:] = 1
        self.scale(array, np.int32(8), np.float32(5), block=(8, 1, 1))
        driver.Context.synchronize()
        self.assertEqual(array.tolist(), [5] * 8)

    def test_objects_with_a_pointer(self) -> None:
        memory = driver.to_device(np.arange(4, dtype=np.float32))

        class Holder(driver.PointerHolderBase):
            def get_pointer(self) -> int:
                return int(memory)

        class Array:  # of one float, as CuPy's
            __cuda_array_interface__ = {"data": (int(memory) + 4, False)}

            def __index__(self) -> int:
                return 7

        self.scale(Holder(), np.int32(4), np.float32(2), block=(4, 1, 1))
        self.assert_device(Holder(), [0, 2, 4, 6])
        self.assert_device(Array(), [2])
        try:
            both = vkgdr.RawMemory(vkgdr.Vkgdr.open_current_context(), 64)
        except vkgdr.VkgdrError as error:
            self.skipTest(str(error))
        np.asarray(both)[:] = 3
        both.flush(0, 64)
        self.assert_device(both, [3] * 64, np.uint8)

    def test_arrays(self) -> None:
        matrix = np.arange(12, dtype=np.float32).reshape(3, 4)
        for array, expected in ((driver.matrix_to_array(matrix, "C"), matrix),
                                (driver.matrix_to_array(matrix, "F"), matrix.T),
                                (driver.np_to_array(matrix, "C"), matrix)):
            back = np.zeros(expected.shape, np.float32)
            copy = driver.Memcpy2D()
            copy.set_src_array(array)
            copy.set_dst_host(back)
            copy.width_in_bytes = copy.dst_pitch = back.strides[0]
            copy.height = back.shape[0]
            copy()
            self.assertEqual(back.tolist(), expected.tolist())
        found = array.get_descriptor()
        self.assertEqual((found.width, found.height, found.num_channels, found.format),
                         (4, 3, 1, driver.array_format.FLOAT))
        self.assertEqual(array.get_descriptor_3d().depth, 0)
        array = driver.Array(found)
        driver.memcpy_htoa(array, 0, matrix[1])
        driver.memcpy_atoh(back[0], array, 0)
        self.assertEqual(back[0].tolist(), matrix[1].tolist())


    def test_what_is_freed_once_cannot_be_copied(self) -> None:
        """Nor sent to another process: a copy would free the driver's object, too."""
        owner = vkgdr.Vkgdr.open_current_context()
        memory = vkgdr.RawMemory(owner, 16)
        self.addCleanup(memory.free)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        server = vkgdr.FrameServer(os.path.join(folder.name, "s"), "GRAY8", 8, 8)
        self.addCleanup(server.close)
        functions: Tuple[Any, ...] = (copy.copy, copy.deepcopy, pickle.dumps)
        for value in (
            driver.mem_alloc(16), driver.pagelocked_empty(4, "f4").base, driver.Event(),
            driver.managed_empty(4, "f4", mem_flags=driver.mem_attach_flags.GLOBAL).base,
            driver.Stream(), driver.Context.get_current(), tools.DeviceMemoryPool(),
            driver.matrix_to_array(np.ones((2, 2), "f4"), "C"), self.scale, owner, memory,
            tools.DeviceMemoryPool().allocate(16), server, server.acquire(),
        ):
            for function in functions:
                with self.subTest(value=value, function=function):
                    with self.assertRaisesRegex(RuntimeError, "cannot be copied"):
                        function(value)
        gc.collect()

    def test_dates(self) -> None:
        """NumPy gives no buffer of them."""
        dates = np.array(["2020-02-29", "2021-03-01"], "M8[s]")
        memory = driver.to_device(dates)
        self.assertEqual(driver.from_device_like(memory, dates).tolist(), dates.tolist())
        driver.memcpy_htod(memory, dates[::-1].copy())
        driver.memcpy_dtoh(dates, memory)
        self.assertEqual(dates.astype("M8[D]").astype(str).tolist(), ["2021-03-01", "2020-02-29"])
        dates.flags.writeable = False
        self.assertRaises(ValueError, driver.memcpy_dtoh, dates, memory)
        self.assertRaises(ValueError, driver.memcpy_htod, memory, np.zeros((4, 4), "m8")[:, ::2])


class Streams(WithContext):
    def test_times(self) -> None:
        stream, start, end = driver.Stream(), driver.Event(), driver.Event()
        memory, host = driver.mem_alloc(1 << 20), driver.pagelocked_empty(1 << 20, np.uint8)
        start.record(stream)
        driver.memcpy_dtoh_async(host, memory, stream)
        self.assertIs(end.record(stream).synchronize(), end)
        self.assertGreaterEqual(start.time_till(end), 0)
        self.assertEqual(start.time_till(end), end.time_since(start))
        self.assertTrue(stream.is_done() and end.query())

    def test_events_order_streams(self) -> None:
        first, second = driver.Stream(), driver.Stream()
        memory = driver.mem_alloc(8)
        self.function("slow")(memory, np.int32(100_000), block=(1, 1, 1), stream=first)
        second.wait_for_event(driver.Event().record(first))
        result = driver.pagelocked_empty(2, np.int32)
        driver.memcpy_dtoh_async(result, memory, second)
        second.synchronize()
        self.assertEqual(result[1], 42)


    def test_an_event_of_another_process(self) -> None:
        flags = driver.event_flags
        event = driver.Event(flags.INTERPROCESS | flags.DISABLE_TIMING)
        event.record().synchronize()
        self.assert_prints("True\n", (
            "import vkgdr.autoinit, vkgdr.driver as d\n"
            f"print(d.Event.from_ipc_handle({event.ipc_handle()!r}).synchronize().query())"))
        self.assertRaises(driver.LogicError, driver.Event().ipc_handle)


class Functions(WithContext):
    def test_arguments(self) -> None:
        pair = np.array((1, 2.5), np.dtype([("first", "i4"), ("second", "f8")], align=True))
        out = np.zeros(1)
        f = self.function("sum")
        f(driver.Out(out), pair, np.int16(3), np.complex128(4 + 5j), block=(1, 1, 1))
        self.assertEqual(out[0], 15.5)
        memory = driver.mem_alloc(8)
        f.prepare(["P", pair.dtype, np.int16, "D"])
        f.prepared_call((1, 1), (1, 1, 1), memory, pair, 4, 4 + 5j)
        self.assert_device(memory, [16.5], np.float64)

    def test_numbers_of_python_need_prepare(self) -> None:
        memory, scale = driver.to_device(np.ones(4, np.float32)), self.scale
        self.assert_raise(*(
            (TypeError, "argument 1",
             lambda number=number: scale(memory, number, np.float32(1), block=(4, 1, 1)))
            for number in (4, 4.0, True)))
        self.assertIs(scale.prepare("Pif"), scale)
        scale.prepared_call((), [np.uint8(1), 1, 1], 0, 0, 0)
        scale.prepared_call((1,), (4, 1, 1), memory, 4, 3)  # an integer where a float is due
        self.assert_device(memory, [3] * 4)
        stream = driver.Stream()
        scale.prepared_async_call((1, 1), (4, 1, 1), stream, memory, 4, 3, shared_size=16)
        stream.synchronize()
        self.assertGreater(scale.prepared_timed_call((1, 1), (4, 1, 1), memory, 4, 1)(), 0)
        self.assert_device(memory, [9] * 4)

    def test_calls(self) -> None:
        array, numbers = np.ones(4, np.float32), (np.int32(4), np.float32(2))
        self.assertTrue(self.scale(
            driver.InOut(array), *numbers, block=(4, 1, 1), grid=(1,), time_kernel=True))
        self.scale(driver.InOut(array), *numbers, block=(4, 1, 1), stream=driver.Stream())
        self.assertEqual(array.tolist(), [4] * 4)

    def test_functions_that_only_call_cuda(self) -> None:
        """They pass their arguments on; the driver may refuse."""
        d, scale, context, memory = driver, self.scale, self.context, driver.mem_alloc(64)
        managed, stream = d.managed_zeros(8, np.uint8).base, d.Stream()
        for call in """
            context.set_limit(0, context.get_limit(d.limit.STACK_SIZE))
            context.set_cache_config(context.get_cache_config())
            context.set_shared_config(context.get_shared_config())
            context.enable_peer_access(context)
            context.disable_peer_access(context)
            context.get_api_version()
            d.start_profiler()
            d.stop_profiler()
            d.Device(0).can_access_peer(d.Device(0))
            d.Event().ipc_handle()
            d.IPCMemoryHandle(d.mem_get_ipc_handle(memory)).close()
            d.memcpy_peer(memory, memory + 32, 32, src_context=context)
            d.memcpy_peer_async(memory, memory + 32, 32, stream=stream)
            d.memset_d2d16_async(memory, 16, 1, 4, 2, stream=stream)
            scale.set_attribute(d.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, 64)
            scale.set_cache_config(d.func_cache.PREFER_L1)
            scale.set_shared_config(d.shared_config.FOUR_BYTE_BANK_SIZE)
            managed.advise(d.mem_advise_flags.SET_READ_MOSTLY)
            managed.attach(d.mem_attach_flags.GLOBAL, stream=stream)
            d.memcpy_atod(memory, d.matrix_to_array(np.ones((4, 4), "f4"), "C"), 0, 16)
            d.np_to_array(np.zeros((2, 3, 4), np.complex64), "C", allowSurfaceBind=True)
            d.TextureReference().set_address(memory, 64)
        """.split("\n"):
            with self.subTest(call), contextlib.suppress(d.LogicError):
                eval(call.strip() or "None", {**globals(), **locals()})

    def test_an_argument_may_launch(self) -> None:
        """While a launch asks an argument for its pointer, this launches another kernel."""
        fill = compiler.SourceModule(
            "__global__ void fill (int *p, int v) { *p = v; }\n"
            "__global__ void pair (int *o, int *a, int *b) { o[0] = a[0]; o[1] = b[0]; }")
        pair = fill.get_function("pair").prepare("PPP")
        fill_function = fill.get_function("fill").prepare("Pi")

        class Lazy(driver.PointerHolderBase):
            def __init__(self, value: int) -> None:
                super().__init__()
                self.memory, self.value = driver.mem_alloc(4), value

            def get_pointer(self) -> int:
                fill_function.prepared_call((1, 1), (1, 1, 1), self.memory, self.value)
                return int(self.memory)

        out = driver.mem_alloc(8)
        pair.prepared_call((1, 1), (1, 1, 1), out, Lazy(5), Lazy(7))
        self.assert_device(out, [5, 7], np.int32)
        pair(out, Lazy(6), Lazy(8), block=(1, 1, 1))
        self.assert_device(out, [6, 8], np.int32)

    def test_threads_launch_at_the_same_time(self) -> None:
        scale, context = self.scale.prepare("Pif"), self.context

        def work(number: float) -> list:
            context.push()
            memory = driver.to_device(np.ones(64, np.float32))
            for _ in range(50):
                scale.prepared_call((1, 1), (64, 1, 1), memory, 64, number)
                scale.prepared_call((1, 1), (64, 1, 1), memory, 64, 1 / number)
            found = driver.from_device(memory, 64, np.float32).tolist()
            del memory
            context.pop()
            return found

        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            for found in threads.map(work, (2.0, 4.0, 8.0, 16.0)):
                self.assertEqual(found, [1] * 64)


class Tables(WithContext):
    """What calls give, and what they raise."""

    def test_results(self) -> None:
        d, scale, memory = driver, self.scale, driver.mem_alloc(64)
        device, warp = driver.Device(0), driver.device_attribute.WARP_SIZE
        data, record = tools.DeviceData(), tools.OccupancyRecord(tools.DeviceData(), 100)
        local = {**globals(), **locals()}
        for text, expected in (
            ("str(warp), f'{warp}', '%d' % warp", ("WARP_SIZE", "WARP_SIZE", "10")),
            ("repr(warp)", "vkgdr.driver.device_attribute.WARP_SIZE"),
            ("d.device_attribute.values[10] is warp", True),
            ("len(d.get_version()), d.get_version() >= (4,)", (3, True)),
            ("type(d.get_driver_version())", int),
            ("d.Device(device.pci_bus_id()) == device", True),
            ("len({device, d.Device(0)})", 1),
            ("device.warp_size, device.get_attributes()[warp]", (32, 32)),
            ("type(device.compute_mode)", driver.compute_mode),
            ("device.total_memory() == d.mem_get_info()[1]", True),
            ("scale.max_threads_per_block == scale.get_attribute("
             "d.function_attribute.MAX_THREADS_PER_BLOCK)", True),
            ("scale.local_size_bytes == 0", True),
            ("memory + 4 == int(memory) + 4, len(memory)", (True, 64)),
            ("d.mem_get_address_range(memory + 8)[0] == int(memory)", True),
            ("source_module(SOURCE).get_global('constant')[1]", 4),
            ("d.managed_zeros(8, 'u1').base.as_buffer(2, 1).nbytes", 2),
            ("record.warps_per_mp / record.tb_per_mp, record.occupancy <= 1", (4, True)),
            ("compiler.get_nvcc_version('nvcc').split()[5].count('.')", 1),
            ("tools.OccupancyRecord(data, 32, shared_mem=data.shared_memory).limited_by",
             "device" if data.thread_blocks_per_mp == 1 else "smem"),
        ):
            with self.subTest(text):
                self.assertEqual(eval(text, local), expected)

    def test_parameters_of_the_documentation(self) -> None:
        """Its names, where they are not those of PyCUDA's code."""
        d, scale, array = driver, self.scale, np.ones(4, np.float32)
        memory, other, event = d.to_device(array), d.mem_alloc(16), d.Event().record()
        for call in """
            d.to_device(buffer=array)
            d.Stream().wait_for_event(event=event)
            event.synchronize().time_since(start_event=event)
            d.mem_alloc(size=8)
            d.Device(device_no=0)
            d.Module(image=compiler.compile(SOURCE))
            d.memset_d32(dest=memory, data=0x3f800000, count=4)
            d.memset_d8_async(dest=other, data=0, size=16, stream=None)
            d.InOut(array=array)
            d.pagelocked_empty(shape=4, dtype="u1", order="F", mem_flags=1)
            d.managed_zeros(shape=4, dtype="u1", order="F", mem_flags=1)
            d.aligned_zeros_like(array=array, alignment=64)
            scale.set_block_shape(x=4, y=1, z=1)
            scale.set_shared_size(bytes=0)
            scale.param_set_size(bytes=16)
            scale.param_seti(offset=8, value=4)
            scale.param_setf(offset=12, value=3.0)
            scale.param_setv(offset=0, value=np.uint64(int(memory)))
            scale.launch_grid(width=1, height=1)
            scale.launch_grid_async(width=1, height=1, stream=None)
            scale.param_set(memory, np.int32(4), np.float32(2))
            scale.launch()
        """.split("\n"):
            with self.subTest(call), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                eval(call.strip() or "None", {**globals(), **locals()})
        self.assert_device(memory, [18] * 4)
        self.assertWarns(DeprecationWarning, scale.set_block_shape, 1, 1, 1)

    def test_wrong_arguments(self) -> None:
        d, scale = driver, self.scale
        memory, array, stream = d.mem_alloc(64), np.ones(4, np.float32), d.Stream()
        numbers = (np.int32(4), np.float32(2))
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.assert_raise(
            (OverflowError, "", d.mem_alloc, -1),
            (TypeError, "", d.mem_alloc, 1.5),
            (d.LogicError, "", d.mem_alloc, 0),
            (d.MemoryError, "cuMemAlloc failed: out of memory", d.mem_alloc, 1 << 50),
            (OverflowError, "", d.memset_d8, memory, 300, 1),
            (ValueError, "", d.memcpy_htod, memory, np.zeros((8, 8), np.uint8)[:, ::2]),
            (BufferError, "", d.memcpy_dtoh, b"1234", memory),
            (ValueError, "", d.memcpy_dtoh, np.broadcast_to(array[0], 1), memory),
            (TypeError, "", d.memcpy_dtod, "memory", memory, 4),
            (TypeError, "", d.memcpy_htod_async, memory, np.zeros(4), "stream"),
            (TypeError, "", d.memcpy_htod_async, memory, np.zeros(4), d.Event()),
            (OverflowError, "", setattr, d.Memcpy2D(), "height", -3),
            (OverflowError, "", setattr, d.ArrayDescriptor(), "num_channels", 1 << 33),
            (ValueError, "99", setattr, d.ArrayDescriptor(), "format", 99),
            (d.LogicError, "", d.Device, 1000),
            (AttributeError, "", getattr, d.Device(0), "banana"),
            (TypeError, "", d.Device, 1.5),
            (d.LogicError, "", d.aligned_empty, 1, np.int8, "C", 3),
            (d.LogicError, "", d.pagelocked_empty, 1, np.int8, "X"),
            (d.LogicError, "", d.register_host_memory, [1, 2]),
            (d.LogicError, "", d.matrix_to_array, np.ones((3, 4)), "X"),
            (TypeError, "", stream.wait_for_event, d.Stream()),
            (TypeError, "", d.Device(0).can_access_peer, 0),
            (TypeError, "", scale.param_set_texref, 0),
            (TypeError, "", d.Memcpy3DPeer().set_src_context, 0),
            (ValueError, "size of its blocks", scale, d.In(array), *numbers),
            *((kind, "", scale.prepare("Pif").prepared_call, (size,), (1, 1, 1), 0, 0, 0)
              for size, kind in ((1 << 32, OverflowError), (-1, OverflowError), (1.0, TypeError),
                                 ("1", TypeError))),
            (ValueError, "banana", lambda: scale(block=(1, 1, 1), banana=1)),
            (d.LogicError, "",
             lambda: scale(d.In(array), *numbers, block=(4, 1, 1), grid=(1,) * 4)),
            (AttributeError, "", getattr, scale, "banana"),
            (d.RuntimeError, "", d.module_from_file, os.path.join(folder.name, "missing")),
            *((RuntimeError, "no constructor", getattr(d, name)) for name in (
                "DeviceAllocation", "HostPointer", "PagelockedHostAllocation", "SurfaceReference")),
            (d.Error, "", d.module_from_buffer, b"no image"),
            (d.LogicError, "", self.function, "banana"),
            (ValueError, "at most", tools.OccupancyRecord, tools.DeviceData(), 1 << 20),
        )


class Compiler(WithContext):
    def test_cache(self) -> None:
        source = "__global__ void f (int *x) { *x = 1; }"
        with tempfile.TemporaryDirectory() as folder:
            image = compiler.compile(source, cache_dir=folder)
            (path,) = (os.path.join(folder, name) for name in os.listdir(folder))
            with open(path, "r+b") as file:
                self.assertEqual(file.read(), image)
                file.write(b"cached")
            self.assertEqual(compiler.compile(source, cache_dir=folder), image + b"cached")
            os.chmod(path, 0o666)  # others could have written it
            self.assertEqual(compiler.compile(source, cache_dir=folder), image)
            # A header that has changed is not in the image.
            source, images = '#include "n.h"\n__global__ void f (int *x) { *x = N; }', []
            for number in 1, 2:
                with open(os.path.join(folder, "n.h"), "w", encoding="utf-8") as file:
                    file.write(f"#define N {number}\n")
                images.append(compiler.compile(source, cache_dir=folder, include_dirs=[folder]))
            self.assertNotEqual(*images)

    def test_cudafilters_cache_is_used(self) -> None:
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(
                os.environ, XDG_CACHE_HOME=folder, VKGDR_CACHE_DIR=""):
            os.environ.pop("PYCUDA_DISABLE_CACHE", None)
            os.environ.pop("PYCUDA_CACHE_DIR", None)
            compiler.compile("__global__ void f () { }")
            self.assertTrue(os.listdir(os.path.join(folder, "gst-vkgdr")))
            os.environ["VKGDR_CACHE_DIR"] = os.path.join(folder, "mine")
            compiler.compile("__global__ void f () { }")
            self.assertTrue(os.listdir(os.path.join(folder, "mine")))

    def test_a_full_disk_leaves_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch(
                "os.replace", side_effect=OSError(28, "no space")):
            self.assertTrue(compiler.compile("__global__ void f () { }", cache_dir=folder))
            self.assertEqual(os.listdir(folder), [])

    def test_it_needs_no_driver(self) -> None:
        """On a machine that only compiles, NVRTC is found."""
        nvrtc: Any = _nvrtc.load()
        with tempfile.TemporaryDirectory() as folder:
            self.assert_prints("True NVRTC.*release.*", (
                f"import os; os.environ.update(VKGDR_DRIVER='software', VKGDR_SOFTCUDA_DIR={folder!r},"
                f" VKGDR_NVRTC={nvrtc._library._name!r})\n"
                "from vkgdr import compiler, driver\n"
                "try: driver.init()\n"
                "except driver.RuntimeError: print(True, end=' ')\n"
                "print(compiler.get_nvcc_version('nvcc'))"))

    def test_plain_sources(self) -> None:
        """compile_plain() adds nothing; preprocess_source() runs a program."""
        self.assertTrue(compiler.compile_plain(
            'extern "C" __global__ void f () { }', ["-DVALUE=1"], False, "nvcc", None))
        with tempfile.TemporaryDirectory() as folder:
            nvcc = os.path.join(folder, "nvcc")
            with self.assertRaisesRegex(driver.CompileError, "cannot be run"):
                compiler.preprocess_source("int x;", [], nvcc)
            with open(nvcc, "w", encoding="utf-8") as file:
                file.write('#!/bin/sh\necho "$1 $2"; cat kernel.cu\n')
            os.chmod(nvcc, 0o755)
            self.assertEqual(compiler.preprocess_source("int x;", ["-DX"], nvcc),
                             "--preprocess -DX\nint x;")

    def test_debugging(self) -> None:
        driver.set_debugging()
        self.addCleanup(driver.set_debugging, False)
        with self.assertRaises(driver.CompileError) as caught:
            compiler.compile("banana")
        self.assertIn("-G", caught.exception.command_line or ())

    def test_options(self) -> None:
        self.assertEqual(
            _nvrtc.translate(["-O3", "-Xcompiler", "-fPIC", "-I", "/a", "-I/b", "-D", "X=1", "-DY",
                              "-use_fast_math", "-arch", "sm_90", "-arch=sm_80", "-lcudadevrt",
                              "-lineinfo", "--ptxas-options=-v", "-std=c++17", "-rdc=true"]),
            ["-I/a", "-I/b", "-DX=1", "-DY", "--use_fast_math", "--gpu-architecture=sm_80",
             "-lineinfo", "--ptxas-options=-v", "--std=c++17",
             "--relocatable-device-code=true"])

    def test_host_headers_and_types_that_nvcc_knows(self) -> None:
        compiler.SourceModule(
            "#include <stdio.h>\n#include <stdint.h>\n"
            "__global__ void f (uint8_t *x, uint *y, ushort z, ulong u) { *x = *y + z + u; }")
        compiler.SourceModule("typedef unsigned int uint;\n__global__ void f (uint *x) { *x = 1; }")

    def test_errors(self) -> None:
        with self.assertRaises(driver.CompileError) as caught:
            compiler.SourceModule("\nbanana", no_extern_c=True)
        self.assertRegex(caught.exception.stderr or "", r"(?s)kernel.cu(:2:|\(2\)).*banana")
        self.assertIn("kernel.cu", caught.exception.command_line or ())

    def test_words_that_are_no_list(self) -> None:
        self.assert_raise(
            (TypeError, r"options is a list, such as \['-O3'\]", compiler.compile, "", "nvcc", "-O3"),
            (TypeError, "include_dirs is a list", lambda: compiler.compile("", include_dirs="/a")),
            (TypeError, "the source is a str, not bytes", compiler.SourceModule, b""))

    def test_dynamic_module_says_what_it_lacks(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        try:
            module = compiler.DynamicModule(cuda_libdir=folder.name)
        except driver.LogicError as error:
            self.assertIn("cuLinkCreate", str(error))
            return
        self.assert_raise((OSError, "cudadevrt", module.add_stdlib, "cudadevrt"))


class Tools(WithContext):
    def test_bins(self) -> None:
        pool = tools.DeviceMemoryPool()
        for size in [*range(1, 2000), 123456, 1 << 40]:
            bin = pool.bin_number(size)
            self.assertGreaterEqual(pool.alloc_size(bin), size)
            self.assertEqual(pool.bin_number(pool.alloc_size(bin)), bin)

    def test_counts(self) -> None:
        pool = tools.DeviceMemoryPool()
        first, second = pool.allocate(1000), pool.allocate(1000)
        self.assertEqual((pool.active_blocks, pool.active_bytes, pool.held_blocks), (2, 2000, 0))
        self.assertEqual(pool.managed_bytes, 2 * pool.alloc_size(pool.bin_number(1000)))
        driver.memset_d8(first, 1, 1000)
        address = int(second)
        del second
        self.assertEqual((pool.active_blocks, pool.held_blocks), (1, 1))
        third = pool.allocate(1010)  # of the same bin
        self.assertEqual(int(third), address)
        pool.stop_holding()
        third.free()
        self.assertRaises(driver.LogicError, third.free)
        self.assertEqual((pool.held_blocks, pool.active_blocks), (0, 1))
        del first
        self.assertEqual(pool.managed_bytes, 0)

    def test_a_full_device_frees_held_blocks(self) -> None:
        pool = tools.DeviceMemoryPool()
        half = driver.mem_get_info()[0] * 6 // 10
        for size in (half, half - half // 8):
            pool.allocate(size).free()
        self.assertEqual(pool.held_blocks, 1)

    def test_page_locked_pool(self) -> None:
        pool = tools.PageLockedMemoryPool()
        array = pool.allocate((4, 5), np.float32, "F")
        self.assertTrue(array.flags.f_contiguous)
        self.assertIsInstance(array.base, tools.PooledHostAllocation)
        self.assertEqual(pool.active_blocks, 1)
        del array
        self.assertEqual((pool.held_blocks, pool.active_blocks), (1, 0))
        pool.stop_holding()
        array = pool.allocate(4, np.float32)
        del array
        self.assertEqual((pool.held_blocks, pool.active_blocks), (0, 0))

    def test_a_pool_may_be_used_during_a_garbage_collection(self) -> None:
        """Also if another of its allocations has begun the collection."""
        pool = tools.DeviceMemoryPool()
        pool.allocate(1000).free()
        threads: List[threading.Thread] = []
        found: List[Any] = []

        def collect(phase: str, _: Any) -> None:
            if phase == "start" and not threads:
                threads.append(threading.Thread(target=lambda: found.append(pool.allocate(1000))))
                threads[0].start()
                threads[0].join(20)

        gc.callbacks.append(collect)
        self.addCleanup(gc.callbacks.remove, collect)
        self.assertRaises(driver.MemoryError, pool.allocate, 1 << 50)
        self.assertEqual(len(found), 1)
        self.assertEqual((pool.active_blocks, pool.held_blocks), (1, 0))

    def test_threads_share_a_pool(self) -> None:
        pool, context = tools.DeviceMemoryPool(), self.context

        def work(seed: int) -> set:
            context.push()
            addresses = set()
            for number in range(300):
                blocks = [pool.allocate(1000 * (1 + (number + seed + i) % 3)) for i in range(3)]
                self.assertEqual(len(set(map(int, blocks))), 3)
                addresses |= set(map(int, blocks))
                del blocks
            context.pop()
            return addresses

        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            used = set().union(*threads.map(work, range(4)))
        self.assertEqual((pool.active_blocks, pool.active_bytes), (0, 0))
        self.assertEqual(pool.held_blocks, len(used))
        pool.stop_holding()
        self.assertEqual((pool.held_blocks, pool.managed_bytes), (0, 0))

    def test_declarations(self) -> None:
        """The arguments of kernels, in C and in NumPy's types."""
        for text, kind, declaration in (
            ("const float *x", "P", "float *x"), ("unsigned int n", "I", "unsigned int n"),
            ("pycuda::complex<float> *__restrict__ z", "P", "pycuda::complex<float> *z"),
            ("double y[3]", "P", "double *y"), ("volatile  long  int  k", "l", "long k"),
        ):
            with self.subTest(text):
                argument = tools.parse_c_arg(text)
                self.assertEqual((argument.struct_char, argument.declarator()), (kind, declaration))
        self.assertEqual(repr(tools.ScalarArg("f4", "x")), "ScalarArg('x', float32)")
        pair = np.dtype([("a", "i4"), ("b", "f4")])
        self.assertEqual(tools.get_or_register_dtype(["pair_t", "pairs"], pair), pair)
        self.assertEqual(tools.get_or_register_dtype("pairs"), pair)
        self.assertEqual(tools.get_arg_type("pair_t p"), "8s")
        self.assertEqual(tools.dtype_to_ctype(pair), "pair_t")
        self.assertEqual(tools.dtype_to_ctype("f8", with_fp_tex_hack=True), "fp_tex_double")
        with self.assertWarns(DeprecationWarning):
            tools.register_dtype("S3", "three")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assert_raise(
                (RuntimeError, "pair_t", tools.get_or_register_dtype, "pair_t", "f4"),
                (RuntimeError, "alias_ok", tools.register_dtype, "f4", "float_t"),
                (KeyError, "", tools.get_or_register_dtype, "banana"),
                (ValueError, "banana", tools.parse_c_arg, "banana x"),
                (ValueError, "no declaration", tools.parse_c_arg, "float *"),
                (ValueError, "", tools.dtype_to_ctype, None),
                (ValueError, "", tools.dtype_to_ctype, "S5"))

    def test_a_pool_for_debugging(self) -> None:
        log = io.StringIO()
        pool = tools.DebugMemoryPool(interactive=False, logfile=log)
        first = pool.allocate(1000)
        pool.allocate(2000)
        self.assertRegex(log.getvalue(), (
            r"(?s)^1000 bytes for .*test_a_pool_for_debugging; device: \d+ of .*"
            r"2000 bytes for .*1 in use\n  1 blocks of 1000 bytes for .*debugging\n$"))
        named = tools.DebugMemoryPool(logfile=log)
        with unittest.mock.patch("builtins.input", side_effect=["here"]) as asked:
            for _ in range(2):
                named.allocate(10)
        self.assertEqual(asked.call_count, 1)
        self.assertIn("10 bytes for here", log.getvalue())
        del first

    def test_memoize(self) -> None:
        calls = []

        @tools.context_dependent_memoize
        def function(number: int) -> int:
            calls.append(number)
            return number

        function(1), function(1)
        other = driver.Device(0).make_context()
        function(1)
        other.detach()
        self.assertEqual(calls, [1, 1])


if __name__ == "__main__":
    support.main()
