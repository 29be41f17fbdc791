# SPDX-License-Identifier: LGPL-2.1-or-later
"""Memory of vkgdr.driver: allocations, fills and copies of plain ranges on the device;
page-locked, aligned, registered and managed arrays; and pools.
"""

import ctypes
import functools
import gc
import math
import operator
from typing import Any, Callable, Dict, List, Optional, Tuple, Type

import numpy as np

from ._constants import ipc_mem_flags
from ._context import Context, ContextDependent, acquire_context, bare, clean_up, in_context
from ._cuda import (
    INVALID_CONTEXT, INVALID_HANDLE, INVALID_VALUE, Address, DevicePointer, MemoryError,
    also_named, cu, error, host_range, host_view, uint,
)
from ._library import Unique

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


class PointerHolderBase(Address):
    """A base class for memory of other libraries, which has to have get_pointer()."""

    def get_pointer(self) -> int:
        """The device pointer."""
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


class DeviceAllocation(Address, Allocation):
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
    """Allocates memory of the device."""
    return DeviceAllocation._make(uint(bytes), retry, cu.cuMemAlloc, bytes)


def mem_alloc_pitch(width: int, height: int, access_size: int) -> Tuple[DeviceAllocation, int]:
    """Allocates rows whose pitch suits the device. Returns the memory and the pitch."""
    found = DeviceAllocation._make(0, retry, cu.cuMemAllocPitch, width, height, access_size)
    found._pointer, pitch = found._pointer
    found._size = pitch * height
    return found, pitch


def mem_alloc_like(ary: Any) -> DeviceAllocation:
    """Allocates as many bytes as an array has."""
    return mem_alloc(ary.nbytes)


def mem_get_info() -> Tuple[int, int]:
    """The free and the total memory of the device in bytes."""
    return cu.cuMemGetInfo()


def mem_get_address_range(ptr: DevicePointer) -> Tuple[int, int]:
    """The address and the size of the allocation in which a pointer is."""
    return cu.cuMemGetAddressRange(ptr)


def mem_get_ipc_handle(devptr: DevicePointer) -> bytearray:
    """A handle of an allocation for IPCMemoryHandle in another process."""
    return bytearray(cu.cuIpcGetMemHandle(devptr))


class IPCMemoryHandle(DeviceAllocation):
    """Memory of another process."""

    _FREE = "cuIpcCloseMemHandle"

    def __init__(self, ipc_handle: Any, flags: int = ipc_mem_flags.LAZY_ENABLE_PEER_ACCESS) -> None:
        self._context = acquire_context()
        self._pointer = cu.cuIpcOpenMemHandle(ipc_handle, flags)
        self._size = mem_get_address_range(self)[1]

    def close(self) -> None:
        """Gives the memory back: the same as free()."""
        self.free()


@also_named(count="size")
def memset_d8(dest: DevicePointer, data: int, size: int) -> None:
    """Fills memory with `size` bytes."""
    cu.cuMemsetD8(dest, data, size)


@also_named(count="size")
def memset_d8_async(dest: DevicePointer, data: int, size: int, stream: Any = None) -> None:
    """Fills memory with `size` bytes, in the order of a stream."""
    cu.cuMemsetD8Async(dest, data, size, stream)


def memset_d2d8(dest: DevicePointer, pitch: int, data: int, width: int, height: int) -> None:
    """Fills rows of `width` bytes, which begin every `pitch` bytes."""
    cu.cuMemsetD2D8(dest, pitch, data, width, height)


def memset_d2d8_async(dest: DevicePointer, pitch: int, data: int, width: int, height: int,
                      stream: Any = None) -> None:
    """Fills rows of `width` bytes, in the order of a stream."""
    cu.cuMemsetD2D8Async(dest, pitch, data, width, height, stream)


@also_named(count="size")
def memset_d16(dest: DevicePointer, data: int, size: int) -> None:
    """Fills memory with `size` numbers of 16 bits."""
    cu.cuMemsetD16(dest, data, size)


