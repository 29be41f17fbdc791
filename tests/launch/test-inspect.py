#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs gst-inspect-1.0 for the plugin and its elements, also without a device.

    test-inspect.py GST-LAUNCH GST-INSPECT [unittest's arguments]

Each element is listed, and nothing is written to standard error. On a machine
without a GPU, the plugin is registered without a message. The properties are
tested in tests/python/test_elements.py. docs/plugins/gst_plugins_cache.json describes the
elements as they are.
"""

import json
import os
import re
import sys

import launch

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
CACHE = os.path.join(ROOT, "docs", "plugins", "gst_plugins_cache.json")
REMEDY = "run: scripts/env scripts/plugins-cache > docs/plugins/gst_plugins_cache.json"

EXAMPLES = ("vkgdrexampletint", "vkgdrexampleborder")

# Warnings and the use of deprecated functions abort the program.
STRICT = {"G_DEBUG": "fatal-warnings", "G_ENABLE_DIAGNOSTIC": "1"}


def without_caps(cache, has_infer=True):
    """The caps depend on the version of GStreamer. Older versions have no vkgdrinfer."""
    plugin = json.loads(cache)["vkgdr"]
    if not has_infer:
        del plugin["elements"]["vkgdrinfer"], plugin["other-types"]["GstVkgdrInferProvider"]
    for element in plugin["elements"].values():
        for template in element["pad-templates"].values():
            del template["caps"]
    return plugin


class Inspect(launch.Case):
    """The output that a user sees."""

    def inspect(self, *args, **env):
        run = launch.run(launch.INSPECT, *args, **{**STRICT, **env})
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    def test_elements(self):
        for element in launch.ELEMENTS + EXAMPLES:
            with self.subTest(element):
                # GstBaseSrc has a deprecated property.
                env = {"G_ENABLE_DIAGNOSTIC": "0"} if "src" in element else {}
                text = self.inspect(element, **env)
                self.assertRegex(text, r"(?m)^  Long-name  +\S")
                self.assertNotRegex(text, r"\(null\)|Unknown type")
                # Statistics without a value yet are 0, not -1.
                stats = re.split(r"\n  [a-z-]+ +:", text.partition("stats")[2])[0]
                self.assertNotIn("18446744073709551615", stats)

    def test_cache(self):
        run = launch.run(sys.executable, os.path.join(ROOT, "scripts", "plugins-cache"))
        if re.search("No module named 'gi'|Namespace Gst", run.stderr):
            self.skipTest(run.stderr)
        with open(CACHE, encoding="utf-8") as file:
            expected = without_caps(file.read(), "vkgdrinfer" in run.stdout)
        self.assertEqual(expected, without_caps(run.stdout), REMEDY)

    def test_without_device(self):
        """A registry is made on a machine without a GPU, with no other plugin."""
        registry = {
            "GST_REGISTRY_1_0": self.path("registry.bin"),
            "GST_PLUGIN_SYSTEM_PATH_1_0": "",
        }
        for fork in ("yes", "no"):
            with self.subTest(fork=fork):
                text = self.inspect(GST_REGISTRY_FORK=fork, **registry, **launch.NO_DEVICE)
                for element in launch.ELEMENTS:
                    self.assertIn("vkgdr:  %s: " % element, text)
                self.assertNotIn("blacklisted", text)
                os.unlink(self.path("registry.bin"))
        run = launch.launch("vkgdrupload ! vkgdrdownload", **registry, **launch.NO_DEVICE)
        self.assertNotEqual(run.returncode, 0)
        self.assertEqual(run.stderr.count("ERROR: from element"), 1, run.stderr)
        self.assertIn("libcuda.so.1 cannot be loaded", run.stderr)
        self.assertNotIn("CRITICAL", run.stderr)


if __name__ == "__main__":
    raise SystemExit(launch.main())
