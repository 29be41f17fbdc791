# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where the samples and elements of a buffer are: shapes, strides and types.

Reads caps, infos and metas. Does not access memory or depend on a device.
"""

import sys
from typing import TYPE_CHECKING, Any, List, NamedTuple, Tuple, Union

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst  # noqa: E402

from ..module import get_introspection_module  # noqa: E402

if TYPE_CHECKING:
    from gi.repository import GstAudio, GstVideo

GstVkgdr = get_introspection_module("GstVkgdr")

# The types that describe the content of a buffer. None stands for bytes.
Format = Union[Gst.Caps, "GstVideo.VideoInfo", "GstAudio.AudioInfo", None]

# Formats whose words have the machine's byte order, without a mark of it in
# their names.
_NATIVE = {"RGB15", "BGR15", "RGB16", "BGR16", "ARGB64", "AYUV64"}

# NumPy's sign of the machine's byte order.
NATIVE_ORDER = "<" if sys.byteorder == "little" else ">"


class Layout(NamedTuple):
    """One array: a plane, packed pixels, samples of audio, or bytes."""

    memory: int  #: index of the buffer's memory
    offset: int  #: of the first byte, in this memory
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]  #: in bytes
    typestr: str  #: in NumPy's notation: "|u1", "<u2"

    @property
    def itemsize(self) -> int:
        return int(self.typestr[2:])

    @property
    def is_native(self) -> bool:
        """Whether the elements have the machine's byte order."""
        return self.typestr[0] in ("|", NATIVE_ORDER)

    @property
    def extent(self) -> int:
        """The number of bytes from the first element to the end of the last one."""
        steps = ((n - 1) * stride for n, stride in zip(self.shape, self.strides))
        return sum(steps) + self.itemsize


class _Plane(NamedTuple):
    """A layout with its offset in the buffer."""

    offset: int
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]
    typestr: str


def layouts(buffer: Gst.Buffer, format: Format = None) -> List[Layout]:
    """Returns the arrays of a buffer. Without a format, there is one of bytes for each
    memory.
    """
    if not isinstance(buffer, Gst.Buffer):
        raise TypeError(f"a Gst.Buffer is needed, not {type(buffer).__name__}")
    if isinstance(format, Gst.Caps) and _is_tensor(format):
        return [_locate(buffer, _tensor(format))]
    info = _info(format)
    if info is None:
        sizes = [buffer.peek_memory(i).size for i in range(buffer.n_memory())]
        return [Layout(i, 0, (size,), (1,), "|u1") for i, size in enumerate(sizes)]
    planes = (_video if _is_video(info) else _audio)(buffer, info)
    return [_locate(buffer, plane) for plane in planes]


def single(found: List[Layout]) -> Layout:
    """Returns the only array of a buffer."""
    if len(found) == 1:
        return found[0]
    raise ValueError(f"the buffer has {len(found)} planes: take them with device_arrays()")


# GStreamer's typelibs of video and audio are only loaded if they are needed.


def _gst_video() -> Any:
    gi.require_version("GstVideo", "1.0")
    from gi.repository import GstVideo

    return GstVideo


def _gst_audio() -> Any:
    gi.require_version("GstAudio", "1.0")
    from gi.repository import GstAudio

    return GstAudio


def _is_video(info: object) -> bool:
    return type(info).__name__ == "VideoInfo"


def _media_type(caps: Gst.Caps) -> str:
    structure = caps.get_structure(0)
    if hasattr(structure, "get_name"):
        return structure.get_name()
    with structure as inner:  # since GStreamer 1.26
        return inner.get_name()


def _info(format: Format) -> Union["GstVideo.VideoInfo", "GstAudio.AudioInfo", None]:
    if format is None or type(format).__name__ in ("VideoInfo", "AudioInfo"):
        return format
    if not isinstance(format, Gst.Caps):
        raise TypeError(
            "a format is Gst.Caps, GstVideo.VideoInfo, GstAudio.AudioInfo or None, "
            f"not {type(format).__name__}"
        )
    if not format.is_fixed():
        raise ValueError(f"the caps {format.to_string()} do not describe a buffer")
    name = _media_type(format)
    try:
        if name == "video/x-raw":
            return _gst_video().VideoInfo.new_from_caps(format)
        if name == "audio/x-raw":
            return _gst_audio().AudioInfo.new_from_caps(format)
    except TypeError:  # PyGObject raises this if the caps cannot be an info
        raise ValueError(f"the caps {format.to_string()} do not describe a buffer") from None
    return None


# --- video --------------------------------------------------------------------


def _refuse(name: str) -> ValueError:
    return ValueError(
        f"the samples of {name} cannot be an array; without a format, the bytes can"
    )


def _check_format(finfo: "GstVideo.VideoFormatInfo") -> None:
    flags = _gst_video().VideoFormatFlags
    if finfo.n_components == 0 or finfo.flags & (flags.COMPLEX | flags.PALETTE | flags.TILED):
        raise _refuse(finfo.name)


def _field_height(info: "GstVideo.VideoInfo") -> int:
    if info.interlace_mode == _gst_video().VideoInterlaceMode.ALTERNATE:
        return (info.height + 1) // 2  # each field is a buffer
    return info.height


