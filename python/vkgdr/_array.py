# SPDX-License-Identifier: LGPL-2.1-or-later
"""CUDA arrays, textures and surfaces of vkgdr.driver, and copies of rows and boxes."""

import ctypes
from typing import Any, Tuple, Union

import numpy as np

from ._constants import (
    TRSA_OVERRIDE_FORMAT, address_mode, array3d_flags, array_format, filter_mode, memory_type,
)
from ._context import Context, ContextDependent, bare
from ._cuda import (
    CONVERTERS, INVALID_VALUE, DevicePointer, Handle, LogicError, also_named, cu, error,
    host_range, pointer, uint,
)
from ._library import fields

__all__ = [
    "Array", "ArrayDescriptor", "ArrayDescriptor3D", "Memcpy2D", "Memcpy3D", "Memcpy3DPeer",
    "SurfaceReference", "TextureReference", "bind_array_to_texref", "dtype_to_array_format",
    "gpuarray_to_array", "make_multichannel_2d_array", "matrix_to_array", "matrix_to_texref",
    "memcpy_atoa", "memcpy_atod", "memcpy_atoh", "memcpy_dtoa", "memcpy_htoa", "np_to_array",
    "py_memcpy_atoh", "py_memcpy_htoa",
]


class _Structure(ctypes.Structure):
    """A structure whose fields take NumPy's integers, too, and no number that does not fit."""

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(value, "__index__"):
            value = uint(value, 8 * getattr(getattr(type(self), name, None), "size", 8))
        super().__setattr__(name, value)


class _Descriptor(_Structure):
    @property
    def format(self) -> Any:
        """The array_format of a channel."""
        known: Any = array_format.values
        return known.get(self._format, self._format)

    @format.setter
    def format(self, value: int) -> None:
        self._format = array_format(value)


class ArrayDescriptor(_Descriptor):
    """The size and the format of a two-dimensional Array."""

    _fields_ = fields("z width z height i _format I num_channels")


class ArrayDescriptor3D(_Descriptor):
    """The size, the format and the flags (array3d_flags) of an Array."""

    _fields_ = fields("z width z height z depth i _format I num_channels I flags")


class Array(Handle, ContextDependent, letter="A"):
    """Memory in the layout of textures. Kernels use it by a texture or a surface."""

    _FREE = "cuArrayDestroy"

    def __init__(self, descriptor: Union[ArrayDescriptor, ArrayDescriptor3D]) -> None:
        if not isinstance(descriptor, _Descriptor):
            raise TypeError("an Array is made from an ArrayDescriptor or ArrayDescriptor3D")
        is_box = isinstance(descriptor, ArrayDescriptor3D)
        self._create("cuArray3DCreate" if is_box else "cuArrayCreate", ctypes.byref(descriptor))

    def free(self) -> None:
        """Frees the array now."""
        self._release(self._FREE, self.handle)

    def get_descriptor(self) -> ArrayDescriptor:
        """The size and the format."""
        result = ArrayDescriptor()
        cu.cuArrayGetDescriptor(ctypes.byref(result), self.handle)
        return result

    def get_descriptor_3d(self) -> ArrayDescriptor3D:
        """The size, the format and the flags."""
        result = ArrayDescriptor3D()
        cu.cuArray3DGetDescriptor(ctypes.byref(result), self.handle)
        return result


def memcpy_dtoa(ary: Array, index: int, src: DevicePointer, len: int) -> None:  # noqa: A002
    """Copies `len` bytes of the device to an Array, from its byte `index` on."""
    cu.cuMemcpyDtoA(ary, index, src, len)


def memcpy_atod(dest: DevicePointer, ary: Array, index: int, len: int) -> None:  # noqa: A002
    """Copies `len` bytes of an Array, from its byte `index` on, to memory of the device."""
    cu.cuMemcpyAtoD(dest, ary, index, len)


def memcpy_atoa(dest: Array, dest_index: int, src: Array, src_index: int,
                len: int) -> None:  # noqa: A002
    """Copies `len` bytes from one Array to another."""
    cu.cuMemcpyAtoA(dest, dest_index, src, src_index, len)


def memcpy_htoa(ary: Array, index: int, src: Any) -> None:
    """Copies a buffer of Python to an Array, from its byte `index` on."""
    cu.cuMemcpyHtoA(ary, index, *host_range(src))


def memcpy_atoh(dest: Any, ary: Array, index: int) -> None:
    """Fills a buffer of Python from an Array, from its byte `index` on."""
    address, size = host_range(dest, True)
    cu.cuMemcpyAtoH(address, ary, index, size)


