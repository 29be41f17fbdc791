# SPDX-License-Identifier: LGPL-2.1-or-later
"""Host memory of Python objects: bytes, arrays of NumPy, and other objects with a
buffer.

This module returns the address of the memory, and keeps the object as long as
the address is used.
"""

import ctypes
from typing import Any, Optional

_SIMPLE = 0
_WRITABLE = 0x1
_STRIDES = 0x10 | 0x8

_api = ctypes.pythonapi


class _PyBuffer(ctypes.Structure):
    """CPython's Py_buffer."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


# These functions belong to this module, because the attributes of pythonapi are
# shared by the whole process.
_get = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int
)(("PyObject_GetBuffer", _api))
_is_contiguous = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(_PyBuffer), ctypes.c_char
)(("PyBuffer_IsContiguous", _api))
_release = ctypes.PYFUNCTYPE(None, ctypes.POINTER(_PyBuffer))(("PyBuffer_Release", _api))


class HostMemory:
    """The bytes of an object, in rows: one row, or the rows of its first dimension.

    :param source: an object with a buffer
    :param writable: whether it will be written
    :param rows: whether its first dimension may have gaps
    """

    def __init__(self, source: Any, writable: bool = False, rows: bool = False) -> None:
        self._buffer: Optional[_PyBuffer] = None
        buffer = _PyBuffer()
        try:
            _get(source, ctypes.byref(buffer), _STRIDES | (_WRITABLE if writable else _SIMPLE))
        except (TypeError, BufferError, ValueError) as error:
            need = "writable " if writable else ""
            raise TypeError(
                f"a {type(source).__name__} is not {need}host memory: use bytes, an array of "
                f"NumPy or another object with a buffer ({error})"
            ) from None
        self._buffer = buffer
        self.address: int = buffer.buf or 0
        self.nbytes: int = buffer.len
        if not buffer.strides or not buffer.shape:
            buffer.ndim = 0  # C's order, without gaps
        self.rows = buffer.shape[0] if rows and buffer.ndim > 1 else 1
        self.pitch = buffer.strides[0] if self.rows > 1 else self.nbytes
        self.width = self.nbytes // self.rows if self.rows else 0
        self._check()

    def _check(self) -> None:
        """The bytes of each row have to be contiguous. A single row may also be in the
        order of Fortran.
        """
        buffer = self._buffer
        if self.rows == 1 and _is_contiguous(ctypes.byref(buffer), b"A"):
            return
        step = buffer.itemsize
        for i in reversed(range(1 if self.rows > 1 else 0, buffer.ndim)):
            if buffer.shape[i] > 1 and buffer.strides[i] != step:
                self.release()
                raise ValueError(
                    "the array is not contiguous: numpy.ascontiguousarray() makes one that is"
                )
            step *= buffer.shape[i]
        if self.rows > 1 and self.pitch < self.width:
            self.release()
            raise ValueError("the array's rows overlap, or go backwards: make a copy of it")

    def release(self) -> None:
        if self._buffer is not None:
            _release(ctypes.byref(self._buffer))
            self._buffer = None

    def __enter__(self) -> "HostMemory":
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()

    def __del__(self) -> None:
        # At the end of the interpreter, the functions of this module can be gone.
        if getattr(self, "_buffer", None) is not None and _release is not None:
            self.release()
