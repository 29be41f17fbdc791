/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * infer/network.h: an ONNX network that takes a picture
 *
 * Knows nothing of elements and frames.
 */

#ifndef __GST_INFER_NETWORK_H__
#define __GST_INFER_NETWORK_H__

#include <gst/analytics/analytics.h>

#include "infer/coordinates.h"
#include "infer/runtime.h"
#include "tensor/settings.h"

G_BEGIN_DECLS

#define GST_INFER_MAX_DIMS 8

/* An output of a network. */
typedef struct {
  gchar *name;
  ONNXTensorElementDataType onnx_type;
  GstTensorDataType type;
  guint n_dims;                    /* 0: known after a run only */
  gint64 dims[GST_INFER_MAX_DIMS]; /* 0: known after a run only */
  const gchar *id;                 /* of the tensor, interned */
  GstTensorDimOrder order;
  GstInferBoxes boxes;
} GstInferOutput;

/* The memory of an output after a run. */
typedef struct {
  GstMemory *memory; /* NULL if a dimension is 0 */
  guint n_dims;
  gsize dims[GST_INFER_MAX_DIMS];
} GstInferResult;

typedef struct {
  const GstOrt *ort;
  GstVkgdrContext *context;
  GstVkgdrAllocator *allocator; /* of the outputs */
  OrtSession *session;
  OrtRunOptions *run_options;
  OrtIoBinding *binding;
  OrtMemoryInfo *memory_info; /* of input and outputs */
  gboolean is_cuda;    /* the CUDA provider, which takes device pointers */
  gboolean has_stream; /* that provider runs on the element's stream */

  gchar *input;
  guint input_rank;
  ONNXTensorElementDataType input_type;
  GstVkgdrTensorConfig
      *config; /* its width and height are 0 if they are open */

  GArray *outputs;       /* of GstInferOutput */
  const gchar *group_id; /* interned */
  gboolean has_modelinfo;
} GstInferNetwork;

/* What the user asks for. */
typedef struct {
  const gchar *model_file;
  const gchar *modelinfo;            /* NULL: beside the model, if it exists */
  const OrtEpDevice *cuda;           /* NULL: the CPU provider */
  GstVkgdrStream *stream;            /* on which the CUDA provider runs */
  const GstTensorSettings *settings; /* the preparation of the input */
} GstInferOptions;

/* Opens the network and checks that its input is a picture. Returns NULL with
 * @error set. */
GstInferNetwork *gst_infer_network_open (const GstOrt *ort,
    GstVkgdrContext *context, const GstInferOptions *options, GError **error);
void gst_infer_network_free (GstInferNetwork *self);

/* --- run.c --- */

/* Runs the network on @input, memory of @config. The work that @stream has
 * queued comes before, and work that is queued afterwards comes behind. Sets
 * @results, one for each output; the caller unrefs their memory. Returns FALSE
 * with @error set. */
gboolean gst_infer_network_run (GstInferNetwork *self, GstVkgdrStream *stream,
    GstMemory *input, const GstVkgdrTensorConfig *config,
    GstInferResult *results, GError **error);

/* Makes a run that is in progress, and all later ones, fail. Thread-safe. */
void gst_infer_network_terminate (GstInferNetwork *self);

/* --- modelinfo.c --- */

/* Completes @dims, of the input or output @name, with those of @file, and
 * checks both. Returns FALSE with @error set. */
gboolean gst_infer_modelinfo_check (GKeyFile *file, const gchar *path,
    const gchar *name, GstTensorDataType type, gint64 *dims, guint n_dims,
    GError **error);

/* Sets the ids and orders of the outputs, and their group, from @file, or if it
 * is NULL, from the names of the outputs and of @model_file. */
void gst_infer_network_name (
    GstInferNetwork *self, GKeyFile *file, const gchar *model_file);

/* Returns the text of a .modelinfo file for the network, which the caller
 * frees. */
gchar *gst_infer_network_make_modelinfo (GstInferNetwork *self);

/* --- outputs.c --- */

GstInferOutput *gst_infer_network_get_output (GstInferNetwork *self, guint i);

/* Sets @type to that of GStreamer. Returns the size of an element in bytes, or
 * 0 if GStreamer has no such type. */
gsize gst_infer_type_get (
    ONNXTensorElementDataType onnx, GstTensorDataType *type);

/* --- tensors.c --- */

/* Sets @value to the field `tensors` of caps. */
void gst_infer_network_get_tensors (GstInferNetwork *self, GValue *value);

/* Adds a GstTensorMeta, and removes those that @buffer has. Takes ownership of
 * the memory of @results. */
void gst_infer_network_add_meta (
    GstInferNetwork *self, GstBuffer *buffer, GstInferResult *results);

G_END_DECLS

#endif /* __GST_INFER_NETWORK_H__ */
