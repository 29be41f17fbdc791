/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fuzz.c: gives arbitrary bytes to the library as sources, images, options and
 * cache entries
 *
 * The library has to answer in time, and must not access memory out of bounds.
 * The inputs are good examples with random changes. The random numbers are the
 * same in each run, so that a failure can be repeated by the number of its
 * case. The tests need neither a device nor a compiler. They find the most
 * errors with scripts/test --asan.
 */

#include <string.h>
#include <time.h>

#include <glib/gstdio.h>
#include <gst/check/gstcheck.h>
#include <gst/vkgdr/vkgdr.h>

#include "case.h"
#include "cudafilter/effects.h"
#include "kernel/cache.h"
#include "kernel/image.h"
#include "kernel/options.h"
#include "kernel/source.h"
#include "slow.h"

/* The largest number of cases of an example, and the longest time of all cases
 * of an example in microseconds. A slow machine runs fewer cases. */
#define N_CASES 4000
#define TIME_LIMIT (4 * G_USEC_PER_SEC)
/* The longest time of one case, in microseconds. All inputs have some
 * kilobytes. */
#define CASE_LIMIT (G_USEC_PER_SEC / 2)

typedef void (*FuzzUse) (const guint8 *data, gsize size);

/* --- changes ------------------------------------------------------------- */

/* Text that the parsers look for. */
static const gchar *const words[] = { "#include \"", "%:include <", "/*", "*/",
  "//", "\"", "'", "R\"(", ")\"", "\\\n", "\n", "#pragma vkgdr tile 4x2\n",
  "#pragma vkgdr in-place", "extern \"C\"", "template", "__has_include (",
  ".entry ", ".param .align 8 .b8 a[264]", ",", "(", ")", "[", "]", ".version",
  ".target", "\177ELF", "\xc3", "\xff\xff\xff\xff", "-D", "-I", "=", " " };

/* Inserts @size bytes. */
static void
insert (GByteArray *data, gsize at, gconstpointer bytes, gsize size)
{
  g_autofree guint8 *copy = g_memdup2 (bytes, size);
  g_autofree guint8 *tail = g_memdup2 (data->data + at, data->len - at);
  gsize tail_size = data->len - at;

  g_byte_array_set_size (data, at);
  g_byte_array_append (data, copy, size);
  g_byte_array_append (data, tail, tail_size);
}

static void
change (GRand *random, GByteArray *data)
{
  static const guint64 numbers[] = { 0, 1, 0x7fff, 0xffff, 0x7fffffff,
    0xffffffff, G_MAXUINT64, 0x8000000000000000, 0xfffffffffffffff0 };
  gsize at = g_rand_int_range (random, 0, data->len + 1);
  guint which = g_rand_int (random);
  gsize size = MIN (which % 256, data->len - at);
  const gchar *word = words[which % G_N_ELEMENTS (words)];

  switch (g_rand_int_range (random, 0, 5)) {
  case 0:
    if (size)
      data->data[at] ^= 1 << which % 8;
    break;
  case 1:
    if (size)
      memcpy (data->data + at, &numbers[which % G_N_ELEMENTS (numbers)],
          MIN (size, sizeof (guint64)));
    break;
  case 2:
    insert (data, at, word, strlen (word));
    break;
  case 3:
    g_byte_array_remove_range (data, at, which & 256 ? size : data->len - at);
    break;
  default:
    insert (data, at, data->data + at, size);
  }
}

/* Calls @use with changed copies of @seed. Each is in a block of memory of
 * exactly its size, so that a sanitizer sees an access beyond its end. */
static void
fuzz (gconstpointer seed, gsize seed_size, guint n_cases, guint number,
    FuzzUse use)
{
  gint64 end = g_get_monotonic_time () + TIME_LIMIT;
  guint i, changes;

  for (i = 0; i < n_cases && g_get_monotonic_time () < end; i++) {
    g_autoptr (GRand) random = g_rand_new_with_seed (1000000 * number + i);
    g_autoptr (GByteArray) data = g_byte_array_new ();
    gint64 start;
    g_autofree guint8 *exact = NULL;

    g_byte_array_append (data, seed, MIN (seed_size, 65536));
    for (changes = g_rand_int_range (random, 1, 12); changes > 0; changes--)
      change (random, data);
    exact = g_memdup2 (data->data, data->len);
    start = test_cpu_time ();
    use (exact ? exact : (const guint8 *) "", data->len);
    fail_unless (test_cpu_time () - start < test_limit (CASE_LIMIT),
        "case %u of seed %u", i, number);
  }
  /* So few cases would prove nothing. */
  fail_unless (i > 20, "only %u cases in time", i);
}

/* --- the functions under test -------------------------------------------- */

static void
use_as_source (const guint8 *data, gsize size)
{
  g_autofree gchar *text = g_strndup ((const gchar *) data, size);
  GstVkgdrSource *source = gst_vkgdr_source_scan (text);
  g_autofree gchar *made = gst_vkgdr_source_make_text (source, text, "a name");
  const gchar *p;
  gsize n = 0, m = 0;

  for (p = text; *p; p++)
    n += *p == '\n';
  for (p = made; *p; p++)
    m += *p == '\n';
  /* The lines keep their numbers. Lines are added only in front and at the
   * end. */
  fail_unless (m >= n + 3 && m <= n + 5);
  fail_unless (source->tile_x >= 1 && source->tile_x < 100);
  fail_unless (source->tile_y >= 1 && source->tile_y < 100);
  gst_vkgdr_source_free (source);
}

