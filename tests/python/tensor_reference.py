# SPDX-License-Identifier: LGPL-2.1-or-later
"""Computes the expected tensors with NumPy, in double precision.

Each filter is a matrix of weights for columns and one for rows. Colours follow the
standards BT.601, BT.709 and BT.2020.
"""

from typing import Dict, NamedTuple, Optional, Sequence, Tuple

import numpy

KR_KB = {
    "bt601": (0.299, 0.114),
    "bt709": (0.2126, 0.0722),
    "bt2020": (0.2627, 0.0593),
}


class Region(NamedTuple):
    x: int
    y: int
    width: int
    height: int


class Picture(NamedTuple):
    """A frame: the samples of each component in their own resolution."""

    width: int
    height: int
    model: str  #: "rgb", "yuv" or "gray"
    planes: Sequence[numpy.ndarray]  #: in the order of the model, alpha last
    depth: int = 8
    w_sub: int = 0  #: subsampling of components 1 and 2 of "yuv"
    h_sub: int = 0
    cosited: Tuple[bool, bool] = (False, False)
    matrix: str = "bt601"
    full_range: bool = False


class Tensor(NamedTuple):
    width: int
    height: int
    channels: str = "rgb"
    layout: str = "nchw"
    dtype: str = "float32"
    resize: str = "stretch"
    filter: str = "bilinear"
    scale: float = 0.0
    pad: float = 0.0
    mean: Sequence[float] = (0.0,)
    std: Sequence[float] = (1.0,)


# --- weights --------------------------------------------------------------------


def positions(start: int, size: int, n: int, sub: int, cosited: bool) -> numpy.ndarray:
    """The centres of n columns in units of samples. 0 is the centre of the first
    sample.
    """
    middles = start + (numpy.arange(n) + 0.5) * size / n  # in pixels, from the left edge
    if cosited:
        return (middles - 0.5) / (1 << sub)
    return middles / (1 << sub) - 0.5


def nearest(start: int, size: int, n: int, sub: int, length: int) -> numpy.ndarray:
    scale = numpy.float32(size) / numpy.float32(n)
    at = numpy.floor(numpy.arange(n, dtype=numpy.float32) * scale).astype(int)
    weights = numpy.zeros((n, length))
    weights[numpy.arange(n), (start + numpy.minimum(at, size - 1)) >> sub] = 1
    return weights


def linear(
    start: int, size: int, n: int, sub: int, cosited: bool, length: int, support: float
) -> numpy.ndarray:
    """Returns weights with the form of triangles of the half width `support`
    around each centre. They end at the region's edges.
    """
    weights = numpy.zeros((n, length))
    first, last = start >> sub, (start + size - 1) >> sub
    for row, middle in zip(weights, positions(start, size, n, sub, cosited)):
        if support == 1:  # outside, the sample at the edge is used
            left = int(numpy.floor(middle))
            for i, share in ((left, 1 - (middle - left)), (left + 1, middle - left)):
                row[min(max(i, first), last)] += share
            continue
        i = numpy.arange(first, last + 1)
        triangle = numpy.maximum(1 - numpy.abs(i - middle) / support, 0)
        row[i] = triangle / triangle.sum()
    return weights


def weigh(
    filter: str, start: int, size: int, n: int, sub: int, cosited: bool, length: int
) -> numpy.ndarray:
    if filter == "nearest":
        return nearest(start, size, n, sub, length)
    scale = size / n / (1 << sub)
    support = max(scale, 1) if filter == "area" else 1
    return linear(start, size, n, sub, cosited, length, support)


# --- pictures -------------------------------------------------------------------


