# SPDX-License-Identifier: LGPL-2.1-or-later
"""What vkgdr-bench measures: copies and pipelines, and what they are compared with.

There is one table of cases. Each is measured with one or several frame formats, or
numbers of streams. Its variants are measured in turn. Does not depend on how something
is measured.
"""

import dataclasses
import typing

# Section -> the title of its table.
TITLES = {
    "process": "From the start of a process to the first frame",
    "loops": "What the machine allows: one stream, and loops without GStreamer",
    "frames": "One stream of frames",
    "streams": "Streams at once, in all",
    "roundtrip": "To the device and back",
    "download": "Back from the device",
    "buffers": "Small buffers",
    "overhead": "What running a kernel costs",
    "chain": "What several kernels in a row cost",
    "effect": "A kernel on large frames",
    "convert": "Conversion of frames on the device",
    "convert-kernel": "Inside the conversion, bytes read and written",
    "change": "Another kernel while frames flow",
    "cuda": "Compared with GStreamer's own CUDA elements",
    "tensors": "Frames as tensors of float16",
    "tensor-kernel": "A frame to such a tensor, time on the device",
    "ipc": "Frames in other processes",
    "ipc-delay": "From the end of writing to other processes",
    "compare": "Pipelines in comparison",
}
SECTIONS = [name for name in TITLES if name != "compare"]

BATCH = 8  # frames of a tensor
SMALL = 4096  # bytes of a small buffer


