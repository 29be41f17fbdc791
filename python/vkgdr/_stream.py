# SPDX-License-Identifier: LGPL-2.1-or-later
"""Streams and events of vkgdr.driver."""

import ctypes
from typing import Any, Callable, Optional, Tuple

from ._context import ContextDependent, acquire_context, bare
from ._cuda import (
    CONVERTERS, INVALID_VALUE, NOT_READY, Handle, IpcHandle, also_named, call, cu,
    error, get, handle_of,
)

__all__ = ["Event", "Stream"]


def _is_reached(function: str, handle: Optional[int]) -> bool:
    result = cu.raw(function)(handle)
    if result not in (0, NOT_READY):
        raise error(function, result)
    return result == 0


def read_ipc_handle(handle: Any) -> IpcHandle:
    """Converts a handle from another process. PyCUDA demands a bytearray."""
    if not isinstance(handle, (bytes, bytearray)):
        raise error("ipc_handle", INVALID_VALUE, "argument is not a bytes array")
    if len(handle) != ctypes.sizeof(IpcHandle):
        raise error("ipc_handle", INVALID_VALUE, "handle has the wrong size")
    return IpcHandle.from_buffer_copy(handle)


def get_ipc_handle(function: str, devptr: Any) -> bytearray:
    """A handle for another process."""
    handle = IpcHandle()
    getattr(cu, function)(ctypes.byref(handle), devptr)
    return bytearray(handle)


class Stream(ContextDependent):
    """A queue of operations that the device carries out in order."""

    _FREE = "cuStreamDestroy"
    handle: int

    def __init__(self, flags: int = 0) -> None:
        self._create("cuStreamCreate", flags)

    synchronize = call("cuStreamSynchronize", "self")
    wait_for_event = also_named(event="evt")(
        call("cuStreamWaitEvent", "self, evt", uses="self.handle, evt, 0"))

    def is_done(self) -> bool:
        return _is_reached("cuStreamQuery", self.handle)

    def __cuda_stream__(self) -> Tuple[int, int]:
        return 0, self.handle


class Event(Handle, ContextDependent):
    """A point of a stream, which has a time."""

    _FREE = "cuEventDestroy"

    def __init__(self, flags: int = 0) -> None:
        self._create("cuEventCreate", flags)

    @staticmethod
    def from_ipc_handle(handle: Any) -> "Event":
        return bare(Event, _context=acquire_context(),
                    handle=get("cuIpcOpenEventHandle", "P", read_ipc_handle(handle)))

    def record(self, stream: Any = None) -> "Event":
        cu.cuEventRecord(self.handle, stream)
        return self

    def synchronize(self) -> "Event":
        cu.cuEventSynchronize(self.handle)
        return self

    def query(self) -> bool:
        return _is_reached("cuEventQuery", self.handle)

    # Milliseconds.
    time_since: Callable[..., float] = also_named(start_event="event")(
        call("cuEventElapsedTime", "self, event", "f", uses="event, self"))
    time_till: Callable[..., float] = also_named(end_event="event")(
        call("cuEventElapsedTime", "self, event", "f", uses="self, event"))

    def ipc_handle(self) -> bytearray:
        return get_ipc_handle("cuIpcGetEventHandle", self.handle)


CONVERTERS["E"] = handle_of(Event)
