# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of elements that are written in Python, on the GPU and on the CPU, and of what
programs see of the plugin's elements.
"""

import contextlib
import gc
import io
import itertools
import os
import runpy
import sys
import weakref
from typing import Any

import gst_support
import support
import numpy as np
from gst_support import video_caps

import gi

gi.require_version("GstBase", "1.0")
from gi.repository import GLib, GObject, Gst, GstVkgdr  # noqa: E402
from vkgdr import compiler, driver  # noqa: E402

WIDTH, HEIGHT = 64, 4
NUMBERS = itertools.count()

example = runpy.run_path(os.path.join(
    os.path.dirname(support.__file__), "../../docs/examples/python/gpu_element.py"), {}, "example")
example["register"]()


def register(
    base: type = GstVkgdr.VideoFilter, media: str = "video/x-raw", **functions: Any
) -> str:
    """Registers an element with these functions. Returns its name."""
    caps = Gst.Caps.from_string(f"{media}(memory:VkgdrMemory)")
    directions = {"sink": Gst.PadDirection.SINK, "src": Gst.PadDirection.SRC}
    name = f"python{next(NUMBERS)}"
    cls = type(base)(name, (base,), {
        "__module__": __name__,
        "__gstmetadata__": ("A test's filter", "Filter", "Does what a test sets", "tests"),
        "__gsttemplates__": tuple(
            Gst.PadTemplate.new(pad, direction, Gst.PadPresence.ALWAYS, caps)
            for pad, direction in directions.items()),
        **functions,
    })
    Gst.Element.register(None, name, Gst.Rank.NONE, cls)
    return name


def pointer(buffer: Gst.Buffer) -> int:
    """The device pointer of a buffer with one memory."""
    return int(buffer.peek_memory(0))


class Elements(gst_support.DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.data = support.pattern(WIDTH * HEIGHT * 4)
        self.pixels = np.frombuffer(self.data, "u1").reshape(HEIGHT, WIDTH, 4)

    def filter(self, element: str, caps: Any = video_caps("RGBA", WIDTH, HEIGHT)) -> Any:
        """Returns a frame behind an element."""
        data = self.run_buffer(f"vkgdrupload ! {element} ! vkgdrdownload", caps,
                               Gst.Buffer.new_wrapped(self.data))
        return np.frombuffer(data, "u1").reshape(self.pixels.shape)

    def test_the_example(self) -> None:
        negative = self.pixels ^ np.array([255, 255, 255, 0], "u1")
        for element in "pynegative backend=kernel", "pynegativecpu":
            np.testing.assert_array_equal(self.filter(element), negative)
        self.assert_raise((TypeError, "a GstVideo.VideoFrame is needed, not int",
                           GstVkgdr.frame_arrays, 3))

    def test_bytes(self) -> None:
        """A filter for any caps, not only video."""
        def negotiated(element: Any, source: Gst.Caps, target: Gst.Caps) -> None:
            with element.get_context():
                element.add = compiler.SourceModule(
                    "__global__ void add (const unsigned char *in, unsigned char *out)"
                    "{ out[threadIdx.x] = in[threadIdx.x] + 1; }"
                ).get_function("add").prepare("PP")

        def work(element: Any, source: Gst.Buffer, target: Gst.Buffer, stream: Any) -> None:
            with element.get_context():
                element.add.prepared_async_call(
                    (1,), (source.get_size(),), stream, pointer(source), pointer(target))

        name = register(
            GstVkgdr.Filter, "application/x-test", do_negotiated=negotiated, do_filter=work)
        found = self.filter(name, Gst.Caps.from_string("application/x-test"))
        np.testing.assert_array_equal(found, self.pixels + np.uint8(1))

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

        found = self.filter(register(do_filter_frame=work))
        np.testing.assert_array_equal(found, self.pixels)
        self.assertEqual(seen, [((HEIGHT, WIDTH, 4), False, True)])

    def test_filter_maps_its_buffers(self) -> None:
        """Instead of queueing work, also in place. Kernels before and after it are in order."""
        def work(element: Any, source: Gst.Buffer, target: Gst.Buffer, stream: Any) -> None:
            with GstVkgdr.mapped(source) as (data,):
                changed = data ^ np.uint8(0x55)
            with GstVkgdr.mapped(target, None, Gst.MapFlags.WRITE) as (data,):
                data[:] = changed

        for in_place in False, True:
            name = register(GstVkgdr.Filter, do_filter=work,
                            do_open=lambda one: one.set_in_place(in_place))
            invert = "cudafilter kernel=invert"
            np.testing.assert_array_equal(
                self.filter(f"{invert} ! {name} ! {invert}"), self.pixels ^ np.uint8(0x55))

    def test_errors(self) -> None:
        """What a function raises, or that it returns False, is the error of the element. The
        error has the place. sys.exit() in a streaming thread does not end the process. An
        error of the library stays as it is.
        """
        def refuse(*args: Any) -> None:
            raise KeyError("no such thing")

        def leave(*args: Any) -> None:
            sys.exit("enough")

        def compile_nonsense(element: Any, *args: Any) -> None:
            GstVkgdr.Kernel.new_from_source(element.get_context(), "nonsense", "mine", None)

        def return_false(*args: Any) -> bool:
            return False

        def return_zero(*args: Any) -> int:
            return 0

        def return_flow(*args: Any) -> Any:
            return Gst.FlowReturn.EOS

        for element, text, has_traceback in (
            (register(do_filter_frame=refuse),
             r"do_filter_frame\(\): KeyError: 'no such thing' \(test_elements.py", True),
            (register(do_set_info=refuse), r"do_set_info\(\): KeyError: 'no such thing'", True),
            (register(do_open=refuse), r"do_open\(\): KeyError: 'no such thing'", True),
            (register(do_filter_frame=leave), r"do_filter_frame\(\): SystemExit: enough", True),
            (register(do_filter_frame=return_false), "failed, and gave no reason", False),
            (register(do_filter_frame=return_zero),
             r"do_filter_frame\(\) returned 0: it has to return True", None),
            (register(do_filter_frame=return_flow),
             r"do_filter_frame\(\) returned .*: it has to return True", None),
            (register(do_set_info=return_false), "failed, and gave no reason", False),
            (register(do_filter_frame=compile_nonsense), "mine does not compile", False),
            (register(), "has no function for .* filter_frame_cpu ", False),
            (register(GstVkgdr.Filter), "has no function for .* filter ", False),
        ):
            stderr = io.StringIO()
            with self.subTest(text=text), contextlib.redirect_stderr(stderr):
                with self.assertRaisesRegex(GLib.Error, text) as caught:
                    gst_support.play(
                        "videotestsrc num-buffers=2 ! video/x-raw,format=RGBA "
                        f"! vkgdrupload ! {element} ! fakesink")
                self.assertEqual("Traceback" in stderr.getvalue(), bool(has_traceback))
                if has_traceback is not None:
                    self.assertEqual(
                        caught.exception.matches(
                            Gst.LibraryError.quark(), Gst.LibraryError.SETTINGS),
                        not has_traceback and "no reason" not in text)

    def test_a_flow_of_ok_is_a_success(self) -> None:
        """As in functions of other base classes of GStreamer, where it is 0."""
        def copy(element: Any, source: Any, target: Any, stream: Any) -> Any:
            with element.get_context():
                driver.memcpy_dtod_async(
                    pointer(target), pointer(source), source.get_size(), stream)
            return Gst.FlowReturn.OK

        np.testing.assert_array_equal(self.filter(register(do_filter_frame=copy)), self.pixels)

    def test_late_frames_are_dropped(self) -> None:
        """As by GstVideoFilter."""
        self.assertTrue(Gst.ElementFactory.make("cudafilter", None).get_property("qos"))

    def test_elements_go_with_their_pipeline(self) -> None:
        """Those that a pipeline makes, and those that are made by hand."""
        for make in (lambda: Gst.ElementFactory.make("pynegative", None), example["Negative"]):
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


NAMES = ("vkgdrupload", "cudafilter", "vkgdrdownload", "vkgdrtensor", "vkgdripcsink",
         "vkgdripcsrc")

# Does what a program that lists caps does. Prints the drivers and compilers that are loaded
# before a context opens the device, and whether CUDA is loaded then.
LOOK = f"""
import os, gi
gi.require_versions({{"Gst": "1.0", "GstVkgdr": "1.0"}})
from gi.repository import Gst, GstVkgdr

