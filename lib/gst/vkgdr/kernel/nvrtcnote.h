/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/nvrtcnote.h: what is known of an NVRTC library without loading it
 *
 * Knows nothing of how the library is found and used.
 */

#ifndef __GST_VKGDR_NVRTC_NOTE_H__
#define __GST_VKGDR_NVRTC_NOTE_H__

#include <gst/gst.h>

G_BEGIN_DECLS

typedef struct {
  gchar *name; /* as the library was asked for */
  gchar *file; /* its file */
  gint major, minor;
  gboolean has_cubin;
  GArray *archs; /* of gint; empty where it does not tell */
} GstVkgdrNvrtcNote;

/* What an earlier process noted for such a driver; NULL where there is no note,
 * or where what it is about may have changed since. */
GstVkgdrNvrtcNote *gst_vkgdr_nvrtc_note_read (gint driver_major);

/* Keeps @note for later ones; not that of a library whose place is not known.
 */
void gst_vkgdr_nvrtc_note_write (
    gint driver_major, const GstVkgdrNvrtcNote *note);

void gst_vkgdr_nvrtc_note_free (GstVkgdrNvrtcNote *note);

G_END_DECLS

#endif /* __GST_VKGDR_NVRTC_NOTE_H__ */
