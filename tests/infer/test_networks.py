# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of vkgdrinfer with ONNX Runtime: the numbers of networks, and their boxes."""

import os
import time
import unittest
from typing import List

os.environ["VKGDR_DRIVER"] = os.environ.get("VKGDR_DRIVER", "software")

import networks  # noqa: E402
from gst_support import Gst, GstVkgdr, play  # noqa: E402
from infer_support import Box, Folder, detections, infer, tensors  # noqa: E402

import numpy as np  # noqa: E402

BOX = Box(200, 120, 90, 60)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Folder()
        self.addCleanup(self.folder.folder.cleanup)

    def yolo(self, *args: object, **kw: object) -> str:
        model = networks.yolo(self.folder.path("ball.onnx"), *args, **kw)
        return self.folder.modelinfo(model, networks.YOLO_MODELINFO)

    def assert_box(self, found: List[Box], expected: Box, error: float) -> None:
        self.assertEqual(len(found), 1, found)
        for got, wanted in zip(found[0], expected):
            self.assertAlmostEqual(got, wanted, delta=error, msg=f"{found[0]} {expected}")


def box_of(buffer: Gst.Buffer) -> Box:
    x, y, w, h, _ = tensors(buffer)[0][1].ravel()
    return Box(x - w / 2, y - h / 2, w, h)


class Boxes(Case):
    """The box of the frame comes back in the frame's pixels."""

    def check(
        self, model: str, width: int, height: int, extra: str = "", format: str = "NV12",
        error: float = 3
    ) -> None:
        (sample,) = infer(
            width, height, BOX, f"vkgdrinfer model-file={model} {extra}", format)
        self.assert_box([box_of(sample.get_buffer())], BOX, error)

    def test_formats(self) -> None:
        model = self.yolo()
        for format in "NV12", "I420", "RGBA", "BGR", "GRAY8", "YUY2", "P010_10LE":
            with self.subTest(format):
                self.check(model, 640, 480, format=format)

    def test_sizes_and_resizes(self) -> None:
        model = self.yolo(256, 320)
        for width, height in (640, 480), (334, 502), (320, 256), (960, 400):
            for resize in "letterbox", "stretch":
                with self.subTest(f"{width}x{height} {resize}"):
                    self.check(model, width, height, f"resize={resize}")

    def test_crop(self) -> None:
        self.check(self.yolo(256, 256), 490, 300, "resize=crop")

    def test_types_and_layouts(self) -> None:
        for type in "float32", "float16", "uint8":
            for layout in "nchw", "nhwc":
                with self.subTest(f"{type} {layout}"):
                    self.check(self.yolo(layout=layout, type=type), 640, 480)

    def test_without_map(self) -> None:
        (sample,) = infer(
            640, 480, BOX, f"vkgdrinfer model-file={self.yolo()} map-coordinates=false")
        expected = Box(BOX.x / 2, BOX.y / 2 + 40, BOX.width / 2, BOX.height / 2)
        self.assert_box([box_of(sample.get_buffer())], expected, 1.5)

    def test_window_is_not_needed(self) -> None:
        os.environ["VKGDR_DEBUG"] = "no-window"
        try:
            self.check(self.yolo(), 640, 480)
        finally:
            del os.environ["VKGDR_DEBUG"]


