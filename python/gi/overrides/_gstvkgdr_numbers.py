# SPDX-License-Identifier: LGPL-2.1-or-later
"""Integers of any library, and the bytes of numbers.

A number of NumPy is recognised by its dtype, without importing NumPy. Does not depend
on memory.
"""

import ctypes
import operator
import struct
from typing import Any, Iterable, Optional, Tuple, Union

_INTEGERS = {1: "b", 2: "h", 4: "i", 8: "q"}  # unsigned types have capital letters
_REALS = {2: "e", 4: "f", 8: "d"}

INTEGER_SIZES = tuple(_INTEGERS)
REAL_SIZES = tuple(_REALS)


def integer(value: Any, what: str) -> int:
    """Converts an integer of Python, NumPy, or any type with __index__() to an int.

    :raises TypeError: if the value is not an integer
    """
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is an integer, not {type(value).__name__}") from None


def natural(value: Any, what: str) -> int:
    """The same as integer(), for numbers that must not be negative.

    :raises ValueError: if the number is negative
    """
    number = integer(value, what)
    if number < 0:
        raise ValueError(f"{what} is {number}, and cannot be negative")
    return number


def is_integer(value: Any) -> bool:
    """Whether the value is an integer, but not a bool."""
    return hasattr(type(value), "__index__") and not isinstance(value, bool)


def integers(values: Union[int, Iterable[int]], what: str) -> Tuple[int, ...]:
    """Returns a tuple of one or several numbers, as NumPy does for a shape."""
    if hasattr(type(values), "__index__") and not getattr(values, "shape", ()):
        return (operator.index(values),)  # type: ignore[arg-type]
    try:
        found = tuple(values)  # type: ignore[arg-type]
    except TypeError:
        kind = type(values).__name__
        raise TypeError(f"{what} is an integer or several, not {kind}") from None
    return tuple(integer(value, what) for value in found)


def numpy_kind(value: Any) -> Optional[str]:
    """The kind of a scalar of NumPy, as in dtype.kind: "b", "i", "u", "f" or "c" for
    numbers, "V" for a structure. None if the value is not a scalar of NumPy.
    """
    dtype = getattr(value, "dtype", None)
    if dtype is None or getattr(value, "shape", None) != ():
        return None
    return getattr(dtype, "kind", None)


def is_ctypes(value: Any) -> bool:
    """Whether this is a number or a structure of ctypes."""
    return isinstance(value, (ctypes._SimpleCData, ctypes.Structure, ctypes.Union, ctypes.Array))


def plain(value: Any) -> Any:
    """Converts a number of NumPy or ctypes to one of Python. Other objects are not
    changed.
    """
    if numpy_kind(value) in ("b", "i", "u", "f", "c"):
        return value.item()
    if isinstance(value, ctypes._SimpleCData):
        return value.value
    return value


def bytes_of(value: Any) -> Optional[bytes]:
    """Returns the bytes of an object that knows its size: bytes, a structure, an array,
    or a number of NumPy or ctypes. None for other objects.
    """
    if isinstance(value, (bytes, bytearray)) or is_ctypes(value):
        return bytes(value)
    if hasattr(value, "dtype") and hasattr(value, "tobytes"):
        return value.tobytes()
    return None


def pack_integer(value: int, size: int, is_signed: Optional[bool] = None) -> bytes:
    """Returns an integer in size bytes. Without is_signed, it is signed if it is
    negative.

    :raises struct.error: if it does not fit
    """
    letter = _INTEGERS[size]
    if is_signed is None:
        is_signed = value < 0
    return struct.pack("=" + (letter if is_signed else letter.upper()), value)


def pack_real(value: float, size: int) -> bytes:
    """Returns a floating-point number in 2, 4 or 8 bytes.

    :raises OverflowError: if it does not fit
    """
    return struct.pack("=" + _REALS[size], value)
