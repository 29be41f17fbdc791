#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pipelines with all of GStreamer's debugging have the same output as without.

    test-debug.py GST-LAUNCH GST-INSPECT [unittest's arguments]

Each pipeline runs with the highest level of every category, with the log written to
/dev/null. One of them also runs with graphs of the pipeline, for which GStreamer reads
all properties of all elements while they run.
"""

import glob
import os

import launch


class Debug(launch.Case):
    def bytes_of(self, pipeline, **env):
        run = launch.launch(
            pipeline + " ! filesink location=" + self.path("out"),
            G_DEBUG="fatal-criticals",
            **env,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        return self.read("out")

    def test_same_bytes(self):
        for name, pipeline in launch.PIPELINES.items():
            with self.subTest(name):
                plain = self.bytes_of(pipeline)
                self.assertTrue(plain)
                traced = self.bytes_of(
                    pipeline, GST_DEBUG="*:9", GST_DEBUG_FILE="/dev/null"
                )
                self.assertEqual(len(traced), len(plain))
                self.assertTrue(traced == plain, "the output differs")

    def test_log_is_text(self):
        """The log contains lines of the plugin, and none of them has a NULL string."""
        self.bytes_of(
            launch.PIPELINES["threads"],
            GST_DEBUG="*vkgdr*:9,cudafilter:9",
            GST_DEBUG_FILE=self.path("log"),
        )
        log = self.read("log").decode()
        for category in ("vkgdrcontext", "vkgdrallocator", "vkgdrkernel"):
            self.assertIn(" " + category + " ", log)
        self.assertNotIn("(null)", log)

    def test_graphs(self):
        plain = self.bytes_of(launch.PIPELINES["effect"])
        drawn = self.bytes_of(
            launch.PIPELINES["effect"], GST_DEBUG_DUMP_DOT_DIR=self.folder
        )
        self.assertTrue(drawn == plain, "the output differs")
        graphs = glob.glob(self.path("*.dot"))
        self.assertTrue(graphs)
        for path in graphs:
            self.assertTrue(os.path.getsize(path))


if __name__ == "__main__":
    raise SystemExit(launch.main())
