/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/variant.c: the variants of the tensor kernel
 *
 * Settings that are the same for all pixels of a tensor are constants of the
 * compiled kernel, so that it has no branches for them. Programs use a few
 * dozen variants. Each one is compiled when it is first needed, and kept on
 * disk.
 */

#include <gio/gio.h>

#include "tensor/config.h"
#include "tensor/variant.h"

#define JOB_RESOURCE "/org/gst-vkgdr/job.h"
#define SOURCE_RESOURCE "/org/gst-vkgdr/tensor.cu"
#define ENTRY "vkgdr_tensor"

/* With this width, a warp writes pixels of one row. */
#define BLOCK_WIDTH 32
#define BLOCK_HEIGHT 8

/* The settings of a variant, in the bits of its number. */
typedef struct {
  guint read;
  guint pair;
  guint full;
  guint half;
  guint filter;
  guint type;
  guint channels;
  guint is_interleaved;
} Macros;

#define N_MACROS 8

/* In the order of the fields. */
static const struct {
  const gchar *name;
  guint bits;
} fields[N_MACROS] = {
  { "TENSOR_READ", 2 },
  { "TENSOR_PAIR", 2 },
  { "TENSOR_FULL", 4 },
  { "TENSOR_HALF", 4 },
  { "TENSOR_FILTER", 2 },
  { "TENSOR_TYPE", 3 },
  { "TENSOR_CHANNELS", 3 },
  { "TENSOR_INTERLEAVED", 1 },
};

G_STATIC_ASSERT (sizeof (Macros) == N_MACROS * sizeof (guint));
G_STATIC_ASSERT ((gint) GST_VKGDR_TENSOR_FILTER_AREA == TENSOR_FILTER_AREA);
G_STATIC_ASSERT ((gint) GST_VKGDR_TENSOR_TYPE_INT8 == TENSOR_TYPE_INT8);
G_STATIC_ASSERT (GST_VKGDR_TENSOR_MAX_CHANNELS == TENSOR_MAX);

static GstVkgdrTensorVariant
pack (const Macros *macros)
{
  const guint *values = (const guint *) macros;
  guint i, shift = 0, number = 0;

  for (i = 0; i < N_MACROS; i++) {
    number |= values[i] << shift;
    shift += fields[i].bits;
  }
  return number;
}

/* --- choosing ------------------------------------------------------------ */

/* Returns the bits of the components that at least one channel uses. */
static guint
find_needed (const VkgdrTensorJob *job, guint n_channels)
{
  guint i, c, needed = 0;

  for (i = 0; i < n_channels; i++)
    for (c = 0; c < TENSOR_MAX; c++)
      if (job->matrix[i][c] != 0)
        needed |= 1u << c;
  return needed;
}

static guint
choose_read (const VkgdrFrame *frame, guint needed)
{
  gboolean bytes = TRUE, words = TRUE;
  gint c;

  if (frame->packed4)
    return TENSOR_READ_PACKED;
  for (c = 0; c < frame->n_components; c++) {
    const VkgdrComponent *k = &frame->component[c];

    if (!(needed >> c & 1))
      continue;
    bytes = bytes && k->order == VKGDR_NATIVE && k->depth == 8;
    words = words && k->order == VKGDR_NATIVE && k->depth > 8;
  }
  return bytes   ? TENSOR_READ_BYTES
         : words ? TENSOR_READ_WORDS
                 : TENSOR_READ_ANY;
}

/* Returns how Cb and Cr can be read at once. For this, they must be adjacent,
 * and aligned to the size of both. */
static guint
choose_pair (const VkgdrTensorJob *job, guint read)
{
  gint size = read == TENSOR_READ_WORDS ? 2 : 1;
  gboolean is_vu = job->data[2] < job->data[1];
  const guchar *first = job->data[is_vu ? 2 : 1];
  const guchar *second = job->data[is_vu ? 1 : 2];

  if (read != TENSOR_READ_BYTES && read != TENSOR_READ_WORDS)
    return TENSOR_PAIR_NONE;
  if (second != first + size || job->step[1] != 2 * size
      || job->stride[1] != job->stride[2]
      || (((guintptr) first | (gsize) job->stride[1]) & (2 * size - 1)) != 0)
    return TENSOR_PAIR_NONE;
  return is_vu ? TENSOR_PAIR_VU : TENSOR_PAIR_UV;
}

