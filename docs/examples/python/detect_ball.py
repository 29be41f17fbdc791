#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Finds a ball in a video with a small network, and makes frames of its masks.

    detect_ball.py [--frames N] [--backend numpy|torch] [--pictures FOLDER]

The network has two layers with fixed weights: one for the colour of each pixel,
and one for the mean of these results around it. With PyTorch and a GPU, the
batches and the masks stay on the device. With NumPy alone, the program runs on
any machine.

The masks are sent to a second pipeline. With --pictures, this pipeline writes
them to files, and the program also writes the first frame and its tensor.
"""

import argparse
import importlib
from typing import Any, List, Optional, Tuple

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstVkgdr", "1.0")
from gi.repository import Gst, GstVkgdr  # noqa: E402

WIDTH, HEIGHT = 640, 360
SIZE = 128  # of the network's input, in both directions
SOURCE = (
    "videotestsrc num-buffers={frames} pattern=ball foreground-color=0xffff8020 "
    f"background-color=0xff203050 ! video/x-raw,format=NV12,width={WIDTH},height={HEIGHT}"
)
MASK_CAPS = f"video/x-raw(memory:VkgdrMemory),format=GRAY8,width={SIZE},height={SIZE}"

# The weights of red, green and blue. With BIAS, the ball has a positive sum.
COLOUR = (1.0, 0.2, -0.8)
BIAS = -0.5
AROUND = 3  # pixels in each direction

Box = Tuple[float, float, float, float]


class NumpyNetwork:
    """The network on the CPU, to which batches are copied."""

    def __init__(self) -> None:
        self.numpy = importlib.import_module("numpy")

    def masks(self, batch: Any) -> Any:
        """Returns a mask for each frame: 255 in the ball, 0 outside of it."""
        np = self.numpy
        heat = np.tensordot(batch.numpy(), np.array(COLOUR, "f4"), (1, 0)) + np.float32(BIAS)
        heat = np.maximum(heat, 0)
        padded = np.pad(heat, ((0, 0), (AROUND, AROUND), (AROUND, AROUND)))
        window = (2 * AROUND + 1, 2 * AROUND + 1)
        mean = np.lib.stride_tricks.sliding_window_view(padded, window, (1, 2)).mean((3, 4))
        return ((heat > 0) & (mean > mean.max((1, 2), keepdims=True) / 3)).astype("u1") * 255

    def box(self, mask: Any) -> Optional[Box]:
        rows, columns = self.numpy.nonzero(mask)
        if len(rows) == 0:
            return None
        return (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)

    def to_memory(self, mask: Any, context: GstVkgdr.Context) -> Gst.Memory:
        """The CPU writes the mask into memory of the device."""
        buffer = Gst.Buffer.new()
        buffer.append_memory(context.get_allocator().alloc(mask.size))
        caps = Gst.Caps.from_string(MASK_CAPS)
        with GstVkgdr.mapped(buffer, caps, Gst.MapFlags.WRITE) as (pixels,):
            pixels[:] = mask
        return buffer.get_memory(0)


class TorchNetwork:
    """The network on the device, without copies."""

    def __init__(self) -> None:
        self.torch = importlib.import_module("torch")
        if not self.torch.cuda.is_available():
            raise ImportError("PyTorch has no CUDA device")
        self.colour = self.torch.tensor(COLOUR, device="cuda").view(1, 3, 1, 1)

    def masks(self, batch: Any) -> Any:
        torch = self.torch
        pixels = torch.from_dlpack(batch)
        heat = torch.relu(torch.nn.functional.conv2d(pixels, self.colour) + BIAS)
        mean = torch.nn.functional.avg_pool2d(heat, 2 * AROUND + 1, 1, AROUND)
        found = (heat > 0) & (mean > mean.amax((2, 3), keepdim=True) / 3)
        return found[:, 0].to(torch.uint8) * 255

    def box(self, mask: Any) -> Optional[Box]:
        rows, columns = self.torch.nonzero(mask, as_tuple=True)
        if len(rows) == 0:
            return None
        numbers = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
        return tuple(float(n) for n in numbers)  # type: ignore

    def to_memory(self, mask: Any, context: GstVkgdr.Context) -> Gst.Memory:
        return GstVkgdr.memory_from_dlpack(mask, context)


def choose(backend: Optional[str]) -> Any:
    if backend == "numpy":
        return NumpyNetwork()
    try:
        return TorchNetwork()
    except ImportError as error:
        if backend == "torch":
            raise SystemExit(f"there is no PyTorch to use: {error}") from None
        return NumpyNetwork()


class MaskPipeline:
    """The second pipeline, whose frames are the masks."""

    def __init__(self, context: GstVkgdr.Context, folder: Optional[str]) -> None:
        end = "fakesink"
        if folder is not None:
            end = f'videoconvert ! pngenc ! multifilesink location="{folder}/mask-%03d.png"'
        self.context = context
        self.pipeline = Gst.parse_launch(
            f"appsrc name=src format=time caps={MASK_CAPS},framerate=30/1 "
            f"! cudafilter kernel=threshold ! vkgdrdownload ! {end}"
        )
        self.pipeline.set_context(context.to_gst_context())
        self.src = self.pipeline.get_by_name("src")
        self.pipeline.set_state(Gst.State.PLAYING)

    def push(self, memory: Gst.Memory, pts: int) -> None:
        buffer = Gst.Buffer.new()
        buffer.append_memory(memory)
        buffer.pts = pts
        self.src.emit("push-buffer", buffer)

    def finish(self) -> None:
        self.src.emit("end-of-stream")
        message = self.pipeline.get_bus().timed_pop_filtered(
            Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR
        )
        self.pipeline.set_state(Gst.State.NULL)
        if message.type == Gst.MessageType.ERROR:
            raise SystemExit(message.parse_error()[0].message)


def write_picture(path: str, pixels: bytes, format: str, width: int, height: int) -> None:
    pipeline = Gst.parse_launch(
        f"appsrc name=src caps=video/x-raw,format={format},width={width},height={height},"
        f'framerate=0/1 ! videoconvert ! pngenc ! filesink location="{path}"'
    )
    pipeline.set_state(Gst.State.PLAYING)
    src = pipeline.get_by_name("src")
    src.emit("push-buffer", Gst.Buffer.new_wrapped(pixels))
    src.emit("end-of-stream")
    pipeline.get_bus().timed_pop_filtered(
        10 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR
    )
    pipeline.set_state(Gst.State.NULL)


def write_input(folder: str, source: str) -> None:
    """Writes the first frame as two pictures: unchanged, and as a tensor."""
    for name, size in (("input", (WIDTH, HEIGHT)), ("tensor", (SIZE, SIZE))):
        with GstVkgdr.TensorReader(
            source, size, 1, "uint8", "nhwc", resize="letterbox", filter="area", pad=114
        ) as reader:
            write_picture(f"{folder}/{name}.png", next(reader).numpy().tobytes(), "RGB", *size)


def detect(frames: int, network: Any, folder: Optional[str]) -> List[str]:
    lines = []
    context = GstVkgdr.Context.new(-1)
    source = SOURCE.format(frames=frames)
    pipeline = MaskPipeline(context, folder)
    with GstVkgdr.TensorReader(
        source, size=(SIZE, SIZE), batch=4, resize="letterbox", filter="area", context=context
    ) as reader:
        for batch in reader:
            masks = network.masks(batch)
            for frame, mask in zip(batch.frames, masks):
                pipeline.push(network.to_memory(mask, context), frame.pts)
                box = network.box(mask)
                if box is None:
                    lines.append(f"{frame.pts}: nothing")
                    continue
                left, top = frame.to_frame(box[0], box[1])
                right, bottom = frame.to_frame(box[2], box[3])
                lines.append(f"{frame.pts}: {left:.0f} {top:.0f} {right:.0f} {bottom:.0f}")
    pipeline.finish()
    return lines


def parse_arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--frames", type=int, default=10)
    parser.add_argument("--backend", choices=("numpy", "torch"))
    parser.add_argument("--pictures", metavar="FOLDER")
    return parser.parse_args()


def main() -> None:
    args = parse_arguments(__doc__.splitlines()[0])
    network = choose(args.backend)
    for line in detect(args.frames, network, args.pictures):
        print(line)
    if args.pictures is not None:
        write_input(args.pictures, SOURCE.format(frames=1))
    print(f"{args.frames} frames, by {type(network).__name__}")


if __name__ == "__main__":
    main()
