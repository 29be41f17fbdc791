# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the commands of docs/cudafilter.md, scaling.md, ipc.md and tensors.md as they are written.

The commands have only these changes: sources stop after some frames, frames are
smaller, nothing is displayed, and ports, sockets and the device are those of the test.
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

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

# Commands that need something that a test does not have: NVIDIA's compiler, a
# video and the decoder of a GPU, a photograph, a network, or a camera.
NOT_HERE = ("nvcc", "nvh264dec", "effects-pictures", "model.onnx", "v4l2src")

# Elements that may not be installed.
OPTIONAL = ("srtsrc", "ristsrc", "x264enc", "avdec_h264", "rtpvrawdepay", "udpsrc")

TIME_LIMIT = 40  # seconds


def read_blocks(document):
    """Returns the language and the text of each block of code."""
    with open(os.path.join(ROOT, "docs", document), encoding="utf-8") as file:
        return re.findall(r"^```(\w+)\n(.*?)^```", file.read(), re.S | re.M)


def skip_without(test, elements):
    for name in elements:
        if launch.run(launch.INSPECT, "--exists", name).returncode != 0:
            test.skipTest(name + " is missing")


def with_end(command):
    command = re.sub(r"^gst-launch-1\.0 ", f"{launch.LAUNCH} -q ", command)
    command = command.replace("-q videotestsrc", "-q videotestsrc num-buffers=5")
    # The software device processes small frames fast enough.
    command = command.replace("width=1280,height=720", "width=320,height=180")
    return re.sub(r"\bauto(video|audio)sink\b", "fakesink", command)


class OneByOne(launch.Case):
    """The files that the commands name are in the folder in which they run."""

    def run_command(self, command):
        run = launch.run("env", "-C", self.folder, "bash", "-c", command)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertNotRegex(run.stderr, "WARN|CRITICAL|ERROR")

    def run_blocks(self, blocks, at_least):
        commands = [text for language, text in blocks if language == "sh"
                    and not any(word in text for word in NOT_HERE)]
        self.assertGreaterEqual(len(commands), at_least)
        for command in commands:
            with self.subTest(command):
                self.run_command(with_end(command))

    def test_cudafilter(self):
        blocks = read_blocks("cudafilter.md")
        for name, entry in ("mirror.cu", "mirror"), ("blur-faces.cu", "blur_faces"):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.writelines(text for _, text in blocks if f"{entry} (VkgdrFrame" in text)
        self.run_blocks(blocks, 11)

    def test_tensors(self):
        skip_without(self, ["theoraenc", "oggmux", "theoradec"])
        self.run_command(f"{launch.LAUNCH} -q videotestsrc num-buffers=16 ! theoraenc ! oggmux"
                         " ! filesink location=clip.mp4")
        self.run_blocks(read_blocks("tensors.md"), 2)


def is_free(port):
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", port))
        return True
    except OSError:
        return False


def free_port():
    """Returns an even port. RTP also uses the next one."""
    ports = iter(lambda: random.randrange(20000, 30000, 2), None)
    return str(next(port for port in ports if is_free(port) and is_free(port + 1)))


def is_bound(port):
    tables = ""
    for name in glob.glob("/proc/net/udp*"):
        with open(name, encoding="ascii") as file:
            tables += file.read()
    return re.search(rf"^ *\d+: [0-9A-F]+:{int(port):04X} ", tables, re.M)


class Together(launch.Case):
    """The lines of a block run at the same time, until each sink has got a frame."""

    def adapt(self, command):
        command = command.replace("/tmp/frames", shlex.quote(self.path("socket")))
        # The document uses two devices, but the machine for the test has one.
        command = command.replace("device=1", "device=0")
        for old, new in self.ports.items():
            command = re.sub(rf"\b{old}\b", new, command)
        for i in range(command.count("fakesink")):
            self.outputs.append(self.path(f"output-{len(self.outputs)}"))
            output = shlex.quote(self.outputs[-1])
            command = command.replace("fakesink", f"filesink location={output}", 1)
        return command.replace("gst-launch-1.0", "exec " + launch.LAUNCH + " -q", 1)

    def wait(self, condition, what):
        deadline = time.monotonic() + TIME_LIMIT
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.05)

    def has_output(self):
        return all(os.path.exists(path) and os.path.getsize(path) for path in self.outputs)

    def check(self, lines):
        self.outputs = []
        self.ports = {old: free_port() for old in ("5004", "5006", "7001")}
        processes = []
        try:
            for line in lines:
                # srtsink fails if the other process does not listen yet.
                if "srtsink" in line:
                    self.wait(lambda: is_bound(self.ports["7001"]), "nothing listens")
                processes.append(launch.start("bash", "-c", self.adapt(line),
                                              stdout=subprocess.DEVNULL))
            self.wait(self.has_output, lines)
        finally:
            for process in processes:
                process.kill()
            complaints = "".join(process.communicate()[1] for process in processes)
        self.assertNotRegex(complaints, "CRITICAL|ERROR")

    def test_commands(self):
        blocks = [text.replace("\\\n", " ").replace("autovideosink", "fakesink").splitlines()
                  for language, text in read_blocks("scaling.md") + read_blocks("ipc.md")[:1]
                  if language == "sh"]
        self.assertEqual(len(blocks), 7)
        for lines in blocks:
            with self.subTest(lines[0]):
                skip_without(self, [name for name in OPTIONAL if name in " ".join(lines)])
                self.check(lines)


class Rtp(launch.Case):
    """scripts/bench-rtp, with small frames. They fit into the receive buffer."""

    def measure(self, *options):
        skip_without(self, ["rtpvrawdepay", "imagefreeze"])
        run = launch.run(
            sys.executable, os.path.join(ROOT, "scripts", "bench-rtp"), *options,
            *"--width 160 --height 120 --fps 60 --json --frames 30".split(),
        )
        self.assertIn(run.returncode, (0, 1), run.stderr)
        results = json.loads(run.stdout)
        return [[result[key] for key in ("frames", "damaged", "absent", "direct")]
                for name in ("system", "vkgdrupload") for result in results[name]]

    def test_all_frames(self):
        self.assertEqual(self.measure("--access", "direct"),
                         2 * [[30, 0, 0, 0]] + 2 * [[30, 0, 0, 1]])

    def test_lost_packets(self):
        """The buffer has room for one packet, and 28 are sent at a time."""
        for _, damaged, absent, _ in self.measure("--buffer", "1", "--receivers", "1"):
            self.assertGreater(damaged + absent, 0)


if __name__ == "__main__":
    if not shutil.which("bash"):
        raise SystemExit(77)
    raise SystemExit(launch.main())
