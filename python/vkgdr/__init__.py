# SPDX-License-Identifier: LGPL-2.1-or-later
"""GPU memory that the CPU writes to, with the Python API of vkgdr 0.1.

These parts do not depend on the CUDA bindings in use. Programs written for vkgdr 0.1
run without changes. In addition, NumPy can use RawMemory as an array, and wrong
arguments raise VkgdrError.

    import numpy as np
    import vkgdr, vkgdr.pycuda

    handle = vkgdr.Vkgdr.open_current_context()
    memory = vkgdr.pycuda.Memory(handle, 1 << 20)
    np.asarray(memory)[:] = 7
    memory.flush(0, len(memory))
"""

import ctypes
import enum
import sys
import weakref
from typing import Any, Callable, Dict, List, Optional, Type, TypeVar

from ._as_pycuda import as_pycuda
from ._cuda import uint
from ._library import Unique, VkgdrError, failure, last_error, lib
from .frames import FrameServer, Frames

__all__ = [
    "FrameServer", "Frames", "OpenFlags", "RawMemory", "VERSION", "VERSION_STATUS", "VERSION_TEXT",
    "Vkgdr", "VkgdrError", "as_pycuda",
]


def __dir__() -> List[str]:
    return [*__all__, "autoinit", "autoprimaryctx", "compiler", "driver", "frames", "pycuda",
            "tools"]

#: The version of PyCUDA whose interface vkgdr.driver and its like have.
VERSION = (2026, 1)
VERSION_STATUS = ""
VERSION_TEXT = "2026.1"

_V = TypeVar("_V", bound="Vkgdr")
_M = TypeVar("_M", bound="RawMemory")


class OpenFlags(enum.IntFlag):
    """Flags of Vkgdr."""

    #: Ignore the given device and use the current CUDA context instead.
    CURRENT_CONTEXT_BIT = 1
    #: Treat the memory as non-coherent even if it is coherent (for debugging only).
    FORCE_NON_COHERENT_BIT = 2
    #: Fail unless memory is guaranteed to be coherent.
    REQUIRE_COHERENT_BIT = 4


def _integer(value: Any, problem: str, bits: int = 64, least: int = 0) -> int:
    try:
        return uint(value, bits, least)
    except OverflowError:
        raise VkgdrError(problem) from None


def _check_flags(flags: int) -> int:
    return _integer(flags, f"flags {flags!r} are not valid: use a combination of OpenFlags", 32)


class Vkgdr(Unique):
    """A handle of one device. It may be used from any thread.

    :param device: the number of a CUDA device (ignored with CURRENT_CONTEXT_BIT)
    :param flags: a combination of OpenFlags
    """

    def __init__(self, device: int, flags: int = 0) -> None:
        device = _integer(device, f"there is no CUDA device {device}", 32, -1 << 31)
        self._handle = lib.vkgdr_open(device, _check_flags(flags))
        if not self._handle:
            raise failure()
        # The memory keeps a reference to the device, so the handle may be freed first.
        weakref.finalize(self, lib.vkgdr_close, self._handle).atexit = False

    @classmethod
    def open_current_context(cls: Type[_V], flags: int = 0) -> _V:
        """A handle of the device of the current CUDA context."""
        return cls(0, _check_flags(flags) | OpenFlags.CURRENT_CONTEXT_BIT)


