/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-calls.c: tests of further entry points
 *
 * Textures, memsets, limits, and other functions of contexts.
 */

#include <string.h>

#include "compiler.h"
#include "gate.h"

/* Takes PTX from the compiler, which is the same image. */
static void
setup_ptx (void)
{
  void *library = open_library ("libnvrtc.so");

  setup ();
  *(void **) &image_size = find_symbol (library, "nvrtcGetPTXSize");
  *(void **) &get_image = find_symbol (library, "nvrtcGetPTX");
}

/* ---- memsets ---- */

#define PITCH 64
#define ROWS 5

/* Checks that only the rectangle has changed, and that all its rows have the
 * same content. */
static void
check_rectangle (CUdeviceptr memory, const void *pixel, int size, int width)
{
  const guint8 *at = (const guint8 *) (uintptr_t) memory;

  for (int y = 0; y < ROWS; y++) {
    for (int x = 0; x < PITCH; x++) {
      guint8 expected = y > 0 && y < 4 && x < width * size
                            ? ((const guint8 *) pixel)[x % size]
                            : 0;

      ck_assert_int_eq (at[y * PITCH + x], expected);
    }
  }
}

/* A box of 2 x 3 x 2 bytes is copied out of one of 4 x 5 x 3. */
START_TEST (test_copy_3d)
{
  guint8 host[3][5][4], box[2][3][2];
  CUDA_MEMCPY3D copy = { .srcXInBytes = 1,
    .srcY = 2,
    .srcZ = 1,
    .srcMemoryType = CU_MEMORYTYPE_DEVICE,
    .srcPitch = 4,
    .srcHeight = 5,
    .dstMemoryType = CU_MEMORYTYPE_HOST,
    .dstHost = box,
    .dstPitch = 2,
    .dstHeight = 3,
    .WidthInBytes = 2,
    .Height = 3,
    .Depth = 2 };

  for (gsize i = 0; i < sizeof host; i++)
    ((guint8 *) host)[i] = i;
  ok (cu.cuMemAlloc (&copy.srcDevice, sizeof host));
  ok (cu.cuMemcpyHtoD (copy.srcDevice, host, sizeof host));
  ok (cu.cuMemcpy3D (&copy));
  for (int z = 0; z < 2; z++)
    for (int y = 0; y < 3; y++)
      ck_assert_mem_eq (box[z][y], &host[z + 1][y + 2][1], 2);
  memset (box, 0, sizeof box);
  copy.Depth = 3;
  fails (cu.cuMemcpy3D (&copy), CUDA_ERROR_INVALID_VALUE);
  ck_assert_int_eq (box[0][0][0], 0);
  copy.Depth = 0;
  ok (cu.cuMemcpy3DAsync (&copy, NULL));
}
END_TEST;

START_TEST (test_memset_rectangle)
{
  const guint8 a = 0x5a;
  const guint16 b = 0x1234;
  const guint32 c = 0x789abcde;
  CUdeviceptr memory;
  CUstream stream;

  ok (cu.cuMemAlloc (&memory, PITCH * ROWS));
  ok (cu.cuStreamCreate (&stream, CU_STREAM_DEFAULT));
  ok (cu.cuMemsetD8 (memory, 0, PITCH * ROWS));
  ok (cu.cuMemsetD2D8 (memory + PITCH, PITCH, a, 7, 3));
  ok (cu.cuCtxSynchronize ());
  check_rectangle (memory, &a, 1, 7);
  ok (cu.cuMemsetD2D16 (memory + PITCH, PITCH, b, 9, 3));
  ok (cu.cuCtxSynchronize ());
  check_rectangle (memory, &b, 2, 9);
  ok (cu.cuMemsetD2D32Async (memory + PITCH, PITCH, c, 16, 3, stream));
  ok (cu.cuStreamSynchronize (stream));
  check_rectangle (memory, &c, 4, 16);
  ok (cu.cuMemsetD2D16Async (memory + PITCH, PITCH, 0, 32, 3, stream));
  ok (cu.cuMemsetD2D8Async (memory + PITCH, PITCH, a, 7, 3, stream));
  ok (cu.cuStreamSynchronize (stream));
  check_rectangle (memory, &a, 1, 7);
}
END_TEST;

