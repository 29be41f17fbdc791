# SPDX-License-Identifier: LGPL-2.1-or-later
"""A program that a type checker accepts (test_stubs.py). It is not run."""

from typing import Any, Dict, List, Optional, Tuple

import gi

gi.require_version("GstVkgdr", "1.0")
from gi.repository import Gst, GstVkgdr  # noqa: E402

import vkgdr  # noqa: E402
import vkgdr.pycuda  # noqa: E402


def devices(device: GstVkgdr.Device) -> Tuple[int, Dict[str, int]]:
    context = GstVkgdr.Context(device)
    free, total = context.get_memory_info()
    with context:
        return device.warp_size + free + total + GstVkgdr.device_count(), device.attributes


def streams(context: GstVkgdr.Context) -> float:
    stream = GstVkgdr.as_stream(context, 0)
    start: GstVkgdr.Event = GstVkgdr.Event(context).record(stream)
    fence: GstVkgdr.Fence = stream.record()
    stream.wait(fence)
    return GstVkgdr.Event(context).record().synchronize().time_since(start)


def memory(context: GstVkgdr.Context, buffer: Gst.Buffer) -> Optional[int]:
    allocator: GstVkgdr.Allocator = context.get_allocator()
    memory = allocator.alloc(1024)
    allocator.alloc(1024, None)
    GstVkgdr.fill(memory, 1.5, count=3)
    GstVkgdr.upload(memory, b"bytes", offset=1, stream=GstVkgdr.Stream(context))
    with GstVkgdr.Mapping.new(memory, Gst.MapFlags.READ) as mapping:
        view: memoryview = mapping.data
    with GstVkgdr.mapped(buffer, None, Gst.MapFlags.WRITE) as (pixels,):
        pixels[:] = view[0]
    fd, size, offset = GstVkgdr.memory_export_fd(memory)
    allocator.import_fd(fd, size, offset, 1024)
    return GstVkgdr.memory_get_host_pointer(memory)


def arrays(buffer: Gst.Buffer) -> Tuple[int, ...]:
    array: GstVkgdr.DeviceArray
    for array in GstVkgdr.device_arrays(buffer):
        array.use_on(1)
    return GstVkgdr.device_array(buffer, flags=Gst.MapFlags.WRITE | GstVkgdr.MAP_VKGDR).shape


def kernels(context: GstVkgdr.Context, array: Any) -> float:
    try:
        module = GstVkgdr.SourceModule("source", context, options=["-DN=1"])
    except GstVkgdr.CompileError as error:
        raise RuntimeError(error.stderr) from error
    except (GstVkgdr.MemoryError, GstVkgdr.LaunchError) as failed:
        name: Optional[str] = failed.cuda_error
        raise RuntimeError(name) from failed
    names: Optional[List[str]] = module.list_functions()
    function = module.get_function(names[0] if names else "scale").prepare("Pfi")
    function(GstVkgdr.InOut(array), 2.0, 1, block=(256, 1, 1), grid=4)
    timer = function.prepared_timed_call((1, 1), (256, 1, 1), array, 2, function.num_regs)
    return timer()


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
