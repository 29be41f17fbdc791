# SPDX-License-Identifier: LGPL-2.1-or-later
"""Additions to GstVkgdr, which PyGObject loads when a program imports it.

The library is initialised, so that Gst.Allocator.find("VkgdrMemory") finds the
allocator, and the constant MAP_VKGDR gets its value. help() shows the
documentation (_gstvkgdr_docs). Buffers can be arrays (_gstvkgdr_arrays).
Devices, streams and events are created like other objects of Python
(_gstvkgdr_objects). Memory is copied (_gstvkgdr_copies), CUDA code is compiled
and called (_gstvkgdr_code), memory is shared with other processes
(_gstvkgdr_sharing), elements are written in Python (_gstvkgdr_elements), and
frames are read as tensors (_gstvkgdr_tensors). Functions check whether a memory
is device memory (_gstvkgdr_checks), a Gst.Memory has a length
(_gstvkgdr_memory), and errors have classes (_gstvkgdr_errors). Everything else
is as in the typelib.
"""

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

from ..module import get_introspection_module  # noqa: E402
from . import _gstvkgdr_checks, _gstvkgdr_docs, _gstvkgdr_errors, _gstvkgdr_memory  # noqa: E402
from ._gstvkgdr_arguments import (  # noqa: E402
    In,
    InOut,
    Out,
)
from ._gstvkgdr_arrays import (  # noqa: E402
    DeviceArray,
    device_array,
    device_arrays,
    mapped,
    memory_from_dlpack,
    pagelocked_empty,
)
from ._gstvkgdr_code import (  # noqa: E402
    Function,
    Module,
    SourceModule,
)
from ._gstvkgdr_copies import (  # noqa: E402
    copy,
    download,
    fill,
    upload,
)
from ._gstvkgdr_elements import (  # noqa: E402
    BaseTransform,
    frame_arrays,
)
from ._gstvkgdr_errors import (  # noqa: E402
    CompileError,
    CudaError,
    LaunchError,
    LogicError,
    MemoryError,
    RuntimeError,
)
from ._gstvkgdr_memory import (  # noqa: E402
    MAP_VKGDR,
    Allocator,
    Fence,
    Mapping,
)
from ._gstvkgdr_objects import (  # noqa: E402
    Context,
    Device,
    Event,
    Stream,
    as_stream,
    device_count,
)
from ._gstvkgdr_sharing import (  # noqa: E402
    get_ipc_handle,
    open_ipc_handle,
)

from ._gstvkgdr_tensors import (  # noqa: E402
    BatchFrame,
    TensorBatch,
    TensorReader,
)

GstVkgdr = get_introspection_module("GstVkgdr")

__all__ = [
    "Allocator",
    "BaseTransform",
    "BatchFrame",
    "CompileError",
    "Context",
    "CudaError",
    "Device",
    "DeviceArray",
    "Event",
    "Fence",
    "Function",
    "In",
    "InOut",
    "LaunchError",
    "LogicError",
    "MAP_VKGDR",
    "Mapping",
    "MemoryError",
    "Module",
    "Out",
    "RuntimeError",
    "SourceModule",
    "Stream",
    "TensorBatch",
    "TensorReader",
    "as_stream",
    "copy",
    "device_array",
    "device_arrays",
    "device_count",
    "download",
    "fill",
    "frame_arrays",
    "get_ipc_handle",
    "mapped",
    "memory_from_dlpack",
    "open_ipc_handle",
    "pagelocked_empty",
    "upload",
]

for _name, _function in _gstvkgdr_checks.functions().items():
    globals()[_name] = _function
    __all__.append(_name)

if not Gst.is_initialized():
    Gst.init(None)
GstVkgdr.init()
_gstvkgdr_errors.install()
_gstvkgdr_memory.install()
_gstvkgdr_docs.install()