class _Allocation:
    """The library's memory, which its arrays keep. After RawMemory.free(), it is freed
    with the last of them: an array of NumPy only has an address.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self.release: Optional[Callable[[int], None]] = None

    def view(self) -> "ctypes.Array[ctypes.c_ubyte]":
        """A buffer with the bytes of the memory."""
        size = lib.vkgdr_memory_get_size(self._handle)
        buffer = (ctypes.c_ubyte * size).from_address(lib.vkgdr_memory_get_host_ptr(self._handle))
        buffer.allocation = self  # type: ignore[attr-defined]
        return buffer

    def __del__(self) -> None:
        if self.release is not None and not sys.is_finalizing():
            self.release(self._handle)


class RawMemory(Unique):
    """Memory that has to be freed explicitly, or it leaks; vkgdr.pycuda.Memory is freed by
    the garbage collector.

    numpy.asarray(memory) returns the bytes in the window as an array. Writing to it is
    as fast as writing to RAM, but reading is some hundred times slower. After free(), the
    other methods and properties raise VkgdrError. Arrays that were made before stay
    valid, and the memory is freed with the last of them.

    :param owner: a Vkgdr of the device of the current CUDA context
    :param size: number of bytes to allocate
    :param flags: must be 0
    """

    def __init__(self, owner: Vkgdr, size: int, flags: int = 0) -> None:
        self._allocation: Optional[_Allocation] = None
        if not isinstance(owner, Vkgdr):
            raise TypeError(f"the owner is a vkgdr.Vkgdr, not {type(owner).__name__}")
        size = _integer(size, f"{size} bytes cannot be allocated")
        if _check_flags(flags):  # memory without a host pointer cannot be used here
            raise VkgdrError(f"the flags are {flags:#x}: they must be 0")
        handle = lib.vkgdr_memory_alloc(owner._handle, size, 0)
        if not handle:
            raise failure()
        self._owner = owner
        self._allocation = _Allocation(handle)

    def _live(self) -> _Allocation:
        if self._allocation is None:
            raise VkgdrError("this memory has been freed")
        return self._allocation

    def _releaser(self) -> Callable[[int], None]:
        """A function that frees the memory, and does not refer to this object."""
        return lib.vkgdr_memory_free

    def free(self) -> None:
        """Frees the memory. The CUDA context in which it was allocated must still exist. A
        second call does nothing.
        """
        allocation, self._allocation = self._allocation, None
        if allocation is not None:
            allocation.release = self._releaser()

    def __enter__(self: _M) -> _M:
        self._live()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.free()

    def _get(self, name: str) -> Any:
        return getattr(lib, f"vkgdr_memory_{name}")(self._live()._handle)

    def __len__(self) -> int:
        return self._get("get_size")

    def __bool__(self) -> bool:
        """Whether the memory has not been freed."""
        return self._allocation is not None

    def __repr__(self) -> str:
        if not self:
            return f"<{type(self).__name__}, freed>"
        return f"<{type(self).__name__} of {len(self)} bytes at {self.device_ptr:#x}>"

    @property
    def device_ptr(self) -> int:
        """The CUDA device pointer of the allocation."""
        return self._get("get_device_ptr")

    @property
    def is_coherent(self) -> bool:
        """Whether the allocation is coherent from the host's point of view."""
        return self._get("is_coherent")

    @property
    def non_coherent_atom_size(self) -> int:
        """The alignment for flush and invalidate operations: 1 if the memory is coherent."""
        return self._get("non_coherent_atom_size")

    def _range(self, function: Callable[[int, int, int], None], offset: int, size: int) -> None:
        handle = self._live()._handle
        problem = f"{size} bytes from {offset} are not a range inside {len(self)} bytes"
        function(handle, _integer(offset, problem), _integer(size, problem))
        message = last_error()
        if message is not None:
            raise VkgdrError(message)

    def flush(self, offset: int, size: int) -> None:
        """Makes what the CPU wrote to a range visible to the device. The range is extended
        to multiples of non_coherent_atom_size.
        """
        self._range(lib.vkgdr_memory_flush, offset, size)

    def invalidate(self, offset: int, size: int) -> None:
        """Makes what the device wrote to a range visible to the CPU."""
        self._range(lib.vkgdr_memory_invalidate, offset, size)

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        # NumPy uses the object under "data" as the array's base.
        return {"version": 3, "shape": (len(self),), "typestr": "|u1", "data": self._live().view()}

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        """For vkgdr.driver, PyTorch, CuPy and Numba. Flush what the CPU wrote before."""
        data = (self.device_ptr, False)
        return {"shape": (len(self),), "typestr": "|u1", "data": data, "version": 3}
