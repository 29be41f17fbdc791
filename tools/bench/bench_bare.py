# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints how many seconds a driver takes to open a device, in a new process.

    bench_bare.py bare-cuda | bare-vulkan NAME-OF-DEVICE FOLDER-OF-SOFTCUDA

Makes only the calls that every program has to make.
"""

import ctypes
import os
import struct
import sys
import time


def call(library, name, *args):
    result = getattr(library, name)(*args)
    if result != 0:
        sys.exit(f"{name} failed: {result}")


def open_cuda(softcuda):
    """Opens the primary context of the first device."""
    cuda = ctypes.CDLL(os.path.join(softcuda, "libcuda.so.1"))
    call(cuda, "cuInit", 0)
    call(cuda, "cuDevicePrimaryCtxRetain", ctypes.byref(ctypes.c_void_p()), 0)


def find_device(vulkan, instance, name):
    """The device with this name, or the first one."""
    count, devices = ctypes.c_uint32(16), (ctypes.c_void_p * 16)()
    call(vulkan, "vkEnumeratePhysicalDevices", instance, ctypes.byref(count), devices)
    for device in devices[:count.value]:
        properties = ctypes.create_string_buffer(2048)
        vulkan.vkGetPhysicalDeviceProperties(ctypes.c_void_p(device), properties)
        # The name follows five integers.
        if properties[20:276].split(b"\0")[0].decode() == name:
            return ctypes.c_void_p(device)
    return ctypes.c_void_p(devices[0])


def open_vulkan(name):
    """Makes a device without layers and extensions, with one queue."""
    vulkan = ctypes.CDLL("libvulkan.so.1")
    instance, device = ctypes.c_void_p(), ctypes.c_void_p()
    info = struct.pack("i60x", 1)  # VkInstanceCreateInfo
    call(vulkan, "vkCreateInstance", info, None, ctypes.byref(instance))
    priority = ctypes.c_float(1)
    queue = ctypes.create_string_buffer(  # VkDeviceQueueCreateInfo
        struct.pack("iPIIIP", 2, 0, 0, 0, 1, ctypes.addressof(priority)))
    info = struct.pack("iPIIP48x", 3, 0, 0, 1, ctypes.addressof(queue))  # VkDeviceCreateInfo
    call(vulkan, "vkCreateDevice", find_device(vulkan, instance, name), info, None,
         ctypes.byref(device))


if __name__ == "__main__":
    began = time.monotonic()
    if sys.argv[1] == "bare-cuda":
        open_cuda(sys.argv[3])
    else:
        open_vulkan(sys.argv[2])
    print(time.monotonic() - began, flush=True)
    os._exit(0)  # drivers need not end cleanly here
