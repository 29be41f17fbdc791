# SPDX-License-Identifier: LGPL-2.1-or-later
"""The CUDA driver by ctypes: loading, prototypes, errors and the conversion of
arguments. The classes of vkgdr.driver are built on it.
"""

import builtins
import ctypes
import functools
import operator
import os
from typing import Any, Callable, Dict, Optional, Protocol, SupportsIndex, Tuple, TypeVar, Union

from ._library import Unique, last_error, lib, structure, types

__all__ = ["Error", "LaunchError", "LogicError", "MemoryError", "RuntimeError"]

_F = TypeVar("_F", bound=Callable[..., Any])


class _HasDevicePointer(Protocol):
    @property
    def __cuda_array_interface__(self) -> Any: ...


#: Memory of the device: an address, an object that is one, or an array of any library.
DevicePointer = Union[SupportsIndex, _HasDevicePointer]

#: The version of the driver API for which this module was written.
CUDA_VERSION = 13000

INVALID_VALUE = 1
OUT_OF_MEMORY = 2
NOT_INITIALIZED = 3
DEINITIALIZED = 4
NO_DEVICE = 100
INVALID_CONTEXT = 201
INVALID_HANDLE = 400
NOT_READY = 600
LAUNCH_FAILED = 719
NOT_SUPPORTED = 801


class Error(Exception):
    """An error of the CUDA driver. `code` is its CUresult, or None."""

    code: Optional[int] = None


class MemoryError(Error):  # noqa: A001 # PyCUDA's name
    """There was not enough memory."""


class LogicError(Error):
    """A call that is wrong in itself, such as one with an invalid argument: all codes
    but those of the other classes.
    """


class LaunchError(Error):
    """A kernel failed. A later call may report it."""


class RuntimeError(Error):  # noqa: A001 # PyCUDA's name
    """A failure that does not depend on the program, such as a missing device."""


# 701 to 703: out of resources, timeout, texturing; 209 no binary for this GPU; 214 ECC
# error; 301 file not found; 999 unknown.
_CLASSES: Dict[int, type] = {
    OUT_OF_MEMORY: MemoryError, 999: Error,
    **dict.fromkeys((701, 702, 703, LAUNCH_FAILED), LaunchError),
    **dict.fromkeys((NO_DEVICE, 209, 214, 301, NOT_READY), RuntimeError),
}


def error(routine: str, code: int, text: str = "") -> Error:
    """Returns the exception for a code, of the class that PyCUDA uses for it."""
    words = "the driver is not initialized" if code == NOT_INITIALIZED else f"error {code}"
    if cu.library is not None:
        pointer = ctypes.c_char_p()
        if cu.raw("cuGetErrorString")(code, ctypes.byref(pointer)) == 0 and pointer.value:
            words = pointer.value.decode(errors="replace")
    message = f"{routine} failed: {words}" + (f" - {text}" if text else "")
    result: Error = _CLASSES.get(code, LogicError)(message)
    result.code = code
    return result


# CUipcMemHandle and CUipcEventHandle, which are passed by value.
IpcHandle = structure("IpcHandle", "N reserved", N=ctypes.c_char * 64)

