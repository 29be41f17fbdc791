# SPDX-License-Identifier: LGPL-2.1-or-later
"""Code on the device in vkgdr.driver: modules, functions and their arguments."""

import ctypes
import functools
import operator
import os
import re
import struct
import threading
import time
import warnings
from typing import Any, Callable, Iterable, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._array import SurfaceReference, TextureReference
from ._constants import TR_DEFAULT, function_attribute, jit_option
from ._context import Context, ContextDependent, Event, Stream, acquire_context, bare
from ._cuda import (
    INVALID_HANDLE, INVALID_VALUE, Error, Handle, also_named, call, cu, error, pointer,
    stream_handle, uint,
)
from ._memory import DeviceAllocation, ManagedAllocation, mem_alloc_like, memcpy_dtoh, memcpy_htod

__all__ = [
    "ArgumentHandler", "CompileError", "Function", "In", "InOut", "Linker", "Module", "Out",
    "module_from_buffer", "module_from_file",
]

_LOG_SIZE = 32768  # bytes for each log of the driver's compiler, as in PyCUDA
_MOST_PARAMETERS = 32768  # bytes; CUDA allows 32764 on new devices, and 4096 on others


class CompileError(Error):
    """The source of a kernel could not be compiled."""

    def __init__(self, msg: str, command_line: Optional[Sequence[str]],
                 stdout: Optional[str] = None, stderr: Optional[str] = None) -> None:
        super().__init__(msg)
        self.msg = msg
        self.command_line = command_line
        self.stdout = stdout
        self.stderr = stderr

    def __str__(self) -> str:
        lines = [self.msg]
        if self.command_line:
            lines.append(f"[command: {' '.join(self.command_line)}]")
        for name in ("stdout", "stderr"):
            text = getattr(self, name)
            if text:
                lines.append(f"[{name}:\n{text}]")
        return "\n".join(lines)


# --- arguments of kernels ----------------------------------------------------


class ArgumentHandler:
    """An argument that is copied to or from the device for a call."""

    @also_named(array="ary")
    def __init__(self, ary: Any) -> None:
        self.array = ary
        self.dev_alloc: Optional[DeviceAllocation] = None

    def get_device_alloc(self) -> DeviceAllocation:
        if self.dev_alloc is None:
            try:
                self.dev_alloc = mem_alloc_like(self.array)
            except AttributeError:
                raise TypeError(
                    f"{type(self.array).__name__} is not an array: its size is not known"
                ) from None
        return self.dev_alloc

    def pre_call(self, stream: Any) -> None:
        pass


class In(ArgumentHandler):
    """An array that is copied to the device before the call."""

    def pre_call(self, stream: Any) -> None:
        memcpy_htod(self.get_device_alloc(), self.array)


class Out(ArgumentHandler):
    """An array that is copied from the device after the call, which waits for it."""

    def post_call(self, stream: Any) -> None:
        if stream is not None:
            cu.cuStreamSynchronize(stream_handle(stream))
        memcpy_dtoh(self.array, self.get_device_alloc())


class InOut(In, Out):
    """An array that is copied to the device before the call, and back after it."""


class _Packer:
    """Writes arguments in the layout of C, by a format of Python's module struct.
    In addition, F and D are complex numbers of single and of double precision.
    """

    def __init__(self, format: str) -> None:  # noqa: A002
        # The code of each argument. Counts repeat them, except for bytes.
        self._codes = "".join(
            code if code in "sp" else code * int(count or 1)
            for count, code in re.findall(r"(\d*)([a-wyzA-WYZ?])", format))
        self.struct = struct.Struct(format.replace("F", "ff").replace("D", "dd"))
        self.size = self.struct.size
        self._is_plain = not {"F", "D", "s"} & set(self._codes)

    def pack_into(self, buffer: bytearray, args: Sequence[Any]) -> None:
        if self._is_plain:
            try:
                self.struct.pack_into(buffer, 0, *args)
                return
            except struct.error:
                pass  # an object of the device that is not an integer, or an error
        self.struct.pack_into(buffer, 0, *self._values(args))

    def _values(self, args: Sequence[Any]) -> List[Any]:
        if len(args) != len(self._codes):
            raise struct.error(f"{len(self._codes)} arguments were prepared, not {len(args)}")
        values: List[Any] = []
        for code, arg in zip(self._codes, args):
            if code in "FD":
                values += [complex(arg).real, complex(arg).imag]
            elif code == "s":
                values.append(arg if isinstance(arg, bytes) else memoryview(arg).tobytes("A"))
            elif code == "P":
                values.append(pointer(getattr(arg, "gpudata", arg)))
            else:
                values.append(arg)
        return values


