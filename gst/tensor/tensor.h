/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/tensor.h: the element vkgdrtensor, shared by its files
 */

#ifndef __GST_VKGDR_TENSOR_ELEMENT_H__
#define __GST_VKGDR_TENSOR_ELEMENT_H__

#include <gst/base/gstaggregator.h>
#include <gst/vkgdr/vkgdr.h>

#include "tensor/batch.h"
#include "tensor/settings.h"

G_BEGIN_DECLS

/* What a batch contains for a pad that has no frame in time. */
typedef enum {
  GST_VKGDR_TENSOR_MISSING_REPEAT,
  GST_VKGDR_TENSOR_MISSING_LEAVE_OUT
} GstVkgdrTensorMissing;

/* Which part of a frame is used. */
typedef enum {
  GST_VKGDR_TENSOR_REGION_FRAME,
  GST_VKGDR_TENSOR_REGION_ROI
} GstVkgdrTensorRegion;

/* --- a sink pad ---------------------------------------------------------- */

#define GST_TYPE_VKGDR_TENSOR_PAD (gst_vkgdr_tensor_pad_get_type ())
G_DECLARE_FINAL_TYPE (GstVkgdrTensorPad, gst_vkgdr_tensor_pad, GST,
    VKGDR_TENSOR_PAD, GstAggregatorPad)

/* A frame, its format and its time. */
typedef struct {
  GstBuffer *buffer; /* NULL if there is none */
  GstVideoInfo info;
  GstClockTime running_time;
} GstVkgdrTensorPicture;

/* Used by the streaming thread of the source pad. A flush of this pad clears
 * `last` in upstream's thread, also while that streaming thread runs. */
struct _GstVkgdrTensorPad {
  GstAggregatorPad parent;

  gboolean has_info;
  GstVideoInfo info;          /* of the next frame */
  GstVkgdrTensorPicture last; /* of the last round; under the object lock */
  /* Where the tensor's picture is in the pad's frames, or zeros before the
   * first one; under the object lock. */
  GstVkgdrTensorTransform place;
};

/* Sets @picture, with a reference to its buffer. Returns FALSE if there is no
 * last frame. */
gboolean gst_vkgdr_tensor_pad_get_last (
    GstVkgdrTensorPad *self, GstVkgdrTensorPicture *picture);

/* Adds a reference to the buffer of @picture. If @picture is NULL, the pad has
 * no last frame. */
void gst_vkgdr_tensor_pad_set_last (
    GstVkgdrTensorPad *self, const GstVkgdrTensorPicture *picture);

/* --- the element --------------------------------------------------------- */

#define GST_TYPE_VKGDR_TENSOR (gst_vkgdr_tensor_get_type ())
G_DECLARE_FINAL_TYPE (
    GstVkgdrTensor, gst_vkgdr_tensor, GST, VKGDR_TENSOR, GstAggregator)

struct _GstVkgdrTensor {
  GstAggregator parent;

  /* Set by the user, under the object lock, while the element is stopped. */
  gint device;
  GstTensorSettings settings; /* the width and height of the config may be 0 */
  guint batch_size;           /* 0: a frame of each pad */
  const gchar *tensor_id;     /* this and the next two: interned, or NULL */
  const gchar *roi_type;      /* NULL: all */
  const gchar *modelinfo;
  GstVkgdrTensorMissing missing;
  GstVkgdrTensorRegion region;

  GstVkgdrContext *context; /* under the object lock */
  GstVkgdrStream *stream;   /* while the element is started */

  /* Negotiated values, used by the streaming thread only. */
  GstVkgdrTensorConverter *converter; /* changed under the object lock */
  guint capacity;                     /* frames of a batch */
  const gchar *id;        /* the id of the tensor, interned, or NULL */
  guint rounds_per_batch; /* after which a batch is sent, full or not */
  gboolean is_outdated;   /* pads or formats changed after the batch began */

  /* The batch that is being made, used by the streaming thread only. */
  GstTensorBatch *batch; /* NULL between two batches */
  guint rounds;          /* the number of rounds in it */
  GstClockTime end; /* the running time of the end of the last round, or NONE */

  /* Statistics, under the object lock. */
  guint64 frames;
  guint64 batches;
  guint64 repeated;
  guint64 left_out;
};

/* Takes ownership of @converter, which may be NULL. */
void gst_vkgdr_tensor_set_converter (
    GstVkgdrTensor *self, GstVkgdrTensorConverter *converter);

/* --- properties.c --- */

void gst_vkgdr_tensor_install_properties (GObjectClass *object_class);
void gst_vkgdr_tensor_init_properties (GstVkgdrTensor *self);
void gst_vkgdr_tensor_clear_properties (GstVkgdrTensor *self);

/* --- negotiate.c --- */

void gst_vkgdr_tensor_init_negotiation (GstAggregatorClass *klass);

/* --- round.c --- */

void gst_vkgdr_tensor_init_rounds (GstAggregatorClass *klass);

/* Drops the batch that is being made, and the last frame of every pad. */
void gst_vkgdr_tensor_reset (GstVkgdrTensor *self);

G_END_DECLS

#endif /* __GST_VKGDR_TENSOR_ELEMENT_H__ */
