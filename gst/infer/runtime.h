/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * infer/runtime.h: ONNX Runtime, found at run time
 *
 * The library, its environment, and its CUDA provider. Knows nothing of
 * networks and elements.
 */

#ifndef __GST_INFER_RUNTIME_H__
#define __GST_INFER_RUNTIME_H__

#include <gst/vkgdr/vkgdr.h>
#include <onnxruntime_c_api.h>

G_BEGIN_DECLS

GST_DEBUG_CATEGORY_EXTERN (gst_infer_debug);

/* One for the process. It is never freed: its threads serve all networks. */
typedef struct {
  const OrtApi *api;
  OrtEnv *env;
  OrtAllocator *allocator; /* of texts and lists that the library returns */
  const gchar *version;    /* "1.23.2" */
  gchar *folder;           /* of the library */
  guint threads;
} GstOrt;

/* Loads the library when it is first called. @threads, the number of threads of
 * the CPU provider, is that of the first caller. Returns NULL with @error set.
 * Thread-safe. */
const GstOrt *gst_ort_get (guint threads, GError **error);

/* Frees @status. Returns FALSE with @error set if it is a failure: "@what: the
 * text of ONNX Runtime". */
gboolean gst_ort_check (
    const GstOrt *self, OrtStatus *status, const gchar *what, GError **error);

/* Returns the CUDA provider for the device of @context. @library is the path of
 * the provider's library, or NULL to search for it. Returns NULL with @error
 * set. Thread-safe. */
const OrtEpDevice *gst_ort_find_cuda (const GstOrt *self,
    GstVkgdrContext *context, const gchar *library, GError **error);

G_END_DECLS

#endif /* __GST_INFER_RUNTIME_H__ */
