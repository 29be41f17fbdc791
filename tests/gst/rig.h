/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * rig.h: a cudafilter with frames before it and its messages behind
 *
 * The frames are in ordinary memory on both sides: vkgdrupload and
 * vkgdrdownload are around the filter.
 */

#ifndef __TEST_RIG_H__
#define __TEST_RIG_H__

#include <gst/check/gstharness.h>

G_BEGIN_DECLS

typedef struct {
  GstHarness *harness;
  GstElement *filter;
  GstBus *bus;
  guint n; /* frames pushed, one a second */
} Rig;

/* Frames of two pixels, as rig_red () pushes them. */
#define RGBA_2X1 \
  "video/x-raw,format=RGBA,width=2,height=1,framerate=1/1,colorimetry=sRGB"

/* A kernel that sets the red, or what is first, of each pixel to @red. */
#define KERNEL(params, red) \
  "__global__ void own (VkgdrFrame in, VkgdrFrame out" params ")\n" \
  "{\n" \
  "  int x = blockIdx.x * blockDim.x + threadIdx.x;\n" \
  "  int y = blockIdx.y * blockDim.y + threadIdx.y;\n" \
  "  if (x < out.width && y < out.height)\n" \
  "    vkgdr_put (out, 0, x, y, " red ");\n" \
  "}\n"

#define ADD KERNEL (", int n", "vkgdr_get (in, 0, x, y) + n")
#define MIX KERNEL (", int n, float f", "(int) ((n + 10) * f)")
#define SEVEN KERNEL ("", "7")

/* A filter with @properties, as a launch line has them. It is stopped: most
 * tests have something to set before rig_start (). */
void rig_init (Rig *rig, const gchar *properties);
void rig_start (Rig *rig, const gchar *caps);
void rig_clear (Rig *rig);

/* Pushes a copy of @data, once the filter has taken over what was set. Returns
 * the frame that comes out, which the caller frees. */
guint8 *rig_push (Rig *rig, const guint8 *data, gsize size);

/* Pushes a frame of RGBA_2X1. Returns what becomes of the red of a pixel of
 * 100, 60, 20, 255. */
guint8 rig_red (Rig *rig);

/* The same, without waiting for what was set. */
guint8 rig_red_now (Rig *rig);

/* Sets the property to a structure of that text, or NULL. */
void rig_set_params (Rig *rig, const gchar *text);

/* The text of the property, which the caller frees. */
gchar *rig_get_params (Rig *rig);

/* The text of the next message of that type within @ms, which the caller frees,
 * or NULL. Messages about the device are left out. */
gchar *rig_wait_message (Rig *rig, GstMessageType type, guint ms);

/* Fails unless there comes a message that has all of the words, which end with
 * NULL. */
void rig_assert_message (Rig *rig, GstMessageType type, ...);

/* Fails if there is a warning. */
void rig_assert_quiet (Rig *rig);

/* It does not start, and an error has all of the words. */
#define rig_assert_fails(rig, ...) \
  G_STMT_START \
  { \
    gst_element_set_state ((rig)->harness->element, GST_STATE_PAUSED); \
    rig_assert_message (rig, GST_MESSAGE_ERROR, __VA_ARGS__, NULL); \
  } \
  G_STMT_END

G_END_DECLS

#endif /* __TEST_RIG_H__ */
