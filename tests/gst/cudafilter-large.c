/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter-large.c: cudafilter with 20 MB and more in each property that
 * names a kernel
 *
 * The element must refuse each of them at once. A function whose time grows
 * with the square of the size would take hours.
 */

#include <time.h>

#include "folder.h"
#include "slow.h"
#include "util.h"

#define LARGE (20 * 1000 * 1000)

/* The size of the largest file that is read; see kernel/image.c. */
#define LARGEST_IMAGE (64 * 1024 * 1024)

/* The limit of the processor time in microseconds. It is far more than the
 * tests take. The time of other programs does not count. */
#define SOON (20 * G_TIME_SPAN_SECOND)

/* Returns the processor time of this process in microseconds. */
static gint64
get_cpu_time (void)
{
  struct timespec time;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * G_TIME_SPAN_SECOND + time.tv_nsec / 1000;
}

static gchar *
repeat (const gchar *piece, gsize size)
{
  gsize length = strlen (piece), i;
  gchar *text = g_malloc (size + 1);

  for (i = 0; i < size; i++)
    text[i] = piece[i % length];
  text[size] = '\0';
  return text;
}

/* Plays a frame with @property of cudafilter. There must be an error that
 * contains @word. */
static void
assert_is_refused (const gchar *property, const gchar *value, const gchar *word)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc num-buffers=1 ! video/x-raw,format=RGBA,width=16,height=16 "
      "! vkgdrupload ! cudafilter name=filter ! fakesink");
  g_autoptr (GstElement) filter =
      gst_bin_get_by_name (GST_BIN (pipeline), "filter");
  gint64 start = get_cpu_time (), time;
  g_autoptr (GError) error = NULL;

  g_object_set (filter, property, value, NULL);
  error = test_play_error (pipeline);
  time = get_cpu_time () - start;
  fail_unless (test_contains (error->message, word), "%.300s", error->message);
  fail_unless (time < test_limit (SOON), "%" G_GINT64_FORMAT " us", time);
}

static const struct {
  const gchar *property, *piece, *word;
} strings[] = {
  { "source", "\n", "bytes" },
  { "source", "/*", "bytes" },
  { "pixel", "rgba.r = 0; ", "bytes" },
  { "location", "/a", "cannot be read" },
};

TEST_LOOP (strings, G_N_ELEMENTS (strings))
{
  g_autofree gchar *text = repeat (strings[__i__].piece, LARGE);

  assert_is_refused (strings[__i__].property, text, strings[__i__].word);
}

static const struct {
  const gchar *head, *piece;
  gsize size;
  const gchar *word;
  gboolean is_for_driver; /* NVIDIA's driver has no time limit for it */
} files[] = {
  { "", "\n", LARGEST_IMAGE + 1, "too large" },
  { "__global__ void k (VkgdrFrame in, VkgdrFrame out) {}", "\n",
      LARGEST_IMAGE + 1, "too large" },
  { "__global__ void k (VkgdrFrame in, VkgdrFrame out) {}", "\n",
      LARGEST_IMAGE - 1000, "bytes" },
  { "//\n.version 8.0\n.target sm_90\n", "\n", LARGEST_IMAGE - 1000,
      "cannot be loaded", TRUE },
  { "//\n.version 8.0\n.target sm_90\n", ".entry a (.param .u32 b)\n",
      LARGEST_IMAGE - 1000, "cannot be loaded", TRUE },
  { "\177ELF\2\1\1", "\1", LARGEST_IMAGE - 1000, "truncated" },
};

TEST_FIXTURE (folder_setup, folder_teardown);

TEST_LOOP (files, !test_is_slow () ? G_N_ELEMENTS (files) : 0)
{
  const gchar *head = files[__i__].head;
  gsize size = files[__i__].size;
  g_autofree gchar *text = NULL, *path = NULL;

  if (files[__i__].is_for_driver && !test_is_software ())
    return;
  text = repeat (files[__i__].piece, size);
  memcpy (text, head, strlen (head));
  path = folder_write ("large.cu", text);
  assert_is_refused ("location", path, files[__i__].word);
}
