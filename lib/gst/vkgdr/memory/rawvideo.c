/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/rawvideo.c: finds out whether caps are raw video
 */

#include "memory/memory-private.h"

/**
 * gst_vkgdr_caps_get_video_info:
 * @caps: (nullable): fixed caps of any media type
 * @info: (out caller-allocates): the format of a frame; undefined if the
 *   function returns %FALSE
 *
 * Looks at the media type first: gst_video_info_from_caps() logs an error for
 * audio and bytes, and accepts compressed video, whose buffers have no planes.
 *
 * Thread-safe.
 *
 * Returns: whether @caps are raw video with a layout that GStreamer knows
 *
 * Since: 0.2
 */
gboolean
gst_vkgdr_caps_get_video_info (const GstCaps *caps, GstVideoInfo *info)
{
  g_return_val_if_fail (info != NULL, FALSE);

  return caps && !gst_caps_is_empty (caps) && !gst_caps_is_any (caps)
         && gst_structure_has_name (
             gst_caps_get_structure (caps, 0), "video/x-raw")
         && gst_video_info_from_caps (info, caps)
         && GST_VIDEO_INFO_FORMAT (info) != GST_VIDEO_FORMAT_ENCODED;
}
