/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-textures.c: tests of textures and arrays
 */

#include <string.h>

#include "compiler.h"

FIXTURE (setup_context, teardown_context);

static const char sampler[] =
    "#define SAMPLE(name, type) \\\n"
    "  __global__ void name (cudaTextureObject_t t, const float2 *at, \\\n"
    "      type *out) \\\n"
    "  { \\\n"
    "    float2 p = at[threadIdx.x]; \\\n"
    "    out[threadIdx.x] = tex2D<type> (t, p.x, p.y); \\\n"
    "  }\n"
    "SAMPLE (sample4, float4)\n"
    "SAMPLE (sample1, float)\n"
    "SAMPLE (integers, ushort2)\n"
    "__global__ void fetch (cudaTextureObject_t t, int *out)\n"
    "{ out[threadIdx.x] = tex1Dfetch<int> (t, threadIdx.x); }\n";

/* Makes 4 x 3 texels of one byte with the values 10 y + x. The rows are 32
 * bytes apart. */
static CUdeviceptr
make_texels (void)
{
  guint8 *at = zeroed (96);

  memset (at, 255, 96);
  for (int y = 0; y < 3; y++)
    for (int x = 0; x < 4; x++)
      at[32 * y + x] = 10 * y + x;
  return (uintptr_t) at;
}

static CUDA_RESOURCE_DESC
describe (CUdeviceptr memory, CUarray_format format, int channels, int width)
{
  return (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_PITCH2D,
    .res.pitch2D = { memory, format, channels, width, 3, 32 } };
}

static CUDA_RESOURCE_DESC
describe_linear (CUdeviceptr memory)
{
  return (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_LINEAR,
    .res.linear = { memory, CU_AD_FORMAT_SIGNED_INT32, 1, 96 } };
}

static CUtexObject
make_texture (CUDA_RESOURCE_DESC resource, CUaddress_mode address,
    CUfilter_mode filter, unsigned int flags)
{
  CUDA_TEXTURE_DESC desc = { .addressMode = { address, address, address },
    .filterMode = filter,
    .flags = flags,
    .borderColor = { 0.5f } };
  CUtexObject texture;

  ok (cu.cuTexObjectCreate (&texture, &resource, &desc, NULL));
  return texture;
}

#define CLAMPED CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT

static const float corners[6][2] = { { 0, 0 }, { 0.99f, 0 }, { 1, 0 },
  { 3.5f, 2.5f }, { -7, 1 }, { 9, 9 } };
static const float between[6][2] = { { 0.5f, 0.5f }, { 1, 0.5f }, { 1.5f, 1 },
  { 2, 2 }, { 0, 0 }, { 1.25f, 0.5f } };
static const float normalized[6][2] = { { 0.125f, 0.5f }, { 0.875f, 0.9f },
  { 1.125f, 0 }, { -0.125f, 0 } };

static const struct {
  CUaddress_mode address;
  CUfilter_mode filter;
  const void *at;
  float expected[6];
} samples[] = {
  { CLAMPED, corners, { 0, 0, 1, 23, 10, 23 } },
  { CU_TR_ADDRESS_MODE_BORDER, CU_TR_FILTER_MODE_POINT, corners,
      { 0, 0, 1, 23, 127.5f, 127.5f } },
  { CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, between,
      { 0, 0.5f, 6, 16.5f, 0, 0.75f } },
  { CLAMPED, normalized, { 10, 23, 3, 0 } },
  { CU_TR_ADDRESS_MODE_WRAP, CU_TR_FILTER_MODE_POINT, normalized,
      { 10, 23, 0, 3 } },
  { CU_TR_ADDRESS_MODE_MIRROR, CU_TR_FILTER_MODE_POINT, normalized,
      { 10, 23, 3, 0 } },
};

TEST (sampling)
{
  CUfunction function = find (build (sampler), "sample1");
  CUDA_RESOURCE_DESC resource =
      describe (make_texels (), CU_AD_FORMAT_UNSIGNED_INT8, 1, 4);

  for (int k = 0; k < (int) G_N_ELEMENTS (samples); k++) {
    const void *at = samples[k].at;
    float *out = zeroed (6 * sizeof *out);
    CUtexObject texture =
        make_texture (resource, samples[k].address, samples[k].filter,
            at == normalized ? CU_TRSF_NORMALIZED_COORDINATES : 0);

    ok (run (function, 1, 6, 0, &texture, &at, &out));
    for (int i = 0; i < 6; i++)
      ck_assert_msg (ABS (out[i] * 255 - samples[k].expected[i]) < 1e-3,
          "%d, %d: %g, not %g", k, i, out[i] * 255, samples[k].expected[i]);
    ok (cu.cuTexObjectDestroy (texture));
  }
}

