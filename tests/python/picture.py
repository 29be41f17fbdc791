# SPDX-License-Identifier: LGPL-2.1-or-later
"""The samples of frames as arrays, and their colours: what the references of the tests need."""

from typing import Iterator, List, NamedTuple, Optional, Sequence

import numpy as np
from gst_support import GstVideo

# The padding of a frame: bytes in front of it, and behind each of its rows.
FRONT, ROW = 20, 6


class Layout(NamedTuple):
    """Where the planes of a frame are."""

    offsets: List[int]
    strides: List[int]
    size: int


def is_interlaced(info: GstVideo.VideoInfo) -> bool:
    """Whether the lines of two fields alternate in all frames. A frame counts as progressive if
    GStreamer's layout has no row for the last lines of the bottom field.
    """
    def has_rows(c: int) -> bool:
        plane = info.finfo.plane[c]
        ends = *info.offset[1 : info.finfo.n_planes], info.size
        return info.offset[plane] + rows_of_fields(info, c) * info.stride[plane] <= ends[plane]

    return (info.interlace_mode == GstVideo.VideoInterlaceMode.INTERLEAVED
            and all(map(has_rows, range(info.finfo.n_components))))


def rows_of_fields(info: GstVideo.VideoInfo, c: int) -> int:
    """The rows of component c if each of two fields has rows of its own."""
    sub = info.finfo.h_sub[c]
    top, bottom = (-(-lines >> sub) for lines in ((info.height + 1) // 2, info.height // 2))
    return max(2 * top - 1, 2 * bottom) if sub else info.height


def rows_of(info: GstVideo.VideoInfo, c: int) -> int:
    return (rows_of_fields(info, c) if is_interlaced(info)
            else -(-info.height >> info.finfo.h_sub[c]))


def layout_of(info: GstVideo.VideoInfo, is_padded: bool) -> Layout:
    n, offsets, strides, size = info.finfo.n_planes, [], [], FRONT
    if not is_padded:
        return Layout(info.offset[:n], info.stride[:n], info.size)
    for plane in range(n):
        offsets.append(size)
        strides.append(info.stride[plane] + ROW)
        component = list(info.finfo.plane).index(plane)
        size += strides[-1] * rows_of(info, component)
    return Layout(offsets, strides, size)


class Picture:
    """The samples of a frame, as an array of numbers for each component. The padding of RGBx
    is component 3.
    """

    def __init__(self, info: GstVideo.VideoInfo) -> None:
        finfo = info.finfo
        self.info, self.finfo, self.n = info, finfo, finfo.n_components
        self.is_rgb, self.is_yuv, self.has_alpha = (
            bool(finfo.flags & getattr(GstVideo.VideoFormatFlags, flag))
            for flag in ("RGB", "YUV", "ALPHA"))
        self.depth, self.across, self.down, self.place = (
            list(values) for values in (finfo.depth, finfo.w_sub, finfo.h_sub, finfo.poffset))
        offset, scale = GstVideo.video_color_range_offsets(info.colorimetry.range, finfo)
        self.black, self.range = list(offset), list(scale)
        if self.is_rgb and self.n == 3 and finfo.pixel_stride[0] == 4:
            self.n, self.depth[3], self.place[3] = 4, 8, 6 - sum(self.place[:3])
        if not self.has_alpha:
            self.black[3], self.range[3] = 0, 255
        self.top = [(1 << depth) - 1 for depth in self.depth]
        is_known, kr, kb = GstVideo.video_color_matrix_get_Kr_Kb(info.colorimetry.matrix)
        self.kr, self.kb = (kr, kb) if is_known else (0.2126, 0.0722)
        self.planes: List[np.ndarray] = []

    def words(self, data: np.ndarray, layout: Layout) -> Iterator[np.ndarray]:
        """The bytes or words of each component in the bytes of a frame."""
        for c in range(self.n):
            like = min(c, self.finfo.n_components - 1)
            plane, is_word = self.finfo.plane[like], self.depth[c] > 8
            place = self.place[c] * (2 if is_word and self.place[c] == 1 else 1)
            yield np.ndarray(
                (rows_of(self.info, like), -(-self.info.width >> self.across[c])),
                "<u2" if is_word else "u1", data, layout.offsets[plane] + place,
                (layout.strides[plane], self.finfo.pixel_stride[like]))

    def read(self, data: np.ndarray, layout: Layout) -> "Picture":
        self.planes = [
            (words >> self.finfo.shift[0] & self.top[c]).astype(float)
            for c, words in enumerate(self.words(data, layout))]
        return self

    def field(self, number: int, info: GstVideo.VideoInfo) -> "Picture":
        """The top (0) or bottom (1) field as a picture of the format `info`."""
        field = Picture(info)
        field.planes = [
            plane[number::2][: rows_of(info, min(c, self.finfo.n_components - 1))]
            for c, plane in enumerate(self.planes)]
        return field

    def is_chroma(self, c: int) -> bool:
        return self.is_yuv and c in (1, 2)

    def spread(self, c: int, plane: np.ndarray) -> np.ndarray:
        """One sample for each pixel."""
        plane = plane.repeat(1 << self.down[c], 0).repeat(1 << self.across[c], 1)
        return plane[: self.info.height, : self.info.width]

    def gather(self, c: int, pixels: np.ndarray) -> np.ndarray:
        """The mean of the pixels of each sample."""
        rows, columns = (np.arange(0, size, 1 << sub) for size, sub in zip(
            pixels.shape, (self.down[c], self.across[c])))
        sums, counts = (np.add.reduceat(np.add.reduceat(values, rows, 0), columns, 1)
                        for values in (pixels, np.ones_like(pixels)))
        return sums / counts

    def luma(self) -> np.ndarray:
        """From weights in units of 1/65536, rounded to the nearest integer."""
        if not self.is_rgb:
            return self.planes[0]
        r, b = (np.floor(weight * 65536 + 0.5) for weight in (self.kr, self.kb))
        sums = r * self.planes[0] + (65536 - r - b) * self.planes[1] + b * self.planes[2]
        return (sums + 32768) // 65536

    def to_yuv(self, rgb: np.ndarray) -> np.ndarray:
        """Luma is 0 to 1, and colour differences are -0.5 to 0.5."""
        r, g, b = rgb[:3]
        y = self.kr * r + (1 - self.kr - self.kb) * g + self.kb * b
        return np.array((y, (b - y) / 2 / (1 - self.kb), (r - y) / 2 / (1 - self.kr)))

    def to_rgb(self, yuv: np.ndarray) -> np.ndarray:
        y, u, v = yuv
        r, b = y + 2 * (1 - self.kr) * v, y + 2 * (1 - self.kb) * u
        return np.array((r, (y - self.kr * r - self.kb * b) / (1 - self.kr - self.kb), b))

    def colours(self, planes: Optional[Sequence[np.ndarray]] = None) -> np.ndarray:
        """Red, green, blue and alpha of each pixel, usually from 0 to 1. The planes are its own
        or some that have one sample for each pixel.
        """
        if planes is None:
            planes = [self.spread(c, plane) for c, plane in enumerate(self.planes)]
        found = [(plane - self.black[c]) / self.range[c] for c, plane in enumerate(planes)]
        alpha = found[3] if self.has_alpha else np.ones_like(found[0])
        if self.n == 1:
            found *= 3
        return np.array((*(self.to_rgb(found[:3]) if self.is_yuv else found[:3]), alpha))

    def paint(self, colours: np.ndarray) -> "Picture":
        """Gives the pixels these colours."""
        found = colours if self.is_rgb else (*self.to_yuv(colours), colours[3])
        for c in range(self.n):
            values = found[c] if c < 3 or self.has_alpha else np.ones_like(found[0])
            levels = self.black[c] + self.gather(c, values) * self.range[c]
            self.planes.append(np.rint(np.clip(levels, 0, self.top[c])))
        return self
