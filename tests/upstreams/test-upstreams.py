#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How the bytes of elements from Debian's packages reach the GPU.

    test-upstreams.py PART [unittest's arguments]

registry.py tries all elements, but not those that need files or another process, and not
by which way their bytes come. PART is a part of the table: decoders, filters, sources or
streams. Each of its elements is run with `vkgdrupload ! vkgdrdownload` after it and without
these, and the output must be the same. If docs/upstreams.md was made with the same version of GStreamer,
it must have the same results, which the test prints. An element that does not write
directly into GPU memory must have a reason there. Elements that are not installed are
skipped.

No data leave this machine: sockets are in a temporary folder, or use 127.0.0.1 and ports
that the kernel chooses.
"""

import os
import pathlib
import re
import socket
import sys
import tempfile
import unittest

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
from gi.repository import GLib, Gst, GstApp  # noqa: E402,F401

from table import FRAMES, HEIGHT, INPUTS, PARTS, WIDTH  # noqa: E402

TIME_LIMIT = 30 * Gst.SECOND  # time without a buffer
ATTEMPTS = 3  # for a sender whose packets may be lost

# The fields of vkgdrupload's stats, and their names in docs/upstreams.md.
WAYS = {
    "bytes-direct": "written directly",
    "bytes-staged": "staged",
    "bytes-dma": "DMA",
    "bytes-copied": "copied",
    "bytes-peer": "copied on the device",
    "bytes-untouched": "not written by the CPU",
}

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/upstreams.md"
PART_OF_ALL_ELEMENTS = "<!-- What follows is made by tests/upstreams/page.py. -->"
VERSION = re.compile(r"^Made with GStreamer (\d+\.\d+), ", re.M)
ROW = re.compile(r"^\| `([\w-]+)` \| (.*?) \| (.*?) \|$", re.M)


def play_to_the_end(pipeline):
    pipeline.set_state(Gst.State.PLAYING)
    message = pipeline.get_bus().timed_pop_filtered(
        TIME_LIMIT, Gst.MessageType.ERROR | Gst.MessageType.EOS
    )
    pipeline.set_state(Gst.State.NULL)
    if not message or message.type != Gst.MessageType.EOS:
        raise RuntimeError(str(message.parse_error() if message else "no end"))


def push_frames(source):
    """Each frame is a new buffer."""
    size = WIDTH * HEIGHT * 3 // 2
    for i in range(FRAMES):
        buffer = Gst.Buffer.new_wrapped(bytes((i * 7 + k) & 255 for k in range(256)) * (size // 256))
        buffer.pts = i * Gst.SECOND // 30
        source.emit("push-buffer", buffer)
    source.emit("end-of-stream")


class Upstreams(unittest.TestCase):
    """One test for each element. The tests are added below."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="vkgdr-upstreams-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.values = {}
        text = PAGE.read_text(encoding="utf-8").partition(PART_OF_ALL_ELEMENTS)[0]
        cls.rows = {m[1]: (m[2], m[3]) for m in ROW.finditer(text)}
        cls.is_same_version = VERSION.search(text)[1] == "{}.{}".format(*Gst.version()[:2])

    def value(self, name):
        """Returns what a name in braces stands for. Each input is made once."""
        if name not in self.values:
            value = tempfile.mktemp(dir=self.folder)
            if name in INPUTS:
                play_to_the_end(Gst.parse_launch(INPUTS[name].replace("{path}", value)))
            elif name == "port":
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                    probe.bind(("127.0.0.1", 0))
                    value = str(probe.getsockname()[1])
            elif name == "fd":
                value = str(os.open(self.value("yuv"), os.O_RDONLY))
            self.values[name] = value
        return self.values[name]

    def make(self, launch):
        return Gst.parse_launch(re.sub(r"\{(\w+)\}", lambda match: self.value(match[1]), launch))

    def play(self, case, behind):
        """Plays the pipeline of the case, followed by `behind`. Returns its buffers, or the
        bytes of a whole stream, and how the bytes came to vkgdrupload.
        """
        sender = self.make(case.sender) if case.sender else None
        pipeline = self.make(f"{case.launch} ! {behind} appsink name=sink sync=false")
        listens = "{socket}" in case.launch  # the sender does, before the pipeline starts
        try:
            if listens:
                sender.set_state(Gst.State.PLAYING)
                while not os.path.exists(self.value("socket")):
                    sender.get_state(Gst.SECOND // 100)
            pipeline.set_state(Gst.State.PAUSED)
            pipeline.get_state(Gst.SECOND // 5)
            if pipeline.get_by_name("feed"):
                push_frames(pipeline.get_by_name("feed"))
            pipeline.set_state(Gst.State.PLAYING)
            if case.stream:
                play_to_the_end(sender)  # closes the connection
            elif sender and not listens:
                sender.set_state(Gst.State.PLAYING)
            buffers = self.take(pipeline, bool(sender) and not case.stream)
            stats = behind and pipeline.get_by_name("up").get_property("stats")
            ways = [name for way, name in WAYS.items() if stats and stats.get_uint64(way)[1] > 0]
            return [b"".join(buffers)] if case.stream else buffers, ", ".join(ways)
        finally:
            for one in (pipeline, sender):
                if one:
                    one.set_state(Gst.State.NULL)
            for name in ("port", "socket", "fd"):  # each run has its own
                self.values.pop(name, None)

    def take(self, pipeline, is_endless):
        sink, buffers = pipeline.get_by_name("sink"), []
        while not (is_endless and len(buffers) == FRAMES):
            sample = sink.try_pull_sample(TIME_LIMIT)
            message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
            self.assertIsNone(message, message and message.parse_error())
            if not sample:
                self.assertTrue(sink.get_property("eos") or is_endless, "no end")
                break
            buffers.append(sample.get_buffer().extract_dup(0, sample.get_buffer().get_size()))
        return buffers

    def check(self, element, case):
        for attempt in range(ATTEMPTS if case.sender else 1):
            try:
                plain, _ = self.play(case, "")
            except GLib.Error as error:
                if not error.matches(Gst.ParseError.quark(), Gst.ParseError.NO_SUCH_ELEMENT):
                    raise
                self.skipTest(error.message)
            result, ways = self.play(case, "vkgdrupload name=up access=direct ! vkgdrdownload !")
            if plain and result == plain:
                break
        self.assertTrue(plain and result == plain, (len(plain), len(result)))
        print(f"{element}: {ways}")
        saved, reason = self.rows[element]
        self.assertTrue(reason or ways == "written directly", "docs/upstreams.md does not say why")
        if self.is_same_version:
            self.assertEqual(saved, ways)


if __name__ == "__main__":
    # A window that the CPU must not read, as on a GPU.
    os.environ.update(VKGDR_DRIVER="software", VKGDR_DEBUG="bar")
    Gst.init(None)
    for name_, case_ in PARTS[sys.argv.pop(1)].items():
        setattr(Upstreams, "test_" + name_, lambda self, n=name_, c=case_: self.check(n, c))
    unittest.main(verbosity=2)
