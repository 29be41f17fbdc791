/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-metas.c: tests of the metas of a frame as bytes, for another process
 */

#include <gmodule.h>
#include <gst/check/gstcheck.h>
#include <gst/video/video.h>
#include <string.h>

#include "case.h"
#include "ipc/meta.h"

#define WIDTH 64
#define HEIGHT 48
#define CUSTOM "VkgdrTestMeta"

/* The room for metas in bytes, which is more than the test needs. */
#define MAX_METAS 4096

/* Makes a buffer with metas of each kind. */
static GstBuffer *
new_buffer (void)
{
  static const gchar *tags[] = { NULL };
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, WIDTH * HEIGHT, NULL);
  g_autoptr (GstCaps) caps = gst_caps_from_string ("timestamp/x-unix");
  GstVideoCropMeta *crop;
  GstCustomMeta *custom;

  if (!gst_meta_get_info (CUSTOM))
    gst_meta_register_custom (CUSTOM, tags, NULL, NULL, NULL);
  gst_buffer_add_video_meta (
      buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT);
  crop = gst_buffer_add_video_crop_meta (buffer);
  crop->x = 7;
  custom = gst_buffer_add_custom_meta (buffer, CUSTOM);
  gst_structure_set (gst_custom_meta_get_structure (custom), "text",
      G_TYPE_STRING, "a \"text\"; and more", "rate", GST_TYPE_FRACTION, 30000,
      1001, NULL);
  gst_buffer_add_reference_timestamp_meta (buffer, caps, 12345, 678);
  return buffer;
}

/* Copies the metas of @buffer to another buffer, which it returns. The metas
 * that are copied need at most @max bytes. */
static GstBuffer *
copy_metas (GstBuffer *buffer, gsize max)
{
  g_autoptr (GByteArray) metas = gst_vkgdr_ipc_metas_write (buffer, max);
  GstBuffer *copy = gst_buffer_new_allocate (NULL, WIDTH * HEIGHT, NULL);
  GstByteReader reader;
  GstVideoInfo info;

  fail_unless (metas->len <= max);
  gst_video_info_init (&info);
  gst_byte_reader_init (&reader, metas->data, metas->len);
  fail_unless (gst_vkgdr_ipc_metas_read (copy, &info, &reader));
  return copy;
}

TEST (each_kind)
{
  g_autoptr (GstBuffer) buffer = new_buffer (),
                        copy = copy_metas (buffer, MAX_METAS);
  GstReferenceTimestampMeta *reference;
  const GstVideoCropMeta *crop;
  const GstVideoMeta *video;
  GstStructure *structure;
  gint numerator, denominator;

  video = gst_buffer_get_video_meta (copy);
  fail_unless (video && video->width == WIDTH && video->height == HEIGHT);
  fail_unless_equals_int (video->format, GST_VIDEO_FORMAT_GRAY8);
  crop = gst_buffer_get_video_crop_meta (copy);
  fail_unless (crop && crop->x == 7);
  structure =
      gst_custom_meta_get_structure (gst_buffer_get_custom_meta (copy, CUSTOM));
  fail_unless_equals_string (
      gst_structure_get_string (structure, "text"), "a \"text\"; and more");
  fail_unless (
      gst_structure_get_fraction (structure, "rate", &numerator, &denominator));
  fail_unless (numerator == 30000 && denominator == 1001);
  reference = gst_buffer_get_reference_timestamp_meta (copy, NULL);
  fail_unless (reference != NULL);
  fail_unless_equals_uint64 (reference->timestamp, 12345);
  fail_unless_equals_uint64 (reference->duration, 678);
  fail_unless (gst_structure_has_name (
      gst_caps_get_structure (reference->reference, 0), "timestamp/x-unix"));
}

/* A buffer with several views has a GstVideoMeta for each of them. */
TEST (views)
{
  g_autoptr (GstBuffer) buffer = new_buffer (), copy = NULL;
  GstVideoMeta *meta;

  meta = gst_buffer_add_video_meta (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_GRAY8, WIDTH / 2, HEIGHT);
  meta->id = 1;
  copy = copy_metas (buffer, MAX_METAS);
  meta = gst_buffer_get_video_meta_id (copy, 0);
  fail_unless (meta && meta->width == WIDTH);
  meta = gst_buffer_get_video_meta_id (copy, 1);
  fail_unless (meta && meta->width == WIDTH / 2);
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
  copy = copy_metas (buffer, MAX_METAS);
  fail_unless (gst_buffer_get_video_meta (copy) != NULL);
  fail_unless (gst_buffer_get_video_crop_meta (copy) != NULL);
  fail_unless (gst_buffer_get_custom_meta (copy, CUSTOM) == NULL);
  fail_unless (gst_buffer_get_parent_buffer_meta (copy) == NULL);
}

