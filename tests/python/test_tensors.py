# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of frames as tensors: all are compared with a reference in NumPy.

All formats, types, layouts, channels, filters and ways to resize are tested. The
reference computes in double precision. Each filter is a matrix of weights for columns
and one for rows.
"""

import functools
import itertools
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

from gst_support import (
    WRITE, DeviceTestCase, GLib, Gst, GstVideo, GstVkgdr, buffer_of, download, host_bytes, play,
    video_info,
)

import numpy as np
import support
from picture import Picture, is_interlaced, layout_of

FILTERS = ("nearest", "bilinear", "area")
RESIZES = ("stretch", "letterbox", "crop")
LAYOUTS = ("nchw", "nhwc")

# The components of a tensor. "y" is the luma.
ORDER = {"rgb": "rgb", "bgr": "bgr", "gray": "y", "rgba": "rgba"}

# The permitted difference from the exact values for each type: (relative, absolute).
# Integers are rounded, and a value between two of them may become either.
ERRORS = {
    "float32": (2e-6, 2e-6),
    "float16": (2**-11 + 2e-6, 2**-11),
    "bfloat16": (2**-8 + 2e-6, 2**-8),
    "uint8": (0, 0.5 + 1e-3),
    "int8": (0, 0.5 + 1e-3),
}


class Region(NamedTuple):
    x: int
    y: int
    width: int
    height: int


class Tensor(NamedTuple):
    width: int
    height: int
    channels: str = "rgb"
    layout: str = "nchw"
    type: str = "float32"
    resize: str = "stretch"
    filter: str = "bilinear"
    scale: float = 0.0
    pad: float = 0.0
    mean: Sequence[float] = (0.0,)
    std: Sequence[float] = (1.0,)
    fields: str = "both"

    @property
    def config(self) -> GstVkgdr.TensorConfig:
        config = GstVkgdr.TensorConfig.new(self.width, self.height)
        for name in ("type", "layout", "channels", "resize", "filter", "fields"):
            kind = getattr(GstVkgdr, f"Tensor{name.title()}")
            setattr(config, name, getattr(kind, getattr(self, name).upper()))
        config.scale, config.pad = self.scale, self.pad
        config.set_mean(list(self.mean))
        config.set_std(list(self.std))
        return config

    def decode(self, data: bytes) -> Any:
        """Returns the elements of one frame as NCHW without N, in double precision."""
        if self.type == "bfloat16":
            values = (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4").astype(float)
        else:
            values = np.frombuffer(data, self.type).astype(float)
        n = len(ORDER[self.channels])
        if self.layout == "nchw":
            return values.reshape(n, self.height, self.width)
        return values.reshape(self.height, self.width, n).transpose(2, 0, 1)


class Frame(NamedTuple):
    buffer: Gst.Buffer
    info: GstVideo.VideoInfo
    planes: List[np.ndarray]  #: the samples of each component in their own resolution


# --- the reference --------------------------------------------------------------


def weigh(
    filter: str, start: int, size: int, n: int, sub: int, cosited: bool, length: int
) -> np.ndarray:
    """Returns the weights of `length` samples for each of `n` columns or rows, which are a
    region of pixels. They are triangles around each centre, and end at the region's edges.
    """
    weights = np.zeros((n, length))
    if filter == "nearest":
        at = np.floor(np.arange(n, dtype="f4") * (np.float32(size) / np.float32(n))).astype(int)
        weights[np.arange(n), (start + np.minimum(at, size - 1)) >> sub] = 1
        return weights
    # In units of samples. 0 is the centre of the first one.
    middles = start + (np.arange(n) + 0.5) * size / n
    middles = (middles - 0.5) / (1 << sub) if cosited else middles / (1 << sub) - 0.5
    first, last = start >> sub, (start + size - 1) >> sub
    half_width = max(size / n / (1 << sub), 1) if filter == "area" else 1
    for row, middle in zip(weights, middles):
        if half_width == 1:  # outside, the sample at the edge is used
            left = int(np.floor(middle))
            for i, share in ((left, 1 - (middle - left)), (left + 1, middle - left)):
                row[min(max(i, first), last)] += share
            continue
        i = np.arange(first, last + 1)
        triangle = np.maximum(1 - np.abs(i - middle) / half_width, 0)
        row[i] = triangle / triangle.sum()
    return weights


def weigh_fields(
    used: Optional[int], filter: str, start: int, size: int, n: int, sub: int, cosited: bool,
    length: int
) -> np.ndarray:
    """The same for the rows of an interlaced frame. All are made of the field 0 (top) or 1, or
    of both in turn (None).
    """
    weights = np.zeros((n, length))
    lines = np.arange(start, start + size)
    nearest = np.floor(np.arange(n, dtype="f4") * (np.float32(size) / np.float32(n))).astype(int)
    middles = start + (np.arange(n) + 0.5) * size / n
    middles = (middles - 0.5) / (1 << sub) if cosited else middles / (1 << sub) - 0.5
    for y, (row, middle) in enumerate(zip(weights, middles)):
        field = start % 2 if size == 1 else y % 2 if used is None else used
        rows = np.unique(lines[lines % 2 == field] // 2 >> sub)  # those of the field
        middle = (middle - field) / 2
        step = size / n / (1 << sub) / (1 if used is None and size > 1 else 2)
        half_width = max(step, 1) if filter == "area" else 1
        if filter == "nearest":
            line = start + min(nearest[y], size - 1)
            row[2 * min(max((line - field) // 2 >> sub, rows[0]), rows[-1]) + field] = 1
        elif half_width == 1:
            left = int(np.floor(middle))
            for i, share in ((left, 1 - (middle - left)), (left + 1, middle - left)):
                row[2 * min(max(i, rows[0]), rows[-1]) + field] += share
        else:
            triangle = np.maximum(1 - np.abs(rows - middle) / half_width, 0)
            row[2 * rows + field] = triangle / triangle.sum()
    return weights


def place(size: Region, tensor: Tensor) -> Tuple[Region, Region]:
    """The part of a region that is used, and where it is in the tensor."""
    source, target = size, Region(0, 0, tensor.width, tensor.height)

    def scaled(outer: Region, inner: Region, factor: float) -> Region:
        """A region in the middle of the outer one."""
        width, height = (
            min(max(int(np.floor(size * factor + 0.5)), 1), limit)
            for size, limit in ((inner.width, outer.width), (inner.height, outer.height)))
        return Region(outer.x + (outer.width - width) // 2,
                      outer.y + (outer.height - height) // 2, width, height)

    factors = (tensor.width / source.width, tensor.height / source.height)
    if tensor.resize == "letterbox":
        target = scaled(target, source, min(factors))
    elif tensor.resize == "crop":
        source = scaled(source, target, min(1 / factor for factor in factors))
    return source, target


def expected(frame: Frame, tensor: Tensor, region: Optional[Region] = None) -> np.ndarray:
    """The elements before they are converted to their type, as NCHW without N."""
    info, sites = frame.info, GstVideo.VideoChromaSite
    source, target = place(region or Region(0, 0, info.width, info.height), tensor)
    weigh_rows: Any = weigh
    if is_interlaced(info):
        first = 0 if is_top_first(info) else 1
        weigh_rows = functools.partial(weigh_fields, {
            "both": None, "top": 0, "bottom": 1, "first": first}[tensor.fields])
    planes = [
        weigh_rows(tensor.filter, source.y, source.height, target.height, info.finfo.h_sub[c],
              bool(info.chroma_site & sites.V_COSITED), plane.shape[0])
        @ plane
        @ weigh(tensor.filter, source.x, source.width, target.width, info.finfo.w_sub[c],
                bool(info.chroma_site & sites.H_COSITED), plane.shape[1]).T
        for c, plane in enumerate(frame.planes)
    ]
    *rgb, alpha = Picture(info).colours(planes)
    found = {name: np.clip(255 * values, 0, 255) for name, values in zip(
        "rgbay", (*rgb, alpha, Picture(info).to_yuv(rgb)[0]))}
    scale = tensor.scale or (1 if "int" in tensor.type else 1 / 255)
    result = np.zeros((len(ORDER[tensor.channels]), tensor.height, tensor.width))
    for i, name in enumerate(ORDER[tensor.channels]):
        result[i] = 0 if name == "a" else tensor.pad
        result[i, target.y : target.y + target.height, target.x : target.x + target.width] = (
            found[name])
        mean = tensor.mean[min(i, len(tensor.mean) - 1)]
        std = tensor.std[min(i, len(tensor.std) - 1)]
        result[i] = (result[i] * scale - mean) / std
    return result


def is_top_first(info: GstVideo.VideoInfo) -> bool:
    return info.to_caps()[0]["field-order"] == "top-field-first"


# --- the tests --------------------------------------------------------------------


class Tensors(DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.stream = GstVkgdr.Stream(self.context)
        self.random = np.random.default_rng(1)

    def frame(self, format: str, width: int, height: int, fields: str = "") -> Frame:
        info = video_info(format, width, height, fields and "," + fields)
        data = self.random.integers(0, 256, info.size, "u1")
        picture = Picture(info).read(
            data.view("u2").byteswap().view("u1") if format.endswith("BE") else data,
            layout_of(info, False))
        return Frame(self.new_buffer(data.tobytes()), info, picture.planes)

    def convert(self, tensor: Tensor, frame: Frame, region: Optional[Region] = None) -> Any:
        config = tensor.config
        converter = GstVkgdr.TensorConverter.new(self.context, config)
        memory = self.allocator.alloc(config.get_frame_size())
        box = None
        if region:
            box = GstVideo.VideoRectangle()
            box.x, box.y, box.w, box.h = region
        self.transform = converter.convert(
            self.stream, frame.buffer, frame.info, box, memory, 0)[1]
        return tensor.decode(download(memory))

    def compare(self, frame: Frame, tensor: Tensor, region: Optional[Region] = None) -> None:
        """Compares the tensor of a frame with the reference."""
        limits = {"uint8": (0, 255), "int8": (-128, 127)}.get(tensor.type, (-np.inf, np.inf))
        relative, absolute = ERRORS[tensor.type]
        with self.subTest(tensor=tensor, format=frame.info.to_caps().to_string(), region=region):
            np.testing.assert_allclose(
                self.convert(tensor, frame, region),
                np.clip(expected(frame, tensor, region), *limits),
                rtol=relative, atol=max(absolute, 1e-5))

    # --- elements of a tensor: types, layouts, channels, normalisation ---

    def test_interlaced(self) -> None:
        """Each row is made of lines of one field."""
        fields = "both", "top", "bottom", "first"
        formats = "I420", "NV12", "P010_10LE", "YUY2", "RGBA", "RGB", "I420_10BE"
        orders = itertools.cycle(("top-field-first", "bottom-field-first"))
        for format, filter, used in itertools.product(formats, FILTERS, fields):
            for size in (32, 24), (33, 11), (5, 1):
                frame = self.frame(
                    format, *size, f"interlace-mode=interleaved,field-order={next(orders)}")
                for width, height, resize in (
                        (13, 9, "stretch"), (40, 51, "letterbox"), (16, 10, "crop")):
                    self.compare(frame, Tensor(
                        width, height, filter=filter, resize=resize, fields=used, layout="nhwc"))
                if size == (32, 24):
                    for region in Region(3, 5, 20, 9), Region(4, 6, 8, 2), Region(0, 7, 6, 1):
                        self.compare(
                            frame, Tensor(11, 7, filter=filter, fields=used), region)

    def test_fields_of_the_element(self) -> None:
        """The property chooses the field, and the flag of the buffer says which one is first."""
        lines = np.repeat(np.arange(8, dtype="u1")[:, None], 8, 1)  # the top field is even
        for fields, flags, expected in (
                ("both", 0, range(8)), ("top", 0, (0, 0, 2, 2, 4, 4, 6, 6)),
                ("bottom", 0, (1, 1, 1, 3, 3, 5, 5, 7)),
                ("first", GstVideo.VideoBufferFlags.TFF, (0, 0, 2, 2, 4, 4, 6, 6)),
                ("first", 0, (1, 1, 1, 3, 3, 5, 5, 7))):
            buffer = Gst.Buffer.new_wrapped(lines.tobytes())
            buffer.set_flags(Gst.BufferFlags(int(flags)))
            (sample,) = play(
                'appsrc name=src format=time caps="video/x-raw,format=GRAY8,width=8,height=8,'
                'framerate=25/1,interlace-mode=interleaved" ! vkgdrupload ! vkgdrtensor type=uint8 '
                f"channels=gray filter=nearest fields={fields} ! vkgdrdownload ! appsink name=sink",
                [buffer], self.context)
            found = np.frombuffer(host_bytes(sample.get_buffer()), "u1").reshape(8, 8)
            with self.subTest(fields=fields, flags=int(flags)):
                self.assertEqual(list(found[:, 3]), list(expected))

    def test_fields_of_progressive_frames(self) -> None:
        """The property has no effect on them."""
        for used in ("both", "top", "first"):
            for fields in ("interlace-mode=progressive", "interlace-mode=mixed"):
                self.compare(self.frame("I420", 16, 12, fields), Tensor(9, 7, fields=used))

    def test_types_layouts_channels(self) -> None:
        frame = self.frame("RGB", 21, 13)
        for type, layout, channels in (
            *itertools.product(ERRORS, LAYOUTS, ("rgb",)),
            *itertools.product(("float16", "uint8"), LAYOUTS, ("bgr", "gray", "rgba")),
        ):
            self.compare(frame, Tensor(21, 13, channels, layout, type, filter="nearest"))

    def test_normalisation(self) -> None:
        frame = self.frame("RGB", 16, 9)
        for type, scale, mean, std in (
            ("float32", 0.0, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
            ("float32", 1.0, (123.675, 116.28, 103.53), (58.395,)),
            ("float16", 1 / 127.5, (1.0,), (1.0,)),
            ("int8", 1.0, (128.0,), (1.0,)),
            ("uint8", 0.5, (-3.0,), (-0.25,)),
        ):
            self.compare(frame, Tensor(
                16, 9, type=type, filter="nearest", scale=scale, mean=mean, std=std))

    def test_half_precision_is_rounded_to_nearest(self) -> None:
        """Tests numbers that are not normalised, too large numbers, and halves."""
        frame = Frame(self.new_buffer(bytes(range(256))), video_info("GRAY8", 256, 1), [])
        for scale in (1.0, 2.0**-24, 2.0**-26, 2.0**-18, 300.0, 257.0, 1 / 3, 8.03125):
            tensor = Tensor(256, 1, "gray", type="float16", filter="nearest", scale=scale)
            with self.subTest(scale=scale), np.errstate(over="ignore"):
                samples = np.arange(256, dtype="f4") * np.float32(scale)
                np.testing.assert_array_equal(
                    self.convert(tensor, frame)[0, 0], samples.astype("f2"))

    # --- sizes: filters, ways to resize, regions, and the transform in the meta ---

    def test_sizes(self) -> None:
        """Of frames and of regions. The transform maps the corners of the picture in the tensor
        to those of the region.
        """
        fields = "colorimetry=bt601,chroma-site=mpeg2"
        for format, size, region, to_size in (
            ("RGB", (64, 36), None, (20, 20)),  # smaller, larger, both
            ("RGB", (19, 23), None, (40, 31)),  # larger
            ("RGB", (50, 20), None, (25, 33)),  # both
            ("RGB", (17, 5), None, (17, 5)), ("RGB", (30, 1), None, (7, 3)),
            ("RGB", (1, 1), None, (3, 2)), ("NV12", (48, 32), None, (16, 12)),
            *((format, (48, 32), region, (16, 12)) for format in ("RGB", "NV12")
              for region in (Region(7, 3, 20, 11), Region(47, 31, 1, 1))),
        ):
            frame = self.frame(format, *size, "" if format == "RGB" else fields)
            for filter, resize in itertools.product(FILTERS, RESIZES):
                tensor = Tensor(*to_size, filter=filter, resize=resize, pad=114.0)
                self.compare(frame, tensor, region)
                source, target = place(region or Region(0, 0, *size), tensor)
                to = self.transform
                for corner in np.zeros(2), np.ones(2):
                    np.testing.assert_allclose(
                        (target[:2] + corner * target[2:]) * (to.scale_x, to.scale_y)
                        + (to.offset_x, to.offset_y), source[:2] + corner * source[2:], atol=1e-6)

    def test_nearest_takes_the_samples_of_pytorch(self) -> None:
        """If the position of a sample is an integer, rounding decides."""
        for size, n in ((17, 7), (1080, 224), (1000, 333), (1919, 640), (224, 1000)):
            self.compare(self.frame("GRAY16_LE", size, 1), Tensor(n, 1, "gray", filter="nearest"))

    # --- colours: formats, colorimetry, range and chroma siting ---

    def test_colours(self) -> None:
        """A kernel is compiled for each format that is read in another way. The others are
        tested with one filter.
        """
        usual = "colorimetry=bt709,chroma-site=jpeg"
        sites = ("", *(f",chroma-site={site}" for site in ("jpeg", "mpeg2", "dv", "cosited")))
        for formats, fields, filters, channels in (
            *(("I420", f"colorimetry={range}:{matrix}:0:0", ("nearest",), ("rgb", "gray"))
              for matrix, range in itertools.product((4, 3, 6), (1, 2))),
            *(("NV12", "colorimetry=bt709" + site, FILTERS, ("rgb",)) for site in sites),
            ("NV12 A420", usual, FILTERS, ("rgb", "rgba")),
            ("Y42B P010_10LE Y444_16LE", usual, FILTERS, ("rgb",)),
            ("GRAY8", "colorimetry=2:3:5:1", FILTERS, ("rgb",)),
            ("GRAY16_LE", "", ("bilinear",), ("rgb",)),
            ("RGB ARGB64", "colorimetry=2:1:5:1", ("nearest",), ("rgb", "gray")),
            ("NV21 I420 Y444 Y41B NV16 NV24 I420_10LE P016_LE", usual, ("bilinear",), ("rgb",)),
        ):
            for format in formats.split():
                frame = self.frame(format, 37, 21, fields)
                for filter, order in itertools.product(filters, channels):
                    self.compare(frame, Tensor(16, 24, order, filter=filter))

    def test_all_formats(self) -> None:
        """In the middle of a bar of one colour, the result is that of videoconvert."""
        formats = GstVkgdr.Kernel.list_formats()
        self.assertGreater(len(formats), 60)
        for format in map(GstVideo.video_format_to_string, formats):
            with self.subTest(format=format):
                tensor, wanted = (
                    np.frombuffer(host_bytes(play(
                        "videotestsrc num-buffers=1 ! video/x-raw,format=RGBA,width=112,height=96 "
                        f"! videoconvert dither=none ! video/x-raw,format={format} ! {elements} "
                        "! appsink name=sink")[0].get_buffer()), "u1").astype(int)
                    for elements in (
                        "vkgdrupload ! vkgdrtensor type=uint8 layout=nhwc ! vkgdrdownload",
                        "videoconvert chroma-mode=full matrix-mode=full ! video/x-raw,format=RGB"))
                # videoconvert's matrices have few bits, so its result is wrong by up to 6.
                np.testing.assert_allclose(
                    *(one.reshape(96, 112, 3)[32, 8::16] for one in (tensor, wanted)), atol=8)

    # --- objects ---

    def test_a_size_may_be_unknown(self) -> None:
        caps = Gst.Caps.from_string("tensor/strided,type=float32,dims=<0,3>")
        self.assertEqual(list(GstVkgdr.tensor_caps_parse(caps)[2]), [0, 3])

    def test_wrong_arguments(self) -> None:
        new, tensor = GstVkgdr.TensorConverter.new, Tensor(8, 8)
        converter, size = new(self.context, tensor.config), tensor.config.get_frame_size()
        frame = self.frame("RGB", 16, 16)
        small, large = self.allocator.alloc(size - 4), self.allocator.alloc(2 * size)
        system = Gst.Buffer.new_allocate(None, max(size, frame.info.size), None)

        def convert(buffer: Gst.Buffer, memory: Gst.Memory, offset: int) -> None:
            converter.convert(self.stream, buffer, frame.info, None, memory, offset)

        self.assertTrue(converter.prepare(video_info("NV12", 16, 16)))
        self.assert_raise(
            *((GLib.Error, "", lambda config: new(self.context, config.config), tensor._replace(
                **{name: value}))
              for name, value in (
                ("width", 0), ("height", -1), ("width", 32768), ("pad", 256.0),
                ("pad", float("nan")), ("std", [1.0, 0.0, 1.0]))),
            (GLib.Error, "mean", tensor.config.set_mean, []),
            (GLib.Error, "5 values", tensor.config.set_std, [1.0] * 5),
            (GLib.Error, "", convert, frame.buffer, small, 0),
            (GLib.Error, "", convert, frame.buffer, large, size + 4),
            (GLib.Error, "", convert, frame.buffer, large, 2),
            (GLib.Error, "", convert, frame.buffer, system.peek_memory(0), 0),
            (GLib.Error, "vkgdrupload", convert, system, large, 0),
            (GLib.Error, "tiles", converter.prepare, video_info("NV12_64Z32", 64, 64)),
            *((GLib.Error, "region", self.convert, tensor, frame, region) for region in (
                Region(-1, 0, 4, 4), Region(0, 0, 17, 4), Region(8, 8, 2**31 - 1, 4),
                Region(0, 0, 0, 4))),
        )

    def test_the_tensor_waits_for_the_frame(self) -> None:
        """The tensor has the content that was written to the frame last."""
        info, tensor = video_info("GRAY8", 64, 64), Tensor(64, 64, "gray", type="uint8")
        converter = GstVkgdr.TensorConverter.new(self.context, tensor.config)
        buffer = self.new_buffer(bytes(info.size))
        memory = self.allocator.alloc(64 * 64)
        for value in range(1, 20):
            with GstVkgdr.mapped(buffer, None, WRITE) as (pixels,):
                pixels[:] = value
            converter.convert(self.stream, buffer, info, None, memory, 0)
            self.assertEqual(set(host_bytes(buffer_of(memory))), {value})

    def test_reference(self) -> None:
        """Compares it with PyTorch, if that is installed."""
        torch = support.load("torch")
        frame = self.frame("RGB", 50, 20)
        planes = torch.from_numpy(np.stack(frame.planes)[None].astype("f4") / 255)
        for filter, arguments in (
            ("nearest", {"mode": "nearest"}), ("bilinear", {"mode": "bilinear"}),
            ("area", {"mode": "bilinear", "antialias": True}),
        ):
            for width, height in (20, 13), (70, 31), (25, 33):
                wanted = torch.nn.functional.interpolate(planes, (height, width), **arguments)
                np.testing.assert_allclose(
                    expected(frame, Tensor(width, height, filter=filter)), wanted[0], atol=2e-5)


if __name__ == "__main__":
    support.main()
