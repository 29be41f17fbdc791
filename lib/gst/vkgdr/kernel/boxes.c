/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/boxes.c: the boxes of detected objects, for kernels
 *
 * Reads the metas of a buffer. Knows neither kernels nor devices.
 */

#include "kernel/boxes.h"

#ifdef HAVE_GST_ANALYTICS
#include <gst/analytics/analytics.h>
#endif

/* The start value and the factor of the hash FNV-1a, as in vkgdr_label(). */
#define HASH_START 2166136261u
#define HASH_FACTOR 16777619u

static guint
hash_label (GQuark name)
{
  const gchar *p = g_quark_to_string (name);
  guint32 hash = HASH_START;

  if (!p)
    return 0;
  for (; *p; p++)
    hash = (hash ^ (guchar) *p) * HASH_FACTOR;
  return hash;
}

#ifdef HAVE_GST_ANALYTICS

static void
read_detections (GstBuffer *buffer, GArray *boxes)
{
  GstAnalyticsRelationMeta *meta =
      gst_buffer_get_analytics_relation_meta (buffer);
  gpointer state = NULL;
  GstAnalyticsMtd mtd;

  while (meta
         && gst_analytics_relation_meta_iterate (
             meta, &state, gst_analytics_od_mtd_get_mtd_type (), &mtd)) {
    gint x, y, width, height;
    gfloat score;
    VkgdrBox box;

    if (!gst_analytics_od_mtd_get_location (
            &mtd, &x, &y, &width, &height, &score))
      continue;
    box = (VkgdrBox){ x, y, width, height, score,
      hash_label (gst_analytics_od_mtd_get_obj_type (&mtd)) };
    g_array_append_val (boxes, box);
  }
}

#else

static void
read_detections (GstBuffer *buffer, GArray *boxes)
{
}

#endif

/* Detectors add a structure with their confidence to a region. */
static gfloat
get_score (const GstVideoRegionOfInterestMeta *region)
{
  const GList *item;
  gdouble score;

  for (item = region->params; item; item = item->next)
    if (gst_structure_get_double (item->data, "confidence", &score))
      return (gfloat) score;
  return 1;
}

static void
read_regions (GstBuffer *buffer, GArray *boxes)
{
  gpointer state = NULL;
  GstMeta *meta;

  while ((meta = gst_buffer_iterate_meta_filtered (
              buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))) {
    const GstVideoRegionOfInterestMeta *region =
        (GstVideoRegionOfInterestMeta *) meta;
    VkgdrBox box = { region->x, region->y, region->w, region->h,
      get_score (region), hash_label (region->roi_type) };

    g_array_append_val (boxes, box);
  }
}

static gboolean
is_visible (const VkgdrBox *box, gint width, gint height)
{
  return box->width > 0 && box->height > 0 && box->x < width && box->y < height
         && box->x + box->width > 0 && box->y + box->height > 0;
}

static gint
compare_scores (gconstpointer a, gconstpointer b)
{
  const VkgdrBox *one = a, *other = b;

  return (one->score < other->score) - (one->score > other->score);
}

void
gst_vkgdr_boxes_read (
    VkgdrBoxes *boxes, GstBuffer *buffer, gint width, gint height)
{
  GArray *found = g_array_new (FALSE, FALSE, sizeof (VkgdrBox));
  guint i;

  boxes->n = boxes->total = 0;
  read_detections (buffer, found);
  if (found->len == 0)
    read_regions (buffer, found);
  g_array_sort (found, compare_scores); /* equal ones keep their order */
  for (i = 0; i < found->len; i++) {
    const VkgdrBox *box = &g_array_index (found, VkgdrBox, i);

    if (!is_visible (box, width, height))
      continue;
    if (boxes->n < VKGDR_MAX_BOXES)
      boxes->box[boxes->n++] = *box;
    boxes->total++;
  }
  g_array_unref (found);
}
