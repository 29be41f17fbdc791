/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/graph.h: kernels that are launched together
 *
 * A call that launches one kernel takes a few microseconds, which is much for a
 * small frame. A CUDA graph of several kernels takes hardly longer than a graph
 * of one kernel, and less than cuLaunchKernel (). So the kernels are collected,
 * and then launched by a single call. They run one after the other.
 *
 * If there are no graphs, because the driver is older than CUDA 12 or has no
 * memory, each kernel is launched alone.
 *
 * Functions are thread-safe only if their comment says so. The others must be
 * called with the lock of the tail held (see sync/tail.h).
 */

#ifndef __GST_VKGDR_GRAPH_H__
#define __GST_VKGDR_GRAPH_H__

#include <gst/vkgdr/gstvkgdrcontext.h>

#include "device/device-private.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrGraph GstVkgdrGraph;

/* A kernel with its arguments, which are copied. */
typedef struct {
  CUfunction function;
  gpointer owner;     /* a GObject: while it lives, the function is loaded */
  const gchar *name;  /* interned */
  const guint *grid;  /* three numbers, like `block` */
  const guint *block; /* threads */
  guint shared;       /* bytes of dynamic shared memory of a block */
  void **arguments;   /* the address of each argument */
  const gsize *sizes; /* of the arguments in bytes */
  guint n_arguments;
} GstVkgdrLaunch;

/* Launches on @handle, a stream of @context. @context must outlive the graph.
 */
GstVkgdrGraph *gst_vkgdr_graph_new (GstVkgdrContext *context, CUstream handle);

/* Frees the driver's objects, too. Must be called without a lock. Kernels that
 * were launched go on. */
void gst_vkgdr_graph_free (GstVkgdrGraph *self);

/* Makes the driver's objects for @n kernels, if there are none yet.
 * Thread-safe. Must be called without a lock, because the driver allocates, and
 * with the CUDA context current. @launch is any kernel of the context. */
void gst_vkgdr_graph_prepare (
    GstVkgdrGraph *self, guint n, const GstVkgdrLaunch *launch);

/* How many kernels have been added since the last launch. Thread-safe. */
guint gst_vkgdr_graph_get_length (GstVkgdrGraph *self);

/* Adds a kernel, unless there are as many as can be launched together. Then it
 * returns FALSE. */
gboolean gst_vkgdr_graph_add (
    GstVkgdrGraph *self, const GstVkgdrLaunch *launch);

/* Launches all kernels that have been added. Must be called with the CUDA
 * context current. On failure, *@what is the call that returned the error with
 * the names of its kernels, a text that is never freed, and some of the kernels
 * may have been launched. */
CUresult gst_vkgdr_graph_launch (GstVkgdrGraph *self, const gchar **what);

/* Returns the text "call (name, name)", which is never freed. There are few of
 * these texts. Thread-safe. */
const gchar *gst_vkgdr_graph_describe (
    const gchar *call, const gchar *const *names, guint n);

/* Forgets all kernels that have been added. */
void gst_vkgdr_graph_clear (GstVkgdrGraph *self);

/* Returns the owners of functions that are no longer needed, or NULL. The
 * caller owns the array, and must free it without a lock: the driver waits when
 * it unloads a module. */
GPtrArray *gst_vkgdr_graph_take_dropped (GstVkgdrGraph *self);

G_END_DECLS

#endif /* __GST_VKGDR_GRAPH_H__ */
