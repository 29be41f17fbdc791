# SPDX-License-Identifier: LGPL-2.1-or-later
"""The arguments of a kernel: converts objects of Python to the bytes of a parameter.

An argument is a pointer, a number or a structure. A pointer is made from device memory,
from an array of any library, or from host memory. A prepared parameter has a type
(_gstvkgdr_types). Otherwise only its size is known, from the driver.
Does not depend on launches.
"""

import struct
from typing import Any, List, NamedTuple, Optional, Sequence

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

from ..module import get_introspection_module  # noqa: E402
from . import _gstvkgdr_copies as copies  # noqa: E402
from . import _gstvkgdr_numbers as numbers  # noqa: E402
from . import _gstvkgdr_objects as objects  # noqa: E402
from ._gstvkgdr_host import HostMemory  # noqa: E402
from ._gstvkgdr_memory import check_memory  # noqa: E402
from ._gstvkgdr_types import POINTER_SIZE, ParameterType  # noqa: E402

GstVkgdr = get_introspection_module("GstVkgdr")

READ, WRITE = Gst.MapFlags.READ, Gst.MapFlags.WRITE


class In:
    """An argument that a launch only reads.

    :param source: memory of the device, or host memory, which is copied for the launch
    """

    flags = READ

    def __init__(self, source: Any) -> None:
        self.source = source

    def __repr__(self) -> str:
        return f"GstVkgdr.{type(self).__name__}({self.source!r})"


class Out(In):
    """An argument that a launch does not read, and overwrites completely. Host memory
    is filled when the call returns.
    """

    flags = WRITE


class InOut(In):
    """An argument that a launch reads and writes. Device memory without a wrapper, and
    an array of NumPy that is not read-only, are treated in this way.
    """

    flags = READ | WRITE


class Argument(NamedTuple):
    data: bytes
    memory: Optional[Gst.Memory] = None
    flags: Gst.MapFlags = READ
    host: Optional[HostMemory] = None  #: host memory that is filled from the memory
    kept: Any = None  #: an object that is kept until the launch is done


class Parameter(NamedTuple):
    """What is known about a parameter."""

    name: str  #: the name of the argument in messages
    size: Optional[int] = None  #: in bytes, if known
    type: Optional[ParameterType] = None  #: if the function was prepared

    def takes_pointer(self) -> bool:
        if self.type is not None:
            return self.type.accepts_pointer()
        return self.size in (None, POINTER_SIZE)


# --- pointers -----------------------------------------------------------------


def _of_address(address: int, kept: Any = None) -> Argument:
    return Argument(struct.pack("=Q", address), kept=kept)


def _of_memory(memory: Gst.Memory, flags: Gst.MapFlags) -> Argument:
    return _of_address(GstVkgdr.memory_get_device_pointer(memory))._replace(
        memory=memory, flags=flags
    )


def _of_host(source: Any, flags: Gst.MapFlags, stream: "GstVkgdr.Stream") -> Argument:
    """Returns a copy on the device of the host's bytes."""
    host = HostMemory(source, writable=bool(flags & WRITE))
    if not host.nbytes:
        raise ValueError("host memory of 0 bytes cannot be an argument")
    memory = stream.get_context().get_allocator().alloc(host.nbytes)
    if flags & READ:
        copies.memory_upload(memory, 0, host, stream)
        objects.keep(stream, host)
    argument = _of_memory(memory, flags)
    return argument._replace(host=host) if flags & WRITE else argument


def _of_array(array: Any, stream: "GstVkgdr.Stream") -> Argument:
    """Returns the argument for an array of NumPy. A pinned array is not copied.
    Any other array is copied to the device and back.
    """
    if _is_pinned(array):
        return _of_address(HostMemory(array).address, kept=array)
    return _of_host(array, READ | WRITE if array.flags.writeable else READ, stream)


def _is_pinned(array: Any) -> bool:
    """Whether this is an array of pagelocked_empty(), or a part of one."""
    base = array
    while base is not None:
        if isinstance(getattr(base, "pinned", None), GstVkgdr.Mapping):
            return True
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    return False


