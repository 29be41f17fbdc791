# SPDX-License-Identifier: LGPL-2.1-or-later
"""The table of upstream elements: pipelines that end with vkgdrupload, and why some
elements do not write their frames directly into GPU memory.

Contains only data. Must not depend on how a pipeline is run, or on what is done
with the results.
"""

from typing import Dict, NamedTuple, Optional, Tuple

FRAMES = 12
WIDTH, HEIGHT = 640, 360  # an I420 frame of this size is sent by DMA


class Case(NamedTuple):
    """One line of the table.

    element: the element of this line
    group: the heading of its section
    launch: the pipeline in front of vkgdrupload, for gst-launch. Names in braces
        are inputs (INPUTS) and values of a feed (`feed`)
    reason: why its frames are not written directly into GPU memory; None if
        they are
    needs: other elements, without which the case is skipped
    feed: the name of a feed in feeds.py, which runs at the same time
    stream: whether the sizes of buffers may differ between two runs, so that only
        the bytes are compared
    """

    element: str
    group: str
    launch: str
    reason: Optional[str] = None
    needs: Tuple[str, ...] = ()
    feed: Optional[str] = None
    stream: bool = False


def raw(format: str = "I420", frames: int = FRAMES, width: int = WIDTH,
        height: int = HEIGHT, more: str = "", pattern: str = "ball") -> str:
    """Describes a source of raw frames that are the same each time."""
    return (
        f"videotestsrc num-buffers={frames} pattern={pattern} "
        f"! video/x-raw,format={format},width={width},height={height},"
        f"framerate=30/1{more}"
    )


# wave=ticks leaves some bytes as they were in memory (GStreamer 1.22).
AUDIO = (
    "audiotestsrc num-buffers=40 samplesperbuffer=4096 wave=sine "
    "! audio/x-raw,format=S16LE,rate=48000,channels=2"
)

# Encoded and raw inputs. Each is a file, or several files, that a pipeline makes in a
# folder for the run. {path} is the name that the cases use.
INPUTS: Dict[str, str] = {
    "h264": raw() + " ! x264enc speed-preset=ultrafast ! h264parse "
    "! video/x-h264,stream-format=byte-stream ! filesink location={path}",
    "baseline": raw() + " ! x264enc speed-preset=ultrafast "
    "! video/x-h264,profile=constrained-baseline ! h264parse "
    "! video/x-h264,stream-format=byte-stream ! filesink location={path}",
    "h265": raw() + " ! x265enc speed-preset=ultrafast ! h265parse "
    "! video/x-h265,stream-format=byte-stream ! filesink location={path}",
    "vp8": raw() + " ! vp8enc deadline=1 cpu-used=8 ! matroskamux "
    "! filesink location={path}",
    "vp9": raw() + " ! vp9enc deadline=1 cpu-used=8 ! matroskamux "
    "! filesink location={path}",
    "av1": raw(frames=4) + " ! av1enc usage-profile=realtime cpu-used=8 "
    "! av1parse ! matroskamux ! filesink location={path}",
    "theora": raw() + " ! theoraenc speed-level=3 ! oggmux "
    "! filesink location={path}",
    "jpeg": raw() + " ! jpegenc ! matroskamux ! filesink location={path}",
    "png": raw("RGB", 4) + " ! pngenc compression-level=1 "
    "! multifilesink location={path}-%d",
    "yuv": raw() + " ! filesink location={path}",
    "frames": raw(frames=6) + " ! multifilesink location={path}-%d",
    "opus": AUDIO + " ! opusenc ! oggmux ! filesink location={path}",
    "vorbis": AUDIO + " ! audioconvert ! vorbisenc ! oggmux "
    "! filesink location={path}",
}

# --- reasons, each for several elements --------------------------------------

READS_BACK = (
    "It reads decoded frames again to predict other frames. So it maps them for "
    "reading and writing, and the CPU must not read GPU memory."
)
READ_WRITE = (
    "It maps its frames for reading and writing, and the CPU must not read GPU "
    "memory."
)
IN_PLACE = (
    "It changes the frames of the element before it in place. So it maps them for "
    "reading and writing, and the CPU must not read GPU memory."
)
OWN_POOL = (
    "It always uses frames in its own memory. Memory that it uses again is pinned, "
    "and then sent by DMA."
)
SAME_AGAIN = (
    "It pushes the same buffer again and again. The element before it has "
    "allocated this buffer."
)
OWN_MEMORY = "It always allocates its own buffers."
PROGRAM = (
    "The program allocates the buffers that it pushes. It can ask for the pool "
    "of `vkgdrupload` with an allocation query."
)
CUT = "Its frames are parts of larger buffers that it has collected."
SHARED = "Its frames are in memory that another process has written."
REMAINDER = "It allocates the last buffer, which has the rest of the data, itself."

_VIDEO_CAPS = f"video/x-raw,format=I420,width={WIDTH},height={HEIGHT},framerate=30/1"

