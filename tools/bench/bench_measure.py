# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures the cases of vkgdr-bench: starts the helper, and asks it for figures.

helper.c describes the requests. Does not depend on how results are shown.
"""

import json
import os
import select
import shlex
import subprocess
import sys
import tempfile
import time

from bench_cases import CONSUMER

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
FILLS = ("memset", "copy", "uncached")
LONGEST = 600  # characters of an error message


class Failure(Exception):
    """A measurement has failed. The text is one line of limited length."""

    def __init__(self, text):
        super().__init__(" ".join(str(text).split())[:LONGEST])


class Timeout(Failure):
    """A process does not reply."""


def helper_command(folder):
    command = os.environ.get("VKGDR_BENCH_HELPER")
    return shlex.split(command) if command else [os.path.join(folder, "vkgdr-bench-helper")]


def read_line(process, seconds):
    """One object that the process has written, or None if it has ended."""
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    if not ready:
        raise Timeout(f"no reply in {seconds:.0f} s")
    line = process.stdout.readline()
    if not line:
        return None
    reply = json.loads(line)
    if "error" in reply:
        raise Failure(reply["error"])
    return reply


def summarize_frames(reply):
    """Frames per second, and delays in seconds, of one other process. It tells in nanoseconds
    when each frame was received, and the delays until it was received and launched."""
    times = reply["times"][int(len(reply["times"]) * IPC_WARM_UP):]
    result = {"rate": (len(times) - 1) * 1e9 / (times[-1] - times[0])}
    for name in "received", "launched":
        delays = reply.get(name, [])
        delays = sorted(delays[int(len(delays) * IPC_WARM_UP):])
        if delays:
            result[name] = delays[len(delays) // 2] / 1e9
            result[name + "-p99"] = delays[len(delays) * 99 // 100] / 1e9
    return result


class Helper:
    """The process that measures. If it has crashed, a new one is started."""

    def __init__(self, command, device):
        self.command = [*command, "serve", str(device)]
        self.process = None
        self.hello = self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        return self.read(PATIENCE)

    def read(self, seconds):
        try:
            reply = read_line(self.process, seconds)
        except Timeout:
            self.process.kill()
            self.stop()
            raise
        if reply is None:
            self.crashed()
        return reply

    def crashed(self):
        raise Failure(f"the helper ended with status {self.stop()}")

    def stop(self):
        process, self.process = self.process, None
        process.stdin.close()
        try:
            return process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()
        finally:
            process.stdout.close()

    def ask(self, what, seconds=0.0, **request):
        """Returns the reply. @seconds is the time of the measurement."""
        if not self.process:
            self.start()
        line = json.dumps({"do": what, "seconds": seconds, **request})
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.crashed()
        return self.read(PATIENCE + 20 * seconds)


class Measurer:
    """One function for each way to measure, which returns a figure in the case's unit."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.command = helper_command(folder)
        self.helper = Helper(self.command, options.device)
        self.hello = self.helper.hello
        self.until = time.monotonic() + QUICK_LIMIT
        self.changes = 0

    def measure(self, case, variant):
        """Adds a sample, or an error, after which the variant is left out."""
        if variant.error:
            return
        how, _, figure = variant.part.how.partition(":")
        try:
            if self.options.quick and time.monotonic() > self.until:
                raise Failure("left out: --quick has no more time")
            if how == "ipc":
                self.measure_ipc(case, variant)
            else:
                sample = getattr(self, "measure_" + how.replace("-", "_"))(case, variant)
                variant.samples.append(sample)
        except Failure as failure:
            variant.error = str(failure)

    def run(self, case, variant, **others):
        return self.helper.ask("run", self.options.seconds, pipeline=variant.pipeline, **others)

    # --- pipelines

    def measure_rate(self, case, variant):
        warm_up = STREAMS_WARM_UP if case.section == "streams" and not self.options.quick else 0
        rate = self.run(case, variant, **{"warm-up": warm_up})["rate"] * variant.part.batch
        return {"GB/s": rate * case.bytes / 1e9, "us/frame": 1e6 / rate}.get(case.unit, rate)

    def measure_kernel(self, case, variant):
        seconds = self.run(case, variant)["kernel-time"]
        if case.unit == "us/frame":
            return seconds * 1e6
        return 2 * case.bytes / seconds / 1e9  # read and written

    def measure_memory(self, case, variant):
        """In a new process: memory of an earlier pipeline could be used again."""
        helper = Helper(self.command, self.options.device)
        try:
            reply = helper.ask("run", self.options.seconds, pipeline=variant.pipeline)
        finally:
            if helper.process:
                helper.stop()
        return reply["memory"] / 1e6

    def measure_change(self, case, variant):
        """Each text is new, so that none comes from the cache of compiled kernels."""
        self.changes += 1
        value = f"rgba.r = {self.changes}.0f - rgba.r + {time.time_ns() % 10**9}.0f"
        pipeline = variant.pipeline.replace('pixel=""', f'pixel="{value} + 1.0f"')
        reply = self.helper.ask("run", self.options.seconds, pipeline=pipeline,
                                property="pixel", value=value)
        return reply["extra-gap"] * 1e3

    def measure_start(self, case, variant):
        return self.helper.ask("start", pipeline=variant.pipeline)["time"] * 1e3

    # --- new processes

    def measure_process(self, case, variant):
        with tempfile.TemporaryDirectory() as cache:
            env = dict(os.environ)
            if variant.id == "vkgdrtensor":
                env["VKGDR_CACHE_DIR"] = cache
            began = time.monotonic_ns()
            command = [*self.command, "first-frame", variant.pipeline]
            with subprocess.Popen(command, stdout=subprocess.PIPE, env=env) as process:
                reply = read_line(process, PATIENCE)
        if reply is None:
            raise Failure(f"the process ended with status {process.returncode}")
        return (reply["time"] - began) / 1e6

    def measure_bare(self, case, variant):
        script = os.path.join(self.folder, "bench_bare.py")
        machine = self.hello["machine"]
        softcuda = self.hello["softcuda"] if machine["software"] else ""
        run = subprocess.run([sys.executable, script, variant.id, machine["name"], softcuda],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             timeout=PATIENCE, check=False)
        if run.returncode != 0:
            raise Failure(run.stderr)
        return float(run.stdout) * 1e3

    # --- without pipelines

    def ask_loops(self, case, direct, others="staging", seconds=None):
        """@direct is the number of threads that write to the window."""
        reply = self.helper.ask("loops", seconds or self.options.seconds, threads=case.streams,
                                direct=direct, others=others, bytes=case.bytes, area=case.area,
                                buffers=self.options.buffers, fill=FILLS.index(case.fill))
        return reply["rate"] * (case.bytes / 1e9 if case.unit == "GB/s" else 1)

    def measure_loop(self, case, variant):
        direct = case.streams if variant.id in ("loop-window", "loops-direct") else 0
        others = "ram" if variant.id == "loop-ram" else "staging"
        seconds = self.options.seconds * (MIX_SHARE if case.section == "streams" else 1)
        return self.ask_loops(case, direct, others, seconds)

    def measure_best_mix(self, case, variant):
        """Measures some numbers of direct threads at even distances. Then halves the
        distance, and measures the two numbers at this distance from the best one.
        """
        step = max(case.streams // 4, 1)
        numbers, rates = range(0, case.streams + 1, step), {}
        while True:
            for number in numbers:
                rates[number] = self.ask_loops(case, number,
                                               seconds=self.options.seconds * MIX_SHARE)
            best = max(rates, key=rates.get)
            if step == 1:
                break
            step //= 2
            numbers = [n for n in (best - step, best + step) if 0 <= n <= case.streams]
        variant.note = f"{best} of {case.streams} threads direct"
        return rates[best]

    def measure_link(self, case, variant):
        kind = "htod" if variant.id == "link-to-device" else "dtoh"
        reply = self.helper.ask("copies", self.options.seconds, bytes=LINK,
                                only=f"{kind}-pinned-async")
        (copy,) = reply["copies"]
        if "error" in copy:
            raise Failure(copy["error"])
        return LINK / copy["seconds"] / 1e9

    def measure_device_copy(self, case, variant):
        reply = self.helper.ask("device-copy", self.options.seconds, bytes=case.bytes)
        return 2 * case.bytes / reply["time"] / 1e9

    def measure_copies(self, size):
        """The copies of one size. A copy that failed has an error."""
        return self.helper.ask("copies", self.options.seconds / COPIES_SHARE,
                               bytes=size)["copies"]

    # --- frames for other processes

    def measure_ipc(self, case, variant):
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
            values = [result[other.part.how.partition(":")[2]] for result in results]
            if case.unit == "us/frame":  # the slowest process counts
                other.samples.append(max(values) * 1e6)
            else:
                other.samples.append(min(values))

    def run_ipc(self, case, pipeline):
        with tempfile.TemporaryDirectory(prefix="vkgdr-bench-") as folder:
            path = os.path.join(folder, "socket")
            server, consumer = pipeline.replace("IPC_PATH", path).split(CONSUMER)
            command = [*self.command, "consume", consumer]
            if consumer.startswith("python:"):
                script = os.path.join(self.folder, "bench_client.py")
                command = [sys.executable, script, consumer[len("python:"):]]
            command = [*shlex.split(self.options.consumer_prefix or ""), *command]
            processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                         for _ in range(case.consumers)]
            results = None
            try:
                self.helper.ask("serve", pipeline=server)
                results = self.consume(processes)
            finally:
                for process in processes:
                    process.stdin.close()
                    if results is None:
                        process.kill()
                    process.wait()
                    process.stdout.close()
                self.helper.ask("serve-end")
            return results

    def consume(self, processes):
        """Waits until all processes have got a frame, measures, and ends them."""
        for process in processes:
            self.wait_for(process)
        time.sleep(max(self.options.seconds, MIN_IPC_SECONDS))
        for process in processes:
            process.stdin.close()
        return [summarize_frames(self.wait_for(process)) for process in processes]

    def wait_for(self, process):
        try:
            reply = read_line(process, PATIENCE)
        except Failure as failure:
            raise Failure(f"the process failed: {failure}") from None
        if reply is None:
            raise Failure("the process failed: no message")
        return reply
