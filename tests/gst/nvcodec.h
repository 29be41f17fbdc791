/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvcodec.h: GStreamer's own CUDA elements, on the device that the plugin uses
 */

#ifndef __TEST_NVCODEC_H__
#define __TEST_NVCODEC_H__

#include "util.h"

G_BEGIN_DECLS

#define CUDA "video/x-raw(" GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA ")"
#define VKGDR "video/x-raw(" GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY ")"

/* Ends the program as skipped if the elements cannot be used. To be called
 * before the tests. */
void test_nvcodec_require (void);

/* Loads the elements. To be called in each test that uses them. */
void test_nvcodec_load (void);

/* Whether there is cudaconvertscale. To be called after test_nvcodec_load ().
 * If not, prints why the test is skipped. GStreamer 1.26 registers this element
 * only if NVRTC compiles for an architecture that NVRTC 13 does not support any
 * more. */
gboolean test_nvcodec_has_converter (void);

/* Returns a function of GStreamer's CUDA library. */
void *test_nvcodec_function (const gchar *name);

G_END_DECLS

#endif /* __TEST_NVCODEC_H__ */
