# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of what users of nvcc write, with NVIDIA's NVRTC and with softcuda's.

NVIDIA's is that of VKGDR_TEST_NVRTC, or of a CUDA toolkit. No GPU is needed. Without NVRTC,
softcuda's is compared with what NVRTC 13.0 has answered.
"""

import ast
import functools
import os
import re
import shutil
import tempfile
import unittest.mock
from typing import List, Optional, Sequence, Tuple

import support
from vkgdr import _nvrtc, compiler
from vkgdr._library import lib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@functools.lru_cache(None)
def nvidia() -> Optional[_nvrtc.Nvrtc]:
    """NVIDIA's compiler, if it is on this machine."""
    named = os.environ.get("VKGDR_TEST_NVRTC")
    names = [named] if named else [f"/usr/local/cuda/{folder}/libnvrtc.so.13"
                                   for folder in ("lib64", "lib")]
    for name in names:
        if os.path.exists(name):
            found = _nvrtc.Nvrtc(name)
            found.is_software = False
            return found
    return None


@functools.lru_cache(None)
def softcuda() -> _nvrtc.Nvrtc:
    folder = os.fsdecode(lib.vkgdr_driver_softcuda_dir())
    found = _nvrtc.Nvrtc(os.path.join(folder, "libnvrtc.so.13"))
    found.is_software = True
    return found


def log_of(nvrtc: _nvrtc.Nvrtc, source: str, options: Sequence[str] = ()) -> Optional[str]:
    """Why the source is refused, or None if it is compiled."""
    source, words = compiler.prepare(nvrtc, source, options)
    words += ["--gpu-architecture=sm_90"] * ("--gpu-architecture" not in "".join(words))
    image, log = nvrtc.compile(source, words, "PTX")
    return None if image else log


