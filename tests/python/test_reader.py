# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of TensorReader: which frames it gives from files, URIs and pipelines, and when."""

import ctypes
import gc
import itertools
import os
import tempfile
import time
import threading
import types
from typing import Any, Dict, List

from gst_support import DeviceTestCase, GLib, Gst, GstVkgdr, play

import numpy as np
import support

SIZE = 16
GRAY: Dict[str, Any] = {
    "size": (SIZE, SIZE), "dtype": "uint8", "channels": "gray", "filter": "nearest"}
FRAMES = f"video/x-raw,format=GRAY8,width={SIZE},height={SIZE},framerate=25/1"
ENDLESS = "videotestsrc ! identity"


def write_clip(path: str, first: int, count: int) -> None:
    """Writes uncompressed frames of GRAY8. Each frame has another value."""
    play(f'appsrc name=src format=time caps={FRAMES} ! matroskamux ! filesink location="{path}"',
         [Gst.Buffer.new_wrapped(bytes([first + i]) * (SIZE * SIZE)) for i in range(count)])


class ReaderTestCase(DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.clip, self.other = (
            os.path.join(self.folder, name) for name in ("a clip.mkv", "other.mkv"))
        write_clip(self.clip, 1, 10)
        write_clip(self.other, 101, 7)

    def reader(self, source: Any, **more: Any) -> GstVkgdr.TensorReader:
        reader = GstVkgdr.TensorReader(source, **{**GRAY, **more})
        self.addCleanup(reader.close)
        return reader

    def values(self, batch: Any) -> List[int]:
        """Returns one number for each frame. All bytes of a frame must be equal."""
        data = batch.numpy()
        self.assertEqual(data.shape, batch.shape)
        expected = np.broadcast_to(data[:, :, :1, :1], (len(data), 1, SIZE, SIZE))
        np.testing.assert_array_equal(data, expected)
        return data[:, 0, 0, 0].tolist()

    def converter(self, reader: Any) -> Gst.Element:
        return next(one for one in reader._pipeline.iterate_elements()
                    if one.get_factory().get_name() == "vkgdrtensor")

    def read(self, source: Any, **more: Any) -> List[List[int]]:
        """Reads a source to its end."""
        with self.reader(source, **more) as reader:
            return [self.values(batch) for batch in reader]


class Sources(ReaderTestCase):
    def test_batches(self) -> None:
        class Integer(int):
            """A number whose representation is a call, as in NumPy 2."""

            def __repr__(self) -> str:
                return f"numpy.int64({int(self)})"

        text = f'filesrc location="{self.clip}" ! matroskademux ! {FRAMES}'
        fours = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]
        both = [[1 + i, 101 + i] for i in range(7)]
        rows: List[Any] = [
            (self.clip, {"batch": 4}, fours),
            (Gst.filename_to_uri(self.clip), {"batch": 4}, fours),
            ([self.clip], {"batch": Integer(4)}, fours),
            (text, {"batch": 4}, fours),
            (text + " ! vkgdrupload", {"batch": 4}, fours),
            ([self.clip, self.other], {}, both + [[8], [9], [10]]),
            ([self.clip, self.other], {"missing": "repeat"},
             both + [[8, 107], [9, 107], [10, 107]]),
            ([self.other, self.clip], {}, [pair[::-1] for pair in both] + [[8], [9], [10]]),
        ]
        for source, more, batches in rows:
            with self.subTest(source=source, more=more):
                self.assertEqual(self.read(source, **more), batches)

    def test_memory_of_gstreamers_cuda_elements(self) -> None:
        """The same frames as from system memory: also beside another memory, and if frames
        return to the pool of these elements before the batches are read.
        """
        plugin = Gst.Registry.get().find_plugin("nvcodec")
        if plugin is None or int(plugin.get_version().split(".")[1]) < 24:
            self.skipTest("GStreamer's CUDA elements are missing, or older than 1.24")
        if support.is_software():  # it is loaded under the names of NVIDIA's libraries
            folder = os.environ["VKGDR_SOFTCUDA_DIR"]
            for name in ("libcuda.so.1", "libnvidia-encode.so.1"):
                ctypes.CDLL(os.path.join(folder, name))
            os.environ["GST_CUDA_NVRTC_LIBNAME"] = os.path.join(folder, "libnvrtc.so")
        # The registry has the plugin without elements if it was scanned without a driver.
        Gst.Plugin.load_file(plugin.get_filename())
        if Gst.ElementFactory.find("cudaupload") is None:
            self.skipTest("GStreamer's CUDA elements have no device")
        bright = os.path.join(self.folder, "bright.mkv")
        write_clip(bright, 60, 10)
        # The CUDA elements do not support GRAY8.
        system = (f'filesrc location="{bright}" ! matroskademux ! {FRAMES} ! videoconvert '
                  "! video/x-raw,format=NV12")
        (values,) = self.read(system, batch=10)
        self.assertEqual(len(set(values)), 10)
        reader = self.reader([system + " ! cudaupload", self.other])
        batches = [next(reader)]
        pad = self.converter(reader).get_static_pad("sink_0")
        features = pad.get_current_caps().get_features(0)
        self.assertTrue(features.contains("memory:CUDAMemory"), features.to_string())
        batches += reader
        self.assertEqual(
            [self.values(batch) for batch in batches],
            [[values[i], 101 + i] for i in range(7)] + [[value] for value in values[7:]])


