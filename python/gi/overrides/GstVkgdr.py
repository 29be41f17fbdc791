# SPDX-License-Identifier: LGPL-2.1-or-later
"""Additions to GstVkgdr, which PyGObject loads when a program imports it.

The library is initialised, so that Gst.Allocator.find("VkgdrMemory") finds the
allocator, and the constant MAP_VKGDR gets its value. Buffers can be arrays
(_gstvkgdr_arrays). Contexts and streams are created like other objects of Python
(_gstvkgdr_objects). Elements are written in Python (_gstvkgdr_elements), and frames are
read as tensors (_gstvkgdr_tensors). A Gst.Memory has a length, and functions check that a
memory is device memory (_gstvkgdr_memory). Errors have classes (_gstvkgdr_errors).
Everything else is as in the typelib. Kernels of one's own, copies and events are in the
module vkgdr.driver.
"""

from . import _gstvkgdr_errors, _gstvkgdr_memory
from ._gstvkgdr_arrays import DeviceArray, device_array, device_arrays, mapped, memory_from_dlpack
from ._gstvkgdr_base import Gst, GstVkgdr
from ._gstvkgdr_elements import BaseTransform, frame_arrays
from ._gstvkgdr_errors import (
    CompileError, CudaError, LaunchError, LogicError, MemoryError, RuntimeError,
)
from ._gstvkgdr_memory import MAP_VKGDR, Allocator, Mapping
from ._gstvkgdr_objects import Context, Stream, as_stream
from ._gstvkgdr_tensors import BatchFrame, TensorBatch, TensorReader

__all__ = [
    "Allocator", "BaseTransform", "BatchFrame", "CompileError", "Context", "CudaError",
    "DeviceArray", "LaunchError", "LogicError", "MAP_VKGDR", "Mapping", "MemoryError",
    "RuntimeError", "Stream", "TensorBatch", "TensorReader", "as_stream", "device_array",
    "device_arrays", "frame_arrays", "mapped", "memory_from_dlpack",
]

for _name, _function in _gstvkgdr_memory.checked_functions().items():
    globals()[_name] = _function
    __all__.append(_name)

if not Gst.is_initialized():
    Gst.init(None)
GstVkgdr.init()
_gstvkgdr_errors.install()
_gstvkgdr_memory.install()