@also_named(count="size")
def memset_d16_async(dest: DevicePointer, data: int, size: int, stream: Any = None) -> None:
    """Fills memory with `size` numbers of 16 bits, in the order of a stream."""
    cu.cuMemsetD16Async(dest, data, size, stream)


def memset_d2d16(dest: DevicePointer, pitch: int, data: int, width: int, height: int) -> None:
    """Fills rows of `width` numbers of 16 bits, which begin every `pitch` bytes."""
    cu.cuMemsetD2D16(dest, pitch, data, width, height)


def memset_d2d16_async(dest: DevicePointer, pitch: int, data: int, width: int, height: int,
                       stream: Any = None) -> None:
    """Fills rows of `width` numbers of 16 bits, in the order of a stream."""
    cu.cuMemsetD2D16Async(dest, pitch, data, width, height, stream)


@also_named(count="size")
def memset_d32(dest: DevicePointer, data: int, size: int) -> None:
    """Fills memory with `size` numbers of 32 bits."""
    cu.cuMemsetD32(dest, data, size)


@also_named(count="size")
def memset_d32_async(dest: DevicePointer, data: int, size: int, stream: Any = None) -> None:
    """Fills memory with `size` numbers of 32 bits, in the order of a stream."""
    cu.cuMemsetD32Async(dest, data, size, stream)


def memset_d2d32(dest: DevicePointer, pitch: int, data: int, width: int, height: int) -> None:
    """Fills rows of `width` numbers of 32 bits, which begin every `pitch` bytes."""
    cu.cuMemsetD2D32(dest, pitch, data, width, height)


def memset_d2d32_async(dest: DevicePointer, pitch: int, data: int, width: int, height: int,
                       stream: Any = None) -> None:
    """Fills rows of `width` numbers of 32 bits, in the order of a stream."""
    cu.cuMemsetD2D32Async(dest, pitch, data, width, height, stream)


def memcpy_dtod(dest: DevicePointer, src: DevicePointer, size: int) -> None:
    """Copies bytes on the device."""
    cu.cuMemcpyDtoD(dest, src, size)


def memcpy_dtod_async(dest: DevicePointer, src: DevicePointer, size: int,
                      stream: Any = None) -> None:
    """Copies bytes on the device, in the order of a stream."""
    cu.cuMemcpyDtoDAsync(dest, src, size, stream)


def memcpy_htod(dest: DevicePointer, src: Any) -> None:
    """Copies a buffer of Python to the device."""
    cu.cuMemcpyHtoD(dest, *host_range(src))


def memcpy_htod_async(dest: DevicePointer, src: Any, stream: Any = None) -> None:
    """Copies a buffer of Python to the device, in the order of a stream. The buffer should be
    page-locked, and must stay alive until the copy is done.
    """
    cu.cuMemcpyHtoDAsync(dest, *host_range(src), stream)


def memcpy_dtoh(dest: Any, src: DevicePointer) -> None:
    """Fills a buffer of Python from the device."""
    address, size = host_range(dest, True)
    cu.cuMemcpyDtoH(address, src, size)


def memcpy_dtoh_async(dest: Any, src: DevicePointer, stream: Any = None) -> None:
    """Fills a buffer of Python from the device, in the order of a stream. The buffer should be
    page-locked, and must stay alive until the copy is done.
    """
    address, size = host_range(dest, True)
    cu.cuMemcpyDtoHAsync(address, src, size, stream)


def memcpy_peer(dest: DevicePointer, src: DevicePointer, size: int,
                dest_context: Optional[Context] = None,
                src_context: Optional[Context] = None) -> None:
    """Copies between contexts. None is the current one."""
    cu.cuMemcpyPeer(dest, dest_context, src, src_context, size)


def memcpy_peer_async(dest: DevicePointer, src: DevicePointer, size: int,
                      dest_context: Optional[Context] = None,
                      src_context: Optional[Context] = None, stream: Any = None) -> None:
    """Copies between contexts, in the order of a stream. None is the current context."""
    cu.cuMemcpyPeerAsync(dest, dest_context, src, src_context, size, stream)


