#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""An element written in Python that works on frames in GPU memory.

    gpu_element.py [--frames N] [--backend torch|cupy|kernel|numpy] [PIPELINE…]

The element, "pynegative", inverts frames of RGBA. On a GPU, it uses PyTorch or
CuPy if one of them is installed. Otherwise it uses a CUDA kernel. The work is
queued on the element's stream. The frames stay on the device, and the CPU does
not wait. A second element, "pynegativecpu", does the same on the CPU, with NumPy.
"""

import argparse
from typing import Any, Optional

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstBase", "1.0")
gi.require_version("GstVideo", "1.0")
gi.require_version("GstVkgdr", "1.0")
from gi.repository import GObject, Gst, GstVkgdr  # noqa: E402

CAPS = Gst.Caps.from_string("video/x-raw(memory:VkgdrMemory),format=RGBA")

KERNEL = """
#pragma vkgdr in-place
__global__ void negative (VkgdrFrame in, VkgdrFrame out)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;

  if (x >= out.width || y >= out.height)
    return;
  const uchar4 p = ((const uchar4 *) (in.plane[0].data + y * in.plane[0].stride))[x];
  ((uchar4 *) (out.plane[0].data + y * out.plane[0].stride))[x] =
      make_uchar4 (255 - p.x, 255 - p.y, 255 - p.z, p.w);
}
"""


def find_backend(context: GstVkgdr.Context) -> str:
    """Returns the name of an installed tensor library, or "kernel". No tensor
    library works on the software device.
    """
    if not context.is_software():
        for name in ("torch", "cupy"):
            try:
                __import__(name)
                return name
            except ImportError:
                pass
    return "kernel"


def start_torch() -> None:
    """Initialises CUDA in PyTorch. Otherwise PyTorch would do this at its first
    use, in the streaming thread, while the element uses CUDA in that thread.
    """
    import torch

    torch.cuda.init()
    torch.cuda.current_device()


TEMPLATES = (
    Gst.PadTemplate.new("sink", Gst.PadDirection.SINK, Gst.PadPresence.ALWAYS, CAPS),
    Gst.PadTemplate.new("src", Gst.PadDirection.SRC, Gst.PadPresence.ALWAYS, CAPS),
)


class Negative(GstVkgdr.VideoFilter):
    __gstmetadata__ = (
        "Negative in Python",
        "Filter/Effect/Video",
        "Inverts the colours of frames in GPU memory",
        "the authors of gst-vkgdr",
    )
    __gsttemplates__ = TEMPLATES

    backend = GObject.Property(
        type=str, default="", nick="Backend", blurb="torch, cupy or kernel; empty: any"
    )

    def do_open(self) -> None:
        """The element starts, and has a device. An exception becomes its error."""
        self.used = self.backend or find_backend(self.get_context())
        if self.used == "torch":
            start_torch()
        self.frame = 0
        self.kernel: Optional[GstVkgdr.Kernel] = None
        if self.used == "kernel":
            self.kernel = GstVkgdr.Kernel.new_from_source(
                self.get_context(), KERNEL, "the negative's kernel", None
            )

    def do_filter_frame(
        self, source: Gst.Buffer, target: Gst.Buffer, stream: GstVkgdr.Stream
    ) -> None:
        """Queues the work on a frame on the stream, and does not wait for it."""
        if self.kernel is not None:
            self.kernel.run(
                stream, source, self.get_input_info(), target, self.get_output_info(),
                self.frame, None,
            )
            self.frame += 1
            return
        info = self.get_input_info()
        with GstVkgdr.device_array(source, info, stream=stream) as pixels, \
                GstVkgdr.device_array(target, info, Gst.MapFlags.WRITE, stream=stream) as result:
            getattr(self, "run_" + self.used)(pixels, result, stream)

    def run_torch(self, pixels: Any, result: Any, stream: GstVkgdr.Stream) -> None:
        import torch

        with torch.cuda.stream(torch.cuda.ExternalStream(stream.handle)):
            colours, out = torch.from_dlpack(pixels), torch.from_dlpack(result)
            out.copy_(colours)
            torch.bitwise_not(colours[..., :3], out=out[..., :3])

    def run_cupy(self, pixels: Any, result: Any, stream: GstVkgdr.Stream) -> None:
        import cupy

        with cupy.cuda.ExternalStream(stream.handle):
            colours, out = cupy.from_dlpack(pixels), cupy.from_dlpack(result)
            out[...] = colours
            cupy.invert(colours[..., :3], out=out[..., :3])


class NegativeOnCpu(GstVkgdr.VideoFilter):
    __gstmetadata__ = (
        "Negative in Python, on the CPU",
        "Filter/Effect/Video",
        "Inverts the colours of frames in GPU memory",
        "the authors of gst-vkgdr",
    )
    __gsttemplates__ = TEMPLATES
    used = "numpy"

    def do_filter_frame_cpu(self, source: Any, target: Any) -> None:
        """The frames are mapped for the CPU."""
        (pixels,) = GstVkgdr.frame_arrays(source)
        (result,) = GstVkgdr.frame_arrays(target, writable=True)
        result[..., :3] = 255 - pixels[..., :3]
        result[..., 3] = pixels[..., 3]


def register() -> None:
    """Registers the elements in this process."""
    for name, element in ("pynegative", Negative), ("pynegativecpu", NegativeOnCpu):
        if not Gst.Element.register(None, name, Gst.Rank.NONE, element):
            raise SystemExit(f"{name} cannot be registered")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=30)
    parser.add_argument("--backend", default="", choices=["", "torch", "cupy", "kernel", "numpy"])
    parser.add_argument("pipeline", nargs="*", help="with pynegative name=negative in it")
    args = parser.parse_args()

    register()
    element = "pynegativecpu" if args.backend == "numpy" else "pynegative"
    pipeline = Gst.parse_launch(
        " ".join(args.pipeline)
        or f"videotestsrc num-buffers={args.frames} pattern=white "
        "! video/x-raw,format=RGBA,width=320,height=240 ! vkgdrupload "
        f"! {element} name=negative ! vkgdrdownload ! fakesink name=sink"
    )
    negative = pipeline.get_by_name("negative")
    if args.backend != "numpy":
        negative.set_property("backend", args.backend)
    pipeline.set_state(Gst.State.PLAYING)
    try:
        message = pipeline.get_bus().timed_pop_filtered(
            Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR
        )
        if message.type == Gst.MessageType.ERROR:
            raise SystemExit(message.parse_error()[0].message)
        frames = negative.get_property("stats").get_value("frames")
        print(f"{frames} frames, by {negative.used}")
    finally:
        pipeline.set_state(Gst.State.NULL)


if __name__ == "__main__":
    main()
