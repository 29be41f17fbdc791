# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the cases of the table, with and without GPU memory.

No data leave this machine: sockets are in a temporary folder, or use 127.0.0.1 and ports
that the kernel chooses. Must not depend on the cases, or on the expected results.
"""

import hashlib
import os
import re
import shlex
import socket
from typing import Dict, List, NamedTuple

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
from gi.repository import Gst, GstApp  # noqa: E402,F401

from table import FRAMES, HEIGHT, INPUTS, WIDTH, Case  # noqa: E402

TIME_LIMIT = 30  # time without a buffer, in seconds

# The fields of vkgdrupload's stats, in the order of the table.
WAYS = ("direct", "staged", "dma", "copied", "peer", "untouched")

NAME = re.compile(r"\{(\w+)\}")


class Result(NamedTuple):
    """The output of a pipeline: a digest of each buffer, or of a whole stream; the
    number of bytes and of buffers; and how the bytes came to vkgdrupload.
    """

    digests: List[str]
    buffers: int
    size: int
    ways: Dict[str, int]  # in bytes; empty without vkgdrupload


def missing(case: Case) -> List[str]:
    """Returns the elements that a case needs and that are not installed."""
    texts = [case.launch, case.sender or ""]
    texts += [INPUTS.get(name, "") for name in NAME.findall(" ".join(texts))]
    first_words = [shlex.split(part)[:1] for text in texts for part in text.split("!")]
    names = {words[0] for words in first_words if words and not re.search("[/=.]", words[0])}
    return sorted(n for n in names if not Gst.ElementFactory.find(n))


def raise_errors(bus: Gst.Bus) -> None:
    message = bus.pop_filtered(Gst.MessageType.ERROR)
    if message:
        raise RuntimeError(str(message.parse_error()))


def play_to_the_end(pipeline: Gst.Pipeline) -> None:
    pipeline.set_state(Gst.State.PLAYING)
    message = pipeline.get_bus().timed_pop_filtered(
        TIME_LIMIT * Gst.SECOND, Gst.MessageType.ERROR | Gst.MessageType.EOS
    )
    pipeline.set_state(Gst.State.NULL)
    if not message or message.type != Gst.MessageType.EOS:
        raise RuntimeError(str(message.parse_error() if message else "no end"))


def push_frames(source: Gst.Element) -> None:
    """Each frame is a new buffer."""
    size = WIDTH * HEIGHT * 3 // 2
    for i in range(FRAMES):
        buffer = Gst.Buffer.new_wrapped(bytes((i * 7 + k) & 255 for k in range(256)) * (size // 256))
        buffer.pts = i * Gst.SECOND // 30
        source.emit("push-buffer", buffer)
    source.emit("end-of-stream")


class Runner:
    """Makes each input once, in `folder`."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.values: Dict[str, str] = {}

    def value(self, name: str) -> str:
        """Returns what a name in braces stands for."""
        if name not in self.values:
            path = os.path.join(self.folder, name)
            if name in INPUTS:
                play_to_the_end(Gst.parse_launch(INPUTS[name].replace("{path}", path)))
            elif name == "port":
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                    probe.bind(("127.0.0.1", 0))
                    path = str(probe.getsockname()[1])
            elif name == "fd":
                path = str(os.open(self.value("yuv"), os.O_RDONLY))
            self.values[name] = path
        return self.values[name]

    def make(self, launch: str) -> Gst.Pipeline:
        return Gst.parse_launch(NAME.sub(lambda match: self.value(match[1]), launch))

    def clear(self) -> None:
        """The next run has a port, a socket and a file descriptor of its own."""
        self.values.pop("port", None)
        if "fd" in self.values:
            os.close(int(self.values.pop("fd")))
        if os.path.exists(self.values.pop("socket", "")):
            os.unlink(os.path.join(self.folder, "socket"))

    def run(self, case: Case, behind: str) -> Result:
        """Runs the pipeline of the case, followed by `behind`."""
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
            return self.take(pipeline, bool(sender) and not case.stream, case.stream)
        finally:
            for one in (pipeline, sender):
                if one:
                    one.set_state(Gst.State.NULL)
            self.clear()

    def take(self, pipeline: Gst.Pipeline, is_endless: bool, is_stream: bool) -> Result:
        sink, upload = pipeline.get_by_name("sink"), pipeline.get_by_name("up")
        digests: List[str] = []
        whole = hashlib.sha256()
        size = 0
        while not (is_endless and len(digests) == FRAMES):
            sample = sink.try_pull_sample(TIME_LIMIT * Gst.SECOND)
            raise_errors(pipeline.get_bus())
            if not sample:
                break
            data = sample.get_buffer().extract_dup(0, sample.get_buffer().get_size())
            size += len(data)
            whole.update(data)
            digests.append(hashlib.sha256(data).hexdigest())
        if not is_endless and not sink.get_property("eos"):
            raise RuntimeError("the stream did not end")
        stats = upload.get_property("stats") if upload else None
        ways = {way: stats.get_uint64("bytes-" + way)[1] for way in WAYS} if stats else {}
        return Result([whole.hexdigest()] if is_stream else digests, len(digests), size, ways)
