# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of buffers as arrays: shapes, strides, bytes, lifetimes and errors."""

import gc
import sys
import unittest
import unittest.mock

from gst_support import (
    READ, WRITE, DeviceTestCase, GLib, Gst, GstVideo,
    GstVkgdr, add_video_meta, host_bytes, video_caps,
)

import support

try:
    import numpy
except ImportError:
    numpy = None

needs_numpy = unittest.skipIf(numpy is None, "numpy is missing")

# For each format: shapes, strides and types of the planes of 6x5 pixels.
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
    "UYVY": [((5, 6, 2), (12, 2, 1), "|u1")],
    "NV12": [((5, 6), (8, 1), "|u1"), ((3, 3, 2), (8, 2, 1), "|u1")],
    "P010_10LE": [((5, 6), (12, 2), "<u2"), ((3, 3, 2), (12, 4, 2), "<u2")],
    "I420": [((5, 6), (8, 1), "|u1"), ((3, 3), (4, 1), "|u1"), ((3, 3), (4, 1), "|u1")],
    "I420_10LE": [((5, 6), (12, 2), "<u2"), ((3, 3), (8, 2), "<u2"), ((3, 3), (8, 2), "<u2")],
    "Y444": [((5, 6), (8, 1), "|u1")] * 3,
}


def audio_caps(format: str, layout: str = "interleaved") -> Gst.Caps:
    return Gst.Caps.from_string(
        f"audio/x-raw,format={format},rate=48000,channels=2,layout={layout}"
    )


def plane_bytes(data: bytes, info: GstVideo.VideoInfo, plane: int, array: object) -> bytes:
    """Returns the bytes of a plane, row by row, without padding."""
    row = array.nbytes // array.shape[0]
    start, stride = info.offset[plane], info.stride[plane]
    return b"".join(data[start + y * stride :][:row] for y in range(array.shape[0]))


class Formats(DeviceTestCase):
    def test_planes_of_formats(self) -> None:
        for name, planes in FORMATS.items():
            with self.subTest(name):
                caps = video_caps(name, 6, 5, "(memory:VkgdrMemory)")
                info = GstVideo.VideoInfo.new_from_caps(caps)
                data = support.pattern(info.size)
                arrays = GstVkgdr.device_arrays(self.new_buffer(data), caps)
                found = [(a.shape, a.strides, a.typestr) for a in arrays]
                self.assertEqual(found, planes)
                for plane, array in enumerate(arrays):
                    interface = array.__cuda_array_interface__
                    self.assertEqual(interface["version"], 3)
                    self.assertEqual(interface["data"], (array.pointer, True))
                    self.assertIsNone(interface["stream"])
                    self.assertEqual(
                        support.read_strided(interface), plane_bytes(data, info, plane, array)
                    )

    def test_infos_serve_as_caps_do(self) -> None:
        caps = video_caps("RGBA", 4, 4)
        info = GstVideo.VideoInfo.new_from_caps(caps)
        buffer = self.new_buffer(support.pattern(64))
        self.assertEqual(GstVkgdr.device_array(buffer, info).shape, (4, 4, 4))

    def test_meta_overrules_the_format(self) -> None:
        caps = video_caps("NV12", 6, 4)
        data = support.pattern(1000)
        buffer = self.new_buffer(data)
        add_video_meta(buffer, caps, [100, 500], [64, 32])
        luma, chroma = GstVkgdr.device_arrays(buffer, caps)
        self.assertEqual((luma.strides, chroma.strides), ((64, 1), (32, 2, 1)))
        self.assertEqual(chroma.pointer - luma.pointer, 400)
        expected = b"".join(data[100 + 64 * y :][:6] for y in range(4))
        self.assertEqual(support.read_strided(luma.__cuda_array_interface__), expected)

    def test_planes_in_memories_of_their_own(self) -> None:
        caps = video_caps("NV12", 8, 4)
        buffer = self.new_buffer(support.pattern(32, 1))
        buffer.append_memory(self.new_memory(support.pattern(16, 2)))
        luma, chroma = GstVkgdr.device_arrays(buffer, caps)
        self.assertEqual(
            support.read_strided(luma.__cuda_array_interface__), support.pattern(32, 1)
        )
        self.assertEqual(
            support.read_strided(chroma.__cuda_array_interface__), support.pattern(16, 2)
        )

    def test_sound(self) -> None:
        for name, typestr, size in (
            ("S16LE", "<i2", 2), ("S16BE", ">i2", 2), ("F32LE", "<f4", 4), ("F64LE", "<f8", 8),
            ("S24_32LE", "<i4", 4), ("U8", "|u1", 1),
        ):
            with self.subTest(name):
                data = support.pattern(10 * 2 * size)
                array = GstVkgdr.device_array(self.new_buffer(data), audio_caps(name))
                self.assertEqual((array.shape, array.strides), ((10, 2), (2 * size, size)))
                self.assertEqual(array.typestr, typestr)
                self.assertEqual(support.read_strided(array.__cuda_array_interface__), data)

    def test_bytes(self) -> None:
        data = support.pattern(1000)
        buffer = self.new_buffer(data)
        for array in (
            GstVkgdr.device_array(buffer),
            GstVkgdr.device_array(buffer, Gst.Caps.from_string("application/x-rtp")),
            GstVkgdr.device_array(buffer.peek_memory(0)),
        ):
            self.assertEqual((array.shape, array.strides), ((1000,), (1,)))
            self.assertEqual((len(array), array.size, array.nbytes), (1000, 1000, 1000))
            self.assertEqual(support.read_strided(array.__cuda_array_interface__), data)
        part = buffer.peek_memory(0).share(100, 50)
        array = GstVkgdr.device_array(part)
        self.assertEqual(support.read_strided(array.__cuda_array_interface__), data[100:150])


