# SPDX-License-Identifier: LGPL-2.1-or-later
"""Feeds: senders, and programs that push buffers, for pipelines that need one.

A feed provides the values for the names in braces in the launch line. start()
is called when the pipeline is paused. No data leave this machine: sockets are
in a temporary folder, or use 127.0.0.1 and ports that the kernel chooses. Must
not depend on the cases of the table.
"""

import os
import socket
import threading
from typing import Callable, Dict

from gi.repository import Gst

from table import FRAMES, HEIGHT, WIDTH, raw

NET_CAPS = (160, 120)  # so that a frame fits into the socket's buffer


class Feed:
    """Sends nothing: the pipeline has its own source, and ends by itself."""

    frames = None  # the number of buffers to take from a pipeline without an end

    def __init__(self, folder: str, inputs: Callable[[str], str]) -> None:
        self.folder = folder
        self.inputs = inputs

    def values(self) -> Dict[str, str]:
        return {}

    def start(self, pipeline: Gst.Pipeline) -> None:
        pass

    def stop(self) -> None:
        pass


class AppSrc(Feed):
    """A program that pushes its own buffers. Each one is a new buffer."""

    def start(self, pipeline: Gst.Pipeline) -> None:
        size = WIDTH * HEIGHT * 3 // 2
        source = pipeline.get_by_name("feed")
        for i in range(FRAMES):
            data = bytes((i * 7 + k) & 255 for k in range(256)) * (size // 256)
            buffer = Gst.Buffer.new_wrapped(data + bytes(size - len(data)))
            buffer.pts = i * Gst.SECOND // 30
            source.emit("push-buffer", buffer)
        source.emit("end-of-stream")


class Fd(Feed):
    def values(self) -> Dict[str, str]:
        self.fd = os.open(self.inputs("yuv"), os.O_RDONLY)
        return {"fd": str(self.fd)}

    def stop(self) -> None:
        os.close(self.fd)


class Tcp(Feed):
    """A client that sends a file, and closes the connection."""

    def start(self, pipeline: Gst.Pipeline) -> None:
        port = pipeline.get_by_name("feed").get_property("current-port")
        self.thread = threading.Thread(target=self.send, args=(port,))
        self.thread.start()

    def send(self, port: int) -> None:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
            with open(self.inputs("yuv"), "rb") as file:
                client.sendall(file.read())

    def stop(self) -> None:
        self.thread.join()


class Sender(Feed):
    """A pipeline that sends, and has to be stopped."""

    launch = ""
    frames = FRAMES

    def make(self) -> str:
        return self.launch

    def start(self, pipeline: Gst.Pipeline) -> None:
        self.sender = Gst.parse_launch(self.make())
        self.sender.set_state(Gst.State.PLAYING)

    def stop(self) -> None:
        self.sender.set_state(Gst.State.NULL)


class Udp(Sender):
    """Frames of UYVY in RTP packets, at the pace of a camera."""

    def values(self) -> Dict[str, str]:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        width, height = NET_CAPS
        caps = (
            "application/x-rtp,media=video,clock-rate=90000,encoding-name=RAW,"
            f"sampling=YCbCr-4:2:2,depth=(string)8,width=(string){width},"
            f"height=(string){height},colorimetry=(string)BT601-5"
        )
        return {"port": str(self.port), "caps": caps}

    def make(self) -> str:
        width, height = NET_CAPS
        return (
            raw("UYVY", FRAMES + 1, width, height)
            + f" ! rtpvrawpay ! udpsink host=127.0.0.1 port={self.port} sync=true"
        )


class LocalSocket(Sender):
    """Starts the sender, which has to listen before the pipeline starts."""

    sink = ""

    def values(self) -> Dict[str, str]:
        self.path = os.path.join(self.folder, "socket")
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.sender = Gst.parse_launch(self.make())
        self.sender.set_state(Gst.State.PLAYING)
        while not os.path.exists(self.path):
            self.sender.get_state(Gst.SECOND // 100)
        return {"socket": self.path}

    def start(self, pipeline: Gst.Pipeline) -> None:
        pass

    def make(self) -> str:
        return raw(frames=FRAMES + 4) + f" ! {self.sink} socket-path={self.path}"


class Shm(LocalSocket):
    sink = "shmsink wait-for-connection=true sync=false shm-size=20000000"


class UnixFd(LocalSocket):
    sink = "unixfdsink wait-for-connection=true sync=true"


FEEDS = {
    None: Feed,
    "appsrc": AppSrc,
    "fd": Fd,
    "shm": Shm,
    "tcp": Tcp,
    "udp": Udp,
    "unixfd": UnixFd,
}