@also_named(buffer="bf_obj")
def to_device(bf_obj: Any) -> DeviceAllocation:
    """Allocates memory, and copies a buffer of Python to it."""
    data = host_view(bf_obj)
    result = mem_alloc(data.nbytes)
    memcpy_htod(result, data if data.c_contiguous else data.tobytes())
    return result


def from_device(devptr: DevicePointer, shape: Any, dtype: Any, order: str = "C") -> Any:
    """Copies memory of the device to a new array of NumPy."""
    result: Any = np.empty(shape, dtype, order)  # type: ignore[call-overload]
    memcpy_dtoh(result, devptr)
    return result


def from_device_like(devptr: DevicePointer, other_ary: Any) -> Any:
    """Copies memory of the device to a new array with the shape and type of another one."""
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

    def get_device_pointer(self) -> int:
        """The address at which the device has this memory."""
        return cu.cuMemHostGetDevicePointer(self._live(), 0)


class PagelockedHostAllocation(HostPointer):
    """Page-locked memory, which the device copies faster, and while the CPU works."""

    _FREE = "cuMemFreeHost"

    def get_flags(self) -> int:
        """The host_alloc_flags of the memory, with those that the driver has added."""
        return cu.cuMemHostGetFlags(self._live())


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
            raise error("aligned_empty", INVALID_VALUE, f"{alignment} is no power of two")
        storage: Any = np.empty(size + alignment - 1, np.uint8)
        address = (storage.ctypes.data + alignment - 1) & -alignment
        return bare(cls, _size=size, _pointer=address, _storage=storage)


class RegisteredHostMemory(HostPointer):
    """Memory that was page-locked after its allocation. `base` is its owner."""

    _FREE = "cuMemHostUnregister"
    base: Any = None

    def unregister(self) -> None:
        """Makes the memory pageable again: the same as free()."""
        self.free()


class ManagedAllocation(ArrayOwner, DeviceAllocation):
    """Memory that moves between the CPU and the devices."""

    @classmethod
    def _managed(cls, size: int, flags: int) -> "ManagedAllocation":
        # 1 is GLOBAL; CUDA does not take 0.
        return cls._make(size, retry, cu.cuMemAllocManaged, size, flags or 1)

    def get_device_pointer(self) -> int:
        """The address, which the CPU and the device share."""
        return self._live()

    def attach(self, mem_flags: int, stream: Any = None) -> None:
        """Says with mem_attach_flags who uses the memory, in the order of a stream."""
        cu.cuStreamAttachMemAsync(stream, self, 0, mem_flags)

    def advise(self, advice: int, device: int = 0) -> None:
        """Gives the driver a hint of mem_advise_flags."""
        cu.cuMemAdvise(self, len(self), advice, device)


def _layout(shape: Any, dtype: Any, order: str) -> Tuple[Tuple[int, ...], Any, str, int]:
    """The shape as a tuple, the type, the order "C" or "F", and the size in bytes."""
    try:
        dims: Tuple[int, ...] = (uint(shape),)
    except TypeError:
        dims = tuple(map(uint, shape))
    if str(order).upper() not in ("C", "F"):
        raise error("layout", INVALID_VALUE, f"the order is 'C' or 'F', not {order!r}")
    kind = np.dtype(dtype)
    return dims, kind, str(order).upper(), kind.itemsize * math.prod(dims)


def _like(array: Any) -> Tuple[Any, Any, str]:
    if not array.flags.forc:
        raise ValueError("the array is not contiguous, neither in C's nor in Fortran's order")
    return array.shape, array.dtype, "C" if array.flags.c_contiguous else "F"


def _empty(allocate: Callable[[int, int], Any], value: int, *description: Any) -> Any:
    """An array in memory of allocate(size, value), which has a shape, a type and an order."""
    dims, kind, order, size = _layout(*description)
    return allocate(size, value)._array(dims, kind, order)


def _cleared(array: Any) -> Any:
    array.fill(0)
    return array


