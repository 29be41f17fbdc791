# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plays a pipeline. Returns how it ends, its caps, its buffers, and its errors."""

import functools
import hashlib
import re
from typing import List, NamedTuple, Tuple

import gi

gi.require_version("Gst", "1.0")
for module in "GstApp", "GstVideo":
    gi.require_version(module, "1.0")
from gi.repository import GLib, Gst, GstApp, GstVideo  # noqa: E402,F401

from pipelines import CONVERTERS, FRAMES, TEST_SOURCES  # noqa: E402

BYTES = "application/octet-stream"
LIMIT = 8 * Gst.SECOND
END = Gst.MessageType.ERROR | Gst.MessageType.EOS


class Result(NamedTuple):
    """errors: "NAME OF THE ELEMENT: TEXT", in their order
    buffers: for each, its size or that of the samples, a hash of its bytes, and its time
    """

    end: str  # eos, error or timeout
    caps: str = ""
    buffers: Tuple[Tuple[int, str, int], ...] = ()
    errors: Tuple[str, ...] = ()


def open_device():
    """Opens the device once for all pipelines. Returns a pipeline that keeps it open, and its
    context.
    """
    keeper = Gst.parse_launch("fakesrc ! vkgdrupload ! fakesink")
    keeper.set_state(Gst.State.PAUSED)
    message = keeper.get_bus().timed_pop_filtered(
        LIMIT, Gst.MessageType.HAVE_CONTEXT | Gst.MessageType.ERROR)
    return keeper, message.parse_have_context()


@functools.lru_cache(None)
def record(caps):
    """The frames that the appsrc pushes: bytes that are valid in these caps."""
    media = "video" if caps.startswith("video") else "audio"
    pipeline = Gst.parse_launch(f"{TEST_SOURCES[media]} ! {CONVERTERS[media]} ! appsink name=sink "
                                f'sync=false caps="{caps}"')
    pipeline.set_state(Gst.State.PLAYING)
    samples = iter(lambda: pipeline.get_by_name("sink").emit("try-pull-sample", LIMIT), None)
    buffers = [sample.get_buffer() for sample in samples]
    frames = [(buffer.extract_dup(0, buffer.get_size()), buffer.pts, buffer.duration)
              for buffer in buffers[:FRAMES]]
    pipeline.set_state(Gst.State.NULL)
    return frames


def feed(pipeline):
    source = pipeline.get_by_name("feed")
    if not source:
        return
    for data, pts, duration in record(source.get_property("caps").to_string()):
        buffer = Gst.Buffer.new_wrapped(data)
        buffer.pts, buffer.duration = pts, duration
        source.emit("push-buffer", buffer)
    source.emit("end-of-stream")


def without_memory(caps):
    """Without the features of memory, which are what differs by intention, and without what
    some muxers write: the time of the day.
    """
    def other_features(match):
        kept = sorted(name for name in match[1].split(", ") if not name.startswith("memory:"))
        return f"({', '.join(kept)})" if kept else ""

    text = re.sub(r"\(((?:\w+:\w+(?:, )?)+)\)", other_features, caps.to_string())
    return re.sub(r"streamheader=\(buffer\)(<[^>]*>|\w+)", "streamheader", text)


