/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * compiler.h: compiles and runs kernels for the tests
 */

#ifndef TEST_SOFTCUDA_COMPILER_H
#define TEST_SOFTCUDA_COMPILER_H

#include "driver.h"
#include "nvrtc-private.h"

/* What the two functions give of a program. */
static inline char *
take (nvrtcProgram program, nvrtcResult (*get_size) (nvrtcProgram, size_t *),
    nvrtcResult (*get) (nvrtcProgram, char *), size_t *size)
{
  char *bytes;

  ok (get_size (program, size));
  bytes = g_malloc (*size);
  ok (get (program, bytes));
  return bytes;
}

static inline char *
read_log (nvrtcProgram program)
{
  size_t size;
  char *log = take (program, nvrtcGetProgramLogSize, nvrtcGetProgramLog, &size);

  ck_assert_uint_eq (strlen (log) + 1, size);
  return log;
}

/* Compiles a source, without a warning. Returns the image. */
static inline char *
make_image (const char *source, size_t *size)
{
  static const char *const options[] = { "--gpu-architecture=sm_90",
    "--std=c++17", "-default-device" };
  nvrtcProgram program;
  char *image;
  g_autofree char *log = NULL;
  int result;

  ok (nvrtcCreateProgram (&program, source, "test.cu", 0, NULL, NULL));
  result = nvrtcCompileProgram (program, 3, options);
  log = read_log (program);
  ck_assert_msg (result == 0, "%d: %s", result, log);
  ck_assert_str_eq (log, "");
  image = take (program, nvrtcGetCUBINSize, nvrtcGetCUBIN, size);
  ok (nvrtcDestroyProgram (&program));
  return image;
}

static inline CUmodule
build (const char *source)
{
  size_t size;
  g_autofree char *image = make_image (source, &size);
  CUmodule module;

  ok (cu.cuModuleLoadData (&module, image));
  return module;
}

static inline CUfunction
find (CUmodule module, const char *name)
{
  CUfunction function;

  ok (cu.cuModuleGetFunction (&function, module, name));
  return function;
}

/* Runs the function with one-dimensional grids and blocks, and waits. The
 * further arguments are the addresses of the kernel's. */
#define run(function, grid, block, shared, ...) \
  run_with (function, grid, block, shared, (void *[]){ __VA_ARGS__ })

static inline CUresult
run_with (CUfunction function, int grid, int block, int shared, void **params)
{
  ok (cu.cuLaunchKernel (
      function, grid, 1, 1, block, 1, 1, shared, NULL, params, NULL));
  return cu.cuCtxSynchronize ();
}

/* Runs the kernel "test" of a source. Returns its results, of this size. */
static inline void *
run_test (const char *source, int grid, int block, size_t size)
{
  void *out = zeroed (size);

  ok (run (find (build (source), "test"), grid, block, 0, &out));
  return out;
}

/* An expression, and another one for the value that it must have in each thread
 * i, which is lane t of its warp. The warp has so many lanes. */
typedef struct {
  const char *expression;
  const char *expected;
} Expectation;

/* Compiles all expressions in one kernel, behind the head. */
#define check_values(head, table, block) \
  check_table (head, table, G_N_ELEMENTS (table), block)

static inline void
check_table (const char *head, const Expectation *table, int n, int block)
{
  g_autoptr (GString) source = g_string_new (head);
  double *values;

  g_string_append (source, "extern \"C\" __global__ void test (double *out)\n"
                           "{\n"
                           "  const unsigned int all = 0xffffffffu;\n"
                           "  int i = threadIdx.x, t = i % 32, lanes = min "
                           "(32, blockDim.x + t - i);\n"
                           "  out += i;\n");
  for (int k = 0; k < n; k++)
    g_string_append_printf (source,
        "  out[%d] = (double) (%s);\n  out[%d] = (double) (%s);\n",
        2 * k * block, table[k].expression, (2 * k + 1) * block,
        table[k].expected);
  g_string_append (source, "}\n");
  values = run_test (source->str, 1, block, 2 * n * block * sizeof *values);
  for (int k = 0; k < n; k++, values += 2 * block)
    for (int i = 0; i < block; i++)
      ck_assert_msg (values[i] == values[block + i],
          "%s of thread %d is %.9g, not %.9g", table[k].expression, i,
          values[i], values[block + i]);
}

#endif /* TEST_SOFTCUDA_COMPILER_H */
