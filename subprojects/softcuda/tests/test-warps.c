/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-warps.c: tests of functions of warps, of groups of threads, and of
 * clocks
 *
 * The expected results are those of CUDA's programming guide.
 */

#include <string.h>

#include "compiler.h"

/* An expression, and another one for the value that it must have in each lane
 * t. */
typedef struct {
  const char *expression;
  const char *expected;
} expectation;

/* Each thread stores the values of all expressions. */
static void
check_values (const expectation *table, size_t n, int block)
{
  int *results = g_new (int, 2 * n * block);
  GString *source =
      g_string_new ("extern \"C\" __global__ void test (int *out)\n"
                    "{\n"
                    "  const unsigned int all = 0xffffffffu;\n"
                    "  int t = threadIdx.x % 32;\n"
                    "  int lanes = min (32, blockDim.x + t - threadIdx.x);\n"
                    "  out += threadIdx.x;\n");

  for (size_t i = 0; i < n; i++)
    g_string_append_printf (source,
        "  out[%d] = (int) (%s);\n"
        "  out[%d] = (int) (%s);\n",
        (int) (2 * i * block), table[i].expression, (int) ((2 * i + 1) * block),
        table[i].expected);
  g_string_append (source, "}\n");
  run_test (source->str, 1, block, results, 2 * n * block * sizeof *results);
  for (size_t i = 0; i < n; i++)
    for (int t = 0; t < block; t++) {
      int value = results[2 * i * block + t];
      int expected = results[(2 * i + 1) * block + t];

      ck_assert_msg (value == expected, "%s of thread %d is %d, not %d",
          table[i].expression, t, value, expected);
    }
  g_string_free (source, TRUE);
  g_free (results);
}

/* ---- shuffles, votes and reductions ---- */

/* __shfl_xor_sync() can read from earlier groups of lanes, but not from later
 * ones. */
START_TEST (test_values)
{
  static const expectation table[] = {
    { "__shfl_sync (all, 10 * t, 5)", "50" },
    { "__shfl_sync (all, 10 * t, 37)", "50" },
    { "__shfl_sync (all, t, 9, 8)", "(t & ~7) + 1" },
    { "__shfl_up_sync (all, t, 3)", "t < 3 ? t : t - 3" },
    { "__shfl_up_sync (all, t, 3, 8)", "t % 8 < 3 ? t : t - 3" },
    { "__shfl_down_sync (all, t, 3, 16)", "t % 16 + 3 < 16 ? t + 3 : t" },
    { "__shfl_xor_sync (all, t, 1)", "t ^ 1" },
    { "__shfl_xor_sync (all, t, 8, 8)", "(t & 8) != 0 ? t ^ 8 : t" },
    { "__shfl_xor_sync (all, t + 0.5, 1) - 0.5", "t ^ 1" },
    { "__shfl_xor_sync (all, t + 0.5f, 1) - 0.5f", "t ^ 1" },
    { "__shfl_xor_sync (all, (1ll << 40) + t, 1) - (1ll << 40)", "t ^ 1" },
    { "__ballot_sync (all, t % 3 == 0)", "0x49249249" },
    { "__any_sync (all, t == 31)", "1" },
    { "__any_sync (all, t == 32)", "0" },
    { "__all_sync (all, t < 32)", "1" },
    { "__all_sync (all, t < 31)", "0" },
    { "__match_any_sync (all, t % 4)", "0x11111111u << t % 4" },
    { "({ int p; __match_all_sync (all, 7, &p) * p; })", "-1" },
    { "({ int p; __match_all_sync (all, t, &p) + p; })", "0" },
    { "__activemask ()", "-1" },
    { "__reduce_add_sync (all, t)", "31 * 16" },
    { "__reduce_min_sync (all, -t)", "-31" },
    { "__reduce_max_sync (all, -t)", "0" },
    { "__reduce_min_sync (all, (unsigned int) t)", "0" },
    { "__reduce_or_sync (all, 1u << t)", "-1" },
    { "__reduce_and_sync (all, 1u << t)", "0" },
    { "__reduce_xor_sync (all, (unsigned int) t)", "0" },
  };

  check_values (table, G_N_ELEMENTS (table), 64);
}
END_TEST;

/* The last warp of 40 threads has 8 lanes. A lane waits neither for lanes that
 * have returned, nor for lanes of another mask. */
