# SPDX-License-Identifier: LGPL-2.1-or-later
"""PyCUDA's module compiler. NVRTC compiles, not nvcc: no toolkit is needed, and a source
is compiled in a tenth of the time. nvcc's usual options are translated.
"""

import contextlib
import functools
import hashlib
import os
import re
import stat
import subprocess
import sys
import tempfile
import warnings
from importlib.util import find_spec
from typing import Any, List, Optional, Sequence, Set, Tuple, Union

from . import _nvrtc, driver

__all__ = [
    "CudaModule", "DEFAULT_NVCC_FLAGS", "DynamicModule", "DynamicSourceModule", "SourceModule",
    "compile", "compile_plain", "get_nvcc_version", "preprocess_source",
]


def __dir__() -> List[str]:
    return __all__

#: The options of sources that are compiled without `options`.
DEFAULT_NVCC_FLAGS: List[str] = os.environ.get("PYCUDA_DEFAULT_NVCC_FLAGS", "").split()

# What changes if the headers do. Their text would take half of the time of a cached image.
_HEADERS = hashlib.sha256(repr(_nvrtc.HEADERS).encode()).hexdigest()

_PRE_INCLUDE = re.compile("^--pre-include=")
_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)', re.MULTILINE)


def _cache_folder(cache_dir: Union[str, None, bool]) -> Optional[str]:
    """The folder of the cache, or None if it is switched off or cannot be trusted."""
    if "PYCUDA_DISABLE_CACHE" in os.environ or cache_dir is False:
        return None
    folder = cache_dir or os.environ.get("PYCUDA_CACHE_DIR") or os.environ.get("VKGDR_CACHE_DIR")
    if not folder or folder is True:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        folder = os.path.join(base, "gst-vkgdr")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError:
        return None
    return folder if _is_own(folder) else None


def _is_own(path: str) -> bool:
    """Whether a file or a folder is this user's, and nobody else can write to it."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return False
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _hash_includes(digest: Any, source: str, folders: Sequence[str], seen: Set[str]) -> None:
    """Adds the headers that a source includes, so that a change compiles it again."""
    for name in _INCLUDE.findall(source):
        for folder in folders:
            path = os.path.join(folder, name)
            if path in seen or not os.path.isfile(path):
                continue
            seen.add(path)
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            digest.update(text.encode())
            _hash_includes(digest, text, [os.path.dirname(path), *folders], seen)
            break


def _write_cache(path: str, image: bytes) -> None:
    """Writes the whole file or none, since other processes read it."""
    name = None
    try:
        handle, name = tempfile.mkstemp(dir=os.path.dirname(path))
        with os.fdopen(handle, "wb") as file:
            file.write(image)
        os.replace(name, path)
    except OSError:  # a full disk only makes the next compilation slower
        with contextlib.suppress(OSError):
            os.unlink(name or "")


def _architecture(nvrtc: _nvrtc.Nvrtc, arch: Optional[str]) -> Optional[str]:
    """The value of --gpu-architecture: the user's, or that of the current device."""
    try:
        major, minor = driver.Context.get_device().compute_capability()
    except driver.Error:
        return arch
    number, known = major * 10 + minor, nvrtc.archs()
    if arch is not None:
        match = re.fullmatch(r"sm_(\d+)[a-z]?", arch)
        if match and int(match[1]) > number:
            warnings.warn(f"arch={arch}: the current device is older, and has sm_{number}")
        return arch
    older = [arch for arch in known if arch < number]
    return f"compute_{max(older)}" if older and number not in known else f"sm_{number}"


@functools.lru_cache(maxsize=1)  # the search takes longer than the rest of compile()
def _pycuda_folders(path: Tuple[str, ...]) -> List[str]:
    """The headers of PyCUDA, which its gpuarray uses, if it is in this `sys.path`."""
    spec = find_spec("pycuda")
    if spec is None or not spec.origin:
        return []
    return [os.path.join(os.path.dirname(spec.origin), "cuda")]


def _include_folders(include_dirs: Optional[Sequence[str]], nvrtc: _nvrtc.Nvrtc) -> List[str]:
    folders = [os.fspath(folder) for folder in include_dirs or ()]
    folders += _pycuda_folders(tuple(sys.path)) + nvrtc.include_folders()
    return [folder for folder in folders if os.path.isdir(folder)]


