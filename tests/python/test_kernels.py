# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of kernels on frames: how they read and write samples, and every effect of cudafilter.

Each effect is compared with a reference in NumPy, for frames of even and odd sizes, with
and without padding, and in place if the effect supports it. An effect that computes in
integers or specifies each rounding has to match exactly, one that computes in float may
differ by one. The references share no code with the sources of the effects.
"""

import functools
import itertools
import os
import re
import unittest
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gst_support import (
    READ, WRITE, DeviceTestCase, GLib, Gst, GstVideo, GstVkgdr, add_video_meta, buffer_of,
    host_bytes, play, video_info,
)

import numpy as np
import support
from picture import FRONT, ROW, Layout, Picture, is_interlaced, layout_of
from gi.repository import Gio

FORMATS = (
    "RGBA", "RGBA,colorimetry=2:1:5:1", "BGRA,colorimetry=sRGB", "RGBx", "BGRx", "xRGB", "RGB",
    "GRAY8", "GRAY8,colorimetry=2:4:5:1", "NV12", "NV12,colorimetry=bt709", "I420",
    "I420,colorimetry=1:4:0:0", "YUY2", "AYUV", "Y444,colorimetry=1:3:5:1",
    "GRAY16_LE,colorimetry=2:3:5:1", "ARGB64,colorimetry=2:1:5:1", "P010_10LE",
    "I420_10LE,colorimetry=2:6:5:1",
)

# The last one is larger than one block of threads, horizontally and vertically. In rows of 8
# pixels, a kernel can write four pixels in one access, in rows of 7 pixels it cannot.
SIZES = ((1, 1), (7, 5), (8, 5), (40, 26))

# Sizes before and after an effect that scales: smaller, larger, larger in one direction only.
SCALED = (
    ((38, 26), (17, 9)), ((7, 5), (38, 26)), ((9, 30), (40, 11)), ((7, 5), (1, 1)),
    ((1, 1), (7, 5)),
)

INTERLACED = ",interlace-mode=interleaved"
BINOMIAL = (1, 4, 6, 4, 1)
QUARTER_TURNS = (1, 3, 6, 7)
CONVERTING = ("balance", "boxes", "chromakey", "colormatrix", "convert", "gamma", "sepia")


@functools.lru_cache(None)
def info_of(format: str, width: int, height: int) -> GstVideo.VideoInfo:
    return video_info(format, width, height, ",framerate=1/1")


def nearest(plane: np.ndarray, height: int, width: int) -> np.ndarray:
    """Resizes it with the nearest places."""
    rows, columns = (
        np.floor((np.arange(to) + 0.5) * size / to).astype(int)
        for to, size in zip((height, width), plane.shape))
    return plane[rows][:, columns]


def turn(plane: np.ndarray, method: int) -> np.ndarray:
    """The methods are those of GstVideoOrientationMethod."""
    if method < 4:
        return np.rot90(plane, -method)
    return (plane[:, ::-1], plane[::-1], plane.T, np.rot90(plane, 2).T)[method - 4]


def window(plane: np.ndarray, weights: Sequence[float]) -> np.ndarray:
    """The weighted mean of the samples around each one. The same weights apply horizontally
    and vertically.
    """
    height, width = plane.shape
    padded = np.pad(plane, len(weights) // 2, "edge")
    rows = sum(weight * padded[i : i + height] for i, weight in enumerate(weights))
    sums = sum(weight * rows[:, i : i + width] for i, weight in enumerate(weights))
    return sums / sum(weights) ** 2


class Samples:
    """References that compute the samples of component c from those of the input."""

    def __init__(self, p: Picture, out: Picture, side: int = 0) -> None:
        self.p, self.out = p, out

    def run(self, name: str, params: Dict[str, Any]) -> Iterator[np.ndarray]:
        p = self.p
        for c, plane in enumerate(p.planes):
            # Alpha and padding move with the other samples, and do not change otherwise.
            if (c == 3 and name not in ("flip", "bob")) or (p.is_chroma(c) and name == "sharpen"):
                yield plane
            elif p.is_chroma(c) and name in ("grayscale", "threshold", "sobel"):
                yield np.full_like(plane, p.black[c])
            else:
                yield getattr(self, name)(c, plane, **params)

    def copy(self, c: int, plane: np.ndarray) -> np.ndarray:
        return plane

    def invert(self, c: int, plane: np.ndarray) -> np.ndarray:
        whole = 2 * self.p.black[c] + (0 if self.p.is_chroma(c) else self.p.range[c])
        return np.clip(whole - plane, 0, self.p.top[c])

    def grayscale(self, c: int, plane: np.ndarray) -> np.ndarray:
        return self.p.luma()

    def gain(self, c: int, plane: np.ndarray, gain: float, offset: float) -> np.ndarray:
        black = self.p.black[c]
        base = np.float32((0 if self.p.is_chroma(c) else offset) * self.p.range[c] + black)
        levels = ((plane - black) * gain + base).astype("f4")
        return np.rint(np.clip(levels, 0, self.p.top[c]))

    def threshold(self, c: int, plane: np.ndarray, level: float) -> np.ndarray:
        is_light = self.p.luma() >= np.rint(self.p.black[c] + level * self.p.range[c])
        return self.p.black[c] + is_light * self.p.range[c]

    def blur(self, c: int, plane: np.ndarray) -> np.ndarray:
        return np.floor(window(plane, BINOMIAL) + 0.5)

    def boxblur(self, c: int, plane: np.ndarray, radius: int) -> np.ndarray:
        return np.floor(window(plane, [1] * (2 * radius + 1)) + 0.5)

    def gaussian(self, c: int, plane: np.ndarray, sigma: float) -> np.ndarray:
        radius = int(np.ceil(3 * sigma))
        distances = np.arange(-radius, radius + 1) / (sigma or 1)
        return np.floor(window(plane, np.exp(-0.5 * distances**2)) + 0.5)

    def sharpen(self, c: int, plane: np.ndarray, amount: float) -> np.ndarray:
        levels = (plane + 256 * (plane - window(plane, BINOMIAL)) * (amount / 256)).astype("f4")
        return np.rint(np.clip(levels, 0, self.p.top[c]))

    def sobel(self, c: int, plane: np.ndarray) -> np.ndarray:
        padded = np.pad(self.p.luma(), 1, "edge")
        x, y = padded[:, 2:] - padded[:, :-2], padded[2:] - padded[:-2]
        length = np.hypot(x[:-2] + 2 * x[1:-1] + x[2:], y[:, :-2] + 2 * y[:, 1:-1] + y[:, 2:])
        length = np.minimum(np.floor(length + 0.5), self.p.top[c])
        return self.p.black[c] + np.floor(length * self.p.range[c] / self.p.top[c] + 0.5)

    def bob(self, c: int, plane: np.ndarray, field: int) -> np.ndarray:
        if len(plane) == 1:
            return plane
        padded = np.pad(plane, ((1, 1), (0, 0)), "reflect")
        others = (padded[:-2] + padded[2:] + 1) // 2
        return np.where(np.arange(len(plane))[:, None] % 2 == field, plane, others)

    def flip(self, c: int, plane: np.ndarray, method: int) -> np.ndarray:
        """If a turn makes samples that are shared by pixels of a row shared by pixels of a
        column, each pixel keeps its sample, and a sample of the output is the mean of its
        pixels.
        """
        p, width, height = self.p, self.out.info.width, self.out.info.height
        if method in QUARTER_TURNS and p.across[c] != p.down[c]:
            pixels = nearest(turn(p.spread(c, plane), method), height, width)
            return np.floor(self.out.gather(c, pixels) + 0.5)
        return nearest(turn(plane, method), -(-height >> p.down[c]), -(-width >> p.across[c]))


class Colours:
    """References that compute the colours of the output from those of the input."""

    def __init__(self, p: Picture, out: Picture, side: int = 0) -> None:
        """The pictures are top fields if `side` is -1, and bottom fields if it is 1."""
        self.p, self.out, self.side, self.colours = p, out, side, p.colours()

    def run(self, name: str, params: Dict[str, Any]) -> List[np.ndarray]:
        found = getattr(self, name)(**params)
        if len(found) == 3:
            found = (*found, self.colours[3])
        return self.out.paint(np.array(found)).planes

    def sepia(self, amount: float) -> np.ndarray:
        rgb = self.colours[:3]
        brown = np.tensordot(
            ((0.393, 0.769, 0.189), (0.349, 0.686, 0.168), (0.272, 0.534, 0.131)), rgb, 1)
        return rgb + amount * (np.minimum(brown, 1) - rgb)

    def balance(
        self, brightness: float, contrast: float, saturation: float, hue: float
    ) -> np.ndarray:
        y, u, v = self.p.to_yuv(self.colours)
        cos, sin = np.cos(np.pi * hue), np.sin(np.pi * hue)
        return self.p.to_rgb((
            y * contrast + brightness, saturation * (u * cos + v * sin),
            saturation * (v * cos - u * sin)))

    def gamma(self, gamma: float) -> np.ndarray:
        return np.maximum(self.colours[:3], 0) ** (1 / gamma)

    def colormatrix(self, **weights: float) -> List[np.ndarray]:
        return [sum(weights[to + of] * colour for of, colour in zip("rgb", self.colours))
                + weights[to] for to in "rgb"]

    def chromakey(self, **params: float) -> np.ndarray:
        key, background = (
            np.array([params[prefix + name] for name in ("red", "green", "blue")])[:, None, None]
            for prefix in ("", "background-"))
        difference = (self.p.to_yuv(self.colours) - self.p.to_yuv(key))[1:]
        share = (np.hypot(*difference) - params["tolerance"]) / params["softness"]
        share = np.clip(share, 0, 1)
        if self.out.has_alpha:
            return np.array((*self.colours[:3], self.colours[3] * share))
        return background + share * (self.colours[:3] - background)

    def boxes(self, border: int, fill: float) -> np.ndarray:
        return self.colours[:3]  # without boxes

    def convert(self, method: int) -> np.ndarray:
        sizes = self.p.info.height, self.p.info.width
        places = [(np.arange(to) + 0.5) * size / to
                  for to, size in zip((self.out.info.height, self.out.info.width), sizes)]
        # A line of a field has the same position in the frame as a line of a whole picture.
        places[0] += self.side * (sizes[0] / self.out.info.height - 1) / 4

        def at(*places: np.ndarray) -> np.ndarray:
            rows, columns = (np.clip(np.floor(place).astype(int), 0, size - 1)
                             for place, size in zip(places, sizes))
            return self.colours[:, rows][:, :, columns]

        if method == 0:
            return at(*places)
        y, x = (place - 0.5 for place in places)
        below, right = (y - np.floor(y))[:, None], x - np.floor(x)
        return ((1 - below) * ((1 - right) * at(y, x) + right * at(y, x + 1))
                + below * ((1 - right) * at(y + 1, x) + right * at(y + 1, x + 1)))


class Effect(NamedTuple):
    """An effect with values of parameters that change the result."""

    name: str
    params: Dict[str, Any] = {}
    tolerance: int = 0
    in_place: bool = True

    def expected(self, p: Picture, out: Picture, side: int = 0) -> Any:
        # The parameters are floats, as in the kernel.
        params = {name: float(np.float32(value)) if isinstance(value, float) else value
                  for name, value in self.params.items()}
        reference = Colours if self.name in CONVERTING else Samples
        return reference(p, out, side).run(self.name, params)

    @property
    def structure(self) -> Optional[Gst.Structure]:
        fields = (f"{name}=({'int' if isinstance(value, int) else 'float'}){value}"
                  for name, value in self.params.items())
        return Gst.Structure.from_string(",".join(("p", *fields)))[0] if self.params else None


EFFECTS = (
    Effect("balance", dict(brightness=0.1, contrast=0.8, saturation=1.4, hue=0.3), 1),
    Effect("blur", in_place=False),
    *(Effect("bob", dict(field=field)) for field in (0, 1)),
    *(Effect("boxblur", dict(radius=radius), in_place=False) for radius in (0, 16)),
    Effect("boxes", dict(border=2, fill=0.5), 1),
    Effect("chromakey", {
        "red": 0.1, "green": 0.9, "blue": 0.2, "tolerance": 0.3, "softness": 0.2,
        "background-red": 0.8, "background-green": 0.5, "background-blue": 0.1}, 1),
    Effect("colormatrix", dict(
        rr=0.9, rg=-0.1, rb=0.2, gr=0.3, gg=0.6, gb=0.15, br=-0.2, bg=0.35, bb=0.7, r=0.05,
        g=-0.04, b=0.1), 1),
    *(Effect("convert", dict(method=method), 1) for method in (0, 1)),
    Effect("copy"),
    *(Effect("flip", dict(method=method), in_place=False) for method in range(8)),
    Effect("gain", dict(gain=1.37, offset=-0.07)),
    *(Effect("gamma", dict(gamma=value), 1) for value in (1.8, 0.6)),
    *(Effect("gaussian", dict(sigma=sigma), 1, False) for sigma in (1.3, 4.0, 0.0)),
    Effect("grayscale"),
    Effect("invert"),
    Effect("sepia", dict(amount=0.7), 1),
    *(Effect("sharpen", dict(amount=amount), in_place=False) for amount in (0.8, -0.5)),
    Effect("sobel", in_place=False),
    Effect("threshold", dict(level=0.4)),
)

HDR = ("bt2100-pq,mastering-display-info=(string)35400:14600:8500:39850:6550:2300:15635:16450:"
       "10000000:50,content-light-level=(string)1000:50")

# BT.709 in standard definition, full range, HDR, and RGB of limited range.
COLOURS = (
    "NV12,colorimetry=bt709", "I420,colorimetry=1:4:16:4", "P010_10LE,colorimetry=" + HDR,
    "P010_10LE,colorimetry=bt2100-hlg", "RGBA,colorimetry=2:1:5:1", "RGBA,colorimetry=sRGB",
    "ARGB64,colorimetry=1:1:14:7", "GRAY8,colorimetry=2:3:5:1",
)

IDENTITY = {name: float(name in ("rr", "gg", "bb"))
            for name in "rr rg rb gr gg gb br bg bb r g b".split()}

# Expressions for a pixel, and colour matrices that do the same. Colours that RGB cannot
# represent are not changed either.
PIXELS = {
    ";": IDENTITY,
    "rgba.r += 0.0f;": IDENTITY,
    "rgba.r = 1.0f - rgba.r;\nrgba.g = 1.0f - rgba.g;\nrgba.b = 1.0f - rgba.b // alpha stays":
        {name: 1.0 if len(name) == 1 else -value for name, value in IDENTITY.items()},
}


class KernelTestCase(DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        Gst.ElementFactory.make("cudafilter", None)  # loads the sources
        self.stream = GstVkgdr.Stream(self.context)
        self.random = np.random.default_rng(1)

    @functools.lru_cache(None)
    def kernel(self, name: str) -> GstVkgdr.Kernel:
        """The kernel of an effect, or one of the sources here."""
        source = SOURCES.get(name) or Gio.resources_lookup_data(
            f"/org/gst-vkgdr/effects/{name}.cu", 0).get_data().decode()
        return GstVkgdr.Kernel.new_from_source(self.context, source, name, name)

    def new_frame(self, info: GstVideo.VideoInfo, layout: Layout) -> Tuple[Gst.Buffer, np.ndarray]:
        """A frame with any bytes, also in its padding, and these bytes."""
        data = self.random.integers(0, 256, -(-layout.size // 4) * 4, "u1")
        buffer = self.new_buffer(data.tobytes())
        add_video_meta(buffer, info, layout.offsets, layout.strides)
        return buffer, data

    def launch(
        self, name: str, source: Gst.Buffer, *arguments: Any, params: Optional[Gst.Structure] = None
    ) -> np.ndarray:
        """Returns the bytes of the output."""
        target = arguments[1]
        memories = {buffer.peek_memory(i) for buffer in (source, target)
                    for i in range(buffer.n_memory())}
        for memory in memories:
            GstVkgdr.memory_begin_access(memory, self.stream, READ | WRITE)
        self.kernel(name).run(self.stream, source, *arguments, 0, params)
        for memory in memories:
            GstVkgdr.memory_end_access(memory, self.stream, READ | WRITE)
        return np.frombuffer(bytearray(host_bytes(target)), "u1")

    def assert_padding(self, layout: Layout, after: np.ndarray, before: np.ndarray) -> None:
        """The kernel has not changed the padding."""
        np.testing.assert_array_equal(after[:FRONT], before[:FRONT])
        ends = *layout.offsets[1:], layout.size
        for start, end, stride in zip(layout.offsets, ends, layout.strides):
            np.testing.assert_array_equal(*(
                data[start:end].reshape(-1, stride)[:, -ROW:] for data in (after, before)))


class Box(NamedTuple):
    """A region of interest."""

    name: str
    x: int
    y: int
    width: int
    height: int
    score: Optional[float] = None

    @property
    def label(self) -> int:
        value = 2166136261
        for byte in self.name.encode():
            value = (value ^ byte) * 16777619 % 2**32
        return value

    def add_to(self, buffer: Gst.Buffer) -> None:
        meta = GstVideo.buffer_add_video_region_of_interest_meta(
            buffer, self.name, self.x, self.y, self.width, self.height)
        if self.score is not None:
            meta.add_param(Gst.Structure.from_string(f"d,confidence=(double){self.score}")[0])

    def draw(self, colours: np.ndarray, border: int, fill: float) -> None:
        degrees = self.label % 360
        hue = [*(np.clip(2 - min(abs(degrees - at), 360 - abs(degrees - at)) / 60, 0, 1)
                 for at in (0, 120, 240)), 1]
        rows, columns = (np.arange(size) for size in colours.shape[1:])
        depth = np.minimum(*np.broadcast_arrays(
            np.minimum(rows - self.y, self.y + self.height - 1 - rows)[:, None],
            np.minimum(columns - self.x, self.x + self.width - 1 - columns)))
        share = np.where(depth < 0, 0, np.where(depth < border, 1, fill))
        colours += share * (np.array(hue)[:, None, None] - colours)


class Detection(Box):
    """An object detection of GStreamer's analytics library."""

    def add_to(self, buffer: Gst.Buffer) -> None:
        from gi.repository import GstAnalytics

        meta = (GstAnalytics.buffer_get_analytics_relation_meta(buffer)
                or GstAnalytics.buffer_add_analytics_relation_meta(buffer))
        meta.add_od_mtd(
            GLib.quark_from_string(self.name), self.x, self.y, self.width, self.height, self.score)