_packer: Callable[[str], _Packer] = functools.lru_cache(None)(_Packer)


def _describe(index: int, arg: Any) -> Tuple[str, Any]:
    """The format and the value of an argument whose type was not prepared."""
    if isinstance(arg, np.number):
        return arg.dtype.char, arg
    if isinstance(arg, np.ndarray) and isinstance(arg.base, ManagedAllocation):
        return "P", arg.ctypes.data
    if isinstance(arg, ArgumentHandler):
        arg = arg.get_device_alloc()
    is_number = isinstance(arg, (int, float, complex, str))  # whose size would be a guess
    converters: Any = () if is_number else (memoryview, pointer)
    for convert in converters:
        try:
            value = convert(getattr(arg, "gpudata", arg))
            return ("P", value) if convert is pointer else (f"{value.nbytes}s", value)
        except TypeError:
            pass
    raise TypeError(f"invalid type on parameter #{index} (0-based)")


def _packer_of(args: Sequence[Any]) -> Tuple[_Packer, List[Any]]:
    """The packer and the values of arguments whose types were not prepared."""
    described = [_describe(i, arg) for i, arg in enumerate(args)]
    return (_packer("".join(format for format, _ in described)), [value for _, value in described])


# --- launching ----------------------------------------------------------------

# CUlaunchConfig: grid, block, shared memory, stream, and no attributes; behind it the
# size of the arguments.
_CONFIG = struct.Struct("7IQQIQ")


class _Launch(threading.local):
    """A thread's description of a launch, and its arguments. CUDA copies both."""

    def __init__(self) -> None:
        self.config = bytearray(_CONFIG.size)
        self.parameters = bytearray(_MOST_PARAMETERS)
        self.address, parameters = (
            ctypes.addressof(ctypes.c_char.from_buffer(buffer))
            for buffer in (self.config, self.parameters))
        size = self.address + _CONFIG.size - 8
        # CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END
        self.extra = (ctypes.c_void_p * 5)(1, parameters, 2, size, 0)


_launch = _Launch()


