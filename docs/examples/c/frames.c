/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frames.c: runs a CUDA kernel on each frame of another process
 *
 *   cc frames.c $(pkg-config --cflags --libs vkgdr) -lcuda -lnvrtc
 *   ./a.out /tmp/frames
 */

#include <cuda.h>
#include <nvrtc.h>
#include <stdio.h>
#include <vkgdr/frames.h>

/* Adds the bytes of a plane. */
static const char source[] =
    "extern \"C\" __global__ void add (const unsigned char *data,\n"
    "    long long stride, int width, unsigned *sum) {\n"
    "  int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (x < width) atomicAdd (sum, data[blockIdx.y * stride + x]);\n"
    "}\n";
static CUfunction add;
static CUdeviceptr sum;

static void
start (CUdevice device)
{
  static char image[1 << 20];
  nvrtcProgram program;
  CUcontext context;
  CUmodule module;

  cuDevicePrimaryCtxRetain (&context, device);
  cuCtxPushCurrent (context);
  cuMemAlloc (&sum, sizeof (unsigned));
  nvrtcCreateProgram (&program, source, "add.cu", 0, NULL, NULL);
  if (nvrtcCompileProgram (program, 0, NULL) == 0
      && nvrtcGetPTX (program, image) == 0
      && cuModuleLoadData (&module, image) == CUDA_SUCCESS)
    cuModuleGetFunction (&add, module, "add");
}

int
main (int argc, char **argv)
{
  const vkgdr_frames_params params = { .path = argv[1], .timeout = 5000000000 };
  vkgdr_frames_t frames = vkgdr_frames_connect (&params);
  unsigned i, result;
  vkgdr_frame_t frame;

  while (frames && vkgdr_frames_receive (frames, -1, &frame) == VKGDR_FRAMES_FRAME) {
    const vkgdr_frame_info *info = vkgdr_frame_get_info (frame);

    if (!add) /* the first frame has opened its device */
      start (vkgdr_frames_get_device (frames));
    cuMemsetD32Async (sum, 0, 1, NULL);
    for (i = 0; i < info->n_planes; i++) {
      const vkgdr_frame_plane_format *plane = &info->format->planes[i];
      CUdeviceptr data = info->planes[i].device;
      long long stride = info->planes[i].stride;
      int width = plane->width * plane->channels * plane->bits / 8;
      void *arguments[] = { &data, &stride, &width, &sum };

      cuLaunchKernel (add, (width + 127) / 128, plane->height, 1, 128, 1, 1, 0,
          NULL, arguments, NULL);
    }
    vkgdr_frame_release_on_stream (frame, NULL); /* does not wait */
    cuMemcpyDtoH (&result, sum, sizeof (result));
    printf ("%u\n", result);
  }
  if (vkgdr_last_error ())
    fprintf (stderr, "%s\n", vkgdr_last_error ());
  vkgdr_frames_close (frames);
  return 0;
}