# Sources of the form: headers | type of the results | an expression.
TAKEN = """
    | double | M_PI + M_SQRT2
    | int | INT_MAX + CHAR_BIT
    | float | INFINITY + NAN
    math.h | double | M_E + M_PI_2 + HUGE_VAL
    limits.h | long long | LLONG_MAX + LONG_MIN
    stdlib.h | int | RAND_MAX
    | int | o == NULL
    float.h | float | FLT_MAX + FLT_EPSILON
    cfloat | double | DBL_MAX + DBL_MIN
    stdint.h | uint32_t | UINT32_MAX
    stdint.h | size_t | SIZE_MAX
    stdint.h | uint_fast32_t | 1
    stdint.h | intmax_t | INTMAX_MAX
    stdint.h | uint64_t | UINT64_C (1) << 40
    cstdint | std::uint32_t | 1
    cstdint | std::int64_t | INT64_MIN
    inttypes.h stdio.h | uint64_t | printf ("%" PRIu64, o[1])
    | int | printf ("%d", 1)
    math_constants.h | float | CUDART_PI_F + CUDART_INF_F
    math_constants.h | double | CUDART_PI + CUDART_NAN
    cmath | float | std::abs (o[1]) + std::sqrt (o[1]) + std::floor (o[2])
    cmath | double | std::pow (o[1], 2) + std::exp (o[1]) + std::fabs (o[1])
    cmath | int | std::isnan (1.0f) + std::isinf (1.0)
    | float | std::sqrt (o[1])
    cstdlib | int | std::abs (-1)
    cstddef | std::size_t | sizeof (std::ptrdiff_t)
    stddef.h | size_t | offsetof (float4, y)
    cstdio | int | std::printf ("%d", 1)
    time.h | long long | clock ()
    stdlib.h | int * | (int *) malloc (4)
    assert.h | int | (assert (o[1]), 1)
    cassert | int | (assert (o[1]), 1)
    stdbool.h | bool | true
    sys/types.h | long | sizeof (ssize_t)
    ctype.h string unistd.h vector iostream map memory thread | int | 1
    omp.h getopt.h dirent.h poll.h iso646.h stdalign.h sys/wait.h | int | 1
    cfenv bitset regex filesystem any condition_variable forward_list | int | 1
    cuda.h | CUdeviceptr | CUDA_VERSION >= 11000
    cuda.h cuda_runtime.h | CUtexObject | CUDART_VERSION >= 11000 ? CUDA_SUCCESS : 1
    texture_types.h surface_types.h channel_descriptor.h vector_functions.hpp | int | 1
    algorithm | int | std::max (o[1], o[2]) + std::min (o[1], 3) + std::clamp (o[1], 0, 9)
    algorithm | short | std::max<short> (o[1], 2)
    cuda_fp16.h | __half | CUDART_INF_FP16 + CUDART_ONE_FP16
    cuda_runtime.h device_launch_parameters.h vector_types.h | int | 1
    host_defines.h math_functions.h sm_20_atomic_functions.h | int | 1
    | uint | sizeof (ushort) + sizeof (ulong)
    | u_int | sizeof (u_char) + sizeof (u_short)
    | int64_t | sizeof (int8_t)
    | int | abs (min (o[1], max (o[2], 3)))
    | long long | min (o[1], 3ll) + labs (3l) + llabs (3ll)
    | float | rsqrtf (o[1]) + __sinf (o[1]) + fminf (1, 2) + pow (o[1], 2)
    | double | rsqrt (o[1]) + exp10 (o[1]) + j0 (o[1]) + fma (1.0, 2.0, 3.0)
    | int | __clz (1) + __popc (2) + __ffs (3) + __umulhi (1, 2)
    | float4 | make_float4 (1, 2, 3, 4)
    | __int128 | 1
    | unsigned __int128 | 1
    | long double | 1.0L
    | int | __syncthreads_count (1)
    | int | __shfl_sync (~0u, o[1], 0) + __ballot_sync (~0u, 1)
    | double | atomicAdd (o, 1.0)
    | int | ([] (int x) { return x + 1; }) (2)
    type_traits | int | 1
    math.h | double | pow (o[1], 2.0f) + pow (2.0f, o[1]) + pow (2, 3) + pow (o[1], 3u)
    math.h | float | pow (o[1], 2u) + pow (o[1], 2ll) + pow (2, o[1])
    math.h | double | sqrt (2) + sin (3u) + log10 (4ll) + floor ('a') + fabs (true)
    math.h | double | fmod (o[1], 2.0f) + fmax (1, 2) + atan2 (1.0f, o[1]) + hypot (3, 4u)
    math.h | double | copysign (o[1], 2) + copysign (1, 2.0f) + ldexp (2, 3) + scalbn (1, 2)
    cmath | double | std::sqrt (2) + std::pow (2.0f, o[1]) + std::fmin (1, 2ll)
    math.h | float | fmax (o[1], 0) + fmin (0, o[1])
""".strip().splitlines()

# Whole sources. "k" is the kernel.
TAKEN_TEXTS = [
    "int v = 5; static float w = 3; int host () { return v + w; } __global__ void k () {}",
    "#include <stdio.h>\nvoid host () { printf (\"x\"); }\n__global__ void k () {}",
    "__host__ void f () { printf (\"x\"); }\n__host__ __device__ int g () { return 1; }\n"
    "__global__ void k (int *o) { o[0] = g (); }",
    "int main (int argc, char **argv) { return 0; }\n__global__ void k () {}",
    "const float PI = 3.14f; static const int T[3] = {1, 2, 3};\n"
    "__global__ void k (float *o) { o[0] = PI + T[threadIdx.x]; }",
    "constexpr int f (int x) { return x + 1; }\n__global__ void k (int *o) { o[0] = f (2); }",
    "__device__ constexpr float f () { return 1.f / ::log (10.f) + ::pow (2.f, 3.f); }\n"
    "__global__ void k (float *o) { o[0] = f (); }",  # as pycuda-complex.hpp
    "typedef unsigned int uint; typedef unsigned char uint8_t;\n__global__ void k (uint8_t *o) {}",
    "#define M_PI 3.14\n__global__ void k (double *o) { o[0] = M_PI; }",
    "#define MIN(a, b) ((a) < (b) ? (a) : (b))\n__global__ void k (int *o) { o[0] = MIN (1, 2); }",
    "struct P { float x; __device__ P operator+ (const P &p) const { P r; r.x = x + p.x; "
    "return r; } };\n__global__ void k (P *p) { p[0] = p[1] + p[2]; }",
    "__constant__ float C[16]; __managed__ int m; __device__ int d = 1;\n"
    "__global__ void k (float *o) { o[0] = C[2] + m + d; }",
    "__global__ void k (int *o) { extern __shared__ int s[]; s[0] = 1; o[0] = s[0]; }",
    "__global__ void __launch_bounds__ (256, 2) k (const float *__restrict__ a, float *b) "
    "{\n#pragma unroll\nfor (int i = 0; i < 4; i++) b[i] = a[i]; }",
    "template <typename T> __device__ T f (T x) { return x; }\n"
    "__global__ void k (int *o) { o[0] = f (1); }",
    "#if !defined(__CUDACC__) || __CUDA_ARCH__ < 200 || __CUDACC_VER_MAJOR__ < 11\n#error\n#endif\n"
    "__global__ void k () {}",
    "__global__ void k (cudaTextureObject_t t, float *o) { o[0] = tex2D<float> (t, 1, 2); }",
    "namespace a { namespace { int v; } int g (int n) { return n + v; } }\n"
    "__global__ void k (int *o) { o[0] = a::g (1); }",
]

