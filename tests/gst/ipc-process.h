/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-process.h: other processes for the tests of vkgdripcsink and vkgdripcsrc
 *
 * Another process is this program, started again with a role. It prints a
 * report.
 */

#ifndef __TEST_IPC_PROCESS_H__
#define __TEST_IPC_PROCESS_H__

#include <gio/gio.h>
#include <gst/check/gstcheck.h>

G_BEGIN_DECLS

/* The report of a client. */
typedef struct {
  guint frames;
  guint torn;        /* frames whose content does not belong to their
                      * timestamps */
  guint unordered;   /* frames whose number is not higher than the one before */
  guint first, last; /* the numbers of frames */
  gchar end[512];    /* "eos", or the error */
} TestIpcReport;

/* Starts a process with the role "client", "busy", "slow", "holder" or
 * "server", which uses test_ipc_path. */
GSubprocess *test_ipc_start (const gchar *role);

/* The same in its own PID namespace. Returns NULL if that is not permitted. */
GSubprocess *test_ipc_start_apart (const gchar *role);

/* Returns a line of its output, which the caller frees. */
gchar *test_ipc_read_line (GSubprocess *process);

/* Waits for the end of a client, and frees @process. Fails the test unless all
 * its frames were whole and in order, and @end is a part of its end. */
TestIpcReport test_ipc_finish (GSubprocess *process, const gchar *end);

/* Kills a process with SIGKILL, waits for its end, and frees @process. */
void test_ipc_kill (GSubprocess *process);

/* A checked fixture: test_setup_bar (), or test_setup () if VKGDR_DEBUG is set;
 * the element "testframes"; and test_ipc_path, the path of a socket in a folder
 * of its own. */
extern gchar *test_ipc_path;
void test_ipc_setup (void);
void test_ipc_teardown (void);

/* Whether memory of the device cannot be exported. If so, prints that the test
 * is skipped. */
gboolean test_ipc_cannot_export (void);

/* Makes a pipeline of @source and a vkgdripcsink with @properties, which serves
 * test_ipc_path. It has the test's context, and waits for its clients in
 * PAUSED. *@ipc is the vkgdripcsink. */
GstElement *test_ipc_new_server (
    const gchar *source, const gchar *properties, GstElement **ipc);

/* Stops the pipeline, and frees both objects. */
void test_ipc_stop_server (GstElement *pipeline, GstElement *ipc);

/* Waits until the property num-clients of @element is @n. */
void test_ipc_wait_clients (GstElement *element, guint n);

/* Returns a field of the property `stats`. */
guint64 test_ipc_stat (GstElement *element, const gchar *name);

/* Waits until the field is @value. Fails the test after some seconds. */
void test_ipc_wait_stat (GstElement *element, const gchar *name, guint64 value);

/* Whether all bytes of @buffer, a frame of "testframes", belong to its
 * timestamp. */
gboolean test_ipc_is_whole (GstBuffer *buffer, guint width, guint height);

/* The size of all frames. */
#define TEST_IPC_WIDTH 64
#define TEST_IPC_HEIGHT 48
#define TEST_IPC_CAPS \
  "video/x-raw,format=GRAY8,width=64,height=48,framerate=1000/1"

G_END_DECLS

#endif /* __TEST_IPC_PROCESS_H__ */
