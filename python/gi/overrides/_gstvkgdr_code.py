# SPDX-License-Identifier: LGPL-2.1-or-later
"""CUDA code from Python: modules, and functions that are called like functions.

    module = GstVkgdr.SourceModule(source, context)
    scale = module.get_function("scale")
    scale(memory, np.float32(2), np.int32(n), block=(256, 1, 1), grid=(4, 1))

Turns arguments into the bytes that GstVkgdr.Function.launch() takes, and orders
what a launch does to the memories among them. Knows nothing of frames.
"""

import struct
from typing import Any, Callable, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

from ..module import get_introspection_module  # noqa: E402
from ._gstvkgdr_override import override  # noqa: E402
from . import _gstvkgdr_copies as copies  # noqa: E402
from . import _gstvkgdr_objects as objects  # noqa: E402
from ._gstvkgdr_host import HostMemory  # noqa: E402

GstVkgdr = get_introspection_module("GstVkgdr")

READ, WRITE = Gst.MapFlags.READ, Gst.MapFlags.WRITE

# Letters of prepare(), as the module struct and PyCUDA have them; P is a pointer.
_SIZES = {letter: struct.calcsize("=" + letter) for letter in "bBhHiIqQefd?"}
_SIZES.update({"P": 8, "l": 8, "L": 8})


class In:
    """An argument that a launch only reads.

    :param source: memory of the device, or host memory, of which the launch gets
      a copy
    """

    flags = READ

    def __init__(self, source: Any) -> None:
        self.source = source


class Out(In):
    """An argument that a launch only writes, all of it. Host memory is filled when
    the call returns."""

    flags = WRITE


class InOut(In):
    """An argument that a launch reads and writes. Memory of the device counts as
    such without a wrapper."""

    flags = READ | WRITE


class _Argument(NamedTuple):
    data: bytes
    memory: Optional[Gst.Memory] = None
    flags: Gst.MapFlags = READ
    host: Optional[HostMemory] = None  #: to be filled from the memory


def _of_memory(memory: Gst.Memory, flags: Gst.MapFlags) -> _Argument:
    pointer = GstVkgdr.memory_get_device_pointer(memory)
    return _Argument(struct.pack("=Q", pointer), memory, flags)


def _of_host(wrapper: In, context: "GstVkgdr.Context", stream: "GstVkgdr.Stream") -> _Argument:
    """A copy on the device of what is the host's."""
    host = HostMemory(wrapper.source, writable=bool(wrapper.flags & WRITE))
    if not host.nbytes:
        raise ValueError("host memory of no bytes is no argument")
    memory = context.get_allocator().alloc(host.nbytes)
    if wrapper.flags & READ:
        copies.memory_upload(memory, 0, host, stream)
        objects.keep(stream, host)
    argument = _of_memory(memory, wrapper.flags)
    return argument._replace(host=host) if wrapper.flags & WRITE else argument


def _bytes_of(value: Any) -> Optional[bytes]:
    """Those of a number of NumPy's or ctypes', which know their size, or a structure."""
    if hasattr(value, "dtype") and getattr(value, "shape", None) == ():
        return value.tobytes()
    if isinstance(value, (bytes, bytearray)) or type(value).__module__ == "ctypes":
        return bytes(value)
    return None


def _plain_number(value: Union[int, float], size: Optional[int], name: str) -> bytes:
    """A number of Python's, as wide as the parameter."""
    if size is None:
        raise TypeError(
            f"{name}: the driver does not tell how large it is, so it has to be a number of "
            "NumPy's, or prepare() has to say"
        )
    if isinstance(value, float) and size in (4, 8):
        return struct.pack("=f" if size == 4 else "=d", value)
    letters = {1: "bB", 2: "hH", 4: "iI", 8: "qQ"}.get(size)
    if letters is None or isinstance(value, float):
        raise TypeError(f"{name}: {value!r} is no parameter of {size} bytes")
    try:
        return struct.pack("=" + letters[value >= 0], int(value))
    except struct.error:
        raise OverflowError(f"{name}: {value} does not fit {size} bytes") from None


def _convert(
    value: Any, size: Optional[int], name: str, stream: "GstVkgdr.Stream"
) -> _Argument:
    flags = READ | WRITE
    if isinstance(value, In):
        if not isinstance(value.source, (Gst.Memory, Gst.Buffer)):
            return _of_host(value, stream.get_context(), stream)
        flags, value = value.flags, value.source
    if isinstance(value, (Gst.Memory, Gst.Buffer)):
        return _of_memory(copies.check_memory(value), flags)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        return _Argument(struct.pack("=Q", interface["data"][0]))
    data = _bytes_of(value)
    if data is None and isinstance(value, (bool, int, float)):
        data = _plain_number(value, size, name)
    if data is None:
        raise TypeError(
            f"{name}: a {type(value).__name__} is no argument: it takes memories of the device, "
            "arrays with __cuda_array_interface__, numbers, bytes, and In(), Out() and InOut() "
            "of host memory"
        )
    return _Argument(data)


