# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the pipelines of docs/scaling.md, and tests the reception of raw video by RTP.

The pipelines have only these changes: they stop after some frames, and use
ports, sockets and the device of the test.
"""

import glob
import json
import os
import random
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time

import launch

DOCUMENT = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "scaling.md"
)

# Elements that may not be installed.
OPTIONAL = ("srtsrc", "ristsrc", "x264enc", "avdec_h264", "rtpvrawdepay", "udpsrc")

WIDTH, HEIGHT, FRAMES = 160, 120, 20
PAUSE = 0.003  # seconds between packets: a frame every 0.1 s has 28 of them
SIZE = WIDTH * HEIGHT * 2
VIDEO = f"video/x-raw,format=UYVY,width={WIDTH},height={HEIGHT},framerate=10/1"
RTP = (
    "application/x-rtp,media=video,clock-rate=90000,encoding-name=RAW,"
    "sampling=YCbCr-4:2:2,depth=(string)8,"
    f"width=(string){WIDTH},height=(string){HEIGHT},payload=96"
)


def has_element(name):
    return launch.run(launch.INSPECT, "--exists", name).returncode == 0


def start(pipeline, **options):
    return launch.start(launch.LAUNCH, "-q", *shlex.split(pipeline), **options)


def free_port():
    """Returns an even port. The port and the next one are free."""
    while True:
        port = random.randrange(20000, 30000, 2)
        sockets = [socket.socket(socket.AF_INET, kind) for kind in (1, 2) for _ in (0, 1)]
        try:
            for i, s in enumerate(sockets):
                s.bind(("127.0.0.1", port + i % 2))
            return port
        except OSError:
            continue
        finally:
            for s in sockets:
                s.close()


class Commands(launch.Case):
    """Runs the document's pipelines. The lines of a block run at the same time."""

    def read_blocks(self):
        with open(DOCUMENT, encoding="utf-8") as file:
            blocks = re.findall(r"^```sh\n(.*?)^```", file.read(), re.S | re.M)
        return [block.replace("\\\n", " ").strip().splitlines() for block in blocks]

    def adapt(self, command):
        command = command.replace("/tmp/frames", self.path("socket"))
        # The document uses two devices, but the machine for the test has one.
        command = command.replace("device=1", "device=0")
        for port, name in ((5004, "rtp"), (5006, "rist"), (7001, "srt")):
            command = re.sub(rf"\b{port}\b", str(self.ports[name]), command)
        return command

    def start(self, command):
        return start(command.replace("gst-launch-1.0", "", 1), stdout=subprocess.DEVNULL)

    def check(self, lines):
        """Ends the pipelines when each sink has got some frames."""
        processes = []
        try:
            for line in lines:
                line = self.adapt(line)
                # ristsrc contains a sink without a limit, so it does not end.
                if "ristsrc" in line:
                    line = line.replace("fakesink", f"filesink location={self.path('rist')}")
                line = line.replace("fakesink", "fakesink num-buffers=5")
                # srtsink fails if the other process does not listen yet.
                if "srtsink" in line:
                    self.wait_for_port(self.ports["srt"])
                processes.append((line, self.start(line)))
            for line, process in processes:
                if "filesink" in line:
                    self.wait_for_file(self.path("rist"))
                elif "fakesink" in line:
                    _, complaints = process.communicate(timeout=40)
                    self.assertEqual(process.returncode, 0, line + complaints)
                    self.assertNotRegex(complaints, "CRITICAL|ERROR")
        finally:
            for _, process in processes:
                if process.poll() is None:
                    process.kill()
                process.communicate()

    def wait_for_port(self, port):
        """Waits until a UDP socket is bound to the port."""
        deadline = time.monotonic() + 40
        while True:
            for name in glob.glob("/proc/net/udp*"):
                with open(name, encoding="ascii") as file:
                    if re.search(rf"^ *\d+: [0-9A-F]+:{port:04X} ", file.read(), re.M):
                        return
            self.assertLess(time.monotonic(), deadline, "nothing listens")
            time.sleep(0.1)

    def wait_for_file(self, path):
        deadline = time.monotonic() + 40
        while not os.path.exists(path) or os.path.getsize(path) == 0:
            self.assertLess(time.monotonic(), deadline, "nothing has come")
            time.sleep(0.1)

    def test_commands(self):
        self.ports = {name: free_port() for name in ("rtp", "rist", "srt")}
        blocks = self.read_blocks()
        self.assertEqual(len(blocks), 6)
        for lines in blocks:
            with self.subTest(lines[0]):
                missing = [
                    name
                    for name in OPTIONAL
                    if name in " ".join(lines) and not has_element(name)
                ]
                if missing:
                    self.skipTest(f"{missing[0]} is missing")
                self.check(lines)


