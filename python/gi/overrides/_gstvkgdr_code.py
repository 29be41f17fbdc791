# SPDX-License-Identifier: LGPL-2.1-or-later
"""CUDA code from Python: modules, and their functions, which can be called.

    module = GstVkgdr.SourceModule(source, context)
    scale = module.get_function("scale")
    scale(memory, np.float32(2), np.int32(n), block=(256, 1, 1), grid=(4, 1))

Orders the accesses of a launch to the memories among its arguments.
_gstvkgdr_arguments converts the arguments to bytes. Does not depend on frames.
"""

import os
import shlex
from typing import Any, Callable, Iterable, List, Optional, Sequence, Tuple, Union

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

from ..module import get_introspection_module  # noqa: E402
from . import _gstvkgdr_arguments as arguments_  # noqa: E402
from . import _gstvkgdr_numbers as numbers  # noqa: E402
from . import _gstvkgdr_objects as objects  # noqa: E402
from . import _gstvkgdr_types as types  # noqa: E402
from ._gstvkgdr_arguments import Argument, Parameter  # noqa: E402
from ._gstvkgdr_override import override  # noqa: E402

GstVkgdr = get_introspection_module("GstVkgdr")


# Attributes of a function that dir() lists, for completion.
_ATTRIBUTES = (
    "binary_version", "cache_mode_ca", "const_size_bytes", "local_size_bytes",
    "max_dynamic_shared_size_bytes", "max_threads_per_block", "num_regs",
    "preferred_shared_memory_carveout", "ptx_version", "shared_size_bytes",
)


def _three(values: Union[int, Iterable[int]], what: str) -> Tuple[int, int, int]:
    found = numbers.integers(values, what)
    if not 1 <= len(found) <= 3 or any(n < 1 for n in found):
        raise ValueError(f"{what} needs one to three numbers of at least 1, not {values!r}")
    return (found + (1, 1))[:3]


class _Accesses:
    """The accesses of a launch to its memories on its stream. Each memory is listed
    once.
    """

    def __init__(self, arguments: Iterable[Argument], stream: "GstVkgdr.Stream") -> None:
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
        # The next user of a memory waits only if its access has ended here.
        failure = None
        for memory, flags in self._begun:
            try:
                GstVkgdr.memory_end_access(memory, self._stream, flags)
            except Exception as error:
                failure = failure or error
        if failure is not None:
            raise failure


