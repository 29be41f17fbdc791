/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/choice.c: which kernel is requested, and how it is loaded
 *
 * The user sets a name, a file, a source or an expression; this file loads the
 * kernel for each of them. Knows nothing of elements, and does not decide when
 * kernels are loaded.
 */

#include "cudafilter/choice.h"
#include "cudafilter/pixel.h"

G_STATIC_ASSERT (
    sizeof (GstCudaChoice) == GST_CUDA_CHOICE_TEXTS * sizeof (gchar *));

void
gst_cuda_choice_copy (GstCudaChoice *self, const GstCudaChoice *other)
{
  guint i;

  for (i = 0; i < GST_CUDA_CHOICE_TEXTS; i++)
    self->texts[i] = g_strdup (other->texts[i]);
}

void
gst_cuda_choice_clear (GstCudaChoice *self)
{
  guint i;

  for (i = 0; i < GST_CUDA_CHOICE_TEXTS; i++)
    g_clear_pointer (&self->texts[i], g_free);
}

static guint
count_own (const GstCudaChoice *self)
{
  return !!self->location + !!self->source + !!self->pixel;
}

const GstEffect *
gst_cuda_choice_get_effect (const GstCudaChoice *self)
{
  return count_own (self) == 0 ? gst_effect_find (self->kernel_name) : NULL;
}

const gchar *
gst_cuda_choice_get_file (const GstCudaChoice *self)
{
  return count_own (self) == 1 ? self->location : NULL;
}

gboolean
gst_cuda_choice_is_pixel (const GstCudaChoice *self)
{
  return self->pixel && count_own (self) == 1;
}

gboolean
gst_cuda_choice_get_options (
    const GstCudaChoice *self, GstVkgdrCompileOptions **options, GError **error)
{
  *options = NULL;
  if (!self->compiler_options)
    return TRUE;
  *options =
      gst_vkgdr_compile_options_new_from_string (self->compiler_options, error);
  if (!*options)
    g_prefix_error (error, "compiler-options: ");
  return *options != NULL;
}

static GstVkgdrKernel *
load_pixel (const GstCudaChoice *self, GstVkgdrContext *context,
    GstVkgdrCompileOptions *options, const GstStructure *params, GError **error)
{
  GstVkgdrKernel *kernel;
  gchar *source = gst_cuda_pixel_make_source (self->pixel, params, error);

  if (!source)
    return NULL;
  kernel = gst_vkgdr_kernel_new_from_source (
      context, source, "pixel", GST_CUDA_PIXEL_ENTRY, options, error);
  g_free (source);
  return kernel;
}

/* Whether the PTX in the plugin may work although the source does not: there is
 * no compiler, or it is newer than the driver, which then rejects its images.
 */
static gboolean
may_be_compiled_already (GstVkgdrContext *context, const GError *reason)
{
  return !gst_vkgdr_context_is_software (context)
         && (g_error_matches (
                 reason, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER)
             || g_error_matches (
                 reason, GST_VKGDR_ERROR, GST_VKGDR_ERROR_IMAGE));
}

/* Compiles the effect for this device if there is a compiler, otherwise uses
 * the PTX in the plugin. */
static GstVkgdrKernel *
load_effect (GstVkgdrContext *context, const GstEffect *effect, GError **error)
{
  gchar *source = gst_effect_get_source (effect);
  gchar *name = g_strconcat (effect->name, ".cu", NULL);
  GError *reason = NULL;
  GstVkgdrKernel *kernel = gst_vkgdr_kernel_new_from_source (
      context, source, name, effect->name, NULL, &reason);
  GBytes *image = NULL;

  g_free (name);
  g_free (source);
  if (may_be_compiled_already (context, reason))
    image = gst_effect_get_image (effect);
  if (image) {
    g_clear_error (&reason);
    kernel = gst_vkgdr_kernel_new_from_image (
        context, image, effect->name, effect->name, &reason);
    if (kernel)
      gst_vkgdr_kernel_set_tile_size (kernel, effect->tile_x, effect->tile_y);
    g_bytes_unref (image);
  }
  if (reason)
    g_propagate_error (error, reason);
  return kernel;
}

static GstVkgdrKernel *
load_named (const GstCudaChoice *self, GstVkgdrContext *context, GError **error)
{
  const GstEffect *effect = gst_effect_find (self->kernel_name);
  gchar *names;

  if (effect)
    return load_effect (context, effect, error);
  names = gst_effects_get_names ();
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NOT_FOUND,
      "there is no kernel \"%s\"; there are: %s. A kernel of your own is set "
      "with location=, source= or pixel=",
      self->kernel_name, names);
  g_free (names);
  return NULL;
}

