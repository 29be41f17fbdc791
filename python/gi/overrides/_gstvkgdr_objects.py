# SPDX-License-Identifier: LGPL-2.1-or-later
"""Contexts, streams, allocators, memories and mappings, used like other objects of Python.

Context() and the like do the same as new(). PyGObject's own constructors would make empty
objects. PyGObject makes all memories as objects of GStreamer's class Gst.Memory. The
library's functions check that a memory is device memory: in C, another type of memory is
a programming error, which is logged.
"""

import ctypes
import functools
import operator
from typing import Any, Optional, Tuple

from ._gstvkgdr_base import Gst, GstVkgdr, override

# In PyGObject, constants of a flags type are 0.
MAP_VKGDR = Gst.MapFlags(int(Gst.MapFlags.FLAG_LAST) << 1)


def is_integer(value: Any) -> bool:
    """Whether the value is an integer of Python, NumPy or another library, but not a bool."""
    return hasattr(type(value), "__index__") and not isinstance(value, bool)


@override
class Context(GstVkgdr.Context):
    def __new__(cls, device: int = -1) -> "Context":
        """:param device: the number of a device, or -1 for the default one"""
        if operator.index(device) < -1:
            raise ValueError(f"there is no CUDA device {device}")
        return GstVkgdr.Context.new(device)

    def __init__(self, device: int = -1) -> None:
        pass

    def __enter__(self) -> "Context":
        """Makes the CUDA context current in this thread."""
        self.push()
        return self

    def __exit__(self, *exc: object) -> None:
        self.pop()

    def get_memory_info(self) -> Tuple[int, int]:
        """The free bytes and the total bytes of the device."""
        return tuple(super().get_memory_info())[-2:]

    def __eq__(self, other: object) -> bool:
        """Contexts with the same CUDA context can use the objects of each other."""
        return (isinstance(other, GstVkgdr.Context)
                and other.get_cuda_context() == self.get_cuda_context())

    def __ne__(self, other: object) -> bool:
        return not self == other  # GObject's function compares objects

    def __hash__(self) -> int:
        return hash(("GstVkgdr.Context", self.get_cuda_context()))

    def __repr__(self) -> str:
        handle = self.get_cuda_context() or 0
        return f"<GstVkgdr.Context of device {self.get_device()}, CUcontext {handle:#x}>"


@override
class Stream(GstVkgdr.Stream):
    def __new__(cls, context: Context, handle: Optional[int] = None) -> "Stream":
        """:param handle: a CUstream of another library; without it, there is a new one"""
        if not isinstance(context, Context):
            raise TypeError(f"a GstVkgdr.Context is needed, not {type(context).__name__}")
        if handle is None:
            return GstVkgdr.Stream.new(context)
        number = operator.index(handle)
        if number < 0:
            raise ValueError(f"a CUstream is {number}, and cannot be negative")
        return GstVkgdr.Stream.new_wrapped(context, number or None)

    def __init__(self, context: Context, handle: Optional[int] = None) -> None:
        pass

    @property
    def handle(self) -> int:
        """The CUstream as a number. 0 is CUDA's legacy default stream."""
        return self.get_handle() or 0

    def __cuda_stream__(self) -> Tuple[int, int]:
        return (0, self.handle)

    def __repr__(self) -> str:
        return f"<GstVkgdr.Stream {self.handle:#x} of device {self.get_context().get_device()}>"


def as_stream(context: Context, stream: Any) -> Stream:
    """Makes a GstVkgdr.Stream of the context for a stream of any library.

    :param stream: a GstVkgdr.Stream; the number of a CUstream, which has to exist as
      long as the result; or an object of PyTorch (cuda_stream), CuPy (ptr), PyCUDA
      (handle) or cuda.core (__cuda_stream__), which the result keeps
    """
    if isinstance(stream, GstVkgdr.Stream):
        if stream.get_context() != context:
            raise ValueError("the stream is of another CUDA context")
        return stream
    if is_integer(stream):
        return Stream(context, stream)
    protocol = getattr(stream, "__cuda_stream__", None)
    handles = [protocol()[1]] if protocol is not None else [
        getattr(stream, name, None) for name in ("cuda_stream", "ptr", "handle")]
    for handle in filter(is_integer, handles):
        result = Stream(context, handle)
        result._owner = stream
        return result
    raise TypeError(f"a {type(stream).__name__} is neither a CUDA stream nor the number of one")


@override
class Allocator(GstVkgdr.Allocator):
    def __new__(cls, context: Optional["GstVkgdr.Context"] = None) -> "Allocator":
        """Without a context, that of the default device is opened when it is needed."""
        return GstVkgdr.Allocator.new(context)

    def __init__(self, context: Optional["GstVkgdr.Context"] = None) -> None:
        pass

    def alloc(self, size: int, *params: Any, **keywords: Any) -> Gst.Memory:
        """Allocates device memory. With params, this is Gst.Allocator.alloc(), for programs
        that choose an allocator by its name. Without, an error tells why there is no memory.
        """
        if params or keywords:
            return Gst.Allocator.alloc(self, operator.index(size), *params, **keywords)
        return super().alloc(operator.index(size))


@override
class Mapping(GstVkgdr.Mapping):
    def __enter__(self) -> "Mapping":
        return self

    def __exit__(self, *exc: object) -> None:
        """Unmaps the memory. Arrays and views of it must not be used any more."""
        self.unmap()

    def __len__(self) -> int:
        return self.get_size()

    def __bool__(self) -> bool:
        return True

    @property
    def data(self) -> memoryview:
        """The mapped bytes of the host, which keep the mapping. They are writable if it is
        for WRITE.
        """
        flags = self.get_flags()
        if flags & MAP_VKGDR:
            raise BufferError("the memory is mapped for the device, so the host cannot view it")
        pointer = self.get_pointer()
        if not pointer:
            raise ValueError("the memory was unmapped")
        view = memoryview(host_bytes(pointer, self.get_size(), self)).cast("B")
        return view if flags & Gst.MapFlags.WRITE else view.toreadonly()


def host_bytes(address: int, size: int, owner: Any) -> Any:
    """Bytes of the host, which keep their owner: after its unmap, the content is
    undefined, but the memory still exists.
    """
    data = (ctypes.c_ubyte * size).from_address(address)
    data.owner = owner
    return data


# --- memory -------------------------------------------------------------------


def _check_memory(memory: Gst.Memory) -> Gst.Memory:
    if not GstVkgdr.is_vkgdr_memory(memory):
        raise TypeError("the memory is not device memory, as GstVkgdr.Allocator.alloc() gives")
    return memory


# A memory has a length, and device memory is a number, its pointer.
Gst.Memory.__len__ = lambda memory: memory.size
Gst.Memory.__bool__ = lambda memory: True  # otherwise, Python would test the length
Gst.Memory.__int__ = lambda memory: GstVkgdr.memory_get_device_pointer(_check_memory(memory))


def _checked(name: str) -> Any:
    function = getattr(GstVkgdr, name)

    def call(*args: Any, **keywords: Any) -> Any:
        for value in (*args, *keywords.values()):
            if isinstance(value, Gst.Memory):
                _check_memory(value)
        result = function(*args, **keywords)
        # The address is None if the memory has none.
        return (result or None) if name == "memory_get_host_pointer" else result

    return functools.update_wrapper(call, function)


#: All functions of the library that begin with "memory_", by name.
checked_functions = {name: _checked(name) for name in dir(GstVkgdr) if name.startswith("memory_")}