class Function(Handle):
    """A kernel of a module. The values of function_attribute are attributes, too."""

    _prepared: Optional[_Packer] = None
    texrefs: Sequence[TextureReference] = ()

    def __init__(self, module: "Module", name: str) -> None:
        self.handle: int = cu.cuModuleGetFunction(module.handle, name)
        self._module = module
        # What the calls of before 2011 set.
        self._block: Sequence[int] = (1, 1, 1)
        self._shared, self._parameters = 0, bytearray()
        self._call = cu.raw("cuLaunchKernelEx")

    def _start(self, grid: Sequence[int], block: Sequence[int], size: int, shared: int,
               stream: Any) -> None:
        """Launches with the arguments that are in the buffer of this thread."""
        if not len(grid) < 4 > len(block):
            raise error("function::launch_kernel", INVALID_HANDLE,
                        "too many dimensions in kernel launch")
        launch = _launch
        handle = stream.handle if type(stream) is Stream else stream_handle(stream) or 0
        try:
            _CONFIG.pack_into(launch.config, 0, *(*grid, 1, 1, 1)[:3], *(*block, 1, 1)[:3], shared,
                              handle, 0, 0, size)
        except struct.error:
            for number in (*grid, *block, shared):
                uint(number, 32)  # raises the right exception
            raise
        result = self._call(launch.address, self.handle, None, launch.extra)
        if result:
            raise error("cuLaunchKernel", result)

    def __call__(self, *args: Any, block: Optional[Sequence[int]] = None,
                 grid: Sequence[int] = (1, 1), stream: Any = None, shared: int = 0,
                 texrefs: Sequence[TextureReference] = (), time_kernel: bool = False,
                 **unknown: Any) -> Optional[float]:
        """Launches the kernel. Without `stream`, arguments that are Out are complete
        when this returns. With time_kernel, returns the duration in seconds.
        """
        if unknown:
            raise ValueError(f"extra keyword arguments: {','.join(unknown)}")
        if block is None:
            raise ValueError("must specify block size")
        packer, values = _packer_of(args)
        assert stream is None or not time_kernel, "only a launch without a stream can be timed"
        handlers = [arg for arg in args if isinstance(arg, ArgumentHandler)]
        for handler in handlers:
            handler.pre_call(stream)
        self._use_textures(texrefs)
        after: List[Any] = [handler for handler in handlers if hasattr(handler, "post_call")]
        if time_kernel:
            Context.synchronize()
        started = time.perf_counter()
        packer.pack_into(_launch.parameters, values)
        self._start(grid, block, packer.size, shared, stream)
        if stream is None and (after or time_kernel):
            Context.synchronize()
        duration = time.perf_counter() - started
        for done in after:
            done.post_call(stream)
        return duration if time_kernel else None

    def prepare(self, arg_types: Iterable[Any], shared: Optional[int] = None,
                texrefs: Sequence[TextureReference] = ()) -> "Function":
        """Sets the types of the arguments for prepared_call() and its like: letters of
        the module struct, F, D, and types of NumPy. All else is a pointer.
        """
        if shared is not None:
            _deprecated("setting the shared memory size in Function.prepare")
            self._shared = shared
        self.texrefs = texrefs
        self.arg_format = "".join(map(_type_code, arg_types))
        self._prepared = _packer(self.arg_format)
        return self

    # prepared_call() calling prepared_async_call() would take 0.7 us more for a launch.
    def _launch_prepared(self, grid: Sequence[int], block: Sequence[int], stream: Any,
                         args: Sequence[Any], shared_size: int) -> None:
        packer = self._prepared
        if packer is None:
            raise AttributeError("prepare() was not called for this function")
        if self.texrefs:
            self._use_textures(self.texrefs)
        packer.pack_into(_launch.parameters, args)
        self._start(grid, block, packer.size, shared_size or self._shared, stream)

    def prepared_call(self, grid: Sequence[int], block: Sequence[int], *args: Any,
                      shared_size: int = 0) -> None:
        self._launch_prepared(grid, block, None, args, shared_size)

    def prepared_async_call(self, grid: Sequence[int], block: Sequence[int], stream: Any,
                            *args: Any, shared_size: int = 0) -> None:
        self._launch_prepared(grid, block, stream, args, shared_size)

    def prepared_timed_call(self, grid: Sequence[int], block: Sequence[int], *args: Any,
                            shared_size: int = 0) -> Callable[[], float]:
        """Returns a function that waits, and returns the seconds it took."""
        start, end = Event(), Event()
        start.record()
        self.prepared_call(grid, block, *args, shared_size=shared_size)
        end.record()
        return lambda: end.synchronize().time_since(start) * 1e-3

    get_attribute = call("cuFuncGetAttribute", "self, attr", uses="attr, self.handle")
    set_attribute = call("cuFuncSetAttribute", "self, attr, value")
    set_cache_config = call("cuFuncSetCacheConfig", "self, fc")
    set_shared_config = call("cuFuncSetSharedMemConfig", "self, sc")
    # Makes a texture available to the kernel.
    param_set_texref = call("cuParamSetTexRef", "self, texref",
                            uses=f"self.handle, {TR_DEFAULT}, texref")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.get_attribute(getattr(function_attribute, name.upper()))

    def _use_textures(self, texrefs: Sequence[TextureReference]) -> None:
        for texref in texrefs:
            self.param_set_texref(texref)

    # The names by which PyCUDA's driver.py calls its module _driver. All but the first are
    # the calls of before 2011, whose public names are below.

    def _launch_kernel(self, grid: Sequence[int], block: Sequence[int], parameters: Any,
                       shared: int, stream: Any) -> None:
        with memoryview(parameters) as data:
            _launch.parameters[: data.nbytes] = data
            self._start(grid, block, data.nbytes, shared, stream)

    def _set_block_shape(self, x: int, y: int, z: int) -> None:
        block = tuple(uint(length, 32) for length in (x, y, z))
        if min(block) < 1:
            raise error("cuFuncSetBlockShape", INVALID_VALUE)
        self._block = block

    def _set_shared_size(self, bytes: int) -> None:  # noqa: A002
        self._shared = uint(bytes, 32)

    def _param_set_size(self, bytes: int) -> None:  # noqa: A002
        self._parameters = self._parameters[:uint(bytes)].ljust(bytes, b"\0")

    def _param_setv(self, offset: int, value: Any) -> None:
        data = memoryview(value).tobytes("A")
        self._param_set_size(max(len(self._parameters), uint(offset) + len(data)))
        self._parameters[offset : offset + len(data)] = data

    def _param_seti(self, offset: int, value: int) -> None:
        self._param_setv(offset, struct.pack("I", uint(value, 32)))

    def _param_setf(self, offset: int, value: float) -> None:
        self._param_setv(offset, struct.pack("f", value))

    def _param_set(self, *args: Any) -> None:
        packer, values = _packer_of(args)
        self._parameters = bytearray(packer.size)
        packer.pack_into(self._parameters, values)

    def _launch_grid_async(self, width: int, height: int, stream: Any) -> None:
        self._launch_kernel((width, height), self._block, self._parameters, self._shared, stream)

    _launch_grid = functools.partialmethod(_launch_grid_async, stream=None)
    _launch = functools.partialmethod(_launch_grid_async, 1, 1, None)


