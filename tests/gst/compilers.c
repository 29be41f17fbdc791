/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * compilers.c: tests of the real NVRTC, and of the images of the build
 *
 * No device is needed.
 */

#include <glib/gstdio.h>
#include <gst/check/gstcheck.h>
#include <gst/vkgdr/vkgdr.h>
#include <unistd.h>
#include <vkgdr/kernel.h>

#include "bytes.h"
#include "case.h"
#include "folder.h"
#include "cudafilter/effects.h"
#include "kernel/compiler.h"
#include "kernel/image.h"
#include "tensor/variant.h"

#define SOURCE \
  "__global__ void mine (VkgdrFrame in, VkgdrFrame out, float v)\n" \
  "{\n" \
  "}\n"

static const GstVkgdrCompilerTarget hopper = { FALSE, 13000, 90 };

static void
setup (void)
{
  folder_setup ();
  g_setenv ("VKGDR_CACHE_DIR", folder, TRUE);
}

static GBytes *
compile (const GstVkgdrCompilerTarget *target, const gchar *source,
    gboolean ptx, GError **error)
{
  const GstVkgdrCompilerInput input = { source, "mine.cu", NULL, NULL, ptx };

  return gst_vkgdr_compiler_run (target, &input, error);
}

/* The first function has no __device__. Templates and effects get lambdas. */
static const gchar rich_source[] =
    " float helper (float v) { return fmaf (v, 2.0f, sqrtf (v)); }\n"
    "template <typename F> __device__ static void twice (F f) { f (0); f (1);"
    " }\n"
    "__global__ void rich (VkgdrFrame in, VkgdrFrame out, float v)\n"
    "{\n"
    "  __shared__ float shared[64];\n"
    "  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;\n"
    "  twice ([&] (int i) { shared[i] = helper (v) + make_uchar4 (1, 2, 3,\n"
    "    max (4, x)).w; });\n"
    "  __syncthreads ();\n"
    "  vkgdr_shade (in, out, x, y, [&] (VkgdrRgba &c, int px, int py) {\n"
    "    c.r += helper (c.g) * shared[px & 1] + fmaxf (v, 0.5f); });\n"
    "}\n";

/* Fails unless the PTX @image has one kernel, whose first two parameters are a
 * frame and something of @second bytes. A kernel whose threads copied the
 * frames from the parameters to their local memory would be several times
 * slower. */
static void
check_image (GBytes *image, const gchar *name, gsize second)
{
  const gchar *ptx = g_bytes_get_data (image, NULL);
  g_auto (GStrv) entries = gst_vkgdr_image_list_ptx_entries (ptx);
  const gchar *local = strstr (ptx, "__local_depot0[");
  g_autoptr (GArray) sizes = NULL;

  fail_unless_equals_int (g_strv_length (entries), 1);
  test_assert_contains (entries[0], name);
  sizes = gst_vkgdr_image_read_ptx_params (ptx, entries[0], NULL);
  fail_unless (sizes && sizes->len >= 2, "%s", name);
  fail_unless (g_array_index (sizes, gsize, 0) == sizeof (VkgdrFrame));
  fail_unless (g_array_index (sizes, gsize, 1) == second);
  fail_unless (!local
                   || g_ascii_strtoull (strchr (local, '[') + 1, NULL, 10)
                          < sizeof (VkgdrFrame),
      "%s uses local memory", name);
}

static void
check_source (const GstVkgdrCompilerTarget *target, const gchar *source,
    const gchar *name)
{
  GError *error = NULL;
  g_autoptr (GBytes) image = compile (target, source, TRUE, &error);

  fail_unless (image != NULL, "%s: %s", name, error ? error->message : "");
  check_image (image, name, sizeof (VkgdrFrame));
}

TEST_FIXTURE (setup, folder_teardown);

/* Messages name the lines of the source. */
TEST (nvrtc_compiles_all)
{
  const GstEffect *effect;
  GError *error = NULL;
  g_autofree gchar *compiler = gst_vkgdr_compiler_describe (&hopper, NULL);

  TEST_NEEDS (compiler, "NVRTC");
  check_source (&hopper, rich_source, "rich");
  fail_if (compile (&hopper, "// one line\n__global__ void f () { wrong (); }",
      TRUE, &error));
  test_assert_error_says (&error, GST_VKGDR_ERROR_COMPILE, "mine.cu(2)");
  for (effect = gst_effects_list (); effect->name; effect++) {
    g_autofree gchar *source = gst_effect_get_source (effect);

    check_source (&hopper, source, effect->name);
  }
}

TEST (built_images_have_the_kernels)
{
  const GstEffect *effect;

  for (effect = gst_effects_list (); effect->name; effect++) {
    g_autoptr (GBytes) image = gst_effect_get_image (effect);

    if (!image)
      continue;
    fail_unless_equals_int (
        gst_vkgdr_image_get_kind (image), GST_VKGDR_IMAGE_PTX);
    check_image (image, effect->name, sizeof (VkgdrFrame));
  }
}

/* Every tensor of every format has a variant that the build has compiled. */
TEST (built_images_have_the_tensors)
{
  g_autoptr (GBytes) image = gst_effect_get_image (gst_effects_list ());
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  GstVkgdrTensorConfig *config = gst_vkgdr_tensor_config_new (64, 48);
  guint i, n, filter, channels;
  const GstVideoFormat *formats = gst_vkgdr_kernel_list_formats (&n);
  GstVkgdrTensorVariant variant;
  GstVideoInfo info;
  VkgdrTensorJob job;
  VkgdrFrame frame;

  for (i = 0; i < n && image; i++)
    for (filter = 0; filter <= GST_VKGDR_TENSOR_FILTER_AREA; filter++)
      for (channels = 0; channels <= GST_VKGDR_TENSOR_CHANNELS_GRAY;
           channels++) {
        config->filter = filter;
        config->channels = channels;
        gst_video_info_set_format (&info, formats[i], 320, 240);
        fail_unless (gst_vkgdr_frame_describe (&frame, &info, NULL));
        fail_unless (gst_vkgdr_tensor_plan (
            config, &frame, info.chroma_site, NULL, &job, NULL, NULL));
        variant = gst_vkgdr_tensor_variant_choose (config, &frame, &job);
        if (g_hash_table_add (seen, GUINT_TO_POINTER (variant))) {
          g_autoptr (GBytes) tensor =
              gst_vkgdr_tensor_variant_get_image (variant);

          fail_unless (tensor != NULL, "%s", info.finfo->name);
          check_image (tensor, "vkgdr_tensor", sizeof (VkgdrTensorJob));
        }
      }
  gst_vkgdr_tensor_config_free (config);
}
