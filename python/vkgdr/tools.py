# SPDX-License-Identifier: LGPL-2.1-or-later
"""PyCUDA's module tools: memory pools, the default context, and what a device can hold."""

import atexit
import collections
import functools
import gc
import os
import re
import sys
import traceback
import warnings
import weakref
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, TypeVar, Union

import numpy as np

from . import driver
from ._memory import (
    DeviceMemoryPool, PageLockedAllocator, PageLockedMemoryPool, PooledDeviceAllocation,
    PooledHostAllocation, bitlog2,
)

__all__ = [
    "Argument", "DebugMemoryPool", "DeviceData", "DeviceMemoryPool", "OccupancyRecord",
    "PageLockedAllocator", "PageLockedMemoryPool", "PooledDeviceAllocation",
    "PooledHostAllocation", "ScalarArg", "VectorArg", "bitlog2", "clear_context_caches",
    "context_dependent_memoize", "dtype_to_ctype", "get_arg_type", "get_default_device",
    "get_or_register_dtype", "init_cuda_context_fixture", "make_default_context",
    "mark_cuda_test", "parse_c_arg", "register_dtype",
]


def __dir__() -> List[str]:
    return __all__

_F = TypeVar("_F", bound=Callable[..., Any])


def _chosen_device() -> Optional[int]:
    """The device that CUDA_DEVICE, or a file in the home folder, names."""
    value, where = os.environ.get("CUDA_DEVICE") or None, "CUDA_DEVICE"
    for name in (".cuda_device", ".cuda-device"):
        path = os.path.join(os.path.expanduser("~"), name)
        if value is None and os.path.isfile(path):
            where = path
            with open(path, encoding="utf-8") as file:
                value = file.read().strip()
    if value is None:
        return None
    try:
        return int(value)
    except ValueError:
        raise ValueError(f'{where} is "{value}": it has to be the number of a device') from None


def make_default_context(ctx_maker: Optional[Callable[[Any], Any]] = None) -> Any:
    """A new context on the device that CUDA_DEVICE or ~/.cuda-device names, otherwise on
    the first device that works.
    """
    make = ctx_maker or (lambda device: device.make_context())
    count = driver.Device.count()
    if count == 0:
        raise RuntimeError("the CUDA driver has no device: vkgdr-info or nvidia-smi may say why")
    number = _chosen_device()
    if number is not None:
        return make(driver.Device(number))
    for number in range(count):
        try:
            return make(driver.Device(number))
        except driver.Error as error:
            last = error
    raise RuntimeError(f"none of the {count} devices can make a context; the last said: {last}")


def start(module: Dict[str, Any], ctx_maker: Optional[Callable[[Any], Any]] = None) -> Any:
    """Makes the `context` of the module autoinit or autoprimaryctx, until the end of the
    interpreter.
    """
    driver.init()
    context = make_default_context(ctx_maker)

    def finish() -> None:
        module.pop("context").pop()
        clear_context_caches()

    atexit.register(finish)
    return context


def get_default_device(default: int = 0) -> driver.Device:
    """Deprecated: use make_default_context(). The device that CUDA_DEVICE names."""
    warnings.warn("get_default_device() is deprecated: make_default_context() chooses a device",
                  DeprecationWarning, stacklevel=2)
    number = _chosen_device()
    return driver.Device(default if number is None else number)


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


class DeviceData:
    """What a device can hold. The numbers are the driver's."""

    smem_granularity = 32
    smem_alloc_granularity = 128
    register_allocation_unit = "warp"

    def __init__(self, dev: Optional[driver.Device] = None) -> None:
        dev = dev or driver.Context.get_device()
        self.max_threads = dev.max_threads_per_block
        self.warp_size = dev.warp_size
        self.warps_per_mp = dev.max_threads_per_multiprocessor // self.warp_size
        self.thread_blocks_per_mp = dev.max_blocks_per_multiprocessor
        self.registers = dev.max_registers_per_block
        self.shared_memory = dev.max_shared_memory_per_block

    def align_bytes(self, word_size: int = 4) -> int:
        """The distance of addresses whose words of this size are read at once."""
        try:
            return {4: 64, 8: 128, 16: 128}[word_size]
        except KeyError:
            raise ValueError(f"words have 4, 8 or 16 bytes, not {word_size}") from None

    def align(self, bytes: int, word_size: int = 4) -> int:  # noqa: A002
        """Rounds a number of bytes up to align_bytes()."""
        return _round_up(bytes, self.align_bytes(word_size))

    def align_words(self, word_size: int) -> int:
        """The number of words in align_bytes()."""
        return self.align_bytes(word_size) // word_size

    def align_dtype(self, elements: int, dtype_size: int) -> int:
        """Rounds a number of elements up to align_words()."""
        return _round_up(elements, self.align_words(dtype_size))

    def coalesce(self, thread_count: int) -> int:
        """Rounds a number of threads up to a multiple of 16."""
        return _round_up(thread_count, 16)

    @staticmethod
    def make_valid_tex_channel_count(size: int) -> int:
        """The number of channels, from 1, 2 and 4, that a texture needs."""
        for valid in (1, 2, 4):
            if size <= valid:
                return valid
        raise ValueError(f"a texture has at most 4 channels, not {size}")


