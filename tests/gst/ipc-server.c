/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-server.c: tests of gst/ipc/server.h, when system calls fail
 */

#include <errno.h>
#include <glib/gstdio.h>
#include <gst/check/gstcheck.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../gst/ipc/server.h"

/* --- system calls that fail ---------------------------------------------- */

/* How often the server tries in vain. */
#define N_FAILURES 5

/* The calls that fail. One thread at a time uses this. */
typedef struct {
  gint number;     /* atomic: of the error; 0: the calls do not fail */
  gint n_failures; /* atomic */
  gint64 times[N_FAILURES];
} Fault;

static Fault accept_fault, send_fault;

/* Returns whether this call fails, with errno set. */
static gboolean
fails (Fault *fault)
{
  gint n = g_atomic_int_get (&fault->n_failures);

  if (g_atomic_int_get (&fault->number) == 0 || n == N_FAILURES)
    return FALSE;
  fault->times[n] = g_get_monotonic_time ();
  g_atomic_int_inc (&fault->n_failures);
  errno = g_atomic_int_get (&fault->number);
  return TRUE;
}

int
accept4 (int fd, struct sockaddr *address, socklen_t *size, int flags)
{
  return fails (&accept_fault)
             ? -1
             : syscall (SYS_accept4, fd, address, size, flags);
}

ssize_t
sendmsg (int fd, const struct msghdr *message, int flags)
{
  return fails (&send_fault) ? -1 : syscall (SYS_sendmsg, fd, message, flags);
}

/* There were at least @interval microseconds between the calls that failed,
 * from the one with the index @first on. */
static void
assert_intervals (Fault *fault, guint first, gint64 interval)
{
  guint i;

  fail_unless_equals_int (g_atomic_int_get (&fault->n_failures), N_FAILURES);
  for (i = first + 1; i < N_FAILURES; i++)
    fail_unless (fault->times[i] - fault->times[i - 1] >= interval,
        "again after %d us", (gint) (fault->times[i] - fault->times[i - 1]));
}

/* --- a server, and a client that reads its messages ---------------------- */

static gchar *folder, *path;
static GstVkgdrIpcServer *server;

static void
on_error (gpointer user_data, const GError *error)
{
  fail ("%s", error->message);
}

static void
setup (void)
{
  GstVkgdrIpcServerParams params = { .max_buffers = 4, .on_error = on_error };
  GError *error = NULL;

  folder = g_dir_make_tmp ("vkgdr-ipc-XXXXXX", NULL);
  path = g_build_filename (folder, "socket", NULL);
  params.path = path;
  server = gst_vkgdr_ipc_server_new (&params, &error);
  fail_unless (server != NULL, "%s", error ? error->message : "");
}

static void
teardown (void)
{
  gst_vkgdr_ipc_server_free (server, NULL);
  g_rmdir (folder);
  g_free (path);
  g_free (folder);
}

static gint
connect_client (void)
{
  gboolean is_absent;
  GError *error = NULL;
  gint fd = gst_vkgdr_ipc_connect (path, &is_absent, &error);

  fail_unless (fd >= 0, "%s", error ? error->message : "");
  return fd;
}

/* Reads messages up to one of @type. */
static void
read_until (gint fd, GstVkgdrIpcType type)
{
  guint8 data[GST_VKGDR_IPC_MAX_MESSAGE];
  GstByteReader reader;
  guint32 found = 0;
  gsize size;

  while (found != type) {
    fail_unless (gst_vkgdr_ipc_wait (fd, -1, -1));
    size = sizeof (data);
    fail_unless (
        gst_vkgdr_ipc_receive (fd, data, &size, NULL) == GST_VKGDR_IPC_OK);
    fail_unless (gst_vkgdr_ipc_read_type (data, size, &reader, &found));
  }
}

/* Waits until the server has a client. */
static void
wait_client (void)
{
  GstVkgdrIpcServerFigures figures;

  for (;;) {
    gst_vkgdr_ipc_server_get_figures (server, &figures);
    if (figures.clients == 1)
      return;
    g_usleep (1000);
  }
}

/* --- tests --------------------------------------------------------------- */

/* The connection stays in the queue of the socket, which poll () reports. */
GST_START_TEST (test_no_descriptors)
{
  gint fd;

  g_atomic_int_set (&accept_fault.number, EMFILE);
  fd = connect_client ();
  read_until (fd, GST_VKGDR_IPC_HELLO);
  assert_intervals (&accept_fault, 0, GST_VKGDR_IPC_RETRY_INTERVAL);
  close (fd);
}
GST_END_TEST

/* The socket of the client has room, which poll () reports. */
GST_START_TEST (test_no_resources)
{
  static const gint numbers[] = { ETOOMANYREFS, ENOBUFS };
  gint fd = connect_client ();

  wait_client ();
  g_atomic_int_set (&send_fault.number, numbers[__i__]);
  gst_vkgdr_ipc_server_mark (
      server, GST_VKGDR_IPC_EOS, gst_vkgdr_ipc_write_plain (GST_VKGDR_IPC_EOS));
  read_until (fd, GST_VKGDR_IPC_EOS);
  /* The calling thread has made the first attempt. The io thread may have made
   * the next two without a wait: one because it was handling its clients at
   * that time, and one because it was woken. */
  assert_intervals (&send_fault, 2, GST_VKGDR_IPC_RETRY_INTERVAL);
  close (fd);
}
GST_END_TEST

static Suite *
ipc_server_suite (void)
{
  Suite *suite = suite_create ("ipc-server");
  TCase *tc = tcase_create ("general");

  tcase_add_checked_fixture (tc, setup, teardown);
  suite_add_tcase (suite, tc);
  tcase_add_test (tc, test_no_descriptors);
  tcase_add_loop_test (tc, test_no_resources, 0, 2);
  return suite;
}

GST_CHECK_MAIN (ipc_server);
