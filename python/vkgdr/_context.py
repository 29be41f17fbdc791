# SPDX-License-Identifier: LGPL-2.1-or-later
"""Devices, contexts, streams and events of vkgdr.driver, and what is not part of an
object: versions, init() and the profiler.
"""

import ctypes
import sys
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple, Type, TypeVar, Union

from ._constants import compute_mode, device_attribute, func_cache, shared_config
from ._cuda import (
    CONVERTERS, CUDA_VERSION, DEINITIALIZED, INVALID_CONTEXT, NOT_READY, Handle, LogicError,
    also_named, cu, error,
)
from ._library import Unique

__all__ = [
    "Context", "Device", "Event", "Stream", "get_driver_version", "get_version", "init",
    "initialize_profiler", "start_profiler", "stop_profiler",
]

_CONTEXT_IS_DESTROYED = 709

_T = TypeVar("_T")


def get_version() -> Tuple[int, int, int]:
    """The version of CUDA for which this module was written."""
    return CUDA_VERSION // 1000, CUDA_VERSION % 1000 // 10, CUDA_VERSION % 10


def get_driver_version() -> int:
    """The newest version of CUDA that the driver supports, such as 12040."""
    cu.load()
    return cu.cuDriverGetVersion()


def init(flags: int = 0) -> None:
    """Loads and initializes the driver. All functions but the versions need it."""
    cu.load()
    cu.cuInit(flags)


def initialize_profiler(config_file: str, output_file: str, output_mode: int) -> None:
    """Prepares the profiler of CUDA 10 and older. The mode is a profiler_output_mode."""
    cu.cuProfilerInitialize(config_file, output_file, output_mode)


def start_profiler() -> None:
    """Makes a profiler, such as nsys, record what follows."""
    cu.cuProfilerStart()


def stop_profiler() -> None:
    """Ends what start_profiler() has begun."""
    cu.cuProfilerStop()


def clean_up(name: str, *arguments: Any) -> None:
    """Calls a function that frees something. Its failure is printed, as by PyCUDA: there
    is nothing that the caller could do, and the cause was reported before.
    """
    result = cu.raw(name)(*arguments)
    if result not in (0, DEINITIALIZED, _CONTEXT_IS_DESTROYED):
        print(f"vkgdr: a clean-up failed: {error(name, result)}", file=sys.stderr)


def bare(cls: Type[_T], **attributes: Any) -> _T:
    """An object with these attributes, without a call of its __init__()."""
    result = cls.__new__(cls)
    result.__dict__.update(attributes)
    return result


_thread = threading.local()


def _stack() -> List["Context"]:
    """The contexts of a thread. Only the topmost one is on CUDA's own stack, so that a
    context may be on the stack more than once.
    """
    return _thread.__dict__.setdefault("contexts", [])


def current_context() -> Optional["Context"]:
    contexts = _stack()
    while contexts and not contexts[-1]._valid:
        contexts.pop()
    return contexts[-1] if contexts else None


def _pop_current() -> None:
    if _stack():
        cu.cuCtxPopCurrent()


def _restore_current() -> None:
    """Makes the topmost context of the stack current in CUDA."""
    context = current_context()
    if context is not None:
        cu.cuCtxPushCurrent(context.handle)


