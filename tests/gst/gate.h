/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gate.h: work on the device that begins when a test opens a gate
 *
 * There is one gate in the process. It is closed at first, and opens by itself
 * after 25 seconds, so that no test hangs. test_gate_was_missed () then
 * returns TRUE.
 */

#ifndef __TEST_GATE_H__
#define __TEST_GATE_H__

#include "util.h"

G_BEGIN_DECLS

void test_gate_set (gboolean open);

/* Whether the gate has opened by itself, because the test did not open it while
 * work was waiting. */
gboolean test_gate_was_missed (void);

/* A host function that waits until the gate opens. A stream runs the work
 * behind it after that. */
void test_gate_wait (void *user_data);

/* Closes the gate, and keeps @stream busy until the gate opens and for @ms
 * milliseconds after that. Then sets *@done (nullable) to TRUE. So a test can
 * check that a call does not wait for the stream, however slow the machine is,
 * and that a call after test_gate_set (TRUE) does wait. */
void test_gate_delay (GstVkgdrStream *stream, guint ms, gint *done);

/* The same, while the stream uses @memory: reads it, or writes to it. */
void test_gate_access (GstMemory *memory, GstVkgdrStream *stream,
    GstMapFlags flags, guint ms, gint *done);

/* From now on, the library's transfers to the device wait for the gate. */
void test_gate_transfers (void);

G_END_DECLS

#endif /* __TEST_GATE_H__ */