class Rtp(launch.Case):
    """Sends raw video by RTP over the loopback device, packet by packet."""

    def setUp(self):
        super().setUp()
        if not (has_element("rtpvrawdepay") and has_element("udpsrc")):
            self.skipTest("rtpvrawdepay or udpsrc is missing")
        run = launch.launch(
            f"videotestsrc num-buffers={FRAMES} pattern=snow ! {VIDEO} ! tee name=t "
            f"t. ! queue ! filesink location={self.path('frames')} "
            f"t. ! queue ! rtpvrawpay mtu=1400 ! rtpstreampay ! "
            f"filesink location={self.path('packets')}"
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        data = self.read("frames")
        self.frames = [data[i : i + SIZE] for i in range(0, len(data), SIZE)]
        self.assertEqual(len(self.frames), FRAMES)
        self.assertEqual(len(set(self.frames)), FRAMES)

    def packets(self):
        """As in RFC 4571, the length of each packet is in front of it."""
        data, packets = self.read("packets"), []
        while data:
            size = int.from_bytes(data[:2], "big")
            packets.append(data[2 : 2 + size])
            data = data[2 + size :]
        return packets

    def receive(self, packets, tail, frames, files=("received",)):
        """Sends @packets. When each of @files has @frames frames, returns the
        frames that were received. The receiver waits two seconds for a missing
        packet, because on a busy machine it may not run for some time.
        """
        port = free_port()
        process = start(
            f'udpsrc port={port} address=127.0.0.1 buffer-size=1048576 caps="{RTP}" ! '
            f"rtpjitterbuffer latency=2000 ! rtpvrawdepay ! {tail} ! "
            f"filesink location={self.path('received')} buffer-mode=unbuffered",
            stderr=subprocess.STDOUT,
        )
        try:
            self.wait_for_port(port)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
                for packet in packets:  # at the rate of a real source
                    out.sendto(packet, ("127.0.0.1", port))
                    time.sleep(PAUSE)
            deadline = time.monotonic() + 15
            while time.monotonic() < deadline:
                if min(self.size(name) for name in files) >= frames * SIZE:
                    break
                time.sleep(0.05)
            self.assertIsNone(process.poll(), "the receiver has ended by itself")
        finally:
            process.kill()
            output, _ = process.communicate()
        self.assertEqual(output, "")
        data = self.read("received")
        return [data[i : i + SIZE] for i in range(0, len(data), SIZE)]

    def size(self, name):
        path = self.path(name)
        return os.path.getsize(path) if os.path.exists(path) else 0

    def wait_for_port(self, port):
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            with open("/proc/net/udp", encoding="ascii") as file:
                if f":{port:04X} " in file.read() and os.path.exists(self.path("received")):
                    return
            time.sleep(0.02)
        self.fail("the receiver does not listen")

    def damaged(self, frames):
        """Returns the numbers of the frames that differ from those that were sent."""
        return [k for k, frame in enumerate(frames) if frame != self.frames[k]]

    # The last frame is complete only when a packet of the next one arrives.
    UPLOAD = "vkgdrupload ! vkgdrdownload"

    def test_packets(self):
        """All packets; packets up to eight places too early or too late, except the first
        ones, because a stream begins with the packet that arrives first; and two lost
        packets, of two frames, which differ.
        """
        chance = random.Random(7)
        packets = self.packets()
        places = [i if i < 10 else i + chance.uniform(0, 8) for i in range(len(packets))]
        order = sorted(range(len(packets)), key=places.__getitem__)
        self.assertNotEqual(order, sorted(order))
        stamps = [packet[4:8] for packet in packets]
        names = sorted(set(stamps), key=stamps.index)
        lost = [stamps.index(names[k]) + 5 for k in (4, 11)]
        for name, sent, damaged in (
            ("all", packets, []),
            ("reordered", [packets[i] for i in order], []),
            ("lost", [packet for i, packet in enumerate(packets) if i not in lost], [4, 11]),
        ):
            with self.subTest(name):
                if os.path.exists(self.path("received")):
                    os.remove(self.path("received"))
                frames = self.receive(sent, self.UPLOAD, FRAMES - 1)
                self.assertGreaterEqual(len(frames), FRAMES - 1)
                self.assertEqual(self.damaged(frames), damaged)

    def test_for_other_processes(self):
        """Another process gets the frames that the depayloader writes."""
        path = self.path("socket")
        client = start(
            f"vkgdripcsrc socket-path={path} connection-timeout=20 ! vkgdrdownload ! "
            f"filesink location={self.path('there')} buffer-mode=unbuffered",
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        try:
            self.receive(
                self.packets(),
                f"tee name=t t. ! queue ! vkgdripcsink socket-path={path} sync=false "
                "leaky=no wait-for-connection=true t. ! queue ! vkgdrupload ! vkgdrdownload",
                FRAMES - 1,
                ("received", "there"),
            )
        finally:
            client.terminate()
            client.wait()
        data = self.read("there")
        frames = [data[i : i + SIZE] for i in range(0, len(data), SIZE)]
        self.assertGreaterEqual(len(frames), FRAMES - 1)
        self.assertEqual(self.damaged(frames), [])


class BenchRtp(launch.Case):
    """scripts/bench-rtp, with a stream that fits into the receive buffer as a
    whole.
    """

    FRAMES = 30

    def setUp(self):
        super().setUp()
        if not (has_element("rtpvrawdepay") and has_element("imagefreeze")):
            self.skipTest("rtpvrawdepay or imagefreeze is missing")

    def measure(self, *options):
        run = launch.run(
            sys.executable,
            os.path.join(os.path.dirname(DOCUMENT), "..", "scripts", "bench-rtp"),
            *("--width", "160", "--height", "120", "--fps", "30", "--json"),
            *("--frames", str(self.FRAMES), *options),
        )
        self.assertIn(run.returncode, (0, 1), run.stderr)
        return run.returncode, json.loads(run.stdout)

    def test_all_frames(self):
        status, results = self.measure()
        self.assertEqual(status, 0)
        for name in ("system", "vkgdrupload"):
            self.assertEqual(len(results[name]), 2)
            for result in results[name]:
                self.assertEqual(result["frames"], self.FRAMES)
                self.assertEqual(result["damaged"], 0)
                self.assertEqual(result["absent"], 0)
                self.assertGreater(result["cpu"], 0)
        self.assertGreater(results["cpu-ratio"], 0)
        self.assertGreaterEqual(results["cpu-spread"], 1)

    def test_access(self):
        for access, part in (("direct", 1), ("staged", 0)):
            _, results = self.measure("--access", access, "--receivers", "1")
            self.assertEqual(results["vkgdrupload"][0]["direct"], part)
            self.assertEqual(results["system"][0]["direct"], 0)

    def test_lost_packets(self):
        """The receive buffer has room for one packet, and 28 are sent at a
        time.
        """
        status, results = self.measure("--buffer", "1", "--receivers", "1")
        self.assertEqual(status, 1)
        for name in ("system", "vkgdrupload"):
            (result,) = results[name]
            self.assertGreater(result["damaged"] + result["absent"], 0)


if __name__ == "__main__":
    if not shutil.which("gst-launch-1.0"):
        raise SystemExit(77)
    raise SystemExit(launch.main())