def _is_array(value: Any) -> bool:
    """Whether this is an array of NumPy with at least one dimension."""
    return hasattr(value, "__array_interface__") and bool(getattr(value, "shape", ()))


def _address_of(value: Any) -> Optional[int]:
    """The device pointer of another library's object, or None."""
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        return interface["data"][0]
    if hasattr(value, "get_pointer"):  # PyCUDA's PointerHolderBase
        return numbers.integer(value.get_pointer(), "get_pointer()")
    pointer = getattr(value, "device_ptr", None)  # vkgdr.RawMemory
    return pointer if isinstance(pointer, int) else None


def _pointer(value: Any, parameter: Parameter, stream: "GstVkgdr.Stream") -> Optional[Argument]:
    """Returns the argument for an object that means a pointer, or None."""
    flags = READ | WRITE
    if isinstance(value, In):
        flags, value = value.flags, value.source
        if not isinstance(value, (Gst.Memory, Gst.Buffer)):
            return _of_host(value, flags, stream)
    if isinstance(value, (Gst.Memory, Gst.Buffer)):
        return _of_memory(check_memory(value), flags)
    address = _address_of(value)
    if address is not None:
        return _of_address(address, kept=value)
    if _is_array(value) and parameter.takes_pointer():
        return _of_array(value, stream)
    return None


# --- numbers and structures ---------------------------------------------------


def _by_size(value: Any, parameter: Parameter) -> Optional[bytes]:
    """Returns the bytes of a number or a structure if no type is known."""
    size, name = parameter.size, parameter.name
    if value is None and parameter.takes_pointer():
        return bytes(POINTER_SIZE)
    kind = numbers.numpy_kind(value)
    data = numbers.bytes_of(value)
    if kind in ("b", "i", "u", "f") and size is not None and size != len(data or b""):
        data, value = None, numbers.plain(value)
    if data is not None or not isinstance(value, (bool, int, float)):
        return data
    if size is None:
        raise TypeError(
            f"{name}: the driver does not tell the size of the parameter: use a number of "
            "NumPy, or declare the types with prepare()"
        )
    if isinstance(value, float) and size in numbers.REAL_SIZES:
        return numbers.pack_real(value, size)
    if isinstance(value, float) or size not in numbers.INTEGER_SIZES:
        raise TypeError(f"{name}: {value!r} cannot be a parameter of {size} bytes")
    try:
        return numbers.pack_integer(int(value), size)
    except struct.error:
        raise OverflowError(f"{name}: {value} does not fit {size} bytes") from None


def convert(value: Any, parameter: Parameter, stream: "GstVkgdr.Stream") -> Argument:
    """Converts an argument of a launch on a stream.

    :raises TypeError: if the value cannot be an argument
    :raises OverflowError: if it does not fit into the parameter
    """
    name = parameter.name
    found = _pointer(value, parameter, stream)
    if found is not None:
        if not parameter.takes_pointer() and parameter.type is not None:
            raise TypeError(f"{name}: a {type(value).__name__} is a pointer, but the parameter "
                            f"is a {parameter.type.kind} ({parameter.type.name!r})")
        return found
    if parameter.type is not None:
        return Argument(parameter.type.pack(value, name))
    data = _by_size(value, parameter)
    if data is None:
        raise TypeError(
            f"{name}: a {type(value).__name__} cannot be an argument: use device memory, arrays "
            "of NumPy and of CUDA libraries, numbers, bytes, or In(), Out() and InOut() with "
            "host memory"
        )
    return Argument(data)


# --- all of them together -----------------------------------------------------


def pack(arguments: Sequence[Argument], offsets: Sequence[int]) -> bytes:
    packed = bytearray()
    for argument, offset in zip(arguments, offsets):
        packed.extend(bytes(offset - len(packed)))
        packed.extend(argument.data)
    return bytes(packed)


def natural_offsets(arguments: Sequence[Argument]) -> List[int]:
    """The offsets if the driver does not tell them: each is a multiple of the
    parameter's size, or of 8 for larger ones.
    """
    offsets: List[int] = []
    end = 0
    for argument in arguments:
        align = min(len(argument.data) & -len(argument.data), 8) or 1
        end = -(-end // align) * align
        offsets.append(end)
        end += len(argument.data)
    return offsets
