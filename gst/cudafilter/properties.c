/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/properties.c: the properties of cudafilter
 */

#include "cudafilter/cudafilter.h"

#define DEFAULT_KERNEL "copy"

/* Milliseconds: far more than a frame may take, and no more than a user waits
 * before he ends a process that does nothing. */
#define DEFAULT_KERNEL_TIMEOUT 10000

enum {
  PROP_KERNEL = 1,
  PROP_LOCATION,
  PROP_SOURCE,
  PROP_PIXEL,
  PROP_COMPILER_OPTIONS,
  PROP_ENTRY,
  PROP_PARAMS,
  PROP_WATCH,
  PROP_OUTPUT_CAPS,
  PROP_BLOCK,
  PROP_GRID,
  PROP_KERNEL_TIMEOUT,
  N_PROPERTIES
};

static GParamSpec *properties[N_PROPERTIES];

static gpointer parent_class;

static gchar **
string_property (GstCudaFilter *self, guint id)
{
  switch (id) {
  case PROP_KERNEL:
    return &self->asked.choice.kernel_name;
  case PROP_LOCATION:
    return &self->asked.choice.location;
  case PROP_SOURCE:
    return &self->asked.choice.source;
  case PROP_PIXEL:
    return &self->asked.choice.pixel;
  case PROP_COMPILER_OPTIONS:
    return &self->asked.choice.compiler_options;
  case PROP_ENTRY:
    return &self->asked.choice.entry;
  case PROP_BLOCK:
    return &self->asked.choice.block;
  case PROP_GRID:
    return &self->asked.choice.grid;
  default:
    return NULL;
  }
}

/* Under the object lock. FALSE if the property is none of these. */
static gboolean
set_asked (GstCudaFilter *self, guint id, const GValue *value)
{
  GstCudaRequest *asked = &self->asked;
  gchar **string = string_property (self, id);

  if (string) {
    g_free (*string);
    *string = g_value_dup_string (value);
    if ((id == PROP_BLOCK || id == PROP_GRID) && !*string)
      *string = g_strdup ("");
    if (id == PROP_KERNEL && !*string)
      *string = g_strdup (DEFAULT_KERNEL);
    asked->choice_is_new = TRUE;
  } else if (id == PROP_PARAMS) {
    g_clear_pointer (&asked->params, gst_structure_free);
    if (gst_value_get_structure (value))
      asked->params = gst_structure_copy (gst_value_get_structure (value));
    asked->params_are_new = TRUE;
  } else if (id == PROP_OUTPUT_CAPS) {
    gst_clear_caps (&asked->output);
    asked->output = gst_cuda_caps_complete (
        gst_value_get_caps (value), &asked->output_is_in_any_memory);
    asked->output_is_new = TRUE;
  } else {
    return FALSE;
  }
  return TRUE;
}

/* Only notes what is set: gst_cuda_filter_commit() lets it count, once all of a
 * g_object_set() is there. */
static void
gst_cuda_filter_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstCudaFilter *self = GST_CUDA_FILTER (object);

  GST_OBJECT_LOCK (self);
  if (set_asked (self, id, value))
    ;
  else if (id == PROP_WATCH)
    self->watch = g_value_get_boolean (value);
  else if (id == PROP_KERNEL_TIMEOUT)
    self->kernel_timeout = g_value_get_uint (value);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  GST_OBJECT_UNLOCK (self);
  if (id == PROP_WATCH)
    gst_cuda_filter_wake (self);
}

