# SPDX-License-Identifier: LGPL-2.1-or-later
"""Memory of vkgdr.driver: allocations, fills and copies of plain ranges on the device;
page-locked, aligned, registered and managed arrays; and pools.
"""

import collections
import ctypes
import functools
import gc
import math
import operator
import threading
from typing import Any, Callable, DefaultDict, Dict, List, Optional, Tuple, Type

import numpy as np

from ._constants import ipc_mem_flags
from ._context import Context, ContextDependent, acquire_context, bare, clean_up, in_context
from ._cuda import INVALID_HANDLE, INVALID_VALUE, MemoryError, also_named, call, cu, error, uint

__all__ = [
    "AlignedHostAllocation", "DeviceAllocation", "DeviceMemoryPool", "HostAllocation",
    "HostPointer", "IPCMemoryHandle", "ManagedAllocation", "PageLockedAllocator",
    "PageLockedMemoryPool", "PagelockedHostAllocation", "PointerHolderBase",
    "PooledDeviceAllocation", "PooledHostAllocation", "RegisteredHostMemory", "aligned_empty",
    "aligned_empty_like", "aligned_zeros", "aligned_zeros_like", "bitlog2", "from_device",
    "from_device_like", "managed_empty", "managed_empty_like", "managed_zeros",
    "managed_zeros_like", "mem_alloc", "mem_alloc_like", "mem_alloc_pitch", "mem_get_address_range",
    "mem_get_info", "mem_get_ipc_handle", "mem_host_alloc", "memcpy_dtod", "memcpy_dtod_async",
    "memcpy_dtoh", "memcpy_dtoh_async", "memcpy_htod", "memcpy_htod_async", "memcpy_peer",
    "memcpy_peer_async", "memset_d16", "memset_d16_async", "memset_d2d16", "memset_d2d16_async",
    "memset_d2d32", "memset_d2d32_async", "memset_d2d8", "memset_d2d8_async", "memset_d32",
    "memset_d32_async", "memset_d8", "memset_d8_async", "pagelocked_empty", "pagelocked_empty_like",
    "pagelocked_zeros", "pagelocked_zeros_like", "register_host_memory", "to_device",
]


class _Address:
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


class PointerHolderBase(_Address):
    """A base class for memory of other libraries, which has to have get_pointer()."""

    def get_pointer(self) -> int:
        raise NotImplementedError("a subclass of PointerHolderBase needs get_pointer()")

    def __index__(self) -> int:
        return operator.index(self.get_pointer())


class Allocation(ContextDependent):
    """Memory of the driver. It is freed with the object."""

    _FREE = ""
    _pointer: Optional[int] = None
    _size: int

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
    return DeviceAllocation._make(uint(bytes), retry, cu.cuMemAlloc, bytes)


def mem_alloc_pitch(width: int, height: int, access_size: int) -> Tuple[DeviceAllocation, int]:
    """Allocates rows whose pitch suits the device. Returns the memory and the pitch."""
    found = DeviceAllocation._make(0, retry, cu.cuMemAllocPitch, width, height, access_size)
    found._pointer, pitch = found._pointer
    found._size = pitch * height
    return found, pitch


def mem_alloc_like(ary: Any) -> DeviceAllocation:
    return mem_alloc(ary.nbytes)


# The free and the total memory of the device; an allocation's address and size.
mem_get_info = call("cuMemGetInfo")
mem_get_address_range = call("cuMemGetAddressRange", "ptr")
mem_get_ipc_handle = call("cuIpcGetMemHandle", "devptr", bytearray)


class IPCMemoryHandle(DeviceAllocation):
    """Memory of another process."""

    _FREE = "cuIpcCloseMemHandle"

    def __init__(self, ipc_handle: Any, flags: int = ipc_mem_flags.LAZY_ENABLE_PEER_ACCESS) -> None:
        self._context = acquire_context()
        self._pointer = cu.cuIpcOpenMemHandle(ipc_handle, flags)
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


# --- memory of the CPU ------------------------------------------------------


class ArrayOwner(Allocation):
    """Memory that is the base of an array. NumPy gets its address and layout from here."""

    _layout: Dict[str, Any] = {}

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        return {"version": 3, "shape": (len(self),), "typestr": "|u1",
                "data": (self._live(), False), **self._layout}

    def _array(self, dims: Tuple[int, ...], dtype: Any, order: str) -> Any:
        steps = [dtype.itemsize]
        for length in (dims[::-1] if order == "C" else dims)[:-1]:
            steps.append(steps[-1] * length)
        strides = tuple(steps[: len(dims)])
        self._layout = {"shape": dims, "strides": strides[::-1] if order == "C" else strides,
                        "typestr": f"|V{dtype.itemsize}"}
        result: Any = np.asarray(self)
        result.dtype = dtype  # the interface cannot describe every type
        return result


