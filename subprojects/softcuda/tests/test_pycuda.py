# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs PyCUDA's own tests with Debian's PyCUDA on softcuda.

PyCUDA is not adapted to softcuda. The test is skipped unless tests/fetch-pycuda has
unpacked PyCUDA for this version of Python. Environment: softcuda's folder is in PATH and
LD_LIBRARY_PATH.
"""

import glob
import os
import subprocess
import sys
import tempfile

# All tests of the driver, except for what softcuda does not support. One test of each
# kind of the hundreds with arrays, which take minutes.
TESTS = ("(TestDriver and not (texture or surface or recursive or jit_link))"
         " or test_sum or test_sqrt or test_view_and_strides or test_reverse")

cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
drivers = glob.glob(os.path.join(
    cache, "softcuda/pycuda-*/usr/lib/python3/dist-packages/pycuda",
    f"_driver.cpython-{sys.version_info[0]}{sys.version_info[1]}*.so"))
tests = [os.path.join(driver.split("/usr/lib/python3/")[0], "src/test") for driver in drivers]
if not tests or not os.path.isdir(tests[0]):
    print("skipped: no PyCUDA for this Python: run tests/fetch-pycuda")
    sys.exit(77)
packages = os.path.dirname(os.path.dirname(drivers[0]))
libraries = glob.glob(os.path.join(packages, "../../*-linux-gnu*"))
with tempfile.TemporaryDirectory() as folder:
    sys.exit(subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-k", TESTS, tests[0]],
        env={**os.environ, "PYTHONPATH": packages, "XDG_CACHE_HOME": folder,
             "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
             "LD_LIBRARY_PATH": ":".join([os.environ["LD_LIBRARY_PATH"], *libraries])},
        cwd=folder, check=False).returncode)
