# SPDX-License-Identifier: LGPL-2.1-or-later
# Only gi.repository.GstVkgdr has stubs. All other names of gi are Any.
from typing import Any

def __getattr__(name: str) -> Any: ...
