# SPDX-License-Identifier: LGPL-2.1-or-later
"""The elements of the registry, and which of them are not tried.

An element is found by its pads, not by a list: a new plugin is tried without a change of
this file. The tables name those that need hardware, a network, a display or files.
"""

import functools

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

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
    "audiolatency": "sends sound of its own by the clock",
    "breakmydata": "changes bytes at random",
    "chopmydata": "cuts buffers at random",
    "clockoverlay": "draws the time",
    "rndbuffersize": "cuts buffers at random",
    "shapewipe": "waits for a second stream, also if it is stopped",
    "watchdog": "ends the pipeline by the clock",
}

# The kinds of docs/upstreams.md, by a word of an element's class. The first match counts.
KINDS = ("Depayloader", "Payloader", "Demuxer", "Muxer", "Parser", "Decoder", "Encoder", "Source",
         "Sink", "Mixer", "Compositor", "Converter", "Visualization", "Filter", "Effect")

# libav's name for the caps of a codec that GStreamer does not know.
UNKNOWN = "unknown/unknown"

DEVICE_MEMORY = "video/x-raw(memory:VkgdrMemory);audio/x-raw(memory:VkgdrMemory)"


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
                found = caps.copy() if found is None else found.merge(caps)
        return found

    def kind(self):
        return next((kind for kind in KINDS if kind in self.klass), "other")

    def takes(self, caps):
        return self.sink is not None and self.sink.can_intersect(Gst.Caps.from_string(caps))

    def gives(self, caps):
        return self.src is not None and self.src.can_intersect(Gst.Caps.from_string(caps))

    def takes_any_memory(self):
        """Whether its pads allow the memory of the device."""
        memory = Gst.Caps.from_string(DEVICE_MEMORY)
        return self.sink.can_intersect(memory) and (
            self.src is None or self.src.can_intersect(memory))

    def takes_bytes_of(self, other):
        """Whether its input can be the output of another element, which both describe."""
        return not (self.sink.is_any() or other.src.is_any()) and other.src.can_intersect(self.sink)


def why_excluded(element):
    """The reason why the tables or the class of an element exclude it, or None."""
    classes = element.klass.replace(" ", "/").split("/")
    if element.name.startswith("vkgdr") or element.name == "cudafilter":
        return "is ours"
    if "Hardware" in classes:
        return "needs hardware"
    if "Bin" in classes:
        return "makes elements of its own"
    if element.name.startswith(SERVICES):
        return "needs a service of the network"
    if element.sink is None or element.src is None:
        if "Network" in classes:
            return "needs a network"
        for prefixes, reason in ENDS_NOT_TRIED:
            if element.name.startswith(tuple(prefixes.split())):
                return reason
    if element.sink is None and element.src is None:
        return "has no pad at the start"
    if any(caps is not None and caps.to_string() == UNKNOWN for caps in (element.sink, element.src)):
        return "has caps that GStreamer does not know"
    return NOT_TRIED.get(element.name)


@functools.lru_cache(None)
def all_elements():
    features = Gst.Registry.get().get_feature_list(Gst.ElementFactory)
    return [Element(one) for one in sorted(features, key=lambda one: one.get_name())]


def elements_of(kind):
    """Elements of a kind that can be in front of another. Those of libav are last: there is
    often a better one.
    """
    found = [one for one in all_elements()
             if kind in one.klass and None not in (one.sink, one.src) and why_excluded(one) is None]
    return sorted(found, key=lambda one: (one.name.startswith("av"), one.name))


@functools.lru_cache(None)
def encoders():
    return elements_of("Encoder")


@functools.lru_cache(None)
def payloaders():
    return elements_of("Payloader")


@functools.lru_cache(None)
def find_encoder(element, raw):
    """The elements, as a text, that make what an element takes from raw frames or audio: an
    encoder, a payloader, or both. None if there are none.
    """
    if element.sink is None or element.sink.is_any():
        return None
    for encoder in encoders():
        if encoder.takes(raw) and element.takes_bytes_of(encoder):
            return encoder.name
    if "Payloader" in element.klass:
        return None
    for payloader in payloaders():
        if element.takes_bytes_of(payloader):
            encoder = None if payloader.takes(raw) else find_encoder(payloader, raw)
            if encoder or payloader.takes(raw):
                return f"{encoder} ! {payloader.name}" if encoder else payloader.name
    return None