def opened():
    with open("/proc/self/maps") as file:
        text = file.read()
    names = "libcuda.so", "libvulkan", "libnvrtc", "libnvidia", "libLLVM"
    return [name for name in names if name in text], os.listdir("/proc/self/fd")

first = opened()
for name in {NAMES}:
    element = Gst.ElementFactory.make(name, None)
    assert element.set_state(Gst.State.READY) == Gst.StateChangeReturn.SUCCESS
    for pad in element.pads:
        pad.query_caps(None)
    element.set_state(Gst.State.NULL)
    assert opened() == first, name
context = GstVkgdr.Context.new(-1)
print(first[0], "libcuda.so" in opened()[0])
"""


class Looking(support.TestCase):
    def test_it_opens_no_device(self) -> None:
        self.assert_prints(r"\[\] True\n", LOOK)

    def test_properties(self) -> None:
        """Each property has texts, can be read, and says when it may be set. It has its
        documented default, which can be set.
        """
        mutable = (Gst.PARAM_MUTABLE_READY | Gst.PARAM_MUTABLE_PAUSED
                   | Gst.PARAM_MUTABLE_PLAYING)
        for name in NAMES:
            element = Gst.ElementFactory.make(name, None)
            properties = [one for one in element.list_properties()
                          if one.owner_type.name.startswith(("GstVkgdr", "GstCudaFilter"))]
            self.assertGreaterEqual(len(properties), 2)  # device and stats
            for one in properties:
                with self.subTest(f"{name}.{one.name}"):
                    self.assertTrue(one.nick)
                    self.assertNotIn(one.blurb, ("", one.nick))
                    value = element.get_property(one.name)
                    if one.flags & GObject.ParamFlags.WRITABLE:
                        self.assertTrue(int(one.flags) & int(mutable))
                        if one.value_type.name != "GstValueArray":
                            # PyGObject 3.58 has none for structures.
                            self.assertEqual(value, getattr(one, "default_value", None))
                        element.set_property(one.name, value)


if __name__ == "__main__":
    support.main()
