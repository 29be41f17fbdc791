#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of the file environment.sh, which sets variables for an installation.

    test-environment.py ENVIRONMENT.SH PREFIX [unittest's arguments]
"""

import subprocess
import sys
import unittest

FILE, PREFIX = sys.argv[1:3]
NAMES = ("LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "GST_PLUGIN_PATH", "GI_TYPELIB_PATH", "PYTHONPATH",
         "PATH")


def run_shell(program):
    """The variables that a strict shell has after the program."""
    show = "\n".join(f'echo "${name}"' for name in NAMES)
    output = subprocess.run(["/bin/sh", "-euc", f"{program}\n{show}", "sh", FILE],
                            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": "/own folder"},
                            stdout=subprocess.PIPE, encoding="utf-8", timeout=60, check=True)
    return dict(zip(NAMES, output.stdout.splitlines()))


class Environment(unittest.TestCase):
    def test_folders_come_first_and_what_was_set_stays(self):
        once = run_shell('. "$1"')
        for name, value in once.items():
            self.assertTrue(value.startswith(PREFIX + "/"), f"{name}={value}")
        self.assertTrue(once["PYTHONPATH"].endswith(":/own folder"), once)
        self.assertEqual(run_shell('. "$1"; . "$1"'), once)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
