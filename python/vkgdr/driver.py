# SPDX-License-Identifier: LGPL-2.1-or-later
"""PyCUDA's module driver: names, arguments, results, errors and order are PyCUDA's.

A program for PyCUDA works when `pycuda` becomes `vkgdr` in its import lines; see
docs/from-pycuda.md. In addition, a pointer may be any object with
`__cuda_array_interface__`, such as an array of GstVkgdr, and a stream may be GstVkgdr's
or one with `__cuda_stream__`.
"""

from ._array import *  # noqa: F403
from ._constants import *  # noqa: F403
from ._context import *  # noqa: F403
from ._cuda import *  # noqa: F403
from ._curand import *  # noqa: F403
from ._memory import *  # noqa: F403
from ._module import *  # noqa: F403

# Other names of these classes.
CudaError, PreparedFunction = Error, Function  # noqa: F405

for _value in list(globals().values()):
    if isinstance(_value, type) and _value.__module__.startswith("vkgdr._"):
        _value.__module__ = __name__  # not the file, which is private
