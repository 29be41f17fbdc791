#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compiles a CUDA kernel, and launches it by hand on frames of a pipeline.

    kernel_by_hand.py [--frames N]

The kernel counts how often each brightness occurs in a frame. The frame stays
on the GPU. Only the 256 counts are copied to the host.
"""

import argparse
import struct

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstVkgdr", "1.0")
from gi.repository import Gst, GstVkgdr  # noqa: E402

SOURCE = """
__global__ void histogram (const unsigned char *pixels, int width, int height,
                           int stride, unsigned int *counts)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;

  if (x < width && y < height)
    atomicAdd (&counts[pixels[y * stride + x]], 1u);
}
"""

BLOCK = (32, 8, 1)


class Histogram:
    """The kernel, a stream, and memory for the counts."""

    def __init__(self, context: GstVkgdr.Context) -> None:
        self.module = GstVkgdr.SourceModule(SOURCE, context)
        self.kernel = self.module.get_function("histogram")
        self.kernel.prepare("PiiiP")    # drivers before CUDA 12.4 need this
        self.stream = GstVkgdr.Stream(context)
        self.counts = context.get_allocator().alloc(256 * 4)

    def __call__(self, buffer: Gst.Buffer, caps: Gst.Caps) -> tuple:
        with GstVkgdr.device_array(buffer, caps, stream=self.stream) as frame:
            height, width = frame.shape
            grid = ((width + BLOCK[0] - 1) // BLOCK[0], (height + BLOCK[1] - 1) // BLOCK[1])
            GstVkgdr.fill(self.counts, 0, 4, stream=self.stream)
            self.kernel.prepared_async_call(
                grid, BLOCK, self.stream, frame, width, height, frame.strides[0], self.counts
            )
        # The copy waits for the kernel, because both use this memory.
        return struct.unpack("256I", GstVkgdr.download(self.counts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=3)
    args = parser.parse_args()

    context = GstVkgdr.Context()
    histogram = Histogram(context)
    pipeline = Gst.parse_launch(
        f"videotestsrc num-buffers={args.frames} pattern=smpte "
        "! video/x-raw,format=GRAY8,width=321,height=240 "
        "! vkgdrupload ! appsink name=sink sync=false max-buffers=2"
    )
    pipeline.set_context(context.to_gst_context())
    sink, bus = pipeline.get_by_name("sink"), pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)
    try:
        while not sink.get_property("eos"):
            message = bus.pop_filtered(Gst.MessageType.ERROR)
            if message:
                raise SystemExit(message.parse_error()[0].message)
            sample = sink.emit("try-pull-sample", Gst.SECOND // 5)
            if sample is None:
                continue
            counts = histogram(sample.get_buffer(), sample.get_caps())
            mean = sum(i * n for i, n in enumerate(counts)) / sum(counts)
            print(f"{sum(counts)} pixels, mean brightness {mean:.2f}")
    finally:
        pipeline.set_state(Gst.State.NULL)


if __name__ == "__main__":
    main()
