/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/module.h: modules and functions inside the library
 *
 * Knows nothing of the meaning of a function's parameters.
 */

#ifndef __GST_VKGDR_FUNCTION_PRIVATE_H__
#define __GST_VKGDR_FUNCTION_PRIVATE_H__

#include <gst/vkgdr/gstvkgdrkernel.h>
#include <gst/vkgdr/gstvkgdrmodule.h>

#include "memory/memory-private.h"

G_BEGIN_DECLS

/* Larger blocks do not use a multiprocessor better, and leave more threads idle
 * at the edges of a frame. */
#define GST_VKGDR_FUNCTION_GOOD_THREADS 256

/* Does not change after it was loaded. */
struct _GstVkgdrModule {
  GstObject parent;

  GstVkgdrContext *context; /* NULL if a language binding created the object */
  CUmodule handle;
  gchar *name;   /* the name of the image in messages */
  gchar **names; /* of its functions; NULL if unknown */
  gchar *ptx;    /* its text, if the driver does not list the functions */
};

/* Does not change after it was found. */
struct _GstVkgdrFunction {
  GstObject parent;

  GstVkgdrModule *module;   /* NULL if a language binding created the object */
  GstVkgdrContext *context; /* the module's */
  const gchar *name;        /* the module's */
  CUfunction function;
  const gchar *entry; /* its name in the module; interned */
  GArray *sizes;      /* of its parameters (gsize); NULL if unknown */
  GArray *offsets;    /* of its parameters in the arguments of a launch */
  guint max_threads;  /* of a block; 0 if unknown */
  guint good_threads; /* of a block, for the best use of the device, up to
                       * GST_VKGDR_FUNCTION_GOOD_THREADS; never 0 */
};

/* Compiles the source @text, to PTX if gst_vkgdr_module_needs_ptx () returns
 * TRUE. @label is its name in messages, and @folder (nullable) its folder. */
GBytes *gst_vkgdr_module_compile (GstVkgdrContext *context, const gchar *text,
    const gchar *label, const gchar *folder, GstVkgdrCompileOptions *options,
    GError **error);

/* Returns the image in the file at @path, or compiles the source in it. @name
 * is its path in messages. Sets @text to the source, which the caller frees, or
 * to NULL if the file is an image. */
GBytes *gst_vkgdr_module_read (GstVkgdrContext *context, const gchar *path,
    const gchar *name, GstVkgdrCompileOptions *options, gchar **text,
    GError **error);

/* Returns whether @image is complete. If not, sets @error. */
gboolean gst_vkgdr_module_check_image (
    GBytes *image, const gchar *label, GError **error);

/* Returns FALSE with @error set if a kernel does not end. The driver waits for
 * all kernels when it loads a module. */
gboolean gst_vkgdr_module_can_load (GstVkgdrContext *context, GError **error);

/* Must be called with the context pushed. Always returns a module. If *@ok is
 * FALSE, @error is set, and the caller has to release the module after it has
 * popped the context. */
GstVkgdrModule *gst_vkgdr_module_load (GstVkgdrContext *context, GBytes *image,
    const gchar *label, gboolean *ok, GError **error);

/* Loads a copy of @image, which is PTX text, a cubin or a fatbin, and finds a
 * function in it. @entry is the name of the function, or NULL for the only one.
 * On failure, returns NULL with @error set. If the driver refuses the image,
 * @error has the driver's log. */
GstVkgdrFunction *gst_vkgdr_function_load (GstVkgdrContext *context,
    GBytes *image, const gchar *name, const gchar *entry, GError **error);

/* Queues a launch. @arguments has the address of each argument, as for
 * cuLaunchKernel (). */
gboolean gst_vkgdr_function_launch_raw (GstVkgdrFunction *self,
    GstVkgdrStream *stream, const guint grid[3], const guint block[3],
    guint shared, void **arguments, void **extra, GError **error);

/* Whether the driver cannot list the functions of a module and their
 * parameters, so that they are known from PTX text only. */
gboolean gst_vkgdr_module_needs_ptx (GstVkgdrContext *context);

G_END_DECLS

#endif /* __GST_VKGDR_FUNCTION_PRIVATE_H__ */
