/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/runs.h: the kernels of one CUDA stream that are in flight
 *
 * They end one after the other. So if a fence is reached, all kernels in front
 * of it have ended. Not thread-safe: the lock of the clock must be held.
 */

#ifndef __GST_VKGDR_RUNS_H__
#define __GST_VKGDR_RUNS_H__

#include "sync/fence.h"
#include "sync/launcher.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrRun GstVkgdrRun;

/* A kernel that was launched. */
struct _GstVkgdrRun {
  GList link;         /* in a queue of the runs; its data is the run */
  GPtrArray *waits;   /* of GstVkgdrFence: what it waits for; never NULL */
  gboolean has_begin; /* measured by `begin`, because the waits are unknown */
  CUevent begin;      /* in front of it; NULL until it is recorded */
  GstVkgdrFence *end; /* behind it; NULL while it is being launched */
  GstVkgdrLauncher *launcher;
  const gchar *kernel;
  guint limit;  /* milliseconds */
  gint64 since; /* when it was first seen to be able to run, or 0 */
};

typedef struct {
  GQueue queue;      /* of GstVkgdrRun, in the order of the stream */
  GQueue done;       /* of GstVkgdrRun, to be cleaned */
  GQueue spare;      /* of GstVkgdrRun, to be reused */
  guint64 reached;   /* the greatest serial of a reached fence, or 0 */
  guint later_pause; /* queries until a later fence is queried again */
} GstVkgdrRuns;

/* The first kernel that has not ended, or NULL. */
GstVkgdrRun *gst_vkgdr_runs_get_first (GstVkgdrRuns *self);

/* Adds a kernel that is about to be queued. @kernel must stay valid. */
GstVkgdrRun *gst_vkgdr_runs_append (GstVkgdrRuns *self,
    GstVkgdrLauncher *launcher, const gchar *kernel, guint limit);

/* Moves one kernel, or all kernels in flight, to `done`. */
void gst_vkgdr_runs_retire (GstVkgdrRuns *self, GstVkgdrRun *run);
void gst_vkgdr_runs_retire_all (GstVkgdrRuns *self);

/* Retires the first kernels as far as they are known to have ended, without a
 * query. */
void gst_vkgdr_runs_retire_known (GstVkgdrRuns *self);

/* Retires the ended kernels among the first @n, with a single query of the last
 * one. Returns the driver's answer for that one. Must be called with the CUDA
 * context current. A kernel that another thread is launching stays until its
 * `end` is set, even if a later one has ended. */
CUresult gst_vkgdr_runs_retire_ended (GstVkgdrRuns *self, guint n);

/* Takes a run that has to be cleaned, or returns NULL. It must be given back
 * when its driver objects are released and its `waits` are empty. */
GstVkgdrRun *gst_vkgdr_runs_take_done (GstVkgdrRuns *self);
void gst_vkgdr_runs_give_back (GstVkgdrRuns *self, GstVkgdrRun *run);

/* Frees what is left when nothing is in flight or has to be cleaned. */
void gst_vkgdr_runs_clear (GstVkgdrRuns *self);

/* Whether the last kernel ends with a deferred fence (see sync/fence.h). */
gboolean gst_vkgdr_runs_is_open (GstVkgdrRuns *self);

/* The limit of @run and of the kernels that end with the same fence, in
 * milliseconds. */
guint64 gst_vkgdr_run_get_limit (const GstVkgdrRun *run);

/* Returns "kernel "a" of x", which the caller frees: of @run alone, or of all
 * kernels that end with the same fence. */
gchar *gst_vkgdr_run_describe (const GstVkgdrRun *run);
gchar *gst_vkgdr_run_describe_group (const GstVkgdrRun *run);

/* See gst_vkgdr_clock_find_later () and gst_vkgdr_clock_report_later (). */
gboolean gst_vkgdr_runs_find_later (
    GstVkgdrRuns *self, guint64 serial, GstVkgdrFence **later);
void gst_vkgdr_runs_report_later (
    GstVkgdrRuns *self, guint64 serial, gboolean is_reached);

G_END_DECLS

#endif /* __GST_VKGDR_RUNS_H__ */
