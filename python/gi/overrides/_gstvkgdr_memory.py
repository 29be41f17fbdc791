# SPDX-License-Identifier: LGPL-2.1-or-later
"""Allocators, memories and mappings as objects of Python.

PyGObject makes all memories as objects of GStreamer's class Gst.Memory. The library's
functions check that a memory is device memory: in C, another type of memory is a
programming error, which is logged.
"""

import ctypes
import functools
from typing import Any, Dict, List, Optional

from ._gstvkgdr_base import Gst, GstVkgdr, integer, override

# In PyGObject, constants of a flags type are 0.
MAP_VKGDR = Gst.MapFlags(int(Gst.MapFlags.FLAG_LAST) << 1)


def check_memory(memory: Any) -> Gst.Memory:
    """Returns device memory: the argument, or the memory of a buffer that has only one.
    """
    if isinstance(memory, Gst.Buffer):
        if memory.n_memory() != 1:
            raise ValueError(f"the buffer has {memory.n_memory()} memories: pass one of them")
        memory = memory.peek_memory(0)
    if not isinstance(memory, Gst.Memory):
        raise TypeError(f"a Gst.Memory is needed, not {type(memory).__name__}")
    if not GstVkgdr.is_vkgdr_memory(memory):
        raise TypeError("the memory is not device memory, as GstVkgdr.Allocator.alloc() gives")
    return memory


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
        size = integer(size, "the size")
        if params or keywords:
            return Gst.Allocator.alloc(self, size, *params, **keywords)
        return super().alloc(size)


Allocator = override(Allocator)


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

    def __buffer__(self, flags: int) -> memoryview:
        """memoryview(mapping), from Python 3.12 on."""
        return self.data


Mapping = override(Mapping)


def host_bytes(address: int, size: int, owner: Any) -> Any:
    """Bytes of the host, which keep their owner: after its unmap, the content is
    undefined, but the memory still exists.
    """
    data = (ctypes.c_ubyte * size).from_address(address)
    data.owner = owner
    return data


# --- Gst.Memory ---------------------------------------------------------------


def _pointer(memory: Gst.Memory) -> int:
    return GstVkgdr.memory_get_device_pointer(check_memory(memory))


def install() -> None:
    """From now on, a memory has a length, and device memory is a number, its pointer."""
    Gst.Memory.__len__ = lambda memory: memory.size
    Gst.Memory.__bool__ = lambda memory: True  # otherwise, Python would test the length
    Gst.Memory.__int__ = _pointer


# --- functions with device memory ---------------------------------------------

# The names of parameters that are device memory.
_PARAMETERS = ("memory", "dest", "source")


def _check(name: str, value: Any) -> Any:
    return check_memory(value) if name in _PARAMETERS else value


def _checked(function: Any, names: List[str]) -> Any:
    def call(*args: Any, **keywords: Any) -> Any:
        result = function(
            *map(_check, names, args), *args[len(names):],
            **{name: _check(name, value) for name, value in keywords.items()})
        # The address is None if the memory has none.
        return (result or None) if call.__name__ == "memory_get_host_pointer" else result

    return functools.update_wrapper(call, function)


def checked_functions() -> Dict[str, Any]:
    """All functions of the library with a parameter that is device memory, by name."""
    found = {}
    for name in dir(GstVkgdr):
        if name.startswith("memory_"):
            function = getattr(GstVkgdr, name)
            names = [one.get_name() for one in function.get_arguments()]
            if set(names) & set(_PARAMETERS):
                found[name] = _checked(function, names)
    return found
