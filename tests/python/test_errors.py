# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of the classes of errors. Each error is a GLib.Error, too, with its domain and
code.
"""

import builtins
import copy

import gst_support
import support
from gi.repository import GLib, Gst, GstVkgdr


class Names(gst_support.DeviceTestCase):
    def test_compile_error(self) -> None:
        with self.assertRaises(GstVkgdr.CompileError) as caught:
            GstVkgdr.Kernel.new_from_source(
                self.context, "__global__ void f () { nonsense; }", "mine", None)
        error = caught.exception
        self.assertIsInstance(error, GstVkgdr.CudaError)
        self.assertIsInstance(error, GLib.Error)
        self.assertTrue(error.matches(GstVkgdr.error_quark(), GstVkgdr.Error.COMPILE))
        self.assertIn("mine does not compile", error.message)
        self.assertIn("nonsense", error.stderr)
        self.assertNotIn("mine does not compile", error.stderr)

    def test_classes(self) -> None:
        """Errors of the caller, of the machine, and a lack of memory."""
        memory, stream = self.allocator.alloc(16), GstVkgdr.Stream(self.context)
        for call, error, of_python in (
            (lambda: GstVkgdr.Kernel.new_from_source(
                self.context, "__global__ void f () {}", "mine", "g"), GstVkgdr.LogicError, object),
            (lambda: GstVkgdr.memory_fill(memory, 0, 17, 0, stream), GstVkgdr.LogicError, object),
            (lambda: GstVkgdr.Context(99).get_cuda_context(), GstVkgdr.RuntimeError,
             builtins.RuntimeError),
            (lambda: self.allocator.alloc(1 << 60), GstVkgdr.MemoryError, builtins.MemoryError),
        ):
            with self.assertRaises(error) as caught:
                call()
            self.assertIsInstance(caught.exception, of_python)
            self.assertEqual(isinstance(caught.exception, GstVkgdr.LogicError),
                             error is GstVkgdr.LogicError)
        self.assertIn("no memory for", caught.exception.message)

    def test_launch_error(self) -> None:
        """A later call raises the error. This runs in its own process, because
        the CUDA context cannot be used afterwards.
        """
        result = support.run_python("""
import os
# On a GPU, the address is wrong.
os.environ["SOFTCUDA_FAIL"] = "cuEventQuery:1+:719,cuEventSynchronize:1+:719"
import gst_support
from gi.repository import GLib, GstVkgdr
from vkgdr import compiler, driver
context = GstVkgdr.Context()
driver.init()
try:
    with context:
        if not context.is_software():
            wild = compiler.SourceModule("__global__ void f () { *(int *) 16 = 1; }")
            wild.get_function("f")(block=(1, 1, 1))
        context.synchronize()
except GstVkgdr.LaunchError as error:
    print(error.cuda_error, isinstance(error, GLib.Error))
""")
        self.assertRegex(
            result.stdout, "CUDA_ERROR_(LAUNCH_FAILED|ILLEGAL_ADDRESS) True", result.returncode
        )

    def test_names_of_the_driver(self) -> None:
        for name, kind in (
            ("CUDA_ERROR_OUT_OF_MEMORY", GstVkgdr.MemoryError),
            ("CUDA_ERROR_LAUNCH_TIMEOUT", GstVkgdr.LaunchError),
            ("CUDA_ERROR_MISALIGNED_ADDRESS", GstVkgdr.LaunchError),
            ("CUDA_ERROR_INVALID_VALUE", GstVkgdr.LogicError),
            ("CUDA_ERROR_NOT_READY", GstVkgdr.RuntimeError),
            (None, GstVkgdr.RuntimeError),
        ):
            message = f"cuX: {name} (t)" if name else "it failed"
            with self.subTest(message=message):
                error = GLib.Error(
                    message, "gst-vkgdr-error-quark", int(GstVkgdr.Error.FAILED)
                )
                self.assertIs(type(error), kind)
                self.assertEqual(error.cuda_error, name)
                self.assertEqual(error.args, (message,))

    def test_copies_keep_the_class(self) -> None:
        error = GLib.Error("m", "gst-vkgdr-error-quark", int(GstVkgdr.Error.COMPILE))
        for other in (error.copy(), copy.copy(error)):
            self.assertIsInstance(other, GstVkgdr.CompileError)
            self.assertEqual((other.message, other.domain, other.code),
                             (error.message, error.domain, error.code))

    def test_of_a_pipeline(self) -> None:
        """An error that an element posts has its class, too."""
        pipeline = Gst.parse_launch(
            "videotestsrc num-buffers=1 ! vkgdrupload ! cudafilter kernel=missing ! fakesink"
        )
        pipeline.set_state(Gst.State.PLAYING)
        message = pipeline.get_bus().timed_pop_filtered(
            10 * Gst.SECOND, Gst.MessageType.ERROR
        )
        pipeline.set_state(Gst.State.NULL)
        self.assertIsInstance(message.parse_error()[0], GLib.Error)

    def test_errors_of_others_are_left_alone(self) -> None:
        with self.assertRaises(GLib.Error) as caught:
            Gst.parse_launch("no-such-element")
        self.assertIs(type(caught.exception), GLib.Error)
        self.assertIs(type(GLib.Error("plain")), GLib.Error)
        self.assertIs(type(GLib.Error()), GLib.Error)

        class Own(GLib.Error):
            pass

        self.assertIs(type(Own("m", "gst-vkgdr-error-quark", 4)), Own)


if __name__ == "__main__":
    support.main()
