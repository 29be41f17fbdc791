# SPDX-License-Identifier: LGPL-2.1-or-later
"""Memory pools of vkgdr.tools, with PyCUDA's bins: sizes whose first five bits are equal
share blocks.
"""

import gc
import threading
from typing import Any, Dict, List, Optional, Tuple

from ._context import Context, acquire_context, bare, clean_up, in_context
from ._cuda import OUT_OF_MEMORY, MemoryError, error, get, uint
from ._memory import DeviceAllocation, PagelockedHostAllocation, layout

__all__ = [
    "DeviceMemoryPool", "PageLockedAllocator", "PageLockedMemoryPool",
    "PooledDeviceAllocation", "PooledHostAllocation", "bitlog2",
]

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
    _flags: Tuple[int, ...] = ()

    def __init__(self) -> None:
        self._made_in: Optional[Context] = None
        self._lock = threading.RLock()
        self._bins: Dict[int, List[int]] = {}
        self._stopped = False
        self.held_blocks = self.active_blocks = self.managed_bytes = self.active_bytes = 0

    def _allocate_block(self, size: int) -> int:
        self._made_in = self._made_in or acquire_context()
        return in_context(self._made_in, lambda: get(self._ALLOCATE, "D", size, *self._flags))

    def _free_block(self, address: int) -> None:
        if self._made_in is not None:
            in_context(self._made_in, lambda: clean_up(self._FREE, address))

    def bin_number(self, size: int) -> int:
        exponent, shift = bitlog2(size), bitlog2(size) - _MANTISSA_BITS
        shifted = size >> shift if shift >= 0 else size << -shift
        return exponent << _MANTISSA_BITS | shifted & (1 << _MANTISSA_BITS) - 1

    def alloc_size(self, bin: int) -> int:  # noqa: A002
        shift = (bin >> _MANTISSA_BITS) - _MANTISSA_BITS
        head = 1 << _MANTISSA_BITS | bin & (1 << _MANTISSA_BITS) - 1
        return (head + 1 << shift) - 1 if shift >= 0 else head >> -shift

    def _take(self, size: int) -> int:
        number = self.bin_number(uint(size))
        with self._lock:
            address = self._pop(number)
            if address is None:
                address = self._allocate_new(number)
            self.active_blocks += 1
            self.active_bytes += size
            return address

    def _pop(self, number: int) -> Optional[int]:
        blocks = self._bins.get(number)
        if not blocks:
            return None
        self.held_blocks -= 1
        return blocks.pop()

    def _allocate_new(self, number: int) -> int:
        """Allocates a block. If there is no memory, frees unused blocks first."""
        size = self.alloc_size(number)
        is_collected = False
        while True:
            try:
                address = self._allocate_block(size)
                self.managed_bytes += size
                return address
            except MemoryError:
                pass
            if not is_collected:
                is_collected = True
                gc.collect()
                held = self._pop(number)
                if held is not None:
                    return held
            if not self._free_largest():
                raise error("memory_pool::allocate", OUT_OF_MEMORY,
                            "failed to free memory for allocation")

    def _free_largest(self) -> bool:
        number = max((number for number, blocks in self._bins.items() if blocks), default=None)
        if number is None:
            return False
        address = self._pop(number)
        self.managed_bytes -= self.alloc_size(number)
        self._free_block(address or 0)
        return True

    def _give_back(self, address: int, size: int) -> None:
        number = self.bin_number(size)
        with self._lock:
            self.active_blocks -= 1
            self.active_bytes -= size
            if not self._stopped:
                self._bins.setdefault(number, []).append(address)
                self.held_blocks += 1
                return
            self.managed_bytes -= self.alloc_size(number)
            self._free_block(address)

    def free_held(self) -> None:
        with self._lock:
            while self._free_largest():
                pass

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
        result = PooledDeviceAllocation._make(uint(size), self._take, size)
        result._pool = self
        return result


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
        super().__init__()
        self._flags = ((allocator or PageLockedAllocator()).flags,)

    def allocate(self, shape: Any, dtype: Any, order: str = "C") -> Any:
        dims, kind, order, size = layout(shape, dtype, order)
        owner = bare(PooledHostAllocation, _pool=self, _size=size, _pointer=self._take(size))
        return owner._array(dims, kind, order)
