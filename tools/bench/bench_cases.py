# SPDX-License-Identifier: LGPL-2.1-or-later
"""What vkgdr-bench measures: pipelines, and what they are compared with.

There is one table of kinds of cases. A case is a kind with one frame format and
one number of streams. Its variants are measured in turn. Does not depend on how
something is measured.
"""

import dataclasses
import typing

SINK = " ! fakesink sync=false enable-last-sample=false"
CUDA_CAPS = " ! video/x-raw(memory:CUDAMemory)"
SMALL = 4096  # bytes of a small buffer


class Frame(typing.NamedTuple):
    id: str
    title: str
    format: str  # empty: bytes without caps
    width: int = 0
    height: int = 0

    def size(self):
        """Bytes of a frame. No row of these formats and widths has padding."""
        pixels = self.width * self.height
        return {"NV12": pixels * 3 // 2, "RGBA": 4 * pixels, "": SMALL}[self.format]


TINY = Frame("64x64-rgba", "64x64 RGBA", "RGBA", 64, 64)
BUFFER = Frame("4kib", "buffers of 4 KiB", "")


class Scale(typing.NamedTuple):
    """The size of the work. Frames are chosen by the names in `Kind.frames`."""

    frames: dict
    streams: tuple
    tensor_size: int  # width and height of a network's input
    area: int  # bytes that all streams copy from, at least
    stream_area: int  # bytes that a single stream copies from, at least
    copies: tuple  # bytes


def make_scale(each, stream, effect, **others):
    frames = {"each": each, "stream": [stream], "effect": [effect], "tiny": [TINY]}
    return Scale({**frames, "buffer": [BUFFER]}, **others)


HD = Frame("1080p-nv12", "1080p NV12", "NV12", 1920, 1080)
UHD = Frame("4k-nv12", "4K NV12", "NV12", 3840, 2160)
UHD_RGBA = Frame("4k-rgba", "4K RGBA", "RGBA", 3840, 2160)
FULL = make_scale([HD, UHD, UHD_RGBA], UHD, UHD_RGBA, streams=(1, 2, 4, 8, 16), tensor_size=640,
                  area=512 << 20, stream_area=64 << 20,
                  copies=tuple(64 << 2 * i for i in range(11)))
SMALL_NV12 = Frame("360p-nv12", "360p NV12", "NV12", 640, 360)
SMALL_RGBA = Frame("180p-rgba", "180p RGBA", "RGBA", 320, 180)
QUICK = make_scale([SMALL_NV12, SMALL_RGBA], SMALL_NV12, SMALL_RGBA, streams=(1, 2),
                   tensor_size=64, area=4 << 20, stream_area=1 << 20,
                   copies=(64, 4 << 10, 256 << 10))


class Part(typing.NamedTuple):
    """A variant of a kind. `tail` is the pipeline after the source."""

    id: str
    label: str
    tail: str = ""
    how: str = "rate"  # see bench_measure.py
    after_cudaupload: bool = False
    batch: int = 1  # frames in a buffer at the sink
    is_single: bool = False  # is not compared with the first part
    needs: str = ""  # an element of GStreamer 1.24 or later


class Kind(typing.NamedTuple):
    """The id and the title of a case are those of its frame, followed by these."""

    section: str
    id: str
    title: str
    unit: str
    frames: str
    source: str
    parts: list
    consumers: int = 0  # other processes
    many_streams: bool = False
    own_sink: bool = False  # the tails have sinks


# How the source gets a buffer, and how it accesses it.
POOL = "pool=downstream touch=write"
OWN = "pool=own touch=write"
READ_BACK = "pool=downstream touch=readwrite"
UNTOUCHED = "pool=downstream touch=nothing"

VKGDR = Part("vkgdrupload", "vkgdrupload", " ! vkgdrupload")
CUDA = Part("cudaupload", "cudaupload", after_cudaupload=True)
NONE = Part("none", "no upload")
UPLOADS = [VKGDR, CUDA, NONE]


def cuda(label, tail, **others):
    """GStreamer's own elements after its upload."""
    return Part("cudaupload", label, tail, after_cudaupload=True, **others)


def kernels(n, kernel="copy"):
    return " ! vkgdrupload" + n * f" ! cudafilter kernel={kernel}"


SCALED = (f" ! cudaconvertscale{CUDA_CAPS}"
          ",format=RGBA,width=HALF_WIDTH,height=HALF_HEIGHT")
# The input of a network.
BATCH = 8
TENSOR = (" ! vkgdrupload ! vkgdrtensor name=timed width=TENSOR_SIZE height=TENSOR_SIZE"
          " type=float16 batch=8 mean=<0.485,0.456,0.406> std=<0.229,0.224,0.225>")
SCALED_TENSOR = (f" ! cudaconvertscale{CUDA_CAPS}"
                 ",format=RGBA,width=TENSOR_SIZE,height=TENSOR_SIZE")


# Frames for other processes: as fast as all processes accept them, or slowly,
# with a kernel in each process. IPC_PATH is replaced by the path of the socket.
# The text after CONSUMER is the pipeline of the other processes, or a path: then they
# are clients without GStreamer, in C or in Python.
CONSUMER = " CONSUMER "
IPC_SINK = (" ! vkgdripcsink name=sent socket-path=IPC_PATH sync=false leaky=no max-buffers=8"
            " wait-for-connection=true")
IPC_SRC = "vkgdripcsrc name=received socket-path=IPC_PATH connection-timeout=30"


def cuda_ipc(mode):
    tail = (f" ! cudaipcsink name=sent address=IPC_PATH sync=false ipc-mode={mode}{CONSUMER}"
            f"cudaipcsrc name=received address=IPC_PATH connection-timeout=30{SINK}")
    return Part(f"cudaipcsink-{mode}", f"cudaupload ! cudaipcsink ! cudaipcsrc, {mode}", tail,
                how="ipc:rate", after_cudaupload=True, needs="cudaipcsink")


IPC_RATES = [
    Part("vkgdripcsink", "vkgdripcsink ! vkgdripcsrc", IPC_SINK + CONSUMER + IPC_SRC + SINK,
         how="ipc:rate"),
    Part("vkgdrupload", "in one process", " ! vkgdrupload" + SINK),
]
IPC_CLIENTS = [
    Part("client-c", "vkgdripcsink ! client in C", IPC_SINK + CONSUMER + "IPC_PATH",
         how="ipc:rate"),
    Part("client-python", "vkgdripcsink ! client in Python",
         IPC_SINK + CONSUMER + "python:IPC_PATH", how="ipc:rate"),
]


def ipc_delays(case, title, consumers, source="", client="IPC_PATH"):
    """Both figures of two delays, which one run gives; and those of a client in C."""
    tail = (f"{IPC_SINK} access=direct{CONSUMER}{IPC_SRC}{source}"
            f" ! cudafilter name=launched kernel=copy{SINK}")
    parts = [
        Part("delay-p50", "launched", tail, how="ipc:launched"),
        Part("received-p50", "received", tail, how="ipc:received"),
        Part("delay-p99", "99 of 100 launched", tail, how="ipc:launched-p99", is_single=True),
        Part("received-p99", "99 of 100 received", tail, how="ipc:received-p99", is_single=True),
    ]
    tail = f"{IPC_SINK} access=direct{CONSUMER}{client}"
    if client:
        parts += [
            Part("client-p50", "received, client in C", tail, how="ipc:received"),
            Part("client-p99", "99 of 100, client in C", tail, how="ipc:received-p99",
                 is_single=True),
        ]
    return Kind("ipc-delay", case, title, "us/frame", "stream", POOL + " interval=5000", parts,
                consumers, own_sink=True)


def frames(case, title, source):
    return Kind("frames", case, title, "frames/s", "each", source, UPLOADS)


# The first part is compared with the others, but not with another percentile of
# the same delays: their difference has no meaning.
KINDS = [
    # the time of a start; the device is already open
    Kind("start", "start", "", "ms", "stream", POOL, [
        Part("cudafilter", "vkgdrupload ! cudafilter ! vkgdrdownload",
             kernels(1) + " ! vkgdrdownload", how="start"),
        VKGDR._replace(how="start"),
        NONE._replace(label="neither", how="start"),
    ]),
    # the time from the start of a process, which also opens the device, beside
    # the time that the drivers need by themselves
    Kind("process", "process", "", "ms", "stream", POOL, [
        *[part._replace(how="process") for part in UPLOADS],
        Part("vkgdrtensor", "vkgdrtensor, no cache", TENSOR.replace("batch=8", "batch=1"),
             how="process"),
        Part("bare-cuda", "CUDA alone", how="bare"),
        Part("bare-vulkan", "Vulkan alone", how="bare"),
    ]),
    # the same writes in a pipeline, and in loops without a pipeline
    Kind("loops", "loops", "", "frames/s", "each", POOL, [
        VKGDR,
        Part("loop-window", "loop, direct", how="loop"),
        Part("loop-staged", "loop, staged", how="loop"),
        Part("loop-ram", "loop in RAM", how="loop"),
    ]),
    frames("pool", ", into the pool it is offered", POOL),
    frames("own", ", into its own pool", OWN),
    frames("readwrite", ", into the pool, and reads back", READ_BACK),
    # access=auto, each fixed access mode, and bare loops in as many threads
    Kind("streams", "streams", "", "GB/s", "stream", POOL, [
        VKGDR,
        Part("vkgdrupload-direct", "direct", " ! vkgdrupload access=direct"),
        Part("vkgdrupload-staged", "staged", " ! vkgdrupload access=staged"),
        CUDA,
        NONE,
        Part("loops-direct", "loops, direct", how="loop"),
        Part("loops-staged", "loops, staged", how="loop"),
        Part("loops-best-mix", "loops, best mix", how="best-mix"),
        Part("link-to-device", "DMA limit", how="link"),
    ], many_streams=True),
    Kind("roundtrip", "roundtrip", ", up and down again", "frames/s", "stream", POOL, [
        Part("vkgdrupload", "vkgdrupload ! vkgdrdownload",
             " ! vkgdrupload ! vkgdrdownload ! video/x-raw"),
        cuda("cudaupload ! cudadownload", " ! cudadownload ! video/x-raw"),
    ]),
    # the frames are not written, because DMA does not depend on their content
    Kind("download", "download", ", vkgdrdownload alone", "GB/s", "stream", UNTOUCHED, [
        Part("vkgdrdownload", "vkgdrdownload", " ! vkgdrupload ! vkgdrdownload ! video/x-raw"),
        Part("link-from-device", "DMA limit", how="link"),
    ]),
    Kind("buffers", "buffers", " from fakesrc", "buffers/s", "buffer", "", [
        VKGDR,
        Part("identity", "identity", " ! identity silent=true"),
        NONE,
    ]),
    Kind("overhead", "copy", ", cudafilter kernel=copy", "us/frame", "tiny", POOL, [
        Part("cudafilter", "with cudafilter", kernels(1)),
        VKGDR._replace(label="without"),
    ]),
    Kind("chain", "chain", ", cudafilter kernel=copy", "us/frame", "tiny", POOL, [
        Part("four-cudafilters", "four in a row", kernels(4)),
        Part("cudafilter", "one", kernels(1)),
        VKGDR._replace(label="none"),
    ]),
    Kind("effect", "invert", ", cudafilter kernel=invert", "frames/s", "effect", POOL, [
        Part("cudafilter", "with cudafilter", kernels(1, "invert")),
        VKGDR._replace(label="without"),
    ]),
    # the part of the device's memory bandwidth that a kernel uses
    Kind("kernel", "invert-kernel", ", kernel=invert", "GB/s", "effect", UNTOUCHED, [
        Part("kernel-time", "kernel", kernels(1, "invert name=timed"), how="kernel"),
        Part("device-copy", "copy on the device", how="device-copy"),
    ]),
    # the same frame again and again, so that its transfer does not count
    Kind("convert", "to-rgba", " to RGBA", "frames/s", "stream", POOL + " num-buffers=1", [
        Part("cudafilter", "cudafilter kernel=convert",
             " ! vkgdrupload ! imagefreeze ! cudafilter kernel=convert"
             " ! video/x-raw(memory:VkgdrMemory),format=RGBA"),
        cuda("cudaconvert", f" ! imagefreeze ! cudaconvert{CUDA_CAPS},format=RGBA"),
    ]),
    # compared with a copy of as many bytes
    Kind("convert-kernel", "to-rgba-kernel", " to RGBA, kernel=convert", "GB/s", "stream",
         UNTOUCHED, [
             Part("kernel-time", "kernel", kernels(1, "convert name=timed")
                  + " ! video/x-raw(memory:VkgdrMemory),format=RGBA", how="kernel"),
             Part("device-copy", "copy on the device", how="device-copy"),
         ]),
    # the longest time between two frames, beyond that without a change
    Kind("change", "change", ", another pixel=", "ms", "stream", POOL, [
        Part("change", "extra gap", " ! vkgdrupload ! cudafilter name=changed pixel=\"\"",
             how="change"),
    ]),
    # GStreamer's converter after either upload
    Kind("cuda", "cuda", " to RGBA of half the size", "frames/s", "each", POOL, [
        Part("vkgdrupload", "vkgdrupload ! cudaconvertscale",
             " ! vkgdrupload" + CUDA_CAPS + SCALED, needs="cudaconvertscale"),
        cuda("cudaupload ! cudaconvertscale", SCALED, needs="cudaconvertscale"),
        NONE._replace(needs="cudaconvertscale"),
    ]),
    # The converter has nothing to convert, and needs no memory.
    Kind("cuda-memory", "cuda-memory", "", "MB", "stream", POOL, [
        Part("memory-vkgdrupload", "vkgdrupload",
             f" ! vkgdrupload{CUDA_CAPS} ! cudaconvertscale", "memory", needs="cudaconvertscale"),
        Part("memory-cudaupload", "cudaupload", " ! cudaconvertscale", "memory",
             after_cudaupload=True, needs="cudaconvertscale"),
    ]),
    # compared with programs that convert on the CPU or with PyTorch
    Kind("tensors", "tensors", "", "frames/s", "each", POOL, [
        Part("vkgdrtensor", "vkgdrupload ! vkgdrtensor", TENSOR, batch=BATCH),
        VKGDR,
        cuda("cudaupload ! cudaconvertscale ! cudadownload",
             SCALED_TENSOR + " ! cudadownload ! video/x-raw"),
    ]),
    Kind("tensor-kernel", "tensor-kernel", "", "us/frame", "each", UNTOUCHED, [
        Part("tensor-bilinear", "bilinear", TENSOR, how="kernel"),
        Part("tensor-nearest", "nearest", TENSOR + " filter=nearest", how="kernel"),
        Part("tensor-area", "area", TENSOR + " filter=area", how="kernel"),
    ]),
    # the result of the slowest process counts
    Kind("ipc", "ipc-1", ", to one other process", "frames/s", "stream", POOL,
         [*IPC_RATES, *IPC_CLIENTS, cuda_ipc("legacy"), cuda_ipc("mmap")], 1, own_sink=True),
    Kind("ipc", "ipc-8", ", to eight other processes", "frames/s", "stream", POOL, IPC_RATES, 8,
         own_sink=True),
    # from the end of writing to the reception and the launch in other processes
    ipc_delays("ipc-delay-1", ", until a kernel is launched", 1),
    ipc_delays("ipc-delay-8", ", until eight processes have launched one", 8),
    # the streaming thread never sleeps: it polls for longer than the interval
    ipc_delays("ipc-delay-busy-1", ", until a kernel is launched, busy-poll=10000", 1,
               " busy-poll=10000", "busy:IPC_PATH"),
    ipc_delays("ipc-delay-busy-8", ", until eight processes have launched one, busy-poll=10000",
               8, " busy-poll=10000", ""),
]
SECTIONS = list(dict.fromkeys(kind.section for kind in KINDS))


@dataclasses.dataclass
class Variant:
    part: Part
    id: str
    label: str
    pipeline: str = ""
    note: str = ""
    error: str = ""
    samples: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Case:
    section: str
    id: str
    title: str
    unit: str
    bytes: int  # of a frame
    streams: int = 1
    consumers: int = 0
    fill: str = "memset"
    area: int = 0
    variants: list = dataclasses.field(default_factory=list)


def find_obstacle(part, peers):
    """Why the part cannot run on this machine, or an empty text."""
    if part.after_cudaupload and "cudaupload" not in peers:
        return "not installed"
    if part.needs:
        version = peers.get(part.needs, "0").split(".")
        if [int(number) for number in version[:2] if number.isdigit()] < [1, 24]:
            return "skipped: needs GStreamer's plugin nvcodec of 1.24 or later"
    return ""


class Maker:
    """Makes cases for the options and for what the helper said about the machine."""

    def __init__(self, options, hello):
        self.options = options
        self.scale = QUICK if options.quick else FULL
        self.peers = hello["peers"]
        self.device = hello["device"]

    def make_source(self, kind, frame, case):
        if not frame.format:
            return f"fakesrc sizetype=fixed sizemax={SMALL}"
        caps = f"video/x-raw,format={frame.format},width={frame.width},height={frame.height}"
        return (f"vkgdrbenchsrc {kind.source} fill={case.fill} area={case.area}"
                f' buffers={self.options.buffers} caps="{caps},framerate=60/1"')

    def make_pipeline(self, kind, part, frame, case):
        """All streams that run at the same time."""
        tail = part.tail
        if part.after_cudaupload:
            tail = f" ! cudaupload cuda-device-id={self.device}{CUDA_CAPS}{tail}"
        tail = tail.replace("HALF_WIDTH", str(frame.width // 2))
        tail = tail.replace("HALF_HEIGHT", str(frame.height // 2))
        tail = tail.replace("TENSOR_SIZE", str(self.scale.tensor_size))
        stream = self.make_source(kind, frame, case) + tail + ("" if kind.own_sink else SINK)
        return " ".join(case.streams * [stream])

    def make_case(self, kind, frame, streams):
        case = Case(kind.section, f"{frame.id}-{kind.id}", frame.title + kind.title, kind.unit,
                    frame.size(), streams, kind.consumers)
        if kind.section == "convert-kernel":  # half of what is read and written
            case.bytes = (case.bytes + 4 * frame.width * frame.height) // 2
        if kind.many_streams:
            case.id += f"-{streams}"
            case.title = f"{streams} stream{'s' if streams > 1 else ''} of {frame.title}"
            # Several streams share the cache, so they copy from areas that are larger.
            case.fill = "uncached"
        case.fill = self.options.fill or case.fill
        case.area = max(self.scale.area // streams, self.scale.stream_area)
        for part in kind.parts:
            variant = Variant(part, part.id, part.label)
            variant.error = find_obstacle(part, self.peers)
            if part.how.split(":")[0] not in ("loop", "best-mix", "link", "device-copy", "bare"):
                variant.pipeline = self.make_pipeline(kind, part, frame, case)
            case.variants.append(variant)
        return case

    def make_all(self, sections):
        """The cases of these sections, in the order of the tables."""
        cases = []
        for section in SECTIONS:
            kinds = [kind for kind in KINDS if kind.section == section and section in sections]
            for frame in self.scale.frames[kinds[0].frames] if kinds else []:
                for kind in kinds:
                    for streams in self.scale.streams if kind.many_streams else (1,):
                        cases.append(self.make_case(kind, frame, streams))
        return cases


def make_comparison(pipelines):
    """A case of the user's pipelines, without changes to them."""
    case = Case("compare", "compare", "pipelines given", "buffers/s", 0)
    for number, pipeline in enumerate(pipelines, 1):
        part = Part(str(number), str(number))
        case.variants.append(Variant(part, part.id, part.label, pipeline))
    return case
