# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of TensorReader: which frames it gives from files, URIs and pipelines, and
when.
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
import unittest
import wave
import weakref
from typing import Any, List, Tuple

from gst_support import DeviceTestCase, GLib, Gst, GstVkgdr
from test_dlpack import tensor_of

import support

numpy: Any = support.load("numpy") if not support.is_missing("numpy") else None

SIZE = 16
GRAY = {"size": (SIZE, SIZE), "dtype": "uint8", "channels": "gray", "filter": "nearest"}
FRAMES = f"video/x-raw,format=GRAY8,width={SIZE},height={SIZE},framerate=25/1"


def write_clip(path: str, first: int, count: int) -> None:
    """Writes uncompressed frames of GRAY8. Each frame has another value."""
    pipeline = Gst.parse_launch(
        f"appsrc name=src format=time caps={FRAMES} ! matroskamux ! filesink location={path}"
    )
    src = pipeline.get_by_name("src")
    pipeline.set_state(Gst.State.PLAYING)
    for i in range(count):
        buffer = Gst.Buffer.new_wrapped(bytes([first + i]) * (SIZE * SIZE))
        buffer.pts = i * Gst.SECOND // 25
        buffer.duration = Gst.SECOND // 25
        src.emit("push-buffer", buffer)
    src.emit("end-of-stream")
    message = pipeline.get_bus().timed_pop_filtered(
        20 * Gst.SECOND, Gst.MessageType.ERROR | Gst.MessageType.EOS
    )
    pipeline.set_state(Gst.State.NULL)
    assert message.type == Gst.MessageType.EOS, message.parse_error()


