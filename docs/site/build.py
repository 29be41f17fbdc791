#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds the documentation: a reference by gi-docgen, and further pages.

    build.py GI-DOCGEN GIR VERSION OUTPUT-FOLDER

Meson runs it with the plugin on GStreamer's path (see meson.build). It fails if
a comment names something of this project that does not exist, if gi-docgen
prints a warning, or if the site has a broken link.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

import check
import elements
import header
from pages import Pages, file_page
from references import C, CORE, References

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# The Markdown files of the tree that become pages, in the order of the site's
# list.
PAGES = {
    "README.md": "overview",
    "docs/pipelines.md": "pipelines",
    "docs/programs.md": "programs",
    "docs/errors.md": "errors",
    "docs/cudafilter.md": "cudafilter",
    "docs/python.md": "python",
    "docs/frames-as-arrays.md": "frames-as-arrays",
    "docs/tensors.md": "tensors",
    "docs/inference.md": "inference",
    "docs/from-pycuda.md": "from-pycuda",
    "docs/ipc.md": "ipc",
    "docs/ipc-protocol.md": "ipc-protocol",
    "docs/cuda-ipc-containers.md": "cuda-ipc-containers",
    "docs/scaling.md": "scaling",
    "docs/container.md": "container",
    "docs/environment.md": "environment",
    "docs/upstreams.md": "upstreams",
    "docs/real-sources.md": "real-sources",
    "docs/tuning.md": "tuning",
    "docs/performance.md": "performance",
    "docs/architecture.md": "architecture",
    "CONTRIBUTING.md": "contributing",
    "RELEASING.md": "releasing",
    "SECURITY.md": "security",
    "CHANGELOG.md": "changelog",
}
EXAMPLES = ("docs/examples/c/tint.c", "docs/examples/c/border.c")
# Headers that introspection does not read: page, title, and words of
# declarations that are left out.
HEADERS = {
    "include/vkgdr/vkgdr.h": ("libvkgdr", "libvkgdr, in plain C", ("VKGDR_API",)),
    "include/vkgdr/frames.h": ("frames", "vkgdr/frames.h, in plain C", ("VKGDR_API",)),
    "include/vkgdr/kernel.h": (
        "kernel-header",
        "vkgdr/kernel.h, for kernels",
        ("__device__", "inline", "static"),
    ),
}


def include_dirs():
    data = os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
    folders = [os.path.join(folder, "gir-1.0") for folder in data.split(":")]
    # From version 13 on, Debian has the GIR files of GLib in the folder of
    # libraries.
    folders += sorted(glob.glob("/usr/lib/*/gir-1.0"))
    return [folder for folder in folders if os.path.isdir(folder)]


def about_page(gir, references):
    """Makes a page of the texts about groups of functions. gi-docgen has no
    page for these texts.
    """
    namespace = ElementTree.parse(gir).getroot().find(CORE + "namespace")
    title = "The library's functions, by subject"
    lines = ["Title: " + title, "", "# " + title, ""]
    for section in namespace.iter(CORE + "docsection"):
        doc = section.find(CORE + "doc")
        subject = section.get("name").removeprefix("gstvkgdr").capitalize()
        lines += ["## " + subject, "", references.markdown(doc.text), ""]
        for function in namespace.findall(CORE + "function"):
            text = function.find(CORE + "doc")
            if text is not None and text.get("filename") == doc.get("filename"):
                name = function.get(C + "identifier")
                lines.append("- " + references.link(name, name + "()"))
        lines.append("")
    return "\n".join(lines)


class Site:
    """The folder with the input of gi-docgen."""

    def __init__(self, folder, gir):
        self.folder, self.gir = folder, gir
        self.files = []
        self.references = References(gir, include_dirs())
        self.pages = Pages(
            ROOT, PAGES, {path: page[0] + ".html" for path, page in HEADERS.items()}
        )

    def put(self, name, text):
        with open(os.path.join(self.folder, name + ".md"), "w", encoding="utf-8") as f:
            f.write(text + "\n")
        self.files.append(name + ".md")

    def write(self):
        """Writes all pages. The names are noted first, because a page may refer
        to names that are documented on another page.
        """
        parsed = {path: list(header.read(os.path.join(ROOT, path))) for path in HEADERS}
        self._note_names(parsed)
        guides = iter(PAGES)
        self._put_guide(next(guides))
        self._put_elements()
        for path in guides:
            self._put_guide(path)
        self.put("by-subject", about_page(self.gir, self.references))
        for path, (name, title, macros) in HEADERS.items():
            self.put(name, header.page(parsed[path], self.references, title, macros))
        self._put_files()
        self.references.rewrite_gir(
            self.gir, os.path.join(self.folder, os.path.basename(self.gir)))

    def _note_names(self, parsed):
        for path, entries in parsed.items():
            for entry in entries:
                place = "%s.html#%s" % (HEADERS[path][0], entry.anchor)
                self.references.add(entry.name, place)
                for name, _ in entry.arguments:
                    if name.isupper():  # a value of an enumeration
                        self.references.add(name, place)
        elements.note_names(self.references)

    def _put_guide(self, path):
        self.put(PAGES[path], self.pages.page(path))

    def _put_elements(self):
        comments = elements.Comments(
            [os.path.join(ROOT, "gst"), os.path.join(ROOT, "lib", "gst", "vkgdr")])
        for factory in elements.factories():
            self.put("element-" + factory.get_name(),
                     elements.page(factory, comments, self.references))

    def _put_files(self):
        """Writes a page for each example and for each file that a guide links
        to, and copies the pictures.
        """
        for path in dict.fromkeys((*EXAMPLES, *self.pages.shown)):
            self.put(file_page(path), self.pages.shown_page(path))
        for path in self.pages.images:
            shutil.copy(os.path.join(ROOT, path), self.folder)
        shutil.copy(os.path.join(HERE, "urlmap.js"), self.folder)

    def write_config(self, version):
        path = os.path.join(self.folder, "site.toml")
        with open(os.path.join(HERE, "site.toml"), encoding="utf-8") as file:
            text = file.read().replace("@VERSION@", version)
        images = [os.path.basename(image) for image in self.pages.images]
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
            file.write("\n[extra]\nurlmap_file = \"urlmap.js\"\n")
            file.write("content_files = %s\n" % json.dumps(self.files))
            file.write("content_images = %s\n" % json.dumps(images))
        return path


def generate(docgen, site, version, output):
    config = site.write_config(version)
    command = [docgen, "generate", "--quiet", "--fatal-warnings", "--no-namespace-dir"]
    for folder in include_dirs():
        command += ["--add-include-path", folder]
    command += ["--config", config, "--content-dir", site.folder]
    command += ["--output-dir", output]
    subprocess.run(
        [*command, os.path.join(site.folder, os.path.basename(site.gir))], check=True)


def main(docgen, gir, version, output):
    shutil.rmtree(output, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="vkgdr-docs-") as folder:
        site = Site(folder, gir)
        site.write()
        faults = ["a comment names %s, which has no page" % n
                  for n in sorted(site.references.unresolved)]
        if not faults:
            generate(docgen, site, version, output)
            faults = check.broken_links(output)
    for fault in faults:
        print("documentation: " + fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
