/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/graph.c: see sync/graph.h
 *
 * There is an executable graph for each number of kernels. It is made once;
 * each launch only sets the functions and arguments of its nodes.
 */

#include <string.h>

#include "sync/graph.h"

/* The maximum number of kernels in a graph. With more kernels, the first one
 * would begin noticeably later than without a graph. */
#define LENGTH_MAX 8

#define ARGUMENT_ALIGNMENT 16

typedef struct {
  CUgraph graph; /* the nodes belong to it */
  CUgraphExec exec;
  CUgraphNode nodes[LENGTH_MAX];
  gpointer owners[LENGTH_MAX]; /* GObject; of the nodes' functions */
} Exec;

/* A kernel that has been added. Its arguments are in `data`. */
typedef struct {
  CUDA_KERNEL_NODE_PARAMS params;
  gpointer owner;       /* GObject */
  GByteArray *data;     /* NULL before the first use, like `arguments` */
  GPtrArray *arguments; /* addresses in `data` */
} Kernel;

struct _GstVkgdrGraph {
  GstVkgdrContext *context;
  CUstream handle;
  gint length;     /* atomic */
  gint has_failed; /* an executable graph could not be made; atomic */
  Kernel kernels[LENGTH_MAX];
  const gchar *names[LENGTH_MAX]; /* of the kernels */
  Exec *execs[LENGTH_MAX];        /* atomic; the first one has one node */
  GPtrArray *dropped;             /* of GObject; NULL if there are none */
};

GstVkgdrGraph *
gst_vkgdr_graph_new (GstVkgdrContext *context, CUstream handle)
{
  GstVkgdrGraph *self = g_new0 (GstVkgdrGraph, 1);

  self->context = context;
  self->handle = handle;
  return self;
}

/* The owner is released later, without a lock. */
static void
drop (GstVkgdrGraph *self, gpointer owner)
{
  if (!self->dropped)
    self->dropped = g_ptr_array_new_with_free_func (g_object_unref);
  g_ptr_array_add (self->dropped, owner);
}

GPtrArray *
gst_vkgdr_graph_take_dropped (GstVkgdrGraph *self)
{
  return g_steal_pointer (&self->dropped);
}

guint
gst_vkgdr_graph_get_length (GstVkgdrGraph *self)
{
  return g_atomic_int_get (&self->length);
}

/* --- executable graphs -----------------------------------------------------
 */

static gboolean
driver_has_graphs (const vkgdr_cuda *cuda)
{
  return cuda->cuGraphCreate && cuda->cuGraphDestroy
         && cuda->cuGraphAddKernelNode && cuda->cuGraphInstantiate
         && cuda->cuGraphExecDestroy && cuda->cuGraphExecKernelNodeSetParams
         && cuda->cuGraphLaunch;
}

/* Must be called with the CUDA context current, or with @cuda NULL. */
static void
exec_free (Exec *exec, const vkgdr_cuda *cuda)
{
  guint i;

  if (cuda && exec->exec)
    cuda->cuGraphExecDestroy (exec->exec);
  if (cuda && exec->graph)
    cuda->cuGraphDestroy (exec->graph);
  for (i = 0; i < LENGTH_MAX; i++)
    g_clear_object (&exec->owners[i]);
  g_free (exec);
}

static gboolean
exec_fill (Exec *exec, guint n, const CUDA_KERNEL_NODE_PARAMS *params,
    const vkgdr_cuda *cuda)
{
  guint i;

  if (cuda->cuGraphCreate (&exec->graph, 0) != CUDA_SUCCESS)
    return FALSE;
  for (i = 0; i < n; i++)
    if (cuda->cuGraphAddKernelNode (&exec->nodes[i], exec->graph,
            i > 0 ? &exec->nodes[i - 1] : NULL, i > 0 ? 1 : 0, params)
        != CUDA_SUCCESS)
      return FALSE;
  return cuda->cuGraphInstantiate (&exec->exec, exec->graph, 0) == CUDA_SUCCESS;
}

static CUDA_KERNEL_NODE_PARAMS
make_params (const GstVkgdrLaunch *launch, void **arguments)
{
  return (CUDA_KERNEL_NODE_PARAMS){ .func = launch->function,
    .gridDimX = launch->grid[0],
    .gridDimY = launch->grid[1],
    .gridDimZ = launch->grid[2],
    .blockDimX = launch->block[0],
    .blockDimY = launch->block[1],
    .blockDimZ = launch->block[2],
    .sharedMemBytes = launch->shared,
    .kernelParams = arguments };
}

void
gst_vkgdr_graph_prepare (
    GstVkgdrGraph *self, guint n, const GstVkgdrLaunch *launch)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  CUDA_KERNEL_NODE_PARAMS params;
  Exec *exec;
  guint i;

  if (n > LENGTH_MAX || g_atomic_pointer_get (&self->execs[n - 1])
      || g_atomic_int_get (&self->has_failed) || !driver_has_graphs (cuda))
    return;
  exec = g_new0 (Exec, 1);
  params = make_params (launch, launch->arguments);
  for (i = 0; i < n; i++)
    exec->owners[i] = g_object_ref (launch->owner);
  if (!exec_fill (exec, n, &params, cuda)) {
    g_atomic_int_set (&self->has_failed, TRUE);
    exec_free (exec, cuda);
  } else if (!g_atomic_pointer_compare_and_exchange (
                 &self->execs[n - 1], NULL, exec)) {
    exec_free (exec, cuda); /* another thread was faster */
  }
}

