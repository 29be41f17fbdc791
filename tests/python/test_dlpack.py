# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of DLPack in both directions: content of tensors, ownership, and bad tensors.
"""

import ctypes
import gc
import sys
import threading
import unittest
from typing import Any, Callable, Optional

from gst_support import READ, WRITE, DeviceTestCase, GLib, Gst, GstVkgdr, host_bytes, video_caps

import support

try:
    import numpy
except ImportError:
    numpy = None

CUDA = 2


class DLTensor(ctypes.Structure):
    """DLPack's structure, written again from its header."""

    _fields_ = [
        ("data", ctypes.c_uint64),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    pass


Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(DLManagedTensor))
DLManagedTensor._fields_ = [
    ("dl_tensor", DLTensor),
    ("manager_ctx", ctypes.c_void_p),
    ("deleter", Deleter),
]

_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_set_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_SetName", ctypes.pythonapi)
)
_new = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)(("PyCapsule_New", ctypes.pythonapi))

NAME = b"dltensor"
USED = b"used_dltensor"


def tensor_of(capsule: Any) -> DLManagedTensor:
    return DLManagedTensor.from_address(_get_pointer(capsule, NAME))


def consume(capsule: Any) -> Callable[[], None]:
    """Takes a tensor as a library does. Returns the function that deletes it."""
    tensor = tensor_of(capsule)
    _set_name(capsule, USED)
    return lambda: tensor.deleter(ctypes.byref(tensor))


class FakeTensor:
    """A tensor of a library, in memory that the library does not own."""

    # A consumer may call the deleter when the test has no reference any more.
    kept: "list[FakeTensor]" = []

    def __init__(
        self,
        data: int,
        shape: tuple,
        strides: Optional[tuple] = None,
        device: tuple = (CUDA, 0),
        bits: int = 8,
        offset: int = 0,
        name: bytes = NAME,
    ) -> None:
        self.kept.append(self)
        self.deleted = threading.Event()
        self.device = device
        self.name = name
        self.streams: list = []
        self._shape = (ctypes.c_int64 * len(shape))(*shape)
        self._strides = (ctypes.c_int64 * len(shape))(*strides) if strides else None
        self._deleter = Deleter(lambda tensor: self.deleted.set())
        self.tensor = DLManagedTensor()
        dl = self.tensor.dl_tensor
        dl.data, dl.byte_offset = data, offset
        dl.device_type, dl.device_id = device
        dl.ndim, dl.code, dl.bits, dl.lanes = len(shape), 1, bits, 1
        dl.shape = self._shape
        if self._strides:
            dl.strides = self._strides
        self.tensor.deleter = self._deleter

    def __dlpack_device__(self) -> tuple:
        return self.device

    def __dlpack__(self, stream: Optional[int] = None) -> Any:
        self.streams.append(stream)
        return _new(ctypes.addressof(self.tensor), self.name, None)


