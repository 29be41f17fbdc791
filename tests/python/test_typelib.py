# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests that GstVkgdr-1.0 is complete: no function is missing, and each one has
a description.
"""

import os
import unittest
import xml.etree.ElementTree as ElementTree

import gst_support  # noqa: F401
import support
from gi.overrides._gstvkgdr_base import GstVkgdr

CORE = "{http://www.gtk.org/introspection/core/1.0}"
C = "{http://www.gtk.org/introspection/c/1.0}"
CALLABLES = ("function", "method", "constructor", "virtual-method", "callback", "signal")


def name_of(element: ElementTree.Element) -> str:
    return element.get(f"{C}identifier") or element.get("name") or element.tag


class Typelib(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = os.path.dirname(GstVkgdr.__path__[0])
        path = os.path.join(folder, "GstVkgdr-1.0.gir")
        if not os.path.isfile(path):  # installed
            path = os.path.join(folder.rpartition("/lib")[0], "share/gir-1.0/GstVkgdr-1.0.gir")
        cls.namespace = ElementTree.parse(path).getroot().find(f"{CORE}namespace")
        # A callback in a record is also listed as a virtual method.
        fields = {one for field in cls.namespace.iter(f"{CORE}field") for one in field}
        # Name, return value and parameters of each function.
        cls.functions = [
            (element, name_of(element), element.find(f"{CORE}return-value"),
             element.findall(f"{CORE}parameters/{CORE}parameter"))
            for element in cls.namespace.iter()
            if element.tag in [CORE + tag for tag in CALLABLES] and element not in fields
            and element.find(f"{CORE}return-value") is not None
        ]

    def test_nothing_is_skipped(self) -> None:
        self.assertEqual([
            name_of(element) for element in self.namespace.iter()
            if element.get("introspectable") == "0" and not element.get("shadowed-by")
        ], [])

    def test_everything_has_a_text(self) -> None:
        missing = []
        for element, name, returned, parameters in self.functions:
            if name.endswith("_get_type"):
                continue
            if element.find(f"{CORE}doc") is None and returned.find(f"{CORE}doc") is None:
                missing.append(name)
            missing += [f"{name}({parameter.get('name')})" for parameter in parameters
                        if parameter.find(f"{CORE}doc") is None]
        self.assertEqual(missing, [])

    def test_ownership_is_told(self) -> None:
        for element, name, returned, _ in self.functions:
            transfer = returned.get("transfer-ownership")
            self.assertIn(transfer, ("none", "full", "container"), name)
            # A function that returns a new pointer returns None or raises on an error.
            if element.get("throws") == "1" and transfer == "full":
                self.assertEqual(returned.get("nullable"), "1", name)

    def test_pointers_are_few(self) -> None:
        """Plain pointers are CUDA handles and addresses. They are numbers in Python."""
        found = [
            name.replace("gst_vkgdr_", "") for _, name, returned, parameters in self.functions
            if any(kind is not None and kind.get("name") == "gpointer"
                   for kind in [one.find(f"{CORE}type") for one in [returned, *parameters]])
        ]
        self.assertEqual(sorted(found), [
            "FenceFunc", "ReleaseFunc", "allocator_alloc_wrapped", "context_get_cuda_context",
            "context_get_pinned_data", "dlpack_get_capsule_destructor", "fence_release_later",
            "mapping_to_dlpack", "memory_get_host_pointer", "memory_new_from_dlpack",
            "memory_new_part", "memory_upload", "memory_write", "stream_get_handle",
            "stream_new_wrapped",
        ])


if __name__ == "__main__":
    support.main()
