/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-filter.h: the element vkgdrbenchfilter, a cudafilter that emits a
 * signal when it has launched its kernel
 *
 * The signal "launched" has no arguments, and is emitted before the output is
 * pushed. The element after this one must not be another filter, because then
 * the kernels could be collected, and launched later by a single call.
 */

#ifndef BENCH_FILTER_H
#define BENCH_FILTER_H

#include <glib.h>

/* Registers the element `vkgdrbenchfilter` in this process. Returns FALSE if
 * there is no cudafilter. */
gboolean bench_filter_register (void);

#endif /* BENCH_FILTER_H */