TEST (texels)
{
  CUmodule module = build (sampler);
  CUdeviceptr memory = make_texels ();
  static const float points[][2] = { { 0, 0 }, { 0, 2 } };
  const void *at = points;
  float (*colours)[4] = zeroed (2 * sizeof *colours);
  guint16 (*pairs)[2] = zeroed (2 * sizeof *pairs);
  int *words = zeroed (2 * sizeof *words);
  CUtexObject texture = make_texture (
      describe (memory, CU_AD_FORMAT_UNSIGNED_INT8, 4, 1), CLAMPED, 0);

  ok (run (find (module, "sample4"), 1, 2, 0, &texture, &at, &colours));
  for (int i = 0; i < 8; i++)
    ck_assert_int_eq (
        (int) (colours[i / 4][i % 4] * 255 + 0.5f), i / 4 * 20 + i % 4);
  texture = make_texture (describe (memory, CU_AD_FORMAT_UNSIGNED_INT16, 2, 1),
      CLAMPED, CU_TRSF_READ_AS_INTEGER);
  ok (run (find (module, "integers"), 1, 2, 0, &texture, &at, &pairs));
  ck_assert_int_eq (pairs[0][0], 0x0100);
  ck_assert_int_eq (pairs[1][1], 0x1716);
  texture =
      make_texture (describe_linear (memory), CLAMPED, CU_TRSF_READ_AS_INTEGER);
  ok (run (find (module, "fetch"), 1, 2, 0, &texture, &words));
  ck_assert_int_eq (words[0], 0x03020100);
  ck_assert_int_eq (words[1], -1);
}

/* A kernel that samples a texture, and waits at a gate in its stream. */
typedef struct {
  CUtexObject texture;
  CUstream stream;
  Gate gate;
  int words[2];
} WaitingSampler;

static void
start_sampler (WaitingSampler *w)
{
  int *out = w->words;
  void *params[] = { &w->texture, &out };

  w->texture = make_texture (
      describe_linear (make_texels ()), CLAMPED, CU_TRSF_READ_AS_INTEGER);
  w->stream = new_stream (CU_STREAM_NON_BLOCKING);
  ok (cu.cuLaunchHostFunc (w->stream, gate_wait, &w->gate));
  ok (cu.cuLaunchKernel (find (build (sampler), "fetch"), 1, 1, 1, 2, 1, 1, 0,
      w->stream, params, NULL));
}

/* A kernel that is queued can still use a texture that is destroyed before the
 * kernel runs. */
TEST (texture_outlives_its_handle)
{
  WaitingSampler w = { 0 };

  start_sampler (&w);
  ok (cu.cuTexObjectDestroy (w.texture));
  fails (cu.cuStreamQuery (w.stream), CUDA_ERROR_NOT_READY);
  gate_open (&w.gate);
  ok (cu.cuStreamSynchronize (w.stream));
  ck_assert_int_eq (w.words[0], 0x03020100);
}

static gpointer
destroy_context (gpointer context)
{
  ok (cu.cuCtxDestroy (context));
  return NULL;
}

