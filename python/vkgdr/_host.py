# SPDX-License-Identifier: LGPL-2.1-or-later
"""Host memory of vkgdr.driver: page-locked, aligned, registered and managed arrays."""

import ctypes
import operator
from typing import Any, Callable, Dict, Optional, Tuple, Type

import numpy as np

from ._context import ContextDependent, clean_up
from ._cuda import INVALID_HANDLE, INVALID_VALUE, cu, error, get, stream_handle, uint
from ._memory import DeviceAllocation, retry_after_collection

__all__ = [
    "AlignedHostAllocation", "HostAllocation", "HostPointer", "ManagedAllocation",
    "PagelockedHostAllocation", "RegisteredHostMemory", "aligned_empty", "aligned_empty_like",
    "aligned_zeros", "aligned_zeros_like", "managed_empty", "managed_empty_like",
    "managed_zeros", "managed_zeros_like", "mem_host_alloc", "pagelocked_empty",
    "pagelocked_empty_like", "pagelocked_zeros", "pagelocked_zeros_like",
    "register_host_memory",
]


class ArrayOwner:
    """The base of an array. NumPy gets the address and the layout from here."""

    _layout: Optional[Dict[str, Any]] = None

    def _bytes(self) -> Tuple[int, int]:
        """The address and the size."""
        raise NotImplementedError

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        address, size = self._bytes()
        result = {"version": 3, "shape": (size,), "typestr": "|u1", "data": (address, False)}
        return {**result, **(self._layout or {})}

    def _array(self, dims: Tuple[int, ...], dtype: Any, order: str) -> Any:
        strides, stride = [0] * len(dims), dtype.itemsize
        for axis in range(len(dims)) if order == "F" else reversed(range(len(dims))):
            strides[axis] = stride
            stride *= dims[axis]
        self._layout = {"shape": dims, "strides": tuple(strides),
                        "typestr": f"|V{dtype.itemsize}"}
        result: Any = np.asarray(self)
        result.dtype = dtype  # the interface cannot describe every type
        return result


class HostPointer(ArrayOwner, ContextDependent):
    """Memory of the CPU that the device knows. Arrays have it as `base`."""

    _address: Optional[int] = None
    _size = 0

    def __init__(self) -> None:
        raise TypeError(f"{type(self).__name__} is made by the functions that return arrays")

    @classmethod
    def _make(cls, size: int, argument: int) -> Any:
        result = cls.__new__(cls)
        result._acquire_context()
        result._size = size
        result._address = result._allocate(size, argument)
        return result

    def _allocate(self, size: int, argument: int) -> int:
        raise NotImplementedError

    def _give_back(self, address: int) -> None:
        raise NotImplementedError

    def _live(self) -> int:
        if self._address is None:
            raise error(type(self).__name__, INVALID_HANDLE, "it has been freed")
        return self._address

    def free(self) -> None:
        """Frees the memory now. Its arrays must not be used any more."""
        address, self._address = self._address, None
        if address is None:
            raise error(f"{type(self).__name__}::free", INVALID_HANDLE)
        self._give_back(address)

    def __del__(self) -> None:
        if self._address is not None:
            self.free()

    def get_device_pointer(self) -> int:
        """The address of the memory on the device."""
        return get("cuMemHostGetDevicePointer", ctypes.c_uint64, self._live(), 0)

    def _bytes(self) -> Tuple[int, int]:
        return self._live(), self._size


class PagelockedHostAllocation(HostPointer):
    """Page-locked memory, which the device copies faster, and while the CPU works."""

    def _allocate(self, size: int, argument: int) -> int:
        flags = uint(argument, 32)
        return retry_after_collection(
            lambda: get("cuMemHostAlloc", ctypes.c_void_p, size, flags)
        )

    def _give_back(self, address: int) -> None:
        self._release(lambda: clean_up("cuMemFreeHost", address))

    def get_flags(self) -> int:
        """The flags of host_alloc_flags, and those that the driver added."""
        return get("cuMemHostGetFlags", ctypes.c_uint, self._live())

    def __len__(self) -> int:
        return self._size


HostAllocation = PagelockedHostAllocation


def mem_host_alloc(size: int, flags: int = 0) -> PagelockedHostAllocation:
    """Page-locked memory without an array. numpy.asarray() makes one of bytes."""
    return PagelockedHostAllocation._make(uint(size), flags)


class AlignedHostAllocation(HostPointer):
    """Memory that begins at a multiple of a number of bytes."""

    def _allocate(self, size: int, argument: int) -> int:
        alignment = operator.index(argument)
        if alignment <= 0 or alignment & (alignment - 1):
            raise error("aligned_malloc", INVALID_VALUE, "alignment must be a power of two")
        self._storage: Any = np.empty(size + alignment - 1, np.uint8)
        address = self._storage.__array_interface__["data"][0]
        return (address + alignment - 1) & -alignment

    def _give_back(self, address: int) -> None:
        self._storage = None


