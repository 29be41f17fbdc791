/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/module.h: what the library sees of modules and functions
 *
 * Knows nothing of what a function's parameters mean.
 */

#ifndef __GST_VKGDR_FUNCTION_PRIVATE_H__
#define __GST_VKGDR_FUNCTION_PRIVATE_H__

#include <gst/vkgdr/gstvkgdrkernel.h>
#include <gst/vkgdr/gstvkgdrmodule.h>

#include "memory/memory-private.h"

G_BEGIN_DECLS

/* Larger blocks than this fill a multiprocessor no better, and leave more
 * threads idle at a frame's edges. */
#define GST_VKGDR_FUNCTION_GOOD_THREADS 256

/* Does not change once it is loaded. */
struct _GstVkgdrModule {
  GstObject parent;

  GstVkgdrContext *context; /* NULL where a binding made it by itself */
  CUmodule handle;
  gchar *name;   /* what messages call the image */
  gchar **names; /* of its functions; NULL where there is no telling */
  gchar *ptx;    /* its text, where the driver does not tell what is in it */
};

/* Neither does it. */
struct _GstVkgdrFunction {
  GstObject parent;

  GstVkgdrModule *module;   /* NULL where a binding made it by itself */
  GstVkgdrContext *context; /* the module's */
  const gchar *name;        /* the module's */
  CUfunction function;
  const gchar *entry; /* its name, as the module has it; interned */
  GArray *sizes;      /* of its parameters, gsize each; NULL where there is no
                       * telling */
  GArray *offsets;    /* of the same, in what a launch takes */
  guint max_threads;  /* of a block; 0 where there is no telling */
  guint good_threads; /* of a block: those that keep the device busy, up to
                       * GST_VKGDR_FUNCTION_GOOD_THREADS; never 0 */
};

/* Compiles @input; gst_vkgdr_module_needs_ptx() decides what it becomes. */
GBytes *gst_vkgdr_module_compile (GstVkgdrContext *context, const gchar *text,
    const gchar *label, const gchar *folder, GstVkgdrCompileOptions *options,
    GError **error);

/* Makes an image of the file at @path, which is one or is compiled. @text
 * becomes the text of what was compiled, which the caller frees, else NULL. */
GBytes *gst_vkgdr_module_read (GstVkgdrContext *context, const gchar *path,
    GstVkgdrCompileOptions *options, gchar **text, GError **error);

/* Whether @image is all there; else FALSE with @error set. */
gboolean gst_vkgdr_module_check_image (
    GBytes *image, const gchar *label, GError **error);

/* FALSE with @error set if loading a module would wait for a kernel that does
 * not end, as the driver waits for all kernels then. */
gboolean gst_vkgdr_module_can_load (GstVkgdrContext *context, GError **error);

/* With the context pushed. Returns a module in any case, which is to be
 * given up after that where *@ok is FALSE and @error set. */
GstVkgdrModule *gst_vkgdr_module_load (GstVkgdrContext *context, GBytes *image,
    const gchar *label, gboolean *ok, GError **error);

/* Loads @image, PTX text, a cubin or a fatbin, which is copied, and finds a
 * function in it. @entry is its name, or NULL for the only one. Returns NULL
 * with @error set, which holds the driver's log where it refuses the image. */
GstVkgdrFunction *gst_vkgdr_function_load (GstVkgdrContext *context,
    GBytes *image, const gchar *name, const gchar *entry, GError **error);

/* Queues a launch; @arguments points to each of them, as cuLaunchKernel () has
 * it. */
gboolean gst_vkgdr_function_launch_raw (GstVkgdrFunction *self,
    GstVkgdrStream *stream, const guint grid[3], const guint block[3],
    guint shared, void **arguments, void **extra, GError **error);

/* Whether the driver does not tell a module's entries and their parameters, so
 * that only an image of PTX text can. */
gboolean gst_vkgdr_module_needs_ptx (GstVkgdrContext *context);

G_END_DECLS

#endif /* __GST_VKGDR_FUNCTION_PRIVATE_H__ */
