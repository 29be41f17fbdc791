# SPDX-License-Identifier: LGPL-2.1-or-later
"""Helpers for the tests of vkgdrinfer: frames with a bright box, tensors, detections."""

import tempfile
from typing import List, NamedTuple, Sequence, Tuple

import gi

import gst_support
from gst_support import Gst

gi.require_version("GstAnalytics", "1.0")
from gi.repository import GstAnalytics  # noqa: E402

import numpy as np  # noqa: E402

Gst.init(None)

# The types of tensors in the tests, as NumPy calls them.
NAMES = {int(getattr(GstAnalytics.TensorDataType, name.upper())): name
         for name in ("float32", "float16", "int64", "uint8")}

# run() takes the samples after EOS.
SINK = "appsink name=sink sync=false wait-on-eos=false"


class Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float


def picture(width: int, height: int, box: Box) -> np.ndarray:
    """A dark frame of RGB with a white box."""
    frame = np.full((height, width, 3), 16, np.uint8)
    x, y, w, h = (int(number) for number in box)
    frame[y:y + h, x:x + w] = 255
    return frame


def run(frames: Sequence[np.ndarray], elements: str) -> List[Gst.Sample]:
    """The samples of the appsink "sink" of `elements`, which get frames of RGB. Raises
    their error.
    """
    height, width, _ = frames[0].shape
    pipeline = Gst.parse_launch(
        f"appsrc name=src format=time caps=\"video/x-raw,format=RGB,width={width},"
        f"height={height},framerate=25/1\" ! videoconvert ! {elements}")
    src, sink = pipeline.get_by_name("src"), pipeline.get_by_name("sink")
    pipeline.set_state(Gst.State.PLAYING)
    for i, frame in enumerate(frames):
        rows = np.zeros((height, (width * 3 + 3) // 4 * 4), np.uint8)
        rows[:, :width * 3] = frame.reshape(height, width * 3)
        buffer = Gst.Buffer.new_wrapped(rows.tobytes())
        buffer.pts = i * Gst.SECOND // 25
        src.emit("push-buffer", buffer)
    src.emit("end-of-stream")
    message = pipeline.get_bus().timed_pop_filtered(
        30 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    samples: List[Gst.Sample] = list(iter(
        lambda: sink and sink.emit("try-pull-sample", 0), None))
    pipeline.set_state(Gst.State.NULL)
    if message is None:
        raise TimeoutError(elements)
    if message.type == Gst.MessageType.ERROR:
        raise message.parse_error()[0]
    return samples


def infer(
    width: int, height: int, box: Box, elements: str, format: str = "NV12", n: int = 1
) -> List[Gst.Sample]:
    """The samples behind `elements`, the first of which is vkgdrinfer. Raises its error."""
    return run([picture(width, height, box)] * n,
               f"video/x-raw,format={format} ! vkgdrupload ! {elements} "
               f"! {SINK}")


def encode(frames: Sequence[np.ndarray], path: str) -> None:
    """Writes a clip of H.264 in an MP4 file."""
    run(frames, f"x264enc ! h264parse ! mp4mux ! filesink location={path}")


def tensors(buffer: Gst.Buffer) -> List[Tuple[str, np.ndarray]]:
    """The ids and numbers of the buffer's only GstTensorMeta."""
    metas = [m for m in iter_metas(buffer)]
    assert len(metas) == 1, metas
    result = []
    for i in range(metas[0].num_tensors):
        tensor = metas[0].get(i)
        name = NAMES[int(tensor.data_type)]
        data = gst_support.host_bytes(tensor.data)
        dims = list(tensor.get_dims())
        result.append((gi.repository.GLib.quark_to_string(tensor.id),
                       np.frombuffer(data, name).reshape(dims)))
    return result


def iter_metas(buffer: Gst.Buffer) -> List[GstAnalytics.TensorMeta]:
    meta = GstAnalytics.buffer_get_tensor_meta(buffer)
    return [meta] if meta else []


def detections(buffer: Gst.Buffer) -> List[Box]:
    """The boxes of the object-detection metas."""
    relations = GstAnalytics.buffer_get_analytics_relation_meta(buffer)
    boxes = []
    for i in range(GstAnalytics.relation_get_length(relations) if relations else 0):
        found, box = relations.get_od_mtd(i)
        if found:
            _, x, y, w, h, _ = box.get_location()
            boxes.append(Box(x, y, w, h))
    return boxes


class Folder:
    """A folder for models, which is removed with the object."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()

    def path(self, name: str) -> str:
        return f"{self.folder.name}/{name}"

    def modelinfo(self, model: str, text: str) -> str:
        with open(model + ".modelinfo", "w") as file:
            file.write(text)
        return model
