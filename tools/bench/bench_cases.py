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
RGBA = "memory:VkgdrMemory),format=RGBA"
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
    """The size of the work. The first of `frames` is NV12, the last one is RGBA."""

    frames: list
    stream: Frame  # for all sections that need one frame
    streams: tuple
    tensor_size: int  # width and height of a network's input
    area: int  # bytes that all streams copy from, at least
    stream_area: int  # bytes that a single stream copies from, at least
    copies: tuple  # bytes

    def choose(self, frames):
        return {"each": self.frames, "stream": [self.stream], "effect": self.frames[-1:],
                "tiny": [Frame("64x64-rgba", "64x64 RGBA", "RGBA", 64, 64)],
                "buffer": [Frame("4kib", "buffers of 4 KiB")]}[frames]


UHD = Frame("4k-nv12", "4K NV12", "NV12", 3840, 2160)
FULL = Scale([Frame("1080p-nv12", "1080p NV12", "NV12", 1920, 1080), UHD,
              Frame("4k-rgba", "4K RGBA", "RGBA", 3840, 2160)], UHD, (1, 2, 4, 8, 16), 640,
             512 << 20, 64 << 20, tuple(64 << 2 * i for i in range(11)))
NV12 = Frame("360p-nv12", "360p NV12", "NV12", 640, 360)
QUICK = Scale([NV12, Frame("180p-rgba", "180p RGBA", "RGBA", 320, 180)], NV12, (1, 2), 64,
              4 << 20, 1 << 20, (64, 4 << 10, 256 << 10))


class Part(typing.NamedTuple):
    """A variant of a kind. `tail` is the pipeline after the source, if there is one."""

    id: str
    label: str
    tail: typing.Optional[str] = None
    how: str = "rate"  # see bench_measure.py
    after_cudaupload: bool = False
    is_single: bool = False  # is not compared with the first part
    needs: str = ""  # an element of GStreamer 1.24 or later


class Kind(typing.NamedTuple):
    """The id and the title of a case are those of its frame, followed by these."""

    section: str
    id: str
    title: str
    unit: str
    frames: str
    source: str  # how it gets a buffer and accesses it; empty: fakesrc
    parts: list
    consumers: int = 0  # other processes; then the tails have sinks
    many_streams: bool = False


POOL = "touch=write"
OWN = "touch=write,own-pool=1"
READ_BACK = "touch=readwrite"
UNTOUCHED = "touch=nothing"

VKGDR = Part("vkgdrupload", "vkgdrupload", " ! vkgdrupload")
CUDA = Part("cudaupload", "cudaupload", "", after_cudaupload=True)
NONE = Part("none", "no upload", "")
UPLOADS = [VKGDR, CUDA, NONE]
DEVICE_COPY = Part("device-copy", "copy on the device", how="device-copy")


def cuda(label, tail, needs=""):
    """GStreamer's own elements after its upload."""
    return CUDA._replace(label=label, tail=tail, needs=needs)


def filters(n, kernel="copy"):
    return " ! vkgdrupload" + n * f" ! cudafilter kernel={kernel}"


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


def ipc(case, label, tail):
    return Part(case, label, IPC_SINK + tail, "ipc:rate")


def cuda_ipc(mode):
    tail = (f" ! cudaipcsink name=sent address=IPC_PATH sync=false ipc-mode={mode}{CONSUMER}"
            f"cudaipcsrc name=received address=IPC_PATH connection-timeout=30{SINK}")
    return Part(f"cudaipcsink-{mode}", f"cudaupload ! cudaipcsink ! cudaipcsrc, {mode}", tail,
                "ipc:rate", after_cudaupload=True, needs="cudaipcsink")


def ipc_delays(case, title, consumers, source="", client="IPC_PATH"):
    """Both figures of two delays, which one run gives; and those of a client in C."""
    sink = IPC_SINK + " access=direct"
    runs = [(sink + IPC_SRC + source + f" ! cudafilter name=launched kernel=copy{SINK}",
             ("delay", "launched", "99 of 100 launched", "launched"),
             ("received", "received", "99 of 100 received", "received"))]
    if client:
        runs.append((sink + CONSUMER + client, ("client", "received, client in C",
                                                "99 of 100, client in C", "received")))
    parts = []
    for tail, *figures in runs:
        parts += [Part(f"{name}-p50", label, tail, f"ipc:{of}") for name, label, _, of in figures]
        parts += [Part(f"{name}-p99", label, tail, f"ipc:{of}-p99", is_single=True)
                  for name, _, label, of in figures]
    return Kind("ipc-delay", f"ipc-delay-{case}", title, "us/frame", "stream",
                POOL + ",interval=5000", parts, consumers)


