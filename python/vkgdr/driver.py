# SPDX-License-Identifier: LGPL-2.1-or-later
"""PyCUDA's module driver: names, arguments, results, errors and order are PyCUDA's.

A program for PyCUDA works when `pycuda` becomes `vkgdr` in its import lines; see
docs/from-pycuda.md. In addition, a pointer may be any object with
`__cuda_array_interface__`, such as an array of GstVkgdr, and a stream may be GstVkgdr's
or one with `__cuda_stream__`.
"""

from typing import Any, List

from . import _array, _constants, _context, _cuda, _curand, _memory, _module
from ._array import *  # noqa: F403
from ._constants import *  # noqa: F403
from ._context import *  # noqa: F403
from ._cuda import *  # noqa: F403
from ._curand import *  # noqa: F403
from ._memory import *  # noqa: F403
from ._module import *  # noqa: F403

__all__ = ["CUDA_DEBUGGING", "CudaError", "PreparedFunction", "set_debugging"]
__all__ += _array.__all__
__all__ += _constants.__all__
__all__ += _context.__all__
__all__ += _cuda.__all__
__all__ += _curand.__all__
__all__ += _memory.__all__
__all__ += _module.__all__


def __dir__() -> List[str]:
    return __all__

#: Whether sources are compiled for a debugger.
CUDA_DEBUGGING = False


def set_debugging(flag: bool = True) -> None:
    """Compiles later sources for a debugger (cuda-gdb), without optimization, or not."""
    global CUDA_DEBUGGING
    CUDA_DEBUGGING = flag


# Other names of these classes.
CudaError, PreparedFunction = Error, Function  # noqa: F405

_value: Any
for _value in list(globals().values()):
    if getattr(_value, "__module__", "").startswith("vkgdr._"):
        _value.__module__ = __name__  # not the file, which is private
