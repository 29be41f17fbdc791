# SPDX-License-Identifier: LGPL-2.1-or-later
"""The pipelines in which an element is tried."""

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

from elements import find_encoder, why_excluded  # noqa: E402

FRAMES = 4
# The test source gives any format, so that the element chooses one. The appsrc and the
# decoder give one format.
SIZE = {"video": "video/x-raw,width=64,height=48,framerate=25/1",
        "audio": "audio/x-raw,rate=8000,channels=1"}
CAPS = {"video": "video/x-raw,format=I420,width=64,height=48,framerate=25/1",
        "audio": "audio/x-raw,format=S16LE,rate=8000,channels=1,layout=interleaved"}
RATE = {"video": "video/x-raw,framerate=25/1", "audio": "audio/x-raw,channels=1"}
INTERLEAVED = ",interlace-mode=interleaved"
TEST_SOURCES = {
    "video": f"videotestsrc num-buffers={FRAMES}",
    "audio": f"audiotestsrc num-buffers={FRAMES} samplesperbuffer=400",
}
DECODERS = {
    "video": f"{TEST_SOURCES['video']} ! {CAPS['video']} ! theoraenc ! theoradec",
    "audio": f"{TEST_SOURCES['audio']} ! {CAPS['audio']} ! flacenc ! flacparse ! flacdec",
}
CONVERTERS = {"video": "videoconvert ! videoscale", "audio": "audioconvert ! audioresample"}

# Properties without which an element does not play in these pipelines.
NEEDED = {
    "imagefreeze": "num-buffers=3",
    "ismlmux": "fragment-duration=100",
    "rawvideoparse": "width=64 height=48",
    "rtponviftimestamp": "ntp-offset=0",
    "videoparse": "width=64 height=48",
}

# Properties that change allocation, layout or flow, and interlaced frames. An element with a
# row is tried without them, and then with each text.
PROPERTIES = {
    "alpha": ["alpha=0.5"],
    "compositor": [INTERLEAVED],
    "deinterlace": ["mode=interlaced method=linear", INTERLEAVED],
    "fieldanalysis": [INTERLEAVED],
    "identity": ["drop-allocation=true", "drop-buffer-flags=discont", INTERLEAVED],
    "interlace": ["field-pattern=2:2"],
    "queue": ["max-size-buffers=1"],
    "textoverlay": ["text=straight"],
    "videobox": ["left=4 top=2", "left=-4 right=-3 top=-2"],
    "videoconvert": [INTERLEAVED],
    "videocrop": ["left=4 top=2", "left=3 right=1 bottom=5", INTERLEAVED],
    "videoflip": ["method=clockwise", "method=horizontal-flip"],
    "videorate": ["rate=2", "max-rate=10"],
    "videoscale": [INTERLEAVED],
    "volume": ["volume=0.5"],
}

# What a pipeline is compared with, and what takes the place of `identity`.
PLAIN = "identity"
UP_DOWN = "vkgdrupload ! vkgdrdownload"
FILTER = "vkgdrupload ! cudafilter kernel=copy ! vkgdrdownload"
MIDDLES = {"video": {"up-down": UP_DOWN, "filter": FILTER}, "audio": {"up-down": UP_DOWN}}


def launch_text(element):
    return f"{element.name} {NEEDED.get(element.name, '')}".strip()


def fix(element, caps):
    """A text of fixed caps that the element takes, or None."""
    found = element.sink.intersect(Gst.Caps.from_string(caps))
    return None if found.is_empty() else found.fixate().to_string().replace(", ", ",")


def sources(element, media, more):
    """The sources for an element that takes raw frames or audio: texts by their kind."""
    size, caps = SIZE[media] + more, CAPS[media] + more
    if element.takes(caps):
        return {"test source": f"{TEST_SOURCES[media]} ! {size}",
                "appsrc": f'appsrc name=feed format=time caps="{caps}"',
                **({} if more else {"decoder": DECODERS[media]})}
    if element.takes(size):
        return {"test source": f"{TEST_SOURCES[media]} ! {size}",
                "appsrc": f'appsrc name=feed format=time caps="{fix(element, size)}"'}
    caps = fix(element, RATE[media] + more) or fix(element, f"{media}/x-raw{more}")
    return caps and {"test source": f"{TEST_SOURCES[media]} ! {caps}",
                     "appsrc": f'appsrc name=feed format=time caps="{caps}"'} or {}


def beside(kind, source, element, text, media):
    """The pipelines of an element that takes what the source gives, by name. Around an
    element, the format must be fixed: many take more formats in other memory than in the
    system's.
    """
    middles = MIDDLES[media]
    found = {f"before {key}": f"{source} ! {middle} ! {text}" for key, middle in middles.items()}
    if not element.gives(f"{media}/x-raw"):
        if element.src is not None:
            found["after up-down"] = f"{source} ! {text} ! {UP_DOWN}"
        return found
    found.update({f"after {key}": f"{source} ! {text} ! {middle}"
                  for key, middle in middles.items()})
    if element.takes_any_memory() and kind != "test source":
        found.update({f"around {key}": f"{source} ! {middle.replace('!', f'! {text} !', 1)}"
                      for key, middle in middles.items()})
    return found


def raw_cases(element, media):
    """The pipelines of an element that takes raw frames or audio."""
    for properties in ["", *PROPERTIES.get(element.name, [])]:
        more = properties if properties.startswith(",") else ""
        text = launch_text(element) if more else f"{launch_text(element)} {properties}".strip()
        for kind, source in sources(element, media, more).items():
            yield (f"{media} {kind} {properties.strip(',')}".strip(),
                   f"{source} ! {PLAIN} ! {text}", beside(kind, source, element, text, media))


def bytes_cases(element, media, encoder):
    """The pipelines of an element that takes what an encoder gives."""
    start = f"{TEST_SOURCES[media]} ! {CAPS[media]} ! {CONVERTERS[media]} ! {encoder}"
    text = launch_text(element)
    ways = {"before up-down": f"{start} ! {UP_DOWN} ! {text}"}
    if element.src is not None:
        middles = MIDDLES[media] if element.gives(f"{media}/x-raw") else {"up-down": UP_DOWN}
        ways.update({f"after {key}": f"{start} ! {text} ! {middle}"
                     for key, middle in middles.items()})
    yield f"{media} bytes", f"{start} ! {PLAIN} ! {text}", ways


def source_cases(element, media):
    start = f"{element.name} num-buffers={FRAMES}"
    yield (f"{media} source", f"{start} ! {PLAIN}",
           {f"after {key}": f"{start} ! {middle}" for key, middle in MIDDLES[media].items()})


def cases(element):
    """The pipelines of an element: (name, the one with identity, the others by name)."""
    found = []
    for media in "video", "audio":
        raw = f"{media}/x-raw"
        if element.takes(raw):
            found += raw_cases(element, media)
            continue
        encoder = find_encoder(element, raw)
        if encoder:
            found += bytes_cases(element, media, encoder)
        elif element.sink is None and element.gives(raw):
            found += source_cases(element, media)
    return found


def why_not(element):
    """The reason why an element is not tried, or None."""
    reason = why_excluded(element)
    if reason or cases(element):
        return reason
    return "takes neither raw frames or audio, nor what an encoder or payloader gives"
