# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frames in GPU memory, from other processes and for them, without GStreamer.

A client, which receives the frames of a vkgdripcsink or of a FrameServer:

    for frame in vkgdr.Frames("/tmp/frames"):
        tensor = torch.from_dlpack(frame.planes[0])

A server:

    server = vkgdr.FrameServer("/tmp/frames", "NV12", 1920, 1080)
    buffer = server.acquire()
    numpy.asarray(buffer.planes[0])[:] = picture
    buffer.send()

Tensors, in memory of the device that the CPU does not need to address:

    server = vkgdr.FrameServer("/tmp/tensors", shape=(1, 3, 640, 640), dtype="float32")
    torch.from_dlpack(frame.tensor)   # of a client's frame

All times are in nanoseconds.
"""

import ctypes
import math
import operator
import os
import threading
import time
import types
import weakref
from typing import (
    Any, Callable, ContextManager, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple,
    Union)

from ._cuda import stream_handle, uint
from ._library import Unique, VkgdrError, declare, failure, last_error, lib, structure

__all__ = [
    "Frame", "FrameBuffer", "FrameFormat", "FramePlane", "FrameServer", "FrameTensor", "Frames"]


def __dir__() -> List[str]:
    return __all__


#: How long one call of the library waits. Python handles signals between two calls.
_SLICE = 100_000_000

#: Seconds between the first two attempts to connect, and between later ones.
_FIRST_PAUSE, _LAST_PAUSE = 0.01, 1.0

_Path = Union[str, "os.PathLike[str]"]

_PEERS = {"user": 0, "group": 1, "all": 2}
_REFUSED, _ERROR, _TIMEOUT, _FRAME, _EOS, _BYE = range(-2, 4)
_NO_TIME = 0xFFFFFFFFFFFFFFFF

_CUDA = 2  # DLPack's number of CUDA memory
_DEVICE_MEMORY = 1  # VKGDR_MEMORY_DEVICE_BIT

#: DLPack's codes of types, by NumPy's letters of kinds.
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_BFLOAT = 4

# Structures of vkgdr/frames.h.
_PlaneFormat = structure("_PlaneFormat", "I width I height I channels I bits")
_Format = structure("_Format", """
    N name I width I height i fps_n i fps_d i par_n i par_d I interlace_mode I range I matrix
    I transfer I primaries I n_planes Planes planes""",
    N=ctypes.c_char * 16, Planes=_PlaneFormat * 4)
_Tensor = structure("_Tensor", "H code H bits I n_dims Dims shape Dims strides",
                    Dims=ctypes.c_int64 * 8)
_Plane = structure("_Plane", "D device P host q stride U offset I memory", U=ctypes.c_uint64)
_Memory = structure("_Memory", "P object U offset U size D device P host", U=ctypes.c_uint64)
_Info = structure("_Info", """
    U number U lost q time U pts U dts U duration I flags I n_planes I n_memories
    I metas_size P metas Format format Tensor tensor Planes planes Memories memories""",
    U=ctypes.c_uint64, Format=ctypes.POINTER(_Format), Tensor=ctypes.POINTER(_Tensor),
    Planes=_Plane * 4, Memories=_Memory * 16)
_Buffer = structure("_Buffer", "Planes planes z size I index", Planes=_Plane * 4)
_ClientParams = structure(
    "_ClientParams", "s path q timeout i allowed_peers P import P forget P user_data")
_ServerParams = structure("_ServerParams", """
    s path i allowed_peers i device s format I width I height i fps_n i fps_d P tensor
    I memory_flags I n_buffers I max_buffers""")

# b is a pointer to a _Buffer.
declare("""
    vkgdr_frames_connect P P  vkgdr_frames_wait_accepted ? Pq  vkgdr_frames_receive i PqP  vkgdr_frames_get_fd i P
    vkgdr_frames_get_lost U P  vkgdr_frames_get_room I P  vkgdr_frames_get_device i P  vkgdr_frames_close - P
    vkgdr_frame_get_info Info P  vkgdr_frame_invalidate ? P  vkgdr_frame_release - P
    vkgdr_frame_release_on_stream ? PP
    vkgdr_frame_server_open P P  vkgdr_frame_server_get_format Format P
    vkgdr_frame_server_acquire b Pq  vkgdr_frame_server_send ? Pbq
    vkgdr_frame_server_send_on_stream ? PbqP  vkgdr_frame_server_cancel - Pb
    vkgdr_frame_server_end - P  vkgdr_frame_server_count_clients I P
    vkgdr_frame_server_close - P""",
    U=ctypes.c_uint64, b=ctypes.POINTER(_Buffer), Info=ctypes.POINTER(_Info),
    Format=ctypes.POINTER(_Format))


def _encode(path: _Path) -> bytes:
    """The path of a socket, as the library takes it."""
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ValueError("a path cannot have null bytes")
    return encoded


def _peers(name: str) -> int:
    if name not in _PEERS:
        raise ValueError(f"allowed_peers is 'user', 'group' or 'all', not {name!r}")
    return _PEERS[name]


def _rate(fps: Tuple[int, int]) -> Tuple[int, int]:
    try:
        numerator, denominator = map(operator.index, fps)
    except (TypeError, ValueError):
        raise TypeError(f"fps is a pair of integers, such as (30, 1), not {fps!r}") from None
    if numerator < 0 or denominator < 1:
        raise ValueError(f"fps is not {numerator}/{denominator}: 0/1 is an unknown rate")
    return uint(numerator, 31), uint(denominator, 31)


def _slices(timeout: Optional[float]) -> Iterator[int]:
    """How long each call may wait, in nanoseconds: in the end 0, or never if there is no limit.
    """
    end = math.inf if timeout is None else time.monotonic() + timeout
    while True:
        yield int(max(0.0, min((end - time.monotonic()) * 1e9, _SLICE)))


# --- arrays ----------------------------------------------------------------------


class FrameFormat(NamedTuple):
    """What frames contain, as in vkgdr/frames.h."""

    name: str  #: GStreamer's name of the pixel format, "" if not raw video
    width: int
    height: int
    fps: Tuple[int, int]  #: (0, 1): not constant
    pixel_aspect_ratio: Tuple[int, int]
    interlace_mode: int  #: 0: progressive
    range: int  #: 0 unknown, 1 full, 2 limited
    matrix: int  #: code points of ITU-T H.273
    transfer: int
    primaries: int


def _read_format(format: Any) -> FrameFormat:
    return FrameFormat(
        format.name.decode(errors="replace"), format.width, format.height,
        (format.fps_n, format.fps_d), (format.par_n, format.par_d), format.interlace_mode,
        format.range, format.matrix, format.transfer, format.primaries)


_get_capsule = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))


#: NumPy's types of a size, which DLPack knows in all versions of NumPy.
_CARRIERS = {8: "|u1", 16: "<u2", 32: "<u4", 64: "<u8", 128: "<c16"}


class _Array:
    """Bytes of a frame as an array.

    torch.from_dlpack(), cupy.from_dlpack() and cupy.asarray() use it on the device.
    numpy.asarray() uses it on the CPU, if the memory is in the window; reading there is
    slow on a GPU.
    """

    def __init__(self, owner: Any, address: Any, shape: Sequence[int], strides: Sequence[int],
                 code: int, bits: int) -> None:
        self._owner = owner
        self.device_ptr: int = address.device
        self.host_ptr: Optional[int] = address.host
        self.shape: Tuple[int, ...] = tuple(shape)
        self.strides: Tuple[int, ...] = tuple(strides)  #: in bytes
        self._type = (code, bits)
        # NumPy has no bfloat: its arrays have the bits as numbers.
        kind = {value: key for key, value in _CODES.items()}.get(code, "u")
        self.typestr = f"{'|' if bits == 8 else '<'}{kind}{bits // 8}"

    def _interface(self, **others: Any) -> Dict[str, Any]:
        return {"version": 3, "shape": self.shape, "strides": self.strides,
                "typestr": self.typestr, **others}

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        self._owner._use_device()
        return self._interface(data=(self.device_ptr, False), stream=None)

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        if not self.host_ptr:
            raise VkgdrError(
                "the CPU cannot address this memory: copy the plane with PyTorch or CuPy")
        self._owner.wait()
        return self._interface(data=(self.host_ptr, self._owner._is_read_only))

    def __dlpack_device__(self) -> Tuple[int, int]:
        return _CUDA, self._owner._device

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        """The content is complete, so no stream has to wait for it."""
        import numpy

        if options.get("copy"):
            raise BufferError("a copy has to be made by the consumer")
        self._owner._use_device()
        # NumPy makes a tensor of an array, and keeps the base of the array, which has this
        # plane. Only the device has to be changed: it is behind the pointer to the data.
        base = types.SimpleNamespace(
            __array_interface__=self._interface(data=(self.device_ptr, False)), plane=self)
        base.__array_interface__["typestr"] = _CARRIERS[self._type[1]]
        capsule = numpy.asarray(base).__dlpack__()
        address = _get_capsule(capsule, b"dltensor") + ctypes.sizeof(ctypes.c_void_p)
        (ctypes.c_int * 2).from_address(address)[:] = list(self.__dlpack_device__())
        # Behind the device and the number of dimensions: the code and the bits of the type.
        (ctypes.c_ubyte * 2).from_address(address + 12)[:] = list(self._type)
        return capsule


class FramePlane(_Array):
    """A plane of a picture as an array: rows, columns and, if there are several,
    channels.
    """

    def __init__(self, owner: Any, plane: Any, format: Any) -> None:
        size = format.bits // 8
        shape, strides = [format.height, format.width], [plane.stride, size * format.channels]
        if format.channels > 1:
            shape.append(format.channels)
            strides.append(size)
        super().__init__(owner, plane, shape, strides, _CODES["u"], format.bits)


class FrameTensor(_Array):
    """A tensor."""

    def __init__(self, owner: Any, address: Any, tensor: Any) -> None:
        size, n = tensor.bits // 8, tensor.n_dims
        super().__init__(owner, address, tensor.shape[:n],
                         [size * stride for stride in tensor.strides[:n]], tensor.code,
                         tensor.bits)


def _describe_tensor(shape: Sequence[int], dtype: Any) -> Any:
    """The description of a tensor without gaps, of a NumPy type or of "bfloat16"."""
    if str(dtype) == "bfloat16":
        code, bits = _BFLOAT, 16
    else:
        import numpy

        kind = numpy.dtype(dtype)
        if kind.kind not in _CODES:
            raise ValueError(f"tensors are made of numbers, not of {dtype!r}")
        code, bits = _CODES[kind.kind], kind.itemsize * 8
    if not 1 <= len(shape) <= 8:
        raise ValueError("a tensor has one to eight dimensions")
    strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    Dims = ctypes.c_int64 * 8
    return _Tensor(code, bits, len(shape), Dims(*shape), Dims(*strides))


# --- the client --------------------------------------------------------------------


class _Picture(Unique):
    """A frame or a buffer of the library, which goes back when it and its arrays are gone.

    :param keeper: the connection or the server, which has to live as long
    """

    _is_read_only = True

    def __init__(self, handle: Any, device: int, planes: Any, tensor: Any, keeper: Any,
                 give_back: Callable[..., None], *arguments: Any) -> None:
        self._handle, self._device, self._keeper = handle, device, keeper
        self._planes, self._tensor = planes, tensor
        self._used = [False]  # whether an array was used on the device
        self._finalizer = weakref.finalize(self, give_back, *arguments, handle, self._used)
        self._finalizer.atexit = False

    @property
    def planes(self) -> List[FramePlane]:
        """The arrays of the picture; none if the frame is no raw video."""
        self._live()
        return [FramePlane(self, plane, format) for plane, format in self._planes]

    @property
    def tensor(self) -> Optional[FrameTensor]:
        """The frame as a tensor, or None if it is none."""
        self._live()
        return FrameTensor(self, *self._tensor) if self._tensor else None

    def _live(self) -> Any:
        if not self._finalizer.alive:
            raise ValueError("this frame was released, or this buffer was sent")
        return self._handle

    def _use_device(self) -> None:
        self._live()
        self._used[0] = True

    def _take(self) -> Any:
        """Returns the handle, which the caller gives back."""
        handle = self._live()
        self._finalizer.detach()
        return handle

    def wait(self) -> None:
        """Makes the content visible to the CPU. The device has written it already."""
        handle = self._live()
        if self._is_read_only and not lib.vkgdr_frame_invalidate(handle):
            raise failure()


def _release(handle: int, used: List[bool]) -> None:
    # The arrays' users queue work on the default stream, or on streams that wait for it.
    if used[0]:
        lib.vkgdr_frame_release_on_stream(handle, None)
    else:
        lib.vkgdr_frame_release(handle)


class Frame(_Picture, ContextManager["Frame"]):
    """A frame of another process. It goes back when it and all arrays of it are gone,
    and the device has done the work that was queued on CUDA's default stream until then.
    """

    def __init__(self, handle: int, connection: Any, device: int) -> None:
        info = lib.vkgdr_frame_get_info(handle).contents
        format = info.format.contents
        planes = list(zip(info.planes[: info.n_planes], format.planes))
        tensor = (info.memories[0], info.tensor.contents) if info.tensor else None
        super().__init__(handle, device, planes, tensor, connection, _release)
        self.format = _read_format(format)
        self.number: int = info.number  #: the server counts its frames from 1
        self.lost: int = info.lost  #: frames that are missing before this one
        self.flags: int = info.flags
        #: When the frame was due, on CLOCK_MONOTONIC, or None.
        self.timestamp: Optional[int] = None if info.time < 0 else info.time
        self.pts: Optional[int] = None if info.pts == _NO_TIME else info.pts
        self.duration: Optional[int] = None if info.duration == _NO_TIME else info.duration
        #: Address on the device and size of each memory, for frames that are not video.
        self.memories = [
            (memory.device, memory.size) for memory in info.memories[: info.n_memories]
        ]

    def __repr__(self) -> str:
        return f"<Frame {self.number}, {self.format.name} {self.format.width}x{self.format.height}>"

    def release(self, stream: Any = None) -> None:
        """Gives the frame back, without waiting, when the work that is queued on @stream
        has ended. Arrays of the frame must not be used afterwards.

        :param stream: a CUstream as a number, or a stream of PyTorch, CuPy or PyCUDA;
          by default the default stream, if an array was used on the device
        """
        if not self._finalizer.alive:
            return
        queue = stream_handle(stream, True)
        handle = self._take()
        if stream is None:
            _release(handle, self._used)
        elif not lib.vkgdr_frame_release_on_stream(handle, queue):
            raise failure()

    def __exit__(self, *exception: Any) -> None:
        self.release()


class _Closed(ValueError):
    """There is no connection."""


class _Connection:
    """A connection of the library. It ends when no method uses it any more: another thread
    may close it at any time.
    """

    def __init__(self, handle: int) -> None:
        self.handle = handle
        weakref.finalize(self, lib.vkgdr_frames_close, handle).atexit = False


class Frames(Unique, ContextManager["Frames"], Iterator[Frame]):
    """The frames of a server, as an iterator that ends at EOS, or when any thread closes it.
    If several threads receive, each frame goes to one of them.

    :param path: of the server's socket
    :param reconnect: whether to connect again when the server has ended. If the server
      refuses this client with a reason, that is an error, unless reconnect is "always"
    :param timeout: seconds to wait until a server has accepted this client; None: without
      a limit
    :param allowed_peers: which processes may be the server: "user", "group" or "all"
    :raises VkgdrError: if there is no server, and during the iteration if the connection
      breaks
    """

    def __init__(self, path: _Path, reconnect: Any = False, timeout: Optional[float] = 5.0,
                 allowed_peers: str = "user") -> None:
        if reconnect not in (False, True, "always"):
            raise ValueError(f"reconnect is False, True or 'always', not {reconnect!r}")
        self._path = _encode(path)
        self._reconnect = reconnect
        self._peers = _peers(allowed_peers)
        self._connection: Optional[_Connection] = None
        self._is_closed = False
        self._receiver = threading.RLock()  # of the thread that receives
        self._pause = _FIRST_PAUSE  # before the next attempt to connect
        self._is_started = False  # whether the first attempt is over
        self._connect(_slices(timeout))
        self._is_started = True

    def _late(self, error: VkgdrError) -> Exception:
        """The exception if there is no time left."""
        return TimeoutError(f"there is no frame: {error}") if self._is_started else error

    def _connect(self, slices: Iterator[int]) -> None:
        """Connects to the socket, and waits until the server has answered. Repeats what may
        succeed later.
        """
        params = _ClientParams(self._path, 0, self._peers)
        while self._connection is None:
            handle = lib.vkgdr_frames_connect(ctypes.byref(params))
            if handle is None:
                if "no process serves" not in (last_error() or ""):
                    raise failure()
                self._wait(slices)
                continue
            self._connection = _Connection(handle)
            self._start = time.monotonic()
        for left in slices:
            if self._call(lib.vkgdr_frames_wait_accepted, left):
                return
            error = failure()
            if "does not answer" not in str(error):
                if self._reconnect:
                    return  # receive() finds out what has ended the connection
                raise error
            if left == 0:
                self._disconnect()
                raise self._late(error)

    def _wait(self, slices: Iterator[int]) -> None:
        """Waits before the next attempt to connect. The pauses grow."""
        error, end = failure(), time.monotonic() + self._pause
        while time.monotonic() < end:
            if self._is_closed:
                raise _Closed()
            left = next(slices) / 1e9
            if left == 0:
                raise self._late(error)
            time.sleep(max(0.0, min(left, end - time.monotonic())))
        self._pause = min(2 * self._pause, _LAST_PAUSE)

    def _reconnect_later(self, slices: Iterator[int]) -> None:
        """Ends the connection, and waits, unless it has lasted for some time."""
        if time.monotonic() - self._start > _LAST_PAUSE:
            self._pause = _FIRST_PAUSE
        self._disconnect()
        self._wait(slices)

    def _disconnect(self) -> None:
        self._connection = None

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function of the library with the connection."""
        connection = self._connection
        if connection is None or self._is_closed:
            raise _Closed("there is no connection: it was closed, or has ended")
        return function(connection.handle, *arguments)

    def fileno(self) -> int:
        """A file descriptor for select.poll(), readable when there may be a frame.

        :raises ValueError: if there is no connection
        """
        return self._call(lib.vkgdr_frames_get_fd)

    @property
    def lost(self) -> int:
        """The frames of the server that were not received, since the first one."""
        try:
            return self._call(lib.vkgdr_frames_get_lost)
        except _Closed:
            return 0

    @property
    def room(self) -> int:
        """How many frames the server can send before this client gives one back."""
        try:
            return self._call(lib.vkgdr_frames_get_room)
        except _Closed:
            return 0

    def _receive(self, connection: Optional[_Connection], left: int) -> Tuple[int, Optional[Frame]]:
        """The result of one call of the library."""
        handle = ctypes.c_void_p()
        if connection is None:
            raise _Closed()
        status = lib.vkgdr_frames_receive(connection.handle, left, ctypes.byref(handle))
        if handle.value is None:
            return status, None
        device = lib.vkgdr_frames_get_device(connection.handle)
        return status, Frame(handle.value, self, device)

    def _receive_next(self, slices: Iterator[int]) -> Optional[Frame]:
        """Returns the next frame, or None at the end of the stream."""
        while not self._is_closed:
            if self._connection is None:
                self._connect(slices)
            left = next(slices)
            status, frame = self._receive(self._connection, left)
            if frame is not None:
                return frame
            if status == _TIMEOUT and left == 0:
                raise TimeoutError("there is no frame")
            if status == _EOS or (status == _BYE and not self._reconnect):
                return None
            if status == _REFUSED and self._reconnect != "always":
                raise failure()
            if status in (_REFUSED, _ERROR) and not self._reconnect:
                raise failure()
            if status != _TIMEOUT:
                self._reconnect_later(slices)
        return None

    def receive(self, timeout: Optional[float] = None) -> Optional[Frame]:
        """Returns the next frame, or None at the end of the stream.

        :param timeout: seconds; None: without a limit
        :raises TimeoutError: if there is no frame in this time
        """
        slices = _slices(timeout)
        while not self._receiver.acquire(timeout=(left := next(slices)) / 1e9):
            if left == 0:
                raise TimeoutError("another thread waits for frames")
        try:
            return self._receive_next(slices)
        except _Closed:
            return None
        finally:
            if self._is_closed:
                self._disconnect()
            self._receiver.release()

    def __next__(self) -> Frame:
        frame = self.receive()
        if frame is None:
            raise StopIteration
        return frame

    def close(self) -> None:
        """Ends the connection. Frames that were received stay valid."""
        self._is_closed = True
        self._disconnect()

    def __exit__(self, *exception: Any) -> None:
        self.close()


