/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-filter.h: the element vkgdrbenchfilter, a cudafilter that tells when it
 * has launched its kernel
 *
 * It has the signal "launched", without arguments. The signal is emitted before
 * the output is pushed. So the element after it must not be another filter, for
 * which the kernel could be kept.
 */

#ifndef BENCH_FILTER_H
#define BENCH_FILTER_H

#include <glib.h>

/* Registers the element `vkgdrbenchfilter` in this process. Returns FALSE if
 * there is no cudafilter. */
gboolean bench_filter_register (void);

#endif /* BENCH_FILTER_H */