class Context(Handle, letter="C"):
    """A CUDA context. Device.make_context() makes one and pushes it on the stack."""

    _valid = False
    _end: Tuple[Any, ...] = ()  # the function that gives it back, and its argument

    def __init__(self, dev: "Device", flags: int = 0) -> None:
        self.handle: int = cu.cuCtxCreate(flags, dev.handle)
        self._valid, self._end = True, ("cuCtxDetach", self.handle)
        cu.cuCtxPopCurrent()
        self.push()

    @staticmethod
    def attach(flags: int = 0) -> "Context":
        """Returns the context that is current in CUDA, which other code has made."""
        handle = cu.cuCtxAttach(flags)
        result = bare(Context, handle=handle, _valid=True, _end=("cuCtxDetach", handle))
        _stack().append(result)
        return result

    def detach(self) -> None:
        """Gives the context back now, and removes it from the top of the stack. It cannot be used
        any more.
        """
        if not self._valid:
            raise error("Context.detach", INVALID_CONTEXT, "the context has been given back")
        was_current = current_context() is self
        if not was_current:
            cu.cuCtxPushCurrent(self.handle)
        self._valid = False
        clean_up(*self._end)
        # The context is popped if it was destroyed, but not if others still use it.
        if cu.cuCtxGetCurrent() == self.handle:
            cu.cuCtxPopCurrent()
        if was_current:
            _restore_current()

    def __del__(self) -> None:
        if self._valid and self._end:
            try:
                self.detach()
            except LogicError:
                pass  # the context or the driver has ended

    def push(self) -> None:
        """Makes the context current, until pop()."""
        _pop_current()
        try:
            cu.cuCtxPushCurrent(self.handle)
        except Exception:
            _restore_current()
            raise
        _stack().append(self)

    @staticmethod
    def pop() -> None:
        """Makes the context current that was current before."""
        if not _stack():
            raise error("Context.pop", INVALID_CONTEXT, "no context is current")
        _pop_current()
        _stack().pop()
        _restore_current()

    @staticmethod
    def get_device() -> "Device":
        """The device of the current context."""
        return bare(Device, handle=cu.cuCtxGetDevice())

    @staticmethod
    def get_current() -> Optional["Context"]:
        """The context that is current in this thread, or None."""
        return current_context()

    @staticmethod
    def synchronize() -> None:
        """Waits until all work of the current context is done."""
        cu.cuCtxSynchronize()

    @staticmethod
    def set_limit(limit: int, value: int) -> None:
        """Sets a `limit` of the current context."""
        cu.cuCtxSetLimit(limit, value)

    @staticmethod
    def get_limit(limit: int) -> int:
        """The value of a `limit` of the current context."""
        return cu.cuCtxGetLimit(limit)

    @staticmethod
    def set_cache_config(cc: int) -> None:
        """Sets the func_cache of kernels that have none of their own."""
        cu.cuCtxSetCacheConfig(cc)

    @staticmethod
    def get_cache_config() -> Any:
        """The func_cache of kernels that have none of their own."""
        return func_cache(cu.cuCtxGetCacheConfig())

    @staticmethod
    def set_shared_config(sc: int) -> None:
        """Sets the shared_config of kernels that have none of their own."""
        cu.cuCtxSetSharedMemConfig(sc)

    @staticmethod
    def get_shared_config() -> Any:
        """The shared_config of kernels that have none of their own."""
        return shared_config(cu.cuCtxGetSharedMemConfig())

    @staticmethod
    def enable_peer_access(peer: "Context", flags: int = 0) -> None:
        """Lets kernels of the current context use the memory of another one."""
        cu.cuCtxEnablePeerAccess(peer, flags)

    @staticmethod
    def disable_peer_access(peer: "Context", flags: int = 0) -> None:
        """Undoes enable_peer_access(). The flags have no meaning."""
        cu.cuCtxDisablePeerAccess(peer)

    def get_api_version(self) -> int:
        """The version of the driver API for which the context was made."""
        version = ctypes.c_uint()
        cu.cuCtxGetApiVersion(self.handle, ctypes.byref(version))
        return version.value


def acquire_context() -> Context:
    """The current context. That of other code, such as GstVkgdr, is not given back."""
    context = current_context()
    if context is not None:
        return context
    handle = cu.cuCtxGetCurrent()
    if not handle:
        raise error("cuCtxGetCurrent", INVALID_CONTEXT, "no context is current in this thread")
    return bare(Context, handle=handle, _valid=True)


# None is the current context.
_convert_context = CONVERTERS["C"]
CONVERTERS["C"] = lambda context: _convert_context(
    acquire_context() if context is None else context)


class ContextDependent(Unique):
    """An object that belongs to the context in which it was made, and is freed with
    _FREE(handle). It has no context if it is not to be freed.
    """

    _FREE: str
    _context: Optional[Context] = None
    handle: Any
    __init__ = Handle.__init__

    def _create(self, function: str, *arguments: Any) -> None:
        context = acquire_context()
        self.handle = getattr(cu, function)(*arguments)
        self._context = context

    def _release(self, function: str, handle: Any) -> None:
        """Frees the object in its context. If the context has ended, it was freed with it."""
        context, self._context = self._context, None
        if context is not None:
            in_context(context, lambda: clean_up(function, handle))

    def __del__(self) -> None:
        if self._context is not None:
            self._release(self._FREE, self.handle)


def in_context(context: Context, call: Callable[[], Any]) -> Any:
    """Calls a function while a context is current, unless the context has ended."""
    if not context._valid:
        return None
    if current_context() is context:
        return call()
    if cu.raw("cuCtxPushCurrent")(context.handle):
        return None
    try:
        return call()
    finally:
        cu.raw("cuCtxPopCurrent")(ctypes.byref(ctypes.c_void_p()))


