# SPDX-License-Identifier: LGPL-2.1-or-later
"""What differs from the pipeline with identity for a reason. Contains only data."""

from typing import NamedTuple


class Row(NamedTuple):
    """elements: their names, with a space between
    where: a part of "CASE, WAY", as registry.py prints it
    versions: of GStreamer; without any, all
    """

    elements: str
    where: str
    reason: str
    versions: str = ""

    def has(self, element, version):
        return (element in self.elements.split()
                and (not self.versions or version in self.versions.split()))


DIFFERENCES = [
    Row("aesenc", "around filter",
        "It encrypts the frames into system memory, and its caps still say GPU memory."),
    Row("cc708overlay ttmlrender", "around",
        "It draws into system memory alone. In other memory it needs a next element "
        "that offers GstVideoOverlayCompositionMeta in the answer to the allocation "
        "query. appsink and fakesink do not, so the caps are refused."),
    Row("assrender dvbsuboverlay", "around",
        "It draws into system memory alone, as cc708overlay, or attaches its picture as a "
        "GstVideoOverlayCompositionMeta, which the caps say."),
    Row("debugqroverlay", "around",
        "It attaches its picture as a GstVideoOverlayCompositionMeta in memory that is not the "
        "system's.", "1.22"),
    Row("textoverlay timeoverlay qroverlay overlaycomposition", "around",
        "In memory that is not the system's it attaches its text or picture as a "
        "GstVideoOverlayCompositionMeta, which the caps say, and does not draw it."),
    Row("objectdetectionoverlay segmentationoverlay", "video appsrc, before",
        "It refuses the frames of an appsrc, and takes those of vkgdrdownload.", "1.26 1.28"),
    Row("avdec_amv", "after",
        "It writes frames upside down if it decodes into the memory of the next element, as "
        "behind vkgdrupload. With direct-rendering=false they are right.", "1.26 1.28"),
    Row("avdec_msrle avdec_smc avdec_zmbv avenc_msrle avenc_smc avenc_zmbv", "filter",
        "Its frames have the format RGB8P, whose pixels are numbers of colours. No kernel can be "
        "run on this format."),
    Row("deinterlace", "mode=interlaced method=linear, around",
        "It takes memory that is not the system's only if it passes the frames on."),
    Row("deinterlace", "appsrc interlace-mode=interleaved, around",
        "It passes frames in memory that is not the system's on without deinterlacing them."),
    Row("videoconvertscale", "around",
        "Its template accepts any memory, its caps only that of the system.", "1.22"),
    Row("uvch264mjpgdemux", "after filter",
        "It gives the JPEG images that it got. The kernel copy works on video only."),
    Row("bz2dec", "before up-down",
        "bz2enc sends no caps, so vkgdrupload calls its bytes application/octet-stream. "
        "bz2dec takes a stream without caps, but not this one."),
    Row("bz2dec", "after filter",
        "It gives bytes without caps. The kernel copy works on video only."),
    Row("x264enc", "after up-down",
        "It gives the stream format byte-stream if the next element answers its caps query with "
        "the same object, as identity does, and else avc, which its caps say."),
    Row("vulkanupload", "before",
        "GStreamer ends the process with an assertion if the frames are not in "
        "the pool of vulkanupload, also behind identity drop-allocation=true.", "1.22"),
]

# Elements whose bytes are not compared, because they may differ from run to run.
OTHER_BYTES = {
    "3gppmux": "writes the time of the day",
    "asteriskh263": "does not write all of its header",
    "combdetect": "reads lines of frames that it did not keep",
    "edgetv": "does not write all of its frames",
    "gaussianblur": "reads beyond the end of its memory",
    "ismlmux": "writes the time of the day",
    "matroskamux": "writes random numbers",
    "mj2mux": "writes the time of the day",
    "mp4mux": "writes the time of the day",
    "qtmux": "writes the time of the day",
    "rtpspeexdepay": "does not write all of its header",
    "smooth": "does not write the last line of its frames",
    "warptv": "does not write all of its frames",
    "webmmux": "writes random numbers",
}
