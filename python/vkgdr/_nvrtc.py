# SPDX-License-Identifier: LGPL-2.1-or-later
"""NVRTC by ctypes. libvkgdr knows what users of nvcc write, and NVRTC does not take."""

import contextlib
import ctypes
import functools
import glob
import importlib
import itertools
import os
import sys
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from ._context import get_driver_version
from ._cuda import RuntimeError
from ._library import declare, lib, structure

_Header = structure("_Header", "s name s text")
declare("""
    vkgdr_nvcc_translate W WP  vkgdr_nvcc_find_folders W P  vkgdr_nvcc_free - W
    vkgdr_nvcc_get_headers H -  vkgdr_nvcc_get_options W i  vkgdr_nvcc_explain s s
    vkgdr_nvcc_load_builtins - Pii""",
    W=ctypes.POINTER(ctypes.c_char_p), H=ctypes.POINTER(_Header))

#: The header in front of every source, and those that the C library has.
HEADER = "vkgdr/nvcc.h"
HEADERS: Dict[bytes, bytes] = {header.name: header.text for header in itertools.takewhile(
    lambda header: header.name, lib.vkgdr_nvcc_get_headers())}

# Variables that say where CUDA's headers are.
_PLACES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "HOME")
_NAMES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so")

def cuda_folders() -> List[str]:
    """The folders of CUDA toolkits that exist."""
    names = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"),
             os.environ.get("CUDA_ROOT"), "/usr/local/cuda"]
    return [name for name in dict.fromkeys(names) if name and os.path.isdir(name)]


def _candidates() -> Iterator[str]:
    """Where NVRTC may be: named by the user, on the linker's path, in a toolkit, or in
    one of NVIDIA's Python packages.
    """
    if os.environ.get("VKGDR_NVRTC"):
        yield os.environ["VKGDR_NVRTC"]
        return
    yield from _NAMES
    folders = [os.path.join(folder, name) for folder in cuda_folders() for name in ("lib64", "lib")]
    for path in sys.path:
        folders += glob.glob(os.path.join(path, "nvidia", "*", "lib"))
    for folder in folders:
        for name in _NAMES:
            yield os.path.join(folder, name)
    with contextlib.suppress(Exception):  # it is not installed, or it finds none
        pathfinder: Any = importlib.import_module("cuda.pathfinder")
        yield pathfinder.load_nvidia_dynamic_lib("nvrtc").abs_path


def _pathfinder_folders() -> List[str]:
    """The folders of headers that NVIDIA's package cuda.pathfinder finds, if it is there."""
    try:
        pathfinder: Any = importlib.import_module("cuda.pathfinder")
    except ImportError:
        return []
    folders = []
    for name in ("cudart", "cccl", "curand"):
        with contextlib.suppress(Exception):  # it raises what it likes for an unknown name
            folders.append(pathfinder.find_nvidia_header_directory(name))
    return [folder for folder in folders if folder]


class Nvrtc:
    """An NVRTC library."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self.is_software = lib.vkgdr_driver_is_software()
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = (major.value, minor.value)
        lib.vkgdr_nvcc_load_builtins(
            ctypes.cast(self._library.nvrtcVersion, ctypes.c_void_p), *self.version)
        # Another build of softcuda refuses the images of this one.
        status = os.stat(path) if self.is_software else None
        self.build = (status.st_mtime_ns, status.st_size) if status else ()

    def archs(self) -> List[int]:
        """The compute capabilities for which it compiles, such as 90. May be empty."""
        count = ctypes.c_int()
        self._library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
        numbers = (ctypes.c_int * count.value)()
        self._library.nvrtcGetSupportedArchs(numbers)
        return list(numbers)

    def _text(self, program: Any, what: str) -> bytes:
        size = ctypes.c_size_t()
        getattr(self._library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(max(size.value, 1))
        getattr(self._library, f"nvrtcGet{what}")(program, buffer)
        return buffer.raw[: size.value]

    def include_folders(self) -> List[str]:
        """The folders of CUDA's headers, those of this library first."""
        return [] if self.is_software else self._find_folders(
            tuple(sys.path), *map(os.environ.get, _PLACES))

    @functools.lru_cache(maxsize=4)  # the search takes longer than the rest of compile()
    def _find_folders(self, path: Tuple[str, ...], *places: Optional[str]) -> List[str]:
        function = ctypes.cast(self._library.nvrtcVersion, ctypes.c_void_p)
        folders = _take(lib.vkgdr_nvcc_find_folders(function)) + _pathfinder_folders()
        for folder in path:
            folders += glob.glob(os.path.join(folder, "nvidia", "*", "include"))
        return [*dict.fromkeys(folders)]

    def own_options(self) -> List[str]:
        """The options with which it compiles as nvcc does."""
        major, minor = self.version
        words = lib.vkgdr_nvcc_get_options(major * 1000 + minor * 10)
        return [os.fsdecode(word) for word in itertools.takewhile(bool, words)]

    def compile(self, source: str, options: Sequence[str], image: str) -> Tuple[bytes, str]:
        """Returns the image ("CUBIN" or "PTX") and the messages. There is no image if
        the source has an error.
        """
        program = ctypes.c_void_p()
        names = (ctypes.c_char_p * len(HEADERS))(*HEADERS)
        contents = (ctypes.c_char_p * len(HEADERS))(*HEADERS.values())
        words = (ctypes.c_char_p * len(options))(*(os.fsencode(word) for word in options))
        result = self._library.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), b"kernel.cu", len(HEADERS), contents, names)
        if result:
            return b"", f"nvrtcCreateProgram: error {result}"
        try:
            result = self._library.nvrtcCompileProgram(program, len(words), words)
            log = self._text(program, "ProgramLog").rstrip(b"\0")
            advice = lib.vkgdr_nvcc_explain(log) if result else None
            if advice:
                log += b"\n" + advice + b"."
            if result:  # headers that are installed now are found by the next call
                self._find_folders.cache_clear()
                return b"", log.decode(errors="replace").strip()
            return self._text(program, image), log.decode(errors="replace").strip()
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))


@functools.lru_cache(None)
def load() -> Nvrtc:
    """Loads NVRTC. A version that is newer than the driver is the last choice. Without a driver,
    which compilation for another machine does not need, it is the first one.
    """
    try:
        driver = get_driver_version()
    except RuntimeError:
        driver = sys.maxsize
    if lib.vkgdr_driver_is_software():
        folder = os.fsdecode(lib.vkgdr_driver_softcuda_dir())
        return Nvrtc(os.path.join(folder, "libnvrtc.so.13"))
    newer: Optional[Nvrtc] = None
    for path in _candidates():
        try:
            found = Nvrtc(path)
        except OSError:
            continue
        if found.version[0] * 1000 + found.version[1] * 10 <= driver:
            return found
        newer = newer or found
    if newer is None:
        raise RuntimeError(
            "NVRTC, the compiler of CUDA sources, was not found: install it (for example, "
            "pip install nvidia-cuda-nvrtc-cu12), or set VKGDR_NVRTC to the file libnvrtc.so"
        )
    return newer


def _take(words: Any) -> List[str]:
    """The strings of a list of C, which is freed."""
    try:
        return [os.fsdecode(word) for word in itertools.takewhile(bool, words)]
    finally:
        lib.vkgdr_nvcc_free(words)


def translate(options: Sequence[str]) -> List[str]:
    """nvcc's options as NVRTC's. Unknown ones are passed on."""
    words = (ctypes.c_char_p * (len(options) + 1))(*(os.fsencode(word) for word in options))
    return _take(lib.vkgdr_nvcc_translate(words, None))
