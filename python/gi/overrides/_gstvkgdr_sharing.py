# SPDX-License-Identifier: LGPL-2.1-or-later
"""Memory of the device in another process, by CUDA's handles as bytes.

What lies in the window goes there by a file descriptor, which the library's own
functions have as numbers: memory_export_fd(), Allocator.import_fd().
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
    """A handle of memory beside the window, for open_ipc_handle() in another process.

    Waits for what is queued on the memory, so that the other process may begin.
    The memory is to be kept until that has ended its use of it.

    :raises GLib.Error: if CUDA has no handles of such memory; what lies in the
      window goes to other processes by memory_export_fd()
    """
    memory = check_memory(memory)
    handle = GstVkgdr.memory_export_ipc_handle(memory)
    GstVkgdr.memory_wait_idle(memory)
    return handle.get_data()


def open_ipc_handle(handle: Any, context: Context) -> Gst.Memory:
    """The memory that another process has made a handle of; closed at its end.

    :param handle: the bytes of get_ipc_handle()
    :raises GLib.Error: if they are of this process, of another device, or of
      memory that is gone
    """
    if not isinstance(handle, (bytes, bytearray, memoryview)):
        raise TypeError(f"the handle is bytes, not {type(handle).__name__}")
    if not isinstance(context, GstVkgdr.Context):
        raise TypeError(f"a GstVkgdr.Context is needed, not {type(context).__name__}")
    return context.get_allocator().import_ipc_handle(GLib.Bytes.new(bytes(handle)))
