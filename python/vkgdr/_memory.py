# SPDX-License-Identifier: LGPL-2.1-or-later
"""Device memory of vkgdr.driver: allocations, fills, and copies of plain ranges."""

import ctypes
import functools
import gc
import operator
from typing import Any, Callable, Dict, Optional, Tuple

import numpy as np

from ._constants import ipc_mem_flags
from ._context import ContextDependent, acquire_context, bare
from ._cuda import INVALID_HANDLE, MemoryError, also_named, call, error, get, uint
from ._stream import get_ipc_handle, read_ipc_handle

__all__ = [
    "DeviceAllocation", "IPCMemoryHandle", "PointerHolderBase", "from_device",
    "from_device_like", "mem_alloc", "mem_alloc_like", "mem_alloc_pitch",
    "mem_get_address_range", "mem_get_info", "mem_get_ipc_handle", "memcpy_dtod",
    "memcpy_dtod_async", "memcpy_dtoh", "memcpy_dtoh_async", "memcpy_htod",
    "memcpy_htod_async", "memcpy_peer", "memcpy_peer_async", "memset_d16", "memset_d16_async",
    "memset_d2d16", "memset_d2d16_async", "memset_d2d32", "memset_d2d32_async", "memset_d2d8",
    "memset_d2d8_async", "memset_d32", "memset_d32_async", "memset_d8", "memset_d8_async",
    "to_device",
]