class Function(GstVkgdr.Function):
    def __new__(cls, *args: Any, **kwargs: Any) -> "Function":
        raise TypeError("GstVkgdr.Module.get_function() returns a function")

    def __call__(
        self,
        *args: Any,
        block: Union[int, Iterable[int], None] = None,
        grid: Union[int, Iterable[int]] = (1, 1, 1),
        stream: Any = None,
        shared: int = 0,
        time_kernel: bool = False,
    ) -> Optional[float]:
        """Launches the function. The memories among the arguments are used in the right
        order.

        The call only waits with time_kernel, or if it has to fill host memory: Out(),
        InOut(), and arrays of NumPy that are not pinned. The caller has to order the use
        of pinned arrays, and of arrays with ``__cuda_array_interface__``.

        :param args: memories (Gst.Memory, or a Gst.Buffer with one memory); arrays on
          the device; pinned arrays; arrays of NumPy, which are copied to the device and
          back; numbers, which get the width of the parameter; bytes for structures
        :param block: the number of threads of a block
        :param grid: the number of blocks
        :param stream: a stream of any library; without it, the stream of the module
        :param shared: bytes of dynamic shared memory
        :param time_kernel: wait, and return the time on the device in seconds
        """
        if block is None:
            raise ValueError("block= is missing: the number of threads of a block")
        seconds = self._run(
            args, _three(grid, "grid"), _three(block, "block"), stream, shared, time_kernel
        )
        return seconds() if seconds is not None else None

    def _own_stream(self) -> "GstVkgdr.Stream":
        # The stream belongs to the module, so that its functions run one after the
        # other, as on a default stream.
        module = self.get_module()
        if getattr(module, "_stream", None) is None:
            module._stream = GstVkgdr.Stream.new(module.get_context())
        return module._stream

    def _parameters(self, n_args: int) -> List[Parameter]:
        """What is known about the parameters: from prepare(), or otherwise from the
        driver.
        """
        name = self.get_entry()
        prepared = getattr(self, "_prepared", None)
        sizes = list(self.get_param_sizes()) if self.has_param_info() else None
        if prepared is not None:
            sizes = [one.size for one in prepared]
        if sizes is not None and len(sizes) != n_args:
            raise TypeError(f"{name}() takes {len(sizes)} arguments, not {n_args}")
        return [
            Parameter(
                f"argument {i + 1} of {name}()",
                sizes[i] if sizes is not None else None,
                prepared[i] if prepared is not None else None,
            )
            for i in range(n_args)
        ]

    def _convert_all(self, args: Sequence[Any], stream: "GstVkgdr.Stream") -> List[Argument]:
        found = []
        for value, parameter in zip(args, self._parameters(len(args))):
            argument = arguments_.convert(value, parameter, stream)
            if parameter.size is not None and len(argument.data) != parameter.size:
                raise TypeError(
                    f"{parameter.name} has {len(argument.data)} bytes, and the parameter "
                    f"{parameter.size}"
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
    ) -> Optional[Callable[[], float]]:
        """Queues a launch. If it is timed, returns a function that waits and returns
        the seconds.
        """
        context = self.get_module().get_context()
        queue = self._own_stream() if stream is None else objects.as_stream(context, stream)
        arguments = self._convert_all(args, queue)
        offsets = self.get_param_offsets() or arguments_.natural_offsets(arguments)
        packed = arguments_.pack(arguments, offsets)
        events = [objects.Event(context) for _ in range(2 if timed else 0)]
        with _Accesses(arguments, queue):
            if timed:
                events[0].record(queue)
            self.launch(queue, *grid, *block, numbers.natural(shared, "shared"), packed)
            if timed:
                events[1].record(queue)
        self._keep(arguments, queue)
        self._fill_host(arguments, queue)
        if not timed:
            return None
        return lambda: events[1].synchronize().time_since(events[0]) / 1e3

    @staticmethod
    def _keep(arguments: Iterable[Argument], stream: "GstVkgdr.Stream") -> None:
        kept = [argument.kept for argument in arguments if argument.kept is not None]
        if kept:
            objects.keep(stream, kept)

    @staticmethod
    def _fill_host(arguments: Iterable[Argument], stream: "GstVkgdr.Stream") -> None:
        filled = [argument for argument in arguments if argument.host is not None]
        for argument in filled:
            host = argument.host
            GstVkgdr.memory_download(argument.memory, 0, host.address, host.nbytes, stream)
        if filled:
            stream.synchronize()
        for argument in filled:
            argument.host.release()

    def prepare(self, arg_types: Union[str, Sequence[Any]]) -> "Function":
        """Declares the types of the parameters.

        From now on, numbers are converted to these types, and an int is not accepted
        for a pointer. If the driver tells the sizes of the parameters (CUDA 12.4 and
        later), the types have to fit them.

        :param arg_types: for each parameter a letter of the module struct, "P" for a
          pointer, "F" or "D" for complex numbers, or a type of NumPy
        """
        known = list(self.get_param_sizes()) if self.has_param_info() else None
        prepared = types.parse(arg_types, known)
        sizes = [one.size for one in prepared]
        if known is not None and known != sizes:
            raise TypeError(
                f"the parameters of {self.get_entry()}() have {known} bytes, "
                f"and {arg_types!r} are {sizes}"
            )
        self._prepared = prepared
        return self

    def prepared_call(self, grid: Any, block: Any, *args: Any, shared_size: int = 0) -> None:
        """Launches the function on the stream of the module."""
        self(*args, grid=grid, block=block, shared=shared_size)

    def prepared_async_call(
        self, grid: Any, block: Any, stream: Any, *args: Any, shared_size: int = 0
    ) -> None:
        """Launches the function on a stream."""
        self(*args, grid=grid, block=block, stream=stream, shared=shared_size)

    def prepared_timed_call(
        self, grid: Any, block: Any, *args: Any, shared_size: int = 0
    ) -> Callable[[], float]:
        """Launches the function on the stream of the module. Returns a function that
        waits and returns the time on the device in seconds.
        """
        seconds = self._run(
            args, _three(grid, "grid"), _three(block, "block"), None, shared_size, True
        )
        assert seconds is not None
        return seconds

    def __getattr__(self, name: str) -> int:
        """All attributes of the function by their names: num_regs, shared_size_bytes,
        max_threads_per_block and others."""
        return objects.attribute_of(self, name)

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *_ATTRIBUTES]

    def __repr__(self) -> str:
        text = f"<GstVkgdr.Function {self.get_entry()}()"
        if not self.has_param_info():
            return text + ">"
        sizes = ", ".join(str(size) for size in self.get_param_sizes())
        return text + (f" with parameters of {sizes} bytes>" if sizes else " without parameters>")

    def occupancy(self, block_size: int, shared: int = 0) -> float:
        """The part of each multiprocessor that blocks of this size keep busy, 0 to 1.
        """
        if numbers.integer(block_size, "the block's size") < 1:
            raise ValueError(f"a block has at least 1 thread, not {block_size}")
        context = self.get_module().get_context()
        device = GstVkgdr.Device.new(context.get_device())
        threads = self.get_max_blocks(block_size, shared) * block_size
        return threads / device.get_attribute("max-threads-per-multiprocessor")


