/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrfeatures.h: caps features of GStreamer
 */

#ifndef __GST_VKGDR_FEATURES_H__
#define __GST_VKGDR_FEATURES_H__

#include <gst/video/video.h>

/* What raw video can have in addition to the feature of its memory. Caps
 * features that are ANY stand for each of them, and for none. */
#define GST_VKGDR_MORE_FEATURES \
  GST_CAPS_FEATURE_META_GST_VIDEO_OVERLAY_COMPOSITION, \
      GST_CAPS_FEATURE_FORMAT_INTERLACED

#endif /* __GST_VKGDR_FEATURES_H__ */
