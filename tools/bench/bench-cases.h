/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-cases.h: which pipelines are measured, and what they are compared with
 */

#ifndef BENCH_CASES_H
#define BENCH_CASES_H

#include <gst/vkgdr/vkgdr.h>

#include "bench-options.h"
#include "bench-results.h"

/**
 * bench_cases_make:
 * @context: the device
 * @options: the user's options
 *
 * Returns: (transfer full): array of BenchCase, section by section, without
 *   samples. The samples of a variant that cannot run on this machine have an
 *   error
 */
GPtrArray *bench_cases_make (
    GstVkgdrContext *context, const BenchOptions *options);

#endif /* BENCH_CASES_H */