# Functions, the version of their symbol, the results that CUDA writes to its first
# arguments, ">", and the other arguments. S is a stream, X an IpcHandle; A, C, E, T and V
# are an Array, Context, Event, TextureReference and Device.
_PROTOTYPES = """
cuGetErrorString iP  cuDriverGetVersion i>  cuInit I
cuDeviceGetCount i>  cuDeviceGet i>i  cuDeviceGetByPCIBusId i>s  cuDeviceGetName Pii
cuDeviceGetPCIBusId Pii  cuDeviceTotalMem_v2 z>i  cuDeviceGetAttribute i>ii
cuDeviceCanAccessPeer i>VV  cuDevicePrimaryCtxRetain P>i  cuDevicePrimaryCtxRelease_v2 i
cuCtxCreate_v2 P>Ii  cuCtxAttach P>I  cuCtxDetach P  cuCtxPushCurrent_v2 P
cuCtxPopCurrent_v2 P>  cuCtxGetCurrent P>  cuCtxGetDevice i>  cuCtxSynchronize -
cuCtxSetLimit iz  cuCtxGetLimit z>i  cuCtxGetCacheConfig i>  cuCtxSetCacheConfig i
cuCtxGetSharedMemConfig i>  cuCtxSetSharedMemConfig i  cuCtxGetApiVersion PP
cuCtxEnablePeerAccess CI  cuCtxDisablePeerAccess C
cuStreamCreate P>I  cuStreamDestroy_v2 P  cuStreamSynchronize P  cuStreamQuery P
cuStreamWaitEvent PEI  cuStreamAttachMemAsync SDzI
cuEventCreate P>I  cuEventDestroy_v2 P  cuEventRecord PS  cuEventSynchronize P
cuEventQuery P  cuEventElapsedTime f>EE  cuIpcGetEventHandle X>P  cuIpcOpenEventHandle P>X
cuMemGetInfo_v2 zz>  cuMemAlloc_v2 D>z  cuMemAllocPitch_v2 Dz>zzI  cuMemFree_v2 D
cuMemGetAddressRange_v2 Dz>D  cuIpcGetMemHandle X>D
cuIpcOpenMemHandle_v2 D>XI  cuIpcCloseMemHandle D
cuMemAllocManaged D>zI  cuMemAdvise Dzii
cuMemHostAlloc P>zI  cuMemFreeHost P  cuMemHostGetDevicePointer_v2 D>PI  cuMemHostGetFlags I>P
cuMemHostRegister_v2 PzI  cuMemHostUnregister P
cuMemsetD8_v2 DBz  cuMemsetD16_v2 DHz  cuMemsetD32_v2 DIz
cuMemsetD2D8_v2 DzBzz  cuMemsetD2D16_v2 DzHzz  cuMemsetD2D32_v2 DzIzz
cuMemsetD8Async DBzS  cuMemsetD16Async DHzS  cuMemsetD32Async DIzS
cuMemsetD2D8Async DzBzzS  cuMemsetD2D16Async DzHzzS  cuMemsetD2D32Async DzIzzS
cuMemcpyHtoD_v2 DPz  cuMemcpyHtoDAsync_v2 DPzS  cuMemcpyDtoH_v2 PDz  cuMemcpyDtoHAsync_v2 PDzS
cuMemcpyDtoD_v2 DDz  cuMemcpyDtoDAsync_v2 DDzS
cuMemcpyPeer DCDCz  cuMemcpyPeerAsync DCDCzS
cuMemcpyDtoA_v2 AzDz  cuMemcpyAtoD_v2 DAzz  cuMemcpyHtoA_v2 AzPz  cuMemcpyAtoH_v2 PAzz
cuMemcpyAtoA_v2 AzAzz
cuMemcpy2D_v2 P  cuMemcpy2DUnaligned_v2 P  cuMemcpy2DAsync_v2 PS  cuMemcpy3D_v2 P
cuMemcpy3DAsync_v2 PS  cuMemcpy3DPeer P  cuMemcpy3DPeerAsync PS
cuArrayCreate_v2 P>P  cuArray3DCreate_v2 P>P  cuArrayDestroy P  cuArrayGetDescriptor_v2 PP
cuArray3DGetDescriptor_v2 PP
cuTexRefCreate P>  cuTexRefDestroy P  cuTexRefSetArray PAI  cuTexRefGetArray P>P
cuTexRefSetAddress_v2 z>PDz  cuTexRefSetAddress2D_v3 PPDz  cuTexRefGetAddress_v2 D>P
cuTexRefSetFormat Pii  cuTexRefGetFormat ii>P  cuTexRefSetAddressMode Pii
cuTexRefGetAddressMode i>Pi  cuTexRefSetFilterMode Pi  cuTexRefGetFilterMode i>P
cuTexRefSetFlags PI  cuTexRefGetFlags I>P  cuSurfRefSetArray PAI  cuSurfRefGetArray P>P
cuParamSetTexRef PiT
cuModuleLoad P>s  cuModuleLoadData PP  cuModuleLoadDataEx PPIPP  cuModuleUnload P
cuModuleGetFunction P>Ps  cuModuleGetGlobal_v2 Dz>Ps  cuModuleGetTexRef P>Ps
cuModuleGetSurfRef P>Ps
cuLinkCreate_v2 IPPP  cuLinkAddData_v2 PiPzsIPP  cuLinkAddFile_v2 PisIPP
cuLinkComplete PPP  cuLinkDestroy P
cuFuncGetAttribute i>iP  cuFuncSetAttribute Pii  cuFuncSetCacheConfig Pi
cuFuncSetSharedMemConfig Pi  cuLaunchKernelEx PPPP
cuProfilerInitialize ssi  cuProfilerStart -  cuProfilerStop -
"""