def prepare(
    nvrtc: _nvrtc.Nvrtc, source: str, options: Sequence[str],
    include_dirs: Optional[Sequence[str]] = None,
) -> Tuple[str, List[str]]:
    """A source for nvcc and its options, as NVRTC takes them."""
    words = _nvrtc.translate(options)
    before = [_PRE_INCLUDE.sub("", word) for word in words if _PRE_INCLUDE.match(word)]
    words = [word for word in words if not _PRE_INCLUDE.match(word)] + nvrtc.own_options()
    words += [f"-I{folder}" for folder in _include_folders(include_dirs, nvrtc)]
    includes = [f"#include <{name}>\n" for name in (_nvrtc.HEADER, *before)]
    return "".join([*includes, '#line 1 "kernel.cu"\n', source]), words


def _keep_files(source: str, image: bytes, target: str) -> None:
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "kernel.cu"), "w", encoding="utf-8") as text:
        text.write(source)
    with open(os.path.join(folder, f"kernel.{target}"), "wb") as file:
        file.write(image)
    print(f"The source and the image are kept in {folder}")


def compile(  # noqa: A001 # PyCUDA's name
    source: str, nvcc: str = "nvcc", options: Optional[Sequence[str]] = None,
    keep: bool = False, no_extern_c: bool = False, arch: Optional[str] = None,
    code: Optional[str] = None, cache_dir: Union[str, None, bool] = None,
    include_dirs: Optional[Sequence[str]] = None, target: str = "cubin",
) -> bytes:
    """Compiles a source, and returns the image. `nvcc` and `code` are ignored. With `arch`, no
    driver is needed.
    """
    assert target in ("cubin", "ptx", "fatbin"), "the target is cubin, ptx or fatbin"
    if not isinstance(source, str):
        raise TypeError(f"the source is a str, not {type(source).__name__}")
    for name, words in (("options", options), ("include_dirs", include_dirs)):
        if isinstance(words, str):  # its letters would be words
            raise TypeError(f"{name} is a list, such as {[words]}")
    if not no_extern_c:
        source = 'extern "C" {\n%s\n}\n' % source
    nvrtc = _nvrtc.load()
    given = list(DEFAULT_NVCC_FLAGS if options is None else options)
    source, words = prepare(
        nvrtc, source, [*given, "-G"] if driver.CUDA_DEBUGGING else given, include_dirs)
    if not any(word.startswith("--gpu-architecture") for word in words):
        arch = _architecture(nvrtc, arch)
        if arch is not None:
            if target == "ptx":
                arch = arch.replace("sm_", "compute_")
            words.append(f"--gpu-architecture={arch}")
    # A virtual architecture, such as NVRTC's default, has no CUBIN. The driver compiles the PTX.
    is_real = any(word.startswith("--gpu-architecture=sm_") for word in words)
    image_kind = "CUBIN" if is_real and target != "ptx" else "PTX"

    folder = _cache_folder(cache_dir)
    path = None
    if folder is not None:
        key = (source, words, nvrtc.version, nvrtc.build, target, _HEADERS)
        digest = hashlib.sha256(repr(key).encode())
        folders = [word[2:] for word in words if word.startswith("-I")]
        _hash_includes(digest, source, folders, set())
        path = os.path.join(folder, f"{digest.hexdigest()}.{target}")
        if _is_own(path):
            with open(path, "rb") as file:
                return file.read()
    image, log = nvrtc.compile(source, words, image_kind)
    if keep:
        _keep_files(source, image, target)
    if not image:
        raise driver.CompileError(
            "the compilation of kernel.cu failed", ["nvrtc", *words, "kernel.cu"], "", log)
    if log:
        warnings.warn(f"kernel.cu was compiled, with these messages:\n{log}", stacklevel=2)
    if path is not None:
        _write_cache(path, image)
    return image


def compile_plain(
    source: str, options: Sequence[str], keep: bool, nvcc: str,
    cache_dir: Union[str, None, bool], target: str = "cubin",
) -> bytes:
    """Compiles a source as it is, without `extern "C"`, with these options alone."""
    return compile(source, nvcc, options, keep, True, None, None, cache_dir or False, None, target)


def get_nvcc_version(nvcc: str) -> str:
    """The version of the compiler, which is NVRTC, in the words of `nvcc --version`. `nvcc` is
    ignored.
    """
    major, minor = _nvrtc.load().version
    return f"NVRTC: Cuda compilation tools, release {major}.{minor}, V{major}.{minor}.0\n"


