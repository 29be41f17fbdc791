# SPDX-License-Identifier: LGPL-2.1-or-later
"""A program that a type checker accepts (test_stubs.py). It is not run."""

from typing import Any, List, Optional, Tuple

import gi

gi.require_version("GstVkgdr", "1.0")
from gi.repository import Gst, GstVkgdr  # noqa: E402

import vkgdr  # noqa: E402
import vkgdr.pycuda  # noqa: E402
from vkgdr import compiler, driver  # noqa: E402


def contexts() -> int:
    context = GstVkgdr.Context(0)
    free, total = context.get_memory_info()
    with context:
        return free + total


def streams(context: GstVkgdr.Context) -> bool:
    stream = GstVkgdr.as_stream(context, 0)
    fence: GstVkgdr.Fence = stream.record()
    stream.wait(fence)
    return stream.record().is_signaled()


def memory(context: GstVkgdr.Context, buffer: Gst.Buffer) -> Optional[int]:
    allocator: GstVkgdr.Allocator = context.get_allocator()
    memory = allocator.alloc(1024)
    allocator.alloc(1024, None)
    with GstVkgdr.Mapping.new(memory, Gst.MapFlags.READ) as mapping:
        view: memoryview = mapping.data
    with GstVkgdr.mapped(buffer, None, Gst.MapFlags.WRITE) as (pixels,):
        pixels[:] = view[0]
    fd, description, offset = GstVkgdr.memory_export_fd(memory)
    allocator.import_fd(fd, description).resize(offset, 1024)
    return GstVkgdr.memory_get_host_pointer(memory)


def arrays(buffer: Gst.Buffer) -> Tuple[int, ...]:
    array: GstVkgdr.DeviceArray
    for array in GstVkgdr.device_arrays(buffer):
        array.use_on(1)
    return GstVkgdr.device_array(buffer, flags=Gst.MapFlags.WRITE | GstVkgdr.MAP_VKGDR).shape


def kernels(array: Any) -> float:
    try:
        module = compiler.SourceModule("source", options=["-DN=1"])
    except driver.CompileError as error:
        raise RuntimeError(error.stderr) from error
    function: driver.Function = module.get_function("scale").prepare("Pfi")
    function(driver.InOut(array), array, block=(256, 1, 1), grid=(4, 1))
    start = driver.Event().record(driver.Stream())
    memory: driver.DeviceAllocation = driver.mem_alloc(16)
    driver.memcpy_htod(memory, b"bytes")
    timer = function.prepared_timed_call((1, 1), (256, 1, 1), memory + 4, 2, function.num_regs)
    return timer() + driver.Event().time_since(start)


def errors(context: GstVkgdr.Context) -> Optional[str]:
    try:
        context.synchronize()
    except (GstVkgdr.MemoryError, GstVkgdr.LaunchError) as failed:
        return failed.cuda_error
    return None


class Negative(GstVkgdr.VideoFilter):
    def do_filter_frame(self, source: Any, target: Any, stream: GstVkgdr.Stream) -> None:
        context: Optional[GstVkgdr.Context] = self.get_context()
        print(context, self.get_input_info(), stream.handle)


def tensors(sources: List[str]) -> List[Tuple[float, float]]:
    points: List[Tuple[float, float]] = []
    with GstVkgdr.TensorReader(sources, size=(640, 640), batch=8, dtype="float16") as reader:
        reader.seek(1.5)
        for batch in reader:
            array: GstVkgdr.DeviceArray = batch
            print(array.shape, batch.numpy())
            points += [frame.to_frame(320, 320) for frame in batch.frames]
    return points


def converted(context: GstVkgdr.Context, frame: Gst.Buffer, info: Any) -> int:
    config = GstVkgdr.TensorConfig.new(224, 224)
    config.set_mean([0.5])
    converter = GstVkgdr.TensorConverter.new(context, config)
    tensor = context.get_allocator().alloc(config.get_frame_size())
    converter.convert(GstVkgdr.Stream(context), frame, info, None, tensor, 0)
    return config.get_n_channels()


def plain(size: int) -> int:
    handle = vkgdr.Vkgdr.open_current_context(vkgdr.OpenFlags.REQUIRE_COHERENT_BIT)
    with vkgdr.RawMemory(handle, size) as memory:
        memory.flush(0, len(memory))
        return memory.device_ptr + int(vkgdr.pycuda.Memory(handle, size))
