#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sends a video through GPU memory and a CUDA kernel.

scripts/demo builds the plugin, sets the environment and starts this program.
The program uses GStreamer as any application does.
"""

import argparse
import os
import signal
import sys
import time

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstVideo", "1.0")
from gi.repository import GLib, Gst, GstVideo  # noqa: E402

CLIP = (
    "/usr/share/forensics-samples/original-files/movie1/"
    "VID_20191220_170832.mp4"
)
CONTEXT_TYPE = "gst.vkgdr.context"
PIPELINE = (
    "filesrc name=file ! decodebin name=decoder caps=video/x-raw(ANY) expose-all-streams=false"
    " ! videoconvert name=before ! video/x-raw,format=RGBA"
    " ! vkgdrupload ! cudafilter name=effect ! vkgdrdownload name=after"
    " ! videoconvert ! vp8enc deadline=1 cpu-used=16 threads=4"
    " target-bitrate=8000000 ! webmmux ! filesink name=result"
)
try:  # since GLib 2.84
    gi.require_version("GLibUnix", "2.0")
    from gi.repository import GLibUnix

    add_signal = GLibUnix.signal_add
except (AttributeError, ImportError, ValueError):  # Debian 13 has it without this name
    add_signal = GLib.unix_signal_add
PROGRESS_MS = 200
# The time in which the encoder and the muxer have to finish after Ctrl-C.
FINISH_MS = 5000
# The exit status that a shell has for a command that was ended by Ctrl-C.
INTERRUPTED = 130


class Frame:
    """One RGBA picture: its rows, without the padding between them."""

    def __init__(self, buffer, caps):
        info = GstVideo.VideoInfo.new_from_caps(caps)
        meta = GstVideo.buffer_get_video_meta(buffer)
        stride = meta.stride[0] if meta else info.stride[0]
        start = meta.offset[0] if meta else info.offset[0]
        data = buffer.extract_dup(0, buffer.get_size())
        used = 4 * info.width
        self.width = info.width
        self.height = info.height
        self.rows = [
            data[start + y * stride : start + y * stride + used]
            for y in range(info.height)
        ]


class Demo:
    """One run of the pipeline."""

    def __init__(self, path, kernel, video, picture):
        self.path = path
        self.video = video
        self.picture = picture
        self.frames = 0
        self.first = self.last = 0.0
        self.middle = None
        self.taken = None
        self.before = self.after = None
        self.size = (0, 0)
        self.error = None
        self.interrupted = False
        self.described = False

        self.loop = GLib.MainLoop()
        self.pipeline = Gst.parse_launch(PIPELINE)
        self.element("file").set_property("location", path)
        self.element("result").set_property("location", video)
        self.element("effect").set_property("kernel", kernel)
        for name, probe in (("before", self.on_before), ("after", self.on_after)):
            pad = self.element(name).get_static_pad("src")
            pad.add_probe(Gst.PadProbeType.BUFFER, probe)
        bus = self.pipeline.get_bus()
        bus.add_signal_watch()
        bus.connect("message", self.on_message)

    def element(self, name):
        return self.pipeline.get_by_name(name)

    def run(self):
        """Plays the video to its end. Returns True if there was no error."""
        add_signal(GLib.PRIORITY_HIGH, signal.SIGINT, self.on_interrupt)
        GLib.timeout_add(PROGRESS_MS, self.on_progress)
        self.pipeline.set_state(Gst.State.PLAYING)
        self.loop.run()
        self.pipeline.set_state(Gst.State.NULL)
        self.pipeline.get_bus().remove_signal_watch()
        clear_progress()
        return self.error is None

    # --- on the streaming threads ---

    def on_before(self, pad, info):
        """Keeps the frame in the middle of the clip, before the effect."""
        buffer = info.get_buffer()
        if self.middle is None:
            known, duration = self.pipeline.query_duration(Gst.Format.TIME)
            self.middle = duration // 2 if known else 0
            video = GstVideo.VideoInfo.new_from_caps(pad.get_current_caps())
            self.size = (video.width, video.height)
        if self.before is None and buffer.pts >= self.middle:
            self.taken = buffer.pts
            self.before = Frame(buffer, pad.get_current_caps())
        return Gst.PadProbeReturn.OK

    def on_after(self, pad, info):
        """Counts frames. Keeps the frame that on_before() kept, after the
        effect.
        """
        buffer = info.get_buffer()
        self.last = time.monotonic()
        self.first = self.first or self.last
        self.frames += 1
        if self.after is None and self.taken is not None and buffer.pts == self.taken:
            self.after = Frame(buffer, pad.get_current_caps())
        return Gst.PadProbeReturn.OK

    # --- on the main loop ---

    def on_interrupt(self):
        if self.interrupted:
            self.loop.quit()
            return GLib.SOURCE_REMOVE
        self.interrupted = True
        clear_progress()
        print("Interrupted: finishing what was begun.", file=sys.stderr)
        self.pipeline.send_event(Gst.Event.new_eos())
        GLib.timeout_add(FINISH_MS, self.loop.quit)
        return GLib.SOURCE_CONTINUE

    def on_progress(self):
        known, duration = self.pipeline.query_duration(Gst.Format.TIME)
        there, position = self.pipeline.query_position(Gst.Format.TIME)
        text = f"frame {self.frames}"
        if known and there:
            text += f", {position / Gst.SECOND:.1f} of {duration / Gst.SECOND:.1f} s"
        show_progress(text)
        return GLib.SOURCE_CONTINUE

    def on_message(self, bus, message):
        if message.type == Gst.MessageType.EOS:
            self.loop.quit()
        elif message.type == Gst.MessageType.ERROR and self.error is None:
            self.error = self.explain(message)
            self.loop.quit()
        elif message.type == Gst.MessageType.WARNING:
            clear_progress()
            print(f"Warning: {message.parse_warning()[0].message}", file=sys.stderr)
        elif message.type == Gst.MessageType.HAVE_CONTEXT:
            self.show_device(message.parse_have_context())

    def explain(self, message):
        text = message.parse_error()[0].message
        if message.src.has_as_ancestor(self.element("decoder")):
            return f"no video in it that can be decoded ({text})"
        return f"{message.src.get_name()}: {text}"

    def show_device(self, context):
        if self.described or context.get_context_type() != CONTEXT_TYPE:
            return
        self.described = True
        clear_progress()
        structure = context.get_structure()
        if not hasattr(structure, "get_value"):
            with structure as inner:  # since GStreamer 1.26
                device = inner.get_value("context")
        else:
            device = structure.get_value("context")
        print("Device:  " + describe(device.describe()), flush=True)


def describe(device):
    """A line about a device, from GstVkgdr.Context.describe()."""
    text = device.get_value("name")
    if device.get_value("software"):
        text += " (the processor, through softcuda and lavapipe: no GPU is used)"
    return text


def show_progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def clear_progress():
    show_progress("")


def write_picture(before, after, path):
    """Writes two frames, side by side, as a PNG."""
    rows = (b + a for b, a in zip(before.rows, after.rows))
    caps = (
        f"video/x-raw,format=RGBA,width={before.width + after.width},"
        f"height={before.height},framerate=1/1"
    )
    pipeline = Gst.parse_launch(
        f"appsrc name=source format=time caps={caps} ! pngenc ! filesink name=sink"
    )
    pipeline.get_by_name("sink").set_property("location", path)
    source = pipeline.get_by_name("source")
    buffer = Gst.Buffer.new_wrapped(b"".join(rows))
    buffer.pts = 0
    pipeline.set_state(Gst.State.PLAYING)
    source.emit("push-buffer", buffer)
    source.emit("end-of-stream")
    message = pipeline.get_bus().timed_pop_filtered(
        Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR
    )
    pipeline.set_state(Gst.State.NULL)
    if message.type == Gst.MessageType.ERROR:
        fail(message.parse_error()[0].message)


def fail(text):
    print(f"demo: {text}", file=sys.stderr)
    sys.exit(1)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/demo")
    parser.add_argument("--kernel", default="sobel")
    parser.add_argument("file", nargs="?", default=CLIP)
    parser.add_argument(
        "output", nargs="?", default=os.environ.get("DEMO_DIR", "."))
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if not os.path.isfile(arguments.file):
        fail(f"{arguments.file}: no such file")
    if not os.access(arguments.file, os.R_OK):
        fail(f"{arguments.file}: may not be read")
    try:
        os.makedirs(arguments.output, exist_ok=True)
    except OSError as error:
        fail(f"{arguments.output}: {error.strerror}")

    Gst.init(None)
    try:
        # Without this import, the context in the bus message has no methods.
        gi.require_version("GstVkgdr", "1.0")
        from gi.repository import GstVkgdr  # noqa: F401
    except (ImportError, ValueError) as error:
        fail(f"{error}: was it built with introspection?")

    stem = os.path.splitext(os.path.basename(arguments.file))[0]
    base = os.path.join(arguments.output, f"{stem}-{arguments.kernel}")
    try:
        demo = Demo(arguments.file, arguments.kernel, base + ".webm", base + ".png")
    except GLib.Error as error:
        fail(error.message)

    print(f"Input:   {demo.path}")
    if not demo.run() or demo.frames == 0:
        if os.path.exists(demo.video):
            os.remove(demo.video)
        if demo.interrupted:
            return INTERRUPTED
        fail(f"{demo.path}: {demo.error or 'no frame of video in it'}")

    print(f"Video:   {demo.video}")
    if demo.after is not None:
        write_picture(demo.before, demo.after, demo.picture)
        print(f"Picture: {demo.picture} (before and after)")
    if demo.frames > 1:
        rate = (demo.frames - 1) / (demo.last - demo.first)
        print(
            f"Speed:   {rate:.1f} frames per second of {demo.size[0]}x{demo.size[1]},"
            f" decoding and encoding included ({demo.frames} frames)"
        )
    return INTERRUPTED if demo.interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
