/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * rig.h: a cudafilter to which a test pushes frames, and its messages
 *
 * The frames are in ordinary memory at both ends, because vkgdrupload and
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
  guint n; /* number of frames that were pushed, one for each second */
} Rig;

/* The caps of the frames of two pixels that rig_red () pushes. */
#define RGBA_2X1 \
  "video/x-raw,format=RGBA,width=2,height=1,framerate=1/1,colorimetry=sRGB"

/* A kernel that sets the first component of each pixel, such as red, to
 * @red. */
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

/* Makes a filter with @properties in the syntax of gst-launch-1.0. It is
 * stopped, so that a test can set properties before rig_start (). */
void rig_init (Rig *rig, const gchar *properties);
void rig_start (Rig *rig, const gchar *caps);
void rig_clear (Rig *rig);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Rig, rig_clear)

/* Waits until the properties have taken effect, and pushes a copy of @data.
 * Returns the frame that comes out, which the caller frees. */
guint8 *rig_push (Rig *rig, const guint8 *data, gsize size);

/* Pushes a frame of RGBA_2X1 with the pixel 100, 60, 20, 255. Returns red of
 * the result. */
guint8 rig_red (Rig *rig);

/* The same, without waiting for the properties. */
guint8 rig_red_now (Rig *rig);

/* Sets the property `params` to a structure with this text, or to NULL. */
void rig_set_params (Rig *rig, const gchar *text);

/* Returns the text of the property `params`, which the caller frees. */
gchar *rig_get_params (Rig *rig);

/* Returns the text of the next message of this type within @ms milliseconds,
 * which the caller frees, or NULL. Messages about the device are ignored. Fails
 * if a warning comes before a message of the type info. */
gchar *rig_wait_message (Rig *rig, GstMessageType type, guint ms);

/* Fails unless there is a message that contains all words, which end with
 * NULL. */
void rig_assert_message (Rig *rig, GstMessageType type, ...);

/* Fails if there is a warning. */
void rig_assert_quiet (Rig *rig);

/* Fails unless the filter does not start, with an error that contains all
 * words. */
#define rig_assert_fails(rig, ...) \
  G_STMT_START \
  { \
    gst_element_set_state ((rig)->harness->element, GST_STATE_PAUSED); \
    rig_assert_message (rig, GST_MESSAGE_ERROR, __VA_ARGS__, NULL); \
  } \
  G_STMT_END

G_END_DECLS

#endif /* __TEST_RIG_H__ */