DECODERS = (
    Case("avdec_h264", "Decoders", "filesrc location={h264} ! h264parse ! avdec_h264",
         reason=READS_BACK),
    Case("avdec_h265", "Decoders", "filesrc location={h265} ! h265parse ! avdec_h265",
         needs=("x265enc",), reason=READS_BACK),
    Case("openh264dec", "Decoders", "filesrc location={baseline} ! h264parse ! openh264dec"),
    Case("vp8dec", "Decoders", "filesrc location={vp8} ! matroskademux ! vp8dec"),
    Case("vp9dec", "Decoders", "filesrc location={vp9} ! matroskademux ! vp9dec", reason=OWN_POOL),
    Case("av1dec", "Decoders", "filesrc location={av1} ! matroskademux ! av1parse ! av1dec"),
    Case("dav1ddec", "Decoders", "filesrc location={av1} ! matroskademux ! av1parse ! dav1ddec",
         needs=("av1enc",), reason=OWN_POOL),
    Case("theoradec", "Decoders", "filesrc location={theora} ! oggdemux ! theoradec"),
    Case("jpegdec", "Decoders", "filesrc location={jpeg} ! matroskademux ! jpegdec",
         reason=READ_WRITE),
    Case("pngdec", "Decoders",
         "multifilesrc location={png}-%d caps=image/png,framerate=30/1 ! pngdec"),
)

FILTERS = (
    Case("videoconvert", "Converters and filters",
         raw() + " ! videoconvert ! video/x-raw,format=RGBA"),
    Case("videoscale", "Converters and filters",
         raw() + " ! videoscale ! video/x-raw,width=800,height=450"),
    Case("videobox", "Converters and filters",
         raw() + " ! videobox left=-16 right=-16 top=-8 bottom=-8"),
    Case("videocrop", "Converters and filters", raw(width=800, height=450)
         + " ! videocrop left=16 right=32 top=10 bottom=20"),
    Case("deinterlace", "Converters and filters",
         raw() + " ! deinterlace mode=interlaced method=linear"),
    Case("textoverlay", "Converters and filters", raw() + " ! textoverlay text=straight",
         reason=IN_PLACE),
    Case("gamma", "Converters and filters", raw() + " ! gamma gamma=2", reason=IN_PLACE),
    Case("compositor", "Converters and filters",
         raw() + " ! mix.sink_0 " + raw(width=320, height=180, pattern="smpte")
         + " ! mix.sink_1 compositor name=mix"),
    Case("alpha", "Converters and filters", raw("AYUV") + " ! alpha alpha=0.5"),
    Case("videoflip", "Converters and filters", raw() + " ! videoflip method=clockwise"),
    Case("videorate", "Converters and filters",
         raw() + " ! videorate ! video/x-raw,framerate=60/1"),
    Case("imagefreeze", "Converters and filters",
         raw(frames=1) + f" ! imagefreeze num-buffers={FRAMES}", reason=SAME_AGAIN),
)

SOURCES = (
    Case("videotestsrc", "Sources", raw()),
    Case("appsrc", "Sources", f"appsrc name=feed format=time caps={_VIDEO_CAPS}", feed="appsrc",
         reason=PROGRAM),
    Case("rawvideoparse", "Sources", "filesrc location={yuv} ! rawvideoparse format=i420 "
         f"width={WIDTH} height={HEIGHT} framerate=30/1", reason=CUT),
    Case("multifilesrc", "Sources", f"multifilesrc location={{frames}}-%d caps={_VIDEO_CAPS}",
         reason=OWN_MEMORY),
    Case("rtpvrawdepay", "Sources",
         "udpsrc address=127.0.0.1 port={port} caps=\"{caps}\" ! rtpvrawdepay",
         needs=("udpsrc", "udpsink", "rtpvrawpay"), feed="udp"),
    Case("shmsrc", "Sources", f"shmsrc socket-path={{socket}} is-live=true ! {_VIDEO_CAPS}",
         needs=("shmsink",), feed="shm", reason=SHARED),
    Case("unixfdsrc", "Sources", "unixfdsrc socket-path={socket}",
         needs=("unixfdsink",), feed="unixfd", reason=SHARED),
)

STREAMS = (
    Case("audioconvert", "Audio", AUDIO + " ! audioconvert ! audio/x-raw,format=F32LE"),
    Case("audioresample", "Audio", AUDIO + " ! audioresample ! audio/x-raw,rate=32000",
         reason=REMAINDER),
    Case("opusdec", "Audio", "filesrc location={opus} ! oggdemux ! opusdec"),
    Case("vorbisdec", "Audio", "filesrc location={vorbis} ! oggdemux ! vorbisdec"),
    Case("filesrc", "Bytes", "filesrc location={yuv} blocksize=65536"),
    Case("fdsrc", "Bytes", "fdsrc fd={fd} blocksize=65536", feed="fd", reason=OWN_MEMORY),
    Case("tcpserversrc", "Bytes", "tcpserversrc name=feed host=127.0.0.1 port=0",
         feed="tcp", stream=True, reason=OWN_MEMORY),
)

PARTS: Dict[str, Tuple[Case, ...]] = {
    "decoders": DECODERS,
    "filters": FILTERS,
    "sources": SOURCES,
    "streams": STREAMS,
}
