#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Uses frames of a pipeline as tensors, without a copy.

    gpu_to_tensor.py [--frames N]

Uses PyTorch if it can be used, or else CuPy. Without both, the program prints
the array interface, which such libraries read.
"""

import argparse
import importlib
from typing import Any, Callable, Optional

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstVkgdr", "1.0")
from gi.repository import Gst, GstVkgdr  # noqa: E402

PIPELINE = (
    "videotestsrc num-buffers={frames} pattern=gradient "
    "! video/x-raw,format=RGBA,width=320,height=240 "
    "! vkgdrupload ! appsink name=sink sync=false max-buffers=2"
)


def make_torch_user() -> Callable[[Any], str]:
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        raise ImportError("PyTorch has no CUDA device")

    def use(array: Any) -> str:
        frame = torch.from_dlpack(array)  # height, width, RGBA
        # A batch of one image, as networks expect it: floats, channels first.
        batch = frame[..., :3].permute(2, 0, 1).unsqueeze(0).float() / 255
        return f"torch tensor {tuple(batch.shape)} on {batch.device}, mean {batch.mean():.4f}"

    return use


def make_cupy_user() -> Callable[[Any], str]:
    cupy = importlib.import_module("cupy")
    if cupy.cuda.runtime.getDeviceCount() == 0:
        raise ImportError("CuPy has no CUDA device")

    def use(array: Any) -> str:
        frame = cupy.asarray(array)
        return f"cupy array {frame.shape}, mean {float(frame[..., :3].mean()) / 255:.4f}"

    return use


def make_printer() -> Callable[[Any], str]:
    return lambda array: str(array.__cuda_array_interface__)


def choose() -> Callable[[Any], str]:
    for name, make in (("PyTorch", make_torch_user), ("CuPy", make_cupy_user)):
        try:
            return make()
        except Exception as error:  # each library has errors of its own
            print(f"{name} is not used: {error}")
    return make_printer()


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
    parser.add_argument("--frames", type=int, default=3)
    args = parser.parse_args()

    use = choose()
    pipeline = Gst.parse_launch(PIPELINE.format(frames=args.frames))
    sink = pipeline.get_by_name("sink")
    pipeline.set_state(Gst.State.PLAYING)
    try:
        while True:
            sample = pull(pipeline, sink)
            if sample is None:
                break
            # The buffer is kept until the array, and everything made of it, is
            # freed.
            with GstVkgdr.device_array(sample.get_buffer(), sample.get_caps()) as array:
                print(use(array))
    finally:
        pipeline.set_state(Gst.State.NULL)


if __name__ == "__main__":
    main()
