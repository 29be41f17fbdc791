# SPDX-License-Identifier: LGPL-2.1-or-later
"""Host memory of vkgdr.driver: page-locked, aligned, registered and managed arrays."""

import operator
from typing import Any, Callable, Dict, Tuple

import numpy as np

from ._context import acquire_context, bare
from ._cuda import INVALID_VALUE, call, cu, error, get, uint
from ._memory import Allocation, DeviceAllocation, retry

__all__ = [
    "AlignedHostAllocation", "HostAllocation", "HostPointer", "ManagedAllocation",
    "PagelockedHostAllocation", "RegisteredHostMemory", "aligned_empty", "aligned_empty_like",
    "aligned_zeros", "aligned_zeros_like", "managed_empty", "managed_empty_like",
    "managed_zeros", "managed_zeros_like", "mem_host_alloc", "pagelocked_empty",
    "pagelocked_empty_like", "pagelocked_zeros", "pagelocked_zeros_like",
    "register_host_memory",
]


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

    get_device_pointer = call("cuMemHostGetDevicePointer", "self", "D", uses="self._live(), 0")


class PagelockedHostAllocation(HostPointer):
    """Page-locked memory, which the device copies faster, and while the CPU works."""

    _FREE = "cuMemFreeHost"

    @classmethod
    def _pinned(cls, size: int, flags: int) -> Any:
        return cls._make(size, retry, get, "cuMemHostAlloc", "P", size, flags)

    # The flags of host_alloc_flags, and those that the driver added.
    get_flags = call("cuMemHostGetFlags", "self", "I", uses="self._live()")


HostAllocation = PagelockedHostAllocation


def mem_host_alloc(size: int, flags: int = 0) -> PagelockedHostAllocation:
    """Page-locked memory without an array. numpy.asarray() makes one of bytes."""
    return PagelockedHostAllocation._pinned(uint(size), flags)


class AlignedHostAllocation(HostPointer):
    """Memory that begins at a multiple of a number of bytes."""

    _FREE = ""

    @classmethod
    def _aligned(cls, size: int, alignment: int) -> Any:
        if alignment <= 0 or alignment & (alignment - 1):
            raise error("aligned_malloc", INVALID_VALUE, "alignment must be a power of two")
        storage: Any = np.empty(size + alignment - 1, np.uint8)
        address = (storage.ctypes.data + alignment - 1) & -alignment
        return bare(cls, _context=acquire_context(), _size=size, _pointer=address, _storage=storage)

    def _release(self, function: str, handle: Any) -> None:
        self._storage = None


class RegisteredHostMemory(HostPointer):
    """Memory that was page-locked after its allocation. `base` is its owner."""

    _FREE = "cuMemHostUnregister"
    base: Any = None

    @classmethod
    def _register(cls, array: Any, flags: int) -> "RegisteredHostMemory":
        address = array.ctypes.data
        cu.cuMemHostRegister(address, array.nbytes, flags)
        return bare(cls, _context=acquire_context(), _size=array.nbytes, _pointer=address,
                    base=array)

    unregister = HostPointer.free


class ManagedAllocation(ArrayOwner, DeviceAllocation):
    """Memory that moves between the CPU and the devices."""

    @classmethod
    def _managed(cls, size: int, flags: int) -> "ManagedAllocation":
        # 1 is GLOBAL; CUDA does not take 0.
        return cls._make(size, retry, get, "cuMemAllocManaged", "D", size, flags or 1)

    get_device_pointer = Allocation._live
    attach = call("cuStreamAttachMemAsync", "self, mem_flags, stream=None",
                  uses="stream, self, 0, mem_flags")
    advise = call("cuMemAdvise", "self, advice, device=0",
                  uses="self, len(self), advice, device")


def layout(shape: Any, dtype: Any, order: str) -> Tuple[Tuple[int, ...], Any, str, int]:
    """The shape as a tuple, the type, the order "C" or "F", and the size in bytes."""
    try:
        dims: Tuple[int, ...] = (operator.index(shape),)
    except TypeError:
        dims = tuple(map(operator.index, shape))
    if str(order).upper() not in ("C", "F"):
        raise error("numpy_empty", INVALID_VALUE, "unrecognized order specifier")
    kind = np.dtype(dtype)
    size = kind.itemsize
    for length in dims:
        size *= uint(length)
    return dims, kind, str(order).upper(), size


def _family(allocate: Callable[[int, int], Any], last: str) -> Tuple[Any, Any, Any, Any]:
    """The functions NAME_empty(), NAME_zeros(), NAME_empty_like(), NAME_zeros_like(), which
    have a last parameter of their own.
    """
    def empty(shape: Any, dtype: Any, order: str, value: int) -> Any:
        dims, kind, order, size = layout(shape, dtype, order)
        return allocate(size, value)._array(dims, kind, order)

    def zeros(shape: Any, dtype: Any, order: str, value: int) -> Any:
        result = empty(shape, dtype, order, value)
        result.fill(0)
        return result

    def like(array: Any) -> Tuple[Any, Any, str]:
        if not array.flags.forc:
            raise ValueError("could not detect array order")
        return array.shape, array.dtype, "C" if array.flags.c_contiguous else "F"

    def expose(make: Any) -> Tuple[Any, Any]:
        scope, name = {"make": make, "like": like}, last.partition("=")[0]
        return (eval(f"lambda shape, dtype, order='C', {last}: make(shape, dtype, order, {name})",
                     scope),
                eval(f"lambda array, {last}: make(*like(array), {name})", scope))

    return expose(empty) + expose(zeros)


pagelocked_empty, pagelocked_empty_like, pagelocked_zeros, pagelocked_zeros_like = _family(
    PagelockedHostAllocation._pinned, "mem_flags=0")
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
    return RegisteredHostMemory._register(ary, flags)._array(ary.shape, ary.dtype, "C")
