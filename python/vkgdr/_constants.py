# SPDX-License-Identifier: LGPL-2.1-or-later
"""The constants of vkgdr.driver, as tables: names of PyCUDA, values of CUDA."""

from enum import IntEnum
from typing import Any, Dict

__all__ = [
    "TRSA_OVERRIDE_FORMAT", "TRSF_NORMALIZED_COORDINATES",
    "TRSF_READ_AS_INTEGER", "TR_DEFAULT",
    "address_mode", "array3d_flags",
    "array_cubemap_face", "array_format",
    "compute_mode",
    "ctx_flags", "device_attribute",
    "direction_vector_set", "event_flags",
    "filter_mode",
    "func_cache", "function_attribute",
    "graphics_register_flags", "host_alloc_flags",
    "ipc_mem_flags", "jit_fallback",
    "jit_input_type", "jit_option",
    "jit_target", "limit",
    "mem_advise_flags", "mem_attach_flags",
    "mem_host_register_flags", "memory_type",
    "pointer_attribute", "profiler_output_mode",
    "shared_config", "stream_flags",
]


class _Enum(IntEnum):
    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"vkgdr.driver.{type(self).__name__}.{self.name}"

    def __format__(self, spec: str) -> str:
        return format(self.name if not spec or spec.endswith("s") else int(self), spec)


def _table(words: str) -> Dict[str, int]:
    """Reads names, which count from 0 or from the last number. NAME=N sets the number."""
    result: Dict[str, int] = {}
    number = 0
    for word in words.split():
        name, _, value = word.partition("=")
        number = int(value) if value else number
        result[name] = number
        number += 1
    return result


def _enum(name: str, about: str, words: str) -> Any:
    table = _table(words)
    make: Any = _Enum
    cls = make(name, table, module="vkgdr.driver")
    cls.__doc__ = about
    type.__setattr__(cls, "names", dict(cls.__members__))
    type.__setattr__(cls, "values", {int(member): member for member in cls})
    return cls


def _flags(name: str, about: str, words: str) -> Any:
    body: Any = _table(words)
    return type(name, (), {**body, "__module__": "vkgdr.driver", "__doc__": about})


ctx_flags = _enum(
    "ctx_flags", "Flags of Device.make_context(): how the CPU waits for the device.",
    """
    SCHED_AUTO=0 SCHED_SPIN=1 SCHED_YIELD=2 SCHED_BLOCKING_SYNC=4 BLOCKING_SYNC=4 SCHED_MASK=7
    MAP_HOST=8 LMEM_RESIZE_TO_MAX=16 FLAGS_MASK=31""")
event_flags = _enum(
    "event_flags", "Flags of Event.",
    "DEFAULT=0 BLOCKING_SYNC=1 DISABLE_TIMING=2 INTERPROCESS=4")
stream_flags = _enum(
    "stream_flags", "Flags of Stream.",
    "DEFAULT=0 NON_BLOCKING=1")
