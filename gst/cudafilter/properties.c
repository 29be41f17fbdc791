/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/properties.c: the properties of cudafilter
 */

#include "cudafilter/cudafilter.h"

#define DEFAULT_KERNEL "copy"

/* The first ones are in the order of GstCudaChoice. */
enum {
  PROP_KERNEL = 1,
  PROP_LOCATION,
  PROP_SOURCE,
  PROP_PIXEL,
  PROP_COMPILER_OPTIONS,
  PROP_ENTRY,
  PROP_BLOCK,
  PROP_GRID,
  PROP_PARAMS,
  PROP_WATCH,
  PROP_OUTPUT_CAPS,
  PROP_KERNEL_TIMEOUT,
  N_PROPERTIES
};

static GParamSpec *properties[N_PROPERTIES];

static gpointer parent_class;

static gchar **
string_property (GstCudaFilter *self, guint id)
{
  GstCudaChoice *choice = &self->properties.choice;

  switch (id) {
  case PROP_KERNEL:
    return &choice->kernel_name;
  case PROP_LOCATION:
    return &choice->location;
  case PROP_SOURCE:
    return &choice->source;
  case PROP_PIXEL:
    return &choice->pixel;
  case PROP_COMPILER_OPTIONS:
    return &choice->compiler_options;
  case PROP_ENTRY:
    return &choice->entry;
  case PROP_BLOCK:
    return &choice->block;
  case PROP_GRID:
    return &choice->grid;
  default:
    return NULL;
  }
}

/* Returns FALSE if @id is another property. */
static gboolean
set_request_locked (GstCudaFilter *self, guint id, const GValue *value)
{
  GstCudaRequest *request = &self->properties;
  gchar **string = string_property (self, id);

  if (string) {
    g_free (*string);
    *string = g_value_dup_string (value);
    if ((id == PROP_BLOCK || id == PROP_GRID) && !*string)
      *string = g_strdup ("");
    if (id == PROP_KERNEL && !*string)
      *string = g_strdup (DEFAULT_KERNEL);
    request->changes |= GST_CUDA_CHANGED_CHOICE;
  } else if (id == PROP_PARAMS) {
    g_clear_pointer (&request->params, gst_structure_free);
    if (gst_value_get_structure (value))
      request->params = gst_structure_copy (gst_value_get_structure (value));
    request->changes |= GST_CUDA_CHANGED_PARAMS;
  } else if (id == PROP_OUTPUT_CAPS) {
    GstCaps *caps = (GstCaps *) gst_value_get_caps (value);

    gst_caps_replace (
        &request->output, caps && !gst_caps_is_any (caps) ? caps : NULL);
    request->changes |= GST_CUDA_CHANGED_OUTPUT;
  } else {
    return FALSE;
  }
  return TRUE;
}

/* Only stores the value. gst_cuda_filter_commit () applies all values of a
 * g_object_set () together. */
static void
gst_cuda_filter_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstCudaFilter *self = GST_CUDA_FILTER (object);

  GST_OBJECT_LOCK (self);
  if (set_request_locked (self, id, value))
    ;
  else if (id == PROP_WATCH) {
    self->watch = g_value_get_boolean (value);
    g_cond_broadcast (&self->cond);
  } else if (id == PROP_KERNEL_TIMEOUT) {
    self->kernel_timeout = g_value_get_uint (value);
    self->has_kernel_timeout = TRUE;
  } else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  GST_OBJECT_UNLOCK (self);
}

/* Called at the end of g_object_set (), when all of its values are stored. */
static void
gst_cuda_filter_dispatch_properties_changed (
    GObject *object, guint n_pspecs, GParamSpec **pspecs)
{
  gst_cuda_filter_commit (GST_CUDA_FILTER (object));
  G_OBJECT_CLASS (parent_class)
      ->dispatch_properties_changed (object, n_pspecs, pspecs);
}

static void
gst_cuda_filter_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstCudaFilter *self = GST_CUDA_FILTER (object);
  gchar **string = string_property (self, id);

  if (id == PROP_PARAMS) {
    g_value_take_boxed (value, gst_cuda_filter_get_params (self));
    return;
  }
  GST_OBJECT_LOCK (self);
  if (string)
    g_value_set_string (value, *string);
  else if (id == PROP_WATCH)
    g_value_set_boolean (value, self->watch);
  else if (id == PROP_OUTPUT_CAPS)
    gst_value_set_caps (value, self->properties.output);
  else if (id == PROP_KERNEL_TIMEOUT)
    g_value_set_uint (value, self->kernel_timeout);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  GST_OBJECT_UNLOCK (self);
}

