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

#include "error.h"

typedef struct vkgdr_vulkan_thread vkgdr_vulkan_thread;

typedef enum vkgdr_vulkan_call_state {
  VKGDR_VULKAN_CALL_NEW,
  VKGDR_VULKAN_CALL_QUEUED,
  VKGDR_VULKAN_CALL_DONE
} vkgdr_vulkan_call_state;

/* A call of @function in the thread. The caller sets the first three fields,
 * and keeps the structure until the call is done. */
typedef struct vkgdr_vulkan_call {
  void (*function) (void *);
  void *data;
  vkgdr_error error; /* the last error that @function finds, and leaves */
  vkgdr_vulkan_call_state state;
  struct vkgdr_vulkan_call *next;
} vkgdr_vulkan_call;

/* Starts the process's thread if there is none. Returns NULL on failure
 * (vkgdr_error_set()). Thread-safe. */
vkgdr_vulkan_thread *vkgdr_vulkan_thread_ref (void);

/* Ends the thread, and waits for its end, if this was the last reference.
 * Thread-safe. Must not be called by the thread itself. Does nothing in a
 * process that was forked after the thread was started. */
void vkgdr_vulkan_thread_unref (vkgdr_vulkan_thread *self);

/* Queues @call, unless that was done before. Calls are made in their order.
 * exit() waits until they are done. Does nothing in a process that was forked
 * after the thread was started. Thread-safe. */
void vkgdr_vulkan_thread_begin (
    vkgdr_vulkan_thread *self, vkgdr_vulkan_call *call);

/* Thread-safe. */
vkgdr_vulkan_call_state vkgdr_vulkan_thread_get_state (
    vkgdr_vulkan_thread *self, const vkgdr_vulkan_call *call);

/* Queues @call like vkgdr_vulkan_thread_begin(), and waits until it is done.
 * Returns false if it is not done and never will be, because the process was
 * forked after the thread was started (vkgdr_error_set()). Thread-safe. */
bool vkgdr_vulkan_thread_wait (
    vkgdr_vulkan_thread *self, vkgdr_vulkan_call *call);

/* Calls @function in the thread, and waits until it returns. It reads and sets
 * the caller's last error. Returns false as vkgdr_vulkan_thread_wait() does.
 * Thread-safe. */
bool vkgdr_vulkan_thread_run (
    vkgdr_vulkan_thread *self, void (*function) (void *), void *data);

#endif /* VKGDR_VULKAN_THREAD_H */
