# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of buffers as arrays: shapes, strides, bytes, lifetimes and errors."""

import gc

from gst_support import (
    READ, WRITE, DeviceTestCase, GLib, Gst, GstVideo,
    GstVkgdr, add_video_meta, buffer_of, video_caps, video_info,
)

import numpy as np
import support


def audio_caps(format: str, layout: str = "interleaved") -> Gst.Caps:
    return Gst.Caps.from_string(
        f"audio/x-raw,format={format},rate=48000,channels=2,layout={layout}"
    )


# Shapes, strides and types of the arrays in a buffer of 960 bytes: planes of 6x5 pixels,
# samples of two channels, and bytes.
FORMATS = {
    "GRAY8": [((5, 6), (8, 1), "|u1")],
    "GRAY16_LE": [((5, 6), (12, 2), "<u2")],
    "GRAY16_BE": [((5, 6), (12, 2), ">u2")],
    "RGBA": [((5, 6, 4), (24, 4, 1), "|u1")],
    "BGRx": [((5, 6, 4), (24, 4, 1), "|u1")],
    "RGB": [((5, 6, 3), (20, 3, 1), "|u1")],
    "RGB16": [((5, 6), (12, 2), "<u2")],
    "RGB10A2_LE": [((5, 6), (24, 4), "<u4")],
    "ARGB64": [((5, 6, 4), (48, 8, 2), "<u2")],
    "YUY2": [((5, 6, 2), (12, 2, 1), "|u1")],
    "NV12": [((5, 6), (8, 1), "|u1"), ((3, 3, 2), (8, 2, 1), "|u1")],
    "P010_10LE": [((5, 6), (12, 2), "<u2"), ((3, 3, 2), (12, 4, 2), "<u2")],
    "I420": [((5, 6), (8, 1), "|u1"), ((3, 3), (4, 1), "|u1"), ((3, 3), (4, 1), "|u1")],
    "S16LE": [((240, 2), (4, 2), "<i2")],
    "S16BE": [((240, 2), (4, 2), ">i2")],
    "F32LE": [((120, 2), (8, 4), "<f4")],
    "S24_32LE": [((120, 2), (8, 4), "<i4")],
    "U8": [((480, 2), (2, 1), "|u1")],
    "application/x-rtp": [((960,), (1,), "|u1")],
    "tensor/strided,type=float16,dims=<2,3,4,5>": [((2, 3, 4, 5), (120, 40, 10, 2), "<f2")],
    "": [((960,), (1,), "|u1")],
}


