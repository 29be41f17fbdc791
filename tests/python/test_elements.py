# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of elements that are written in Python, on the GPU and on the CPU."""

import contextlib
import gc
import importlib.util
import io
import os
import sys
import unittest
import weakref
from typing import Any, List

import gst_support
import support
from gst_support import video_caps

import gi

gi.require_version("GstBase", "1.0")
from gi.repository import GLib, Gst, GstVkgdr  # noqa: E402

try:
    import numpy as np
    from vkgdr import compiler, driver
except ImportError:
    np = None

EXAMPLE = os.path.join(
    os.path.dirname(os.path.abspath(__file__)),
    "..", "..", "docs", "examples", "python", "gpu_element.py",
)
CAPS = Gst.Caps.from_string("video/x-raw(memory:VkgdrMemory),format=RGBA")
ANY = Gst.Caps.from_string("application/x-test(memory:VkgdrMemory)")


def load_example() -> Any:
    spec = importlib.util.spec_from_file_location("gpu_element", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.register()
    return module


def templates(caps: Gst.Caps) -> tuple:
    always = Gst.PadPresence.ALWAYS
    return (
        Gst.PadTemplate.new("sink", Gst.PadDirection.SINK, always, caps),
        Gst.PadTemplate.new("src", Gst.PadDirection.SRC, always, caps),
    )


example = load_example()
METADATA = ("A test's filter", "Filter", "Does what a test sets", "tests")


class TestFilter(GstVkgdr.VideoFilter):
    """A filter whose functions are set by each test."""

    __gstmetadata__ = METADATA
    __gsttemplates__ = templates(CAPS)
    on_frame: Any = None
    on_info: Any = None
    on_open: Any = None

    def do_open(self) -> Any:
        return type(self).on_open(self) if type(self).on_open else None

    def do_set_info(self, source: Any, target: Any) -> Any:
        return type(self).on_info(self, source, target) if type(self).on_info else None

    def do_filter_frame(self, source: Any, target: Any, stream: Any) -> Any:
        return type(self).on_frame(self, source, target, stream)


class CpuFilter(GstVkgdr.VideoFilter):
    __gstmetadata__ = METADATA
    __gsttemplates__ = templates(CAPS)
    seen: List[Any] = []

    def do_filter_frame_cpu(self, source: Any, target: Any) -> None:
        (pixels,) = GstVkgdr.frame_arrays(source)
        (result,) = GstVkgdr.frame_arrays(target, writable=True)
        self.seen.append((pixels.shape, pixels.flags.writeable, result.flags.writeable))
        result[...] = pixels[::-1]


def pointer(buffer: Gst.Buffer) -> int:
    """The device pointer of a buffer with one memory."""
    return int(buffer.peek_memory(0))


class EmptyFilter(GstVkgdr.VideoFilter):
    __gstmetadata__ = METADATA
    __gsttemplates__ = templates(CAPS)


class EmptyByteFilter(GstVkgdr.Filter):
    __gstmetadata__ = METADATA
    __gsttemplates__ = templates(CAPS)


class ByteFilter(GstVkgdr.Filter):
    """A filter for any caps, not only video."""

    __gstmetadata__ = METADATA
    __gsttemplates__ = templates(ANY)

    def do_negotiated(self, source: Gst.Caps, target: Gst.Caps) -> None:
        with self.get_context():
            self.add = compiler.SourceModule(
                "__global__ void add (const unsigned char *in, unsigned char *out, int n)"
                "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = in[i] + 1; }"
            ).get_function("add").prepare("PPi")

    def do_filter(self, source: Gst.Buffer, target: Gst.Buffer, stream: Any) -> None:
        n = source.get_size()
        with self.get_context():
            self.add.prepared_async_call(
                ((n + 63) // 64,), (64,), stream, pointer(source), pointer(target), n)


for name, cls in {
    "pytest": TestFilter,
    "pycpu": CpuFilter,
    "pybytes": ByteFilter,
    "pyempty": EmptyFilter,
    "pyemptybytes": EmptyByteFilter,
}.items():
    Gst.Element.register(None, name, Gst.Rank.NONE, cls)

WIDTH, HEIGHT = 64, 4


@unittest.skipIf(np is None, "numpy is missing")
class Elements(gst_support.DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        driver.init()
        TestFilter.on_frame = TestFilter.on_info = TestFilter.on_open = None

    def filter_frame(self, element: str, data: bytes) -> bytes:
        buffer = Gst.Buffer.new_wrapped(data)
        caps = video_caps("RGBA", WIDTH, HEIGHT)
        (sample,) = self.run_buffers(f"vkgdrupload ! {element} ! vkgdrdownload", caps, [buffer])
        return gst_support.host_bytes(sample.get_buffer())

    def fail_with(self, element: str = "pytest") -> GLib.Error:
        """Runs a pipeline with a filter of the test. Returns the error that it ends with.
        """
        pipeline = Gst.parse_launch(
            f"videotestsrc num-buffers=2 ! video/x-raw,format=RGBA,width={WIDTH},height={HEIGHT} "
            f"! vkgdrupload ! {element} ! fakesink"
        )
        stderr = io.StringIO()
        with contextlib.redirect_stderr(stderr):
            pipeline.set_state(Gst.State.PLAYING)
            message = pipeline.get_bus().timed_pop_filtered(
                20 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR
            )
            pipeline.set_state(Gst.State.NULL)
        self.assertIsNotNone(message)
        self.assertEqual(message.type, Gst.MessageType.ERROR)
        self.stderr = stderr.getvalue()
        return message.parse_error()[0]

    def negative(self, data: bytes) -> bytes:
        return bytes(b if i % 4 == 3 else 255 - b for i, b in enumerate(data))

    def test_the_example(self) -> None:
        data = support.pattern(WIDTH * HEIGHT * 4)
        for element in "pynegative backend=kernel", "pynegativecpu":
            result = self.filter_frame(element, data)
            self.assertEqual(result, self.negative(data), element)

    def test_cpu_alone(self) -> None:
        data = support.pattern(WIDTH * HEIGHT * 4)
        CpuFilter.seen.clear()
        rows = [data[i : i + WIDTH * 4] for i in range(0, len(data), WIDTH * 4)]
        self.assertEqual(self.filter_frame("pycpu", data), b"".join(reversed(rows)))
        self.assertEqual(CpuFilter.seen, [((HEIGHT, WIDTH, 4), False, True)])

    def test_bytes(self) -> None:
        data = support.pattern(1000)
        (sample,) = self.run_buffers(
            "vkgdrupload ! pybytes ! vkgdrdownload",
            Gst.Caps.from_string("application/x-test"),
            [Gst.Buffer.new_wrapped(data)],
        )
        expected = bytes((b + 1) % 256 for b in data)
        self.assertEqual(gst_support.host_bytes(sample.get_buffer()), expected)

    def test_arrays_on_the_stream(self) -> None:
        """Uses both frames as a tensor library does, without a wait."""
        seen = []

        def work(element: Any, source: Any, target: Any, stream: Any) -> None:
            info = element.get_input_info()
            with GstVkgdr.device_array(source, info, stream=stream) as pixels, \
                    GstVkgdr.device_array(target, info, Gst.MapFlags.WRITE, stream=stream) as out:
                seen.append((pixels.shape, out.readonly, pixels.stream is stream))
                self.assertEqual(pixels.__cuda_array_interface__["stream"], stream.handle)
            with element.get_context():
                driver.memcpy_dtod_async(
                    pointer(target), pointer(source), source.get_size(), stream)

        TestFilter.on_frame = work
        data = support.pattern(WIDTH * HEIGHT * 4)
        self.assertEqual(self.filter_frame("pytest", data), data)
        self.assertEqual(seen, [((HEIGHT, WIDTH, 4), False, True)])

    def test_in_place(self) -> None:
        same = []

        def work(element: Any, source: Any, target: Any, stream: Any) -> None:
            same.append(source.peek_memory(0) == target.peek_memory(0))
            with element.get_context():
                driver.memset_d8_async(pointer(target), 7, target.get_size(), stream)

        TestFilter.on_open = lambda element: element.set_in_place(True)
        TestFilter.on_frame = work
        data = bytes(WIDTH * HEIGHT * 4)
        self.assertEqual(self.filter_frame("pytest", data), b"\7" * len(data))
        self.assertEqual(len(same), 1)

    def test_errors(self) -> None:
        """What a function raises, or that it returns False, is the error of the element. The
        error has the place. sys.exit() in a streaming thread does not end the process.
        """
        def refuse(*args: Any) -> None:
            raise KeyError("no such thing")

        for name, function, text in (
            ("on_frame", refuse, "do_filter_frame(): KeyError: 'no such thing' (test_elements.py"),
            ("on_info", refuse, "do_set_info(): KeyError: 'no such thing'"),
            ("on_open", refuse, "do_open(): KeyError: 'no such thing'"),
            ("on_frame", lambda *args: sys.exit("enough"), "do_filter_frame(): SystemExit: enough"),
            ("on_frame", lambda *args: False, "failed, and gave no reason"),
            ("on_info", lambda *args: False, "failed, and gave no reason"),
        ):
            TestFilter.on_frame = TestFilter.on_info = TestFilter.on_open = None
            setattr(TestFilter, name, function)
            with self.subTest(function=name, text=text):
                self.assertIn(text, self.fail_with().message)
                self.assertEqual("Traceback" in self.stderr, function is refuse or "exit" in text.lower())

    def test_no_function_for_frames(self) -> None:
        for element, function in ("pyempty", "filter_frame_cpu"), ("pyemptybytes", "filter"):
            message = self.fail_with(element).message
            self.assertRegex(message, f"has no function for .* {function}$")

    def test_an_error_of_the_library_stays_as_it_is(self) -> None:
        def work(element: Any, *args: Any) -> None:
            GstVkgdr.Kernel.new_from_source(element.get_context(), "nonsense", "mine", None)

        TestFilter.on_frame = work
        error = self.fail_with()
        self.assertIn("mine does not compile", error.message)
        self.assertTrue(error.matches(Gst.LibraryError.quark(), Gst.LibraryError.SETTINGS))

    def test_elements_go_with_their_pipeline(self) -> None:
        """Those that a pipeline makes, and those that are made by hand."""
        for make in (lambda: Gst.ElementFactory.make("pynegative", None), example.Negative):
            made, gone = make(), []
            made.weak_ref(lambda: gone.append(1))
            pipeline = Gst.Pipeline.new(None)
            pipeline.add(made)
            del pipeline
            self.assertEqual(gone, [])
            reference = weakref.ref(made)
            del made
            gc.collect()
            self.assertEqual((gone, reference()), ([1], None))

    def test_stats_and_properties(self) -> None:
        element = Gst.ElementFactory.make("pynegative", None)
        self.assertEqual(element.get_property("stats").get_value("frames"), 0)
        self.assertEqual(element.get_property("device"), -1)
        bin = Gst.Bin.new(None)
        bin.add(element)

    def test_wrong_frames(self) -> None:
        with self.assertRaisesRegex(TypeError, "a GstVideo.VideoFrame is needed, not int"):
            GstVkgdr.frame_arrays(3)


if __name__ == "__main__":
    support.main()
