# SPDX-License-Identifier: LGPL-2.1-or-later
"""The table of upstream elements: pipelines that end with vkgdrupload.

Contains only data. docs/upstreams.md says how the frames of each element reach the GPU,
and why.
"""

from typing import Dict, NamedTuple, Optional

FRAMES = 12
WIDTH, HEIGHT = 640, 360  # an I420 frame of this size is sent by DMA


class Case(NamedTuple):
    """An element.

    launch: the pipeline in front of vkgdrupload, for gst-launch. Names in braces are
        INPUTS, or `port`, `socket` and `fd`: a free port, the path of a new socket, and
        the input yuv as a file descriptor. If it has an appsrc `feed`, the test pushes
        frames
    sender: a pipeline that sends at the same time
    stream: whether the sizes of buffers may differ between two runs, so that only
        the bytes are compared
    """

    launch: str
    sender: Optional[str] = None
    stream: bool = False


def raw(format: str = "I420", frames: int = FRAMES, width: int = WIDTH,
        height: int = HEIGHT, pattern: str = "ball") -> str:
    """Describes a source of raw frames that are the same each time."""
    return (
        f"videotestsrc num-buffers={frames} pattern={pattern} "
        f"! video/x-raw,format={format},width={width},height={height},framerate=30/1"
    )


# wave=ticks leaves some bytes as they were in memory (GStreamer 1.22).
AUDIO = (
    "audiotestsrc num-buffers=40 samplesperbuffer=4096 wave=sine "
    "! audio/x-raw,format=S16LE,rate=48000,channels=2"
)

# Encoded and raw inputs. Each is a file, or several files, that a pipeline makes in a
# folder for the run. {path} is the name that the cases use.
FILE = " ! filesink location={path}"
H264 = " ! h264parse ! video/x-h264,stream-format=byte-stream" + FILE
INPUTS: Dict[str, str] = {
    "h264": raw() + " ! x264enc speed-preset=ultrafast" + H264,
    "baseline": raw() + " ! x264enc speed-preset=ultrafast "
    "! video/x-h264,profile=constrained-baseline" + H264,
    "h265": raw() + " ! x265enc speed-preset=ultrafast ! h265parse "
    "! video/x-h265,stream-format=byte-stream" + FILE,
    "vp8": raw() + " ! vp8enc deadline=1 cpu-used=8 ! matroskamux" + FILE,
    "vp9": raw() + " ! vp9enc deadline=1 cpu-used=8 ! matroskamux" + FILE,
    "av1": raw(frames=4) + " ! av1enc usage-profile=realtime cpu-used=8 "
    "! av1parse ! matroskamux" + FILE,
    "theora": raw() + " ! theoraenc speed-level=3 ! oggmux" + FILE,
    "jpeg": raw() + " ! jpegenc ! matroskamux" + FILE,
    "png": raw("RGB", 4) + " ! pngenc compression-level=1 ! multifilesink location={path}-%d",
    "yuv": raw() + FILE,
    "frames": raw(frames=6) + " ! multifilesink location={path}-%d",
    "opus": AUDIO + " ! opusenc ! oggmux" + FILE,
    "vorbis": AUDIO + " ! audioconvert ! vorbisenc ! oggmux" + FILE,
}

VIDEO_CAPS = f"video/x-raw,format=I420,width={WIDTH},height={HEIGHT},framerate=30/1"
# A frame fits into the buffer of the socket.
RTP = (
    "udpsrc address=127.0.0.1 port={port} caps=\"application/x-rtp,media=video,"
    "clock-rate=90000,encoding-name=RAW,sampling=YCbCr-4:2:2,depth=(string)8,"
    "width=(string)160,height=(string)120,colorimetry=(string)BT601-5\""
)

