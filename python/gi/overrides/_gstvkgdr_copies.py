# SPDX-License-Identifier: LGPL-2.1-or-later
"""Copies between memories of the device and host memory of Python's, and fills.

With a stream they are queued on it, in order with all other use of the memory;
without one they are done when the call returns.
"""

from typing import Any, Optional, Tuple

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

from ..module import get_introspection_module  # noqa: E402
from . import _gstvkgdr_objects as objects  # noqa: E402
from ._gstvkgdr_host import HostMemory  # noqa: E402

GstVkgdr = get_introspection_module("GstVkgdr")


def check_memory(memory: Any) -> Gst.Memory:
    """A memory of the device: it, or the one of a buffer that has one."""
    if isinstance(memory, Gst.Buffer):
        if memory.n_memory() != 1:
            raise ValueError(f"a buffer of {memory.n_memory()} memories: give one of them")
        memory = memory.peek_memory(0)
    if not isinstance(memory, Gst.Memory):
        raise TypeError(f"a Gst.Memory is needed, not {type(memory).__name__}")
    if not GstVkgdr.is_vkgdr_memory(memory):
        raise TypeError("the memory is not the device's: GstVkgdr.Allocator.alloc() makes one")
    return memory


def _check_number(value: int, what: str) -> int:
    if value < 0:
        raise ValueError(f"{what} is {value}, and cannot be negative")
    return value


def _stream_for(memory: Gst.Memory, stream: Any) -> Tuple["GstVkgdr.Stream", bool]:
    """The stream, and whether to wait for it."""
    context = GstVkgdr.memory_get_context(memory)
    if stream is None:
        return GstVkgdr.Stream.new(context), True
    return objects.as_stream(context, stream), False


def _finish(stream: "GstVkgdr.Stream", wait: bool, kept: Any) -> None:
    if wait:
        stream.synchronize()
    elif kept is not None:
        objects.keep(stream, kept)


def upload(
    memory: Gst.Memory, data: Any, offset: int = 0, pitch: Optional[int] = None, stream: Any = None
) -> None:
    """Copies host memory to the device.

    :param data: bytes, an array of NumPy, or anything with a buffer. It is kept
      until the copy is done, and not to be changed before that
    :param pitch: bytes from one row to the next on the device; the rows are those
      of the data's first dimension, and may have gaps. Without it the data is in
      one piece
    :raises TypeError: if data is no host memory
    :raises GLib.Error: if it leaves the memory
    """
    memory = check_memory(memory)
    _check_number(offset, "the offset")
    host = HostMemory(data, rows=pitch is not None)
    queue, wait = _stream_for(memory, stream)
    if pitch is None:
        if host.nbytes:
            memory_upload(memory, offset, host, queue)
    else:
        GstVkgdr.memory_upload_rect(
            memory, offset, _check_number(pitch, "the pitch"), host.address, host.pitch,
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
    """Copies memory of the device to the host.

    :param out: an array of NumPy or anything else with a writable buffer, which
      is filled, and is kept until the copy is done; without one, bytes of all
      that follows the offset
    :param pitch: as for upload()
    :returns: out, or the bytes
    """
    memory = check_memory(memory)
    _check_number(offset, "the offset")
    if out is None:
        if stream is not None or pitch is not None:
            raise ValueError("with a stream or a pitch, give what is to be filled: out=")
        if offset > memory.size:
            raise ValueError(f"the offset is {offset}, and the memory has {memory.size} bytes")
        out = bytearray(memory.size - offset)
        download(memory, out, offset)
        return bytes(out)
    host = HostMemory(out, writable=True, rows=pitch is not None)
    queue, wait = _stream_for(memory, stream)
    if pitch is None:
        if host.nbytes:
            GstVkgdr.memory_download(memory, offset, host.address, host.nbytes, queue)
    else:
        GstVkgdr.memory_download_rect(
            memory, offset, _check_number(pitch, "the pitch"), host.address, host.pitch,
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

    :param size: bytes; without it, all of the source behind its offset
    """
    dest, source = check_memory(dest), check_memory(source)
    _check_number(dest_offset, "the offset")
    _check_number(source_offset, "the offset")
    if size is None:
        size = max(source.size - source_offset, 0)
    queue, wait = _stream_for(dest, stream)
    GstVkgdr.memory_copy_from(
        dest, dest_offset, source, source_offset, _check_number(size, "the size"), queue
    )
    _finish(queue, wait, None)


def fill(
    memory: Gst.Memory,
    value: int,
    value_size: int = 1,
    count: Optional[int] = None,
    offset: int = 0,
    stream: Any = None,
) -> None:
    """Fills memory with a number of 1, 2 or 4 bytes.

    :param count: how many times; without it, as often as there is room
    """
    memory = check_memory(memory)
    _check_number(offset, "the offset")
    if not 0 <= value < 1 << 32:
        raise ValueError(f"{value} is no number of 1, 2 or 4 bytes")
    if count is None:
        count = max(memory.size - offset, 0) // max(value_size, 1)
    queue, wait = _stream_for(memory, stream)
    width = _check_number(count, "the count") * value_size
    GstVkgdr.memory_fill(memory, offset, width, width, 1, value, value_size, queue)
    _finish(queue, wait, None)
