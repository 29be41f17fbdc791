# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the cases of the table, with and without GPU memory.

Must not depend on the cases, or on the expected results.
"""

import hashlib
import os
import shlex
from typing import Dict, List, NamedTuple, Optional

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
from gi.repository import Gst, GstApp  # noqa: E402,F401

import feeds  # noqa: E402
import table  # noqa: E402

TIME_LIMIT = 30  # time without a buffer, in seconds

# The fields of vkgdrupload's stats, in the order of the table.
WAYS = ("direct", "staged", "dma", "copied", "peer", "untouched")


class Failure(Exception):
    """A pipeline has failed."""


class Result(NamedTuple):
    """The output of a pipeline: a digest of each buffer, or of a whole stream; the
    number of bytes and of buffers; and how the bytes came to vkgdrupload.
    """

    digests: List[str]
    buffers: int
    size: int
    ways: Dict[str, int]  # in bytes


def missing(case: table.Case) -> List[str]:
    """Returns the elements that a case needs and that are not installed."""
    names = {case.element, *case.needs}
    for text in (case.launch, *(table.INPUTS[i] for i in inputs_of(case))):
        for part in text.split("!"):
            words = shlex.split(part)
            names.update(
                w for w in words[:1] if "/" not in w and "=" not in w and "." not in w
            )
    return sorted(n for n in names if not Gst.ElementFactory.find(n))


def inputs_of(case: table.Case) -> List[str]:
    names = [n for n in table.INPUTS if "{" + n + "}" in case.launch]
    return names + (["yuv"] if case.feed in ("fd", "tcp") else [])


def raise_errors(bus: Gst.Bus) -> None:
    message = bus.pop_filtered(Gst.MessageType.ERROR)
    if message:
        error, debug = message.parse_error()
        raise Failure(f"{error.message} ({debug})")


def stop(pipeline: Gst.Pipeline) -> None:
    pipeline.set_state(Gst.State.NULL)


def play_to_the_end(launch: str) -> None:
    pipeline = Gst.parse_launch(launch)
    bus = pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)
    message = bus.timed_pop_filtered(
        TIME_LIMIT * Gst.SECOND, Gst.MessageType.ERROR | Gst.MessageType.EOS
    )
    stop(pipeline)
    if message and message.type == Gst.MessageType.EOS:
        return
    raise Failure(f"{launch}: {message.parse_error() if message else 'no end'}")


class Runner:
    """Makes each input once, in `folder`."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.made: Dict[str, str] = {}

    def input(self, name: str) -> str:
        if name not in self.made:
            path = os.path.join(self.folder, name)
            play_to_the_end(table.INPUTS[name].replace("{path}", path))
            self.made[name] = path
        return self.made[name]

    def run(self, case: table.Case, behind: str) -> Result:
        """Runs the pipeline of the case, followed by `behind`."""
        feed = feeds.FEEDS[case.feed](self.folder, self.input)
        values = {n: self.input(n) for n in inputs_of(case)}
        values.update(feed.values())
        launch = case.launch
        for name, value in values.items():
            launch = launch.replace("{" + name + "}", value)
        try:
            pipeline = Gst.parse_launch(
                f"{launch} ! {behind} appsink name=sink sync=false"
            )
            return self.take(pipeline, feed, case.stream)
        finally:
            feed.stop()

    def take(self, pipeline: Gst.Pipeline, feed: feeds.Feed, stream: bool) -> Result:
        sink = pipeline.get_by_name("sink")
        digests: List[str] = []
        whole = hashlib.sha256()
        size = 0
        try:
            # A server element gets its port in the state PAUSED.
            pipeline.set_state(Gst.State.PAUSED)
            pipeline.get_state(Gst.SECOND // 5)
            feed.start(pipeline)
            pipeline.set_state(Gst.State.PLAYING)
            while feed.frames is None or len(digests) < feed.frames:
                sample = sink.try_pull_sample(TIME_LIMIT * Gst.SECOND)
                raise_errors(pipeline.get_bus())
                if not sample:
                    break
                buffer = sample.get_buffer()
                data = buffer.extract_dup(0, buffer.get_size())
                size += len(data)
                whole.update(data)
                digests.append(hashlib.sha256(data).hexdigest())
            if feed.frames is None and not sink.get_property("eos"):
                raise Failure("the stream did not end")
            ways = ways_of(pipeline.get_by_name("up"))
        finally:
            stop(pipeline)
        return Result(
            [whole.hexdigest()] if stream else digests, len(digests), size, ways
        )


def ways_of(upload: Optional[Gst.Element]) -> Dict[str, int]:
    """Returns the number of bytes for each field. It is empty without vkgdrupload."""
    if upload is None:
        return {}
    stats = upload.get_property("stats")
    return {way: stats.get_uint64("bytes-" + way)[1] for way in WAYS}
