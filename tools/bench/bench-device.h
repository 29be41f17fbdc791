/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-device.h: what measurements that reach the driver have in common
 */

#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include <gst/vkgdr/vkgdr.h>

#include "driver.h"
#include <vkgdr/vkgdr.h>

/* FALSE with @error set, naming @function, where @result is a failure. */
gboolean bench_check (const vkgdr_cuda *cu, CUresult result,
    const gchar *function, GError **error);

/* FALSE with @error set from vkgdr_last_error (). */
gboolean bench_set_last_error (GError **error);

/* The window of the device whose CUDA context is current; to be closed with
 * vkgdr_close (). NULL with @error set on failure. */
vkgdr_t bench_open_window (GError **error);

/* Not to be seen through by the compiler, which would leave out stores that
 * nobody reads. */
static inline void
bench_keep_stores (void)
{
  __asm__ volatile("" ::: "memory");
}

#endif /* BENCH_DEVICE_H */
