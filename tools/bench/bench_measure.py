# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures the cases of vkgdr-bench: starts the helper, and asks it for figures.

The C files describe the requests. Does not depend on how results are shown.
"""

import contextlib
import json
import os
import pathlib
import select
import shlex
import subprocess
import sys
import tempfile
import time

from bench_cases import CONSUMER, COPIES
from bench_sources import N_FILES

PATIENCE = 90  # seconds, for one reply of the helper beyond the measured time
QUICK_LIMIT = 150  # seconds, after which --quick measures nothing more
# Seconds before the buffers of several streams are counted, in which the elements
# choose their access modes.
STREAMS_WARM_UP = 1.5
LINK = 64 << 20  # bytes of a transfer that measures the link
COPIES_SHARE = 20  # a copy is measured for this part of the time
MIN_IPC_SECONDS = 0.2
POLL = 0.01  # seconds, for a socket of another process
# The first part of the frames that other processes receive is not used: in this time,
# memory is imported.
IPC_WARM_UP = 1 / 4
LONGEST = 600  # characters of an error message


class Failure(Exception):
    """A measurement has failed. The text is one line of limited length."""

    def __init__(self, text):
        super().__init__(" ".join(str(text).split())[:LONGEST])


def start(command, **environment):
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            env={**os.environ, **environment})


def read_line(process, seconds=PATIENCE):
    """One object that the process has written. After an error, the process has ended."""
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    line = process.stdout.readline() if ready else b""
    reply = json.loads(line) if line else {}
    if line and "error" not in reply:
        return reply
    if not ready:
        process.kill()
    status = process.wait(PATIENCE)
    raise Failure(reply.get("error") or (f"the process ended with status {status}" if ready
                                         else f"no reply in {seconds:.0f} s"))


def summarize_frames(frames):
    """Frames per second, and delays in seconds, of one other process. For each frame, it
    tells in nanoseconds when the frame was received, and how long after it was written."""
    frames = frames[int(len(frames) * IPC_WARM_UP):]
    result = {"rate": (len(frames) - 1) * 1e9 / (frames[-1][0] - frames[0][0])}
    delays = sorted(delay for _, *delays in frames for delay in delays)
    if delays:  # Python's client has none
        result["received"] = delays[len(delays) // 2] / 1e9
        result["received-p99"] = delays[len(delays) * 99 // 100] / 1e9
    return result


class Measurer:
    """One function for each way to measure, which returns a figure in the case's unit."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.folder_of_files = tempfile.TemporaryDirectory(prefix="vkgdr-bench-")
        self.files = {}
        self.command = shlex.split(os.environ.get("VKGDR_BENCH_HELPER", "")) or [
            os.path.join(folder, "vkgdr-bench-helper")]
        if options.device >= 0:  # also for other processes
            os.environ["CUDA_DEVICE"] = str(options.device)
        self.machine = self.start_helper()
        self.softcuda = self.machine.pop("softcuda", "")
        self.until = time.monotonic() + QUICK_LIMIT

    def start_helper(self):
        self.helper = start([*self.command, "serve", str(self.options.device)])
        return read_line(self.helper)

    def ask(self, what, seconds, **request):
        """Returns the helper's reply. @seconds is the time of the measurement. If the helper
        has ended, because the last measurement failed, a new one is started."""
        if self.helper.poll() is not None:
            self.start_helper()
        line = json.dumps({"do": what, "seconds": float(seconds), **request})
        try:
            self.helper.stdin.write(line.encode() + b"\n")
            self.helper.stdin.flush()
        except BrokenPipeError:
            pass  # read_line() tells it
        return read_line(self.helper, PATIENCE + 20 * seconds)

    def measure(self, case, variant):
        """Adds a sample, or an error, after which the variant is left out."""
        if variant.error:
            return
        how, *arguments = variant.how.split(":")
        try:
            if self.options.quick and time.monotonic() > self.until:
                raise Failure("left out: --quick has no more time")
            function = getattr(self, "measure_" + how)
            variant.samples.append(function(case, variant, *arguments))
        except Failure as failure:
            variant.error = str(failure)

    # --- by the helper

    def run(self, case, variant, **others):
        long = case.section == "streams" and not self.options.quick
        with contextlib.ExitStack() as stack:
            pipeline = variant.pipeline
            if case.material:
                pipeline = pipeline.replace("FILES", self.make_files(case.material))
            if case.feeder:
                path = stack.enter_context(self.feed(case.feeder))
                pipeline = pipeline.replace("SOCKET", path)
            return self.ask("run", self.options.seconds, **{
                "pipeline": pipeline, "warm-up": STREAMS_WARM_UP if long else 0.0, **others})

    def make_files(self, material):
        """The folder of the files that this pipeline writes. They are made once."""
        if material not in self.files:
            folder = os.path.join(self.folder_of_files.name, str(len(self.files)))
            os.mkdir(folder)
            self.files[material] = folder
            self.ask("make", 0, pipeline=material.replace("FILES", folder))
        folder = self.files[material]
        if len(os.listdir(folder)) < N_FILES:
            raise Failure("the encoder has written too few frames")
        return folder

    @contextlib.contextmanager
    def feed(self, feeder):
        """The path of a socket at which another process offers frames."""
        with tempfile.TemporaryDirectory(prefix="vkgdr-bench-") as folder:
            path = pathlib.Path(folder, "socket")
            command = [*self.command, "play", feeder.replace("SOCKET", str(path))]
            with start(command) as process:
                try:
                    until = time.monotonic() + PATIENCE
                    while not path.exists() and process.poll() is None:
                        if time.monotonic() > until:
                            raise Failure("the other process offers no frames")
                        time.sleep(POLL)
                    if not path.exists():
                        read_line(process)
                    yield str(path)
                finally:
                    process.kill()

    def measure_rate(self, case, variant, batch=1):
        rate = self.run(case, variant)["rate"] * int(batch)
        return {"GB/s": rate * case.bytes / 1e9, "us/frame": 1e6 / rate}.get(case.unit, rate)

    def measure_processor(self, case, variant):
        """The time of all threads of the process, for one frame."""
        return self.run(case, variant)["processor-time"] * 1e6

    def measure_kernel(self, case, variant):
        seconds = self.run(case, variant)["kernel-time"]
        # read and written
        return seconds * 1e6 if case.unit == "us/frame" else 2 * case.bytes / seconds / 1e9

    def measure_change(self, case, variant):
        """Each text is new, so that none comes from the cache of compiled kernels."""
        first, second = (f"rgba.r = {time.time_ns() % 10**9 + n}.0f - rgba.r" for n in range(2))
        pipeline = variant.pipeline.replace('pixel=""', f'pixel="{first}"')
        return self.run(case, variant, pipeline=pipeline, pixel=second)["extra-gap"] * 1e3

    def measure_loop(self, case, variant, place):
        return self.ask("loop", self.options.seconds, place=place, bytes=case.bytes,
                        area=case.area)["rate"]

    def copy(self, name, size, seconds):
        """Seconds of one copy."""
        _, _, how, source, *target = COPIES[name]
        return self.ask("copy", seconds, how=how, bytes=size, **{"from": source},
                        to=target[0] if target else "")["seconds"]

    def measure_copy(self, case, variant, name):
        return self.copy(name, case.bytes, self.options.seconds / COPIES_SHARE)

    def measure_link(self, case, variant, name):
        return LINK / self.copy(name, LINK, self.options.seconds) / 1e9

    def measure_device_copy(self, case, variant):
        return 2 * case.bytes / self.copy("on-device", case.bytes, self.options.seconds) / 1e9

    # --- by new processes

    def measure_process(self, case, variant):
        with tempfile.TemporaryDirectory() as cache:
            command = [*self.command, "play", variant.pipeline + " name=first"]
            began = time.monotonic_ns()
            with start(command, VKGDR_CACHE_DIR=cache) as process:
                try:
                    return (read_line(process)["time"] - began) / 1e6
                finally:
                    process.kill()

    def in_python(self, what, argument):
        return [sys.executable, os.path.join(self.folder, "bench_process.py"), what, argument]

    def measure_bare(self, case, variant, what):
        argument = self.machine["name"]
        if what == "cuda":
            argument = self.softcuda if self.machine["software"] else ""
        with start(self.in_python(what, argument)) as process:
            return read_line(process)["seconds"] * 1e3

    def measure_ipc(self, case, variant, figure):
        """The figure of the slowest process that receives frames."""
        with tempfile.TemporaryDirectory(prefix="vkgdr-bench-") as folder:
            path = os.path.join(folder, "socket")
            source, consumer = variant.pipeline.replace("IPC_PATH", path).split(CONSUMER)
            command = [*self.command, "play", consumer]
            if consumer.startswith("python:"):
                command = self.in_python("client", path)
            command = [*shlex.split(self.options.consumer_prefix), *command]
            server = start([*self.command, "play", source])
            clients = [start(command) for _ in range(case.consumers)]
            try:
                results = self.receive(clients)
            finally:
                for client in clients:
                    with client:
                        client.kill()  # if it has not ended by itself
                with server:  # its error says more than those of its clients
                    server.stdin.close()
                    read_line(server)
        values = [result[figure] for result in results]
        return max(values) * 1e6 if case.unit == "us/frame" else min(values)

    def receive(self, clients):
        """Waits until all processes have got a frame, measures, and ends them."""
        for client in clients:
            read_line(client)
        time.sleep(max(self.options.seconds, MIN_IPC_SECONDS))
        for client in clients:
            client.stdin.close()
        return [summarize_frames(read_line(client)["frames"]) for client in clients]
