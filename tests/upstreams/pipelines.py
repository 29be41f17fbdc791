# SPDX-License-Identifier: LGPL-2.1-or-later
"""The elements of the registry, and the pipelines in which each one is tried.

An element is found by its pads, not by a list: a new plugin is tried without a change of
this file. The tables name those that need hardware, a network, a display or files.
"""

import functools

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

FRAMES = 4
VIDEO = "video/x-raw,format=I420,width=64,height=48,framerate=25/1"
AUDIO = "audio/x-raw,format=S16LE,rate=8000,channels=1,layout=interleaved"

# The decoder of raw frames or audio. Other caps than these have no decoder in front.
CAPS = {"video": VIDEO, "audio": AUDIO}
DECODERS = {
    "video": f"videotestsrc num-buffers={FRAMES} ! {VIDEO} ! theoraenc ! theoradec",
    "audio": f"audiotestsrc num-buffers={FRAMES} samplesperbuffer=400 ! {AUDIO} "
             "! flacenc ! flacparse ! flacdec",
}
ANY_CAPS = {
    "video": "video/x-raw,width=64,height=48,framerate=25/1",
    "audio": "audio/x-raw,rate=8000,layout=interleaved;audio/x-raw,layout=interleaved",
}
CONVERTERS = {"video": "videoconvert ! videoscale", "audio": "audioconvert ! audioresample"}
TEST_SOURCES = {
    "video": f"videotestsrc num-buffers={FRAMES}",
    "audio": f"audiotestsrc num-buffers={FRAMES} samplesperbuffer=400",
}

# Properties that change allocation, layout or flow. An element with a row is tried without
# them, and then with each text.
PROPERTIES = {
    "alpha": ["alpha=0.5"],
    "deinterlace": ["mode=interlaced method=linear"],
    "identity": ["drop-allocation=true", "drop-buffer-flags=discont"],
    "imagefreeze": ["num-buffers=3"],
    "interlace": ["field-pattern=2:2"],
    "queue": ["max-size-buffers=1"],
    "textoverlay": ["text=straight"],
    "videobox": ["left=4 top=2", "left=-4 right=-3 top=-2"],
    "videocrop": ["left=4 top=2", "left=3 right=1 bottom=5"],
    "videoflip": ["method=clockwise", "method=horizontal-flip"],
    "videorate": ["rate=2", "max-rate=10"],
    "volume": ["volume=0.5"],
}

# What a pipeline is compared with, and what takes the place of `identity`.
PLAIN = "identity"
UP_DOWN = "vkgdrupload ! vkgdrdownload"
FILTER = "vkgdrupload ! cudafilter kernel=copy ! vkgdrdownload"
MIDDLES = {"video": {"up-down": UP_DOWN, "filter": FILTER}, "audio": {"up-down": UP_DOWN}}

# Sources and sinks, by the beginning of their names, that end at something that a test does
# not have. The first match counts.
ENDS_NOT_TRIED = [
    ("v4l2 decklink uvch264 dc1394 dv1394 kms fb dfb openni2 sndio dfbvideo aja",
     "needs hardware"),
    ("alsa pulse jack oss openal pipewire auto bluez a2dp", "needs a sound device or a server"),
    ("gl gtk qml ximage xv wayland aa caca sdl fpsdisplay playsink", "needs a display"),
    ("udp tcp rtmp rtsp srt rist rtp sctp dtls http soup curl hls dash webrtc neon gio daap dyn "
     "multi socket rfb ndi mms unixfd shm ipc inter proxy uri cd wrappercamera viewfinder",
     "needs a network, another process or pipeline, or a disc"),
    ("file fd push image split dataurisrc gdkpixbufsink multifile", "needs files"),
    ("fake app test videocodectest checksum", "is part of the test, or of tests of others"),
]

# Elements that send what they get to a service, by the beginning of their names.
SERVICES = ("aws", "deepgram", "elevenlabs", "speechmatics", "translationbin", "whip", "whep")

# Other elements, by name.
NOT_TRIED = {
    "breakmydata": "changes bytes at random",
    "chopmydata": "cuts buffers at random",
    "rndbuffersize": "cuts buffers at random",
    "watchdog": "ends the pipeline by the clock",
    "clockoverlay": "draws the time",
}




