# SPDX-License-Identifier: LGPL-2.1-or-later
"""Helpers for the tests of the overrides: a context, buffers, a pipeline."""

import time
from typing import Callable, List, Optional, Sequence

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstVideo", "1.0")
gi.require_version("GstAudio", "1.0")
gi.require_version("GstVkgdr", "1.0")
from gi.repository import GLib, Gst, GstVideo, GstVkgdr  # noqa: E402

import support  # noqa: E402
from vkgdr import driver  # noqa: E402

WRITE = Gst.MapFlags.WRITE
READ = Gst.MapFlags.READ


def video_caps(format: str, width: int, height: int, feature: str = "") -> Gst.Caps:
    return Gst.Caps.from_string(
        f"video/x-raw{feature},format={format},width={width},height={height},framerate=25/1"
    )


def video_info(format: str, width: int, height: int, fields: str = "") -> GstVideo.VideoInfo:
    return GstVideo.VideoInfo.new_from_caps(Gst.Caps.from_string(
        f"video/x-raw,format={format},width={width},height={height}{fields}"))


def buffer_of(*memories: Gst.Memory) -> Gst.Buffer:
    buffer = Gst.Buffer.new()
    for memory in memories:
        buffer.append_memory(memory)
    return buffer


class DeviceTestCase(support.TestCase):
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
        return buffer_of(self.new_memory(data))

    def assert_writable(self, memory: Gst.Memory, expected: bool) -> None:
        """Whether the memory is not mapped elsewhere, so that it can be mapped for
        writing.
        """
        try:
            GstVkgdr.Mapping.new(memory, WRITE | GstVkgdr.MAP_VKGDR).unmap()
            found = True
        except GLib.Error:
            found = False
        self.assertEqual(found, expected)

    def wait_until(self, condition: Callable[[], bool], seconds: float = 5) -> None:
        """Waits for a thread of the library, or for another process."""
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.001)
        self.assertTrue(condition())

    def run_buffer(self, elements: str, caps: Gst.Caps, buffer: Gst.Buffer) -> bytes:
        """Pushes a buffer through elements. Returns the bytes that come out."""
        (sample,) = play(
            f'appsrc name=src format=time caps="{caps.to_string()}" ! {elements} '
            "! appsink name=sink sync=false", [buffer], self.context)
        return host_bytes(sample.get_buffer())


def play(
    description: str, buffers: Sequence[Gst.Buffer] = (), context: Optional[GstVkgdr.Context] = None
) -> List[Gst.Sample]:
    """Runs a pipeline to its end. The buffers are for its appsrc "src". Returns the samples
    of its appsink "sink". Raises its error.
    """
    pipeline = Gst.parse_launch(description)
    if context:
        pipeline.set_context(context.to_gst_context())
    pipeline.set_state(Gst.State.PLAYING)
    src, sink = pipeline.get_by_name("src"), pipeline.get_by_name("sink")
    for i, buffer in enumerate(buffers):
        if buffer.pts == Gst.CLOCK_TIME_NONE:
            buffer.pts, buffer.duration = i * Gst.SECOND // 25, Gst.SECOND // 25
        src.emit("push-buffer", buffer)
    if src:
        src.emit("end-of-stream")
    samples: List[Gst.Sample] = list(iter(
        lambda: sink and sink.emit("try-pull-sample", 20 * Gst.SECOND), None))
    message = pipeline.get_bus().timed_pop_filtered(
        20 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    if message is None:
        raise TimeoutError(description)
    if message.type == Gst.MessageType.ERROR:
        raise message.parse_error()[0]
    return samples


# CUDA contexts that are not destroyed, because objects of a test may outlive the test.
_kept: List[driver.Context] = []


def other_cuda_context() -> GstVkgdr.Context:
    """A context of the first device with a CUDA context of its own."""
    _kept.append(driver.Device(0).make_context())
    try:
        return GstVkgdr.Context.new_from_current()
    finally:
        driver.Context.pop()


def download(memory: Gst.Memory) -> bytes:
    """The content of device memory."""
    with GstVkgdr.Mapping.new(memory, READ) as mapping:
        return mapping.data.tobytes()


def host_bytes(buffer: Gst.Buffer) -> bytes:
    return buffer.extract_dup(0, buffer.get_size())


def add_video_meta(
    buffer: Gst.Buffer, info: GstVideo.VideoInfo, offsets: List[int], strides: List[int]
) -> None:
    padding = [0] * (4 - len(offsets))
    GstVideo.buffer_add_video_meta_full(
        buffer, GstVideo.VideoFrameFlags.NONE, info.finfo.format, info.width, info.height,
        len(offsets), offsets + padding, strides + padding)
