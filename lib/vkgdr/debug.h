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

/**
 * vkgdr_debug:
 * @bar: the memory counts as an uncached window
 * @window: size of the window in bytes, 0 for the real size
 * @non_coherent: the memory counts as non-coherent
 * @no_window: no memory is device-local and host-visible
 * @no_vulkan: no Vulkan loader is found
 */
typedef struct vkgdr_debug {
  bool bar;
  uint64_t window;
  bool non_coherent;
  bool no_window;
  bool no_vulkan;
} vkgdr_debug;

/**
 * vkgdr_debug_parse:
 * @text: (nullable): value of VKGDR_DEBUG
 * @debug: (out): the parsed settings
 *
 * Returns: false if @text has an unknown word or a bad size (vkgdr_error_set())
 */
bool vkgdr_debug_parse (const char *text, vkgdr_debug *debug);

/**
 * vkgdr_debug_window_take:
 *
 * Takes @size bytes of the window. Thread-safe.
 *
 * Returns: false if not enough is left; always true without a @debug->window
 */
bool vkgdr_debug_window_take (const vkgdr_debug *debug, uint64_t size);

/**
 * vkgdr_debug_window_give:
 *
 * Gives bytes of vkgdr_debug_window_take() back.
 */
void vkgdr_debug_window_give (const vkgdr_debug *debug, uint64_t size);

/**
 * vkgdr_debug_window_used:
 *
 * Returns: the number of bytes that the process has taken
 */
uint64_t vkgdr_debug_window_used (void);

#endif /* VKGDR_DEBUG_H */
