/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-graphs.c: tests of graphs of kernels
 */

#include <string.h>

#include "compiler.h"

/* The order of the calls can be read from the result. */
static const char source[] =
    "__global__ void append (int *value, int digit)\n"
    "{\n"
    "  *value = *value * 10 + digit;\n"
    "}\n"
    "__global__ void scale (int *value, int a, int b)\n"
    "{\n"
    "  *value *= a * b;\n"
    "}\n";

typedef struct {
  CUmodule module;
  CUstream stream;
  CUdeviceptr value;
  CUgraph graph;
  CUgraphNode nodes[3];
} Fixture;

static CUDA_KERNEL_NODE_PARAMS
one_thread (CUfunction function, void **params)
{
  return (CUDA_KERNEL_NODE_PARAMS){ .func = function,
    .gridDimX = 1,
    .gridDimY = 1,
    .gridDimZ = 1,
    .blockDimX = 1,
    .blockDimY = 1,
    .blockDimZ = 1,
    .kernelParams = params };
}

/* Makes a graph of three nodes in a row, which append 1, 2 and 3. */
static void
set_up (Fixture *f)
{
  CUDA_KERNEL_NODE_PARAMS params;
  int digit;
  void *arguments[] = { &f->value, &digit };

  f->module = build (source);
  ok (cu.cuStreamCreate (&f->stream, CU_STREAM_NON_BLOCKING));
  f->value = zeroed (4);
  ok (cu.cuGraphCreate (&f->graph, 0));
  params = one_thread (find (f->module, "append"), arguments);
  for (int i = 0; i < 3; i++) {
    digit = i + 1;
    ok (cu.cuGraphAddKernelNode (&f->nodes[i], f->graph,
        i > 0 ? &f->nodes[i - 1] : NULL, i > 0, &params));
  }
}

static void
tear_down (Fixture *f)
{
  ok (cu.cuGraphDestroy (f->graph));
  ok (cu.cuMemFree (f->value));
  ok (cu.cuStreamDestroy (f->stream));
  ok (cu.cuModuleUnload (f->module));
}

static int
get_value (Fixture *f)
{
  int value;

  ok (cu.cuStreamSynchronize (f->stream));
  memcpy (&value, (void *) (uintptr_t) f->value, sizeof value);
  return value;
}

START_TEST (test_nodes_run_in_a_row)
{
  CUgraphExec exec;
  Fixture f;

  set_up (&f);
  ok (cu.cuGraphInstantiate (&exec, f.graph, 0));
  ok (cu.cuGraphLaunch (exec, f.stream));
  ck_assert_int_eq (get_value (&f), 123);
  ok (cu.cuGraphLaunch (exec, f.stream));
  ck_assert_int_eq (get_value (&f), 123123);
  ok (cu.cuGraphExecDestroy (exec));
  tear_down (&f);
}
END_TEST;

/* New parameters do not change what was launched before, or the graph, or
 * another executable graph. */
START_TEST (test_new_parameters)
{
  CUDA_KERNEL_NODE_PARAMS params;
  CUgraphExec exec, other;
  Fixture f;
  int a = 2, b = 5;
  void *arguments[] = { &f.value, &a, &b };

  set_up (&f);
  ok (cu.cuGraphInstantiate (&exec, f.graph, 0));
  ok (cu.cuGraphInstantiate (&other, f.graph, 0));
  ok (cu.cuGraphLaunch (exec, f.stream));
  params = one_thread (find (f.module, "scale"), arguments);
  ok (cu.cuGraphExecKernelNodeSetParams (exec, f.nodes[1], &params));
  a = b = 0; /* they were copied */
  ok (cu.cuGraphLaunch (exec, f.stream));
  ok (cu.cuGraphLaunch (other, f.stream));
  ck_assert_int_eq (get_value (&f), (1231 * 10 * 10 + 3) * 1000 + 123);
  ok (cu.cuGraphExecDestroy (other));
  ok (cu.cuGraphExecDestroy (exec));
  tear_down (&f);
}
END_TEST;

START_TEST (test_destroyed_while_it_runs)
{
  CUgraphExec exec;
  Fixture f;

  set_up (&f);
  ok (cu.cuGraphInstantiate (&exec, f.graph, 0));
  ok (cu.cuGraphLaunch (exec, f.stream));
  ok (cu.cuGraphExecDestroy (exec));
  ck_assert_int_eq (get_value (&f), 123);
  fails (cu.cuGraphLaunch (exec, f.stream), CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuGraphExecDestroy (exec), CUDA_ERROR_INVALID_VALUE);
  tear_down (&f);
}
END_TEST;

