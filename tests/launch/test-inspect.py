#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""gst-inspect-1.0 on the plugin and its elements, and without a device.

    test-inspect.py GST-LAUNCH GST-INSPECT [unittest's arguments]

All is told, with nothing on standard error; and a machine without a GPU learns
of the plugin without noticing. What the texts say is tests/gst/inspect.c's.
"""

import glob
import os
import re
import time
import unittest

import launch

EXAMPLES = ("vkgdrexampletint", "vkgdrexampleborder")

# Libraries that bring a device with them, or compile for one.
DRIVERS = re.compile(r"libcuda\.so|libvulkan|libnvidia|libnvrtc|libLLVM")

# Seconds for a registry with one plugin in it. It takes a hundredth of that.
QUICK = 5

# A warning is an end, and so is the use of what is deprecated.
STRICT = {"G_DEBUG": "fatal-warnings", "G_ENABLE_DIAGNOSTIC": "1"}


class Inspect(launch.Case):
    """What a user sees."""

    def inspect(self, *args, **env):
        run = launch.run(launch.INSPECT, *args, **{**STRICT, **env})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stderr, "")
        return run.stdout

    def test_plugin(self):
        text = self.inspect("vkgdr")
        for element in launch.ELEMENTS:
            self.assertRegex(text, r"(?m)^  %s: \S" % element)
        self.assertIn("+-- %d elements" % len(launch.ELEMENTS), text)
        for line in ("Version", "License", "Source module", "Binary package"):
            self.assertRegex(text, r"(?m)^  %s  +\S" % line)

    def test_elements(self):
        for element in launch.ELEMENTS + EXAMPLES:
            with self.subTest(element):
                # GstBaseSrc has a property that is deprecated.
                env = {"G_ENABLE_DIAGNOSTIC": "0"} if "src" in element else {}
                text = self.inspect(element, **env)
                for part in (r"SINK template: 'sink(_%u)?'", "SRC template: 'src'"):
                    if element in launch.FILTERS + EXAMPLES:
                        self.assertRegex(text, part)
                for line in ("Long-name", "Klass", "Description", "Author"):
                    self.assertRegex(text, r"(?m)^  %s  +\S" % line)
                self.assertNotIn("(null)", text)
                # Each property with a blurb, and none of a type nobody knows.
                for name, blurb in re.findall(r"(?m)^  ([a-z-]+) +:(.*)$", text):
                    self.assertTrue(blurb.strip(), name)
                self.assertNotIn("Unknown type", text)
                # Figures that there are none of yet are 0, not -1.
                stats = re.split(r"\n  [a-z-]+ +:", text.partition("stats")[2])[0]
                self.assertNotIn("18446744073709551615", stats)

    def test_other_questions(self):
        self.assertIn("vkgdrupload", self.inspect())
        # Without a version, it is GStreamer's that the plugin has to have.
        self.inspect("--exists", "--atleast-version=0.1", "cudafilter")
        self.inspect("--print-blacklist")
        self.inspect("--print-plugin-auto-install-info", "vkgdr")
        # The program answers through its exit status alone.
        run = launch.run(launch.INSPECT, "--exists", "vkgdrnothing")
        self.assertEqual(run.returncode, 1)


class WithoutDevice(launch.Case):
    """A registry that is made where there is no GPU, and no other plugin."""

    def scan(self, *command, **env):
        """Returns the run, and the names of what was loaded or looked for."""
        out = self.path("ld")
        run = launch.run(
            *command,
            GST_REGISTRY_1_0=self.path("registry.bin"),
            GST_PLUGIN_SYSTEM_PATH_1_0="",
            LD_DEBUG="libs,files",
            LD_DEBUG_OUTPUT=out,
            **env,
        )
        loaded = ""
        for path in glob.glob(out + ".*"):
            with open(path, encoding="utf-8", errors="replace") as file:
                loaded += file.read()
            os.unlink(path)
        self.assertIn("libgstvkgdr.so", loaded)
        return run, sorted(set(DRIVERS.findall(loaded)))

    def check_silent(self, run, loaded):
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stderr, "")
        self.assertEqual(loaded, [])

    def test_scan(self):
        for fork in ("yes", "no"):
            with self.subTest(fork=fork):
                start = time.monotonic()
                run, loaded = self.scan(
                    launch.INSPECT, GST_REGISTRY_FORK=fork, **launch.NO_DEVICE
                )
                self.assertLess(time.monotonic() - start, QUICK)
                self.check_silent(run, loaded)
                for element in launch.ELEMENTS:
                    self.assertIn("vkgdr:  %s: " % element, run.stdout)
                self.assertNotIn("blacklisted", run.stdout)
                os.unlink(self.path("registry.bin"))

    def test_elements(self):
        for element in launch.ELEMENTS:
            with self.subTest(element):
                self.check_silent(
                    *self.scan(launch.INSPECT, element, **launch.NO_DEVICE)
                )

    def test_start(self):
        """The counter-example: a start looks for drivers, and says so, once."""
        run, loaded = self.scan(
            launch.LAUNCH, "vkgdrupload", "!", "vkgdrdownload", **launch.NO_DEVICE
        )
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("libcuda.so", loaded)
        self.assertEqual(run.stderr.count("ERROR: from element"), 1, run.stderr)
        self.assertIn("libcuda.so.1 cannot be loaded", run.stderr)
        self.assertNotIn("CRITICAL", run.stderr)


if __name__ == "__main__":
    raise SystemExit(launch.main())
