# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of frames as tensors: all are compared with a reference in NumPy.

All formats, types, layouts, channels, filters and ways to resize are tested.
"""

import itertools
from typing import Any, Optional

from gst_support import WRITE, DeviceTestCase, GLib, Gst, GstVideo, GstVkgdr, host_bytes

import support

numpy: Any = support.load("numpy") if not support.is_missing("numpy") else None
if numpy is not None:
    import tensor_reference as reference
    from tensor_reference import Picture, Region, Tensor

TYPES = ("float32", "float16", "bfloat16", "uint8", "int8")
FILTERS = ("nearest", "bilinear", "area")
RESIZES = ("stretch", "letterbox", "crop")
CHANNELS = ("rgb", "bgr", "gray", "rgba")
LAYOUTS = ("nchw", "nhwc")


def config_of(tensor: "Tensor") -> GstVkgdr.TensorConfig:
    config = GstVkgdr.TensorConfig.new(tensor.width, tensor.height)
    config.type = getattr(GstVkgdr.TensorType, tensor.dtype.upper())
    config.layout = getattr(GstVkgdr.TensorLayout, tensor.layout.upper())
    config.channels = getattr(GstVkgdr.TensorChannels, tensor.channels.upper())
    config.resize = getattr(GstVkgdr.TensorResize, tensor.resize.upper())
    config.filter = getattr(GstVkgdr.TensorFilter, tensor.filter.upper())
    config.scale = tensor.scale
    config.pad = tensor.pad
    config.set_mean(list(tensor.mean))
    config.set_std(list(tensor.std))
    return config


def decode(data: bytes, tensor: "Tensor") -> Any:
    """Returns the elements of one frame as NCHW without N, in double precision."""
    if tensor.dtype == "bfloat16":
        bits = numpy.frombuffer(data, "<u2").astype("<u4") << 16
        values = bits.view("<f4")
    else:
        values = numpy.frombuffer(data, tensor.dtype)
    n = len(reference.ORDER[tensor.channels])
    if tensor.layout == "nchw":
        return values.astype(float).reshape(n, tensor.height, tensor.width)
    return values.astype(float).reshape(tensor.height, tensor.width, n).transpose(2, 0, 1)


# The permitted difference from the exact values: (relative, absolute). Integers are
# rounded, and a value between two of them may become either.
ERRORS = {
    "float32": (2e-6, 2e-6),
    "float16": (2**-11 + 2e-6, 2**-11),
    "bfloat16": (2**-8 + 2e-6, 2**-8),
    "uint8": (0, 0.5 + 1e-3),
    "int8": (0, 0.5 + 1e-3),
}


class TensorTestCase(DeviceTestCase):
    def setUp(self) -> None:
        if numpy is None:
            self.skipTest("numpy is missing")
        super().setUp()
        self.stream = GstVkgdr.Stream(self.context)
        self.random = numpy.random.default_rng(1)

    def info(self, format: str, width: int, height: int, fields: str = "") -> Any:
        caps = Gst.Caps.from_string(
            f"video/x-raw,format={format},width={width},height={height}{fields}"
        )
        return GstVideo.VideoInfo.new_from_caps(caps)

    def convert(
        self, tensor: "Tensor", buffer: Gst.Buffer, info: Any, region: Optional["Region"] = None
    ) -> Any:
        config = config_of(tensor)
        converter = GstVkgdr.TensorConverter.new(self.context, config)
        memory = self.allocator.alloc(config.get_frame_size())
        box = None
        if region:
            box = GstVideo.VideoRectangle()
            box.x, box.y, box.w, box.h = region
        self.transform = converter.convert(self.stream, buffer, info, box, memory, 0)[1]
        output = Gst.Buffer.new()
        output.append_memory(memory)
        return decode(host_bytes(output), tensor)

    def check(self, found: Any, wanted: Any, tensor: "Tensor", error: float = 0) -> None:
        if tensor.dtype == "uint8":
            wanted = numpy.clip(wanted, 0, 255)
        elif tensor.dtype == "int8":
            wanted = numpy.clip(wanted, -128, 127)
        relative, absolute = ERRORS[tensor.dtype]
        limit = numpy.abs(wanted) * relative + max(absolute, error)
        worst = numpy.unravel_index(numpy.argmax(numpy.abs(found - wanted) - limit), found.shape)
        self.assertTrue(
            (numpy.abs(found - wanted) <= limit).all(),
            f"{tensor}: {found[worst]} at {worst} is not {wanted[worst]}",
        )

    def compare(
        self, frame: Any, tensor: "Tensor", error: float = 1e-5, region: Optional["Region"] = None
    ) -> None:
        """Compares the tensor of a frame (as rgb() and yuv() return it) with the reference."""
        buffer, info, picture = frame
        with self.subTest(tensor=tensor, frame=picture._replace(planes=()), region=region):
            found = self.convert(tensor, buffer, info, region)
            self.check(found, reference.expected(picture, tensor, region), tensor, error)

    def samples(self, *shape: int, top: int = 255) -> Any:
        return self.random.integers(0, top + 1, shape)

    def rgb(self, width: int, height: int) -> Any:
        """Returns a frame of RGB, and its content for the reference."""
        info = self.info("RGB", width, height)
        planes = [self.samples(height, width) for _ in range(3)]
        data = numpy.zeros((height, info.stride[0]), "u1")
        data[:, : 3 * width] = numpy.stack(planes, -1).reshape(height, -1)
        picture = Picture(width, height, "rgb", planes, matrix="bt709")
        return self.new_buffer(data.tobytes()), info, picture

    def yuv(
        self, format: str, width: int, height: int, fields: str = "", **more: Any
    ) -> Any:
        """Returns a frame of a planar format, or of one like NV12, and its content for
        the reference.
        """
        info = self.info(format, width, height, fields)
        finfo = info.finfo
        size = 2 if finfo.depth[0] > 8 else 1
        data = numpy.zeros(info.size, "u1")
        planes = []
        for c in range(finfo.n_components):
            w = -((-width) >> finfo.w_sub[c])
            h = -((-height) >> finfo.h_sub[c])
            plane = self.samples(h, w, top=(1 << finfo.depth[c]) - 1)
            planes.append(plane)
            step = finfo.pixel_stride[c]
            place = finfo.poffset[c]
            if size == 2 and place == 1:
                place = 2  # GStreamer's offset of V in P010
            start = info.offset[finfo.plane[c]] + place
            words = (plane << finfo.shift[c]).astype("<u2")
            for y in range(h):
                row = start + y * info.stride[finfo.plane[c]]
                for byte in range(size):
                    at = row + byte + step * numpy.arange(w)
                    data[at] = words[y] >> (8 * byte) & 255
        picture = Picture(
            width, height, "yuv" if finfo.n_components > 1 else "gray", planes,
            depth=finfo.depth[0], w_sub=finfo.w_sub[min(1, finfo.n_components - 1)],
            h_sub=finfo.h_sub[min(1, finfo.n_components - 1)], **more,
        )
        return self.new_buffer(data.tobytes()), info, picture


class Elements(TensorTestCase):
    """The elements of a tensor: types, layouts, channels, normalisation."""

    def test_types_layouts_channels(self) -> None:
        frame = self.rgb(21, 13)
        for dtype, layout, channels in (
            *itertools.product(TYPES, LAYOUTS, ("rgb",)),
            *itertools.product(("float16",), LAYOUTS, CHANNELS[1:]),
            *itertools.product(("float32", "uint8"), ("nhwc",), CHANNELS[1:]),
        ):
            self.compare(frame, Tensor(21, 13, channels, layout, dtype, filter="nearest"), 0)

    def test_bytes_are_exact(self) -> None:
        """Samples of RGB are not changed."""
        buffer, info, picture = self.rgb(33, 17)
        tensor = Tensor(33, 17, dtype="uint8", filter="nearest")
        found = self.convert(tensor, buffer, info)
        self.assertTrue((found == numpy.stack(picture.planes)).all())

    def test_normalisation(self) -> None:
        """It subtracts numbers of about mean / std, which adds an error."""
        frame = self.rgb(16, 9)
        for dtype, scale, mean, std in (
            ("float32", 0.0, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
            ("float32", 1.0, (123.675, 116.28, 103.53), (58.395,)),
            ("float16", 1 / 127.5, (1.0,), (1.0,)),
            ("int8", 1.0, (128.0,), (1.0,)),
            ("uint8", 0.5, (-3.0,), (-0.25,)),
        ):
            self.compare(frame, Tensor(
                16, 9, dtype=dtype, filter="nearest", scale=scale, mean=mean, std=std))

    def test_half_precision_is_rounded_to_nearest(self) -> None:
        """Tests numbers that are not normalised, too large numbers, and halves."""
        info = self.info("GRAY8", 256, 1)
        buffer = self.new_buffer(bytes(range(256)))
        for scale in (1.0, 2.0**-24, 2.0**-26, 2.0**-18, 300.0, 257.0, 1 / 3, 8.03125):
            tensor = Tensor(256, 1, "gray", dtype="float16", filter="nearest", scale=scale)
            with self.subTest(scale=scale):
                found = self.convert(tensor, buffer, info)[0, 0]
                with numpy.errstate(over="ignore"):
                    samples = numpy.arange(256, dtype="f4") * numpy.float32(scale)
                    wanted = samples.astype("f2").astype(float)
                self.assertEqual(found.tolist(), wanted.tolist())


class Sizes(TensorTestCase):
    """Filters, ways to resize, regions, and the transform in the meta."""

    def test_filters_and_resizes(self) -> None:
        for size, to_size in (
            ((64, 36), (20, 20)),  # smaller, larger, both
            ((19, 23), (40, 31)),  # larger
            ((50, 20), (25, 33)),  # both
            ((17, 5), (17, 5)), ((30, 1), (7, 3)), ((1, 1), (3, 2)),
        ):
            frame = self.rgb(*size)
            for filter, resize in itertools.product(FILTERS, RESIZES):
                self.compare(frame, Tensor(*to_size, filter=filter, resize=resize, pad=114.0))

    def test_nearest_takes_the_samples_of_pytorch(self) -> None:
        """If the position of a sample is an integer, rounding decides."""
        for size, n in ((17, 7), (1080, 224), (1000, 333), (1919, 640), (224, 1000)):
            info = self.info("GRAY16_LE", size, 1)
            picture = numpy.arange(size, dtype="<u2") * 32
            buffer = self.new_buffer(picture.tobytes().ljust(info.size, b"\0"))
            tensor = Tensor(n, 1, "gray", filter="nearest")
            found = self.convert(tensor, buffer, info)[0, 0] * 65535 / 32
            scale = numpy.float32(size) / numpy.float32(n)
            at = numpy.floor(numpy.arange(n, dtype="f4") * scale).astype(int)
            wanted = numpy.minimum(at, size - 1)
            with self.subTest(size=size, n=n):
                self.assertEqual(numpy.rint(found).astype(int).tolist(), wanted.tolist())

    def test_regions(self) -> None:
        fields = ",colorimetry=bt601,chroma-site=mpeg2"
        frames = (self.rgb(48, 32), self.yuv("NV12", 48, 32, fields, cosited=(True, False)))
        for region, filter, resize, frame in itertools.product(
            (Region(0, 0, 48, 32), Region(7, 3, 20, 11), Region(47, 31, 1, 1)),
            FILTERS, RESIZES, frames,
        ):
            self.compare(frame, Tensor(16, 12, filter=filter, resize=resize), region=region)

    def test_regions_that_are_none(self) -> None:
        buffer, info, _ = self.rgb(16, 16)
        for region in (
            Region(-1, 0, 4, 4), Region(0, 0, 17, 4), Region(8, 8, 2**31 - 1, 4), Region(0, 0, 0, 4)
        ):
            with self.subTest(region=region), self.assertRaisesRegex(GLib.Error, "region"):
                self.convert(Tensor(8, 8), buffer, info, region)

    def test_transform(self) -> None:
        """The corners of the picture in the tensor are the corners of the region."""
        buffer, info, picture = self.rgb(64, 36)
        for region, resize in itertools.product((None, Region(10, 6, 30, 20)), RESIZES):
            tensor = Tensor(20, 24, resize=resize)
            source, target = reference.place(picture, tensor, region)
            self.convert(tensor, buffer, info, region)
            to = self.transform
            for x, y, frame_x, frame_y in (
                (target.x, target.y, source.x, source.y),
                (
                    target.x + target.width, target.y + target.height,
                    source.x + source.width, source.y + source.height,
                ),
            ):
                with self.subTest(resize=resize, region=region):
                    self.assertAlmostEqual(x * to.scale_x + to.offset_x, frame_x)
                    self.assertAlmostEqual(y * to.scale_y + to.offset_y, frame_y)


class Colours(TensorTestCase):
    """Formats, colorimetry, range and chroma siting."""

    def test_colorimetry(self) -> None:
        for matrix, name in (("bt601", "4"), ("bt709", "3"), ("bt2020", "6")):
            for range, full in (("1", True), ("2", False)):
                fields = f",colorimetry={range}:{name}:0:0,chroma-site=jpeg"
                frame = self.yuv("I420", 22, 14, fields, matrix=matrix, full_range=full)
                self.compare(frame, Tensor(22, 14, "rgb", filter="nearest"))

    def test_chroma_siting(self) -> None:
        for site, cosited in (
            ("jpeg", (False, False)), ("mpeg2", (True, False)), ("dv", (True, True)),
            ("cosited", (True, True)), (None, (False, False)),
        ):
            fields = ",colorimetry=bt709" + (f",chroma-site={site}" if site else "")
            frame = self.yuv("NV12", 40, 24, fields, cosited=cosited, matrix="bt709")
            for filter in FILTERS:
                self.compare(frame, Tensor(17, 30, filter=filter))

    def test_formats_and_filters(self) -> None:
        """A kernel is compiled for each format that is read in another way. The others are
        tested with one filter.
        """
        kernels = ("NV12", "Y42B", "A420", "P010_10LE", "Y444_16LE", "GRAY8")
        for format in (
            *kernels, "NV21", "I420", "Y444", "Y41B", "NV16", "NV24", "I420_10LE", "P016_LE",
            "GRAY16_LE",
        ):
            gray = format.startswith("GRAY")
            fields = "" if gray else ",colorimetry=bt709,chroma-site=jpeg"
            frame = self.yuv(format, 37, 21, fields, matrix="bt709", full_range=gray)
            for filter in FILTERS if format in kernels else ("bilinear",):
                for channels in ("rgb", "rgba") if format in ("A420", "NV12") else ("rgb",):
                    self.compare(frame, Tensor(16, 16, channels, filter=filter))

    def test_gray_of_colours(self) -> None:
        frame = self.yuv("NV12", 24, 16, ",colorimetry=bt709", matrix="bt709")
        self.compare(frame, Tensor(12, 12, "gray", filter="area"))

    def blocks(self, format: str) -> Any:
        """A frame of coloured squares, and the same frame in RGBA. GStreamer makes
        both.
        """
        size = 96
        colours = self.samples(6, 6, 4)
        colours[..., 3] = 255
        pixels = colours.repeat(16, 0).repeat(16, 1).astype("u1").tobytes()
        rgba = f"video/x-raw,format=RGBA,width={size},height={size},framerate=1/1"
        convert = "videoconvert dither=none chroma-mode=full matrix-mode=full"
        pipeline = Gst.parse_launch(
            f"appsrc name=src format=time caps={rgba} ! {convert} ! "
            f"video/x-raw,format={format} ! tee name=t ! queue ! appsink name=raw sync=false "
            f"t. ! queue ! {convert} ! {rgba} ! appsink name=rgba sync=false"
        )
        src = pipeline.get_by_name("src")
        pipeline.set_state(Gst.State.PLAYING)
        src.emit("push-buffer", Gst.Buffer.new_wrapped(pixels))
        src.emit("end-of-stream")
        samples = [
            pipeline.get_by_name(name).emit("try-pull-sample", 20 * Gst.SECOND)
            for name in ("raw", "rgba")
        ]
        message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
        pipeline.set_state(Gst.State.NULL)
        self.assertIsNone(message, message and message.parse_error())
        buffer, info = samples[0].get_buffer(), samples[0].get_caps()
        return buffer, GstVideo.VideoInfo.new_from_caps(info), samples[1].get_buffer()

    def test_all_formats(self) -> None:
        """In the middle of a square of one colour, the result is that of videoconvert.
        """
        tensor = Tensor(96, 96, "rgb", "nhwc", "uint8")
        count = 0
        for number in GstVkgdr.Kernel.list_formats():
            format = GstVideo.video_format_to_string(number)
            with self.subTest(format=format):
                raw, info, rgba = self.blocks(format)
                buffer = self.new_buffer(host_bytes(raw))
                meta = GstVideo.buffer_get_video_meta(raw)
                if meta:
                    GstVideo.buffer_add_video_meta_full(
                        buffer, meta.flags, meta.format, meta.width, meta.height,
                        meta.n_planes, list(meta.offset), list(meta.stride),
                    )
                found = self.convert(tensor, buffer, info)[:, 8::16, 8::16]
                wanted = numpy.frombuffer(host_bytes(rgba), "u1").reshape(96, 96, 4)
                wanted = wanted.transpose(2, 0, 1)[:3, 8::16, 8::16].astype(float)
                # videoconvert's matrices have few bits, so its result is wrong by up to
                # 6.
                worst = numpy.abs(found - wanted).max()
                self.assertLessEqual(worst, 8, f"{found} is not {wanted}")
            count += 1
        self.assertGreater(count, 60)


class Objects(TensorTestCase):
    """Wrong arguments, batches, and caps."""

    def test_batch(self) -> None:
        frames = [self.rgb(12, 10) for _ in range(3)]
        tensor = Tensor(6, 5, filter="area")
        config = config_of(tensor)
        converter = GstVkgdr.TensorConverter.new(self.context, config)
        size = config.get_frame_size()
        memory = self.allocator.alloc(3 * size)
        for i, (buffer, info, _) in enumerate(frames):
            converter.convert(self.stream, buffer, info, None, memory, i * size)
        output = Gst.Buffer.new()
        output.append_memory(memory)
        data = host_bytes(output)
        for i, (_, _, picture) in enumerate(frames):
            found = decode(data[i * size : (i + 1) * size], tensor)
            self.check(found, reference.expected(picture, tensor), tensor, 1e-5)

    def test_caps(self) -> None:
        for tensor, batch, id, caps in (
            (Tensor(64, 48, dtype="float16"), 8, "x",
             "dims=<8,3,48,64>,dims-order=row-major,type=float16,tensor-id=x"),
            (Tensor(64, 48, "gray", "nhwc", "int8"), 1, None,
             "dims=<1,48,64,1>,dims-order=row-major,type=int8"),
        ):
            found = config_of(tensor).to_caps(batch, id)
            wanted = Gst.Caps.from_string("tensor/strided(memory:VkgdrMemory)," + caps)
            self.assertTrue(found.is_equal(wanted), found.to_string())

    def test_descriptions_that_are_none(self) -> None:
        for name, value in (
            ("width", 0), ("height", -1), ("width", 32768), ("pad", 256.0), ("pad", float("nan")),
            ("std", [1.0, 0.0, 1.0]),
        ):
            config = GstVkgdr.TensorConfig.new(8, 8)
            if name == "std":
                config.set_std(value)
            else:
                setattr(config, name, value)
            with self.subTest(name=name, value=value), self.assertRaises(GLib.Error):
                GstVkgdr.TensorConverter.new(self.context, config)
        with self.assertRaisesRegex(GLib.Error, "mean"):
            config.set_mean([])
        with self.assertRaisesRegex(GLib.Error, "5 values"):
            config.set_std([1.0] * 5)

    def test_memory_that_does_not_fit(self) -> None:
        buffer, info, _ = self.rgb(8, 8)
        config = config_of(Tensor(8, 8))
        converter = GstVkgdr.TensorConverter.new(self.context, config)
        size = config.get_frame_size()
        small, large = self.allocator.alloc(size - 4), self.allocator.alloc(2 * size)
        system = Gst.Buffer.new_allocate(None, size, None).peek_memory(0)
        for memory, offset in ((small, 0), (large, size + 4), (large, 2), (system, 0)):
            with self.assertRaises(GLib.Error):
                converter.convert(self.stream, buffer, info, None, memory, offset)
        frame = Gst.Buffer.new_allocate(None, info.size, None)
        with self.assertRaisesRegex(GLib.Error, "vkgdrupload"):
            converter.convert(self.stream, frame, info, None, large, 0)

    def test_prepare(self) -> None:
        converter = GstVkgdr.TensorConverter.new(self.context, config_of(Tensor(8, 8)))
        self.assertTrue(converter.prepare(self.info("NV12", 16, 16)))
        with self.assertRaisesRegex(GLib.Error, "tiles"):
            converter.prepare(self.info("NV12_64Z32", 64, 64))

    def test_the_tensor_waits_for_the_frame(self) -> None:
        """The tensor has the content that was written to the frame last."""
        info = self.info("GRAY8", 64, 64)
        tensor = Tensor(64, 64, "gray", dtype="uint8", filter="nearest")
        converter = GstVkgdr.TensorConverter.new(self.context, config_of(tensor))
        buffer = self.new_buffer(bytes(info.size))
        memory = self.allocator.alloc(64 * 64)
        for value in range(1, 20):
            with GstVkgdr.mapped(buffer, None, WRITE) as (pixels,):
                pixels[:] = value
            converter.convert(self.stream, buffer, info, None, memory, 0)
            output = Gst.Buffer.new()
            output.append_memory(memory)
            self.assertEqual(set(host_bytes(output)), {value})


class Torch(TensorTestCase):
    """Compares the reference itself with PyTorch, if that is installed."""

    def test_filters(self) -> None:
        torch = support.load("torch")
        modes = {
            "nearest": {"mode": "nearest"},
            "bilinear": {"mode": "bilinear", "align_corners": False},
            "area": {"mode": "bilinear", "align_corners": False, "antialias": True},
        }
        for (width, height), (to_width, to_height) in (
            ((64, 36), (20, 20)), ((19, 23), (40, 31)), ((50, 20), (25, 33)),
        ):
            buffer, info, picture = self.rgb(width, height)
            planes = torch.from_numpy(numpy.stack(picture.planes)[None].astype("f4") / 255)
            for filter, arguments in modes.items():
                tensor = Tensor(to_width, to_height, filter=filter)
                wanted = torch.nn.functional.interpolate(
                    planes, (to_height, to_width), **arguments
                )[0].numpy()
                with self.subTest(tensor=tensor):
                    found = self.convert(tensor, buffer, info)
                    numpy.testing.assert_allclose(found, wanted, atol=2e-5)


if __name__ == "__main__":
    support.main()
