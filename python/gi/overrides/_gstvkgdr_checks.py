# SPDX-License-Identifier: LGPL-2.1-or-later
"""The library's functions on memory, which want memory of the device.

In C, another memory is a programmer's error that is logged; here it raises. Where
a function wants the address of host memory, it takes an object that has some. Knows
nothing of what the functions do.
"""

from typing import Any, Dict, List, Tuple

from ..module import get_introspection_module
from . import _gstvkgdr_objects as objects
from ._gstvkgdr_host import HostMemory
from ._gstvkgdr_memory import check_memory
from ._gstvkgdr_numbers import integer, is_integer

GstVkgdr = get_introspection_module("GstVkgdr")

_OUT = 1  # GIRepository's direction of what is returned

# Parameters that are memory of the device. Others of the type are host memory.
_PARAMETERS = ("memory", "dest", "source")


class Checked:
    """A function whose memories are looked at first."""

    def __init__(self, function: Any, names: List[str]) -> None:
        self._function = function
        self._names = names
        self.__name__ = function.__name__

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        given: Dict[str, Any] = dict(zip(self._names, args))
        given.update(keywords)
        kept = None
        for name, value in given.items():
            if name in _PARAMETERS:
                given[name] = check_memory(value)
            elif name == "data" and value is not None:
                given[name], kept = self._address(value, given.get("size"))
        ordered = [given.pop(name) for name in self._names[: len(args)]]
        result = self._function(*ordered, *args[len(self._names) :], **given)
        stream = dict(zip(self._names, args), **keywords).get("stream")
        if kept is not None and stream is not None:
            objects.keep(stream, kept)
        return result

    def _address(self, value: Any, size: Any) -> Tuple[int, Any]:
        """The address of host memory, and what holds it."""
        if is_integer(value) and not getattr(value, "shape", ()):
            return integer(value, "an address"), None
        if size is None:
            raise TypeError(f"{self.__name__}() takes an address: upload() and download() take "
                            f"a {type(value).__name__}")
        host = HostMemory(value, writable=self.__name__.startswith("memory_download"))
        if integer(size, "the size") > host.nbytes:
            raise ValueError(f"{size} bytes are more than the {host.nbytes} of the host memory")
        return host.address, host

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return self._function.__doc__


class Pointer(Checked):
    """A function that returns an address, which is None where there is no memory."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return super().__call__(*args, **keywords) or None


def functions() -> Dict[str, Checked]:
    """By name, all of the library's that take memory of the device."""
    found: Dict[str, Checked] = {}
    for name in dir(GstVkgdr):
        if not name.startswith("memory_"):
            continue
        function = getattr(GstVkgdr, name)
        arguments = function.get_arguments()
        closures = {one.get_closure() for one in arguments}  # data of callbacks
        names = [
            one.get_name()
            for i, one in enumerate(arguments)
            if one.get_direction() != _OUT and i not in closures
        ]
        if set(names) & set(_PARAMETERS):
            kind = Pointer if name == "memory_get_host_pointer" else Checked
            found[name] = kind(function, names)
    return found
