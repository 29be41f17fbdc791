/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * helper.h: the program that measures for vkgdr-bench
 *
 * vkgdr-bench is a program in Python. It decides what is measured, and this
 * program only measures. helper.c describes how they talk to each other.
 */

#ifndef BENCH_HELPER_H
#define BENCH_HELPER_H

#include <gst/vkgdr/vkgdr.h>
#include <json-glib/json-glib.h>

#include "driver.h"
#include <vkgdr/vkgdr.h>

/* Does what @request asks for, and adds the results to @reply. Returns FALSE
 * with @error set if that failed. */
typedef gboolean (*BenchCommand) (GstVkgdrContext *context, JsonObject *request,
    JsonObject *reply, GError **error);

#define BENCH_COMMAND(name) \
  gboolean name (GstVkgdrContext *context, JsonObject *request, \
      JsonObject *reply, GError **error)

BENCH_COMMAND (bench_copies);    /* copies.c */
BENCH_COMMAND (bench_loops);     /* loops.c */
BENCH_COMMAND (bench_run);       /* pipeline.c */
BENCH_COMMAND (bench_serve);     /* frames.c */
BENCH_COMMAND (bench_serve_end); /* frames.c */

/* --- reply.c: requests, replies and errors -------------------------------- */

/* Moves standard output to replies. Afterwards it is standard error, because
 * libraries may print to it. */
gboolean bench_open_replies (void);

/* Writes one line. Takes ownership of @reply. If @error is not NULL, only
 * writes the error, and frees it. */
void bench_write_reply (JsonObject *reply, GError *error);

/* Set a member: to a text of any encoding, and to a number, or to null if it is
 * not finite. */
void bench_set_text (JsonObject *reply, const gchar *member, const gchar *text);
void bench_set_number (JsonObject *reply, const gchar *member, gdouble number);

/* Values of a request: if a member is missing, 0 or "". */
gint64 bench_get_integer (JsonObject *request, const gchar *member);
gdouble bench_get_number (JsonObject *request, const gchar *member);
const gchar *bench_get_text (JsonObject *request, const gchar *member);

/* Return FALSE with @error set: to @text, to vkgdr_last_error(), and, if
 * @result is an error, to a text that names @function. */
gboolean bench_fail (GError **error, const gchar *text);
gboolean bench_set_last_error (GError **error);
gboolean bench_check (CUresult result, const gchar *function, GError **error);

/* Nanoseconds of CLOCK_MONOTONIC, which all processes share. */
gint64 bench_now (void);

/* --- block.c: memory ------------------------------------------------------ */

typedef enum { BENCH_RAM, BENCH_WINDOW, BENCH_PINNED } BenchPlace;

/* Memory that the CPU writes to. */
typedef struct {
  BenchPlace place;
  guint8 *host;
  vkgdr_memory_t window; /* if it is in the window */
} BenchBlock;

/* Memory of the device, and a stream for copies. */
typedef struct {
  CUdeviceptr device;
  CUstream stream;
} BenchTarget;

/* Writes to all of the memory, so that no page fault is measured. After a
 * failure, and for memory that is all zero, the functions to clear can be
 * called, too. */
gboolean bench_block_init (BenchBlock *block, BenchPlace place, vkgdr_t window,
    gsize size, GError **error);
void bench_block_clear (BenchBlock *block);
gboolean bench_target_init (BenchTarget *target, gsize size, GError **error);
void bench_target_clear (BenchTarget *target);

/* The compiler must assume that this reads all memory. So it does not leave out
 * or merge stores that nothing reads. */
#define bench_keep_stores() __asm__ volatile("" ::: "memory")

/* --- source.c: how frames are written, and the element that does it ------- */

/* One writer's state. Not thread-safe. */
typedef struct {
  guint8 *area; /* nullable: the bytes that are copied */
  gsize size;   /* of the area */
  gsize offset; /* where the next copy begins */
} BenchFill;

/* @how is "memset" (of one value; also NULL), "copy" (of a small pattern, which
 * stays in the processor's cache) or "uncached" (copies from a large area of
 * @area_size bytes, which does not fit into the cache). */
void bench_fill_init (BenchFill *fill, const gchar *how, gsize area_size);
void bench_fill_clear (BenchFill *fill);

/* Writes frame number @number to @data. */
void bench_fill_write (
    BenchFill *fill, guint8 *data, gsize size, guint64 number);

/* Registers the element `vkgdrbenchsrc` in this process. */
void bench_source_register (void);

/* --- pipeline.c, frames.c ------------------------------------------------- */

/* Makes a pipeline for @context, which is nullable. */
GstElement *bench_make_pipeline (
    const gchar *launch, GstVkgdrContext *context, GError **error);

/* Adds to @reply the time of the first frame of a pipeline, as bench_now() does
 * it. */
void bench_first_frame (const gchar *launch, JsonObject *reply, GError **error);

/* Gets frames from the server until standard input ends, and adds them to
 * @reply. @what is a pipeline with the element `received`, or the path of a
 * socket, from which libvkgdr's client gets the frames. It does not sleep if
 * "busy:" is in front of the path. */
void bench_consume (const gchar *what, JsonObject *reply, GError **error);

#endif /* BENCH_HELPER_H */
