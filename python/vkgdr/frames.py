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

All times are in nanoseconds.
"""

import ctypes
import time
import weakref
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from ._library import last_error, lib

__all__ = ["Frame", "FrameBuffer", "FrameFormat", "FramePlane", "FrameServer", "Frames"]

#: How long one call of the library waits. Python handles signals between two calls.
_SLICE = 100_000_000

_PEERS = {"user": 0, "group": 1, "all": 2}
_ERROR, _TIMEOUT, _FRAME, _EOS, _BYE = range(-1, 4)
_NO_TIME = 0xFFFFFFFFFFFFFFFF

_KDLCUDA = 2
_KDLUINT = 1


# --- structures of vkgdr/frames.h --------------------------------------------------


class _PlaneFormat(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("width", "height", "channels", "bits")]


class _Format(ctypes.Structure):
    _fields_ = (
        [("name", ctypes.c_char * 16), ("width", ctypes.c_uint32), ("height", ctypes.c_uint32)]
        + [(name, ctypes.c_int32) for name in ("fps_n", "fps_d", "par_n", "par_d")]
        + [
            (name, ctypes.c_uint32)
            for name in ("interlace_mode", "range", "matrix", "transfer", "primaries", "n_planes")
        ]
        + [("planes", _PlaneFormat * 4)]
    )


class _Plane(ctypes.Structure):
    _fields_ = [
        ("device", ctypes.c_ulonglong),
        ("host", ctypes.c_void_p),
        ("stride", ctypes.c_int64),
        ("offset", ctypes.c_uint64),
        ("memory", ctypes.c_uint32),
    ]


class _Memory(ctypes.Structure):
    _fields_ = [
        ("object", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("device", ctypes.c_ulonglong),
        ("host", ctypes.c_void_p),
    ]


class _Info(ctypes.Structure):
    _fields_ = [
        ("number", ctypes.c_uint64),
        ("lost", ctypes.c_uint64),
        ("time", ctypes.c_int64),
        ("pts", ctypes.c_uint64),
        ("dts", ctypes.c_uint64),
        ("duration", ctypes.c_uint64),
        ("offset", ctypes.c_uint64),
        ("offset_end", ctypes.c_uint64),
        ("base", ctypes.c_int64),
        ("latency", ctypes.c_uint64),
        ("flags", ctypes.c_uint32),
        ("n_planes", ctypes.c_uint32),
        ("n_memories", ctypes.c_uint32),
        ("metas_size", ctypes.c_uint32),
        ("metas", ctypes.c_void_p),
        ("format", ctypes.POINTER(_Format)),
        ("planes", _Plane * 4),
        ("memories", _Memory * 16),
    ]


class _Buffer(ctypes.Structure):
    _fields_ = [("planes", _Plane * 4), ("size", ctypes.c_size_t), ("index", ctypes.c_uint32)]


class _ClientParams(ctypes.Structure):
    _fields_ = [
        ("path", ctypes.c_char_p),
        ("timeout", ctypes.c_int64),
        ("allowed_peers", ctypes.c_int),
        ("import", ctypes.c_void_p),
        ("forget", ctypes.c_void_p),
        ("user_data", ctypes.c_void_p),
    ]


class _ServerParams(ctypes.Structure):
    _fields_ = [
        ("path", ctypes.c_char_p),
        ("allowed_peers", ctypes.c_int),
        ("device", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("width", ctypes.c_uint32),
        ("height", ctypes.c_uint32),
        ("fps_n", ctypes.c_int32),
        ("fps_d", ctypes.c_int32),
        ("n_buffers", ctypes.c_uint32),
        ("max_buffers", ctypes.c_uint32),
    ]


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _DLManagedTensor(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_DLManagedTensor._fields_ = [
    ("tensor", _DLTensor),
    ("context", ctypes.c_void_p),
    ("deleter", _Deleter),
]


def _declare() -> None:
    handle, pointer = ctypes.c_void_p, ctypes.POINTER
    i64 = ctypes.c_int64
    for name, result, arguments in (
        ("vkgdr_frames_connect", handle, (pointer(_ClientParams),)),
        ("vkgdr_frames_receive", ctypes.c_int, (handle, i64, pointer(handle))),
        ("vkgdr_frames_get_fd", ctypes.c_int, (handle,)),
        ("vkgdr_frames_get_lost", ctypes.c_uint64, (handle,)),
        ("vkgdr_frames_get_device", ctypes.c_int, (handle,)),
        ("vkgdr_frames_close", None, (handle,)),
        ("vkgdr_frame_get_info", pointer(_Info), (handle,)),
        ("vkgdr_frame_invalidate", ctypes.c_bool, (handle,)),
        ("vkgdr_frame_release", None, (handle,)),
        ("vkgdr_frame_release_on_stream", ctypes.c_bool, (handle, handle)),
        ("vkgdr_frame_server_open", handle, (pointer(_ServerParams),)),
        ("vkgdr_frame_server_get_format", pointer(_Format), (handle,)),
        ("vkgdr_frame_server_acquire", pointer(_Buffer), (handle, i64)),
        ("vkgdr_frame_server_send", ctypes.c_bool, (handle, pointer(_Buffer), i64)),
        (
            "vkgdr_frame_server_send_on_stream",
            ctypes.c_bool,
            (handle, pointer(_Buffer), i64, handle),
        ),
        ("vkgdr_frame_server_cancel", None, (handle, pointer(_Buffer))),
        ("vkgdr_frame_server_end", None, (handle,)),
        ("vkgdr_frame_server_count_clients", ctypes.c_uint32, (handle,)),
        ("vkgdr_frame_server_close", None, (handle,)),
    ):
        function = getattr(lib, name)
        function.restype = result
        function.argtypes = arguments


_declare()


def _fail() -> "Exception":
    from . import VkgdrError

    return VkgdrError(last_error() or "it is not known why")


def _peers(name: str) -> int:
    if name not in _PEERS:
        raise ValueError(f"allowed_peers is 'user', 'group' or 'all', not {name!r}")
    return _PEERS[name]


def _stream_handle(stream: Any) -> int:
    """The CUstream of a number, or of a stream of PyTorch, CuPy, PyCUDA or cuda.core."""
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr", "handle"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    return int(stream)


# --- planes ----------------------------------------------------------------------


class FrameFormat(NamedTuple):
    """What frames contain."""

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


def _read_format(format: _Format) -> FrameFormat:
    return FrameFormat(
        format.name.decode(errors="replace"),
        format.width,
        format.height,
        (format.fps_n, format.fps_d),
        (format.par_n, format.par_d),
        format.interlace_mode,
        format.range,
        format.matrix,
        format.transfer,
        format.primaries,
    )


#: Tensors that were given to other libraries, by the address of their structure.
_exported: Dict[int, Tuple[Any, ...]] = {}


@_Deleter
def _delete(address: int) -> None:
    _exported.pop(address, None)


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_is_capsule = ctypes.pythonapi.PyCapsule_IsValid
_is_capsule.restype = ctypes.c_int
_is_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
_get_capsule = ctypes.pythonapi.PyCapsule_GetPointer
_get_capsule.restype = ctypes.c_void_p
_get_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _delete_capsule(capsule: int) -> None:
    """A consumer that takes the tensor renames the capsule."""
    if _is_capsule(capsule, b"dltensor"):
        _delete(_get_capsule(capsule, b"dltensor"))


class FramePlane:
    """A plane of a picture as an array: rows, columns and, if there are several,
    channels.

    torch.from_dlpack(), cupy.from_dlpack() and cupy.asarray() use it on the device.
    numpy.asarray() uses it on the CPU, if the memory is in the window; reading there is
    slow on a GPU.
    """

    def __init__(self, owner: Any, plane: _Plane, format: _PlaneFormat) -> None:
        size = format.bits // 8
        self._owner = owner
        self.device_ptr: int = plane.device
        self.host_ptr: Optional[int] = plane.host
        self.shape: Tuple[int, ...] = (format.height, format.width)
        self.strides: Tuple[int, ...] = (plane.stride, size * format.channels)
        if format.channels > 1:
            self.shape += (format.channels,)
            self.strides += (size,)
        self.typestr = f"|u{size}" if size == 1 else f"<u{size}"
        self._bits = format.bits

    def __repr__(self) -> str:
        return f"<FramePlane {self.shape} {self.typestr} at {self.device_ptr:#x}>"

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        self._owner._use_device()
        return {
            "version": 3,
            "shape": self.shape,
            "strides": self.strides,
            "typestr": self.typestr,
            "data": (self.device_ptr, False),
            "stream": None,
        }

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        if not self.host_ptr:
            from . import VkgdrError

            raise VkgdrError(
                "the CPU cannot address this memory: copy the plane with PyTorch or CuPy"
            )
        self._owner.wait()
        return {
            "version": 3,
            "shape": self.shape,
            "strides": self.strides,
            "typestr": self.typestr,
            "data": (self.host_ptr, self._owner._is_read_only),
        }

    def __dlpack_device__(self) -> Tuple[int, int]:
        return _KDLCUDA, self._owner._device

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        """The content is complete, so no stream has to wait for it."""
        size = self._bits // 8
        if any(stride % size for stride in self.strides):
            raise BufferError("the rows are not aligned to the size of a number")
        if options.get("copy"):
            raise BufferError("a copy has to be made by the consumer")
        self._owner._use_device()
        n = len(self.shape)
        shape = (ctypes.c_int64 * n)(*self.shape)
        strides = (ctypes.c_int64 * n)(*(stride // size for stride in self.strides))
        tensor = _DLTensor(
            self.device_ptr, _KDLCUDA, self._owner._device, n, _KDLUINT, self._bits, 1, shape, strides
        )
        managed = _DLManagedTensor(tensor, None, _delete)
        address = ctypes.addressof(managed)
        _exported[address] = (managed, shape, strides, self)
        return _new_capsule(address, b"dltensor", ctypes.cast(_delete_capsule, ctypes.c_void_p))


# --- the client --------------------------------------------------------------------


class _Received:
    """A frame of the library, which is released when nothing uses it any more."""

    _is_read_only = True

    def __init__(self, handle: int, device: int, connection: Any) -> None:
        self.handle: Optional[int] = handle
        self._device = device
        self._connection = connection
        self._used = [False]
        self._finalizer = weakref.finalize(self, _Received._release, handle, self._used)
        self._finalizer.atexit = False

    @staticmethod
    def _release(handle: int, used: List[bool]) -> None:
        # The arrays' users queue work on the default stream, or on streams that wait
        # for it.
        if used[0]:
            lib.vkgdr_frame_release_on_stream(handle, None)
        else:
            lib.vkgdr_frame_release(handle)

    def _use_device(self) -> None:
        self._live()
        self._used[0] = True

    def _live(self) -> int:
        if self.handle is None:
            raise ValueError("this frame was released")
        return self.handle

    def wait(self) -> None:
        if not lib.vkgdr_frame_invalidate(self._live()):
            raise _fail()

    def release(self, stream: Any) -> None:
        if self.handle is None:
            return
        handle, self.handle = self.handle, None
        self._finalizer.detach()
        if stream is None:
            self._release(handle, self._used)
        elif not lib.vkgdr_frame_release_on_stream(handle, _stream_handle(stream)):
            raise _fail()


class Frame:
    """A frame of another process. It goes back when it and all arrays of it are gone,
    and the device has done the work that was queued on CUDA's default stream until then.
    """

    def __init__(self, received: _Received) -> None:
        info = lib.vkgdr_frame_get_info(received.handle).contents
        format = info.format.contents
        self._received = received
        self.format = _read_format(format)
        self.number: int = info.number  #: the server counts its frames from 1
        self.lost: int = info.lost  #: frames that are missing before this one
        self.flags: int = info.flags
        #: When the frame was due, on CLOCK_MONOTONIC, or None.
        self.timestamp: Optional[int] = None if info.time < 0 else info.time
        self.pts: Optional[int] = None if info.pts == _NO_TIME else info.pts
        self.duration: Optional[int] = None if info.duration == _NO_TIME else info.duration
        self.planes = [
            FramePlane(received, info.planes[i], format.planes[i]) for i in range(info.n_planes)
        ]
        #: Address on the device and size of each memory, for frames that are not video.
        self.memories = [
            (info.memories[i].device, info.memories[i].size) for i in range(info.n_memories)
        ]

    def __repr__(self) -> str:
        return f"<Frame {self.number}, {self.format.name} {self.format.width}x{self.format.height}>"

    def wait(self) -> None:
        """Makes the content visible to the CPU. The device has written it already."""
        self._received.wait()

    def release(self, stream: Any = None) -> None:
        """Gives the frame back, without waiting, when the work that is queued on @stream
        has ended. Arrays of the frame must not be used afterwards.

        :param stream: a CUstream as a number, or a stream of PyTorch, CuPy or PyCUDA;
          by default the default stream, if an array was used on the device
        """
        self._received.release(stream)

    def __enter__(self) -> "Frame":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.release()


class Frames:
    """The frames of a server, as an iterator that ends at EOS.

    :param path: of the server's socket
    :param reconnect: whether to wait for the server again when it has ended
    :param timeout: seconds to wait for a server at first; None: without a limit
    :param allowed_peers: which processes may be the server: "user", "group" or "all"
    :raises VkgdrError: if there is no server, and during the iteration if the connection
      breaks
    """

    def __init__(
        self,
        path: str,
        reconnect: bool = False,
        timeout: Optional[float] = 5.0,
        allowed_peers: str = "user",
    ) -> None:
        self._path = path
        self._reconnect = reconnect
        self._peers = _peers(allowed_peers)
        self._handle: Optional[int] = None
        self._is_closed = False
        self._connect(timeout)

    def _connect(self, timeout: Optional[float]) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._handle is None:
            left = _SLICE if deadline is None else int((deadline - time.monotonic()) * 1e9)
            params = _ClientParams(self._path.encode(), max(0, min(left, _SLICE)), self._peers)
            self._handle = lib.vkgdr_frames_connect(ctypes.byref(params))
            if self._handle is not None:
                break
            if left <= 0 or "no process serves" not in (last_error() or ""):
                raise _fail()
        self._finalizer = weakref.finalize(self, lib.vkgdr_frames_close, self._handle)
        self._finalizer.atexit = False

    def _disconnect(self) -> None:
        if self._handle is not None:
            self._handle = None
            self._finalizer()

    def fileno(self) -> int:
        """A file descriptor for select.poll(), readable when there may be a frame."""
        return lib.vkgdr_frames_get_fd(self._handle)

    @property
    def lost(self) -> int:
        """The frames of the server that were not received, since the first one."""
        return lib.vkgdr_frames_get_lost(self._handle) if self._handle else 0

    def receive(self, timeout: Optional[float] = None) -> Optional[Frame]:
        """Returns the next frame, or None at the end of the stream.

        :param timeout: seconds; None: without a limit
        :raises TimeoutError: if there is no frame in this time
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        handle = ctypes.c_void_p()
        while not self._is_closed:
            if self._handle is None:
                self._connect(timeout)
            left = _SLICE if deadline is None else int((deadline - time.monotonic()) * 1e9)
            status = lib.vkgdr_frames_receive(
                self._handle, max(0, min(left, _SLICE)), ctypes.byref(handle)
            )
            if status == _FRAME and handle.value is not None:
                device = lib.vkgdr_frames_get_device(self._handle)
                return Frame(_Received(handle.value, device, self))
            if status == _TIMEOUT and left <= 0:
                raise TimeoutError("there is no frame")
            if status == _ERROR and not self._reconnect:
                raise _fail()
            if status == _EOS or (status == _BYE and not self._reconnect):
                return None
            if status in (_ERROR, _BYE):
                self._disconnect()
        return None

    def __iter__(self) -> Iterator[Frame]:
        return self

    def __next__(self) -> Frame:
        frame = self.receive()
        if frame is None:
            raise StopIteration
        return frame

    def close(self) -> None:
        """Ends the connection. Frames that were received stay valid."""
        self._is_closed = True
        self._disconnect()

    def __enter__(self) -> "Frames":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