class _Driver:
    """The entry points as attributes.

    libvkgdr loads the driver, so that VKGDR_DRIVER and softcuda work as everywhere.
    """

    def __init__(self) -> None:
        self.library: Any = None
        words = _PROTOTYPES.split()
        self._prototypes = {
            symbol.partition("_v")[0]: (symbol, *signature.rpartition(">")[::2])
            for symbol, signature in zip(words[::2], words[1::2])
        }

    def load(self) -> None:
        """Loads the driver. Raises RuntimeError if there is none."""
        if self.library is not None:
            return
        if not lib.vkgdr_driver_load():
            failure = RuntimeError(f"cuInit failed: {last_error()}")
            failure.code = NO_DEVICE
            raise failure
        path = "libcuda.so.1"
        if lib.vkgdr_driver_is_software():
            path = os.path.join(os.fsdecode(lib.vkgdr_driver_softcuda_dir()), path)
        self.library = ctypes.CDLL(path)

    def raw(self, name: str) -> Any:
        """The C function itself, which returns a CUresult."""
        symbol, results, arguments = self._prototypes[name]
        if self.library is None:
            raise error(name, NOT_INITIALIZED, "call init() first")
        function = getattr(self.library, symbol, None)
        if function is None:
            raise error(name, NOT_SUPPORTED, "this version of CUDA does not have it any more")
        if function.argtypes is None:
            function.argtypes = types(
                "P" * len(results) + arguments, X=IpcHandle, V=ctypes.c_int,
                **dict.fromkeys("SACET", ctypes.c_void_p))
        return function

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The function with converted arguments, which raises an exception if it fails, and
        returns its result or a tuple of its results.
        """
        if name not in self._prototypes:
            raise AttributeError(name)
        function, (_, results, arguments) = self.raw(name), self._prototypes[name]
        kinds = types(results, X=IpcHandle)
        convert = [CONVERTERS.get(letter) for letter in arguments if letter != "-"]

        def call(*given: Any) -> None:
            result = function(*[change(argument) if change else argument
                                for change, argument in zip(convert, given)])
            if result:
                raise error(name, result)

        def call_for_results(*given: Any) -> Any:
            values = [kind() for kind in kinds]
            call(*map(ctypes.byref, values), *given)
            found = tuple(getattr(value, "value", value) for value in values)
            return found if len(found) > 1 else found[0]

        convert[:0] = [None] * len(kinds)
        setattr(self, name, call_for_results if kinds else call)
        return getattr(self, name)


cu = _Driver()


def also_named(**names: str) -> Callable[[_F], _F]:
    """Other names of parameters, which documents of PyCUDA use and its code does not."""
    def decorate(function: _F) -> _F:
        def renamed(*arguments: Any, **keywords: Any) -> Any:
            return function(*arguments, **{names.get(key, key): keywords[key] for key in keywords})

        return functools.update_wrapper(renamed, function)  # type: ignore[return-value]

    return decorate


def uint(value: Any, bits: int = 64, least: int = 0) -> int:
    """Converts an integer, unsigned by default. ctypes would ignore its upper bits."""
    number = operator.index(value)
    if number - least >> bits:
        raise OverflowError(f"{number} is not from {least} to {least + (1 << bits) - 1}")
    return number


def host_view(source: Any) -> memoryview:
    """The bytes of an object with Python's buffer interface, or of an array of NumPy whose type
    this interface does not know, such as dates.
    """
    try:
        return memoryview(source)
    except ValueError:
        if not hasattr(source, "dtype"):
            raise
        return memoryview(source.view(f"V{source.dtype.itemsize}"))


def host_range(source: Any, is_target: bool = False, has_gaps: bool = False) -> Tuple[int, int]:
    """The address and the size of an object with Python's buffer interface."""
    view = host_view(source)
    if view.c_contiguous and view.nbytes and not view.readonly:  # 1 us less than by NumPy
        return ctypes.addressof(ctypes.c_ubyte.from_buffer(view)), view.nbytes
    import numpy as np  # which frames do not need

    if is_target and view.readonly:
        kind = ValueError if isinstance(source, np.ndarray) else BufferError  # as NumPy
        raise kind(f"this {type(source).__name__} cannot be written")
    if not (view.contiguous or has_gaps):
        raise ValueError(f"this {type(source).__name__} is not contiguous: make a copy of it")
    return np.asarray(view).__array_interface__["data"][0], view.nbytes