class Frame(typing.NamedTuple):
    id: str
    title: str
    format: str = ""  # empty: bytes without caps
    width: int = 0
    height: int = 0

    def size(self):
        """Bytes of a frame. No row of these formats and widths has padding."""
        pixels = self.width * self.height
        return {"NV12": pixels * 3 // 2, "RGBA": 4 * pixels, "": SMALL}[self.format]


class Scale(typing.NamedTuple):
    """The size of the work."""

    frames: dict  # what a case's `frames` names -> formats, all of which are measured
    streams: tuple
    tensor_size: int  # width and height of a network's input
    area: int  # bytes that all streams copy from, at least
    stream_area: int  # bytes that a single stream copies from, at least
    copies: tuple  # bytes


SAME = {"tiny": [Frame("64x64-rgba", "64x64 RGBA", "RGBA", 64, 64)],
        "buffer": [Frame("4kib", "buffers of 4 KiB")]}
LARGE = [Frame("1080p-nv12", "1080p NV12", "NV12", 1920, 1080),
         Frame("4k-nv12", "4K NV12", "NV12", 3840, 2160),
         Frame("4k-rgba", "4K RGBA", "RGBA", 3840, 2160)]
FULL = Scale({"each": LARGE, "stream": LARGE[1:2], "effect": LARGE[2:], **SAME},
             (1, 2, 4, 8, 16), 640, 512 << 20, 64 << 20, tuple(64 << 2 * i for i in range(11)))
LITTLE = [Frame("360p-nv12", "360p NV12", "NV12", 640, 360),
          Frame("180p-rgba", "180p RGBA", "RGBA", 320, 180)]
QUICK = Scale({"each": LITTLE, "stream": LITTLE[:1], "effect": LITTLE[1:], **SAME},
              (1, 2), 64, 4 << 20, 1 << 20, (64, 4 << 10, 256 << 10))


@dataclasses.dataclass
class Variant:
    id: str
    label: str
    tail: str = ""  # the pipeline after the source
    how: str = "rate"  # the function measure_… of bench_measure.py, and what it takes
    pipeline: str = ""
    note: str = ""
    error: str = ""
    samples: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Case:
    """The id and the title of what is measured begin with those of its frame."""

    section: str
    id: str
    title: str
    unit: str
    variants: list
    frames: str = "stream"  # see Scale
    source: str = "touch=write"  # what the source does with a buffer; empty: fakesrc
    consumers: int = 0  # other processes; then the tails have sinks
    bytes: int = 0  # of a frame
    streams: int = 1
    fill: str = "memset"
    area: int = 0


# --- copies

WINDOW, RAM, PINNED = "window", "ram", "pinned"
# id: label, direction, how (see copies.c), memories, and the largest size in bytes from
# an uncached window, which memcpy() reads at 0.06 GB/s, and streaming loads at 1 GB/s.
COPIES = {
    "window-memcpy": ("window, memcpy", "to-device", "memcpy", RAM, WINDOW),
    "window-copy-1": ("window, 1 thread", "to-device", "stores", RAM, WINDOW),
    "window-copy-2": ("window, 2 threads", "to-device", "stores-2", RAM, WINDOW),
    "htod-pageable": ("HtoD, pageable", "to-device", "htod", RAM),
    "htod-pageable-async": ("HtoD async, pageable", "to-device", "htod-async", RAM),
    "htod-pinned": ("HtoD, pinned", "to-device", "htod", PINNED),
    "htod-pinned-async": ("HtoD async, pinned", "to-device", "htod-async", PINNED),
    "ram-memcpy": ("RAM, memcpy", "to-device", "memcpy", RAM, RAM),
    "ram-copy-1": ("RAM, 1 thread", "to-device", "stores", RAM, RAM),
    "ram-copy-2": ("RAM, 2 threads", "to-device", "stores-2", RAM, RAM),
    "window-read-memcpy": ("window, memcpy", "from-device", "memcpy", WINDOW, RAM, 1 << 20),
    "window-read-copy": ("window, streaming", "from-device", "loads", WINDOW, RAM, 16 << 20),
    "dtoh-pageable": ("DtoH, pageable", "from-device", "dtoh", RAM),
    "dtoh-pageable-async": ("DtoH async, pageable", "from-device", "dtoh-async", RAM),
    "dtoh-pinned": ("DtoH, pinned", "from-device", "dtoh", PINNED),
    "dtoh-pinned-async": ("DtoH async, pinned", "from-device", "dtoh-async", PINNED),
    "ram-read-memcpy": ("RAM, memcpy", "from-device", "memcpy", RAM, RAM),
    "ram-read-copy": ("RAM, streaming", "from-device", "loads", RAM, RAM),
    "on-device": ("", "", "dtod", RAM),  # only if it is asked for
}


def make_copies(options, machine):
    """A case for each size. Copies through a window that the device lacks are left out."""
    for size in (QUICK if options.quick else FULL).copies:
        case = Case("copies", "copies", f"copies of {size} bytes", "s", [], bytes=size)
        for name, (label, direction, _, *memories) in COPIES.items():
            limit = memories[2] if memories[2:] and not machine["host-cached"] else size
            if direction and (machine["has-window"] or WINDOW not in memories) and size <= limit:
                case.variants.append(Variant(name, label, how=f"copy:{name}"))
        yield case


# --- pipelines

SINK = " ! fakesink sync=false enable-last-sample=false"
CUDA_CAPS = " ! video/x-raw(memory:CUDAMemory)"
TO_RGBA = " ! video/x-raw(memory:VkgdrMemory),format=RGBA"
UNTOUCHED = "touch=nothing"


def ours(label="vkgdrupload", tail="", name="vkgdrupload"):
    return Variant(name, label, " ! vkgdrupload" + tail)


def theirs(label="cudaupload", tail="", name="cudaupload", how="rate"):
    """GStreamer's own elements after its upload."""
    return Variant(name, label, f" ! cudaupload cuda-device-id=DEVICE{CUDA_CAPS}{tail}", how)


def filters(n, label, kernel="copy", name="cudafilter"):
    return ours(label, n * f" ! cudafilter kernel={kernel}", name)


NONE = Variant("none", "no upload")
UPLOADS = [ours(), theirs(), NONE]
SCALED = f" ! cudaconvertscale{CUDA_CAPS},format=RGBA,width=HALF_WIDTH,height=HALF_HEIGHT"
TENSOR = (" ! vkgdrupload ! vkgdrtensor name=timed width=TENSOR_SIZE height=TENSOR_SIZE"
          " type=float16 batch=8 mean=<0.485,0.456,0.406> std=<0.229,0.224,0.225>")
SCALED_TENSOR = (f" ! cudaconvertscale{CUDA_CAPS},format=RGBA,width=TENSOR_SIZE,"
                 "height=TENSOR_SIZE ! cudadownload ! video/x-raw")

# Frames for other processes: as fast as all processes accept them, or slowly,
# with a kernel in each process. IPC_PATH is replaced by the path of the socket.
# The text after CONSUMER is the pipeline of the other processes, or a path: then they
# are clients without GStreamer, in C or in Python.
CONSUMER = " CONSUMER "
IPC_SINK = (" ! vkgdripcsink name=sent socket-path=IPC_PATH sync=false leaky=no max-buffers=8"
            " wait-for-connection=true")
IPC_SRC = CONSUMER + "vkgdripcsrc name=received socket-path=IPC_PATH connection-timeout=30"


def ipc(name, label, tail):
    return Variant(name, label, IPC_SINK + tail, "ipc:rate")


def cuda_ipc(mode):
    return theirs(
        f"cudaupload ! cudaipcsink ! cudaipcsrc, {mode}",
        f" ! cudaipcsink name=sent address=IPC_PATH sync=false ipc-mode={mode}{CONSUMER}"
        f"cudaipcsrc name=received address=IPC_PATH connection-timeout=30{SINK}",
        f"cudaipcsink-{mode}", "ipc:rate")


def ipc_delays(name, title, consumers, source="", client="IPC_PATH"):
    """Both figures of two delays, which one run gives; and those of a client in C."""
    sink = IPC_SINK + " access=direct"
    tail = sink + IPC_SRC + source + f" ! cudafilter name=launched kernel=copy{SINK}"
    variants = [Variant("delay-p50", "launched", tail, "ipc:launched"),
                Variant("received-p50", "received", tail, "ipc:received"),
                Variant("delay-p99", "99 of 100 launched", tail, "ipc:launched-p99"),
                Variant("received-p99", "99 of 100 received", tail, "ipc:received-p99")]
    if client:
        tail = sink + CONSUMER + client
        variants += [Variant("client-p50", "received, client in C", tail, "ipc:received"),
                     Variant("client-p99", "99 of 100, client in C", tail, "ipc:received-p99")]
    return Case("ipc-delay", f"ipc-delay-{name}", f", until {title}", "us/frame", variants,
                source="touch=write,interval=5000", consumers=consumers)


# Each first variant is compared with the others.
IPC_RATES = [ipc("vkgdripcsink", "vkgdripcsink ! vkgdripcsrc", IPC_SRC + SINK),
             ours("in one process", SINK)]
CASES = [
    # the time from the start of a process, which also opens the device, beside
    # the time that the drivers need by themselves
    Case("process", "process", "", "ms", [
        *[dataclasses.replace(variant, how="process") for variant in UPLOADS],
        Variant("vkgdrtensor", "vkgdrtensor, no cache", TENSOR.replace("batch=8", "batch=1"),
                "process"),
        Variant("bare-cuda", "CUDA alone", how="bare:cuda"),
        Variant("bare-vulkan", "Vulkan alone", how="bare:vulkan")]),
    # the same writes in a pipeline, and in loops without a pipeline
    Case("loops", "loops", "", "frames/s", [
        ours(),
        Variant("loop-window", "loop, direct", how="loop:window"),
        Variant("loop-staged", "loop, staged", how="loop:pinned"),
        Variant("loop-ram", "loop in RAM", how="loop:ram")], "each"),
    Case("frames", "pool", ", into the pool it is offered", "frames/s", UPLOADS, "each"),
    Case("frames", "own", ", into its own pool", "frames/s", UPLOADS, "each",
         "touch=write,own-pool=1"),
    Case("frames", "readwrite", ", into the pool, and reads back", "frames/s", UPLOADS, "each",
         "touch=readwrite"),
    # access=auto, each fixed access mode, and bare loops in as many threads
    Case("streams", "streams", "", "GB/s", [
        ours(),
        ours("direct", " access=direct", "vkgdrupload-direct"),
        ours("staged", " access=staged", "vkgdrupload-staged"),
        theirs(),
        NONE,
        Variant("loops-direct", "loops, direct", how="loop:window"),
        Variant("loops-staged", "loops, staged", how="loop:pinned"),
        Variant("loops-best-mix", "loops, best mix", how="best-mix"),
        Variant("link-to-device", "DMA limit", how="link:htod-pinned-async")]),
    Case("roundtrip", "roundtrip", ", up and down again", "frames/s", [
        ours("vkgdrupload ! vkgdrdownload", " ! vkgdrdownload ! video/x-raw"),
        theirs("cudaupload ! cudadownload", " ! cudadownload ! video/x-raw")]),
    # the frames are not written, because DMA does not depend on their content
    Case("download", "download", ", vkgdrdownload alone", "GB/s", [
        ours("vkgdrdownload", " ! vkgdrdownload ! video/x-raw", "vkgdrdownload"),
        Variant("link-from-device", "DMA limit", how="link:dtoh-pinned-async")],
         source=UNTOUCHED),
    Case("buffers", "buffers", " from fakesrc", "buffers/s", [
        ours(), Variant("identity", "identity", " ! identity silent=true"), NONE], "buffer", ""),
    Case("overhead", "copy", ", cudafilter kernel=copy", "us/frame", [
        filters(1, "with cudafilter"), ours("without")], "tiny"),
    Case("chain", "chain", ", cudafilter kernel=copy", "us/frame", [
        filters(4, "four in a row", name="four-cudafilters"), filters(1, "one"), ours("none")],
         "tiny"),
    Case("effect", "invert", ", cudafilter kernel=invert", "frames/s", [
        filters(1, "with cudafilter", "invert"), ours("without")], "effect"),
    # the same frame again and again, so that its transfer does not count
    Case("convert", "to-rgba", " to RGBA", "frames/s", [
        ours("cudafilter kernel=convert", f" ! imagefreeze ! cudafilter kernel=convert{TO_RGBA}",
             "cudafilter"),
        theirs("cudaconvert", f" ! imagefreeze ! cudaconvert{CUDA_CAPS},format=RGBA")],
         source="touch=write num-buffers=1"),
    # compared with a copy of as many bytes
    Case("convert-kernel", "to-rgba-kernel", " to RGBA, kernel=convert", "GB/s", [
        Variant("kernel-time", "kernel",
                " ! vkgdrupload ! cudafilter kernel=convert name=timed" + TO_RGBA, "kernel"),
        Variant("device-copy", "copy on the device", how="device-copy")], source=UNTOUCHED),
    # the longest time between two frames, beyond that without a change
    Case("change", "change", ", another pixel=", "ms", [
        Variant("change", "extra gap", " ! vkgdrupload ! cudafilter name=changed pixel=\"\"",
                "change")]),
    # GStreamer's converter after either upload
    Case("cuda", "cuda", " to RGBA of half the size", "frames/s", [
        ours("vkgdrupload ! cudaconvertscale", CUDA_CAPS + SCALED),
        theirs("cudaupload ! cudaconvertscale", SCALED), NONE], "each"),
    # compared with programs that convert on the CPU or with PyTorch
    Case("tensors", "tensors", "", "frames/s", [
        Variant("vkgdrtensor", "vkgdrupload ! vkgdrtensor", TENSOR, "batches"),
        ours(),
        theirs("cudaupload ! cudaconvertscale ! cudadownload", SCALED_TENSOR)], "each"),
    Case("tensor-kernel", "tensor-kernel", "", "us/frame", [
        Variant(f"tensor-{name}", name, f"{TENSOR} filter={name}", "kernel")
        for name in ("bilinear", "nearest", "area")], "each", UNTOUCHED),
    # the result of the slowest process counts
    Case("ipc", "ipc-1", ", to one other process", "frames/s", [
        *IPC_RATES,
        ipc("client-c", "vkgdripcsink ! client in C", CONSUMER + "IPC_PATH"),
        ipc("client-python", "vkgdripcsink ! client in Python", CONSUMER + "python:IPC_PATH"),
        cuda_ipc("legacy"), cuda_ipc("mmap")], consumers=1),
    Case("ipc", "ipc-8", ", to eight other processes", "frames/s", IPC_RATES, consumers=8),
    # from the end of writing to the reception and the launch in other processes
    ipc_delays("1", "a kernel is launched", 1),
    ipc_delays("8", "eight processes have launched one", 8),
    # the streaming thread never sleeps: it polls for longer than the interval
    ipc_delays("busy-1", "a kernel is launched, busy-poll=10000", 1, " busy-poll=10000",
               "busy:IPC_PATH"),
    ipc_delays("busy-8", "eight processes have launched one, busy-poll=10000", 8,
               " busy-poll=10000", ""),
]


class Maker:
    """Makes cases for the options and for what the helper said about the machine."""

    def __init__(self, options, hello):
        self.options = options
        self.scale = QUICK if options.quick else FULL
        self.hello = hello

    def find_obstacle(self, tail):
        """Why the pipeline cannot run on this machine, or an empty text."""
        peers = self.hello["peers"]
        if "cudaupload" in tail and "cudaupload" not in peers:
            return "not installed"
        for name in "cudaconvertscale", "cudaipcsink":
            version = [int(n) for n in peers.get(name, "0").split(".")[:2] if n.isdigit()]
            if name in tail and version < [1, 24]:
                return "skipped: needs GStreamer's plugin nvcodec of 1.24 or later"
        return ""

    def make_pipeline(self, case, tail, frame):
        """All streams that run at the same time."""
        source = f"fakesrc sizetype=fixed sizemax={SMALL}"
        if case.source:
            touch, _, others = case.source.partition(" ")
            source = (f'vkgdrbenchsrc {others and others + " "}params="params,caps=(GstCaps)'
                      f"[video/x-raw,format={frame.format},width={frame.width}"
                      f",height={frame.height},framerate=60/1],{touch},fill={case.fill}"
                      f',area={case.area},buffers={self.options.buffers}"')
        for name, value in (("HALF_WIDTH", frame.width // 2), ("HALF_HEIGHT", frame.height // 2),
                            ("TENSOR_SIZE", self.scale.tensor_size),
                            ("DEVICE", self.hello["device"])):
            tail = tail.replace(name, str(value))
        return " ".join(case.streams * [source + tail + ("" if case.consumers else SINK)])

    def make_case(self, case, frame, streams):
        case = dataclasses.replace(case, id=f"{frame.id}-{case.id}", bytes=frame.size(),
                                   title=frame.title + case.title, streams=streams)
        if case.section == "convert-kernel":  # half of what is read and written
            case.bytes = (case.bytes + 4 * frame.width * frame.height) // 2
        if case.section == "streams":
            case.id += f"-{streams}"
            case.title = f"{streams} stream{'s' if streams > 1 else ''} of {frame.title}"
            # Several streams share the cache, so they copy from areas that are larger.
            case.fill = "uncached"
        case.fill = self.options.fill or case.fill
        case.area = max(self.scale.area // streams, self.scale.stream_area)
        case.variants = [dataclasses.replace(v, samples=[], error=self.find_obstacle(v.tail))
                         for v in case.variants]
        for variant in case.variants:
            if variant.tail or variant.how in ("rate", "process"):
                variant.pipeline = self.make_pipeline(case, variant.tail, frame)
        return case

    def make_all(self, sections):
        """The cases of these sections, in the order of the tables."""
        groups = [[case for case in CASES if case.section == name]
                  for name in SECTIONS if name in sections]
        return [self.make_case(case, frame, streams)
                for group in groups
                for frame in self.scale.frames[group[0].frames]
                for case in group
                for streams in (self.scale.streams if case.section == "streams" else (1,))]


def make_comparison(pipelines):
    """A case of the user's pipelines, without changes to them."""
    return Case("compare", "compare", "pipelines given", "buffers/s",
                [Variant(str(n), str(n), pipeline=text) for n, text in enumerate(pipelines, 1)])
