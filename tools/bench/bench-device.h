/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-device.h: functions for measurements that use the driver
 */

#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include <gst/vkgdr/vkgdr.h>

#include "driver.h"
#include <vkgdr/vkgdr.h>

/* If @result is an error, returns FALSE and sets @error, which names
 * @function. */
gboolean bench_check (const vkgdr_cuda *cu, CUresult result,
    const gchar *function, GError **error);

/* Returns FALSE, and sets @error from vkgdr_last_error (). */
gboolean bench_set_last_error (GError **error);

/* Opens the window of the device whose CUDA context is current. The caller
 * closes it with vkgdr_close (). Returns NULL with @error set on failure. */
vkgdr_t bench_open_window (GError **error);

/* The compiler must assume that this reads all memory. So it does not leave out
 * earlier stores whose result is not read. */
static inline void
bench_keep_stores (void)
{
  __asm__ volatile("" ::: "memory");
}

#endif /* BENCH_DEVICE_H */