class HostPointer(ArrayOwner):
    """Memory of the CPU that the device knows. Arrays have it as `base`."""

    get_device_pointer = call("cuMemHostGetDevicePointer", "self", uses="self._live(), 0")


class PagelockedHostAllocation(HostPointer):
    """Page-locked memory, which the device copies faster, and while the CPU works."""

    _FREE = "cuMemFreeHost"

    # The flags of host_alloc_flags, and those that the driver added.
    get_flags = call("cuMemHostGetFlags", "self", uses="self._live()")


HostAllocation = PagelockedHostAllocation


def mem_host_alloc(size: int, flags: int = 0) -> PagelockedHostAllocation:
    """Page-locked memory without an array. numpy.asarray() makes one of bytes."""
    size = uint(size)
    return PagelockedHostAllocation._make(size, retry, cu.cuMemHostAlloc, size, flags)


class AlignedHostAllocation(HostPointer):
    """Memory that begins at a multiple of a number of bytes."""

    @classmethod
    def _aligned(cls, size: int, alignment: int) -> Any:
        if alignment <= 0 or alignment & (alignment - 1):
            raise error("aligned_malloc", INVALID_VALUE, "alignment must be a power of two")
        storage: Any = np.empty(size + alignment - 1, np.uint8)
        address = (storage.ctypes.data + alignment - 1) & -alignment
        return bare(cls, _size=size, _pointer=address, _storage=storage)


class RegisteredHostMemory(HostPointer):
    """Memory that was page-locked after its allocation. `base` is its owner."""

    _FREE = "cuMemHostUnregister"
    base: Any = None
    unregister = HostPointer.free


class ManagedAllocation(ArrayOwner, DeviceAllocation):
    """Memory that moves between the CPU and the devices."""

    @classmethod
    def _managed(cls, size: int, flags: int) -> "ManagedAllocation":
        # 1 is GLOBAL; CUDA does not take 0.
        return cls._make(size, retry, cu.cuMemAllocManaged, size, flags or 1)

    get_device_pointer = Allocation._live
    attach = call("cuStreamAttachMemAsync", "self, mem_flags, stream=None",
                  uses="stream, self, 0, mem_flags")
    advise = call("cuMemAdvise", "self, advice, device=0", uses="self, len(self), advice, device")


def _layout(shape: Any, dtype: Any, order: str) -> Tuple[Tuple[int, ...], Any, str, int]:
    """The shape as a tuple, the type, the order "C" or "F", and the size in bytes."""
    try:
        dims: Tuple[int, ...] = (uint(shape),)
    except TypeError:
        dims = tuple(map(uint, shape))
    if str(order).upper() not in ("C", "F"):
        raise error("numpy_empty", INVALID_VALUE, "unrecognized order specifier")
    kind = np.dtype(dtype)
    return dims, kind, str(order).upper(), kind.itemsize * math.prod(dims)


def _like(array: Any) -> Tuple[Any, Any, str]:
    if not array.flags.forc:
        raise ValueError("could not detect array order")
    return array.shape, array.dtype, "C" if array.flags.c_contiguous else "F"


def _family(allocate: Callable[[int, int], Any], last: str) -> List[Any]:
    """The functions NAME_empty(), NAME_empty_like(), NAME_zeros(), NAME_zeros_like(), which
    have a last parameter of their own.
    """
    def make(is_zeros: bool, value: int, *description: Any) -> Any:
        dims, kind, order, size = _layout(*description)
        result = allocate(size, value)._array(dims, kind, order)
        if is_zeros:
            result.fill(0)
        return result

    scope, name = {"make": make, "like": _like}, last.partition("=")[0]
    return [eval(code, scope) for zeros in (False, True) for code in (
        f"lambda shape, dtype, order='C', {last}: make({zeros}, {name}, shape, dtype, order)",
        f"lambda array, {last}: make({zeros}, {name}, *like(array))")]


pagelocked_empty, pagelocked_empty_like, pagelocked_zeros, pagelocked_zeros_like = _family(
    mem_host_alloc, "mem_flags=0")
aligned_empty, aligned_empty_like, aligned_zeros, aligned_zeros_like = _family(
    AlignedHostAllocation._aligned, "alignment=4096")
managed_empty, managed_empty_like, managed_zeros, managed_zeros_like = _family(
    ManagedAllocation._managed, "mem_flags=0")


def register_host_memory(ary: Any, flags: int = 0) -> Any:
    """Page-locks the memory of an array, as long as the returned array exists."""
    if not isinstance(ary, np.ndarray):
        raise error("register_host_memory", INVALID_VALUE, "ary argument is not a numpy array")
    if not ary.flags.c_contiguous:
        raise error("register_host_memory", INVALID_VALUE, "ary argument is not contiguous")
    cu.cuMemHostRegister(ary.ctypes.data, ary.nbytes, flags)
    memory = bare(RegisteredHostMemory, _context=acquire_context(), _size=ary.nbytes,
                  _pointer=ary.ctypes.data, base=ary)
    return memory._array(ary.shape, ary.dtype, "C")


