# SPDX-License-Identifier: LGPL-2.1-or-later
"""Shares device memory with another process by CUDA's handles, which are bytes.

Memory in the window is shared by a file descriptor, for which the library's own
functions use numbers: memory_export_fd(), Allocator.import_fd().
"""

from typing import Any

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst  # noqa: E402

from ..module import get_introspection_module  # noqa: E402
from ._gstvkgdr_memory import check_memory  # noqa: E402
from ._gstvkgdr_objects import Context  # noqa: E402

GstVkgdr = get_introspection_module("GstVkgdr")


def get_ipc_handle(memory: Gst.Memory) -> bytes:
    """Returns a handle of device-only memory, for open_ipc_handle() in another process.

    Waits for the work that is queued on the memory, so that the other process can use
    it at once. The memory must be kept until the other process has finished with it.

    :raises GLib.Error: if CUDA has no handles of such memory; memory in the window is
      shared by memory_export_fd()
    """
    memory = check_memory(memory)
    handle = GstVkgdr.memory_export_ipc_handle(memory)
    GstVkgdr.memory_wait_idle(memory)
    return handle.get_data()


def open_ipc_handle(handle: Any, context: Context) -> Gst.Memory:
    """Returns the memory of a handle from another process. The handle is closed
    when the memory is freed.

    :param handle: the bytes of get_ipc_handle()
    :raises GLib.Error: if the handle is from this process, or is of another device or
      of memory that is freed
    """
    if not isinstance(handle, (bytes, bytearray, memoryview)):
        raise TypeError(f"the handle is bytes, not {type(handle).__name__}")
    if not isinstance(context, GstVkgdr.Context):
        raise TypeError(f"a GstVkgdr.Context is needed, not {type(context).__name__}")
    return context.get_allocator().import_ipc_handle(GLib.Bytes.new(bytes(handle)))
