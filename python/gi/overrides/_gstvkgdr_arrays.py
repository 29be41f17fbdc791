# SPDX-License-Identifier: LGPL-2.1-or-later
"""Buffers as arrays: on the device for CUDA libraries, on the host for NumPy.

An array holds a mapping (GstVkgdr.Mapping), and the mapping holds the buffer.
_gstvkgdr_layout computes where the samples are.
"""

import atexit
import contextlib
import ctypes
import functools
import math
from typing import Any, Callable, Dict, Iterator, Optional, Set, Tuple, Union

from . import _gstvkgdr_layout as layout
from . import _gstvkgdr_objects as objects
from ._gstvkgdr_base import Gst, GstVkgdr
from ._gstvkgdr_objects import MAP_VKGDR, host_bytes, is_integer

# DLPack's number of the legacy default stream.
_DEFAULT_STREAM = 1

# The default streams, which cannot be destroyed.
_LASTING_STREAMS = (0, 1, 2)

# DLPack's numbers of CUDA memory, and of the kinds that NumPy's type strings call i, u and
# f. NumPy has no bfloat16. Here, its kind is V, as for bytes without a type.
_CUDA = 2
_KINDS = {"i": 0, "u": 1, "f": 2, "V": 4}

# --- DLPack's capsules --------------------------------------------------------

# Only the library knows the content of a tensor. The name of a capsule tells whether it
# still owns the tensor. It is not copied, so it has to be a constant of this module.
_NAME, _USED = b"dltensor", b"used_dltensor"


def _api(name: str, result: Any, *arguments: Any) -> Any:
    # These functions belong to this module: the attributes of pythonapi are shared.
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_object, _pointer, _text = ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p
_new_capsule = _api("PyCapsule_New", _object, _pointer, _text, _pointer)
_get_pointer = _api("PyCapsule_GetPointer", _pointer, _object, _text)
_set_name = _api("PyCapsule_SetName", ctypes.c_int, _object, _text)

# The destructor is a function in C, because no Python code can run while an exception
# is pending, and because a capsule may outlive this module when the interpreter ends.
_destructor = GstVkgdr.dlpack_get_capsule_destructor()


# --- on the device ------------------------------------------------------------


