# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes a context of the default device current when this module is imported."""

from . import tools

context = tools.start(globals())
device = context.get_device()
