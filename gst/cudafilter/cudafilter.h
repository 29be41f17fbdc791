/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/cudafilter.h: the element cudafilter, to the files it is made of
 *
 * cudafilter.c is the class and what happens to a frame, properties.c what the
 * user sets, update.c brings what runs up to what is set, negotiate.c decides
 * on caps, and explain.c says why there are none.
 */

#ifndef __GST_CUDA_FILTER_H__
#define __GST_CUDA_FILTER_H__

#include <gst/audio/audio.h>
#include <gst/vkgdr/vkgdr.h>

#include "cudafilter/caps.h"
#include "cudafilter/pair.h"
#include "cudafilter/worker.h"

G_BEGIN_DECLS

#define GST_TYPE_CUDA_FILTER (gst_cuda_filter_get_type ())
G_DECLARE_FINAL_TYPE (
    GstCudaFilter, gst_cuda_filter, GST, CUDA_FILTER, GstVkgdrVideoFilter)

/* What the output's caps were made for. */
typedef struct {
  GstEffectConverts converts;
  gboolean takes_video;
  GstCaps *output;
  gint width, height; /* that the effect itself gives the output, or 0 */
} GstCudaAgreed;

struct _GstCudaFilter {
  GstVkgdrVideoFilter parent;

  /* --- under the object lock --- */
  GstCudaRequest asked; /* what the properties say */
  guint kernel_timeout; /* milliseconds, or 0 */
  gboolean watch;

  GstCudaParams *child; /* the parameters that the user sees; never NULL */

  GstCudaWorker *worker;   /* NULL unless the element is started */
  GstCudaRequest *request; /* for the worker, or NULL */
  gboolean is_settled;     /* the newest pair is what was asked for */
  GstCudaPair *next;       /* for the next frame, or NULL; read atomically */
  GSList *retired;         /* pairs that ran, for the worker to free */
  GError *failure;         /* of a build before the first frame, or NULL */
  gboolean has_run;        /* a frame has passed since the start */

  /* Written by the streaming thread, under the object lock. */
  GstCudaPair *running;

  /* --- the streaming thread's --- */
  guint64 frame;
  gboolean is_video;
  gboolean is_audio; /* else, if it is no video either: bytes */
  GstAudioInfo audio_info;
  GstCudaAgreed agreed;

  /* --- of explanations --- */
  GstCaps *refused;   /* that an error was posted for; under the object lock */
  gint is_explaining; /* atomic */
};

/* --- properties.c --- */

void gst_cuda_filter_install_properties (GObjectClass *object_class);

/* Sets what the properties are by default. */
void gst_cuda_filter_init_properties (GstCudaFilter *self);

/* --- update.c --- */

/* Starts the worker and waits for the first pair. FALSE with @error. */
gboolean gst_cuda_filter_start_worker (GstCudaFilter *self, GError **error);

/* Ends the worker and frees the pairs. */
void gst_cuda_filter_stop_worker (GstCudaFilter *self);

/* Lets the properties count that were set. Returns at once. Any thread. */
void gst_cuda_filter_commit (GstCudaFilter *self);

/* Wakes the worker, if there is one. Any thread. */
void gst_cuda_filter_wake (GstCudaFilter *self);

/* Whether a change is being built. Any thread. */
gboolean gst_cuda_filter_is_pending (GstCudaFilter *self);

/* The streaming thread's, between two frames: swaps in what is ready; before
 * the first frame, waits for what was asked for. FALSE with @error if there is
 * nothing to run. *@swapped is whether another pair runs now. */
gboolean gst_cuda_filter_swap (
    GstCudaFilter *self, gboolean *swapped, GError **error);

/* The values of all parameters, or NULL; the caller frees them. Any thread. */
GstStructure *gst_cuda_filter_get_params (GstCudaFilter *self);

/* Posts a warning. */
void gst_cuda_filter_warn (GstCudaFilter *self, const GError *error);

/* --- negotiate.c --- */

/* Sets the class's functions that have to do with caps. */
void gst_cuda_filter_init_negotiation (GstCudaFilterClass *klass);

/* For gst_cuda_filter_init(). */
void gst_cuda_filter_init_pads (GstCudaFilter *self);

/* What decides on the caps; gst_cuda_rules_clear() clears it. Any thread. */
void gst_cuda_filter_take_rules (GstCudaFilter *self, GstCudaRules *rules);

/* --- explain.c --- */

/* Posts an error that says why @caps, which upstream sends or offers, cannot be
 * made an output that downstream takes; once for the same caps. FALSE if they
 * can be, or if it is not known why not. */
gboolean gst_cuda_filter_explain (GstCudaFilter *self, GstCaps *caps);

G_END_DECLS

#endif /* __GST_CUDA_FILTER_H__ */
