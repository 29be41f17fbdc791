/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/launcher.h: the limit, the name and the signal of an element's kernels
 *
 * Several elements may launch kernels on one CUDA stream. Each of them has a
 * launcher: the limit of its kernels, the name for messages, and the object
 * whose signal "failed" is emitted. A launcher outlives its stream as long as
 * kernels run. Thread-safe.
 */

#ifndef __GST_VKGDR_LAUNCHER_H__
#define __GST_VKGDR_LAUNCHER_H__

#include <gst/vkgdr/gstvkgdrstream.h>

G_BEGIN_DECLS

typedef struct _GstVkgdrLauncher GstVkgdrLauncher;

GstVkgdrLauncher *gst_vkgdr_launcher_new (GstVkgdrStream *stream);
GstVkgdrLauncher *gst_vkgdr_launcher_ref (GstVkgdrLauncher *self);
void gst_vkgdr_launcher_unref (GstVkgdrLauncher *self);

/* Milliseconds for each kernel that is launched from now on; 0 means no limit.
 */
void gst_vkgdr_launcher_set_limit (GstVkgdrLauncher *self, guint limit);
guint gst_vkgdr_launcher_get_limit (GstVkgdrLauncher *self);

/* The name of the stream. Must be called for the first time while the caller
 * has a reference to the stream; later calls do not need the stream. */
const gchar *gst_vkgdr_launcher_get_name (GstVkgdrLauncher *self);

/* Returns a reference to the stream, or NULL if it was disposed. */
GstVkgdrStream *gst_vkgdr_launcher_ref_stream (GstVkgdrLauncher *self);

G_END_DECLS

#endif /* __GST_VKGDR_LAUNCHER_H__ */