/* A context whose end waits for a kernel keeps the textures of this kernel. */
TEST (texture_of_an_ending_context)
{
  CUcontext context, popped;
  WaitingSampler w = { 0 };
  GThread *thread;

  ok (cu.cuCtxCreate (&context, 0, 0));
  start_sampler (&w);
  thread = g_thread_new ("destroy", destroy_context, context);
  wait_until_stopping (w.stream);
  fails (cu.cuTexObjectDestroy (w.texture), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  gate_open (&w.gate);
  g_thread_join (thread);
  ck_assert_int_eq (w.words[0], 0x03020100);
  invalid (cu.cuTexObjectDestroy (w.texture));
  ok (cu.cuCtxPopCurrent (&popped));
}

TEST (textures_that_cannot_be)
{
  CUDA_RESOURCE_DESC good =
      describe (make_texels (), CU_AD_FORMAT_UNSIGNED_INT8, 1, 4);
  CUDA_RESOURCE_DESC bad[] = { good, good, good, good, good };
  CUDA_TEXTURE_DESC desc = { .filterMode = CU_TR_FILTER_MODE_LINEAR };
  CUtexObject texture;

  bad[0].res.pitch2D.numChannels = 3;
  bad[1].res.pitch2D.devPtr += 16;
  bad[2].res.pitch2D.height = 4;
  bad[3].res.pitch2D.pitchInBytes = 24;
  bad[4].resType = CU_RESOURCE_TYPE_ARRAY;
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    invalid (cu.cuTexObjectCreate (&texture, &bad[i], &desc, NULL));
  bad[0].resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  fails (cu.cuTexObjectCreate (&texture, &bad[0], &desc, NULL),
      CUDA_ERROR_NOT_SUPPORTED);
  desc.flags = CU_TRSF_READ_AS_INTEGER;
  invalid (cu.cuTexObjectCreate (&texture, &good, &desc, NULL));
  desc.flags = 0;
  ok (cu.cuTexObjectCreate (&texture, &good, &desc, NULL));
  ok (cu.cuTexObjectDestroy (texture));
  invalid (cu.cuTexObjectDestroy (texture));
  invalid (cu.cuTexObjectDestroy (0));
}

/* ---- arrays ---- */

static CUarray
make_array (
    size_t width, size_t height, CUarray_format format, unsigned int channels)
{
  CUDA_ARRAY_DESCRIPTOR descriptor = { width, height, format, channels };
  CUDA_ARRAY_DESCRIPTOR found;
  CUarray array;

  ok (cu.cuArrayCreate (&array, &descriptor));
  ok (cu.cuArrayGetDescriptor (&found, array));
  ck_assert_mem_eq (&found, &descriptor, sizeof found);
  return array;
}

/* A rectangle goes into an array, which a kernel samples, and comes back. */
TEST (arrays)
{
  static const float points[][2] = { { 0.5f, 0.5f }, { 2.0f, 1.0f } };
  const void *at = points;
  float in[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } }, out[2][3];
  CUarray array = make_array (4, 2, CU_AD_FORMAT_FLOAT, 1);
  CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_ARRAY,
    .res.array.hArray = array };
  CUDA_MEMCPY2D up = { .srcMemoryType = CU_MEMORYTYPE_HOST,
    .srcHost = in,
    .srcPitch = sizeof in[0],
    .dstMemoryType = CU_MEMORYTYPE_ARRAY,
    .dstArray = array,
    .WidthInBytes = sizeof in[0],
    .Height = 2 };
  CUDA_MEMCPY2D down = { .srcMemoryType = CU_MEMORYTYPE_ARRAY,
    .srcArray = array,
    .dstMemoryType = CU_MEMORYTYPE_HOST,
    .dstHost = out,
    .dstPitch = sizeof out[0],
    .WidthInBytes = sizeof in[0],
    .Height = 2 };
  CUtexObject texture;
  float *seen = zeroed (2 * sizeof *seen);

  ok (cu.cuMemcpy2D (&up));
  texture = make_texture (
      resource, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0);
  ok (run (find (build (sampler), "sample1"), 1, 2, 0, &texture, &at, &seen));
  ck_assert_float_eq (seen[0], 1);
  ck_assert_float_eq (seen[1], 4); /* between 2, 3, 5 and 6 */
  ok (cu.cuMemcpy2D (&down));
  ck_assert_mem_eq (out, in, sizeof in);
  up.dstXInBytes = 8; /* beyond the right edge */
  invalid (cu.cuMemcpy2D (&up));
  up.dstXInBytes = 0;
  up.dstY = 1;
  invalid (cu.cuMemcpy2D (&up));
  ok (cu.cuTexObjectDestroy (texture));
  ok (cu.cuArrayDestroy (array));
  fails (cu.cuArrayDestroy (array), CUDA_ERROR_INVALID_HANDLE);
  invalid (cu.cuMemcpy2D (&down));
}

TEST (arrays_of_one_row)
{
  CUarray array = make_array (8, 0, CU_AD_FORMAT_UNSIGNED_INT8, 2);
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  CUdeviceptr memory = (uintptr_t) zeroed (8);
  char out[8] = "";

  ok (cu.cuMemcpyHtoA (array, 4, "abcdefgh", 8));
  ok (cu.cuMemcpyAtoD (memory, array, 6, 6));
  ok (cu.cuMemcpyDtoA (array, 0, memory, 6));
  ok (cu.cuMemcpyAtoA (array, 6, array, 0, 6));
  ok (cu.cuMemcpyAtoH (out, array, 4, 6));
  ck_assert_str_eq (out, "ghcdef");
  invalid (cu.cuMemcpyHtoA (array, 12, out, 6));
  ok (cu.cuArray3DGetDescriptor (&descriptor, array));
  ck_assert_int_eq (descriptor.Width, 8);
  descriptor.Depth = 2;
  fails (cu.cuArray3DCreate (&array, &descriptor), CUDA_ERROR_NOT_SUPPORTED);
  descriptor.Depth = 0;
  ok (cu.cuArray3DCreate (&array, &descriptor));
  descriptor.NumChannels = 3;
  invalid (cu.cuArray3DCreate (&array, &descriptor));
}
