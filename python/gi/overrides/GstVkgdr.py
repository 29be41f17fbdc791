# SPDX-License-Identifier: LGPL-2.1-or-later
"""What PyGObject adds to GstVkgdr when a program imports it.

The library is initialised, so that Gst.Allocator.find("VkgdrMemory") finds the
allocator, one constant gets its value, buffers can be arrays (_gstvkgdr_arrays),
and help() has texts (_gstvkgdr_docs). Everything else is as the typelib says.
"""

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

from ..module import get_introspection_module  # noqa: E402
from . import _gstvkgdr_docs  # noqa: E402
from ._gstvkgdr_arrays import (  # noqa: E402
    MAP_VKGDR,
    DeviceArray,
    device_array,
    device_arrays,
    mapped,
    memory_from_dlpack,
)

GstVkgdr = get_introspection_module("GstVkgdr")

__all__ = [
    "MAP_VKGDR",
    "DeviceArray",
    "device_array",
    "device_arrays",
    "mapped",
    "memory_from_dlpack",
]

if not Gst.is_initialized():
    Gst.init(None)
GstVkgdr.init()
_gstvkgdr_docs.install()