@functools.lru_cache(maxsize=None)
def clips() -> Tuple[str, str, str]:
    """Makes a folder with two clips, which all tests read."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    clip, other = os.path.join(folder, "a clip.mkv"), os.path.join(folder, "other.mkv")
    write_clip(clip.replace(" ", "\\ "), 1, 10)
    write_clip(other, 101, 7)
    return folder, clip, other


@unittest.skipIf(numpy is None, "numpy is missing")
class ReaderTestCase(DeviceTestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder, cls.clip, cls.other = clips()

    def values(self, batch: Any) -> List[int]:
        """Returns one number for each frame. All bytes of a frame must be equal."""
        data = batch.numpy()
        self.assertEqual(data.shape, batch.shape)
        self.assertEqual(data.shape[1:], (1, SIZE, SIZE))
        for frame in data:
            self.assertEqual(len(set(frame.ravel().tolist())), 1)
        return [int(frame[0, 0, 0]) for frame in data]

    def read(self, *arguments: Any, **more: Any) -> List[List[int]]:
        with GstVkgdr.TensorReader(*arguments, **{**GRAY, **more}) as reader:
            return [self.values(batch) for batch in reader]


class Sources(ReaderTestCase):
    def test_batches(self) -> None:
        location = self.clip.replace(" ", "\\ ")
        text = f'filesrc location="{location}" ! matroskademux ! {FRAMES}'
        fours = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]
        both = [[1 + i, 101 + i] for i in range(7)]
        for source, more, batches in (
            (self.clip, {"batch": 4}, fours),
            (Gst.filename_to_uri(self.clip), {"batch": 4}, fours),
            ([self.clip], {"batch": numpy.int64(4)}, fours),
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
            with GstVkgdr.TensorReader(self.clip, batch=1, queue=queue, **GRAY) as reader:
                found = []
                for batch in reader:
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
        with self.assertRaises(GLib.Error):
            self.read(path)


# A camera for other processes. It runs until it is killed.
CAMERA = """
import sys
import gi
gi.require_version("Gst", "1.0")
from gi.repository import Gst
Gst.init(None)
pipeline = Gst.parse_launch(
    "videotestsrc is-live=true pattern=ball ! video/x-raw,format=NV12,width=64,height=48,"
    f"framerate=50/1 ! vkgdrupload ! vkgdripcsink socket-path={sys.argv[1]}"
)
pipeline.set_state(Gst.State.PLAYING)
pipeline.get_bus().timed_pop_filtered(60 * Gst.SECOND, Gst.MessageType.ERROR)
"""


class Processes(ReaderTestCase):
    """One process with a camera, and two readers of its frames."""

    def setUp(self) -> None:
        super().setUp()
        self.socket = os.path.join(self.folder, "camera")
        camera = subprocess.Popen([sys.executable, "-c", CAMERA, self.socket])
        self.addCleanup(camera.wait)
        self.addCleanup(camera.kill)
        end = time.monotonic() + 30
        while not os.path.exists(self.socket) and time.monotonic() < end:
            time.sleep(0.01)

    def test_two_readers(self) -> None:
        source = f"vkgdripcsrc socket-path={self.socket} ! identity"
        found: List[dict] = [{}, {}]
        with GstVkgdr.TensorReader(source, size=(32, 32), batch=2) as one:
            with GstVkgdr.TensorReader(source, size=(32, 32), batch=2) as other:
                for _ in range(20):
                    for reader, frames in zip((one, other), found):
                        batch = next(reader)
                        self.assertEqual(batch.shape, (2, 3, 32, 32))
                        for frame, data in zip(batch.frames, batch.numpy()):
                            frames[frame.pts] = data.tobytes()
        for frames in found:
            self.assertEqual(len(frames), 40)
        both = set(found[0]) & set(found[1])
        self.assertGreater(len(both), 0)
        for pts in both:
            self.assertEqual(found[0][pts], found[1][pts])


class Frames(ReaderTestCase):
    def test_what_is_said_of_a_frame(self) -> None:
        with GstVkgdr.TensorReader(
            [self.clip, self.other], size=(32, 64), batch=4, resize="letterbox"
        ) as reader:
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
            ("float32", 2, 32), ("float16", 2, 16), ("bfloat16", 4, 16), ("uint8", 1, 8),
            ("int8", 0, 8), (numpy.float32, 2, 32), (numpy.dtype("uint8"), 1, 8),
            (Named(), 2, 16), (Torch(), 4, 16),
        ):
            with self.subTest(dtype=dtype):
                with GstVkgdr.TensorReader(
                    self.clip, size=(8, 4), batch=3, dtype=dtype, layout="nhwc"
                ) as reader:
                    batch = next(reader)
                capsule = batch.__dlpack__(stream=-1)
                tensor = tensor_of(capsule).dl_tensor
                self.assertEqual((tensor.code, tensor.bits, tensor.ndim), (code, bits, 4))
                self.assertEqual(tensor.shape[:4], [3, 4, 8, 3])
                self.assertEqual(len(batch), len(batch.frames))
                self.assertEqual(tensor.data + tensor.byte_offset, batch.pointer)

    def test_normalisation(self) -> None:
        with GstVkgdr.TensorReader(
            self.other, size=(4, 4), mean=(1.0, 2, 3), std=2, scale=1.0
        ) as reader:
            data = next(reader).numpy()
        for channel in range(3):
            numpy.testing.assert_allclose(data[0, channel], (101 - 1 - channel) / 2, rtol=1e-6)

    def test_device_array(self) -> None:
        """The buffer comes from vkgdrtensor, without a TensorReader."""
        pipeline = Gst.parse_launch(
            "videotestsrc num-buffers=2 ! vkgdrupload ! vkgdrtensor width=8 height=4 batch=2 "
            "type=float16 ! appsink name=sink"
        )
        pipeline.set_state(Gst.State.PLAYING)
        sample = pipeline.get_by_name("sink").emit("try-pull-sample", 20 * Gst.SECOND)
        array = GstVkgdr.device_array(sample.get_buffer(), sample.get_caps())
        self.assertEqual(array.shape, (2, 3, 4, 8))
        self.assertEqual(array.typestr, "<f2")
        self.assertEqual(array.strides, (192, 64, 16, 2))
        pipeline.set_state(Gst.State.NULL)
        for caps in (
            "tensor/strided,dims=<2,3>,type=float64",
            "tensor/strided,dims=<2,0>,type=float32",
            "tensor/strided,type=float32",
            "tensor/strided,dims=<2,3>,dims-order=col-major,type=float32",
            "tensor/strided,dims=<2,3,4,9>,type=float16",
        ):
            with self.subTest(caps=caps), self.assertRaises(ValueError):
                GstVkgdr.device_array(sample.get_buffer(), Gst.Caps.from_string(caps))


class Control(ReaderTestCase):
    def test_seek(self) -> None:
        with GstVkgdr.TensorReader(self.clip, batch=2, **GRAY) as reader:
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
        with GstVkgdr.TensorReader([self.clip, self.other], **GRAY) as reader:
            for _ in range(2):
                reader.seek(4 / 25)
                self.assertEqual(
                    [self.values(batch) for batch in reader],
                    [[5, 105], [6, 106], [7, 107], [8], [9], [10]],
                )

    def test_seeks_that_fail(self) -> None:
        endless = f"fakesrc sizetype=fixed sizemax={SIZE * SIZE} filltype=zero ! {FRAMES}"
        for source, seconds, text in (
            (endless, 1, "do not support a seek"),
            (self.clip, -1, "^(?!.*do not support)"), (self.clip, "x", "^(?!.*do not support)"),
            (self.clip, float("nan"), "^(?!.*do not support)"),
        ):
            with self.subTest(source=source, seconds=seconds):
                with GstVkgdr.TensorReader(source, **GRAY) as reader:
                    with self.assertRaisesRegex(ValueError, text):
                        reader.seek(seconds)
                    if source == self.clip:
                        self.assertEqual(self.values(next(reader)), [1])

    def test_memory_is_bounded(self) -> None:
        """Sources wait while the program does not read."""
        with GstVkgdr.TensorReader("videotestsrc ! identity", batch=2, **GRAY) as reader:
            next(reader)
            time.sleep(0.3)
            tensor = next(
                one for one in reader._pipeline.iterate_elements()
                if one.get_factory().get_name() == "vkgdrtensor"
            )
            # Two batches are waiting, one is in preparation, and one was read.
            # Two more batches are a margin.
            found, frames = tensor.get_property("stats").get_uint64("frames")
            self.assertTrue(found)
            self.assertLessEqual(frames, 2 * 6)

    def test_batches_outlive_the_reader(self) -> None:
        with GstVkgdr.TensorReader(self.clip, batch=10, **GRAY) as reader:
            batch = next(reader)
        self.assertEqual(self.values(batch), list(range(1, 11)))
        batch.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            batch.numpy()
        with self.assertRaisesRegex(ValueError, "closed"):
            reader.seek(0)
        with self.assertRaisesRegex(ValueError, "closed"):
            next(reader)
        reader.close()

    def test_a_reader_that_is_forgotten_stops(self) -> None:
        reader = GstVkgdr.TensorReader("videotestsrc ! identity", **GRAY)
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
        result = support.run_python("""
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
        self.assertEqual((result.returncode, result.stdout), (0, "freed\n"))

    def test_threads_share_the_batches(self) -> None:
        with GstVkgdr.TensorReader(
            "videotestsrc num-buffers=60 ! identity", **GRAY
        ) as reader:
            counts = []

            def read() -> None:
                counts.append(sum(1 for _ in reader))

            threads = [threading.Thread(target=read) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            self.assertFalse(any(thread.is_alive() for thread in threads))
            self.assertEqual((len(counts), sum(counts)), (6, 60))

    def test_kept_until_the_end_of_the_interpreter(self) -> None:
        result = support.run_python(
            "from gst_support import GstVkgdr\n"
            "from gi.overrides import _gstvkgdr_tensors\n"
            f"reader = GstVkgdr.TensorReader({self.clip!r}, size=(8, 8))\n"
            "next(reader)\n"
            "_gstvkgdr_tensors.kept = reader\n"
            "del reader\n"
        )
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_context(self) -> None:
        with GstVkgdr.TensorReader(self.clip, context=self.context, **GRAY) as reader:
            batch = next(reader)
            memory = batch._mapping.get_memory()
            self.assertEqual(GstVkgdr.memory_get_context(memory), self.context)


class Mistakes(ReaderTestCase):
    def test_arguments(self) -> None:
        test = "videotestsrc ! identity"
        for error, text, source, arguments in (
            (FileNotFoundError, "", "/nonexistent/clip.mp4", {}),
            (FileNotFoundError, 'has a "!"', "videotestsrc", {}),
            (ValueError, "", [], {}),
            (ValueError, "", test, {"dtype": "float64"}),
            (ValueError, "nchw, nhwc", test, {"layout": "chwn"}),
            (ValueError, "", test, {"filter": "cubic"}),
            (ValueError, "", test, {"batch": -1}),
            (ValueError, "", test, {"batch": 1 << 40}),
            (TypeError, "", test, {"batch": "many"}),
            (TypeError, "", test, {"batch": 2.5}),
            (ValueError, "at least 1", test, {"queue": -5}),
            (ValueError, "5 values", test, {"mean": [1, 2, 3, 4, 5]}),
            (ValueError, r"\(width, height\), not 64", test, {"size": 64}),
            (ValueError, "", test, {"size": (-1, 8)}),
            (ValueError, "", test, {"pad": 256}),
            (ValueError, "", test, {"scale": "large"}),
            (ValueError, "", test, {"scale": float("nan")}),
            (GLib.Error, "", "videotestsrc ! fakesink", {}),
            (GLib.Error, "", "nosuchelement ! identity", {}),
        ):
            with self.subTest(source=source, arguments=arguments):
                with self.assertRaisesRegex(error, text):
                    GstVkgdr.TensorReader(source, **arguments)

    def test_numbers_of_numpy(self) -> None:
        class Integer(int):
            """A number whose representation is a call, as in NumPy 2."""

            def __repr__(self) -> str:
                return f"numpy.int64({int(self)})"

        self.assertEqual(self.read(self.clip, batch=Integer(4))[0], [1, 2, 3, 4])

    def test_a_sample_of_another_element(self) -> None:
        sample = Gst.Sample.new(Gst.Buffer.new_wrapped(b"frame"), None, None, None)
        with self.assertRaisesRegex(ValueError, "GstVkgdrTensorBatchMeta"):
            GstVkgdr.TensorBatch(sample, None)

    def test_errors_of_elements(self) -> None:
        path = os.path.join(self.folder, "text.mkv")
        with open(path, "w", encoding="ascii") as file:
            file.write("this is no film\n" * 100)
        for source, batch, text in (
            (path, 0, r"decodebin\d*: "),
            (["videotestsrc ! identity"] * 2, 3, "batch of 3 frames"),
            ("videotestsrc ! identity error-after=3", 8, r"identity\d+: Failed after iterations"),
        ):
            with self.subTest(source=source), self.assertRaisesRegex(GLib.Error, text):
                self.read(source, batch=batch)

    def test_a_failed_reader_is_closed(self) -> None:
        reader = GstVkgdr.TensorReader("videotestsrc ! identity error-after=3", batch=8, **GRAY)
        with self.assertRaises(GLib.Error):
            list(reader)
        with self.assertRaisesRegex(ValueError, "closed"):
            reader.seek(0)


if __name__ == "__main__":
    support.main()
