# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: python3 -m gst_vkgdr [OPTION…]

Prints what vkgdr-info prints: the devices, and what they can do. Its options are
vkgdr-info's, such as --json.

  --env   prints the settings for a shell: eval "$(python3 -m gst_vkgdr --env)"
"""

import os
import shlex
import sys

from . import _HERE, environment


def main() -> None:
    """Prints the settings, or becomes vkgdr-info."""
    if sys.argv[1:] == ["--env"]:
        for name, value in environment().items():
            print(f"export {name}={shlex.quote(value)}")
        return
    os.environ.update(environment())
    program = os.path.join(_HERE, "bin", "vkgdr-info")
    os.execv(program, [program, *sys.argv[1:]])


main()
