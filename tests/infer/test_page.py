# SPDX-License-Identifier: LGPL-2.1-or-later
"""The commands of docs/inference.md, "The first box", as they stand there, with a clip and a
network of the test that have the names of the page.
"""

import os
import re
import unittest
from typing import List

os.environ["VKGDR_DRIVER"] = os.environ.get("VKGDR_DRIVER", "software")

import launch  # noqa: E402
import networks  # noqa: E402
from infer_support import Box, Folder, encode, picture  # noqa: E402

import numpy as np  # noqa: E402

PAGE = os.path.join(os.path.dirname(__file__), "../../docs/inference.md")
WIDTH, HEIGHT = 640, 480
BOXES = [Box(40 + 60 * i, 100 + 20 * i, 90, 60) for i in range(6)]


def commands() -> List[str]:
    with open(PAGE, encoding="utf-8") as file:
        section = re.split(r"^## ", file.read(), flags=re.MULTILINE)[1]
    return [block for block in re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
            if block.startswith("gst-launch-1.0")]


class Page(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Folder()
        self.addCleanup(self.folder.folder.cleanup)

    def shell(self, command: str) -> str:
        result = launch.run("env", "-C", self.folder.folder.name, "bash", "-c", command)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def test_the_first_box(self) -> None:
        """The printed text is the .modelinfo with which the boxes are found and drawn."""
        encode([picture(WIDTH, HEIGHT, box) for box in BOXES], self.folder.path("street.mp4"))
        networks.yolo(self.folder.path("yolo11n.onnx"), boxes=8400)
        first, second = commands()
        printed = self.shell(first)
        text = re.search(r"^\[modelinfo\]\n(\[.*\]\n|.+=.+\n|\n)*", printed, re.MULTILINE)
        assert text, printed
        self.folder.modelinfo(self.folder.path("yolo11n.onnx"), text.group())
        self.assertIn("autovideosink", second)
        self.shell(second.replace(
            "autovideosink", "video/x-raw,format=RGB ! filesink location=drawn"))
        frames = np.fromfile(self.folder.path("drawn"), np.uint8).reshape(-1, HEIGHT, WIDTH, 3)
        self.assertEqual(len(frames), len(BOXES))
        for frame, box in zip(frames.astype(int), BOXES):
            y, x = np.nonzero(np.ptp(frame, axis=2) > 60)  # the clip has no colours
            for found, expected in zip((x.min(), y.min(), x.max() + 1, y.max() + 1),
                                       (box.x, box.y, box.x + box.width, box.y + box.height)):
                self.assertAlmostEqual(found, expected, delta=8)


if __name__ == "__main__":
    raise SystemExit(launch.main())
