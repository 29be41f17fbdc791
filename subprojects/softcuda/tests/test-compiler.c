/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-compiler.c: tests of softcuda's libnvrtc, of modules, and of kernels
 * that run
 *
 * These are all steps from CUDA C to results in memory, and their errors.
 */

#include <elf.h>
#include <glib/gstdio.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler.h"

/* ---- launches ---- */

START_TEST (test_indices)
{
  CUmodule module = build (
      "__global__ void __launch_bounds__ (1024) where (int4 *out)\n"
      "{\n"
      "  int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x\n"
      "              + blockIdx.x;\n"
      "  int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x\n"
      "               + threadIdx.x;\n"
      "  int n = blockDim.x * blockDim.y * blockDim.z;\n"
      "  out[block * n + thread] = make_int4 (blockIdx.x, blockIdx.z,\n"
      "      threadIdx.y, gridDim.x * 100 + blockDim.z);\n"
      "}\n");
  CUdeviceptr out = zeroed (16 * 24 * 24);
  void *params[] = { &out };
  int *at = (int *) (uintptr_t) out;

  ok (cu.cuLaunchKernel (
      find (module, "where"), 2, 3, 4, 4, 3, 2, 0, NULL, params, NULL));
  ok (cu.cuCtxSynchronize ());
  for (int i = 0; i < 24 * 24; i++, at += 4) {
    ck_assert_int_eq (at[0], i / 24 % 2);
    ck_assert_int_eq (at[1], i / 24 / 6);
    ck_assert_int_eq (at[2], i % 24 / 4 % 3);
    ck_assert_int_eq (at[3], 202);
  }
}
END_TEST;

