# SPDX-License-Identifier: LGPL-2.1-or-later
"""DLPack's capsules, which carry a tensor from one Python library to another.

What is in a tensor is known to libgstvkgdr-1.0 alone; here are but the name of a
capsule, which says who has to delete the tensor, and the address in it.
"""

import ctypes
from typing import Any

# DLDeviceType
CUDA = 2

# How DLPack numbers what NumPy's type strings call i, u and f.
KINDS = {"i": 0, "u": 1, "f": 2}

_NAME = b"dltensor"
_USED = b"used_dltensor"

_api = ctypes.pythonapi
_destructor_type = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


def _prototype(name: str, result: Any, *arguments: Any) -> Any:
    # Functions of our own: the attributes of pythonapi are shared by the process.
    return ctypes.PYFUNCTYPE(result, *arguments)((name, _api))


_new = _prototype("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p,
                  ctypes.c_void_p)
_is_valid = _prototype("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_get_pointer = _prototype("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object,
                          ctypes.c_char_p)
_set_name = _prototype("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
# The same for a capsule that is being deleted: a reference would revive it.
_is_valid_raw = _prototype("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_get_pointer_raw = _prototype("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p,
                              ctypes.c_char_p)


class _ManagedTensor(ctypes.Structure):
    """The end of DLManagedTensor is all that is needed: its deleter."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ]


def delete(tensor: int) -> None:
    """Deletes a DLManagedTensor, given its address."""
    managed = _ManagedTensor.from_address(tensor)
    if managed.deleter:
        managed.deleter(tensor)


@_destructor_type
def _destroy(capsule: int, is_valid: Any = _is_valid_raw, get: Any = _get_pointer_raw,
             delete: Any = delete, name: bytes = _NAME) -> None:
    # A consumer has renamed the capsule, and deletes the tensor himself.
    if is_valid(capsule, name):
        delete(get(capsule, name))


# Capsules may outlive this module when the interpreter ends.
_api.Py_IncRef(ctypes.py_object(_destroy))


def wrap(tensor: int) -> Any:
    """A capsule that owns a DLManagedTensor, given its address."""
    return _new(tensor, _NAME, ctypes.cast(_destroy, ctypes.c_void_p))


def peek(capsule: Any) -> int:
    """The address in a capsule that nobody has consumed yet."""
    if not _is_valid(capsule, _NAME):
        raise ValueError('the tensor gave no capsule of the name "dltensor", or a used one')
    return _get_pointer(capsule, _NAME)


def consume(capsule: Any) -> None:
    """Says that the tensor in the capsule has a new owner."""
    # The name is not copied, so that it has to be a constant of this module.
    _set_name(capsule, _USED)