# What compiles with an option of nvcc.
TAKEN_WITH = [
    ("--extended-lambda", "template <typename F> __global__ void g (F f, int *o) { o[0] = f (1); }\n"
     "void host () { auto f = [=] __host__ __device__ (int x) { return x; }; }\n"
     "__device__ int v; __device__ static const int T[2] = {1, 2}; __constant__ int c;\n"
     "__global__ void k (int *o) { auto f = [&] __device__ (int x) { return x + v + c + T[x]; }; "
     "static __device__ int n; o[0] = f (1) + n++; }"),
    ("-std=c++20", "template <typename T> concept Small = sizeof (T) <= 4;\n"
     "template <Small T> __device__ T f (T v) { return v; }\n"
     "struct S { int a, b; };\n"
     "__global__ void k (int *o) { S s { .a = 1, .b = 2 }; o[0] = f (s.a) + s.b; }"),
    ("--expt-relaxed-constexpr", "#include <algorithm>\nconstexpr int f (int x) { return x; }\n"
     "__global__ void k (int *o) { o[0] = std::max (f (o[1]), std::min (o[2], 3)); }"),
]

# What needs headers of CUDA. softcuda has a part of them.
CUDA_TEXTS = [
    "#include <cuda_fp16.h>\n__global__ void k (__half *o) { o[0] = __float2half (1.f); }",
    "#include <cuda_bf16.h>\n__global__ void k (__nv_bfloat16 *o) { o[0] = __float2bfloat16 (1); }",
    "#include <cuComplex.h>\n__global__ void k (cuComplex *o) { o[0] = make_cuComplex (1, 2); }",
    "#include <cooperative_groups.h>\n"
    "__global__ void k (int *o) { o[0] = cooperative_groups::this_thread_block ().size (); }",
    "#include <curand_kernel.h>\n#include <stdint.h>\n#include <float.h>\n#include <math.h>\n"
    "__global__ void k (float *o) { curandState s; curand_init (1, 0, 0, &s); "
    "o[0] = curand_uniform (&s); }",
    "#include <mma.h>\nusing namespace nvcuda;\n__global__ void k (half *o) { wmma::fragment"
    "<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> f; wmma::load_matrix_sync (f, o, 16); }",
    "#include <cub/block/block_reduce.cuh>\n__global__ void k (int *o) { typedef "
    "cub::BlockReduce<int, 64> B; __shared__ B::TempStorage t; o[0] = B (t).Sum (o[1]); }",
    "#include <stdint.h>\n#include <cuda/std/cstdint>\n#include <cuda/std/cmath>\n"
    "__global__ void k (int64_t *o) { o[0] = INT64_MAX; }",
    "extern \"C\" {\n#include <type_traits>\n"
    "__global__ void k (int *o) { o[0] = std::is_same<int, int>::value; }\n}",
    "#include <limits>\n#include <algorithm>\n#include <array>\n#include <tuple>\n"
    "#include <numbers>\nusing namespace std;\n"
    "__global__ void k (short *o) { o[0] = numeric_limits<int>::max () + max (o[1], o[2]) + "
    "clamp (o[1], o[2], o[3]) + numbers::pi; }",
    "#include <bits/stdc++.h>\n"
    "__global__ void k (int *o) { o[0] = std::is_same<int, int>::value + std::max (o[1], 2); }",
]

