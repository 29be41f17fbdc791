# SPDX-License-Identifier: LGPL-2.1-or-later
"""What vkgdr-bench measures: copies and pipelines, and what they are compared with.

There is one table of cases. Each is measured with one or several frame formats, or
numbers of streams. Its variants are measured in turn. Does not depend on how something
is measured.
"""

import dataclasses
import typing

from bench_sources import NVDEC, SOURCES

BATCH = 8  # frames of a tensor
TENSOR_SIZE = 640  # width and height of a network's input
SMALL = 4096  # bytes of a small buffer
PIXEL_BYTES = {"NV12": 1.5, "I420": 1.5, "RGBA": 4, "": 1}
AREA = 512 << 20  # bytes that all streams copy from, but each from an eighth of it at least
CACHED = 64 << 10  # bytes that --fill copy copies from
STREAMS = (1, 2, 4, 8, 16)
COPIED = [64 << 2 * i for i in range(11)]  # bytes


class Frame(typing.NamedTuple):
    id: str
    title: str
    format: str  # empty: bytes without caps
    width: int
    height: int


EACH = (Frame("1080p-nv12", "1080p NV12", "NV12", 1920, 1080),
        Frame("4k-nv12", "4K NV12", "NV12", 3840, 2160),
        Frame("4k-rgba", "4K RGBA", "RGBA", 3840, 2160))
LITTLE = (Frame("360p-nv12", "360p NV12", "NV12", 640, 360),
          Frame("180p-rgba", "180p RGBA", "RGBA", 320, 180))
DECODED = (Frame("1080p-i420", "1080p", "I420", 1920, 1080),
           Frame("4k-i420", "4K", "I420", 3840, 2160))
QUICK = {**dict(zip(EACH, (LITTLE[0], *LITTLE))),  # what --quick measures instead
         **dict.fromkeys(DECODED, Frame("360p-i420", "360p", "I420", 640, 360))}
TINY = (Frame("64x64-rgba", "64x64 RGBA", "RGBA", 64, 64),)
BUFFER = (Frame("4kib", "buffers of 4 KiB", "", SMALL, 1),)


@dataclasses.dataclass
class Variant:
    id: str
    label: str
    tail: str = ""  # the pipeline after the source
    how: str = "rate"  # the function measure_… of bench_measure.py, and what it takes
    pipeline: str = ""
    error: str = ""
    samples: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Case:
    """The id and the title of what is measured begin with those of its frame."""

    section: str
    table: str  # the title of the section's table
    id: str
    title: str
    unit: str
    variants: list
    frames: tuple = EACH[1:2]
    # What the source does with a buffer, or the text of a source that begins with "=".
    # Empty: fakesrc.
    source: str = "touch=write"
    material: str = ""  # makes the files that the source reads, see bench_sources.py
    feeder: str = ""  # the pipeline of another process, which gives frames to the source
    consumers: int = 0  # other processes; then the tails have sinks
    bytes: int = 0  # of a frame
    streams: int = 1
    fill: str = "memset"
    area: int = 0


# --- copies

# id: label, direction, how (see copies.c), memories, and the largest size in bytes from
# an uncached window, which memcpy() reads at 0.06 GB/s, and streaming loads at 1 GB/s.
COPIES = {
    "window-memcpy": ("window, memcpy", "to-device", "memcpy", "ram", "window"),
    "window-copy-1": ("window, 1 thread", "to-device", "stores", "ram", "window"),
    "window-copy-2": ("window, 2 threads", "to-device", "stores-2", "ram", "window"),
    "htod-pageable": ("HtoD, pageable", "to-device", "htod", "ram"),
    "htod-pinned": ("HtoD, pinned", "to-device", "htod", "pinned"),
    "ram-memcpy": ("RAM, memcpy", "to-device", "memcpy", "ram", "ram"),
    "ram-copy-1": ("RAM, 1 thread", "to-device", "stores", "ram", "ram"),
    "ram-copy-2": ("RAM, 2 threads", "to-device", "stores-2", "ram", "ram"),
    "window-read-memcpy": ("window, memcpy", "from-device", "memcpy", "window", "ram", 1 << 20),
    "window-read-copy": ("window, streaming", "from-device", "loads", "window", "ram", 16 << 20),
    "dtoh-pageable": ("DtoH, pageable", "from-device", "dtoh", "ram"),
    "dtoh-pinned": ("DtoH, pinned", "from-device", "dtoh", "pinned"),
    "ram-read-memcpy": ("RAM, memcpy", "from-device", "memcpy", "ram", "ram"),
    "ram-read-copy": ("RAM, streaming", "from-device", "loads", "ram", "ram"),
    "on-device": ("", "", "dtod", "ram"),  # only if it is asked for
}


