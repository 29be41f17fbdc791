# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes a context of the default device current when this module is imported."""

import atexit

from . import driver
from .tools import clear_context_caches, make_default_context

driver.init()
context = make_default_context()
device = context.get_device()


def _finish_up() -> None:
    global context
    context.pop()
    context = None
    clear_context_caches()


atexit.register(_finish_up)
