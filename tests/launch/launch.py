# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs GStreamer's own programs with the plugin, in a clean environment.

Has the functions and pipelines that the tests in this folder share. Does not
contain expected results.

The first two arguments of each test are the paths of gst-launch-1.0 and
gst-inspect-1.0.
"""

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest

LAUNCH = sys.argv[1]
INSPECT = sys.argv[2]

ELEMENTS = ("vkgdrupload", "cudafilter", "vkgdrtensor", "vkgdrdownload", "vkgdripcsink",
            "vkgdripcsrc")

TIME_LIMIT = 60  # seconds, for one run
MISSED_ERROR_TIME = 10  # seconds, see run()

# Variables of the user that would change the result of a test.
CHOICES = ("CUDA_VISIBLE_DEVICES", "SOFTCUDA_FAIL", "VKGDR_DEBUG")
STARTS = ("GST_DEBUG", "GST_TRACERS", "VK_")

# With these, a process finds no driver.
NO_DEVICE = {
    "VKGDR_DRIVER": "nvidia",
    "VKGDR_SOFTCUDA_DIR": "/proc/missing",
    "VK_DRIVER_FILES": "/proc/missing.json",
    "VK_ICD_FILENAMES": "/proc/missing.json",
}

_VIDEO = (
    "videotestsrc num-buffers=8 "
    "! video/x-raw,format={format},width=320,height=240,framerate=30/1 "
)
# These pipelines end by themselves, and their output is the same each time.
PIPELINES = {
    "effect": _VIDEO.format(format="RGBA")
    + "! vkgdrupload ! cudafilter kernel=sobel ! vkgdrdownload",
    "threads": _VIDEO.format(format="NV12")
    + "! queue ! vkgdrupload access=staged ! queue ! cudafilter kernel=blur "
    "! queue ! vkgdrdownload ! queue",
    "pixel": _VIDEO.format(format="I420")
    + "! vkgdrupload ! cudafilter pixel='rgba.r *= gain;' "
    "params='params,gain=(float)0.5' ! vkgdrdownload",
    "another size": _VIDEO.format(format="RGBx")
    + "! vkgdrupload ! cudafilter kernel=convert "
    "output-caps=video/x-raw,format=GRAY8,width=64,height=48 ! vkgdrdownload",
    "others' memory": _VIDEO.format(format="RGB")
    + "! videobalance hue=0.5 ! videoscale ! video/x-raw,width=1024,height=768 "
    "! identity drop-allocation=true ! vkgdrupload ! cudafilter kernel=invert "
    "! vkgdrdownload",
    "two branches": _VIDEO.format(format="GRAY8")
    + "! vkgdrupload ! tee name=t ! queue ! vkgdrdownload ! fakesink "
    "t. ! queue ! cudafilter kernel=invert ! vkgdrdownload",
    "elements of one's own": _VIDEO.format(format="RGBx")
    + "! vkgdrupload ! vkgdrexampletint ! vkgdrexampleborder ! vkgdrdownload",
    "tensors": _VIDEO.format(format="NV12")
    + "! vkgdrupload ! vkgdrtensor width=64 height=64 batch=4 ! vkgdrdownload",
    "audio": "audiotestsrc num-buffers=20 ! audio/x-raw,format=S16LE,channels=2 "
    "! vkgdrupload ! cudafilter source='__global__ void k (VkgdrSamples in, VkgdrSamples out) "
    "{ long i = blockIdx.x * blockDim.x + threadIdx.x; "
    "if (i < out.n) ((short *) out.data)[i] = ((short *) in.data)[i] / 2; }' ! vkgdrdownload",
    "bytes": "filesrc num-buffers=20 blocksize=5000 location=" + shlex.quote(__file__)
    + " ! vkgdrupload ! vkgdrdownload",
}


def environment(**more):
    clean = {
        k: v
        for k, v in os.environ.items()
        if k not in CHOICES and not k.startswith(STARTS)
    }
    clean.update({"VKGDR_DRIVER": "software", "GST_DEBUG_NO_COLOR": "1"}, **more)
    return clean


def start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **env):
    """Starts a program. Its output is text."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        env=environment(**env),
        encoding="utf-8",
        errors="surrogateescape",
    )


def run(*command, **env):
    """Runs a program to its end.

    gst-launch-1.0 quits its main loop in the thread that posts an error. On a
    busy machine, this can happen before the loop runs. Then the program prints
    the error, but runs for ever. So it is interrupted after MISSED_ERROR_TIME,
    and ends with the exit status of the error.
    """
    with start(*command, **env) as process:
        try:
            output = communicate(process)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, *output)


def communicate(process):
    try:
        return process.communicate(timeout=MISSED_ERROR_TIME)
    except subprocess.TimeoutExpired as slow:
        if b"doesn't want to preroll" in (slow.stderr or b""):
            process.send_signal(signal.SIGINT)
        return process.communicate(timeout=TIME_LIMIT - MISSED_ERROR_TIME)


def launch(pipeline, **env):
    return run(LAUNCH, "-q", *shlex.split(pipeline), **env)


class Case(unittest.TestCase):
    """A test with its own folder for files."""

    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="vkgdr launch ")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()


def main():
    if launch("videotestsrc num-buffers=1 ! vkgdrupload ! fakesink").returncode != 0:
        print("There is no software device here.")
        return 77
    del sys.argv[1:3]
    return unittest.main(verbosity=2)
