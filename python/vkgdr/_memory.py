# SPDX-License-Identifier: LGPL-2.1-or-later
"""Device memory of vkgdr.driver: allocations, fills, and copies of plain ranges."""

import ctypes
import gc
import operator
from typing import Any, Callable, Dict, Optional, Tuple

import numpy as np

from ._constants import ipc_mem_flags
from ._context import Context, ContextDependent, clean_up, current_context
from ._cuda import (
    INVALID_CONTEXT,
    INVALID_HANDLE,
    IpcHandle,
    MemoryError,
    cu,
    error,
    get,
    pointer,
    stream_handle,
    uint,
)
from ._stream import ipc_handle

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

# Flags of Python's buffer interface.
ANY_CONTIGUOUS, STRIDED, WRITABLE = 0x98, 0x18, 0x01


class _PyBuffer(ctypes.Structure):
    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("rest", ctypes.c_void_p * 5),
    ]


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = (ctypes.py_object, ctypes.c_void_p, ctypes.c_int)
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = (ctypes.c_void_p,)
_release_buffer.restype = None
_memory_view = ctypes.pythonapi.PyMemoryView_FromMemory
_memory_view.argtypes = (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)
_memory_view.restype = ctypes.py_object


class HostBuffer:
    """The bytes of an object with Python's buffer interface, within a `with` block."""

    def __init__(self, source: Any, flags: int = ANY_CONTIGUOUS) -> None:
        self._buffer = _PyBuffer()
        _get_buffer(source, ctypes.byref(self._buffer), flags)
        self.address: int = self._buffer.buf or 0
        self.size: int = self._buffer.len

    def __enter__(self) -> "HostBuffer":
        return self

    def __exit__(self, *_error: Any) -> None:
        _release_buffer(ctypes.byref(self._buffer))


def view_of(address: int, size: int, offset: int = 0) -> Any:
    """A writable memoryview of an address."""
    return _memory_view(address + uint(offset), uint(size, 63), 0x200)


