/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-text.c: tests of texts and tags of another process, which GStreamer's
 * parsers may see only if they are harmless
 */

#include <gst/check/gstcheck.h>
#include <string.h>

#include "case.h"
#include "ipc/tags.h"
#include "ipc/text.h"

static gboolean
is_safe (const gchar *text)
{
  return gst_vkgdr_ipc_text_is_safe (text, strlen (text));
}

static const struct {
  const gchar *text, *part; /* which is repeated */
  gboolean is_safe;
} texts[] = {
  { "video/x-raw, format=(string)NV12, width=(int)1920, height=(int)1080, "
    "framerate=(fraction)30000/1001, colorimetry=(string)bt709",
      NULL, TRUE },
  { "video/x-raw(memory:VkgdrMemory), format=(string)RGBA, width=(int)8, "
    "height=(int)8",
      NULL, TRUE },
  { "tensor/strided, dims=(int)< 1, 3, 4, 5 >, type=(string)float32", NULL,
      TRUE },
  { "my-meta, list=(int){ 1, 2, 3 }, text=(string)\"[[[ :-( a\\=b\", "
    "name=(string)\"\\303\\244 \\303\\266\";",
      NULL, TRUE },
  { "audio/x-vorbis, streamheader=(buffer)< 0176, 0377 >", NULL, TRUE },
  { "", NULL, TRUE },
  { "plain", NULL, TRUE },
  /* Too deep. */
  { "video/x-raw, a=", "<" },
  { "video/x-raw, a=", "{" },
  { "video/x-raw, a=", "[" },
  { "video/x-raw, a=", "(structure)[a, b=" },
  { "video/x-raw, a=", "<\"]\", " },
  { "video/x-raw, a=", "(structure)\"a\\,\\ b\\=<" },
  { "video/x-raw, a=", "\"<\"" },
  { "video/x-raw, a=", "\\\\<" },
  /* Hidden structures, samples and bytes. */
  { "video/x-raw, a=(structure)\"\\133\\133\"" },
  { "video/x-raw, a=(structure)\"\\\\134133\"" },
  { "video/x-raw, a=(GstSample)\"AA:BB:CC:DD\"" },
  { "video/x-raw, a=(sample)AA" },
  { "video/x-raw, a=(string)\xff\xfe" },
};

TEST_LOOP (texts, G_N_ELEMENTS (texts))
{
  const gchar *part = texts[__i__].part;
  GString *text = g_string_new (texts[__i__].text);
  guint i;

  for (i = 0; part && i < 30000; i++)
    g_string_append (text, part);
  if (part)
    g_string_append_c (text, '1');
  fail_unless_equals_int (is_safe (text->str), texts[__i__].is_safe);
  g_string_free (text, TRUE);
}

/* Names are never forgotten, so another process may add only so many. */
TEST (many_names)
{
  static const gchar *const forms[] = { "a/b, x%u=1", "x%u, a=1",
    "a/b; x%u, a=1", "a/b(memory:A, memory:X%u, meta:C), a=1",
    "a/b, a=(structure)[x%u\\, b=1]",
    "a/b, a=(structure)\"x%u\\,\\ b\\=1\\;\"" };
  guint i, f, n[G_N_ELEMENTS (forms)] = { 0 };

  for (i = 0; i < 3000; i++) {
    g_autofree gchar *text = NULL;

    f = i % G_N_ELEMENTS (forms);
    text = g_strdup_printf (forms[f], i);
    n[f] += is_safe (text);
  }
  for (f = 0; f < G_N_ELEMENTS (forms); f++)
    fail_unless (n[f] > 100 && n[f] < 200, "%s: %u", forms[f], n[f]);
  /* Values are not kept, and known names are always allowed. */
  g_quark_from_string ("video/x-raw");
  g_quark_from_string ("format");
  fail_unless (is_safe ("video/x-raw, format=(string)Something-New"));
  fail_unless (is_safe ("x0, a=1"));
}

