# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files, URIs and descriptions of pipelines as sources of frames for vkgdrtensor.

Each source has its own chain of elements: a decoder, vkgdrupload unless the frames are
on the device, and a queue.
"""

import os
from typing import Any

from ._gstvkgdr_base import GLib, Gst

# One frame of a source can wait for the other sources. With 4, 16 sources of 1080p were
# slower: their frames did not stay in the processor's cache.
_QUEUE = "queue max-size-bytes=0 max-size-time=0 max-size-buffers=1"

_END = "vkgdr-frames"  # the last element of a description


def add_source(pipeline: Gst.Pipeline, source: Any, tensor: Gst.Element) -> None:
    """Adds a source and links it to a new pad of vkgdrtensor."""
    pad = tensor.request_pad_simple("sink_%u")
    text = os.fspath(source)
    if "!" in text:
        _add_description(pipeline, text, pad)
    else:
        _add_uri(pipeline, _to_uri(text), pad)


def _to_uri(text: str) -> str:
    if Gst.uri_is_valid(text) and "://" in text:
        return text
    if not os.path.exists(text):
        raise FileNotFoundError(
            2, 'there is no such file, and a description of a pipeline has a "!"', text
        )
    return Gst.filename_to_uri(os.path.abspath(text))


def _can_be_read(src: Gst.Pad, pad: Gst.Pad) -> bool:
    """Whether vkgdrtensor can read frames of the source without a copy. Elements such as
    cudaupload choose device memory if vkgdrtensor is linked to them.
    """
    caps = src.query_caps(None)
    readable = pad.get_pad_template_caps()
    if Gst.version() < (1, 24):  # vkgdrtensor cannot read GStreamer's CUDA memory
        readable = Gst.Caps.from_string("video/x-raw(memory:VkgdrMemory)")
    return not caps.is_any() and caps.can_intersect(readable)


def _link(pipeline: Gst.Pipeline, src: Gst.Pad, pad: Gst.Pad) -> None:
    """Links a source of frames to a pad of vkgdrtensor."""
    # The converter does not convert formats that kernels can read.
    convert = "" if _can_be_read(src, pad) else "videoconvert ! vkgdrupload ! "
    chain = Gst.parse_bin_from_description(convert + _QUEUE, True)
    pipeline.add(chain)
    chain.get_static_pad("src").link(pad)
    chain.sync_state_with_parent()
    try:
        src.link(chain.get_static_pad("sink"))
    except Gst.LinkError:
        _fail(src.get_parent_element(), f"this is no raw video: {_describe(src)}. Add a decoder "
              "to the description, or name the video stream")


def _describe(src: Gst.Pad) -> str:
    caps = src.query_caps(None)
    return ", ".join(sorted({caps.get_structure(i).get_name() for i in range(caps.get_size())}))


def _fail(element: Gst.Element, text: str) -> None:
    """Posts an error message with an element as its source."""
    error = GLib.Error(text, GLib.quark_to_string(Gst.StreamError.quark()),
                       int(Gst.StreamError.WRONG_TYPE))
    element.post_message(Gst.Message.new_error(element, error, ""))


def _add_description(pipeline: Gst.Pipeline, text: str, pad: Gst.Pad) -> None:
    # Caps cannot be the end of a description, and pads that appear later are not linked
    # yet. So the description ends with an element of this module.
    source = Gst.parse_bin_from_description(f"{text} ! identity name={_END} silent=true", False)
    src = Gst.GhostPad.new("src", source.get_by_name(_END).get_static_pad("src"))
    source.add_pad(src)
    pipeline.add(source)
    _link(pipeline, src, pad)


def _add_uri(pipeline: Gst.Pipeline, uri: str, pad: Gst.Pad) -> None:
    """Links the first video stream."""
    decoder = Gst.parse_launch("uridecodebin caps=video/x-raw(ANY) expose-all-streams=false")
    decoder.set_property("uri", uri)

    def on_pad(element: Gst.Element, src: Gst.Pad) -> None:
        if not pad.is_linked():
            _link(pipeline, src, pad)
        else:  # a second video stream; if its pad is not linked, its decoder stops
            sink = Gst.parse_launch("fakesink sync=false async=false")
            pipeline.add(sink)
            sink.sync_state_with_parent()
            src.link(sink.get_static_pad("sink"))

    def on_no_more_pads(element: Gst.Element) -> None:
        if not pad.is_linked():
            _fail(element, f"{uri} has no video")

    decoder.connect("pad-added", on_pad)
    decoder.connect("no-more-pads", on_no_more_pads)
    pipeline.add(decoder)
