/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * debug.h: VKGDR_DEBUG, which simulates a device with fewer features
 *
 * Without a GPU, the window is ordinary memory: cached, coherent and large. To
 * test code for an uncached, non-coherent or small window, or for none,
 * VKGDR_DEBUG can contain these words, separated by commas:
 *
 *   bar           the memory counts as an uncached window
 *   bar=SIZE      and the window has SIZE bytes (K, M, G may follow) for all
 *                 handles of the process together
 *   non-coherent  the same as VKGDR_OPEN_FORCE_NON_COHERENT_BIT
 *   no-window     no memory is device-local and host-visible
 *   no-vulkan     there is no Vulkan loader
 *
 * Must not know Vulkan or CUDA. Private.
 */

#ifndef VKGDR_DEBUG_H
#define VKGDR_DEBUG_H

#include <stdbool.h>
#include <stdint.h>

typedef struct vkgdr_debug {
  bool bar;
  uint64_t window; /* bytes; 0: the real size */
  bool non_coherent;
  bool no_window;
  bool no_vulkan;
} vkgdr_debug;

/* @text: the value of VKGDR_DEBUG, or NULL. Returns false if it has an unknown
 * word or a bad size (vkgdr_error_set()). */
bool vkgdr_debug_parse (const char *text, vkgdr_debug *debug);

/* Takes bytes of a limited window, and gives them back. Returns false if not
 * enough is left. Thread-safe. */
bool vkgdr_debug_window_take (const vkgdr_debug *debug, uint64_t size);
void vkgdr_debug_window_give (const vkgdr_debug *debug, uint64_t size);

/* The number of bytes that the process has taken. */
uint64_t vkgdr_debug_window_used (void);

#endif /* VKGDR_DEBUG_H */
