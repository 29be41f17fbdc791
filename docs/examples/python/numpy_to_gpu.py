#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws with NumPy directly into GPU memory, and runs a CUDA kernel on it.

    numpy_to_gpu.py [--frames N] [--kernel NAME]

Each frame is drawn into a buffer of a GstVkgdr.BufferPool. The kernel uses the
same memory, so nothing is copied. The result is transferred to the host, and
its mean is printed.
"""

import argparse
from typing import Iterator, Optional

import gi
import numpy as np

gi.require_version("Gst", "1.0")
gi.require_version("GstVkgdr", "1.0")
from gi.repository import Gst, GstVkgdr  # noqa: E402

WIDTH, HEIGHT, FPS = 320, 240, 25
CAPS = (
    "video/x-raw(memory:VkgdrMemory),format=RGBA,"
    f"width={WIDTH},height={HEIGHT},framerate={FPS}/1"
)


def make_pool(context: GstVkgdr.Context, caps: Gst.Caps) -> GstVkgdr.BufferPool:
    """Returns a pool of buffers in the window, which are recycled."""
    pool = GstVkgdr.BufferPool.new(context)
    config = pool.get_config()
    Gst.BufferPool.config_set_params(config, caps, WIDTH * HEIGHT * 4, 2, 0)
    if not pool.set_config(config) or not pool.set_active(True):
        raise SystemExit("the buffer pool cannot start")
    return pool


def frames(pool: GstVkgdr.BufferPool, caps: Gst.Caps, count: int) -> Iterator[Gst.Buffer]:
    """Yields frames with a grey ramp that moves."""
    ramp = np.arange(WIDTH, dtype=np.uint8)
    for i in range(count):
        result, buffer = pool.acquire_buffer(None)
        if result != Gst.FlowReturn.OK:
            raise SystemExit(f"the pool has no buffer: {result.value_nick}")
        # With WRITE alone, NumPy writes through the window. To read the content
        # as well, use READ | WRITE: then the array is ordinary memory.
        with GstVkgdr.mapped(buffer, caps, Gst.MapFlags.WRITE) as (pixels,):
            pixels[..., :3] = np.roll(ramp, i)[:, np.newaxis]
            pixels[..., 3] = 255
        buffer.pts = i * Gst.SECOND // FPS
        buffer.duration = Gst.SECOND // FPS
        yield buffer


def pull(pipeline: Gst.Pipeline, sink: Gst.Element) -> Optional[Gst.Sample]:
    """Returns the next sample, or None at the end. It does not use pull-sample,
    which would wait for ever if the pipeline has failed to start.
    """
    while True:
        sample = sink.emit("try-pull-sample", Gst.SECOND // 5)
        if sample is not None:
            return sample
        message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
        if message:
            raise SystemExit(message.parse_error()[0].message)
        if sink.get_property("eos"):
            return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=5)
    parser.add_argument("--kernel", default="invert")
    args = parser.parse_args()

    context = GstVkgdr.Context.new(-1)
    caps = Gst.Caps.from_string(CAPS)
    pipeline = Gst.parse_launch(
        "appsrc name=src format=time ! cudafilter name=kernel ! vkgdrdownload "
        "! appsink name=sink sync=false"
    )
    # The elements have to use the context of the buffers.
    pipeline.set_context(context.to_gst_context())
    src, sink = pipeline.get_by_name("src"), pipeline.get_by_name("sink")
    src.set_property("caps", caps)
    pipeline.get_by_name("kernel").set_property("kernel", args.kernel)

    pipeline.set_state(Gst.State.PLAYING)
    try:
        pool = make_pool(context, caps)
        for buffer in frames(pool, caps, args.frames):
            src.emit("push-buffer", buffer)
        src.emit("end-of-stream")
        for i in range(args.frames):
            sample = pull(pipeline, sink)
            if sample is None:
                break
            with GstVkgdr.mapped(sample.get_buffer(), sample.get_caps()) as (pixels,):
                print(f"frame {i}: mean {pixels[..., :3].mean():.2f}")
        pool.set_active(False)
    finally:
        pipeline.set_state(Gst.State.NULL)


if __name__ == "__main__":
    main()
