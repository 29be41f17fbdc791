#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/plugins/gst_plugins_cache.json describes the elements as they are.

    test-cache.py GST-LAUNCH GST-INSPECT [unittest's arguments]

The caps are not compared, because they depend on the version of GStreamer. The test is
skipped without the Python bindings of GStreamer.
"""

import json
import os
import sys

import launch

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SCRIPT = os.path.join(ROOT, "scripts", "plugins-cache")
CACHE = os.path.join(ROOT, "docs", "plugins", "gst_plugins_cache.json")

REMEDY = "run: scripts/env scripts/plugins-cache > docs/plugins/gst_plugins_cache.json"


def without_caps(cache):
    plugin = json.loads(cache)["vkgdr"]
    for element in plugin["elements"].values():
        for template in element["pad-templates"].values():
            del template["caps"]
    return plugin


class Cache(launch.Case):
    def test_it_is_as_saved(self):
        run = launch.run(sys.executable, SCRIPT)
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(CACHE, encoding="utf-8") as file:
            saved = without_caps(file.read())
        self.assertEqual(sorted(saved["elements"]), sorted(launch.ELEMENTS))
        self.assertEqual(saved, without_caps(run.stdout), REMEDY)


if __name__ == "__main__":
    try:
        import gi

        gi.require_version("Gst", "1.0")
    except (ImportError, ValueError) as error:
        print(error)
        sys.exit(77)
    raise SystemExit(launch.main())
