/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcudafilter.h: the element cudafilter, to the files it is made of
 *
 * gstcudafilter.c is the element: properties and frames. gstcudaupdate.c brings
 * what runs up to what the properties ask for, gstcudanegotiate.c the caps up
 * to what runs.
 */

#ifndef __GST_CUDA_FILTER_H__
#define __GST_CUDA_FILTER_H__

#include <gst/audio/audio.h>
#include <gst/vkgdr/vkgdr.h>

#include "gstcudachoice.h"
#include "gstcudaparams.h"
#include "gstcudawatch.h"

G_BEGIN_DECLS

#define GST_TYPE_CUDA_FILTER (gst_cuda_filter_get_type ())
G_DECLARE_FINAL_TYPE (
    GstCudaFilter, gst_cuda_filter, GST, CUDA_FILTER, GstVkgdrVideoFilter)

/* What of a kernel the output's caps were made for. */
typedef struct {
  GstEffectConverts converts;
  gint width, height; /* that the effect itself gives the output, or 0 */
} GstCudaAgreed;

struct _GstCudaFilter {
  GstVkgdrVideoFilter parent;

  /* --- under the object lock: what is asked for ---
   *
   * A property that is set is only noted; gst_cuda_filter_commit() makes it
   * count, once all of a g_object_set() are there. */
  GstCudaChoice choice;
  gboolean choice_is_new;    /* noted, and not committed */
  gboolean choice_is_made;   /* by the user, ever */
  gboolean kernel_changed;   /* committed, and not loaded */
  gboolean kernel_is_coming; /* is being loaded */
  guint n_choices;           /* tells one that has passed meanwhile */

  GstStructure *noted; /* the params that were set and not committed */
  gboolean params_are_noted;
  GstStructure *params;       /* that count */
  gboolean params_are_judged; /* they fit what they are for */
  gboolean params_changed;    /* committed, and not in use */
  GstStructure *good;         /* the last ones in use */
  GstStructure *rejected;     /* they did not fit; another kernel may come */
  gboolean params_are_rejected;
  gboolean params_are_retried; /* once rejected, and now tried again */

  /* The values of the parameters, whoever set them; never NULL. They are newer
   * than params where child_is_current, else older. */
  GstCudaParams *child;
  gboolean child_is_current;

  guint kernel_timeout; /* milliseconds, or 0 */
  GstCaps *output;      /* that is asked for, completed; or NULL */
  gboolean output_is_in_any_memory;

  gboolean watch;
  gboolean is_open;
  GstCudaWatch *file_watch;

  /* --- written by the streaming thread, under the object lock --- */
  GstCudaLoaded running;
  GstCudaLoaded next;     /* waits for params that fit, or for the next frame */
  gboolean next_is_fresh; /* a changed file's, and nobody knows of it yet */
  GstStructure *arguments; /* as the running kernel takes them */

  /* --- the streaming thread's --- */
  guint arguments_serial; /* the child's, when they were taken */
  guint64 frame;
  gboolean is_video;
  gboolean is_audio; /* else, where it is no video either: bytes */
  GstAudioInfo audio_info;
  GstCudaAgreed agreed;
  GstCaps *refused; /* that nothing can be made of, as has been told */
};

/* --- gstcudaupdate.c --- */

/* Makes the properties count that were set: params are judged, and bad ones
 * told and left out. Any thread. */
void gst_cuda_filter_commit (GstCudaFilter *self);

/* Loads what is asked for and takes the arguments of a frame whose stream time
 * is @time, or GST_CLOCK_TIME_NONE. FALSE with @error where there is nothing to
 * be run; once frames have passed, what fails is told as a warning, and what
 * ran goes on. In the streaming thread, or in open. */
gboolean gst_cuda_filter_update (
    GstCudaFilter *self, GstClockTime time, GError **error);

/* Tells again of params that were set and left out, once there is a bus to tell
 * it to. As gst_cuda_filter_update(), behind it. */
void gst_cuda_filter_remind (GstCudaFilter *self);

/* Lets go of the kernel and what belongs to it. */
void gst_cuda_filter_unload (GstCudaFilter *self);

/* The values of all parameters, or NULL; the caller frees them. Any thread. */
GstStructure *gst_cuda_filter_get_params (GstCudaFilter *self);

/* --- gstcudanegotiate.c --- */

/* Sets the class's functions that have to do with caps. */
void gst_cuda_filter_init_negotiation (GstCudaFilterClass *klass);

/* --- gstcudareload.c --- */

/* Starts, moves or ends the watch on the file, as the properties and is_open
 * say. Any thread, without the object lock. */
void gst_cuda_filter_sync_watch (GstCudaFilter *self);

G_END_DECLS

#endif /* __GST_CUDA_FILTER_H__ */
