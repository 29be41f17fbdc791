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
    "CUDA_DEVICE",
    "CUDA_VISIBLE_DEVICES",
    "SOFTCUDA_CXX",
    "SOFTCUDA_FAIL",
    "VKGDR_DEBUG",
    "VKGDR_NVRTC",
    "VKGDR_VULKAN_LIBRARY",
    "VK_ADD_DRIVER_FILES",
    "VK_DRIVER_FILES",
    "VK_ICD_FILENAMES",
    "VK_LOADER_DRIVERS_DISABLE",
    "VK_LOADER_DRIVERS_SELECT",
)
UUID = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
NO_MANIFESTS = {
    "VK_DRIVER_FILES": "/nonexistent.json",
    "VK_ICD_FILENAMES": "/nonexistent.json",
}


def info(*args, **environment):
    clean = {k: v for k, v in os.environ.items() if k not in CHOICES}
    clean["VKGDR_DRIVER"] = "software"
    return subprocess.run(
        [INFO, *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(clean, **environment),
        encoding="utf-8",
        errors="surrogateescape",
        timeout=TIME_LIMIT,
        check=False,
    )


def has_software_device():
    return info().returncode == 0


def has_nvidia_driver():
    return info(VKGDR_DRIVER="nvidia").returncode == 0


class Case(unittest.TestCase):
    """Runs the program with both forms of output, and checks that they agree."""

    def check(self, status, **environment):
        """Returns the text, and the data of the machine in the JSON."""
        text = info(**environment)
        self.assertEqual(text.returncode, status, text.stdout + text.stderr)
        run = info("--json", **environment)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        machine = json.loads(run.stdout)
        for verdict in self.verdicts(machine):
            self.check_verdict(verdict, text.stdout)
        self.assertEqual(
            len(re.findall(r"^  verdict  ", text.stdout, re.MULTILINE)),
            len(self.verdicts(machine)),
        )
        return text.stdout, machine

    def verdicts(self, machine):
        if machine["devices"]:
            return [device["verdict"] for device in machine["devices"]]
        return [machine["verdict"]]

    def check_verdict(self, verdict, text):
        self.assertIn(verdict["level"], ("ready", "limited", "unusable"))
        self.assertRegex(text, "  verdict +" + re.escape(verdict["text"]) + "\n")
        start = {"ready": "ready: ", "limited": "works, but "}
        self.assertTrue(
            verdict["text"].startswith(start.get(verdict["level"], "not usable: "))
        )
        remedies = [f["remedy"] for f in verdict["findings"] if f["remedy"]]
        for finding in verdict["findings"]:
            self.assertIn(finding["text"], verdict["text"])
        if not remedies:
            self.assertIsNone(verdict["remedy"])
            return
        self.assertEqual(verdict["remedy"], "; ".join(remedies))
        self.assertRegex(text, "  remedy +" + re.escape(verdict["remedy"]) + "\n")

    def find(self, verdict, name):
        """Returns the finding with this name. Fails if there is none."""
        found = {finding["id"]: finding for finding in verdict["findings"]}
        self.assertIn(name, found)
        return found[name]


class Works(Case):
    """A device that can be used, as it is and with simulated limits."""

    def test_all_is_told(self):
        text, machine = self.check(0)
        self.assertEqual(machine["driver"], "softcuda")
        self.assertIsNone(machine["driver-error"])
        self.assertEqual(machine["settings"]["VKGDR_DRIVER"], "software")
        self.assertTrue(machine["version"])
        self.assertTrue(machine["copy-isa"])
        (device,) = machine["devices"]
        self.assertEqual(device["device"], 0)
        self.assertRegex(device["uuid"], UUID)
        self.assertIs(device["software"], True)
        self.assertIs(device["has-window"], True)
        self.assertIs(device["coherent"], True)
        self.assertIs(device["host-cached"], True)
        self.assertIsNone(device["pci-address"])
        self.assertIsNone(device["bar-size"])
        self.assertIsNone(device["error"])
        self.assertIsNone(device["compiler-error"])
        self.assertRegex(device["cuda-driver"], r"^[0-9]+\.[0-9]$")
        self.assertRegex(device["vulkan-api"], r"^1\.[0-9]+\.[0-9]+$")
        for field in "name", "vulkan-driver", "compiler", "uuid", "cuda-driver":
            self.assertTrue(device[field], field)
            self.assertIn(device[field], text)

    def test_sizes_are_integers(self):
        _, machine = self.check(0)
        (device,) = machine["devices"]
        for field in "window-size", "window-budget", "window-free", "memory-size":
            self.assertIs(type(device[field]), int, field)
            self.assertGreater(device[field], 0, field)
        self.assertEqual(
            device["window-free"], device["window-budget"] - device["window-usage"]
        )

    def test_memory_types(self):
        _, machine = self.check(0)
        (device,) = machine["devices"]
        used = device["memory-types"][device["memory-type"]]
        self.assertLessEqual(
            {"device-local", "host-visible", "host-coherent"}, set(used["flags"])
        )
        self.assertEqual(used["heap-size"], device["window-size"])

    def test_software_device(self):
        _, machine = self.check(0)
        verdict = machine["devices"][0]["verdict"]
        self.assertEqual(verdict["level"], "limited")
        self.assertIn("VKGDR_DRIVER", self.find(verdict, "software")["remedy"])
        self.assertIn("for development only", verdict["text"])

    def test_small_window(self):
        text, machine = self.check(0, VKGDR_DEBUG="bar=256M")
        (device,) = machine["devices"]
        self.assertEqual(device["window-size"], 256 << 20)
        self.assertIs(device["host-cached"], False)
        finding = self.find(device["verdict"], "small-window")
        self.assertIn("just 256 MiB", finding["text"])
        self.assertIn("Resizable BAR", finding["remedy"])
        self.assertIn("Above 4G decoding", finding["remedy"])
        self.assertIn("268435456 bytes", text)
        self.assertIn("takes a transfer", finding["text"])
        self.assertNotIn("fail", finding["text"])

    def test_large_window(self):
        _, machine = self.check(0, VKGDR_DEBUG="bar=257M")
        found = machine["devices"][0]["verdict"]["findings"]
        self.assertNotIn("small-window", [finding["id"] for finding in found])

    def test_window_is_not_coherent(self):
        text, machine = self.check(0, VKGDR_DEBUG="non-coherent")
        (device,) = machine["devices"]
        self.assertIs(device["coherent"], False)
        finding = self.find(device["verdict"], "non-coherent")
        self.assertIsNone(finding["remedy"])
        self.assertIn("flushed", finding["text"])
        self.assertIn("coherent           no", text)

    def test_what_is_simulated_is_called_so(self):
        _, machine = self.check(0, VKGDR_DEBUG="bar")
        finding = self.find(machine["devices"][0]["verdict"], "simulated")
        self.assertIn("VKGDR_DEBUG=bar ", finding["text"])
        self.assertEqual(finding["remedy"], "unset VKGDR_DEBUG")

    def test_no_compiler(self):
        _, machine = self.check(0, SOFTCUDA_CXX="/nonexistent/c++")
        self.assertIsNone(machine["host-compiler"])
        finding = self.find(machine["devices"][0]["verdict"], "no-compiler")
        self.assertIn("SOFTCUDA_CXX", finding["remedy"])

    def test_choice_of_a_device_is_told(self):
        text, machine = self.check(0, CUDA_DEVICE="0")
        self.assertEqual(machine["settings"]["CUDA_DEVICE"], "0")
        self.assertIn("CUDA_DEVICE=0", text)

    def test_kind_of_machine(self):
        _, machine = self.check(0)
        for field in "nvidia-kernel-driver", "container", "wsl":
            self.assertIs(type(machine[field]), bool, field)

    def test_texts_are_escaped(self):
        odd = 'a"b\\c\td\x7fé'
        _, machine = self.check(0, VKGDR_NVRTC=odd)
        self.assertEqual(machine["settings"]["VKGDR_NVRTC"], odd)

    def test_texts_of_no_encoding(self):
        _, machine = self.check(0, VKGDR_NVRTC="\udcff")  # the byte 0xff
        self.assertEqual(machine["settings"]["VKGDR_NVRTC"], "\ufffd")


class Staged(Case):
    """A device without a window works, and the remedy fits the cause."""

    def staged(self, name, **environment):
        text, machine = self.check(0, **environment)
        (device,) = machine["devices"]
        self.assertEqual(device["verdict"]["level"], "limited")
        self.assertIs(device["has-window"], False)
        for field in "window-size", "window-free", "coherent", "memory-type":
            self.assertIsNone(device[field], field)
        self.assertIsNone(device["compiler-error"])
        self.assertIn("none: writers get a staging buffer", text)
        finding = self.find(device["verdict"], name)
        self.assertIn("takes a transfer", finding["text"])
        return finding["remedy"], device

    def test_no_window(self):
        remedy, device = self.staged("no-window", VKGDR_DEBUG="no-window")
        self.assertIn("Resizable BAR", remedy)
        self.assertIn("device-local and host-visible", device["error"])
        self.assertTrue(device["memory-types"])
        self.assertTrue(device["vulkan-driver"])

    def test_no_vulkan_driver(self):
        remedy, device = self.staged("vulkan-driver", **NO_MANIFESTS)
        self.assertIn("VK_DRIVER_FILES", remedy)
        self.assertIn("lvp_icd", remedy)
        self.assertIn("softcuda", device["name"])
        self.assertRegex(device["uuid"], UUID)
        self.assertIsNone(device["vulkan-driver"])
        self.assertEqual(device["memory-types"], [])

    def test_no_manifests(self):
        _, machine = self.check(0, **NO_MANIFESTS)
        self.assertEqual(machine["vulkan-manifests"], [])

    def test_older_name_of_the_same_setting(self):
        files = NO_MANIFESTS["VK_ICD_FILENAMES"]
        remedy, _ = self.staged("vulkan-driver", VK_ICD_FILENAMES=files)
        self.assertIn("VK_ICD_FILENAMES", remedy)

    def test_no_vulkan_loader(self):
        library = "/nonexistent/libvulkan.so.1"
        remedy, device = self.staged("vulkan-loader", VKGDR_VULKAN_LIBRARY=library)
        self.assertIn(library, remedy)
        self.assertIn(library, device["error"])

    def test_vulkan_is_hidden(self):
        remedy, device = self.staged("vulkan-loader", VKGDR_DEBUG="no-vulkan")
        self.assertIsNone(remedy)
        self.assertEqual(device["verdict"]["remedy"].count("unset VKGDR_DEBUG"), 1)

    def test_no_memory_either(self):
        call = "cuMemAlloc:1:CUDA_ERROR_OUT_OF_MEMORY"
        _, machine = self.check(1, VKGDR_DEBUG="no-vulkan", SOFTCUDA_FAIL=call)
        (device,) = machine["devices"]
        self.assertEqual(device["verdict"]["level"], "unusable")
        self.find(device["verdict"], "no-memory")
        self.assertIn("CUDA_ERROR_OUT_OF_MEMORY", device["error"])


class Fails(Case):
    """No device can be used, and the remedy fits the cause."""

    def unusable(self, name, **environment):
        text, machine = self.check(1, **environment)
        (verdict,) = self.verdicts(machine)
        self.assertEqual(verdict["level"], "unusable")
        return self.find(verdict, name)["remedy"], text, machine

    def test_debug_cannot_be_read(self):
        remedy, text, machine = self.unusable("settings", VKGDR_DEBUG='ba"d')
        self.assertIn("VKGDR_DEBUG", remedy)
        self.assertIn('"ba"d"', machine["devices"][0]["error"])
        self.assertIn('VKGDR_DEBUG=ba"d', text)

    @unittest.skipIf(has_nvidia_driver(), "this machine has an NVIDIA driver")
    def test_no_nvidia_driver(self):
        remedy, text, machine = self.unusable("cuda-driver", VKGDR_DRIVER="nvidia")
        self.assertRegex(remedy, "NVIDIA|nvidia")
        self.assertIn("unset VKGDR_DRIVER", remedy)
        self.assertEqual(machine["devices"], [])
        self.assertIsNone(machine["driver"])
        self.assertIn("libcuda.so.1", machine["driver-error"])
        self.assertIn(machine["driver-error"], text)

    def test_unknown_driver(self):
        remedy, _, machine = self.unusable("cuda-driver", VKGDR_DRIVER="voodoo")
        self.assertIn("auto, nvidia or software", remedy)
        self.assertIn("voodoo", machine["driver-error"])

    def test_no_softcuda(self):
        remedy, _, _ = self.unusable("cuda-driver", VKGDR_SOFTCUDA_DIR="/nonexistent")
        self.assertIn("VKGDR_SOFTCUDA_DIR", remedy)

    def test_cuda_has_no_context(self):
        call = "cuDevicePrimaryCtxRetain:1:CUDA_ERROR_OUT_OF_MEMORY"
        remedy, _, machine = self.unusable("no-context", SOFTCUDA_FAIL=call)
        self.assertIn("nvidia-smi", remedy)
        self.assertIn("CUDA_ERROR_OUT_OF_MEMORY", machine["devices"][0]["error"])

    def test_memory_is_not_shared(self):
        call = "cuImportExternalMemory:1:CUDA_ERROR_NOT_SUPPORTED"
        _, _, machine = self.unusable("no-memory", SOFTCUDA_FAIL=call)
        self.assertIn("CUDA_ERROR_NOT_SUPPORTED", machine["devices"][0]["error"])

    def test_the_device_does_not_see_it(self):
        _, _, machine = self.unusable("wrong-bytes", SOFTCUDA_FAIL="cuMemcpyDtoH:1")
        self.assertIn("CUDA_ERROR_UNKNOWN", machine["devices"][0]["error"])
        self.assertIsNotNone(machine["devices"][0]["window-size"])

    def test_no_device_of_that_number(self):
        call = "cuDeviceGet:1:CUDA_ERROR_INVALID_DEVICE"
        _, _, machine = self.unusable("cuda-device", SOFTCUDA_FAIL=call)
        (device,) = machine["devices"]
        self.assertIsNone(device["name"])
        self.assertIsNone(device["uuid"])


class Arguments(unittest.TestCase):
    """Options and arguments."""

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
            run = subprocess.run(
                [INFO, "--json"],
                stdout=full,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                timeout=TIME_LIMIT,
                check=False,
            )
        self.assertEqual(run.returncode, 1)
        self.assertIn("standard output", run.stderr)


if __name__ == "__main__":
    if not has_software_device():
        print("vkgdr-info finds no software device")
        sys.exit(77)
    program = unittest.main(argv=sys.argv[:1] + sys.argv[2:], exit=False)
    sys.stdout.flush()
    sys.stderr.flush()
    # Python does not free all memory, which a leak checker would report.
    os._exit(not program.result.wasSuccessful())