class Frames(ReaderTestCase):
    def test_what_is_said_of_a_frame(self) -> None:
        reader = self.reader([self.clip, self.other], size=(32, 64), batch=4, resize="letterbox")
        frame = next(reader).frames[3]
        self.assertEqual((frame.source, frame.width, frame.height), (1, SIZE, SIZE))
        self.assertEqual(frame.region, (0, 0, SIZE, SIZE))
        self.assertEqual(frame.pts, Gst.SECOND // 25)
        self.assertEqual(frame.running_time, Gst.SECOND // 25)
        self.assertFalse(frame.is_repeated)
        # 16 x 16 pixels become 32 x 32, with 16 rows of padding above.
        self.assertEqual(frame.to_frame(0, 16), (0, 0))
        self.assertEqual(frame.to_frame(32, 48), (SIZE, SIZE))

    def test_types(self) -> None:
        class Named:
            name = "float16"  # the name that numpy.dtype uses

        class Torch:
            def __str__(self) -> str:
                return "torch.bfloat16"

        for dtype, typestr in (
            ("uint8", "|u1"), (np.float32, "<f4"), (np.dtype("int8"), "|i1"), (Named(), "<f2"),
            (Torch(), "<V2"),
        ):
            with self.subTest(dtype=dtype):
                batch = next(self.reader(
                    self.clip, size=(8, 4), batch=3, dtype=dtype, layout="nhwc", channels="rgb"))
                self.assertEqual((batch.typestr, batch.shape), (typestr, (3, 4, 8, 3)))
                self.assertEqual(len(batch), len(batch.frames))

    def test_normalisation(self) -> None:
        data = next(GstVkgdr.TensorReader(
            self.other, size=(4, 4), mean=(1.0, 2, 3), std=2, scale=1.0)).numpy()
        expected = np.broadcast_to(np.reshape([50, 49.5, 49], (3, 1, 1)), (3, 4, 4))
        np.testing.assert_allclose(data[0], expected, rtol=1e-6)


class Control(ReaderTestCase):
    def test_seek(self) -> None:
        reader = self.reader(self.clip, batch=2)
        reader.seek(6 / 25)
        self.assertEqual([self.values(batch) for batch in reader], [[7, 8], [9, 10]])
        self.assertEqual(list(reader), [])
        reader.seek(0)
        self.assertEqual(self.values(next(reader)), [1, 2])
        reader.seek(8 / 25)
        batch = next(reader)
        self.assertEqual(self.values(batch), [9, 10])
        self.assertEqual(batch.frames[0].pts, 8 * Gst.SECOND // 25)
        reader = self.reader([self.clip, self.other])
        for _ in range(2):
            reader.seek(5 / 25)
            self.assertEqual([self.values(batch) for batch in reader],
                             [[6, 106], [7, 107], [8], [9], [10]])

    def test_seeks_that_fail(self) -> None:
        endless = f"fakesrc sizetype=fixed sizemax={SIZE * SIZE} filltype=zero ! {FRAMES}"
        self.assert_raise((ValueError, "do not support a seek", self.reader(endless).seek, 1))
        for seconds in (-1, "x", float("nan")):
            reader = self.reader(self.clip)
            self.assert_raise((ValueError, "^(?!.*do not support)", reader.seek, seconds))
            self.assertEqual(self.values(next(reader)), [1])

    def test_memory_is_bounded(self) -> None:
        """Sources wait while the program does not read."""
        reader = self.reader(ENDLESS, batch=2)
        next(reader)
        time.sleep(0.2)
        # Two batches are waiting, one is in preparation, and one was read.
        # Two more batches are a margin.
        frames = self.converter(reader).get_property("stats").get_uint64("frames")
        self.assertTrue(frames[0] and frames[1] <= 2 * 6, frames)

    def test_batches_outlive_the_reader(self) -> None:
        with self.reader(self.clip, batch=10, context=self.context) as reader:
            batch: Any = next(reader)
        self.assertEqual(self.values(batch), list(range(1, 11)))
        self.assertEqual(
            GstVkgdr.memory_get_context(batch._mapping.get_memory()), self.context)
        batch.close()
        reader.close()
        self.assert_raise(
            (ValueError, "closed", batch.numpy), (ValueError, "closed", reader.seek, 0),
            (ValueError, "closed", next, reader),
        )

    def test_sources_that_are_no_raw_video(self) -> None:
        for source, media in (("audiotestsrc ! identity", "audio/x-raw"),
                              ("videotestsrc ! jpegenc ! identity", "image/jpeg")):
            with self.subTest(source=source), self.reader(source) as reader:
                with self.assertRaisesRegex(GLib.Error, f"no raw video: {media}"):
                    next(reader)
        for size in (0, 0), (8, 0), (-1, 8):
            self.assert_raise((ValueError, "at least 1x1", GstVkgdr.TensorReader, ENDLESS, size))

    def test_a_reader_may_be_freed_in_its_own_streaming_thread(self) -> None:
        """There, a garbage collection may run at any time, for example in an element
        that is written in Python.
        """
        for _ in range(5):
            holder = types.SimpleNamespace(reader=GstVkgdr.TensorReader(
                "videotestsrc ! identity name=probed ! identity", **GRAY))
            holder.me = holder
            pipeline: Any = holder.reader._pipeline
            buffers, dropped = itertools.count(), threading.Event()

            def collect(pad: Gst.Pad, info: Gst.PadProbeInfo) -> Gst.PadProbeReturn:
                if next(buffers) == 1:  # the first frame has to reach the program
                    dropped.wait(30)
                    gc.collect()
                return Gst.PadProbeReturn.OK

            pad = pipeline.get_by_name("probed").get_static_pad("src")
            pad.add_probe(Gst.PadProbeType.BUFFER, collect)
            next(holder.reader)
            del holder
            dropped.set()
            self.wait_until(lambda: pipeline.get_state(0)[1] == Gst.State.NULL)

    def test_threads_share_the_batches(self) -> None:
        reader, counts = self.reader("videotestsrc num-buffers=60 ! identity"), []
        threads = [
            threading.Thread(target=lambda: counts.append(sum(1 for _ in reader)), daemon=True)
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual((len(counts), sum(counts)), (6, 60))

    def test_kept_until_the_end_of_the_interpreter(self) -> None:
        self.assert_prints(
            "", "from gst_support import GstVkgdr\n"
            "from gi.overrides import _gstvkgdr_tensors\n"
            f"reader = GstVkgdr.TensorReader({self.clip!r}, size=(8, 8))\n"
            "next(reader)\n"
            "_gstvkgdr_tensors.kept = reader\n"
            "del reader\n")


class Mistakes(ReaderTestCase):
    def test_arguments(self) -> None:
        def make(source: Any, arguments: dict = {}) -> None:
            GstVkgdr.TensorReader(source, **arguments)

        sample = Gst.Sample.new(Gst.Buffer.new_wrapped(b"frame"), None, None, None)
        self.assert_raise(
            (FileNotFoundError, "", make, "/proc/missing/clip.mp4"),
            (FileNotFoundError, 'has a "!"', make, "videotestsrc"),
            (ValueError, "", make, []),
            (GLib.Error, "", make, "videotestsrc ! fakesink"),
            (GLib.Error, "", make, "nosuchelement ! identity"),
            *((error, text, make, ENDLESS, arguments) for error, text, arguments in (
                (ValueError, "", {"dtype": "float64"}),
                (ValueError, "nchw, nhwc", {"layout": "chwn"}),
                (ValueError, "", {"filter": "cubic"}),
                (ValueError, "", {"batch": -1}),
                (ValueError, "", {"batch": 1 << 40}),
                (TypeError, "", {"batch": "many"}),
                (TypeError, "", {"batch": 2.5}),
                (ValueError, "at least 1", {"queue": -5}),
                (ValueError, "5 values", {"mean": [1, 2, 3, 4, 5]}),
                (ValueError, r"\(width, height\), not 64", {"size": 64}),
                (ValueError, "", {"size": (-1, 8)}),
                (ValueError, "", {"pad": 256}),
                (ValueError, "", {"scale": "large"}),
                (ValueError, "", {"scale": float("nan")}),
            )),
            (ValueError, "GstVkgdrTensorBatchMeta", GstVkgdr.TensorBatch, sample, None),
        )

    def test_errors_of_elements(self) -> None:
        prose, sound = (os.path.join(self.folder, name) for name in ("text.mkv", "sound.wav"))
        with open(prose, "w", encoding="ascii") as file:
            file.write("this is no film\n" * 100)
        play(f'audiotestsrc num-buffers=2 ! wavenc ! filesink location="{sound}"')
        for source, batch, text in (
            (prose, 0, r"decodebin\d*: "), (sound, 0, ""),
            ([ENDLESS] * 2, 3, "batch of 3 frames"),
            (ENDLESS + " error-after=3", 8, r"identity\d+: Failed after iterations"),
        ):
            reader = self.reader(source, batch=batch)
            self.assert_raise((GLib.Error, text, list, reader))
        self.assert_raise((ValueError, "closed", reader.seek, 0))


if __name__ == "__main__":
    support.main()