# The names of _driver in PyCUDA, which its own driver.py and older programs use.
py_memcpy_htoa, py_memcpy_atoh = memcpy_htoa, memcpy_atoh

# One side of CUDA_MEMCPY2D, and of CUDA_MEMCPY3D and its peer form.
_ROWS = """z {0}_x_in_bytes z {0}_y i _{0}_memory_type P _{0}_host D {0}_device
    P _{0}_array z {0}_pitch """
_BOX = """z {0}_x_in_bytes z {0}_y z {0}_z z {0}_lod i _{0}_memory_type P _{0}_host
    D {0}_device P _{0}_array P _{0}_context z {0}_pitch z {0}_height """
_SIZES = "z width_in_bytes z height"


class _Memcpy(_Structure):
    """What the copies of rows and of boxes have in common."""

    def _set(self, side: str, kind: int, source: Any, **values: Any) -> None:
        for name, value in {"host": None, "array": None, "device": 0, **values}.items():
            setattr(self, f"{side}_device" if name == "device" else f"_{side}_{name}", value)
        setattr(self, f"_{side}_memory_type", kind)
        self.__dict__[side] = source  # CUDA needs it until the copy is done

    @staticmethod
    def _host(side: str, buffer: Any) -> int:
        return host_range(buffer, side == "dst", has_gaps=True)[0]

    def _unified(self, side: str, buffer: Any) -> int:
        try:
            return pointer(buffer)
        except TypeError:
            return self._host(side, buffer)

    def set_src_host(self, buffer: Any) -> None:
        """A buffer of Python is the source. Its rows may have gaps."""
        self._set("src", memory_type.HOST, buffer, host=self._host("src", buffer))

    def set_src_array(self, array: Array) -> None:
        """An Array is the source."""
        self._set("src", memory_type.ARRAY, array, array=CONVERTERS["A"](array))

    def set_src_device(self, devptr: DevicePointer) -> None:
        """Memory of the device is the source."""
        self._set("src", memory_type.DEVICE, devptr, device=pointer(devptr))

    def set_src_unified(self, buffer: Any) -> None:
        """A buffer of Python or memory of the device is the source."""
        address = self._unified("src", buffer)
        self._set("src", memory_type.UNIFIED, buffer, host=address, device=address)

    @property
    def src_memory_type(self) -> Any:
        """The memory_type of the source."""
        return memory_type(self._src_memory_type or 1)

    def set_dst_host(self, buffer: Any) -> None:
        """A buffer of Python is the destination. Its rows may have gaps."""
        self._set("dst", memory_type.HOST, buffer, host=self._host("dst", buffer))

    def set_dst_array(self, array: Array) -> None:
        """An Array is the destination."""
        self._set("dst", memory_type.ARRAY, array, array=CONVERTERS["A"](array))

    def set_dst_device(self, devptr: DevicePointer) -> None:
        """Memory of the device is the destination."""
        self._set("dst", memory_type.DEVICE, devptr, device=pointer(devptr))

    def set_dst_unified(self, buffer: Any) -> None:
        """A buffer of Python or memory of the device is the destination."""
        address = self._unified("dst", buffer)
        self._set("dst", memory_type.UNIFIED, buffer, host=address, device=address)

    @property
    def dst_memory_type(self) -> Any:
        """The memory_type of the destination."""
        return memory_type(self._dst_memory_type or 1)

    def _run(self, function: str, stream: Any) -> None:
        if stream is None:
            getattr(cu, function)(ctypes.byref(self))
        else:
            getattr(cu, f"{function}Async")(ctypes.byref(self), stream)


class Memcpy2D(_Memcpy):
    """A copy of rows. Set the source, the destination and the sizes, then call it."""

    _fields_ = fields(_ROWS.format("src") + _ROWS.format("dst") + _SIZES)

    def __call__(self, aligned: Any = True) -> None:
        """Copies, and waits; or with a stream as the argument, does not wait."""
        if isinstance(aligned, (bool, int)):
            self._run("cuMemcpy2D" if aligned else "cuMemcpy2DUnaligned", None)
        else:
            self._run("cuMemcpy2D", aligned)


class Memcpy3D(_Memcpy):
    """A copy of boxes."""

    _FUNCTION = "cuMemcpy3D"
    _fields_ = fields(_BOX.format("src") + _BOX.format("dst") + _SIZES + " z depth")

    def __call__(self, stream: Any = None) -> None:
        """Copies, and waits; or with a stream, does not wait."""
        self._run(self._FUNCTION, stream)