# What nvcc takes and NVRTC refuses: docs/from-pycuda.md has the table.
REFUSED = [
    "#include <iostream>\nvoid f () { std::cout << 1; }\n__global__ void k () {}",
    "#include <stdio.h>\nvoid f () { fprintf (stderr, \"x\"); }\n__global__ void k () {}",
    "#include <cuda_runtime.h>\nvoid f () { void *p; cudaMalloc (&p, 4); }\n__global__ void k () {}",
    "typedef long int64_t;\n__global__ void k () {}",
    "#ifndef __NVCC__\n#error\n#endif\n__global__ void k () {}",
    "#ifndef __GNUC__\n#error\n#endif\n__global__ void k () {}",
    "#ifndef __linux__\n#error\n#endif\n__global__ void k () {}",
    "__global__ void k (void *o) { int *p = (int *) (o + 4); p[0] = 1; }",
]

# What neither takes.
WRONG = [
    "__global__ void k (float *o) { o[0] = rsqrt (2); }",
    "struct S {};\n__global__ void k (S *o) { sqrt (o[0]); }",
    "typedef unsigned long long ulong;\n__global__ void k () {}",
    "__global__ void k (uint8_t *o) {}",
    "__global__ void k (uintptr_t *o) {}",
    "#include <string.h>\n__global__ void k (int *o) { memmove (o, o + 1, 4); }",
    "#include <string.h>\n__global__ void k (int *o) { o[0] = strlen (\"abc\"); }",
    "#include <stdlib.h>\n__global__ void k (int *o) { o[0] = rand (); }",
    "#include <stdio.h>\n__global__ void k (char *o) { sprintf (o, \"x\"); }",
    "#include <stdio.h>\n__global__ void k (int *o) { fopen (\"x\", \"r\"); }",
    "#include <vector>\n__global__ void k (int *o) { std::vector<int> v; }",
    "#include <string>\n__global__ void k (int *o) { std::string s; }",
    "#include <no/such/header.h>\n__global__ void k () {}",
    "#include <utmp.h>\n__global__ void k () {}",
    "#include <bits/types.h>\n__global__ void k () {}",
    "__global__ void k (int n) { int a[n]; a[0] = 1; }",
    "__global__ void k (int *o) { o[0] = __shfl (1, 0); }",
    "texture<float, 1> t;\n__global__ void k (float *o) { o[0] = tex1Dfetch (t, 0); }",
    "__global__ void k (int *o) { throw 1; }",
    "__global__ void k (int *o) { o[0] = nonsense; }",
    "__global__ void k (void *o) { int *p = o; p[0] = 1; }",
    "__global__ void k (int *o) { int *p = (int *) alloca (16); p[0] = 1; }",
]

# What NVRTC refuses and softcuda takes: its README has the list.
LAX = [
    "__global__ void k (float2 *o) { o[0] = (float2) {1, 2}; }",
    "struct S { int a, b; };\n__global__ void k (int *o) { S s = { .a = 1, .b = 2 }; o[0] = s.a; }",
    "__global__ void k (int *o) { o[0] = ({ int a = 1; a; }); }",
    "__global__ void k (int *o) { __typeof__ (o[0]) a = 1; o[0] = a; }",
    "__global__ void k (int *o) { o[0] = o[1] ?: 3; }",
    "__global__ void k (int *o) { switch (o[0]) { case 1 ... 5: o[0] = 2; } }",
    "struct S { int n; int a[0]; };\n__global__ void k (S *o) { o[0].a[0] = 1; }",
    "struct S { int n; int a[]; };\n__global__ void k (S *o) { o[0].a[0] = 1; }",
    "__global__ void k (int *o) { o[0] = __builtin_popcount (o[1]); }",
    "__global__ void k (int *o) { void *p = &&a; a: o[0] = p != 0; }",
    "__global__ void k (int *o) { auto f = [] __device__ (int x) { return x; }; o[0] = f (1); }",
]