class Formats(DeviceTestCase):
    def test_formats(self) -> None:
        """On the device and for NumPy, with caps and with an info."""
        data = support.pattern(960)
        buffer = self.new_buffer(data)
        for name, planes in FORMATS.items():
            offsets, format = [0], Gst.Caps.from_string(name) if name else None
            if GstVideo.video_format_from_string(name) != GstVideo.VideoFormat.UNKNOWN:
                format = video_info(name, 6, 5)
                offsets = format.offset
            elif name and "/" not in name:
                format = audio_caps(name)
            with self.subTest(name), GstVkgdr.mapped(buffer, format) as on_host:
                self.assertEqual([(a.shape, a.strides, a.dtype.str) for a in on_host], planes)
                arrays = GstVkgdr.device_arrays(buffer, format)
                self.assertEqual([(a.shape, a.strides, a.typestr) for a in arrays], planes)
                for array, host, offset in zip(arrays, on_host, offsets):
                    expected = np.ndarray(
                        array.shape, array.typestr, data, offset, array.strides)
                    np.testing.assert_array_equal(support.read_array(array), expected)
                    np.testing.assert_array_equal(host, expected)
                    self.assertEqual(
                        (len(array), array.size, array.nbytes, array.dtype),
                        (len(host), host.size, host.nbytes, host.dtype))
                    interface = array.__cuda_array_interface__
                    self.assertEqual(
                        [interface[key] for key in ("version", "data", "stream")],
                        [3, (array.pointer, True), None])

    def test_meta_overrules_the_format(self) -> None:
        caps = video_caps("NV12", 6, 4)
        buffer = self.new_buffer(support.pattern(1000))
        add_video_meta(buffer, video_info("NV12", 6, 4), [100, 500], [64, 32])
        for array, where in zip(
            GstVkgdr.device_arrays(buffer, caps),
            (((4, 6), "u1", support.pattern(1000), 100, (64, 1)),
             ((2, 3, 2), "u1", support.pattern(1000), 500, (32, 2, 1)))
        ):
            np.testing.assert_array_equal(support.read_array(array), np.ndarray(*where))

    def test_planes_in_memories_of_their_own(self) -> None:
        buffer = buffer_of(*(self.new_memory(bytes([value]) * 32) for value in (1, 2)))
        for caps in video_caps("NV12", 8, 4), None:
            for value, array in enumerate(GstVkgdr.device_arrays(buffer, caps), 1):
                self.assertTrue((support.read_array(array) == value).all())

    def test_memories(self) -> None:
        data = support.pattern(1000)
        memory = self.new_memory(data)
        for part, expected in (memory, data), (memory.share(100, 50), data[100:150]):
            found = support.read_array(GstVkgdr.device_array(part))
            self.assertEqual(found.tobytes(), expected)

    def test_refusals(self) -> None:
        def video(format: str) -> Gst.Caps:
            return video_caps(format, 16, 16)

        arrays, array = GstVkgdr.device_arrays, GstVkgdr.device_array
        buffer, small = self.new_buffer(bytes(10000)), self.new_buffer(bytes(3))
        described = self.new_buffer(bytes(2000))
        add_video_meta(described, video_info("RGBA", 8, 16), [0], [32])
        two = buffer_of(self.new_memory(bytes(32)), self.new_memory(bytes(32)))
        foreign = Gst.Buffer.new_wrapped(bytes(64))
        rgba, stereo = video_caps("RGBA", 4, 4), audio_caps("S16LE", "non-interleaved")
        self.assert_raise(
            *((ValueError, "cannot be an array", arrays, buffer, video(name))
              for name in ("v210", "RGB8P", "NV12_64Z32", "GRAY10_LE32")),
            (ValueError, "cannot be an array", arrays, buffer, audio_caps("S24LE")),
            (ValueError, "cannot be an array", arrays, buffer, stereo),
            (ValueError, "a buffer of 3 bytes.*takes 1024 bytes", arrays, small, video("RGBA")),
            (ValueError, "does not describe RGBA of 16x16", arrays, described, video("RGBA")),
            (ValueError, "less than one sample", arrays, small, audio_caps("F64LE")),
            (ValueError, "do not describe a buffer", arrays, buffer, Gst.Caps.new_any()),
            (ValueError, "do not describe a buffer", arrays, buffer, Gst.Caps.new_empty()),
            (ValueError, "do not describe", arrays, buffer, Gst.Caps.from_string("video/x-raw")),
            *((ValueError, "", arrays, small, Gst.Caps.from_string(f"tensor/strided,{wrong}"))
              for wrong in ("dims=<1,2>,type=float64", "dims=<1,0>,type=uint8", "type=uint8",
                            "dims=<1,2>,dims-order=col-major,type=uint8",
                            "dims=<1,4>,type=uint8")),
            (TypeError, "not int", arrays, buffer, 3),
            (TypeError, "Gst.Buffer is needed", arrays, b"bytes"),
            (ValueError, "several memories", arrays, two, rgba),
            (GLib.Error, "no device pointer: put vkgdrupload", arrays, foreign, rgba),
            (ValueError, "has no format", array, self.new_memory(bytes(64)), rgba),
            (ValueError, "has 2 planes", array, buffer, video("NV12")),
            (ValueError, "device_arrays",
             GstVkgdr.mapped(buffer, None, GstVkgdr.MAP_VKGDR | READ).__enter__),
            # NumPy would make an array of one object.
            (TypeError, r"mapped\(\)", np.asarray, array(buffer)),
        )


