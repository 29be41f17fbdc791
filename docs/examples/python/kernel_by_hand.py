#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compiles a CUDA kernel, and launches it by hand on frames of a pipeline.

    kernel_by_hand.py [--frames N]

The kernel counts how often each brightness occurs in a frame. The frame stays
on the GPU. Only the 256 counts are copied to the host. The kernel is compiled and
launched by vkgdr.driver, which has PyCUDA's interface.
"""

import argparse

import gi
import numpy as np

import vkgdr.autoprimaryctx  # noqa: F401  the CUDA context of the frames
from vkgdr import driver
from vkgdr.compiler import SourceModule

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

    def __init__(self) -> None:
        self.kernel = SourceModule(SOURCE).get_function("histogram").prepare("PiiiP")
        self.stream = driver.Stream()
        self.counts = driver.mem_alloc(256 * 4)

    def __call__(self, buffer: Gst.Buffer, caps: Gst.Caps) -> np.ndarray:
        # With a stream, nothing waits on the CPU until the counts are read.
        with GstVkgdr.device_array(buffer, caps, stream=self.stream) as frame:
            height, width = frame.shape
            grid = ((width + BLOCK[0] - 1) // BLOCK[0], (height + BLOCK[1] - 1) // BLOCK[1])
            driver.memset_d32_async(self.counts, 0, 256, self.stream)
            self.kernel.prepared_async_call(
                grid, BLOCK, self.stream, frame, width, height, frame.strides[0], self.counts
            )
        self.stream.synchronize()
        return driver.from_device(self.counts, 256, np.uint32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=3)
    args = parser.parse_args()

    context = GstVkgdr.Context()
    histogram = Histogram()
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
            mean = np.average(np.arange(256), weights=counts)
            print(f"{counts.sum()} pixels, mean brightness {mean:.2f}")
    finally:
        pipeline.set_state(Gst.State.NULL)


if __name__ == "__main__":
    main()
