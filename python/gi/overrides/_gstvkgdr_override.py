# SPDX-License-Identifier: LGPL-2.1-or-later
"""What PyGObject's override() does, for classes that lie in files of their own.

PyGObject takes the name of the file for that of the namespace.
"""

import sys
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)


def override(cls: _Class) -> _Class:
    """From now on the class is that of all objects of its type in GstVkgdr."""
    cls.__info__.get_g_type().pytype = cls
    # While overrides are loaded, this is what GstVkgdr will be; a subclass looks
    # for its parent there.
    setattr(sys.modules["gi.repository.GstVkgdr"], cls.__name__, cls)
    return cls