def _deprecated(what: str) -> None:
    warnings.warn(f"{what} is deprecated since PyCUDA 2011.1: give it with each call",
                  DeprecationWarning, stacklevel=3)


def _old_call(name: str) -> Any:
    def call(self: Function, *args: Any, **keywords: Any) -> Any:
        _deprecated(name)
        return getattr(self, f"_{name}")(*args, **keywords)

    return call


for _name in ("set_block_shape", "set_shared_size", "param_set", "param_set_size", "param_seti",
              "param_setf", "param_setv", "launch", "launch_grid", "launch_grid_async"):
    setattr(Function, _name, _old_call(_name))


def _type_code(kind: Any) -> str:
    if isinstance(kind, str):
        return kind
    if isinstance(kind, type) and issubclass(kind, np.generic):
        kind = np.dtype(kind)
    if isinstance(kind, np.dtype):
        return f"{kind.itemsize}s" if kind.char == "V" else kind.char
    return "P"


# --- modules ------------------------------------------------------------------


class Module(Handle, ContextDependent):
    """Code that is loaded on the device, which is unloaded with the object."""

    _FREE = "cuModuleUnload"

    def __init__(self, image: Any, options: Any = (), message_handler: Any = None) -> None:
        handle, compiler = ctypes.c_void_p(), _Compiler(message_handler, options)
        compiler.call("cuModuleLoadDataEx", ctypes.byref(handle), _image(image),
                      *compiler.options, is_last=True)
        self._context, self.handle = acquire_context(), handle.value

    @classmethod
    def _loaded(cls, handle: Any) -> "Module":
        return bare(cls, _context=acquire_context(), handle=handle)

    def get_function(self, name: str) -> Function:
        return Function(self, name)

    # The address and the size in bytes of a global variable.
    get_global = call("cuModuleGetGlobal", "self, name")

    def get_texref(self, name: str) -> TextureReference:
        return TextureReference._of_module(self, "cuModuleGetTexRef", name)

    def get_surfref(self, name: str) -> SurfaceReference:
        return SurfaceReference._of_module(self, "cuModuleGetSurfRef", name)


