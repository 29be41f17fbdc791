/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-metas.c: tests of the metas, texts and tags of another process, whose
 * bytes may be anything
 *
 * ipc-elements.c has the test of metas that arrive.
 */

#include <gst/check/gstcheck.h>
#include <gst/video/video.h>
#include <string.h>

#include "case.h"
#include "ipc/meta.h"
#include "ipc/tags.h"
#include "ipc/text.h"

#define CUSTOM "VkgdrTestMeta"

/* The room for metas in bytes, which is more than the test needs. */
#define MAX_METAS 4096

/* --- metas --------------------------------------------------------------- */

/* Makes a buffer with its offset, and with metas of each kind. Those of the
 * picture are not sent. */
static GstBuffer *
new_buffer (void)
{
  static const gchar *tags[] = { NULL };
  GstBuffer *buffer = gst_buffer_new ();
  g_autoptr (GstCaps) caps = gst_caps_from_string ("timestamp/x-unix");
  GstCustomMeta *custom;

  if (!gst_meta_get_info (CUSTOM))
    gst_meta_register_custom (CUSTOM, tags, NULL, NULL, NULL);
  gst_buffer_add_video_meta (
      buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 64, 46);
  gst_buffer_add_video_crop_meta (buffer);
  GST_BUFFER_OFFSET (buffer) = 44;
  custom = gst_buffer_add_custom_meta (buffer, CUSTOM);
  gst_structure_set (gst_custom_meta_get_structure (custom), "text",
      G_TYPE_STRING, "a \"text\"; and more", NULL);
  gst_buffer_add_reference_timestamp_meta (buffer, caps, 12345, 678);
  return buffer;
}

/* Returns a buffer with these metas, or NULL if they are refused. */
static GstBuffer *
read_metas (const guint8 *data, gsize size)
{
  GstBuffer *buffer = gst_buffer_new ();
  GstByteReader reader;

  gst_byte_reader_init (&reader, data, size);
  if (!gst_vkgdr_ipc_metas_read (buffer, &reader))
    gst_clear_buffer (&buffer);
  return buffer;
}

/* The same with the metas of @sent. */
static GstBuffer *
copy_metas (GstBuffer *sent)
{
  g_autoptr (GByteArray) metas = gst_vkgdr_ipc_metas_write (sent, MAX_METAS);

  fail_unless (metas->len <= MAX_METAS);
  return read_metas (metas->data, metas->len);
}

/* Metas that cannot be serialised, or are too large, are left out. */
TEST (left_out)
{
  g_autofree gchar *text = g_strnfill (MAX_METAS, 'x');
  g_autoptr (GstBuffer) buffer = new_buffer (), other = gst_buffer_new (),
                        copy = NULL;
  GstCustomMeta *custom = gst_buffer_get_custom_meta (buffer, CUSTOM);

  gst_structure_set (gst_custom_meta_get_structure (custom), "text",
      G_TYPE_STRING, text, NULL);
  gst_buffer_add_parent_buffer_meta (buffer, other);
  copy = copy_metas (buffer);
  fail_unless_equals_uint64 (GST_BUFFER_OFFSET (copy), 44);
  fail_unless (gst_buffer_get_reference_timestamp_meta (copy, NULL) != NULL);
  fail_unless (gst_buffer_get_video_meta (copy) == NULL);
  fail_unless (gst_buffer_get_video_crop_meta (copy) == NULL);
  fail_unless (gst_buffer_get_custom_meta (copy, CUSTOM) == NULL);
  fail_unless (gst_buffer_get_parent_buffer_meta (copy) == NULL);
}

/* The kinds of metas, as in docs/ipc-protocol.md. */
#define CUSTOM_KIND 1
#define REFERENCE_KIND 3

/* Metas with names of other types are left out, and other texts are refused.
 * GStreamer makes a type of the name of a custom meta. Names of types cannot
 * have all characters that names of structures can have. */
static const struct {
  guint8 kind;
  const gchar *text;
  gboolean is_left_out;
  gboolean is_deep; /* GStreamer's parsers would need too much stack */
} wrong[] = {
  { CUSTOM_KIND, "GstBuffer, a=1;", TRUE },
  { CUSTOM_KIND, "GObject, a=1;", TRUE },
  { CUSTOM_KIND, "GstVideoMeta, a=1;", TRUE },
  { CUSTOM_KIND, "gint, a=1;", TRUE },
  { CUSTOM_KIND, "GstVideo, a=1;", TRUE },
  { CUSTOM_KIND, "my:meta, x=(int)1;" },
  { CUSTOM_KIND, "my-meta, a=", FALSE, TRUE },
  { REFERENCE_KIND, "0123456789abcdefvideo/x-raw, a=", FALSE, TRUE },
};