/* The kernel gets the bytes of a packed pixel by shifting one word. */
static void
set_packed_shifts (const VkgdrFrame *frame, VkgdrTensorJob *job)
{
  gint c;

  for (c = 0; c < frame->n_components; c++)
    job->shift[c] = 8 * frame->component[c].offset;
  job->data[0] = frame->plane[0].data;
}

GstVkgdrTensorVariant
gst_vkgdr_tensor_variant_choose (const GstVkgdrTensorConfig *config,
    const VkgdrFrame *frame, VkgdrTensorJob *job)
{
  guint c, needed;
  Macros macros = { 0 };

  macros.channels = gst_vkgdr_tensor_config_get_n_channels (config);
  needed = find_needed (job, macros.channels);
  macros.read = choose_read (frame, needed);
  for (c = 0; c < TENSOR_MAX; c++)
    if (needed >> c & 1) {
      if (gst_vkgdr_tensor_plan_get_grid (frame, c) == 0)
        macros.full |= 1u << c;
      else
        macros.half |= 1u << c;
    }
  if (macros.half)
    macros.pair = choose_pair (job, macros.read);
  if (macros.read == TENSOR_READ_PACKED)
    set_packed_shifts (frame, job);
  macros.filter = config->filter;
  macros.type = config->type;
  macros.is_interleaved = config->layout == GST_VKGDR_TENSOR_LAYOUT_NHWC;
  return pack (&macros);
}

/* --- loading ------------------------------------------------------------- */

static GstVkgdrCompileOptions *
make_options (GstVkgdrTensorVariant variant, GError **error)
{
  GstVkgdrCompileOptions *options;
  gchar *list[N_MACROS + 1] = { NULL };
  guint i;

  for (i = 0; i < N_MACROS; i++) {
    guint mask = (1u << fields[i].bits) - 1;

    list[i] = g_strdup_printf ("-D%s=%u", fields[i].name, variant & mask);
    variant >>= fields[i].bits;
  }
  options =
      gst_vkgdr_compile_options_new ((const gchar *const *) list, NULL, error);
  for (i = 0; i < N_MACROS; i++)
    g_free (list[i]);
  return options;
}

static gboolean
append_resource (GString *text, const gchar *path, GError **error)
{
  GBytes *bytes =
      g_resources_lookup_data (path, G_RESOURCE_LOOKUP_FLAGS_NONE, error);

  if (!bytes)
    return FALSE;
  g_string_append_len (
      text, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
  g_bytes_unref (bytes);
  return TRUE;
}

GstVkgdrFunction *
gst_vkgdr_tensor_variant_load (
    GstVkgdrTensorVariant variant, GstVkgdrContext *context, GError **error)
{
  GString *text = g_string_new (NULL);
  GstVkgdrFunction *function = NULL;
  GstVkgdrCompileOptions *options = make_options (variant, error);
  GBytes *image = NULL;

  if (options && append_resource (text, JOB_RESOURCE, error)
      && append_resource (text, SOURCE_RESOURCE, error))
    image = gst_vkgdr_module_compile (
        context, text->str, "tensor.cu", NULL, options, error);
  if (image) {
    function =
        gst_vkgdr_function_load (context, image, "tensor.cu", ENTRY, error);
    g_bytes_unref (image);
  }
  g_clear_pointer (&options, gst_vkgdr_compile_options_unref);
  g_string_free (text, TRUE);
  return function;
}

gboolean
gst_vkgdr_tensor_variant_launch (GstVkgdrFunction *function,
    GstVkgdrStream *stream, VkgdrFrame *frame, VkgdrTensorJob *job,
    GError **error)
{
  guint rows = CLAMP (function->good_threads / BLOCK_WIDTH, 1, BLOCK_HEIGHT);
  const guint block[3] = { BLOCK_WIDTH, rows, 1 };
  const guint grid[3] = { (job->width + BLOCK_WIDTH - 1) / BLOCK_WIDTH,
    (job->height + rows - 1) / rows, 1 };
  void *arguments[] = { frame, job };

  return gst_vkgdr_function_launch_raw (
      function, stream, grid, block, 0, arguments, NULL, error);
}
