/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/cudafilter.h: declarations for the files of cudafilter
 *
 * cudafilter.c has the class and processes frames, properties.c has the
 * properties, update.c builds the kernel that the properties request,
 * negotiate.c negotiates caps, and explain.c reports why the negotiation fails.
 * A kernel and its parameters are called a pair (choice.h).
 */

#ifndef __GST_CUDA_FILTER_H__
#define __GST_CUDA_FILTER_H__

#include <gst/audio/audio.h>
#include <gst/vkgdr/vkgdr.h>

#include "cudafilter/caps.h"
#include "cudafilter/choice.h"

G_BEGIN_DECLS

/* In milliseconds. Much longer than a frame may take, but short enough that a
 * user does not end the process first. */
#define GST_CUDA_DEFAULT_KERNEL_TIMEOUT 10000

#define GST_TYPE_CUDA_FILTER (gst_cuda_filter_get_type ())
G_DECLARE_FINAL_TYPE (
    GstCudaFilter, gst_cuda_filter, GST, CUDA_FILTER, GstVkgdrVideoFilter)

typedef struct _GstCudaWorker GstCudaWorker;

struct _GstCudaFilter {
  GstVkgdrVideoFilter parent;

  /* --- under the object lock --- */
  GstCudaRequest properties;   /* the values that were set */
  GstCudaRequest requested;    /* copied at the end of a g_object_set () */
  guint kernel_timeout;        /* milliseconds, or 0 */
  gboolean has_kernel_timeout; /* it was set */
  gboolean watch;

  GCond cond;            /* signalled when the worker may have work */
  GstCudaWorker *worker; /* NULL unless the element is started */
  gboolean is_decided;   /* the worker has published or rejected the request */
  GstCudaPair *ready;    /* for the next frame, or NULL; read atomically */
  gboolean is_reloaded;  /* its file has changed, and no frame has used it */
  GError *failure;       /* of a build before the first frame, or NULL */
  guint64 frame;         /* frames since the start; written by the streaming
                          * thread, as the next field */
  GstCudaPair *running;

  /* --- used by the streaming thread only --- */
  gboolean is_video;
  const GstVideoInfo *in_info; /* of the base class, if is_video */
  const GstVideoInfo *out_info;
  gboolean is_audio; /* bytes if neither is_video nor is_audio */
  GstAudioInfo audio_info;
};

/* --- properties.c --- */

void gst_cuda_filter_install_properties (GObjectClass *object_class);

void gst_cuda_filter_init_properties (GstCudaFilter *self);

/* --- update.c --- */

/* The rules for caps of a pair, whose `output` is borrowed. */
GstCudaRules gst_cuda_pair_get_rules (const GstCudaPair *pair);

/* Gets the rules for caps. The caller unrefs rules->output. Thread-safe. */
void gst_cuda_filter_take_rules (GstCudaFilter *self, GstCudaRules *rules);

/* Starts the worker and waits for the first pair. FALSE with @error set. */
gboolean gst_cuda_filter_start_worker (GstCudaFilter *self, GError **error);

void gst_cuda_filter_stop_worker (GstCudaFilter *self);

/* Applies the properties that were set. Does not wait. Thread-safe. */
void gst_cuda_filter_commit (GstCudaFilter *self);

/* Whether the worker has work, such as to build a pair. Thread-safe. */
gboolean gst_cuda_filter_is_pending (GstCudaFilter *self);

/* Must be called by the streaming thread between two frames. Uses the newest
 * pair that is ready; before the first frame, waits for the requested pair.
 * Returns FALSE with @error set if there is no pair. */
gboolean gst_cuda_filter_swap (GstCudaFilter *self, GError **error);

/* Returns the values of all parameters (transfer full), or NULL. Thread-safe.
 */
GstStructure *gst_cuda_filter_get_params (GstCudaFilter *self);

/* --- negotiate.c --- */

void gst_cuda_filter_init_negotiation (GstCudaFilterClass *klass);

/* Adds the probe of the sink pad. Called by gst_cuda_filter_init(). */
void gst_cuda_filter_init_pads (GstCudaFilter *self);

/* Must be called at the start, when there is a pair. If no caps that upstream
 * could ever send are accepted, posts the reason. */
void gst_cuda_filter_check_upstream (GstCudaFilter *self);

/* --- explain.c --- */

/* Posts an error with the reason why @caps, which upstream sends or offers,
 * cannot be converted to an output that downstream accepts. Returns FALSE if
 * they can be converted, or if the reason is unknown. */
gboolean gst_cuda_filter_explain (GstCudaFilter *self, GstCaps *caps);

G_END_DECLS

#endif /* __GST_CUDA_FILTER_H__ */