START_TEST (test_memset_of_wrong_ranges)
{
  CUdeviceptr memory;

  ok (cu.cuMemAlloc (&memory, PITCH * ROWS));
  fails (cu.cuMemsetD2D8 (memory + PITCH, PITCH, 0, PITCH, ROWS),
      CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuMemsetD2D8 (memory, 4, 0, 5, 2), CUDA_ERROR_INVALID_VALUE);
  fails (
      cu.cuMemsetD2D16 (memory + 1, PITCH, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuMemsetD2D32 (memory, 66, 0, 1, 2), CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuMemsetD2D32 (memory, PITCH, 0, SIZE_MAX / 2, 1),
      CUDA_ERROR_INVALID_VALUE);
  ok (cu.cuMemsetD2D32 (memory, PITCH, 0, 0, 1));
  ok (cu.cuMemsetD2D8Async (memory, 0, 9, 0, 5, NULL));
}
END_TEST;

/* ---- textures ---- */

static const char sampler[] =
    "extern \"C\" {\n"
    "__global__ void\n"
    "sample4 (cudaTextureObject_t t, const float2 *at, float4 *out)\n"
    "{\n"
    "  out[threadIdx.x] = tex2D<float4> (t, at[threadIdx.x].x,\n"
    "      at[threadIdx.x].y);\n"
    "}\n"
    "__global__ void\n"
    "sample1 (cudaTextureObject_t t, const float2 *at, float *out)\n"
    "{\n"
    "  out[threadIdx.x] = tex2D<float> (t, at[threadIdx.x].x,\n"
    "      at[threadIdx.x].y);\n"
    "}\n"
    "__global__ void\n"
    "integers (cudaTextureObject_t t, const float2 *at, ushort2 *out)\n"
    "{\n"
    "  out[threadIdx.x] = tex2D<ushort2> (t, at[threadIdx.x].x,\n"
    "      at[threadIdx.x].y);\n"
    "}\n"
    "__global__ void\n"
    "fetch (cudaTextureObject_t t, int *out)\n"
    "{\n"
    "  out[threadIdx.x] = tex1Dfetch<int> (t, threadIdx.x);\n"
    "}\n"
    "}\n";

/* Makes 4 x 3 texels of one byte with the values 10 y + x. The rows are 32
 * bytes apart. */
static CUdeviceptr
make_texels (void)
{
  CUdeviceptr memory;
  guint8 *at;

  ok (cu.cuMemAlloc (&memory, 96));
  at = (guint8 *) (uintptr_t) memory;
  memset (at, 255, 96);
  for (int y = 0; y < 3; y++)
    for (int x = 0; x < 4; x++)
      at[32 * y + x] = 10 * y + x;
  return memory;
}

static CUDA_RESOURCE_DESC
describe (CUdeviceptr memory, CUarray_format format, int channels, int width)
{
  CUDA_RESOURCE_DESC desc = { .resType = CU_RESOURCE_TYPE_PITCH2D };

  desc.res.pitch2D.devPtr = memory;
  desc.res.pitch2D.format = format;
  desc.res.pitch2D.numChannels = channels;
  desc.res.pitch2D.width = width;
  desc.res.pitch2D.height = 3;
  desc.res.pitch2D.pitchInBytes = 32;
  return desc;
}

static CUDA_TEXTURE_DESC
sampling (CUaddress_mode address, CUfilter_mode filter, unsigned int flags)
{
  return (CUDA_TEXTURE_DESC){ .addressMode = { address, address, address },
    .filterMode = filter,
    .flags = flags,
    .borderColor = { 0.5f } };
}

static void
sample (CUmodule module, const char *name, CUtexObject texture,
    const float (*at)[2], int n, void *out)
{
  CUfunction function;
  void *params[] = { &texture, &at, &out };

  ok (cu.cuModuleGetFunction (&function, module, name));
  ok (cu.cuLaunchKernel (function, 1, 1, 1, n, 1, 1, 0, NULL, params, NULL));
  ok (cu.cuCtxSynchronize ());
}

static void
check_samples (CUmodule module, CUaddress_mode address, CUfilter_mode filter,
    unsigned int flags, const float (*at)[2], const float *expected, int n)
{
  CUdeviceptr memory = make_texels ();
  CUDA_RESOURCE_DESC resource =
      describe (memory, CU_AD_FORMAT_UNSIGNED_INT8, 1, 4);
  CUDA_TEXTURE_DESC desc = sampling (address, filter, flags);
  CUtexObject texture;
  float out[16];

  ok (cu.cuTexObjectCreate (&texture, &resource, &desc, NULL));
  sample (module, "sample1", texture, at, n, out);
  for (int i = 0; i < n; i++)
    ck_assert_msg (ABS (out[i] * 255 - expected[i]) < 1e-3, "%d: %g, not %g", i,
        out[i] * 255, expected[i]);
  ok (cu.cuTexObjectDestroy (texture));
  ok (cu.cuMemFree (memory));
}

START_TEST (test_sampling)
{
  CUmodule module = build_text (sampler);
  static const float at[][2] = { { 0, 0 }, { 0.99f, 0 }, { 1, 0 },
    { 3.5f, 2.5f }, { -7, 1 }, { 9, 9 } };
  static const float nearest[] = { 0, 0, 1, 23, 10, 23 };
  static const float border[] = { 0, 0, 1, 23, 127.5f, 127.5f };
  static const float centres[][2] = { { 0.5f, 0.5f }, { 1, 0.5f }, { 1.5f, 1 },
    { 2, 2 }, { 0, 0 }, { 1.25f, 0.5f } };
  static const float linear[] = { 0, 0.5f, 6, 16.5f, 0, 0.75f };
  static const float parts[][2] = { { 0, 0 }, { 0.125f, 0.5f },
    { 0.875f, 0.9f }, { 1.125f, 0 }, { -0.125f, 0 } };
  static const float clamped[] = { 0, 10, 23, 3, 0 };
  static const float wrapped[] = { 0, 10, 23, 0, 3 };
  static const float mirrored[] = { 0, 10, 23, 3, 0 };

  check_samples (module, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0,
      at, nearest, 6);
  check_samples (module, CU_TR_ADDRESS_MODE_BORDER, CU_TR_FILTER_MODE_POINT, 0,
      at, border, 6);
  check_samples (module, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0,
      centres, linear, 6);
  check_samples (module, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT,
      CU_TRSF_NORMALIZED_COORDINATES, parts, clamped, 5);
  check_samples (module, CU_TR_ADDRESS_MODE_WRAP, CU_TR_FILTER_MODE_POINT,
      CU_TRSF_NORMALIZED_COORDINATES, parts, wrapped, 5);
  check_samples (module, CU_TR_ADDRESS_MODE_MIRROR, CU_TR_FILTER_MODE_POINT,
      CU_TRSF_NORMALIZED_COORDINATES, parts, mirrored, 5);
}
END_TEST;

START_TEST (test_texels)
{
  CUmodule module = build_text (sampler);
  CUdeviceptr memory = make_texels ();
  CUDA_RESOURCE_DESC resource =
      describe (memory, CU_AD_FORMAT_UNSIGNED_INT8, 4, 1);
  CUDA_TEXTURE_DESC desc =
      sampling (CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
  static const float at[][2] = { { 0, 0 }, { 0, 2 } };
  float colours[2][4];
  guint16 pairs[2][2];
  int words[2];
  int *out = words;
  void *params[2];
  CUtexObject texture;
  CUfunction function;

  ok (cu.cuTexObjectCreate (&texture, &resource, &desc, NULL));
  sample (module, "sample4", texture, at, 2, colours);
  for (int i = 0; i < 8; i++)
    ck_assert_int_eq (
        (int) (colours[i / 4][i % 4] * 255 + 0.5f), i / 4 * 20 + i % 4);
  ok (cu.cuTexObjectDestroy (texture));

  resource = describe (memory, CU_AD_FORMAT_UNSIGNED_INT16, 2, 1);
  desc.flags = CU_TRSF_READ_AS_INTEGER;
  ok (cu.cuTexObjectCreate (&texture, &resource, &desc, NULL));
  sample (module, "integers", texture, at, 2, pairs);
  ck_assert_int_eq (pairs[0][0], 0x0100);
  ck_assert_int_eq (pairs[1][1], 0x1716);
  ok (cu.cuTexObjectDestroy (texture));

  memset (&resource, 0, sizeof resource);
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear.devPtr = memory;
  resource.res.linear.format = CU_AD_FORMAT_SIGNED_INT32;
  resource.res.linear.numChannels = 1;
  resource.res.linear.sizeInBytes = 96;
  ok (cu.cuTexObjectCreate (&texture, &resource, &desc, NULL));
  params[0] = &texture;
  params[1] = &out;
  ok (cu.cuModuleGetFunction (&function, module, "fetch"));
  ok (cu.cuLaunchKernel (function, 1, 1, 1, 2, 1, 1, 0, NULL, params, NULL));
  ok (cu.cuCtxSynchronize ());
  ck_assert_int_eq (words[0], 0x03020100);
  ck_assert_int_eq (words[1], -1);
}
END_TEST;

/* A kernel that samples a texture, and waits at a gate in its stream. */
typedef struct {
  CUmodule module;
  CUdeviceptr memory;
  CUtexObject texture;
  CUstream stream;
  Gate gate;
  int words[2];
} WaitingSampler;

static void
start_sampler (WaitingSampler *w)
{
  CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_LINEAR };
  CUDA_TEXTURE_DESC desc =
      sampling (CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
  int *out = w->words;
  void *params[] = { &w->texture, &out };
  CUfunction function;

  w->module = build_text (sampler);
  w->memory = make_texels ();
  memset (w->words, 0, sizeof w->words);
  desc.flags = CU_TRSF_READ_AS_INTEGER;
  resource.res.linear.devPtr = w->memory;
  resource.res.linear.format = CU_AD_FORMAT_SIGNED_INT32;
  resource.res.linear.numChannels = 1;
  resource.res.linear.sizeInBytes = 96;
  ok (cu.cuTexObjectCreate (&w->texture, &resource, &desc, NULL));
  ok (cu.cuStreamCreate (&w->stream, CU_STREAM_NON_BLOCKING));
  ok (cu.cuModuleGetFunction (&function, w->module, "fetch"));
  ok (cu.cuLaunchHostFunc (w->stream, gate_wait, &w->gate));
  ok (cu.cuLaunchKernel (
      function, 1, 1, 1, 2, 1, 1, 0, w->stream, params, NULL));
}

/* A kernel that is queued can still use a texture that is destroyed before the
 * kernel runs. */
START_TEST (test_texture_outlives_its_handle)
{
  WaitingSampler w = { .gate = GATE };

  start_sampler (&w);
  ok (cu.cuTexObjectDestroy (w.texture));
  fails (cu.cuStreamQuery (w.stream), CUDA_ERROR_NOT_READY);
  gate_open (&w.gate);
  ok (cu.cuStreamSynchronize (w.stream));
  ck_assert_int_eq (w.words[0], 0x03020100);
}
END_TEST;

static gpointer
destroy_context (gpointer context)
{
  ok (cu.cuCtxDestroy (context));
  return NULL;
}

/* Waits until a call in another thread has begun to stop the stream. */
static void
wait_until_stopping (CUstream stream)
{
  while (cu.cuStreamQuery (stream) != CUDA_ERROR_INVALID_HANDLE)
    g_usleep (1000);
}

/* A context whose end waits for a kernel keeps the textures of this kernel. */
START_TEST (test_texture_of_an_ending_context)
{
  CUcontext context, popped;
  WaitingSampler w = { .gate = GATE };
  GThread *thread;

  ok (cu.cuCtxCreate (&context, 0, 0));
  start_sampler (&w);
  thread = g_thread_new ("destroy", destroy_context, context);
  wait_until_stopping (w.stream);
  fails (cu.cuTexObjectDestroy (w.texture), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  gate_open (&w.gate);
  g_thread_join (thread);
  ck_assert_int_eq (w.words[0], 0x03020100);
  fails (cu.cuTexObjectDestroy (w.texture), CUDA_ERROR_INVALID_VALUE);
  ok (cu.cuCtxPopCurrent (&popped));
}
END_TEST;

START_TEST (test_textures_that_cannot_be)
{
  CUdeviceptr memory = make_texels ();
  CUDA_RESOURCE_DESC good = describe (memory, CU_AD_FORMAT_UNSIGNED_INT8, 1, 4);
  CUDA_TEXTURE_DESC desc =
      sampling (CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0);
  CUDA_RESOURCE_DESC bad[6];
  CUtexObject texture;

  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    bad[i] = good;
  bad[0].res.pitch2D.numChannels = 3;
  bad[1].res.pitch2D.devPtr += 16;
  bad[2].res.pitch2D.height = 4;
  bad[3].res.pitch2D.pitchInBytes = 24;
  bad[4].resType = CU_RESOURCE_TYPE_ARRAY;
  bad[5].resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    fails (cu.cuTexObjectCreate (&texture, &bad[i], &desc, NULL),
        i < 5 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED);
  desc.flags = CU_TRSF_READ_AS_INTEGER;
  fails (cu.cuTexObjectCreate (&texture, &good, &desc, NULL),
      CUDA_ERROR_INVALID_VALUE);
  desc.flags = 0;
  ok (cu.cuTexObjectCreate (&texture, &good, &desc, NULL));
  ok (cu.cuTexObjectDestroy (texture));
  fails (cu.cuTexObjectDestroy (texture), CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuTexObjectDestroy (0), CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

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
START_TEST (test_arrays)
{
  static const float at[][2] = { { 0.5f, 0.5f }, { 2.0f, 1.0f } };
  float in[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } }, out[2][3];
  CUarray array = make_array (4, 2, CU_AD_FORMAT_FLOAT, 1);
  CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_ARRAY,
    .res.array.hArray = array };
  CUDA_TEXTURE_DESC desc =
      sampling (CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0);
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
  CUmodule module = build_text (sampler);
  CUtexObject texture;
  float samples[2];

  ok (cu.cuMemcpy2D (&up));
  ok (cu.cuTexObjectCreate (&texture, &resource, &desc, NULL));
  sample (module, "sample1", texture, at, 2, samples);
  ck_assert_float_eq (samples[0], 1);
  ck_assert_float_eq (samples[1], 4); /* between 2, 3, 5 and 6 */
  ok (cu.cuMemcpy2D (&down));
  ck_assert_mem_eq (out, in, sizeof in);
  up.dstXInBytes = 8; /* beyond the right edge */
  fails (cu.cuMemcpy2D (&up), CUDA_ERROR_INVALID_VALUE);
  up.dstXInBytes = 0;
  up.dstY = 1;
  fails (cu.cuMemcpy2D (&up), CUDA_ERROR_INVALID_VALUE);
  ok (cu.cuTexObjectDestroy (texture));
  ok (cu.cuArrayDestroy (array));
  fails (cu.cuArrayDestroy (array), CUDA_ERROR_INVALID_HANDLE);
  fails (cu.cuMemcpy2D (&down), CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

START_TEST (test_arrays_of_one_row)
{
  CUarray array = make_array (8, 0, CU_AD_FORMAT_UNSIGNED_INT8, 2);
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  CUdeviceptr memory;
  char out[8] = "";

  ok (cu.cuMemAlloc (&memory, 8));
  ok (cu.cuMemcpyHtoA (array, 4, "abcdefgh", 8));
  ok (cu.cuMemcpyAtoD (memory, array, 6, 6));
  ok (cu.cuMemcpyDtoA (array, 0, memory, 6));
  ok (cu.cuMemcpyAtoA (array, 6, array, 0, 6));
  ok (cu.cuMemcpyAtoH (out, array, 4, 6));
  ck_assert_str_eq (out, "ghcdef");
  fails (cu.cuMemcpyHtoA (array, 12, out, 6), CUDA_ERROR_INVALID_VALUE);
  ok (cu.cuArray3DGetDescriptor (&descriptor, array));
  ck_assert_int_eq (descriptor.Width, 8);
  ok (cu.cuArrayDestroy (array));
  descriptor.Depth = 2;
  fails (cu.cuArray3DCreate (&array, &descriptor), CUDA_ERROR_NOT_SUPPORTED);
  descriptor.Depth = 0;
  ok (cu.cuArray3DCreate (&array, &descriptor));
  ok (cu.cuArrayDestroy (array));
  descriptor.NumChannels = 3;
  fails (cu.cuArray3DCreate (&array, &descriptor), CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

/* ---- other functions ---- */

START_TEST (test_limits)
{
  CUcontext other;
  size_t value;

  ok (cu.cuCtxGetLimit (&value, CU_LIMIT_STACK_SIZE));
  ck_assert_uint_eq (value, 1024);
  ok (cu.cuCtxCreate (&other, 0, 0));
  ok (cu.cuCtxSetLimit (CU_LIMIT_STACK_SIZE, 4096));
  ok (cu.cuCtxGetLimit (&value, CU_LIMIT_STACK_SIZE));
  ck_assert_uint_eq (value, 4096);
  ok (cu.cuCtxDestroy (other));
  ok (cu.cuCtxGetLimit (&value, CU_LIMIT_STACK_SIZE));
  ck_assert_uint_eq (value, 1024);
  ok (cu.cuCtxSetLimit (CU_LIMIT_MALLOC_HEAP_SIZE, 5000));
  ok (cu.cuCtxGetLimit (&value, CU_LIMIT_MALLOC_HEAP_SIZE));
  ck_assert_uint_eq (value, 5000);
  fails (cu.cuCtxGetLimit (&value, (CUlimit) 5), 215);
}
END_TEST;

/* ---- contexts ---- */

START_TEST (test_current_context)
{
  CUcontext other;
  CUcontext seen;

  ok (cu.cuCtxCreate (&other, 0, 0));
  ok (cu.cuCtxSetCurrent (primary));
  ok (cu.cuCtxGetCurrent (&seen));
  ck_assert (seen == primary);
  ok (cu.cuCtxSetCurrent (NULL)); /* the fixture's context is the next one on
                                   * the stack */
  ok (cu.cuCtxGetCurrent (&seen));
  ck_assert (seen == primary);
  ok (cu.cuCtxSetCurrent (other));
  ok (cu.cuCtxAttach (&seen, 0));
  ck_assert (seen == other);
  ok (cu.cuCtxDetach (other));
  ok (cu.cuCtxSynchronize ());
  ok (cu.cuCtxDetach (other)); /* destroyed, and not on the stack any more */
  fails (cu.cuCtxDetach (other), CUDA_ERROR_INVALID_CONTEXT);
  fails (cu.cuCtxSetCurrent (other), CUDA_ERROR_INVALID_CONTEXT);
  ok (cu.cuCtxPushCurrent (primary));
}
END_TEST;

/* Everything in the context is freed, and the context can be used again. */
START_TEST (test_primary_reset)
{
  CUdeviceptr memory;
  CUstream stream;
  size_t before, after, total;

  ok (cu.cuMemGetInfo (&before, &total));
  ok (cu.cuMemAlloc (&memory, 1000));
  ok (cu.cuStreamCreate (&stream, 0));
  ok (cu.cuDevicePrimaryCtxReset (0));
  ok (cu.cuMemGetInfo (&after, &total));
  ck_assert_uint_eq (before, after);
  fails (cu.cuMemFree (memory), CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuStreamQuery (stream), CUDA_ERROR_INVALID_HANDLE);
  ok (cu.cuMemAlloc (&memory, 1000));
  ok (cu.cuMemFree (memory));
  fails (cu.cuDevicePrimaryCtxReset (1), CUDA_ERROR_INVALID_DEVICE);
}
END_TEST;

static gpointer
reset_primary (gpointer unused)
{
  ok (cu.cuDevicePrimaryCtxReset (0));
  return NULL;
}

static gpointer
release_primary (gpointer unused)
{
  ok (cu.cuDevicePrimaryCtxRelease (0));
  return NULL;
}

static int
primary_is_active (void)
{
  unsigned int flags;
  int active;

  ok (cu.cuDevicePrimaryCtxGetState (0, &flags, &active));
  return active;
}

/* A release that comes while the context is reset takes effect after the
 * reset. */
START_TEST (test_release_waits_for_reset)
{
  GThread *resetting, *releasing;
  CUdeviceptr memory;
  CUstream stream;
  Gate gate = GATE;

  ok (cu.cuStreamCreate (&stream, 0));
  ok (cu.cuLaunchHostFunc (stream, gate_wait, &gate));
  resetting = g_thread_new ("reset", reset_primary, NULL);
  wait_until_stopping (stream);
  releasing = g_thread_new ("release", release_primary, NULL);
  g_usleep (A_WHILE_US);
  ck_assert_int_eq (primary_is_active (), 1);
  gate_open (&gate);
  g_thread_join (resetting);
  g_thread_join (releasing);
  ck_assert_int_eq (primary_is_active (), 0);
  fails (cu.cuCtxPushCurrent (primary), CUDA_ERROR_INVALID_CONTEXT);
  ok (cu.cuDevicePrimaryCtxRetain (&primary, 0));
  ok (cu.cuMemAlloc (&memory, 1000));
}
END_TEST;

/* The value of a destroyed handle is not used for the next handles, so that it
 * is recognised as invalid. */
START_TEST (test_handles_are_not_used_again_at_once)
{
  CUstream stale_stream, stream;
  CUevent stale_event, event;
  int i;

  ok (cu.cuStreamCreate (&stale_stream, 0));
  ok (cu.cuStreamDestroy (stale_stream));
  ok (cu.cuEventCreate (&stale_event, 0));
  ok (cu.cuEventDestroy (stale_event));
  for (i = 0; i < 50; i++) {
    ok (cu.cuStreamCreate (&stream, 0));
    ok (cu.cuEventCreate (&event, 0));
    fails (cu.cuStreamQuery (stale_stream), CUDA_ERROR_INVALID_HANDLE);
    fails (cu.cuEventQuery (stale_event), CUDA_ERROR_INVALID_HANDLE);
    ok (cu.cuStreamDestroy (stream));
    ok (cu.cuEventDestroy (event));
  }
}
END_TEST;

START_TEST (test_what_a_context_says)
{
  unsigned int flags = 7;
  int least = 7;
  int greatest = 7;
  int major, minor;
  CUstream stream;
  CUdevice device = 7;

  ok (cu.cuCtxGetFlags (&flags));
  ck_assert_int_eq (flags, 0);
  ok (cu.cuCtxGetStreamPriorityRange (&least, &greatest));
  ck_assert (least == 0 && greatest == 0);
  ok (cu.cuStreamCreateWithPriority (&stream, CU_STREAM_NON_BLOCKING, -5));
  ok (cu.cuStreamGetFlags (stream, &flags));
  ck_assert_int_eq (flags, CU_STREAM_NON_BLOCKING);
  ok (cu.cuStreamGetPriority (stream, &least));
  ck_assert_int_eq (least, 0);
  ok (cu.cuStreamDestroy (stream));
  fails (cu.cuStreamGetFlags (stream, &flags), CUDA_ERROR_INVALID_HANDLE);
  ok (cu.cuDeviceComputeCapability (&major, &minor, 0));
  ck_assert (major == 9 && minor == 0);
  ok (cu.cuDeviceGetByPCIBusId (&device, "0000:00:00.0"));
  ck_assert_int_eq (device, 0);
  fails (cu.cuDeviceGetByPCIBusId (&device, "0000:01:00.0"),
      CUDA_ERROR_INVALID_DEVICE);
}
END_TEST;

/* ---- memory ---- */

START_TEST (test_rows_are_set)
{
  CUdeviceptr memory;
  guint16 *pairs;
  guint32 *words;

  ok (cu.cuMemAllocManaged (&memory, 64, 1));
  pairs = (guint16 *) (uintptr_t) memory;
  words = (guint32 *) (uintptr_t) memory;
  ok (cu.cuMemsetD8 (memory, 0, 64));
  ok (cu.cuMemsetD16 (memory + 2, 0x1234, 3));
  ck_assert (pairs[0] == 0 && pairs[1] == 0x1234 && pairs[3] == 0x1234
             && pairs[4] == 0);
  ok (cu.cuMemsetD32 (memory + 4, 0x12345678, 2));
  ck_assert (words[1] == 0x12345678 && words[2] == 0x12345678);
  ck_assert (words[3] == 0);
  ok (cu.cuMemsetD16Async (memory, 5, 1, NULL));
  ok (cu.cuMemsetD32Async (memory + 60, 6, 1, NULL));
  ok (cu.cuCtxSynchronize ());
  ck_assert (pairs[0] == 5 && words[15] == 6);
  fails (cu.cuMemsetD16 (memory + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuMemsetD32 (memory + 4, 0, 16), CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

START_TEST (test_copies_of_either_side)
{
  CUdeviceptr memory, at;
  char text[8] = "abcdefg";
  char back[8] = "";
  unsigned int flags;
  void *pinned;

  ok (cu.cuMemAlloc (&memory, sizeof text));
  ok (cu.cuMemcpy (memory, (uintptr_t) text, sizeof text));
  ok (cu.cuMemcpyAsync ((uintptr_t) back, memory, sizeof back, NULL));
  ok (cu.cuCtxSynchronize ());
  ck_assert_str_eq (back, text);
  ok (cu.cuMemcpyPeer (memory, primary, memory + 4, primary, 4));
  ok (cu.cuMemcpyDtoH (back, memory, sizeof back));
  ck_assert_str_eq (back, "efg");
  fails (cu.cuMemAllocHost (&pinned, 0), CUDA_ERROR_INVALID_VALUE);
  ok (cu.cuMemAllocHost (&pinned, 100));
  ok (cu.cuMemFreeHost (pinned));
  ok (cu.cuMemHostAlloc (&pinned, 100, 4));
  ok (cu.cuMemHostGetFlags (&flags, pinned));
  ck_assert_uint_eq (flags, 4 | CU_MEMHOSTALLOC_DEVICEMAP);
  ok (cu.cuMemHostGetDevicePointer (&at, (char *) pinned + 5, 0));
  ck_assert (at == (uintptr_t) pinned + 5);
  fails (cu.cuMemHostGetDevicePointer (&at, text, 0), CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

START_TEST (test_no_encoder)
{
  void *library = open_library ("libnvidia-encode.so.1");
  int (*version) (guint32 *);
  int (*create) (void *);
  struct {
    guint32 version[2];
    int (*call[320]) (void *, void **);
  } api = { { 0 } };
  guint32 newest = 0;
  void *session;

  *(void **) &version =
      find_symbol (library, "NvEncodeAPIGetMaxSupportedVersion");
  *(void **) &create = find_symbol (library, "NvEncodeAPICreateInstance");
  ck_assert_int_eq (version (&newest), 0);
  ck_assert_int_eq (newest >> 4, 12);
  ck_assert_int_eq (create (&api), 0);
  ck_assert_int_eq (api.call[29](NULL, &session), 1);
  ck_assert (api.call[40] == NULL);
}
END_TEST;

static Suite *
calls_suite (void)
{
  Suite *s = suite_create ("softcuda-calls");
  TCase *tc = tcase_create ("general");

  suite_add_tcase (s, tc);
  tcase_add_checked_fixture (tc, setup_ptx, teardown_context);
  tcase_set_timeout (tc, 120);
  tcase_add_test (tc, test_copy_3d);
  tcase_add_test (tc, test_memset_rectangle);
  tcase_add_test (tc, test_memset_of_wrong_ranges);
  tcase_add_test (tc, test_sampling);
  tcase_add_test (tc, test_texels);
  tcase_add_test (tc, test_texture_outlives_its_handle);
  tcase_add_test (tc, test_texture_of_an_ending_context);
  tcase_add_test (tc, test_textures_that_cannot_be);
  tcase_add_test (tc, test_arrays);
  tcase_add_test (tc, test_arrays_of_one_row);
  tcase_add_test (tc, test_limits);
  tcase_add_test (tc, test_current_context);
  tcase_add_test (tc, test_primary_reset);
  tcase_add_test (tc, test_release_waits_for_reset);
  tcase_add_test (tc, test_handles_are_not_used_again_at_once);
  tcase_add_test (tc, test_what_a_context_says);
  tcase_add_test (tc, test_rows_are_set);
  tcase_add_test (tc, test_copies_of_either_side);
  tcase_add_test (tc, test_no_encoder);
  return s;
}

TEST_MAIN (calls);