TEST_LOOP (wrong_text, G_N_ELEMENTS (wrong))
{
  g_autofree gchar *brackets =
      g_strnfill (wrong[__i__].is_deep ? 30000 : 0, '<');
  g_autofree gchar *text = g_strconcat (wrong[__i__].text, brackets, NULL);
  guint32 head[2] = { wrong[__i__].kind, strlen (text) };
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  g_autoptr (GstBuffer) copy = NULL;
  gpointer state = NULL;

  g_byte_array_append (bytes, (const guint8 *) head, sizeof (head));
  g_byte_array_append (bytes, (const guint8 *) text, strlen (text));
  copy = read_metas (bytes->data, bytes->len);
  fail_unless_equals_int (copy != NULL, wrong[__i__].is_left_out);
  fail_unless (!copy || gst_buffer_iterate_meta (copy, &state) == NULL);
}

#if GST_CHECK_VERSION(1, 24, 0)
/* A meta of the application, which GStreamer serialises with its functions. */
typedef struct {
  GstMeta meta;
  guint8 value;
} OwnMeta;

static gboolean
own_meta_init (GstMeta *meta, gpointer params, GstBuffer *buffer)
{
  ((OwnMeta *) meta)->value = 0;
  return TRUE;
}

static gboolean
own_meta_serialize (
    const GstMeta *meta, GstByteArrayInterface *data, guint8 *version)
{
  const OwnMeta *own = (const OwnMeta *) meta;

  return gst_byte_array_interface_append_data (data, &own->value, 1);
}

static GstMeta *
own_meta_deserialize (const GstMetaInfo *info, GstBuffer *buffer,
    const guint8 *data, gsize size, guint8 version)
{
  GstMeta *meta = size == 1 ? gst_buffer_add_meta (buffer, info, NULL) : NULL;

  if (meta)
    ((OwnMeta *) meta)->value = data[0];
  return meta;
}

static const GstMetaInfo *
register_own_meta (void)
{
  static const gchar *tags[] = { NULL };
  GType api = gst_meta_api_type_register ("VkgdrTestOwnMetaAPI", tags);
  GstMetaInfo *info =
      gst_meta_info_new (api, "VkgdrTestOwnMeta", sizeof (OwnMeta));

  info->init_func = own_meta_init;
  info->serialize_func = own_meta_serialize;
  info->deserialize_func = own_meta_deserialize;
  return gst_meta_info_register (info);
}

TEST (serialised)
{
  const GstMetaInfo *info = register_own_meta ();
  g_autoptr (GstBuffer) buffer = gst_buffer_new (), copy = NULL;
  const OwnMeta *own;

  ((OwnMeta *) gst_buffer_add_meta (buffer, info, NULL))->value = 42;
  copy = copy_metas (buffer);
  own = (const OwnMeta *) gst_buffer_get_meta (copy, info->api);
  fail_unless (own != NULL && own->value == 42);
}

/* Metas whose content GStreamer would parse as text are accepted only as the
 * kinds of their own, which check the text. A GstVideoMeta is never accepted.
 */
TEST_LOOP (serialised_text, 3)
{
  g_autoptr (GstBuffer) buffer = new_buffer ();
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  const GstMeta *metas[] = { &gst_buffer_get_custom_meta (buffer, CUSTOM)->meta,
    &gst_buffer_get_reference_timestamp_meta (buffer, NULL)->parent,
    &gst_buffer_get_video_meta (buffer)->meta };
  guint8 head[8] = { 2 };

  g_byte_array_append (bytes, head, sizeof (head));
  fail_unless (gst_meta_serialize_simple (metas[__i__], bytes));
  bytes->data[4] = bytes->len - sizeof (head);
  fail_if (read_metas (bytes->data, bytes->len));
}
#endif

/* --- texts --------------------------------------------------------------- */

static gboolean
is_safe (const gchar *text)
{
  return gst_vkgdr_ipc_text_is_safe (text, strlen (text));
}

