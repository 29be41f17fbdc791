# SPDX-License-Identifier: LGPL-2.1-or-later
"""What users get who give vkgdrinfer something that it cannot run: one sentence with what
to do. Each case is a process of gst-launch-1.0, which loads ONNX Runtime anew.
"""

import os
import unittest
from typing import Any, Tuple

os.environ["VKGDR_DRIVER"] = os.environ.get("VKGDR_DRIVER", "software")

import launch  # noqa: E402
import networks  # noqa: E402
from infer_support import Folder  # noqa: E402
from networks import FLOAT, UINT8, Graph, TensorProto, value  # noqa: E402

FAKE = os.environ["FAKE_ONNXRUNTIME"]


def run(elements: str, **variables: str) -> Tuple[int, str]:
    """The exit status and all output: nothing reads stderr alone, to which Debian's ONNX
    Runtime writes, too.
    """
    result = launch.run(
        launch.LAUNCH, *"videotestsrc num-buffers=2 ! vkgdrupload !".split(), *elements.split(),
        "!", "fakesink", LC_ALL="C.UTF-8", **variables)
    return result.returncode, result.stdout + result.stderr


class Errors(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Folder()
        self.addCleanup(self.folder.folder.cleanup)
        self.input = [value("x", FLOAT, 1, 3, 8, 8)]

    def passing(self, *inputs: Any, **kw: Any) -> str:
        return networks.passing(self.folder.path("model.onnx"), inputs or self.input, **kw)

    def refused(self, expected: str, elements: str, **variables: str) -> None:
        status, output = run(elements, **variables)
        self.assertIn(status, (1, 255), output)
        errors = [line for line in output.splitlines() if line.startswith("ERROR: from")]
        # After an error in the stream, the source posts one, too.
        self.assertEqual(len([e for e in errors if "vkgdrinfer" in e]), 1, output)
        self.assertRegex(errors[0], expected)

    def model_refused(self, expected: str, model: str) -> None:
        self.refused(expected, f"vkgdrinfer model-file={model}")

    def test_no_model(self) -> None:
        self.refused("set model-file to an ONNX model", "vkgdrinfer")
        self.model_refused("There is no file /nowhere: set model-file", "/nowhere")

    def test_no_library(self) -> None:
        self.refused(
            "ONNX Runtime cannot be loaded: .*/nowhere.*install libonnxruntime.*or set "
            "VKGDR_ONNXRUNTIME", f"vkgdrinfer model-file={self.passing()}",
            VKGDR_ONNXRUNTIME="/nowhere.so")

    def test_another_library(self) -> None:
        self.refused(
            "not ONNX Runtime", f"vkgdrinfer model-file={self.passing()}",
            VKGDR_ONNXRUNTIME="libm.so.6")

    def test_old_library(self) -> None:
        self.refused(
            "ONNX Runtime 1.21.0 is too old, it has to be 1.22 or newer",
            f"vkgdrinfer model-file={self.passing()}", VKGDR_ONNXRUNTIME=FAKE,
            FAKE_VERSION="1.21.0")

    def test_damaged(self) -> None:
        model = self.folder.path("damaged.onnx")
        with open(self.passing(), "rb") as file:
            half = file.read()[:40]
        for content in (b"", b"no model at all", half):
            with open(model, "wb") as file:
                file.write(content)
            with self.subTest(content):
                self.model_refused("damaged.onnx is damaged, or it is no ONNX model", model)

    def test_newer(self) -> None:
        self.model_refused("newer than ONNX Runtime .*lower opset", self.passing(ir=999))
        self.model_refused("newer than ONNX Runtime .*lower opset", self.passing(opset=999))

    def test_unknown_operator(self) -> None:
        self.model_refused(
            "has an operator that ONNX Runtime .* does not have: .*Frobnicate",
            self.passing(op="Frobnicate"))

    def test_inputs(self) -> None:
        two = [value(name, FLOAT, 1, 3, 8, 8) for name in ("x", "z")]
        self.model_refused("has 2 inputs: it has to have one", self.passing(*two, op="Add"))
        for dims in (1, 3), (1, 5, 8, 8), (1, 3, 3, 8, 8):
            self.model_refused('input "x" .* is no picture', self.passing(value("x", FLOAT, *dims)))
        self.model_refused("takes 4 pictures at once", self.passing(value("x", FLOAT, 4, 3, 8, 8)))
        self.model_refused(
            "type int64: it has to be float32, float16",
            self.passing(value("x", TensorProto.INT64, 1, 3, 8, 8)))

    def test_output_type(self) -> None:
        graph = Graph()
        graph.node("Cast", "x", to=TensorProto.STRING, output="y")
        model = graph.save(
            self.folder.path("text.onnx"), self.input, [value("y", TensorProto.STRING, 1, 3, 8, 8)])
        self.model_refused('"y" of the network has a type that GStreamer does not have', model)

    def test_modelinfo(self) -> None:
        model = self.passing()
        head = "[modelinfo]\nversion=1.0\n"
        for text, expected in (
                (head + "[y]\ndims=1,3,8,9\n", '"y" has the dims 1,3,8,9, but the network has '
                                               "1,3,8,8: correct its dims"),
                (head + "[y]\ndims=1,3,8\n", "correct its dims"),
                (head + "[y]\ntype=float16\n", "the type float16, but the network has float32"),
                (head + "[x]\ndims=1,3,9,8\ntype=float32\n", '"x" has the dims 1,3,9,8'),
                ("[modelinfo]\nversion=2.0\n", "not of version 1"),
                ("no key file", "cannot be read")):
            self.folder.modelinfo(model, text)
            with self.subTest(text):
                self.model_refused(expected, model)
        self.refused(
            "/nowhere cannot be read", f"vkgdrinfer model-file={model} modelinfo=/nowhere")

    def test_mean(self) -> None:
        self.refused(
            "mean has 2 values", f"vkgdrinfer model-file={self.passing()} mean=<1.0,2.0>")

    def test_provider(self) -> None:
        model = self.passing()
        self.refused(
            "CUDA provider is not in .*pip install onnxruntime-ep-cuda13",
            f"vkgdrinfer model-file={model} execution-provider=cuda")
        library = self.folder.path("provider.so")
        with open(library, "wb") as file:
            file.write(b"no library")
        self.refused(
            "provider .*/provider.so cannot be loaded: .*provider.so",
            f"vkgdrinfer model-file={model} execution-provider=cuda provider-library={library}")
        status, output = run(f"vkgdrinfer model-file={model} provider-library={library}")
        self.assertEqual(status, 0, output)
        self.assertRegex(output, "WARNING: from.*The network runs on the CPU. .*provider.so")

    def test_threads(self) -> None:
        """ONNX Runtime gets as many threads as are asked for, and by default at most four."""
        for threads in 3, 0:
            _, output = run(
                f"vkgdrinfer model-file={self.passing()} threads={threads}",
                GST_DEBUG="vkgdrinfer:4")
            expected = threads or min(os.cpu_count() or 1, 4)
            self.assertRegex(output, f"ONNX Runtime .* {expected} threads")

    def test_driver_fails(self) -> None:
        """A call of the driver that fails is an error that names it."""
        model = networks.yolo(self.folder.path("yolo.onnx"), 32, 32)
        self.folder.modelinfo(model, networks.YOLO_MODELINFO)
        for call in ("cuMemAlloc:1+", "cuModuleLoadDataEx:1", "cuModuleLoadDataEx:2",
                     "cuLaunchKernel:1", "cuLaunchKernel:2"):
            with self.subTest(call):
                status, output = run(f"vkgdrinfer model-file={model} ! yolov8tensordec",
                                     SOFTCUDA_FAIL=call)
                self.assertIn(status, (1, 2, 255), output)
                self.assertRegex(output, f"ERROR: from.*{call.partition(':')[0]}")

    def test_run_fails(self) -> None:
        """A network whose sizes do not fit fails in the run."""
        graph = Graph()
        graph.node(
            "Reshape", "x", graph.constant(networks.np.array([7, -1], networks.np.int64)),
            output="y")
        model = graph.save(self.folder.path("run.onnx"), [value("x", UINT8, 1, 3, "h", "w")],
                           [value("y", UINT8, 7, "n")])
        self.model_refused("ONNX Runtime .*: Run: ", model)


if __name__ == "__main__":
    raise SystemExit(launch.main())
