# SPDX-License-Identifier: LGPL-2.1-or-later
"""libvkgdr.so.1 by ctypes: the functions and their types.

Does not depend on the classes that use them.
"""

import ctypes
import os
from typing import Optional

LIBRARY = "libvkgdr.so.1"


def _find() -> str:
    """Returns the path of the library in this folder, if there is one, as in a
    wheel. Otherwise, returns a name for which the dynamic linker searches.
    """
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), LIBRARY)
    return here if os.path.exists(here) else LIBRARY


def _load() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(_find())
    except OSError as error:
        raise ImportError(
            f"{LIBRARY} cannot be loaded ({error}): install gst-vkgdr, "
            "or put the folder that has it into LD_LIBRARY_PATH"
        ) from None
    handle, size = ctypes.c_void_p, ctypes.c_size_t
    for name, result, arguments in (
        # Not c_char_p, because the pointer would be lost, and it has to be freed.
        ("vkgdr_last_error", ctypes.c_void_p, ()),
        ("vkgdr_open", handle, (ctypes.c_int, ctypes.c_uint32)),
        ("vkgdr_close", None, (handle,)),
        ("vkgdr_memory_alloc", handle, (handle, size, ctypes.c_uint32)),
        ("vkgdr_memory_free", None, (handle,)),
        ("vkgdr_memory_get_host_ptr", ctypes.c_void_p, (handle,)),
        ("vkgdr_memory_get_device_ptr", ctypes.c_ulonglong, (handle,)),
        ("vkgdr_memory_get_size", size, (handle,)),
        ("vkgdr_memory_is_coherent", ctypes.c_bool, (handle,)),
        ("vkgdr_memory_non_coherent_atom_size", size, (handle,)),
        ("vkgdr_memory_flush", None, (handle, size, size)),
        ("vkgdr_memory_invalidate", None, (handle, size, size)),
        ("vkgdr_driver_load", ctypes.c_void_p, ()),
        ("vkgdr_driver_is_software", ctypes.c_bool, ()),
        ("vkgdr_driver_softcuda_dir", ctypes.c_char_p, ()),
    ):
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


lib = _load()

_free = ctypes.CDLL(None).free
_free.restype = None
_free.argtypes = (ctypes.c_void_p,)


def last_error() -> Optional[str]:
    """The reason why this thread's last call failed, or None if it succeeded."""
    pointer = lib.vkgdr_last_error()
    if not pointer:
        return None
    try:
        return ctypes.string_at(pointer).decode(errors="replace")
    finally:
        _free(pointer)
