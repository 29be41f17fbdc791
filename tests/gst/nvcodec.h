/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvcodec.h: GStreamer's own CUDA elements, on the device that ours run on
 */

#ifndef __TEST_NVCODEC_H__
#define __TEST_NVCODEC_H__

#include "util.h"

G_BEGIN_DECLS

#define CUDA "video/x-raw(" GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA ")"
#define VKGDR "video/x-raw(" GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY ")"

/* Ends the program as one that is skipped where they are of no use. Before the
 * tests. */
void test_nvcodec_require (void);

/* Loads them; in each test that uses them. */
void test_nvcodec_load (void);

/* Whether there is cudaconvertscale, after test_nvcodec_load (). If not, prints
 * why a test is skipped. GStreamer 1.26 registers the element if NVRTC compiles
 * for an architecture that NVRTC 13 does not know any more. */
gboolean test_nvcodec_has_converter (void);

/* Fails the test unless the visible rows of all planes are the same. */
void test_nvcodec_assert_same_frame (
    GstBuffer *a, GstBuffer *b, const GstVideoInfo *info);

/* Fails the test unless the weak pointer is NULL soon: a thread of the
 * library's, which gives their memory back, may be the last to have it. */
void test_nvcodec_assert_gone (gpointer *weak);

G_END_DECLS

#endif /* __TEST_NVCODEC_H__ */
