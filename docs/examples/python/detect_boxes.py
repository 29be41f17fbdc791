#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Finds a ball in a video, and attaches its box to each frame.

    detect_boxes.py [--frames N] [--backend numpy|torch] [--pictures FOLDER]

The network is that of detect_ball.py. The boxes are metas of GStreamer's
analytics library (1.24 or later), so other elements can use them: with
--pictures, objectdetectionoverlay draws the boxes, and the frames are written
to files.

The first pipeline has a branch with the frames and one with their tensors. The
frames stay on the device until the second pipeline downloads them.
"""

from typing import Any, Iterator, Optional

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstVkgdr", "1.0")
from gi.repository import GLib, Gst, GstVkgdr  # noqa: E402

from detect_ball import SIZE, SOURCE, Box, choose, parse_arguments  # noqa: E402

try:
    gi.require_version("GstAnalytics", "1.0")
    from gi.repository import GstAnalytics
except (ImportError, ValueError):
    raise SystemExit(
        "GStreamer's analytics library (1.24 or later) is missing: "
        "apt-get install gir1.2-gst-plugins-bad-1.0"
    ) from None

ALL = (
    Gst.BufferCopyFlags.FLAGS
    | Gst.BufferCopyFlags.TIMESTAMPS
    | Gst.BufferCopyFlags.META
    | Gst.BufferCopyFlags.MEMORY
)
BATCH = 4
# The branch with the frames has room for a whole batch, since it is read later.
FIRST = (
    "{source} ! vkgdrupload ! tee name=t "
    f"t. ! queue ! appsink name=frames sync=false max-buffers={2 * BATCH} "
    f"t. ! queue ! vkgdrtensor width={SIZE} height={SIZE} batch={BATCH} "
    "resize=letterbox filter=area ! appsink name=tensors sync=false max-buffers=2"
)
SECOND = "appsrc name=src format=time ! vkgdrdownload ! {end}"
PICTURES = "videoconvert ! objectdetectionoverlay ! videoconvert ! pngenc ! multifilesink"


def start(description: str, context: GstVkgdr.Context) -> Gst.Pipeline:
    pipeline = Gst.parse_launch(description)
    pipeline.set_context(context.to_gst_context())
    pipeline.set_state(Gst.State.PLAYING)
    return pipeline


def check(message: Optional[Gst.Message]) -> None:
    """An error ends the program."""
    if message is not None and message.type == Gst.MessageType.ERROR:
        raise SystemExit(message.parse_error()[0].message)


def samples(pipeline: Gst.Pipeline, name: str) -> Iterator[Gst.Sample]:
    """Yields the samples of an appsink, until the end of the stream."""
    sink = pipeline.get_by_name(name)
    while not sink.get_property("eos"):
        sample = sink.emit("try-pull-sample", Gst.SECOND)
        if sample is not None:
            yield sample
        check(pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR))


def to_frame(box: Box, frame: Any) -> Box:
    """Converts a box from pixels of the tensor to pixels of the frame."""
    return (*frame.to_frame(box[0], box[1]), *frame.to_frame(box[2], box[3]))


def attach(buffer: Gst.Buffer, box: Optional[Box]) -> Gst.Buffer:
    """Returns a buffer with the same memory and a meta for the box."""
    buffer = buffer.copy_region(ALL, 0, buffer.get_size())
    meta = GstAnalytics.buffer_add_analytics_relation_meta(buffer)
    if box is not None:
        left, top, right, bottom = (round(number) for number in box)
        kind = GLib.quark_from_string("ball")
        meta.add_od_mtd(kind, left, top, right - left, bottom - top, 1.0)
    return buffer


def print_boxes(pad: Gst.Pad, info: Gst.PadProbeInfo) -> Gst.PadProbeReturn:
    """Prints the boxes from the metas, as any element downstream could."""
    buffer = info.get_buffer()
    meta = GstAnalytics.buffer_get_analytics_relation_meta(buffer)
    words = []
    for i in range(GstAnalytics.relation_get_length(meta)):
        found, box = meta.get_od_mtd(i)
        if found:
            _, left, top, width, height, _ = box.get_location()
            kind = GLib.quark_to_string(box.get_obj_type())
            words.append(f"{kind} {left} {top} {left + width} {top + height}")
    print(f"{buffer.pts}: {', '.join(words) or 'nothing'}", flush=True)
    return Gst.PadProbeReturn.OK


def detect(frames: int, network: Any, folder: Optional[str]) -> None:
    context = GstVkgdr.Context.new(-1)
    stream = GstVkgdr.Stream(context)
    first = start(FIRST.format(source=SOURCE.format(frames=frames)), context)
    end = "fakesink name=end"
    if folder is not None:
        end = f'{PICTURES} name=end location="{folder}/boxes-%03d.png"'
    second = start(SECOND.format(end=end), context)
    src = second.get_by_name("src")
    second.get_by_name("end").get_static_pad("sink").add_probe(
        Gst.PadProbeType.BUFFER, print_boxes
    )

    # Both branches have the same frames in the same order.
    originals = samples(first, "frames")
    for sample in samples(first, "tensors"):
        with GstVkgdr.TensorBatch(sample, stream) as batch:
            masks = network.masks(batch)
        for frame, mask in zip(batch.frames, masks):
            original = next(originals)
            assert original.get_buffer().pts == frame.pts
            box = network.box(mask)
            box = None if box is None else to_frame(box, frame)
            src.set_property("caps", original.get_caps())
            src.emit("push-buffer", attach(original.get_buffer(), box))
    first.set_state(Gst.State.NULL)

    src.emit("end-of-stream")
    types = Gst.MessageType.EOS | Gst.MessageType.ERROR
    check(second.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, types))
    second.set_state(Gst.State.NULL)


def main() -> None:
    args = parse_arguments(__doc__.splitlines()[0])
    network = choose(args.backend)
    detect(args.frames, network, args.pictures)
    print(f"{args.frames} frames, by {type(network).__name__}")


if __name__ == "__main__":
    main()