Function = override(Function)


class Module(GstVkgdr.Module):
    def __new__(cls, *args: Any, **kwargs: Any) -> "Module":
        raise TypeError("a module is made by new_from_source(), new_from_image(), new_from_file()")

    def __repr__(self) -> str:
        names = self.list_functions()
        if names is None:
            return "<GstVkgdr.Module whose functions the driver does not list>"
        return f"<GstVkgdr.Module: {', '.join(names) or 'no functions'}>"


Module = override(Module)


def _compile_options(
    options: Union[str, Sequence[str], None], include_dirs: Sequence[Union[str, "os.PathLike[str]"]]
) -> Optional["GstVkgdr.CompileOptions"]:
    if isinstance(include_dirs, (str, os.PathLike)):
        raise TypeError("include_dirs is a list of folders: put a single one into a list")
    words = shlex.split(options) if isinstance(options, str) else list(options or ())
    folders = [os.fspath(folder) for folder in include_dirs]
    for word in [*words, *folders]:
        if not isinstance(word, str):
            raise TypeError(f"options and folders are str, not {type(word).__name__}")
    if not words and not folders:
        return None
    return GstVkgdr.CompileOptions.new(words, folders)


def SourceModule(  # noqa: N802 (PyCUDA's name)
    source: str,
    context: Optional["GstVkgdr.Context"] = None,
    label: Optional[str] = None,
    options: Union[str, Sequence[str], None] = None,
    include_dirs: Sequence[Union[str, "os.PathLike[str]"]] = (),
) -> Module:
    """Compiles CUDA C++, like PyCUDA's class of this name.

    :param context: the context of the memories that the code will use; without it, a
      context of the default device
    :param label: the name of the source in messages
    :param options: options of the compiler, such as "-DNAME=1": a list, or one text
      with all of them
    :param include_dirs: folders in which headers are searched
    :raises CompileError: with the compiler's log, if the source does not compile
    :raises LogicError: if an option is not known
    """
    if not isinstance(source, str):
        raise TypeError(f"a source is a str, not {type(source).__name__}")
    made = _compile_options(options, include_dirs)
    if context is None:
        context = GstVkgdr.Context.new(-1)
    if made is None:
        return GstVkgdr.Module.new_from_source(context, source, label)
    return GstVkgdr.Module.new_from_source_with_options(context, source, label, made)
