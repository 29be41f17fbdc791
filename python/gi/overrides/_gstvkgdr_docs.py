# SPDX-License-Identifier: LGPL-2.1-or-later
"""The library's own documentation for help().

A typelib only has signatures. The texts are in GstVkgdr-1.0.gir, which is installed,
too. PyGObject has one function that makes the docstrings of all modules, each when it is
read. This module replaces that function by one that adds the texts of GstVkgdr, and
changes nothing else. Without a .gir, it adds nothing.
"""

import os
import re
import sys
import xml.etree.ElementTree as ElementTree
from typing import Any, Dict, Iterator, List, Optional

from gi import docstring
from gi.repository import GLib

_NAMESPACE = "GstVkgdr"
_FILE = "GstVkgdr-1.0.gir"
_CORE = "{http://www.gtk.org/introspection/core/1.0}"
_C = "{http://www.gtk.org/introspection/c/1.0}"

_CONTAINERS = ("class", "record", "enumeration", "bitfield", "interface")
_CALLABLES = ("function", "method", "constructor", "virtual-method", "callback")

# The texts, by "name" or "Class.name". None until the first docstring is read.
_texts: Optional[Dict[str, str]] = None


def find_gir() -> Optional[str]:
    """Finds the .gir in the folders of the program's typelibs and in the folder of the
    installation.
    """
    folders = os.environ.get("GI_TYPELIB_PATH", "").split(":")
    folders += [os.path.join(data, "gir-1.0") for data in GLib.get_system_data_dirs()]
    # This file is in PREFIX/lib/pythonX/dist-packages/gi/overrides.
    here = os.path.dirname(os.path.abspath(__file__))
    prefix = os.path.abspath(os.path.join(here, *[".."] * 5))
    folders += [os.path.join(prefix, "share", "gir-1.0"), os.path.join(sys.prefix, "share/gir-1.0")]
    for folder in folders:
        path = os.path.join(folder, _FILE)
        if folder and os.path.isfile(path):
            return path
    return None


def _doc(element: ElementTree.Element) -> str:
    doc = element.find(f"{_CORE}doc")
    return (doc.text or "").strip() if doc is not None else ""


def _callable_text(element: ElementTree.Element) -> str:
    parts = [_doc(element)]
    lines: List[str] = []
    for parameter in element.iterfind(f"{_CORE}parameters/{_CORE}parameter"):
        text = " ".join(_doc(parameter).split())
        if text:
            lines.append(f":param {parameter.get('name')}: {text}")
    returned = element.find(f"{_CORE}return-value")
    text = " ".join(_doc(returned).split()) if returned is not None else ""
    if text:
        lines.append(f":returns: {text}")
    if element.get("throws") == "1":
        lines.append(":raises GLib.Error: as the text says")
    parts.append("\n".join(lines))
    return "\n\n".join(part for part in parts if part)


def _collect(namespace: ElementTree.Element) -> Iterator[Any]:
    """Yields for each documented item its key, its name in C and its text for C."""
    for outer in namespace:
        tag = outer.tag.replace(_CORE, "")
        name = outer.get("name", "")
        if tag in _CALLABLES:
            yield name, outer.get(f"{_C}identifier"), _callable_text(outer)
        if tag not in _CONTAINERS:
            continue
        yield name, outer.get(f"{_C}type"), _doc(outer)
        for inner in outer:
            tag = inner.tag.replace(_CORE, "")
            if tag in _CALLABLES:
                key = f"{name}.{inner.get('name')}"
                yield key, inner.get(f"{_C}identifier"), _callable_text(inner)


def _translate(text: str, names: Dict[str, str]) -> str:
    """Converts a text about C to the names that Python uses."""

    def function(match: "re.Match[str]") -> str:
        name = names.get(match.group(1))
        return f"{_NAMESPACE}.{name}()" if name else match.group(0)

    def constant(match: "re.Match[str]") -> str:
        word = match.group(1)
        plain = {"NULL": "None", "TRUE": "True", "FALSE": "False", "GST_MAP_VKGDR": "MAP_VKGDR"}
        return plain.get(word, word)

    text = re.sub(r"\b(gst_\w+) ?\(\)", function, text)
    text = re.sub(r"#(?:GstVkgdr(\w+))", lambda m: f"{_NAMESPACE}.{m.group(1)}", text)
    text = re.sub(r"#(\w)", r"\1", text)
    text = re.sub(r"%(\w+)", constant, text)
    return re.sub(r"(?<!\w)@(\w+)", r"\1", text)


def load() -> Dict[str, str]:
    """Returns the texts. The result is empty if there is no .gir, or if it cannot be
    read.
    """
    path = find_gir()
    if path is None:
        return {}
    try:
        namespace = ElementTree.parse(path).getroot().find(f"{_CORE}namespace")
    except (OSError, ElementTree.ParseError):
        return {}
    if namespace is None:
        return {}
    found = list(_collect(namespace))
    names = {identifier: key for key, identifier, _ in found if identifier}
    return {key: _translate(text, names) for key, _, text in found if text}


def text_of(info: Any) -> str:
    """Returns the text of the item that PyGObject describes by info, or ""."""
    global _texts
    if info.get_namespace() != _NAMESPACE:
        return ""
    if _texts is None:
        _texts = load()
    container = info.get_container() if hasattr(info, "get_container") else None
    key = f"{container.get_name()}.{info.get_name()}" if container else info.get_name()
    return _texts.get(key, "")


def install() -> None:
    """From now on, docstrings of GstVkgdr have their texts."""
    before = docstring.get_doc_string_generator()

    def generate(info: Any) -> str:
        signature = before(info)
        try:
            text = text_of(info)
        except (AttributeError, TypeError):  # this kind of info has no name
            return signature
        if not text:
            return signature
        return f"{signature}\n\n{text}\n" if signature else text

    docstring.set_doc_string_generator(generate)