static void
read_bytes (const guint8 *data, gsize size)
{
  g_autoptr (GstBuffer) copy =
      gst_buffer_new_allocate (NULL, WIDTH * HEIGHT, NULL);
  GstByteReader reader;
  GstVideoInfo info;

  gst_video_info_init (&info);
  gst_byte_reader_init (&reader, data, size);
  gst_vkgdr_ipc_metas_read (copy, &info, &reader);
}

/* GStreamer makes a type of the name of a custom meta. Names of types cannot
 * have all characters that names of structures can have. */
TEST (wrong_name)
{
  static const gchar text[] = "my:meta, x=(int)1;";
  guint8 data[8 + sizeof (text) - 1] = { 3, 0, 0, 0, sizeof (text) - 1 };

  memcpy (data + 8, text, sizeof (text) - 1);
  read_bytes (data, sizeof (data));
}

/* Writes metas without those that GStreamer serialises: GStreamer also reads
 * damaged ones, and logs critical errors. */
static GByteArray *
write_own_metas (void)
{
  g_autoptr (GstBuffer) buffer = new_buffer ();
  GstReferenceTimestampMeta *reference =
      gst_buffer_get_reference_timestamp_meta (buffer, NULL);
  GByteArray *metas;

  gst_buffer_remove_meta (buffer, &reference->parent);
  metas = gst_vkgdr_ipc_metas_write (buffer, MAX_METAS);
  return metas;
}

static gboolean leaks;

/* Called by the leak checker. */
G_MODULE_EXPORT int __lsan_is_turned_off (void);

int
__lsan_is_turned_off (void)
{
  return leaks;
}

/* Damaged bytes do no harm. Valgrind and the address sanitizer find reads
 * beyond the end. Leaks are not checked: gst_structure_from_string () of
 * GStreamer 1.22 leaks the first values of a list if a later one is wrong. */
TEST (damaged)
{
  g_autoptr (GByteArray) metas = write_own_metas ();
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  guint8 *data;
  gsize size;
  guint i, n;

  leaks = TRUE;
  for (size = 0; size < metas->len; size++) {
    data = g_memdup2 (metas->data, size);
    read_bytes (data, size);
    g_free (data);
  }
  for (i = 0; i < 2000; i++) {
    data = g_memdup2 (metas->data, metas->len);
    for (n = 0; n < 1 + i % 4; n++)
      data[g_rand_int_range (random, 0, metas->len)] =
          (guint8) g_rand_int_range (random, 0, 256);
    read_bytes (data, metas->len);
    g_free (data);
  }
}

#define PROGR GST_VIDEO_INTERLACE_MODE_PROGRESSIVE
#define INTER GST_VIDEO_INTERLACE_MODE_INTERLEAVED
#define ALTER GST_VIDEO_INTERLACE_MODE_ALTERNATE
#define NO_SUCH_FORMAT 10000

#define GRAY8 GST_VIDEO_FORMAT_GRAY8
#define NV12 GST_VIDEO_FORMAT_NV12
#define RGB8P GST_VIDEO_FORMAT_RGB8P
#define TILES GST_VIDEO_TILE_MAKE_STRIDE

/* Metas of frames in a buffer whose two memories have 3000 bytes each. */
#define MEMORY_SIZE 3000

