# SPDX-License-Identifier: LGPL-2.1-or-later
"""The library's own documentation for help().

A typelib only has signatures. The texts are in GstVkgdr-1.0.gir, which is installed,
too. PyGObject has one function that makes the docstrings of all modules, each when it is
read. This module replaces that function by one that adds the texts of GstVkgdr, and
changes nothing else. Without a .gir, it adds nothing.
"""

import functools
import os
import re
import xml.etree.ElementTree as ElementTree
from typing import Any, Dict, Iterator, Optional, Tuple

from gi import docstring

from ._gstvkgdr_base import GstVkgdr

_NAMESPACE = "GstVkgdr"
_FILE = "GstVkgdr-1.0.gir"
_CORE = "{http://www.gtk.org/introspection/core/1.0}"
_C = "{http://www.gtk.org/introspection/c/1.0}"

_CALLABLES = ("function", "method", "constructor", "virtual-method", "callback")


def find_gir() -> Optional[str]:
    """Finds the .gir beside the typelib, or in the prefix that both are installed in."""
    folder = os.path.dirname(GstVkgdr.__path__[0])
    prefix = folder.rpartition("/lib")[0]
    for path in (os.path.join(folder, _FILE), os.path.join(prefix, "share", "gir-1.0", _FILE)):
        if os.path.isfile(path):
            return path
    return None


def _doc(element: Optional[ElementTree.Element]) -> str:
    doc = element.find(f"{_CORE}doc") if element is not None else None
    return (doc.text or "").strip() if doc is not None else ""


def _text(element: ElementTree.Element) -> str:
    """The text of an item, with its parameters and its result."""
    lines = [f":param {one.get('name')}: {' '.join(_doc(one).split())}"
             for one in element.iterfind(f"{_CORE}parameters/{_CORE}parameter") if _doc(one)]
    returned = _doc(element.find(f"{_CORE}return-value"))
    if returned:
        lines.append(f":returns: {' '.join(returned.split())}")
    if element.get("throws") == "1":
        lines.append(":raises GLib.Error: as the text says")
    return "\n\n".join(filter(None, [_doc(element), "\n".join(lines)]))


def _items(parent: ElementTree.Element, prefix: str = "") -> Iterator[Tuple[str, str, str]]:
    """The key, the name in C and the text for C of each item."""
    for element in parent:
        key = prefix + element.get("name", "")
        if element.tag.replace(_CORE, "") in _CALLABLES:
            yield key, element.get(f"{_C}identifier", ""), _text(element)
        elif not prefix and element.get(f"{_C}type"):
            yield key, "", _doc(element)
            yield from _items(element, f"{key}.")


_CONSTANTS = {"NULL": "None", "TRUE": "True", "FALSE": "False", "GST_MAP_VKGDR": "MAP_VKGDR"}


def _translate(text: str, names: Dict[str, str]) -> str:
    """Converts a text about C to the names that Python uses."""
    text = re.sub(r"\b(gst_\w+) ?\(\)", lambda m: (
        f"{_NAMESPACE}.{names[m[1]]}()" if m[1] in names else m[0]), text)
    text = re.sub(r"#GstVkgdr(\w+)", rf"{_NAMESPACE}.\1", text)
    text = re.sub(r"#(\w)", r"\1", text)
    text = re.sub(r"%(\w+)", lambda m: _CONSTANTS.get(m[1], m[1]), text)
    return re.sub(r"(?<!\w)@(\w+)", r"\1", text)


@functools.lru_cache(None)
def load() -> Dict[str, str]:
    """The texts, by "name" or "Class.name". There are none without a .gir that can be read.
    """
    path = find_gir()
    if path is None:
        return {}
    try:
        namespace = ElementTree.parse(path).getroot().find(f"{_CORE}namespace")
    except (OSError, ElementTree.ParseError):
        return {}
    found = list(_items(namespace)) if namespace is not None else []
    names = {identifier: key for key, identifier, _ in found}
    return {key: _translate(text, names) for key, _, text in found if text}


def text_of(info: Any) -> str:
    """Returns the text of the item that PyGObject describes by info, or ""."""
    if info.get_namespace() != _NAMESPACE:
        return ""
    container = info.get_container() if hasattr(info, "get_container") else None
    key = f"{container.get_name()}.{info.get_name()}" if container else info.get_name()
    return load().get(key, "")


def install() -> None:
    """From now on, docstrings of GstVkgdr have their texts."""
    before = docstring.get_doc_string_generator()

    def generate(info: Any) -> str:
        signature = before(info)
        try:
            text = text_of(info)
        except (AttributeError, TypeError):  # this kind of info has no name
            return signature
        return f"{signature}\n\n{text}\n" if signature and text else signature or text

    docstring.set_doc_string_generator(generate)