# The same, without the headers and the options that this project adds.
LAX_PLAIN = [
    ("struct S { int f () { return 1; } static int v; };", []),
    ("struct S { __host__ void f () {} };", []),
    ("__device__ double f () { return pow (2.0f, 3.0) + fmod (2.0, 1.0f); }", []),
    ("#include <cuda_fp16.h>", []),
    ("#include <cooperative_groups.h>", []),
    ("", ["--gpu-architecture=sm_42"]),
    ("__global__ void k () {}", ["--gpu-architecture=sm_90", "--ptxas-options=--make-it-faster"]),
]

# What neither takes without the headers and the options that this project adds.
WRONG_PLAIN = ["pow (2, 3)", "sqrt (2)", "fmax (1, 2)", "copysign (1.0f, 2)", "ldexp (1, 2)",
               "M_PI", "max (1.0f, 0)", "min (2, 1.0)", "max (1ll, 2)", "min (1l, 2u)",
               "min (1l, 2ll)", "atomicAdd ((long long *) 0, 1ll)", "atomicSub ((float *) 0, 1.0f)",
               "atomicExch ((double *) 0, 1.0)", "atomicMax ((float *) 0, 1.0f)",
               "atomicCAS ((long long *) 0, 1ll, 2ll)"]
TAKEN_PLAIN = ["min (1u, 2)", "max (1.0f, 2.0)", "min (1ul, 2l)", "max (1ull, 2ll)",
               "min ((short) 1, true)", "atomicAdd ((double *) 0, 1.0)",
               "atomicMax ((long long *) 0, 1ll)", "atomicCAS ((unsigned short *) 0, 1, 2)",
               "__umul64hi (1, 2)", "__vabsdiffu4 (1, 2)", "__dadd_ru (1.0, 2.0)", "__dp4a (1, 2, 3)", "pow (2.0f, 3)", "pow (2.0, 3)", "pow (2.0f, 3.0f)", "fmax (1.0f, 2)", "sqrt (2.0f)",
               "copysign (1.0f, 2.0)", "copysign (1.0, 2.0f)"]

OPTIONS = """
    -e k | --entries k | -Xcompiler=-Wall | -Xcompiler -fPIC | --compiler-options -Wall
    -lcudadevrt | -l m | -L /usr/lib | -L/usr/lib | -std c++14 | -std=c++17 | --std c++20
    -std=c++03 | --use_fast_math | -use_fast_math | --prec-div=false | -prec-sqrt=false
    --prec-div true | -ftz=true | --fmad=false | --fmad false | --maxrregcount=32
    -maxrregcount 32 | --ptxas-options=-v | --ptxas-options -v | -Xptxas -O3,-v | -Xptxas=-O3
    -G | -g | -g -G | -dopt on -G | --device-debug | -lineinfo | --generate-line-info
    --keep | -keep-dir /tmp | -save-temps | -v | -m64 | -m 64 | --machine 64 | -code=sm_90
    -gencode arch=compute_90,code=sm_90 | --generate-code=arch=compute_90,code=sm_90
    -arch=native | -arch sm_90 | -arch=compute_90 | -arch=all-major | --gpu-architecture=sm_90
    -DX | -D X=1 | -DX=1 -UX | -U X | -I /tmp | -I/tmp | --include-path=/tmp
    --include-path /tmp | -isystem /usr/include/no | -include math.h | --pre-include=math.h
    -Werror all-warnings | -Werror=all-warnings | -Wno-deprecated-gpu-targets | -Wreorder
    -w | --disable-warnings | -diag-suppress 177 | -diag-suppress=177,550
    -Xcudafe --diag_suppress=177 | --expt-relaxed-constexpr | -expt-relaxed-constexpr
    --extended-lambda | --expt-extended-lambda | --default-stream per-thread
    -default-stream=legacy | --resource-usage | -res-usage | --source-in-ptx | -src-in-ptx
    -cudart=static | --cudart shared | --threads=4 | -t4 | -t 4 | -split-compile=2
    --optimize 3 | --optimize=3 | -O3 | -O 3 | -O2 -g | -cubin | --ptx | -c | -ccbin g++
    -allow-unsupported-compiler | -forward-unknown-to-host-compiler -fPIC | -restrict
    -extra-device-vectorization | -err-no | -opt-info inline | -x cu | -Xlinker -rpath
    -O4 | -Ofast-compile=max | -noeh | -compress-mode=size | -shared | -Xfatbin -compress-all
    -forward-unknown-opts -fPIC | -keep-device-functions | -split-compile-extended=2
    -Xnvlink -v | -rdc=true | --relocatable-device-code true | -dc | -MD | --profile
    --device-int128
"""