def pagelocked_empty(shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> Any:
    """An array in page-locked memory."""
    return _empty(mem_host_alloc, mem_flags, shape, dtype, order)


def pagelocked_zeros(shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> Any:
    """The same as pagelocked_empty(), filled with zeros."""
    return _cleared(pagelocked_empty(shape, dtype, order, mem_flags))


def pagelocked_empty_like(array: Any, mem_flags: int = 0) -> Any:
    """The same as pagelocked_empty(), with the shape, type and order of another array."""
    return _empty(mem_host_alloc, mem_flags, *_like(array))


def pagelocked_zeros_like(array: Any, mem_flags: int = 0) -> Any:
    """The same as pagelocked_empty_like(), filled with zeros."""
    return _cleared(pagelocked_empty_like(array, mem_flags))


def aligned_empty(shape: Any, dtype: Any, order: str = "C", alignment: int = 4096) -> Any:
    """An array in memory that begins at a multiple of a number of bytes."""
    return _empty(AlignedHostAllocation._aligned, alignment, shape, dtype, order)


def aligned_zeros(shape: Any, dtype: Any, order: str = "C", alignment: int = 4096) -> Any:
    """The same as aligned_empty(), filled with zeros."""
    return _cleared(aligned_empty(shape, dtype, order, alignment))


def aligned_empty_like(array: Any, alignment: int = 4096) -> Any:
    """The same as aligned_empty(), with the shape, type and order of another array."""
    return _empty(AlignedHostAllocation._aligned, alignment, *_like(array))


def aligned_zeros_like(array: Any, alignment: int = 4096) -> Any:
    """The same as aligned_empty_like(), filled with zeros."""
    return _cleared(aligned_empty_like(array, alignment))


def managed_empty(shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> Any:
    """An array in memory that moves between the CPU and the devices."""
    return _empty(ManagedAllocation._managed, mem_flags, shape, dtype, order)


def managed_zeros(shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> Any:
    """The same as managed_empty(), filled with zeros."""
    return _cleared(managed_empty(shape, dtype, order, mem_flags))


def managed_empty_like(array: Any, mem_flags: int = 0) -> Any:
    """The same as managed_empty(), with the shape, type and order of another array."""
    return _empty(ManagedAllocation._managed, mem_flags, *_like(array))


def managed_zeros_like(array: Any, mem_flags: int = 0) -> Any:
    """The same as managed_empty_like(), filled with zeros."""
    return _cleared(managed_empty_like(array, mem_flags))


def register_host_memory(ary: Any, flags: int = 0) -> Any:
    """Page-locks the memory of an array, as long as the returned array exists."""
    if not isinstance(ary, np.ndarray):
        raise error("register_host_memory", INVALID_VALUE,
                    f"a {type(ary).__name__} is no array of NumPy")
    if not ary.flags.c_contiguous:
        raise error("register_host_memory", INVALID_VALUE, "the array is not contiguous")
    cu.cuMemHostRegister(ary.ctypes.data, ary.nbytes, flags)
    memory = bare(RegisteredHostMemory, _context=acquire_context(), _size=ary.nbytes,
                  _pointer=ary.ctypes.data, base=ary)
    return memory._array(ary.shape, ary.dtype, "C")


# --- pools ---------------------------------------------------------------------

_MANTISSA_BITS = 4


def bitlog2(value: int) -> int:
    """The number of the highest bit, and 0 for 0."""
    return max(uint(value).bit_length() - 1, 0)


class _Pool(Unique):
    """Blocks of a context that are kept for later allocations. All methods are thread-safe.

    There is no lock: a garbage collection, which may begin anywhere and in any thread, gives
    blocks back, and would wait for it. Each change is one operation of a list or a dictionary,
    which Python does not interrupt, and the counts are made from these.
    """

    _ALLOCATE: str
    _FREE: str

    def __init__(self, *flags: int) -> None:
        self._flags = flags
        self._made_in: Optional[Context] = None
        self._bins: Dict[int, List[int]] = {}
        self._active: Dict[int, int] = {}  # the size that was asked for, by the address
        self._stopped = False

    @property
    def held_blocks(self) -> int:
        """The number of blocks that the pool keeps for later."""
        return sum(map(len, list(self._bins.values())))

    @property
    def active_blocks(self) -> int:
        """The number of blocks in use."""
        return len(self._active)

    @property
    def active_bytes(self) -> int:
        """The bytes that were asked for, of the blocks in use."""
        return sum(list(self._active.values()))

    @property
    def managed_bytes(self) -> int:
        """The bytes of all blocks."""
        held = [number for number, blocks in list(self._bins.items()) for _ in range(len(blocks))]
        active = map(self.bin_number, list(self._active.values()))
        return sum(map(self.alloc_size, [*held, *active]))

    def bin_number(self, size: int) -> int:
        """The number of the bin for a size."""
        exponent, shift = bitlog2(size), bitlog2(size) - _MANTISSA_BITS
        shifted = size >> shift if shift >= 0 else size << -shift
        return exponent << _MANTISSA_BITS | shifted & (1 << _MANTISSA_BITS) - 1

    def alloc_size(self, bin: int) -> int:  # noqa: A002
        """The size of the blocks in a bin."""
        shift = (bin >> _MANTISSA_BITS) - _MANTISSA_BITS
        head = 1 << _MANTISSA_BITS | bin & (1 << _MANTISSA_BITS) - 1
        return (head + 1 << shift) - 1 if shift >= 0 else head >> -shift

    def _take(self, cls: Type[Any], size: int) -> Any:
        number = self.bin_number(uint(size))
        try:
            address = self._bins.setdefault(number, []).pop()
        except IndexError:
            address = self._allocate_block(self.alloc_size(number))
        self._active[address] = size
        return bare(cls, _pool=self, _size=size, _pointer=address)

    def _allocate_block(self, size: int) -> int:
        self._made_in = context = self._made_in or acquire_context()
        if not context._valid:
            raise error(type(self).__name__, INVALID_CONTEXT, "the context of the pool has ended")

        def allocate() -> int:
            return in_context(context, lambda: getattr(cu, self._ALLOCATE)(size, *self._flags))

        try:
            return allocate()
        except MemoryError:
            gc.collect()
            self.free_held()
            return allocate()

    def _give_back(self, address: int) -> None:
        number = self.bin_number(self._active.pop(address))
        self._bins.setdefault(number, []).append(address)
        if self._stopped:
            self.free_held()

    def free_held(self) -> None:
        """Frees the blocks that are not in use."""
        for blocks in list(self._bins.values()):
            while self._made_in is not None:
                try:
                    address = blocks.pop()
                except IndexError:
                    break
                in_context(self._made_in, functools.partial(clean_up, self._FREE, address))

    def stop_holding(self) -> None:
        """From now on, frees blocks as soon as they are not in use."""
        self._stopped = True
        self.free_held()

    def __del__(self) -> None:
        if hasattr(self, "_bins"):
            self.free_held()


class _Pooled:
    """Memory of a pool, which gets it back when this is freed."""

    _pool: _Pool

    def _release(self, function: str, handle: int) -> None:
        self._pool._give_back(handle)


class PooledDeviceAllocation(_Pooled, DeviceAllocation):
    """Memory of a DeviceMemoryPool."""


class DeviceMemoryPool(_Pool):
    """A pool of memory of mem_alloc(), in the context that was current."""

    _ALLOCATE, _FREE = "cuMemAlloc", "cuMemFree"

    def __init__(self) -> None:
        super().__init__()
        self._made_in = acquire_context()

    def allocate(self, size: int) -> PooledDeviceAllocation:
        """Memory of the device, from a block of the pool if there is one."""
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
        """An array in page-locked memory, from a block of the pool if there is one."""
        dims, kind, order, size = _layout(shape, dtype, order)
        return self._take(PooledHostAllocation, size)._array(dims, kind, order)