def make_copies(quick, machine):
    """A case for each size. Copies through a window that the device lacks are left out."""
    for size in COPIED[:7:3] if quick else COPIED:
        case = Case("copies", "", "copies", f"copies of {size} bytes", "s", [], bytes=size)
        for name, (label, direction, _, *memories) in COPIES.items():
            limit = memories[2] if memories[2:] and not machine["host-cached"] else size
            has_memory = machine["has-window"] or "window" not in memories
            if direction and has_memory and size <= limit:
                case.variants.append(Variant(name, label, how=f"copy:{name}"))
        yield case


# --- pipelines

SINK = " ! fakesink sync=false enable-last-sample=false"
CUDA_CAPS = " ! video/x-raw(memory:CUDAMemory)"
TO_RGBA = " ! video/x-raw(memory:VkgdrMemory),format=RGBA"
UNTOUCHED = "touch=nothing"
SIZE = "width={width},height={height},framerate=60/1"


def ours(label="vkgdrupload", tail="", name="vkgdrupload", how="rate"):
    return Variant(name, label, " ! vkgdrupload" + tail, how)


def theirs(label="cudaupload", tail="", name="cudaupload", how="rate"):
    """GStreamer's own elements after its upload."""
    return Variant(name, label, f" ! cudaupload cuda-device-id={{device}}{CUDA_CAPS}{tail}", how)


def filters(n, label, kernel="copy", name="cudafilter"):
    return ours(label, n * f" ! cudafilter kernel={kernel}", name)


NONE = Variant("none", "no upload")
UPLOADS = [ours(), theirs(), NONE]
SCALED = f" ! cudaconvertscale{CUDA_CAPS},format=RGBA"
HALF = SCALED + ",width={half_width},height={half_height}"
TENSOR = (" ! vkgdrtensor name=timed width={tensor_size} height={tensor_size} type=float16"
          " mean=<0.485,0.456,0.406> std=<0.229,0.224,0.225> batch=")

# Frames for other processes: as fast as all processes accept them, or slowly.
# IPC_PATH is replaced by the path of the socket. The text after CONSUMER is the
# pipeline of the other processes, or a path: then they are clients without
# GStreamer, in C or in Python.
CONSUMER = " CONSUMER "
IPC_SINK = (" ! vkgdripcsink name=sent socket-path=\"IPC_PATH\" sync=false leaky=no max-buffers=8"
            " wait-for-connection=true")
IPC_SRC = CONSUMER + "vkgdripcsrc name=received socket-path=\"IPC_PATH\" connection-timeout=30"


def ipc(name, label, tail):
    return Variant(name, label, IPC_SINK + tail, "ipc:rate")


def cuda_ipc(mode):
    return theirs(
        f"cudaupload ! cudaipcsink ! cudaipcsrc, {mode}",
        f" ! cudaipcsink name=sent address=\"IPC_PATH\" sync=false ipc-mode={mode}{CONSUMER}"
        f"cudaipcsrc name=received address=\"IPC_PATH\" connection-timeout=30{SINK}",
        f"cudaipcsink-{mode}", "ipc:rate")


