/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-warps.c: tests of functions of warps, of groups of threads, and of
 * clocks
 *
 * The expected results are those of CUDA's programming guide.
 */

#include "compiler.h"

FIXTURE (setup_context, teardown_context);

/* ---- shuffles, votes and reductions ---- */

/* __shfl_xor_sync() can read from earlier groups of lanes, but not from later
 * ones. */
TEST (values)
{
  static const Expectation table[] = {
    { "__shfl_sync (all, 10 * t, 5)", "50" },
    { "__shfl_sync (all, 10 * t, 37)", "50" },
    { "__shfl_sync (all, t, 9, 8)", "(t & ~7) + 1" },
    { "__shfl_up_sync (all, t, 3)", "t < 3 ? t : t - 3" },
    { "__shfl_up_sync (all, t, 3, 8)", "t % 8 < 3 ? t : t - 3" },
    { "__shfl_down_sync (all, t, 3, 16)", "t % 16 + 3 < 16 ? t + 3 : t" },
    { "__shfl_xor_sync (all, t, 1)", "t ^ 1" },
    { "__shfl_xor_sync (all, t, 8, 8)", "(t & 8) != 0 ? t ^ 8 : t" },
    { "__shfl_xor_sync (all, t + 0.5, 1)", "(t ^ 1) + 0.5" },
    { "__shfl_xor_sync (all, t + 0.5f, 1)", "(t ^ 1) + 0.5" },
    { "__shfl_xor_sync (all, (1ll << 40) + t, 1)", "(1ll << 40) + (t ^ 1)" },
    { "__ballot_sync (all, t % 3 == 0)", "0x49249249" },
    { "__any_sync (all, t == 31)", "1" },
    { "__any_sync (all, t == 32)", "0" },
    { "__all_sync (all, t < 32)", "1" },
    { "__all_sync (all, t < 31)", "0" },
    { "__match_any_sync (all, t % 4)", "0x11111111u << t % 4" },
    { "({ int p; __match_all_sync (all, 7, &p) * p; })", "all" },
    { "({ int p; __match_all_sync (all, t, &p) + p; })", "0" },
    { "__activemask ()", "all" },
    { "__reduce_add_sync (all, t)", "31 * 16" },
    { "__reduce_min_sync (all, -t)", "-31" },
    { "__reduce_max_sync (all, -t)", "0" },
    { "__reduce_min_sync (all, (unsigned int) t)", "0" },
    { "__reduce_or_sync (all, 1u << t)", "all" },
    { "__reduce_and_sync (all, 1u << t)", "0" },
    { "__reduce_xor_sync (all, (unsigned int) t)", "0" },
  };

  check_values ("", table, 64);
}

/* The last warp of 40 threads has 8 lanes. A lane waits neither for lanes that
 * have returned, nor for lanes of another mask. */
TEST (incomplete_warps)
{
  static const Expectation table[] = {
    { "__ballot_sync (all, 1)", "(1ull << lanes) - 1" },
    { "__reduce_add_sync (all, 1)", "lanes" },
  };
  const int *seen;

  check_values ("", table, 40);
  check_values ("", table, 1);
  seen = run_test ("__global__ void test (int *out)\n"
                   "{\n"
                   "  int t = threadIdx.x;\n"
                   "  if (t >= 24)\n"
                   "    return;\n"
                   "  out[t] = t < 16 ? __reduce_add_sync (0xffffu, t)\n"
                   "                  : __reduce_add_sync (0xff0000u, t);\n"
                   "  __syncwarp ();\n"
                   "  out[t] += __shfl_sync (~0u, out[t], 23);\n"
                   "}\n",
      1, 32, 32 * sizeof *seen);
  for (int i = 0; i < 24; i++)
    ck_assert_int_eq (seen[i], (i < 16 ? 120 : 156) + 156);
}

/* The lanes that take the same branch are active together. */
TEST (active_lanes)
{
  static const Expectation table[] = {
    { "({ unsigned int a = 0; if (t % 4 == 1) a = __activemask (); a; })",
        "t % 4 == 1 ? 0x22222222 : 0" },
    { "({ __syncwarp (); __activemask (); })", "all" },
  };

  check_values ("", table, 32);
}

/* __syncwarp() orders accesses to memory. The warps of a block do not wait for
 * each other. */
TEST (warps_of_a_block)
{
  static const Expectation table[] = {
    { "exchange (i)", "(i < 32 ? 1520 : 496) + 5" },
  };

  check_values ("__device__ int exchange (int t)\n"
                "{\n"
                "  static __shared__ int v[64];\n"
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
                "  return v[63 - t] + __syncthreads_count (t < 5);\n"
                "}\n",
      table, 64);
}

