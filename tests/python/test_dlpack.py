# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of DLPack in both directions: content of tensors, ownership, and bad tensors."""

import ctypes
import gc
import sys
import threading
from typing import Any, Optional

from gst_support import (
    READ, WRITE, DeviceTestCase, GLib, Gst, GstVkgdr, buffer_of, host_bytes, video_caps,
)

import numpy as np
import support
from gi.overrides._gstvkgdr_arrays import (
    _get_pointer as get_pointer, _new_capsule as new_capsule, _set_name as set_name,
)

CUDA = 2


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class DLManagedTensor(ctypes.Structure):
    """DLPack's structure, written again from its header, with the DLTensor that it contains."""

    _fields_ = [
        ("data", ctypes.c_uint64), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
        ("manager_ctx", ctypes.c_void_p), ("deleter", Deleter),
    ]


NAME = b"dltensor"
USED = b"used_dltensor"


def tensor_of(capsule: Any) -> DLManagedTensor:
    return DLManagedTensor.from_address(get_pointer(capsule, NAME))


class FakeTensor:
    """A tensor of a library, in memory that the library does not own."""

    # A consumer may call the deleter when the test has no reference any more.
    kept: "list[FakeTensor]" = []

    def __init__(
        self, data: int, shape: tuple, strides: Optional[tuple] = None, device: tuple = (CUDA, 0),
        bits: int = 8, offset: int = 0, name: bytes = NAME,
    ) -> None:
        self.kept.append(self)
        self.deleted = threading.Event()
        self.device, self.name = device, name
        self.streams: list = []
        self._shape = (ctypes.c_int64 * len(shape))(*shape)
        self._strides = (ctypes.c_int64 * len(shape))(*strides) if strides else None
        self.tensor = DLManagedTensor(
            data, *device, len(shape), 1, bits, 1, self._shape, self._strides, offset, None,
            Deleter(lambda tensor: self.deleted.set()))

    def __dlpack_device__(self) -> tuple:
        return self.device

    def __dlpack__(self, stream: Optional[int] = None) -> Any:
        self.streams.append(stream)
        return new_capsule(ctypes.addressof(self.tensor), self.name, None)