void
gst_vkgdr_graph_free (GstVkgdrGraph *self)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  gboolean is_current =
      gst_vkgdr_context_try_push (self->context) == CUDA_SUCCESS;
  guint i;

  for (i = 0; i < LENGTH_MAX; i++) {
    if (self->execs[i])
      exec_free (self->execs[i], is_current ? cuda : NULL);
    g_clear_object (&self->kernels[i].owner);
    g_clear_pointer (&self->kernels[i].data, g_byte_array_unref);
    g_clear_pointer (&self->kernels[i].arguments, g_ptr_array_unref);
  }
  g_clear_pointer (&self->dropped, g_ptr_array_unref);
  if (is_current)
    gst_vkgdr_context_pop (self->context);
  g_free (self);
}

/* --- kernels ---------------------------------------------------------------
 */

static gsize
align (gsize size)
{
  return (size + ARGUMENT_ALIGNMENT - 1) & ~(gsize) (ARGUMENT_ALIGNMENT - 1);
}

static void
copy_arguments (Kernel *kernel, const GstVkgdrLaunch *launch)
{
  gsize total = 0;
  guint i;

  if (!kernel->data) {
    kernel->data = g_byte_array_new ();
    kernel->arguments = g_ptr_array_new ();
  }
  for (i = 0; i < launch->n_arguments; i++)
    total += align (launch->sizes[i]);
  g_byte_array_set_size (kernel->data, total);
  g_ptr_array_set_size (kernel->arguments, 0);
  total = 0;
  for (i = 0; i < launch->n_arguments; i++) {
    memcpy (kernel->data->data + total, launch->arguments[i], launch->sizes[i]);
    g_ptr_array_add (kernel->arguments, kernel->data->data + total);
    total += align (launch->sizes[i]);
  }
}

gboolean
gst_vkgdr_graph_add (GstVkgdrGraph *self, const GstVkgdrLaunch *launch)
{
  Kernel *kernel;

  if (self->length == LENGTH_MAX)
    return FALSE;
  kernel = &self->kernels[self->length];
  copy_arguments (kernel, launch);
  kernel->params = make_params (launch, kernel->arguments->pdata);
  kernel->owner = g_object_ref (launch->owner);
  self->names[self->length] = launch->name;
  g_atomic_int_inc (&self->length);
  return TRUE;
}

/* Takes @owner. */
static void
replace_owner (GstVkgdrGraph *self, gpointer *place, gpointer owner)
{
  if (*place == owner) {
    g_object_unref (owner); /* not the last reference */
    return;
  }
  drop (self, *place);
  *place = owner;
}

/* Gives the functions and arguments of the kernels to the nodes. FALSE if the
 * driver refuses them. */
static gboolean
exec_set_kernels (GstVkgdrGraph *self, Exec *exec, const vkgdr_cuda *cuda)
{
  gint i;

  for (i = 0; i < self->length; i++) {
    Kernel *kernel = &self->kernels[i];

    if (cuda->cuGraphExecKernelNodeSetParams (
            exec->exec, exec->nodes[i], &kernel->params)
        != CUDA_SUCCESS)
      return FALSE;
    replace_owner (self, &exec->owners[i], g_steal_pointer (&kernel->owner));
  }
  return TRUE;
}

const gchar *
gst_vkgdr_graph_describe (const gchar *call, const gchar *const *names, guint n)
{
  GString *text = g_string_new (call);
  const gchar *interned;
  guint i;

  for (i = 0; i < n; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? ", " : " (", names[i]);
  g_string_append_c (text, ')');
  interned = g_intern_string (text->str);
  g_string_free (text, TRUE);
  return interned;
}

static CUresult
launch_one_by_one (
    GstVkgdrGraph *self, const vkgdr_cuda *cuda, const gchar **what)
{
  CUresult result = CUDA_SUCCESS;
  gint i;

  for (i = 0; i < self->length && result == CUDA_SUCCESS; i++) {
    const Kernel *kernel = &self->kernels[i];
    const CUDA_KERNEL_NODE_PARAMS *params = &kernel->params;

    result = cuda->cuLaunchKernel (params->func, params->gridDimX,
        params->gridDimY, params->gridDimZ, params->blockDimX,
        params->blockDimY, params->blockDimZ, params->sharedMemBytes,
        self->handle, params->kernelParams, NULL);
    if (result != CUDA_SUCCESS)
      *what = gst_vkgdr_graph_describe ("cuLaunchKernel", &self->names[i], 1);
  }
  return result;
}

void
gst_vkgdr_graph_clear (GstVkgdrGraph *self)
{
  gint i;

  for (i = 0; i < self->length; i++)
    if (self->kernels[i].owner)
      drop (self, g_steal_pointer (&self->kernels[i].owner));
  g_atomic_int_set (&self->length, 0);
}

CUresult
gst_vkgdr_graph_launch (GstVkgdrGraph *self, const gchar **what)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  CUresult result;
  Exec *exec;

  if (self->length == 0)
    return CUDA_SUCCESS;
  exec = g_atomic_pointer_get (&self->execs[self->length - 1]);
  if (exec && exec_set_kernels (self, exec, cuda)) {
    result = cuda->cuGraphLaunch (exec->exec, self->handle);
    if (result != CUDA_SUCCESS)
      *what =
          gst_vkgdr_graph_describe ("cuGraphLaunch", self->names, self->length);
  } else {
    result = launch_one_by_one (self, cuda, what);
  }
  gst_vkgdr_graph_clear (self);
  return result;
}