# --- pools ---------------------------------------------------------------------

_MANTISSA_BITS = 4


def bitlog2(value: int) -> int:
    """The number of the highest bit, and 0 for 0."""
    return max(uint(value).bit_length() - 1, 0)


class _Pool:
    """Blocks of a context that are kept for later allocations. All methods are
    thread-safe. The lock may be taken again: a garbage collection in a locked method may
    free a block.
    """

    _ALLOCATE: str
    _FREE: str

    def __init__(self, *flags: int) -> None:
        self._flags = flags
        self._made_in: Optional[Context] = None
        self._lock = threading.RLock()
        self._bins: DefaultDict[int, List[int]] = collections.defaultdict(list)
        self._stopped = False
        self.active_blocks = self.managed_bytes = self.active_bytes = 0

    @property
    def held_blocks(self) -> int:
        return sum(map(len, self._bins.values()))

    def bin_number(self, size: int) -> int:
        exponent, shift = bitlog2(size), bitlog2(size) - _MANTISSA_BITS
        shifted = size >> shift if shift >= 0 else size << -shift
        return exponent << _MANTISSA_BITS | shifted & (1 << _MANTISSA_BITS) - 1

    def alloc_size(self, bin: int) -> int:  # noqa: A002
        shift = (bin >> _MANTISSA_BITS) - _MANTISSA_BITS
        head = 1 << _MANTISSA_BITS | bin & (1 << _MANTISSA_BITS) - 1
        return (head + 1 << shift) - 1 if shift >= 0 else head >> -shift

    def _take(self, cls: Type[Any], size: int) -> Any:
        number = self.bin_number(uint(size))
        with self._lock:
            blocks = self._bins[number]
            address = blocks.pop() if blocks else self._allocate_block(self.alloc_size(number))
            self.active_blocks += 1
            self.active_bytes += size
        return bare(cls, _pool=self, _size=size, _pointer=address)

    def _allocate_block(self, size: int) -> int:
        self._made_in = context = self._made_in or acquire_context()

        def allocate() -> int:
            return in_context(context, lambda: getattr(cu, self._ALLOCATE)(size, *self._flags))

        try:
            address = allocate()
        except MemoryError:
            gc.collect()
            self.free_held()
            address = allocate()
        self.managed_bytes += size
        return address

    def _give_back(self, address: int, size: int) -> None:
        with self._lock:
            self.active_blocks -= 1
            self.active_bytes -= size
            self._bins[self.bin_number(size)].append(address)
            if self._stopped:
                self.free_held()

    def free_held(self) -> None:
        with self._lock:
            for number, blocks in list(self._bins.items()):
                while blocks and self._made_in is not None:
                    self.managed_bytes -= self.alloc_size(number)
                    in_context(self._made_in, functools.partial(clean_up, self._FREE, blocks.pop()))

    def stop_holding(self) -> None:
        """From now on, frees blocks as soon as they are not in use."""
        with self._lock:
            self._stopped = True
            self.free_held()

    def __del__(self) -> None:
        if hasattr(self, "_bins"):
            self.free_held()


class _Pooled:
    """Memory of a pool, which gets it back when this is freed."""

    _pool: _Pool
    _size: int

    def _release(self, function: str, handle: int) -> None:
        self._pool._give_back(handle, self._size)


class PooledDeviceAllocation(_Pooled, DeviceAllocation):
    """Memory of a DeviceMemoryPool."""


class DeviceMemoryPool(_Pool):
    """A pool of memory of mem_alloc(), in the context that was current."""

    _ALLOCATE, _FREE = "cuMemAlloc", "cuMemFree"

    def __init__(self) -> None:
        super().__init__()
        self._made_in = acquire_context()

    def allocate(self, size: int) -> PooledDeviceAllocation:
        return self._take(PooledDeviceAllocation, size)


class PageLockedAllocator:
    """The flags (host_alloc_flags) of the memory of a PageLockedMemoryPool."""

    def __init__(self, flags: int = 0) -> None:
        self.flags = uint(flags, 32)


class PooledHostAllocation(_Pooled, PagelockedHostAllocation):
    """Memory of a PageLockedMemoryPool."""


class PageLockedMemoryPool(_Pool):
    """A pool of page-locked memory."""

    _ALLOCATE, _FREE = "cuMemHostAlloc", "cuMemFreeHost"

    def __init__(self, allocator: Optional[PageLockedAllocator] = None) -> None:
        super().__init__((allocator or PageLockedAllocator()).flags)

    def allocate(self, shape: Any, dtype: Any, order: str = "C") -> Any:
        dims, kind, order, size = _layout(shape, dtype, order)
        return self._take(PooledHostAllocation, size)._array(dims, kind, order)