# Options that NVRTC refuses, in its own words. No translation comes before it.
WRONG_OPTIONS = ["--make-it-faster", "-Wall", "-O3", "-Xcompiler=-Wall", "-lm", "--std=c++98",
                 "--gpu-architecture=banana", "--fmad=maybe", "-src-in-ptx", "--keep", "-g",
                 "--maxrregcount=many", "-arch=native", "-pre-include=math.h"]


def text_of(*rows: str) -> str:
    """The source of a row. Several rows share their headers."""
    includes, kernels = "", ""
    for i, row in enumerate(rows):
        headers, kind, value = (part.strip() for part in row.split("|", 2))
        includes += "".join(f"#include <{name}>\n" for name in headers.split())
        kernels += f"__global__ void k{i} ({kind} *o) {{ o[0] = {value}; }}\n"
    return includes + kernels


def strings_of(path: str) -> List[str]:
    """The sources in a program in Python or C: its strings that have a kernel."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if path.endswith(".cu"):
        return [text]
    if path.endswith(".py"):
        values = [node.value for node in ast.walk(ast.parse(text))
                  if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    else:  # strings that follow each other are one
        values = [ast.literal_eval("(" + found + ")") for found in re.findall(
            r'"(?:[^"\\\n]|\\.)*"(?:[\s\\]*"(?:[^"\\\n]|\\.)*")*',
            re.sub(r"\\\n", "\n", text))]
    return [value for value in values if re.search(r"__global__[^;]*\(", value)]


def all_sources() -> List[Tuple[str, str]]:
    """The sources of the suites, the examples and the effects, with their files."""
    found = []
    for folder in ("docs/examples", "gst/effects", "subprojects/softcuda/tests", "tests"):
        for place, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                path = os.path.join(place, name)
                if name.endswith((".c", ".cu", ".h", ".py")) and name != os.path.basename(__file__):
                    found += [(path, source) for source in strings_of(path)]
    return found


class Nvcc(support.TestCase):
    def assert_taken(self, nvrtc: _nvrtc.Nvrtc, source: str, options: Sequence[str] = ()) -> None:
        self.assertIsNone(log_of(nvrtc, source, options), (source, options))

    def assert_refused(self, source: str, *compilers: Optional[_nvrtc.Nvrtc]) -> None:
        for nvrtc in filter(None, compilers):
            with self.subTest(source=source, version=nvrtc.version, software=nvrtc.is_software):
                self.assertIsNotNone(log_of(nvrtc, source))


class NvidiasCompiler(Nvcc):
    def setUp(self) -> None:
        found = nvidia()
        if found is None:
            self.skipTest("there is no NVRTC of NVIDIA")
        self.nvrtc = found

    def test_sources_of_nvcc_compile(self) -> None:
        for source in [*map(text_of, TAKEN), *TAKEN_TEXTS, *CUDA_TEXTS]:
            with self.subTest(source=source):
                self.assert_taken(self.nvrtc, source)
        for option, source in TAKEN_WITH:
            with self.subTest(source=source):
                self.assert_taken(self.nvrtc, source, [option])

    def test_options_of_nvcc_are_taken(self) -> None:
        for option in re.split(r"\s*[|\n]\s*", OPTIONS.strip()):
            with self.subTest(option=option):
                self.assert_taken(self.nvrtc, "__global__ void k () {}", option.split())


    def test_all_sources_compile_with_both(self) -> None:
        """The suites compile all their sources with softcuda. NVIDIA's compiler takes them,
        or softcuda refuses them, too: those that are wrong, or only a part of a source.
        """
        header = '#include "vkgdr/kernel.h"\n'
        options, taken = ["-I" + os.path.join(ROOT, "include")], 0
        for path, source in all_sources():
            with self.subTest(path=os.path.relpath(path, ROOT), source=source):
                source = header * ("softcuda" not in path) + source
                log = log_of(self.nvrtc, source, options)
                taken += log is None
                if log is not None and log_of(softcuda(), source, options) is None:
                    self.fail(log)
        self.assertGreater(taken, 50)

    def test_missing_headers_name_their_package(self) -> None:
        """The compiler's own words lead to the advice."""
        for header, package in (("cuda_fp16.h", "nvidia-cuda-runtime"),
                                ("curand_kernel.h", "nvidia-curand"),
                                ("cuda/std/array", "nvidia-cuda-cccl"),
                                ("crt/mma.h", "nvidia-cuda-crt"), ("thrust/sort.h", "CUB")):
            image, log = self.nvrtc.compile(f"#include <{header}>\n", [], "PTX")
            self.assertFalse(image)
            self.assertRegex(log, f"(?s)file .{header}.*\n\n.*{package}.*\\.$")