static const struct {
  GstVideoFormat format;
  GstVideoInterlaceMode mode;
  guint width, height, n_planes;
  gsize offset[GST_VIDEO_MAX_PLANES];
  gint stride[GST_VIDEO_MAX_PLANES];
  gboolean is_inside;
} frames[] = {
  /* The last row need not have a whole stride. */
  { GRAY8, PROGR, 30, 30, 1, { 70 }, { 100 }, TRUE },
  { GRAY8, PROGR, 30, 30, 1, { 71 }, { 100 }, FALSE },
  { GRAY8, PROGR, 31, 30, 1, { 70 }, { 100 }, FALSE },
  { GRAY8, PROGR, 30, 30, 1, { 70 }, { 101 }, FALSE },
  { GRAY8, PROGR, 30, 31, 1, { 70 }, { 100 }, FALSE },
  /* In the second memory, but not in both. */
  { GRAY8, PROGR, 30, 30, 1, { 3070 }, { 100 }, TRUE },
  { GRAY8, PROGR, 30, 30, 1, { 3071 }, { 100 }, FALSE },
  { GRAY8, PROGR, 30, 30, 1, { 1000 }, { 100 }, FALSE },
  { GRAY8, PROGR, 30, 30, 1, { 6001 }, { 0 }, FALSE },
  /* The first row is the last one in memory. */
  { GRAY8, PROGR, 30, 30, 1, { 2900 }, { -100 }, TRUE },
  { GRAY8, PROGR, 30, 30, 1, { 2899 }, { -100 }, FALSE },
  { GRAY8, PROGR, 30, 30, 1, { 2971 }, { -100 }, FALSE },
  /* Large numbers. */
  { GRAY8, PROGR, 1, 1, 1, { G_MAXUINT64 }, { 1 }, FALSE },
  { GRAY8, PROGR, G_MAXUINT, 1, 1, { 0 }, { 1 }, FALSE },
  { GRAY8, PROGR, 1, G_MAXUINT, 1, { 0 }, { 1 }, FALSE },
  { GRAY8, PROGR, 1, G_MAXINT, 1, { 0 }, { G_MININT }, FALSE },
  { GRAY8, PROGR, 0, 0, 1, { 0 }, { 1 }, FALSE },
  { NO_SUCH_FORMAT, PROGR, 1, 1, 1, { 0 }, { 1 }, FALSE },
  /* Each plane counts. */
  { NV12, PROGR, 30, 30, 2, { 0, 2074 }, { 64, 64 }, TRUE },
  { NV12, PROGR, 30, 30, 2, { 0, 2074 }, { 64, 65 }, FALSE },
  { NV12, PROGR, 30, 30, 1, { 0 }, { 64 }, FALSE },
  { RGB8P, PROGR, 30, 30, 2, { 0, 1976 }, { 32, 4 }, TRUE },
  { RGB8P, PROGR, 30, 30, 2, { 0, 1977 }, { 32, 4 }, FALSE },
  /* One v210 row has 128 bytes. */
  { GST_VIDEO_FORMAT_v210, PROGR, 48, 20, 1, { 440 }, { 128 }, TRUE },
  { GST_VIDEO_FORMAT_v210, PROGR, 48, 20, 1, { 441 }, { 128 }, FALSE },
  /* One tile has 32 x 32 bytes. */
  { GST_VIDEO_FORMAT_NV12_32L32, PROGR, 32, 32, 2, { 0, 1024 },
      { TILES (1, 1), TILES (1, 1) }, TRUE },
  { GST_VIDEO_FORMAT_NV12_32L32, PROGR, 32, 32, 2, { 0, 1024 },
      { TILES (1, 1), TILES (2, 1) }, FALSE },
  { GST_VIDEO_FORMAT_NV12_32L32, PROGR, 64, 32, 2, { 0, 1024 },
      { TILES (1, 1), TILES (1, 1) }, FALSE },
  /* A field has half of the rows. Two fields have the same number of chroma
   * rows. */
  { GRAY8, ALTER, 30, 60, 1, { 70 }, { 100 }, TRUE },
  { GRAY8, ALTER, 30, 62, 1, { 70 }, { 100 }, FALSE },
  { NV12, INTER, 30, 30, 2, { 0, 2010 }, { 64, 64 }, TRUE },
  { NV12, INTER, 30, 30, 2, { 0, 2011 }, { 64, 64 }, FALSE },
};

