# SPDX-License-Identifier: LGPL-2.1-or-later
"""Does the same as PyGObject's override(), for classes in files of their own.

PyGObject uses the name of the file as the name of the namespace.
"""

import sys
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)


def override(cls: _Class) -> _Class:
    """From now on, all objects of this type in GstVkgdr have this class."""
    cls.__info__.get_g_type().pytype = cls
    # This module becomes GstVkgdr when all overrides are loaded. While they are
    # loaded, PyGObject already looks for the parent of a class there.
    setattr(sys.modules["gi.repository.GstVkgdr"], cls.__name__, cls)
    return cls