class Lifetimes(DeviceTestCase):
    def test_the_last_plane_unmaps(self) -> None:
        buffer = self.new_buffer(bytes(24))
        memory = buffer.peek_memory(0)
        luma, chroma = GstVkgdr.device_arrays(buffer, video_caps("NV12", 4, 4))
        luma.close()
        self.assert_writable(memory, False)
        del chroma
        self.assert_writable(memory, True)

    def test_closed_arrays_raise(self) -> None:
        stream = GstVkgdr.Stream(self.context)
        with GstVkgdr.device_array(self.new_buffer(bytes(64)), stream=stream) as array:
            self.assertGreater(array.pointer, 0)
        array.close()
        self.assert_raise(*((ValueError, "has been closed", use) for use in (
            lambda: array.pointer, lambda: array.device, lambda: array.__cuda_array_interface__,
            array.__dlpack__, array.__dlpack_device__, array.__enter__, lambda: array.use_on(1),
        )))
        self.assertIn("closed", repr(array))
        self.assertEqual(array.shape, (64,))

    def test_a_pool_waits_for_arrays(self) -> None:
        pool, caps = GstVkgdr.BufferPool.new(self.context), video_caps("GRAY8", 8, 8)
        config = pool.get_config()
        Gst.BufferPool.config_set_params(config, caps, 64, 1, 1)
        self.assertTrue(pool.set_config(config))
        pool.set_active(True)
        params = Gst.BufferPoolAcquireParams()
        params.flags = Gst.BufferPoolAcquireFlags.DONTWAIT
        array = GstVkgdr.device_array(pool.acquire_buffer(params)[1], caps)
        gc.collect()
        self.assertEqual(pool.acquire_buffer(params)[0], Gst.FlowReturn.EOS)
        array.close()
        self.assertEqual(pool.acquire_buffer(params)[0], Gst.FlowReturn.OK)
        pool.set_active(False)


class Mapped(DeviceTestCase):
    def test_what_is_written(self) -> None:
        """In device memory, and in ordinary memory."""
        caps = video_caps("NV12", 6, 4)
        buffer = self.new_buffer(bytes(48))
        for one in buffer, Gst.Buffer.new_allocate(None, 48, None):
            with GstVkgdr.mapped(one, caps, WRITE) as (luma, chroma):
                luma[:] = np.arange(24).reshape(4, 6)
                chroma[:] = 100, 200
            with GstVkgdr.mapped(one, caps) as (luma, chroma):
                self.assertEqual(luma.tobytes(), bytes(range(24)))
                self.assertEqual(chroma.tobytes(), bytes((100, 200)) * 6)
        found = [support.read_array(array) for array in GstVkgdr.device_arrays(buffer, caps)]
        self.assertEqual(found[0].tobytes(), bytes(range(24)))
        self.assertEqual(found[1].tobytes(), bytes((100, 200)) * 6)

    def test_the_end_of_the_interpreter(self) -> None:
        """Inside of a block, which is not left."""
        done = support.run_python("-c", """
import gst_support
from gst_support import Gst, GstVkgdr
buffer = Gst.Buffer.new_allocate(None, 64, None)
def block():
    with GstVkgdr.mapped(buffer) as (data,):
        yield data
kept = block()
next(kept)
""")
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_readers_cannot_write(self) -> None:
        with GstVkgdr.mapped(self.new_buffer(bytes(64))) as (pixels,):
            self.assert_raise((ValueError, "read-only", pixels.fill, 0))

    def test_arrays_kept_for_too_long_do_no_harm(self) -> None:
        buffer = self.new_buffer(bytes(1 << 20))
        memory = buffer.peek_memory(0)
        with GstVkgdr.mapped(buffer, None, WRITE) as (pixels,):
            part = pixels[100:]
            pixels[:] = 1
        self.assert_writable(memory, True)
        del buffer, memory
        gc.collect()
        self.assert_raise((ValueError, "read-only", pixels.fill, 0))
        # The content is undefined, but there is no crash.
        self.assertEqual(len(part.tobytes()), (1 << 20) - 100)

    def test_an_exception_ends_the_mapping(self) -> None:
        buffer = self.new_buffer(bytes(64))
        with self.assertRaises(ZeroDivisionError), GstVkgdr.mapped(buffer, None, WRITE):
            1 // 0
        self.assert_writable(buffer.peek_memory(0), True)

    def test_a_missing_numpy_is_named(self) -> None:
        self.assert_prints(
            r".*\(10,\).*Error: import of numpy.*",
            "import sys; sys.modules['numpy'] = None\n"
            "import gi; gi.require_version('GstVkgdr', '1.0')\n"
            "from gi.repository import Gst, GstVkgdr\n"
            "memory = GstVkgdr.Context(0).get_allocator().alloc(10)\n"
            "print(GstVkgdr.device_array(memory).shape, flush=True)\n"
            "GstVkgdr.mapped(Gst.Buffer.new_wrapped(bytes(1))).__enter__()\n", status=1)

    def test_not_left_at_the_end_of_the_interpreter(self) -> None:
        self.assert_prints(
            "", "from gst_support import Gst, GstVkgdr\n"
            "buffer = Gst.Buffer.new_wrapped(bytes(16))\n"
            "kept = GstVkgdr.mapped(buffer)\nkept.__enter__()\n")


if __name__ == "__main__":
    support.main()
