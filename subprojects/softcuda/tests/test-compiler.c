/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-compiler.c: tests of softcuda's libnvrtc and nvcc, of modules, and of
 * kernels that run
 *
 * These are all steps from CUDA C to results in memory, and their errors.
 */

#include <elf.h>
#include <glib/gstdio.h>
#include <glob.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler.h"

FIXTURE (setup_context, teardown_context);

/* ---- launches ---- */

TEST (indices)
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
  int *at = zeroed (16 * 24 * 24);
  void *params[] = { &at };

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

TEST (struct_by_value)
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
  double *out = zeroed (8);
  float scale = 2, w[4] = { 0, 0, 0, 0.25f };
  void *params[] = { &value, &scale, &out, w };
  static const size_t expected[][2] = { { 0, 24 }, { 24, 4 }, { 32, 8 },
    { 48, 16 } };
  size_t seen[2];

  ok (cu.cuLaunchKernel (function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
  scale = 1000; /* the launch has copied it */
  ok (cu.cuCtxSynchronize ());
  ck_assert (*out == 649.25);
  for (size_t i = 0; i < 4; i++) {
    ok (cu.cuFuncGetParamInfo (function, i, &seen[0], &seen[1]));
    ck_assert_mem_eq (seen, expected[i], sizeof seen);
  }
  invalid (cu.cuFuncGetParamInfo (function, 4, &seen[0], &seen[1]));
}

TEST (barriers)
{
  static const Expectation votes[] = {
    { "__syncthreads_count (i % 3 == 0)", "34" },
    { "__syncthreads_and (i < 100)", "1" },
    { "__syncthreads_and (i < 99)", "0" },
    { "__syncthreads_or (i == 99)", "1" },
    { "__syncthreads_or (i == 100)", "0" },
  };
  CUmodule module = build ("__global__ void reduce (int *out)\n"
                           "{\n"
                           "  __shared__ int part[256];\n"
                           "  int t = threadIdx.x;\n"
                           "  part[t] = blockIdx.x * blockDim.x + t;\n"
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
                           "}\n");
  int *out = zeroed (16 * sizeof *out);

  ok (run (find (module, "reduce"), 8, 256, 0, &out));
  for (int i = 0; i < 8; i++)
    ck_assert_int_eq (out[i], 256 * 256 * i + 255 * 128);
  ok (run (find (module, "some_return"), 1, 64, 0, &out));
  for (int i = 0; i < 16; i++)
    ck_assert_int_eq (out[i], 32);
  check_values ("", votes, 100);
}

/* Each kernel reverses the numbers of its threads. */
TEST (dynamic_shared)
{
  static const char *const names[] = { "file_scope", "function_scope", "rows" };
  CUmodule module =
      build ("#define REVERSE(own, other) \\\n"
             "  own = threadIdx.x; \\\n"
             "  __syncthreads (); \\\n"
             "  out[threadIdx.x] = other\n"
             "extern __shared__ float outside[];\n"
             "__global__ void file_scope (float *out)\n"
             "{ REVERSE (outside[threadIdx.x], outside[63 - threadIdx.x]); }\n"
             "__global__ void function_scope (float *out)\n"
             "{\n"
             "  extern __shared__ __align__ (16) unsigned char raw[];\n"
             "  float *p = reinterpret_cast<float *> (raw);\n"
             "  REVERSE (p[threadIdx.x], p[63 - threadIdx.x]);\n"
             "}\n"
             "__global__ void rows (float *out)\n"
             "{\n"
             "  extern __shared__ float row[][4];\n"
             "  int t = threadIdx.x, other = 63 - t;\n"
             "  REVERSE (row[t / 4][t % 4], row[other / 4][other % 4]);\n"
             "}\n");

  for (gsize k = 0; k < G_N_ELEMENTS (names); k++) {
    float *out = zeroed (64 * sizeof *out);

    ok (run (find (module, names[k]), 1, 64, 256, &out));
    for (int i = 0; i < 64; i++)
      ck_assert_msg (out[i] == 63 - i, "%s: %d: %g", names[k], i, out[i]);
  }
}

/* The threads of several blocks, which run at the same time. */
TEST (atomics)
{
  static const int expected[] = { 1000, -2000, -999, 999, 7, 1000, -1, ~0xff,
    ~0xff, 6, 0, 2000, 32000 };
  CUmodule module =
      build ("__global__ void count (int *n, float *f)\n"
             "{\n"
             "  int t = blockIdx.x * blockDim.x + threadIdx.x, old = n[5];\n"
             "  unsigned int *u = (unsigned int *) n;\n"
             "  atomicAdd (n, 1);\n"
             "  atomicSub (n + 1, 2);\n"
             "  atomicMin (n + 2, -t);\n"
             "  atomicMax (n + 3, t);\n"
             "  atomicExch (n + 4, 7);\n"
             "  while (atomicCAS_system (n + 5, old, old + 1) != old)\n"
             "    old = *(volatile int *) (n + 5);\n"
             "  atomicOr (u + 6, 1u << t % 32);\n"
             "  atomicXor (u + 7, 1u << t % 32);\n"
             "  atomicAnd (u + 8, ~(1u << t % 8));\n"
             "  atomicInc (u + 9, 6);\n"
             "  atomicAdd ((unsigned long long *) (n + 10), 1ull << 33);\n"
             "  atomicAdd_system (n + 12, 32);\n"
             "  atomicMax_block (n + 12, -1);\n"
             "  atomicAdd (f, 0.5f);\n"
             "}\n");
  int *n = zeroed (sizeof expected);
  float *f = zeroed (sizeof *f);

  n[8] = -1;
  ok (run (find (module, "count"), 10, 100, 0, &n, &f));
  for (gsize i = 0; i < G_N_ELEMENTS (expected); i++)
    ck_assert_msg (n[i] == expected[i], "%d: %d", (int) i, n[i]);
  ck_assert (*f == 500.0f);
}

TEST (mathematics)
{
  static const Expectation table[] = {
    { "rint (1e6 * rsqrtf (two * 8))", "250000" },
    { "__saturatef (two) + __saturatef (-two)", "1" },
    { "fminf (two, 1.5f) + max (two, 1.0f) + min (3, 2u)", "5.5" },
    { "__expf (0.0f) + __fmaf_rn (two, two, 1.0f)", "6" },
    { "__fdividef (two, 4.0f) + __powf (two, 3.0f)", "8.5" },
    { "fmaxf (nanf (\"\"), two) + max (nanf (\"\"), two)", "4" },
    { "__float2int_rn (two + 0.5f)", "2" },
    { "__float2int_rz (-two - 0.5f)", "-2" },
    { "__float2int_ru (two + 0.1f)", "3" },
    { "__float2int_rn (1e20f)", "0x7fffffff" },
    { "__float2int_rn (-1e20f)", "-0x80000000ll" },
    { "__float2uint_rn (-3.0f)", "0" },
    { "__double2int_rn (0.5)", "0" },
    { "__popc (0xf0f0u)", "8" },
    { "__clz (1)", "31" },
    { "__ffs (8)", "4" },
    { "__brev (0x80000003u)", "0xc0000001u" },
    { "__mul24 (-3, 5)", "-15" },
    { "__umul24 (0x01000003u, 2)", "6" },
    { "__byte_perm (0x33221100u, 0x77665544u, 0x7520u)", "0x77552200" },
    { "__float_as_int (1.0f)", "0x3f800000" },
    { "({ int k = 7; __ldg (&k); })", "7" },
    { "({ float s, c; sincos (0.5f, &s, &c); rintf (1e6f * s); })", "479426" },
    { "({ float s, c; sincosf (0.5f, &s, &c); rintf (1e6f * c); })", "877583" },
    { "rint (1e9 * normcdf (1.0))", "841344746" },
    { "rint (1e6f * normcdff (two - 3))", "158655" },
    { "rint (1e9 * normcdfinv (0.975))", "1959963985" },
    { "rint (1e6 * normcdfinv (1e-300))", "-37047096" },
    { "rint (1e9 * erfinv (0.5)) + isinf (erfinv (1.0))", "476936277" },
    { "rint (1e9 * erfcinv (1.9)) + isnan (erfcinv (2.5))", "-1163087153" },
    { "rint (1e3f * erfinvf (0.99f))", "1821" },
    { "rint (1e9 * erfcx (1.0)) + rint (1e9 * erfcx (30.0))", "446379465" },
    { "rint (1e9 * cyl_bessel_i0 (1.0))", "1266065878" },
    { "rint (1e9 * cyl_bessel_i1 (-1.0))", "-565159104" },
    { "sinpi (0.5) + cospi (two / 2) + sinpi (two * 1.25f)", "1" },
    { "({ double s, c; sincospi (1.5, &s, &c); s; })", "-1" },
    { "rcbrt (8.0) + rcbrtf (two * 4) + rhypot (3.0, 4.0)", "1.2" },
    { "({ const float v[] = { 1, 2, 2 }; normf (3, v) * rnorm3df (1, 2, 2); })",
        "1" },
    { "norm4d (1.0, 1.0, 1.0, 1.0) + rnorm4d (2.0, 2.0, 2.0, 2.0)", "2.25" },
    { "__CUDA_ARCH__ + __SOFTCUDA__", "901" },
  };

  check_values ("__device__ volatile float two = 2;\n", table, 1);
}

TEST (intrinsics)
{
  static const Expectation table[] = {
    { "__umul64hi (1ull << 63, 6) + __mul64hi (-1ll << 62, 8)", "1" },
    { "__hadd (-3, 0) + __rhadd (-3, 0)", "-3" },
    { "__funnelshift_l (0x80000000u, 1, 33)", "3" },
    { "__funnelshift_lc (0x80000000u, 1, 40)", "0x80000000u" },
    { "__funnelshift_r (2, 3, 1)", "0x80000001u" },
    { "__funnelshift_rc (2, 3, 32)", "3" },
    { "__dp4a (0x01ff0203, 0x02030405, 7)", "2 - 3 + 8 + 15 + 7" },
    { "__dp4a (0x01ff0203u, 0x02030405u, 7u)", "2 + 765 + 8 + 15 + 7" },
    { "__dp4a (make_char4 (1, -2, 3, 4), make_char4 (5, 6, 7, 8), 1)", "47" },
    { "__dp2a_lo (0xffff0002u, 0x04030201u, 1u)", "1 + 2 + 2 * 65535u" },
    { "__dp2a_hi (make_short2 (2, -1), make_char4 (1, 2, 3, 4), 1)", "3" },
    { "__double2hiint (-2.0)", "(int) 0xc0000000" },
    { "__double2loint (__hiloint2double (0x3ff00000, -5))", "-5" },
    { "__vadd4 (0x01ff7f80u, 0x0101017fu)", "0x020080ffu" },
    { "__vaddus4 (0x01ff7f80u, 0x0101017fu)", "0x02ff80ffu" },
    { "__vaddss4 (0x01ff7f80u, 0x0101017fu)", "0x02007fffu" },
    { "__vsub2 (0x00000005u, 0x00010007u)", "0xfffffffeu" },
    { "__vsubus2 (0x00000005u, 0x00010003u)", "0x00000002u" },
    { "__vsubss2 (0x80000005u, 0x00010003u)", "0x80000002u" },
    { "__vabs4 (0x80ff017fu)", "0x8001017fu" },
    { "__vabsss4 (0x80ff017fu)", "0x7f01017fu" },
    { "__vneg2 (0x80000001u)", "0x8000ffffu" },
    { "__vnegss2 (0x80000001u)", "0x7fffffffu" },
    { "__vabsdiffu4 (0x00ff0510u, 0xff000a08u)", "0xffff0508u" },
    { "__vabsdiffs2 (0xffff0003u, 0x00010001u)", "0x00020002u" },
    { "__vavgu4 (0xff000102u, 0xff010203u)", "0xff010203u" },
    { "__vavgs2 (0xfffe0001u, 0xffff0002u)", "0xfffe0002u" },
    { "__vhaddu4 (0xff000102u, 0xff010205u)", "0xff000103u" },
    { "__vmaxs4 (0x80017f00u, 0x00ff01ffu)", "0x00017f00u" },
    { "__vminu2 (0xffff0001u, 0x00010002u)", "0x00010001u" },
    { "__vcmpgts4 (0x0080ff7fu, 0xff7f017eu)", "0xff0000ffu" },
    { "__vsetltu2 (0x00010005u, 0x00020005u)", "0x00010000u" },
    { "__vsadu4 (0x01020304u, 0x00000005u) + __vsads2 (~0u, 1)", "10" },
    { "({ int k = 7, n; __stcs (&n, __ldcg (&k)); n; })", "7" },
    { "llmin (-1, 2) + ullmax (1, 2) + min (1l, 2ul)", "2" },
    { "({ unsigned short s = 3; atomicCAS (&s, 3, 9); s; })", "9" },
    { "({ int n = 1; *new (&n) int (5); })", "5" },
    /* 2^-60 is less than half of the last bit of 1. */
    { "__fadd_ru (1.0f, 0x1p-60f) == 1.0f + 0x1p-23f", "1" },
    { "__fadd_rd (-1.0f, -0x1p-60f) == -1.0f - 0x1p-23f", "1" },
    { "__fsub_rz (1.0f, 0x1p-60f) == 1.0f - 0x1p-24f", "1" },
    { "__dadd_ru (1.0, 0x1p-60) == 1.0 + 0x1p-52", "1" },
    { "__dadd_rn (1.0, 0x1p-60) + __dsub_rd (1.0, -0x1p-60)", "2" },
    { "__fmul_ru (0x1p-100f, 0x1p-100f) == 0x1p-149f", "1" },
    { "__fmul_rd (3e38f, 10.0f) == 0x1.fffffep127f", "1" },
    { "isinf (__dmul_rn (1e308, 10.0)) + isinf (__dmul_rz (1e308, 10.0))",
        "1" },
    { "(__ddiv_ru (1.0, 3.0) - __ddiv_rd (1.0, 3.0)) * 0x1p54", "1" },
    { "(__fdiv_ru (1.0f, 3.0f) - __frcp_rz (3.0f)) * 0x1p25", "1" },
    { "(__dsqrt_ru (2.0) - __dsqrt_rd (2.0)) * 0x1p52", "1" },
    { "(__fmaf_ru (two, two, 0x1p-60f) - 4.0f) * 0x1p21f", "1" },
    { "__fma_rz (2.0, 2.0, -0x1p-100) == 4.0 - 0x1p-51", "1" },
    { "__int2float_ru (16777217) - __int2float_rz (16777217)", "2" },
    { "__ull2float_rd (~0ull) == 0x1.fffffep63", "1" },
    { "__ll2double_ru (0x7fffffffffffffff) == 0x1p63", "1" },
    { "__double2float_ru (1.0 + 0x1p-50) == 1.0f + 0x1p-23f", "1" },
  };

  check_values ("__device__ volatile float two = 2;\n", table, 2);
}

TEST (launch_is_checked)
{
  CUmodule module = build ("__global__ void nothing (int a) { }\n");
  CUfunction f = find (module, "nothing");
  int a = 0, value, grid;
  void *params[] = { &a };
  void *missing[] = { NULL };

#define LAUNCH(gx, gy, bx, bz, shared, params, extra) \
  cu.cuLaunchKernel (f, gx, gy, 1, bx, 1, bz, shared, NULL, params, extra)
  ok (LAUNCH (1, 1, 1024, 1, 49152, params, NULL));
  invalid (LAUNCH (1, 1, 1025, 1, 0, params, NULL));
  invalid (LAUNCH (1, 1, 512, 3, 0, params, NULL));
  invalid (LAUNCH (1, 1, 0, 1, 0, params, NULL));
  invalid (LAUNCH (0, 1, 1, 1, 0, params, NULL));
  invalid (LAUNCH (1, 65536, 1, 1, 0, params, NULL));
  invalid (LAUNCH (1, 1, 1, 1, 49153, params, NULL));
  invalid (LAUNCH (1, 1, 1, 1, 0, NULL, NULL));
  invalid (LAUNCH (1, 1, 1, 1, 0, missing, NULL));
  invalid (LAUNCH (1, 1, 1, 1, 0, params, params));
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
  fails (LAUNCH (1, 1, 1, 1, 0, params, NULL), CUDA_ERROR_INVALID_HANDLE);
#undef LAUNCH
}

/* All arguments are in one buffer, at their offsets. */
TEST (arguments_in_a_buffer)
{
  CUmodule module = build ("__global__ void put (char c, double d, int *out)\n"
                           "{ *out = (int) (100 * d) + c; }\n");
  CUfunction f = find (module, "put");
  int *out = zeroed (4);
  struct {
    char c;
    double d;
    int *out;
  } buffer = { 3, 2.5, out };
  size_t size = sizeof buffer;
  void *extra[] = { (void *) 2, &size, (void *) 1, &buffer, NULL };
  void *unknown[] = { (void *) 9, &size, NULL };
  CUlaunchConfig config = { 1, 1, 1, 1, 1, 1, 0, NULL, NULL, 0 };

  ok (cu.cuLaunchKernel (f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
  buffer.c = 4; /* the launch has copied it */
  ok (cu.cuCtxSynchronize ());
  ck_assert_int_eq (*out, 253);
  ok (cu.cuLaunchKernelEx (&config, f, NULL, extra));
  ok (cu.cuCtxSynchronize ());
  ck_assert_int_eq (*out, 254);
  invalid (cu.cuLaunchKernelEx (&config, f, NULL, unknown));
  size = 20;
  invalid (cu.cuLaunchKernelEx (&config, f, NULL, extra));
  config.numAttrs = 1;
  fails (
      cu.cuLaunchKernelEx (&config, f, NULL, extra), CUDA_ERROR_NOT_SUPPORTED);
}

/* The functions that launched kernels before cuLaunchKernel() existed. */
TEST (old_launches)
{
  CUmodule module = build ("__global__ void add (float f, int n, int *out)\n"
                           "{ atomicAdd (out, (int) (2 * f) + n); }\n");
  CUfunction f = find (module, "add");
  int *out = zeroed (4);

  ok (cu.cuFuncSetBlockShape (f, 4, 2, 1));
  ok (cu.cuParamSetf (f, 0, 1.5f));
  ok (cu.cuParamSeti (f, 4, 2));
  ok (cu.cuParamSetv (f, 8, &out, sizeof out));
  ok (cu.cuParamSetSize (f, 16));
  ok (cu.cuLaunchGrid (f, 3, 2));
  ok (cu.cuCtxSynchronize ());
  ck_assert_int_eq (*out, 8 * 6 * 5);
  invalid (cu.cuFuncSetBlockShape (f, 0, 1, 1));
  invalid (cu.cuParamSetv (f, 4090, &out, 8));
}

TEST (launches_follow_their_stream)
{
  CUmodule module = build ("__global__ void twice (int *n) { *n = 2 * *n; }\n"
                           "__global__ void more (int *n) { *n = *n + 1; }\n");
  CUfunction twice = find (module, "twice"), more = find (module, "more");
  int *n = zeroed (4);
  void *params[] = { &n };
  CUstream stream = new_stream (CU_STREAM_NON_BLOCKING);

  for (int i = 0; i < 10; i++) {
    ok (cu.cuLaunchKernel (twice, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    ok (cu.cuLaunchKernel (more, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
  }
  ok (cu.cuModuleUnload (module)); /* waits for the kernel */
  ck_assert_int_eq (*n, 1023);
}

/* ---- modules ---- */

TEST (kernels_are_found)
{
  CUmodule module = build (
      "extern \"C\" {\n"
      "#define KERNEL(name) __global__ static void name (int *p) { *p = 1; }\n"
      "KERNEL (made_by_macro)\n"
      "__global__ void declared (int *);\n"
      "__global__ void declared (int *p) { *p = 2; }\n"
      "static __device__ void no_kernel (int *p) { *p = 3; }\n"
      "__attribute__ ((noinline)) __global__ void\n"
      "__launch_bounds__ (256, 2) bounded (int *p) { no_kernel (p); }\n"
      "static const char *text = \"__global__ void in_string ()\";\n"
      "static const char *raw = R\"x(__global__ \")\" void in_raw ())x\";\n"
      "/* __global__ void in_comment () */\n"
      "}\n");
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

/* Each module has its own variables. */
TEST (variables)
{
  static const char *const names[] = { "a", "b", "c", "d" };
  static const char source[] =
      "static __constant__ int a;\n"
      "__device__ static int b = 1;\n"
      "__constant__ int c[2];\n"
      "__device__ int d;\n"
      "static __device__ inline int sum () { return a + b + c[0] + d; }\n"
      "__global__ void k (int *out) { *out = sum (); }\n";
  CUmodule modules[] = { build (source), build (source) };
  int *out = zeroed (sizeof *out);

  for (int i = 0; i < 4; i++) {
    int value = 1 << 4 * i;
    CUdeviceptr variable;
    size_t size;

    ok (cu.cuModuleGetGlobal (&variable, &size, modules[0], names[i]));
    ck_assert_uint_eq (size, i == 2 ? 8 : 4);
    ok (cu.cuMemcpyHtoD (variable, &value, sizeof value));
  }
  ok (run (find (modules[0], "k"), 1, 1, 0, &out));
  ck_assert_int_eq (*out, 0x1111);
  ok (run (find (modules[1], "k"), 1, 1, 0, &out));
  ck_assert_int_eq (*out, 1);
}

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

TEST (foreign_images)
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
  invalid (cu.cuModuleLoadData (&module, NULL));
}

/* ---- the compiler ---- */

TEST (cplusplus)
{
  static const char source[] = "namespace a { namespace b {\n"
                               "__global__ void inner (int *p) { *p = 5; }\n"
                               "} }\n"
                               "template <typename T, int N>\n"
                               "__global__ void filled (T *p) { *p = N; }\n"
                               "__global__ void plain (int *p) { *p = 6; }\n";
  g_autofree char *ptx = NULL;
  nvrtcProgram program;
  CUmodule module;
  const char *name;
  int *value = zeroed (sizeof *value);
  size_t size;

  open_library ("libnvrtc.so"); /* some programs load it by this name */
  ok (nvrtcCreateProgram (&program, source, NULL, 0, NULL, NULL));
  ok (nvrtcAddNameExpression (program, "filled<int, 8>"));
  ok (nvrtcAddNameExpression (program, "&plain"));
  ck_assert (nvrtcGetLoweredName (program, "&plain", &name) != 0);
  ok (nvrtcCompileProgram (program, 0, NULL));
  ptx = take (program, nvrtcGetPTXSize, nvrtcGetPTX, &size);
  ok (cu.cuModuleLoadData (&module, ptx));
  ok (nvrtcGetLoweredName (program, "filled<int, 8>", &name));
  ok (run (find (module, name), 1, 1, 0, &value));
  ck_assert_int_eq (*value, 8);
  ok (nvrtcGetLoweredName (program, "&plain", &name));
  ck_assert_str_eq (name, "plain");
  ok (run (find (module, name), 1, 1, 0, &value));
  ck_assert_int_eq (*value, 6);
  ok (run (find (module, "inner"), 1, 1, 0, &value));
  ck_assert_int_eq (*value, 5);
  ck_assert (nvrtcGetLoweredName (program, "other", &name) != 0);
  ok (nvrtcDestroyProgram (&program));
}

/* Functions of the C library that NVRTC has. */
TEST (library)
{
  static const Expectation table[] = {
    { "hypot (3.0f, 4.0f) + sqrt (4.0) + pow ((float) n, 2)", "23" },
    { "abs (-0.5f) + abs (-n) + abs (-1ll) + fabs (-0.5)", "6" },
    { "isinf (1.0f / (n - 4)) + isnan (nanf (\"\"))", "2" },
    { "std::move (n) + std::initializer_list<int> { 1, 2 }.size ()", "6" },
  };

  check_values ("__device__ volatile int four = 4;\n"
                "#define n ((int) four)\n",
      table, 1);
}

/* Compiles a source with at most two options. The log contains the text. */
static void
check_compile (int expected, const char *source, const char *name,
    const char *option, const char *second, const char *text)
{
  static const char *const headers[] = { "#define BASE 40\n" };
  static const char *const names[] = { "some/where.h" };
  const char *options[] = { option, second };
  g_autofree char *log = NULL;
  nvrtcProgram program;
  size_t size;
  int result;

  ok (nvrtcCreateProgram (&program, source, name, 1, headers, names));
  result = nvrtcCompileProgram (
      program, (option != NULL) + (second != NULL), options);
  log = read_log (program);
  ck_assert_msg (result == expected, "%d: %s", result, log);
  ck_assert_msg (strstr (log, text) != NULL, "no %s in: %s", text, log);
  ck_assert_msg (strstr (log, "softcuda-build-") == NULL, "%s", log);
  ck_assert ((nvrtcGetCUBINSize (program, &size) == 0) == (result == 0));
  ok (nvrtcDestroyProgram (&program));
}

TEST (headers_and_options)
{
  static const char *const headers[] = { "" }, *const names[] = { "../x.h" };
  static const char beside[] = "#include \"x.h\"\n";
  static const char unknown[] = "--make-it-faster";
  g_autofree char *folder = g_dir_make_tmp ("softcuda-test-XXXXXX", NULL);
  g_autofree char *header = g_build_filename (folder, "x.h", NULL);
  g_autofree char *name = g_build_filename (folder, "kernel.cu", NULL);
  nvrtcProgram program;

  fails (nvrtcCreateProgram (&program, "", NULL, 1, headers, names),
      NVRTC_ERROR_INVALID_INPUT);
  check_compile (0,
      "#include <some/where.h>\nstatic_assert (BASE + MORE == 42, \"\");", NULL,
      "-D", "MORE=2", "");
  check_compile (0, "static_assert (X == 1, \"\");", NULL, "-DX=1", NULL, "");
  check_compile (0, "__device__ __int128 x;", NULL, "-device-int128", NULL, "");
  check_compile (NVRTC_ERROR_COMPILATION, "__device__ __int128 x;", NULL, NULL,
      NULL, "device_int128");
  check_compile (NVRTC_ERROR_INVALID_OPTION, "", NULL, unknown, NULL, unknown);
  check_compile (NVRTC_ERROR_INVALID_OPTION, "", NULL, "--std=c++42", NULL, "");

  ck_assert (g_file_set_contents (header, "const int x = 1;\n", -1, NULL));
  check_compile (0, beside, name, NULL, NULL, "");
  check_compile (NVRTC_ERROR_COMPILATION, beside, name, "--no-source-include",
      NULL, "x.h");
  g_unlink (header);
  ok (g_rmdir (folder));
}

/* A source that is wrong, and the line that the log names, or what it says. */
static const char *const wrong_sources[][2] = {
  { "\n\n__global__ void k (int *p)\n{\n  *p = nonsense;\n}\n",
      "my \"kernel\".cu:5:" },
  { "\n#include <no/such/header.h>\n", "my \"kernel\".cu:2:" },
  { "#include <stdlib.h>\n", "my \"kernel\".cu:1:" },
  { "#include <vector>\n", "my \"kernel\".cu:1:" },
  { "\n\n__device__ uint x;\n", "my \"kernel\".cu:3:" },
  { "\n__device__ void f () { memmove (0, 0, 0); }\n", "my \"kernel\".cu:2:" },
  { "\n__device__ void f (int n) { int a[n]; }\n", "my \"kernel\".cu:2:" },
  /* Functions and variables of the host. */
  { "\nvoid f ()\n{\n}\n", "my \"kernel\".cu:3:" },
  { "\nvoid f (int x);\n", "my \"kernel\".cu:2:" },
  { "namespace a { int b; }", "-default-device" },
  { "static int a[] = { 1, 2 };", "-default-device" },
#if __GNUC__ < 13 /* newer ones accept it: see README.md */
  { "template <class T> T f (T x) { return x; }", "-default-device" },
#endif
  { "constexpr int f () { return 1; }", "-default-device" },
  { "\n__host__ void f () { }", "my \"kernel\".cu:2:" },
  { "__global__ void k (int *p);\n", "k(int*)" },
  { "extern __shared__ float f[]\n;\n__global__ void k () { oops (); }\n",
      "my \"kernel\".cu:3:" },
};

/* Declarations that NVRTC takes without -default-device. */
TEST (declarations)
{
  check_compile (0,
      "const int a = 3; constexpr float b = 1; const float c[] = { 1, 2 };\n"
      "__device__ int d[] = { 1, 2 }; __constant__ int e; struct S { int a; "
      "};\n"
      "typedef void (*F) (int); using T = int; enum { X, Y };\n"
      "template <class U> __device__ U f (U x) { return x; }\n"
      "namespace n { __host__ __device__ int g () { return 1; } }\n"
      "extern \"C\" { __global__ void k (int *o) { *o = f (n::g ()); } }\n",
      "a.cu", NULL, NULL, "");
}

TEST_LOOP (compile_errors, G_N_ELEMENTS (wrong_sources))
{
  check_compile (NVRTC_ERROR_COMPILATION, wrong_sources[_i][0],
      "my \"kernel\".cu", NULL, NULL, wrong_sources[_i][1]);
}

TEST (no_compiler)
{
  static const char no_program[] = "no-such-compiler";
  g_autofree char *path = g_strdup (g_getenv ("PATH"));

  g_setenv ("PATH", "/proc/missing", TRUE);
  check_compile (
      NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, "", NULL, NULL, NULL, "g++");
  g_setenv ("PATH", path, TRUE);
  g_setenv ("SOFTCUDA_CXX", no_program, TRUE);
  check_compile (
      NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, "", NULL, NULL, NULL, no_program);
  g_unsetenv ("SOFTCUDA_CXX");
  check_compile (0, "", NULL, NULL, NULL, "");
}

/* ---- nvcc ---- */

/* With options that have no effect here. */
static int
run_nvcc (const char *folder, const char *option, char **output, char **errors)
{
  g_autofree char *command = g_strdup_printf (
      "'%s/nvcc' %s -DX=12345 --keep -O3 -lcudadevrt '%s/a.cu' "
      "-Xptxas -v -Xcompiler -fPIC -code=sm_90 -rdc=true -m64",
      g_getenv ("SOFTCUDA_DIR"), option, folder);
  int status;

  ck_assert (
      g_spawn_command_line_sync (command, output, errors, &status, NULL));
  return status;
}

TEST (nvcc)
{
  static const char *const kinds[] = { "cubin", "fatbin", "ptx" };
  g_autofree char *folder = g_dir_make_tmp ("softcuda-test-XXXXXX", NULL);
  g_autofree char *source = g_build_filename (folder, "a.cu", NULL);
  g_autofree char *output = NULL, *errors = NULL;

  ck_assert (g_file_set_contents (source,
      "extern \"C\" __global__ void k (int *out) { *out = X; }\n", -1, NULL));
  ok (run_nvcc (folder, "--preprocess", &output, NULL));
  ck_assert (strstr (output, "*out = 12345;") != NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++) {
    g_autofree char *option = g_strconcat ("--", kinds[i], NULL);
    g_autofree char *image = g_strconcat (folder, "/a.", kinds[i], NULL);
    g_autofree char *content = NULL;
    CUmodule module;

    ok (run_nvcc (folder, option, NULL, NULL));
    ck_assert (g_file_get_contents (image, &content, NULL, NULL));
    ok (cu.cuModuleLoadData (&module, content));
    find (module, "k");
    ok (g_remove (image));
  }
  ck_assert (g_file_set_contents (source, "nonsense;\n", -1, NULL));
  ck_assert_int_ne (run_nvcc (folder, "--cubin", NULL, &errors), 0);
  ck_assert (strstr (errors, "nonsense") != NULL);
  ok (g_remove (source));
  ok (g_rmdir (folder));
}

/* ---- folders of compilations ---- */

/* The number of files in TMPDIR that match the pattern. */
static int
count_files (const char *pattern)
{
  g_autofree char *path = g_build_filename (g_getenv ("TMPDIR"), pattern, NULL);
  glob_t found = { 0 };
  int n;

  glob (path, 0, NULL, &found);
  n = found.gl_pathc;
  globfree (&found);
  return n;
}

/* Compiles in another process, with a script that only sleeps, and returns when
 * n such compilers run. */
static pid_t
start_slow_compilation (const char *compiler, int n)
{
  pid_t child = fork ();

  ck_assert (child >= 0);
  if (child == 0) {
    nvrtcProgram program;

    g_setenv ("SOFTCUDA_CXX", compiler, TRUE);
    nvrtcCreateProgram (&program, "", NULL, 0, NULL, NULL);
    nvrtcCompileProgram (program, 0, NULL);
    _exit (0);
  }
  for (int i = 0; i < 1000 && count_files ("*/started") < n; i++)
    g_usleep (10000);
  ck_assert_int_eq (count_files ("*/started"), n);
  return child;
}

/* A killed process cannot remove its folder. The next compilation removes it,
 * but not the folder of a process that is still running. */
TEST (killed_compilations_leave_nothing)
{
  g_autofree char *folder = g_dir_make_tmp ("softcuda-test-XXXXXX", NULL);
  g_autofree char *compiler = g_build_filename (folder, "slow-compiler", NULL);
  pid_t killed, working;

  g_setenv ("TMPDIR", folder, TRUE);
  ck_assert (g_file_set_contents (compiler,
      "#!/bin/sh\n: > \"$TMPDIR/started\"\nexec sleep 20\n", -1, NULL));
  ok (g_chmod (compiler, 0700));
  killed = start_slow_compilation (compiler, 1);
  working = start_slow_compilation (compiler, 2);
  kill (killed, SIGKILL);
  waitpid (killed, NULL, 0);
  ck_assert_int_eq (count_files ("softcuda-build-*"), 2);
  build ("__global__ void k (int *p) { *p = 1; }");
  ck_assert_int_eq (count_files ("softcuda-build-*"), 1);
  kill (working, SIGKILL);
  waitpid (working, NULL, 0);
  check_compile (NVRTC_ERROR_COMPILATION, "nonsense", NULL, NULL, NULL, "");
  g_unlink (compiler);
  ok (g_rmdir (folder));
}