BOXES = (
    Box("person", 3, 2, 20, 15), Box("face", 8, 4, 6, 6), Box("car", 30, 18, 100, 100),
    Box("face", 0, 20, 3, 2), Box("", 39, 25, 1, 1), Box("hidden", 40, 0, 5, 5),
    Box("person", 5, 5, 0, 4),
)


class Effects(KernelTestCase):
    def assert_planes(self, found: Picture, expected: Any, tolerance: int) -> None:
        for c, (plane, wanted) in enumerate(zip(found.planes, expected)):
            # NumPy's own check, whose text is better, took a sixth of the test's time.
            if not (abs(plane - wanted) <= tolerance).all():
                np.testing.assert_allclose(plane, wanted, 0, tolerance, err_msg=f"component {c}")

    def assert_fields(
        self, found: Picture, p: Picture, effect: Effect, format: str, to_format: str
    ) -> None:
        """Each field of the result is that of each field alone."""
        for number, side in ((0, -1), (1, 1))[: found.info.height]:
            from_number = min(number, p.info.height - 1)
            info, to_info = (info_of(of, of_info.width, (of_info.height + 1 - n) // 2)
                             for of, of_info, n in (
                                 (format, p.info, from_number), (to_format, found.info, number)))
            self.assert_planes(
                found.field(number, to_info),
                effect.expected(p.field(from_number, info), Picture(to_info), side),
                effect.tolerance)

    def check(
        self, effect: Effect, format: str, size: Tuple[int, int], to_format: str = "",
        to_size: Optional[Tuple[int, int]] = None, is_padded: bool = False, in_place: bool = False,
        interlaced: bool = False
    ) -> None:
        """Runs the kernel, and compares the result with the reference."""
        mode = INTERLACED if interlaced else ""
        is_turned = effect.name == "flip" and effect.params["method"] in QUARTER_TURNS
        to_size = to_size or (size[::-1] if is_turned else size)
        info = info_of(format + mode, *size)
        to_info = info_of((to_format or format) + mode, *to_size)
        if is_interlaced(info) != is_interlaced(to_info):
            return  # fields are made of a frame that counts as progressive
        layout, to_layout = layout_of(info, is_padded), layout_of(to_info, is_padded)
        source, data = self.new_frame(info, layout)
        target, before = (source, data) if in_place else self.new_frame(to_info, to_layout)
        with self.subTest(
                effect=effect, format=format, size=size, to_format=to_format, to_size=to_size,
                is_padded=is_padded, in_place=in_place, interlaced=interlaced):
            after = self.launch(
                effect.name, source, info, target, to_info, params=effect.structure)
            source_picture = Picture(info).read(data, layout)
            picture = Picture(to_info).read(after, to_layout)
            if is_interlaced(info) and effect.name != "bob":
                self.assert_fields(picture, source_picture, effect, format, to_format or format)
            else:
                self.assert_planes(
                    picture, effect.expected(source_picture, Picture(to_info)), effect.tolerance)
            if is_padded:
                self.assert_padding(to_layout, after, before)

    def test_effects(self) -> None:
        for effect, (i, format) in itertools.product(EFFECTS, enumerate(FORMATS)):
            for size in SIZES[: 4 if i % 3 == 0 else 3]:
                self.check(effect, format, size)
                self.check(effect, format, size, is_padded=True)
                if effect.in_place:
                    self.check(effect, format, size, in_place=True)
            for size, to_size in SCALED if effect.name in ("convert", "flip") else ():
                self.check(effect, format, size, format, to_size, is_padded=True)

    def test_formats(self) -> None:
        """Each format is converted to each format by the effect that does nothing else.
        Others that can do it read and write frames in the same way.
        """
        for effect in (effect for effect in EFFECTS if effect.name in CONVERTING):
            step = 1 if effect.name == "convert" else 5
            for i, format in enumerate(FORMATS):
                for to_format, size in itertools.product(FORMATS[i % step :: step], SIZES[1:3]):
                    self.check(effect, format, size, to_format)

    def test_interlaced(self) -> None:
        """Samples of different fields are never mixed, but by bob."""
        for effect, (i, format) in itertools.product(EFFECTS, enumerate(FORMATS)):
            for size in ((5, 1), (7, 2), (8, 5), (9, 6))[i % 2 :]:
                self.check(effect, format, size, interlaced=True)
            if is_interlaced(info_of(format + INTERLACED, 8, 6)):
                self.check(effect, format, (8, 6), is_padded=True, interlaced=True)
            if effect.in_place:
                self.check(effect, format, (8, 6), in_place=True, interlaced=True)
        for method, format in itertools.product((0, 1), FORMATS):
            effect = Effect("convert", dict(method=method), 1)
            for size, to_size in SCALED:
                self.check(effect, format, size, format, to_size, interlaced=True)
            for to_format in ("RGBA", "I420", "I420_10LE"):
                self.check(effect, format, (8, 6), to_format, interlaced=True)

    def scale(
        self, elements: str, info: GstVideo.VideoInfo, p: Picture, format: str, height: int,
        flags: int = 0
    ) -> Picture:
        """Sends the picture through elements that give it another format or height."""
        layout, data = layout_of(info, False), np.zeros(info.size, "u1")
        for words, plane in zip(p.words(data, layout), p.planes):
            words[:] = plane.astype(int) << p.finfo.shift[0]
        buffer = Gst.Buffer.new_wrapped(data.tobytes())
        buffer.set_flags(Gst.BufferFlags(flags))
        (sample,) = play(
            f'appsrc name=src format=time caps="{info.to_caps().to_string()}" ! {elements} ! '
            f'video/x-raw(ANY),format={format},height={height},width={info.width} ! identity ! '
            f'{"vkgdrdownload !" if "vkgdr" in elements else ""} appsink name=sink',
            [buffer], self.context)
        out = GstVideo.VideoInfo.new_from_caps(sample.get_caps())
        found = np.frombuffer(bytearray(host_bytes(sample.get_buffer())), "u1")
        return Picture(out).read(found, layout_of(out, False))

    def random_picture(self, info: GstVideo.VideoInfo) -> Picture:
        data = self.random.integers(0, 256, info.size, "u1")
        return Picture(info).read(data, layout_of(info, False))

    def test_interlaced_in_pipelines(self) -> None:
        """The element runs its effects in fields, also those that were compiled with it."""
        for effect in EFFECTS:
            is_turned = effect.name == "flip" and effect.params["method"] in QUARTER_TURNS
            if effect.name == "bob" or is_turned:
                continue
            info = info_of("I420" + INTERLACED, 16, 12)
            params = effect.structure.to_string() if effect.structure else "p"
            with self.subTest(effect=effect):
                p = self.random_picture(info)
                found = self.scale(
                    f'vkgdrupload ! cudafilter kernel={effect.name} params="{params}"', info, p,
                    "I420", 12)
                self.assert_fields(found, p, effect, "I420", "I420")

    def test_interlaced_as_gstreamer(self) -> None:
        """The lines of each field have the same colours as those of videoconvertscale."""
        ours, theirs = "vkgdrupload ! cudafilter kernel=convert", "videoconvertscale dither=none add-borders=false"
        formats = "I420", "NV12", "I420_10LE", "P010_10LE", "YUY2", "UYVY", "Y444", "RGB", "RGBA"
        for format, (height, to_height) in itertools.product(
                formats, ((24, 24), (24, 12), (24, 16), (24, 36), (20, 24))):
            info = info_of(format + INTERLACED, 16, height)
            with self.subTest(format=format, height=height, to_height=to_height):
                p = self.random_picture(info)
                if height != to_height:
                    # Each field has lines of its own, all the same: GStreamer places the lines
                    # of fields elsewhere, and interpolates Cb and Cr.
                    p.planes = [np.tile(plane[:2], (len(plane) // 2, 1)) for plane in p.planes]
                for to_format in (format, "AYUV" if p.is_yuv else "RGB"):
                    wide = max(p.depth[0] - 8, 0) if to_format == format else 0
                    found, wanted = (
                        self.scale(elements, info, p, to_format, to_height) for elements in (
                            ours, theirs + " chroma-mode=none"))
                    # At the edges of a larger picture, GStreamer takes lines of the other field.
                    inner = np.s_[4:-4] if to_height > height else np.s_[:]
                    found.planes = [plane[inner] for plane in found.planes]
                    self.assert_planes(
                        found, [plane[inner] for plane in wanted.planes], 2 << wide)

    def test_interlaced_lines(self) -> None:
        """A line of a field is where the same line of a progressive picture would be, so that
        still pictures stay whole. GStreamer scales the picture that bob makes of a field.
        """
        for format, (height, to_height), method in itertools.product(
                ("GRAY8", "GRAY16_LE", "RGBA", "Y444"),
                ((24, 12), (24, 16), (24, 36), (20, 24), (16, 48)), (0, 1)):
            info, to_info = (info_of(format + INTERLACED, 16, of) for of in (height, to_height))
            p = self.random_picture(info)
            found = self.scale(
                f"vkgdrupload ! cudafilter kernel=convert params=p,method={method}", info, p,
                format, to_height)
            for number in range(2):
                bob = Picture(info_of(format, 16, height))
                bob.planes = list(Samples(p, p).run("bob", {"field": number}))
                with self.subTest(format=format, height=height, to_height=to_height,
                                  method=method, field=number):
                    if method == 0:  # is one of the field's lines
                        for c, plane in enumerate(found.planes):
                            lines = {tuple(line) for line in p.planes[c][number::2]}
                            self.assertLessEqual(
                                {tuple(line) for line in plane[number::2]}, lines)
                        continue
                    wanted = self.scale(
                        "videoconvertscale add-borders=false dither=none", bob.info, bob, format,
                        to_height)
                    wide = max(p.depth[0] - 8, 0)
                    self.assert_planes(
                        found.field(number, info_of(format, 16, to_height // 2)),
                        [plane[number::2] for plane in wanted.planes], 4 << wide)

    def test_interlace_modes(self) -> None:
        """The caps and the flags of a buffer say whether a frame has two fields."""
        element, flags = "vkgdrupload ! cudafilter kernel=convert", GstVideo.VideoBufferFlags
        for format, to_height in itertools.product(("I420", "NV12", "RGB"), (16, 12, 24)):
            infos = {mode: info_of(f"{format},interlace-mode={mode}", 16, 16)
                     for mode in ("progressive", "interleaved", "mixed")}
            whole = self.random_picture(infos["interleaved"])
            found = {
                (mode, flag): self.scale(
                    element, infos[mode], whole, "RGB", to_height, int(flag)).planes
                for mode in infos for flag in (0, flags.INTERLACED)}
            with self.subTest(format=format, to_height=to_height):
                np.testing.assert_array_equal(
                    found["mixed", 0], found["progressive", flags.INTERLACED])
                np.testing.assert_array_equal(
                    found["mixed", flags.INTERLACED], found["interleaved", 0])
                for number, flag in enumerate((flags.TOP_FIELD, flags.BOTTOM_FIELD)):
                    self.assert_field(whole, number, int(flag), format, to_height,
                                      [plane[number::2] for plane in found["interleaved", 0]])

    def assert_field(
        self, whole: Picture, number: int, flag: int, format: str, height: int, expected: Any
    ) -> None:
        """A field in a buffer of its own gives the same lines as in a frame."""
        info = info_of(format, 16, 8)
        field, to_info = whole.field(number, info), info_of("RGB", 16, height // 2)
        data = np.zeros(info.size, "u1")
        for words, plane in zip(field.words(data, layout_of(info, False)), field.planes):
            words[:] = plane
        buffer = Gst.Buffer.new_wrapped(data.tobytes())
        buffer.set_flags(Gst.BufferFlags(flag))
        feature = "format:Interlaced"
        (sample,) = play(
            f'appsrc name=src format=time ! capsfilter caps="video/x-raw({feature}),format={format},width=16,'
            'height=16,framerate=25/1,interlace-mode=alternate" ! vkgdrupload ! '
            f'cudafilter kernel=convert ! capsfilter caps="video/x-raw(memory:VkgdrMemory,{feature}),'
            f'format=RGB,width=16,height={height}" ! vkgdrdownload ! appsink name=sink',
            [buffer], self.context)
        found = np.frombuffer(bytearray(host_bytes(sample.get_buffer())), "u1")
        self.assert_planes(
            Picture(to_info).read(found, layout_of(to_info, False)), expected, 0)

    def test_caps_of_fields(self) -> None:
        """A picture that bob makes is progressive, and its caps say so."""
        for mode in ("progressive", "interleaved", "mixed"):
            info = info_of(f"I420,interlace-mode={mode}", 16, 8)
            (sample,) = play(
                f'appsrc name=src format=time caps="{info.to_caps().to_string()}" ! vkgdrupload ! '
                "cudafilter kernel=bob ! vkgdrdownload ! appsink name=sink",
                [Gst.Buffer.new_wrapped(bytes(info.size))], self.context)
            self.assertEqual(sample.get_caps()[0]["interlace-mode"], "progressive", mode)

    def check_boxes(self, format: str, boxes: Sequence[Box]) -> None:
        """In place."""
        info, border, fill = info_of(format, 40, 26), 2, 0.25
        layout = layout_of(info, True)
        source, data = self.new_frame(info, layout)
        for box in boxes:
            box.add_to(source)
        p = Picture(info).read(data, layout)
        with self.subTest(format=format, boxes=len(boxes)):
            after = self.launch(
                "boxes", source, info, source, info,
                params=Effect("boxes", dict(border=border, fill=fill)).structure)
            colours = p.colours()
            for box in reversed(boxes):
                box.draw(colours, border, fill)
            self.assert_planes(
                Picture(info).read(after, layout), Picture(info).paint(colours).planes, 1)
            self.assert_padding(layout, after, data)

    def test_boxes(self) -> None:
        """Partly and wholly outside of the picture, too; the first one is on top."""
        for format, boxes in itertools.product(FORMATS, (BOXES, BOXES[3:4], ())):
            self.check_boxes(format, boxes)
            self.check_boxes_elsewhere(format, boxes)

    def check_boxes_elsewhere(self, format: str, boxes: Sequence[Box]) -> None:
        """In another buffer of another format."""
        info, to_info = info_of(format, 40, 26), info_of("RGBA", 40, 26)
        source, data = self.new_frame(info, layout_of(info, False))
        target, _ = self.new_frame(to_info, layout_of(to_info, False))
        for box in boxes:
            box.add_to(source)
        after = self.launch(
            "boxes", source, info, target, to_info,
            params=Effect("boxes", dict(border=1, fill=0.0)).structure)
        colours = Picture(info).read(data, layout_of(info, False)).colours()
        for box in reversed(boxes):
            box.draw(colours, 1, 0)
        with self.subTest(format=format, boxes=len(boxes)):
            self.assert_planes(
                Picture(to_info).read(after, layout_of(to_info, False)),
                Picture(to_info).paint(colours).planes, 1)

    def test_boxes_of_interlaced_frames(self) -> None:
        """A kernel for each field gets the lines of the field."""
        boxes = self.list_boxes("list_fields", "interlaced", *BOXES[:2])
        np.testing.assert_array_equal(
            boxes["place"][:2], [(3, 1, 20, 7.5), (8, 2, 6, 3)])

    def list_boxes(self, kernel: str, mode: str, *boxes: Box) -> Any:
        """The VkgdrBoxes that a kernel gets, as an array."""
        source = self.new_buffer(bytes(40 * 26))
        for box in boxes:
            box.add_to(source)
        mode = INTERLACED if mode == "interlaced" else ""
        found = self.launch(
            kernel, source, info_of("GRAY8" + mode, 40, 26), self.new_buffer(bytes(64 * 64)),
            info_of("GRAY8" + mode, 64, 64))
        self.n, self.total = found[:8].view("<i4")
        return found[8 : 8 + 128 * 24].view(
            [("place", "<f4", 4), ("score", "<f4"), ("label", "<u4")])

    def test_kernels_get_boxes(self) -> None:
        """In pixels of the input, the best ones first, and without those outside."""
        found = self.list_boxes("list", "progressive", *BOXES)
        self.assertEqual((self.n, self.total), (5, 5))
        for box, values in zip(BOXES, found[:5]):
            self.assertEqual(list(values["place"]), list(box[1:5]))
            self.assertEqual((values["score"], values["label"]), (1, box.label))
        self.list_boxes("list", "progressive")
        self.assertEqual((self.n, self.total), (0, 0))
        many = [Box(f"box{i}", i % 40, i % 26, 1, 1, (37 * i % 200) / 200) for i in range(200)]
        found = self.list_boxes("list", "progressive", *many)
        self.assertEqual((self.n, self.total), (128, 200))
        best = sorted(many, key=lambda box: -(box.score or 0))[:128]
        np.testing.assert_array_equal(found["label"], [box.label for box in best])
        np.testing.assert_allclose(found["score"], [box.score for box in best])

    @unittest.skipIf(Gst.version() < (1, 26), "needs the analytics library of GStreamer 1.26")
    def test_kernels_get_detections(self) -> None:
        """They come before regions of interest."""
        found = self.list_boxes(
            "list", "progressive", Box("car", 1, 1, 5, 5), Detection("person", 5, 6, 7, 8, 0.25),
            Detection("face", -2, 1, 7, 8, 0.75), Detection("car", 50, 1, 7, 8, 0.95))
        self.assertEqual((self.n, self.total), (2, 2))
        np.testing.assert_array_equal(found["place"][:2], [(-2, 1, 7, 8), (5, 6, 7, 8)])
        np.testing.assert_array_equal(found["score"][:2], [0.75, 0.25])
        self.assertEqual(
            list(found["label"][:2]), [Box(name, 0, 0, 0, 0).label for name in ("face", "person")])

    def test_labels_in_kernels(self) -> None:
        """VKGDR_LABEL() is a constant, and the label of a box of this name."""
        for number, name in enumerate(("", "person", "face"), 1):
            found = self.list_boxes("label", "progressive", Box(name, 1, 1, 9, 9))
            self.assertEqual(found.view("u1")[0], number)

    def test_boxes_of_a_crop(self) -> None:
        """Boxes follow the picture."""
        info, part = info_of("RGBA", 40, 26), info_of("RGBA", 36, 24)
        data = self.random.integers(0, 256, info.size, "u1")

        def run(elements: str, info: GstVideo.VideoInfo, data: bytes, box: Box) -> bytes:
            buffer = Gst.Buffer.new_wrapped(data)
            box.add_to(buffer)
            return self.run_buffer(
                f"vkgdrupload ! {elements} cudafilter kernel=boxes ! vkgdrdownload",
                info.to_caps(), buffer)

        cropped = data.reshape(26, 40, 4)[2:, 4:].tobytes()
        self.assertEqual(
            run("videocrop left=4 top=2 !", info, data.tobytes(), Box("face", 10, 8, 12, 10)),
            run("", part, cropped, Box("face", 6, 6, 12, 10)))

    def test_params_of_bytes(self) -> None:
        """A GBytes is a parameter of its size."""
        info = info_of("GRAY8", 16, 4)
        table = self.random.integers(0, 256, 256, "u1")
        data = self.random.integers(0, 256, info.size, "u1")
        params = Gst.Structure.new_empty("params")
        params.set_value("table", GLib.Bytes.new(table.tobytes()))
        params.set_value("offset", 3)
        found = self.launch(
            "look_up", self.new_buffer(data.tobytes()), info, self.new_buffer(bytes(info.size)),
            info, params=params)
        expected = table[data] ^ 3
        np.testing.assert_array_equal(found[: info.size], expected)
        for bad in (b"", bytes(255), bytes(257)):
            params.set_value("table", GLib.Bytes.new(bad))
            self.assert_raise((GLib.Error, "table", self.kernel("look_up").check_params, params))
        pipeline = Gst.parse_launch("cudafilter name=filter")
        params.set_value("table", GLib.Bytes.new(table.tobytes()))
        pipeline.set_property("params", params)
        self.assertEqual(
            pipeline.get_property("params").get_value("table").get_data(), table.tobytes())

    def test_caps(self) -> None:
        """The caps of the output say the same about colours and the display as videoconvert's."""
        def said(elements: str, format: str, to_format: str) -> Tuple[Any, ...]:
            (sample,) = play(
                f'appsrc name=src format=time caps="video/x-raw,format={format},width=16,height=8,'
                f'framerate=1/1" ! {elements} ! video/x-raw,format={to_format} ! appsink name=sink',
                [Gst.Buffer.new_wrapped(bytes(info_of(format, 16, 8).size))], self.context)
            caps = sample.get_caps()
            info = GstVideo.VideoInfo.new_from_caps(caps)
            colorimetry = info.colorimetry  # a part of `info`, which it does not keep
            fields = re.findall(
                "(?:mastering-display-info|content-light-level)=[^,]*", caps.to_string())
            return (colorimetry.range, colorimetry.matrix, colorimetry.transfer,
                    colorimetry.primaries, *sorted(fields))

        for format, to_format in itertools.product(
                COLOURS, ("RGBA", "ARGB64", "NV12", "P010_10LE", "AYUV", "GRAY8")):
            with self.subTest(format=format, to_format=to_format):
                self.assertEqual(*(said(elements, format, to_format) for elements in (
                    "vkgdrupload ! cudafilter kernel=convert ! vkgdrdownload", "videoconvert")))

    def test_blocks(self) -> None:
        """The result does not depend on the blocks of a launch. Some have odd sizes, and one is
        a single row.
        """
        for effect, format in zip(EFFECTS, itertools.cycle(FORMATS)):
            for block in (64, 4), (16, 16), (5, 3), (1, 1), (256, 1), (0, 0):
                self.kernel(effect.name).set_block_size(*block)
                self.check(effect, format, (38, 26))
            self.check(effect, format, (300, 1))

    def test_pixels(self) -> None:
        for (expression, matrix), format in itertools.product(PIXELS.items(), FORMATS):
            info = info_of(format, 18, 6)
            layout, data = layout_of(info, False), self.random.integers(0, 256, info.size, "u1")
            result = np.frombuffer(self.run_buffer(
                f'vkgdrupload ! cudafilter pixel="{expression}" ! vkgdrdownload', info.to_caps(),
                Gst.Buffer.new_wrapped(data.tobytes())), "u1")
            with self.subTest(expression=expression, format=format):
                expected = Effect("colormatrix", matrix).expected(
                    Picture(info).read(data, layout), Picture(info))
                self.assert_planes(
                    Picture(info).read(result, layout), expected, int(matrix is not IDENTITY))

    def test_every_effect_is_here(self) -> None:
        names = Gio.resources_enumerate_children("/org/gst-vkgdr/effects/", 0)
        self.assertEqual({name[: -len(".cu")] for name in names if name.endswith(".cu")},
                         {effect.name for effect in EFFECTS})


PLACE = ("int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y "
         "+ threadIdx.y;")
LIST = """
        __global__ void %s (VkgdrFrame in, VkgdrFrame out, VkgdrBoxes boxes)
        {
          if (blockIdx.x + blockIdx.y + threadIdx.x + threadIdx.y == 0
              && in.fields != VKGDR_BOTTOM)
            *(VkgdrBoxes *) out.plane[0].data = boxes;
        }"""
SOURCES = {
    "list": LIST % "list",
    "list_fields": "\n#pragma vkgdr fields\n" + LIST % "list_fields",
    "label": """
        __global__ void label (VkgdrFrame in, VkgdrFrame out, VkgdrBoxes boxes)
        {
          unsigned char *result = out.plane[0].data + 8;

          if (blockIdx.x + blockIdx.y + threadIdx.x + threadIdx.y > 0)
            return;
          switch (boxes.box[0].label) {
          case VKGDR_LABEL (""): *result = 1; break;
          case VKGDR_LABEL ("person"): *result = 2; break;
          case VKGDR_LABEL ("face"): *result = 3; break;
          }
        }""",
    "look_up": """
        struct Table { unsigned char value[256]; };
        __global__ void look_up (VkgdrFrame in, VkgdrFrame out, Table table, int key)
        {
          %s
          if (x < out.width && y < out.height)
            vkgdr_put (out, 0, x, y, table.value[vkgdr_get (in, 0, x, y)] ^ key);
        }""" % PLACE,
    # Writes all samples of a frame as 16-bit numbers, with the bits at the top.
    "unpack": """
        __global__ void unpack (VkgdrFrame in, VkgdrFrame out)
        {
          %s
          for (int c = 0; x < out.width && y < out.height && c < in.n_components; c++)
            vkgdr_put (out, c, x, y, vkgdr_get (in, c, x, y) << (16 - in.component[c].depth));
        }""" % PLACE,
    # The opposite.
    "pack": """
        __global__ void pack (VkgdrFrame in, VkgdrFrame out)
        {
          %s
          for (int c = 0; c < out.n_components; c++)
            if (vkgdr_has (out, c, x, y))
              vkgdr_put (out, c, x, y, vkgdr_get (in, c, x, y) >> (16 - out.component[c].depth));
        }""" % PLACE,
}


class Formats(KernelTestCase):
    """Each format of the installed GStreamer: kernels either support it, or refuse it for a
    reason.
    """

    def convert(
        self, info: GstVideo.VideoInfo, data: np.ndarray, layout: Layout, target: str = ""
    ) -> np.ndarray:
        """The samples as GStreamer reads and writes them, in another format. By default, this is
        16 bits for each component of each pixel.
        """
        wide = "ARGB64" if info.finfo.flags & GstVideo.VideoFormatFlags.RGB else "AYUV64"
        buffer = Gst.Buffer.new_wrapped(data.tobytes())
        add_video_meta(buffer, info, layout.offsets, layout.strides)
        return np.frombuffer(self.run_buffer(
            "videoconvert chroma-mode=none matrix-mode=none dither=none ! "
            f"video/x-raw,format={target or wide}", info.to_caps(), buffer), "u1")

    def check(self, info: GstVideo.VideoInfo, is_padded: bool) -> None:
        """Compares the samples with those of pixels, which have 16 bits for each component, of
        which the first is alpha.
        """
        finfo, layout = info.finfo, layout_of(info, is_padded)
        wide = info_of("AYUV64", info.width, info.height)
        frame, data = self.new_frame(info, layout)
        pixels, numbers = self.new_frame(wide, layout_of(wide, False))
        read = self.launch("unpack", frame, info, self.new_buffer(bytes(wide.size)), wide)
        packed = self.launch("pack", pixels, wide, frame, info)
        if is_padded:
            self.assert_padding(layout, packed, data)
        elif info.width % 48 == 0 and finfo.flags & GstVideo.VideoFormatFlags.YUV:
            # Rows end with whole blocks of pixels. Bits that belong to no sample are as
            # GStreamer writes them, too.
            np.testing.assert_array_equal(
                packed[: info.size],
                self.convert(wide, numbers, layout_of(wide, False), finfo.name)[: info.size])
        read, wanted, written, numbers = (
            values.view("<u2").reshape(info.height, info.width, 4) for values in (
                read, self.convert(info, data, layout), self.convert(info, packed, layout),
                numbers))
        for c in range(finfo.n_components):
            shift, of = 16 - finfo.depth[c], (c + 1) % 4
            np.testing.assert_array_equal(
                read[..., of] >> shift, wanted[..., of] >> shift, f"reading component {c}")
            # If several pixels share a sample, the kernel writes that of the first one.
            first = np.s_[:: 1 << finfo.h_sub[c], :: 1 << finfo.w_sub[c], of]
            np.testing.assert_array_equal(
                written[first] >> shift, numbers[first] >> shift, f"writing component {c}")

    def test_reading_and_writing(self) -> None:
        formats = GstVkgdr.Kernel.list_formats()
        self.assertGreater(len(formats), 80)
        for format, size in itertools.product(formats, ((1, 1), (7, 5), (26, 6), (48, 4))):
            name = GstVideo.video_format_to_string(format)
            # GStreamer swaps the colour differences of the last pixel of a row. In pairs of
            # pixels V is the first one, as the name says.
            if name == "VYUY" and size[0] % 2:
                continue
            # videoconvert would not remove the padding of its output's format.
            for is_padded in (False, True) if name not in ("AYUV64", "ARGB64") else (False,):
                with self.subTest(format=name, size=size, is_padded=is_padded):
                    self.check(info_of(name, *size), is_padded)

    def test_only_formats_without_a_meaning_are_refused(self) -> None:
        """docs/cudafilter.md names all formats."""
        flags, supported = GstVideo.VideoFormatFlags, set(GstVkgdr.Kernel.list_formats())
        with open(os.path.join(os.path.dirname(__file__), "../../docs/cudafilter.md")) as file:
            text = file.read()
        for format in GstVideo.video_formats_raw():
            name = GstVideo.video_format_to_string(format)
            info = info_of(name, 64, 64)
            obstacle = ("tiles" if info.finfo.flags & flags.TILED
                        else "palette" if info.finfo.flags & flags.PALETTE else None)
            with self.subTest(format=name):
                self.assertIn(f"`{name}`", text)
                self.assertEqual(format in supported, not obstacle)
                if obstacle:
                    self.assert_raise((GLib.Error, obstacle, GstVkgdr.Kernel.check_info, info))
                else:
                    self.assertTrue(GstVkgdr.Kernel.check_info(info))

    def test_planes_in_several_memories(self) -> None:
        info = info_of("I420", 64, 48)
        data = self.random.integers(0, 256, info.size, "u1")
        buffer = buffer_of(*(
            self.new_memory(plane.tobytes()) for plane in np.split(data, info.offset[1:3])))
        found = self.launch("copy", buffer, info, self.new_buffer(bytes(info.size)), info)
        np.testing.assert_array_equal(found, data)

    def test_frames_in_ordinary_memory(self) -> None:
        """They are refused. Other wrong frames are tested in badframes.c."""
        info = info_of("GRAY8", 64, 48)
        buffer = Gst.Buffer.new_allocate(None, info.size, None)
        self.assert_raise((GLib.Error, "put vkgdrupload before it", self.kernel("copy").run,
                           self.stream, buffer, info, buffer, info, 0, None))


if __name__ == "__main__":
    support.main()