# --- the server --------------------------------------------------------------------


class _Writable:
    _is_read_only = False

    def __init__(self, server: "FrameServer", pointer: Any) -> None:
        self.server = server
        self._device = server._device
        self.used = False
        self.pointer = pointer
        self.finalizer = weakref.finalize(
            self, lib.vkgdr_frame_server_cancel, server._handle, pointer
        )
        self.finalizer.atexit = False

    def _use_device(self) -> None:
        self.used = True

    def wait(self) -> None:
        pass


class FrameBuffer:
    """A buffer of a FrameServer. It goes back unsent if it is dropped."""

    def __init__(self, server: "FrameServer", pointer: Any) -> None:
        self._writable = _Writable(server, pointer)
        format = server._format
        self.planes = [
            FramePlane(self._writable, pointer.contents.planes[i], format.planes[i])
            for i in range(format.n_planes)
        ]

    def send(self, time: Optional[int] = None, stream: Any = None) -> None:
        """Sends the buffer, which must not be used afterwards. If an array of it was
        used on the device, it is sent when the work that is queued on @stream has ended.

        :param time: CLOCK_MONOTONIC in nanoseconds, by default now
        :param stream: see Frame.release()
        """
        writable = self._writable
        if writable.finalizer.detach() is None:
            raise ValueError("this buffer was sent")
        handle = writable.server._handle
        when = -1 if time is None else time
        if stream is None and not writable.used:
            ok = lib.vkgdr_frame_server_send(handle, writable.pointer, when)
        else:
            number = None if stream is None else _stream_handle(stream)
            ok = lib.vkgdr_frame_server_send_on_stream(handle, writable.pointer, when, number)
        if not ok:
            raise _fail()


