# SPDX-License-Identifier: LGPL-2.1-or-later
"""Raw video by RTP into GPU memory, as scripts/bench-rtp receives and measures it.

The stream fits into the receive buffer as a whole.
"""

import json
import os
import sys
import unittest

import launch

SCRIPT = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "bench-rtp"
)
FRAMES = 30


def measure(*options):
    run = launch.run(
        sys.executable, SCRIPT, *options,
        *f"--width 160 --height 120 --fps 60 --json --frames {FRAMES}".split(),
    )
    if run.returncode not in (0, 1):
        raise AssertionError(run.stderr)
    return run.returncode, json.loads(run.stdout)


class Rtp(unittest.TestCase):
    def test_all_frames(self):
        status, results = measure("--access", "direct")
        self.assertEqual(status, 0)
        for name, direct in (("system", 0), ("vkgdrupload", 1)):
            self.assertEqual(len(results[name]), 2)
            for result in results[name]:
                self.assertEqual(
                    [result[key] for key in ("frames", "damaged", "absent", "direct")],
                    [FRAMES, 0, 0, direct],
                )
                self.assertGreater(result["cpu"], 0)
        self.assertGreater(results["cpu-ratio"], 0)
        self.assertGreaterEqual(results["cpu-spread"], 1)

    def test_lost_packets(self):
        """The receive buffer has room for one packet, and 28 are sent at a
        time.
        """
        status, results = measure("--buffer", "1", "--receivers", "1")
        self.assertEqual(status, 1)
        for name in ("system", "vkgdrupload"):
            (result,) = results[name]
            self.assertGreater(result["damaged"] + result["absent"], 0)


if __name__ == "__main__":
    for element in ("rtpvrawdepay", "imagefreeze"):
        if launch.run(launch.INSPECT, "--exists", element).returncode != 0:
            print(element, "is missing")
            raise SystemExit(77)
    raise SystemExit(launch.main())
