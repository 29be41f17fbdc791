#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of the lines that `meson install` prints: a shell can execute them.

    test-after-install.py SOURCE-FOLDER [unittest's arguments]

Runs scripts/after-install as Meson does, and the printed lines in a shell.
"""

import os
import subprocess
import sys
import unittest

SCRIPT = os.path.join(sys.argv[1], "scripts", "after-install")
TIME_LIMIT = 60  # seconds, for one run


def run_shell(program, *args, **environment):
    """Returns the output of a shell with only these variables, and with PATH."""
    return subprocess.run(
        ["/bin/sh", "-euc", program, "sh", *args],
        env={"PATH": os.environ["PATH"], **environment},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        timeout=TIME_LIMIT,
        check=True,
    ).stdout


def printed_lines(prefix, **environment):
    lib = f"{prefix}/lib"
    # The script writes to the standard output of its parent, so it needs one.
    output = run_shell(
        '"$@"; true',
        SCRIPT,
        lib,
        f"{lib}/girepository-1.0",
        f"{lib}/python",
        "/usr/lib/gstreamer-1.0",
        MESON_INSTALL_DESTDIR_PREFIX=prefix,
        **environment,
    )
    return "\n".join(line for line in output.splitlines() if line.startswith("  export "))


class Lines(unittest.TestCase):
    def test_folders(self):
        for prefix in "/opt/vkgdr", "/opt/two words", "/opt/$HOME`pwd`\\\"'":
            with self.subTest(prefix=prefix):
                lines = printed_lines(prefix)
                names = ("LD_LIBRARY_PATH", "GST_PLUGIN_PATH", "GI_TYPELIB_PATH", "PYTHONPATH")
                values = ("lib", "lib/gstreamer-1.0", "lib/girepository-1.0", "lib/python")
                show = "\n".join(f'echo "${name}"' for name in names)
                printed = run_shell(f"{lines}\n{show}").splitlines()
                self.assertEqual(printed, [f"{prefix}/{value}" for value in values])
                path = run_shell(f'{lines}\necho "$PATH"').strip()
                self.assertEqual(path, f"{prefix}/bin:{os.environ['PATH']}")

    def test_a_folder_is_put_in_front(self):
        lines = printed_lines("/opt/two words")
        printed = run_shell(f'{lines}\necho "$PYTHONPATH"', PYTHONPATH="/own folder").strip()
        self.assertEqual(printed, "/opt/two words/lib/python:/own folder")

    def test_nothing_is_printed_for_a_staged_installation(self):
        self.assertEqual(printed_lines("/opt/vkgdr", DESTDIR="/tmp/stage"), "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
