# SPDX-License-Identifier: LGPL-2.1-or-later
"""Devices, contexts, streams and events, used like other objects of Python.

Device(0), Context(), Stream(context) and Event(context) do the same as new().
PyGObject's own constructors would make empty objects. Streams of other
libraries become GstVkgdr.Stream here. Does not depend on memory.
"""

import collections
import re
import threading
from typing import Any, Deque, Dict, List, Optional, Tuple, Union

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GLib  # noqa: E402

from ..module import get_introspection_module  # noqa: E402
from ._gstvkgdr_errors import LogicError, error_of  # noqa: E402
from ._gstvkgdr_numbers import integer, is_integer, natural  # noqa: E402
from ._gstvkgdr_override import override  # noqa: E402

GstVkgdr = get_introspection_module("GstVkgdr")


def _check(value: Any, kind: type, what: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{what} is needed, not {type(value).__name__}")


def attribute_of(owner: Any, name: str) -> int:
    """get_attribute() with a name in lower case, for __getattr__().

    :raises AttributeError: if there is no attribute of this name, or the driver does
      not have it
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise AttributeError(f"{type(owner).__name__} has no attribute {name!r}")
    try:
        return owner.get_attribute(name)
    except GLib.Error as error:
        raise AttributeError(f"{name}: {error.message}") from None


class Device(GstVkgdr.Device):
    def __new__(cls, which: Union[int, str] = 0) -> "Device":
        """:param which: an index, or a PCI address"""
        if isinstance(which, str):
            return GstVkgdr.Device.new_for_pci_address(which)
        return GstVkgdr.Device.new(integer(which, "a device"))

    def __init__(self, which: Union[int, str] = 0) -> None:
        pass

    @property
    def attributes(self) -> Dict[str, int]:
        """All attributes that the driver has, by name."""
        structure = self.get_attributes()
        names = [structure.nth_field_name(i) for i in range(structure.n_fields())]
        return {name: structure.get_value(name) for name in names}

    @property
    def compute_capability(self) -> Tuple[int, int]:
        """The major and the minor number."""
        return divmod(self.get_compute_capability(), 10)

    def __getattr__(self, name: str) -> int:
        """All attributes of the device by name: warp_size and others."""
        return attribute_of(self, name)

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *(name.replace("-", "_") for name in self.attributes)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.get_index() == self.get_index()

    def __ne__(self, other: object) -> bool:
        return not self == other  # GObject's function compares objects

    def __hash__(self) -> int:
        return hash(("GstVkgdr.Device", self.get_index()))

    def __repr__(self) -> str:
        return f"<GstVkgdr.Device {self.get_index()}: {self.get_model()}>"


Device = override(Device)


# The contexts that this thread has pushed.
_thread = threading.local()


def _pushed() -> List["Context"]:
    if not hasattr(_thread, "contexts"):
        _thread.contexts = []
    return _thread.contexts


class Context(GstVkgdr.Context):
    def __new__(cls, device: Union[int, Device] = -1) -> "Context":
        """:param device: a Device, its index, or -1 for the default one"""
        if isinstance(device, Device):
            device = device.get_index()
        if integer(device, "a device") < -1:
            raise ValueError(f"there is no CUDA device {device}")
        return GstVkgdr.Context.new(device)

    def __init__(self, device: Union[int, Device] = -1) -> None:
        pass

    def push(self) -> None:
        """Makes the CUDA context current in this thread, until pop()."""
        super().push()
        _pushed().append(self)

    def pop(self) -> None:
        """Undoes push() in the same thread.

        :raises LogicError: if this thread has not pushed the context, or has pushed
          another one after it
        """
        contexts = _pushed()
        if not contexts or contexts[-1] is not self:
            if any(one is self for one in contexts):
                raise error_of(LogicError, "another context was pushed after this one: pop that first")
            raise error_of(LogicError, "the context has not been pushed in this thread")
        contexts.pop()
        super().pop()

    def __enter__(self) -> "Context":
        """Makes the CUDA context current in this thread, for a block of code."""
        self.push()
        return self

    def __exit__(self, *exc: object) -> None:
        self.pop()

    def get_memory_info(self) -> Tuple[int, int]:
        """The free bytes of the device, and its total bytes."""
        return tuple(super().get_memory_info())[-2:]

    def __eq__(self, other: object) -> bool:
        """Contexts are equal if they have the same CUDA context. Then each can
        use the objects of the other.
        """
        return (
            isinstance(other, GstVkgdr.Context)
            and other.get_cuda_context() == self.get_cuda_context()
        )

    def __ne__(self, other: object) -> bool:
        return not self == other  # GObject's function compares objects

    def __hash__(self) -> int:
        return hash(("GstVkgdr.Context", self.get_cuda_context()))

    def __repr__(self) -> str:
        handle = self.get_cuda_context() or 0
        return f"<GstVkgdr.Context of device {self.get_device()}, CUcontext {handle:#x}>"


Context = override(Context)


class Stream(GstVkgdr.Stream):
    def __new__(cls, context: Context, handle: Optional[int] = None) -> "Stream":
        """:param handle: a CUstream of another library; without it, a new stream is
        created
        """
        _check(context, Context, "a GstVkgdr.Context")
        if handle is None:
            return GstVkgdr.Stream.new(context)
        return GstVkgdr.Stream.new_wrapped(context, natural(handle, "a CUstream") or None)

    def __init__(self, context: Context, handle: Optional[int] = None) -> None:
        pass

    @property
    def handle(self) -> int:
        """The CUstream as a number, for ExternalStream of CuPy or PyTorch. 0 is CUDA's
        legacy default stream.
        """
        return self.get_handle() or 0

    def __cuda_stream__(self) -> Tuple[int, int]:
        """The protocol of cuda.core."""
        return (0, self.handle)

    def wait_for_event(self, event: "Event") -> None:
        """wait_event() under PyCUDA's name."""
        self.wait_event(event)

    def __repr__(self) -> str:
        return f"<GstVkgdr.Stream {self.handle:#x} of device {self.get_context().get_device()}>"


Stream = override(Stream)


_new_event = GstVkgdr.Event.new


class Event(GstVkgdr.Event):
    def __new__(cls, context: Context) -> "Event":
        return cls.new(context)

    def __init__(self, context: Context) -> None:
        pass

    @staticmethod
    def new(context: Context) -> "Event":
        """Creates an event that measures time. Before it is recorded, it counts as
        reached.
        """
        _check(context, Context, "a GstVkgdr.Context")
        event = _new_event(context)
        event._context = context
        return event

    def record(self, stream: Any = None) -> "Event":
        """Records the event on a stream, behind all work that is queued there.

        :param stream: a stream of any library; without it, CUDA's legacy default stream
        :returns: the event
        """
        if not isinstance(stream, GstVkgdr.Stream):
            stream = as_stream(self._context, 0 if stream is None else stream)
        super().record(stream)
        return self

    def synchronize(self) -> "Event":
        """Waits on the CPU until the event is reached.

        :returns: the event
        """
        super().synchronize()
        return self

    def query(self) -> bool:
        """is_done() under PyCUDA's name."""
        return self.is_done()

    def time_since(self, event: "Event") -> float:
        """The milliseconds from another event to this one."""
        _check(event, Event, "a GstVkgdr.Event")
        return self.get_elapsed(event)

    def time_till(self, event: "Event") -> float:
        """The milliseconds from this event to another one."""
        _check(event, Event, "a GstVkgdr.Event")
        return event.get_elapsed(self)

    def __repr__(self) -> str:
        return f"<GstVkgdr.Event, {'reached' if self.is_done() else 'pending'}>"


Event = override(Event)


def device_count() -> int:
    """The number of CUDA devices that the driver offers."""
    return GstVkgdr.Device.count()


def as_stream(context: Context, stream: Any) -> Stream:
    """Makes a GstVkgdr.Stream of the context for a stream of any library.

    :param stream: a GstVkgdr.Stream; the number of a CUstream, which has to exist as
      long as the result; or an object of PyTorch (cuda_stream), CuPy (ptr), PyCUDA
      (handle) or cuda.core (__cuda_stream__), which the result keeps
    """
    if isinstance(stream, GstVkgdr.Stream):
        if stream.get_context() != context:
            raise ValueError("the stream is of another CUDA context")
        return stream
    if is_integer(stream):
        return GstVkgdr.Stream.new_wrapped(context, _handle(stream))
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return _wrapped(context, protocol()[1], stream)
    for name in ("cuda_stream", "ptr", "handle"):
        handle = getattr(stream, name, None)
        if is_integer(handle):
            return _wrapped(context, handle, stream)
    raise TypeError(f"a {type(stream).__name__} is neither a CUDA stream nor the number of one")


def _wrapped(context: Context, handle: int, owner: Any) -> Stream:
    stream = GstVkgdr.Stream.new_wrapped(context, _handle(handle))
    stream._owner = owner
    return stream


def _handle(value: Any) -> Optional[int]:
    number = integer(value, "a CUstream")
    if number < 0:
        raise ValueError(f"{number} is not a CUDA stream")
    return number or None


# Objects that queued work needs, each with the fence behind this work. They do not
# belong to the Stream, which may exist only for a call. There is no lock: each step of a
# deque is atomic, and an object that is freed here may call keep() itself.
_kept: Deque[Tuple[Any, Any]] = collections.deque()


def _release_kept() -> None:
    """Releases the objects whose work is done."""
    for _ in range(len(_kept)):
        try:
            one = _kept.popleft()
        except IndexError:  # another thread checks the others
            return
        if not one[0].is_signaled():
            _kept.append(one)


def keep(stream: Stream, what: Any) -> None:
    """Keeps an object until the work that is now queued on the stream is done, or for
    longer: it is released by a later call.
    """
    _release_kept()
    _kept.append((stream.record(), what))