class RegisteredHostMemory(HostPointer):
    """Memory that was page-locked after its allocation. `base` is its owner."""

    base: Any = None

    @classmethod
    def _register(cls, array: Any, flags: int) -> "RegisteredHostMemory":
        result = cls.__new__(cls)
        result._acquire_context()
        address = array.__array_interface__["data"][0]
        cu.cuMemHostRegister(address, array.nbytes, uint(flags, 32))
        result._size, result._address, result.base = array.nbytes, address, array
        return result

    def _give_back(self, address: int) -> None:
        self._release(lambda: clean_up("cuMemHostUnregister", address))

    unregister = HostPointer.free


class ManagedAllocation(ArrayOwner, DeviceAllocation):
    """Memory that moves between the CPU and the devices."""

    @classmethod
    def _managed(cls, size: int, flags: int) -> "ManagedAllocation":
        flags = uint(flags, 32) or 1  # GLOBAL; CUDA does not take 0
        return cls._make(
            lambda: retry_after_collection(
                lambda: get("cuMemAllocManaged", ctypes.c_uint64, size, flags)
            ),
            size,
        )

    def get_device_pointer(self) -> int:
        """The address, which is the same for the CPU and the device."""
        return self._address()

    def attach(self, mem_flags: int, stream: Any = None) -> None:
        """Says who may use the memory: a value of mem_attach_flags."""
        cu.cuStreamAttachMemAsync(
            stream_handle(stream), self._address(), 0, uint(mem_flags, 32)
        )

    def advise(self, advice: int, device: int = 0) -> None:
        """Tells CUDA how the memory will be used: a value of mem_advise_flags."""
        cu.cuMemAdvise(self._address(), len(self), operator.index(advice), device)

    def _bytes(self) -> Tuple[int, int]:
        return self._address(), len(self)


def layout(shape: Any, dtype: Any, order: str) -> Tuple[Tuple[int, ...], Any, str, int]:
    """The shape as a tuple, the type, the order "C" or "F", and the size in bytes."""
    dims: Tuple[int, ...]
    try:
        dims = (operator.index(shape),)
    except TypeError:
        dims = tuple(operator.index(length) for length in shape)
    if str(order).upper() not in ("C", "F"):
        raise error("numpy_empty", INVALID_VALUE, "unrecognized order specifier")
    kind = np.dtype(dtype)
    size = kind.itemsize
    for length in dims:
        size *= uint(length)
    return dims, kind, str(order).upper(), size


def _family(
    allocate: Callable[[int, int], Any], argument: str, default: int
) -> Tuple[Any, Any, Any, Any]:
    """The functions NAME_empty(), NAME_zeros(), NAME_empty_like(), NAME_zeros_like(),
    whose last argument has a name and a default of its own.
    """

    def value(keywords: Dict[str, int], positional: Tuple[int, ...]) -> int:
        if positional:
            (result,) = positional
        else:
            result = keywords.pop(argument, default)
        if keywords:
            raise TypeError(f"unexpected keyword argument: {', '.join(keywords)}")
        return result

    def empty(shape: Any, dtype: Any, order: str = "C", *last: int, **keywords: int) -> Any:
        dims, kind, order, size = layout(shape, dtype, order)
        return allocate(size, value(keywords, last))._array(dims, kind, order)

    def zeros(shape: Any, dtype: Any, order: str = "C", *last: int, **keywords: int) -> Any:
        result = empty(shape, dtype, order, *last, **keywords)
        result.fill(0)
        return result

    def like(make: Any) -> Any:
        def function(array: Any, *last: int, **keywords: int) -> Any:
            if array.flags.c_contiguous:
                order = "C"
            elif array.flags.f_contiguous:
                order = "F"
            else:
                raise ValueError("could not detect array order")
            return make(array.shape, array.dtype, order, *last, **keywords)

        return function

    return empty, zeros, like(empty), like(zeros)


def _maker(cls: Type[HostPointer]) -> Callable[[int, int], Any]:
    return cls._make


pagelocked_empty, pagelocked_zeros, pagelocked_empty_like, pagelocked_zeros_like = _family(
    _maker(PagelockedHostAllocation), "mem_flags", 0
)
aligned_empty, aligned_zeros, aligned_empty_like, aligned_zeros_like = _family(
    _maker(AlignedHostAllocation), "alignment", 4096
)
managed_empty, managed_zeros, managed_empty_like, managed_zeros_like = _family(
    ManagedAllocation._managed, "mem_flags", 0
)


def register_host_memory(ary: Any, flags: int = 0) -> Any:
    """Page-locks the memory of an array, as long as the returned array exists."""
    if not isinstance(ary, np.ndarray):
        raise error("register_host_memory", INVALID_VALUE, "ary argument is not a numpy array")
    if not ary.flags.c_contiguous:
        raise error("register_host_memory", INVALID_VALUE, "ary argument is not contiguous")
    owner = RegisteredHostMemory._register(ary, flags)
    return owner._array(ary.shape, ary.dtype, "C")
