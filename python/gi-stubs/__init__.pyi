# SPDX-License-Identifier: LGPL-2.1-or-later
# Of gi, type checkers know nothing but gi.repository.GstVkgdr.
from typing import Any

def __getattr__(name: str) -> Any: ...
