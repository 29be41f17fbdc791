# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints how many seconds a driver takes to open a device, in a new process.

    bench_bare.py bare-cuda | bare-vulkan NAME-OF-DEVICE FOLDER-OF-SOFTCUDA

Makes only the calls that every program has to make.
"""

import ctypes
import os
import sys
import time


def check(result, call):
    if result != 0:
        sys.exit(f"{call} failed: {result}")


def open_cuda(softcuda):
    """Opens the primary context of the first device."""
    cuda = ctypes.CDLL(os.path.join(softcuda, "libcuda.so.1"))
    context = ctypes.c_void_p()
    check(cuda.cuInit(0), "cuInit")
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), "cuDevicePrimaryCtxRetain")


class InstanceInfo(ctypes.Structure):
    """VkInstanceCreateInfo, without layers and extensions"""

    _fields_ = [("type", ctypes.c_int), ("zeros", 7 * ctypes.c_uint64)]


class QueueInfo(ctypes.Structure):
    """VkDeviceQueueCreateInfo"""

    _fields_ = [("type", ctypes.c_int), ("next", ctypes.c_void_p), ("flags", ctypes.c_uint32),
                ("family", ctypes.c_uint32), ("count", ctypes.c_uint32),
                ("priorities", ctypes.POINTER(ctypes.c_float))]


class DeviceInfo(ctypes.Structure):
    """VkDeviceCreateInfo, without layers, extensions and features"""

    _fields_ = [("type", ctypes.c_int), ("next", ctypes.c_void_p), ("flags", ctypes.c_uint32),
                ("n_queues", ctypes.c_uint32), ("queues", ctypes.POINTER(QueueInfo)),
                ("zeros", 6 * ctypes.c_uint64)]


def find_device(vulkan, instance, name):
    """The device with this name, or the first one."""
    count = ctypes.c_uint32(16)
    devices = (ctypes.c_void_p * count.value)()
    check(vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), devices),
          "vkEnumeratePhysicalDevices")
    for device in devices[:count.value]:
        properties = ctypes.create_string_buffer(2048)
        vulkan.vkGetPhysicalDeviceProperties(ctypes.c_void_p(device), properties)
        # The name follows five integers.
        if properties[20:276].split(b"\0")[0].decode() == name:
            return device
    return devices[0]


def open_vulkan(name):
    vulkan = ctypes.CDLL("libvulkan.so.1")
    instance, device = ctypes.c_void_p(), ctypes.c_void_p()
    check(vulkan.vkCreateInstance(ctypes.byref(InstanceInfo(1)), None, ctypes.byref(instance)),
          "vkCreateInstance")
    physical = ctypes.c_void_p(find_device(vulkan, instance, name))
    queue = QueueInfo(2, count=1, priorities=ctypes.pointer(ctypes.c_float(1)))
    info = DeviceInfo(3, n_queues=1, queues=ctypes.pointer(queue))
    check(vulkan.vkCreateDevice(physical, ctypes.byref(info), None, ctypes.byref(device)),
          "vkCreateDevice")


def main():
    which, name, softcuda = sys.argv[1:]
    began = time.monotonic()
    if which == "bare-cuda":
        open_cuda(softcuda)
    else:
        open_vulkan(name)
    print(time.monotonic() - began, flush=True)
    os._exit(0)  # drivers need not end cleanly here


if __name__ == "__main__":
    main()
