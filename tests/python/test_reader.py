# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of TensorReader: which frames it gives from files, URIs and pipelines, and
when. Tests of tensors from another process.
"""

import atexit
import functools
import gc
import os
import shutil
import subprocess
import sys
import tempfile
import time
import threading
import wave
import weakref
from typing import Any, List, Tuple

from gst_support import DeviceTestCase, GLib, Gst, GstVkgdr, download, host_bytes, play
from test_dlpack import tensor_of

import numpy as np
import support

SIZE = 16
GRAY = {"size": (SIZE, SIZE), "dtype": "uint8", "channels": "gray", "filter": "nearest"}
FRAMES = f"video/x-raw,format=GRAY8,width={SIZE},height={SIZE},framerate=25/1"
ENDLESS = "videotestsrc ! identity"


def write_clip(path: str, first: int, count: int) -> None:
    """Writes uncompressed frames of GRAY8. Each frame has another value."""
    play(f'appsrc name=src format=time caps={FRAMES} ! matroskamux ! filesink location="{path}"',
         [Gst.Buffer.new_wrapped(bytes([first + i]) * (SIZE * SIZE)) for i in range(count)])


@functools.lru_cache(maxsize=None)
def clips() -> Tuple[str, str, str]:
    """Makes a folder with two clips, which all tests read."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    clip, other = os.path.join(folder, "a clip.mkv"), os.path.join(folder, "other.mkv")
    write_clip(clip, 1, 10)
    write_clip(other, 101, 7)
    return folder, clip, other


