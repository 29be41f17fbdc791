# SPDX-License-Identifier: LGPL-2.1-or-later
"""DLPack's capsules, which carry a tensor from one Python library to another.

Only libgstvkgdr-1.0 knows the content of a tensor. This file only uses the
address in a capsule, and its name, which tells whether the capsule still owns
the tensor.
"""

import ctypes
from typing import Any

from ..module import get_introspection_module

GstVkgdr = get_introspection_module("GstVkgdr")

# DLDeviceType
CUDA = 2

# DLPack's numbers of the kinds that NumPy's type strings call i, u and f. NumPy has no
# bfloat16. Here, its kind is V, as for bytes without a type.
KINDS = {"i": 0, "u": 1, "f": 2, "V": 4}

_NAME = b"dltensor"
_USED = b"used_dltensor"

_api = ctypes.pythonapi


def _prototype(name: str, result: Any, *arguments: Any) -> Any:
    # These functions belong to this module, because the attributes of pythonapi
    # are shared by the whole process.
    return ctypes.PYFUNCTYPE(result, *arguments)((name, _api))


_new = _prototype("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p,
                  ctypes.c_void_p)
_is_valid = _prototype("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_get_pointer = _prototype("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object,
                          ctypes.c_char_p)
_set_name = _prototype("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)

# The destructor is a function in C, because no Python code can run while an
# exception is pending, and because a capsule may outlive this module when the
# interpreter ends.
_destructor = GstVkgdr.dlpack_get_capsule_destructor()


def wrap(tensor: int) -> Any:
    """Makes a capsule that owns a DLManagedTensor, from its address."""
    return _new(tensor, _NAME, _destructor)


def peek(capsule: Any) -> int:
    """Returns the address in a capsule that no library has consumed yet."""
    if not _is_valid(capsule, _NAME):
        raise ValueError(
            '__dlpack__() returned no capsule named "dltensor", or one that is already consumed'
        )
    return _get_pointer(capsule, _NAME)


def consume(capsule: Any) -> None:
    """Marks that the tensor in the capsule has a new owner."""
    # The name is not copied, so it has to be a constant of this module.
    _set_name(capsule, _USED)
