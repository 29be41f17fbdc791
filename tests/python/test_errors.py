# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of the classes of errors. Each error is a GLib.Error, too, with its domain and
code.
"""

import builtins
import copy

import gst_support
import support
from gi.repository import GLib, Gst, GstVkgdr


def library_error(message: str, code: int = GstVkgdr.Error.FAILED) -> GLib.Error:
    return GLib.Error(message, "gst-vkgdr-error-quark", int(code))


class Names(gst_support.DeviceTestCase):
    def test_compile_error(self) -> None:
        with self.assertRaises(GstVkgdr.CompileError) as caught:
            GstVkgdr.Kernel.new_from_source(
                self.context, "__global__ void f () { nonsense; }", "mine", None)
        error = caught.exception
        self.assertIsInstance(error, GstVkgdr.CudaError)
        self.assertTrue(error.matches(GstVkgdr.error_quark(), GstVkgdr.Error.COMPILE))
        self.assertIn("mine does not compile", error.message)
        self.assertIn("nonsense", error.stderr)
        self.assertNotIn("mine does not compile", error.stderr)
        for other in (error.copy(), copy.copy(error)):
            self.assertIsInstance(other, GstVkgdr.CompileError)
            self.assertEqual((other.message, other.domain, other.code),
                             (error.message, error.domain, error.code))

    def test_classes(self) -> None:
        """Errors of the caller, of the machine, and a lack of memory."""
        memory, stream = self.allocator.alloc(16), GstVkgdr.Stream(self.context)
        for kind, of_python, call, *arguments in (
            (GstVkgdr.LogicError, GLib.Error, GstVkgdr.Kernel.new_from_source, self.context,
             "__global__ void f () {}", "mine", "g"),
            (GstVkgdr.LogicError, GLib.Error, GstVkgdr.memory_fill, memory, 0, 17, 0, stream),
            (GstVkgdr.RuntimeError, builtins.RuntimeError, GstVkgdr.Context, 99),
            (GstVkgdr.MemoryError, builtins.MemoryError, self.allocator.alloc, 1 << 60),
        ):
            with self.assertRaises(kind) as caught:
                call(*arguments)
            self.assertIsInstance(caught.exception, of_python)
            self.assertEqual(isinstance(caught.exception, GstVkgdr.LogicError),
                             kind is GstVkgdr.LogicError)
        self.assertIn("no memory for", caught.exception.message)

    def test_launch_error(self) -> None:
        """A later call raises the error. This runs in its own process, because
        the CUDA context cannot be used afterwards.
        """
        self.assert_prints(".*CUDA_ERROR_(LAUNCH_FAILED|ILLEGAL_ADDRESS) True\n", """
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
    print(error.cuda_error, isinstance(error, GLib.Error), flush=True)
os._exit(0)
""")

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
            error = library_error(message)
            self.assertEqual(
                (type(error), error.cuda_error, error.args), (kind, name, (message,)))

    def test_errors_of_others_are_left_alone(self) -> None:
        """A pipeline's, and those of programs."""
        class Own(GLib.Error):
            pass

        with self.assertRaises(GLib.Error) as caught:
            Gst.parse_launch("no-such-element")
        for error in caught.exception, GLib.Error("plain"), GLib.Error():
            self.assertIs(type(error), GLib.Error)
        self.assertIs(type(Own("m", "gst-vkgdr-error-quark", 4)), Own)
        self.assertRaises(GLib.Error, gst_support.play, "videotestsrc num-buffers=1 "
                          "! vkgdrupload ! cudafilter kernel=missing ! fakesink")


if __name__ == "__main__":
    support.main()