class ReaderTestCase(DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder, self.clip, self.other = clips()

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
        for source, more, batches in (
            (self.clip, {"batch": 4}, fours),
            (Gst.filename_to_uri(self.clip), {"batch": 4}, fours),
            ([self.clip], {"batch": Integer(4)}, fours),
            (text, {"batch": 4}, fours),
            (text + " ! vkgdrupload", {"batch": 4}, fours),
            ([self.clip, self.other], {}, both + [[8], [9], [10]]),
            ([self.clip, self.other], {"missing": "repeat"},
             both + [[8, 107], [9, 107], [10, 107]]),
            ([self.other, self.clip], {}, [pair[::-1] for pair in both] + [[8], [9], [10]]),
        ):
            with self.subTest(source=source, more=more):
                self.assertEqual(self.read(source, **more), batches)

    def test_no_frame_is_lost_or_doubled(self) -> None:
        """The result does not depend on the speed of the program or the length of the
        queue.
        """
        for queue in (1, 3):
            found = []
            for batch in self.reader(self.clip, batch=1, queue=queue):
                time.sleep(0.01)
                found += self.values(batch)
            self.assertEqual(found, list(range(1, 11)))

    def test_sound_is_no_video(self) -> None:
        path = os.path.join(self.folder, "sound.wav")
        with wave.open(path, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(8000)
            file.writeframes(bytes(16000))
        self.assertRaises(GLib.Error, self.read, path)


class Processes(ReaderTestCase):
    """This process reads what another process sends."""

    def receive(self, source: str) -> str:
        """Starts a process that sends the frames of a source. Returns the source here."""
        path = os.path.join(self.folder, "socket")
        process = subprocess.Popen([
            sys.executable, "-c", "import gst_support, sys; gst_support.play(sys.argv[1])",
            f"{source} ! vkgdripcsink socket-path={path} wait-for-connection=true leaky=no",
        ], cwd=os.path.dirname(support.__file__))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.wait_until(lambda: os.path.exists(path), 30)
        return f"vkgdripcsrc socket-path={path}"

    def test_two_readers(self) -> None:
        source = self.receive(
            "videotestsrc is-live=true pattern=ball ! "
            "video/x-raw,format=NV12,width=64,height=48,framerate=50/1 ! vkgdrupload")
        readers = [self.reader(source + " ! identity", batch=2) for _ in range(2)]
        found: List[dict] = [{}, {}]
        for _ in range(10):
            for reader, frames in zip(readers, found):
                batch = next(reader)
                for frame, data in zip(batch.frames, batch.numpy()):
                    frames[frame.pts] = data.tobytes()
        self.assertEqual([len(frames) for frames in found], [20, 20])
        both = set(found[0]) & set(found[1])
        self.assertGreater(len(both), 0)
        self.assertEqual(*({pts: frames[pts] for pts in both} for frames in found))

    def test_tensors(self) -> None:
        """Tensors are the same in the other process: on the device, for NumPy, by DLPack."""
        tensors = (
            "videotestsrc num-buffers=6 pattern=ball ! video/x-raw,format=NV12,width=64,height=48 "
            "! vkgdrupload ! vkgdrtensor width=40 height=30 batch=2 type=float16")
        buffers = [sample.get_buffer()
                   for sample in play(tensors + " ! vkgdrdownload ! appsink name=sink sync=false")]
        expected = [np.frombuffer(host_bytes(one), "f2").reshape(2, 3, 30, 40) for one in buffers]
        frame = GstVkgdr.buffer_get_tensor_batch_meta(buffers[0]).get_frame(1)
        self.assertEqual(frame.map_point(40, 30), (64, 48))
        found = play(self.receive(tensors) + " ! appsink name=sink sync=false")
        self.assertEqual((len(found), len(expected)), (3, 3))
        for sample, tensor in zip(found, expected):
            buffer, caps = sample.get_buffer(), sample.get_caps()
            with GstVkgdr.mapped(buffer, caps) as (host,):
                np.testing.assert_array_equal(host, tensor)
            with GstVkgdr.device_array(buffer, caps) as array:
                np.testing.assert_array_equal(support.read_array(array), tensor)
                self.assertEqual(
                    download(GstVkgdr.memory_from_dlpack(array)), tensor.tobytes())
        for wrong in (
            "dims=<2,3>,type=float64", "dims=<2,0>,type=float32", "type=float32",
            "dims=<2,3>,dims-order=col-major,type=float32", "dims=<2,3,4,999>,type=float16",
        ):
            self.assert_raise((ValueError, "", GstVkgdr.device_array, buffer,
                               Gst.Caps.from_string(f"tensor/strided,{wrong}")))


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

        for dtype, code, bits in (
            ("uint8", 1, 8), (np.float32, 2, 32), (np.dtype("int8"), 0, 8), (Named(), 2, 16),
            (Torch(), 4, 16),
        ):
            with self.subTest(dtype=dtype):
                batch = next(self.reader(
                    self.clip, size=(8, 4), batch=3, dtype=dtype, layout="nhwc", channels="rgb"))
                capsule = batch.__dlpack__(stream=-1)
                tensor = tensor_of(capsule)
                self.assertEqual((tensor.code, tensor.bits, tensor.ndim), (code, bits, 4))
                self.assertEqual(tensor.shape[:4], [3, 4, 8, 3])
                self.assertEqual(len(batch), len(batch.frames))
                self.assertEqual(tensor.data + tensor.byte_offset, batch.pointer)

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

    def test_seek_of_several(self) -> None:
        reader = self.reader([self.clip, self.other])
        for _ in range(2):
            reader.seek(4 / 25)
            self.assertEqual([self.values(batch) for batch in reader],
                             [[5, 105], [6, 106], [7, 107], [8], [9], [10]])

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
        tensor = next(
            one for one in reader._pipeline.iterate_elements()
            if one.get_factory().get_name() == "vkgdrtensor"
        )
        # Two batches are waiting, one is in preparation, and one was read.
        # Two more batches are a margin.
        frames = tensor.get_property("stats").get_uint64("frames")
        self.assertTrue(frames[0] and frames[1] <= 2 * 6, frames)

    def test_batches_outlive_the_reader(self) -> None:
        with self.reader(self.clip, batch=10, context=self.context) as reader:
            batch = next(reader)
        self.assertEqual(self.values(batch), list(range(1, 11)))
        self.assertEqual(
            GstVkgdr.memory_get_context(batch._mapping.get_memory()), self.context)
        batch.close()
        reader.close()
        self.assert_raise(
            (ValueError, "closed", batch.numpy), (ValueError, "closed", reader.seek, 0),
            (ValueError, "closed", next, reader),
        )

    def test_a_reader_that_is_forgotten_stops(self) -> None:
        reader = GstVkgdr.TensorReader(ENDLESS, **GRAY)
        next(reader)
        gone = weakref.ref(reader)
        pipeline = reader._pipeline
        del reader
        gc.collect()
        self.assertIsNone(gone())
        self.wait_until(lambda: pipeline.get_state(0)[1] == Gst.State.NULL)

    def test_a_reader_may_be_freed_in_its_own_streaming_thread(self) -> None:
        """There, a garbage collection may run at any time, for example in an element
        that is written in Python.
        """
        self.assert_prints("freed\n", """
import gc, threading, time
from gst_support import Gst, GstVkgdr

class Holder:
    pass

for _ in range(5):
    holder = Holder()
    holder.reader = GstVkgdr.TensorReader(
        "videotestsrc ! identity name=probed ! identity", size=(8, 8), batch=1)
    holder.me = holder
    pipeline, seen = holder.reader._pipeline, []
    dropped, freed = threading.Event(), threading.Event()
    def collect(pad, info):
        seen.append(1)
        if len(seen) == 2:  # the first frame has to reach the program
            dropped.wait(30)
            gc.collect()
            freed.set()
        return Gst.PadProbeReturn.OK
    probed = pipeline.get_by_name("probed").get_static_pad("src")
    probed.add_probe(Gst.PadProbeType.BUFFER, collect)
    next(holder.reader)
    del holder, probed
    dropped.set()
    freed.wait(30)
    while pipeline.get_state(0)[1] != Gst.State.NULL:
        time.sleep(0.001)
    del pipeline
print("freed")
""")

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
            (FileNotFoundError, "", make, "/nonexistent/clip.mp4"),
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
        path = os.path.join(self.folder, "text.mkv")
        with open(path, "w", encoding="ascii") as file:
            file.write("this is no film\n" * 100)
        for source, batch, text in (
            (path, 0, r"decodebin\d*: "),
            ([ENDLESS] * 2, 3, "batch of 3 frames"),
            (ENDLESS + " error-after=3", 8, r"identity\d+: Failed after iterations"),
        ):
            reader = self.reader(source, batch=batch)
            self.assert_raise((GLib.Error, text, list, reader))
        self.assert_raise((ValueError, "closed", reader.seek, 0))


if __name__ == "__main__":
    support.main()
