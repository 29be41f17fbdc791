# SPDX-License-Identifier: LGPL-2.1-or-later
"""Integers of any library. Does not depend on memory."""

import operator
from typing import Any


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
