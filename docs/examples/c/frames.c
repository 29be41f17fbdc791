/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frames.c: runs a CUDA kernel on each frame of another process
 *
 *   gst-launch-1.0 videotestsrc is-live=true ! video/x-raw,format=GRAY8 !
 *     vkgdripcsink socket-path=/tmp/frames
 *   cc frames.c $(pkg-config --cflags --libs vkgdr) -lcuda -lnvrtc
 *   ./a.out /tmp/frames
 */

#include <cuda.h>
#include <nvrtc.h>
#include <stdio.h>
#include <vkgdr/frames.h>

/* Adds the bytes of each plane. */
static const char source[] =
    "extern \"C\" __global__ void add (const unsigned char *data,\n"
    "    long long stride, int width, unsigned *sum) {\n"
    "  int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (x < width) atomicAdd (sum, data[blockIdx.y * stride + x]);\n"
    "}\n";

static CUfunction
compile (void)
{
  static char image[1 << 20];
  nvrtcProgram program;
  CUfunction function = NULL;
  CUmodule module;

  if (nvrtcCreateProgram (&program, source, "add.cu", 0, NULL, NULL) == 0
      && nvrtcCompileProgram (program, 0, NULL) == 0
      && nvrtcGetPTX (program, image) == 0
      && cuModuleLoadData (&module, image) == CUDA_SUCCESS)
    cuModuleGetFunction (&function, module, "add");
  return function;
}

static void
work_on (const vkgdr_frame_info *frame, CUfunction add, CUdeviceptr sum)
{
  for (unsigned i = 0; i < frame->n_planes; i++) {
    const vkgdr_frame_plane_format *plane = &frame->format->planes[i];
    CUdeviceptr data = frame->planes[i].device;
    long long stride = frame->planes[i].stride;
    int width = plane->width * plane->channels * plane->bits / 8;
    void *arguments[] = { &data, &stride, &width, &sum };

    cuLaunchKernel (add, (width + 127) / 128, plane->height, 1, 128, 1, 1, 0,
        NULL, arguments, NULL);
  }
}

int
main (int argc, char **argv)
{
  const vkgdr_frames_params params = { .path = argc > 1 ? argv[1] : NULL,
    .timeout = 5000000000 };
  vkgdr_frames_t frames = vkgdr_frames_connect (&params);
  vkgdr_frame_t frame;
  CUdeviceptr sum = 0;
  CUfunction add = NULL;
  CUcontext context;
  unsigned result = 0;

  while (frames
         && vkgdr_frames_receive (frames, -1, &frame) == VKGDR_FRAMES_FRAME) {
    if (sum == 0) { /* the first frame has opened its device */
      cuDevicePrimaryCtxRetain (&context, vkgdr_frames_get_device (frames));
      cuCtxPushCurrent (context);
      cuMemAlloc (&sum, sizeof (result));
      add = compile ();
    }
    cuMemsetD32Async (sum, 0, 1, NULL);
    work_on (vkgdr_frame_get_info (frame), add, sum);
    vkgdr_frame_release_on_stream (frame, NULL); /* does not wait */
    cuMemcpyDtoH (&result, sum, sizeof (result));
    printf ("%u\n", result);
  }
  if (vkgdr_last_error ())
    fprintf (stderr, "%s\n", vkgdr_last_error ());
  vkgdr_frames_close (frames);
  return 0;
}
