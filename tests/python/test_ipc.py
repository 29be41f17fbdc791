# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of tensors from another process: this process runs vkgdrtensor !
vkgdripcsink, and a second process of this program runs vkgdripcsrc ! appsink.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Dict, Iterator, List

from gst_support import Gst, GstVkgdr, host_bytes

import gst_support
import support

TENSORS = (
    "videotestsrc num-buffers=6 pattern=ball ! video/x-raw,format=NV12,width=64,height=48 "
    "! vkgdrupload ! vkgdrtensor width=40 height=30 batch=2 type={type}"
)
SHAPE = [2, 3, 30, 40]
TIME_LIMIT = 60  # seconds


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def error_of(pipeline: Gst.Pipeline, wanted: Gst.MessageType) -> str:
    """Waits for a message of type @wanted. Returns the error that comes instead."""
    message = pipeline.get_bus().timed_pop_filtered(
        TIME_LIMIT * Gst.SECOND, Gst.MessageType.ERROR | wanted
    )
    if message is None:
        return "nothing has happened"
    return "" if message.type == wanted else message.parse_error()[0].message


def run(description: str) -> Iterator[Gst.Sample]:
    """Runs a pipeline with an appsink to its end. Yields its samples."""
    pipeline = Gst.parse_launch(description + " ! appsink name=sink sync=false max-buffers=1")
    sink = pipeline.get_by_name("sink")
    pipeline.set_state(Gst.State.PLAYING)
    while True:
        sample = sink.emit("pull-sample")
        if sample is None:
            break
        yield sample
    error = error_of(pipeline, Gst.MessageType.EOS)
    pipeline.set_state(Gst.State.NULL)
    if error:
        raise SystemExit(error)


# --- in the other process -------------------------------------------------------


def describe(sample: Gst.Sample) -> Dict[str, Any]:
    """Describes a tensor as an array of the device, as one of NumPy, and by DLPack."""
    buffer, caps = sample.get_buffer(), sample.get_caps()
    with GstVkgdr.mapped(buffer, caps) as (pixels,):
        host = pixels.copy()
    with GstVkgdr.device_array(buffer, caps) as array:
        copy = gst_support.download(GstVkgdr.memory_from_dlpack(array))
        return {
            "shapes": [list(array.shape), list(host.shape)],
            "types": [array.typestr, host.dtype.str],
            "digests": [digest(host.tobytes()), digest(copy)],
        }


def consume(path: str) -> None:
    for sample in run(f"vkgdripcsrc socket-path={path}"):
        print(json.dumps(describe(sample)), flush=True)


# --- the test -------------------------------------------------------------------


class Tensors(unittest.TestCase):
    def setUp(self) -> None:
        support.load("numpy")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "socket")

    def run_consumer(self, type: str) -> List[Dict[str, Any]]:
        """Returns the other process's descriptions of the tensors of this
        process.
        """
        consumer = subprocess.Popen(
            [sys.executable, __file__, "consume", self.path],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        pipeline = Gst.parse_launch(
            f"{TENSORS.format(type=type)} ! vkgdripcsink name=ipc socket-path={self.path} "
            "leaky=no wait-for-connection=true sync=false"
        )
        try:
            pipeline.set_state(Gst.State.PLAYING)
            self.assertEqual(error_of(pipeline, Gst.MessageType.EOS), "")
            stats = pipeline.get_by_name("ipc").get_property("stats")
        finally:
            pipeline.set_state(Gst.State.NULL)
            output, errors = consumer.communicate(timeout=TIME_LIMIT)
        self.assertEqual(consumer.returncode, 0, errors)
        # A tensor is in device-only memory, which has no file descriptor.
        self.assertEqual(stats.get_uint64("frames-copied")[1], 3)
        return [json.loads(line) for line in output.splitlines()]

    def test_arrays(self) -> None:
        for type, typestr in (("float32", "<f4"), ("float16", "<f2"), ("uint8", "|u1")):
            with self.subTest(type=type):
                expected = [
                    digest(host_bytes(sample.get_buffer()))
                    for sample in run(f"{TENSORS.format(type=type)} ! vkgdrdownload")
                ]
                self.assertEqual(len(set(expected)), 3)
                self.assertEqual(self.run_consumer(type), [
                    {"shapes": [SHAPE] * 2, "types": [typestr] * 2, "digests": [one] * 2}
                    for one in expected
                ])


if __name__ == "__main__":
    Gst.init(None)
    if sys.argv[1:2] == ["consume"]:
        consume(sys.argv[2])
    else:
        support.main()