class Refusals(DeviceTestCase):
    def test_what_is_no_array(self) -> None:
        def video(format: str) -> Gst.Caps:
            return video_caps(format, 16, 16)

        buffer, small = self.new_buffer(bytes(10000)), self.new_buffer(bytes(3))
        described = self.new_buffer(bytes(2000))
        add_video_meta(described, video_caps("RGBA", 8, 16), [0], [32])
        two = self.new_buffer(bytes(32))
        two.append_memory(self.new_memory(bytes(32)))
        foreign = Gst.Buffer.new_wrapped(bytes(64))
        for error, text, *arguments in (
            *((ValueError, "cannot be an array", buffer, video(name))
              for name in ("v210", "RGB8P", "NV12_64Z32", "GRAY10_LE32")),
            (ValueError, "cannot be an array", buffer, audio_caps("S24LE")),
            (ValueError, "cannot be an array", buffer, audio_caps("S16LE", "non-interleaved")),
            (ValueError, "a buffer of 3 bytes.*takes 1024 bytes", small, video("RGBA")),
            (ValueError, "does not describe RGBA of 16x16", described, video("RGBA")),
            (ValueError, "less than one sample", small, audio_caps("F64LE")),
            (ValueError, "do not describe a buffer", buffer, Gst.Caps.new_any()),
            (ValueError, "do not describe a buffer", buffer, Gst.Caps.new_empty()),
            (ValueError, "do not describe", buffer, Gst.Caps.from_string("video/x-raw")),
            (TypeError, "not int", buffer, 3),
            (TypeError, "Gst.Buffer is needed", b"bytes"),
            (ValueError, "several memories", two, video_caps("RGBA", 4, 4)),
            (GLib.Error, "no device pointer: put vkgdrupload", foreign, video_caps("RGBA", 4, 4)),
        ):
            with self.subTest(text=text), self.assertRaisesRegex(error, text):
                GstVkgdr.device_arrays(*arguments)
        with self.assertRaisesRegex(ValueError, "has no format"):
            GstVkgdr.device_array(self.new_memory(bytes(64)), video_caps("RGBA", 4, 4))
        with self.assertRaisesRegex(ValueError, "has 2 planes"):
            GstVkgdr.device_array(self.new_buffer(bytes(24)), video_caps("NV12", 4, 4))
        self.assertEqual(len(GstVkgdr.device_arrays(two)), 2)


