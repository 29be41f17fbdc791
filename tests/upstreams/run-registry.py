#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the pipelines of the elements whose names come on stdin, one a line.

Prints one line of JSON before a pipeline starts, and one for its result. If an element
ends this process, or hangs, registry.py knows where.
"""

import hashlib
import json
import os
import re
import signal
import sys

import gi

gi.require_version("Gst", "1.0")
for module in "GstApp", "GstAudio", "GstVideo":
    gi.require_version(module, "1.0")
from gi.repository import GLib, Gst, GstApp, GstAudio, GstVideo  # noqa: E402,F401

import pipelines  # noqa: E402

LIMIT = 8 * Gst.SECOND
HANG_LIMIT = 40  # seconds, after which SIGALRM ends this process


def open_device():
    """Opens the device once for all pipelines. Returns a pipeline that keeps it open, and its
    context.
    """
    keeper = Gst.parse_launch("fakesrc ! vkgdrupload ! fakesink")
    keeper.set_state(Gst.State.PAUSED)
    message = keeper.get_bus().timed_pop_filtered(
        LIMIT, Gst.MessageType.HAVE_CONTEXT | Gst.MessageType.ERROR)
    return keeper, message.parse_have_context()


def frame_size(caps):
    """The bytes of a frame, or of 400 samples of audio."""
    if caps.get_structure(0).has_name("video/x-raw"):
        return GstVideo.VideoInfo.new_from_caps(caps).size
    return GstAudio.AudioInfo.new_from_caps(caps).bpf * 400


def feed(pipeline):
    source = pipeline.get_by_name("feed")
    if not source:
        return
    size = frame_size(source.get_property("caps"))
    for i in range(pipelines.FRAMES):
        buffer = Gst.Buffer.new_wrapped(bytes((i * 7 + k) & 255 for k in range(size)))
        buffer.pts, buffer.duration = i * Gst.SECOND // 25, Gst.SECOND // 25
        source.emit("push-buffer", buffer)
    source.emit("end-of-stream")


def without_memory(caps):
    return re.sub(r"\(memory:\w+\)", "", caps.to_string()) if caps else ""


def play(launch, has_src, context):
    """Returns how the pipeline ends, its caps, its buffers, and its errors in their order."""
    end = " ! appsink name=sink sync=false async=false wait-on-eos=false" if has_src else ""
    try:
        pipeline = Gst.parse_launch(launch + end)
    except GLib.Error as error:
        return {"end": "error", "caps": "", "bytes": [], "errors": [f"parse: {error.message}"]}
    buffers, caps = [], ""
    sink = pipeline.get_by_name("sink")
    bus = pipeline.get_bus()
    pipeline.set_context(context)
    pipeline.set_state(Gst.State.PLAYING)
    feed(pipeline)
    errors, end = [], "timeout"
    message = bus.timed_pop_filtered(LIMIT, Gst.MessageType.ERROR | Gst.MessageType.EOS)
    while message:
        if message.type == Gst.MessageType.EOS:
            end = "eos" if end == "timeout" else end
            break
        error, _ = message.parse_error()
        errors.append(f"{message.src.get_name()}: {error.message}")
        end = "error"
        message = bus.timed_pop_filtered(Gst.SECOND // 20,
                                         Gst.MessageType.ERROR | Gst.MessageType.EOS)
    while sink and end == "eos":
        sample = sink.emit("try-pull-sample", Gst.SECOND)
        if not sample:
            break
        buffer, caps = sample.get_buffer(), without_memory(sample.get_caps())
        data = buffer.extract_dup(0, buffer.get_size())
        buffers.append((len(data), hashlib.sha1(data).hexdigest()[:12], buffer.pts))
    pipeline.set_state(Gst.State.NULL)
    return {"end": end, "caps": caps, "bytes": buffers, "errors": errors}


def play_cases(element, context):
    for case, plain, others in pipelines.cases(element):
        for way, launch in [("plain", plain), ("again", plain), *others.items()]:
            where = {"element": element.name, "case": case, "way": way}
            print(json.dumps(where), flush=True)
            signal.alarm(HANG_LIMIT)
            where["result"] = play(launch, element.src is not None, context)
            print(json.dumps(where), flush=True)
            if where["result"]["end"] == "timeout" and way == "plain":
                return  # it needs more than one stream


def main():
    Gst.init(None)
    registry = Gst.Registry.get()
    keeper, context = open_device()
    for name in sys.stdin.read().split():
        play_cases(pipelines.Element(registry.lookup_feature(name)), context)
    keeper.set_state(Gst.State.NULL)


if __name__ == "__main__":
    os.environ.setdefault("VKGDR_DRIVER", "software")
    main()
    sys.stdout.flush()
    os._exit(0)  # what foreign plugins do at the end of a process is not tested
