# SPDX-License-Identifier: LGPL-2.1-or-later
"""Elements in Python: additions for subclasses of GstVkgdr.VideoFilter.

An exception in one of its functions becomes the element's error on the bus, except in
do_close(). A function that returns True, None or Gst.FlowReturn.OK has succeeded. Frames for the CPU are arrays of
NumPy.
"""

import functools
import os
import traceback
from typing import Any, Callable, Tuple

from . import _gstvkgdr_arrays as arrays
from . import _gstvkgdr_layout as layout
from ._gstvkgdr_base import DOMAIN, GLib, Gst, GstVideo, GstVkgdr, override

# The functions of the base classes that return an error.
_GUARDED = ("do_open", "do_negotiated", "do_filter", "do_set_info", "do_filter_frame",
            "do_filter_frame_cpu")


def _guard(function: Callable[..., Any], name: str) -> Callable[..., bool]:
    @functools.wraps(function)
    def call(*args: Any) -> bool:
        try:
            result = function(*args)
        except GLib.Error:
            raise
        # PyGObject would end the process on SystemExit, in a thread that cannot do this.
        except (Exception, SystemExit) as error:
            traceback.print_exc()
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = (f"{name}(): {type(error).__name__}: {error} "
                    f"({os.path.basename(where.filename)}, line {where.lineno})")
            raise GLib.Error(text, DOMAIN, int(GstVkgdr.Error.FAILED)) from None
        if result is None or result is True or result is False:
            return result is not False
        if isinstance(result, Gst.FlowReturn) and result == Gst.FlowReturn.OK:
            return True
        raise GLib.Error(f"{name}() returned {result!r}: it has to return True or None, or raise "
                         "an exception", DOMAIN, int(GstVkgdr.Error.FAILED))

    return call


@override
class BaseTransform(GstVkgdr.BaseTransform):
    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in _GUARDED:
            function = cls.__dict__.get(name)
            # Only functions in Python are wrapped, not those of GI.
            if callable(function) and hasattr(function, "__code__"):
                setattr(cls, name, _guard(function, name))


def frame_arrays(frame: Any, writable: bool = False) -> Tuple[Any, ...]:
    """The planes of a mapped GstVideo.VideoFrame, as arrays of NumPy.

    This is for do_filter_frame_cpu(): its input with writable=False, its output with
    writable=True. The arrays must not be used after that function has returned.
    """
    if not isinstance(frame, GstVideo.VideoFrame):
        raise TypeError(f"a GstVideo.VideoFrame is needed, not {type(frame).__name__}")
    address = GstVkgdr.VideoFilter.get_plane_address
    return tuple(
        arrays.host_array(address(frame, index), where, None, writable)
        for index, where in enumerate(layout.frame_planes(frame.info)))
