/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrtransferstats.c: see gstvkgdrtransferstats.h
 */

#include "gstvkgdrtransferstats.h"

static guint64
get (const guint64 *figure)
{
  return __atomic_load_n (figure, __ATOMIC_RELAXED);
}

static void
set (guint64 *figure, guint64 value)
{
  __atomic_store_n (figure, value, __ATOMIC_RELAXED);
}

/* Only one thread writes, so the load and the store do not have to be one
 * atomic operation. */
static void
add (guint64 *figure, guint64 value)
{
  set (figure, get (figure) + value);
}

void
gst_vkgdr_transfer_stats_reset (GstVkgdrTransferStats *stats)
{
  guint i;

  set (&stats->frames, 0);
  set (&stats->frames_packed, 0);
  for (i = 0; i < GST_VKGDR_N_PATHS; i++)
    set (&stats->bytes[i], 0);
  set (&stats->map_time, 0);
  set (&stats->wait_time, 0);
  set (&stats->written, GST_VKGDR_ACCESS_AUTO);
}

void
gst_vkgdr_transfer_stats_count (
    GstVkgdrTransferStats *stats, gsize size, GstVkgdrPath path)
{
  add (&stats->frames, 1);
  add (&stats->bytes[path], size);
}

void
gst_vkgdr_transfer_stats_count_packed (GstVkgdrTransferStats *stats)
{
  add (&stats->frames_packed, 1);
}

void
gst_vkgdr_transfer_stats_add_write (GstVkgdrTransferStats *stats,
    GstVkgdrAccess access, GstClockTime map_time, GstClockTime wait_time)
{
  add (&stats->map_time, map_time);
  add (&stats->wait_time, wait_time);
  set (&stats->written, access);
}

GstVkgdrAccess
gst_vkgdr_transfer_stats_get_written (const GstVkgdrTransferStats *stats)
{
  return get (&stats->written);
}

void
gst_vkgdr_transfer_stats_fill (
    const GstVkgdrTransferStats *stats, GstStructure *structure)
{
  static const gchar *names[GST_VKGDR_N_PATHS] = { "bytes-untouched",
    "bytes-direct", "bytes-staged", "bytes-dma", "bytes-peer", "bytes-copied" };
  guint64 all = 0;
  guint i;

  for (i = 0; i < GST_VKGDR_N_PATHS; i++) {
    guint64 bytes = get (&stats->bytes[i]);

    all += bytes;
    gst_structure_set (structure, names[i], G_TYPE_UINT64, bytes, NULL);
  }
  gst_structure_set (structure, "frames", G_TYPE_UINT64, get (&stats->frames),
      "frames-packed", G_TYPE_UINT64, get (&stats->frames_packed), "bytes",
      G_TYPE_UINT64, all, "map-time", G_TYPE_UINT64, get (&stats->map_time),
      "wait-time", G_TYPE_UINT64, get (&stats->wait_time), NULL);
}
