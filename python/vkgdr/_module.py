# SPDX-License-Identifier: LGPL-2.1-or-later
"""Code on the device in vkgdr.driver: modules, functions and their arguments."""

import ctypes
import functools
import operator
import os
import re
import struct
import time
import warnings
from typing import Any, Callable, Iterable, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._array import SurfaceReference, TextureReference
from ._constants import TR_DEFAULT, function_attribute, jit_option
from ._context import Context, ContextDependent, Event, Stream, acquire_context, bare
from ._cuda import (
    INVALID_HANDLE, INVALID_VALUE, Address, Error, Handle, also_named, cu, error, host_view,
    pointer, stream_handle, uint,
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
        """The memory of the device, which the first call allocates."""
        if self.dev_alloc is None:
            try:
                self.dev_alloc = mem_alloc_like(self.array)
            except AttributeError:
                raise TypeError(
                    f"{type(self.array).__name__} is not an array: its size is not known"
                ) from None
        return self.dev_alloc

    def pre_call(self, stream: Any) -> None:
        """Is called before the launch."""


class In(ArgumentHandler):
    """An array that is copied to the device before the call."""

    def pre_call(self, stream: Any) -> None:
        """Copies the array to the device."""
        memcpy_htod(self.get_device_alloc(), self.array)


class Out(ArgumentHandler):
    """An array that is copied from the device after the call, which waits for it."""

    def post_call(self, stream: Any) -> None:
        """Waits for the launch, and copies the array from the device."""
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
                values.append(arg if isinstance(arg, bytes) else host_view(arg).tobytes("A"))
            elif code == "P":
                values.append(pointer(getattr(arg, "gpudata", arg)))
            else:
                values.append(arg)
        return values


_packer: Callable[[str], _Packer] = functools.lru_cache(None)(_Packer)


def _find_code(kind: type) -> str:
    """The format of all arguments of this type, or nothing if there is no such format."""
    if issubclass(kind, np.number):
        return np.dtype(kind).char
    return "P" if issubclass(kind, Address) else ""


_code_of: Callable[[type], str] = functools.lru_cache()(_find_code)


def _describe(index: int, arg: Any) -> Tuple[str, Any]:
    """The format and the value of an argument whose type has no format of its own."""
    if isinstance(arg, np.ndarray) and isinstance(arg.base, ManagedAllocation):
        return "P", arg.ctypes.data
    if isinstance(arg, ArgumentHandler):
        arg = arg.get_device_alloc()
    is_number = isinstance(arg, (int, float, complex, str))  # whose size would be a guess
    converters: Any = () if is_number else (host_view, pointer)
    for convert in converters:
        try:
            value = convert(getattr(arg, "gpudata", arg))
            return ("P", value) if convert is pointer else (f"{value.nbytes}s", value)
        except TypeError:
            pass
    raise TypeError(f"the argument {index}, counted from 0, is of type {type(arg).__name__}: "
                    "prepare() sets the types of numbers, or pass NumPy's")


def _packer_of(args: Sequence[Any]) -> Tuple[_Packer, List[Any]]:
    """The packer and the values of arguments whose types were not prepared."""
    codes, values = [], []
    for i, arg in enumerate(args):
        code, value = _code_of(type(arg)), arg
        if not code:
            code, value = _describe(i, arg)
        codes.append(code)
        values.append(value)
    return _packer("".join(codes)), values


# --- launching ----------------------------------------------------------------

# CUlaunchConfig: grid, block, shared memory, stream, and no attributes; behind it the
# size of the arguments.
_CONFIG = struct.Struct("7IQQIQ")


class _Launch:
    """The description of a launch, and its arguments. CUDA copies both."""

    def __init__(self) -> None:
        self.config = bytearray(_CONFIG.size)
        self.parameters = bytearray(_MOST_PARAMETERS)
        self.address, parameters = (
            ctypes.addressof(ctypes.c_char.from_buffer(buffer))
            for buffer in (self.config, self.parameters))
        size = self.address + _CONFIG.size - 8
        # CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END
        self.extra = (ctypes.c_void_p * 5)(1, parameters, 2, size, 0)


# Those that no launch uses. A launch takes one, and puts it back: while it converts its
# arguments, code of the user may launch another kernel.
_launches: List[_Launch] = []


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

    # Functions for its parts would take 0.7 us more for a launch.
    def _start(self, grid: Sequence[int], block: Sequence[int], packer: Any, args: Sequence[Any],
               shared: int, stream: Any) -> None:
        if not len(grid) < 4 > len(block):
            raise error("cuLaunchKernel", INVALID_HANDLE,
                        "the grid and the block have at most 3 dimensions")
        handle = stream.handle if type(stream) is Stream else stream_handle(stream) or 0
        try:
            launch = _launches.pop()
        except IndexError:
            launch = _Launch()
        try:
            packer.pack_into(launch.parameters, args)
            try:
                _CONFIG.pack_into(launch.config, 0, *(*grid, 1, 1, 1)[:3], *(*block, 1, 1)[:3],
                                  shared, handle, 0, 0, packer.size)
            except struct.error:
                for number in (*grid, *block, shared):
                    uint(number, 32)  # raises the right exception
                raise
            result = self._call(launch.address, self.handle, None, launch.extra)
        finally:
            _launches.append(launch)
        if result:
            raise error("cuLaunchKernel", result)

    def __call__(self, *args: Any, block: Optional[Sequence[int]] = None,
                 grid: Sequence[int] = (1, 1), stream: Any = None, shared: int = 0,
                 texrefs: Optional[Sequence[TextureReference]] = None, time_kernel: bool = False,
                 **unknown: Any) -> Optional[float]:
        """Launches the kernel. Without `stream`, arguments that are Out are complete
        when this returns. With time_kernel, returns the duration in seconds.
        """
        if unknown:
            raise ValueError(f"a launch has no keyword {', '.join(unknown)}")
        if block is None:
            raise ValueError("a launch needs the size of its blocks: block=(x, y, z)")
        packer, values = _packer_of(args)
        assert stream is None or not time_kernel, "only a launch without a stream can be timed"
        handlers = [arg for arg in args if isinstance(arg, ArgumentHandler)]
        if not (handlers or texrefs or time_kernel):
            self._start(grid, block, packer, values, shared, stream)
            return None
        for handler in handlers:
            handler.pre_call(stream)
        self._use_textures(texrefs or ())
        after: List[Any] = [handler for handler in handlers if hasattr(handler, "post_call")]
        if time_kernel:
            Context.synchronize()
        started = time.perf_counter()
        self._start(grid, block, packer, values, shared, stream)
        if stream is None and (after or time_kernel):
            Context.synchronize()
        duration = time.perf_counter() - started
        for done in after:
            done.post_call(stream)
        return duration if time_kernel else None

    def prepare(self, arg_types: Iterable[Any], shared: Optional[int] = None,
                texrefs: Optional[Sequence[TextureReference]] = None) -> "Function":
        """Sets the types of the arguments for prepared_call() and its like: letters of
        the module struct, F, D, and types of NumPy. All else is a pointer.
        """
        if shared is not None:
            _deprecated("the argument shared of prepare()")
            self._shared = shared
        self.texrefs = texrefs or ()
        self.arg_format = "".join(map(_type_code, arg_types))
        self._prepared = _packer(self.arg_format)
        return self

    def _launch_prepared(self, grid: Sequence[int], block: Sequence[int], stream: Any,
                         args: Sequence[Any], shared_size: int) -> None:
        packer = self._prepared
        if packer is None:
            raise AttributeError("prepare() was not called for this function")
        if self.texrefs:
            self._use_textures(self.texrefs)
        self._start(grid, block, packer, args, shared_size or self._shared, stream)

    def prepared_call(self, grid: Sequence[int], block: Sequence[int], *args: Any,
                      shared_size: int = 0) -> None:
        """Launches the kernel with arguments of the types that prepare() has set."""
        self._launch_prepared(grid, block, None, args, shared_size)

    def prepared_async_call(self, grid: Sequence[int], block: Sequence[int], stream: Any,
                            *args: Any, shared_size: int = 0) -> None:
        """The same as prepared_call(), in the order of a stream."""
        self._launch_prepared(grid, block, stream, args, shared_size)

    def prepared_timed_call(self, grid: Sequence[int], block: Sequence[int], *args: Any,
                            shared_size: int = 0) -> Callable[[], float]:
        """Returns a function that waits, and returns the seconds it took."""
        start, end = Event(), Event()
        start.record()
        self.prepared_call(grid, block, *args, shared_size=shared_size)
        end.record()
        return lambda: end.synchronize().time_since(start) * 1e-3

    def get_attribute(self, attr: int) -> int:
        """The value of a function_attribute."""
        return cu.cuFuncGetAttribute(attr, self.handle)

    def set_attribute(self, attr: int, value: int) -> None:
        """Sets a function_attribute."""
        cu.cuFuncSetAttribute(self.handle, attr, value)

    def set_cache_config(self, fc: int) -> None:
        """Sets the func_cache."""
        cu.cuFuncSetCacheConfig(self.handle, fc)

    def set_shared_config(self, sc: int) -> None:
        """Sets the shared_config."""
        cu.cuFuncSetSharedMemConfig(self.handle, sc)

    def param_set_texref(self, texref: TextureReference) -> None:
        """Makes a texture available to the kernel."""
        cu.cuParamSetTexRef(self.handle, TR_DEFAULT, texref)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.get_attribute(getattr(function_attribute, name.upper()))

    def _use_textures(self, texrefs: Sequence[TextureReference]) -> None:
        for texref in texrefs:
            self.param_set_texref(texref)

    # The calls of before 2011.

    def set_block_shape(self, x: int, y: int, z: int) -> None:
        """Deprecated: pass `block` with each call."""
        _deprecated("set_block_shape")
        block = tuple(uint(length, 32) for length in (x, y, z))
        if min(block) < 1:
            raise error("cuFuncSetBlockShape", INVALID_VALUE)
        self._block = block

    def set_shared_size(self, bytes: int) -> None:  # noqa: A002
        """Deprecated: pass `shared` with each call."""
        _deprecated("set_shared_size")
        self._shared = uint(bytes, 32)

    def param_set(self, *args: Any) -> None:
        """Deprecated: pass the arguments with each call."""
        _deprecated("param_set")
        packer, values = _packer_of(args)
        self._parameters = bytearray(packer.size)
        packer.pack_into(self._parameters, values)

    def param_set_size(self, bytes: int) -> None:  # noqa: A002
        """Deprecated: pass the arguments with each call."""
        _deprecated("param_set_size")
        self._resize_parameters(uint(bytes))

    def param_setv(self, offset: int, value: Any) -> None:
        """Deprecated: pass the arguments with each call."""
        _deprecated("param_setv")
        self._write_parameter(offset, value)

    def param_seti(self, offset: int, value: int) -> None:
        """Deprecated: pass the arguments with each call."""
        _deprecated("param_seti")
        self._write_parameter(offset, struct.pack("I", uint(value, 32)))

    def param_setf(self, offset: int, value: float) -> None:
        """Deprecated: pass the arguments with each call."""
        _deprecated("param_setf")
        self._write_parameter(offset, struct.pack("f", value))

    def launch(self) -> None:
        """Deprecated: call the function."""
        _deprecated("launch")
        self._start_old(1, 1, None)

    def launch_grid(self, width: int, height: int) -> None:
        """Deprecated: call the function."""
        _deprecated("launch_grid")
        self._start_old(width, height, None)

    def launch_grid_async(self, width: int, height: int, stream: Any) -> None:
        """Deprecated: call the function."""
        _deprecated("launch_grid_async")
        self._start_old(width, height, stream)

    def _resize_parameters(self, size: int) -> None:
        self._parameters = self._parameters[:size].ljust(size, b"\0")

    def _write_parameter(self, offset: int, value: Any) -> None:
        data = host_view(value).tobytes("A")
        self._resize_parameters(max(len(self._parameters), uint(offset) + len(data)))
        self._parameters[offset : offset + len(data)] = data

    def _start_old(self, width: int, height: int, stream: Any) -> None:
        packer = _packer(f"{len(self._parameters)}s")
        self._start((width, height), self._block, packer, [bytes(self._parameters)], self._shared,
                    stream)


def _deprecated(what: str) -> None:
    warnings.warn(f"{what} is deprecated since PyCUDA 2011.1: give it with each call",
                  DeprecationWarning, stacklevel=3)


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
        """A kernel of the module."""
        return Function(self, name)

    def get_global(self, name: str) -> Tuple[int, int]:
        """The address and the size in bytes of a global variable."""
        return cu.cuModuleGetGlobal(self.handle, name)

    def get_texref(self, name: str) -> TextureReference:
        """A texture reference of the module."""
        return TextureReference._of_module(self, "cuModuleGetTexRef", name)

    def get_surfref(self, name: str) -> SurfaceReference:
        """A surface reference of the module."""
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
    """Loads a file with an image: CUBIN, PTX or a fat binary."""
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
        """Adds an image of a jit_input_type."""
        image = _image(data)
        self._call("cuLinkAddData", self.handle, operator.index(input_type), image, len(image),
                   name.encode(), 0, None, None)

    def add_file(self, filename: str, input_type: int) -> None:
        """Adds a file of a jit_input_type."""
        self._call("cuLinkAddFile", self.handle, operator.index(input_type),
                   os.fsencode(filename), 0, None, None)

    def link_module(self) -> Module:
        """Links what was added, and loads the module."""
        image, module = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuLinkComplete", self.handle, ctypes.byref(image),
                   ctypes.byref(ctypes.c_size_t()))
        self._call("cuModuleLoadData", ctypes.byref(module), image, is_last=True)
        handle, self.handle = self.handle, None
        self._release(self._FREE, handle)
        return Module._loaded(module.value)
