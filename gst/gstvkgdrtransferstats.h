/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrtransferstats.h: the statistics of vkgdrupload and vkgdrdownload
 *
 * Only the streaming thread counts. Any thread may read the figures at the same
 * time. So the figures are atomic, but adding to them needs neither a lock nor
 * a locked instruction. A reader may see a frame whose bytes are not counted
 * yet.
 */

#ifndef __GST_VKGDR_TRANSFER_STATS_H__
#define __GST_VKGDR_TRANSFER_STATS_H__

#include <gst/vkgdr/vkgdr.h>

G_BEGIN_DECLS

/* How the bytes of a buffer reached the output memory. */
typedef enum {
  GST_VKGDR_PATH_NONE,   /* already in place, not written by the CPU */
  GST_VKGDR_PATH_DIRECT, /* already in place, written through the window */
  GST_VKGDR_PATH_STAGED, /* already in place, sent on unmap */
  GST_VKGDR_PATH_DMA,    /* sent by DMA */
  GST_VKGDR_PATH_PEER,   /* copied on the device, or between devices */
  GST_VKGDR_PATH_COPIED, /* copied by the CPU */
  GST_VKGDR_N_PATHS
} GstVkgdrPath;

/* The fields are private. */
typedef struct {
  guint64 frames;
  guint64 frames_packed;
  guint64 bytes[GST_VKGDR_N_PATHS];
  guint64 map_time;
  guint64 wait_time;
  guint64 written; /* GstVkgdrAccess */
} GstVkgdrTransferStats;

/* Must be called while there is no streaming thread. */
void gst_vkgdr_transfer_stats_reset (GstVkgdrTransferStats *stats);

/* --- the streaming thread --- */

/* Counts a frame of @size bytes. */
void gst_vkgdr_transfer_stats_count (
    GstVkgdrTransferStats *stats, gsize size, GstVkgdrPath path);

/* Counts a frame that was copied into the default layout. The frame is counted
 * by gst_vkgdr_transfer_stats_count (), too. */
void gst_vkgdr_transfer_stats_count_packed (GstVkgdrTransferStats *stats);

/* Adds what gst_vkgdr_memory_get_write_times () returned for a frame that
 * upstream wrote in place. */
void gst_vkgdr_transfer_stats_add_write (GstVkgdrTransferStats *stats,
    GstVkgdrAccess access, GstClockTime map_time, GstClockTime wait_time);

/* --- any thread --- */

/* The access mode of the last frame that upstream wrote in place;
 * GST_VKGDR_ACCESS_AUTO if there was none. */
GstVkgdrAccess gst_vkgdr_transfer_stats_get_written (
    const GstVkgdrTransferStats *stats);

/* Sets the fields of the property `stats`. */
void gst_vkgdr_transfer_stats_fill (
    const GstVkgdrTransferStats *stats, GstStructure *structure);

G_END_DECLS

#endif /* __GST_VKGDR_TRANSFER_STATS_H__ */
