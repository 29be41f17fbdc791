# SPDX-License-Identifier: LGPL-2.1-or-later
"""What all parts of the overrides need: the typelib, override() and integers."""

import operator
import sys
from typing import Any, TypeVar

import gi

for _name in ("Gst", "GstAudio", "GstVideo"):
    gi.require_version(_name, "1.0")
from gi.repository import GLib, Gst, GstAudio, GstVideo  # noqa: E402

from ..module import get_introspection_module  # noqa: E402

__all__ = ["GLib", "Gst", "GstAudio", "GstVideo", "GstVkgdr", "integer", "is_integer", "override"]

GstVkgdr = get_introspection_module("GstVkgdr")

_Class = TypeVar("_Class", bound=type)


def override(cls: _Class) -> _Class:
    """From now on, all objects of this type in GstVkgdr have this class.

    PyGObject's own override() is for classes in a file with the name of the namespace.
    """
    cls.__info__.get_g_type().pytype = cls  # type: ignore[attr-defined]
    # This module becomes GstVkgdr when all overrides are loaded. While they are
    # loaded, PyGObject already looks for the parent of a class there.
    setattr(sys.modules["gi.repository.GstVkgdr"], cls.__name__, cls)
    return cls


def integer(value: Any, what: str) -> int:
    """Converts an integer of Python, NumPy, or any type with __index__() to an int."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is an integer, not {type(value).__name__}") from None


def is_integer(value: Any) -> bool:
    """Whether the value is an integer, but not a bool."""
    return hasattr(type(value), "__index__") and not isinstance(value, bool)
