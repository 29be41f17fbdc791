# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the primary context of the default device current when this module is imported.
PyTorch, CuPy and GstVkgdr use that context, too.
"""

import atexit
from typing import Any

from . import driver
from .tools import clear_context_caches, make_default_context


def _retain(dev: driver.Device) -> Any:
    result = dev.retain_primary_context()
    result.push()
    return result


driver.init()
context = make_default_context(_retain)
device = context.get_device()


def _finish_up() -> None:
    global context
    context.pop()
    context = None
    clear_context_caches()


atexit.register(_finish_up)
