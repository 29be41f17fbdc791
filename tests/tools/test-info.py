#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of vkgdr-info on the software device, and without drivers.

    test-info.py VKGDR-INFO [unittest's arguments]

Runs the program as a user does, with both forms of its output, and checks the verdict,
the remedy and the exit status. Does not depend on how the program examines the machine.
The test is skipped if there is no software device.
"""

import fnmatch
import json
import os
import subprocess
import sys
import unittest

INFO = sys.argv[1]
# Variables of the user that would change the result of a test have these prefixes.
CHOICES = ("CUDA_", "SOFTCUDA_", "VKGDR_", "VK_")
# Patterns of members in JSON.
FACTS = {
    '".+"': "version copy-isa host-compiler driver name vulkan-driver compiler",
    "true|false": "nvidia-kernel-driver container wsl",
    "true": "software has-window coherent host-cached",
    "null": "driver-error why-software error compiler-error pci-address bar-size"
            " compute-capability",
    "0": "device memory-type",
    "[1-9][0-9]*": "window-size window-budget window-free memory-size",
    '"default"': "compute-mode",
    '"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"': "uuid",
    '"1?[0-9].[0-9]"': "cuda-driver",
    '"1(.[0-9]+){2}"': "vulkan-api",
}
NOWHERE = "/proc/missing.json"
LIBRARY = "/proc/missing/libvulkan.so.1"

# Settings; a pattern of the level with all findings, the verdict, the remedy and the error; and
# words of the text for users.
SIMULATED = [
    ({}, "limited: software | *for development only* | *unset VKGDR_DRIVER | None", ""),
    ({"VKGDR_DEBUG": "bar=256M"}, "limited: software simulated | *VKGDR_DEBUG=bar=256M makes* |"
     " *unset VKGDR_DEBUG | None", "window-size        256 MiB\n"),
    ({"VKGDR_DEBUG": "non-coherent"}, "limited: software non-coherent simulated | *flushed* | *",
     "coherent           no"),
    ({"SOFTCUDA_CXX": "/proc/missing/c++"}, "limited: software no-compiler | *compiled |"
     " *SOFTCUDA_CXX* | None", "SOFTCUDA_CXX=/proc/missing/c++"),
    # without a window, or without room in it
    ({"VKGDR_DEBUG": "no-window"}, "limited: software no-window simulated | *(staged)* |"
     " *unset VKGDR_DRIVER; unset VKGDR_DEBUG | *device-local and host-visible*",
     "has-window         no"),
    ({"VKGDR_DEBUG": "bar=1K"}, "limited: software window-memory simulated | *(staged): not even* |"
     " *unset VKGDR_DRIVER; unset VKGDR_DEBUG | *the window has 1024 bytes*",
     "window-size        1 KiB\n"),
    ({"VK_DRIVER_FILES": NOWHERE, "VK_ICD_FILENAMES": NOWHERE}, "limited: software vulkan-driver |"
     " *(staged)* | *VK_DRIVER_FILES* | *", f"VK_DRIVER_FILES={NOWHERE}"),
    ({"VKGDR_VULKAN_LIBRARY": LIBRARY}, "limited: software vulkan-loader | *(staged)* |"
     f' *unset VKGDR_VULKAN_LIBRARY (it is "{LIBRARY}"), or let* | *{LIBRARY}*', ""),
    ({"VKGDR_DEBUG": "no-vulkan"}, "limited: software vulkan-loader simulated | *(staged)* |"
     " *unset VKGDR_DRIVER; unset VKGDR_DEBUG | *", ""),
    ({"SOFTCUDA_FAIL": "cuImportExternalMemory:1+:CUDA_ERROR_NOT_SUPPORTED"},
     "limited: software window-memory | *(staged): not even* | *unset VKGDR_DRIVER;"
     " cuImportExternalMemory failed* | *CUDA_ERROR_NOT_SUPPORTED*", "has-window         yes"),
    # not usable
    ({"SOFTCUDA_FAIL": "cuImportExternalMemory:1+,cuMemAlloc:1+"},
     "unusable: software no-memory | * | *nvidia-smi* | *CUDA_ERROR_UNKNOWN*", ""),
    ({"VKGDR_DEBUG": 'ba"d'}, 'unusable: software settings | * | *valid words are* | *"ba"d"*',
     'VKGDR_DEBUG=ba"d'),
    ({"SOFTCUDA_FAIL": "cuDevicePrimaryCtxRetain:1:CUDA_ERROR_OUT_OF_MEMORY"},
     "unusable: software no-context | * | *nvidia-smi* | *CUDA_ERROR_OUT_OF_MEMORY*", ""),
    ({"SOFTCUDA_FAIL": "cuDeviceGet:1+"}, "unusable: software no-context | * | *dmesg* |"
     " *cuDeviceGet: CUDA_ERROR_UNKNOWN*", ""),
    ({"SOFTCUDA_FAIL": "cuMemcpyDtoH:1"}, "unusable: software wrong-bytes | * |"
     " *another version of the driver* | *CUDA_ERROR_UNKNOWN*", ""),
    ({"SOFTCUDA_FAIL": "cuDeviceGetUuid:1"}, "unusable: software cuda-device | * | *dmesg* |"
     " *CUDA_ERROR_UNKNOWN*", "device 0: unknown"),
    # no device: the error is that of the driver
    ({"VKGDR_SOFTCUDA_DIR": "/proc/missing"}, "unusable: cuda-driver | *no CUDA driver* |"
     " *VKGDR_SOFTCUDA_DIR* | *libcuda.so.1*", "/proc/missing/libcuda.so.1"),
]


def info(*args, stdout=subprocess.PIPE, **environment):
    clean = {k: v for k, v in os.environ.items()
             if k == "VKGDR_SOFTCUDA_DIR" or not k.startswith(CHOICES)}
    clean["VKGDR_DRIVER"] = "software"
    return subprocess.run([INFO, *args], stdin=subprocess.DEVNULL, stdout=stdout,
                          stderr=subprocess.PIPE, env=dict(clean, **environment),
                          encoding="utf-8", errors="surrogateescape", timeout=60,
                          check=False)


class Reports(unittest.TestCase):
    def report(self, status, **environment):
        """Runs the program with both forms of output, and checks that they agree. Returns the
        text, the JSON, and the part of this that has the verdict."""
        text, run = info(**environment), info("--json", **environment)
        self.assertEqual((text.returncode, run.returncode), (status, status), text.stderr)
        machine = json.loads(run.stdout)
        (part,) = machine["devices"] or [machine]
        verdict, found = part["verdict"], part["verdict"]["findings"]
        start = {"limited": "works, but ", "unusable": "not usable: "}[verdict["level"]]
        self.assertEqual(verdict["text"], start + "; ".join(f["text"] for f in found))
        self.assertEqual(verdict["remedy"], "; ".join(f["remedy"] for f in found if f["remedy"]))
        self.assertIn(f"  verdict            {verdict['text']}\n"
                      f"  remedy             {verdict['remedy']}\n", text.stdout)
        return text.stdout, machine, part

    def test_verdicts(self):
        for settings, pattern, shown in SIMULATED:
            with self.subTest(**settings):
                text, machine, part = self.report(int("unusable" in pattern), **settings)
                verdict = part["verdict"]
                ids = " ".join(finding["id"] for finding in verdict["findings"])
                error = machine["driver-error"] if part is machine else part["error"]
                found = " | ".join((f"{verdict['level']}: {ids}", verdict["text"],
                                    verdict["remedy"], str(error)))
                self.assertTrue(fnmatch.fnmatchcase(found, pattern), f"{found}\nis not\n{pattern}")
                self.assertIn(shown, text)
                self.assertEqual(machine["driver"], None if part is machine else "softcuda")
                if part.get("has-window") is False:
                    for field in "window-size", "window-free", "coherent", "memory-type":
                        self.assertIsNone(part[field], field)

    def test_facts(self):
        odd = 'a"b\\c\td\x7fé\udcff'  # its last byte, 0xff, is no UTF-8
        settings = {"CUDA_DEVICE": "0", "CUDA_HOME": "/a", "CUDA_PATH": "/b",
                    "NVIDIA_VISIBLE_DEVICES": odd}
        text, machine, device = self.report(0, **settings)
        for name, value in {**settings, "VKGDR_DRIVER": "software"}.items():
            value = value.replace("\udcff", "\ufffd")
            self.assertEqual(machine["settings"][name], value)
            self.assertIn(f"{name}={value}", text)
        facts = {**machine, **device}
        for pattern, fields in FACTS.items():
            for field in fields.split():
                self.assertRegex(json.dumps(facts[field]), f"^({pattern})$", field)
                if isinstance(facts[field], str):
                    self.assertIn(facts[field], text)
        self.assertEqual(device["window-free"], device["window-budget"] - device["window-usage"])
        used = device["memory-types"][device["memory-type"]]
        self.assertLessEqual({"device-local", "host-visible", "host-coherent"}, set(used["flags"]))
        self.assertEqual(used["heap-size"], device["window-size"])


class Arguments(unittest.TestCase):
    def test_arguments(self):
        for status, text, *arguments in (
            (0, "--json", "--help"), (0, "vkgdr-info ", "--version"),
            (2, "vkgdr-info --help", "--nonsense"), (2, "vkgdr-info --help", "json"),
            (2, "vkgdr-info --help", "--json", "json"), (2, "vkgdr-info --help", ""),
        ):
            with self.subTest(arguments=arguments):
                run = info(*arguments)
                shown, empty = (run.stderr, run.stdout) if status else (run.stdout, run.stderr)
                self.assertEqual((run.returncode, empty), (status, ""))
                self.assertIn(text, shown)

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