class Device(Handle, letter="V"):
    """A CUDA device, by number or by the address on the PCI bus.

    The values of device_attribute are attributes, too: device.warp_size.
    """

    @also_named(device_no="number")
    def __init__(self, number: Union[int, str]) -> None:
        by_address = isinstance(number, str)
        self.handle = (cu.cuDeviceGetByPCIBusId if by_address else cu.cuDeviceGet)(number)

    @staticmethod
    def count() -> int:
        """The number of devices."""
        return cu.cuDeviceGetCount()

    def total_memory(self) -> int:
        """The size of the memory in bytes."""
        return cu.cuDeviceTotalMem(self.handle)

    def can_access_peer(self, dev: "Device") -> bool:
        """Whether this device can use the memory of another one."""
        return bool(cu.cuDeviceCanAccessPeer(self, dev))

    def _text(self, function: str) -> str:
        buffer = ctypes.create_string_buffer(1024)
        getattr(cu, function)(buffer, len(buffer), self.handle)
        return buffer.value.decode(errors="replace")

    def name(self) -> str:
        """The name of the model."""
        return self._text("cuDeviceGetName")

    def pci_bus_id(self) -> str:
        """The address on the PCI bus."""
        return self._text("cuDeviceGetPCIBusId")

    def compute_capability(self) -> Tuple[int, int]:
        """The major and the minor number."""
        return self.compute_capability_major, self.compute_capability_minor

    def get_attribute(self, attr: int) -> Any:
        """The value of a device_attribute."""
        value = cu.cuDeviceGetAttribute(attr, self.handle)
        return compute_mode(value) if attr == device_attribute.COMPUTE_MODE else value

    def get_attributes(self) -> Dict[Any, Any]:
        """The values of all device_attributes that the driver knows."""
        result = {}
        for attribute in device_attribute:
            try:
                result[attribute] = self.get_attribute(attribute)
            except LogicError:
                pass
        return result

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.get_attribute(getattr(device_attribute, name.upper()))

    def make_context(self, flags: int = 0) -> Context:
        """Makes a context with these ctx_flags, and makes it current."""
        return Context(self, flags)

    def retain_primary_context(self) -> Context:
        """Returns the context that CUDA's runtime, PyTorch and GstVkgdr use. It is not
        made current: push() does that.
        """
        handle = cu.cuDevicePrimaryCtxRetain(self.handle)
        return bare(Context, handle=handle, _valid=True,
                    _end=("cuDevicePrimaryCtxRelease", self.handle))


def _is_reached(function: str, handle: Optional[int]) -> bool:
    result = cu.raw(function)(handle)
    if result not in (0, NOT_READY):
        raise error(function, result)
    return result == 0


class Stream(ContextDependent):
    """A queue of operations that the device carries out in order."""

    _FREE = "cuStreamDestroy"
    handle: int

    def __init__(self, flags: int = 0) -> None:
        self._create("cuStreamCreate", flags)

    def synchronize(self) -> None:
        """Waits until all work of the stream is done."""
        cu.cuStreamSynchronize(self.handle)

    @also_named(event="evt")
    def wait_for_event(self, evt: "Event") -> None:
        """Makes later work of the stream wait until an event is reached."""
        cu.cuStreamWaitEvent(self.handle, evt, 0)

    def is_done(self) -> bool:
        """Whether all work of the stream is done."""
        return _is_reached("cuStreamQuery", self.handle)

    def __cuda_stream__(self) -> Tuple[int, int]:
        """The version of this protocol, and the handle, for other libraries."""
        return 0, self.handle


class Event(Handle, ContextDependent, letter="E"):
    """A point of a stream, which has a time."""

    _FREE = "cuEventDestroy"

    def __init__(self, flags: int = 0) -> None:
        self._create("cuEventCreate", flags)

    @staticmethod
    def from_ipc_handle(handle: Any) -> "Event":
        """The event of another process, of which ipc_handle() has given the handle."""
        return bare(Event, _context=acquire_context(), handle=cu.cuIpcOpenEventHandle(handle))

    def ipc_handle(self) -> bytearray:
        """A handle for other processes, of an event with event_flags.INTERPROCESS."""
        return bytearray(cu.cuIpcGetEventHandle(self.handle))

    def record(self, stream: Any = None) -> "Event":
        """Sets the event behind all work that is in a stream now."""
        cu.cuEventRecord(self.handle, stream)
        return self

    def synchronize(self) -> "Event":
        """Waits until the event is reached."""
        cu.cuEventSynchronize(self.handle)
        return self

    def query(self) -> bool:
        """Whether the event is reached."""
        return _is_reached("cuEventQuery", self.handle)

    @also_named(start_event="event")
    def time_since(self, event: "Event") -> float:
        """The milliseconds from another event to this one."""
        return cu.cuEventElapsedTime(event, self)

    @also_named(end_event="event")
    def time_till(self, event: "Event") -> float:
        """The milliseconds from this event to another one."""
        return cu.cuEventElapsedTime(self, event)
