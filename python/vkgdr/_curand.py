# SPDX-License-Identifier: LGPL-2.1-or-later
"""The functions of cuRAND that PyCUDA's curandom takes from its module _driver."""

import ctypes
from typing import Any, Tuple

from ._constants import direction_vector_set
from ._cuda import NOT_SUPPORTED, error, host_range

__all__ = ["_get_direction_vectors", "_get_scramble_constants32", "_get_scramble_constants64",
           "get_curand_version"]

_DIMENSIONS = 20000  # of cuRAND's tables


def _library() -> Any:
    for name in ("libcurand.so.10", "libcurand.so.11", "libcurand.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    return None


def get_curand_version() -> Tuple[int, int, int]:
    """The version of cuRAND, or (0, 0, 0) without it."""
    version, library = ctypes.c_int(), _library()
    if library is None or library.curandGetVersion(ctypes.byref(version)):
        return 0, 0, 0
    return version.value // 1000, version.value % 1000 // 10, version.value % 10


def _copy_table(function: str, row: int, dst: Any, count: int, *arguments: Any) -> None:
    """Copies the first rows of a table, which is repeated if there are more."""
    table, library = ctypes.c_void_p(), _library()
    if library is None or getattr(library, function)(ctypes.byref(table), *arguments):
        raise error(function, NOT_SUPPORTED, "cuRAND is not installed, or has failed")
    address, _ = host_range(dst, True)
    for start in range(0, count, _DIMENSIONS):
        size = min(count - start, _DIMENSIONS) * row
        ctypes.memmove(address + start * row, table.value or 0, size)


def _get_direction_vectors(set: int, dst: Any, count: int) -> None:  # noqa: A002
    """Fills a buffer with direction vectors of a direction_vector_set."""
    bits = 32 if set <= direction_vector_set.SCRAMBLED_VECTOR_32 else 64
    _copy_table(f"curandGetDirectionVectors{bits}", bits * bits // 8, dst, count, int(set))


def _get_scramble_constants32(dst: Any, count: int) -> None:
    """Fills a buffer with scramble constants of 32 bits."""
    _copy_table("curandGetScrambleConstants32", 4, dst, count)


def _get_scramble_constants64(dst: Any, count: int) -> None:
    """Fills a buffer with scramble constants of 64 bits."""
    _copy_table("curandGetScrambleConstants64", 8, dst, count)