def ipc_delays(name, title, consumers, source="", client="IPC_PATH"):
    """The delays of vkgdripcsrc, and of a client in C."""
    received = f"{IPC_SINK} access=direct{IPC_SRC}{source}{SINK}"
    client = f"{IPC_SINK} access=direct{CONSUMER}{client}"
    return Case("ipc-delay", "From the end of writing to other processes", f"ipc-delay-{name}",
                title, "us/frame", [
                    Variant("received-p50", "received", received, "ipc:received"),
                    Variant("received-p99", "99 of 100 received", received, "ipc:received-p99"),
                    Variant("client-p50", "received, client in C", client, "ipc:received"),
                    Variant("client-p99", "99 of 100, client in C", client, "ipc:received-p99")],
                source="touch=write,interval=5000", consumers=consumers)


# Each first variant is compared with the others.
PROCESSOR = [dataclasses.replace(variant, how="processor") for variant in UPLOADS]
IPC_RATES = [ipc("vkgdripcsink", "vkgdripcsink ! vkgdripcsrc", IPC_SRC + SINK),
             ours("in one process", SINK)]
CASES = [
    # the time from the start of a process, which also opens the device, beside
    # the time that the drivers need by themselves
    Case("process", "From the start of a process to the first frame", "process", "", "ms", [
        *[dataclasses.replace(variant, how="process") for variant in UPLOADS],
        ours("vkgdrtensor, no cache", TENSOR + "1", "vkgdrtensor", "process"),
        Variant("bare-cuda", "CUDA alone", how="bare:cuda"),
        Variant("bare-vulkan", "Vulkan alone", how="bare:vulkan")]),
    # the same writes in a pipeline, and in loops without a pipeline
    Case("loops", "What the machine allows: one stream, and loops without GStreamer", "loops", "",
         "frames/s", [
             ours(),
             Variant("loop-window", "loop, direct", how="loop:window"),
             Variant("loop-staged", "loop, staged", how="loop:pinned"),
             Variant("loop-ram", "loop in RAM", how="loop:ram")], EACH),
    *[Case("frames", "One stream of frames", name, title, "frames/s", UPLOADS, EACH, source)
      for name, title, source in (
          ("pool", ", into the pool it is offered", "touch=write"),
          ("own", ", into its own pool", "touch=write,own-pool=1"),
          ("readwrite", ", into the pool, and reads back", "touch=readwrite"))],
    # access=auto, and each fixed access mode
    Case("streams", "Streams at once, in all", "streams", "", "GB/s", [
        ours(),
        ours("direct", " access=direct", "vkgdrupload-direct"),
        ours("staged", " access=staged", "vkgdrupload-staged"),
        theirs(),
        NONE,
        Variant("link-to-device", "DMA limit", how="link:htod-pinned")]),
    Case("roundtrip", "To the device and back", "roundtrip", ", up and down again", "frames/s", [
        ours("vkgdrupload ! vkgdrdownload", " ! vkgdrdownload ! video/x-raw"),
        theirs("cudaupload ! cudadownload", " ! cudadownload ! video/x-raw")]),
    # the frames are not written, because DMA does not depend on their content
    Case("download", "Back from the device", "download", ", vkgdrdownload alone", "GB/s", [
        ours("vkgdrdownload", " ! vkgdrdownload ! video/x-raw", "vkgdrdownload"),
        Variant("link-from-device", "DMA limit", how="link:dtoh-pinned")],
         source=UNTOUCHED),
    Case("buffers", "Small buffers", "buffers", " from fakesrc", "buffers/s", [
        ours(), Variant("identity", "identity", " ! identity silent=true"), NONE], BUFFER, ""),
    Case("overhead", "What running a kernel costs", "copy", ", cudafilter kernel=copy",
         "us/frame", [filters(1, "with cudafilter"), ours("without")], TINY),
    Case("chain", "What several kernels in a row cost", "copy", ", cudafilter kernel=copy",
         "us/frame", [filters(4, "four in a row", name="four-cudafilters"), filters(1, "one"),
                      ours("none")], TINY),
    Case("effect", "A kernel on large frames", "invert", ", cudafilter kernel=invert",
         "frames/s", [filters(1, "with cudafilter", "invert"), ours("without")], EACH[2:]),
    # the same frame again and again, so that its transfer does not count
    Case("convert", "Conversion of frames on the device", "to-rgba", " to RGBA", "frames/s", [
        ours("cudafilter kernel=convert", f" ! imagefreeze ! cudafilter kernel=convert{TO_RGBA}",
             "cudafilter"),
        theirs("cudaconvert", f" ! imagefreeze ! cudaconvert{CUDA_CAPS},format=RGBA")],
         source="touch=write num-buffers=1"),
    # compared with a copy of as many bytes
    Case("convert-kernel", "Inside the conversion, bytes read and written", "to-rgba-kernel",
         " to RGBA, kernel=convert", "GB/s", [
             ours("kernel", f" ! cudafilter kernel=convert name=timed{TO_RGBA}", "kernel-time",
                  "kernel"),
             Variant("device-copy", "copy on the device", how="device_copy")], source=UNTOUCHED),
    # the longest time between two frames, beyond that without a change
    Case("change", "Another kernel while frames flow", "change", ", another pixel=", "ms", [
        ours("extra gap", ' ! cudafilter name=changed pixel=""', "change", "change")]),
    # GStreamer's converter after either upload
    Case("cuda", "Compared with GStreamer's own CUDA elements", "cuda", " to RGBA of half the size",
         "frames/s", [ours("vkgdrupload ! cudaconvertscale", CUDA_CAPS + HALF),
                      theirs("cudaupload ! cudaconvertscale", HALF), NONE], EACH),
    # sources that people use, and what the upload costs the processor
    *[Case(section, table, source.name, f", {source.title}", unit, variants, DECODED,
           f"={source.text}", source.material, source.feeder)
      for section, table, unit, variants in (
          ("sources", "Real sources", "frames/s", UPLOADS),
          ("processor", "Processor time of real sources", "us/frame", PROCESSOR))
      for source in SOURCES],
    Case("nvdec", "Frames of NVIDIA's own decoder", "nvdec", ", nvh264dec", "frames/s", [
        Variant("cudafilter", "cudafilter kernel=copy", f"{CUDA_CAPS} ! cudafilter kernel=copy"),
        Variant("vkgdrtensor", "vkgdrtensor", f"{CUDA_CAPS}{TENSOR}1"),
        Variant("cudaconvertscale", "cudaconvertscale ! cudadownload",
                f"{CUDA_CAPS}{SCALED},width={{tensor_size}},height={{tensor_size}}"
                " ! cudadownload ! video/x-raw"),
        Variant("none", "decoder alone", CUDA_CAPS)],
         DECODED, f"={NVDEC.text}", NVDEC.material),
    # compared with programs that convert on the CPU or with PyTorch
    Case("tensors", "Frames as tensors of float16", "tensors", "", "frames/s", [
        ours("vkgdrupload ! vkgdrtensor", f"{TENSOR}{BATCH}", "vkgdrtensor", f"rate:{BATCH}"),
        ours(),
        theirs("cudaupload ! cudaconvertscale ! cudadownload", SCALED + ",width={tensor_size},"
               "height={tensor_size} ! cudadownload ! video/x-raw")], EACH),
    Case("tensor-kernel", "A frame to such a tensor, time on the device", "tensor-kernel", "",
         "us/frame", [ours(name, f"{TENSOR}{BATCH} filter={name}", f"tensor-{name}", "kernel")
                      for name in ("bilinear", "nearest", "area")], EACH, UNTOUCHED),
    # the result of the slowest process counts
    Case("ipc", "Frames in other processes", "ipc-1", ", to one other process", "frames/s", [
        *IPC_RATES,
        ipc("client-c", "vkgdripcsink ! client in C", CONSUMER + "IPC_PATH"),
        ipc("client-python", "vkgdripcsink ! client in Python", CONSUMER + "python:IPC_PATH"),
        cuda_ipc("legacy"), cuda_ipc("mmap")], consumers=1),
    Case("ipc", "Frames in other processes", "ipc-8", ", to eight other processes", "frames/s",
         IPC_RATES, consumers=8),
    ipc_delays("1", ", to one other process", 1),
    ipc_delays("8", ", to eight other processes", 8),
    # the streaming thread never sleeps: it polls for longer than the interval
    ipc_delays("busy-1", ", to one other process, busy-poll=10000", 1, " busy-poll=10000",
               "busy:IPC_PATH"),
]
SECTIONS = list(dict.fromkeys(case.section for case in CASES))


