/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * compiler.h: loads softcuda's libnvrtc, and compiles and runs kernels for the
 * tests
 */

#ifndef TEST_SOFTCUDA_COMPILER_H
#define TEST_SOFTCUDA_COMPILER_H

#include "driver.h"

typedef struct nvrtc_program *nvrtcProgram;

enum {
  INVALID_INPUT = 3,
  INVALID_OPTION = 5,
  COMPILATION = 6,
  NO_COMPILER = 7
};

static int (*create) (nvrtcProgram *program, const char *source,
    const char *name, int n, const char *const *headers,
    const char *const *names);
static int (*destroy) (nvrtcProgram *program);
static int (*compile) (nvrtcProgram program, int n, const char *const *options);
static int (*image_size) (nvrtcProgram program, size_t *size);
static int (*get_image) (nvrtcProgram program, char *image);
static int (*log_size) (nvrtcProgram program, size_t *size);
static int (*get_log) (nvrtcProgram program, char *log);
static int (*add_expression) (nvrtcProgram program, const char *expression);
static int (*lowered_name) (
    nvrtcProgram program, const char *expression, const char **name);

static inline void
load_compiler (void)
{
  void *library = open_library ("libnvrtc.so.13");

  *(void **) &create = find_symbol (library, "nvrtcCreateProgram");
  *(void **) &destroy = find_symbol (library, "nvrtcDestroyProgram");
  *(void **) &compile = find_symbol (library, "nvrtcCompileProgram");
  *(void **) &image_size = find_symbol (library, "nvrtcGetCUBINSize");
  *(void **) &get_image = find_symbol (library, "nvrtcGetCUBIN");
  *(void **) &log_size = find_symbol (library, "nvrtcGetProgramLogSize");
  *(void **) &get_log = find_symbol (library, "nvrtcGetProgramLog");
  *(void **) &add_expression = find_symbol (library, "nvrtcAddNameExpression");
  *(void **) &lowered_name = find_symbol (library, "nvrtcGetLoweredName");
}

static inline void
setup (void)
{
  load_compiler ();
  setup_context ();
}

static inline char *
read_log (nvrtcProgram program)
{
  size_t size;
  char *log;

  ck_assert_int_eq (log_size (program, &size), 0);
  log = g_malloc (size);
  ck_assert_int_eq (get_log (program, log), 0);
  ck_assert_uint_eq (strlen (log) + 1, size);
  return log;
}

static inline char *
take_image (nvrtcProgram program)
{
  size_t size;
  char *image;

  ck_assert_int_eq (image_size (program, &size), 0);
  image = g_malloc (size);
  ck_assert_int_eq (get_image (program, image), 0);
  return image;
}

static inline CUmodule
load_image (nvrtcProgram program)
{
  char *image = take_image (program);
  CUmodule module;

  ok (cu.cuModuleLoadData (&module, image));
  g_free (image);
  return module;
}

static inline CUmodule
build_text (const char *text)
{
  static const char *const options[] = { "--gpu-architecture=sm_90",
    "--std=c++17", "-default-device" };
  nvrtcProgram program;
  CUmodule module;
  char *log;
  int result;

  ck_assert_int_eq (create (&program, text, "test.cu", 0, NULL, NULL), 0);
  result = compile (program, 3, options);
  log = read_log (program);
  ck_assert_msg (result == 0, "%d: %s", result, log);
  ck_assert_str_eq (log, "");
  module = load_image (program);
  ck_assert_int_eq (destroy (&program), 0);
  g_free (log);
  return module;
}

/* Compiles in the same way as cudafilter, with C linkage. */
static inline CUmodule
build (const char *source)
{
  char *wrapped = g_strdup_printf ("extern \"C\" {\n%s\n}\n", source);
  CUmodule module = build_text (wrapped);

  g_free (wrapped);
  return module;
}

static inline CUfunction
find (CUmodule module, const char *name)
{
  CUfunction function;

  ok (cu.cuModuleGetFunction (&function, module, name));
  return function;
}

/* Runs the function with one-dimensional grids and blocks, and waits. */
static inline CUresult
run (CUfunction function, int grid, int block, int shared, void **params)
{
  ok (cu.cuLaunchKernel (
      function, grid, 1, 1, block, 1, 1, shared, NULL, params, NULL));
  return cu.cuCtxSynchronize ();
}

static inline CUdeviceptr
zeroed (size_t size)
{
  CUdeviceptr pointer;

  ok (cu.cuMemAlloc (&pointer, size));
  ok (cu.cuMemsetD8 (pointer, 0, size));
  ok (cu.cuCtxSynchronize ());
  return pointer;
}

/* Runs the kernel "test" of a source, which stores results of this size. */
static inline void
run_test (const char *source, int grid, int block, void *results, size_t size)
{
  CUmodule module = build_text (source);
  CUdeviceptr out = zeroed (size);
  void *params[] = { &out };

  ok (run (find (module, "test"), grid, block, 0, params));
  ok (cu.cuMemcpyDtoH (results, out, size));
  ok (cu.cuMemFree (out));
  ok (cu.cuModuleUnload (module));
}

#endif /* TEST_SOFTCUDA_COMPILER_H */
