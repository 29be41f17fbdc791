# SPDX-License-Identifier: LGPL-2.1-or-later
"""The types of a kernel's parameters, as given to Function.prepare().

A type is a letter of the module struct, "P" for a pointer, "F" or "D" for complex
numbers, or a type of NumPy. It converts a number to the bytes of the parameter. Does
not depend on memory.
"""

import ctypes
import struct
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _gstvkgdr_numbers as numbers

POINTER, INTEGER, REAL, COMPLEX, STRUCTURE = "pointer", "integer", "real", "complex", "structure"

POINTER_SIZE = 8

_LETTERS = {
    "P": (POINTER, 8),
    "e": (REAL, 2),
    "f": (REAL, 4),
    "d": (REAL, 8),
    "F": (COMPLEX, 8),
    "D": (COMPLEX, 16),
}
_LETTERS.update({one: (INTEGER, struct.calcsize("=" + one)) for one in "?bBhHiIqQ"})
_LETTERS.update({one: (INTEGER, 8) for one in "lLnN"})  # sizes in C on this machine

_KINDS = {"b": INTEGER, "i": INTEGER, "u": INTEGER, "f": REAL, "c": COMPLEX, "V": STRUCTURE}


class ParameterType(NamedTuple):
    """The type of one parameter."""

    name: str  #: as given to prepare()
    kind: str
    size: int
    is_signed: bool = False
    is_bool: bool = False

    def accepts_pointer(self) -> bool:
        """Programs for PyCUDA also use numpy.intp for a pointer."""
        return self.kind == POINTER or (self.kind == INTEGER and self.size == POINTER_SIZE)

    def pack(self, value: Any, name: str) -> bytes:
        """Returns the bytes of a number or a structure.

        :param name: the name of the argument in messages
        :raises TypeError: if the value does not have this type
        :raises OverflowError: if it does not fit
        """
        try:
            data = self._pack(value)
        except (struct.error, OverflowError):
            raise OverflowError(f"{name}: {value!r} does not fit {self.name!r}") from None
        if data is None:
            raise TypeError(f"{name}: {value!r} is no {self.kind} ({self.name!r})")
        return data

    def _pack(self, value: Any) -> Optional[bytes]:
        if self.kind == STRUCTURE:
            data = numbers.bytes_of(value)
            return data if data is not None and len(data) == self.size else None
        if self.kind == POINTER:
            return _pack_address(value)
        value = numbers.plain(value)
        if self.is_bool and isinstance(value, (bool, int, float)):
            return bytes([bool(value)])
        if self.kind == INTEGER and hasattr(type(value), "__index__"):
            return numbers.pack_integer(int(value), self.size, self.is_signed)
        if self.kind == REAL and isinstance(value, (bool, int, float)):
            return numbers.pack_real(float(value), self.size)
        if self.kind == COMPLEX and isinstance(value, (bool, int, float, complex)):
            number, half = complex(value), self.size // 2
            return numbers.pack_real(number.real, half) + numbers.pack_real(number.imag, half)
        return None


def _pack_address(value: Any) -> Optional[bytes]:
    """Returns an address, if the value has a type that is used for addresses. An int of
    Python is not enough, because it may be any number.
    """
    kind, plain = numbers.numpy_kind(value), numbers.plain(value)
    if value is None:
        return bytes(POINTER_SIZE)
    if kind is not None and kind in "iu" and value.dtype.itemsize == POINTER_SIZE and plain >= 0:
        return numbers.pack_integer(plain, POINTER_SIZE)
    if isinstance(value, ctypes.c_void_p):
        return bytes(value)
    return None


def parse(
    arg_types: Union[str, Sequence[Any]], known: Optional[Sequence[int]]
) -> List[ParameterType]:
    """Converts the types that are given to prepare().

    :param known: the sizes of the parameters, if the driver tells them
    """
    types = [_parse_one(one) for one in arg_types if one != " "]
    if known is None or len(known) != len(types):
        return types
    return [_fit(one, size) for one, size in zip(types, known)]


def _fit(one: ParameterType, size: int) -> ParameterType:
    """PyCUDA packs complex numbers for F and D, but its documentation calls them
    floating-point numbers. The size of the parameter decides.
    """
    if one.kind == COMPLEX and one.size == 2 * size and one.name in "FD":
        return ParameterType(one.name, REAL, size)
    return one


def _parse_one(one: Any) -> ParameterType:
    if isinstance(one, str) and len(one) == 1:
        if one not in _LETTERS:
            raise ValueError(f"{one!r} is not a type: use one of {''.join(_LETTERS)}")
        kind, size = _LETTERS[one]
        return ParameterType(one, kind, size, one in "bhiqln", one == "?")
    found = _dtype_of(one)
    if found is None:
        raise TypeError(f"{one!r} is neither a letter nor a type of NumPy")
    kind, size = found
    name = getattr(one, "name", None) or getattr(one, "__name__", repr(one))
    return ParameterType(name, _KINDS[kind], size, kind == "i", kind == "b")


def _dtype_of(one: Any) -> Optional[Tuple[str, int]]:
    """Returns the kind and the size of a type of NumPy: a dtype, or a class such as
    float32.
    """
    if isinstance(one, type) and hasattr(one, "dtype"):
        try:
            one = one().dtype
        except TypeError:
            return None
    kind, size = getattr(one, "kind", None), getattr(one, "itemsize", None)
    if kind not in _KINDS or not isinstance(size, int):
        return None
    return kind, size
