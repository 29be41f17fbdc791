# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures the cases of vkgdr-bench: starts the helper, and asks it for figures.

The C files describe the requests. Does not depend on how results are shown.
"""

import json
import os
import select
import shlex
import subprocess
import sys
import tempfile
import time

from bench_cases import BATCH, CONSUMER, COPIES

PATIENCE = 90  # seconds, for one reply of the helper beyond the measured time
QUICK_LIMIT = 150  # seconds, after which --quick measures nothing more
# Seconds before the buffers of several streams are counted, in which the elements
# choose their access modes.
STREAMS_WARM_UP = 1.5
MIX_SHARE = 0.3  # the part of the time for which one mix of loops is measured
LINK = 64 << 20  # bytes of a transfer that measures the link
COPIES_SHARE = 20  # a copy is measured for this part of the time
MIN_IPC_SECONDS = 0.2
# The first part of the frames that other processes receive is not used: in this time,
# kernels are compiled and memory is imported.
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
    tells in nanoseconds when the frame was received, and its delays."""
    frames = frames[int(len(frames) * IPC_WARM_UP):]
    result = {"rate": (len(frames) - 1) * 1e9 / (frames[-1][0] - frames[0][0])}
    for column, name in (1, "received"), (2, "launched"):
        delays = sorted(frame[column] for frame in frames if len(frame) > column)
        if delays:
            result[name] = delays[len(delays) // 2] / 1e9
            result[name + "-p99"] = delays[len(delays) * 99 // 100] / 1e9
    return result


class Measurer:
    """One function for each way to measure, which returns a figure in the case's unit."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.command = shlex.split(os.environ.get("VKGDR_BENCH_HELPER", "")) or [
            os.path.join(folder, "vkgdr-bench-helper")]
        if options.device >= 0:  # also for other processes
            os.environ["CUDA_DEVICE"] = str(options.device)
        self.helper = None
        self.hello = self.start_helper()
        self.until = time.monotonic() + QUICK_LIMIT
        self.changes = 0

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
            function = getattr(self, "measure_" + how.replace("-", "_"))
            sample = function(case, variant, *arguments)
            if sample is not None:
                variant.samples.append(sample)
        except Failure as failure:
            variant.error = str(failure)

    # --- pipelines

    def run(self, variant, warm_up=0, **others):
        return self.ask("run", self.options.seconds, **{"warm-up": float(warm_up)},
                        **{"pipeline": variant.pipeline, **others})

    def measure_rate(self, case, variant, batch=1):
        long = case.section == "streams" and not self.options.quick
        rate = self.run(variant, STREAMS_WARM_UP if long else 0)["rate"] * batch
        return {"GB/s": rate * case.bytes / 1e9, "us/frame": 1e6 / rate}.get(case.unit, rate)

    def measure_batches(self, case, variant):
        return self.measure_rate(case, variant, BATCH)

    def measure_kernel(self, case, variant):
        seconds = self.run(variant)["kernel-time"]
        # read and written
        return seconds * 1e6 if case.unit == "us/frame" else 2 * case.bytes / seconds / 1e9

    def measure_change(self, case, variant):
        """Each text is new, so that none comes from the cache of compiled kernels."""
        self.changes += 1
        value = f"rgba.r = {self.changes}.0f - rgba.r + {time.time_ns() % 10**9}.0f"
        pipeline = variant.pipeline.replace('pixel=""', f'pixel="{value} + 1.0f"')
        return self.run(variant, pipeline=pipeline, property="pixel",
                        value=value)["extra-gap"] * 1e3

    # --- new processes

    def measure_process(self, case, variant):
        with tempfile.TemporaryDirectory() as cache:
            environment = {"VKGDR_CACHE_DIR": cache} if variant.id == "vkgdrtensor" else {}
            command = [*self.command, "play", variant.pipeline + " name=first"]
            began = time.monotonic_ns()
            with start(command, **environment) as process:
                try:
                    return (read_line(process)["time"] - began) / 1e6
                finally:
                    process.kill()

    def in_python(self, what, argument):
        script = os.path.join(self.folder, "bench_process.py")
        return [sys.executable, script, what, argument]

    def measure_bare(self, case, variant, what):
        machine = self.hello["machine"]
        softcuda = self.hello["softcuda"] if machine["software"] else ""
        with start(self.in_python(what, {"cuda": softcuda, "vulkan": machine["name"]}[what])) as p:
            return read_line(p)["seconds"] * 1e3

    # --- without pipelines

    def measure_loop(self, case, variant, place, direct=None):
        """Threads that write to this place, or the first of them, if @direct is their number,
        to the window."""
        seconds = self.options.seconds * (MIX_SHARE if case.section == "streams" else 1)
        reply = self.ask("loops", seconds, threads=case.streams, direct=direct or 0, others=place,
                         bytes=case.bytes, area=case.area, buffers=self.options.buffers,
                         fill=case.fill)
        return reply["rate"] * (case.bytes / 1e9 if case.unit == "GB/s" else 1)

    def measure_best_mix(self, case, variant):
        """Measures some numbers of direct threads at even distances. Then halves the
        distance, and measures the two numbers at this distance from the best one.
        """
        step = max(case.streams // 4, 1)
        numbers, rates = range(0, case.streams + 1, step), {}
        while True:
            for number in numbers:
                rates[number] = self.measure_loop(case, variant, "pinned", number)
            best = max(rates, key=rates.get)
            if step == 1:
                break
            step //= 2
            numbers = [n for n in (best - step, best + step) if 0 <= n <= case.streams]
        variant.note = f"{best} of {case.streams} threads direct"
        return rates[best]

    def measure_copy(self, case, variant, name, size=None, seconds=None):
        """Seconds of one copy."""
        _, _, how, source, *target = COPIES[name]
        return self.ask("copy", seconds or self.options.seconds / COPIES_SHARE, how=how,
                        bytes=size or case.bytes, **{"from": source},
                        to=target[0] if target else "")["seconds"]

    def measure_link(self, case, variant, name, size=LINK):
        return size / self.measure_copy(case, variant, name, size, self.options.seconds) / 1e9

    def measure_device_copy(self, case, variant):
        return 2 * self.measure_link(case, variant, "on-device", case.bytes)

    # --- frames for other processes

    def measure_ipc(self, case, variant, figure):
        """Variants with the same pipelines show figures of one run. The first of them
        runs the pipelines, and adds the samples of all.
        """
        same = [v for v in case.variants if v.pipeline == variant.pipeline]
        if same[0] is not variant:
            return
        try:
            results = self.run_ipc(case, variant.pipeline)
        except Failure as failure:
            for other in same:
                other.error = str(failure)
            return
        for other in same:
            values = [result[other.how.partition(":")[2]] for result in results]
            # The slowest process counts.
            other.samples.append(max(values) * 1e6 if case.unit == "us/frame" else min(values))

    def run_ipc(self, case, pipeline):
        with tempfile.TemporaryDirectory(prefix="vkgdr-bench-") as folder:
            path = os.path.join(folder, "socket")
            source, consumer = pipeline.replace("IPC_PATH", path).split(CONSUMER)
            command = [*self.command, "play", consumer]
            if consumer.startswith("python:"):
                command = self.in_python("client", path)
            command = [*shlex.split(self.options.consumer_prefix or ""), *command]
            server = start([*self.command, "play", source])
            processes = [start(command) for _ in range(case.consumers)]
            results = None
            try:
                results = self.consume(processes)
            finally:
                for process in processes:
                    with process:
                        if results is None:
                            process.kill()
                with server:  # its error says more than those of its clients
                    server.stdin.close()
                    read_line(server)
            return results

    def consume(self, processes):
        """Waits until all processes have got a frame, measures, and ends them."""
        for process in processes:
            read_line(process)
        time.sleep(max(self.options.seconds, MIN_IPC_SECONDS))
        for process in processes:
            process.stdin.close()
        return [summarize_frames(read_line(process)["frames"]) for process in processes]