class OccupancyRecord:
    """How many blocks of a kernel fit on a multiprocessor, and what limits them."""

    def __init__(self, devdata: DeviceData, threads: int, shared_mem: int = 0,
                 registers: int = 0) -> None:
        if threads > devdata.max_threads:
            raise ValueError(f"a block has at most {devdata.max_threads} threads")
        warps = -(-threads // devdata.warp_size)
        shared = _round_up(shared_mem, devdata.smem_alloc_granularity)
        used_registers = warps * devdata.warp_size * registers
        if used_registers > devdata.registers:
            raise ValueError(f"a block has at most {devdata.registers} registers")
        if shared > devdata.shared_memory:
            raise ValueError(
                f"a block has at most {devdata.shared_memory} bytes of shared memory")
        limits = [(devdata.thread_blocks_per_mp, "device"),
                  (devdata.warps_per_mp // warps, "warps")]
        if registers > 0:
            limits.append((devdata.registers // used_registers, "regs"))
        if shared_mem > 0:
            limits.append((devdata.shared_memory // shared, "smem"))
        self.tb_per_mp_limits: List[Tuple[int, str]] = limits
        self.tb_per_mp, self.limited_by = min(limits)
        self.warps_per_mp = self.tb_per_mp * warps
        self.occupancy = self.warps_per_mp / devdata.warps_per_mp


_caches: List[Dict[Any, Dict[Any, Any]]] = []


def context_dependent_memoize(func: _F) -> _F:
    """A decorator that keeps the results of a function for each context."""
    cache: Dict[Any, Dict[Any, Any]] = {}
    _caches.append(cache)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        key = (args, frozenset(kwargs.items()))
        results = cache.setdefault(driver.Context.get_current(), {})
        if key not in results:
            results[key] = func(*args, **kwargs)
        return results[key]

    return functools.update_wrapper(wrapper, func)  # type: ignore[return-value]


def clear_context_caches() -> None:
    """Forgets the results that context_dependent_memoize() keeps, and so their contexts."""
    for cache in _caches:
        cache.clear()


def init_cuda_context_fixture() -> Iterator[None]:
    """Makes a context for a test, and removes it after the test."""
    driver.init()
    context = make_default_context()
    try:
        yield
    finally:
        context.pop()
        clear_context_caches()
        gc.collect()


def mark_cuda_test(inner_f: _F) -> _F:
    """A decorator that runs a test with a new context, and marks it "cuda" for pytest."""

    @functools.wraps(inner_f)
    def test(*args: Any, **kwargs: Any) -> None:
        for _ in init_cuda_context_fixture():
            inner_f(*args, **kwargs)

    try:
        from pytest import mark  # type: ignore[import,unused-ignore]
    except ImportError:
        return test  # type: ignore[return-value]
    return mark.cuda(test)


# --- types and arguments of kernels ------------------------------------------

_types: Dict[str, Any] = {}  # NumPy's types, by each name in C
_names: Dict[Any, str] = {}  # the name in C of NumPy's types


def get_or_register_dtype(c_names: Union[str, Sequence[str]], dtype: Any = None) -> Any:
    """Gives a type of NumPy names in C, of which the first is used. Without a type, returns the one
    that has these names.
    """
    names = [c_names] if isinstance(c_names, str) else list(c_names)
    if dtype is None:
        return [_types[name] for name in names][0]
    dtype = np.dtype(dtype)
    for name in names:
        if _types.setdefault(name, dtype) != dtype:
            raise RuntimeError(f"{name} is the name of another type, {_types[name]}")
    _names.setdefault(dtype, names[0])
    return _types[_names[dtype]]


def register_dtype(dtype: Any, c_names: Union[str, Sequence[str]], alias_ok: bool = False) -> None:
    """Deprecated: use get_or_register_dtype()."""
    warnings.warn("register_dtype() is deprecated: use get_or_register_dtype()",
                  DeprecationWarning, stacklevel=2)
    if not alias_ok and np.dtype(dtype) in _names:
        raise RuntimeError(f"the type {dtype} has the name {_names[np.dtype(dtype)]}: alias_ok=True")
    get_or_register_dtype(c_names, dtype)


for _row in """
    bool: bool
    int8: signed char, char
    uint8: unsigned char
    int16: short, signed short, signed short int, short signed int, short int
    uint16: unsigned short, unsigned short int, short unsigned int
    int32: int, signed int, signed
    uint32: unsigned int, unsigned
    int64: long, long int, signed long int, long signed int, long long
    uint64: unsigned long, unsigned long int, long unsigned int, unsigned long long
    float16: half
    float32: float
    float64: double
    complex64: pycuda::complex<float>
    complex128: pycuda::complex<double>
""".strip().split("\n"):
    _dtype, _, _c_names = _row.strip().partition(": ")
    get_or_register_dtype(_c_names.split(", "), _dtype)

# The types of PyCUDA's header for textures with numbers of double precision.
_TEXTURE_TYPES = {"float32": "fp_tex_float", "float64": "fp_tex_double",
                  "complex64": "fp_tex_cfloat", "complex128": "fp_tex_cdouble"}


def dtype_to_ctype(dtype: Any, with_fp_tex_hack: bool = False) -> str:
    """The name in C of a type of NumPy; with_fp_tex_hack, that of PyCUDA's header for textures."""
    if dtype is None:
        raise ValueError("None is no type")
    kind = np.dtype(dtype)
    if with_fp_tex_hack and kind.name in _TEXTURE_TYPES:
        return _TEXTURE_TYPES[kind.name]
    if kind not in _names:
        raise ValueError(f"the type {dtype} has no name in C: see get_or_register_dtype()")
    return _names[kind]


class Argument:
    """A parameter of a kernel, with a type of NumPy and a name."""

    def __init__(self, dtype: Any, name: str) -> None:
        self.dtype: Any = np.dtype(dtype)
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.dtype})"


class VectorArg(Argument):
    """A pointer to elements of a type."""

    struct_char = "P"

    def declarator(self) -> str:
        """The declaration in C."""
        return f"{dtype_to_ctype(self.dtype)} *{self.name}"


class ScalarArg(Argument):
    """A value of a type."""

    @property
    def struct_char(self) -> str:
        """The code for Function.prepare()."""
        return f"{self.dtype.itemsize}s" if self.dtype.char == "V" else self.dtype.char

    def declarator(self) -> str:
        """The declaration in C."""
        return f"{dtype_to_ctype(self.dtype)} {self.name}"


def parse_c_arg(c_arg: str) -> Union[ScalarArg, VectorArg]:
    """Reads a declaration in C, such as `const float *x`."""
    text = re.sub(r"\b(const|volatile|__restrict__|__restrict|restrict)\b", " ", c_arg)
    found = re.fullmatch(r"(.*?)([\s*]*)\b(\w+)\s*((?:\[[\s\d]*\]\s*)*)", text, re.DOTALL)
    if found is None:
        raise ValueError(f"this is no declaration of a parameter in C: {c_arg!r}")
    kind = " ".join(found[1].split())
    if kind not in _types:
        raise ValueError(f"the type {kind!r} is not known: see get_or_register_dtype()")
    is_vector = "*" in found[2] or found[4]
    return VectorArg(_types[kind], found[3]) if is_vector else ScalarArg(_types[kind], found[3])


def get_arg_type(c_arg: str) -> str:
    """The code for Function.prepare() of a declaration in C."""
    return parse_c_arg(c_arg).struct_char


class DebugMemoryPool(DeviceMemoryPool):
    """A pool that writes about each allocation: its size and place, the free memory, and the blocks
    in use by the places that have allocated them.

    :param interactive: asks for a name of each new place, which is used from then on
    :param logfile: a text file. Default: standard output
    """

    def __init__(self, interactive: bool = True, logfile: Any = None) -> None:
        super().__init__()
        self.interactive = interactive
        self.logfile = logfile or sys.stdout
        self._places: Dict[str, str] = {}
        self._blocks: Any = weakref.WeakKeyDictionary()

    def describe(self, stack: Sequence[str], size: int) -> str:
        """The name of a place in the program, whose functions are on the stack."""
        place = "/".join(stack)
        if self.interactive and place not in self._places:
            print(f"{size} bytes are allocated in {place}", file=self.logfile)
            self._places[place] = input("a name for this place: ")
        return self._places.get(place) or place

    def allocate(self, size: int) -> PooledDeviceAllocation:
        """Allocates as DeviceMemoryPool does, and writes about it."""
        place = self.describe([frame.name for frame in traceback.extract_stack()[:-1]], size)
        free, total = driver.mem_get_info()
        print(f"{size} bytes for {place}; device: {free} of {total} bytes free; pool: "
              f"{self.held_blocks} blocks held, {self.active_blocks} in use", file=self.logfile)
        in_use = collections.Counter(self._blocks.values())
        for (length, name), count in sorted(in_use.items(), reverse=True):
            print(f"  {count} blocks of {length} bytes for {name}", file=self.logfile)
        result = super().allocate(size)
        self._blocks[result] = size, place
        return result
