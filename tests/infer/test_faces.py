# SPDX-License-Identifier: LGPL-2.1-or-later
"""Faces of a photograph, found by BlazeFace, which tests/infer/fetch-faces fetches."""

import os
import sys
import unittest
from typing import List

os.environ["VKGDR_DRIVER"] = os.environ.get("VKGDR_DRIVER", "software")

import networks  # noqa: E402
from gst_support import GstVkgdr, play  # noqa: E402
from infer_support import (  # noqa: E402
    SINK, Box, Folder, detections, encode, run)

import numpy as np  # noqa: E402

CACHE = os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "gst-vkgdr/faces")
if not os.path.isdir(CACHE):
    print("skipped: tests/infer/fetch-faces fetches the networks and the photograph")
    sys.exit(77)

# From the brows to the chin, in the photograph's 512 x 512 pixels; measured by eye.
FACE = Box(175, 75, 100, 105)
DECODER = "ultralightfacedetectortensordec"
MODELINFO = networks.FACE_MODELINFO.replace("dims=1,1,", "dims=1,896,") + """
[input:0]
ranges=-1.0,1.0
"""


def photograph() -> np.ndarray:
    (sample,) = play(f"filesrc location={CACHE}/astronaut.png ! pngdec ! videoconvert "
                     "! video/x-raw,format=RGB ! appsink name=sink")
    buffer = sample.get_buffer()
    return np.frombuffer(buffer.extract_dup(0, buffer.get_size()), np.uint8).reshape(512, 512, 3)


class Faces(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Folder()
        self.addCleanup(self.folder.folder.cleanup)
        self.photograph = photograph()

    def network(self, name: str) -> str:
        path = self.folder.path(f"{name}.onnx")
        networks.faces(f"{CACHE}/{name}.onnx", path)
        return self.folder.modelinfo(path, MODELINFO)

    def assert_faces(self, found: List[Box], expected: List[Box]) -> None:
        self.assertEqual(len(found), len(expected), found)
        for box, face in zip(sorted(found), sorted(expected)):
            for a, size, b, wanted in ((box.x, box.width, face.x, face.width),
                                       (box.y, box.height, face.y, face.height)):
                self.assertAlmostEqual(a + size / 2, b + wanted / 2, delta=wanted * 0.2)
                self.assertAlmostEqual(size, wanted, delta=wanted * 0.3)

    def test_one_face(self) -> None:
        for name in "front", "back":
            for format in "NV12", "RGBA", "I420", "P010_10LE":
                with self.subTest(f"{name} {format}"):
                    (sample,) = run(
                        [self.photograph], f"video/x-raw,format={format} ! vkgdrupload "
                        f"! vkgdrinfer model-file={self.network(name)} ! {DECODER} "
                        f"! {SINK}")
                    self.assert_faces(detections(sample.get_buffer()), [FACE])

    def test_four_faces(self) -> None:
        """In a wide frame. A second network could get each of them."""
        frame = np.zeros((512, 960, 3), np.uint8)
        faces = []
        for i, left in enumerate((0, 240, 480, 720)):
            part = self.photograph[:480, 100:340]
            frame[:480, left:left + 240] = part[:, ::-1] if i % 2 else part
            x = 340 - FACE.x - FACE.width if i % 2 else FACE.x - 100
            faces.append(FACE._replace(x=left + x))
        elements = (f"video/x-raw,format=NV12 ! vkgdrupload ! vkgdrinfer "
                    f"model-file={self.network('back')} ! {DECODER} ")
        (sample,) = run([frame], f"{elements} ! {SINK}")
        self.assert_faces(detections(sample.get_buffer()), faces)
        (sample,) = run([frame], f"{elements} ! vkgdrupload ! vkgdrtensor region=roi width=64 "
                                 f"height=64 batch=4 ! {SINK}")
        self.assertEqual(GstVkgdr.buffer_get_tensor_batch_meta(sample.get_buffer()).n_frames, 4)

    def test_clip(self) -> None:
        """The pipeline of docs/inference.md, with a clip of H.264."""
        path = self.folder.path("clip.mp4")
        encode([np.roll(self.photograph, 20 * i, axis=1) for i in range(5)], path)
        samples = play(
            f"filesrc location={path} ! decodebin ! vkgdrupload ! vkgdrinfer "
            f"model-file={self.network('back')} ! queue ! tensordecodebin ! tee name=t "
            "t. ! queue ! appsink name=sink sync=false t. ! queue ! vkgdrupload "
            "! cudafilter kernel=boxes ! vkgdrdownload ! videoconvert ! fakesink")
        self.assertEqual(len(samples), 5)
        for i, sample in enumerate(samples):
            self.assert_faces(detections(sample.get_buffer()), [FACE._replace(x=FACE.x + 20 * i)])


if __name__ == "__main__":
    unittest.main()
