/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvcodec.h: GStreamer's own CUDA elements on the device that ours run on
 *
 * Knows nothing of what is tested with them.
 */

#ifndef __TEST_NVCODEC_H__
#define __TEST_NVCODEC_H__

#include <glib.h>

G_BEGIN_DECLS

/* Looks for their plugin. Returns why it is of no use here, NULL if it is;
 * static. */
const gchar *test_find_nvcodec (void);

/* Loads it, which was found, with the driver that our elements have: softcuda
 * where there is no GPU. Fails the test where it has no elements. */
void test_load_nvcodec (void);

G_END_DECLS

#endif /* __TEST_NVCODEC_H__ */