PARTS: Dict[str, Dict[str, Case]] = {
    "decoders": {
        "avdec_h264": Case("filesrc location={h264} ! h264parse ! avdec_h264"),
        "avdec_h265": Case("filesrc location={h265} ! h265parse ! avdec_h265"),
        "openh264dec": Case("filesrc location={baseline} ! h264parse ! openh264dec"),
        "vp8dec": Case("filesrc location={vp8} ! matroskademux ! vp8dec"),
        "vp9dec": Case("filesrc location={vp9} ! matroskademux ! vp9dec"),
        "av1dec": Case("filesrc location={av1} ! matroskademux ! av1parse ! av1dec"),
        "dav1ddec": Case("filesrc location={av1} ! matroskademux ! av1parse ! dav1ddec"),
        "theoradec": Case("filesrc location={theora} ! oggdemux ! theoradec"),
        "jpegdec": Case("filesrc location={jpeg} ! matroskademux ! jpegdec"),
        "pngdec": Case("multifilesrc location={png}-%d caps=image/png,framerate=30/1 ! pngdec"),
    },
    "filters": {
        "videoconvert": Case(raw() + " ! videoconvert ! video/x-raw,format=RGBA"),
        "videoscale": Case(raw() + " ! videoscale ! video/x-raw,width=800,height=450"),
        "videobox": Case(raw() + " ! videobox left=-16 right=-16 top=-8 bottom=-8"),
        "videocrop": Case(raw(width=800, height=450)
                          + " ! videocrop left=16 right=32 top=10 bottom=20"),
        "deinterlace": Case(raw() + " ! deinterlace mode=interlaced method=linear"),
        "textoverlay": Case(raw() + " ! textoverlay text=straight"),
        "gamma": Case(raw() + " ! gamma gamma=2"),
        "compositor": Case(raw() + " ! mix.sink_0 " + raw(width=320, height=180, pattern="smpte")
                           + " ! mix.sink_1 compositor name=mix"),
        "alpha": Case(raw("AYUV") + " ! alpha alpha=0.5"),
        "videoflip": Case(raw() + " ! videoflip method=clockwise"),
        "videorate": Case(raw() + " ! videorate ! video/x-raw,framerate=60/1"),
        "imagefreeze": Case(raw(frames=1) + f" ! imagefreeze num-buffers={FRAMES}"),
    },
    "sources": {
        "videotestsrc": Case(raw()),
        "appsrc": Case(f"appsrc name=feed format=time caps={VIDEO_CAPS}"),
        "rawvideoparse": Case("filesrc location={yuv} ! rawvideoparse format=i420 "
                              f"width={WIDTH} height={HEIGHT} framerate=30/1"),
        "multifilesrc": Case(f"multifilesrc location={{frames}}-%d caps={VIDEO_CAPS}"),
        "rtpvrawdepay": Case(
            RTP + " ! rtpvrawdepay",
            raw("UYVY", FRAMES + 1, 160, 120)
            + " ! rtpvrawpay ! udpsink host=127.0.0.1 port={port} sync=true"),
        "shmsrc": Case(
            f"shmsrc socket-path={{socket}} is-live=true ! {VIDEO_CAPS}",
            raw(frames=FRAMES + 4) + " ! shmsink wait-for-connection=true sync=false "
            "shm-size=20000000 socket-path={socket}"),
        "unixfdsrc": Case(
            "unixfdsrc socket-path={socket}",
            raw(frames=FRAMES + 4)
            + " ! unixfdsink wait-for-connection=true sync=true socket-path={socket}"),
    },
    "streams": {
        "audioconvert": Case(AUDIO + " ! audioconvert ! audio/x-raw,format=F32LE"),
        "audioresample": Case(AUDIO + " ! audioresample ! audio/x-raw,rate=32000"),
        "opusdec": Case("filesrc location={opus} ! oggdemux ! opusdec"),
        "vorbisdec": Case("filesrc location={vorbis} ! oggdemux ! vorbisdec"),
        "filesrc": Case("filesrc location={yuv} blocksize=65536"),
        "fdsrc": Case("fdsrc fd={fd} blocksize=65536"),
        "tcpserversrc": Case(
            "tcpserversrc host=127.0.0.1 port={port}",
            "filesrc location={yuv} ! tcpclientsink host=127.0.0.1 port={port}", stream=True),
    },
}
