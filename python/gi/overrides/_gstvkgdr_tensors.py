# SPDX-License-Identifier: LGPL-2.1-or-later
"""Batches of frames from files, addresses and pipelines, as tensors on the device.

A reader is a pipeline that ends in vkgdrtensor and an appsink, and an iterator over the
batches that arrive there. _gstvkgdr_sources makes the sources.
"""

import atexit
import operator
import os
import threading
import weakref
from typing import Any, Iterator, List, Optional, Sequence, Tuple, Union

from . import _gstvkgdr_arrays as arrays
from . import _gstvkgdr_layout as layouts
from . import _gstvkgdr_objects as objects
from ._gstvkgdr_arrays import DeviceArray
from ._gstvkgdr_base import GLib, Gst, GstVkgdr
from ._gstvkgdr_objects import MAP_VKGDR
from ._gstvkgdr_sources import add_source

# The interval in which the bus, and a signal such as Ctrl-C, are checked, in
# nanoseconds.
_CHECK_INTERVAL = Gst.SECOND // 10

# How long a pipeline may take to get ready for a seek, in nanoseconds.
_START_LIMIT = 30 * Gst.SECOND

Numbers = Union[float, Sequence[float], None]
Source = Union[str, "os.PathLike[str]"]


def _time(value: int) -> Optional[int]:
    return None if value == Gst.CLOCK_TIME_NONE else value


class BatchFrame:
    """A frame of a batch: its source, its times, and where it is in the tensor."""

    def __init__(self, frame: Any) -> None:
        self.source = int(frame.pad.rpartition("_")[2])  #: from 0
        #: Nanoseconds, or None if they are not known.
        self.pts, self.duration, self.running_time = map(
            _time, (frame.pts, frame.duration, frame.running_time))
        self.width, self.height = frame.width, frame.height  #: of the original frame
        #: The part of it that was used: x, y, width, height.
        self.region = (frame.region_x, frame.region_y, frame.region_width, frame.region_height)
        self.is_repeated = bool(frame.is_repeated)
        self._frame = frame.copy()  # the other one is the meta's

    def to_frame(self, x: float, y: float) -> Tuple[float, float]:
        """Returns the point of the original frame for a point of the tensor."""
        return tuple(self._frame.map_point(x, y))

    def __repr__(self) -> str:
        return (f"<GstVkgdr.BatchFrame of source {self.source}, {self.width}x{self.height}, "
                f"pts {self.pts}>")


class TensorBatch(DeviceArray):
    """A batch on the device: an array for CUDA libraries, with a list of its frames.

    The number of frames is the actual one: the last batch of a stream may have fewer.

    :param sample: a sample that an appsink behind vkgdrtensor gives
    :param stream: the CUDA stream, of any library, on which the batch is ready
    """

    def __init__(self, sample: Gst.Sample, stream: Any) -> None:
        self._buffer: Optional[Gst.Buffer] = sample.get_buffer()
        self._caps = sample.get_caps()
        meta = GstVkgdr.buffer_get_tensor_batch_meta(self._buffer)
        if meta is None:
            raise ValueError("the buffer of the sample has no GstVkgdrTensorBatchMeta")
        self.frames = [BatchFrame(meta.get_frame(i)) for i in range(meta.n_frames)]
        where = layouts.single(layouts.layouts(self._buffer, self._caps))
        where = where._replace(shape=(len(self.frames),) + where.shape[1:])
        flags = Gst.MapFlags(Gst.MapFlags.READ | MAP_VKGDR)
        memory = self._buffer.peek_memory(where.memory)
        super().__init__(arrays.map_memory(memory, flags, self._buffer, stream), where)

    def close(self) -> None:
        self._buffer = None
        super().close()

    def numpy(self) -> Any:
        """Returns a copy of the batch in an array of NumPy."""
        self._live()
        with arrays.mapped(self._buffer, self._caps) as (data,):
            return data[: len(self.frames)].copy()


