# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests that colours mean the same as in GStreamer's own converters, for RGB, YUV and gray of
full and limited range. The reference is videoconvert, which shares nothing with this project.
"""

import itertools
import re
from typing import Any, Tuple

from gst_support import DeviceTestCase, Gst, GstVideo, play

import numpy as np
import support

# By how much samples of 8 bits may differ: videoconvert multiplies by weights of 8 bits, in
# each of two steps.
TOLERANCE = 3


def caps_of(format: str, colorimetry: str) -> str:
    """The colorimetry is range (1: full, 2: limited), matrix, transfer and primaries."""
    return (f"video/x-raw,format={format},colorimetry={colorimetry},width=16,height=8,"
            "framerate=1/1")


# videoconvert converts the range only if the matrix changes, too. So in between, the frame is
# YUV of 16 bits with a matrix that no kind has.
REFERENCE = (
    f"videoconvert dither=none ! {caps_of('AYUV64', '1:5:5:1')} ! videoconvert dither=none")
CONVERT = "vkgdrupload ! cudafilter kernel=convert ! vkgdrdownload"
TENSOR = ("vkgdrupload ! vkgdrtensor channels=rgb type=uint8 layout=nhwc width=16 height=8 "
          "! vkgdrdownload")

# Transfer function and primaries are the same in all of them, because no converter is asked to
# convert these.
RGB_16, RGB = caps_of("ARGB64", "1:1:5:1"), caps_of("RGB", "1:1:5:1")
KINDS = (RGB_16, *(caps_of(format, colorimetry) for format, colorimetry in (
    ("RGBA", "1:1:5:1"), ("RGBA", "2:1:5:1"), ("RGB", "2:1:5:1"), ("ARGB64", "2:1:5:1"),
    ("AYUV", "2:3:5:1"), ("AYUV", "1:3:5:1"), ("v308", "2:4:5:1"), ("Y444_10LE", "2:6:5:1"),
    ("Y444_10LE", "1:6:5:1"), ("GRAY8", "1:3:5:1"), ("GRAY8", "2:3:5:1"),
    ("GRAY16_LE", "2:3:5:1"),
)))

HDR = ("bt2100-pq,mastering-display-info=(string)35400:14600:8500:39850:6550:2300:15635:16450:"
       "10000000:50,content-light-level=(string)1000:50")

# BT.709 in standard definition, full range, HDR, and RGB of limited range.
INPUTS = tuple(caps_of(format, colorimetry) for format, colorimetry in (
    ("NV12", "bt709"), ("I420", "1:4:16:4"), ("P010_10LE", HDR), ("P010_10LE", "bt2100-hlg"),
    ("RGBA", "2:1:5:1"), ("RGBA", "sRGB"), ("ARGB64", "1:1:14:7"), ("GRAY8", "2:3:5:1")))
OUTPUTS = ("RGBA", "ARGB64", "NV12", "P010_10LE", "AYUV", "GRAY8")


class Colours(DeviceTestCase):
    def convert(self, elements: str, source: str, target: str, data: bytes) -> bytes:
        return self.run_buffer(
            f"{elements} ! {target}", Gst.Caps.from_string(source), Gst.Buffer.new_wrapped(data))

    def test_convert(self) -> None:
        """Each kind becomes each other kind, and a tensor of bytes, which has the colours of RGB
        of full range. The colours are those of RGB, which YUV exceeds, because converters clamp
        the others at different steps.
        """
        pixels = np.random.default_rng(1).integers(0, 1 << 16, (128, 4), "<u2")
        pixels[:3] = (0, 0, 0, 0), (0, 65535, 65535, 65535), (0, 65535, 0, 0)
        pixels[:, 0] = 65535  # alpha
        for kind in KINDS:
            frame = self.convert(REFERENCE, RGB_16, kind, pixels.tobytes())
            for elements, target in (*((CONVERT, target) for target in KINDS), (TENSOR, RGB)):
                info = GstVideo.VideoInfo.new_from_caps(Gst.Caps.from_string(target))
                depth = info.finfo.depth[0]
                found, wanted = (
                    np.frombuffer(data[: info.size], "u1" if depth == 8 else "<u2").astype(int)
                    for data in (
                        self.convert(
                            elements, kind, "identity" if elements == TENSOR else target, frame),
                        self.convert(REFERENCE, kind, target, frame)))
                with self.subTest(elements=elements, kind=kind, target=target):
                    np.testing.assert_allclose(found, wanted, 0, TOLERANCE << (depth - 8))

    def test_caps(self) -> None:
        """The caps of the output say the same about colours and the display."""
        def said(elements: str, source: str, target: str) -> Tuple[Any, ...]:
            info = GstVideo.VideoInfo.new_from_caps(Gst.Caps.from_string(source))
            (sample,) = play(
                f'appsrc name=src format=time caps="{source}" ! {elements} ! {target} '
                "! appsink name=sink", [Gst.Buffer.new_wrapped(bytes(info.size))], self.context)
            caps = sample.get_caps()
            info = GstVideo.VideoInfo.new_from_caps(caps)
            colorimetry = info.colorimetry  # a part of `info`, which it does not keep
            fields = re.findall(
                "(?:mastering-display-info|content-light-level)=[^,]*", caps.to_string())
            return (colorimetry.range, colorimetry.matrix, colorimetry.transfer,
                    colorimetry.primaries, *sorted(fields))

        for source, format in itertools.product(INPUTS, OUTPUTS):
            target = f"video/x-raw,format={format}"
            with self.subTest(source=source, format=format):
                self.assertEqual(
                    said(CONVERT, source, target), said("videoconvert", source, target))


if __name__ == "__main__":
    support.main()