# The first part is compared with the others, but not with another percentile of
# the same delays: their difference has no meaning.
IPC_RATES = [ipc("vkgdripcsink", "vkgdripcsink ! vkgdripcsrc", IPC_SRC + SINK),
             VKGDR._replace(label="in one process", tail=" ! vkgdrupload" + SINK)]
KINDS = [
    # the time from the start of a process, which also opens the device, beside
    # the time that the drivers need by themselves
    Kind("process", "process", "", "ms", "stream", POOL, [
        *[part._replace(how="process") for part in UPLOADS],
        Part("vkgdrtensor", "vkgdrtensor, no cache", TENSOR.replace("batch=8", "batch=1"),
             "process"),
        Part("bare-cuda", "CUDA alone", how="bare"),
        Part("bare-vulkan", "Vulkan alone", how="bare")]),
    # the same writes in a pipeline, and in loops without a pipeline
    Kind("loops", "loops", "", "frames/s", "each", POOL, [
        VKGDR,
        Part("loop-window", "loop, direct", how="loop"),
        Part("loop-staged", "loop, staged", how="loop"),
        Part("loop-ram", "loop in RAM", how="loop")]),
    Kind("frames", "pool", ", into the pool it is offered", "frames/s", "each", POOL, UPLOADS),
    Kind("frames", "own", ", into its own pool", "frames/s", "each", OWN, UPLOADS),
    Kind("frames", "readwrite", ", into the pool, and reads back", "frames/s", "each", READ_BACK,
         UPLOADS),
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
        Part("link-to-device", "DMA limit", how="link")], many_streams=True),
    Kind("roundtrip", "roundtrip", ", up and down again", "frames/s", "stream", POOL, [
        VKGDR._replace(label="vkgdrupload ! vkgdrdownload",
                       tail=" ! vkgdrupload ! vkgdrdownload ! video/x-raw"),
        cuda("cudaupload ! cudadownload", " ! cudadownload ! video/x-raw")]),
    # the frames are not written, because DMA does not depend on their content
    Kind("download", "download", ", vkgdrdownload alone", "GB/s", "stream", UNTOUCHED, [
        Part("vkgdrdownload", "vkgdrdownload", " ! vkgdrupload ! vkgdrdownload ! video/x-raw"),
        Part("link-from-device", "DMA limit", how="link")]),
    Kind("buffers", "buffers", " from fakesrc", "buffers/s", "buffer", "", [
        VKGDR, Part("identity", "identity", " ! identity silent=true"), NONE]),
    Kind("overhead", "copy", ", cudafilter kernel=copy", "us/frame", "tiny", POOL, [
        Part("cudafilter", "with cudafilter", filters(1)), VKGDR._replace(label="without")]),
    Kind("chain", "chain", ", cudafilter kernel=copy", "us/frame", "tiny", POOL, [
        Part("four-cudafilters", "four in a row", filters(4)),
        Part("cudafilter", "one", filters(1)),
        VKGDR._replace(label="none")]),
    Kind("effect", "invert", ", cudafilter kernel=invert", "frames/s", "effect", POOL, [
        Part("cudafilter", "with cudafilter", filters(1, "invert")),
        VKGDR._replace(label="without")]),
    # the same frame again and again, so that its transfer does not count
    Kind("convert", "to-rgba", " to RGBA", "frames/s", "stream", POOL + " num-buffers=1", [
        Part("cudafilter", "cudafilter kernel=convert", " ! vkgdrupload ! imagefreeze"
             f" ! cudafilter kernel=convert ! video/x-raw({RGBA}"),
        cuda("cudaconvert", f" ! imagefreeze ! cudaconvert{CUDA_CAPS},format=RGBA")]),
    # compared with a copy of as many bytes
    Kind("convert-kernel", "to-rgba-kernel", " to RGBA, kernel=convert", "GB/s", "stream",
         UNTOUCHED, [Part("kernel-time", "kernel", filters(1, "convert name=timed")
                          + f" ! video/x-raw({RGBA}", "kernel"), DEVICE_COPY]),
    # the longest time between two frames, beyond that without a change
    Kind("change", "change", ", another pixel=", "ms", "stream", POOL, [
        Part("change", "extra gap", " ! vkgdrupload ! cudafilter name=changed pixel=\"\"",
             "change")]),
    # GStreamer's converter after either upload
    Kind("cuda", "cuda", " to RGBA of half the size", "frames/s", "each", POOL, [
        VKGDR._replace(label="vkgdrupload ! cudaconvertscale", needs="cudaconvertscale",
                       tail=" ! vkgdrupload" + CUDA_CAPS + SCALED),
        cuda("cudaupload ! cudaconvertscale", SCALED, "cudaconvertscale"),
        NONE._replace(needs="cudaconvertscale")]),
    # compared with programs that convert on the CPU or with PyTorch
    Kind("tensors", "tensors", "", "frames/s", "each", POOL, [
        Part("vkgdrtensor", "vkgdrupload ! vkgdrtensor", TENSOR, "batches"),
        VKGDR,
        cuda("cudaupload ! cudaconvertscale ! cudadownload", SCALED_TENSOR)]),
    Kind("tensor-kernel", "tensor-kernel", "", "us/frame", "each", UNTOUCHED, [
        Part(f"tensor-{name}", name, f"{TENSOR} filter={name}", "kernel")
        for name in ("bilinear", "nearest", "area")]),
    # the result of the slowest process counts
    Kind("ipc", "ipc-1", ", to one other process", "frames/s", "stream", POOL, [
        *IPC_RATES,
        ipc("client-c", "vkgdripcsink ! client in C", CONSUMER + "IPC_PATH"),
        ipc("client-python", "vkgdripcsink ! client in Python", CONSUMER + "python:IPC_PATH"),
        cuda_ipc("legacy"), cuda_ipc("mmap")], 1),
    Kind("ipc", "ipc-8", ", to eight other processes", "frames/s", "stream", POOL, IPC_RATES, 8),
    # from the end of writing to the reception and the launch in other processes
    ipc_delays("1", ", until a kernel is launched", 1),
    ipc_delays("8", ", until eight processes have launched one", 8),
    # the streaming thread never sleeps: it polls for longer than the interval
    ipc_delays("busy-1", ", until a kernel is launched, busy-poll=10000", 1, " busy-poll=10000",
               "busy:IPC_PATH"),
    ipc_delays("busy-8", ", until eight processes have launched one, busy-poll=10000", 8,
               " busy-poll=10000", ""),
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
    bytes: int = 0  # of a frame
    streams: int = 1
    consumers: int = 0
    fill: str = "memset"
    area: int = 0
    variants: list = dataclasses.field(default_factory=list)