START_TEST (test_incomplete_warps)
{
  static const expectation table[] = {
    { "__ballot_sync (all, 1)", "(1ull << lanes) - 1" },
    { "__reduce_add_sync (all, 1)", "lanes" },
  };
  int results[64];

  check_values (table, 2, 40);
  check_values (table, 2, 1);
  run_test ("extern \"C\" __global__ void test (int *out)\n"
            "{\n"
            "  int t = threadIdx.x;\n"
            "  if (t >= 24)\n"
            "    return;\n"
            "  out[t] = t < 16 ? __reduce_add_sync (0xffffu, t)\n"
            "                  : __reduce_add_sync (0xff0000u, t);\n"
            "  __syncwarp ();\n"
            "  out[t] += __shfl_sync (~0u, out[t], 23);\n"
            "}\n",
      1, 32, results, sizeof results);
  for (int i = 0; i < 24; i++)
    ck_assert_int_eq (results[i], (i < 16 ? 120 : 156) + 156);
}
END_TEST;

/* The lanes that take the same branch are active together. */
START_TEST (test_active_lanes)
{
  int results[64];

  run_test ("extern \"C\" __global__ void test (int *out)\n"
            "{\n"
            "  int t = threadIdx.x;\n"
            "  if (t % 4 == 1) {\n"
            "    unsigned int active = __activemask ();\n"
            "    int leader = __ffs (active) - 1;\n"
            "    int first = t == leader ? 1000 : 0;\n"
            "    out[t] = __shfl_sync (active, first, leader)\n"
            "             + __popc (active);\n"
            "  }\n"
            "  __syncwarp ();\n"
            "  out[t] += (int) __popc (__activemask ());\n"
            "}\n",
      1, 32, results, sizeof results);
  for (int i = 0; i < 32; i++)
    ck_assert_int_eq (results[i], i % 4 == 1 ? 1040 : 32);
}
END_TEST;

/* __syncwarp() orders accesses to memory. The warps of a block do not wait for
 * each other. */
START_TEST (test_warps_of_a_block)
{
  int results[64];

  run_test ("extern \"C\" __global__ void test (int *out)\n"
            "{\n"
            "  __shared__ int v[64];\n"
            "  int t = threadIdx.x;\n"
            "  v[t] = t;\n"
            "  for (int n = 16; n > 0; n /= 2) {\n"
            "    __syncwarp ();\n"
            "    int other = v[t ^ n];\n"
            "    __syncwarp ();\n"
            "    v[t] += other;\n"
            "  }\n"
            "  if (t < 32)\n"
            "    for (int i = 0; i < 3; i++)\n"
            "      v[t] = __shfl_down_sync (~0u, v[t], 1);\n"
            "  __syncthreads ();\n"
            "  out[t] = v[63 - t] + __syncthreads_count (t < 5);\n"
            "}\n",
      1, 64, results, sizeof results);
  for (int i = 0; i < 64; i++)
    ck_assert_int_eq (results[i], (i < 32 ? 1520 : 496) + 5);
}
END_TEST;

/* Older reductions exchange data through volatile memory, without
 * __syncwarp(). Before the last exchange, the lanes diverge. */
START_TEST (test_volatile_memory)
{
  int results[64];

  run_test ("struct pair {\n"
            "  int s;\n"
            "};\n"
            "template <int N> __device__ void fold (volatile int *s, int t)\n"
            "{\n"
            "  for (int n = N; n > 0; n /= 2)\n"
            "    s[t] += s[t + n];\n"
            "}\n"
            "extern \"C\" __global__ void test (int *out)\n"
            "{\n"
            "  __shared__ int sums[96];\n"
            "  int t = threadIdx.x;\n"
            "  pair p = { t };\n"
            "  sums[t] = p.s;\n"
            "  sums[64 + t % 32] = 0;\n"
            "  __syncthreads ();\n"
            "  if (t < 32) {\n"
            "    volatile int *mine = sums;\n"
            "    mine[t] = mine[t] + mine[t + 32];\n"
            "    fold<16> (mine, t);\n"
            "  } else {\n"
            "    __shared__ volatile int scan[64];\n"
            "    scan[t] = 1;\n"
            "    for (int n = 1; n < 32; n *= 2)\n"
            "      if (t - 32 >= n)\n"
            "        *(scan + t) = scan[t - n] + scan[t];\n"
            "    if (t % 2)\n"
            "      scan[t] += 1000;\n"
            "    out[t] = scan[t ^ 1];\n"
            "  }\n"
            "  if (t == 0)\n"
            "    out[t] = sums[0];\n"
            "}\n",
      1, 64, results, sizeof results);
  ck_assert_int_eq (results[0], 63 * 32);
  for (int i = 32; i < 64; i++)
    ck_assert_int_eq (results[i], (i ^ 1) - 31 + (i % 2 ? 0 : 1000));
}
END_TEST;

