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
import operator
import threading
import weakref
from types import TracebackType
from typing import Any, Callable, Dict, Optional, Type, TypeVar

from ._library import last_error, lib

__all__ = ["FrameServer", "Frames", "OpenFlags", "RawMemory", "Vkgdr", "VkgdrError"]

#: The version of PyCUDA whose interface vkgdr.driver and its like have.
VERSION = (2022, 2, 2)
VERSION_STATUS = ""
VERSION_TEXT = "2022.2.2"

_V = TypeVar("_V", bound="Vkgdr")
_M = TypeVar("_M", bound="RawMemory")

_UINT32_MAX = 0xFFFFFFFF
_SIZE_MAX = ctypes.c_size_t(-1).value


class OpenFlags(enum.IntFlag):
    """Flags of Vkgdr."""

    #: Ignore the given device and use the current CUDA context instead.
    CURRENT_CONTEXT_BIT = 1
    #: Treat the memory as non-coherent even if it is coherent (for debugging only).
    FORCE_NON_COHERENT_BIT = 2
    #: Fail unless memory is guaranteed to be coherent.
    REQUIRE_COHERENT_BIT = 4


class VkgdrError(RuntimeError):
    """An error of the library, with its reason."""


def _check() -> None:
    message = last_error()
    if message is not None:
        raise VkgdrError(message)


def _integer(value: Any, what: str) -> int:
    """Converts an integer of Python or NumPy to an int. ctypes would raise other
    errors.
    """
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is an integer, not {type(value).__name__}") from None


def _check_flags(flags: int) -> int:
    flags = _integer(flags, "a combination of flags")
    # ctypes would ignore the upper bits.
    if not 0 <= flags <= _UINT32_MAX:
        raise VkgdrError(f"flags {flags:#x} are not valid: use a combination of OpenFlags")
    return flags


class Vkgdr:
    """A handle of one device. It may be used from any thread.

    :param device: CUDA device from which to allocate the memory (ignored if flags
      contains OpenFlags.CURRENT_CONTEXT_BIT)
    :param flags: a bitwise combination of zero or more of OpenFlags
    :raises VkgdrError: if there was an error from the underlying C library
    """

    def __init__(self, device: int, flags: int = 0) -> None:
        device = _integer(device, "a device")
        if not -0x80000000 <= device <= 0x7FFFFFFF:
            raise VkgdrError(f"there is no CUDA device {device}")
        self._handle = lib.vkgdr_open(device, _check_flags(flags))
        if not self._handle:
            _check()
        # The memory keeps a reference to the device, so the handle may be freed first.
        weakref.finalize(self, lib.vkgdr_close, self._handle).atexit = False

    @classmethod
    def open_current_context(cls: Type[_V], flags: int = 0) -> _V:
        """Construct an instance using the current CUDA context.

        This is a shortcut to pass OpenFlags.CURRENT_CONTEXT_BIT in flags.
        """
        return cls(0, _check_flags(flags) | OpenFlags.CURRENT_CONTEXT_BIT)


class _Allocation:
    """The library's memory, which is freed when it is not used any more.

    It is freed when free() was called and no array of it is left. If free()
    freed it at once, an array of NumPy, which only has an address, could
    outlive the memory.
    """

    def __init__(self, handle: int) -> None:
        self._lock = threading.RLock()
        self._handle: Optional[int] = handle
        self._views = 0
        self._release: Optional[Callable[[int], None]] = None

    def view(self, pointer: int, size: int) -> "ctypes.Array[ctypes.c_ubyte]":
        """A buffer with the bytes of the memory. The memory exists as long as the
        buffer.
        """
        buffer = (ctypes.c_ubyte * size).from_address(pointer)
        with self._lock:
            self._views += 1
        weakref.finalize(buffer, self._drop_view).atexit = False
        return buffer

    def free(self, release: Callable[[int], None]) -> None:
        with self._lock:
            self._release = release
            self._free_if_unused()

    def _drop_view(self) -> None:
        with self._lock:
            self._views -= 1
            self._free_if_unused()

    def _free_if_unused(self) -> None:
        if self._release is None or self._views > 0 or self._handle is None:
            return
        handle, self._handle = self._handle, None
        self._release(handle)