class Maker:
    """Makes cases for the options and for what the helper said about the machine."""

    def __init__(self, options, hello):
        self.options = options
        self.scale = QUICK if options.quick else FULL
        self.peers = hello["peers"]
        self.device = hello["device"]

    def find_obstacle(self, part):
        """Why the part cannot run on this machine, or an empty text."""
        if part.after_cudaupload and "cudaupload" not in self.peers:
            return "not installed"
        if part.needs:
            version = self.peers.get(part.needs, "0").split(".")
            if [int(number) for number in version[:2] if number.isdigit()] < [1, 24]:
                return "skipped: needs GStreamer's plugin nvcodec of 1.24 or later"
        return ""

    def make_pipeline(self, kind, tail, frame, case):
        """All streams that run at the same time."""
        source = f"fakesrc sizetype=fixed sizemax={SMALL}"
        if kind.source:
            params, _, others = kind.source.partition(" ")
            others = f"{others} " if others else ""
            source = (f'vkgdrbenchsrc {others}params="params,format={frame.format}'
                      f",width={frame.width},height={frame.height},{params},fill={case.fill}"
                      f',area={case.area},buffers={self.options.buffers}"')
        for name, value in (("HALF_WIDTH", frame.width // 2), ("HALF_HEIGHT", frame.height // 2),
                            ("TENSOR_SIZE", self.scale.tensor_size)):
            tail = tail.replace(name, str(value))
        return " ".join(case.streams * [source + tail + ("" if kind.consumers else SINK)])

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
            variant = Variant(part, part.id, part.label, error=self.find_obstacle(part))
            tail = part.tail
            if part.after_cudaupload:
                tail = f" ! cudaupload cuda-device-id={self.device}{CUDA_CAPS}{tail}"
            if tail is not None:
                variant.pipeline = self.make_pipeline(kind, tail, frame, case)
            case.variants.append(variant)
        return case

    def make_all(self, sections):
        """The cases of these sections, in the order of the tables."""
        groups = [[kind for kind in KINDS if kind.section == name]
                  for name in SECTIONS if name in sections]
        return [self.make_case(kind, frame, streams)
                for kinds in groups
                for frame in self.scale.choose(kinds[0].frames)
                for kind in kinds
                for streams in (self.scale.streams if kind.many_streams else (1,))]


def make_comparison(pipelines):
    """A case of the user's pipelines, without changes to them."""
    case = Case("compare", "compare", "pipelines given", "buffers/s")
    case.variants = [Variant(Part(str(n), str(n)), str(n), str(n), pipeline)
                     for n, pipeline in enumerate(pipelines, 1)]
    return case