/* Loads the kernel from the one property that is set. */
static GstVkgdrKernel *
load_own (const GstCudaChoice *self, GstVkgdrContext *context,
    GstVkgdrCompileOptions *options, const GstStructure *params, GError **error)
{
  if (self->pixel)
    return load_pixel (self, context, options, params, error);
  if (self->source)
    return gst_vkgdr_kernel_new_from_source (
        context, self->source, "source", self->entry, options, error);
  return gst_vkgdr_kernel_new_from_file (
      context, self->location, self->entry, options, error);
}

static GstVkgdrKernel *
load_kernel (const GstCudaChoice *self, GstVkgdrContext *context,
    const GstStructure *params, GError **error)
{
  GstVkgdrCompileOptions *options;
  GstVkgdrKernel *kernel;

  if (count_own (self) > 1) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "only one of location, source and pixel may be set");
    return NULL;
  }
  if (count_own (self) == 0)
    return load_named (self, context, error);
  if (!gst_cuda_choice_get_options (self, &options, error))
    return NULL;
  kernel = load_own (self, context, options, params, error);
  g_clear_pointer (&options, gst_vkgdr_compile_options_unref);
  return kernel;
}

/* Reads a number from 1 to 1000000000. */
static gboolean
read_number (const gchar *text, const gchar **rest, guint *number)
{
  gchar *end;
  guint64 value;

  if (!g_ascii_isdigit (*text))
    return FALSE;
  value = g_ascii_strtoull (text, &end, 10);
  *rest = end;
  *number = (guint) value;
  return value > 0 && value <= 1000000000;
}

/* "32x8" or "256"; *@x is 0 if @text (nullable) is empty. */
static gboolean
read_size (
    const gchar *what, const gchar *text, guint *x, guint *y, GError **error)
{
  const gchar *rest = "";

  *x = *y = 0;
  if (!text || !*text)
    return TRUE;
  if (read_number (text, &rest, x)
      && (*rest != 'x' || read_number (rest + 1, &rest, y)) && !*rest)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "%s=\"%s\" is not a size: write 32x8, or 256 for one row", what, text);
  return FALSE;
}

static gboolean
set_shape (const GstCudaChoice *self, GstVkgdrKernel *kernel, GError **error)
{
  guint x, y;

  if (!read_size ("block", self->block, &x, &y, error)
      || !gst_vkgdr_kernel_set_block_size (kernel, x, y, error))
    return FALSE;
  return read_size ("grid", self->grid, &x, &y, error)
         && gst_vkgdr_kernel_set_grid_size (kernel, x, y, error);
}

GstCudaLoaded *
gst_cuda_choice_load (const GstCudaChoice *self, GstVkgdrContext *context,
    const GstStructure *params, GError **error)
{
  GstVkgdrKernel *kernel = load_kernel (self, context, params, error);
  GstCudaLoaded *loaded;

  if (!kernel)
    return NULL;
  if (!set_shape (self, kernel, error)) {
    gst_object_unref (kernel);
    return NULL;
  }
  loaded = g_atomic_rc_box_new0 (GstCudaLoaded);
  loaded->kernel = kernel;
  loaded->effect = gst_cuda_choice_get_effect (self);
  loaded->file = g_strdup (gst_cuda_choice_get_file (self));
  loaded->is_pixel = gst_cuda_choice_is_pixel (self);
  if (loaded->is_pixel && params)
    loaded->pixel_params = gst_structure_copy (params);
  return loaded;
}

GstCudaLoaded *
gst_cuda_loaded_ref (GstCudaLoaded *self)
{
  return g_atomic_rc_box_acquire (self);
}

static void
loaded_clear (gpointer data)
{
  GstCudaLoaded *self = data;

  gst_object_unref (self->kernel);
  g_free (self->file);
  g_clear_pointer (&self->pixel_params, gst_structure_free);
}

void
gst_cuda_loaded_unref (GstCudaLoaded *self)
{
  g_atomic_rc_box_release_full (self, loaded_clear);
}

gboolean
gst_cuda_loaded_may_run_in_place (const GstCudaLoaded *self)
{
  if (self->effect)
    return self->effect->in_place;
  return self->is_pixel || gst_vkgdr_kernel_may_run_in_place (self->kernel);
}

gboolean
gst_cuda_loaded_fit (const GstCudaLoaded *self, const GstStructure *params,
    GstStructure **arguments, GError **error)
{
  GError *reason = NULL;

  *arguments = NULL;
  if (self->is_pixel
      && !gst_cuda_pixel_same_params (self->pixel_params, params)) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "These are not the parameters that the expression was compiled with");
    return FALSE;
  }
  if (self->effect)
    *arguments = gst_effect_complete_params (self->effect, params, &reason);
  else if (params)
    *arguments = gst_structure_copy (params);
  if (!reason
      && gst_vkgdr_kernel_check_params (self->kernel, *arguments, &reason))
    return TRUE;
  g_clear_pointer (arguments, gst_structure_free);
  g_propagate_error (error, reason);
  return FALSE;
}