class Advice(support.TestCase):
    def test_missing_headers_name_their_package(self) -> None:
        for line, advice in (
            ('k.cu(1): catastrophic error: could not open source file "mma.h" (no folder)',
             b"nvidia-cuda-runtime and nvidia-cuda-crt"),
            ('k.cu(1): catastrophic error: cannot open source file "curand.h"', b"nvidia-curand"),
            ("k.cu(1): error: A function explicitly marked as a __host__ function is not allowed "
             "in JIT mode", b"__CUDACC_RTC__"),
            ('k.cu(1): error: identifier "cudaMalloc" is undefined', b"__CUDACC_RTC__"),
            ('k.cu(1): error: namespace "std" has no member "vector"', b"nvidia-cuda-cccl"),
        ):
            with self.subTest(line=line):
                text = f"a line\n{line}\n  more\n".encode()
                self.assertIn(advice, lib.vkgdr_nvcc_explain(text))
        for text in (b"", b"\n", b'k.cu(1): error: identifier "x" is undefined',
                     b'cannot open source file "mine.h"'):
            self.assertIsNone(lib.vkgdr_nvcc_explain(text))

    def test_headers_of_the_compiler_come_first(self) -> None:
        """Toolkits, packages of pip beside each other, and an nvcc on the PATH."""
        with tempfile.TemporaryDirectory() as top:
            top = os.path.realpath(top)

            def make(name: str) -> str:
                path = os.path.join(top, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8"):
                    os.chmod(path, 0o755)
                return os.path.dirname(path)

            folders = [make(name) for name in (
                "pip/nvidia/cuda_runtime/include/cuda_fp16.h",
                "pip/nvidia/curand/include/curand_kernel.h", "home/include/cuda_fp16.h",
                "home/include/cccl/cuda/std/version", "path/include/cuda_fp16.h")]
            folders[3] = os.path.join(top, "home/include/cccl")
            make("pip/nvidia/other/include/other.h")
            make("path/bin/nvcc")
            library = os.path.join(make("pip/nvidia/cuda_nvrtc/lib/x"), "libnvrtc.so.12")
            shutil.copy(os.path.join(
                os.fsdecode(lib.vkgdr_driver_softcuda_dir()), "libnvrtc.so.13"), library)
            code = (f"from vkgdr import _nvrtc\nn = _nvrtc.Nvrtc({library!r})\n"
                    "n.is_software = False\nprint(*n.include_folders(), sep=chr(10))")
            for name, value in (("CUDA_HOME", os.path.join(top, "home")),
                                ("PATH", os.path.join(top, "path/bin") + ":" + os.environ["PATH"])):
                old = os.environ.get(name)
                os.environ[name] = value
                self.addCleanup(os.environ.pop, name) if old is None else self.addCleanup(
                    os.environ.__setitem__, name, old)
            self.assert_prints(re.escape("\n".join(folders)) + "\n.*", code)


    def test_builtins_beside_the_compiler_are_loaded(self) -> None:
        """NVRTC loads a second library by its name alone when it compiles."""
        library = os.path.join(os.fsdecode(lib.vkgdr_driver_softcuda_dir()), "libnvrtc.so.13")
        with tempfile.TemporaryDirectory() as top:
            for name in ("libnvrtc.so.13", "libnvrtc-builtins.so.13.0"):
                shutil.copy(library, os.path.join(top, name))
            _nvrtc.Nvrtc(os.path.join(top, "libnvrtc.so.13"))
            with open("/proc/self/maps", encoding="utf-8") as file:
                self.assertIn(os.path.join(top, "libnvrtc-builtins.so.13.0"), file.read())

    def test_headers_of_pip_are_found(self) -> None:
        """In an environment that is active, also by a program that is not Python; and after
        an error, if they are new."""
        library = os.path.join(os.fsdecode(lib.vkgdr_driver_softcuda_dir()), "libnvrtc.so.13")
        with tempfile.TemporaryDirectory() as top, \
                unittest.mock.patch.dict(os.environ, {"VIRTUAL_ENV": top}):
            nvrtc = _nvrtc.Nvrtc(library)
            nvrtc.is_software = False
            folder = os.path.join(os.path.realpath(top),
                                  "lib/python3.11/site-packages/nvidia/curand/include")
            self.assertNotIn(folder, nvrtc.include_folders())
            os.makedirs(folder)
            with open(os.path.join(folder, "curand_kernel.h"), "w", encoding="utf-8"):
                pass
            self.assertFalse(nvrtc.compile("#error\n", [], "PTX")[0])
            self.assertIn(folder, nvrtc.include_folders())


class Softcuda(Nvcc):
    def test_sources_of_nvcc_compile(self) -> None:
        for source in [text_of(*TAKEN), *TAKEN_TEXTS]:
            with self.subTest(source=source):
                self.assert_taken(softcuda(), source)
        for option, source in TAKEN_WITH:
            with self.subTest(source=source):
                self.assert_taken(softcuda(), source, [option])

    def test_options_of_nvcc_are_taken(self) -> None:
        words: List[str] = []
        for option in re.split(r"\s*[|\n]\s*", OPTIONS.strip()):
            words += option.split()
        self.assert_taken(softcuda(), "__global__ void k () {}", words)

    def test_refuses_what_nvidia_refuses(self) -> None:
        for source in [*REFUSED, *WRONG]:
            self.assert_refused(source, nvidia(), softcuda())
        for option in WRONG_OPTIONS:
            for nvrtc in filter(None, (nvidia(), softcuda())):
                with self.subTest(option=option, software=nvrtc.is_software):
                    self.assertFalse(nvrtc.compile("", [option], "PTX")[0])

    def test_overloads_are_those_of_nvidia(self) -> None:
        values = [*WRONG_PLAIN, *TAKEN_PLAIN]
        source = "".join(f"__device__ double f{number} () {{ return {value}; }}\n"
                         for number, value in enumerate(values))
        for nvrtc in filter(None, (nvidia(), softcuda())):
            with self.subTest(software=nvrtc.is_software):
                _, log = nvrtc.compile(source, ["--gpu-architecture=sm_90"], "PTX")
                lines = re.findall(r"(?m)^kernel\.cu[:(](\d+)[:)].* error", log)
                self.assertEqual({values[int(line) - 1] for line in lines}, set(WRONG_PLAIN), log)

    def test_values_of_other_overloads(self) -> None:
        """Where NVRTC has no function for the arguments, the result is that of double."""
        code = ("import numpy as np, vkgdr.autoinit, vkgdr.driver as cuda\n"
                "from vkgdr.compiler import SourceModule\n"
                "out = np.zeros(4)\n"
                "SourceModule('__global__ void k (double *o) { o[0] = pow (3.0f, 2.5); "
                "o[1] = sqrt (2); o[2] = sizeof (fmax (1.0f, 0)); o[3] = atan2 (1, 3u); }')"
                ".get_function('k')(cuda.Out(out), block=(1, 1, 1))\n"
                "print(np.allclose(out, [3 ** 2.5, 2 ** 0.5, 4, np.arctan2(1, 3)], rtol=1e-14))")
        self.assert_prints("True\\n", code)

    def test_is_lax_where_its_list_says_so(self) -> None:
        for source in LAX:
            self.assert_refused(source, nvidia())
            with self.subTest(source=source):
                self.assert_taken(softcuda(), source)
        for source, options in LAX_PLAIN:
            for nvrtc in filter(None, (nvidia(), softcuda())):
                with self.subTest(source=source, options=options, software=nvrtc.is_software):
                    image, log = nvrtc.compile(source, options, "CUBIN")
                    self.assertEqual(bool(image), nvrtc.is_software, log)


if __name__ == "__main__":
    support.main()
