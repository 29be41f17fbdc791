/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/nvrtc.h: NVIDIA's run-time compiler, or softcuda's, as a function
 *
 * Knows nothing of devices, caches and kernels.
 */

#ifndef __GST_VKGDR_NVRTC_H__
#define __GST_VKGDR_NVRTC_H__

#include <gst/vkgdr/gstvkgdrerror.h>

G_BEGIN_DECLS

typedef struct _GstVkgdrNvrtc GstVkgdrNvrtc;

/* The compiler for a real device, or for the software one. @driver_version is
 * cuDriverGetVersion()'s: a compiler that is newer than the driver makes images
 * that it cannot load, so an older one is preferred. Loaded once for the
 * process. NULL with @error set where there
 * is none; the next call tries again. Thread-safe. */
const GstVkgdrNvrtc *gst_vkgdr_nvrtc_get (
    gboolean software, gint driver_version, GError **error);

/* What a person calls it: "NVRTC 13.0 (libnvrtc.so.13)". */
gchar *gst_vkgdr_nvrtc_describe (const GstVkgdrNvrtc *nvrtc);

/* What distinguishes this compiler from any other, for a cache's key. */
gchar *gst_vkgdr_nvrtc_identify (const GstVkgdrNvrtc *nvrtc);

/* The newest architecture, as in sm_90, that the compiler knows and a device of
 * @capability runs: @capability itself, or an older one. 0 where there is none.
 */
gint gst_vkgdr_nvrtc_choose_arch (const GstVkgdrNvrtc *nvrtc, gint capability);

gboolean gst_vkgdr_nvrtc_has_cubin (const GstVkgdrNvrtc *nvrtc);

/* Compiles @text, which may include the headers named in @include_names, whose
 * texts are @headers; both end with NULL. Returns a cubin, or PTX with its
 * terminating zero, or NULL with @error set, which holds the whole log. */
GBytes *gst_vkgdr_nvrtc_compile (const GstVkgdrNvrtc *nvrtc, const gchar *text,
    const gchar *name, const gchar *const *headers,
    const gchar *const *include_names, const gchar *const *options,
    gboolean cubin, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_NVRTC_H__ */
