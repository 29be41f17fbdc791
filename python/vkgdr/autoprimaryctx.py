# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the primary context of the default device current when this module is imported.
PyTorch, CuPy and GstVkgdr use that context, too.
"""

from typing import Any

from . import driver, tools


def _retain(dev: driver.Device) -> Any:
    result = dev.retain_primary_context()
    result.push()
    return result


context = tools.start(globals(), _retain)
device = context.get_device()