/* Code that hangs a GPU, or whose behaviour is undefined, is an error here. */
static void
check_failure (const char *body)
{
  char *source =
      g_strdup_printf ("__global__ void test (int *out) { %s }\n", body);
  CUdeviceptr out;
  CUcontext own;
  void *params[] = { &out };

  ok (cu.cuCtxCreate (&own, 0, 0));
  out = zeroed (4);
  fails (run (find (build (source), "test"), 1, 32, 0, params),
      CUDA_ERROR_LAUNCH_FAILED);
  ok (cu.cuCtxDestroy (own));
  g_free (source);
}

START_TEST (test_endless_waits)
{
  check_failure ("if (threadIdx.x == 3) __syncthreads (); else __syncwarp ();");
  check_failure ("__syncwarp (threadIdx.x < 16 ? 0x1ffff : ~0u);");
  check_failure ("__shfl_sync (1u, *out, 0);");
}
END_TEST;

/* ---- cooperative groups ---- */

START_TEST (test_groups)
{
  int results[64];

  run_test (
      "#include <cooperative_groups.h>\n"
      "namespace cg = cooperative_groups;\n"
      "extern \"C\" __global__ void test (int *out)\n"
      "{\n"
      "  __shared__ int first;\n"
      "  cg::thread_block block = cg::this_thread_block ();\n"
      "  auto tile = cg::tiled_partition<8> (block);\n"
      "  int v = block.thread_rank ();\n"
      "  if (v == 63) first = 1000;\n"
      "  block.sync ();\n"
      "  for (int n = tile.size () / 2; n > 0; n /= 2)\n"
      "    v += tile.shfl_down (v, n);\n"
      "  tile.sync ();\n"
      "  v = tile.shfl (v, 0);\n"
      "  v += first + 10000 * tile.meta_group_rank ()\n"
      "       + 1000000 * tile.thread_rank ();\n"
      "  if (tile.any (block.thread_rank () == 9)) v += 100000000;\n"
      "  if (tile.ballot (tile.thread_rank () == 2) != 4) v = -1;\n"
      "  if (!tile.all (tile.num_threads () == 8)) v = -2;\n"
      "  if (tile.shfl_xor (tile.thread_rank (), 7)\n"
      "      != 7 - tile.thread_rank ()) v = -3;\n"
      "  if (tile.shfl_up (tile.thread_rank (), 1)\n"
      "      != max ((int) tile.thread_rank () - 1, 0)) v = -4;\n"
      "  if (block.size () != 64) v = -5;\n"
      "  if (threadIdx.x % 2) {\n"
      "    cg::coalesced_group odd = cg::coalesced_threads ();\n"
      "    if (odd.size () != 16 || odd.thread_rank () != threadIdx.x % 32 / "
      "2\n"
      "        || odd.shfl (threadIdx.x, 2) != threadIdx.x / 32 * 32 + 5)\n"
      "      v = -6;\n"
      "  }\n"
      "  cg::sync (block);\n"
      "  out[block.thread_rank ()] = v;\n"
      "}\n",
      1, 64, results, sizeof results);
  for (int i = 0; i < 64; i++)
    ck_assert_int_eq (results[i], i / 8 * 64 + 28 + 1000 + i / 8 * 10000
                                      + i % 8 * 1000000
                                      + (i / 8 == 1) * 100000000);
}
END_TEST;

/* Tiles of a tile are counted within this tile, and other tiles within the
 * block. The counts are the same in a type that does not name the parent. */
START_TEST (test_tiles_of_tiles)
{
  int results[6 * 64];

  run_test (
      "#include <cooperative_groups.h>\n"
      "namespace cg = cooperative_groups;\n"
      "extern \"C\" __global__ void test (int *out)\n"
      "{\n"
      "  cg::thread_block block = cg::this_thread_block ();\n"
      "  auto warp = cg::tiled_partition<32> (block);\n"
      "  auto part = cg::tiled_partition<4> (warp);\n"
      "  cg::thread_block_tile<4> tile = cg::tiled_partition<4> (block);\n"
      "  cg::thread_block_tile<4> plain = part;\n"
      "  out += 6 * block.thread_rank ();\n"
      "  out[0] = part.meta_group_rank ();\n"
      "  out[1] = part.meta_group_size ();\n"
      "  out[2] = tile.meta_group_rank ();\n"
      "  out[3] = tile.meta_group_size ();\n"
      "  out[4] = plain.meta_group_rank ();\n"
      "  out[5] = plain.shfl (plain.meta_group_size (), 0);\n"
      "}\n",
      1, 64, results, sizeof results);
  for (int i = 0; i < 64; i++) {
    ck_assert_int_eq (results[6 * i], i % 32 / 4);
    ck_assert_int_eq (results[6 * i + 1], 8);
    ck_assert_int_eq (results[6 * i + 2], i / 4);
    ck_assert_int_eq (results[6 * i + 3], 16);
    ck_assert_int_eq (results[6 * i + 4], i % 32 / 4);
    ck_assert_int_eq (results[6 * i + 5], 8);
  }
}
END_TEST;

