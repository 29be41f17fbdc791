# SPDX-License-Identifier: LGPL-2.1-or-later
"""CUDA arrays, textures and surfaces of vkgdr.driver, and copies of rows and boxes."""

import ctypes
import operator
from typing import Any, List, Tuple, Union

import numpy as np

from ._constants import TRSA_OVERRIDE_FORMAT, array3d_flags, array_format, memory_type
from ._constants import address_mode as _address_mode
from ._constants import filter_mode as _filter_mode
from ._context import Context, ContextDependent, clean_up
from ._cuda import INVALID_VALUE, LogicError, cu, error, get, pointer, stream_handle, uint
from ._memory import STRIDED, WRITABLE, HostBuffer

__all__ = [
    "Array", "ArrayDescriptor", "ArrayDescriptor3D", "Memcpy2D", "Memcpy3D", "Memcpy3DPeer",
    "SurfaceReference", "TextureReference", "bind_array_to_texref", "dtype_to_array_format",
    "gpuarray_to_array", "make_multichannel_2d_array", "matrix_to_array", "matrix_to_texref",
    "memcpy_atoa", "memcpy_atod", "memcpy_atoh", "memcpy_dtoa", "memcpy_htoa", "np_to_array",
    "py_memcpy_atoh", "py_memcpy_htoa",
]

_SIZE, _INT, _UINT, _VOID = ctypes.c_size_t, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p