def frame_planes(info: "GstVideo.VideoInfo") -> List[_Plane]:
    """Returns the planes of a mapped frame, whose info has the actual strides."""
    _check_format(info.finfo)
    height = _field_height(info)
    return [
        _video_plane(info.finfo, plane, info.width, height, 0, info.stride[plane])
        for plane in range(info.finfo.n_planes)
    ]


def _video(buffer: Gst.Buffer, info: "GstVideo.VideoInfo") -> List[_Plane]:
    video = _gst_video()
    finfo = info.finfo
    _check_format(finfo)
    height = _field_height(info)
    meta = video.buffer_get_video_meta(buffer)
    where = info
    if meta is not None:
        # A larger picture, such as a decoder's, is used from its top left corner.
        if (meta.format, meta.n_planes) != (finfo.format, finfo.n_planes):
            raise ValueError(
                f"the buffer's GstVideoMeta is of {meta.n_planes} planes of "
                f"{video.VideoFormat.to_string(meta.format)}, and the format is {finfo.name}"
            )
        if meta.width < info.width or meta.height < height:
            raise ValueError(
                f"the buffer is of {meta.width}x{meta.height} pixels, "
                f"and the format of {info.width}x{height}"
            )
        where = meta
    return [
        _video_plane(finfo, plane, info.width, height, where.offset[plane], where.stride[plane])
        for plane in range(finfo.n_planes)
    ]


def _video_plane(
    finfo: "GstVideo.VideoFormatInfo",
    plane: int,
    width: int,
    height: int,
    offset: int,
    stride: int,
) -> _Plane:
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

    shape: Tuple[int, ...] = (_scaled(height, finfo.h_sub[c]), _scaled(width, finfo.w_sub[c]))
    if shape[0] > 1 and stride < shape[1] * step:
        raise ValueError(
            f"the rows of plane {plane} are {stride} bytes apart, and have {shape[1] * step}: "
            "vkgdrupload packs such frames"
        )
    strides: Tuple[int, ...] = (stride, step)
    if step > size:
        shape += (step // size,)
        strides += (size,)
    return _Plane(offset, shape, strides, _video_type(finfo, size))


def _scaled(n: int, shift: int) -> int:
    return -((-n) >> shift)


def _video_type(finfo: "GstVideo.VideoFormatInfo", size: int) -> str:
    video = _gst_video()
    if size == 1:
        return "|u1"
    if finfo.name in _NATIVE:
        return f"{NATIVE_ORDER}u{size}"
    little = finfo.flags & video.VideoFormatFlags.LE
    return f"{'<' if little else '>'}u{size}"


# --- audio --------------------------------------------------------------------


def _audio(buffer: Gst.Buffer, info: "GstAudio.AudioInfo") -> List[_Plane]:
    audio = _gst_audio()
    size = info.finfo.width // 8
    if size not in (1, 2, 4, 8):
        raise _refuse(info.finfo.name)
    if info.layout != audio.AudioLayout.INTERLEAVED:
        raise _refuse(f"{info.finfo.name} in one plane for each channel")
    shape = (buffer.get_size() // info.bpf, info.channels)
    if shape[0] == 0:
        raise ValueError("the buffer has less than one sample of each channel")
    return [_Plane(0, shape, (info.bpf, size), _audio_type(info.finfo, size))]


def _audio_type(finfo: "GstAudio.AudioFormatInfo", size: int) -> str:
    audio = _gst_audio()
    flags = audio.AudioFormatFlags
    kind = "f" if finfo.flags & flags.FLOAT else "i" if finfo.flags & flags.SIGNED else "u"
    order = "|" if size == 1 else "<" if finfo.endianness == 1234 else ">"
    return f"{order}{kind}{size}"


# --- tensors ------------------------------------------------------------------

# NumPy's notation of the types of tensors. It has no bfloat16.
_TENSOR_TYPES = {"float32": "f4", "float16": "f2", "bfloat16": "V2", "uint8": "u1", "int8": "i1"}


def _is_tensor(caps: Gst.Caps) -> bool:
    return caps.is_fixed() and _media_type(caps) == "tensor/strided"


def _tensor(caps: Gst.Caps) -> _Plane:
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
    return _Plane(0, tuple(dims), tuple(strides), ("|" if size == 1 else NATIVE_ORDER) + name)


# --- where in the buffer ------------------------------------------------------


def _locate(buffer: Gst.Buffer, plane: _Plane) -> Layout:
    """Returns the memory that contains a plane."""
    layout = Layout(0, plane.offset, plane.shape, plane.strides, plane.typestr)
    found, memory, length, skip = buffer.find_memory(plane.offset, layout.extent)
    if not found:
        raise ValueError(
            f"the format needs {plane.offset + layout.extent} bytes, "
            f"and the buffer has {buffer.get_size()}"
        )
    if length != 1:
        raise ValueError(
            "the plane is in several memories, but an array needs a single one: "
            "merge them with buffer.get_all_memory()"
        )
    return layout._replace(memory=memory, offset=skip)
