# SPDX-License-Identifier: LGPL-2.1-or-later
"""The sources of vkgdr-bench that people use: decoders, programs, networks, other processes.

Decoders read files that an encoder has written before the measurement, a frame in each.
The frames are read again and again, so that a stream never ends. Does not depend on what
is behind a source.

In the texts, FILES is the path of these files, SOCKET that of a socket, RAW_CAPS the caps
of a raw frame, and SIZE its width, height and rate.
"""

import typing

N_FILES = 60


class Source(typing.NamedTuple):
    name: str  # for the JSON output
    title: str
    text: str
    material: str = ""
    feeder: str = ""


# A picture that moves, with fine and coarse details.
PICTURE = f"videotestsrc num-buffers={N_FILES} pattern=zone-plate kx2=20 ky2=20 kt=2 ! RAW_CAPS"
SAME = "vkgdrbenchsrc params=\"params,caps=(GstCaps)[RAW_CAPS],touch=write\""
H264 = "video/x-h264,stream-format=byte-stream,alignment=au"
H265 = "video/x-h265,stream-format=byte-stream,alignment=au"
AV1 = "video/x-av1,stream-format=obu-stream,alignment=tu"
ENCODE_H264 = f"x264enc speed-preset=superfast key-int-max=30 ! {H264}"


def files(caps):
    return (f"multifilesrc location=\"FILES/%05d\" start-index=0 stop-index={N_FILES - 1} loop=true"
            f" caps=\"{caps}\"")


def decoder(name, encoder, caps, parser=""):
    """@encoder writes what the decoder @name reads."""
    return Source(name, name, f"{files(caps)}{parser} ! {name}",
                  f"{PICTURE} ! {encoder} ! multifilesink location=\"FILES/%05d\"")


def from_process(name, sink):
    """Frames of another process, which writes them into memory that both have."""
    return Source(name, name, f"{name} socket-path=\"SOCKET\" ! RAW_CAPS",
                  feeder=f"{SAME} ! {sink} socket-path=\"SOCKET\" sync=false")


SOURCES = [
    decoder("avdec_h264", ENCODE_H264, H264, " ! h264parse"),
    decoder("avdec_h265", f"x265enc speed-preset=ultrafast key-int-max=30 ! {H265}", H265,
            " ! h265parse"),
    decoder("openh264dec", f"openh264enc complexity=low gop-size=30 ! {H264}", H264,
            " ! h264parse"),
    decoder("vp8dec", "vp8enc deadline=1 cpu-used=8 threads=8 keyframe-max-dist=30",
            "video/x-vp8,SIZE"),
    decoder("vp9dec", "vp9enc deadline=1 cpu-used=8 threads=8 row-mt=true keyframe-max-dist=30",
            "video/x-vp9,SIZE"),
    decoder("dav1ddec", f"av1enc usage-profile=realtime cpu-used=10 threads=8 ! av1parse ! {AV1}",
            AV1, " ! av1parse"),
    decoder("jpegdec", "jpegenc", "image/jpeg,SIZE"),
    Source("appsrc", "appsrc", "appsrc name=fed format=time caps=\"RAW_CAPS\""),
    Source("multifilesrc", "multifilesrc", files("RAW_CAPS"),
           f"{PICTURE} ! multifilesink location=\"FILES/%05d\""),
    Source("rawvideoparse", "multifilesrc ! rawvideoparse",
           "multifilesrc location=\"FILES/%05d\" start-index=0"
           f" stop-index={N_FILES - 1} loop=true ! rawvideoparse format=i420"
           " width={width} height={height}", f"{PICTURE} ! multifilesink location=\"FILES/%05d\""),
    Source("rtpvrawdepay", "rtpvrawpay ! queue ! rtpvrawdepay",
           f"{SAME} ! rtpvrawpay mtu=9000 ! queue ! rtpvrawdepay"),
    from_process("shmsrc", "shmsink wait-for-connection=true shm-size=268435456"),
    from_process("unixfdsrc", "unixfdsink"),
]
NVDEC = decoder("nvh264dec", ENCODE_H264, H264, " ! h264parse")
