#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of vkgdr-info on the software device, and without drivers.

    test-info.py VKGDR-INFO [unittest's arguments]

Runs the program as a user does, with both forms of its output, and checks the verdict,
the remedy and the exit status. Does not depend on how the program examines the machine.
The test is skipped if there is no software device.
"""

import json
import os
import re
import subprocess
import sys
import unittest

INFO = sys.argv[1]

TIME_LIMIT = 60  # seconds, for one run

# Variables of the user that would change the result of a test.
CHOICES = (
    "CUDA_DEVICE CUDA_HOME CUDA_PATH CUDA_VISIBLE_DEVICES SOFTCUDA_CXX SOFTCUDA_FAIL VKGDR_DEBUG"
    " VKGDR_NVRTC VKGDR_VULKAN_LIBRARY VK_ADD_DRIVER_FILES VK_DRIVER_FILES VK_ICD_FILENAMES"
    " VK_LOADER_DRIVERS_DISABLE VK_LOADER_DRIVERS_SELECT"
).split()
UUID = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
NOWHERE = "/nonexistent.json"
LIBRARY = "/nonexistent/libvulkan.so.1"

# Settings, the level with all findings, and words of the verdict, the remedy, the device's error and the text for users.
SIMULATED = [
    ({}, "limited: software", "for development only", "unset VKGDR_DRIVER", "", ""),
    ({"VKGDR_DEBUG": "bar=256M"}, "limited: software small-window simulated",
     "just 256 MiB, and", "Resizable BAR", "", "268435456 bytes"),
    ({"VKGDR_DEBUG": "bar=257M"}, "limited: software simulated", "VKGDR_DEBUG=bar=257M ",
     "unset VKGDR_DEBUG", "", "host-cached        no"),
    ({"VKGDR_DEBUG": "non-coherent"}, "limited: software non-coherent simulated", "flushed", "",
     "", "coherent           no"),
    ({"SOFTCUDA_CXX": "/nonexistent/c++"}, "limited: software no-compiler", "compiled",
     "SOFTCUDA_CXX", "", "SOFTCUDA_CXX=/nonexistent/c++"),
    # without a window
    ({"VKGDR_DEBUG": "no-window"}, "limited: software no-window simulated", "takes a transfer",
     "Resizable BAR", "device-local and host-visible", "none: writers get a staging buffer"),
    ({"VK_DRIVER_FILES": NOWHERE, "VK_ICD_FILENAMES": NOWHERE}, "limited: software vulkan-driver",
     "takes a transfer", "VK_DRIVER_FILES", "", f"VK_DRIVER_FILES={NOWHERE}"),
    ({"VK_ICD_FILENAMES": NOWHERE}, "limited: software vulkan-driver", "takes a transfer",
     "VK_ICD_FILENAMES", "", "none: writers get a staging buffer"),
    ({"VKGDR_VULKAN_LIBRARY": LIBRARY}, "limited: software vulkan-loader", "takes a transfer",
     f'unset VKGDR_VULKAN_LIBRARY (it is "{LIBRARY}"), or let', LIBRARY, ""),
    ({"VKGDR_DEBUG": "no-vulkan"}, "limited: software vulkan-loader simulated",
     "takes a transfer", "unset VKGDR_DRIVER; unset VKGDR_DEBUG", "", ""),
    # not usable
    ({"VKGDR_DEBUG": "no-vulkan", "SOFTCUDA_FAIL": "cuMemAlloc:1:CUDA_ERROR_OUT_OF_MEMORY"},
     "unusable: software vulkan-loader no-memory simulated", "", "nvidia-smi",
     "CUDA_ERROR_OUT_OF_MEMORY", ""),
    ({"VKGDR_DEBUG": 'ba"d'}, "unusable: software settings", "", "correct VKGDR_DEBUG",
     '"ba"d"', 'VKGDR_DEBUG=ba"d'),
    ({"SOFTCUDA_FAIL": "cuDevicePrimaryCtxRetain:1:CUDA_ERROR_OUT_OF_MEMORY"},
     "unusable: software no-context", "", "nvidia-smi", "CUDA_ERROR_OUT_OF_MEMORY", ""),
    ({"SOFTCUDA_FAIL": "cuImportExternalMemory:1:CUDA_ERROR_NOT_SUPPORTED"},
     "unusable: software no-memory", "", "nvidia-smi", "CUDA_ERROR_NOT_SUPPORTED", ""),
    ({"SOFTCUDA_FAIL": "cuMemcpyDtoH:1"}, "unusable: software wrong-bytes", "",
     "another version of the driver", "CUDA_ERROR_UNKNOWN", ""),
    ({"SOFTCUDA_FAIL": "cuDeviceGet:1:CUDA_ERROR_INVALID_DEVICE"}, "unusable: cuda-device", "",
     "dmesg", "CUDA_ERROR_INVALID_DEVICE", "device 0: unknown"),
]
# The same without a device: settings, and words of the remedy and of the driver's error.
WITHOUT_DRIVER = [
    ({"VKGDR_DRIVER": "voodoo"}, "auto, nvidia or software", "voodoo"),
    ({"VKGDR_SOFTCUDA_DIR": "/nonexistent"}, "VKGDR_SOFTCUDA_DIR", ""),
]


def info(*args, stdout=subprocess.PIPE, **environment):
    clean = {k: v for k, v in os.environ.items() if k not in CHOICES}
    clean["VKGDR_DRIVER"] = "software"
    return subprocess.run([INFO, *args], stdin=subprocess.DEVNULL, stdout=stdout,
                          stderr=subprocess.PIPE, env=dict(clean, **environment),
                          encoding="utf-8", errors="surrogateescape", timeout=TIME_LIMIT,
                          check=False)


class Case(unittest.TestCase):
    """Runs the program with both forms of output, and checks that they agree."""

    def check(self, status, **environment):
        """Returns the text, and the data of the machine in the JSON."""
        text = info(**environment)
        self.assertEqual(text.returncode, status, text.stdout + text.stderr)
        run = info("--json", **environment)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        machine = json.loads(run.stdout)
        verdicts = [device["verdict"] for device in machine["devices"]] or [machine["verdict"]]
        for verdict in verdicts:
            self.check_verdict(verdict, text.stdout)
        self.assertEqual(text.stdout.count("\n  verdict  "), len(verdicts))
        return text.stdout, machine

    def check_verdict(self, verdict, text):
        start = {"ready": "ready: ", "limited": "works, but ", "unusable": "not usable: "}
        self.assertTrue(verdict["text"].startswith(start[verdict["level"]]))
        self.assertRegex(text, "  verdict +" + re.escape(verdict["text"]) + "\n")
        for finding in verdict["findings"]:
            self.assertIn(finding["text"], verdict["text"])
        remedies = [f["remedy"] for f in verdict["findings"] if f["remedy"]]
        self.assertEqual(verdict["remedy"], "; ".join(remedies) or None)
        if remedies:
            self.assertRegex(text, "  remedy +" + re.escape(verdict["remedy"]) + "\n")


class Verdicts(Case):
    def test_device(self):
        for settings, findings, text, remedy, error, shown in SIMULATED:
            with self.subTest(**settings):
                output, machine = self.check(int("unusable" in findings), **settings)
                (device,) = machine["devices"]
                verdict = device["verdict"]
                found = " ".join(finding["id"] for finding in verdict["findings"])
                self.assertEqual(f"{verdict['level']}: {found}", findings)
                self.assertIn(text, verdict["text"])
                self.assertIn(remedy, verdict["remedy"])
                self.assertIn(error, device["error"] or "")
                self.assertIn(shown, output)
                if text == "takes a transfer":
                    self.assertIs(device["has-window"], False)
                    for field in "window-size", "window-free", "coherent", "memory-type":
                        self.assertIsNone(device[field], field)

    def test_no_driver(self):
        cases = list(WITHOUT_DRIVER)
        if info(VKGDR_DRIVER="nvidia").returncode != 0:  # this machine has no such driver
            cases.append(({"VKGDR_DRIVER": "nvidia"}, "unset VKGDR_DRIVER", "libcuda.so.1"))
        for settings, remedy, error in cases:
            with self.subTest(**settings):
                text, machine = self.check(1, **settings)
                (finding,) = machine["verdict"]["findings"]
                self.assertEqual(finding["id"], "cuda-driver")
                self.assertIn(remedy, finding["remedy"])
                self.assertEqual(machine["devices"], [])
                self.assertIsNone(machine["driver"])
                self.assertIn(error, machine["driver-error"])
                self.assertIn(machine["driver-error"], text)


class Facts(Case):
    def test_machine(self):
        odd = 'a"b\\c\td\x7fé'
        text, machine = self.check(0, CUDA_DEVICE="0", CUDA_HOME="/a", CUDA_PATH="/b",
                                   VKGDR_NVRTC=odd)
        for name, value in (("VKGDR_DRIVER", "software"), ("CUDA_DEVICE", "0"),
                            ("CUDA_HOME", "/a"), ("CUDA_PATH", "/b"), ("VKGDR_NVRTC", odd)):
            self.assertEqual(machine["settings"][name], value)
            self.assertIn(f"{name}={value}", text)
        self.assertEqual(machine["driver"], "softcuda")
        self.assertIsNone(machine["driver-error"])
        for field in "version", "copy-isa", "host-compiler":
            self.assertTrue(machine[field], field)
        for field in "nvidia-kernel-driver", "container", "wsl":
            self.assertIs(type(machine[field]), bool, field)
        _, machine = self.check(0, VKGDR_NVRTC="\udcff")  # the byte 0xff is no UTF-8
        self.assertEqual(machine["settings"]["VKGDR_NVRTC"], "\ufffd")

    def test_device(self):
        text, machine = self.check(0)
        (device,) = machine["devices"]
        for field, expected in (
            ("device", 0), ("software", True), ("has-window", True), ("coherent", True),
            ("host-cached", True), ("pci-address", None), ("bar-size", None), ("error", None),
            ("compiler-error", None), ("compute-mode", "default"), ("compute-capability", None),
        ):
            self.assertEqual(device[field], expected, field)
        for field, pattern in (("uuid", UUID), ("cuda-driver", r"^[0-9]+\.[0-9]$"),
                               ("vulkan-api", r"^1\.[0-9]+\.[0-9]+$"), ("name", "."),
                               ("vulkan-driver", "."), ("compiler", ".")):
            self.assertRegex(device[field], pattern, field)
            self.assertIn(device[field], text)
        for field in "window-size", "window-budget", "window-free", "memory-size":
            self.assertIs(type(device[field]), int, field)
            self.assertGreater(device[field], 0, field)
        self.assertEqual(device["window-free"], device["window-budget"] - device["window-usage"])
        used = device["memory-types"][device["memory-type"]]
        self.assertLessEqual({"device-local", "host-visible", "host-coherent"}, set(used["flags"]))
        self.assertEqual(used["heap-size"], device["window-size"])


class Arguments(unittest.TestCase):
    def test_unknown(self):
        for wrong in ("--nonsense",), ("json",), ("--json", "json"), ("",):
            with self.subTest(arguments=wrong):
                run = info(*wrong)
                self.assertEqual((run.returncode, run.stdout), (2, ""))
                self.assertIn("vkgdr-info --help", run.stderr)

    def test_help_and_version(self):
        for option, text in ("--help", "--json"), ("--version", "vkgdr-info "):
            run = info(option)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            self.assertIn(text, run.stdout)

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            run = info("--json", stdout=full)
        self.assertEqual(run.returncode, 1)
        self.assertIn("standard output", run.stderr)


if __name__ == "__main__":
    if info().returncode != 0:
        print("vkgdr-info finds no software device")
        sys.exit(77)
    program = unittest.main(argv=sys.argv[:1] + sys.argv[2:], exit=False)
    sys.stdout.flush()
    sys.stderr.flush()
    # Python does not free all memory, which a leak checker would report.
    os._exit(not program.result.wasSuccessful())
