#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs pipelines with GStreamer's leaks tracer, and with all of GStreamer's debugging.

    test-tracing.py GST-LAUNCH GST-INSPECT [unittest's arguments]

The tracer counts objects, buffers, memories, caps, events and other objects of
GStreamer and of the plugin. None of them may still exist when GStreamer ends. Resources
of the operating system and of the device are tested elsewhere. A pipeline that works logs
no errors. With the highest level of every category, and with graphs of the pipeline, for
which GStreamer reads all properties of all elements while they run, the output is the same,
and the plugin logs no NULL string.
"""

import re
import shlex
import signal
import subprocess

import launch

OURS = re.compile(rb"\S+ +\d+ +\S+ +\w+ +(vkgdr|cudafilter)")  # by its category
ALIVE = re.compile(r"object-alive, type-name=\(string\)((?!%s).*)")

VIDEO = "videotestsrc num-buffers=8 ! vkgdrupload ! cudafilter "
THREADS = launch.PIPELINES["threads"] + " ! fakesink"

# Pipelines that fail, and their environment.
FAILURES = [
    (VIDEO + "kernel=nothing ! fakesink", {}),
    (VIDEO + "source=nonsense ! fakesink", {}),
    (VIDEO + "location=/proc/missing.cu ! fakesink", {}),
    ("videotestsrc ! video/x-raw,format=RGBA ! vkgdrupload ! cudafilter kernel=invert "
     "output-caps=video/x-raw,format=RGBA,width=7 "
     "! video/x-raw(memory:VkgdrMemory),width=9 ! fakesink", {}),
    (VIDEO + "! vkgdrdownload ! fakesink", launch.NO_DEVICE),
    *((THREADS, {"SOFTCUDA_FAIL": call}) for call in (
        "cuDevicePrimaryCtxRetain:1",
        "cuStreamCreate:2",
        "cuExternalMemoryGetMappedBuffer:1+,cuMemAlloc:1+",
        "cuLaunchKernel:3",
        "cuMemHostAlloc:2+",
        "cuMemcpyDtoHAsync:2",
    )),
]


class Tracing(launch.Case):
    def traced(self):
        return {
            "GST_TRACERS": "leaks",
            "GST_DEBUG": "*:1,GST_TRACER:7",
            "GST_DEBUG_FILE": self.path("log"),
        }

    def alive(self):
        """Returns the objects that the tracer has found."""
        log = self.read("log").decode(errors="replace")
        self.assertIn("object-alive.class", log, "the tracer does not work")
        return ALIVE.findall(log)

    def check(self, pipeline, works=True, **env):
        run = launch.launch(pipeline, **self.traced(), **env)
        self.assertEqual(run.returncode == 0, works, run.stderr)
        if not works:
            self.assertRegex(run.stderr, "ERROR|erroneous pipeline")
        self.assertEqual(self.alive(), [])

    def test_pipelines(self):
        for name, pipeline in launch.PIPELINES.items():
            with self.subTest(name):
                pipeline += " ! filesink location=" + shlex.quote(self.path("out"))
                self.check(pipeline)
                self.assertNotIn(b" ERROR ", self.read("log"))
                plain = self.read("out")
                self.assertTrue(plain)
                run = launch.launch(
                    pipeline,
                    G_DEBUG="fatal-criticals",
                    GST_DEBUG="*:9",
                    GST_DEBUG_FILE=self.path("log"),
                    GST_DEBUG_DUMP_DOT_DIR=self.folder,
                )
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertTrue(self.read("out") == plain, "the output differs")
                lines = self.read("log").splitlines()
                ours = [line for line in lines if OURS.match(line)]
                self.assertTrue(ours)
                self.assertEqual([line for line in ours if b"(null)" in line], [])

    def test_on_worse_hardware(self):
        for debug in ("bar", "non-coherent", "bar=300K"):
            with self.subTest(debug):
                self.check(THREADS, VKGDR_DEBUG=debug)

    def test_failures(self):
        for pipeline, env in FAILURES:
            with self.subTest(pipeline, **env):
                self.check(pipeline, works=False, **env)

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


if __name__ == "__main__":
    raise SystemExit(launch.main())