/* Older reductions exchange data through volatile memory, without
 * __syncwarp(). Before the last exchange, the lanes diverge. Lanes that diverge
 * in a loop meet again at the end of its body. */
TEST (volatile_memory)
{
  static const Expectation table[] = {
    { "fold_or_scan (i)",
        "i >= 32 ? (i ^ 1) - 31 + (i % 2 ? 0 : 1000) : i > 0 ? 0 : 63 * 32" },
    { "sum_of_neighbour (i)", "4 * (t ^ 1) + (t % 2 ? 0 : 6)" },
  };

  check_values (
      "struct pair {\n"
      "  int s;\n"
      "};\n"
      "template <int N> __device__ void fold (volatile int *s, int t)\n"
      "{\n"
      "  for (int n = N; n > 0; n /= 2)\n"
      "    s[t] += s[t + n];\n"
      "}\n"
      "__device__ int fold_or_scan (int t)\n"
      "{\n"
      "  static __shared__ int sums[96];\n"
      "  pair p = { t };\n"
      "  sums[t] = p.s;\n"
      "  sums[64 + t % 32] = 0;\n"
      "  __syncthreads ();\n"
      "  if (t < 32) {\n"
      "    volatile int *mine = sums;\n"
      "    mine[t] = mine[t] + mine[t + 32];\n"
      "    fold<16> (mine, t);\n"
      "    return t == 0 ? sums[0] : 0;\n"
      "  }\n"
      "  static __shared__ volatile int scan[64];\n"
      "  scan[t] = 1;\n"
      "  for (int n = 1; n < 32; n *= 2)\n"
      "    if (t - 32 >= n)\n"
      "      *(scan + t) = scan[t - n] + scan[t];\n"
      "  if (t % 2)\n"
      "    scan[t] += 1000;\n"
      "  return scan[t ^ 1];\n"
      "}\n"
      "__device__ int sum_of_neighbour (int i)\n"
      "{\n"
      "  static __shared__ volatile int v[64];\n"
      "  int sum = 0;\n"
      "  v[i] = i % 32;\n"
      "  for (int n = 0; n < 4; n++) {\n"
      "    sum += v[i ^ 1];\n"
      "    if (i % 2)\n"
      "      v[i] += 1;\n"
      "  }\n"
      "  return sum;\n"
      "}\n",
      table, 64);
}

/* Code that hangs a GPU, or whose behaviour is undefined, is an error here. */
static const char *const endless_waits[] = {
  "if (threadIdx.x == 3) __syncthreads (); else __syncwarp ();",
  "__syncwarp (threadIdx.x < 16 ? 0x1ffff : ~0u);",
  "__shfl_sync (1u, *out, 0);",
};

TEST_LOOP (endless_waits, G_N_ELEMENTS (endless_waits))
{
  g_autofree char *source = g_strdup_printf (
      "__global__ void test (int *out) { %s }\n", endless_waits[_i]);
  CUcontext own;
  int *out;

  ok (cu.cuCtxCreate (&own, 0, 0));
  out = zeroed (4);
  fails (run (find (build (source), "test"), 1, 32, 0, &out),
      CUDA_ERROR_LAUNCH_FAILED);
  ok (cu.cuCtxDestroy (own));
}

/* ---- cooperative groups ---- */

/* Tiles of a tile are counted within this tile, and other tiles within the
 * block. The counts are the same in a type that does not name the parent. */