# GStreamer's channels of the property, with the number of values of a mean.
_N_CHANNELS = {"rgb": 3, "bgr": 3, "rgba": 4, "gray": 1}

# The readers that the end of the interpreter has to stop.
_open: "weakref.WeakSet[TensorReader]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for reader in list(_open):
        reader.close()


def _stop_elsewhere(pipeline: Gst.Pipeline) -> None:
    """Stops a pipeline in another thread. A reader may be freed in any thread, and a
    streaming thread of the pipeline cannot wait for its own end. It is a thread of
    Python, because the end of the interpreter waits for those.
    """
    threading.Thread(target=pipeline.set_state, args=(Gst.State.NULL,)).start()


def _type_name(dtype: Any) -> str:
    """The name of a type of NumPy or PyTorch."""
    name = dtype.__name__ if isinstance(dtype, type) else getattr(dtype, "name", str(dtype))
    return name.rpartition(".")[2]  # torch.float16


def _pair(size: Any) -> Tuple[int, int]:
    try:
        width, height = (operator.index(n) for n in size)
    except (TypeError, ValueError):
        raise ValueError(f"the size is (width, height), not {size!r}") from None
    if width < 1 or height < 1:
        raise ValueError(f"the size is (width, height) of at least 1x1, not {size!r}: leave it out "
                         "for the size of the frames")
    return width, height


def _list(name: str, value: Any, channels: str) -> str:
    """A number, or one for each channel, as the text of a GstValueArray."""
    values = list(value) if hasattr(value, "__len__") else [value]
    if len(values) not in (1, _N_CHANNELS.get(channels, len(values))):
        raise ValueError(f"{name} is a number, or one for each channel of {channels}, and not "
                         f"{len(values)} values")
    return "<" + ",".join(repr(float(one)) for one in values) + ">"


def _set(element: Gst.Element, name: str, value: Any) -> None:
    """Sets a property. GObject only logs a warning about a value that is not possible."""
    spec = element.find_property(name)
    if hasattr(spec, "minimum"):
        value = operator.index(value) if isinstance(spec.default_value, int) else float(value)
        if not spec.minimum <= value <= spec.maximum:
            raise ValueError(
                f"{name} is a number from {spec.minimum:g} to {spec.maximum:g}, not {value!r}")
        element.set_property(name, value)
        return
    Gst.util_set_object_arg(element, name, str(value))
    found = element.get_property(name)
    if hasattr(found, "value_nick") and found.value_nick != value:
        kind = type(found)
        values = kind if hasattr(kind, "__iter__") else kind.__enum_values__.values()
        nicks = ", ".join(one.value_nick for one in values)
        raise ValueError(f"{name} is one of {nicks}, not {value!r}")