def pointer(value: Any) -> int:
    """Converts a device pointer: an integer, memory with __cuda_array_interface__, or an
    object that can be converted to an integer (PointerHolderBase).
    """
    if not isinstance(value, (int, Address)):
        # Before __index__(), which an array with a single integer has, too.
        interface = getattr(value, "__cuda_array_interface__", None)
        if interface is not None:
            value = interface["data"][0]
        elif not hasattr(value, "__index__"):
            raise TypeError("a device pointer is an integer or memory of the device, not "
                            f"{type(value).__name__}")
    return uint(value)


def stream_handle(stream: Any, may_be_number: bool = False) -> Optional[int]:
    """The handle of None (the default stream), a Stream, or a stream of GstVkgdr,
    PyTorch, CuPy or cuda.core.
    """
    if stream is None or may_be_number and isinstance(stream, int):
        return stream
    for name in ("handle", "cuda_stream", "ptr"):
        handle = None if isinstance(stream, Handle) else getattr(stream, name, None)
        if hasattr(handle, "__index__"):
            return uint(handle) or None
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is None:
        raise TypeError(f"a stream is a Stream or None, not {type(stream).__name__}")
    return uint((protocol() if callable(protocol) else protocol)[1]) or None


class Address:
    """An object that is used as a device pointer."""

    __index__: Any

    def __int__(self) -> int:
        return self.__index__()

    def __add__(self, other: Any) -> int:
        return self.__index__() + operator.index(other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> int:
        return self.__index__() - operator.index(other)

    def as_buffer(self, size: int, offset: int = 0) -> Any:
        """The memory as a writable buffer of Python, for memory that the CPU can use."""
        start = self + uint(offset)
        return memoryview((ctypes.c_ubyte * uint(size, 63)).from_address(start)).cast("B")


class Handle(Unique):
    """An object of the driver that is not a stream. Objects with the same handle are equal.
    The letter stands for the class in the table of functions.
    """

    handle: Any

    def __init_subclass__(cls, letter: str = "") -> None:
        def convert(value: Any) -> Any:
            if not isinstance(value, cls):
                raise TypeError(f"expected {cls.__name__}, not {type(value).__name__}")
            return value.handle

        CONVERTERS[letter] = convert

    def __init__(self) -> None:
        raise builtins.RuntimeError(f"{type(self).__name__} has no constructor: functions and "
                                    "methods of vkgdr.driver return such objects")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.handle == other.handle

    def __hash__(self) -> int:
        return hash(self.handle)


def _ipc_handle(handle: Any) -> Any:
    """Converts a handle from another process. PyCUDA demands a bytearray."""
    if not isinstance(handle, (bytes, bytearray)) or len(handle) != ctypes.sizeof(IpcHandle):
        raise error("ipc_handle", INVALID_VALUE, "the handle is not a bytearray of its size")
    return IpcHandle.from_buffer_copy(handle)


#: How arguments are converted, by the letter of their type.
CONVERTERS: Dict[str, Callable[[Any], Any]] = {
    "D": pointer, "S": stream_handle, "X": _ipc_handle, "s": os.fsencode, "z": uint,
    "i": lambda value: uint(value, 32, -1 << 31), "I": lambda value: uint(value, 32),
    "H": lambda value: uint(value, 16), "B": lambda value: uint(value, 8),
}
