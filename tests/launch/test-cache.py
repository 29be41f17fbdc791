#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/plugins/gst_plugins_cache.json describes the elements as they are.

    test-cache.py GST-LAUNCH GST-INSPECT [unittest's arguments]

The caps are not compared, because they depend on the version of GStreamer. The test is
skipped without the Python bindings of GStreamer.
"""

import copy
import json
import os
import subprocess
import sys
import unittest

import launch

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SCRIPT = os.path.join(ROOT, "scripts", "plugins-cache")
CACHE = os.path.join(ROOT, "docs", "plugins", "gst_plugins_cache.json")

TIME_LIMIT = 60  # seconds
REMEDY = "run: scripts/env scripts/plugins-cache > docs/plugins/gst_plugins_cache.json"


def without_caps(plugin):
    plugin = copy.deepcopy(plugin)
    for element in plugin["elements"].values():
        for template in element["pad-templates"].values():
            del template["caps"]
    return plugin


class Cache(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        run = subprocess.run(
            [sys.executable, SCRIPT], stdout=subprocess.PIPE, timeout=TIME_LIMIT, check=True
        )
        cls.actual = json.loads(run.stdout)["vkgdr"]
        with open(CACHE, encoding="utf-8") as file:
            cls.saved = json.load(file)["vkgdr"]

    def test_it_is_as_saved(self):
        self.maxDiff = None
        self.assertEqual(sorted(self.actual["elements"]), sorted(launch.ELEMENTS))
        self.assertEqual(without_caps(self.saved), without_caps(self.actual), REMEDY)

    def test_help(self):
        run = subprocess.run(
            [sys.executable, SCRIPT, "--help"],
            stdout=subprocess.PIPE,
            timeout=TIME_LIMIT,
            encoding="utf-8",
            check=True,
        )
        self.assertIn("Usage: scripts/env scripts/plugins-cache >", run.stdout)
        self.assertNotIn("GstVkgdrUpload", run.stdout)

    def test_an_element_is_described(self):
        """Checks the script with facts that do not change."""
        upload = self.saved["elements"]["vkgdrupload"]
        self.assertEqual(upload["hierarchy"][0], "GstVkgdrUpload")
        self.assertEqual(upload["hierarchy"][-1], "GObject")
        self.assertEqual(upload["properties"]["device"]["min"], "-1")
        self.assertEqual(upload["properties"]["access"]["default"], "auto (0)")
        self.assertFalse(upload["properties"]["stats"]["writable"])
        src = self.saved["elements"]["vkgdrtensor"]["pad-templates"]["src"]
        self.assertEqual(src["caps"], "tensor/strided(memory:VkgdrMemory)")


if __name__ == "__main__":
    try:
        import gi

        gi.require_version("Gst", "1.0")
    except (ImportError, ValueError) as error:
        print(error)
        sys.exit(77)
    raise SystemExit(launch.main())