START_TEST (test_struct_by_value)
{
  struct {
    char a;
    double b;
    short c[3];
  } value = { 3, 0.5, { 1, 20, 300 } };
  CUmodule module = build (
      "typedef unsigned int uint;\n"
      "typedef struct { char a; double b; short c[3]; } Value;\n"
      "__global__ void sum (Value v, float scale, double *out, float4 w)\n"
      "{\n"
      "  *out = scale * (v.a + v.b + v.c[0] + v.c[1] + v.c[2]) + w.w;\n"
      "}\n");
  CUfunction function = find (module, "sum");
  CUdeviceptr out = zeroed (8);
  float scale = 2;
  float w[4] = { 0, 0, 0, 0.25f };
  void *params[] = { &value, &scale, &out, w };
  static const size_t offsets[] = { 0, 24, 32, 48 };
  static const size_t sizes[] = { 24, 4, 8, 16 };
  size_t offset;
  size_t size;

  ok (cu.cuLaunchKernel (function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
  scale = 1000; /* the launch has copied it */
  ok (cu.cuCtxSynchronize ());
  ck_assert (*(double *) (uintptr_t) out == 649.25);
  for (size_t i = 0; i < 4; i++) {
    ok (cu.cuFuncGetParamInfo (function, i, &offset, &size));
    ck_assert_uint_eq (offset, offsets[i]);
    ck_assert_uint_eq (size, sizes[i]);
  }
  fails (cu.cuFuncGetParamInfo (function, 4, &offset, &size),
      CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

START_TEST (test_barriers)
{
  CUmodule module =
      build ("__global__ void reduce (const int *in, int *out)\n"
             "{\n"
             "  __shared__ int part[256];\n"
             "  int t = threadIdx.x;\n"
             "  part[t] = in[blockIdx.x * blockDim.x + t];\n"
             "  __syncthreads ();\n"
             "  for (int n = blockDim.x / 2; n > 0; n /= 2) {\n"
             "    if (t < n)\n"
             "      part[t] += part[t + n];\n"
             "    __syncthreads ();\n"
             "  }\n"
             "  if (t == 0)\n"
             "    out[blockIdx.x] = part[0] + threadIdx.x;\n"
             "}\n"
             "__global__ void some_return (int *out)\n"
             "{\n"
             "  __shared__ int turns;\n"
             "  if (threadIdx.x == 0) turns = 0;\n"
             "  __syncthreads ();\n"
             "  if (threadIdx.x % 2 != 0) return;\n"
             "  atomicAdd (&turns, 1);\n"
             "  __syncthreads ();\n"
             "  if (threadIdx.x % 4 != 0) return;\n"
             "  out[threadIdx.x / 4] = turns;\n"
             "}\n"
             "__global__ void votes (int *out)\n"
             "{\n"
             "  int n = __syncthreads_count (threadIdx.x % 3 == 0);\n"
             "  int a = __syncthreads_and (threadIdx.x < 100);\n"
             "  int o = __syncthreads_or (threadIdx.x == 99);\n"
             "  int p = __syncthreads_and (threadIdx.x < 99);\n"
             "  out[threadIdx.x] = n * 1000 + a * 100 + o * 10 + p;\n"
             "}\n");
  CUdeviceptr in = zeroed (8 * 256 * 4);
  CUdeviceptr out = zeroed (256 * 4);
  int *values = (int *) (uintptr_t) in;
  int *results = (int *) (uintptr_t) out;
  void *params[] = { &in, &out };

  for (int i = 0; i < 8 * 256; i++)
    values[i] = i;
  ok (run (find (module, "reduce"), 8, 256, 0, params));
  for (int i = 0; i < 8; i++)
    ck_assert_int_eq (results[i], 256 * 256 * i + 255 * 128);
  ok (run (find (module, "some_return"), 1, 64, 0, params + 1));
  for (int i = 0; i < 16; i++)
    ck_assert_int_eq (results[i], 32);
  ok (run (find (module, "votes"), 1, 100, 0, params + 1));
  for (int i = 0; i < 100; i++)
    ck_assert_int_eq (results[i], 34110);
}
END_TEST;

START_TEST (test_dynamic_shared)
{
  CUmodule module =
      build ("extern __shared__ float outside[];\n"
             "__global__ void file_scope (float *out)\n"
             "{\n"
             "  outside[threadIdx.x] = threadIdx.x;\n"
             "  __syncthreads ();\n"
             "  out[threadIdx.x] = outside[blockDim.x - 1 - threadIdx.x];\n"
             "}\n"
             "__global__ void function_scope (float *out)\n"
             "{\n"
             "  extern __shared__ __align__ (16) unsigned char raw[];\n"
             "  float *p = reinterpret_cast<float *> (raw);\n"
             "  p[threadIdx.x] = 2 * threadIdx.x;\n"
             "  __syncthreads ();\n"
             "  out[threadIdx.x] = p[blockDim.x - 1 - threadIdx.x];\n"
             "}\n"
             "__global__ void rows (float *out)\n"
             "{\n"
             "  extern __shared__ float row[][4];\n"
             "  row[threadIdx.x / 4][threadIdx.x % 4] = 3 * threadIdx.x;\n"
             "  __syncthreads ();\n"
             "  out[threadIdx.x] = row[threadIdx.x / 4][3 - threadIdx.x % 4];\n"
             "}\n");
  CUdeviceptr out = zeroed (64 * 4);
  float *results = (float *) (uintptr_t) out;
  void *params[] = { &out };

  ok (run (find (module, "file_scope"), 1, 64, 256, params));
  for (int i = 0; i < 64; i++)
    ck_assert (results[i] == 63 - i);
  ok (run (find (module, "function_scope"), 1, 64, 256, params));
  for (int i = 0; i < 64; i++)
    ck_assert (results[i] == 2 * (63 - i));
  ok (run (find (module, "rows"), 1, 64, 256, params));
  for (int i = 0; i < 64; i++)
    ck_assert (results[i] == 3 * (i / 4 * 4 + 3 - i % 4));
}
END_TEST;

START_TEST (test_atomics)
{
  CUmodule module = build (
      "__device__ int counter;\n"
      "__global__ void count (int *i, unsigned *u, unsigned long long *l,\n"
      "    float *f)\n"
      "{\n"
      "  int t = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  atomicAdd (i, 1);\n"
      "  atomicSub (i + 1, 2);\n"
      "  atomicMin (i + 2, -t);\n"
      "  atomicMax (i + 3, t);\n"
      "  atomicOr (u, 1u << t % 32);\n"
      "  atomicXor (u + 1, 1u);\n"
      "  atomicAnd (u + 2, ~(1u << t % 8));\n"
      "  atomicInc (u + 3, 9);\n"
      "  atomicAdd (l, 1ull << 33);\n"
      "  atomicAdd (f, 0.5f);\n"
      "  atomicExch (i + 4, 7);\n"
      "  while (atomicCAS (&counter, t, t + 1) != t)\n"
      "    if (counter > t) break;\n"
      "}\n"
      "__global__ void across_blocks (int *n, float *f)\n"
      "{\n"
      "  atomicAdd (n, 1);\n"
      "  atomicAdd (f, 1.0f);\n"
      "}\n");
  CUdeviceptr i = zeroed (20);
  CUdeviceptr u = zeroed (16);
  CUdeviceptr l = zeroed (8);
  CUdeviceptr f = zeroed (4);
  void *params[] = { &i, &u, &l, &f };
  void *two_params[] = { &i, &f };
  int *ints = (int *) (uintptr_t) i;
  unsigned int *unsigneds = (unsigned int *) (uintptr_t) u;

  unsigneds[2] = ~0u;
  ok (run (find (module, "count"), 1, 1000, 0, params));
  ck_assert_int_eq (ints[0], 1000);
  ck_assert_int_eq (ints[1], -2000);
  ck_assert_int_eq (ints[2], -999);
  ck_assert_int_eq (ints[3], 999);
  ck_assert_int_eq (ints[4], 7);
  ck_assert_uint_eq (unsigneds[0], ~0u);
  ck_assert_uint_eq (unsigneds[1], 0);
  ck_assert_uint_eq (unsigneds[2], ~0xffu);
  ck_assert_uint_eq (unsigneds[3], 0);
  ck_assert (*(guint64 *) (uintptr_t) l == 1000ull << 33);
  ck_assert (*(float *) (uintptr_t) f == 500.0f);
  ok (run (find (module, "across_blocks"), 1000, 32, 0, two_params));
  ck_assert_int_eq (ints[0], 33000);
  ck_assert (*(float *) (uintptr_t) f == 32500.0f);
}
END_TEST;

START_TEST (test_mathematics)
{
  CUmodule module = build (
      "__global__ void f (float *r, int *k)\n"
      "{\n"
      "  float two = r[0];\n"
      "  r[1] = rsqrtf (two * 8);\n"
      "  r[2] = __saturatef (two) + __saturatef (-two);\n"
      "  r[3] = fminf (two, 1.5f) + max (two, 1) + min (3, 2u);\n"
      "  r[4] = __expf (0.0f) + __fmaf_rn (two, two, 1.0f);\n"
      "  r[5] = __fdividef (two, 4.0f) + __powf (two, 3.0f);\n"
      "  r[6] = fmaxf (nanf (\"\"), two) + max (nanf (\"\"), two);\n"
      "  k[0] = __float2int_rn (2.5f) * 100 + __float2int_rz (-2.5f) * 10\n"
      "         + __float2int_ru (2.1f);\n"
      "  k[1] = __float2int_rn (1e20f);\n"
      "  k[2] = __float2int_rn (-1e20f);\n"
      "  k[3] = (int) __float2uint_rn (-3.0f);\n"
      "  k[4] = __popc (0xf0f0u) * 100 + __clz (1) + __ffs (8);\n"
      "  k[5] = (int) __brev (0x80000001u) ^ (int) 0x80000001u;\n"
      "  k[6] = __mul24 (-3, 5) + (int) __umul24 (0x01000003u, 2);\n"
      "  k[7] = (int) __byte_perm (0x33221100u, 0x77665544u, 0x7520u);\n"
      "  k[8] = __float_as_int (1.0f);\n"
      "  k[9] = __ldg (k + 8) + __double2int_rn (0.5);\n"
      "  k[10] = __CUDA_ARCH__ + __SOFTCUDA__;\n"
      "}\n");
  CUdeviceptr r = zeroed (7 * 4);
  CUdeviceptr k = zeroed (11 * 4);
  void *params[] = { &r, &k };
  float *real = (float *) (uintptr_t) r;
  int *whole = (int *) (uintptr_t) k;
  static const float reals[] = { 2, 0.25f, 1, 5.5f, 6, 8.5f, 4 };
  static const int wholes[] = { 183, INT32_MAX, INT32_MIN, 0, 835, 0, -9,
    0x77552200, 0x3f800000, 0x3f800000, 901 };

  real[0] = 2;
  ok (run (find (module, "f"), 1, 1, 0, params));
  for (int i = 0; i < 7; i++)
    ck_assert_msg (fabsf (real[i] - reals[i]) < 1e-5f, "%d: %g", i, real[i]);
  for (int i = 0; i < 11; i++)
    ck_assert_msg (whole[i] == wholes[i], "%d: %d", i, whole[i]);
}
END_TEST;

START_TEST (test_launch_is_checked)
{
  CUmodule module = build ("__global__ void nothing (int a) { }\n");
  CUfunction f = find (module, "nothing");
  int a = 0;
  void *params[] = { &a };
  void *missing[] = { NULL };
  int value;
  int grid;

#define LAUNCH(gx, gy, bx, bz, shared, params, extra) \
  cu.cuLaunchKernel (f, gx, gy, 1, bx, 1, bz, shared, NULL, params, extra)
  ok (LAUNCH (1, 1, 1024, 1, 49152, params, NULL));
  fails (LAUNCH (1, 1, 1025, 1, 0, params, NULL), CUDA_ERROR_INVALID_VALUE);
  fails (LAUNCH (1, 1, 512, 3, 0, params, NULL), CUDA_ERROR_INVALID_VALUE);
  fails (LAUNCH (1, 1, 0, 1, 0, params, NULL), CUDA_ERROR_INVALID_VALUE);
  fails (LAUNCH (0, 1, 1, 1, 0, params, NULL), CUDA_ERROR_INVALID_VALUE);
  fails (LAUNCH (1, 65536, 1, 1, 0, params, NULL), CUDA_ERROR_INVALID_VALUE);
  fails (LAUNCH (1, 1, 1, 1, 49153, params, NULL), CUDA_ERROR_INVALID_VALUE);
  fails (LAUNCH (1, 1, 1, 1, 0, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
  fails (LAUNCH (1, 1, 1, 1, 0, missing, NULL), CUDA_ERROR_INVALID_VALUE);
  fails (LAUNCH (1, 1, 1, 1, 0, params, params), CUDA_ERROR_INVALID_VALUE);
#undef LAUNCH
  ok (cu.cuOccupancyMaxPotentialBlockSize (&grid, &value, f, NULL, 0, 0));
  ck_assert (grid > 0 && value == 256);
  ok (cu.cuOccupancyMaxPotentialBlockSize (&grid, &value, f, NULL, 0, 64));
  ck_assert_int_eq (value, 64);
  ok (cu.cuFuncGetAttribute (
      &value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
  ck_assert_int_eq (value, 1024);
  ok (cu.cuFuncGetAttribute (
      &value, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, f));
  ck_assert_int_eq (value, -1);
  ok (cu.cuModuleUnload (module));
  fails (cu.cuLaunchKernel (f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
      CUDA_ERROR_INVALID_HANDLE);
}
END_TEST;

/* All arguments are in one buffer, at their offsets. */
START_TEST (test_arguments_in_a_buffer)
{
  CUmodule module = build ("__global__ void put (char c, double d, int *out)\n"
                           "{ *out = (int) (100 * d) + c; }\n");
  CUfunction f = find (module, "put");
  CUdeviceptr out = zeroed (4);
  struct {
    char c;
    double d;
    CUdeviceptr out;
  } buffer = { 3, 2.5, out };
  size_t size = sizeof buffer;
  void *extra[] = { (void *) 2, &size, (void *) 1, &buffer, NULL };
  void *unknown[] = { (void *) 9, &size, NULL };

  CUlaunchConfig config = { 1, 1, 1, 1, 1, 1, 0, NULL, NULL, 0 };

  ok (cu.cuLaunchKernel (f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
  buffer.c = 4; /* the launch has copied it */
  ok (cu.cuCtxSynchronize ());
  ck_assert_int_eq (*(int *) (uintptr_t) out, 253);
  ok (cu.cuLaunchKernelEx (&config, f, NULL, extra));
  ok (cu.cuCtxSynchronize ());
  ck_assert_int_eq (*(int *) (uintptr_t) out, 254);
  config.numAttrs = 1;
  fails (
      cu.cuLaunchKernelEx (&config, f, NULL, extra), CUDA_ERROR_NOT_SUPPORTED);
  size = 20;
  fails (cu.cuLaunchKernel (f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra),
      CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuLaunchKernel (f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, unknown),
      CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

/* The functions that launched kernels before cuLaunchKernel() existed. */
START_TEST (test_old_launches)
{
  void *library = open_library ("libcuda.so.1");
  CUmodule module = build ("__global__ void add (float f, int n, int *out)\n"
                           "{ atomicAdd (out, (int) (2 * f) + n); }\n");
  CUfunction f = find (module, "add");
  CUdeviceptr out = zeroed (4);
  CUresult (*shape) (CUfunction, int, int, int) =
      find_symbol (library, "cuFuncSetBlockShape");
  CUresult (*set_size) (CUfunction, unsigned int) =
      find_symbol (library, "cuParamSetSize");
  CUresult (*set_float) (CUfunction, int, float) =
      find_symbol (library, "cuParamSetf");
  CUresult (*set_int) (CUfunction, int, unsigned int) =
      find_symbol (library, "cuParamSeti");
  CUresult (*set_bytes) (CUfunction, int, void *, unsigned int) =
      find_symbol (library, "cuParamSetv");
  CUresult (*launch) (CUfunction, int, int) =
      find_symbol (library, "cuLaunchGrid");

  ok (shape (f, 4, 2, 1));
  ok (set_float (f, 0, 1.5f));
  ok (set_int (f, 4, 2));
  ok (set_bytes (f, 8, &out, sizeof out));
  ok (set_size (f, 16));
  ok (launch (f, 3, 2));
  ok (cu.cuCtxSynchronize ());
  ck_assert_int_eq (*(int *) (uintptr_t) out, 8 * 6 * 5);
  fails (shape (f, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
  fails (set_bytes (f, 4090, &out, 8), CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

START_TEST (test_launches_follow_their_stream)
{
  CUmodule module = build ("__global__ void twice (int *n) { *n = 2 * *n; }\n"
                           "__global__ void more (int *n) { *n = *n + 1; }\n");
  CUfunction twice = find (module, "twice");
  CUfunction more = find (module, "more");
  CUdeviceptr n = zeroed (4);
  void *params[] = { &n };
  CUstream stream;

  ok (cu.cuStreamCreate (&stream, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < 10; i++) {
    ok (cu.cuLaunchKernel (twice, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    ok (cu.cuLaunchKernel (more, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
  }
  ok (cu.cuModuleUnload (module)); /* waits for the kernel */
  ck_assert_int_eq (*(int *) (uintptr_t) n, 1023);
}
END_TEST;

/* ---- the compiler ---- */

START_TEST (test_kernels_are_found)
{
  CUmodule module = build (
      "#define KERNEL(name) __global__ static void name (int *p) { *p = 1; }\n"
      "KERNEL (made_by_macro)\n"
      "__global__ void declared (int *);\n"
      "__global__ void declared (int *p) { *p = 2; }\n"
      "static __device__ void no_kernel (int *p) { *p = 3; }\n"
      "__attribute__ ((noinline)) __global__ void\n"
      "__launch_bounds__ (256, 2) bounded (int *p) { no_kernel (p); }\n"
      "static const char *text = \"__global__ void in_string ()\";\n"
      "static const char *raw = R\"x(__global__ \")\" void in_raw ())x\";\n"
      "/* __global__ void in_comment () */\n");
  CUfunction functions[8] = { NULL };
  unsigned int n;
  const char *name;
  static const char *const names[] = { "made_by_macro", "declared", "bounded" };

  ok (cu.cuModuleGetFunctionCount (&n, module));
  ck_assert_int_eq (n, 3);
  ok (cu.cuModuleEnumerateFunctions (functions, 8, module));
  for (int i = 0; i < 3; i++) {
    ok (cu.cuFuncGetName (&name, functions[i]));
    ck_assert_str_eq (name, names[i]);
    ck_assert (functions[i] == find (module, names[i]));
  }
  ck_assert (functions[3] == NULL);
  fails (cu.cuModuleGetFunction (&functions[3], module, "no_kernel"),
      CUDA_ERROR_NOT_FOUND);
  ok (cu.cuModuleUnload (module));
  fails (cu.cuModuleUnload (module), CUDA_ERROR_INVALID_HANDLE);
}
END_TEST;

START_TEST (test_cplusplus)
{
  static const char source[] = "namespace a { namespace b {\n"
                               "__global__ void inner (int *p) { *p = 5; }\n"
                               "} }\n"
                               "template <typename T, int N>\n"
                               "__global__ void filled (T *p) { *p = N; }\n"
                               "__global__ void plain (int *p) { *p = 6; }\n";
  nvrtcProgram program;
  CUmodule module;
  const char *name;
  CUdeviceptr n = zeroed (4);
  void *params[] = { &n };
  int *value = (int *) (uintptr_t) n;

  ck_assert_int_eq (create (&program, source, NULL, 0, NULL, NULL), 0);
  ck_assert_int_eq (add_expression (program, "filled<int, 8>"), 0);
  ck_assert_int_eq (add_expression (program, "&plain"), 0);
  ck_assert (lowered_name (program, "&plain", &name) != 0);
  ck_assert_int_eq (compile (program, 0, NULL), 0);
  module = load_image (program);
  ck_assert_int_eq (lowered_name (program, "filled<int, 8>", &name), 0);
  ok (run (find (module, name), 1, 1, 0, params));
  ck_assert_int_eq (*value, 8);
  ck_assert_int_eq (lowered_name (program, "&plain", &name), 0);
  ck_assert_str_eq (name, "plain");
  ok (run (find (module, name), 1, 1, 0, params));
  ck_assert_int_eq (*value, 6);
  ok (run (find (module, "inner"), 1, 1, 0, params));
  ck_assert_int_eq (*value, 5);
  ck_assert (lowered_name (program, "other", &name) != 0);
  ok (cu.cuModuleUnload (module));
  ok (cu.cuMemFree (n));
  ck_assert_int_eq (destroy (&program), 0);
}
END_TEST;

START_TEST (test_headers_and_macros)
{
  static const char *const headers[] = { "#define BASE 40\n" };
  static const char *const names[] = { "some/where.h" };
  static const char *const outside[] = { "../where.h" };
  static const char *const options[] = { "-DMORE=1", "-D", "STILL=1" };
  nvrtcProgram program;
  CUmodule module;
  CUdeviceptr n = zeroed (4);
  void *params[] = { &n };

  ck_assert_int_eq (
      create (&program, "", NULL, 1, headers, outside), INVALID_INPUT);
  ck_assert_int_eq (
      create (&program,
          "#include <some/where.h>\n"
          "__global__ void k (int *p) { *p = BASE + MORE + STILL; }",
          NULL, 1, headers, names),
      0);
  ck_assert_int_eq (compile (program, 3, options), 0);
  module = load_image (program);
  ok (run (find (module, "k"), 1, 1, 0, params));
  ck_assert_int_eq (*(int *) (uintptr_t) n, 42);
  ok (cu.cuModuleUnload (module));
  ok (cu.cuMemFree (n));
  ck_assert_int_eq (destroy (&program), 0);
}
END_TEST;

/* The runtime header leaves out the slowest part of libstdc++'s <math.h>, which
 * CUDA does not have. The rest must work with the headers of libstdc++. */
START_TEST (test_standard_headers)
{
  float value[3];

  run_test (
      "#include <cmath>\n"
      "#include <algorithm>\n"
      "#include <limits>\n"
      "#include <numeric>\n"
      "#ifdef _GLIBCXX_BITS_SPECFUN_H\n"
      "#error the special functions of libstdc++ are compiled for each kernel\n"
      "#endif\n"
      "extern \"C\" __global__ void test (float *p)\n"
      "{\n"
      "  int n = 3 + (p[0] == 0);\n"
      "  p[0] = std::hypot (1.0f, 2.0f, 2.0f) + sqrt (n) + std::pow (n, 2);\n"
      "  p[1] = std::max (std::gcd (n, 6), 1) + std::abs (-0.5f);\n"
      "  p[2] = std::isinf (std::numeric_limits<float>::infinity ());\n"
      "}\n",
      1, 1, value, sizeof value);
  ck_assert (value[0] == 21.0f);
  ck_assert (value[1] == 2.5f);
  ck_assert (value[2] == 1.0f);
}
END_TEST;

static void
check_error (const char *source, const char *expected)
{
  nvrtcProgram program;
  size_t size;
  char *log;

  ck_assert_int_eq (
      create (&program, source, "my \"kernel\".cu", 0, NULL, NULL), 0);
  ck_assert_int_eq (compile (program, 0, NULL), COMPILATION);
  log = read_log (program);
  ck_assert_msg (strstr (log, expected) != NULL, "no %s in: %s", expected, log);
  ck_assert_msg (strstr (log, "/tmp") == NULL, "%s", log);
  ck_assert (image_size (program, &size) != 0);
  ck_assert_int_eq (destroy (&program), 0);
  g_free (log);
}

START_TEST (test_compile_errors)
{
  check_error ("\n\n__global__ void k (int *p)\n{\n  *p = nonsense;\n}\n",
      "my \"kernel\".cu:5:");
  check_error ("\n#include <no/such/header.h>\n", "my \"kernel\".cu:2:");
  check_error ("#include <stdlib.h>\n\nuint x;\n", "my \"kernel\".cu:3:");
  check_error ("__global__ void k (int *p);\n", "k(int*)");
  check_error ("extern __shared__ float f[]\n;\n"
               "__global__ void k (int *p) { oops (); }\n",
      "my \"kernel\".cu:3:");
}
END_TEST;

START_TEST (test_options)
{
  static const char *const unknown[] = { "--make-it-faster" };
  static const char *const standard[] = { "--std=c++42" };
  nvrtcProgram program;
  char *log;

  ck_assert_int_eq (create (&program, "", NULL, 0, NULL, NULL), 0);
  ck_assert_int_eq (compile (program, 1, unknown), INVALID_OPTION);
  log = read_log (program);
  ck_assert (strstr (log, "--make-it-faster") != NULL);
  g_free (log);
  ck_assert_int_eq (compile (program, 1, standard), INVALID_OPTION);
  ck_assert_int_eq (destroy (&program), 0);
}
END_TEST;

START_TEST (test_no_compiler)
{
  char *path = g_strdup (g_getenv ("PATH"));
  nvrtcProgram program;
  char *log;

  ck_assert_int_eq (create (&program, "", NULL, 0, NULL, NULL), 0);
  g_setenv ("PATH", "/nonexistent", TRUE);
  ck_assert_int_eq (compile (program, 0, NULL), NO_COMPILER);
  log = read_log (program);
  ck_assert (strstr (log, "g++") != NULL);
  g_free (log);
  g_setenv ("PATH", path, TRUE);
  g_setenv ("SOFTCUDA_CXX", "no-such-compiler", TRUE);
  ck_assert_int_eq (compile (program, 0, NULL), NO_COMPILER);
  log = read_log (program);
  ck_assert (strstr (log, "no-such-compiler") != NULL);
  g_free (log);
  g_unsetenv ("SOFTCUDA_CXX");
  ck_assert_int_eq (compile (program, 0, NULL), 0);
  ck_assert_int_eq (destroy (&program), 0);
  g_free (path);
}
END_TEST;

START_TEST (test_nothing_stays_behind)
{
  char *folder = g_dir_make_tmp ("softcuda-test-XXXXXX", NULL);
  GDir *dir;

  g_setenv ("TMPDIR", folder, TRUE);
  ok (cu.cuModuleUnload (build ("__global__ void k () { }\n")));
  check_error ("nonsense\n", "my \"kernel\".cu:1:");
  dir = g_dir_open (folder, 0, NULL);
  ck_assert (g_dir_read_name (dir) == NULL);
  g_dir_close (dir);
  g_unsetenv ("TMPDIR");
  ck_assert_int_eq (g_rmdir (folder), 0);
  g_free (folder);
}
END_TEST;

/* ---- images ---- */

static void
check_foreign (const void *image, CUresult expected)
{
  char log[256] = "";
  CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
  void *values[] = { log, (void *) (uintptr_t) sizeof log };
  CUmodule module;

  fails (cu.cuModuleLoadData (&module, image), expected);
  fails (cu.cuModuleLoadDataEx (&module, image, 2, options, values), expected);
  ck_assert_msg (strstr (log, "its own compiler") != NULL, "%s", log);
  ck_assert_uint_eq ((uintptr_t) values[1], strlen (log));
}

START_TEST (test_foreign_images)
{
  Elf64_Ehdr cubin = { { 0 } };
  guint32 fatbin[4] = { 0xBA55ED50, 0 };
  CUmodule module;

  memcpy (cubin.e_ident, ELFMAG, SELFMAG);
  cubin.e_ident[EI_CLASS] = ELFCLASS64;
  cubin.e_machine = 190;
  check_foreign (&cubin, CUDA_ERROR_NO_BINARY_FOR_GPU);
  check_foreign (fatbin, CUDA_ERROR_NO_BINARY_FOR_GPU);
  check_foreign (
      "// made by nvcc\n.version 9.0\n.target sm_90\n", CUDA_ERROR_INVALID_PTX);
  check_foreign ("garbage", CUDA_ERROR_INVALID_IMAGE);
  check_foreign ("\1\2\3", CUDA_ERROR_INVALID_IMAGE);
  check_foreign ("", CUDA_ERROR_INVALID_IMAGE);
  fails (cu.cuModuleLoadData (&module, NULL), CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

/* ---- folders of compilations ---- */

/* Writes a script to the folder that replaces the compiler and only sleeps. */
static char *
make_slow_compiler (const char *folder)
{
  char *path = g_build_filename (folder, "slow-compiler", NULL);

  ck_assert (g_file_set_contents (
      path, "#!/bin/sh\n: > \"$TMPDIR/started\"\nexec sleep 20\n", -1, NULL));
  ck_assert_int_eq (g_chmod (path, 0700), 0);
  return path;
}

/* Compiles in another process, and returns when the compiler runs. */
static pid_t
start_slow_compilation (const char *folder, const char *compiler)
{
  pid_t child = fork ();
  bool started = false;

  ck_assert (child >= 0);
  if (child == 0) {
    nvrtcProgram program;

    g_setenv ("SOFTCUDA_CXX", compiler, TRUE);
    create (&program, "", NULL, 0, NULL, NULL);
    compile (program, 0, NULL);
    _exit (0);
  }
  for (int i = 0; i < 1000 && !started; i++) {
    GDir *dir = g_dir_open (folder, 0, NULL);
    const char *name;

    while ((name = g_dir_read_name (dir)) != NULL) {
      char *path = g_build_filename (folder, name, "started", NULL);

      if (g_file_test (path, G_FILE_TEST_EXISTS)) {
        started = true;
        g_unlink (path);
      }
      g_free (path);
    }
    g_dir_close (dir);
    g_usleep (10000);
  }
  ck_assert (started);
  return child;
}

static int
count_folders (const char *parent)
{
  GDir *dir = g_dir_open (parent, 0, NULL);
  const char *name;
  int n = 0;

  while ((name = g_dir_read_name (dir)) != NULL)
    n += g_str_has_prefix (name, "softcuda-build-");
  g_dir_close (dir);
  return n;
}

/* A killed process cannot remove its folder. The next compilation removes it,
 * but not the folder of a process that is still running. */
START_TEST (test_killed_compilations_leave_nothing)
{
  char *folder = g_dir_make_tmp ("softcuda-test-XXXXXX", NULL);
  char *compiler = make_slow_compiler (folder);
  pid_t killed, working;

  g_setenv ("TMPDIR", folder, TRUE);
  killed = start_slow_compilation (folder, compiler);
  working = start_slow_compilation (folder, compiler);
  ck_assert_int_eq (count_folders (folder), 2);
  kill (killed, SIGKILL);
  waitpid (killed, NULL, 0);
  ck_assert_int_eq (count_folders (folder), 2);
  ok (cu.cuModuleUnload (build ("__global__ void k (int *p) { *p = 1; }")));
  ck_assert_int_eq (count_folders (folder), 1);
  kill (working, SIGKILL);
  waitpid (working, NULL, 0);
  ok (cu.cuModuleUnload (build ("__global__ void k (int *p) { *p = 2; }")));
  ck_assert_int_eq (count_folders (folder), 0);
  g_unsetenv ("TMPDIR");
  g_unlink (compiler);
  ck_assert_int_eq (g_rmdir (folder), 0);
  g_free (compiler);
  g_free (folder);
}
END_TEST;

START_TEST (test_many_modules)
{
  CUmodule modules[3];
  CUdeviceptr n = zeroed (4);
  void *params[] = { &n };

  for (int i = 0; i < 3; i++) {
    char *source =
        g_strdup_printf ("__constant__ int table[2] = { 0, %d };\n"
                         "__global__ void k (int *p) { *p = table[1]; }\n",
            i);

    modules[i] = build (source);
    g_free (source);
  }
  for (int i = 0; i < 3; i++) {
    ok (run (find (modules[i], "k"), 1, 1, 0, params));
    ck_assert_int_eq (*(int *) (uintptr_t) n, i);
  }
}
END_TEST;

static Suite *
softcuda_compiler_suite (void)
{
  Suite *s = suite_create ("softcuda-compiler");
  TCase *tc = tcase_create ("all");

  suite_add_tcase (s, tc);
  tcase_add_checked_fixture (tc, setup, teardown_context);
  tcase_add_test (tc, test_indices);
  tcase_add_test (tc, test_struct_by_value);
  tcase_add_test (tc, test_barriers);
  tcase_add_test (tc, test_dynamic_shared);
  tcase_add_test (tc, test_atomics);
  tcase_add_test (tc, test_mathematics);
  tcase_add_test (tc, test_launch_is_checked);
  tcase_add_test (tc, test_arguments_in_a_buffer);
  tcase_add_test (tc, test_old_launches);
  tcase_add_test (tc, test_launches_follow_their_stream);
  tcase_add_test (tc, test_kernels_are_found);
  tcase_add_test (tc, test_cplusplus);
  tcase_add_test (tc, test_headers_and_macros);
  tcase_add_test (tc, test_standard_headers);
  tcase_add_test (tc, test_compile_errors);
  tcase_add_test (tc, test_options);
  tcase_add_test (tc, test_no_compiler);
  tcase_add_test (tc, test_nothing_stays_behind);
  tcase_add_test (tc, test_foreign_images);
  tcase_add_test (tc, test_killed_compilations_leave_nothing);
  tcase_add_test (tc, test_many_modules);
  return s;
}

TEST_MAIN (softcuda_compiler);