class _Structure(ctypes.Structure):
    """A structure whose fields take NumPy's integers, too."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, operator.index(value) if hasattr(value, "__index__") else value)


class ArrayDescriptor(_Structure):
    """The size and the format of a two-dimensional Array."""

    _fields_ = [("width", _SIZE), ("height", _SIZE), ("_format", _INT), ("num_channels", _UINT)]

    @property
    def format(self) -> Any:
        return array_format(self._format) if self._format else 0

    @format.setter
    def format(self, value: int) -> None:
        self._format = value


class ArrayDescriptor3D(_Structure):
    """The size, the format and the flags (array3d_flags) of an Array."""

    _fields_ = [
        ("width", _SIZE), ("height", _SIZE), ("depth", _SIZE), ("_format", _INT),
        ("num_channels", _UINT), ("flags", _UINT),
    ]
    format = ArrayDescriptor.format


class Array(ContextDependent):
    """Memory in the layout of textures. Kernels use it by a texture or a surface."""

    _owned = False

    def __init__(self, descriptor: Union[ArrayDescriptor, ArrayDescriptor3D]) -> None:
        if isinstance(descriptor, ArrayDescriptor3D):
            function = "cuArray3DCreate"
        elif isinstance(descriptor, ArrayDescriptor):
            function = "cuArrayCreate"
        else:
            raise TypeError("an Array is made from an ArrayDescriptor or ArrayDescriptor3D")
        self._acquire_context()
        self.handle = get(function, _VOID, ctypes.byref(descriptor))
        self._owned = True

    @classmethod
    def _borrow(cls, handle: int) -> "Array":
        result = cls.__new__(cls)
        result.handle = handle
        return result

    def free(self) -> None:
        """Frees the memory now."""
        if self._owned:
            self._owned = False
            handle = self.handle
            self._release(lambda: clean_up("cuArrayDestroy", handle))

    def __del__(self) -> None:
        self.free()

    def get_descriptor(self) -> ArrayDescriptor:
        result = ArrayDescriptor()
        cu.cuArrayGetDescriptor(ctypes.byref(result), self.handle)
        return result

    def get_descriptor_3d(self) -> ArrayDescriptor3D:
        result = ArrayDescriptor3D()
        cu.cuArray3DGetDescriptor(ctypes.byref(result), self.handle)
        return result

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Array) and self.handle == other.handle

    def __hash__(self) -> int:
        return hash(self.handle)


def _array(value: Any) -> int:
    if not isinstance(value, Array):
        raise TypeError(f"an Array is needed, not {type(value).__name__}")
    return value.handle


def memcpy_dtoa(ary: Array, index: int, src: Any, len: int) -> None:  # noqa: A002
    cu.cuMemcpyDtoA(_array(ary), uint(index), pointer(src), uint(len))


def memcpy_atod(dest: Any, ary: Array, index: int, len: int) -> None:  # noqa: A002
    cu.cuMemcpyAtoD(pointer(dest), _array(ary), uint(index), uint(len))


def memcpy_htoa(ary: Array, index: int, src: Any) -> None:
    with HostBuffer(src) as host:
        cu.cuMemcpyHtoA(_array(ary), uint(index), host.address, host.size)


def memcpy_atoh(dest: Any, ary: Array, index: int) -> None:
    with HostBuffer(dest, STRIDED | WRITABLE) as host:
        cu.cuMemcpyAtoH(host.address, _array(ary), uint(index), host.size)


def memcpy_atoa(dest: Array, dest_index: int, src: Array, src_index: int, len: int) -> None:  # noqa: A002
    cu.cuMemcpyAtoA(_array(dest), uint(dest_index), _array(src), uint(src_index), uint(len))


# The names of _driver in PyCUDA, which its own driver.py and older programs use.
py_memcpy_htoa, py_memcpy_atoh = memcpy_htoa, memcpy_atoh


def _side(name: str, box: bool) -> List[Tuple[str, Any]]:
    """The fields of one side of CUDA_MEMCPY2D, or of CUDA_MEMCPY3D and its peer form."""
    fields: List[Tuple[str, Any]] = [(f"{name}_x_in_bytes", _SIZE), (f"{name}_y", _SIZE)]
    if box:
        fields += [(f"{name}_z", _SIZE), (f"{name}_lod", _SIZE)]
    fields += [
        (f"_{name}_memory_type", _INT), (f"_{name}_host", _VOID),
        (f"{name}_device", ctypes.c_uint64), (f"_{name}_array", _VOID),
    ]
    if box:
        fields += [(f"_{name}_context", _VOID)]
    fields += [(f"{name}_pitch", _SIZE)]
    return fields + ([(f"{name}_height", _SIZE)] if box else [])


class _Memcpy(_Structure):
    """What the copies of rows and of boxes have in common."""

    def _set(self, side: str, kind: int, **values: Any) -> None:
        setattr(self, f"_{side}_memory_type", kind)
        for name in ("host", "array"):
            setattr(self, f"_{side}_{name}", values.get(name))
        setattr(self, f"{side}_device", values.get("device", 0))
        # CUDA needs what is copied until the copy is done.
        self.__dict__[side] = values.get("keep")

    def _host(self, side: str, source: Any, flags: int) -> None:
        with HostBuffer(source, flags) as host:
            self._set(side, memory_type.HOST, host=host.address, keep=source)

    def _unified(self, side: str, source: Any) -> None:
        try:
            address = pointer(source)
        except TypeError:
            with HostBuffer(source) as host:
                address = host.address
        self._set(side, memory_type.UNIFIED, host=address, device=address, keep=source)

    def set_src_host(self, buffer: Any) -> None:
        self._host("src", buffer, STRIDED)

    def set_dst_host(self, buffer: Any) -> None:
        self._host("dst", buffer, STRIDED | WRITABLE)

    def set_src_array(self, array: Array) -> None:
        self._set("src", memory_type.ARRAY, array=_array(array), keep=array)

    def set_dst_array(self, array: Array) -> None:
        self._set("dst", memory_type.ARRAY, array=_array(array), keep=array)

    def set_src_device(self, devptr: Any) -> None:
        self._set("src", memory_type.DEVICE, device=pointer(devptr), keep=devptr)

    def set_dst_device(self, devptr: Any) -> None:
        self._set("dst", memory_type.DEVICE, device=pointer(devptr), keep=devptr)

    def set_src_unified(self, buffer: Any) -> None:
        """A buffer of Python or memory of the device."""
        self._unified("src", buffer)

    def set_dst_unified(self, buffer: Any) -> None:
        """A buffer of Python or memory of the device."""
        self._unified("dst", buffer)

    @property
    def src_memory_type(self) -> Any:
        return memory_type(self._src_memory_type or 1)

    @property
    def dst_memory_type(self) -> Any:
        return memory_type(self._dst_memory_type or 1)

    def _run(self, function: str, stream: Any) -> None:
        if stream is None:
            getattr(cu, function)(ctypes.byref(self))
        else:
            name = function.replace("Unaligned", "") + "Async"
            getattr(cu, name)(ctypes.byref(self), stream_handle(stream))


class Memcpy2D(_Memcpy):
    """A copy of rows. Set the source, the destination and the sizes, then call it."""

    _fields_ = _side("src", False) + _side("dst", False) + [
        ("width_in_bytes", _SIZE), ("height", _SIZE),
    ]

    def __call__(self, aligned: Any = True) -> None:
        """Copies, and waits; or with a stream as the argument, does not wait."""
        if isinstance(aligned, (bool, int)):
            self._run("cuMemcpy2D" if aligned else "cuMemcpy2DUnaligned", None)
        else:
            self._run("cuMemcpy2D", aligned)


_BOX = _side("src", True) + _side("dst", True) + [
    ("width_in_bytes", _SIZE), ("height", _SIZE), ("depth", _SIZE),
]


class Memcpy3D(_Memcpy):
    """A copy of boxes."""

    _fields_ = _BOX

    def __call__(self, stream: Any = None) -> None:
        self._run("cuMemcpy3D", stream)


class Memcpy3DPeer(_Memcpy):
    """A copy of boxes between contexts."""

    _fields_ = _BOX

    def set_src_context(self, ctx: Context) -> None:
        self._src_context = ctx.handle

    def set_dst_context(self, ctx: Context) -> None:
        self._dst_context = ctx.handle

    def __call__(self, stream: Any = None) -> None:
        self._run("cuMemcpy3DPeer", stream)


class _Reference:
    """A texture or surface reference. CUDA 12 compiles no kernels with them any more."""

    _handle: int
    _array: Any = None
    _module: Any = None  # keeps the module
    _owned = False

    @classmethod
    def _of_module(cls, module: Any, function: str, name: str) -> Any:
        result = cls.__new__(cls)
        result._handle = get(function, _VOID, module._handle, name.encode())
        result._module = module
        return result

    def _bind(self, function: str, array: Array, flags: int) -> None:
        getattr(cu, function)(self._handle, _array(array), flags)
        self._array = array

    def _bound(self, function: str) -> Array:
        return Array._borrow(get(function, _VOID, self._handle))


class SurfaceReference(_Reference):
    """A surface of a kernel: Module.get_surfref()."""

    def __init__(self) -> None:
        raise TypeError("a SurfaceReference is made by Module.get_surfref()")

    def set_array(self, array: Array, flags: int = 0) -> None:
        self._bind("cuSurfRefSetArray", array, uint(flags, 32))

    def get_array(self) -> Array:
        return self._bound("cuSurfRefGetArray")


class TextureReference(_Reference):
    """A texture of a kernel: Module.get_texref()."""

    def __init__(self) -> None:
        self._handle = get("cuTexRefCreate", _VOID)
        self._owned = True

    def __del__(self) -> None:
        if self._owned:
            clean_up("cuTexRefDestroy", self._handle)

    def set_array(self, array: Array) -> None:
        self._bind("cuTexRefSetArray", array, TRSA_OVERRIDE_FORMAT)

    def get_array(self) -> Array:
        return self._bound("cuTexRefGetArray")

    def set_address(self, devptr: Any, bytes: int, allow_offset: bool = False) -> int:  # noqa: A002
        """Uses plain memory. Returns the offset that the texture has from the address."""
        offset = get(
            "cuTexRefSetAddress", _SIZE, self._handle, pointer(devptr), uint(bytes)
        )
        if offset and not allow_offset:
            raise error(
                "texture_reference::set_address", INVALID_VALUE,
                "texture binding resulted in offset, but allow_offset was false",
            )
        self._array = None
        return offset

    def set_address_2d(self, devptr: Any, descr: ArrayDescriptor, pitch: int) -> None:
        cu.cuTexRefSetAddress2D(self._handle, ctypes.byref(descr), pointer(devptr), uint(pitch))

    def get_address(self) -> int:
        return get("cuTexRefGetAddress", ctypes.c_uint64, self._handle)

    def set_format(self, format: int, num_components: int) -> None:  # noqa: A002
        cu.cuTexRefSetFormat(self._handle, operator.index(format), operator.index(num_components))

    def get_format(self) -> Tuple[Any, int]:
        kind, channels = _INT(), _INT()
        cu.cuTexRefGetFormat(ctypes.byref(kind), ctypes.byref(channels), self._handle)
        return array_format(kind.value), channels.value

    def set_address_mode(self, dim: int, am: int) -> None:
        cu.cuTexRefSetAddressMode(self._handle, operator.index(dim), operator.index(am))

    def get_address_mode(self, dim: int) -> Any:
        return _address_mode(get("cuTexRefGetAddressMode", _INT, self._handle, operator.index(dim)))

    def set_filter_mode(self, fm: int) -> None:
        cu.cuTexRefSetFilterMode(self._handle, operator.index(fm))

    def get_filter_mode(self) -> Any:
        return _filter_mode(get("cuTexRefGetFilterMode", _INT, self._handle))

    def set_flags(self, flags: int) -> None:
        cu.cuTexRefSetFlags(self._handle, uint(flags, 32))

    def get_flags(self) -> int:
        return get("cuTexRefGetFlags", _UINT, self._handle)


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
    try:
        return _FORMATS[np.dtype(dtype)]
    except KeyError:
        raise TypeError(f"cannot convert dtype '{dtype}' to array format") from None


def _check_order(order: str) -> str:
    if str(order).upper() not in ("C", "F"):
        raise LogicError("order must be either F or C")
    return str(order).upper()


def _to_array(
    source: Any, dims: Tuple[int, ...], dtype: Any, wide: bool, channels: int = 1,
    surface: bool = False, on_device: bool = False,
) -> Array:
    """Copies contiguous data to a new Array. The dimensions are width, height and depth."""
    width, height, depth = (*dims, 1)[:3]
    box = surface or len(dims) == 3
    descriptor: Any = ArrayDescriptor3D() if box else ArrayDescriptor()
    descriptor.width, descriptor.height = width, height
    if wide and np.dtype(dtype) in _WIDE:
        descriptor.format = array_format.SIGNED_INT32
        descriptor.num_channels = _WIDE[np.dtype(dtype)]
    else:
        descriptor.format = dtype_to_array_format(dtype)
        descriptor.num_channels = channels
    if box:
        descriptor.depth = depth
    if surface:
        layered = array3d_flags.LAYERED if len(dims) == 2 else 0
        descriptor.flags = array3d_flags.SURFACE_LDST | layered
    result = Array(descriptor)
    copy: Any = Memcpy3D() if box else Memcpy2D()
    (copy.set_src_device if on_device else copy.set_src_host)(source)
    copy.set_dst_array(result)
    copy.width_in_bytes = copy.src_pitch = width * channels * np.dtype(dtype).itemsize
    copy.height = height
    if box:
        copy.src_height, copy.depth = height, depth
    copy()
    return result


def _reversed_dims(shape: Tuple[int, ...], order: str) -> Tuple[int, ...]:
    """The width, the height and the depth of an array of NumPy."""
    if len(shape) not in (2, 3):
        raise LogicError("CUDA arrays have 2 or 3 dimensions")
    dims = tuple(int(length) for length in shape)
    return dims[::-1] if order == "C" else dims


def matrix_to_array(matrix: Any, order: str, allow_double_hack: bool = False) -> Array:
    """An Array with a matrix. With order "C", tex2D(x, y) is matrix[y, x]."""
    order = _check_order(order)
    matrix = np.asarray(matrix, order=order)  # type: ignore[call-overload]
    return _to_array(
        matrix, _reversed_dims(matrix.shape, order), matrix.dtype,
        allow_double_hack and matrix.dtype == np.float64,
    )


def np_to_array(nparray: Any, order: str, allowSurfaceBind: bool = False) -> Array:  # noqa: N803
    """An Array with an array of NumPy of 2 or 3 dimensions."""
    order = _check_order(order)
    data: Any = np.asarray(nparray, order=order)  # type: ignore[call-overload]
    dims = _reversed_dims(data.shape, order)
    return _to_array(data, dims, data.dtype, True, surface=allowSurfaceBind)


def gpuarray_to_array(gpuarray: Any, order: str, allowSurfaceBind: bool = False) -> Array:  # noqa: N803
    """An Array with a GPUArray of 2 or 3 dimensions."""
    dims = _reversed_dims(gpuarray.shape, _check_order(order))
    return _to_array(
        gpuarray.ptr, dims, gpuarray.dtype, True, surface=allowSurfaceBind, on_device=True
    )


def make_multichannel_2d_array(matrix: Any, order: str) -> Array:
    """An Array of several channels. The matrix is height, width, channels with order
    "C", and channels, width, height with "F".
    """
    shape = tuple(int(length) for length in matrix.shape)
    channels, width, height = shape[::-1] if _check_order(order) == "C" else shape
    return _to_array(matrix, (width, height), matrix.dtype, False, channels)


def bind_array_to_texref(ary: Array, texref: TextureReference) -> None:
    texref.set_array(ary)
    for dim in range(2):
        texref.set_address_mode(dim, _address_mode.CLAMP)
    texref.set_filter_mode(_filter_mode.POINT)


def matrix_to_texref(matrix: Any, texref: TextureReference, order: str) -> None:
    bind_array_to_texref(matrix_to_array(matrix, order), texref)
