# SPDX-License-Identifier: LGPL-2.1-or-later
"""Helpers for the tests of the overrides: a context, buffers, a pipeline."""

import contextlib
import ctypes
import time
import unittest
from typing import Callable, Iterator, List, Optional

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstVideo", "1.0")
gi.require_version("GstAudio", "1.0")
gi.require_version("GstVkgdr", "1.0")
from gi.repository import GLib, Gst, GstVideo, GstVkgdr  # noqa: E402

import support  # noqa: E402

WRITE = Gst.MapFlags.WRITE
READ = Gst.MapFlags.READ


def video_caps(format: str, width: int, height: int, feature: str = "") -> Gst.Caps:
    return Gst.Caps.from_string(
        f"video/x-raw{feature},format={format},width={width},height={height},framerate=25/1"
    )


class DeviceTestCase(unittest.TestCase):
    """A test with a context of the first device."""

    def setUp(self) -> None:
        self.context = GstVkgdr.Context.new(-1)
        self.allocator = self.context.get_allocator()

    def new_memory(self, data: bytes) -> Gst.Memory:
        memory = self.allocator.alloc(len(data))
        mapping = GstVkgdr.Mapping.new(memory, WRITE | GstVkgdr.MAP_VKGDR)
        support.write_device(mapping.get_pointer(), data)
        mapping.unmap()
        return memory

    def new_buffer(self, data: bytes) -> Gst.Buffer:
        buffer = Gst.Buffer.new()
        buffer.append_memory(self.new_memory(data))
        return buffer

    def is_writable(self, memory: Gst.Memory) -> bool:
        """Whether the memory is not mapped elsewhere, so that it can be mapped for
        writing.
        """
        try:
            GstVkgdr.Mapping.new(memory, WRITE | GstVkgdr.MAP_VKGDR).unmap()
        except GLib.Error:
            return False
        return True

    def assert_writable(self, memory: Gst.Memory, expected: bool) -> None:
        self.assertEqual(self.is_writable(memory), expected)

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Waits until a thread of the library has finished its work."""
        end = time.monotonic() + 5
        while not condition() and time.monotonic() < end:
            time.sleep(0.001)
        self.assertTrue(condition())

    def run_buffers(
        self, elements: str, caps: Gst.Caps, buffers: List[Optional[Gst.Buffer]]
    ) -> List[Gst.Sample]:
        """Pushes buffers through elements with an appsrc. Returns the samples that come
        out.
        """
        pipeline = Gst.parse_launch(
            f"appsrc name=src format=time ! {elements} ! appsink name=sink sync=false"
        )
        pipeline.set_context(self.context.to_gst_context())
        src, sink = pipeline.get_by_name("src"), pipeline.get_by_name("sink")
        src.set_property("caps", caps)
        pipeline.set_state(Gst.State.PLAYING)
        samples = []
        try:
            for i, buffer in enumerate(buffers):
                buffer.pts = i * Gst.SECOND // 25
                buffer.duration = Gst.SECOND // 25
                src.emit("push-buffer", buffer)
            src.emit("end-of-stream")
            while len(samples) < len(buffers):
                sample = sink.emit("try-pull-sample", 20 * Gst.SECOND)
                if sample is None:
                    break
                samples.append(sample)
            message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
            if message:
                self.fail(f"the pipeline failed: {message.parse_error()}")
        finally:
            pipeline.set_state(Gst.State.NULL)
        self.assertEqual(len(samples), len(buffers))
        return samples


@contextlib.contextmanager
def other_cuda_context() -> Iterator[GstVkgdr.Context]:
    """A context of the first device with a CUDA context of its own. It is not
    destroyed, because objects that were made with it may outlive the block.
    """
    handle, popped = ctypes.c_void_p(), ctypes.c_void_p()
    if support.driver.cuCtxCreate_v2(ctypes.byref(handle), 0, 0) != 0:
        raise RuntimeError("cuCtxCreate() failed")
    try:
        context = GstVkgdr.Context.new_from_current()
    finally:
        support.driver.cuCtxPopCurrent_v2(ctypes.byref(popped))
    yield context


def upload(memory: Gst.Memory, data: bytes) -> None:
    """Writes to the start of device memory."""
    with GstVkgdr.Mapping.new(memory, READ | WRITE) as mapping:
        mapping.data[: len(data)] = data


def download(memory: Gst.Memory) -> bytes:
    """The content of device memory."""
    with GstVkgdr.Mapping.new(memory, READ) as mapping:
        return mapping.data.tobytes()


def host_bytes(buffer: Gst.Buffer) -> bytes:
    return buffer.extract_dup(0, buffer.get_size())


def add_video_meta(
    buffer: Gst.Buffer, caps: Gst.Caps, offsets: List[int], strides: List[int]
) -> None:
    info = GstVideo.VideoInfo.new_from_caps(caps)
    padding = [0] * (4 - len(offsets))
    GstVideo.buffer_add_video_meta_full(
        buffer,
        GstVideo.VideoFrameFlags.NONE,
        info.finfo.format,
        info.width,
        info.height,
        len(offsets),
        offsets + padding,
        strides + padding,
    )
