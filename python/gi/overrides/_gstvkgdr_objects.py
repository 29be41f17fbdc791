# SPDX-License-Identifier: LGPL-2.1-or-later
"""Contexts and streams, used like other objects of Python.

Context() and Stream(context) do the same as new(). PyGObject's own constructors would
make empty objects. Streams of other libraries become GstVkgdr.Stream here.
"""

import threading
from typing import Any, List, Optional, Tuple

from ._gstvkgdr_base import GstVkgdr, integer, is_integer, override
from ._gstvkgdr_errors import LogicError, error_of


_thread = threading.local()  # its contexts that were pushed


def _pushed() -> List["Context"]:
    return _thread.__dict__.setdefault("pushed", [])


class Context(GstVkgdr.Context):
    def __new__(cls, device: int = -1) -> "Context":
        """:param device: the number of a device, or -1 for the default one"""
        if integer(device, "a device") < -1:
            raise ValueError(f"there is no CUDA device {device}")
        return GstVkgdr.Context.new(device)

    def __init__(self, device: int = -1) -> None:
        pass

    def push(self) -> None:
        """Makes the CUDA context current in this thread, until pop()."""
        super().push()
        _pushed().append(self)

    def pop(self) -> None:
        """Undoes push() in the same thread."""
        if not any(one is self for one in _pushed()):
            raise error_of(LogicError, "the context has not been pushed in this thread")
        if _pushed()[-1] is not self:
            raise error_of(LogicError, "another context was pushed after this one: pop that first")
        _pushed().pop()
        super().pop()

    def __enter__(self) -> "Context":
        self.push()
        return self

    def __exit__(self, *exc: object) -> None:
        self.pop()

    def get_memory_info(self) -> Tuple[int, int]:
        """The free bytes and the total bytes of the device."""
        return tuple(super().get_memory_info())[-2:]

    def __eq__(self, other: object) -> bool:
        """Contexts with the same CUDA context can use the objects of each other."""
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
        """:param handle: a CUstream of another library; without it, there is a new one"""
        if not isinstance(context, Context):
            raise TypeError(f"a GstVkgdr.Context is needed, not {type(context).__name__}")
        if handle is None:
            return GstVkgdr.Stream.new(context)
        return _wrapped(context, handle)

    def __init__(self, context: Context, handle: Optional[int] = None) -> None:
        pass

    @property
    def handle(self) -> int:
        """The CUstream as a number. 0 is CUDA's legacy default stream."""
        return self.get_handle() or 0

    def __cuda_stream__(self) -> Tuple[int, int]:
        return (0, self.handle)

    def __repr__(self) -> str:
        return f"<GstVkgdr.Stream {self.handle:#x} of device {self.get_context().get_device()}>"


Stream = override(Stream)


def _wrapped(context: Context, handle: int, owner: Any = None) -> Stream:
    number = integer(handle, "a CUstream")
    if number < 0:
        raise ValueError(f"a CUstream is {number}, and cannot be negative")
    stream = GstVkgdr.Stream.new_wrapped(context, number or None)
    stream._owner = owner
    return stream


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
        return _wrapped(context, stream)
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return _wrapped(context, protocol()[1], stream)
    for name in ("cuda_stream", "ptr", "handle"):
        handle = getattr(stream, name, None)
        if is_integer(handle):
            return _wrapped(context, handle, stream)
    raise TypeError(f"a {type(stream).__name__} is neither a CUDA stream nor the number of one")