class _Address:
    """An object that is used as a device pointer."""

    def _address(self) -> int:
        raise NotImplementedError

    def __index__(self) -> int:
        return self._address()

    def __int__(self) -> int:
        return self.__index__()

    __long__ = __int__

    def __add__(self, other: Any) -> int:
        return self._address() + operator.index(other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> int:
        return self._address() - operator.index(other)

    def as_buffer(self, size: int, offset: int = 0) -> Any:
        """The memory as a writable buffer of Python, for memory that the CPU can use."""
        return view_of(self._address(), size, offset)


class PointerHolderBase(_Address):
    """A base class for memory of other libraries, which has to have get_pointer()."""

    def get_pointer(self) -> int:
        raise NotImplementedError("a subclass of PointerHolderBase needs get_pointer()")

    def _address(self) -> int:
        return operator.index(self.get_pointer())


class DeviceAllocation(_Address, ContextDependent):
    """Linear device memory. It is freed with the object, after pending work."""

    _FREE = "cuMemFree"
    _pointer: Optional[int] = None
    _size: int

    def __init__(self) -> None:
        raise TypeError("DeviceAllocation is made by mem_alloc()")

    @classmethod
    def _make(cls, allocate: Callable[[], int], size: int) -> Any:
        result = cls.__new__(cls)
        result._acquire_context()
        result._pointer = allocate()
        result._size = size
        return result

    def _address(self) -> int:
        if self._pointer is None:
            raise error(f"{type(self).__name__}", INVALID_HANDLE, "it has been freed")
        return self._pointer

    def __index__(self) -> int:  # faster than that of the base class
        address = self._pointer
        return self._address() if address is None else address

    def free(self) -> None:
        """Frees the memory now, and waits for work that uses it."""
        address, self._pointer = self._pointer, None
        if address is None:
            raise error(f"{type(self).__name__}::free", INVALID_HANDLE)
        self._release(lambda: clean_up(self._FREE, address))

    def __del__(self) -> None:
        if self._pointer is not None:
            self.free()

    def __len__(self) -> int:
        return self._size

    def __bool__(self) -> bool:
        return self._pointer is not None

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        data = (self._address(), False)
        return {"shape": (len(self),), "typestr": "|u1", "data": data, "version": 3}


def retry_after_collection(allocate: Callable[[], Any]) -> Any:
    """Allocates, and tries again after a garbage collection if there is no memory."""
    try:
        return allocate()
    except MemoryError:
        gc.collect()
    return allocate()


def mem_alloc(size: int) -> DeviceAllocation:
    """Allocates device memory."""
    size = uint(size)
    return DeviceAllocation._make(
        lambda: retry_after_collection(lambda: get("cuMemAlloc", ctypes.c_uint64, size)), size
    )


def mem_alloc_pitch(width: int, height: int, access_size: int) -> Tuple[DeviceAllocation, int]:
    """Allocates rows whose pitch suits the device. Returns the memory and the pitch."""
    address, pitch = ctypes.c_uint64(), ctypes.c_size_t()

    def allocate() -> int:
        cu.cuMemAllocPitch(
            ctypes.byref(address), ctypes.byref(pitch), uint(width), uint(height),
            uint(access_size, 32),
        )
        return address.value

    memory = DeviceAllocation._make(lambda: retry_after_collection(allocate), 0)
    memory._size = pitch.value * height
    return memory, pitch.value


def mem_alloc_like(ary: Any) -> DeviceAllocation:
    return mem_alloc(ary.nbytes)


def mem_get_info() -> Tuple[int, int]:
    """The free and the total memory of the device in bytes."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    cu.cuMemGetInfo(ctypes.byref(free), ctypes.byref(total))
    return free.value, total.value


def mem_get_address_range(ptr: Any) -> Tuple[int, int]:
    """The address and the size of the allocation that contains an address."""
    base, size = ctypes.c_uint64(), ctypes.c_size_t()
    cu.cuMemGetAddressRange(ctypes.byref(base), ctypes.byref(size), pointer(ptr))
    return base.value, size.value


def mem_get_ipc_handle(devptr: Any) -> bytearray:
    """A handle of memory, for IPCMemoryHandle in another process."""
    handle = IpcHandle()
    cu.cuIpcGetMemHandle(ctypes.byref(handle), pointer(devptr))
    return bytearray(handle)


class IPCMemoryHandle(DeviceAllocation):
    """Memory of another process."""

    _FREE = "cuIpcCloseMemHandle"

    def __init__(self, handle: Any, flags: int = ipc_mem_flags.LAZY_ENABLE_PEER_ACCESS) -> None:
        self._acquire_context()
        self._pointer = get(
            "cuIpcOpenMemHandle", ctypes.c_uint64, ipc_handle(handle), uint(flags, 32)
        )
        self._size = mem_get_address_range(self._pointer)[1]

    close = DeviceAllocation.free


def _memset(bits: int, rows: bool = False, is_async: bool = False) -> Any:
    """Makes one of the functions that fill memory."""
    function = f"cuMemsetD{'2D' if rows else ''}{bits}{'Async' if is_async else ''}"

    def fill(*arguments: int, stream: Tuple[Any, ...]) -> None:
        getattr(cu, function)(*arguments, *map(stream_handle, stream))

    def memset(dest: Any, data: int, size: int) -> None:
        fill(pointer(dest), uint(data, bits), uint(size), stream=())

    def memset_async(dest: Any, data: int, size: int, stream: Any = None) -> None:
        fill(pointer(dest), uint(data, bits), uint(size), stream=(stream,))

    def memset_2d(dest: Any, pitch: int, data: int, width: int, height: int) -> None:
        fill(pointer(dest), uint(pitch), uint(data, bits), uint(width), uint(height), stream=())

    def memset_2d_async(
        dest: Any, pitch: int, data: int, width: int, height: int, stream: Any = None
    ) -> None:
        fill(
            pointer(dest), uint(pitch), uint(data, bits), uint(width), uint(height),
            stream=(stream,),
        )

    return ((memset, memset_async), (memset_2d, memset_2d_async))[rows][is_async]


memset_d8, memset_d16, memset_d32 = map(_memset, (8, 16, 32))
memset_d8_async, memset_d16_async, memset_d32_async = (
    _memset(bits, is_async=True) for bits in (8, 16, 32)
)
memset_d2d8, memset_d2d16, memset_d2d32 = (_memset(bits, rows=True) for bits in (8, 16, 32))
memset_d2d8_async, memset_d2d16_async, memset_d2d32_async = (
    _memset(bits, rows=True, is_async=True) for bits in (8, 16, 32)
)


def memcpy_htod(dest: Any, src: Any) -> None:
    """Copies a buffer of Python, as a whole, to the device."""
    with HostBuffer(src) as host:
        cu.cuMemcpyHtoD(pointer(dest), host.address, host.size)


def memcpy_htod_async(dest: Any, src: Any, stream: Any = None) -> None:
    """The same on a stream. The buffer should be page-locked, and must stay alive."""
    with HostBuffer(src) as host:
        cu.cuMemcpyHtoDAsync(pointer(dest), host.address, host.size, stream_handle(stream))


def memcpy_dtoh(dest: Any, src: Any) -> None:
    """Fills a buffer of Python, as a whole, with memory of the device."""
    with HostBuffer(dest, ANY_CONTIGUOUS | WRITABLE) as host:
        cu.cuMemcpyDtoH(host.address, pointer(src), host.size)


def memcpy_dtoh_async(dest: Any, src: Any, stream: Any = None) -> None:
    """The same on a stream. The buffer should be page-locked, and must stay alive."""
    with HostBuffer(dest, ANY_CONTIGUOUS | WRITABLE) as host:
        cu.cuMemcpyDtoHAsync(host.address, pointer(src), host.size, stream_handle(stream))


def memcpy_dtod(dest: Any, src: Any, size: int) -> None:
    cu.cuMemcpyDtoD(pointer(dest), pointer(src), uint(size))


def memcpy_dtod_async(dest: Any, src: Any, size: int, stream: Any = None) -> None:
    cu.cuMemcpyDtoDAsync(pointer(dest), pointer(src), uint(size), stream_handle(stream))


def _context_handle(context: Optional[Context]) -> int:
    context = context or current_context()
    if context is None:
        raise error("memcpy_peer", INVALID_CONTEXT, "no currently active context?")
    return context.handle


def memcpy_peer(
    dest: Any, src: Any, size: int, dest_context: Optional[Context] = None,
    src_context: Optional[Context] = None,
) -> None:
    """Copies between contexts. The default is the current one."""
    cu.cuMemcpyPeer(
        pointer(dest), _context_handle(dest_context), pointer(src),
        _context_handle(src_context), uint(size),
    )


def memcpy_peer_async(
    dest: Any, src: Any, size: int, dest_context: Optional[Context] = None,
    src_context: Optional[Context] = None, stream: Any = None,
) -> None:
    cu.cuMemcpyPeerAsync(
        pointer(dest), _context_handle(dest_context), pointer(src),
        _context_handle(src_context), uint(size), stream_handle(stream),
    )


def to_device(bf_obj: Any) -> DeviceAllocation:
    """Allocates memory for a buffer of Python, and copies the buffer there."""
    data = memoryview(bf_obj)
    contents = data if data.c_contiguous else data.tobytes()
    result = mem_alloc(data.nbytes)
    memcpy_htod(result, contents)
    return result


def from_device(devptr: Any, shape: Any, dtype: Any, order: str = "C") -> Any:
    """A new array with the data at an address of the device."""
    result: Any = np.empty(shape, dtype, order)  # type: ignore[call-overload]
    memcpy_dtoh(result, devptr)
    return result


def from_device_like(devptr: Any, other_ary: Any) -> Any:
    """The same, with the shape, the dtype and the order of another array."""
    result = np.empty_like(other_ary)
    memcpy_dtoh(result, devptr)
    return result