class Out(DeviceTestCase):
    def test_what_is_in_a_tensor(self) -> None:
        data = support.pattern(1000)
        luma, chroma = GstVkgdr.device_arrays(self.new_buffer(data), video_caps("NV12", 6, 4))
        self.assertEqual(chroma.__dlpack_device__(), (CUDA, self.context.get_device()))
        capsule = chroma.__dlpack__()
        tensor = tensor_of(capsule).dl_tensor
        self.assertEqual(tensor.data, chroma.pointer)
        self.assertEqual(tensor.byte_offset, 0)
        self.assertEqual((tensor.device_type, tensor.device_id), (CUDA, 0))
        self.assertEqual((tensor.code, tensor.bits, tensor.lanes), (1, 8, 1))
        self.assertEqual(tensor.shape[: tensor.ndim], [2, 3, 2])
        self.assertEqual(tensor.strides[: tensor.ndim], [8, 2, 1])

    def test_types(self) -> None:
        """Strides are counted in elements."""
        audio = "audio/x-raw,rate=48000,channels=2,layout=interleaved,format="
        buffer = self.new_buffer(bytes(1000))
        for caps, code, bits, strides in (
            (video_caps("P010_10LE", 6, 4), 1, 16, [6, 2, 1]),
            (Gst.Caps.from_string(audio + "S16LE"), 0, 16, [2, 1]),
            (Gst.Caps.from_string(audio + "F32LE"), 2, 32, [2, 1]),
            (Gst.Caps.from_string(audio + "U8"), 1, 8, [2, 1]),
        ):
            capsule = GstVkgdr.device_arrays(buffer, caps)[-1].__dlpack__()
            tensor = tensor_of(capsule).dl_tensor
            self.assertEqual((tensor.code, tensor.bits), (code, bits))
            self.assertEqual(tensor.strides[: tensor.ndim], strides)

    def test_an_unused_capsule_unmaps(self) -> None:
        buffer = self.new_buffer(bytes(64))
        memory = buffer.peek_memory(0)
        capsule = GstVkgdr.device_array(buffer).__dlpack__()
        self.assert_writable(memory, False)
        del capsule
        self.assert_writable(memory, True)

    def test_a_consumer_that_refuses_unmaps(self) -> None:
        """The capsule is deleted while the consumer's exception is pending."""
        def fails(array: Any) -> None:
            (array.__dlpack__(), 1 // len([]))  # the tuple is never created

        for consumer, error in (
            (fails, ZeroDivisionError),
            (getattr(numpy, "from_dlpack", None), (BufferError, RuntimeError)),
        ):
            buffer = self.new_buffer(bytes(64))
            memory = buffer.peek_memory(0)
            array = GstVkgdr.device_array(buffer)
            if consumer:
                with self.assertRaises(error):
                    consumer(array)
            array.close()
            gc.collect()
            self.assert_writable(memory, True)

    def test_a_tensor_is_deleted_without_the_lock(self) -> None:
        """Other Python threads run while the memory is released, which may wait for
        them.
        """
        gone = threading.Event()
        inner = self.allocator.alloc(64)
        wrapped = self.allocator.alloc_wrapped(
            GstVkgdr.memory_get_device_pointer(inner), 64, Gst.MemoryFlags(0), gone.set
        )
        capsule = GstVkgdr.device_array(wrapped).__dlpack__()
        del wrapped
        del capsule
        self.assertTrue(gone.wait(10))

    def test_a_consumer_keeps_the_mapping(self) -> None:
        buffer = self.new_buffer(bytes(64))
        memory = buffer.peek_memory(0)
        capsule = GstVkgdr.device_array(buffer).__dlpack__()
        delete = consume(capsule)
        del capsule
        gc.collect()
        self.assert_writable(memory, False)
        thread = threading.Thread(target=delete)
        thread.start()
        thread.join()
        self.assert_writable(memory, True)

    def test_streams_and_versions_of_consumers(self) -> None:
        array = GstVkgdr.device_array(self.new_buffer(bytes(64)))
        device = array.__dlpack_device__()
        for stream in (None, -1, 1, 2, 0x7F0000001000):
            tensor_of(array.__dlpack__(stream=stream))
        tensor_of(array.__dlpack__(max_version=(1, 0), dl_device=device, copy=False))
        with self.assertRaisesRegex(BufferError, "cannot go to another"):
            array.__dlpack__(dl_device=(1, 0))
        with self.assertRaisesRegex(BufferError, "without a copy"):
            array.__dlpack__(copy=True)

    def test_the_other_byte_order(self) -> None:
        name = "GRAY16_BE" if sys.byteorder == "little" else "GRAY16_LE"
        array = GstVkgdr.device_array(self.new_buffer(bytes(64)), video_caps(name, 4, 4))
        with self.assertRaisesRegex(BufferError, "byte order"):
            array.__dlpack__()

    def test_the_library_checks_ranges(self) -> None:
        memory = self.new_memory(bytes(64))
        mapping = GstVkgdr.Mapping.new(memory, READ | GstVkgdr.MAP_VKGDR)
        uint = GstVkgdr.ElementType.UINT
        big = (1 << 63) - 1
        for offset, shape, strides, bits in (
            (0, [65], [1], 8),
            (1, [64], [1], 8),
            (65, [1], [1], 8),
            (0, [33], [1], 16),
            (0, [2, 2], [63, 1], 8),
            (0, [big, big], [big, big], 8),
            (0, [2], [big], 64),
            (0, [0], [1], 8),
            (0, [-1], [1], 8),
            (63, [2], [-1], 8),
            (0, [1], [1], 12),
            (0, [1], [1], 0),
        ):
            with self.subTest(offset=offset, shape=shape, strides=strides, bits=bits):
                with self.assertRaises(GLib.Error):
                    mapping.to_dlpack(offset, shape, strides, uint, bits)
        host = GstVkgdr.Mapping.new(memory, READ)
        with self.assertRaisesRegex(GLib.Error, "mapped for the device"):
            host.to_dlpack(0, [1], [1], uint, 8)

    def test_capsules_that_outlive_the_interpreter(self) -> None:
        result = support.run_python(
            "import gi, sys; gi.require_version('GstVkgdr', '1.0')\n"
            "from gi.repository import Gst, GstVkgdr\n"
            "memory = GstVkgdr.Context.new(-1).get_allocator().alloc(64)\n"
            "capsule = GstVkgdr.device_array(memory).__dlpack__()\n"
            "kept = [capsule]; kept.append(kept); sys.kept = kept\n"
        )
        self.assertEqual(result.returncode, 0, result.stdout)


class In(DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.data = support.pattern(4 * 4 * 4)
        self.storage = self.new_memory(self.data)  # memory that a library has allocated
        self.pointer = GstVkgdr.memory_get_device_pointer(self.storage)

    def tensor(self, shape: tuple = (4, 4, 4), **arguments: Any) -> FakeTensor:
        return FakeTensor(self.pointer, shape, **arguments)

    def wrap(self, tensor: Any, **arguments: Any) -> Gst.Memory:
        return GstVkgdr.memory_from_dlpack(tensor, self.context, **arguments)

    def assert_deleted(self, tensor: FakeTensor, expected: bool = True) -> None:
        gc.collect()
        # A thread of the library deletes it when the device has finished.
        self.assertEqual(tensor.deleted.wait(5 if expected else 0), expected)

    def test_a_tensor_is_a_memory_without_a_copy(self) -> None:
        tensor = self.tensor()
        memory = self.wrap(tensor)
        self.assertEqual(memory.size, 64)
        self.assertTrue(GstVkgdr.is_vkgdr_memory(memory))
        self.assertEqual(GstVkgdr.memory_get_device_pointer(memory), self.pointer)
        self.assertIs(GstVkgdr.memory_get_context(memory), self.context)
        buffer = Gst.Buffer.new()
        buffer.append_memory(memory)
        self.assertEqual(host_bytes(buffer), self.data)
        self.assertNotIn(None, tensor.streams)
        self.assert_deleted(tensor, False)
        del memory, buffer
        self.assert_deleted(tensor)

    def test_offsets_and_strides_that_are_contiguous(self) -> None:
        for arguments in (
            {"shape": (4, 16), "strides": (16, 1)},
            {"shape": (64,)},
            {"shape": (1, 64), "strides": (7, 1)},
            {"shape": (8, 4), "strides": (4, 1), "bits": 16},
            {"shape": ()},
        ):
            with self.subTest(**arguments):
                size = 1 if arguments["shape"] == () else 64
                self.assertEqual(self.wrap(self.tensor(**arguments)).size, size)
        memory = self.wrap(self.tensor((16,), offset=32))
        self.assertEqual(GstVkgdr.memory_get_device_pointer(memory), self.pointer + 32)

    def test_bad_tensors(self) -> None:
        big = 1 << 62
        for sentence, arguments in (
            ("not contiguous", {"shape": (4, 4), "strides": (8, 1)}),
            ("not contiguous", {"shape": (4, 4), "strides": (1, 4)}),
            ("not contiguous", {"shape": (4,), "strides": (-1,)}),
            ("is empty", {"shape": (4, 0)}),
            ("is empty", {"shape": (-1,)}),
            ("number of bytes", {"shape": (4,), "bits": 4}),
            ("number of bytes", {"shape": (4,), "bits": 0}),
            ("too many", {"shape": (big, big)}),
            ("not a multiple of 16 bytes", {"shape": (8,), "offset": 8}),
            ("is not memory of CUDA device", {"shape": (1 << 50,)}),
        ):
            with self.subTest(**arguments):
                tensor = self.tensor(**arguments)
                with self.assertRaisesRegex(GLib.Error, sentence):
                    self.wrap(tensor)
                self.assertFalse(tensor.deleted.is_set())
        with self.assertRaisesRegex(GLib.Error, "is not memory of CUDA device"):
            self.wrap(FakeTensor(0x1000, (4,)))

    def test_tensors_of_other_devices(self) -> None:
        for device, error, text in (
            ((1, 0), ValueError, "not in the memory of a CUDA device"),
            ((3, 0), ValueError, "not in the memory of a CUDA device"),
            ((10, 0), ValueError, "not in the memory of a CUDA device"),
            ((CUDA, 7), ValueError, "on device 7"),
        ):
            with self.assertRaisesRegex(error, text):
                self.wrap(self.tensor(device=device))
        with self.assertRaises(GLib.Error):
            GstVkgdr.memory_from_dlpack(self.tensor(device=(CUDA, 1000)))
        # The device in the tensor is used, whatever __dlpack_device__() returns.
        tensor = self.tensor()
        tensor.tensor.dl_tensor.device_type = 1
        with self.assertRaisesRegex(GLib.Error, "not in a CUDA device's memory"):
            self.wrap(tensor)

    @unittest.skipUnless(hasattr(getattr(numpy, "ndarray", None), "__dlpack__"), "NumPy >= 1.22")
    def test_numpy_is_on_the_cpu(self) -> None:
        with self.assertRaisesRegex(ValueError, "mapped"):
            self.wrap(numpy.zeros(16, "u1"))

    def test_what_is_no_tensor(self) -> None:
        for thing in (None, b"bytes", 3, self.storage):
            with self.assertRaisesRegex(TypeError, "is not a tensor"):
                self.wrap(thing)
        for name in (USED, b"dltensor_versioned", b"other"):
            with self.assertRaisesRegex(ValueError, "capsule"):
                self.wrap(self.tensor(name=name))

    def test_a_context_is_found(self) -> None:
        first = GstVkgdr.memory_from_dlpack(self.tensor())
        second = GstVkgdr.memory_from_dlpack(self.tensor())
        self.assertIs(
            GstVkgdr.memory_get_context(first), GstVkgdr.memory_get_context(second)
        )

    def test_our_own_arrays_come_back(self) -> None:
        array = GstVkgdr.device_array(self.storage)
        memory = self.wrap(array)
        del array
        self.assert_writable(self.storage, False)
        again = GstVkgdr.device_array(memory)
        self.assertEqual(support.read_strided(again.__cuda_array_interface__), self.data)
        del again, memory
        gc.collect()
        self.wait_until(lambda: self.is_writable(self.storage))

    def test_writers_write_the_tensor(self) -> None:
        memory = self.wrap(self.tensor(), writable=True)
        mapping = GstVkgdr.Mapping.new(memory, WRITE)
        ctypes.memset(mapping.get_pointer(), 7, 64)
        mapping.unmap()
        self.assertTrue(GstVkgdr.memory_wait_idle(memory))
        self.assertEqual(support.read_device(self.pointer, 64), bytes([7]) * 64)

    def test_readers_cannot(self) -> None:
        memory = self.wrap(self.tensor())
        with self.assertRaisesRegex(GLib.Error, "read-only"):
            GstVkgdr.Mapping.new(memory, WRITE)

    def push(self, elements: str, tensor: FakeTensor, **arguments: Any) -> bytes:
        buffer = Gst.Buffer.new()
        buffer.append_memory(self.wrap(tensor, **arguments))
        caps = video_caps("RGBA", 4, 4, "(memory:VkgdrMemory)")
        (sample,) = self.run_buffers(elements, caps, [buffer])
        return host_bytes(sample.get_buffer())

    def test_many_frames_leave_nothing_behind(self) -> None:
        caps = video_caps("RGBA", 64, 64, "(memory:VkgdrMemory)")
        buffers = [Gst.Buffer.new() for _ in range(50)]
        before = self.allocator.get_active_blocks()
        for buffer in buffers:
            memory = self.allocator.alloc(64 * 64 * 4)
            buffer.append_memory(self.wrap(GstVkgdr.device_array(memory, None, READ | WRITE)))
        del buffer, memory
        self.assertEqual(self.allocator.get_active_blocks(), before + 50)
        # Each buffer holds a tensor, the tensor a mapping, and the mapping a memory.
        arrays = [
            GstVkgdr.device_array(sample.get_buffer(), sample.get_caps())
            for sample in self.run_buffers("vkgdrupload ! queue", caps, buffers)
        ]
        deleters = [consume(array.__dlpack__()) for array in arrays]
        del buffers[:], arrays[:]
        gc.collect()
        self.assertEqual(self.allocator.get_active_blocks(), before + 50)
        while deleters:
            deleters.pop()()
        self.wait_until(lambda: self.allocator.get_active_blocks() == before)

    def test_elements_take_it(self) -> None:
        """They leave it as it is."""
        tensor = self.tensor()
        self.assertEqual(self.push("vkgdrdownload", tensor), self.data)
        self.assert_deleted(tensor)
        tensor = self.tensor()
        inverted = self.push("cudafilter kernel=invert ! vkgdrdownload", tensor)
        self.assertNotEqual(inverted, self.data)
        self.assertEqual(support.read_device(self.pointer, 64), self.data)
        self.assert_deleted(tensor)


if __name__ == "__main__":
    support.main()
