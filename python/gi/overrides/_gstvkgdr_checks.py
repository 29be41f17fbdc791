# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks the arguments of the library's functions that need device memory.

In C, another type of memory is a programming error, which is logged. Here, it
raises an exception. Does not depend on what the functions do.
"""

from typing import Any, Dict, List

from ..module import get_introspection_module
from ._gstvkgdr_memory import check_memory

GstVkgdr = get_introspection_module("GstVkgdr")

_OUT = 1  # GIRepository's direction of results

# The names of parameters that are device memory.
_PARAMETERS = ("memory", "dest", "source")


class Checked:
    """A function whose memories are checked first."""

    def __init__(self, function: Any, names: List[str]) -> None:
        self._function = function
        self._names = names
        self.__name__ = function.__name__

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        given: Dict[str, Any] = dict(zip(self._names, args))
        given.update(keywords)
        for name, value in given.items():
            if name in _PARAMETERS:
                given[name] = check_memory(value)
        ordered = [given.pop(name) for name in self._names[: len(args)]]
        return self._function(*ordered, *args[len(self._names) :], **given)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return self._function.__doc__


class Pointer(Checked):
    """A function that returns an address, or None if the memory has none."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return super().__call__(*args, **keywords) or None


def _closure(argument: Any) -> int:
    """Returns the index of the user data of a callback."""
    if hasattr(argument, "get_closure_index"):  # PyGObject 3.51
        return argument.get_closure_index()
    return argument.get_closure()


def functions() -> Dict[str, Checked]:
    """Returns all functions of the library with a parameter that is device memory, by
    name.
    """
    found: Dict[str, Checked] = {}
    for name in dir(GstVkgdr):
        if not name.startswith("memory_"):
            continue
        function = getattr(GstVkgdr, name)
        arguments = function.get_arguments()
        closures = {_closure(one) for one in arguments}  # user data of callbacks
        names = [
            one.get_name()
            for i, one in enumerate(arguments)
            if one.get_direction() != _OUT and i not in closures
        ]
        if set(names) & set(_PARAMETERS):
            kind = Pointer if name == "memory_get_host_pointer" else Checked
            found[name] = kind(function, names)
    return found
