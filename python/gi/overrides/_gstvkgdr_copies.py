# SPDX-License-Identifier: LGPL-2.1-or-later
"""Copies between device memory and host memory of Python objects, and fills.

With a stream, they are queued on it, in the right order with all other use of the
memory. Without a stream, they are complete when the function returns.
"""

import struct
import sys
from typing import Any, Optional, Tuple

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

from ..module import get_introspection_module  # noqa: E402
from . import _gstvkgdr_objects as objects  # noqa: E402
from . import _gstvkgdr_numbers as numbers  # noqa: E402
from ._gstvkgdr_errors import LogicError, error_of  # noqa: E402
from ._gstvkgdr_host import HostMemory  # noqa: E402
from ._gstvkgdr_memory import check_memory  # noqa: E402
from ._gstvkgdr_numbers import natural  # noqa: E402

GstVkgdr = get_introspection_module("GstVkgdr")


def _stream_for(memory: Gst.Memory, stream: Any) -> Tuple["GstVkgdr.Stream", bool]:
    """Returns the stream, and whether to wait for it."""
    context = GstVkgdr.memory_get_context(memory)
    if stream is None:
        return GstVkgdr.Stream.new(context), True
    return objects.as_stream(context, stream), False


def _finish(stream: "GstVkgdr.Stream", wait: bool, kept: Any) -> None:
    if wait:
        stream.synchronize()
    elif kept is not None:
        objects.keep(stream, kept)


def _size_from(memory: Gst.Memory, offset: int) -> int:
    """Returns the number of bytes from the offset to the end of the memory."""
    if offset > memory.size:
        raise ValueError(f"the offset is {offset}, but the memory has {memory.size} bytes")
    return memory.size - offset


def upload(
    memory: Gst.Memory, data: Any, offset: int = 0, pitch: Optional[int] = None, stream: Any = None
) -> None:
    """Copies host memory to the device.

    :param data: bytes, an array of NumPy, or another object with a buffer; it is kept
      until the copy is complete, and must not be changed before
    :param pitch: the distance of rows on the device in bytes; the rows are the first
      dimension of the data, and may have gaps; without it, the data are contiguous
    :raises TypeError: if data is not host memory
    :raises GLib.Error: if the range is not inside the memory
    """
    memory = check_memory(memory)
    offset = natural(offset, "the offset")
    host = HostMemory(data, rows=pitch is not None)
    queue, wait = _stream_for(memory, stream)
    if pitch is None:
        if host.nbytes:
            memory_upload(memory, offset, host, queue)
    else:
        GstVkgdr.memory_upload_rect(
            memory, offset, natural(pitch, "the pitch"), host.address, host.pitch,
            host.width, host.rows, queue,
        )
    _finish(queue, wait, host)


def memory_upload(
    memory: Gst.Memory, offset: int, host: HostMemory, stream: "GstVkgdr.Stream"
) -> None:
    GstVkgdr.memory_upload(memory, offset, host.address, host.nbytes, stream)


def download(
    memory: Gst.Memory,
    out: Any = None,
    offset: int = 0,
    pitch: Optional[int] = None,
    stream: Any = None,
) -> Any:
    """Copies device memory to the host.

    :param out: an array of NumPy or another object with a writable buffer, which is
      filled, and kept until the copy is complete; without it, the function returns
      bytes from the offset to the end
    :param pitch: as for upload()
    :returns: out, or the bytes
    """
    memory = check_memory(memory)
    offset = natural(offset, "the offset")
    if out is None:
        if stream is not None or pitch is not None:
            raise ValueError("with a stream or a pitch, out= is needed: the object to fill")
        out = bytearray(_size_from(memory, offset))
        download(memory, out, offset)
        return bytes(out)
    host = HostMemory(out, writable=True, rows=pitch is not None)
    queue, wait = _stream_for(memory, stream)
    if pitch is None:
        if host.nbytes:
            GstVkgdr.memory_download(memory, offset, host.address, host.nbytes, queue)
    else:
        GstVkgdr.memory_download_rect(
            memory, offset, natural(pitch, "the pitch"), host.address, host.pitch,
            host.width, host.rows, queue,
        )
    _finish(queue, wait, host)
    return out


def copy(
    dest: Gst.Memory,
    source: Gst.Memory,
    size: Optional[int] = None,
    dest_offset: int = 0,
    source_offset: int = 0,
    stream: Any = None,
) -> None:
    """Copies on the device, or from one device to another.

    :param size: the number of bytes; without it, everything from the offset of the
      source to its end
    """
    dest, source = check_memory(dest), check_memory(source)
    dest_offset = natural(dest_offset, "the offset")
    source_offset = natural(source_offset, "the offset")
    if size is None:
        size = _size_from(source, source_offset)
    queue, wait = _stream_for(dest, stream)
    GstVkgdr.memory_copy_from(
        dest, dest_offset, source, source_offset, natural(size, "the size"), queue
    )
    _finish(queue, wait, None)


def _pattern(value: Any, size: Optional[int]) -> bytes:
    """Returns the bytes of the number that memory is filled with."""
    kind = numbers.numpy_kind(value)
    if kind in ("i", "u") and size is not None:
        return _integer_pattern(int(value), size)
    if kind is not None and kind in "biufc":
        data = numbers.bytes_of(value) or b""
        if size not in (None, len(data)):
            raise TypeError(f"a {value.dtype.name} has {len(data)} bytes, not {size}")
        return data
    if isinstance(value, float):
        size = 4 if size is None else size
        if size not in numbers.REAL_SIZES:
            raise TypeError(f"{value} is not a number of {size} bytes")
        return numbers.pack_real(value, size)
    return _integer_pattern(natural(value, "the value"), 1 if size is None else size)


def _integer_pattern(value: int, size: int) -> bytes:
    if size not in numbers.INTEGER_SIZES:
        raise error_of(LogicError, f"a value has 1, 2, 4 or 8 bytes, and not {size}")
    try:
        return numbers.pack_integer(value, size)
    except struct.error:
        raise error_of(LogicError, f"{value} does not fit in {size} bytes") from None


def fill(
    memory: Gst.Memory,
    value: Any,
    value_size: Optional[int] = None,
    count: Optional[int] = None,
    offset: int = 0,
    stream: Any = None,
) -> None:
    """Fills memory with a number.

    :param value: an integer, a floating-point number, or a number of NumPy, whose bits
      are used
    :param value_size: the size of the number: 1, 2, 4 or 8 bytes; without it, the size
      of the number of NumPy, or 1 for an integer and 4 for a floating-point number
    :param count: how many numbers are written; without it, as many as there is room for
    """
    memory = check_memory(memory)
    offset = natural(offset, "the offset")
    if value_size is not None:
        value_size = natural(value_size, "the value's size")
    data = _pattern(value, value_size)
    if count is None:
        count = _size_from(memory, offset) // len(data)
    count = natural(count, "the count")
    queue, wait = _stream_for(memory, stream)
    _fill_columns(memory, offset, data, count, queue)
    _finish(queue, wait, None)


def _fill_columns(
    memory: Gst.Memory, offset: int, data: bytes, count: int, stream: "GstVkgdr.Stream"
) -> None:
    """The driver fills with at most 4 bytes, so a longer value is written in columns.
    """
    step = len(data)
    part = min(step, 4)
    for start in range(0, step, part):
        number = int.from_bytes(data[start : start + part], sys.byteorder)
        if step == part:
            GstVkgdr.memory_fill(
                memory, offset, count * part, count * part, 1, number, part, stream
            )
        elif count:
            GstVkgdr.memory_fill(
                memory, offset + start, step, part, count, number, part, stream
            )
