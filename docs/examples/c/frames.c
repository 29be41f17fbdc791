/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frames.c: adds the bytes of each frame of another process, with a CUDA kernel:
 *   cc frames.c $(pkg-config --cflags --libs vkgdr) -lcuda -lnvrtc && ./a.out /tmp/frames
 *
 * It needs cuda.h and nvrtc.h of a CUDA toolkit (Debian: nvidia-cuda-dev, in non-free).
 * On a machine without a GPU, link the libraries of softcuda instead, and start it with
 * VKGDR_DRIVER=software:
 *   dir=/usr/lib/x86_64-linux-gnu/softcuda
 *   cc frames.c $(pkg-config --cflags --libs vkgdr) -L$dir -Wl,-rpath,$dir -l:libcuda.so.1 -l:libnvrtc.so.13
 */

#include <cuda.h>
#include <nvrtc.h>
#include <stdio.h>
#include <vkgdr/frames.h>

static const char source[] =
    "extern \"C\" __global__ void add (unsigned char *plane, long long stride, int width, int *sum) {\n"
    "  for (int x = threadIdx.x; x < width; x += blockDim.x)\n"
    "    atomicAdd (sum, plane[blockIdx.x * stride + x]); }\n";
static char image[1 << 20];

int
main (int argc, char **argv)
{
  vkgdr_frames_t frames = vkgdr_frames_connect (
      &(vkgdr_frames_params){ .path = argv[1], .timeout = 5000000000 });
  CUfunction add = NULL;
  CUdeviceptr sum;
  CUcontext context;
  CUmodule module;
  nvrtcProgram program;
  vkgdr_frame_t frame;
  unsigned result;

  nvrtcCreateProgram (&program, source, "add.cu", 0, NULL, NULL);
  if (nvrtcCompileProgram (program, 0, NULL) || nvrtcGetPTX (program, image))
    return 1;
  while (frames && vkgdr_frames_receive (frames, -1, &frame) == VKGDR_FRAMES_FRAME) {
    const vkgdr_frame_info *info = vkgdr_frame_get_info (frame);

    if (!add) { /* the first frame has opened its device */
      cuDevicePrimaryCtxRetain (&context, vkgdr_frames_get_device (frames));
      cuCtxPushCurrent (context);
      cuMemAlloc (&sum, sizeof (unsigned));
      if (cuModuleLoadData (&module, image) || cuModuleGetFunction (&add, module, "add"))
        return 1;
    }
    cuMemsetD8Async (sum, 0, sizeof (unsigned), NULL);
    for (unsigned i = 0; i < info->n_planes; i++) {
      const vkgdr_frame_plane_format *plane = &info->format->planes[i];
      int width = plane->width * plane->channels * plane->bits / 8;
      void *arguments[] = { (void *) &info->planes[i].device,
        (void *) &info->planes[i].stride, &width, &sum };

      cuLaunchKernel (add, plane->height, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL);
    }
    vkgdr_frame_release_on_stream (frame, NULL); /* does not wait */
    cuMemcpyDtoH (&result, sum, sizeof (result));
    printf ("%u\n", result);
  }
  if (vkgdr_last_error ())
    fprintf (stderr, "%s\n", vkgdr_last_error ());
  vkgdr_frames_close (frames);
}