class Decoders(Case):
    """GStreamer's decoders accept the caps, and find the box."""

    def test_yolo(self) -> None:
        for decoder in "yolov8tensordec", "tensordecodebin":
            with self.subTest(decoder):
                samples = infer(
                    640, 480, BOX, f"vkgdrinfer model-file={self.yolo()} ! {decoder} ! vkgdrupload "
                    "! video/x-raw(memory:VkgdrMemory)", n=3)
                self.assertEqual(len(samples), 3)
                for sample in samples:
                    self.assert_box(detections(sample.get_buffer()), BOX, 3)

    def test_corners(self) -> None:
        for group, decoder, text in (
                ("face", "ultralightfacedetectortensordec", networks.FACE_MODELINFO),
                ("ssd", "ssdtensordec", networks.SSD_MODELINFO)):
            with self.subTest(group):
                model = networks.corners(self.folder.path(f"{group}.onnx"), group, 256, 320)
                self.folder.modelinfo(model, text)
                (sample,) = infer(
                    334, 502, BOX, f"vkgdrinfer model-file={model} ! {decoder}")
                self.assert_box(detections(sample.get_buffer()), BOX, 4)

    def test_caps(self) -> None:
        (sample,) = infer(64, 48, Box(8, 8, 8, 8), f"vkgdrinfer model-file={self.yolo()}")
        caps = sample.get_caps()
        self.assertTrue(caps.get_features(0).is_equal(
            Gst.CapsFeatures.from_string("memory:SystemMemory")))
        expected = Gst.Caps.from_string(
            "video/x-raw, tensors=(structure)[tensorgroups, yolo-v8-out=(/uniquelist){ "
            "(caps)\"tensor/strided, tensor-id=yolo-v8-out, dims-order=col-major, type=float32, "
            "dims=<1,5,1>\" }]")
        self.assertTrue(caps.can_intersect(expected), caps.to_string())
        self.assertIn("tensor-id=(string)yolo-v8-out", caps.to_string().replace("\\", ""))

    def test_two_networks(self) -> None:
        """The second network replaces the tensors of the first one."""
        first = networks.corners(self.folder.path("ssd.onnx"), "ssd", 256, 320)
        self.folder.modelinfo(first, networks.SSD_MODELINFO)
        (sample,) = infer(
            640, 480, BOX, f"vkgdrinfer model-file={first} ! ssdtensordec ! vkgdrupload "
            f"! vkgdrinfer model-file={self.yolo()} ! yolov8tensordec")
        buffer = sample.get_buffer()
        self.assertEqual([name for name, _ in tensors(buffer)], ["yolo-v8-out"])
        for box in detections(buffer):
            self.assert_box([box], BOX, 4)
        self.assertEqual(len(detections(buffer)), 2)

    def test_boxes_are_drawn(self) -> None:
        """The pipeline of docs/inference.md, to the pixels of the frame."""
        (sample,) = infer(
            640, 480, BOX, f"vkgdrinfer model-file={self.yolo()} ! queue ! tensordecodebin "
            "! vkgdrupload ! cudafilter kernel=boxes ! vkgdrdownload", "RGB")
        buffer = sample.get_buffer()
        rows = np.frombuffer(buffer.extract_dup(0, buffer.get_size()), np.uint8)
        rows = rows.reshape(480, 640, 3)
        is_gray = (rows == rows[:, :, :1]).all(axis=2)  # the frame itself has no colour
        y, x = np.nonzero(~is_gray)
        self.assert_box(
            [Box(x.min(), y.min(), x.max() + 1 - x.min(), y.max() + 1 - y.min())], BOX, 8)

    def test_objects_are_regions(self) -> None:
        """vkgdrtensor makes a batch of the objects that were detected."""
        (sample,) = infer(
            640, 480, BOX, f"vkgdrinfer model-file={self.yolo()} ! yolov8tensordec ! vkgdrupload "
            "! vkgdrtensor region=roi width=8 height=8")
        meta = GstVkgdr.buffer_get_tensor_batch_meta(sample.get_buffer())
        frame = meta.get_frame(0)
        self.assertEqual(meta.n_frames, 1)
        self.assert_box(
            [Box(frame.region_x, frame.region_y, frame.region_width, frame.region_height)], BOX, 3)
        self.assertGreaterEqual(frame.roi_id, 0)

    def test_ipc_has_no_tensors(self) -> None:
        """vkgdripcsink sends no tensors, and its caps do not promise any."""
        path = self.folder.path("socket")
        server = Gst.parse_launch(
            "videotestsrc ! video/x-raw,format=RGBA,width=64,height=64,framerate=25/1 ! vkgdrupload "
            f"! vkgdrinfer model-file={self.yolo()} ! vkgdripcsink socket-path={path}")
        server.set_state(Gst.State.PLAYING)
        try:
            (sample,) = play(
                f"vkgdripcsrc socket-path={path} num-buffers=1 ! appsink name=sink sync=false")
        finally:
            server.set_state(Gst.State.NULL)
        self.assertFalse(sample.get_caps().get_structure(0).has_field("tensors"))


