# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures in a process of its own, and replies with JSON, as the helper does.

    bench_process.py cuda FOLDER-OF-SOFTCUDA | vulkan NAME-OF-DEVICE | client PATH-OF-SOCKET

With `cuda` and `vulkan`: the seconds that a driver takes to open a device, with only the
calls that every program has to make. With `client`: like `vkgdr-bench-helper play`, but
frames are received by the Python module vkgdr, without GStreamer.
"""

import ctypes
import json
import os
import select
import struct
import sys
import time

ENOUGH = 8  # frames that a result needs


def call(library, name, *args):
    result = getattr(library, name)(*args)
    if result != 0:
        raise RuntimeError(f"{name} failed: {result}")


def open_cuda(softcuda):
    """Opens the primary context of the first device."""
    cuda = ctypes.CDLL(os.path.join(softcuda, "libcuda.so.1"))
    call(cuda, "cuInit", 0)
    call(cuda, "cuDevicePrimaryCtxRetain", ctypes.byref(ctypes.c_void_p()), 0)


def open_vulkan(name):
    """Opens the device with this name, or the first one, without layers and extensions, with
    one queue."""
    vulkan = ctypes.CDLL("libvulkan.so.1")
    instance, device = ctypes.c_void_p(), ctypes.c_void_p()
    info = struct.pack("i60x", 1)  # VkInstanceCreateInfo
    call(vulkan, "vkCreateInstance", info, None, ctypes.byref(instance))
    count, devices = ctypes.c_uint32(16), (ctypes.c_void_p * 16)()
    call(vulkan, "vkEnumeratePhysicalDevices", instance, ctypes.byref(count), devices)
    chosen = devices[0]
    for candidate in devices[:count.value]:
        properties = ctypes.create_string_buffer(2048)
        vulkan.vkGetPhysicalDeviceProperties(ctypes.c_void_p(candidate), properties)
        # The name follows five integers.
        if properties[20:276].split(b"\0")[0].decode() == name:
            chosen = candidate
    priority = ctypes.c_float(1)
    queue = ctypes.create_string_buffer(  # VkDeviceQueueCreateInfo
        struct.pack("iPIIIP", 2, 0, 0, 0, 1, ctypes.addressof(priority)))
    info = struct.pack("iPIIP48x", 3, 0, 0, 1, ctypes.addressof(queue))  # VkDeviceCreateInfo
    call(vulkan, "vkCreateDevice", ctypes.c_void_p(chosen), info, None, ctypes.byref(device))


def reply(**values):
    print(json.dumps(values), flush=True)


def receive(path):
    import vkgdr

    frames = []
    for _frame in vkgdr.Frames(path, timeout=30):
        frames.append([time.monotonic_ns()])
        if len(frames) == 1:
            reply(time=frames[0][0])
        if len(frames) >= ENOUGH and select.select([sys.stdin], [], [], 0)[0]:
            break
    reply(frames=frames)


def main(what, argument):
    try:
        if what == "client":
            receive(argument)
            return
        began = time.monotonic()
        {"cuda": open_cuda, "vulkan": open_vulkan}[what](argument)
        reply(seconds=time.monotonic() - began)
        os._exit(0)  # drivers need not end cleanly here
    except Exception as error:  # vkgdr-bench shows it
        reply(error=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
