# SPDX-License-Identifier: LGPL-2.1-or-later
"""NVRTC by ctypes, and nvcc's options in NVRTC's words."""

import ctypes
import functools
import glob
import os
import sys
from typing import Any, Iterator, List, Optional, Sequence, Tuple

from ._context import get_driver_version
from ._cuda import RuntimeError
from ._library import lib

_NAMES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so")

# Headers that nvcc takes from the host compiler. NVRTC itself knows printf(), assert(),
# malloc() and the mathematical functions.
_NO_CONTENT = (
    "assert.h cassert cfloat climits cmath cstddef cstdio cstdlib cstring ctime cuda_runtime.h "
    "cuda_runtime_api.h device_launch_parameters.h float.h iostream limits.h math.h "
    "math_constants.h stddef.h stdio.h stdlib.h string.h time.h vector_functions.h "
    "vector_types.h"
)
_INTEGERS = """#pragma once
typedef signed char int8_t; typedef unsigned char uint8_t;
typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t;
typedef long long int64_t; typedef unsigned long long uint64_t;
typedef long intptr_t; typedef unsigned long uintptr_t;
"""
HEADERS = {**{name: "#pragma once\n" for name in _NO_CONTENT.split()},
           **{name: _INTEGERS for name in ("stdint.h", "cstdint", "inttypes.h")}}


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
    folders = [os.path.join(folder, "lib64") for folder in cuda_folders()]
    for path in sys.path:
        folders += glob.glob(os.path.join(path, "nvidia", "*", "lib"))
    for folder in folders:
        for name in _NAMES:
            yield os.path.join(folder, name)


class Nvrtc:
    """An NVRTC library."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self.is_software = lib.vkgdr_driver_is_software()
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = (major.value, minor.value)
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

    def compile(self, source: str, options: Sequence[str], image: str) -> Tuple[bytes, str]:
        """Returns the image ("CUBIN" or "PTX") and the messages. There is no image if
        the source has an error.
        """
        program = ctypes.c_void_p()
        # softcuda compiles with a compiler of the host, which has these headers.
        headers = {} if self.is_software else HEADERS
        names = (ctypes.c_char_p * len(headers))(*(name.encode() for name in headers))
        contents = (ctypes.c_char_p * len(headers))(*(text.encode() for text in headers.values()))
        words = (ctypes.c_char_p * len(options))(*(os.fsencode(word) for word in options))
        result = self._library.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), b"kernel.cu", len(headers), contents, names)
        if result:
            return b"", f"nvrtcCreateProgram: error {result}"
        try:
            result = self._library.nvrtcCompileProgram(program, len(words), words)
            log = self._text(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
            return b"" if result else self._text(program, image), log.strip()
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


# Options of nvcc that have no meaning for NVRTC, or concern the host compiler. Those of
# the second list have a value. A value follows "=", or is the next word.
_IGNORED = ("-m64", "--machine=64", "-v", "--verbose", "--keep", "-g", "--debug", "-O", "-O0",
            "-O1", "-O2", "-O3", "--cubin", "-cubin", "--ptx", "-ptx", "-c")
_IGNORED_WITH_VALUE = (
    "-Xcompiler", "--compiler-options", "-ccbin", "--compiler-bindir", "-L", "--library-path", "-l",
    "--library", "-code", "--gpu-code", "-gencode", "--generate-code", "-x", "-Xlinker",
    "--linker-options", "-odir", "-o")
_RENAMED = {"-G": "--device-debug", "-lineinfo": "--generate-line-info", "-w": "--disable-warnings",
            "-dc": "--relocatable-device-code=true", "-use_fast_math": "--use_fast_math"}
_WITH_VALUE = {
    "-I": "-I", "-isystem": "-I", "-D": "-D", "-U": "-U", "-std": "--std=",
    "-rdc": "--relocatable-device-code=", "-arch": "--gpu-architecture=",
    "-maxrregcount": "--maxrregcount=", "-Xptxas": "--ptxas-options=",
    **{name: f"{name}=" for name in (
        "--gpu-architecture", "--maxrregcount", "--ptxas-options", "--std", "--include-path",
        "--relocatable-device-code", "--define-macro", "--undefine-macro")}}


def translate(options: Sequence[str]) -> List[str]:
    """nvcc's options as NVRTC's. Unknown ones are passed on."""
    result: List[str] = []
    words = iter(options)
    for word in words:
        name, equals, value = word.partition("=")
        if not equals and name in (*_WITH_VALUE, *_IGNORED_WITH_VALUE):
            value = next(words, "")
        if name in _WITH_VALUE:
            result.append(_WITH_VALUE[name] + value)
        elif word in _RENAMED or not (word in _IGNORED or name in _IGNORED_WITH_VALUE
                                      or word[:2] in ("-L", "-l")):
            result.append(_RENAMED.get(word, word))
    return result