def preprocess_source(source: str, options: Sequence[str], nvcc: str) -> str:
    """What the preprocessor of the program `nvcc` makes of a source: NVRTC has none."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "kernel.cu"), "w", encoding="utf-8") as file:
            file.write(source)
        command = [nvcc, "--preprocess", *options, "kernel.cu", "--compiler-options", "-P"]
        try:
            done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, errors="replace")
        except OSError as error:
            raise driver.CompileError(f"{nvcc} cannot be run, and NVRTC cannot preprocess",
                                      command, "", str(error)) from None
    if done.returncode:
        raise driver.CompileError("kernel.cu was not preprocessed", command, done.stdout,
                                  done.stderr)
    return done.stdout


class CudaModule:
    """What SourceModule and DynamicModule have in common with driver.Module."""

    module: Any = None

    def get_function(self, name: str) -> driver.Function:
        """A kernel of the module."""
        return self.module.get_function(name)

    def get_global(self, name: str) -> Tuple[int, int]:
        """The address and the size in bytes of a global variable."""
        return self.module.get_global(name)

    def get_texref(self, name: str) -> driver.TextureReference:
        """A texture reference of the module."""
        return self.module.get_texref(name)

    def get_surfref(self, name: str) -> driver.SurfaceReference:
        """A surface reference of the module."""
        return self.module.get_surfref(name)


class SourceModule(CudaModule):
    """A module that is compiled from a CUDA source, with the arguments of compile()."""

    def __init__(self, source: str, *arguments: Any, **keywords: Any) -> None:
        self.module = driver.module_from_buffer(compile(source, *arguments, **keywords))


class DynamicModule(CudaModule):
    """A module that is linked from several sources, images and libraries. A library of
    CUDA's, such as cudadevrt, has to be installed: this package has none.
    """

    def __init__(
        self, nvcc: str = "nvcc", link_options: Any = None, keep: bool = False,
        no_extern_c: bool = False, arch: Optional[str] = None, code: Optional[str] = None,
        cache_dir: Union[str, None, bool] = None, include_dirs: Optional[Sequence[str]] = None,
        message_handler: Any = None, log_verbose: bool = False,
        cuda_libdir: Optional[str] = None,
    ) -> None:
        self.linker: Any = driver.Linker(message_handler, link_options, log_verbose)
        self._settings: Any = {"keep": keep, "no_extern_c": no_extern_c, "arch": arch,
                               "cache_dir": cache_dir, "include_dirs": include_dirs}
        self.cuda_libdir = cuda_libdir

    def add_source(self, source: str, nvcc_options: Optional[Sequence[str]] = None,
                   name: str = "kernel.ptx") -> "DynamicModule":
        """Compiles a source, and adds it."""
        image = compile(source, options=nvcc_options, target="ptx", **self._settings)
        return self.add_data(image, driver.jit_input_type.PTX, name)

    def add_data(self, data: Any, input_type: int, name: str = "unknown") -> "DynamicModule":
        """Adds an image of a jit_input_type."""
        self.linker.add_data(data, input_type, name)
        return self

    def add_file(self, filename: str, input_type: int) -> "DynamicModule":
        """Adds a file of a jit_input_type."""
        self.linker.add_file(filename, input_type)
        return self

    def add_stdlib(self, libname: str) -> "DynamicModule":
        """Adds a static library of the CUDA toolkit, such as cudadevrt."""
        folders = [self.cuda_libdir] if self.cuda_libdir else [
            *(os.path.join(folder, "lib64") for folder in _nvrtc.cuda_folders()),
            *os.environ.get("LD_LIBRARY_PATH", "").split(":"),
            "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
        ]
        for folder in folders:
            path = os.path.join(folder, f"lib{libname}.a")
            if folder and os.path.isfile(path):
                return self.add_file(path, driver.jit_input_type.LIBRARY)
        raise OSError(
            f"there is no lib{libname}.a in {', '.join(filter(None, folders))}: install the CUDA "
            "toolkit, and set CUDA_HOME or cuda_libdir="
        )

    def link(self) -> "DynamicModule":
        """Links what was added, and loads the module."""
        self.module = self.linker.link_module()
        self.linker = None
        return self


class DynamicSourceModule(DynamicModule):
    """A module of one source that launches kernels itself."""

    def __init__(self, source: str, nvcc: str = "nvcc", options: Optional[Sequence[str]] = None,
                 *arguments: Any, **keywords: Any) -> None:
        super().__init__(nvcc, None, *arguments, **keywords)
        words = list(DEFAULT_NVCC_FLAGS if options is None else options)
        self.add_source(source, [*words, "-rdc=true"])
        self.add_stdlib("cudadevrt")
        self.link()