class TensorReader:
    """Frames of files, addresses, cameras and pipelines as batches on the device.

        with GstVkgdr.TensorReader("clip.mp4", size=(640, 640), batch=8) as reader:
            for batch in reader:
                scores = model(torch.from_dlpack(batch))

    Several threads may read from one reader: each batch goes to one of them. A loop ends
    when the streams end. After seek(), another loop is possible. docs/tensors.md has all
    arguments; those from `dtype` to `missing` are properties of vkgdrtensor.

    :param source: the path of a file; a URI such as "rtsp://camera"; a description in
      the syntax of gst-launch-1.0 ("v4l2src ! video/x-raw,width=1280"); or a list of these
    :param size: (width, height) of the tensor; without it, the size of the first frames
    :param batch: the number of frames for which a batch has room
    :param queue: the number of batches that can wait for the program
    :param stream: a stream of any library, on which batches are complete
    """

    def __init__(
        self, source: Union[Source, Sequence[Source]], size: Optional[Tuple[int, int]] = None,
        batch: int = 0, dtype: Any = "float32", layout: str = "nchw", channels: str = "rgb",
        resize: str = "stretch", filter: str = "bilinear", scale: Optional[float] = None,
        mean: Numbers = None, std: Numbers = None, pad: Optional[float] = None,
        missing: str = "leave-out", queue: int = 2, stream: Any = None,
        context: Optional["GstVkgdr.Context"] = None, fields: str = "both",
    ) -> None:
        single = isinstance(source, (str, os.PathLike))
        all_sources: List[Any] = [source] if single else list(source)  # type: ignore
        if not all_sources:
            raise ValueError("there is no source to read")
        if operator.index(queue) < 1:
            raise ValueError(f"queue is a number of batches of at least 1, not {queue}")
        width, height = (None, None) if size is None else _pair(size)
        self._stream = stream
        self._lock = threading.Lock()  # a batch is pulled by one thread
        self._pipeline: Optional[Gst.Pipeline] = Gst.Pipeline.new(None)
        self._finalizer = weakref.finalize(self, _stop_elsewhere, self._pipeline)
        self._finalizer.atexit = False
        _open.add(self)
        self._ended = False
        if context is not None:
            self._pipeline.set_context(context.to_gst_context())
        tensor = Gst.parse_launch("vkgdrtensor")
        for name, value in {
            "width": width, "height": height, "batch": batch, "type": _type_name(dtype),
            "layout": layout, "channels": channels, "resize": resize, "filter": filter,
            "fields": fields,
            "missing": missing, "scale": scale, "pad": pad,
        }.items():
            if value is not None:
                _set(tensor, name, value)
        for name, numbers in ("mean", mean), ("std", std):
            if numbers is not None:
                Gst.util_set_object_arg(tensor, name, _list(name, numbers, channels))
        self._sink = Gst.parse_launch(f"appsink sync=false max-buffers={queue}")
        for element in (tensor, self._sink):
            self._pipeline.add(element)
        tensor.link(self._sink)
        for one in all_sources:
            add_source(self._pipeline, one, tensor)
        self._pipeline.set_state(Gst.State.PLAYING)

    def _live(self) -> Gst.Pipeline:
        if self._pipeline is None:
            raise ValueError("this reader has been closed")
        return self._pipeline

    def _check(self) -> None:
        """Raises the error that an element has posted, if there is one."""
        pipeline = self._pipeline
        if pipeline is None:  # another thread has closed the reader
            return
        message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
        if message is None:
            return
        error, _ = message.parse_error()
        self.close()
        raise GLib.Error(f"{message.src.get_name()}: {error.message}", error.domain, error.code)

    def __iter__(self) -> Iterator[TensorBatch]:
        return self

    def __next__(self) -> TensorBatch:
        self._live()
        with self._lock:
            while not self._ended:
                sample = self._sink.emit("try-pull-sample", _CHECK_INTERVAL)
                if sample is not None:
                    return self._batch(sample)
                self._check()
                self._ended = self._ended or self._sink.get_property("eos")
        raise StopIteration

    def _batch(self, sample: Gst.Sample) -> TensorBatch:
        if self._stream is None:
            memory = sample.get_buffer().peek_memory(0)
            self._stream = objects.Stream(GstVkgdr.memory_get_context(memory))
        return TensorBatch(sample, self._stream)

    def seek(self, seconds: float) -> None:
        """Continues with the frames at this time, also after the end."""
        position = int(float(seconds) * Gst.SECOND)
        if position < 0:
            raise ValueError(f"a time is not negative: {seconds} seconds")
        pipeline = self._live()
        pipeline.get_state(_START_LIMIT)
        self._check()
        flags = Gst.SeekFlags.FLUSH | Gst.SeekFlags.ACCURATE
        if not pipeline.seek_simple(Gst.Format.TIME, flags, position):
            raise ValueError(f"these sources do not support a seek to {seconds} seconds")
        self._ended = False

    def close(self) -> None:
        """Stops the sources. Batches that were read stay valid."""
        pipeline, self._pipeline = self._pipeline, None
        self._ended = True
        if self._finalizer.detach() is not None and pipeline is not None:
            pipeline.set_state(Gst.State.NULL)

    def __enter__(self) -> "TensorReader":
        self._live()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
