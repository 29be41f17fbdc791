/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/nvrtc.h: compiles with NVIDIA's run-time compiler, or with softcuda's
 *
 * Knows nothing of devices, caches and kernels.
 */

#ifndef __GST_VKGDR_NVRTC_H__
#define __GST_VKGDR_NVRTC_H__

#include <gst/vkgdr/gstvkgdrerror.h>

G_BEGIN_DECLS

typedef struct _GstVkgdrNvrtc GstVkgdrNvrtc;

/* Returns the compiler for a GPU, or for the software device. It is loaded once
 * in a process. @driver_version is that of cuDriverGetVersion (): the driver
 * may not be able to load the images of a compiler that is newer than itself,
 * so an older compiler is preferred. Returns NULL with @error set if there is
 * no compiler; the next call tries again. Thread-safe. */
const GstVkgdrNvrtc *gst_vkgdr_nvrtc_get (
    gboolean software, gint driver_version, GError **error);

/* Returns a description for users, such as "NVRTC 13.0 (libnvrtc.so.13)". */
gchar *gst_vkgdr_nvrtc_describe (const GstVkgdrNvrtc *nvrtc);

/* Returns a string for the key of the cache. It differs for each version of
 * NVRTC, and changes with the files of softcuda and with SOFTCUDA_CXX. */
gchar *gst_vkgdr_nvrtc_identify (const GstVkgdrNvrtc *nvrtc);

/* Returns the newest architecture, such as 90 for sm_90, that the compiler
 * supports and that a device of @capability can run, or 0 if there is none. */
gint gst_vkgdr_nvrtc_choose_arch (const GstVkgdrNvrtc *nvrtc, gint capability);

/* Returns the folders of CUDA's headers, those of this compiler first. The
 * caller frees them with vkgdr_nvcc_free(). */
gchar **gst_vkgdr_nvrtc_find_folders (const GstVkgdrNvrtc *nvrtc);

/* Returns the options with which it compiles as nvcc does. */
const gchar *const *gst_vkgdr_nvrtc_get_options (const GstVkgdrNvrtc *nvrtc);

gboolean gst_vkgdr_nvrtc_has_cubin (const GstVkgdrNvrtc *nvrtc);

/* Compiles @text, which may include the headers named in @include_names.
 * @headers has their texts. Both are NULL-terminated. Returns a cubin, or PTX
 * with its terminating zero, or NULL with @error set, which has the whole log.
 */
GBytes *gst_vkgdr_nvrtc_compile (const GstVkgdrNvrtc *nvrtc, const gchar *text,
    const gchar *name, const gchar *const *headers,
    const gchar *const *include_names, const gchar *const *options,
    gboolean cubin, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_NVRTC_H__ */
