#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs pipelines with GStreamer's leaks tracer, which must not find an object.

    test-leaks.py GST-LAUNCH GST-INSPECT [unittest's arguments]

The tracer counts objects, buffers, memories, caps, events and other objects of
GStreamer and of the plugin, and lists those that still exist when GStreamer ends.
Resources of the operating system and of the device are tested elsewhere.
"""

import re
import signal
import subprocess
import sys

import launch

# Types of objects that GStreamer itself does not free, with the reason. The known
# versions of GStreamer free all types.
NOT_OURS = {}

ALIVE = re.compile(r"object-alive, type-name=\(string\)([^,]*),(.*)")

# A program that ends GStreamer while it still has an element.
LEAK = """
import gi
gi.require_version("Gst", "1.0")
from gi.repository import Gst
Gst.init(None)
element = Gst.ElementFactory.make("vkgdrupload")
Gst.deinit()
"""


class Leaks(launch.Case):
    def traced(self):
        return {
            "GST_TRACERS": "leaks",
            "GST_DEBUG": "GST_TRACER:7",
            "GST_DEBUG_FILE": self.path("log"),
        }

    def alive(self):
        """Returns the objects that the tracer has found, each as `TYPE, the
        rest`.
        """
        log = self.read("log").decode(errors="replace")
        self.assertIn("object-alive.class", log, "the tracer does not work")
        return [
            "{},{}".format(*found)
            for found in ALIVE.findall(log)
            if found[0] not in NOT_OURS and "(string)%s" not in found[1]
        ]

    def check(self, pipeline, works=True, **env):
        run = launch.launch(pipeline, **self.traced(), **env)
        self.assertEqual(run.returncode == 0, works, run.stderr)
        if not works:
            self.assertRegex(run.stderr, "ERROR|erroneous pipeline")
        self.assertEqual(self.alive(), [])

    def test_to_the_end(self):
        for name, pipeline in launch.PIPELINES.items():
            with self.subTest(name):
                self.check(pipeline + " ! fakesink")

    def test_on_worse_hardware(self):
        for debug in ("bar", "non-coherent", "bar=300K"):
            with self.subTest(debug):
                self.check(
                    launch.PIPELINES["threads"] + " ! fakesink", VKGDR_DEBUG=debug
                )

    def test_errors(self):
        video = "videotestsrc num-buffers=8 ! vkgdrupload ! "
        for name, pipeline in {
            "no such kernel": video + "cudafilter kernel=nothing ! fakesink",
            "does not compile": video + "cudafilter source=nonsense ! fakesink",
            "no such file": video + "cudafilter location=/nonexistent.cu ! fakesink",
            "caps that cannot be": "videotestsrc ! video/x-raw,format=RGBA "
            "! vkgdrupload ! cudafilter kernel=invert "
            "output-caps=video/x-raw,format=RGBA,width=7 "
            "! video/x-raw(memory:VkgdrMemory),width=9 ! fakesink",
        }.items():
            with self.subTest(name):
                self.check(pipeline, works=False)

    def test_calls_that_fail(self):
        pipeline = launch.PIPELINES["threads"] + " ! fakesink"
        for call in (
            "cuDevicePrimaryCtxRetain:1",
            "cuStreamCreate:2",
            "cuExternalMemoryGetMappedBuffer:1+,cuMemAlloc:1+",
            "cuLaunchKernel:3",
            "cuMemHostAlloc:2+",
            "cuMemcpyDtoHAsync:2",
        ):
            with self.subTest(call):
                self.check(pipeline, works=False, SOFTCUDA_FAIL=call)

    def test_without_a_device(self):
        self.check(
            "videotestsrc num-buffers=8 ! vkgdrupload ! cudafilter "
            "! vkgdrdownload ! fakesink",
            works=False,
            **launch.NO_DEVICE,
        )

    def test_interrupted(self):
        """Interrupts a running pipeline, with an EOS event and without one."""
        for options in ((), ("-e",)):
            with self.subTest(options), launch.start(
                launch.LAUNCH, *options,
                *"videotestsrc ! vkgdrupload ! queue ! cudafilter kernel=invert ! queue "
                "! vkgdrdownload ! identity silent=false ! fakesink silent=true".split(),
                stderr=subprocess.STDOUT, **self.traced(),
            ) as process:
                for line in process.stdout:
                    if "New clock" in line:
                        break
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=launch.TIME_LIMIT)
                self.assertEqual(self.alive(), [])

    def test_a_leak_is_found(self):
        run = launch.run(sys.executable, "-c", LEAK, **self.traced())
        if "No module named 'gi'" in run.stderr:
            self.skipTest("there is no gi")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex("\n".join(self.alive()), "(?m)^GstVkgdrUpload,")


if __name__ == "__main__":
    raise SystemExit(launch.main())