device_attribute = _enum(
    "device_attribute", "Properties of a Device, for Device.get_attribute().",
    """
    MAX_THREADS_PER_BLOCK=1 MAX_BLOCK_DIM_X MAX_BLOCK_DIM_Y MAX_BLOCK_DIM_Z MAX_GRID_DIM_X
    MAX_GRID_DIM_Y MAX_GRID_DIM_Z MAX_SHARED_MEMORY_PER_BLOCK TOTAL_CONSTANT_MEMORY WARP_SIZE
    MAX_PITCH MAX_REGISTERS_PER_BLOCK CLOCK_RATE TEXTURE_ALIGNMENT GPU_OVERLAP
    MULTIPROCESSOR_COUNT KERNEL_EXEC_TIMEOUT INTEGRATED CAN_MAP_HOST_MEMORY COMPUTE_MODE
    MAXIMUM_TEXTURE1D_WIDTH MAXIMUM_TEXTURE2D_WIDTH MAXIMUM_TEXTURE2D_HEIGHT
    MAXIMUM_TEXTURE3D_WIDTH MAXIMUM_TEXTURE3D_HEIGHT MAXIMUM_TEXTURE3D_DEPTH
    MAXIMUM_TEXTURE2D_ARRAY_WIDTH MAXIMUM_TEXTURE2D_ARRAY_HEIGHT MAXIMUM_TEXTURE2D_ARRAY_NUMSLICES
    SURFACE_ALIGNMENT CONCURRENT_KERNELS ECC_ENABLED PCI_BUS_ID PCI_DEVICE_ID TCC_DRIVER
    MEMORY_CLOCK_RATE GLOBAL_MEMORY_BUS_WIDTH L2_CACHE_SIZE MAX_THREADS_PER_MULTIPROCESSOR
    ASYNC_ENGINE_COUNT UNIFIED_ADDRESSING MAXIMUM_TEXTURE1D_LAYERED_WIDTH
    MAXIMUM_TEXTURE1D_LAYERED_LAYERS
    MAXIMUM_TEXTURE2D_GATHER_WIDTH=45 MAXIMUM_TEXTURE2D_GATHER_HEIGHT
    MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE
    MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE PCI_DOMAIN_ID TEXTURE_PITCH_ALIGNMENT
    MAXIMUM_TEXTURECUBEMAP_WIDTH MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH
    MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS MAXIMUM_SURFACE1D_WIDTH MAXIMUM_SURFACE2D_WIDTH
    MAXIMUM_SURFACE2D_HEIGHT MAXIMUM_SURFACE3D_WIDTH MAXIMUM_SURFACE3D_HEIGHT
    MAXIMUM_SURFACE3D_DEPTH MAXIMUM_SURFACE1D_LAYERED_WIDTH MAXIMUM_SURFACE1D_LAYERED_LAYERS
    MAXIMUM_SURFACE2D_LAYERED_WIDTH MAXIMUM_SURFACE2D_LAYERED_HEIGHT
    MAXIMUM_SURFACE2D_LAYERED_LAYERS MAXIMUM_SURFACECUBEMAP_WIDTH
    MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS
    MAXIMUM_TEXTURE1D_LINEAR_WIDTH MAXIMUM_TEXTURE2D_LINEAR_WIDTH MAXIMUM_TEXTURE2D_LINEAR_HEIGHT
    MAXIMUM_TEXTURE2D_LINEAR_PITCH MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH
    MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT COMPUTE_CAPABILITY_MAJOR COMPUTE_CAPABILITY_MINOR
    MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH STREAM_PRIORITIES_SUPPORTED GLOBAL_L1_CACHE_SUPPORTED
    LOCAL_L1_CACHE_SUPPORTED MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
    MAX_REGISTERS_PER_MULTIPROCESSOR MANAGED_MEMORY MULTI_GPU_BOARD MULTI_GPU_BOARD_GROUP_ID
    HOST_NATIVE_ATOMIC_SUPPORTED SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO PAGEABLE_MEMORY_ACCESS
    CONCURRENT_MANAGED_ACCESS COMPUTE_PREEMPTION_SUPPORTED CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN=97 PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES=100
    DIRECT_MANAGED_MEM_ACCESS_FROM_HOST HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED=103
    HANDLE_TYPE_WIN32_HANDLE_SUPPORTED HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED
    MAX_BLOCKS_PER_MULTIPROCESSOR GENERIC_COMPRESSION_SUPPORTED MAX_PERSISTING_L2_CACHE_SIZE
    RESERVED_SHARED_MEMORY_PER_BLOCK=111 READ_ONLY_HOST_REGISTER_SUPPORTED=113
    MEMORY_POOLS_SUPPORTED=115
    SHARED_MEMORY_PER_BLOCK=8 REGISTERS_PER_BLOCK=12 MAXIMUM_TEXTURE2D_LAYERED_WIDTH=27
    MAXIMUM_TEXTURE2D_LAYERED_HEIGHT=28 MAXIMUM_TEXTURE2D_LAYERED_LAYERS=29""")
pointer_attribute = _enum(
    "pointer_attribute", "Properties of a pointer.",
    "CONTEXT=1 MEMORY_TYPE DEVICE_POINTER HOST_POINTER")
profiler_output_mode = _enum(
    "profiler_output_mode", "Formats of initialize_profiler().",
    "KEY_VALUE_PAIR CSV")
function_attribute = _enum(
    "function_attribute", "Properties of a Function, for Function.get_attribute().",
    """
    MAX_THREADS_PER_BLOCK SHARED_SIZE_BYTES CONST_SIZE_BYTES LOCAL_SIZE_BYTES NUM_REGS
    PTX_VERSION BINARY_VERSION CACHE_MODE_CA MAX_DYNAMIC_SHARED_SIZE_BYTES
    PREFERRED_SHARED_MEMORY_CARVEOUT MAX""")
func_cache = _enum(
    "func_cache", "How the on-chip memory is shared between L1 cache and shared memory.",
    "PREFER_NONE PREFER_SHARED PREFER_L1 PREFER_EQUAL")
shared_config = _enum(
    "shared_config", "The width of the banks of shared memory.",
    "DEFAULT_BANK_SIZE FOUR_BYTE_BANK_SIZE EIGHT_BYTE_BANK_SIZE")
