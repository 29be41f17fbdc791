# SPDX-License-Identifier: LGPL-2.1-or-later
"""The name pycuda for this package's modules, so that programs and libraries for PyCUDA run on
them without a change.
"""

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, Optional

__all__ = ["as_pycuda"]

_MODULES = {f"pycuda.{name}": f"vkgdr.{name}" for name in (
    "autoinit", "autoprimaryctx", "compiler", "driver", "tools")}
_MODULES["pycuda._driver"] = "vkgdr.driver"  # of which curandom asks cuRAND's tables


class _Finder(MetaPathFinder, Loader):
    """Finds modules of this package by their names in PyCUDA. The package pycuda itself is
    PyCUDA's, if Python finds it, because of gpuarray and the other modules in Python.
    """

    def find_spec(self, fullname: str, path: Any = None,
                  target: Any = None) -> Optional[ModuleSpec]:
        is_found = fullname in _MODULES or (
            fullname == "pycuda" and PathFinder.find_spec(fullname) is None)
        package = getattr(sys.modules.get("pycuda"), "__name__", "")
        if fullname.startswith("pycuda.") and package == "vkgdr" and not is_found:
            raise ModuleNotFoundError(
                f"{fullname} is a module of PyCUDA in Python, and PyCUDA's files were not found: "
                "install PyCUDA, or put the folder of its source on PYTHONPATH", name=fullname)
        return ModuleSpec(fullname, self) if is_found else None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        sys.modules[name] = importlib.import_module(_MODULES.get(name, "vkgdr"))


def as_pycuda() -> None:
    """Makes `import pycuda.driver`, `compiler`, `tools`, `autoinit` and `autoprimaryctx` import
    this package's modules, in the whole process. PyCUDA's modules in Python, such as gpuarray,
    then run on them. Must be called before the first import of one of these.
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    for name in _MODULES:
        if name in sys.modules:
            raise ImportError(f"{name} has been imported: call vkgdr.as_pycuda() before that")
    sys.meta_path.insert(0, _Finder())
