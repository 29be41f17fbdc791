# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of vkgdr.pycuda without PyCUDA.

tests/softcuda/pycuda tests it with Debian's PyCUDA.
"""

import unittest

import support


class WithoutPycuda(unittest.TestCase):
    def test_the_import_says_what_is_missing(self) -> None:
        result = support.run_python(
            "import sys; sys.modules['pycuda'] = None; import vkgdr; import vkgdr.pycuda"
        )
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, "ImportError: vkgdr.pycuda needs PyCUDA, .*python3-pycuda")


if __name__ == "__main__":
    support.main()
