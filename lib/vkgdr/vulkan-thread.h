/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * vulkan-thread.h: the thread that calls Vulkan
 *
 * NVIDIA's driver (580) keeps data for each thread that has called Vulkan. When
 * such a thread ends while another one is in vkDestroyDevice(), both wait for
 * each other for ever: each has a lock that the other one needs. So threads of
 * the application do not call Vulkan. One thread does, and it exists as long as
 * a device is open. The exceptions are vkgdr_memory_flush() and
 * vkgdr_memory_invalidate(): they call Vulkan in the application's thread, but
 * only for memory that is not coherent, which NVIDIA's driver does not have.
 *
 * Knows nothing of Vulkan itself. Private.
 */

#ifndef VKGDR_VULKAN_THREAD_H
#define VKGDR_VULKAN_THREAD_H

#include <stdbool.h>

typedef struct vkgdr_vulkan_thread vkgdr_vulkan_thread;

/* Starts the process's thread if there is none. Returns NULL on failure
 * (vkgdr_error_set()). Thread-safe. */
vkgdr_vulkan_thread *vkgdr_vulkan_thread_ref (void);

/* Ends the thread, and waits for its end, if this was the last reference.
 * Thread-safe. Must not be called by the thread itself. Does nothing in a
 * process that was forked after the thread was started. */
void vkgdr_vulkan_thread_unref (vkgdr_vulkan_thread *self);

/* Calls @function in the thread, and waits until it returns. It reads and sets
 * the caller's last error. Calls of several threads follow each other. Returns
 * false if @function was not called, because the process was forked after the
 * thread was started (vkgdr_error_set()). Thread-safe. */
bool vkgdr_vulkan_thread_run (
    vkgdr_vulkan_thread *self, void (*function) (void *), void *data);

#endif /* VKGDR_VULKAN_THREAD_H */
