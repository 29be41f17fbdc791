# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where the samples and elements of a buffer are: shapes, strides and types.

Reads caps, infos and metas. Does not access memory or depend on a device.
"""

import re
import sys
from typing import Any, List, NamedTuple, Tuple, Union

from ._gstvkgdr_base import GLib, Gst, GstAudio, GstVideo, GstVkgdr

# The types that describe the content of a buffer. None stands for bytes.
Format = Union[Gst.Caps, GstVideo.VideoInfo, GstAudio.AudioInfo, None]

# Formats whose words have the machine's byte order, without a mark of it in
# their names.
_NATIVE = {"RGB15", "BGR15", "RGB16", "BGR16", "ARGB64", "AYUV64"}

# NumPy's sign of the machine's byte order.
NATIVE_ORDER = "<" if sys.byteorder == "little" else ">"


class Layout(NamedTuple):
    """One array: a plane, packed pixels, samples of audio, or bytes."""

    offset: int  #: of the first byte, in the buffer or in the memory
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]  #: in bytes
    typestr: str = "|u1"  #: in NumPy's notation: "|u1", "<u2"
    memory: int = 0  #: index of the buffer's memory

    @property
    def itemsize(self) -> int:
        return int(self.typestr[2:])

    @property
    def extent(self) -> int:
        """The number of bytes from the first element to the end of the last one."""
        steps = ((n - 1) * stride for n, stride in zip(self.shape, self.strides))
        return sum(steps) + self.itemsize


def layouts(buffer: Gst.Buffer, format: Format = None) -> List[Layout]:
    """Returns the arrays of a buffer. Without a format, there is one of bytes for each
    memory.
    """
    if not isinstance(buffer, Gst.Buffer):
        raise TypeError(f"a Gst.Buffer is needed, not {type(buffer).__name__}")
    kind, info = _info(format)
    if kind == "":
        sizes = [buffer.peek_memory(i).size for i in range(buffer.n_memory())]
        return [Layout(0, (size,), (1,), memory=i) for i, size in enumerate(sizes)]
    planes = {"tensor": _tensor, "video": _video, "audio": _audio}[kind](buffer, info)
    return [_locate(buffer, plane) for plane in planes]


def single(found: List[Layout]) -> Layout:
    """Returns the only array of a buffer."""
    if len(found) == 1:
        return found[0]
    raise ValueError(f"the buffer has {len(found)} planes: take them with device_arrays()")


def _info(format: Format) -> Tuple[str, Any]:
    """What a buffer contains, and its VideoInfo, AudioInfo or caps."""
    for kind, cls in ("video", GstVideo.VideoInfo), ("audio", GstAudio.AudioInfo):
        if isinstance(format, cls):
            return kind, format
    if format is None:
        return "", format
    if not isinstance(format, Gst.Caps):
        raise TypeError("a format is Gst.Caps, GstVideo.VideoInfo, GstAudio.AudioInfo or None, "
                        f"not {type(format).__name__}")
    try:
        if not format.is_fixed():
            raise TypeError
        name = re.split("[,( ]", format.to_string())[0]
        if name == "video/x-raw":
            return "video", GstVideo.VideoInfo.new_from_caps(format)
        if name == "audio/x-raw":
            return "audio", GstAudio.AudioInfo.new_from_caps(format)
    except TypeError:  # PyGObject raises this if the caps cannot be an info
        raise ValueError(f"the caps {format.to_string()} do not describe a buffer") from None
    return "tensor" if name == "tensor/strided" else "", format


def _refuse(name: str) -> ValueError:
    return ValueError(f"the samples of {name} cannot be an array; without a format, the bytes can")


# --- video --------------------------------------------------------------------


def frame_planes(info: GstVideo.VideoInfo, where: Any = None) -> List[Layout]:
    """Returns the planes of a frame.

    :param where: a GstVideoMeta with the offsets and strides; without it, those of the
      info, which are the actual ones for a mapped frame
    """
    finfo, flags = info.finfo, GstVideo.VideoFormatFlags
    if finfo.n_components == 0 or finfo.flags & (flags.COMPLEX | flags.PALETTE | flags.TILED):
        raise _refuse(finfo.name)
    offsets = where.offset if where else [0] * finfo.n_planes
    height, strides = info.height, (where or info).stride
    if info.interlace_mode == GstVideo.VideoInterlaceMode.ALTERNATE:
        height = (height + 1) // 2  # each field is a buffer
    return [
        _video_plane(finfo, plane, info.width, height, offsets[plane], strides[plane])
        for plane in range(finfo.n_planes)
    ]


def _video(buffer: Gst.Buffer, info: GstVideo.VideoInfo) -> List[Layout]:
    try:
        GstVkgdr.buffer_check_video(buffer, info)
    except GLib.Error as error:
        raise ValueError(error.message) from None
    return frame_planes(info, GstVideo.buffer_get_video_meta(buffer) or info)


def _video_plane(
    finfo: GstVideo.VideoFormatInfo, plane: int, width: int, height: int, offset: int, stride: int,
) -> Layout:
    components = [c for c in range(finfo.n_components) if finfo.plane[c] == plane]
    if not components:
        raise _refuse(finfo.name)
    # The component with the most samples, which is Y if a plane has Y and U.
    c = min(components, key=lambda c: finfo.pixel_stride[c])
    step = finfo.pixel_stride[c]
    places = {finfo.poffset[k] for k in components}
    if len(components) > 1 and len(places) == 1:
        size = step  # one word contains all components
    else:
        size = max((finfo.depth[k] + finfo.shift[k] + 7) // 8 for k in components)
    if size not in (1, 2, 4, 8) or step % size:
        raise _refuse(finfo.name)
    if stride < 0:
        raise ValueError("the first row is the last one in memory: vkgdrupload packs such frames")

    shape: Tuple[int, ...] = (-(-height >> finfo.h_sub[c]), -(-width >> finfo.w_sub[c]))
    strides: Tuple[int, ...] = (stride, step)
    if step > size:
        shape += (step // size,)
        strides += (size,)
    order = "<" if finfo.flags & GstVideo.VideoFormatFlags.LE else ">"
    if size == 1 or finfo.name in _NATIVE:
        order = "|" if size == 1 else NATIVE_ORDER
    return Layout(offset, shape, strides, f"{order}u{size}")


# --- audio --------------------------------------------------------------------


def _audio(buffer: Gst.Buffer, info: GstAudio.AudioInfo) -> List[Layout]:
    finfo, flags = info.finfo, GstAudio.AudioFormatFlags
    size = finfo.width // 8
    if size not in (1, 2, 4, 8):
        raise _refuse(finfo.name)
    if info.layout != GstAudio.AudioLayout.INTERLEAVED:
        raise _refuse(f"{finfo.name} in one plane for each channel")
    shape = (buffer.get_size() // info.bpf, info.channels)
    if shape[0] == 0:
        raise ValueError("the buffer has less than one sample of each channel")
    kind = "f" if finfo.flags & flags.FLOAT else "i" if finfo.flags & flags.SIGNED else "u"
    order = "|" if size == 1 else "<" if finfo.endianness == 1234 else ">"
    return [Layout(0, shape, (info.bpf, size), f"{order}{kind}{size}")]


# --- tensors ------------------------------------------------------------------

# NumPy's notation of the types of tensors. It has no bfloat16.
_TENSOR_TYPES = {"float32": "f4", "float16": "f2", "bfloat16": "V2", "uint8": "u1", "int8": "i1"}


def _tensor(buffer: Gst.Buffer, caps: Gst.Caps) -> List[Layout]:
    """Returns all dimensions. The last one is contiguous."""
    try:
        _, kind, dims = GstVkgdr.tensor_caps_parse(caps)
    except GLib.Error as error:
        raise ValueError(error.message) from None
    if 0 in dims:
        raise ValueError(f"the dimensions {list(dims)} do not describe a buffer")
    name = _TENSOR_TYPES[GstVkgdr.TensorType(kind).value_nick]
    size = int(name[1:])
    strides = [size]
    for n in reversed(dims[1:]):
        strides.insert(0, strides[0] * n)
    order = "|" if size == 1 else NATIVE_ORDER
    return [Layout(0, tuple(dims), tuple(strides), order + name)]


# --- where in the buffer ------------------------------------------------------


def _locate(buffer: Gst.Buffer, layout: Layout) -> Layout:
    """Returns the layout in the memory that contains it."""
    found, memory, length, skip = buffer.find_memory(layout.offset, layout.extent)
    if not found:
        raise ValueError(
            f"the format needs {layout.offset + layout.extent} bytes, "
            f"and the buffer has {buffer.get_size()}"
        )
    if length != 1:
        raise ValueError(
            "the plane is in several memories, but an array needs a single one: "
            "merge them with buffer.get_all_memory()"
        )
    return layout._replace(memory=memory, offset=skip)