def _pack(arguments: Sequence[_Argument], offsets: Sequence[int]) -> bytes:
    packed = bytearray()
    for argument, offset in zip(arguments, offsets):
        packed.extend(bytes(offset - len(packed)))
        packed.extend(argument.data)
    return bytes(packed)


def _natural_offsets(arguments: Sequence[_Argument]) -> List[int]:
    """Where nobody tells: each at a multiple of its size, 8 at the most."""
    offsets: List[int] = []
    end = 0
    for argument in arguments:
        align = min(len(argument.data) & -len(argument.data), 8) or 1
        end = -(-end // align) * align
        offsets.append(end)
        end += len(argument.data)
    return offsets


def _three(values: Union[int, Iterable[int]], what: str) -> Tuple[int, int, int]:
    numbers = (values,) if isinstance(values, int) else tuple(int(v) for v in values)
    if not 1 <= len(numbers) <= 3 or any(n < 1 for n in numbers):
        raise ValueError(f"{what} has one to three numbers, 1 at least, and not {values!r}")
    return (numbers + (1, 1))[:3]


class _Accesses:
    """The memories of a launch, ordered by its stream: each of them once."""

    def __init__(self, arguments: Iterable[_Argument], stream: "GstVkgdr.Stream") -> None:
        self._stream = stream
        self._begun: List[Tuple[Gst.Memory, Gst.MapFlags]] = []
        self._flags = {}
        for argument in arguments:
            if argument.memory is not None:
                key = argument.data
                memory, flags = self._flags.get(key, (argument.memory, Gst.MapFlags(0)))
                self._flags[key] = (memory, flags | argument.flags)

    def __enter__(self) -> None:
        for memory, flags in self._flags.values():
            GstVkgdr.memory_begin_access(memory, self._stream, Gst.MapFlags(flags))
            self._begun.append((memory, Gst.MapFlags(flags)))

    def __exit__(self, *exc: object) -> None:
        for memory, flags in self._begun:
            GstVkgdr.memory_end_access(memory, self._stream, flags)


class Function(GstVkgdr.Function):
    def __new__(cls, *args: Any, **kwargs: Any) -> "Function":
        raise TypeError("a function is found in a module: GstVkgdr.Module.get_function()")

    def __call__(
        self,
        *args: Any,
        block: Union[int, Iterable[int], None] = None,
        grid: Union[int, Iterable[int]] = (1, 1, 1),
        stream: Any = None,
        shared: int = 0,
        time_kernel: bool = False,
    ) -> Optional[float]:
        """Launches it, in order with all other use of the memories among the arguments.

        It does not wait, unless host memory is to be filled: Out(), InOut(). Arrays
        with ``__cuda_array_interface__`` are ordered by the caller.

        :param args: memories (Gst.Memory, a Gst.Buffer of one), arrays of the
          device, numbers of NumPy, numbers of Python, which become as wide as the
          parameter, and bytes for structures
        :param block: threads of a block
        :param grid: blocks
        :param stream: a stream of any library; without one, the module's own
        :param shared: bytes of dynamic shared memory
        :param time_kernel: waits, and returns the seconds that the device took
        """
        if block is None:
            raise ValueError("block= says how many threads a block has")
        return self._run(
            args, _three(grid, "grid"), _three(block, "block"), stream, shared, time_kernel
        )

    def _own_stream(self) -> "GstVkgdr.Stream":
        # Of the module: its functions follow each other, as on a default stream.
        module = self.get_module()
        if getattr(module, "_stream", None) is None:
            module._stream = GstVkgdr.Stream.new(module.get_context())
        return module._stream

    def _convert_all(self, args: Sequence[Any], stream: "GstVkgdr.Stream") -> List[_Argument]:
        sizes = getattr(self, "_prepared", None)
        if self.has_param_info():
            sizes = list(self.get_param_sizes())
        if sizes is not None and len(sizes) != len(args):
            raise TypeError(f"{self.get_entry()}() takes {len(sizes)} arguments, not {len(args)}")
        found = []
        for i, value in enumerate(args):
            size = sizes[i] if sizes is not None else None
            name = f"argument {i + 1} of {self.get_entry()}()"
            argument = _convert(value, size, name, stream)
            if size is not None and len(argument.data) != size:
                raise TypeError(
                    f"{name} has {len(argument.data)} bytes, and the parameter {size}"
                )
            found.append(argument)
        return found

    def _run(
        self,
        args: Sequence[Any],
        grid: Tuple[int, int, int],
        block: Tuple[int, int, int],
        stream: Any,
        shared: int,
        timed: bool,
    ) -> Optional[float]:
        context = self.get_module().get_context()
        queue = self._own_stream() if stream is None else objects.as_stream(context, stream)
        arguments = self._convert_all(args, queue)
        offsets = self.get_param_offsets() or _natural_offsets(arguments)
        events = [GstVkgdr.Event.new(context) for _ in range(2 if timed else 0)]
        with _Accesses(arguments, queue):
            if timed:
                events[0].record(queue)
            self.launch(queue, *grid, *block, shared, _pack(arguments, offsets))
            if timed:
                events[1].record(queue)
        self._fill_host(arguments, queue)
        if not timed:
            return None
        events[1].synchronize()
        return events[1].get_elapsed(events[0]) / 1e3

    @staticmethod
    def _fill_host(arguments: Iterable[_Argument], stream: "GstVkgdr.Stream") -> None:
        filled = [argument for argument in arguments if argument.host is not None]
        for argument in filled:
            host = argument.host
            GstVkgdr.memory_download(argument.memory, 0, host.address, host.nbytes, stream)
        if filled:
            stream.synchronize()
        for argument in filled:
            argument.host.release()

    def prepare(self, arg_types: Union[str, Sequence[Any]]) -> "Function":
        """Says what the parameters are, for drivers that do not tell (before CUDA
        12.4), and checks that against those that do.

        :param arg_types: a letter of the module struct for each, "P" for a pointer,
          or types of NumPy
        """
        sizes = [_size_of_type(one) for one in arg_types if one != " "]
        known = list(self.get_param_sizes())
        if self.has_param_info() and known != sizes:
            raise TypeError(
                f"the parameters of {self.get_entry()}() have {known} bytes, "
                f"and {arg_types!r} are {sizes}"
            )
        self._prepared = sizes
        return self

    def prepared_call(self, grid: Any, block: Any, *args: Any, shared_size: int = 0) -> None:
        """Launches it on the module's own stream."""
        self(*args, grid=grid, block=block, shared=shared_size)

    def prepared_async_call(
        self, grid: Any, block: Any, stream: Any, *args: Any, shared_size: int = 0
    ) -> None:
        """Launches it on a stream."""
        self(*args, grid=grid, block=block, stream=stream, shared=shared_size)

    def prepared_timed_call(
        self, grid: Any, block: Any, *args: Any, shared_size: int = 0
    ) -> Callable[[], float]:
        """Launches it; what is returned, called, tells the seconds that it took."""
        time = self(*args, grid=grid, block=block, shared=shared_size, time_kernel=True)
        return lambda: time

    @property
    def num_regs(self) -> int:
        """Registers of a thread."""
        return self.get_attribute("num-regs")

    @property
    def shared_size_bytes(self) -> int:
        """Bytes of static shared memory of a block."""
        return self.get_attribute("shared-size-bytes")

    @property
    def local_size_bytes(self) -> int:
        """Bytes of local memory of a thread."""
        return self.get_attribute("local-size-bytes")

    def occupancy(self, block_size: int, shared: int = 0) -> float:
        """How much of each multiprocessor blocks of that size keep busy, 0 to 1."""
        if block_size < 1:
            raise ValueError(f"a block has 1 thread at least, and not {block_size}")
        context = self.get_module().get_context()
        device = GstVkgdr.Device.new(context.get_device())
        threads = self.get_max_blocks(block_size, shared) * block_size
        return threads / device.get_attribute("max-threads-per-multiprocessor")


Function = override(Function)


def _size_of_type(one: Any) -> int:
    if isinstance(one, str) and len(one) == 1:
        if one not in _SIZES:
            raise ValueError(f"{one!r} is no type: it takes one of {''.join(_SIZES)}")
        return _SIZES[one]
    size = getattr(one, "itemsize", None)
    if isinstance(size, int):
        return size
    try:
        return one().nbytes  # a type of NumPy
    except (TypeError, AttributeError):
        raise TypeError(f"{one!r} is neither a letter nor a type of NumPy") from None


class Module(GstVkgdr.Module):
    def __new__(cls, *args: Any, **kwargs: Any) -> "Module":
        raise TypeError("a module is made by new_from_source(), new_from_image(), new_from_file()")


Module = override(Module)


def SourceModule(  # noqa: N802 (PyCUDA's name)
    source: str, context: Optional["GstVkgdr.Context"] = None, label: Optional[str] = None
) -> Module:
    """Compiles CUDA C++, as PyCUDA's class of that name.

    :param context: that of the memories that it shall work on; without one, a
      context of the default device
    :param label: what messages call the source
    :raises GLib.Error: with the compiler's log, if it does not compile
    """
    if not isinstance(source, str):
        raise TypeError(f"a source is a str, not {type(source).__name__}")
    if context is None:
        context = GstVkgdr.Context.new(-1)
    return GstVkgdr.Module.new_from_source(context, source, label)