def visible_planes(info, buffer):
    """Where the samples are: (offset, stride, bytes in a row, rows) for each plane, or None
    for formats whose samples are not next to each other.
    """
    meta, format_info = GstVideo.buffer_get_video_meta(buffer), info.finfo
    height = info.height
    if info.interlace_mode == GstVideo.VideoInterlaceMode.ALTERNATE:
        height = (height + 1) // 2
    for i in range(format_info.n_components):
        plane, size = format_info.plane[i], format_info.pixel_stride[i]
        if format_info.format == GstVideo.VideoFormat.V210:
            row = -(-info.width // 6) * 16
        elif size > 0 and not format_info.flags & GstVideo.VideoFormatFlags.TILED:
            row = size * -(-info.width >> format_info.w_sub[i])
        else:
            yield None
            return
        at = info if meta is None else meta
        yield at.offset[plane], at.stride[plane], row, -(-height >> format_info.h_sub[i])


def content(buffer, caps):
    """The bytes of a buffer. Those of a frame without the padding, which is not its content."""
    data = buffer.extract_dup(0, buffer.get_size())
    if caps is None or not caps.to_string().startswith("video/x-raw"):
        return data
    planes = set(visible_planes(GstVideo.VideoInfo.new_from_caps(caps), buffer))
    if None in planes:
        return data
    return b"".join(data[offset + y * stride:offset + y * stride + row]
                    for offset, stride, row, rows in sorted(planes) for y in range(rows))


def take_buffers(sink):
    caps, buffers = None, []
    for sample in iter(lambda: sink.emit("try-pull-sample", Gst.SECOND), None):
        buffer, caps = sample.get_buffer(), sample.get_caps()
        data = content(buffer, caps)
        buffers.append((len(data), hashlib.sha1(data).hexdigest()[:12], buffer.pts))
    return "" if caps is None else without_memory(caps), tuple(buffers)


def wait_for_end(bus):
    """Returns "eos", "error" or "timeout", and all errors."""
    errors: List[str] = []
    end = "timeout"
    message = bus.timed_pop_filtered(LIMIT, END)
    while message and message.type != Gst.MessageType.EOS:
        error, _ = message.parse_error()
        errors.append(f"{message.src.get_name()}: {error.message}")
        end = "error"
        message = bus.timed_pop_filtered(Gst.SECOND // 20, END)
    return "eos" if message and not errors else end, tuple(errors)


def play(launch, has_src, context):
    end = " ! appsink name=sink sync=false async=false wait-on-eos=false" if has_src else ""
    try:
        pipeline = Gst.parse_launch(launch + end)
    except GLib.Error as error:
        return Result("error", errors=(f"parse: {error.message}",))
    pipeline.set_context(context)
    pipeline.set_state(Gst.State.PLAYING)
    feed(pipeline)
    end, errors = wait_for_end(pipeline.get_bus())
    caps, buffers = "", ()
    if has_src and end == "eos":
        caps, buffers = take_buffers(pipeline.get_by_name("sink"))
    pipeline.set_state(Gst.State.NULL)
    return Result(end, caps, buffers, errors)


def have_same_caps(one, other):
    """The order of the fields does not count. vkgdrupload gives a stream without caps those of
    bytes.
    """
    one, other = one or BYTES, other or BYTES
    return one == other or (
        Gst.Caps.from_string(one).is_strictly_equal(Gst.Caps.from_string(other)))


def compare_messages(plain, other):
    """The end must be the same, and the first error that of the cause. Returns what differs,
    or None.
    """
    if other.end != plain.end:
        return f"ends with {other.end}, not {plain.end}: {'; '.join(other.errors[:1])}"
    posters = [text.partition(":")[0] for text in other.errors]
    ours = [name for name in posters if name.startswith(("vkgdr", "cudafilter"))]
    if len(ours) > 1 or (ours and posters[0] not in ours):
        return f"posts several errors: {'; '.join(other.errors)}"
    return None


def compare_streams(plain, other):
    """Returns what differs, as a word and as a text, or None."""
    if plain.end != "eos" or other.end != "eos":
        return None
    if not have_same_caps(plain.caps, other.caps):
        return "caps", f"has the caps {other.caps}, not {plain.caps}"
    if len(plain.buffers) != len(other.buffers):
        return "count", f"gives {len(other.buffers)} buffers, not {len(plain.buffers)}"
    for field, name in enumerate(("sizes", "bytes", "times")):
        if [one[field] for one in plain.buffers] != [one[field] for one in other.buffers]:
            return name, f"gives other {name}"
    return None