/* The end of a g_object_set(): all that it set is there. */
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
    gst_value_set_caps (value, self->asked.output);
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
      "Built-in kernel: %s (not used where location, source or pixel is set)",
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
   * Statements of CUDA C that are run for each pixel and change its colour:
   * `rgba.r = 1.0f - rgba.r`. In scope are
   *
   *  - `rgba`: the pixel's colour, a `VkgdrRgba &`: r, g, b and a, from 0 to 1
   *  - `x`, `y`, `width`, `height`: the pixel and the size of the frame, int
   *  - `frame`: number of the frame, from 0, unsigned long long
   *  - `time`: time stamp in seconds, 0 where there is none, float
   *  - the fields of #GstCudaFilter:params, by their names and of their types
   *
   * and all of `vkgdr/kernel.h`. A pixel cannot see others. It works on every
   * format of red, green and blue, of luma and colour differences, and of gray:
   * where pixels share a sample of colour, that becomes their mean, as
   * vkgdr_shade() says. Samples whose colour is left alone keep their value;
   * the padding of formats such as RGBx becomes its maximum. The output may
   * have another format than the input, and never another size.
   *
   * The compiler's messages count lines and columns of this text. New values of
   * params compile nothing, new names or types do.
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
   * What the compiler of #GstCudaFilter:location, #GstCudaFilter:source or
   * #GstCudaFilter:pixel is told: macros (`-DNAME=VALUE`), folders in which
   * headers are searched (`-IFOLDER`), and the other options of
   * #GstVkgdrCompileOptions. Blanks separate options; quotes and backslashes
   * are those of a shell, but no shell is run. A folder's path is relative to
   * the folder that the process works in. Built-in kernels, and files that are
   * compiled already, have no use for options.
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
   * Arguments of the kernel behind the two frames. For a kernel of one's own
   * they are taken in the order of the structure's fields; for a built-in one,
   * and for #GstCudaFilter:pixel, by name. What is left out has its default,
   * which only built-in ones have. Reading it gives the values of all
   * parameters as they are now.
   *
   * The same parameters are properties of the child object "params" (see
   * #GstChildProxy), each a number or a boolean that can be controlled, so that
   * `params::gain=1.5` sets one of them, and a #GstControlBinding lets it
   * change with the stream time. A kernel of one's own has no names before
   * #GstCudaFilter:params gave them, so that goes first. The child is replaced,
   * bindings and all, when the list of parameters becomes another;
   * "child-added" tells. The ranges are those of the types: a
   * #GstDirectControlBinding has to be an absolute one.
   *
   * New values of the parameters that run count from the next frame on. All
   * else, such as other names or types, is built beside the stream, together
   * with what the same g_object_set() sets. What does not fit is a warning on
   * the bus, and the last pair of kernel and parameters goes on; before the
   * first frame it is an error.
   *
   * A kernel and its params are taken together. Set both with one
   * g_object_set(), in any order, and they are judged as one. Set one after the
   * other, and the last pair that fitted goes on, with a warning, until the
   * other comes: a new kernel waits for params that fit it, and params that did
   * not fit are tried again with the next kernel that is set.
   *
   * Since: 0.1
   */
  properties[PROP_PARAMS] = g_param_spec_boxed ("params", "Parameters",
      "Further arguments of the kernel, in their order, such as "
      "params,gain=(float)1.5; each is also a property of the child: "
      "params::gain=1.5",
      GST_TYPE_STRUCTURE, flags);
  /**
   * GstCudaFilter:watch:
   *
   * Whether the file of #GstCudaFilter:location is compiled again when it, or
   * a file that it includes, changes, also if it did so while this was %FALSE.
   * That happens in a thread of its own; the stream goes on with the last
   * kernel meanwhile, and takes the new one with the first frame that comes
   * when it is ready. An info message on the bus tells that. If the file does
   * not compile, or its kernel does not fit the params, there is a warning, and
   * the last kernel goes on, as it does if a file is deleted. Headers of a CUDA
   * toolkit, and headers that do not exist yet, are not watched.
   *
   * Since: 0.1
   */
  properties[PROP_WATCH] = g_param_spec_boolean ("watch", "Watch",
      "Compile the file of location again when it, or a file that it includes, "
      "changes, and go on with that",
      FALSE, flags);
  /**
   * GstCudaFilter:kernel-timeout:
   *
   * Milliseconds for which the kernel may run on a frame, or 0: no limit. The
   * time counts from when all is done that the kernel waits for, not from when
   * it was queued.
   *
   * Nothing can end a kernel that runs. One that exceeds the limit fails this
   * element, and after a second those that wait for its result. Other elements
   * go on, and this pipeline can be stopped. No kernel can be loaded before the
   * one that runs has ended, so an element that has to load one fails with the
   * same error. Without a limit, a kernel that does not end stops the pipeline
   * for good: it cannot even be set to NULL.
   *
   * Since: 0.1
   */
  properties[PROP_KERNEL_TIMEOUT] = g_param_spec_uint ("kernel-timeout",
      "Kernel timeout",
      "Milliseconds for which the kernel may run on a frame before the element "
      "fails (0 = no limit)",
      0, G_MAXINT, DEFAULT_KERNEL_TIMEOUT,
      G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);
  /**
   * GstCudaFilter:output-caps:
   *
   * What the output is to be, where it is not for downstream to decide, such as
   * `video/x-raw,format=RGBA,width=1280,height=720`. Fields that are left out
   * are as the input has them; a side of the picture that is left out follows
   * from the other, so that the picture keeps its shape. Memory need not be
   * named: the output is always on the device, in whichever memory there
   * downstream wants.
   *
   * A kernel of the user's makes every format and size of every other: it is
   * the kernel that has to do so, by what its two frames say. A built-in one
   * makes those that it is made for, and #GstCudaFilter:pixel every format.
   * What cannot be made is an error.
   *
   * Since: 0.1
   */
  properties[PROP_OUTPUT_CAPS] =
      g_param_spec_boxed ("output-caps", "Output caps",
          "What the output is to be, such as "
          "video/x-raw,format=RGBA,width=1280,height=720; what is left out is "
          "as in the input (default: what downstream wants)",
          GST_TYPE_CAPS, flags);
  /**
   * GstCudaFilter:block:
   *
   * Threads of a block: in x and y as "32x8", or in x alone as "256". Empty: as
   * many as keep the device busy, see gst_vkgdr_kernel_set_block_size().
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
   * Blocks of a launch: in x and y as "64x64", or in x alone as "128". Empty:
   * as many as it takes to have a thread for each pixel or sample. With a grid
   * that is given, the kernel's threads have to go on by the grid's width and
   * height until all is done.
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
  self->asked.choice.kernel_name = g_strdup (DEFAULT_KERNEL);
  self->asked.choice.block = g_strdup ("");
  self->asked.choice.grid = g_strdup ("");
  self->asked.output_is_in_any_memory = TRUE;
  self->kernel_timeout = DEFAULT_KERNEL_TIMEOUT;
}