class Lifetimes(DeviceTestCase):
    def test_an_array_keeps_its_buffer(self) -> None:
        data = support.pattern(64)
        array = GstVkgdr.device_array(self.new_buffer(data), video_caps("RGBA", 4, 4))
        gc.collect()
        for _ in range(4):  # would reuse the block if it were free
            self.new_buffer(bytes(64))
        self.assertEqual(support.read_strided(array.__cuda_array_interface__), data)

    def test_the_last_plane_unmaps(self) -> None:
        buffer = self.new_buffer(bytes(24))
        memory = buffer.peek_memory(0)
        luma, chroma = GstVkgdr.device_arrays(buffer, video_caps("NV12", 4, 4))
        self.assert_writable(memory, False)
        luma.close()
        self.assert_writable(memory, False)
        del chroma
        self.assert_writable(memory, True)

    def test_closed_arrays_raise(self) -> None:
        with GstVkgdr.device_array(self.new_buffer(bytes(64))) as array:
            self.assertGreater(array.pointer, 0)
        array.close()
        for use in (
            lambda: array.pointer,
            lambda: array.device,
            lambda: array.__cuda_array_interface__,
            lambda: array.__dlpack__(),
            lambda: array.__dlpack_device__(),
            lambda: array.__enter__(),
        ):
            with self.assertRaisesRegex(ValueError, "has been closed"):
                use()
        self.assertIn("closed", repr(array))
        self.assertEqual(array.shape, (64,))

    def test_writers_are_alone(self) -> None:
        buffer = self.new_buffer(bytes(64))
        first = GstVkgdr.device_array(buffer, None, READ)
        second = GstVkgdr.device_array(buffer, None, READ)
        with self.assertRaisesRegex(GLib.Error, "for writing"):
            GstVkgdr.device_array(buffer, None, WRITE)
        first.close()
        second.close()
        array = GstVkgdr.device_array(buffer, None, WRITE)
        self.assertFalse(array.readonly)
        self.assertEqual(array.__cuda_array_interface__["data"], (array.pointer, False))
        with self.assertRaisesRegex(GLib.Error, "for reading"):
            GstVkgdr.device_array(buffer, None, READ)

    def test_what_a_consumer_wrote_is_read(self) -> None:
        buffer = self.new_buffer(support.pattern(64, 1))
        self.assertEqual(host_bytes(buffer), support.pattern(64, 1))
        with GstVkgdr.device_array(buffer, None, WRITE) as array:
            support.write_device(array.pointer, support.pattern(64, 2))
        self.assertEqual(host_bytes(buffer), support.pattern(64, 2))

    def test_a_pool_waits_for_arrays(self) -> None:
        pool = GstVkgdr.BufferPool.new(self.context)
        config = pool.get_config()
        Gst.BufferPool.config_set_params(config, video_caps("GRAY8", 8, 8), 64, 1, 1)
        self.assertTrue(pool.set_config(config))
        pool.set_active(True)
        params = Gst.BufferPoolAcquireParams()
        params.flags = Gst.BufferPoolAcquireFlags.DONTWAIT
        _, buffer = pool.acquire_buffer(params)
        array = GstVkgdr.device_array(buffer, video_caps("GRAY8", 8, 8))
        del buffer
        gc.collect()
        self.assertEqual(pool.acquire_buffer(params)[0], Gst.FlowReturn.EOS)
        array.close()
        self.assertEqual(pool.acquire_buffer(params)[0], Gst.FlowReturn.OK)
        pool.set_active(False)


@needs_numpy
class Mapped(DeviceTestCase):
    def test_what_is_written_is_on_the_device(self) -> None:
        caps = video_caps("NV12", 6, 4)
        size = GstVideo.VideoInfo.new_from_caps(caps).size
        buffer = self.new_buffer(bytes(size))
        with GstVkgdr.mapped(buffer, caps, WRITE) as (luma, chroma):
            self.assertEqual((luma.shape, chroma.shape), ((4, 6), (2, 3, 2)))
            luma[:] = numpy.arange(24).reshape(4, 6)
            chroma[..., 0] = 100
            chroma[..., 1] = 200
        luma, chroma = GstVkgdr.device_arrays(buffer, caps)
        self.assertEqual(support.read_strided(luma.__cuda_array_interface__), bytes(range(24)))
        self.assertEqual(
            support.read_strided(chroma.__cuda_array_interface__), bytes((100, 200)) * 6
        )

    def test_what_the_device_has_is_read(self) -> None:
        data = support.pattern(64)
        with GstVkgdr.mapped(self.new_buffer(data), video_caps("RGBA", 4, 4)) as (pixels,):
            self.assertEqual(pixels.tobytes(), data)
            with self.assertRaisesRegex(ValueError, "read-only"):
                pixels[0] = 0

    def test_types(self) -> None:
        data = support.pattern(1000)
        for name, planes in FORMATS.items():
            with GstVkgdr.mapped(self.new_buffer(data), video_caps(name, 6, 5)) as arrays:
                found = [(a.shape, a.strides, a.dtype.str) for a in arrays]
            self.assertEqual(found, planes)

    def test_ordinary_memory_is_mapped_too(self) -> None:
        buffer = Gst.Buffer.new_allocate(None, 64, None)
        with GstVkgdr.mapped(buffer, video_caps("RGBA", 4, 4), WRITE) as (pixels,):
            pixels[:] = 9
        self.assertEqual(host_bytes(buffer), bytes([9]) * 64)

    def test_arrays_kept_for_too_long_do_no_harm(self) -> None:
        buffer = self.new_buffer(bytes(1 << 20))
        memory = buffer.peek_memory(0)
        with GstVkgdr.mapped(buffer, None, WRITE) as (pixels,):
            part = pixels[100:]
            pixels[:] = 1
        self.assert_writable(memory, True)
        del buffer, memory
        gc.collect()
        with self.assertRaisesRegex(ValueError, "read-only"):
            pixels[0] = 1
        self.assertEqual(len(part.tobytes()), (1 << 20) - 100)  # the content is undefined, but there is no crash

    def test_an_exception_ends_the_mapping(self) -> None:
        buffer = self.new_buffer(bytes(64))
        with self.assertRaises(ZeroDivisionError):
            with GstVkgdr.mapped(buffer, None, WRITE) as (pixels,):
                pixels[0] = 1 // 0
        self.assert_writable(buffer.peek_memory(0), True)

    def test_an_array_on_the_device_is_not_for_numpy(self) -> None:
        with GstVkgdr.device_array(self.new_buffer(bytes(4))) as array:
            with self.assertRaisesRegex(TypeError, r"mapped\(\)"):
                numpy.asarray(array)

    def test_the_device_is_not_for_numpy(self) -> None:
        with self.assertRaisesRegex(ValueError, "device_arrays"):
            with GstVkgdr.mapped(self.new_buffer(bytes(1)), None, GstVkgdr.MAP_VKGDR | READ):
                pass

    def test_from_numpy_into_the_gpu_and_back(self) -> None:
        caps = video_caps("RGBA", 8, 8, "(memory:VkgdrMemory)")
        buffers = []
        for seed in range(5):
            buffer = Gst.Buffer.new()
            buffer.append_memory(self.allocator.alloc(256))
            with GstVkgdr.mapped(buffer, caps, WRITE) as (pixels,):
                pixels[:] = numpy.frombuffer(support.pattern(256, seed), "u1").reshape(8, 8, 4)
            buffers.append(buffer)
        samples = self.run_buffers("vkgdrdownload", caps, buffers)
        for seed, sample in enumerate(samples):
            self.assertEqual(host_bytes(sample.get_buffer()), support.pattern(256, seed))


