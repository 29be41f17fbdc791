# SPDX-License-Identifier: LGPL-2.1-or-later
"""libvkgdr.so.1 by ctypes, and this package's notation of functions and structures of C.

Does not depend on the classes that use it.
"""

import ctypes
import os
from typing import Any, List, Optional, Tuple

LIBRARY = "libvkgdr.so.1"

# The letters of types in tables of functions and structures. "-" is nothing.
_TYPES = {
    "P": ctypes.c_void_p, "D": ctypes.c_uint64, "z": ctypes.c_size_t, "s": ctypes.c_char_p,
    "B": ctypes.c_ubyte, "H": ctypes.c_ushort, "i": ctypes.c_int, "I": ctypes.c_uint,
    "q": ctypes.c_int64, "f": ctypes.c_float, "?": ctypes.c_bool, "-": None,
}


def types(letters: str, **others: Any) -> Tuple[Any, ...]:
    """The types of letters. Those of `others` go before the usual ones."""
    return tuple(others.get(letter) or _TYPES[letter] for letter in letters if letter != "-")


def fields(table: str, **others: Any) -> List[Tuple[str, Any]]:
    """The fields of a structure of C, from pairs of a type and a name. A type is a letter,
    or a name in `others`.
    """
    words = table.split()
    return [(name, others.get(kind) or _TYPES[kind]) for kind, name in zip(words[::2], words[1::2])]


def structure(name: str, table: str, **others: Any) -> Any:
    """A structure with these fields."""
    return type(name, (ctypes.Structure,), {"_fields_": fields(table, **others)})


def declare(table: str, **others: Any) -> None:
    """Declares functions of the library: names, results and arguments."""
    words = table.split()
    for name, result, arguments in zip(words[::3], words[1::3], words[2::3]):
        function = getattr(lib, name)
        function.restype = others.get(result) or _TYPES[result]
        function.argtypes = types(arguments, **others)


def _load() -> ctypes.CDLL:
    # A wheel has the library in this folder. Otherwise the dynamic linker finds it.
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), LIBRARY)
    try:
        return ctypes.CDLL(here if os.path.exists(here) else LIBRARY)
    except OSError as error:
        raise ImportError(
            f"{LIBRARY} cannot be loaded ({error}): install gst-vkgdr, "
            "or put the folder that has it into LD_LIBRARY_PATH"
        ) from None


lib = _load()
# The text of an error is P, because it has to be freed.
declare("""
    vkgdr_last_error P -  vkgdr_open P iI  vkgdr_close - P
    vkgdr_memory_alloc P PzI  vkgdr_memory_free - P  vkgdr_memory_get_size z P
    vkgdr_memory_get_host_ptr P P  vkgdr_memory_get_device_ptr D P
    vkgdr_memory_is_coherent ? P  vkgdr_memory_non_coherent_atom_size z P
    vkgdr_memory_flush - Pzz  vkgdr_memory_invalidate - Pzz
    vkgdr_driver_load P -  vkgdr_driver_is_software ? -  vkgdr_driver_softcuda_dir s -""")

_free = ctypes.CDLL(None).free
_free.restype, _free.argtypes = None, types("P")


def last_error() -> Optional[str]:
    """The reason why this thread's last call failed, or None if it succeeded."""
    pointer = lib.vkgdr_last_error()
    if not pointer:
        return None
    try:
        return ctypes.string_at(pointer).decode(errors="replace")
    finally:
        _free(pointer)


class Unique:
    """An object of the driver or of the library: a copy would free it a second time."""

    def __reduce__(self) -> Any:
        raise RuntimeError(f"a {type(self).__name__} cannot be copied or pickled")


class VkgdrError(RuntimeError):
    """An error of the library, with its reason."""

    __module__ = "vkgdr"


def failure() -> VkgdrError:
    """The exception for this thread's last call, which failed."""
    return VkgdrError(last_error() or "unknown reason")
