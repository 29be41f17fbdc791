# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests that a project with gst-vkgdr as a Meson subproject builds, and that its
programs run.

Arguments: the source folder of gst-vkgdr.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.abspath(sys.argv.pop(1))
PROJECT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "project")

# Options that the programs do not need. The test uses one compiler, and not a second
# one for the PTX of the effects.
OPTIONS = [
    f"-Dgst-vkgdr:{name}=disabled"
    for name in ("tests", "tools", "introspection", "softcuda", "effects-ptx", "docs")
]


# The build folder has another name in each run, which only changes the debug
# information. With this setting, ccache can use the results of an earlier run.
os.environ["CCACHE_NOHASHDIR"] = "1"


def run(*command):
    subprocess.run(command, check=True)


def output_of(*command):
    return subprocess.check_output(command, text=True)


class Subproject(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.project = os.path.join(folder.name, "project")
        self.build = os.path.join(folder.name, "build")

    def test_program(self):
        shutil.copytree(PROJECT, self.project)
        os.mkdir(os.path.join(self.project, "subprojects"))
        os.symlink(SOURCE, os.path.join(self.project, "subprojects", "gst-vkgdr"))
        # Only the fallback is used, because gst-vkgdr may be installed on this system.
        run("meson", "setup", "--wrap-mode=default",
            "--force-fallback-for=vkgdr,gstreamer-vkgdr-1.0", *OPTIONS, self.build, self.project)
        run("ninja", "-C", self.build, "program")
        self.assertRegex(output_of(os.path.join(self.build, "program")), r"^device \d+\n$")

    def test_without_gstreamer(self):
        run("meson", "setup", "-Dgstreamer=disabled", "-Dsoftcuda=disabled", self.build, SOURCE)
        plan = json.loads(output_of("meson", "introspect", "--install-plan", self.build))
        headers = {os.path.basename(name) for name in plan["headers"]}
        self.assertEqual(headers, {"vkgdr.h", "frames.h", "kernel.h"})


if __name__ == "__main__":
    if not shutil.which("meson") or not shutil.which("ninja"):
        raise SystemExit(77)
    unittest.main(verbosity=2)
