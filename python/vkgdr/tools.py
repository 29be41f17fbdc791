# SPDX-License-Identifier: LGPL-2.1-or-later
"""PyCUDA's module tools: memory pools, the default context, and what a device can hold."""

import atexit
import functools
import gc
import os
import warnings
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, TypeVar

import numpy as np

from . import driver
from ._memory import DeviceMemoryPool as DeviceMemoryPool
from ._memory import PageLockedAllocator as PageLockedAllocator
from ._memory import PageLockedMemoryPool as PageLockedMemoryPool
from ._memory import PooledDeviceAllocation as PooledDeviceAllocation
from ._memory import PooledHostAllocation as PooledHostAllocation
from ._memory import bitlog2 as bitlog2

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
        raise RuntimeError("No CUDA enabled device found. Please check your installation.")
    number = _chosen_device()
    if number is not None:
        return make(driver.Device(number))
    for number in range(count):
        try:
            return make(driver.Device(number))
        except driver.Error as error:
            last = error
    raise RuntimeError(
        "make_default_context() wasn't able to create a context on any of the "
        f"{count} detected devices: {last}"
    )


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
    warnings.warn("get_default_device() is deprecated; use make_default_context() instead",
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
        try:
            return {4: 64, 8: 128, 16: 128}[word_size]
        except KeyError:
            raise ValueError(f"no alignment possible for fetches of size {word_size}") from None

    def align(self, bytes: int, word_size: int = 4) -> int:  # noqa: A002
        return _round_up(bytes, self.align_bytes(word_size))

    def align_words(self, word_size: int) -> int:
        return self.align_bytes(word_size) // word_size

    def align_dtype(self, elements: int, dtype_size: int) -> int:
        return _round_up(elements, self.align_words(dtype_size))

    def coalesce(self, thread_count: int) -> int:
        return _round_up(thread_count, 16)

    @staticmethod
    def make_valid_tex_channel_count(size: int) -> int:
        for valid in (1, 2, 4):
            if size <= valid:
                return valid
        raise ValueError("could not enlarge argument to valid channel count")


class OccupancyRecord:
    """How many blocks of a kernel fit on a multiprocessor, and what limits them."""

    def __init__(self, devdata: DeviceData, threads: int, shared_mem: int = 0,
                 registers: int = 0) -> None:
        if threads > devdata.max_threads:
            raise ValueError("too many threads")
        warps = -(-threads // devdata.warp_size)
        shared = _round_up(shared_mem, devdata.smem_alloc_granularity)
        used_registers = warps * devdata.warp_size * registers
        if used_registers > devdata.registers:
            raise ValueError("too many registers")
        if shared > devdata.shared_memory:
            raise ValueError("too much smem")
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


_C_TYPES = {
    "bool": "bool", "int8": "signed char", "uint8": "unsigned char", "int16": "short",
    "uint16": "unsigned short", "int32": "int", "uint32": "unsigned int", "int64": "long",
    "uint64": "unsigned long", "float16": "half", "float32": "float", "float64": "double",
    "complex64": "pycuda::complex<float>", "complex128": "pycuda::complex<double>",
}


def dtype_to_ctype(dtype: Any) -> str:
    """The name in C of a type of NumPy."""
    try:
        return _C_TYPES[np.dtype(dtype).name]
    except KeyError:
        raise ValueError(f"unable to map dtype '{dtype}'") from None
