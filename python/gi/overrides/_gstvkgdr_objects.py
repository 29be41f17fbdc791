# SPDX-License-Identifier: LGPL-2.1-or-later
"""Devices, contexts, streams and events, made and used as Python's objects are.

Device(0), Context(), Stream(context) and Event(context) make what their new()
makes; without arguments an object would be an empty shell. Other libraries'
streams become ours here. Knows nothing of memory.
"""

from typing import Any, Dict, List, Optional, Tuple, Union

from ..module import get_introspection_module
from ._gstvkgdr_override import override

GstVkgdr = get_introspection_module("GstVkgdr")


def _check(value: Any, kind: type, what: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{what} is needed, not {type(value).__name__}")


class Device(GstVkgdr.Device):
    def __new__(cls, which: Union[int, str] = 0) -> "Device":
        """:param which: an index, or a PCI address"""
        if isinstance(which, str):
            return GstVkgdr.Device.new_for_pci_address(which)
        return GstVkgdr.Device.new(which)

    def __init__(self, which: Union[int, str] = 0) -> None:
        pass

    @property
    def attributes(self) -> Dict[str, int]:
        """All attributes that the driver has, by their names."""
        structure = self.get_attributes()
        names = [structure.nth_field_name(i) for i in range(structure.n_fields())]
        return {name: structure.get_value(name) for name in names}

    @property
    def compute_capability(self) -> Tuple[int, int]:
        """Major and minor number."""
        return divmod(self.get_compute_capability(), 10)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.get_index() == self.get_index()

    def __hash__(self) -> int:
        return hash(("GstVkgdr.Device", self.get_index()))

    def __repr__(self) -> str:
        return f"<GstVkgdr.Device {self.get_index()}: {self.get_model()}>"


Device = override(Device)


class Context(GstVkgdr.Context):
    def __new__(cls, device: Union[int, Device] = -1) -> "Context":
        """:param device: a Device, its index, or -1 for the default one"""
        if isinstance(device, Device):
            device = device.get_index()
        if device < -1:
            raise ValueError(f"there is no CUDA device {device}")
        return GstVkgdr.Context.new(device)

    def __init__(self, device: Union[int, Device] = -1) -> None:
        pass

    def __enter__(self) -> "Context":
        """Makes its CUDA context current in this thread, for a block of code."""
        self.push()
        return self

    def __exit__(self, *exc: object) -> None:
        self.pop()


Context = override(Context)


class Stream(GstVkgdr.Stream):
    def __new__(cls, context: Context, handle: Optional[int] = None) -> "Stream":
        """:param handle: a CUstream of somebody else's; without one, a new stream"""
        _check(context, Context, "a GstVkgdr.Context")
        if handle is None:
            return GstVkgdr.Stream.new(context)
        return GstVkgdr.Stream.new_wrapped(context, handle)

    def __init__(self, context: Context, handle: Optional[int] = None) -> None:
        # What a copy under way needs, with the fence behind it.
        self._kept: List[Tuple[Any, Any]] = []

    @property
    def handle(self) -> int:
        """The CUstream, as CuPy's ExternalStream and PyTorch's take it; 0 is CUDA's
        legacy default stream."""
        return self.get_handle() or 0

    def __cuda_stream__(self) -> Tuple[int, int]:
        """cuda.core's protocol."""
        return (0, self.handle)

    def wait_for_event(self, event: "Event") -> None:
        """As PyCUDA has it: wait_event()."""
        self.wait_event(event)


Stream = override(Stream)


class Event(GstVkgdr.Event):
    def __new__(cls, context: Context) -> "Event":
        _check(context, Context, "a GstVkgdr.Context")
        return GstVkgdr.Event.new(context)

    def __init__(self, context: Context) -> None:
        pass

    def query(self) -> bool:
        """As PyCUDA has it: is_done()."""
        return self.is_done()

    def time_since(self, event: "Event") -> float:
        """Milliseconds from another event to this one."""
        _check(event, Event, "a GstVkgdr.Event")
        return self.get_elapsed(event)

    def time_till(self, event: "Event") -> float:
        """Milliseconds from this event to another one."""
        _check(event, Event, "a GstVkgdr.Event")
        return event.get_elapsed(self)


Event = override(Event)


def device_count() -> int:
    """How many CUDA devices the driver offers."""
    return GstVkgdr.Device.count()


def as_stream(context: Context, stream: Any) -> Stream:
    """A stream of any library as a GstVkgdr.Stream of the context.

    :param stream: a GstVkgdr.Stream; a CUstream's number; or an object of PyTorch
      (cuda_stream), CuPy (ptr), PyCUDA (handle) or cuda.core (__cuda_stream__),
      which the result keeps; the stream of a number has to live as long as the result
    """
    if isinstance(stream, GstVkgdr.Stream):
        if stream.get_context() != context:
            raise ValueError("the stream is of another context")
        return stream
    if isinstance(stream, int) and not isinstance(stream, bool):
        return GstVkgdr.Stream.new_wrapped(context, _handle(stream))
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return _wrapped(context, protocol()[1], stream)
    for name in ("cuda_stream", "ptr", "handle"):
        handle = getattr(stream, name, None)
        if isinstance(handle, int):
            return _wrapped(context, handle, stream)
    raise TypeError(f"a {type(stream).__name__} is no CUDA stream, nor the number of one")


def _wrapped(context: Context, handle: int, owner: Any) -> Stream:
    stream = GstVkgdr.Stream.new_wrapped(context, _handle(handle))
    stream._owner = owner
    return stream


def _handle(number: int) -> Optional[int]:
    if number < 0:
        raise ValueError(f"{number} is no CUDA stream")
    return number or None


def keep(stream: Stream, what: Any) -> None:
    """Keeps an object until what the stream has queued by now is done."""
    kept = getattr(stream, "_kept", [])
    kept = [one for one in kept if not one[0].is_signaled()]
    kept.append((stream.record(), what))
    stream._kept = kept