static GstTagList *
send (const GstTagList *tags)
{
  g_autoptr (GByteArray) bytes = gst_vkgdr_ipc_tags_write (tags, G_MAXUINT32);
  GstTagList *result;

  result = gst_vkgdr_ipc_tags_read (
      bytes->data, bytes->len, gst_tag_list_get_scope (tags));
  return result;
}

TEST (tags)
{
  g_autoptr (GstBuffer) picture = gst_buffer_new_allocate (NULL, 100000, NULL);
  g_autoptr (GstCaps) caps = gst_caps_from_string ("image/jpeg, width=(int)10");
  g_autoptr (GstSample) sample = gst_sample_new (picture, caps, NULL,
      gst_structure_from_string ("GstTagImageInfo, image-type=(int)1;", NULL));
  GDate *date = g_date_new_dmy (29, 2, 2024);
  g_autoptr (GstDateTime) time = gst_date_time_new_ym (2026, 11);
  g_autoptr (GstTagList) tags = gst_tag_list_new (GST_TAG_TITLE, "a=<[{ \"ä\"",
      GST_TAG_ARTIST, "one", GST_TAG_ARTIST, "two", GST_TAG_TRACK_NUMBER, 7u,
      GST_TAG_DURATION, G_GUINT64_CONSTANT (1) << 40, GST_TAG_TRACK_GAIN, -1.5,
      GST_TAG_DATE, date, GST_TAG_DATE_TIME, time, GST_TAG_IMAGE, sample, NULL);
  g_autoptr (GstTagList) copy = NULL;
  GstSample *image;
  g_autofree gchar *text = NULL;

  gst_tag_list_set_scope (tags, GST_TAG_SCOPE_GLOBAL);
  copy = send (tags);
  fail_unless (copy != NULL);
  fail_unless_equals_int (gst_tag_list_n_tags (copy), 8);
  fail_unless_equals_int (gst_tag_list_get_scope (copy), GST_TAG_SCOPE_GLOBAL);
  fail_unless_equals_int (gst_tag_list_get_tag_size (copy, GST_TAG_ARTIST), 2);
  fail_unless (gst_tag_list_get_sample (copy, GST_TAG_IMAGE, &image));
  fail_unless_equals_int (
      gst_buffer_get_size (gst_sample_get_buffer (image)), 100000);
  fail_unless (gst_caps_is_equal (gst_sample_get_caps (image), caps));
  fail_unless (
      gst_structure_has_field (gst_sample_get_info (image), "image-type"));
  gst_sample_unref (image);
  gst_tag_list_remove_tag (tags, GST_TAG_IMAGE);
  gst_tag_list_remove_tag (copy, GST_TAG_IMAGE);
  text = gst_tag_list_to_string (copy);
  fail_unless (gst_tag_list_is_equal (tags, copy), "%s", text);
  g_date_free (date);
}

/* Damaged tags are refused, or have fewer tags; they never crash. */
TEST (damaged_tags)
{
  g_autoptr (GstTagList) tags =
      gst_tag_list_new (GST_TAG_TITLE, "title", GST_TAG_ALBUM, "album",
          GST_TAG_TRACK_NUMBER, 7u, GST_TAG_TRACK_GAIN, 1.0, NULL);
  g_autoptr (GByteArray) bytes = gst_vkgdr_ipc_tags_write (tags, G_MAXUINT32);
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  guint i;

  for (i = 0; i < 20000; i++) {
    g_autofree guint8 *copy = g_memdup2 (bytes->data, bytes->len);
    guint size = g_rand_int_range (random, 0, bytes->len + 1);
    GstTagList *read;

    copy[g_rand_int_range (random, 0, bytes->len)] = g_rand_int (random);
    copy[g_rand_int_range (random, 0, bytes->len)] = g_rand_int (random);
    read = gst_vkgdr_ipc_tags_read (copy, size, GST_TAG_SCOPE_STREAM);
    gst_clear_tag_list (&read);
  }
  fail_unless (gst_vkgdr_ipc_tags_write (tags, 20) == NULL);
}