array_format = _enum(
    "array_format", "Types of a channel of an Array.",
    """
    UNSIGNED_INT8=1 UNSIGNED_INT16 UNSIGNED_INT32 SIGNED_INT8=8 SIGNED_INT16 SIGNED_INT32
    HALF=16 FLOAT=32""")
array3d_flags = _flags(
    "array3d_flags", "Flags of ArrayDescriptor3D.",
    """
    ARRAY3D_LAYERED=1 ARRAY3D_2DARRAY=1 LAYERED=1 2DARRAY=1 SURFACE_LDST=2 CUBEMAP=4
    TEXTURE_GATHER=8""")
address_mode = _enum(
    "address_mode", "What a texture reads outside the picture.",
    "WRAP CLAMP MIRROR BORDER")
filter_mode = _enum(
    "filter_mode", "What a texture reads between the points.",
    "POINT LINEAR")
memory_type = _enum(
    "memory_type", "Kinds of memory of Memcpy2D and Memcpy3D.",
    "HOST=1 DEVICE ARRAY UNIFIED")
compute_mode = _enum(
    "compute_mode", "Who may use a device.",
    "DEFAULT=0 PROHIBITED=2 EXCLUSIVE_PROCESS=3")
jit_option = _enum(
    "jit_option", "Options of module_from_buffer() and Linker.",
    """
    MAX_REGISTERS THREADS_PER_BLOCK WALL_TIME INFO_LOG_BUFFER INFO_LOG_BUFFER_SIZE_BYTES
    ERROR_LOG_BUFFER ERROR_LOG_BUFFER_SIZE_BYTES OPTIMIZATION_LEVEL TARGET_FROM_CUCONTEXT TARGET
    FALLBACK_STRATEGY GENERATE_DEBUG_INFO LOG_VERBOSE GENERATE_LINE_INFO""")
jit_target = _enum(
    "jit_target", "Compute capabilities, for jit_option.TARGET.",
    " ".join(f"COMPUTE_{n}={n}" for n in (
    10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90,
    100, 103, 110, 120, 121)))
jit_fallback = _enum(
    "jit_fallback", "What is used if an image has no code for the device.",
    "PREFER_PTX PREFER_BINARY")
jit_input_type = _enum(
    "jit_input_type", "Kinds of images for Linker.",
    "CUBIN PTX FATBINARY OBJECT LIBRARY")
host_alloc_flags = _flags(
    "host_alloc_flags", "Flags of page-locked memory.",
    "PORTABLE=1 DEVICEMAP=2 DEVICE_MAP=2 WRITECOMBINED=4 WRITE_COMBINED=4")
mem_host_register_flags = _flags(
    "mem_host_register_flags", "Flags of register_host_memory().",
    "PORTABLE=1 DEVICEMAP=2")
mem_attach_flags = _enum(
    "mem_attach_flags", "Who uses managed memory, for ManagedAllocation.attach().",
    "GLOBAL=1 HOST=2 SINGLE=4")
limit = _enum(
    "limit", "Limits of Context.set_limit().",
    """
    STACK_SIZE PRINTF_FIFO_SIZE MALLOC_HEAP_SIZE DEV_RUNTIME_SYNC_DEPTH
    DEV_RUNTIME_PENDING_LAUNCH_COUNT""")
ipc_mem_flags = _enum(
    "ipc_mem_flags", "Flags of IPCMemoryHandle.",
    "LAZY_ENABLE_PEER_ACCESS=1")
mem_advise_flags = _enum(
    "mem_advise_flags", "Hints of ManagedAllocation.advise().",
    """
    SET_READ_MOSTLY=1 UNSET_READ_MOSTLY SET_PREFERRED_LOCATION UNSET_PREFERRED_LOCATION
    SET_ACCESSED_BY UNSET_ACCESSED_BY""")
graphics_register_flags = _enum(
    "graphics_register_flags", "Flags of buffers of OpenGL.",
    "NONE=0 READ_ONLY=1 WRITE_DISCARD=2 SURFACE_LDST=4 TEXTURE_GATHER=8")
array_cubemap_face = _enum(
    "array_cubemap_face", "The faces of a cube map.",
    "POSITIVE_X NEGATIVE_X POSITIVE_Y NEGATIVE_Y POSITIVE_Z NEGATIVE_Z")
direction_vector_set = _enum(
    "direction_vector_set", "Sets of direction vectors of cuRAND.",
    "VECTOR_32=101 SCRAMBLED_VECTOR_32 VECTOR_64 SCRAMBLED_VECTOR_64")

TRSA_OVERRIDE_FORMAT = 1
TRSF_READ_AS_INTEGER = 1
TRSF_NORMALIZED_COORDINATES = 2
TR_DEFAULT = -1