class Sizes(Case):
    def test_open_input(self) -> None:
        """The network gets the size of the frame, unless the .modelinfo has one."""
        model = self.yolo("h", "w", batch="n", boxes="m")
        (sample,) = infer(334, 502, BOX, f"vkgdrinfer model-file={model}")
        self.assert_box([box_of(sample.get_buffer())], BOX, 1)
        with open(model + ".modelinfo", "a") as file:
            file.write("\n[x]\ndir=input\ntype=float32\ndims=-1,3,128,160\n"
                       "dims-order=row-major\nranges=0.0,1.0\n")
        (sample,) = infer(
            334, 502, BOX, f"vkgdrinfer model-file={model} map-coordinates=false")
        self.assertLess(box_of(sample.get_buffer()).y, 64)

    def test_open_output(self) -> None:
        """Each buffer has an output of its own size, also of none."""
        model = networks.bright_rows(self.folder.path("rows.onnx"))
        boxes = Box(2, 3, 4, 5), Box(0, 0, 0, 0), Box(0, 0, 16, 16)
        for box in boxes:
            (sample,) = infer(16, 16, box, f"vkgdrinfer model-file={model}", "RGB")
            (name, rows), = tensors(sample.get_buffer())
            self.assertEqual(name, "y")
            self.assertEqual(rows.shape, (3 * box.width * box.height, 4))
            if len(rows):
                self.assertEqual(list(rows[0]), [0, 0, box.y, box.x])
                self.assertEqual(list(rows[-1]), [
                    0, 2, box.y + box.height - 1, box.x + box.width - 1])

    def test_output_without_a_shape(self) -> None:
        model = networks.passing(
            self.folder.path("same.onnx"), [networks.value("x", networks.UINT8, 1, 3, 4, 6)],
            has_shape=False)
        (sample,) = infer(6, 4, Box(0, 0, 6, 4), f"vkgdrinfer model-file={model}", "RGB")
        (_, x), = tensors(sample.get_buffer())
        self.assertEqual(x.shape, (1, 3, 4, 6))
        self.assertTrue((x == 255).all())

    def test_values_outlive_the_element(self) -> None:
        samples = infer(640, 480, BOX, f"vkgdrinfer model-file={self.yolo()}", n=5)
        for sample in samples:
            self.assert_box([box_of(sample.get_buffer())], BOX, 3)


