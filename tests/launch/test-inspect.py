#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs gst-inspect-1.0 for the plugin and its elements, also without a device.

    test-inspect.py GST-LAUNCH GST-INSPECT [unittest's arguments]

Each element is listed, and nothing is written to standard error. On a machine
without a GPU, the plugin is registered without a message. The texts are tested
in tests/gst/inspect.c.
"""

import glob
import os
import re
import time

import launch

EXAMPLES = ("vkgdrexampletint", "vkgdrexampleborder")

# Libraries that open a device, or compile for one.
DRIVERS = re.compile(r"libcuda\.so|libvulkan|libnvidia|libnvrtc|libLLVM")

# The longest time until a registry with one plugin is made, in seconds. It usually
# takes a hundredth of that.
QUICK = 5

# Warnings and the use of deprecated functions abort the program.
STRICT = {"G_DEBUG": "fatal-warnings", "G_ENABLE_DIAGNOSTIC": "1"}


class Inspect(launch.Case):
    """The output that a user sees."""

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
                # GstBaseSrc has a deprecated property.
                env = {"G_ENABLE_DIAGNOSTIC": "0"} if "src" in element else {}
                text = self.inspect(element, **env)
                self.assertRegex(text, r"(?m)^  Long-name  +\S")
                self.assertNotRegex(text, r"\(null\)|Unknown type")
                # Statistics without a value yet are 0, not -1.
                stats = re.split(r"\n  [a-z-]+ +:", text.partition("stats")[2])[0]
                self.assertNotIn("18446744073709551615", stats)

    def test_other_questions(self):
        self.assertIn("vkgdrupload", self.inspect())
        # Without an option for the version, gst-inspect-1.0 demands its own version.
        self.inspect("--exists", "--atleast-version=0.1", "cudafilter")
        self.inspect("--print-blacklist")
        self.inspect("--print-plugin-auto-install-info", "vkgdr")
        # With --exists, the exit status is the only output.
        run = launch.run(launch.INSPECT, "--exists", "vkgdrnothing")
        self.assertEqual(run.returncode, 1)


class WithoutDevice(launch.Case):
    """A registry is made on a machine without a GPU, with no other plugin."""

    def scan(self, *command, **env):
        """Returns the result, and the names of the libraries that were loaded or
        searched.
        """
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

    def check_silent(self, *command, **env):
        run, loaded = self.scan(launch.INSPECT, *command, **launch.NO_DEVICE, **env)
        self.assertEqual((run.returncode, run.stderr, loaded), (0, "", []))
        return run.stdout

    def test_scan(self):
        for fork in ("yes", "no"):
            with self.subTest(fork=fork):
                start = time.monotonic()
                text = self.check_silent(GST_REGISTRY_FORK=fork)
                self.assertLess(time.monotonic() - start, QUICK)
                for element in launch.ELEMENTS:
                    self.assertIn("vkgdr:  %s: " % element, text)
                self.assertNotIn("blacklisted", text)
                os.unlink(self.path("registry.bin"))

    def test_elements(self):
        for element in launch.ELEMENTS:
            with self.subTest(element):
                self.check_silent(element)

    def test_start(self):
        """Shows that the tests above can find loaded drivers: an element that
        is started searches drivers, and posts one error.
        """
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