# --- the server --------------------------------------------------------------------


def _cancel(server: int, buffer: Any, used: List[bool]) -> None:
    lib.vkgdr_frame_server_cancel(server, buffer)


class FrameBuffer(_Picture):
    """A buffer of a FrameServer. It goes back unsent if it is dropped."""

    _is_read_only = False

    def __init__(self, server: "FrameServer", pointer: Any) -> None:
        format = server._format
        planes = list(zip(pointer.contents.planes, format.planes[: format.n_planes]))
        tensor = (pointer.contents.planes[0], server._tensor) if server._tensor else None
        super().__init__(pointer, server._device, planes, tensor, server, _cancel, server._handle)

    def send(self, time: Optional[int] = None, stream: Any = None) -> None:
        """Sends the buffer, which must not be used afterwards. If an array of it was
        used on the device, it is sent when the work that is queued on @stream has ended.

        :param time: CLOCK_MONOTONIC in nanoseconds, by default now
        :param stream: see Frame.release()
        """
        when = -1 if time is None else uint(time, 63)
        handle = stream_handle(stream, True)
        server, buffer = self._keeper._live(), self._take()
        if stream is None and not self._used[0]:
            ok = lib.vkgdr_frame_server_send(server, buffer, when)
        else:
            ok = lib.vkgdr_frame_server_send_on_stream(server, buffer, when, handle)
        if not ok:
            raise failure()