class RawMemory:
    """Low-level memory allocation.

    This should generally not be used directly, as it requires the memory to be
    explicitly freed (otherwise it will leak). Use an API-specific wrapper like
    vkgdr.pycuda.Memory for safe garbage collection.

    numpy.asarray(memory) returns the bytes in the window as an array. Writing to it is
    as fast as writing to RAM, but reading is some hundred times slower. After free(), the
    other methods and properties raise VkgdrError. Arrays that were made before stay
    valid, and the memory is freed with the last of them.

    :param owner: a Vkgdr created with the same device as the current CUDA context
    :param size: number of bytes to allocate
    :param flags: flags for future expansion; must be 0
    :raises VkgdrError: if there was an error from the underlying C library
    """

    def __init__(self, owner: Vkgdr, size: int, flags: int = 0) -> None:
        self._handle: Optional[int] = None
        if not isinstance(owner, Vkgdr):
            raise TypeError(f"the owner is a vkgdr.Vkgdr, not {type(owner).__name__}")
        size = _integer(size, "the size")
        if not 0 < size <= _SIZE_MAX:
            raise VkgdrError(f"{size} bytes cannot be allocated")
        if _check_flags(flags):  # memory without a host pointer cannot be used here
            raise VkgdrError(f"the flags are {flags:#x}: they must be 0")
        handle = lib.vkgdr_memory_alloc(owner._handle, size, 0)
        if not handle:
            _check()
        self._owner = owner
        self._handle = handle
        self._allocation = _Allocation(handle)

    def _live(self) -> int:
        if self._handle is None:
            raise VkgdrError("this memory has been freed")
        return self._handle

    def _releaser(self) -> Callable[[int], None]:
        """Returns a function that frees the memory. It must not refer to this object,
        which may be freed first.
        """
        return lib.vkgdr_memory_free

    def free(self) -> None:
        """Free the memory.

        The CUDA context that was current when the object was constructed must
        still exist. It is safe to call it multiple times.
        """
        if self._handle is None:
            return
        self._handle = None
        self._allocation.free(self._releaser())

    def __enter__(self: _M) -> _M:
        self._live()
        return self

    def __exit__(
        self,
        exc_type: Optional[Type[BaseException]],
        exc: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.free()

    def __len__(self) -> int:
        return lib.vkgdr_memory_get_size(self._live())

    def __bool__(self) -> bool:
        """Whether the memory has not been freed. Without this method, Python
        would use the length, which raises an error after free().
        """
        return self._handle is not None

    def __repr__(self) -> str:
        if self._handle is None:
            return f"<{type(self).__name__}, freed>"
        return f"<{type(self).__name__} of {len(self)} bytes at {self.device_ptr:#x}>"

    @property
    def device_ptr(self) -> int:
        """The CUDA device pointer of the allocation."""
        return lib.vkgdr_memory_get_device_ptr(self._live())

    @property
    def is_coherent(self) -> bool:
        """Whether the allocation is coherent from the host's point of view."""
        return lib.vkgdr_memory_is_coherent(self._live())

    @property
    def non_coherent_atom_size(self) -> int:
        """The alignment for flush and invalidate operations.

        If the memory is coherent, it is 1.
        """
        return lib.vkgdr_memory_non_coherent_atom_size(self._live())

    def _range(self, function: Callable[[int, int, int], None], offset: int, size: int) -> None:
        handle = self._live()
        offset, size = _integer(offset, "the offset"), _integer(size, "the size")
        # ctypes would convert a negative number to a large one, and ignore its upper
        # bits.
        if not (0 <= offset <= _SIZE_MAX and 0 <= size <= _SIZE_MAX):
            raise VkgdrError(f"{size} bytes from {offset} are not a range inside {len(self)} bytes")
        function(handle, offset, size)
        _check()

    def flush(self, offset: int, size: int) -> None:
        """Flush host writes so that they are visible to the device.

        A range that is not aligned to non_coherent_atom_size is extended to this
        alignment.

        :param offset: offset in bytes to the first byte to flush
        :param size: size in bytes of the region to flush
        :raises VkgdrError: if the range is not inside the memory, or the driver fails
        """
        self._range(lib.vkgdr_memory_flush, offset, size)

    def invalidate(self, offset: int, size: int) -> None:
        """Invalidate the host's view of device memory, so that previous device writes
        are visible to the host.

        :param offset: offset in bytes to the first byte to invalidate
        :param size: size in bytes of the region to invalidate
        :raises VkgdrError: if the range is not inside the memory, or the driver fails
        """
        self._range(lib.vkgdr_memory_invalidate, offset, size)

    def _view(self) -> "ctypes.Array[ctypes.c_ubyte]":
        handle = self._live()
        return self._allocation.view(lib.vkgdr_memory_get_host_ptr(handle), len(self))

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        # NumPy uses the object under "data" as the array's base.
        return {"version": 3, "shape": (len(self),), "typestr": "|u1", "data": self._view()}

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        """For vkgdr.driver, PyTorch, CuPy and Numba. Flush what the CPU wrote before."""
        data = (self.device_ptr, False)
        return {"shape": (len(self),), "typestr": "|u1", "data": data, "version": 3}

    def __buffer__(self, flags: int) -> memoryview:
        """memoryview(memory), from Python 3.12 on. The view keeps a reference to the
        memory.
        """
        return memoryview(self._view()).cast("B")


# The module uses VkgdrError.
from .frames import FrameServer, Frames  # noqa: E402
