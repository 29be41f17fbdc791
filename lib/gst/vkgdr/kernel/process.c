/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/process.c: another program, run in a folder of its own
 *
 * Uses posix_spawn () instead of fork (): a copy of this process would share
 * its pinned memory, and DMA could write to the pages of the wrong process.
 * Knows nothing of what the program does.
 */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gst/vkgdr/gstvkgdrerror.h>

#include "kernel/process.h"

/* The bytes of the output that are kept, enough for some hundred messages. */
#define PROCESS_MAX_OUTPUT (64 * 1024)
/* The interval in microseconds in which a running program is checked: short
 * compared with a compilation, and no load for the CPU. */
#define PROCESS_FIRST_WAIT 1000
#define PROCESS_LONGEST_WAIT 10000
/* The number of folders that are open at the same time when a folder is
 * removed. */
#define PROCESS_OPEN_FOLDERS 16

/* --- the folder ---------------------------------------------------------- */

gchar *
gst_vkgdr_process_make_folder (GError **error)
{
  GError *reason = NULL;
  gchar *folder = g_dir_make_tmp ("gst-vkgdr-XXXXXX", &reason);

  if (!folder) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "A folder for temporary files cannot be made: %s", reason->message);
    g_error_free (reason);
  }
  return folder;
}

static int
process_remove_one (
    const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  return remove (path);
}

void
gst_vkgdr_process_remove_folder (const gchar *folder)
{
  nftw (folder, process_remove_one, PROCESS_OPEN_FOLDERS,
      FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* --- the program --------------------------------------------------------- */

/* The environment of this process without the variables @removed, but with
 * messages in English, and with temporary files in the folder, which is removed
 * later. */
static gchar **
process_make_environment (const gchar *const *removed, const gchar *folder)
{
  gchar **environment = g_get_environ ();

  for (; *removed; removed++)
    environment = g_environ_unsetenv (environment, *removed);
  environment = g_environ_setenv (environment, "LC_ALL", "C", TRUE);
  return g_environ_setenv (environment, "TMPDIR", folder, TRUE);
}

/* The standard input comes last: if this process has closed its own one, @log
 * has this number. */
static int
process_set_files (posix_spawn_file_actions_t *actions, int log)
{
  int result = posix_spawn_file_actions_adddup2 (actions, log, STDOUT_FILENO);

  if (result == 0)
    result = posix_spawn_file_actions_adddup2 (
        actions, STDOUT_FILENO, STDERR_FILENO);
  if (result == 0)
    result = posix_spawn_file_actions_addopen (
        actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)
  if (result == 0)
    result =
        posix_spawn_file_actions_addclosefrom_np (actions, STDERR_FILENO + 1);
#endif
#endif
  return result;
}

/* The program gets a process group of its own, so that its children can be
 * killed, too. Signals that this process blocks are not blocked in the program.
 */
static int
process_set_attributes (posix_spawnattr_t *attributes)
{
  sigset_t none, all;
  int result;

  sigemptyset (&none);
  sigfillset (&all);
  result = posix_spawnattr_setsigmask (attributes, &none);
  if (result == 0)
    result = posix_spawnattr_setsigdefault (attributes, &all);
  if (result == 0)
    result = posix_spawnattr_setpgroup (attributes, 0);
  if (result == 0)
    result = posix_spawnattr_setflags (attributes,
        POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  return result;
}

/* Returns an errno. */
static int
process_start (const gchar *const *argv, const gchar *const *removed,
    const gchar *folder, int log, pid_t *pid)
{
  gchar **environment = process_make_environment (removed, folder);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int result;

  posix_spawn_file_actions_init (&actions);
  posix_spawnattr_init (&attributes);
  result = process_set_files (&actions, log);
  if (result == 0)
    result = process_set_attributes (&attributes);
  if (result == 0)
    result = posix_spawn (
        pid, argv[0], &actions, &attributes, (char *const *) argv, environment);
  posix_spawnattr_destroy (&attributes);
  posix_spawn_file_actions_destroy (&actions);
  g_strfreev (environment);
  return result;
}

/* Returns FALSE if the program had to be killed. If the application ignores
 * SIGCHLD, the exit status is unknown, and counts as success: the caller checks
 * the output files. */
static gboolean
process_wait (pid_t pid, guint seconds, int *status)
{
  gint64 end = g_get_monotonic_time () + (gint64) seconds * G_USEC_PER_SEC;
  gulong wait = PROCESS_FIRST_WAIT;
  pid_t got;

  *status = 0;
  while ((got = waitpid (pid, status, WNOHANG)) != pid) {
    if (got < 0 && errno != EINTR)
      return TRUE;
    if (g_get_monotonic_time () >= end) {
      kill (-pid, SIGKILL);
      while (waitpid (pid, status, 0) < 0 && errno == EINTR)
        continue;
      return FALSE;
    }
    g_usleep (wait);
    wait = MIN (2 * wait, PROCESS_LONGEST_WAIT);
  }
  return TRUE;
}

static gchar *
process_read_output (int log)
{
  gchar *data = g_malloc (PROCESS_MAX_OUTPUT), *output;
  gssize size = pread (log, data, PROCESS_MAX_OUTPUT, 0);

  output = g_utf8_make_valid (data, MAX (size, 0));
  g_free (data);
  return g_strchomp (output);
}

static gboolean
process_judge (const gchar *program, int status, GError **error)
{
  if (WIFEXITED (status) && WEXITSTATUS (status) == 0)
    return TRUE;
  if (WIFSIGNALED (status))
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "%s was ended by signal %d (%s)", program, WTERMSIG (status),
        g_strsignal (WTERMSIG (status)));
  else
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_COMPILE,
        "%s ended with status %d", program, WEXITSTATUS (status));
  return FALSE;
}

/* The output goes to memory, so that a compiler can report a full disk. */
gboolean
gst_vkgdr_process_run (const gchar *const *argv, const gchar *const *removed,
    const gchar *folder, guint seconds, gchar **output, GError **error)
{
  int log = memfd_create ("vkgdr-output", MFD_CLOEXEC);
  int result = log >= 0 ? 0 : errno, status;
  gboolean in_time;
  pid_t pid;

  if (result == 0)
    result = process_start (argv, removed, folder, log, &pid);
  if (result != 0) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
        "%s cannot be started: %s", argv[0], g_strerror (result));
    *output = g_strdup ("");
    if (log >= 0)
      close (log);
    return FALSE;
  }
  in_time = process_wait (pid, seconds, &status);
  *output = process_read_output (log);
  close (log);
  if (in_time)
    return process_judge (argv[0], status, error);
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
      "%s was not done within %u s, and was killed", argv[0], seconds);
  return FALSE;
}
