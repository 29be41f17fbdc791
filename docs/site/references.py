# SPDX-License-Identifier: LGPL-2.1-or-later
"""Converts gtk-doc comments to Markdown with links.

Comments contain `#Type`, `#Type:property`, `%CONSTANT` and `function()`, and so
does the GIR. Each of them becomes a link to its page. The pages of this project
have the names that gi-docgen gives them; names of GStreamer and GLib are on
their own sites. A name of this project without a page is noted as unresolved.
Does not depend on the content of the pages.
"""

import os
import re
import xml.etree.ElementTree as ElementTree

CORE = "{http://www.gtk.org/introspection/core/1.0}"
C = "{http://www.gtk.org/introspection/c/1.0}"
GLIB = "{http://www.gtk.org/introspection/glib/1.0}"

GSTREAMER = "https://gstreamer.freedesktop.org/documentation/"
# GStreamer's pages have the names of source files, GLib's those of gi-docgen.
FOREIGN = {
    "Gst-1.0": GSTREAMER + "gstreamer/",
    "GstBase-1.0": GSTREAMER + "base/",
    "GstVideo-1.0": GSTREAMER + "video/",
    "GstAudio-1.0": GSTREAMER + "audio/",
    "GLib-2.0": "https://docs.gtk.org/glib/",
    "GObject-2.0": "https://docs.gtk.org/gobject/",
    "Gio-2.0": "https://docs.gtk.org/gio/",
}

PAGES = {
    "alias": "alias",
    "bitfield": "flags",
    "callback": "callback",
    "class": "class",
    "constant": "const",
    "enumeration": "enum",
    "interface": "iface",
    "record": "struct",
    "union": "struct",
}
OURS = re.compile(r"(gst_|Gst|GST_)?(vkgdr|Vkgdr|VKGDR|CudaFilter)")
# Constants of C itself, which have no page.
PLAIN = ("NULL", "TRUE", "FALSE")

REFERENCE = re.compile(
    r"(?<![\w`/])(?:"
    r"#(?P<type>[A-Za-z]\w+)(?P<member>(?:::?|\.)[a-z][\w-]*\w)?"
    r"|%(?P<constant>[A-Z]\w+)"
    r"|@(?P<argument>\w+)"
    r"|(?P<function>[a-z]\w+_\w+) ?\(\)"
    r")"
)
CODE = re.compile(r"\|\[(?:<!-- language=\"\w+\" -->)?\n?(.*?)\n?\]\|", re.S)


def page_of(element):
    """Returns the page of a type, a constant or a function outside of types."""
    name, tag = element.get("name"), element.tag.removeprefix(CORE)
    if tag == "enumeration" and element.get(GLIB + "error-domain"):
        return "error.%s.html" % name
    if tag == "function":
        return "func.%s.html" % name
    return "%s.%s.html" % (PAGES[tag], name)


def describe_result(element):
    """If a function has no description, uses the text about its result."""
    result = element.find(CORE + "return-value/" + CORE + "doc")
    if element.get(C + "identifier") and result is not None:
        if element.find(CORE + "doc") is None:
            doc = ElementTree.Element(CORE + "doc", result.attrib)
            doc.text = "Returns " + result.text
            element.insert(0, doc)


class References:
    """The pages of all names that a comment can mean."""

    def __init__(self, gir, include_dirs):
        self.pages = {}
        self.unresolved = set()
        self._read(gir, "", by_source=False)
        for namespace, site in FOREIGN.items():
            for folder in include_dirs:
                path = os.path.join(folder, namespace + ".gir")
                if os.path.exists(path):
                    self._read(path, site, by_source=site.startswith(GSTREAMER))
                    break

    def add(self, name, page):
        self.pages.setdefault(name, page)

    def _read(self, path, site, by_source):
        namespace = ElementTree.parse(path).getroot().find(CORE + "namespace")
        for element in namespace:
            tag = element.tag.removeprefix(CORE)
            if tag not in PAGES and tag != "function":
                continue
            page = site + page_of(element)
            domain = element.get(GLIB + "error-domain", "").removesuffix("-quark")
            names = (element.get(C + "type"), element.get(C + "identifier"),
                     domain.replace("-", "_").upper())
            for name in names:
                if name:
                    self.add(name, self._foreign(element, site, name, by_source, page))
            self._read_members(element, site, by_source, page)

    def _read_members(self, element, site, by_source, page):
        owner, ctype = element.get("name"), element.get(C + "type")
        kinds = {"constructor": "ctor", "method": "method", "function": "type_func"}
        for member in element:
            tag, name = member.tag.removeprefix(CORE), member.get("name")
            symbol = member.get(C + "identifier")
            if tag == "member" and symbol:
                target = page
            elif tag in kinds and symbol:
                target = site + "%s.%s.%s.html" % (kinds[tag], owner, name)
            elif tag in ("property", GLIB + "signal") and ctype:
                mark, kind = (":", "property") if tag == "property" else ("::", "signal")
                symbol = ctype + mark + name
                target = site + "%s.%s.%s.html" % (kind, owner, name)
            elif tag == "virtual-method" and ctype:
                symbol = "%sClass.%s" % (ctype, name)
                target = site + "vfunc.%s.%s.html" % (owner, name)
            else:
                continue
            self.add(symbol, self._foreign(member, site, symbol, by_source, target))

    def _foreign(self, element, site, name, by_source, page):
        if not by_source:
            return page
        place = element.find(CORE + "doc")
        if place is None:
            place = element.find(CORE + "source-position")
        if place is None:
            return site + "gi-index.html"
        source = os.path.splitext(os.path.basename(place.get("filename")))[0]
        if element.tag == CORE + "virtual-method":
            name = name.replace(".", "::")
        return "%s%s.html#%s" % (site, source, name)

    def link(self, name, text=None):
        """Returns `text` as code, and as a link if the name has a page."""
        text = text or name
        page = self.pages.get(name)
        if page:
            return "[`%s`](%s)" % (text, page)
        if OURS.match(name):
            self.unresolved.add(name)
        return "`%s`" % text

    def _replace(self, match):
        if match["argument"]:
            return "`%s`" % match["argument"]
        if match["constant"] in PLAIN:
            return "`%s`" % match["constant"]
        if match["constant"]:
            return self.link(match["constant"])
        if match["function"]:
            return self.link(match["function"], match["function"] + "()")
        name, member = match["type"], match["member"] or ""
        if not name[0].isupper() and name not in self.pages:
            return match[0]  # a preprocessor directive
        if member and name + member not in self.pages:
            # A field, which has no page of its own.
            return self.link(name, name + member)
        return self.link(name + member)

    def prose(self, text):
        """Converts text without code blocks, except for text in backticks."""
        parts = re.split(r"(`[^`]*`)", text)
        return "".join(
            part if i % 2 else REFERENCE.sub(self._replace, part)
            for i, part in enumerate(parts)
        )

    def markdown(self, text):
        parts = CODE.split(text)
        return "".join(
            "\n```\n%s\n```\n" % part if i % 2 else self.prose(part)
            for i, part in enumerate(parts)
        )

    def rewrite_gir(self, source, target):
        """Writes a copy of a GIR with links in its texts, for gi-docgen."""
        for prefix, uri in (("", CORE), ("c", C), ("glib", GLIB)):
            ElementTree.register_namespace(prefix, uri.strip("{}"))
        tree = ElementTree.parse(source)
        for element in tree.iter():
            describe_result(element)
        for doc in tree.iter(CORE + "doc"):
            doc.text = self.markdown(doc.text or "")
        tree.write(target, encoding="utf-8", xml_declaration=True)