/* A frame whose planes are not in its memory is refused. */
TEST_LOOP (planes, G_N_ELEMENTS (frames))
{
  g_autoptr (GstBuffer) sent = gst_buffer_new ();
  g_autoptr (GstBuffer) received =
      gst_buffer_new_allocate (NULL, MEMORY_SIZE, NULL);
  GstByteReader reader;
  g_autoptr (GByteArray) metas = NULL;
  GstVideoInfo info;

  gst_video_info_init (&info);
  info.interlace_mode = frames[__i__].mode;
  gst_buffer_add_video_meta_full (sent, GST_VIDEO_FRAME_FLAG_NONE,
      frames[__i__].format, frames[__i__].width, frames[__i__].height,
      frames[__i__].n_planes, (gsize *) frames[__i__].offset,
      (gint *) frames[__i__].stride);
  metas = gst_vkgdr_ipc_metas_write (sent, MAX_METAS);
  gst_buffer_append_memory (
      received, gst_allocator_alloc (NULL, MEMORY_SIZE, NULL));
  gst_byte_reader_init (&reader, metas->data, metas->len);
  fail_unless_equals_int (gst_vkgdr_ipc_metas_read (received, &info, &reader),
      frames[__i__].is_inside);
}

static const struct {
  guint x, y, width, height;
  gboolean is_inside;
} crops[] = {
  { 0, 0, 30, 20, TRUE },
  { 2, 4, 28, 16, TRUE },
  { 30, 20, 0, 0, TRUE },
  { 2, 4, 29, 16, FALSE },
  { 2, 4, 28, 17, FALSE },
  { 31, 0, G_MAXUINT, 20, FALSE }, /* the sum is 30 */
  { 0, 21, 30, G_MAXUINT, FALSE },
};

/* A crop meta that is not in the picture is left out, and its frame stays. The
 * picture has the size of the GstVideoMeta, or of the caps without one. */
TEST_LOOP (crop, 2 * G_N_ELEMENTS (crops))
{
  g_autoptr (GstBuffer) sent = gst_buffer_new ();
  g_autoptr (GstBuffer) received =
      gst_buffer_new_allocate (NULL, 30 * 20, NULL);
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta (sent);
  gboolean has_meta = __i__ % 2 == 0;
  GstByteReader reader;
  g_autoptr (GByteArray) metas = NULL;
  GstVideoInfo info;

  gst_video_info_set_format (
      &info, GST_VIDEO_FORMAT_GRAY8, has_meta ? 2 : 30, has_meta ? 2 : 20);
  crop->x = crops[__i__ / 2].x;
  crop->y = crops[__i__ / 2].y;
  crop->width = crops[__i__ / 2].width;
  crop->height = crops[__i__ / 2].height;
  if (has_meta)
    gst_buffer_add_video_meta_full (sent, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_FORMAT_GRAY8, 30, 20, 1, (gsize[4]){ 0 }, (gint[4]){ 30 });
  metas = gst_vkgdr_ipc_metas_write (sent, MAX_METAS);
  gst_byte_reader_init (&reader, metas->data, metas->len);
  fail_unless (gst_vkgdr_ipc_metas_read (received, &info, &reader));
  fail_unless_equals_int (
      gst_buffer_get_video_meta (received) != NULL, has_meta);
  fail_unless_equals_int (gst_buffer_get_video_crop_meta (received) != NULL,
      crops[__i__ / 2].is_inside);
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
  copy = copy_metas (buffer, MAX_METAS);
  own = (const OwnMeta *) gst_buffer_get_meta (copy, info->api);
  fail_unless (own != NULL && own->value == 42);
}

/* Metas whose content GStreamer would parse as text are accepted only as the
 * kinds of their own, which check the text. */
TEST_LOOP (serialised_text, 2)
{
  g_autoptr (GstBuffer) buffer = new_buffer (), copy = gst_buffer_new ();
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  guint8 head[8] = { 4 };
  GstByteReader reader;
  GstVideoInfo info;
  gboolean ok;

  g_byte_array_append (bytes, head, sizeof (head));
  if (__i__)
    ok = gst_meta_serialize_simple (
        &gst_buffer_get_custom_meta (buffer, CUSTOM)->meta, bytes);
  else
    ok = gst_meta_serialize_simple (
        &gst_buffer_get_reference_timestamp_meta (buffer, NULL)->parent, bytes);
  fail_unless (ok);
  bytes->data[4] = bytes->len - sizeof (head);
  gst_video_info_init (&info);
  gst_byte_reader_init (&reader, bytes->data, bytes->len);
  fail_if (gst_vkgdr_ipc_metas_read (copy, &info, &reader));
  fail_unless (gst_buffer_get_custom_meta (copy, CUSTOM) == NULL);
  fail_unless (gst_buffer_get_reference_timestamp_meta (copy, NULL) == NULL);
}
#endif
