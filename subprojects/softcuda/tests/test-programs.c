/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-programs.c: tests of what programs need that were written for a GPU
 */

#include <glib/gstdio.h>
#include <string.h>

#include "compiler.h"

/* ---- the device ---- */

START_TEST (test_every_attribute_has_a_value)
{
  int value;

  for (int i = 1; i < 140; i++)
    ok (cu.cuDeviceGetAttribute (&value, i, 0));
  ok (cu.cuDeviceGetAttribute (&value, 5, 0)); /* the width of a grid */
  ck_assert_int_eq (value, 2147483647);
  ok (cu.cuDeviceGetAttribute (&value, 13, 0)); /* kHz */
  ck_assert_int_eq (value, 1000000);
  fails (cu.cuDeviceGetAttribute (&value, 0, 0), CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuDeviceGetAttribute (&value, 9999, 0), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST (test_contexts_of_newer_headers)
{
  CUctxCreateParams params = { NULL, 0, NULL };
  CUcontext context;

  ok (cu.cuCtxCreate_v4 (&context, NULL, 0, 0));
  ok (cu.cuCtxDestroy (context));
  ok (cu.cuCtxCreate_v4 (&context, &params, 0, 0));
  ok (cu.cuCtxDestroy (context));
  ok (cu.cuCtxCreate_v3 (&context, NULL, 0, 0, 0));
  ok (cu.cuCtxDestroy (context));
  params.numExecAffinityParams = 1;
  fails (cu.cuCtxCreate_v4 (&context, &params, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
}
END_TEST

/* ---- sources ---- */

START_TEST (test_header_beside_the_source)
{
  static const char *const without[] = { "--no-source-include" };
  char *folder = g_dir_make_tmp ("softcuda-test-XXXXXX", NULL);
  char *header = g_build_filename (folder, "x.h", NULL);
  char *name = g_build_filename (folder, "kernel.cu", NULL);
  nvrtcProgram program;

  ck_assert (g_file_set_contents (header, "#define X 7\n", -1, NULL));
  ck_assert_int_eq (create (&program,
                        "#include \"x.h\"\n"
                        "static_assert (X == 7, \"\");\n",
                        name, 0, NULL, NULL),
      0);
  ck_assert_int_eq (compile (program, 0, NULL), 0);
  ck_assert_int_eq (compile (program, 1, without), COMPILATION);
  ck_assert_int_eq (destroy (&program), 0);
  ck_assert_int_eq (g_remove (header), 0);
  ck_assert_int_eq (g_rmdir (folder), 0);
  g_free (name);
  g_free (header);
  g_free (folder);
}
END_TEST

START_TEST (test_variables)
{
  static const char *const names[] = { "a", "b", "c", "d" };
  CUmodule module = build_text (
      "static __constant__ int a;\n"
      "__device__ static int b = 1;\n"
      "__constant__ int c[2];\n"
      "__device__ int d;\n"
      "static __device__ inline int sum () { return a + b + c[0] + d; }\n"
      "extern \"C\" __global__ void k (int *out) { *out = sum (); }\n");
  CUdeviceptr out = zeroed (sizeof (int));
  void *params[] = { &out };
  int sum;

  for (int i = 0; i < 4; i++) {
    int value = 1 << 4 * i;
    CUdeviceptr variable;
    size_t size;

    ok (cu.cuModuleGetGlobal (&variable, &size, module, names[i]));
    ck_assert_uint_eq (size, i == 2 ? 8 : 4);
    ok (cu.cuMemcpyHtoD (variable, &value, sizeof value));
  }
  ok (run (find (module, "k"), 1, 1, 0, params));
  ok (cu.cuMemcpyDtoH (&sum, out, sizeof sum));
  ck_assert_int_eq (sum, 0x1111);
}
END_TEST

/* ---- kernels ---- */

/* Sums of four threads by groups of any size, and by a reduction; atomic
 * functions with a scope. */
START_TEST (test_groups_and_scopes)
{
  int seen[65];

  run_test ("#include <cooperative_groups.h>\n"
            "#include <cooperative_groups/reduce.h>\n"
            "namespace cg = cooperative_groups;\n"
            "__device__ int shared_sum (cg::thread_group g, int v)\n"
            "{\n"
            "  static __shared__ int sums[32];\n"
            "  int first = threadIdx.x - g.thread_rank ();\n"
            "  sums[threadIdx.x] = v;\n"
            "  g.sync ();\n"
            "  int sum = 0;\n"
            "  for (unsigned int i = 0; i < g.size (); i++)\n"
            "    sum += sums[first + i];\n"
            "  return sum;\n"
            "}\n"
            "extern \"C\" __global__ void test (int *out)\n"
            "{\n"
            "  int i = threadIdx.x;\n"
            "  cg::thread_group block = cg::this_thread_block ();\n"
            "  cg::thread_group part = cg::tiled_partition (block, 4);\n"
            "  out[i] = shared_sum (part, i);\n"
            "  auto tile = cg::tiled_partition<4> (cg::this_thread_block ());\n"
            "  int sum = cg::reduce (tile, i, cg::plus<int> ());\n"
            "  int least = cg::reduce (tile, i, cg::less<int> ());\n"
            "  int most = cg::reduce (tile, i, cg::greater<int> ());\n"
            "  out[32 + i] = most == least + 3 ? sum : -1;\n"
            "  atomicAdd_system (out + 64, 1);\n"
            "  atomicMax_block (out + 64, -1);\n"
            "  atomicCAS_system (out + 64, 99, 0);\n"
            "}\n",
      1, 32, seen, sizeof seen);
  for (int i = 0; i < 64; i++)
    ck_assert_int_eq (seen[i], 4 * (i & 28) + 6);
  ck_assert_int_eq (seen[64], 32);
}
END_TEST

/* ---- nvcc ---- */

/* With options that have no effect here. */
static int
run_nvcc (const char *folder, const char *option, char **output)
{
  char *nvcc = g_build_filename (g_getenv ("SOFTCUDA_DIR"), "nvcc", NULL);
  char *source = g_build_filename (folder, "a.cu", NULL);
  char *command =
      g_strjoin (" ", nvcc, option, "-DX=12345 --keep -O3 -lcudadevrt", source,
          "-Xptxas -v -Xcompiler -fPIC -code=sm_90 -rdc=true -m64", NULL);
  char **arguments = g_strsplit (command, " ", -1);
  int status;

  ck_assert (g_spawn_sync (NULL, arguments, NULL, G_SPAWN_DEFAULT, NULL, NULL,
      output, NULL, &status, NULL));
  g_strfreev (arguments);
  g_free (command);
  g_free (source);
  g_free (nvcc);
  return status;
}

START_TEST (test_nvcc)
{
  static const char *const kinds[] = { "cubin", "fatbin", "ptx" };
  char *folder = g_dir_make_tmp ("softcuda-test-XXXXXX", NULL);
  char *source = g_build_filename (folder, "a.cu", NULL);
  char *output;

  ck_assert (g_file_set_contents (source,
      "extern \"C\" __global__ void k (int *out) { *out = X; }\n", -1, NULL));
  ck_assert_int_eq (run_nvcc (folder, "--preprocess", &output), 0);
  ck_assert (strstr (output, "*out = 12345;") != NULL);
  g_free (output);
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++) {
    char *option = g_strconcat ("--", kinds[i], NULL);
    char *image = g_strconcat (folder, "/a.", kinds[i], NULL);
    char *content;
    CUmodule module;

    ck_assert_int_eq (run_nvcc (folder, option, NULL), 0);
    ck_assert (g_file_get_contents (image, &content, NULL, NULL));
    ok (cu.cuModuleLoadData (&module, content));
    find (module, "k");
    ck_assert_int_eq (g_remove (image), 0);
    g_free (content);
    g_free (image);
    g_free (option);
  }
  ck_assert (g_file_set_contents (source, "nonsense;\n", -1, NULL));
  ck_assert_int_ne (run_nvcc (folder, "--cubin", NULL), 0);
  ck_assert_int_eq (g_remove (source), 0);
  ck_assert_int_eq (g_rmdir (folder), 0);
  g_free (source);
  g_free (folder);
}
END_TEST

static Suite *
programs_suite (void)
{
  Suite *s = suite_create ("softcuda-programs");
  TCase *tc = tcase_create ("programs");

  tcase_add_checked_fixture (tc, setup, teardown_context);
  tcase_add_test (tc, test_every_attribute_has_a_value);
  tcase_add_test (tc, test_contexts_of_newer_headers);
  tcase_add_test (tc, test_header_beside_the_source);
  tcase_add_test (tc, test_variables);
  tcase_add_test (tc, test_groups_and_scopes);
  tcase_add_test (tc, test_nvcc);
  suite_add_tcase (s, tc);
  return s;
}

TEST_MAIN (programs);
