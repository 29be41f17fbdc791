# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes a page of each element, from its class and its comments.

GStreamer provides the pads and properties, as for gst-inspect-1.0. The texts
are those of the comments `SECTION:element-NAME` and `TYPE:PROPERTY:`. No device
is opened.
"""

import os
import re

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GObject, Gst  # noqa: E402

import header  # noqa: E402

PLUGIN = "vkgdr"

STATES = (
    (Gst.PARAM_MUTABLE_PLAYING, "at any time"),
    (Gst.PARAM_MUTABLE_PAUSED, "up to PAUSED"),
    (Gst.PARAM_MUTABLE_READY, "up to READY"),
)
SECTION = re.compile(r"^SECTION:element-([\w-]+)\n(.*)", re.S)
PROPERTY = re.compile(r"^(\w+):([\w-]+):\n(.*)", re.S)
TAIL = re.compile(r"^(@\w+:|Since:).*\n?", re.M)


class Comments:
    """The texts of elements, by name, and of properties, by type and name."""

    def __init__(self, folders):
        self.elements, self.properties = {}, {}
        for top in folders:
            for folder, _, names in sorted(os.walk(top)):
                for name in sorted(names):
                    if name.endswith(".c"):
                        self._read(os.path.join(folder, name))

    def _read(self, path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for match in header.COMMENT.finditer(text):
            comment = header.strip_stars(match[1])
            if found := SECTION.match(comment):
                self.elements[found[1]] = TAIL.sub("", found[2]).strip()
            elif found := PROPERTY.match(comment):
                self.properties[found[1], found[2]] = TAIL.sub("", found[3]).strip()


def nicks_of(pspec):
    """The names of an enumeration's values, by number.

    Before PyGObject 3.50, `enum_class` is a Python class. From 3.50 on, it is a
    structure of GLib.
    """
    known = pspec.enum_class
    if hasattr(known, "__enum_values__"):
        return {int(v): v.value_nick for v in known.__enum_values__.values()}
    values = (GObject.enum_get_value(known, n)
              for n in range(known.minimum, known.maximum + 1))
    return {v.value: v.value_nick for v in values if v}


def type_of(pspec):
    if pspec.value_type.is_a(GObject.TYPE_ENUM):
        return "one of " + ", ".join("`%s`" % nick for nick in nicks_of(pspec).values())
    if pspec.value_type in (GObject.TYPE_INT, GObject.TYPE_UINT):
        return "number from %d to %d" % (pspec.minimum, pspec.maximum)
    names = {
        "gchararray": "string",
        "gboolean": "boolean",
        "gfloat": "number",
        "GstValueArray": "array of numbers",
        "GstCaps": "caps",
        "GstStructure": "structure",
    }
    return names[pspec.value_type.name]


def default_of(pspec):
    if pspec.value_type.is_a(GObject.TYPE_BOXED):
        return None
    # A GstValueArray has no default value.
    value = getattr(pspec, "default_value", None)
    if pspec.value_type.is_a(GObject.TYPE_ENUM):
        return "`%s`" % nicks_of(pspec)[int(value)]
    if isinstance(value, bool):
        return "`%s`" % str(value).lower()
    return None if value in (None, "") else "`%s`" % value


def access_of(pspec):
    if not pspec.flags & GObject.ParamFlags.WRITABLE:
        return "can only be read"
    for flag, when in STATES:
        if pspec.flags & flag:
            return "can be set " + when
    return "can be set"


def plain(text):
    """Converts a text without Markdown to Markdown that shows the same text."""
    return re.sub(r"([\\`*_<#])", r"\\\1", text)


def property_lines(pspec, comments, references):
    facts = [type_of(pspec), access_of(pspec)]
    default = default_of(pspec)
    if default:
        facts.insert(1, "default " + default)
    yield "### " + pspec.name
    yield ""
    yield "*%s*" % "; ".join(facts)
    yield ""
    yield plain(pspec.blurb) + "."
    text = comments.properties.get((pspec.owner_type.name, pspec.name))
    if text:
        yield ""
        yield references.markdown(text)
    yield ""


def page(factory, comments, references):
    name = factory.get_name()
    element = factory.create(None)
    lines = ["Title: The element " + name, "", "# " + name, ""]
    lines += ["*%s* (%s)" % (factory.get_metadata("description"),
                             factory.get_metadata("klass")), ""]
    lines += [references.markdown(comments.elements[name]), "", "## Pads", ""]
    for pad in element.get_pad_template_list():
        lines.append("- `%s`: %s, `%s`" % (
            pad.name_template, pad.presence.value_nick, pad.get_caps().to_string()))
    lines += ["", "## Properties", ""]
    for pspec in sorted(element.list_properties(), key=lambda p: p.name):
        if not GObject.type_is_a(Gst.Element.__gtype__, pspec.owner_type) and (
            not pspec.owner_type.name.startswith(("GstBase", "GstAggregator"))
        ):
            lines += property_lines(pspec, comments, references)
    return "\n".join(lines)


def note_names(references):
    """Notes the pages of the elements as the places of their properties."""
    for factory in factories():
        element = factory.create(None)
        for pspec in element.list_properties():
            references.add(
                "%s:%s" % (type(element).__gtype__.name, pspec.name),
                "element-%s.html#%s" % (factory.get_name(), pspec.name),
            )


def factories():
    """Returns the factories of the plugin, in the order in which data flow
    through the elements.
    """
    Gst.init(None)
    registry = Gst.Registry.get()
    order = {"vkgdrupload": 0, "vkgdrtensor": 2, "vkgdrdownload": 3}
    return sorted(
        registry.get_feature_list_by_plugin(PLUGIN),
        key=lambda factory: order.get(factory.get_name(), 1),
    )