def place(picture: Picture, tensor: Tensor, region: Optional[Region]) -> Tuple[Region, Region]:
    """The part of the frame that is used, and where it is in the tensor."""
    source = region or Region(0, 0, picture.width, picture.height)
    target = Region(0, 0, tensor.width, tensor.height)

    def scaled(size: int, factor: float, limit: int) -> int:
        return min(max(int(numpy.floor(size * factor + 0.5)), 1), limit)

    if tensor.resize == "letterbox":
        factor = min(tensor.width / source.width, tensor.height / source.height)
        width = scaled(source.width, factor, tensor.width)
        height = scaled(source.height, factor, tensor.height)
        target = Region(
            (tensor.width - width) // 2, (tensor.height - height) // 2, width, height
        )
    elif tensor.resize == "crop":
        factor = min(source.width / tensor.width, source.height / tensor.height)
        width = scaled(tensor.width, factor, source.width)
        height = scaled(tensor.height, factor, source.height)
        source = Region(
            source.x + (source.width - width) // 2,
            source.y + (source.height - height) // 2,
            width,
            height,
        )
    return source, target


def resized(
    picture: Picture, index: int, filter: str, source: Region, target: Region
) -> numpy.ndarray:
    plane = picture.planes[index].astype(float)
    chroma = picture.model == "yuv" and index in (1, 2)
    w_sub, h_sub = (picture.w_sub, picture.h_sub) if chroma else (0, 0)
    columns = weigh(
        filter, source.x, source.width, target.width, w_sub, picture.cosited[0], plane.shape[1]
    )
    rows = weigh(
        filter, source.y, source.height, target.height, h_sub, picture.cosited[1],
        plane.shape[0],
    )
    return rows @ plane @ columns.T


def channels(picture: Picture, planes: Sequence[numpy.ndarray]) -> Dict[str, numpy.ndarray]:
    """Red, green, blue, luma and alpha, 0 to 255."""
    top = (1 << picture.depth) - 1
    unit = 1 << (picture.depth - 8)
    kr, kb = KR_KB[picture.matrix]
    n_colours = 1 if picture.model == "gray" else 3
    if len(planes) > n_colours:
        alpha = planes[n_colours] / top
    else:
        alpha = numpy.ones_like(planes[0])
    if picture.model == "rgb":
        r, g, b = (plane / top for plane in planes[:3])
        y = kr * r + (1 - kr - kb) * g + kb * b
    else:
        y = planes[0] / top if picture.full_range else (planes[0] - 16 * unit) / (219 * unit)
        r = g = b = y
    if picture.model == "yuv":
        spread = top if picture.full_range else 224 * unit
        u, v = ((planes[i] - 128 * unit) / spread for i in (1, 2))
        r = y + 2 * (1 - kr) * v
        b = y + 2 * (1 - kb) * u
        g = (y - kr * r - kb * b) / (1 - kr - kb)
    found = {"r": r, "g": g, "b": b, "y": y, "a": alpha}
    return {name: numpy.clip(255 * values, 0, 255) for name, values in found.items()}


ORDER = {"rgb": "rgb", "bgr": "bgr", "gray": "y", "rgba": "rgba"}


def expected(picture: Picture, tensor: Tensor, region: Optional[Region] = None) -> numpy.ndarray:
    """The elements before they are converted to their type, as NCHW without N, in
    double precision.
    """
    source, target = place(picture, tensor, region)
    planes = [
        resized(picture, i, tensor.filter, source, target) for i in range(len(picture.planes))
    ]
    found = channels(picture, planes)
    integer = "int" in tensor.dtype
    scale = tensor.scale or (1 if integer else 1 / 255)
    result = []
    for i, name in enumerate(ORDER[tensor.channels]):
        pad = 0.0 if name == "a" else float(tensor.pad)
        samples = numpy.full((tensor.height, tensor.width), pad)
        samples[
            target.y : target.y + target.height, target.x : target.x + target.width
        ] = found[name]
        mean = tensor.mean[min(i, len(tensor.mean) - 1)]
        std = tensor.std[min(i, len(tensor.std) - 1)]
        result.append((samples * scale - mean) / std)
    return numpy.stack(result)