class DeviceArray:
    """An array in device memory, for CuPy, PyTorch, Numba, cuda.core and vkgdr.driver.

    The memory stays mapped, and its buffer is kept, until this object is freed or closed,
    and until all objects that were made of it are freed. Without a stream, the content is
    complete, and the next user of the memory waits for the whole CUDA context. With a
    stream, work on it runs when the content is complete, and the next user waits for this
    stream and for those that consumers have passed.
    """

    shape: Tuple[int, ...]  #: rows, columns, channels
    strides: Tuple[int, ...]  #: in bytes
    typestr: str  #: in NumPy's notation: "|u1", "<u2", "<f4"
    itemsize: int
    ndim: int
    size: int  #: the number of elements
    nbytes: int  #: of all elements, without padding between rows
    readonly: bool  #: whether the memory was mapped for reading only

    def __init__(self, mapping: "GstVkgdr.Mapping", where: layout.Layout) -> None:
        self._mapping: Optional["GstVkgdr.Mapping"] = mapping
        self._where = where
        self.shape, self.strides, self.typestr = where.shape, where.strides, where.typestr
        self.itemsize, self.ndim, self.size = where.itemsize, len(self.shape), math.prod(self.shape)
        self.nbytes = self.size * self.itemsize
        self.readonly = not mapping.get_flags() & Gst.MapFlags.WRITE

    def _live(self) -> "GstVkgdr.Mapping":
        if self._mapping is None:
            raise ValueError("this array has been closed")
        return self._mapping

    def close(self) -> None:
        """Ends the use of the memory, but not by objects that were made of this one."""
        self._mapping = None

    def __enter__(self) -> "DeviceArray":
        self._live()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def dtype(self) -> Any:
        import numpy

        return numpy.dtype(self.typestr)

    def _context(self) -> "GstVkgdr.Context":
        return GstVkgdr.memory_get_context(self._live().get_memory())

    @property
    def device(self) -> int:
        return self._context().get_device()

    @property
    def pointer(self) -> int:
        """The CUDA device pointer of the first element."""
        return self._live().get_pointer() + self._where.offset

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        state = f"at {self.pointer:#x}" if self._mapping else "closed"
        return f"<GstVkgdr.{type(self).__name__} {self.shape} {self.typestr} {state}>"

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        stream = self.stream  # None if the content is complete
        return {"version": 3, "shape": self.shape, "strides": self.strides,
                "typestr": self.typestr, "data": (self.pointer, self.readonly),
                "stream": (stream.handle or _DEFAULT_STREAM) if stream else None}

    def __array__(self, *args: Any, **keywords: Any) -> Any:
        """NumPy would make an array of one object."""
        raise TypeError("this array is on the device: read the buffer with mapped(), or copy it "
                        "with vkgdr.driver.from_device()")

    @property
    def stream(self) -> Optional["GstVkgdr.Stream"]:
        """The stream that orders the use of the array, or None."""
        return self._live().get_stream()

    def use_on(self, stream: Any) -> None:
        """Lets another stream use this array, which must have a stream: work that is
        queued there from now on waits for the content, and the next user for this work.

        :param stream: of any library, which is kept until the array is freed; if it is
          given as a number, the next user waits for all work in the CUDA context
        """
        mapping = self._live()
        queue = objects.as_stream(self._context(), stream)
        own = mapping.get_stream()
        if own is not None and queue.handle == own.handle:
            return  # the consumer uses the array's own stream
        if is_integer(stream) and int(stream) not in _LASTING_STREAMS:
            mapping.lend(queue)
        else:
            mapping.add_stream(queue)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return (_CUDA, self.device)

    def __dlpack__(
        self, stream: Optional[int] = None, max_version: Optional[Tuple[int, int]] = None,
        dl_device: Optional[Tuple[int, int]] = None, copy: Optional[bool] = None,
    ) -> Any:
        # If the array has a stream, the consumer's stream waits for it. None stands for
        # the legacy default stream, and -1 means that the consumer does not want this.
        # Consumers of newer versions of DLPack also accept tensors of the old version.
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError("the array cannot go to another device")
        if copy:
            raise BufferError("the array is exported without a copy: copy the result")
        if self.typestr[0] not in ("|", layout.NATIVE_ORDER):
            raise BufferError(f"DLPack does not support the byte order of {self.typestr}")
        size = self.itemsize
        if any(stride % size for stride in self.strides):
            raise BufferError("DLPack needs strides that are multiples of the size of an element")
        if self._live().get_stream() is not None and stream != -1:
            self.use_on(_DEFAULT_STREAM if stream is None else stream)
        tensor = self._live().to_dlpack(
            self._where.offset, list(self.shape), [stride // size for stride in self.strides],
            GstVkgdr.ElementType(_KINDS[self.typestr[1]]), 8 * size)
        return _new_capsule(tensor, _NAME, _destructor)


def map_memory(
    memory: Gst.Memory, flags: Gst.MapFlags, buffer: Optional[Gst.Buffer], stream: Any
) -> "GstVkgdr.Mapping":
    if stream is not None:
        if not GstVkgdr.is_vkgdr_memory(memory):
            raise ValueError("the memory is not device memory: put vkgdrupload in front")
        stream = objects.as_stream(GstVkgdr.memory_get_context(memory), stream)
        flags &= Gst.MapFlags.READ | Gst.MapFlags.WRITE
    return GstVkgdr.Mapping.new(memory, Gst.MapFlags(flags), buffer, stream)


def device_arrays(
    buffer: Gst.Buffer, format: layout.Format = None, flags: Gst.MapFlags = Gst.MapFlags.READ,
    stream: Any = None,
) -> Tuple[DeviceArray, ...]:
    """The planes of a buffer in GPU memory, as arrays on the device.

    :param format: the caps, a GstVideo.VideoInfo or GstAudio.AudioInfo; without it, there
      is an array of bytes for each memory
    :param flags: READ, WRITE or both: how the arrays will be used
    :param stream: of any library, which orders the use of the arrays, so that nothing
      waits on the CPU; without it, the content is complete when the function returns
    """
    places = layout.layouts(buffer, format)
    mappings = {  # each memory is mapped once
        index: map_memory(buffer.peek_memory(index), flags | MAP_VKGDR, buffer, stream)
        for index in {where.memory for where in places}
    }
    return tuple(DeviceArray(mappings[where.memory], where) for where in places)


def device_array(
    source: Union[Gst.Buffer, Gst.Memory], format: layout.Format = None,
    flags: Gst.MapFlags = Gst.MapFlags.READ, stream: Any = None,
) -> DeviceArray:
    """A memory, or a buffer with one plane or one memory, as an array on the device. The
    arguments are those of device_arrays().
    """
    if isinstance(source, Gst.Memory):
        if format is not None:
            raise ValueError("a memory is an array of bytes, and has no format: use a buffer")
        mapping = map_memory(source, flags | MAP_VKGDR, None, stream)
        return DeviceArray(mapping, layout.Layout(0, (mapping.get_size(),), (1,)))
    where = layout.single(layout.layouts(source, format))
    memory = source.peek_memory(where.memory)
    return DeviceArray(map_memory(memory, flags | MAP_VKGDR, source, stream), where)


# The ends of blocks that have not been left. The interpreter drops such a block at its own
# end, when no function of GstVkgdr can be called any more.
_unfinished: Set[Callable[[], None]] = set()


@atexit.register
def _finish_all() -> None:
    for finish in list(_unfinished):
        finish()


@contextlib.contextmanager
def mapped(
    buffer: Gst.Buffer, format: layout.Format = None, flags: Gst.MapFlags = Gst.MapFlags.READ,
) -> Iterator[Tuple[Any, ...]]:
    """The planes of a buffer in any memory, as NumPy arrays, for a block of code.

        with GstVkgdr.mapped(buffer, caps, Gst.MapFlags.WRITE) as (pixels,):
            pixels[:] = 0

    Do not read from the arrays if the flags are WRITE alone. They, and views of them, must
    not be used after the block: the memory may belong to another frame then.
    """
    if flags & MAP_VKGDR:
        raise ValueError("arrays of NumPy are on the host: use device_arrays() for the device")
    mappings, arrays = {}, []

    def finish() -> None:
        _unfinished.discard(finish)
        for array in arrays:
            array.flags.writeable = False
        for mapping in mappings.values():
            mapping.unmap()

    _unfinished.add(finish)
    try:
        for where in layout.layouts(buffer, format):
            mapping = mappings.get(where.memory) or map_memory(
                buffer.peek_memory(where.memory), flags, buffer, None)
            mappings[where.memory] = mapping
            arrays.append(host_array(mapping.get_pointer(), where, mapping,
                                     bool(flags & Gst.MapFlags.WRITE)))
        yield tuple(arrays)
    finally:
        if finish in _unfinished:
            finish()


def host_array(address: int, where: layout.Layout, owner: Any, is_writable: bool) -> Any:
    """An array of NumPy, which keeps the owner of its memory."""
    import numpy

    data = host_bytes(address + where.offset, where.extent, owner)
    array: Any = numpy.ndarray(where.shape, where.typestr, data, 0, where.strides)
    array.flags.writeable = is_writable
    return array


# --- tensors as memory --------------------------------------------------------


@functools.lru_cache(None)
def _context_of(device: int) -> "GstVkgdr.Context":
    """Elements refuse memory of another context than their own, so all frames have this one."""
    return GstVkgdr.Context.new(device)


def _memory_of_interface(tensor: Any, context: "GstVkgdr.Context", writable: bool) -> Gst.Memory:
    """The first use of the memory waits for all work of the CUDA context."""
    interface = tensor.__cuda_array_interface__
    size = int(interface["typestr"][2:])
    strides = interface.get("strides")
    for axis in reversed(range(len(interface["shape"]))):
        if strides is not None and strides[axis] != size and interface["shape"][axis] > 1:
            raise ValueError("the array is not contiguous: make a copy of it")
        size *= interface["shape"][axis]
    flags = Gst.MemoryFlags(0) if writable else Gst.MemoryFlags.READONLY
    kept = [tensor]
    return context.get_allocator().alloc_wrapped(
        interface["data"][0], size, flags, lambda *_: kept.clear())


def memory_from_dlpack(
    tensor: Any, context: Optional["GstVkgdr.Context"] = None, writable: bool = False
) -> Gst.Memory:
    """A tensor in CUDA memory as a Gst.Memory, without a copy. The tensor is kept until the
    memory is freed and the device has finished with it.

    :param tensor: a contiguous object with ``__dlpack__()`` or
      ``__cuda_array_interface__``
    :param context: the context of the elements; without it, one of the tensor's device
    :param writable: elements may work in place, which changes the tensor
    """
    if not hasattr(tensor, "__dlpack__") and hasattr(tensor, "__cuda_array_interface__"):
        return _memory_of_interface(tensor, context or _context_of(-1), writable)
    for method in ("__dlpack__", "__dlpack_device__"):
        if not hasattr(tensor, method):
            raise TypeError(f"{type(tensor).__name__} is not a tensor: it has no {method}()")
    kind, device = (int(number) for number in tensor.__dlpack_device__())
    if kind != _CUDA:
        raise ValueError("the tensor is not in the memory of a CUDA device (DLPack device type "
                         f"{kind}): move it there first, or write to a buffer with mapped()")
    if context is None:
        context = _context_of(device)
    elif context.get_device() != device:
        raise ValueError(f"the tensor is on device {device}, but the context is of "
                         f"{context.get_device()}: move it there, or use a context of its device")
    capsule = tensor.__dlpack__(stream=_DEFAULT_STREAM)
    pointer = _get_pointer(capsule, _NAME)  # raises ValueError for another capsule, or a used one
    flags = Gst.MemoryFlags(0) if writable else Gst.MemoryFlags.READONLY
    memory = GstVkgdr.memory_new_from_dlpack(context, pointer, flags)
    _set_name(capsule, _USED)
    return memory