def fit(text, frame):
    """The text of a pipeline for frames of this size."""
    return text.replace("RAW_CAPS", f"video/x-raw,format={frame.format},{SIZE}").replace(
        "SIZE", SIZE).format(width=frame.width, height=frame.height)


def make_source(case, frame):
    if case.source.startswith("="):
        return fit(case.source[1:], frame)
    if not case.source:
        return f"fakesrc sizetype=fixed sizemax={SMALL}"
    touch, space, others = case.source.partition(" ")
    return (f'vkgdrbenchsrc params="params,caps=(GstCaps)[video/x-raw,format={frame.format},'
            f"width={frame.width},height={frame.height},framerate=60/1],"
            f'{touch},area={case.area}"{space}{others}')


def make_case(case, frame, streams, options, device):
    """The case for this format, on this device."""
    case = dataclasses.replace(
        case, id=f"{frame.id}-{case.id}", title=frame.title + case.title, streams=streams,
        bytes=int(frame.width * frame.height * PIXEL_BYTES[frame.format]),
        material=fit(case.material, frame), feeder=fit(case.feeder, frame),
        variants=[dataclasses.replace(variant, samples=[]) for variant in case.variants])
    if case.section == "convert-kernel":  # half of what is read and written
        case.bytes = (case.bytes + 4 * frame.width * frame.height) // 2
    if case.section == "streams":
        case.id += f"-{streams}"
        case.title = f"{streams} stream{'s' if streams > 1 else ''} of {frame.title}"
        case.fill = "uncached"  # several streams share the cache
    case.fill = options.fill or case.fill
    if case.fill == "copy":
        case.area = CACHED
    if case.fill == "uncached":
        case.area = (AREA >> 7 if options.quick else AREA) // min(streams, 8)
    for variant in case.variants:
        if variant.tail or variant.how in ("rate", "process", "processor"):
            tail = variant.tail.format(
                device=device, tensor_size=64 if options.quick else TENSOR_SIZE,
                half_width=frame.width // 2, half_height=frame.height // 2)
            stream = make_source(case, frame) + tail + ("" if case.consumers else SINK)
            variant.pipeline = " ".join(streams * [stream])
    return case


def make_cases(options, device, sections):
    """The cases of these sections, in the order of the tables."""
    groups = [[case for case in CASES if case.section == name]
              for name in SECTIONS if name in sections]
    quick = QUICK if options.quick else {}
    return [make_case(case, frame, streams, options, device)
            for group in groups
            for frame in dict.fromkeys(quick.get(frame, frame) for frame in group[0].frames)
            for case in group
            if not (options.quick and case.section == "processor" and case.source != group[0].source)
            for streams in (STREAMS[:2 if options.quick else None]
                            if case.section == "streams" else (1,))]


def make_comparison(pipelines):
    """A case of the user's pipelines, without changes to them."""
    return Case("compare", "Pipelines in comparison", "compare", "pipelines given", "buffers/s",
                [Variant(str(n), str(n), pipeline=text) for n, text in enumerate(pipelines, 1)])
