# SPDX-License-Identifier: LGPL-2.1-or-later
"""Allocators, memories, mappings and fences as objects of Python.

PyGObject makes all memories as objects of GStreamer's class Gst.Memory. This class gets
a length. Device memory also gets its pointer as a number, and a representation that
tells that it is device memory. The library's functions check that a memory is device
memory: in C, another type of memory is a programming error, which is logged.
"""

import ctypes
from typing import Any, Dict, Optional

from ._gstvkgdr_base import Gst, GstVkgdr, natural, override

# In PyGObject, constants of a flags type are 0.
MAP_VKGDR = Gst.MapFlags(int(Gst.MapFlags.FLAG_LAST) << 1)

_WRITABLE_BUFFER = 0x1  # inspect.BufferFlags.WRITABLE, from Python 3.12 on


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
        raise TypeError("the memory is not device memory: GstVkgdr.Allocator.alloc() allocates some")
    return memory


class Allocator(GstVkgdr.Allocator):
    def __new__(cls, context: Optional["GstVkgdr.Context"] = None) -> "Allocator":
        """:param context: without it, the context of the default device, which is
        opened when it is needed
        """
        return GstVkgdr.Allocator.new(context)

    def __init__(self, context: Optional["GstVkgdr.Context"] = None) -> None:
        pass

    def alloc(self, size: int, *params: Any, **keywords: Any) -> Gst.Memory:
        """Allocates device memory.

        With params, this is Gst.Allocator.alloc(), for programs that choose an
        allocator by its name. Without params, an error tells why there is no memory.

        :param size: the number of bytes
        :param params: Gst.AllocationParams or None, as for any allocator
        :raises GLib.Error: without params, if there is no memory
        """
        size = natural(size, "the size")
        for name in keywords.keys() - {"params"}:
            raise TypeError(f"alloc() has no argument named {name!r}")
        if params or keywords:
            return Gst.Allocator.alloc(self, size, *params, *keywords.values())
        return super().alloc(size)

    def alloc_wrapped(self, device_pointer: int, size: int, *args: Any) -> Gst.Memory:
        """Makes a Gst.Memory of device memory that another library has allocated.

        :param args: the Gst.MemoryFlags, and a function that is called when the memory
          is not used any more
        """
        return super().alloc_wrapped(
            natural(device_pointer, "the device pointer"), natural(size, "the size"), *args
        )

    def __repr__(self) -> str:
        return f"<GstVkgdr.Allocator: {self.get_active_blocks()} blocks in use>"


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
        """The mapped bytes of the host. They can be written if the mapping is for
        WRITE. The view holds the mapping.

        :raises BufferError: if the memory is mapped for the device
        :raises ValueError: if it was unmapped
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
        view = self.data
        if flags & _WRITABLE_BUFFER and view.readonly:
            raise BufferError("the memory is mapped for reading")
        return view

    def __repr__(self) -> str:
        pointer = self.get_pointer()
        where = f" of {len(self)} bytes at {pointer:#x}" if pointer else ", unmapped"
        return f"<GstVkgdr.Mapping{where}>"


Mapping = override(Mapping)


def host_bytes(address: int, size: int, owner: Any) -> Any:
    """Bytes of the host, which keep their owner: after its unmap, the content is
    undefined, but the memory still exists.
    """
    data = (ctypes.c_ubyte * size).from_address(address)
    data.owner = owner
    return data


class Fence(GstVkgdr.Fence):
    def __repr__(self) -> str:
        return f"<GstVkgdr.Fence, {'signaled' if self.is_signaled() else 'pending'}>"


Fence = override(Fence)

# --- Gst.Memory ---------------------------------------------------------------

_plain_repr = Gst.Memory.__repr__


def _pointer(memory: Gst.Memory) -> int:
    return GstVkgdr.memory_get_device_pointer(check_memory(memory))


def _represent(memory: Gst.Memory) -> str:
    if not GstVkgdr.is_vkgdr_memory(memory):
        return _plain_repr(memory)
    return f"<Gst.Memory: {memory.size} bytes of VkgdrMemory at {_pointer(memory):#x}>"


def install() -> None:
    """From now on, a memory has a length, and device memory has its own representation.
    """
    Gst.Memory.__len__ = lambda memory: memory.size
    Gst.Memory.__bool__ = lambda memory: True  # otherwise, Python would test the length
    Gst.Memory.__int__ = _pointer
    Gst.Memory.__repr__ = _represent


# --- functions with device memory ---------------------------------------------

# The names of parameters that are device memory.
_PARAMETERS = ("memory", "dest", "source")


class Checked:
    """A function whose memories are checked first."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._names = [one.get_name() for one in function.get_arguments()]

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        given = list(args)
        for place, (name, value) in enumerate(zip(self._names, args)):
            if name in _PARAMETERS:
                given[place] = check_memory(value)
        for name in keywords.keys() & set(_PARAMETERS):
            keywords[name] = check_memory(keywords[name])
        result = self._function(*given, **keywords)
        # The address is None if the memory has none.
        return (result or None) if self.__name__ == "memory_get_host_pointer" else result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return self._function.__doc__


def checked_functions() -> Dict[str, Checked]:
    """All functions of the library with a parameter that is device memory, by name."""
    found = {name: Checked(getattr(GstVkgdr, name))
             for name in dir(GstVkgdr) if name.startswith("memory_")}
    return {name: one for name, one in found.items() if set(one._names) & set(_PARAMETERS)}