class _Address:
    """An object that is used as a device pointer."""

    __index__: Any

    def __int__(self) -> int:
        return self.__index__()

    __long__ = __int__

    def __add__(self, other: Any) -> int:
        return self.__index__() + operator.index(other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> int:
        return self.__index__() - operator.index(other)

    def as_buffer(self, size: int, offset: int = 0) -> Any:
        """The memory as a writable buffer of Python, for memory that the CPU can use."""
        start = self + uint(offset)
        return memoryview((ctypes.c_ubyte * uint(size, 63)).from_address(start)).cast("B")


class PointerHolderBase(_Address):
    """A base class for memory of other libraries, which has to have get_pointer()."""

    def get_pointer(self) -> int:
        raise NotImplementedError("a subclass of PointerHolderBase needs get_pointer()")

    def __index__(self) -> int:
        return operator.index(self.get_pointer())


class Allocation(ContextDependent):
    """Memory of the driver. It is freed with the object."""

    _pointer: Optional[int] = None
    _size: int

    def __init__(self) -> None:
        raise TypeError(f"{type(self).__name__} is made by functions such as mem_alloc()")

    @classmethod
    def _make(cls, size: int, allocate: Callable[..., int], *arguments: Any) -> Any:
        context = acquire_context()
        return bare(cls, _context=context, _size=size, _pointer=allocate(*arguments))

    def _live(self) -> int:
        if self._pointer is None:
            raise error(type(self).__name__, INVALID_HANDLE, "it has been freed")
        return self._pointer

    def free(self) -> None:
        """Frees the memory now, and waits for work that uses it."""
        address, self._pointer = self._live(), None
        self._release(self._FREE, address)

    def __del__(self) -> None:
        if self._pointer is not None:
            self.free()

    def __len__(self) -> int:
        return self._size


class DeviceAllocation(_Address, Allocation):
    """Linear device memory."""

    _FREE = "cuMemFree"
    __index__ = Allocation._live

    def __bool__(self) -> bool:
        return self._pointer is not None

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        data = (self._live(), False)
        return {"shape": (len(self),), "typestr": "|u1", "data": data, "version": 3}


def retry(allocate: Callable[..., Any], *arguments: Any) -> Any:
    """Allocates, and tries again after a garbage collection if there is no memory."""
    try:
        return allocate(*arguments)
    except MemoryError:
        gc.collect()
    return allocate(*arguments)


@also_named(size="bytes")
def mem_alloc(bytes: int) -> DeviceAllocation:  # noqa: A002
    return DeviceAllocation._make(uint(bytes), retry, get, "cuMemAlloc", "D", bytes)


def mem_alloc_pitch(width: int, height: int, access_size: int) -> Tuple[DeviceAllocation, int]:
    """Allocates rows whose pitch suits the device. Returns the memory and the pitch."""
    found = DeviceAllocation._make(
        0, retry, get, "cuMemAllocPitch", "Dz", width, height, access_size)
    found._pointer, pitch = found._pointer
    found._size = pitch * height
    return found, pitch


def mem_alloc_like(ary: Any) -> DeviceAllocation:
    return mem_alloc(ary.nbytes)


# The free and the total memory of the device; an allocation's address and size.
mem_get_info = call("cuMemGetInfo", "", "zz")
mem_get_address_range = call("cuMemGetAddressRange", "ptr", "Dz")


mem_get_ipc_handle = functools.partial(get_ipc_handle, "cuIpcGetMemHandle")


class IPCMemoryHandle(DeviceAllocation):
    """Memory of another process."""

    _FREE = "cuIpcCloseMemHandle"

    def __init__(self, ipc_handle: Any,
                 flags: int = ipc_mem_flags.LAZY_ENABLE_PEER_ACCESS) -> None:
        self._context = acquire_context()
        self._pointer = get("cuIpcOpenMemHandle", "D", read_ipc_handle(ipc_handle), flags)
        self._size = mem_get_address_range(self._pointer)[1]

    close = DeviceAllocation.free


def _memset(bits: int) -> Any:
    """Makes the four functions that fill memory with numbers of a size."""
    count, rows = also_named(count="size"), "dest, pitch, data, width, height"
    return (count(call(f"cuMemsetD{bits}", "dest, data, size")),
            count(call(f"cuMemsetD{bits}Async", "dest, data, size, stream=None")),
            call(f"cuMemsetD2D{bits}", rows),
            call(f"cuMemsetD2D{bits}Async", f"{rows}, stream=None"))


memset_d8, memset_d8_async, memset_d2d8, memset_d2d8_async = _memset(8)
memset_d16, memset_d16_async, memset_d2d16, memset_d2d16_async = _memset(16)
memset_d32, memset_d32_async, memset_d2d32, memset_d2d32_async = _memset(32)

memcpy_dtod = call("cuMemcpyDtoD", "dest, src, size")
memcpy_dtod_async = call("cuMemcpyDtoDAsync", "dest, src, size, stream=None")

# The buffer of an asynchronous copy should be page-locked, and must stay alive.
memcpy_htod = call("cuMemcpyHtoD", "dest, src", uses="dest, *host_range(src)")
memcpy_htod_async = call("cuMemcpyHtoDAsync", "dest, src, stream=None",
                         uses="dest, *host_range(src), stream")
memcpy_dtoh = call("cuMemcpyDtoH", "dest, src",
                   uses="(host := host_range(dest, True))[0], src, host[1]")
memcpy_dtoh_async = call("cuMemcpyDtoHAsync", "dest, src, stream=None",
                         uses="(host := host_range(dest, True))[0], src, host[1], stream")

# Copies between contexts. The default is the current one.
memcpy_peer = call(
    "cuMemcpyPeer", "dest, src, size, dest_context=None, src_context=None",
    uses="dest, dest_context, src, src_context, size")
memcpy_peer_async = call(
    "cuMemcpyPeerAsync", "dest, src, size, dest_context=None, src_context=None, stream=None",
    uses="dest, dest_context, src, src_context, size, stream")


@also_named(buffer="bf_obj")
def to_device(bf_obj: Any) -> DeviceAllocation:
    data = memoryview(bf_obj)
    result = mem_alloc(data.nbytes)
    memcpy_htod(result, data if data.c_contiguous else data.tobytes())
    return result


def from_device(devptr: Any, shape: Any, dtype: Any, order: str = "C") -> Any:
    result: Any = np.empty(shape, dtype, order)  # type: ignore[call-overload]
    memcpy_dtoh(result, devptr)
    return result


def from_device_like(devptr: Any, other_ary: Any) -> Any:
    result = np.empty_like(other_ary)
    memcpy_dtoh(result, devptr)
    return result
