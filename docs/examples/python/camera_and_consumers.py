#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sends frames of a camera to three other processes, which use them on the GPU.

    camera_and_consumers.py [--frames N]
    camera_and_consumers.py --consumer SOCKET [--frames N]

The first command starts all four processes. It starts each consumer with the
second command. A consumer uses the same memory to which the camera's frames
were written, as a tensor of PyTorch or CuPy. If neither can be used, the frames
are transferred to the CPU. Consumers may connect and disconnect at any time. A
slow consumer loses frames, which does not affect the camera or the other
consumers.
"""

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
from typing import Callable, List

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstVkgdr", "1.0")
from gi.repository import Gst, GstVkgdr  # noqa: E402

CAMERA = (
    "videotestsrc is-live=true pattern=ball ! video/x-raw,format=RGBA,width=320,height=240,"
    'framerate=60/1 ! vkgdripcsink name=ipc socket-path="{path}"'
)
CONSUMER = 'vkgdripcsrc socket-path="{path}" ! appsink name=sink sync=false max-buffers=1'
CONSUMERS = 3


def on_device(module: str) -> Callable[[Gst.Sample], float]:
    """Returns a function that computes the mean of a frame on the GPU."""
    library = importlib.import_module(module)
    if module == "torch" and not library.cuda.is_available():
        raise ImportError("PyTorch has no CUDA device")
    if module == "cupy" and library.cuda.runtime.getDeviceCount() == 0:
        raise ImportError("CuPy has no CUDA device")

    def mean(sample: Gst.Sample) -> float:
        with GstVkgdr.device_array(sample.get_buffer(), sample.get_caps()) as array:
            frame = library.from_dlpack(array)  # height, width, RGBA; no copy
            return float(frame[..., :3].sum()) / (frame.shape[0] * frame.shape[1] * 3)

    return mean


def on_cpu(sample: Gst.Sample) -> float:
    buffer = sample.get_buffer()
    ok, info = buffer.map(Gst.MapFlags.READ)
    if not ok:
        raise SystemExit("the frame cannot be read")
    try:
        pixels = bytes(info.data)
        return sum(sum(pixels[i::4]) for i in range(3)) / (len(pixels) // 4 * 3)
    finally:
        buffer.unmap(info)


def choose() -> Callable[[Gst.Sample], float]:
    for module in ("torch", "cupy"):
        try:
            return on_device(module)
        except Exception:  # each library has errors of its own
            continue
    return on_cpu


def consume(path: str, frames: int) -> None:
    mean_of = choose()
    pipeline = Gst.parse_launch(CONSUMER.format(path=path))
    sink = pipeline.get_by_name("sink")
    pipeline.set_state(Gst.State.PLAYING)
    means: List[float] = []
    while len(means) < frames:
        sample = sink.emit("try-pull-sample", Gst.SECOND // 5)
        if sample is not None:
            means.append(mean_of(sample))
            continue
        message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
        if message:
            raise SystemExit(message.parse_error()[0].message)
        if sink.get_property("eos"):
            break
    pipeline.set_state(Gst.State.NULL)
    print(f"consumer: {len(means)} frames, mean {sum(means) / max(len(means), 1):.2f}", flush=True)


def serve(frames: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "camera")
        pipeline = Gst.parse_launch(CAMERA.format(path=path))
        pipeline.set_state(Gst.State.PLAYING)
        arguments = [sys.executable, __file__, "--consumer", path, "--frames", str(frames)]
        consumers = [subprocess.Popen(arguments) for _ in range(CONSUMERS)]
        status = int(any([consumer.wait() != 0 for consumer in consumers]))
        stats = pipeline.get_by_name("ipc").get_property("stats")
        copied = stats.get_uint64("frames-copied")[1]
        print(f"camera: {stats.get_uint64('frames-sent')[1]} frames sent, {copied} copied")
        pipeline.set_state(Gst.State.NULL)
    return status


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--consumer", metavar="SOCKET")
    parser.add_argument("--frames", type=int, default=60)
    args = parser.parse_args()

    Gst.init(None)
    if args.consumer:
        consume(args.consumer, args.frames)
    else:
        raise SystemExit(serve(args.frames))


if __name__ == "__main__":
    main()
