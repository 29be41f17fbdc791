# SPDX-License-Identifier: LGPL-2.1-or-later
"""What all parts of the overrides need: the typelib, override(), and the library's errors
as classes with PyCUDA's names.

    except GstVkgdr.CompileError as error:
        print(error.stderr)

Each class is a GLib.Error, so that programs that catch GLib.Error still work. PyGObject
makes all errors by calling GLib.Error. This module changes that call: for an error of the
domain of GstVkgdr it makes one of these classes.
"""

import builtins
import re
import sys
from typing import Optional, Type, TypeVar

import gi

for _name in ("Gst", "GstAudio", "GstVideo"):
    gi.require_version(_name, "1.0")
from gi.repository import GLib, Gst, GstAudio, GstVideo  # noqa: E402, F401

from ..module import get_introspection_module  # noqa: E402

GstVkgdr = get_introspection_module("GstVkgdr")

_Class = TypeVar("_Class", bound=type)
DOMAIN = GLib.quark_to_string(GstVkgdr.error_quark())


def override(cls: _Class) -> _Class:
    """From now on, all objects of this type in GstVkgdr have this class.

    PyGObject's own override() is for classes in a file with the name of the namespace.
    """
    cls.__info__.get_g_type().pytype = cls  # type: ignore[attr-defined]
    # This module becomes GstVkgdr when all overrides are loaded. While they are
    # loaded, PyGObject already looks for the parent of a class there.
    setattr(sys.modules["gi.repository.GstVkgdr"], cls.__name__, cls)
    return cls


class CudaError(GLib.Error):
    """The base class of the library's errors. PyCUDA calls it Error."""

    @property
    def cuda_error(self) -> Optional[str]:
        """The name of CUDA's error, such as "CUDA_ERROR_LAUNCH_FAILED", or None if the
        error is not one of the driver.
        """
        found = _CUDA_ERROR.search(self.message)
        return found[0] if found else None


class CompileError(CudaError):
    """A source that does not compile."""

    @property
    def stderr(self) -> str:
        """The compiler's log."""
        return self.message.partition("\n")[2]


class MemoryError(CudaError, builtins.MemoryError):
    """There is no memory on the device, or no pinned memory."""


class LogicError(CudaError):
    """A mistake in the program: a wrong argument, or a name that does not exist."""


class LaunchError(CudaError):
    """A kernel has failed. Often a later call raises this error."""


class RuntimeError(CudaError):
    """Anything else: no driver, no device, or a call that failed."""


_CLASSES = {
    int(GstVkgdr.Error.COMPILE): CompileError,
    int(GstVkgdr.Error.NO_MEMORY): MemoryError,
    int(GstVkgdr.Error.ARGUMENT): LogicError,
    int(GstVkgdr.Error.NOT_FOUND): LogicError,
}

# The name of CUDA's error in the message about a driver call that failed.
_CUDA_ERROR = re.compile(r"\bCUDA_ERROR_([A-Z0-9_]+)")
_CUDA_CLASSES = (
    (r"OUT_OF_MEMORY", MemoryError),
    (r"LAUNCH_.*|ILLEGAL_.*|MISALIGNED_ADDRESS|INVALID_ADDRESS_SPACE|INVALID_PC|ASSERT"
     r"|HARDWARE_STACK_ERROR", LaunchError),
    (r"INVALID_.*|NOT_INITIALIZED|ALREADY_.*", LogicError),
)


def _class_of(message: str, code: int) -> Type[CudaError]:
    name = _CUDA_ERROR.search(message)
    if name is not None and code == int(GstVkgdr.Error.FAILED):
        for pattern, kind in _CUDA_CLASSES:
            if re.fullmatch(pattern, name[1]):
                return kind
    return _CLASSES.get(code, RuntimeError)


def _new(cls: Type[GLib.Error], message: str = "", domain: str = "", code: int = 0) -> GLib.Error:
    if cls is GLib.Error and domain == DOMAIN:
        cls = _class_of(message, code)
    return builtins.RuntimeError.__new__(cls)


# From now on, PyGObject raises the library's errors as these classes.
GLib.Error.__new__ = staticmethod(_new)
