# SPDX-License-Identifier: LGPL-2.1-or-later
"""The library's functions on memory, which want memory of the device.

In C, another memory is a programmer's error that is logged; here it raises. Knows
nothing of what the functions do.
"""

from typing import Any, Dict, List, Tuple

from ..module import get_introspection_module
from ._gstvkgdr_copies import check_memory

GstVkgdr = get_introspection_module("GstVkgdr")

# Parameters that are memory of the device. Others of the type are host memory.
_PARAMETERS = ("memory", "dest", "source")


class Checked:
    """A function whose memories are looked at first."""

    def __init__(self, function: Any, checked: List[Tuple[int, str]]) -> None:
        self._function = function
        self._checked = checked
        self.__name__ = function.__name__

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        given = list(args)
        for index, name in self._checked:
            if index < len(given):
                given[index] = check_memory(given[index])
            elif name in keywords:
                keywords[name] = check_memory(keywords[name])
        return self._function(*given, **keywords)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return self._function.__doc__


def functions() -> Dict[str, Checked]:
    """By name, all of the library's that take memory of the device."""
    found = {}
    for name in dir(GstVkgdr):
        if not name.startswith("memory_"):
            continue
        function = getattr(GstVkgdr, name)
        names = [argument.get_name() for argument in function.get_arguments()]
        checked = [(i, one) for i, one in enumerate(names) if one in _PARAMETERS]
        if checked:
            found[name] = Checked(function, checked)
    return found