class Memcpy3DPeer(Memcpy3D):
    """A copy of boxes between contexts."""

    _FUNCTION = "cuMemcpy3DPeer"

    def set_src_context(self, ctx: Context) -> None:
        """The context of the source."""
        self._src_context = CONVERTERS["C"](ctx)

    def set_dst_context(self, ctx: Context) -> None:
        """The context of the destination."""
        self._dst_context = CONVERTERS["C"](ctx)


class _Reference(Handle):
    """A texture or surface reference. CUDA 12 compiles no kernels with them any more."""

    _array: Any = None
    _module: Any = None  # keeps the module

    @classmethod
    def _of_module(cls, module: Any, function: str, name: str) -> Any:
        return bare(cls, handle=getattr(cu, function)(module.handle, name), _module=module)

    def _bind(self, function: str, array: Array, flags: int) -> None:
        getattr(cu, function)(self.handle, array, flags)
        self._array = array

    def _bound(self, function: str) -> Array:
        return bare(Array, handle=getattr(cu, function)(self.handle))


class SurfaceReference(_Reference):
    """A surface of a kernel: Module.get_surfref()."""

    def set_array(self, array: Array, flags: int = 0) -> None:
        """Makes the surface use an Array."""
        self._bind("cuSurfRefSetArray", array, flags)

    def get_array(self) -> Array:
        """The Array that was set."""
        return self._bound("cuSurfRefGetArray")


class TextureReference(_Reference, ContextDependent, letter="T"):
    """A texture of a kernel: Module.get_texref()."""

    _FREE = "cuTexRefDestroy"

    def __init__(self) -> None:
        self._create("cuTexRefCreate")

    def set_array(self, array: Array) -> None:
        """Makes the texture use an Array."""
        self._bind("cuTexRefSetArray", array, TRSA_OVERRIDE_FORMAT)

    def get_array(self) -> Array:
        """The Array that was set."""
        return self._bound("cuTexRefGetArray")

    def set_address(self, devptr: DevicePointer, bytes: int,  # noqa: A002
                    allow_offset: bool = False) -> int:
        """Uses plain memory. Returns the offset that the texture has from the address."""
        offset: int = cu.cuTexRefSetAddress(self.handle, devptr, bytes)
        if offset and not allow_offset:
            raise error("cuTexRefSetAddress", INVALID_VALUE,
                        f"the texture begins {offset} bytes before the address: allow_offset=True")
        self._array = None
        return offset

    def set_address_2d(self, devptr: DevicePointer, descr: ArrayDescriptor, pitch: int) -> None:
        """Uses plain memory in rows, which begin every `pitch` bytes."""
        cu.cuTexRefSetAddress2D(self.handle, ctypes.byref(descr), devptr, pitch)

    def get_address(self) -> int:
        """The address of the plain memory."""
        return cu.cuTexRefGetAddress(self.handle)

    def set_format(self, fmt: int, num_components: int) -> None:
        """Sets the array_format and the number of the channels."""
        cu.cuTexRefSetFormat(self.handle, fmt, num_components)

    def get_format(self) -> Tuple[Any, int]:
        """The array_format and the number of the channels."""
        found, num_components = cu.cuTexRefGetFormat(self.handle)
        return array_format(found), num_components

    def set_address_mode(self, dim: int, am: int) -> None:
        """Sets the address_mode of a dimension: what is read outside the picture."""
        cu.cuTexRefSetAddressMode(self.handle, dim, am)

    def get_address_mode(self, dim: int) -> Any:
        """The address_mode of a dimension."""
        return address_mode(cu.cuTexRefGetAddressMode(self.handle, dim))

    def set_filter_mode(self, fm: int) -> None:
        """Sets the filter_mode: what is read between the points."""
        cu.cuTexRefSetFilterMode(self.handle, fm)

    def get_filter_mode(self) -> Any:
        """The filter_mode."""
        return filter_mode(cu.cuTexRefGetFilterMode(self.handle))

    def set_flags(self, flags: int) -> None:
        """Sets the flags: TRSF_READ_AS_INTEGER and TRSF_NORMALIZED_COORDINATES."""
        cu.cuTexRefSetFlags(self.handle, flags)

    def get_flags(self) -> int:
        """The flags."""
        return cu.cuTexRefGetFlags(self.handle)


_FORMATS = {
    np.dtype(name): getattr(array_format, constant)
    for name, constant in (
        ("u1", "UNSIGNED_INT8"), ("u2", "UNSIGNED_INT16"), ("u4", "UNSIGNED_INT32"),
        ("i1", "SIGNED_INT8"), ("i2", "SIGNED_INT16"), ("i4", "SIGNED_INT32"),
        ("f2", "HALF"), ("f4", "FLOAT"),
    )
}
# Kernels read these types as several integers.
_WIDE = {np.dtype("c8"): 2, np.dtype("f8"): 2, np.dtype("c16"): 4}