START_TEST (test_wrong_arguments)
{
  CUDA_KERNEL_NODE_PARAMS params;
  CUgraph empty;
  CUgraphNode node;
  CUgraphExec exec;
  Fixture f;
  int digit = 4;
  void *arguments[] = { &f.value, &digit };

  set_up (&f);
  params = one_thread (find (f.module, "append"), arguments);
  ok (cu.cuGraphCreate (&empty, 0));
  fails (cu.cuGraphCreate (&empty, 1), CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuGraphCreate (NULL, 0), CUDA_ERROR_INVALID_VALUE);
  /* a dependency on a node of another graph */
  fails (cu.cuGraphAddKernelNode (&node, empty, f.nodes, 1, &params),
      CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuGraphAddKernelNode (&node, empty, NULL, 1, &params),
      CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuGraphAddKernelNode (NULL, empty, NULL, 0, &params),
      CUDA_ERROR_INVALID_VALUE);
  params.gridDimY = 0;
  fails (cu.cuGraphAddKernelNode (&node, empty, NULL, 0, &params),
      CUDA_ERROR_INVALID_VALUE);
  params.gridDimY = 1;
  params.func = (CUfunction) &f;
  fails (cu.cuGraphAddKernelNode (&node, empty, NULL, 0, &params),
      CUDA_ERROR_INVALID_HANDLE);
  params.func = find (f.module, "append");

  ok (cu.cuGraphInstantiate (&exec, empty, 0));
  ok (cu.cuGraphLaunch (exec, f.stream));
  fails (cu.cuGraphExecKernelNodeSetParams (exec, f.nodes[0], &params),
      CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuGraphLaunch (exec, (CUstream) &f), CUDA_ERROR_INVALID_HANDLE);
  ok (cu.cuGraphExecDestroy (exec));
  ok (cu.cuGraphDestroy (empty));
  fails (cu.cuGraphDestroy (empty), CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuGraphInstantiate (&exec, empty, 0), CUDA_ERROR_INVALID_VALUE);
  ck_assert_int_eq (get_value (&f), 0);
  tear_down (&f);
}
END_TEST;

/* The graph is not launched at all if one of its functions was unloaded. */
START_TEST (test_unloaded_module)
{
  CUmodule module = build (source);
  CUDA_KERNEL_NODE_PARAMS params;
  CUgraphExec exec;
  Fixture f;
  int digit = 4;
  void *arguments[] = { &f.value, &digit };

  set_up (&f);
  params = one_thread (find (module, "append"), arguments);
  ok (cu.cuGraphInstantiate (&exec, f.graph, 0));
  ok (cu.cuGraphExecKernelNodeSetParams (exec, f.nodes[2], &params));
  ok (cu.cuGraphLaunch (exec, f.stream));
  ck_assert_int_eq (get_value (&f), 124);
  ok (cu.cuModuleUnload (module));
  fails (cu.cuGraphLaunch (exec, f.stream), CUDA_ERROR_INVALID_HANDLE);
  ck_assert_int_eq (get_value (&f), 124);
  params.func = find (f.module, "append");
  ok (cu.cuGraphExecKernelNodeSetParams (exec, f.nodes[2], &params));
  ok (cu.cuGraphLaunch (exec, f.stream));
  ck_assert_int_eq (get_value (&f), 124124);
  ok (cu.cuGraphExecDestroy (exec));
  tear_down (&f);
}
END_TEST;

START_TEST (test_failures)
{
  CUgraphExec exec;
  Fixture f;

  set_up (&f);
  ok (set_fail ("cuGraphInstantiate:1"));
  ck_assert_int_ne (cu.cuGraphInstantiate (&exec, f.graph, 0), CUDA_SUCCESS);
  ok (cu.cuGraphInstantiate (&exec, f.graph, 0));
  ok (set_fail ("cuGraphLaunch:1"));
  ck_assert_int_ne (cu.cuGraphLaunch (exec, f.stream), CUDA_SUCCESS);
  ck_assert_int_eq (get_value (&f), 0);
  ok (cu.cuGraphExecDestroy (exec));
  tear_down (&f);
}
END_TEST;

static Suite *
graphs_suite (void)
{
  Suite *suite = suite_create ("softcuda-graphs");
  TCase *graphs = tcase_create ("graphs");

  tcase_add_checked_fixture (graphs, setup, teardown_context);
  tcase_set_timeout (graphs, 60);
  tcase_add_test (graphs, test_nodes_run_in_a_row);
  tcase_add_test (graphs, test_new_parameters);
  tcase_add_test (graphs, test_destroyed_while_it_runs);
  tcase_add_test (graphs, test_wrong_arguments);
  tcase_add_test (graphs, test_unloaded_module);
  tcase_add_test (graphs, test_failures);
  suite_add_tcase (suite, graphs);
  return suite;
}

TEST_MAIN (graphs);
