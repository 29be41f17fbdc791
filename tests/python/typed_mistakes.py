# SPDX-License-Identifier: LGPL-2.1-or-later
"""Mistakes that a type checker finds (test_stubs.py).

Exactly the lines that end with a comment are mistakes. The program is not run.
"""

from gi.repository import GstVkgdr

import vkgdr
from vkgdr import driver
from vkgdr.compiler import SourceModule

context = GstVkgdr.Context("device 0")  # error: arg-type
context = GstVkgdr.Context(0)
one: int = context.get_memory_info()  # error: assignment
GstVkgdr.Stream(0)  # error: arg-type
driver.Event().record().synchronize(3)  # error: call-arg
allocator = context.get_allocator()
allocator.alloc("1024")  # error: arg-type
allocator.alloc_pinned()  # error: call-arg
memory = allocator.alloc(1024)
driver.mem_alloc(16, cuont=3)  # error: call-arg
driver.Device(0).make_context("0")  # error: arg-type
driver.memcpy_htod(memory)  # error: call-arg
driver.memset_d8("memory", 0, 1)  # error: arg-type
name: int = driver.Device(0).name()  # error: assignment
driver.Stream().wait_for_event(driver.Stream())  # error: arg-type
driver.pagelocked_zeros(4)  # error: call-arg
SourceModule("source").get_global("x").size  # error: attr-defined
SourceModule(b"source")  # error: arg-type
GstVkgdr.no_such_function()  # error: attr-defined
function = SourceModule("source").get_function("f")
function(memory, block=256)  # error: arg-type
function.prepared_timed_call((1,), (1,), memory).seconds  # error: attr-defined
pointer: int = GstVkgdr.memory_get_host_pointer(memory)  # error: assignment
handle = vkgdr.Vkgdr("0")  # error: arg-type
vkgdr.RawMemory(handle)  # error: call-arg
vkgdr.RawMemory(handle, 16).device_ptr = 0  # error: misc
