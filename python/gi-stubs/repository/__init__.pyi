# SPDX-License-Identifier: LGPL-2.1-or-later
# Namespaces that have no stubs. Those of GstVkgdr are made when the project is built.
from typing import Any

def __getattr__(name: str) -> Any: ...