def _image(data: Any) -> bytes:
    """PTX has to end with a null character."""
    return (data.encode() if isinstance(data, str) else memoryview(data).tobytes()) + b"\0"


class _Compiler:
    """Calls of the driver's compiler. The user's handler is called with whether it worked,
    and two texts of the compiler.
    """

    def __init__(self, handler: Any, options: Any, verbose: bool = False) -> None:
        self._handler = handler
        self._buffers = [ctypes.create_string_buffer(_LOG_SIZE) for _ in range(2)]
        info, errors = map(ctypes.addressof, self._buffers)
        pairs = [
            (jit_option.INFO_LOG_BUFFER, info),
            (jit_option.INFO_LOG_BUFFER_SIZE_BYTES, _LOG_SIZE),
            (jit_option.ERROR_LOG_BUFFER, errors),
            (jit_option.ERROR_LOG_BUFFER_SIZE_BYTES, _LOG_SIZE),
        ]
        if verbose:
            pairs.append((jit_option.LOG_VERBOSE, 1))
        pairs += [(operator.index(key), operator.index(value)) for key, value in options or ()]
        self.options = (len(pairs), (ctypes.c_int * len(pairs))(*(key for key, _ in pairs)),
                        (ctypes.c_void_p * len(pairs))(*(value for _, value in pairs)))

    def call(self, function: str, *arguments: Any, is_last: bool = False) -> None:
        result = cu.raw(function)(*arguments)
        info, errors = (buffer.value.decode(errors="replace") for buffer in self._buffers)
        if self._handler is not None and (result or is_last):
            self._handler(result == 0, info, errors)
        if result:
            raise error(function, result, errors)


def module_from_file(filename: Union[str, "os.PathLike[str]"]) -> Module:
    return Module._loaded(cu.cuModuleLoad(filename))


def module_from_buffer(buffer: Any, options: Any = (), message_handler: Any = None) -> Module:
    """Loads an image. The options are pairs of a jit_option and a value."""
    return Module(buffer, options, message_handler)


class Linker(ContextDependent):
    """Links images to one module."""

    _FREE = "cuLinkDestroy"

    def __init__(self, message_handler: Any = None, options: Any = None,
                 log_verbose: bool = False) -> None:
        handle, compiler = ctypes.c_void_p(), _Compiler(message_handler, options, log_verbose)
        compiler.call("cuLinkCreate", *compiler.options, ctypes.byref(handle))
        self._context, self.handle, self._call = acquire_context(), handle.value, compiler.call

    def add_data(self, data: Any, input_type: int, name: str = "unknown") -> None:
        image = _image(data)
        self._call("cuLinkAddData", self.handle, operator.index(input_type), image, len(image),
                   name.encode(), 0, None, None)

    def add_file(self, filename: str, input_type: int) -> None:
        self._call("cuLinkAddFile", self.handle, operator.index(input_type),
                   os.fsencode(filename), 0, None, None)

    def link_module(self) -> Module:
        image, module = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuLinkComplete", self.handle, ctypes.byref(image),
                   ctypes.byref(ctypes.c_size_t()))
        self._call("cuModuleLoadData", ctypes.byref(module), image, is_last=True)
        handle, self.handle = self.handle, None
        self._release(self._FREE, handle)
        return Module._loaded(module.value)
