/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-machine.h: describes the machine of the measurements
 */

#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <gst/vkgdr/vkgdr.h>

/**
 * bench_machine_describe:
 * @context: the device
 *
 * Returns: (transfer full): the fields of gst_vkgdr_context_describe(), and
 *   `cuda-driver` (the version as text), `gstreamer`, `cudaupload` (its
 *   plugin's version), `cpu`, `copy-isa`, `kernel`, `date` (strings) and `cpus`
 *   (int)
 */
GstStructure *bench_machine_describe (GstVkgdrContext *context);

#endif /* BENCH_MACHINE_H */