static void
use_as_image (const guint8 *data, gsize size)
{
  g_autoptr (GBytes) image = g_bytes_new_static (data, size);
  g_autofree gchar *text = g_strndup ((const gchar *) data, size);
  gchar **entries;
  guint i;

  gst_vkgdr_image_get_kind (image);
  gst_vkgdr_image_is_complete (image);
  entries = gst_vkgdr_image_list_ptx_entries (text);
  for (i = 0; entries[i] && i < 3; i++) {
    g_autoptr (GArray) offsets = g_array_new (FALSE, FALSE, sizeof (gsize));
    g_autoptr (GArray) sizes =
        gst_vkgdr_image_read_ptx_params (text, entries[i], offsets);

    fail_unless (sizes != NULL && sizes->len == offsets->len);
  }
  g_strfreev (entries);
}

static void
use_as_options (const guint8 *data, gsize size)
{
  g_autofree gchar *text = g_strndup ((const gchar *) data, size);
  GError *error = NULL;
  GstVkgdrCompileOptions *options =
      gst_vkgdr_compile_options_new_from_string (text, &error);

  fail_unless (!options == (error != NULL));
  if (options) {
    g_autoptr (GPtrArray) list = g_ptr_array_new_with_free_func (g_free);

    gst_vkgdr_options_append (options, list);
    gst_vkgdr_compile_options_unref (options);
  }
  g_clear_error (&error);
}

static gchar *cache_entry;

/* A lookup finds the entry as it was stored, or does not find it. */
static void
use_as_entry (const guint8 *data, gsize size)
{
  GBytes *image;

  fail_unless (g_file_set_contents_full (cache_entry, (const gchar *) data,
      size, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
  image = gst_vkgdr_cache_lookup ("a key");
  if (image)
    fail_unless_equals_string (g_bytes_get_data (image, NULL), "an image");
  g_clear_pointer (&image, g_bytes_unref);
}

/* --- seeds --------------------------------------------------------------- */

static void
fuzz_text (const gchar *text, guint n_cases, guint number, FuzzUse use)
{
  fuzz (text, strlen (text), n_cases, number, use);
}

TEST (sources)
{
  const GstEffect *effect;
  guint n = 0;

  fuzz_text ("", N_CASES, n++, use_as_source);
  for (effect = gst_effects_list (); effect->name; effect++) {
    g_autofree gchar *source = gst_effect_get_source (effect);

    fuzz_text (source, N_CASES / 20, n++, use_as_source);
  }
}

#define PTX \
  "// a comment .entry no (\n.version 8.0\n.target sm_90\n" \
  ".visible .entry first(\n\t.param .align 8 .b8 p0[264],\n" \
  "\t.param .u64 .ptr .global .align 1 p1,\n\t.param .f32 p2\n)\n" \
  "{\n\tret;\n}\n.entry second ()\n{\n\tret;\n}\n"

TEST (images)
{
  const guint8 fatbin[64] = "\x50\xed\x55\xba\1\0\x10\0\x20";
  const GstEffect *effect;
  gchar *elf;
  gsize size;
  guint n = 100;

  fuzz_text (PTX, N_CASES, n++, use_as_image);
  fuzz (fatbin, sizeof (fatbin), N_CASES, n++, use_as_image);
  /* Any ELF file is good enough. */
  fail_unless (g_file_get_contents ("/proc/self/exe", &elf, &size, NULL));
  fuzz (elf, MIN (size, 8192), N_CASES / 2, n++, use_as_image);
  g_free (elf);
  for (effect = gst_effects_list (); effect->name; effect++) {
    g_autoptr (GBytes) image = gst_effect_get_image (effect);

    if (!image)
      continue;
    fuzz (g_bytes_get_data (image, NULL), g_bytes_get_size (image),
        N_CASES / 40, n++, use_as_image);
  }
}

TEST (options)
{
  fuzz_text ("-DA=1 -U B --define-macro=C --std=c++17 -I/a --use_fast_math "
             "--maxrregcount=32 -lineinfo 'D=\\'e'",
      N_CASES, 200, use_as_options);
}

TEST (cache_entries)
{
  g_autofree gchar *folder = g_dir_make_tmp ("test-fuzz-XXXXXX", NULL),
                   *data = NULL;
  g_autofree gchar *hash =
      g_compute_checksum_for_string (G_CHECKSUM_SHA256, "a key", -1);
  g_autoptr (GBytes) image =
      g_bytes_new_static ("an image", sizeof ("an image"));
  gsize size;

  g_setenv ("VKGDR_CACHE_DIR", folder, TRUE);
  gst_vkgdr_cache_store ("a key", image);
  cache_entry = g_strdup_printf ("%s/%s.image", folder, hash);
  fail_unless (g_file_get_contents (cache_entry, &data, &size, NULL));
  fuzz (data, size, N_CASES, 300, use_as_entry);
  g_unlink (cache_entry);
  fail_unless (g_rmdir (folder) == 0);
  g_free (cache_entry);
}