class FrameServer:
    """Gives frames to vkgdripcsrc, to Frames and to the clients of vkgdr/frames.h.

    :param path: of the socket
    :param format: GStreamer's name of a pixel format, such as "NV12" or "RGBA"
    :param fps: frames per second as numerator and denominator, if constant
    :param device: a CUDA device
    :param buffers: how many buffers there are
    :param max_buffers: how many frames one client may have at a time
    :param allowed_peers: which processes may be clients: "user", "group" or "all"
    """

    def __init__(
        self,
        path: str,
        format: str,
        width: int,
        height: int,
        *,
        fps: Tuple[int, int] = (0, 1),
        device: int = 0,
        buffers: int = 8,
        max_buffers: int = 4,
        allowed_peers: str = "user",
    ) -> None:
        params = _ServerParams(
            path.encode(),
            _peers(allowed_peers),
            device,
            format.encode(),
            width,
            height,
            fps[0],
            fps[1],
            buffers,
            max_buffers,
        )
        self._device = device
        self._handle = lib.vkgdr_frame_server_open(ctypes.byref(params))
        if not self._handle:
            raise _fail()
        self._finalizer = weakref.finalize(self, lib.vkgdr_frame_server_close, self._handle)
        self._format = lib.vkgdr_frame_server_get_format(self._handle).contents

    @property
    def format(self) -> FrameFormat:
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
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _SLICE if deadline is None else int((deadline - time.monotonic()) * 1e9)
            pointer = lib.vkgdr_frame_server_acquire(self._live(), max(0, min(left, _SLICE)))
            if pointer:
                return FrameBuffer(self, pointer)
            if left <= 0:
                raise TimeoutError("all buffers are in use")

    def end(self) -> None:
        """Ends the stream, also for clients that come later."""
        lib.vkgdr_frame_server_end(self._live())

    def close(self) -> None:
        """Sends all frames, and takes leave of the clients."""
        self._finalizer()

    def __enter__(self) -> "FrameServer":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()