class Out(DeviceTestCase):
    def test_what_is_in_a_tensor(self) -> None:
        """Strides are counted in elements."""
        audio = "audio/x-raw,rate=48000,channels=2,layout=interleaved,format="
        buffer = self.new_buffer(support.pattern(1000))
        for caps, code, bits, shape, strides in (
            (video_caps("NV12", 6, 4), 1, 8, [2, 3, 2], [8, 2, 1]),
            (video_caps("P010_10LE", 6, 4), 1, 16, [2, 3, 2], [6, 2, 1]),
            (Gst.Caps.from_string(audio + "S16LE"), 0, 16, [250, 2], [2, 1]),
            (Gst.Caps.from_string(audio + "F32LE"), 2, 32, [125, 2], [2, 1]),
            (Gst.Caps.from_string("tensor/strided,type=bfloat16,dims=<9,2>"), 4, 16, [9, 2],
             [2, 1]),
        ):
            array = GstVkgdr.device_arrays(buffer, caps)[-1]
            capsule = array.__dlpack__()
            tensor = tensor_of(capsule)
            self.assertEqual((tensor.data, tensor.byte_offset), (array.pointer, 0))
            self.assertEqual((tensor.device_type, tensor.device_id), array.__dlpack_device__())
            self.assertEqual((tensor.code, tensor.bits, tensor.lanes), (code, bits, 1))
            self.assertEqual(tensor.shape[: tensor.ndim], shape)
            self.assertEqual(tensor.strides[: tensor.ndim], strides)
        self.assertEqual(array.__dlpack_device__(), (CUDA, self.context.get_device()))

    def test_a_consumer_that_refuses_unmaps(self) -> None:
        """The capsule is deleted while the consumer's exception is pending."""
        def fails(array: Any) -> None:
            (array.__dlpack__(), 1 // len([]))  # the tuple is never created

        memory = self.new_memory(bytes(64))
        for consumer, error in (
            (fails, ZeroDivisionError), (np.from_dlpack, (BufferError, RuntimeError)),
        ):
            with GstVkgdr.device_array(memory) as array, self.assertRaises(error):
                consumer(array)
            gc.collect()
            self.assert_writable(memory, True)

    def test_a_tensor_is_deleted_without_the_lock(self) -> None:
        """Other Python threads run while the memory is released, which may wait for
        them.
        """
        gone = threading.Event()
        inner = self.allocator.alloc(64)
        capsule = GstVkgdr.device_array(self.allocator.alloc_wrapped(
            int(inner), 64, Gst.MemoryFlags(0), gone.set)).__dlpack__()
        del capsule
        self.assertTrue(gone.wait(10))

    def test_a_consumer_keeps_the_mapping(self) -> None:
        memory = self.new_memory(bytes(64))
        capsule = GstVkgdr.device_array(memory).__dlpack__()
        tensor = tensor_of(capsule)
        set_name(capsule, USED)  # as a consumer does, which deletes the tensor later
        del capsule
        gc.collect()
        self.assert_writable(memory, False)
        thread = threading.Thread(target=tensor.deleter, args=(ctypes.addressof(tensor),))
        thread.start()
        thread.join()
        self.assert_writable(memory, True)

    def test_requests_of_consumers(self) -> None:
        buffer = self.new_buffer(bytes(64))
        array = GstVkgdr.device_array(buffer)
        device = array.__dlpack_device__()
        for stream in (None, -1, 1, 2, 0x7F0000001000):
            tensor_of(array.__dlpack__(stream=stream))
        tensor_of(array.__dlpack__(max_version=(1, 0), dl_device=device, copy=False))
        name = "GRAY16_BE" if sys.byteorder == "little" else "GRAY16_LE"
        other = GstVkgdr.device_array(buffer, video_caps(name, 4, 4))
        self.assert_raise(
            (BufferError, "cannot go to another", lambda: array.__dlpack__(dl_device=(1, 0))),
            (BufferError, "without a copy", lambda: array.__dlpack__(copy=True)),
            (BufferError, "byte order", other.__dlpack__),
        )

    def test_the_library_checks_ranges(self) -> None:
        memory = self.new_memory(bytes(64))
        mapping = GstVkgdr.Mapping.new(memory, READ | GstVkgdr.MAP_VKGDR)
        host = GstVkgdr.Mapping.new(memory, READ)
        uint, big = GstVkgdr.ElementType.UINT, (1 << 63) - 1
        self.assert_raise(
            *((GLib.Error, "", mapping.to_dlpack, offset, shape, strides, uint, bits)
              for offset, shape, strides, bits in (
                (0, [65], [1], 8), (1, [64], [1], 8), (65, [1], [1], 8), (0, [33], [1], 16),
                (0, [2, 2], [63, 1], 8), (0, [big, big], [big, big], 8), (0, [2], [big], 64),
                (0, [0], [1], 8), (0, [-1], [1], 8), (63, [2], [-1], 8),
            )),
            (GLib.Error, "mapped for the device", host.to_dlpack, 0, [1], [1], uint, 8),
        )

    def test_capsules_that_outlive_the_interpreter(self) -> None:
        self.assert_prints(
            "", "import sys; from gst_support import GstVkgdr\n"
            "memory = GstVkgdr.Context.new(-1).get_allocator().alloc(64)\n"
            "capsule = GstVkgdr.device_array(memory).__dlpack__()\n"
            "kept = [capsule]; kept.append(kept); sys.kept = kept\n")


class In(DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.data = support.pattern(4 * 4 * 4)
        self.storage = self.new_memory(self.data)  # memory that a library has allocated
        self.pointer = int(self.storage)

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
        self.assertTrue(GstVkgdr.is_vkgdr_memory(memory))
        self.assertEqual((memory.size, int(memory)), (64, self.pointer))
        self.assertIs(GstVkgdr.memory_get_context(memory=memory), self.context)
        self.assertEqual(host_bytes(buffer_of(memory)), self.data)
        self.assertNotIn(None, tensor.streams)
        self.assertRaisesRegex(GLib.Error, "read-only", GstVkgdr.Mapping.new, memory, WRITE)
        self.assert_deleted(tensor, False)
        del memory
        self.assert_deleted(tensor)
        # Without a context, all tensors of a device get the same one.
        one, other = (GstVkgdr.memory_from_dlpack(self.tensor()) for _ in range(2))
        self.assertIs(GstVkgdr.memory_get_context(one), GstVkgdr.memory_get_context(other))

    def test_contiguous_tensors(self) -> None:
        for size, start, arguments in (
            (64, 0, {"shape": (4, 16), "strides": (16, 1)}),
            (64, 0, {"shape": (64,)}),
            (64, 0, {"shape": (1, 64), "strides": (7, 1)}),
            (64, 0, {"shape": (8, 4), "strides": (4, 1), "bits": 16}),
            (1, 0, {"shape": ()}),
            (16, 32, {"shape": (16,), "offset": 32}),
        ):
            with self.subTest(**arguments):
                memory = self.wrap(self.tensor(**arguments))
                self.assertEqual((memory.size, int(memory)), (size, self.pointer + start))
        tensor = self.tensor()
        tensor.tensor.deleter = Deleter()  # NULL: nothing has to be called
        self.assertEqual(host_bytes(buffer_of(self.wrap(tensor))), self.data)

    def test_bad_tensors(self) -> None:
        big = 1 << 62
        elsewhere = "not in the memory of a CUDA device"
        changed = self.tensor()  # the device in the tensor is used
        changed.tensor.device_type = 1
        for kind, text, tensor in (
            (GLib.Error, "not contiguous", self.tensor((4, 4), strides=(8, 1))),
            (GLib.Error, "not contiguous", self.tensor((4, 4), strides=(1, 4))),
            (GLib.Error, "not contiguous", self.tensor((4,), strides=(-1,))),
            (GLib.Error, "is empty", self.tensor((4, 0))),
            (GLib.Error, "is empty", self.tensor((-1,))),
            (GLib.Error, "number of bytes", self.tensor((4,), bits=4)),
            (GLib.Error, "number of bytes", self.tensor((4,), bits=0)),
            (GLib.Error, "too many", self.tensor((big, big))),
            (GLib.Error, "not a multiple of 16 bytes", self.tensor((8,), offset=8)),
            (GLib.Error, "is not memory of CUDA device", self.tensor((1 << 50,))),
            (GLib.Error, "is not memory of CUDA device", FakeTensor(0x1000, (4,))),
            (GLib.Error, "not in a CUDA device's memory", changed),
            *((ValueError, elsewhere, self.tensor(device=(kind, 0))) for kind in (1, 3, 10)),
            (ValueError, "on device 7", self.tensor(device=(CUDA, 7))),
            *((ValueError, "Capsule", self.tensor(name=name))
              for name in (USED, b"dltensor_versioned", b"other")),
            (ValueError, "mapped", np.zeros(16, "u1")),
            *((TypeError, "is not a tensor", thing) for thing in (None, b"bytes", self.storage)),
        ):
            self.assert_raise((kind, text, self.wrap, tensor))
            self.assertFalse(isinstance(tensor, FakeTensor) and tensor.deleted.is_set())
        unknown = self.tensor(device=(CUDA, 1000))
        self.assertRaises(GLib.Error, GstVkgdr.memory_from_dlpack, unknown)

    def test_writers_write_the_tensor(self) -> None:
        memory = self.wrap(self.tensor(), writable=True)
        with GstVkgdr.mapped(buffer_of(memory), None, WRITE) as (data,):
            data[:] = 7
        self.assertTrue(GstVkgdr.memory_wait_idle(memory))
        self.assertEqual(support.read_device(self.pointer, 64), bytes([7]) * 64)


if __name__ == "__main__":
    support.main()
