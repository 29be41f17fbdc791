/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * helper.h: the program that measures for vkgdr-bench
 *
 * vkgdr-bench is a program in Python. It decides what is measured, and this
 * program only measures. helper.c describes how they talk to each other.
 */

#ifndef BENCH_HELPER_H
#define BENCH_HELPER_H

#include <time.h>

#include <gst/vkgdr/vkgdr.h>
#include <json-glib/json-glib.h>

#include "driver.h"
#include <vkgdr/vkgdr.h>

/* Does what @request asks for, and adds the results to @reply. Returns FALSE
 * with @error set if that failed. */
typedef gboolean (*BenchCommand) (GstVkgdrContext *context, JsonObject *request,
    JsonObject *reply, GError **error);

/* --- copies.c: copies between the CPU and the device ---------------------- */

gboolean bench_copies (GstVkgdrContext *context, JsonObject *request,
    JsonObject *reply, GError **error);
gboolean bench_device_copy (GstVkgdrContext *context, JsonObject *request,
    JsonObject *reply, GError **error);

/* --- loops.c: loops that write frames without GStreamer ------------------- */

gboolean bench_loops (GstVkgdrContext *context, JsonObject *request,
    JsonObject *reply, GError **error);

/* --- pipeline.c: pipelines in this process -------------------------------- */

gboolean bench_run (GstVkgdrContext *context, JsonObject *request,
    JsonObject *reply, GError **error);
gboolean bench_start (GstVkgdrContext *context, JsonObject *request,
    JsonObject *reply, GError **error);

/* --- frames.c: frames for other processes --------------------------------- */

gboolean bench_serve (GstVkgdrContext *context, JsonObject *request,
    JsonObject *reply, GError **error);
gboolean bench_serve_end (GstVkgdrContext *context, JsonObject *request,
    JsonObject *reply, GError **error);

/* Gets frames from the server until standard input ends. Then adds the results
 * to @reply. @what is a pipeline with the element `received`, or the path of a
 * socket, from which libvkgdr's client gets the frames. It does not sleep if
 * "busy:" is in front of the path. */
gboolean bench_consume (const gchar *what, JsonObject *reply, GError **error);

/* --- source.c: how frames are written, and the element that does it ------- */

/**
 * BenchFillKind:
 * @BENCH_FILL_MEMSET: memset() of one value
 * @BENCH_FILL_COPY: memcpy() of a small pattern, which stays in the
 *   processor's cache
 * @BENCH_FILL_UNCACHED: memcpy() from a large area, which does not fit into
 *   the cache, as for a producer that copies from another frame
 */
typedef enum {
  BENCH_FILL_MEMSET,
  BENCH_FILL_COPY,
  BENCH_FILL_UNCACHED
} BenchFillKind;

/**
 * BenchFill:
 * @kind: how frames are written
 * @area: (nullable): the bytes that are copied
 * @size: bytes of @area
 * @offset: where the next copy begins
 *
 * One writer's state. Not thread-safe.
 */
typedef struct {
  BenchFillKind kind;
  guint8 *area;
  gsize size;
  gsize offset;
} BenchFill;

/* Writes to the whole area, so that its pages exist. @area_size is the size of
 * the area of BENCH_FILL_UNCACHED in bytes. */
void bench_fill_init (BenchFill *fill, BenchFillKind kind, gsize area_size);
void bench_fill_clear (BenchFill *fill);

/* Writes frame number @number to @data. */
void bench_fill_write (
    BenchFill *fill, guint8 *data, gsize size, guint64 number);

/* Registers the element `vkgdrbenchsrc` in this process. */
gboolean bench_source_register (void);

/* --- for all of them ------------------------------------------------------ */

/* Nanoseconds of CLOCK_MONOTONIC, which all processes share. */
static inline gint64
bench_now (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (gint64) now.tv_sec * G_GINT64_CONSTANT (1000000000) + now.tv_nsec;
}

/* The compiler must assume that this reads all memory. So it does not leave out
 * or merge stores that nothing reads. */
static inline void
bench_keep_stores (void)
{
  __asm__ volatile("" ::: "memory");
}

/* If @result is an error, returns FALSE and sets @error, which names
 * @function. */
gboolean bench_check (CUresult result, const gchar *function, GError **error);

/* Returns FALSE, and sets @error from vkgdr_last_error (). */
gboolean bench_set_last_error (GError **error);

/* Values of a request: if a member is missing, 0 or "". */
gint64 bench_get_integer (JsonObject *request, const gchar *member);
gdouble bench_get_number (JsonObject *request, const gchar *member);
const gchar *bench_get_text (JsonObject *request, const gchar *member);

/* Writes one line. Takes ownership of @reply. If @error is not NULL, only
 * writes the error, and frees it. */
void bench_write_reply (JsonObject *reply, GError *error);

/* Makes a pipeline for @context, which is nullable. */
GstElement *bench_make_pipeline (
    const gchar *launch, GstVkgdrContext *context, GError **error);

/* Returns the time of the first frame of a pipeline in a new process, as
 * bench_now () does. */
gboolean bench_first_frame (const gchar *launch, gint64 *time, GError **error);

#endif /* BENCH_HELPER_H */
