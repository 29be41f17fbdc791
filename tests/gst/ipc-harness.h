/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-harness.h: a vkgdripcsink and a vkgdripcsrc in one process, and steps
 * that say what is sent, and what must arrive
 */

#ifndef __TEST_IPC_HARNESS_H__
#define __TEST_IPC_HARNESS_H__

#include "ipc-process.h"

G_BEGIN_DECLS

/* The server and its client. NULL if the element does not exist. */
extern GstHarness *test_sink, *test_src;

/* Runs steps, which semicolons separate. The end of a test checks that neither
 * element has posted an error, and stops both. NUMBERS are one number or two:
 * 2-5.
 *
 *   serve PROPERTIES, stop   make and stop the server
 *   start PROPERTIES         makes the client
 *   connect PROPERTIES       the same, and waits until it is connected
 *   disconnect               stops the client
 *   begin PROPERTIES         serve PROPERTIES; connect
 *   clients N                waits until there are N clients
 *
 *   push NUMBERS             frames into the server
 *   push-gated NUMBERS       frames that are not written before the gate opens
 *   push-all N               frames 0 to N-1, in another thread
 *   pushed N                 N of them have been accepted, and no others
 *   caps CAPS, eos, flush, flush-start, next-stream, tag SCOPE NAME TEXT
 *                            the same into the server
 *   warns                    the server has posted a warning
 *
 *   pull NUMBERS             these frames come next, and are whole
 *   keep NUMBERS             the same, and keeps them, until "drop"
 *   discont                  the last one has DISCONT
 *   get EVENT [CAPS]         the next event of this type, with such caps
 *   tagged SCOPE NAME [TEXT] whether the client has the tag
 *   flush-client             flushes the client
 *   block, unblock           the client's thread waits with the next frame
 *
 *   is FIELD N               a field of the server's stats becomes N
 *   open-gate                nothing has waited for the gate until now
 *   gate-passed              the work behind the gate is done
 *   sleep MS
 */
void test_ipc_run (const gchar *format, ...) G_GNUC_PRINTF (1, 2);

/* A case that consists of steps. */
#define TEST_STEPS(name, steps) \
  TEST (name) \
  { \
    test_ipc_run (steps); \
  } \
  struct test_steps_##name

/* Makes frame @number, which shares its allocation with no other memory. */
GstBuffer *test_ipc_new_frame (guint number);

void test_ipc_push_buffer (GstBuffer *buffer);
void test_ipc_push_event (GstEvent *event);

/* Returns the next frame of test_src, which must be frame @number, or the next
 * event of this type. The caller frees it. */
GstBuffer *test_ipc_pull (guint number);
GstEvent *test_ipc_pull_event (GstEventType type);

G_END_DECLS

#endif /* __TEST_IPC_HARNESS_H__ */
