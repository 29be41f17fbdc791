#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: python-stubs.py GIR OVERRIDES OUTPUT

Writes GstVkgdr.pyi, which describes gi.repository.GstVkgdr for type checkers
and editors. It has the functions and classes of the .gir, with the names that
PyGObject gives them. Definitions of the overrides replace or extend these, with
the annotations of their source.
"""

import ast
import keyword
import os
import re
import sys
import xml.etree.ElementTree as ElementTree
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

_CORE = "{http://www.gtk.org/introspection/core/1.0}"
_GLIB = "{http://www.gtk.org/introspection/glib/1.0}"
_NAMESPACE = "GstVkgdr"

_HEADER = '''# SPDX-License-Identifier: LGPL-2.1-or-later
# Made of GstVkgdr-1.0.gir and the overrides. Changes are lost.
import builtins
import os
from typing import (
    Any, Callable, ContextManager, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple,
    Union,
)

from gi.repository import GLib, GObject, Gst, GstAudio, GstBase, GstVideo

Format = Union[Gst.Caps, GstVideo.VideoInfo, GstAudio.AudioInfo, None]
Numbers = Union[float, Sequence[float], None]
Source = Union[str, os.PathLike[str]]
'''

_BASIC = {"gboolean": "bool", "utf8": "str", "filename": "str", "none": "None",
          "gpointer": "int", "gconstpointer": "int", "GType": "GObject.GType",
          "GObject.Object": "GObject.Object"}
_BASIC.update({name: "int" for name in (
    "gint", "guint", "gint8", "guint8", "gint16", "guint16", "gint32", "guint32", "gint64",
    "guint64", "gsize", "gssize", "glong", "gulong", "gintptr", "guintptr", "GLib.Quark")})
_BASIC.update({"gdouble": "float", "gfloat": "float"})

# Host memory: an address, or an object with a buffer.
_HOST_MEMORY = "Any"


# --- the .gir -----------------------------------------------------------------


class Gir:
    """Converts the types of a .gir to annotations of Python."""

    def __init__(self, namespace: ElementTree.Element) -> None:
        self.namespace = namespace
        self._callbacks = {one.get("name") for one in namespace.iterfind(f"{_CORE}callback")}

    def annotation(self, element: ElementTree.Element, is_input: bool) -> str:
        """Returns the annotation of a parameter or a returned value."""
        array = element.find(f"{_CORE}array")
        if array is not None:
            inner = self._type(array.find(f"{_CORE}type"))
            if inner == "int" and array.find(f"{_CORE}type").get("name") == "guint8":
                return "bytes"
            return f"Sequence[{inner}]" if is_input else f"List[{inner}]"
        return self._type(element.find(f"{_CORE}type"))

    def _type(self, element: Optional[ElementTree.Element]) -> str:
        if element is None:
            return "Any"
        name = element.get("name", "")
        if name in _BASIC:
            return _BASIC[name]
        if name in self._callbacks:
            return "Callable[..., Any]"
        if "." in name:
            return name if name.split(".")[0] in ("GLib", "GObject", "Gst", "GstAudio", "GstBase",
                                                  "GstVideo") else "Any"
        return name if name[:1].isupper() else "Any"


class Signature(NamedTuple):
    """A function as it is called in Python."""

    name: str
    parameters: List[str]
    result: str
    kind: str

    def lines(self, indent: str) -> Iterator[str]:
        if self.kind in ("constructor", "static"):
            yield f"{indent}@staticmethod"
        first = ["self"] if self.kind == "method" else []
        yield f"{indent}def {self.name}({', '.join(first + self.parameters)}) -> {self.result}: ..."


def _skipped(parameters: List[ElementTree.Element], returned: ElementTree.Element) -> set:
    """Returns the parameters that PyGObject fills in: lengths of arrays, and data of
    callbacks.
    """
    found = set()
    for element in [*parameters, returned]:
        array = element.find(f"{_CORE}array")
        if array is not None and array.get("length") is not None:
            found.add(int(array.get("length")))
        for attribute in ("closure", "destroy"):
            index = element.get(attribute)
            if index is not None and element in parameters:
                found.add(int(index))
    return found


def _signature(gir: Gir, element: ElementTree.Element, is_function: bool) -> Signature:
    tag = element.tag.replace(_CORE, "")
    parameters = list(element.iterfind(f"{_CORE}parameters/{_CORE}parameter"))
    returned = element.find(f"{_CORE}return-value")
    skipped = _skipped(parameters, returned)
    is_checked = is_function and element.get("name", "").startswith("memory_")
    given, outs = [], []
    for i, parameter in enumerate(parameters):
        direction = parameter.get("direction", "in")
        if i in skipped:
            continue
        text = gir.annotation(parameter, direction != "out")
        name = parameter.get("name", f"arg{i}")
        name += "_" if keyword.iskeyword(name) else ""
        if direction != "in":
            outs.append(text)
        if direction == "out":
            continue
        if is_checked and name == "data" and text == "int":
            text = _HOST_MEMORY
        if parameter.get("nullable") == "1" and text != "Any":
            text = f"Optional[{text}]"
        given.append(f"{name}: {text}")
    # PyGObject passes None for the last arguments, where None is allowed.
    for i in reversed(range(len(given))):
        if is_checked or tag == "virtual-method" or ": Optional[" not in given[i]:
            break
        given[i] += " = None"
    result = gir.annotation(returned, False)
    is_address = returned.find(f"{_CORE}type[@name='gpointer']") is not None  # 0 stands for none
    throws = element.get("throws") == "1"
    if returned.get("nullable") == "1" and not throws and not is_address:
        result = f"Optional[{result}]"
    if tag == "virtual-method" and result == "bool":
        result = "Optional[bool]"  # a result that only tells success
    if outs:
        result = f"Tuple[{', '.join(([] if result == 'None' else [result]) + outs)}]"
    name = element.get("shadows") or element.get("name", "")
    name += "_" if keyword.iskeyword(name) else ""  # the name that PyGObject uses
    if name == "memory_get_host_pointer":
        result = "Optional[int]"
    kind = {"method": "method", "virtual-method": "method", "constructor": "constructor"}.get(
        tag, "function" if is_function else "static")
    return Signature(f"do_{name}" if tag == "virtual-method" else name, given, result, kind)


def _is_hidden(element: ElementTree.Element) -> bool:
    return element.get("introspectable") == "0" or element.get("shadowed-by") is not None


# --- the overrides ------------------------------------------------------------


class Overrides:
    """The public classes and functions in the sources of the overrides."""

    def __init__(self, folder: str) -> None:
        self.nodes: Dict[str, ast.AST] = {}
        for name in sorted(os.listdir(folder)):
            if name.startswith("_gstvkgdr_") and name.endswith(".py"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    for node in ast.parse(file.read()).body:
                        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                            self.nodes.setdefault(node.name, node)
        with open(os.path.join(folder, f"{_NAMESPACE}.py"), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        self.public: List[str] = next(
            ast.literal_eval(node.value) for node in tree.body
            if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"  # type: ignore
        )

    def extends(self, name: str) -> bool:
        """Whether the class extends one of the .gir."""
        node = self.nodes.get(name)
        return isinstance(node, ast.ClassDef) and any(
            ast.unparse(base) == f"{_NAMESPACE}.{name}" for base in node.bases
        )


def _plain(annotation: ast.AST) -> str:
    """Returns an annotation, with names as in the stub."""
    text = re.sub(r"['\"]", "", ast.unparse(annotation))
    text = text.replace(f"{_NAMESPACE}.", "").replace("layout.Format", "Format")
    text = text.replace("layout.Layout", "Any")
    return re.sub(r"\bmemoryview\b", "builtins.memoryview", text)


def _argument(argument: ast.arg, default: Optional[ast.AST], prefix: str = "") -> str:
    text = prefix + argument.arg
    if argument.annotation is not None:
        text += f": {_plain(argument.annotation)}"
    return text + (" = ..." if default is not None else "")


def _arguments(node: ast.FunctionDef) -> str:
    args = node.args
    plain = args.posonlyargs + args.args
    defaults: List[Optional[ast.AST]] = [None] * (len(plain) - len(args.defaults))
    defaults += args.defaults
    parts = [_argument(one, default) for one, default in zip(plain, defaults)]
    if args.vararg is not None:
        parts.append(_argument(args.vararg, None, "*"))
    elif args.kwonlyargs:
        parts.append("*")
    parts += [_argument(one, default) for one, default in zip(args.kwonlyargs, args.kw_defaults)]
    if args.kwarg is not None:
        parts.append(_argument(args.kwarg, None, "**"))
    return ", ".join(parts)


def _function_lines(node: ast.FunctionDef, indent: str) -> Iterator[str]:
    result = _plain(node.returns) if node.returns is not None else "Any"
    for decorator in node.decorator_list:
        name = ast.unparse(decorator)
        if name in ("property", "staticmethod", "classmethod"):
            yield f"{indent}@{name}"
        elif name == "contextlib.contextmanager":
            result = re.sub(r"^Iterator", "ContextManager", result)
    yield f"{indent}def {node.name}({_arguments(node)}) -> {result}: ..."


def _is_public(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def _methods(node: ast.ClassDef) -> Dict[str, List[str]]:
    found: Dict[str, List[str]] = {}
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef) and _is_public(inner.name):
            if inner.name not in ("__init_subclass__", "__dir__", "__reduce__"):
                found[inner.name] = list(_function_lines(inner, "    "))
        if isinstance(inner, ast.AnnAssign) and _is_public(inner.target.id):  # type: ignore
            name = inner.target.id  # type: ignore
            found[name] = [f"    {name}: {_plain(inner.annotation)}"]
        if isinstance(inner, ast.Assign):
            for target in inner.targets:
                if isinstance(target, ast.Name) and _is_public(target.id):
                    found[target.id] = [f"    {target.id}: Any"]
    for name in _attributes(node):
        found.setdefault(name, [f"    {name}: Any"])
    return found


def _attributes(node: ast.ClassDef) -> Iterator[str]:
    """Yields the public attributes that __init__() sets."""
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
            for statement in ast.walk(inner):
                if isinstance(statement, ast.Assign):
                    for target in statement.targets:
                        if isinstance(target, ast.Attribute) and _is_public(target.attr):
                            yield target.attr


# --- the stub -----------------------------------------------------------------


def _class_lines(name: str, bases: str, members: Dict[str, List[str]]) -> Iterator[str]:
    yield ""
    yield f"class {name}({bases}):" if bases else f"class {name}:"
    if not members:
        yield "    ..."
    for lines in members.values():
        yield from lines


def _gir_class(gir: Gir, overrides: Overrides, element: ElementTree.Element) -> Iterator[str]:
    name = element.get("name", "")
    parent = element.get("parent", "")
    tag = element.tag.replace(_CORE, "")
    bases = parent if tag == "class" else "GObject.GBoxed"
    members: Dict[str, List[str]] = {}
    for inner in element:
        if inner.tag.replace(_CORE, "") in (
            "method", "constructor", "function", "virtual-method"
        ) and not _is_hidden(inner):
            made = _signature(gir, inner, False)
            members[made.name] = list(made.lines("    "))
        elif tag == "record" and inner.tag == f"{_CORE}field" and not inner.get("private"):
            field = inner.get("name", "")
            if keyword.iskeyword(field) or inner.get("readable") == "0":
                continue
            members[field] = [f"    {field}: {gir.annotation(inner, False)}"]
    if overrides.extends(name):
        members.update(_methods(overrides.nodes[name]))
    return _class_lines(name, bases, members)


def _enumeration(element: ElementTree.Element, base: str) -> Iterator[str]:
    name = element.get("name", "")
    members = {
        one.get("name", "").upper(): [f"    {one.get('name', '').upper()}: '{name}'"]
        for one in element.iterfind(f"{_CORE}member")
    }
    return _class_lines(name, base, members)


def _from_gir(gir: Gir, overrides: Overrides) -> Iterator[str]:
    for element in gir.namespace:
        tag, name = element.tag.replace(_CORE, ""), element.get("name", "")
        if _is_hidden(element):
            continue
        if tag in ("class", "record") and not element.get("disguised") \
                and not element.get(f"{_GLIB}is-gtype-struct-for"):
            yield from _gir_class(gir, overrides, element)
        elif tag in ("enumeration", "bitfield"):
            yield from _enumeration(
                element, "GObject.GEnum" if tag == "enumeration" else "GObject.GFlags"
            )
        elif tag == "constant" and name not in overrides.public:
            yield f"{name}: {gir.annotation(element, False)}"
        elif tag == "function" and name not in overrides.public:
            yield ""
            yield from _signature(gir, element, True).lines("")


def _of_overrides(gir: Gir, overrides: Overrides) -> Iterator[str]:
    known = {element.get("name") for element in gir.namespace}
    for name in overrides.public:
        node = overrides.nodes.get(name)
        if isinstance(node, ast.FunctionDef):
            yield ""
            yield from _function_lines(node, "")
        elif isinstance(node, ast.ClassDef) and name not in known:
            bases = ", ".join(_plain(base) for base in node.bases)
            yield from _class_lines(name, bases, _methods(node))
        elif node is None:
            yield f"{name}: Gst.MapFlags"


def make(gir_path: str, folder: str) -> str:
    namespace = ElementTree.parse(gir_path).getroot().find(f"{_CORE}namespace")
    if namespace is None:
        raise SystemExit(f"{gir_path} has no namespace")
    gir, overrides = Gir(namespace), Overrides(folder)
    lines = [*_from_gir(gir, overrides), *_of_overrides(gir, overrides)]
    return _HEADER + "\n".join(lines) + "\n"


def main(argv: List[str]) -> None:
    if len(argv) != 4:
        raise SystemExit(__doc__)
    with open(argv[3], "w", encoding="utf-8") as file:
        file.write(make(argv[1], argv[2]))


if __name__ == "__main__":
    main(sys.argv)