def dtype_to_array_format(dtype: Any) -> Any:
    """The array_format of a type of NumPy."""
    try:
        return _FORMATS[np.dtype(dtype)]
    except KeyError:
        raise TypeError(f"an Array cannot have elements of the type {dtype}") from None


def _check_order(order: str) -> str:
    if str(order).upper() not in ("C", "F"):
        raise LogicError(f"the order is 'C' or 'F', not {order!r}")
    return str(order).upper()


def _to_array(
    source: Any, dims: Tuple[int, ...], dtype: Any, wide: bool, channels: int = 1,
    surface: bool = False, on_device: bool = False,
) -> Array:
    """Copies contiguous data to a new Array. The dimensions are width, height and depth."""
    width, height, depth = (*dims, 1)[:3]
    descriptor = ArrayDescriptor3D()
    descriptor.width, descriptor.height, descriptor.num_channels = width, height, channels
    if len(dims) == 3 or surface:
        descriptor.depth = depth
    if surface:
        layered = array3d_flags.LAYERED if len(dims) == 2 else 0
        descriptor.flags = array3d_flags.SURFACE_LDST | layered
    if wide and np.dtype(dtype) in _WIDE:
        descriptor.format = array_format.SIGNED_INT32
        descriptor.num_channels = _WIDE[np.dtype(dtype)]
    else:
        descriptor.format = dtype_to_array_format(dtype)
    result, copy = Array(descriptor), Memcpy3D()
    (copy.set_src_device if on_device else copy.set_src_host)(source)
    copy.set_dst_array(result)
    copy.width_in_bytes = copy.src_pitch = width * channels * np.dtype(dtype).itemsize
    copy.height, copy.src_height, copy.depth = height, height, depth
    copy()
    return result


def _reversed_dims(shape: Tuple[int, ...], order: str) -> Tuple[int, ...]:
    """The width, the height and the depth of an array of NumPy."""
    if len(shape) not in (2, 3):
        raise LogicError("CUDA arrays have 2 or 3 dimensions")
    dims = tuple(map(int, shape))
    return dims[::-1] if _check_order(order) == "C" else dims


def matrix_to_array(matrix: Any, order: str, allow_double_hack: bool = False) -> Array:
    """An Array with a matrix. With order "C", tex2D(x, y) is matrix[y, x]."""
    data: Any = np.asarray(matrix, order=_check_order(order))  # type: ignore[call-overload]
    is_wide = allow_double_hack and data.dtype == np.float64
    return _to_array(data, _reversed_dims(data.shape, order), data.dtype, is_wide)


def np_to_array(nparray: Any, order: str, allowSurfaceBind: bool = False) -> Array:  # noqa: N803
    """An Array with an array of NumPy of 2 or 3 dimensions."""
    data: Any = np.asarray(nparray, order=_check_order(order))  # type: ignore[call-overload]
    return _to_array(data, _reversed_dims(data.shape, order), data.dtype, True,
                     surface=allowSurfaceBind)


def gpuarray_to_array(gpuarray: Any, order: str,
                      allowSurfaceBind: bool = False) -> Array:  # noqa: N803
    """An Array with a GPUArray of 2 or 3 dimensions."""
    return _to_array(gpuarray.ptr, _reversed_dims(gpuarray.shape, order), gpuarray.dtype, True,
                     surface=allowSurfaceBind, on_device=True)


@also_named(ndarray="matrix")
def make_multichannel_2d_array(matrix: Any, order: str) -> Array:
    """An Array of several channels. The matrix is height, width, channels with order
    "C", and channels, width, height with "F".
    """
    shape = tuple(int(length) for length in matrix.shape)
    channels, width, height = shape[::-1] if _check_order(order) == "C" else shape
    return _to_array(matrix, (width, height), matrix.dtype, False, channels)


def bind_array_to_texref(ary: Array, texref: TextureReference) -> None:
    """Makes a texture use an Array, clamped and without a filter."""
    texref.set_array(ary)
    for dim in range(2):
        texref.set_address_mode(dim, address_mode.CLAMP)
    texref.set_filter_mode(filter_mode.POINT)


def matrix_to_texref(matrix: Any, texref: TextureReference, order: str) -> None:
    """Makes a texture use a copy of a matrix."""
    bind_array_to_texref(matrix_to_array(matrix, order), texref)
