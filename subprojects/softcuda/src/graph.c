/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * graph.c: graphs of kernels
 *
 * Only kernel nodes are supported. The nodes of a graph run one after the
 * other, in the order in which they were added. This is always one of the
 * orders that their dependencies allow, because a node can depend only on
 * earlier nodes. Knows nothing of how a kernel runs.
 */

#include "module.h"

struct CUgraphNode_st {
  sc_handle handle;
  sc_launch *launch;
};

struct CUgraph_st {
  sc_handle handle;
  size_t n_nodes;
  CUgraphNode *nodes;
};

/* A node of an executable graph. `node` is only compared with the handles that
 * callers pass: the graph that had this node may be destroyed. */
typedef struct exec_node {
  CUgraphNode node;
  sc_launch *launch;
} exec_node;

struct CUgraphExec_st {
  sc_handle handle;
  size_t n_nodes;
  exec_node nodes[];
};

CUresult
cuGraphCreate (CUgraph *graph, unsigned int flags)
{
  CUgraph made;

  SC_ENTER (cuGraphCreate);
  if (graph == NULL || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  made = calloc (1, sizeof *made);
  if (made == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  sc_lock ();
  sc_handle_add_locked (&made->handle, SC_KIND_GRAPH, NULL);
  sc_unlock ();
  *graph = made;
  return CUDA_SUCCESS;
}

CUresult
cuGraphDestroy (CUgraph graph)
{
  bool is_live;

  SC_ENTER (cuGraphDestroy);
  sc_lock ();
  is_live = sc_handle_is_live_locked (graph, SC_KIND_GRAPH);
  if (is_live) {
    sc_handle_remove_locked (&graph->handle);
    for (size_t i = 0; i < graph->n_nodes; i++)
      sc_handle_remove_locked (&graph->nodes[i]->handle);
  }
  sc_unlock ();
  if (!is_live)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < graph->n_nodes; i++) {
    sc_launch_free (graph->nodes[i]->launch);
    sc_handle_free (graph->nodes[i]);
  }
  free (graph->nodes);
  sc_handle_free (graph);
  return CUDA_SUCCESS;
}

static CUresult
make_launch_locked (const CUDA_KERNEL_NODE_PARAMS *params, sc_launch **launch)
{
  const sc_launch_shape shape = { { params->gridDimX, params->gridDimY,
                                      params->gridDimZ },
    { params->blockDimX, params->blockDimY, params->blockDimZ },
    params->sharedMemBytes };

  return sc_launch_new_locked (
      params->func, &shape, params->kernelParams, params->extra, launch);
}

static bool
has_node (CUgraph graph, CUgraphNode node)
{
  for (size_t i = 0; i < graph->n_nodes; i++)
    if (graph->nodes[i] == node)
      return true;
  return false;
}

/* Takes ownership of the launch if it succeeds. */
static CUresult
append_locked (CUgraph graph, sc_launch *launch, CUgraphNode *node)
{
  size_t size = (graph->n_nodes + 1) * sizeof *graph->nodes;
  CUgraphNode *nodes = realloc (graph->nodes, size);

  if (nodes == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  graph->nodes = nodes;
  *node = calloc (1, sizeof **node);
  if (*node == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  (*node)->launch = launch;
  sc_handle_add_locked (&(*node)->handle, SC_KIND_GRAPH_NODE, NULL);
  graph->nodes[graph->n_nodes++] = *node;
  return CUDA_SUCCESS;
}

static CUresult
add_locked (CUgraph graph, const CUgraphNode *dependencies,
    size_t n_dependencies, const CUDA_KERNEL_NODE_PARAMS *params,
    CUgraphNode *node)
{
  sc_launch *launch;
  CUresult result;

  if (!sc_handle_is_live_locked (graph, SC_KIND_GRAPH))
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < n_dependencies; i++)
    if (!has_node (graph, dependencies[i]))
      return CUDA_ERROR_INVALID_VALUE;
  result = make_launch_locked (params, &launch);
  if (result != CUDA_SUCCESS)
    return result;
  result = append_locked (graph, launch, node);
  if (result != CUDA_SUCCESS)
    sc_launch_free (launch);
  return result;
}

CUresult
cuGraphAddKernelNode_v2 (CUgraphNode *node, CUgraph graph,
    const CUgraphNode *dependencies, size_t n_dependencies,
    const CUDA_KERNEL_NODE_PARAMS *params)
{
  CUresult result;

  SC_ENTER (cuGraphAddKernelNode);
  if (node == NULL || params == NULL
      || (n_dependencies > 0 && dependencies == NULL))
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  result = add_locked (graph, dependencies, n_dependencies, params, node);
  sc_unlock ();
  return result;
}

static void
free_exec (CUgraphExec exec)
{
  for (size_t i = 0; i < exec->n_nodes; i++)
    if (exec->nodes[i].launch != NULL)
      sc_launch_free (exec->nodes[i].launch);
  sc_handle_free (exec);
}

static CUresult
instantiate_locked (CUgraph graph, CUgraphExec *exec)
{
  CUgraphExec made;

  if (!sc_handle_is_live_locked (graph, SC_KIND_GRAPH))
    return CUDA_ERROR_INVALID_VALUE;
  made = calloc (1, sizeof *made + graph->n_nodes * sizeof *made->nodes);
  if (made == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  made->n_nodes = graph->n_nodes;
  for (size_t i = 0; i < graph->n_nodes; i++) {
    made->nodes[i].node = graph->nodes[i];
    made->nodes[i].launch = sc_launch_copy (graph->nodes[i]->launch);
    if (made->nodes[i].launch == NULL) {
      free_exec (made);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  sc_handle_add_locked (&made->handle, SC_KIND_GRAPH_EXEC, NULL);
  *exec = made;
  return CUDA_SUCCESS;
}

CUresult
cuGraphInstantiateWithFlags (
    CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
  CUresult result;

  SC_ENTER (cuGraphInstantiate);
  if (exec == NULL || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  result = instantiate_locked (graph, exec);
  sc_unlock ();
  return result;
}

/* Does not wait, because cuGraphLaunch() submits copies of the launches. */
CUresult
cuGraphExecDestroy (CUgraphExec exec)
{
  bool is_live;

  SC_ENTER (cuGraphExecDestroy);
  sc_lock ();
  is_live = sc_handle_is_live_locked (exec, SC_KIND_GRAPH_EXEC);
  if (is_live)
    sc_handle_remove_locked (&exec->handle);
  sc_unlock ();
  if (!is_live)
    return CUDA_ERROR_INVALID_VALUE;
  free_exec (exec);
  return CUDA_SUCCESS;
}

static exec_node *
find_exec_node (CUgraphExec exec, CUgraphNode node)
{
  for (size_t i = 0; i < exec->n_nodes; i++)
    if (exec->nodes[i].node == node)
      return &exec->nodes[i];
  return NULL;
}

static CUresult
set_params_locked (
    CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
  exec_node *found;
  sc_launch *launch;
  CUresult result;

  if (!sc_handle_is_live_locked (exec, SC_KIND_GRAPH_EXEC)
      || !sc_handle_is_live_locked (node, SC_KIND_GRAPH_NODE))
    return CUDA_ERROR_INVALID_VALUE;
  found = find_exec_node (exec, node);
  if (found == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  result = make_launch_locked (params, &launch);
  if (result != CUDA_SUCCESS)
    return result;
  sc_launch_free (found->launch);
  found->launch = launch;
  return CUDA_SUCCESS;
}

CUresult
cuGraphExecKernelNodeSetParams_v2 (
    CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
  CUresult result;

  SC_ENTER (cuGraphExecKernelNodeSetParams);
  if (params == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  result = set_params_locked (exec, node, params);
  sc_unlock ();
  return result;
}

static CUresult
launch_locked (CUgraphExec exec, CUstream handle)
{
  CUstream stream;
  CUresult result;

  if (!sc_handle_is_live_locked (exec, SC_KIND_GRAPH_EXEC))
    return CUDA_ERROR_INVALID_VALUE;
  result = sc_launch_find_stream_locked (handle, &stream);
  for (size_t i = 0; result == CUDA_SUCCESS && i < exec->n_nodes; i++)
    result = sc_launch_check_locked (
        sc_launch_function (exec->nodes[i].launch), stream);
  for (size_t i = 0; result == CUDA_SUCCESS && i < exec->n_nodes; i++) {
    sc_launch *copy = sc_launch_copy (exec->nodes[i].launch);

    result = copy != NULL ? sc_launch_submit_locked (copy, stream)
                          : CUDA_ERROR_OUT_OF_MEMORY;
  }
  return result;
}

CUresult
cuGraphLaunch (CUgraphExec exec, CUstream stream)
{
  CUresult result;

  SC_ENTER (cuGraphLaunch);
  sc_lock ();
  result = launch_locked (exec, stream);
  sc_unlock ();
  return result;
}
