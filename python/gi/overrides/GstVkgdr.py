# SPDX-License-Identifier: LGPL-2.1-or-later
"""Additions to GstVkgdr, which PyGObject loads when a program imports it.

The library is initialised, so that Gst.Allocator.find("VkgdrMemory") finds the
allocator, and the constant MAP_VKGDR gets its value. Buffers can be arrays
(_gstvkgdr_arrays). Contexts, streams and memory are created and used like other objects of
Python (_gstvkgdr_objects). Elements are written in Python (_gstvkgdr_elements), and frames
are read as tensors (_gstvkgdr_tensors). Errors have classes (_gstvkgdr_base). Everything
else is as in the typelib. Kernels of one's own, copies and events are in the module
vkgdr.driver.
"""

from ._gstvkgdr_arrays import DeviceArray, device_array, device_arrays, mapped, memory_from_dlpack
from ._gstvkgdr_base import (
    CompileError, CudaError, Gst, GstVkgdr, LaunchError, LogicError, MemoryError, RuntimeError,
)
from ._gstvkgdr_elements import BaseTransform, frame_arrays
from ._gstvkgdr_objects import (
    MAP_VKGDR, Allocator, Context, Mapping, Stream, as_stream, checked_functions,
)
from ._gstvkgdr_tensors import BatchFrame, TensorBatch, TensorReader

__all__ = [
    "Allocator", "BaseTransform", "BatchFrame", "CompileError", "Context", "CudaError",
    "DeviceArray", "LaunchError", "LogicError", "MAP_VKGDR", "Mapping", "MemoryError",
    "RuntimeError", "Stream", "TensorBatch", "TensorReader", "as_stream", "device_array",
    "device_arrays", "frame_arrays", "mapped", "memory_from_dlpack",
]

globals().update(checked_functions)
__all__ += checked_functions

if not Gst.is_initialized():
    Gst.init(None)
GstVkgdr.init()
