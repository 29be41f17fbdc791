/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrmodule.h: a loaded image, and the one function of it that is run
 *
 * Knows nothing of what the function's parameters mean, nor of launches.
 */

#ifndef __GST_VKGDR_MODULE_H__
#define __GST_VKGDR_MODULE_H__

#include "gstvkgdrprivate.h"

G_BEGIN_DECLS

/* Larger blocks than this fill a multiprocessor no better, and leave more
 * threads idle at a frame's edges. */
#define GST_VKGDR_MODULE_GOOD_THREADS 256

/* Does not change once it is loaded. */
typedef struct {
  GstVkgdrContext *context;
  CUmodule handle;
  CUfunction function;
  gchar *name;        /* what messages call the image */
  gchar *entry;       /* the function's name, as the module has it */
  GArray *sizes;      /* of its parameters, gsize each; NULL where there is no
                       * telling */
  guint max_threads;  /* of a block; 0 where there is no telling */
  guint good_threads; /* of a block: those that keep the device busy, up to
                       * GST_VKGDR_MODULE_GOOD_THREADS; never 0 */
} GstVkgdrModule;

/* Loads @image, PTX text, a cubin or a fatbin, which is copied. @entry is the
 * name of the function, or NULL for the only one. Returns NULL with @error set,
 * which holds the driver's log where it refuses the image. */
GstVkgdrModule *gst_vkgdr_module_load (GstVkgdrContext *context, GBytes *image,
    const gchar *name, const gchar *entry, GError **error);
void gst_vkgdr_module_free (GstVkgdrModule *self);

/* Whether the driver does not tell a module's entries and their parameters, so
 * that only an image of PTX text can. */
gboolean gst_vkgdr_module_needs_ptx (GstVkgdrContext *context);

G_END_DECLS

#endif /* __GST_VKGDR_MODULE_H__ */