class Preparation(Case):
    def test_normalisation(self) -> None:
        """The network gets (sample * scale - mean) / std, or the range of the .modelinfo."""
        model = networks.passing(
            self.folder.path("same.onnx"), [networks.value("x", networks.FLOAT, 1, 3, 4, 4)])
        for extra, black, white in (
                ("", 16 / 255, 1), ("scale=1 mean=<16.0> std=<2.0>", 0, 239 / 2),
                ("channels=bgr", 16 / 255, 1)):
            (sample,) = infer(
                4, 4, Box(0, 0, 2, 4), f"vkgdrinfer model-file={model} {extra}", "RGB")
            (_, x), = tensors(sample.get_buffer())
            np.testing.assert_allclose(x[:, :, :, :2], white, atol=1e-3)
            np.testing.assert_allclose(x[:, :, :, 2:], black, atol=1e-3)
        for section in "dir=input\ntype=float32\ndims=1,3,4,4\n", "":
            self.folder.modelinfo(
                model, f"[modelinfo]\nversion=1.0\n[x]\n{section}ranges=-1.0,1.0\n")
            (sample,) = infer(4, 4, Box(0, 0, 2, 4), f"vkgdrinfer model-file={model}", "RGB")
            (_, x), = tensors(sample.get_buffer())
            np.testing.assert_allclose(x[:, :, :, :2], 1, atol=1e-3)
            np.testing.assert_allclose(x[:, :, :, 2:], 32 / 255 - 1, atol=1e-3)

    def test_modelinfo_elsewhere(self) -> None:
        """The property names another file than the one beside the model."""
        model = self.yolo()
        other = self.folder.modelinfo(
            self.folder.path("other"), networks.YOLO_MODELINFO.replace("id=yolo", "id=my"))
        (sample,) = infer(
            64, 48, Box(8, 8, 8, 8), f"vkgdrinfer model-file={model} modelinfo={other}.modelinfo")
        self.assertEqual([name for name, _ in tensors(sample.get_buffer())], ["my-v8-out"])

    def test_stats(self) -> None:
        pipeline = Gst.parse_launch(
            "videotestsrc num-buffers=3 ! vkgdrupload ! vkgdrinfer name=infer "
            f"model-file={self.yolo()} ! fakesink")
        pipeline.set_state(Gst.State.PLAYING)
        message = pipeline.get_bus().timed_pop_filtered(
            20 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
        stats = pipeline.get_by_name("infer").props.stats
        pipeline.set_state(Gst.State.NULL)
        self.assertEqual(message.type, Gst.MessageType.EOS)
        self.assertEqual(stats.get_value("frames"), 3)
        self.assertGreater(stats.get_value("run-time"), 0)
        self.assertEqual(stats.get_value("provider"), "cpu")


class Life(Case):
    def test_modelinfo_is_offered(self) -> None:
        """The text of the info message is a file with which the decoder works."""
        model = networks.yolo(self.folder.path("plain.onnx"), boxes=8400)
        offered = []
        for _ in range(2):
            pipeline = Gst.parse_launch(f"vkgdrinfer model-file={model} ! fakesink")
            pipeline.set_state(Gst.State.READY)
            pipeline.set_state(Gst.State.PAUSED)
            message = pipeline.get_bus().timed_pop_filtered(0, Gst.MessageType.INFO)
            pipeline.set_state(Gst.State.NULL)
            offered.append(message and message.parse_info()[0].message)
            if message:
                text = offered[-1][offered[-1].index("[modelinfo]"):]
                self.folder.modelinfo(model, text)
        self.assertIn("plain.onnx.modelinfo", offered[0])
        self.assertIsNone(offered[1])
        for line in ("group-id=yolo-v8-out", "id=yolo-v8-out", "dims=1,5,8400",
                     "dims-order=col-major", "[x]", "dims=1,3,320,320", "ranges=0.0,1.0"):
            self.assertIn(line, text.splitlines())

    def test_refused_caps(self) -> None:
        """The element says what is missing before it, and the source's error is not alone."""
        model = networks.passing(
            self.folder.path("model.onnx"), [networks.value("x", networks.FLOAT, 1, 3, 8, 8)])
        raw = "video/x-raw,format={},width=8,height=8,framerate=1/1"
        for caps, upload, expected in (
                (raw.format("GRAY8"), "", "Put vkgdrupload before .*GRAY8"),
                ("image/jpeg", "vkgdrupload !", "Put a decoder .*image/jpeg"),
                (raw.format("NV12_4L4"), "vkgdrupload !", "cannot be run on .*NV12_4L4")):
            with self.subTest(caps):
                pipeline = Gst.parse_launch(
                    f"appsrc name=src format=time num-buffers=1 caps=\"{caps}\" ! {upload} "
                    f"vkgdrinfer name=infer model-file={model} ! fakesink")
                pipeline.set_state(Gst.State.PLAYING)
                pipeline.get_by_name("src").emit("push-buffer", Gst.Buffer.new_allocate(None, 96))
                message = pipeline.get_bus().timed_pop_filtered(
                    30 * Gst.SECOND, Gst.MessageType.ERROR)
                pipeline.set_state(Gst.State.NULL)
                assert message
                self.assertEqual(message.src.get_name(), "infer")
                self.assertRegex(message.parse_error()[0].message, expected)

    def test_stop_during_a_run(self) -> None:
        model = networks.endless(self.folder.path("endless.onnx"))
        pipeline = Gst.parse_launch(
            "videotestsrc num-buffers=1 ! vkgdrupload ! vkgdrinfer name=infer "
            f"model-file={model} ! fakesink")
        pipeline.set_state(Gst.State.PLAYING)
        # The run cannot end by itself, so a buffer at the pad is in it.
        entered = []
        pipeline.get_by_name("infer").get_static_pad("sink").add_probe(
            Gst.PadProbeType.BUFFER, lambda *_: entered.append(1) or Gst.PadProbeReturn.OK)
        end = time.monotonic() + 20
        while not entered and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.3)
        begin = time.monotonic()
        pipeline.set_state(Gst.State.NULL)
        self.assertLess(time.monotonic() - begin, 5)
        self.assertIsNone(pipeline.get_bus().timed_pop_filtered(0, Gst.MessageType.ERROR))

    def test_restart(self) -> None:
        pipeline = Gst.parse_launch(
            f"videotestsrc ! vkgdrupload ! vkgdrinfer model-file={self.yolo()} ! fakesink")
        for _ in range(3):
            pipeline.set_state(Gst.State.PLAYING)
            change, _, _ = pipeline.get_state(20 * Gst.SECOND)
            self.assertEqual(change, Gst.StateChangeReturn.SUCCESS)
            pipeline.set_state(Gst.State.READY)
        pipeline.set_state(Gst.State.NULL)

    def test_frames_of_another_size(self) -> None:
        """New caps in the stream, and a frame that is too short."""
        element = Gst.parse_launch(
            "appsrc name=src format=time ! vkgdrupload ! vkgdrinfer "
            f"model-file={self.yolo()} ! appsink name=sink sync=false")
        src, sink = element.get_by_name("src"), element.get_by_name("sink")
        element.set_state(Gst.State.PLAYING)
        for width, height in (640, 480), (400, 600):
            caps = Gst.Caps.from_string(
                f"video/x-raw,format=GRAY8,width={width},height={height},framerate=25/1")
            frame = np.zeros((height, width), np.uint8)
            x, y, w, h = (int(v) for v in BOX)
            frame[y:y + h, x:x + w] = 255
            src.emit("push-sample", Gst.Sample.new(
                Gst.Buffer.new_wrapped(frame.tobytes()), caps, None, None))
            sample = sink.emit("try-pull-sample", 20 * Gst.SECOND)
            self.assert_box([box_of(sample.get_buffer())], BOX, 3)
        element.set_state(Gst.State.NULL)


if __name__ == "__main__":
    unittest.main()