class FrameServer(Unique, ContextManager["FrameServer"]):
    """Gives frames to vkgdripcsrc, to Frames and to the clients of vkgdr/frames.h: pictures,
    or tensors.

    :param path: of the socket
    :param format: GStreamer's name of a pixel format, such as "NV12" or "RGBA"
    :param fps: frames per second as numerator and denominator, if constant
    :param shape: the dimensions of a tensor, the outermost one first
    :param dtype: the type of a tensor: a type of NumPy, or "bfloat16"
    :param device_memory: whether the buffers are in memory that the CPU cannot address,
      also if the device has a window
    :param device: a CUDA device
    :param buffers: how many buffers there are
    :param max_buffers: how many frames one client may have at a time
    :param allowed_peers: which processes may be clients: "user", "group" or "all"
    """

    def __init__(
        self, path: _Path, format: Optional[str] = None, width: int = 0, height: int = 0, *,
        fps: Tuple[int, int] = (0, 1), shape: Optional[Sequence[int]] = None,
        dtype: Any = "float32", device_memory: bool = False, device: int = 0, buffers: int = 8,
        max_buffers: int = 4, allowed_peers: str = "user",
    ) -> None:
        if (format is None) == (shape is None):
            raise ValueError("frames are pictures or tensors: give a format or a shape")
        self._tensor = _describe_tensor(shape, dtype) if shape is not None else None
        params = _ServerParams(
            _encode(path), _peers(allowed_peers), uint(device, 32, -1 << 31),
            format.encode() if format else None, uint(width, 32), uint(height, 32), *_rate(fps),
            ctypes.addressof(self._tensor) if self._tensor else None,
            _DEVICE_MEMORY if device_memory else 0, uint(buffers, 32), uint(max_buffers, 32))
        self._device = device
        self._handle = lib.vkgdr_frame_server_open(ctypes.byref(params))
        if not self._handle:
            raise failure()
        self._finalizer = weakref.finalize(self, lib.vkgdr_frame_server_close, self._handle)
        # A copy: that of the library ends with the server.
        self._format = _Format.from_buffer_copy(
            lib.vkgdr_frame_server_get_format(self._handle).contents)

    @property
    def format(self) -> FrameFormat:
        """The format of the frames."""
        return _read_format(self._format)

    @property
    def clients(self) -> int:
        """How many clients are connected."""
        return lib.vkgdr_frame_server_count_clients(self._live())

    def _live(self) -> int:
        if not self._finalizer.alive:
            raise ValueError("this server was closed")
        return self._handle

    def acquire(self, timeout: Optional[float] = None) -> FrameBuffer:
        """Returns a buffer that no client uses.

        :param timeout: seconds; None: without a limit
        :raises TimeoutError: if there is none in this time
        """
        for left in _slices(timeout):
            pointer = lib.vkgdr_frame_server_acquire(self._live(), left)
            if pointer:
                return FrameBuffer(self, pointer)
            if left == 0:
                break
        raise TimeoutError("all buffers are in use")

    def end(self) -> None:
        """Ends the stream, also for clients that come later."""
        lib.vkgdr_frame_server_end(self._live())

    def close(self) -> None:
        """Sends all frames, and takes leave of the clients."""
        self._finalizer()

    def __exit__(self, *exception: Any) -> None:
        self.close()