/* ---- clocks ---- */

/* Inline PTX may read special registers, and do nothing else. */
START_TEST (test_registers)
{
  int results[64];

  run_test ("extern \"C\" __global__ void test (int *out)\n"
            "{\n"
            "  unsigned int lane, below;\n"
            "  unsigned long long a, b;\n"
            "  asm (\"mov.u32 %0, %%laneid;\" : \"=r\" (lane));\n"
            "  asm volatile (\"mov.u32 %0, %%lanemask_lt;\"\n"
            "      : \"=r\"(below));\n"
            "  asm volatile (\"mov.u64 %0, %%globaltimer;\" : \"=l\"(a));\n"
            "  asm volatile (\"mov.u64 %0, %%globaltimer;\" : \"=l\"(b));\n"
            "  if (threadIdx.x < 3)\n"
            "    out[threadIdx.x] = lane + 10 * below;\n"
            "  else if (threadIdx.x == 37)\n"
            "    out[3] = lane, out[4] = __LINE__, out[5] = b >= a;\n"
            "}\n",
      1, 64, results, sizeof results);
  ck_assert_int_eq (results[1], 1 + 10);
  ck_assert_int_eq (results[2], 2 + 30);
  ck_assert_int_eq (results[3], 5);
  ck_assert_int_eq (results[4], 13);
  ck_assert_int_eq (results[5], 1);
}
END_TEST;

START_TEST (test_clocks)
{
  int results[64];

  run_test ("extern \"C\" __global__ void test (int *out)\n"
            "{\n"
            "  long long start = clock64 ();\n"
            "  clock_t begin = clock ();\n"
            "  unsigned long long ns = __nvvm_read_ptx_sreg_globaltimer ();\n"
            "  __nanosleep (2000000);\n"
            "  out[0] = (int) (clock64 () - start);\n"
            "  out[1] = (int) (clock () - begin);\n"
            "  out[2] = (int) (__nvvm_read_ptx_sreg_globaltimer () - ns);\n"
            "  float s, c;\n"
            "  sincos (0.5f, &s, &c);\n"
            "  out[3] = (int) rintf (1e6f * s);\n"
            "  sincosf (0.5f, &s, &c);\n"
            "  out[4] = (int) rintf (1e6f * c);\n"
            "}\n",
      1, 1, results, sizeof results);
  for (int i = 0; i < 3; i++)
    ck_assert_msg (results[i] >= 2000000, "%d", results[i]);
  ck_assert_int_eq (results[3], 479426);
  ck_assert_int_eq (results[4], 877583);
}
END_TEST;

/* A thread may wait in a loop for another thread of its block. */
START_TEST (test_nanosleep_lets_others_run)
{
  int results[64];

  run_test ("extern \"C\" __global__ void test (int *out)\n"
            "{\n"
            "  __shared__ volatile int flag;\n"
            "  if (threadIdx.x == 0)\n"
            "    flag = 0;\n"
            "  __syncthreads ();\n"
            "  if (threadIdx.x == 40)\n"
            "    flag = 1;\n"
            "  while (flag == 0)\n"
            "    __nanosleep (100);\n"
            "  out[threadIdx.x] = flag;\n"
            "}\n",
      1, 64, results, sizeof results);
  for (int i = 0; i < 64; i++)
    ck_assert_int_eq (results[i], 1);
}
END_TEST;

static Suite *
softcuda_warps_suite (void)
{
  Suite *s = suite_create ("softcuda-warps");
  TCase *tc = tcase_create ("warps");

  suite_add_tcase (s, tc);
  tcase_add_checked_fixture (tc, setup, teardown_context);
  tcase_add_test (tc, test_values);
  tcase_add_test (tc, test_incomplete_warps);
  tcase_add_test (tc, test_active_lanes);
  tcase_add_test (tc, test_warps_of_a_block);
  tcase_add_test (tc, test_volatile_memory);
  tcase_add_test (tc, test_endless_waits);
  tcase_add_test (tc, test_groups);
  tcase_add_test (tc, test_tiles_of_tiles);
  tcase_add_test (tc, test_registers);
  tcase_add_test (tc, test_clocks);
  tcase_add_test (tc, test_nanosleep_lets_others_run);
  return s;
}

TEST_MAIN (softcuda_warps);
