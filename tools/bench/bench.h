/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench.h: the parts of the program that measures for vkgdr-bench
 *
 * vkgdr-bench is a program in Python. It decides what is measured, and this
 * program only measures. helper.c describes how they talk to each other.
 */

#ifndef BENCH_H
#define BENCH_H

#include <gst/vkgdr/vkgdr.h>

#include "driver.h"

/* Each does what @request (of type a{sv}) asks for, and replies. The thread has
 * the current CUDA context of @context. */
void bench_copy (GVariant *request);                          /* copies.c */
void bench_loop (GVariant *request);                          /* loops.c */
void bench_run (GstVkgdrContext *context, GVariant *request); /* pipeline.c */
void bench_make (GVariant *request);                          /* pipeline.c */

/* frames.c: runs @what until standard input ends. */
void bench_play (const gchar *what);

/* --- reply.c -------------------------------------------------------------- */

/* Libraries may print to standard output: from now on, this is standard error,
 * and only replies go there. */
gboolean bench_open_replies (void);

/* Writes one line of JSON. */
void bench_reply (GVariant *reply);

/* Replies with an error, and ends the process without cleaning up: vkgdr-bench
 * starts another one for the next measurement. The last function does so if
 * @result is an error. */
void bench_die (const gchar *format, ...) G_GNUC_NORETURN G_GNUC_PRINTF (1, 2);
void bench_die_of_vkgdr (void) G_GNUC_NORETURN; /* vkgdr_last_error() */
void bench_check (CUresult result, const gchar *function);

/* Calls @func for so many seconds, at least once. Returns seconds for one
 * call. */
gdouble bench_time_calls (
    void (*func) (gpointer data), gpointer data, gdouble seconds);

/* --- copies.c: memory ----------------------------------------------------- */

/* Memory that the CPU writes to. */
typedef struct {
  guint8 *host;
  vkgdr_memory_t window; /* if it is in the window */
  gboolean is_pinned;
} BenchBlock;

/* @place is "ram", "window" or "pinned". Writes to all of the memory, so that
 * no page fault is measured. */
void bench_block_init (BenchBlock *block, const gchar *place, gsize size);

/* A block that is all zero can be cleared, too. */
void bench_block_clear (BenchBlock *block);

/* The compiler must assume that this reads all memory. So it does not leave out
 * or merge stores that nothing reads. */
#define bench_keep_stores() __asm__ volatile("" ::: "memory")

/* --- source.c: how frames are written, and the element that does it ------- */

/* The smallest number of buffers that are written in turn. A single buffer
 * would stay in the processor's cache, which does not happen in a real
 * pipeline. */
#define BENCH_BUFFERS 4

/* One writer's state. Not thread-safe. */
typedef struct {
  guint8 *area; /* nullable: the bytes that are copied */
  gsize size;   /* of the area */
  gsize offset; /* where the next copy begins */
} BenchFill;

/* Frames are copied from an area of @area_size bytes, or set to one value if it
 * is 0. */
void bench_fill_init (BenchFill *fill, gsize area_size);
void bench_fill_clear (BenchFill *fill);

/* Writes frame number @number to @data. */
void bench_fill_write (
    BenchFill *fill, guint8 *data, gsize size, guint64 number);

/* Registers the element `vkgdrbenchsrc` in this process. */
void bench_source_register (void);

/* --- pipeline.c ----------------------------------------------------------- */

/* Makes a pipeline for @context, which is nullable. */
GstElement *bench_make_pipeline (const gchar *launch, GstVkgdrContext *context);

/* Waits for a short time. Errors and the end of the stream end the process. */
void bench_check_bus (GstElement *pipeline);

void bench_watch (GstElement *element, const gchar *pad_name,
    GstPadProbeCallback func, gpointer data);

#endif /* BENCH_H */
