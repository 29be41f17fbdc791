# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests that GstVkgdr-1.0 is complete: no function is missing, and each one has
a description.
"""

import os
import unittest
import xml.etree.ElementTree as ElementTree
from typing import Iterator

import gst_support  # noqa: F401
import support
from gi.overrides._gstvkgdr_base import GstVkgdr

CORE = "{http://www.gtk.org/introspection/core/1.0}"
C = "{http://www.gtk.org/introspection/c/1.0}"
CALLABLES = tuple(
    CORE + tag
    for tag in ("function", "method", "constructor", "virtual-method", "callback", "signal")
)


def name_of(element: ElementTree.Element) -> str:
    return element.get(f"{C}identifier") or element.get("name") or element.tag


class Typelib(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = os.path.dirname(GstVkgdr.__path__[0])
        path = os.path.join(folder, "GstVkgdr-1.0.gir")
        if not os.path.isfile(path):  # installed
            prefix = folder.rpartition("/lib")[0]
            path = os.path.join(prefix, "share", "gir-1.0", "GstVkgdr-1.0.gir")
        cls.namespace = ElementTree.parse(path).getroot().find(f"{CORE}namespace")

    def callables(self) -> Iterator[ElementTree.Element]:
        for element in self.namespace.iter():
            # A callback in a record is also listed as a virtual method.
            if element.tag in CALLABLES and element.find(f"{CORE}return-value") is not None:
                yield element

    def fields(self) -> set:
        return {
            callback for field in self.namespace.iter(f"{CORE}field") for callback in field
        }

    def test_nothing_is_skipped(self) -> None:
        skipped = [
            name_of(element)
            for element in self.namespace.iter()
            if element.get("introspectable") == "0" and not element.get("shadowed-by")
        ]
        self.assertEqual(skipped, [])

    def test_everything_has_a_text(self) -> None:
        fields = self.fields()
        missing = []
        for element in self.callables():
            if element in fields or name_of(element).endswith("_get_type"):
                continue
            returned = element.find(f"{CORE}return-value")
            if element.find(f"{CORE}doc") is None and returned.find(f"{CORE}doc") is None:
                missing.append(name_of(element))
            for parameter in element.iterfind(f"{CORE}parameters/{CORE}parameter"):
                if parameter.find(f"{CORE}doc") is None:
                    missing.append(f"{name_of(element)}({parameter.get('name')})")
        self.assertEqual(missing, [])

    def test_ownership_is_told(self) -> None:
        fields = self.fields()
        for element in self.callables():
            if element in fields:
                continue
            returned = element.find(f"{CORE}return-value")
            self.assertIn(
                returned.get("transfer-ownership"), ("none", "full", "container"), name_of(element)
            )
            # A function that returns a new pointer returns None or raises on an error.
            if element.get("throws") == "1" and returned.get("transfer-ownership") == "full":
                self.assertEqual(returned.get("nullable"), "1", name_of(element))

    def test_pointers_are_few(self) -> None:
        """Plain pointers are CUDA handles and addresses. They are numbers in Python."""
        found = set()
        fields = self.fields()
        for element in self.callables():
            if element in fields:
                continue
            kinds = list(element.iterfind(f"{CORE}return-value/{CORE}type"))
            kinds += list(element.iterfind(f"{CORE}parameters/{CORE}parameter/{CORE}type"))
            if any(kind.get("name") == "gpointer" for kind in kinds):
                found.add(name_of(element).replace("gst_vkgdr_", ""))
        self.assertEqual(found, {
            "allocator_alloc_wrapped",
            "FenceFunc",
            "ReleaseFunc",
            "context_get_cuda_context",
            "context_get_pinned_data",
            "dlpack_get_capsule_destructor",
            "fence_release_later",
            "mapping_to_dlpack",
            "memory_get_host_pointer",
            "memory_new_part",
            "memory_new_from_dlpack",
            "memory_upload",
            "memory_write",
            "stream_get_handle",
            "stream_new_wrapped",
        })


if __name__ == "__main__":
    support.main()
