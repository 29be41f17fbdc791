# SPDX-License-Identifier: LGPL-2.1-or-later
"""The library's errors as classes with PyCUDA's names.

    except GstVkgdr.CompileError as error:
        print(error.stderr)

Each class is a GLib.Error, so that programs that catch GLib.Error still work. PyGObject
makes all errors by calling GLib.Error. This module changes that call: for an error of the
domain of GstVkgdr it makes one of these classes.
"""

import builtins
import re
from typing import Optional, Type

from ._gstvkgdr_base import GLib, GstVkgdr

_DOMAIN = GLib.quark_to_string(GstVkgdr.error_quark())


class CudaError(GLib.Error):
    """The base class of the library's errors. PyCUDA calls it Error."""

    @property
    def cuda_error(self) -> Optional[str]:
        """The name of CUDA's error, such as "CUDA_ERROR_LAUNCH_FAILED", or None if the
        error is not one of the driver.
        """
        return _cuda_error(self.message)


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

# The word after CUDA_ERROR_ in the message about a driver call that failed.
_CUDA_CLASSES = (
    (r"OUT_OF_MEMORY", MemoryError),
    (r"LAUNCH_.*|ILLEGAL_.*|MISALIGNED_ADDRESS|INVALID_ADDRESS_SPACE|INVALID_PC|ASSERT"
     r"|HARDWARE_STACK_ERROR", LaunchError),
    (r"INVALID_.*|NOT_INITIALIZED|ALREADY_.*", LogicError),
)


def error_of(kind: Type[CudaError], message: str) -> CudaError:
    """Makes an error of the overrides for a mistake of the caller."""
    return kind(message, _DOMAIN, int(GstVkgdr.Error.ARGUMENT))


def _cuda_error(message: str) -> Optional[str]:
    found = re.search(r"\bCUDA_ERROR_[A-Z0-9_]+", message)
    return found.group(0) if found else None


def _class_of(message: str, code: int) -> Type[CudaError]:
    if code == int(GstVkgdr.Error.FAILED):
        name = (_cuda_error(message) or "").replace("CUDA_ERROR_", "", 1)
        for pattern, kind in _CUDA_CLASSES:
            if re.fullmatch(pattern, name):
                return kind
    return _CLASSES.get(code, RuntimeError)


def _new(cls: Type[GLib.Error], message: str = "", domain: str = "", code: int = 0) -> GLib.Error:
    if cls is GLib.Error and domain == _DOMAIN:
        cls = _class_of(message, code)
    return builtins.RuntimeError.__new__(cls)


def install() -> None:
    """From now on, PyGObject raises the library's errors as these classes."""
    GLib.Error.__new__ = staticmethod(_new)
