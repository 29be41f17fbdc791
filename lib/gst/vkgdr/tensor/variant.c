/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/variant.c: the variants of the tensor kernel
 *
 * How samples are read and filtered is constant in a compiled kernel, so that
 * it has no branches for it. tensor/meson.build lists all variants, which are
 * compiled to PTX with the project. The software device, and a build without
 * PTX, compile a variant when it is first needed.
 */

#include <gio/gio.h>

#include "tensor/config.h"
#include "tensor/variant.h"

#define JOB_RESOURCE "/org/gst-vkgdr/job.h"
#define SOURCE_RESOURCE "/org/gst-vkgdr/tensor.cu"
/* The numbers are the settings of the variant, in the order of the fields of
 * Macros. */
#define IMAGE_RESOURCE "/org/gst-vkgdr/tensor-%u-%u-%u-%u-%u.ptx"
#define ENTRY "vkgdr_tensor"

/* A block is as wide as a warp, so that a warp writes pixels of a single
 * row. */
#define BLOCK_WIDTH 32
#define BLOCK_HEIGHT 8

/* The settings of a variant, in the bits of its number. */
typedef struct {
  guint read;
  guint pair;
  guint full;
  guint half;
  guint filter;
} Macros;

#define N_MACROS 5

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
  return number + 1;
}

static void
unpack (GstVkgdrTensorVariant variant, Macros *macros)
{
  guint *values = (guint *) macros, i;

  variant--;
  for (i = 0; i < N_MACROS; i++) {
    values[i] = variant & ((1u << fields[i].bits) - 1);
    variant >>= fields[i].bits;
  }
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

/* Sets the components of both grids that are read, at least those that are
 * needed. Components that are not needed have no weight. Returns FALSE if only
 * TENSOR_READ_ANY can read these components. */
static gboolean
choose_components (
    const VkgdrFrame *frame, const VkgdrTensorJob *job, Macros *macros)
{
  if (job->half) {
    macros->full = 1;
    macros->half = 6;
    return job->full == 1 && (job->half & ~6) == 0;
  }
  if (job->full == 1 && !frame->packed4)
    macros->full = 1;
  else
    macros->full = job->full & 8 ? 15 : 7;
  return macros->full >> frame->n_components == 0;
}

static guint
choose_read (const VkgdrFrame *frame, guint components)
{
  gboolean bytes = TRUE, words = TRUE;
  gint c;

  if (frame->packed4)
    return TENSOR_READ_PACKED;
  for (c = 0; c < frame->n_components; c++) {
    const VkgdrComponent *k = &frame->component[c];

    if (!(components >> c & 1))
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

  if (is_vu && read == TENSOR_READ_WORDS)
    return TENSOR_PAIR_NONE; /* no format has this order */
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

static void
set_needed (const VkgdrFrame *frame, guint n_channels, VkgdrTensorJob *job)
{
  guint c, needed = find_needed (job, n_channels);

  for (c = 0; c < TENSOR_MAX; c++)
    if (needed >> c & 1) {
      if (gst_vkgdr_tensor_plan_get_grid (frame, c) == 0)
        job->full |= 1 << c;
      else
        job->half |= 1 << c;
    }
}

GstVkgdrTensorVariant
gst_vkgdr_tensor_variant_choose (const GstVkgdrTensorConfig *config,
    const VkgdrFrame *frame, VkgdrTensorJob *job)
{
  Macros macros = { .filter = config->filter };
  const Macros any = { .read = TENSOR_READ_ANY, .filter = config->filter };

  job->type = config->type;
  job->channels = gst_vkgdr_tensor_config_get_n_channels (config);
  job->interleaved = config->layout == GST_VKGDR_TENSOR_LAYOUT_NHWC;
  set_needed (frame, job->channels, job);
  if (!choose_components (frame, job, &macros))
    return pack (&any);
  macros.read = choose_read (frame, macros.full | macros.half);
  if (macros.read == TENSOR_READ_ANY)
    return pack (&any);
  if (macros.half)
    macros.pair = choose_pair (job, macros.read);
  if (macros.read == TENSOR_READ_PACKED)
    set_packed_shifts (frame, job);
  return pack (&macros);
}

/* --- loading ------------------------------------------------------------- */

GBytes *
gst_vkgdr_tensor_variant_get_image (GstVkgdrTensorVariant variant)
{
  Macros macros;
  GBytes *image;
  gchar *path;

  unpack (variant, &macros);
  path = g_strdup_printf (IMAGE_RESOURCE, macros.read, macros.pair, macros.full,
      macros.half, macros.filter);
  image = g_resources_lookup_data (path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
  g_free (path);
  return image;
}

static GstVkgdrCompileOptions *
make_options (GstVkgdrTensorVariant variant, GError **error)
{
  GstVkgdrCompileOptions *options;
  gchar *list[N_MACROS + 1] = { NULL };
  Macros macros;
  guint i;

  unpack (variant, &macros);
  for (i = 0; i < N_MACROS; i++)
    list[i] = g_strdup_printf (
        "-D%s=%u", fields[i].name, ((const guint *) &macros)[i]);
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

static GBytes *
compile (
    GstVkgdrTensorVariant variant, GstVkgdrContext *context, GError **error)
{
  GString *text = g_string_new (NULL);
  GstVkgdrCompileOptions *options = make_options (variant, error);
  GBytes *image = NULL;

  if (options && append_resource (text, JOB_RESOURCE, error)
      && append_resource (text, SOURCE_RESOURCE, error))
    image = gst_vkgdr_module_compile (
        context, text->str, "tensor.cu", NULL, options, error);
  g_clear_pointer (&options, gst_vkgdr_compile_options_unref);
  g_string_free (text, TRUE);
  return image;
}

GstVkgdrFunction *
gst_vkgdr_tensor_variant_load (
    GstVkgdrTensorVariant variant, GstVkgdrContext *context, GError **error)
{
  GstVkgdrFunction *function;
  GBytes *image = NULL;

  if (!gst_vkgdr_context_is_software (context))
    image = gst_vkgdr_tensor_variant_get_image (variant);
  if (!image)
    image = compile (variant, context, error);
  if (!image)
    return NULL;
  function =
      gst_vkgdr_function_load (context, image, "tensor.cu", ENTRY, error);
  g_bytes_unref (image);
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
