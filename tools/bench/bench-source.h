/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-source.h: the element vkgdrbenchsrc, which writes frames
 */

#ifndef BENCH_SOURCE_H
#define BENCH_SOURCE_H

#include <gst/base/gstpushsrc.h>

G_BEGIN_DECLS

#define BENCH_TYPE_SOURCE (bench_source_get_type ())
G_DECLARE_FINAL_TYPE (BenchSource, bench_source, BENCH, SOURCE, GstPushSrc)

/* Registers the element `vkgdrbenchsrc` in this process. */
gboolean bench_source_register (void);

G_END_DECLS

#endif /* BENCH_SOURCE_H */