TEST (groups)
{
  static const Expectation table[] = {
    { "block ().size ()", "64" },
    { "block ().thread_rank ()", "i" },
    { "tile ().size () + tile ().num_threads ()", "16" },
    { "tile ().thread_rank ()", "i % 8" },
    { "tile ().meta_group_rank ()", "i / 8" },
    { "tile ().meta_group_size ()", "8" },
    { "tile ().shfl (t, 3)", "t / 8 * 8 + 3" },
    { "tile ().shfl_down (t, 2)", "t % 8 < 6 ? t + 2 : t" },
    { "tile ().shfl_up (t, 1)", "t % 8 == 0 ? t : t - 1" },
    { "tile ().shfl_xor (t, 7)", "t ^ 7" },
    { "tile ().any (i == 9)", "i / 8 == 1" },
    { "tile ().all (i != 9)", "i / 8 != 1" },
    { "tile ().ballot (tile ().thread_rank () == 2)", "4" },
    { "of_warp ().meta_group_rank ()", "t / 4" },
    { "of_warp ().meta_group_size ()", "8" },
    { "plain (of_warp ()).meta_group_rank ()", "t / 4" },
    { "plain (of_warp ()).shfl (plain (of_warp ()).meta_group_size (), 0)",
        "8" },
    { "shared_sum (cg::tiled_partition (block (), 4), i)", "i / 4 * 16 + 6" },
    { "shared_sum (tile (), i)", "i / 8 * 64 + 28" },
    { "shared_sum (block (), i)", "63 * 32" },
    { "cg::reduce (tile (), i, cg::plus<int> ())", "i / 8 * 64 + 28" },
    { "cg::reduce (tile (), i, cg::less<int> ())", "i / 8 * 8" },
    { "cg::reduce (tile (), i, cg::greater<int> ())", "i / 8 * 8 + 7" },
    { "odd (&cg::coalesced_group::size)", "i % 2 ? 16 : 0" },
    { "odd (&cg::coalesced_group::thread_rank)", "i % 2 ? t / 2 : 0" },
    { "({ int v = 0; if (i % 2) v = cg::coalesced_threads ().shfl (i, 2); v; "
      "})",
        "i % 2 ? i / 32 * 32 + 5 : 0" },
  };

  check_values (
      "#include <cooperative_groups.h>\n"
      "#include <cooperative_groups/reduce.h>\n"
      "namespace cg = cooperative_groups;\n"
      "__device__ cg::thread_block block ()\n"
      "{ return cg::this_thread_block (); }\n"
      "__device__ auto tile () { return cg::tiled_partition<8> (block ()); }\n"
      "__device__ auto of_warp ()\n"
      "{ return cg::tiled_partition<4> (cg::tiled_partition<32> (block ())); "
      "}\n"
      "__device__ auto plain (cg::thread_block_tile<4> tile) { return tile; }\n"
      "template <typename F> __device__ unsigned int odd (F f)\n"
      "{ return threadIdx.x % 2 ? (cg::coalesced_threads ().*f) () : 0; }\n"
      "__device__ int shared_sum (cg::thread_group g, int v)\n"
      "{\n"
      "  static __shared__ int sums[64];\n"
      "  int first = threadIdx.x - g.thread_rank (), sum = 0;\n"
      "  sums[threadIdx.x] = v;\n"
      "  g.sync ();\n"
      "  for (unsigned int i = 0; i < g.size (); i++)\n"
      "    sum += sums[first + i];\n"
      "  cg::sync (g);\n"
      "  return sum;\n"
      "}\n",
      table, 64);
}

/* ---- registers and clocks ---- */

/* Inline PTX may read special registers, and do nothing else. */
TEST (registers)
{
  static const Expectation table[] = {
    { "({ unsigned int r; asm (\"mov.u32 %0, %%laneid;\" : \"=r\" (r)); r; })",
        "t" },
    { "below ()", "(1u << t) - 1" },
    { "later ()", "1" },
    { "line ()", "8" },
  };

  check_values ("__device__ unsigned int below ()\n"
                "{\n"
                "  unsigned int r;\n"
                "  asm volatile (\"mov.u32 %0, %%lanemask_lt;\"\n"
                "      : \"=r\"(r));\n"
                "  return r;\n"
                "}\n"
                "__device__ int line () { return __LINE__; }\n"
                "__device__ bool later ()\n"
                "{\n"
                "  unsigned long long a, b;\n"
                "  asm volatile (\"mov.u64 %0, %%globaltimer;\" : \"=l\"(a));\n"
                "  asm volatile (\"mov.u64 %0, %%globaltimer;\" : \"=l\"(b));\n"
                "  return b >= a;\n"
                "}\n",
      table, 64);
}

TEST (clocks)
{
  static const Expectation table[] = {
    { "difference (clock64) >= 2000000", "1" },
    { "difference (clock) >= 2000000", "sizeof (clock_t) == 8" },
    { "difference (__nvvm_read_ptx_sreg_globaltimer) >= 2000000", "1" },
  };

  check_values ("template <typename F> __device__ long long difference (F f)\n"
                "{\n"
                "  auto start = f ();\n"
                "  __nanosleep (2000000);\n"
                "  return f () - start;\n"
                "}\n",
      table, 1);
}

/* A thread may wait in a loop for another thread of its block. */
TEST (nanosleep_lets_others_run)
{
  static const Expectation table[] = { { "wait_for_another ()", "1" } };

  check_values ("__device__ int wait_for_another ()\n"
                "{\n"
                "  static __shared__ volatile int flag;\n"
                "  if (threadIdx.x == 0)\n"
                "    flag = 0;\n"
                "  __syncthreads ();\n"
                "  if (threadIdx.x == 40)\n"
                "    flag = 1;\n"
                "  while (flag == 0)\n"
                "    __nanosleep (100);\n"
                "  return flag;\n"
                "}\n",
      table, 64);
}
