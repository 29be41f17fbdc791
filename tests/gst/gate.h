/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gate.h: work on the device that begins when a test lets it
 *
 * One gate for the process. It is closed at first, and opens by itself after
 * ten seconds, so that no test hangs: then it was missed.
 */

#ifndef __TEST_GATE_H__
#define __TEST_GATE_H__

#include "util.h"

G_BEGIN_DECLS

void test_gate_set (gboolean open);

/* Whether somebody waited, who should have opened it. */
gboolean test_gate_was_missed (void);

/* A host function, behind which a stream's work waits. */
void test_gate_wait (void *user_data);

/* From now on, the library's transfers to the device wait. */
void test_gate_transfers (void);

G_END_DECLS

#endif /* __TEST_GATE_H__ */