class Element:
    """What the registry says of an element."""

    def __init__(self, factory):
        self.name = factory.get_name()
        self.klass = factory.get_metadata("klass") or ""
        self.sink = self._caps(factory, Gst.PadDirection.SINK)
        self.src = self._caps(factory, Gst.PadDirection.SRC)

    @staticmethod
    def _caps(factory, direction):
        """The caps of all templates; None if there is no such pad."""
        found = None
        for template in factory.get_static_pad_templates():
            if template.direction == direction and template.presence != Gst.PadPresence.SOMETIMES:
                caps = template.get_caps()
                found = found.merge(caps) if found else caps.copy()
        return found

    def takes(self, caps):
        return self.sink is not None and self.sink.can_intersect(Gst.Caps.from_string(caps))

    def gives(self, caps):
        return self.src is not None and self.src.can_intersect(Gst.Caps.from_string(caps))

    def takes_any_memory(self):
        """Whether its pads allow the memory of the device."""
        memory = Gst.Caps.from_string("video/x-raw(memory:VkgdrMemory);audio/x-raw(memory:VkgdrMemory)")
        return self.sink.can_intersect(memory) and (
            self.src is None or self.src.can_intersect(memory))


def why_excluded(element):
    """The reason why the tables or the class of an element exclude it, or None."""
    if element.name.startswith("vkgdr") or element.name == "cudafilter":
        return "is ours"
    if "Hardware" in element.klass.split("/"):
        return "needs hardware"
    if "Bin" in element.klass.split("/"):
        return "makes elements of its own"
    if element.name.startswith(SERVICES):
        return "needs a service of the network"
    if element.sink is None or element.src is None:
        if "Network" in element.klass.split("/"):
            return "needs a network"
        for prefixes, reason in ENDS_NOT_TRIED:
            if element.name.startswith(tuple(prefixes.split())):
                return reason
    return NOT_TRIED.get(element.name)


def all_elements():
    features = Gst.Registry.get().get_feature_list(Gst.ElementFactory)
    return [Element(one) for one in sorted(features, key=lambda one: one.get_name())]


@functools.lru_cache(None)
def encoders():
    """Those of libav last: there is often a better one."""
    found = [one for one in all_elements()
             if "Encoder" in one.klass and one.src is not None and why_excluded(one) is None]
    return sorted(found, key=lambda one: (one.name.startswith("av"), one.name))


def find_encoder(element, media):
    """The name of an encoder that gives what a decoder takes, or None."""
    if element.sink is None or element.sink.is_any():
        return None
    for encoder in encoders():
        if (encoder.takes(media) and not encoder.src.is_any()
                and encoder.src.can_intersect(element.sink)):
            return encoder.name
    return None


def sources(element, media):
    """The sources for an element that takes raw frames or audio: texts by their kind. They
    give the usual format, or the first that the element takes.
    """
    caps = CAPS[media]
    if not element.takes(caps):
        found = element.sink.intersect(Gst.Caps.from_string(ANY_CAPS[media]))
        if found.is_empty():
            return {}
        caps = found.fixate().to_string().replace(", ", ",")
    kinds = {
        "test source": f"{TEST_SOURCES[media]} ! {caps}",
        "appsrc": f'appsrc name=feed format=time caps="{caps}"',
    }
    if caps == CAPS[media]:
        kinds["decoder"] = DECODERS[media]
    return kinds


def beside(source, element, text, media):
    """The pipelines of an element that takes what the source gives, by name."""
    middles = MIDDLES[media]
    found = {f"before {key}": f"{source} ! {middle} ! {text}" for key, middle in middles.items()}
    if element.gives(f"{media}/x-raw"):
        found.update({f"after {key}": f"{source} ! {text} ! {middle}"
                      for key, middle in middles.items()})
        if element.takes_any_memory():
            found.update({f"around {key}": f"{source} ! {middle.replace('!', f'! {text} !', 1)}"
                          for key, middle in middles.items()})
    return found


def cases(element):
    """The pipelines of an element: (name, the one with identity, the others by name)."""
    found = []
    for properties in ["", *PROPERTIES.get(element.name, [])]:
        text = f"{element.name} {properties}".strip()
        for media in "video", "audio":
            raw = f"{media}/x-raw"
            if element.takes(raw):
                found += [(f"{media} {kind} {properties}".strip(),
                           f"{source} ! {PLAIN} ! {text}", beside(source, element, text, media))
                          for kind, source in sources(element, media).items()]
                continue
            encoder = find_encoder(element, raw)
            if element.gives(raw) and (encoder or element.sink is None):
                start = (f"{TEST_SOURCES[media]} ! {CAPS[media]} ! {CONVERTERS[media]} ! "
                         f"{encoder} ! {text}"
                         if encoder else f"{text} num-buffers={FRAMES}")
                found.append((f"{media} {'decoder' if encoder else 'source'}",
                              f"{start} ! {PLAIN}",
                              {f"behind {key}": f"{start} ! {middle}"
                               for key, middle in MIDDLES[media].items()}))
    return found


def why_not(element):
    """The reason why an element is not tried, or None."""
    reason = why_excluded(element)
    if reason or cases(element):
        return reason
    if element.gives("video/x-raw") or element.gives("audio/x-raw"):
        return "needs an encoder that is not installed"
    return "takes and gives no raw frames or audio"
