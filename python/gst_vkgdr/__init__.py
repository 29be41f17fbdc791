# SPDX-License-Identifier: LGPL-2.1-or-later
"""The GStreamer plugin vkgdr, its library and its typelib, in a package of Python.

GStreamer itself is the system's, 1.22 or newer. In Python:

    import gst_vkgdr; gst_vkgdr.use()
    import gi
    gi.require_version("GstVkgdr", "1.0")
    from gi.repository import GstVkgdr

In a shell, for gst-launch-1.0 and all other programs:

    eval "$(python3 -m gst_vkgdr --env)"
"""

import ctypes
import os
import sys
from typing import Dict

__all__ = ["environment", "use"]

_HERE = os.path.dirname(os.path.abspath(__file__))
_FOLDERS = {"GST_PLUGIN_PATH_1_0": "gstreamer-1.0", "GI_TYPELIB_PATH": "girepository-1.0",
            "LD_LIBRARY_PATH": "lib"}


def environment() -> Dict[str, str]:
    """The variables with which programs find the plugin, the typelib and the library: the
    package's folders in front of those that are set.
    """
    result = {}
    for name, folder in _FOLDERS.items():
        path = os.path.join(_HERE, folder)
        # GStreamer reads GST_PLUGIN_PATH only if the name with the version is not set.
        before = os.environ.get(name) or os.environ.get(name.replace("_1_0", ""), "")
        result[name] = ":".join([path, *(one for one in before.split(":") if one and one != path)])
    return result


def use() -> None:
    """Makes this process find the plugin and the module GstVkgdr. Must be called before Gst.init()
    and before the first import of gi.repository.
    """
    if "gi.repository" in sys.modules:
        raise ImportError("gi.repository has been imported: call gst_vkgdr.use() before that")
    os.environ.update(environment())
    # The dynamic linker has read LD_LIBRARY_PATH before. It finds what is loaded.
    try:
        ctypes.CDLL(os.path.join(_HERE, "lib", "libgstvkgdr-1.0.so.0"))
    except OSError as error:
        raise ImportError(f"GStreamer 1.22 or newer, of the system, is needed: {error}") from None
