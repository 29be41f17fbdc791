/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * table.h: rows of tables that say what elements do, and the functions that
 * check a row
 *
 *   static const TestFlow flows[] = {
 *     { "vkgdrupload ! vkgdrdownload",
 *         "video/x-raw,format=RGBA,width=64,height=48,framerate=1/1" },
 *   };
 *
 *   TEST_ROWS (flows, test_check_flow)
 */

#ifndef __TEST_TABLE_H__
#define __TEST_TABLE_H__

#include "util.h"

G_BEGIN_DECLS

/* A case that checks each row of the array with the name of the case. */
#define TEST_ROWS(name, check_row) \
  TEST (name) \
  { \
    guint i_; \
\
    for (i_ = 0; i_ < G_N_ELEMENTS (name); i_++) \
      check_row (&name[i_]); \
  }

/* "These elements give these caps and bytes." The elements use @test_context if
 * there is one. The input is frames of pattern 0, 1 and 2 (see test_fill ()),
 * in memory of @test_context if the caps have the feature of that memory. If
 * there are several caps, the stream has one after the other. */
typedef struct {
  const gchar *elements; /* as for gst-launch-1.0 */
  const gchar *caps;     /* of the input */
  const gchar *output;   /* caps that include the output's; NULL: the output has
                          * the caps of the input */
  /* Byte @i of the output for the input @in. NULL: bytes are not changed. */
  guint8 (*byte) (const guint8 *in, gsize i);
  const gchar *downstream; /* caps that the sink accepts, or NULL: any */
  const gchar *lacks;      /* a field that the output's caps lack, or NULL */
  gsize size; /* the bytes of an input and of an output that are no video */
  gboolean has_meta; /* The input has a GstVideoMeta. */
} TestFlow;

void test_check_flow (const TestFlow *row);

/* For `byte`: the output may have any bytes. */
guint8 test_any_byte (const guint8 *in, gsize i);

/* "This pipeline fails with this error." Other errors may come before. An
 * appsrc that is named "feed" gets a buffer. */
typedef struct {
  const gchar *pipeline;   /* as for gst-launch-1.0 */
  const gchar *parts;      /* parts of the message, separated by "|" */
  GQuark (*domain) (void); /* of the error, or NULL: any */
  gint code;
} TestError;

void test_check_error (const TestError *row);

/* "This pipeline, in front of a fakesink, fails with this error first. It is
 * the only one of this library, or if it is of another element, there is none
 * of this library." An appsrc that is named "feed" gets a buffer. */
void test_check_one_error (const TestError *row);

/* "The sink pad of these elements accepts these caps", or not. Both an
 * accept-caps query and a caps query say so. */
typedef struct {
  const gchar *elements; /* as for gst-launch-1.0 */
  const gchar *caps;
  gboolean is_accepted;
} TestQuery;

void test_check_query (const TestQuery *row);

/* Returns the rows of all planes of a frame, without padding. */
GByteArray *test_frame_rows (GstBuffer *buffer, const GstVideoInfo *info);

/* Fails the test unless the bytes are the same. Frees both. */
void test_assert_same (GByteArray *got, GByteArray *expected);

/* Plays to the end, and stops. Fails the test unless @expected warnings and
 * infos contain @parts (see test_contains ()) in their text or their details.
 */
void test_play_count (GstElement *pipeline, const gchar *parts, guint expected);

/* Returns a bus for the messages of @element, which is in no pipeline. */
GstBus *test_add_bus (GstElement *element);

/* Fails the test unless there is a message of @type, an error, warning or info,
 * whose text contains @parts. Messages that tell of the device are ignored. A
 * warning may not come before an info. */
void test_assert_message (GstBus *bus, GstMessageType type, const gchar *parts);

/* Fails the test if there is such a message. */
void test_assert_no_message (GstBus *bus, GstMessageType type);

G_END_DECLS

#endif /* __TEST_TABLE_H__ */
