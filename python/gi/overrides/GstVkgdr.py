# SPDX-License-Identifier: LGPL-2.1-or-later
"""What PyGObject adds to GstVkgdr when a program imports it.

The library is initialised, so that Gst.Allocator.find("VkgdrMemory") finds the
allocator, and one constant gets its value. Everything else is as the typelib
says.
"""

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

from ..module import get_introspection_module  # noqa: E402

GstVkgdr = get_introspection_module("GstVkgdr")

__all__ = ["MAP_VKGDR"]

# PyGObject reads constants of a flags type as 0.
MAP_VKGDR = Gst.MapFlags(int(Gst.MapFlags.FLAG_LAST) << 1)

if not Gst.is_initialized():
    Gst.init(None)
GstVkgdr.init()