class WithoutNumpy(DeviceTestCase):
    def test_mapped_says_what_is_missing(self) -> None:
        with unittest.mock.patch.dict(sys.modules, {"numpy": None}):
            with self.assertRaisesRegex(ImportError, "numpy"):
                with GstVkgdr.mapped(self.new_buffer(bytes(1))):
                    pass
            array = GstVkgdr.device_array(self.new_buffer(bytes(10)))
            self.assertEqual(array.shape, (10,))

    def test_the_import_needs_none(self) -> None:
        result = support.run_python(
            "import sys; sys.modules['numpy'] = None\n"
            "import gi; gi.require_version('GstVkgdr', '1.0')\n"
            "from gi.repository import GstVkgdr; print(GstVkgdr.mapped.__name__)"
        )
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("mapped", result.stdout)


@needs_numpy
class Metas(DeviceTestCase):
    """A GstVideoMeta is compared with the format before it is used."""

    def planes(self, size: int, caps: Gst.Caps, of: Gst.Caps, strides: list) -> tuple:
        buffer = Gst.Buffer.new_wrapped(bytes(size))
        add_video_meta(buffer, of, [0] * len(strides), strides)
        with GstVkgdr.mapped(buffer, caps) as arrays:
            return tuple(array.shape for array in arrays)

    def test_of_another_picture(self) -> None:
        rgb, i420 = video_caps("RGB", 8, 4), video_caps("I420", 8, 4)
        gray, larger = video_caps("GRAY8", 8, 4), video_caps("GRAY8", 16, 6)
        for caps, of, strides, text in (
            (rgb, i420, [8, 4, 4], "does not describe RGB of 8x4"),
            (i420, rgb, [24], "does not describe I420 of 8x4"),
            (larger, gray, [16], "does not describe GRAY8 of 16x6"),
            *((gray, gray, [stride], "plane 0 .* is not inside its buffer")
              for stride in (0, 7, -8)),
        ):
            with self.subTest(text=text), self.assertRaisesRegex(ValueError, text):
                self.planes(96, caps, of, strides)
        self.assertEqual(self.planes(96, gray, larger, [16]), ((4, 8),))

    def test_not_left_at_the_end_of_the_interpreter(self) -> None:
        result = support.run_python(
            "from gst_support import Gst, GstVkgdr\n"
            "buffer = Gst.Buffer.new_wrapped(bytes(16))\n"
            "kept = GstVkgdr.mapped(buffer)\nkept.__enter__()\n")
        self.assertEqual((result.returncode, result.stdout), (0, ""))


if __name__ == "__main__":
    support.main()
