/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/choice.c: what the properties request, and what runs
 *
 * The user sets a name, a file, a source or an expression; this file loads the
 * kernel for each of them.
 */

#include "cudafilter/choice.h"
#include "cudafilter/pixel.h"

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

/* Sets what the pragmas of the effect's source declare. */
static void
set_up_image (GstVkgdrKernel *kernel, const GstEffect *effect)
{
  gst_vkgdr_kernel_set_tile_size (kernel, effect->tile_x, effect->tile_y);
  gst_vkgdr_kernel_set_runs_on_fields (kernel, effect->runs_on_fields);
}

/* Compiles the effect only if the device can run no PTX of the plugin. */
static GstVkgdrKernel *
load_effect (GstVkgdrContext *context, const GstEffect *effect, GError **error)
{
  GBytes *image = gst_vkgdr_context_is_software (context)
                      ? NULL
                      : gst_effect_get_image (effect);
  GstVkgdrKernel *kernel;
  gchar *source, *name;

  if (image) {
    kernel = gst_vkgdr_kernel_new_from_image (
        context, image, effect->name, effect->name, error);
    if (kernel)
      set_up_image (kernel, effect);
    g_bytes_unref (image);
    return kernel;
  }
  source = gst_effect_get_source (effect);
  name = g_strconcat (effect->name, ".cu", NULL);
  kernel = gst_vkgdr_kernel_new_from_source (
      context, source, name, effect->name, NULL, error);
  g_free (name);
  g_free (source);
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

/* Reads a size such as "32x8" or "256". Sets *@x to 0 if @text (nullable) is
 * empty. */
static gboolean
read_size (
    const gchar *what, const gchar *text, guint *x, guint *y, GError **error)
{
  gchar **sides = g_strsplit (text ? text : "", "x", 2);
  guint64 numbers[2] = { 0, 0 };
  gboolean ok = TRUE;
  guint i;

  for (i = 0; sides[i]; i++)
    ok = ok
         && g_ascii_string_to_unsigned (
             sides[i], 10, 1, 1000000000, &numbers[i], NULL);
  g_strfreev (sides);
  *x = (guint) numbers[0];
  *y = (guint) numbers[1];
  if (!ok)
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "%s=\"%s\" is not a size: write 32x8, or 256 for one row", what, text);
  return ok;
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

/* Sets *@arguments to the arguments of a launch with the user's @params
 * (nullable). For a user's kernel, they are the same. For an effect, they are
 * all its parameters in its order. The caller frees *@arguments, which are NULL
 * if the kernel has no parameters. Returns FALSE with @error set
 * (GST_VKGDR_ERROR_ARGUMENT) if the params do not fit. */
static gboolean
fit (const GstCudaLoaded *self, const GstStructure *params,
    GstStructure **arguments, GError **error)
{
  GError *reason = NULL;

  *arguments = NULL;
  if (self->is_pixel
      && !gst_cuda_pixel_same_params (self->pixel_params, params)) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "The names or types of params differ from those with which the "
        "expression in pixel was compiled");
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

/* --- requests and pairs --------------------------------------------------- */

static GstStructure *
copy_params (const GstStructure *params)
{
  return params ? gst_structure_copy (params) : NULL;
}

static GstCudaChoice
copy_choice (const GstCudaChoice *choice)
{
  return (GstCudaChoice){
    .kernel_name = g_strdup (choice->kernel_name),
    .location = g_strdup (choice->location),
    .source = g_strdup (choice->source),
    .pixel = g_strdup (choice->pixel),
    .compiler_options = g_strdup (choice->compiler_options),
    .entry = g_strdup (choice->entry),
    .block = g_strdup (choice->block),
    .grid = g_strdup (choice->grid),
  };
}

static void
clear_choice (GstCudaChoice *choice)
{
  g_free (choice->kernel_name);
  g_free (choice->location);
  g_free (choice->source);
  g_free (choice->pixel);
  g_free (choice->compiler_options);
  g_free (choice->entry);
  g_free (choice->block);
  g_free (choice->grid);
  *choice = (GstCudaChoice){ NULL };
}

void
gst_cuda_request_assign (GstCudaRequest *self, const GstCudaRequest *other)
{
  gst_cuda_request_clear (self);
  *self = *other;
  self->choice = copy_choice (&other->choice);
  self->params = copy_params (other->params);
  if (self->output)
    gst_caps_ref (self->output);
}

void
gst_cuda_request_clear (GstCudaRequest *self)
{
  clear_choice (&self->choice);
  g_clear_pointer (&self->params, gst_structure_free);
  gst_clear_caps (&self->output);
}

GstCudaPair *
gst_cuda_pair_new (GstCudaLoaded *loaded, const GstStructure *params,
    const GstCudaRequest *request, GError **error)
{
  GstStructure *arguments;
  GstCudaPair *self;

  if (!fit (loaded, params, &arguments, error))
    return NULL;
  self = g_atomic_rc_box_new0 (GstCudaPair);
  self->loaded = gst_cuda_loaded_ref (loaded);
  self->given = copy_params (params);
  self->arguments = arguments;
  if (request->output)
    self->output = gst_caps_ref (request->output);
  return self;
}

GstCudaPair *
gst_cuda_pair_ref (GstCudaPair *self)
{
  return g_atomic_rc_box_acquire (self);
}

static void
pair_clear (gpointer data)
{
  GstCudaPair *self = data;

  gst_cuda_loaded_unref (self->loaded);
  g_clear_pointer (&self->given, gst_structure_free);
  g_clear_pointer (&self->arguments, gst_structure_free);
  gst_clear_caps (&self->output);
}

void
gst_cuda_pair_unref (GstCudaPair *self)
{
  g_atomic_rc_box_release_full (self, pair_clear);
}