void
gst_cuda_filter_install_properties (GObjectClass *object_class)
{
  const GParamFlags flags =
      G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING;
  gchar *names = gst_effects_get_names ();
  gchar *blurb = g_strdup_printf (
      "Built-in kernel: %s (not used if location, source or pixel is set)",
      names);

  /**
   * GstCudaFilter:kernel:
   *
   * Name of a built-in kernel.
   *
   * Since: 0.1
   */
  properties[PROP_KERNEL] =
      g_param_spec_string ("kernel", "Kernel", blurb, DEFAULT_KERNEL,
          G_PARAM_READWRITE | G_PARAM_STATIC_NAME | G_PARAM_STATIC_NICK
              | GST_PARAM_MUTABLE_PLAYING);
  /**
   * GstCudaFilter:location:
   *
   * Path of a file with a kernel: CUDA source (.cu), PTX, cubin or fatbin.
   *
   * Since: 0.1
   */
  properties[PROP_LOCATION] = g_param_spec_string ("location", "Location",
      "File with the kernel: CUDA source (.cu), PTX, cubin or fatbin", NULL,
      flags);
  /**
   * GstCudaFilter:source:
   *
   * CUDA source of a kernel.
   *
   * Since: 0.1
   */
  properties[PROP_SOURCE] = g_param_spec_string (
      "source", "Source", "CUDA source of the kernel", NULL, flags);
  /**
   * GstCudaFilter:pixel:
   *
   * Statements in CUDA C that change the colour of a pixel and are run for each
   * pixel: `rgba.r = 1.0f - rgba.r`. They can use
   *
   * - `rgba`: the pixel's colour, a `VkgdrRgba &`: r, g, b and a, from 0 to 1
   * - `x`, `y`, `width`, `height`: the pixel and the size of the frame, int
   * - `frame`: number of the frame, from 0, unsigned long long
   * - `time`: time stamp in seconds, or 0 if there is none, float
   * - the fields of #GstCudaFilter:params, with their names and types
   *
   * and all of `vkgdr/kernel.h`, but they cannot read other pixels. The output
   * may have another format than the input, but not another size. All formats
   * are supported, see vkgdr_shade(). The compiler's messages have the lines
   * and columns of this text.
   *
   * Since: 0.1
   */
  properties[PROP_PIXEL] = g_param_spec_string ("pixel", "Pixel",
      "Statements that change a pixel's colour, such as rgba.r = 1.0f - rgba.r "
      "(in scope: rgba, x, y, width, height, frame, time, and params by name)",
      NULL, flags);
  /**
   * GstCudaFilter:compiler-options:
   *
   * Options for the compiler of #GstCudaFilter:location, #GstCudaFilter:source
   * or #GstCudaFilter:pixel: those of #GstVkgdrCompileOptions, such as macros
   * (`-DNAME=VALUE`) and folders of headers (`-IFOLDER`). They are separated by
   * blanks, and quoted as in a shell, but no shell is run. Built-in kernels and
   * compiled files ignore them.
   *
   * Since: 0.2
   */
  properties[PROP_COMPILER_OPTIONS] =
      g_param_spec_string ("compiler-options", "Compiler options",
          "Options for the compiler of location, source or pixel, such as "
          "-DRADIUS=3 -Iheaders",
          NULL, flags);
  /**
   * GstCudaFilter:entry:
   *
   * Name of the kernel's function.
   *
   * Since: 0.1
   */
  properties[PROP_ENTRY] = g_param_spec_string ("entry", "Entry",
      "Name of the __global__ function in location or source "
      "(default: the only one there is)",
      NULL, flags);
  /**
   * GstCudaFilter:params:
   *
   * Arguments of the kernel after the two frames. A kernel of the user gets
   * them in the order of the fields. A built-in kernel and #GstCudaFilter:pixel
   * get them by name. A built-in kernel has defaults for missing ones. Reading
   * the property returns the current values of all parameters.
   *
   * New values for the running kernel apply from the next frame on. For any
   * other change, including new names or types of parameters, the kernel is
   * prepared in another thread. All properties of one g_object_set() take
   * effect together. If the kernel and its parameters do not fit together, the
   * element posts a warning and continues as before; before the first frame, it
   * posts an error.
   *
   * Since: 0.1
   */
  properties[PROP_PARAMS] = g_param_spec_boxed ("params", "Parameters",
      "Further arguments of the kernel, in their order, such as "
      "params,gain=(float)1.5",
      GST_TYPE_STRUCTURE, flags);
  /**
   * GstCudaFilter:watch:
   *
   * Whether the file of #GstCudaFilter:location is compiled again when it, or a
   * file that it includes, changes. If a file has changed while this was
   * %FALSE, that happens when this becomes %TRUE. The element posts an info
   * message when it uses the new kernel. The files are checked ten times a
   * second, except headers of a CUDA toolkit, and headers that do not exist
   * yet.
   *
   * Since: 0.1
   */
  properties[PROP_WATCH] = g_param_spec_boolean ("watch", "Watch",
      "Compile the file of location again when it, or a file that it includes, "
      "changes, and use the new kernel",
      FALSE, flags);
  /**
   * GstCudaFilter:kernel-timeout:
   *
   * Milliseconds for which the kernel may run on a frame, or 0: no limit. On
   * the software device, the default is 0. The time begins when all work for
   * which the kernel waits is done.
   *
   * A running kernel cannot be ended. If it exceeds the limit, this element
   * posts an error. One second later, elements that wait for the kernel's
   * result, or have to load a kernel, post an error, too. Other elements
   * continue, and this pipeline can be stopped. Without a limit, a kernel that
   * does not end blocks the pipeline until the pipeline is stopped, or the end
   * of the stream comes: they wait for 5 and 10 seconds.
   *
   * Since: 0.1
   */
  properties[PROP_KERNEL_TIMEOUT] = g_param_spec_uint ("kernel-timeout",
      "Kernel timeout",
      "Milliseconds for which the kernel may run on a frame before the element "
      "fails (0 = no limit, which is the default on the software device)",
      0, G_MAXINT, GST_CUDA_DEFAULT_KERNEL_TIMEOUT,
      G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);
  /**
   * GstCudaFilter:output-caps:
   *
   * The caps of the output, if downstream does not determine them, such as
   * `video/x-raw,format=RGBA,width=1280,height=720`. Missing fields are the
   * same as in the input. If only one of width and height is given, the other
   * one follows from the aspect ratio. The memory does not have to be named.
   *
   * A kernel of the user has to do any conversion that its two frames describe.
   * #GstCudaFilter:pixel converts to all formats. If a built-in kernel does not
   * support the conversion, the element posts an error.
   *
   * Since: 0.1
   */
  properties[PROP_OUTPUT_CAPS] =
      g_param_spec_boxed ("output-caps", "Output caps",
          "Caps of the output, such as "
          "video/x-raw,format=RGBA,width=1280,height=720; missing fields are "
          "as in the input (default: what downstream wants)",
          GST_TYPE_CAPS, flags);
  /**
   * GstCudaFilter:block:
   *
   * Threads of a block, in x and y ("32x8") or only in x ("256"). If it is
   * empty, the library chooses them, see gst_vkgdr_kernel_set_block_size().
   *
   * Since: 0.1
   */
  properties[PROP_BLOCK] = g_param_spec_string ("block", "Block",
      "Threads of a block, such as 32x8, or 256 for a row (empty: chosen for "
      "the kernel and the device)",
      "", flags);
  /**
   * GstCudaFilter:grid:
   *
   * Blocks of a launch, in x and y ("64x64") or only in x ("128"). If it is
   * empty, there is a thread for each pixel or sample. Otherwise each thread
   * also has to process the pixels at multiples of the grid's size.
   *
   * Since: 0.1
   */
  properties[PROP_GRID] = g_param_spec_string ("grid", "Grid",
      "Blocks of a launch, such as 64x64, or 128 for a row; the kernel then "
      "has to cover the output by itself (empty: one thread for each pixel or "
      "sample)",
      "", flags);
  parent_class = g_type_class_peek_parent (object_class);
  object_class->set_property = gst_cuda_filter_set_property;
  object_class->get_property = gst_cuda_filter_get_property;
  object_class->dispatch_properties_changed =
      gst_cuda_filter_dispatch_properties_changed;
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);
  g_free (blurb);
  g_free (names);
}

void
gst_cuda_filter_init_properties (GstCudaFilter *self)
{
  self->properties.choice.kernel_name = g_strdup (DEFAULT_KERNEL);
  self->properties.choice.block = g_strdup ("");
  self->properties.choice.grid = g_strdup ("");
  self->kernel_timeout = GST_CUDA_DEFAULT_KERNEL_TIMEOUT;
  gst_cuda_request_assign (&self->requested, &self->properties);
}
