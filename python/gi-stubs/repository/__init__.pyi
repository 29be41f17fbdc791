# SPDX-License-Identifier: LGPL-2.1-or-later
# For namespaces without stubs. The stubs of GstVkgdr are made by the build.
from typing import Any

def __getattr__(name: str) -> Any: ...