static const struct {
  const gchar *text, *part; /* which is repeated */
  gboolean is_safe;
} texts[] = {
  { "tensor/strided, dims=(int)< 1, 3, 4, 5 >, type=(string)float32", NULL,
      TRUE },
  { "my-meta, list=(int){ 1, 2, 3 }, text=(string)\"[[[ :-( a\\=b\", "
    "name=(string)\"\\303\\244 \\303\\266\";",
      NULL, TRUE },
  { "audio/x-vorbis, streamheader=(buffer)< 0176, 0377 >", NULL, TRUE },
  { "", NULL, TRUE },
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
  { "video/x-raw, a=(taglist)x" },
  /* Names that do not begin with a letter. */
  { "/x-raw, a=1" },
  { "a/b; -c, d=1" },
  { "a/b, c=(structure)[-d, e=1]" },
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

/* --- tags ---------------------------------------------------------------- */

TEST (tags)
{
  g_autoptr (GstBuffer) picture = gst_buffer_new_allocate (NULL, 100000, NULL);
  g_autoptr (GstCaps) caps = gst_caps_from_string ("image/jpeg, width=(int)10");
  g_autoptr (GstSample) sample = gst_sample_new (picture, caps, NULL,
      gst_structure_from_string ("GstTagImageInfo, image-type=(int)1;", NULL));
  g_autoptr (GDate) date = g_date_new_dmy (29, 2, 2024);
  g_autoptr (GstDateTime) time = gst_date_time_new_ym (2026, 11);
  g_autoptr (GstTagList) tags = gst_tag_list_new (GST_TAG_TITLE, "a=<[{ \"ä\"",
      GST_TAG_ARTIST, "one", GST_TAG_ARTIST, "two", GST_TAG_TRACK_NUMBER, 7u,
      GST_TAG_DURATION, G_GUINT64_CONSTANT (1) << 40, GST_TAG_TRACK_GAIN, -1.5,
      GST_TAG_DATE, date, GST_TAG_DATE_TIME, time, GST_TAG_IMAGE, sample, NULL);
  gboolean are_complete;
  g_autoptr (GByteArray) bytes =
      gst_vkgdr_ipc_tags_write (tags, G_MAXUINT32, &are_complete);
  g_autoptr (GstTagList) copy =
      gst_vkgdr_ipc_tags_read (bytes->data, bytes->len, GST_TAG_SCOPE_GLOBAL);
  g_autofree gchar *sent = gst_tag_list_to_string (tags), *received = NULL;
  g_autoptr (GByteArray) small = NULL;

  fail_unless (are_complete);

  fail_unless (copy != NULL);
  received = gst_tag_list_to_string (copy);
  fail_unless_equals_string (received, sent);
  fail_unless_equals_int (gst_tag_list_get_scope (copy), GST_TAG_SCOPE_GLOBAL);
  /* A picture is left out first, though others come after it. */
  small = gst_vkgdr_ipc_tags_write (tags, 500, &are_complete);
  fail_if (are_complete);
  gst_tag_list_unref (copy);
  copy =
      gst_vkgdr_ipc_tags_read (small->data, small->len, GST_TAG_SCOPE_STREAM);
  fail_unless_equals_int (
      gst_tag_list_n_tags (copy), gst_tag_list_n_tags (tags) - 1);
}

/* --- damaged bytes ------------------------------------------------------- */

/* Damaged bytes do no harm. Valgrind and the address sanitizer find reads
 * beyond the end. Leaks are not checked: gst_structure_from_string () of
 * GStreamer 1.22 leaks the first values of a list if a later one is wrong. */
static void
read_damaged (const GByteArray *bytes, gboolean has_tags)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  guint i, n, size;

  test_leaks = TRUE;
  for (i = 0; i < 5000; i++) {
    g_autofree guint8 *data = NULL;
    g_autoptr (GstBuffer) buffer = NULL;
    g_autoptr (GstTagList) tags = NULL;

    size = bytes->len;
    if (i % 2)
      size = g_rand_int_range (random, 1, size);
    data = g_memdup2 (bytes->data, size);
    for (n = i % 5; n > 0; n--)
      data[g_rand_int_range (random, 0, size)] = g_rand_int (random);
    if (has_tags)
      tags = gst_vkgdr_ipc_tags_read (data, size, GST_TAG_SCOPE_STREAM);
    else
      buffer = read_metas (data, size);
  }
}

/* Without metas that GStreamer serialises: GStreamer also reads damaged ones,
 * and logs critical errors. */
TEST (damaged)
{
  g_autoptr (GstBuffer) buffer = new_buffer ();
  g_autoptr (GstTagList) tags =
      gst_tag_list_new (GST_TAG_TITLE, "title", GST_TAG_ALBUM, "album",
          GST_TAG_TRACK_NUMBER, 7u, GST_TAG_TRACK_GAIN, 1.0, NULL);
  gboolean are_complete;
  g_autoptr (GByteArray) bytes =
      gst_vkgdr_ipc_tags_write (tags, G_MAXUINT32, &are_complete);
  g_autoptr (GByteArray) metas = NULL;

  read_damaged (bytes, TRUE);
  gst_buffer_remove_meta (
      buffer, &gst_buffer_get_reference_timestamp_meta (buffer, NULL)->parent);
  metas = gst_vkgdr_ipc_metas_write (buffer, MAX_METAS);
  read_damaged (metas, FALSE);
}
