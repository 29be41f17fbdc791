/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/shortage.c: resources of which the machine has run out
 *
 * Knows nothing of the operation that failed.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "kernel/shortage.h"

/* The bytes that a compilation needs in the folder for temporary files. */
#define SHORTAGE_MIN_SPACE (1024 * 1024)
/* The file descriptors that the driver needs to load an image. */
#define SHORTAGE_MIN_DESCRIPTORS 2

static gboolean
lacks_descriptors (gint *number)
{
  gint fds[SHORTAGE_MIN_DESCRIPTORS], n = 0;

  while (n < SHORTAGE_MIN_DESCRIPTORS
         && (fds[n] = open ("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
    n++;
  *number = errno;
  if (n == SHORTAGE_MIN_DESCRIPTORS)
    *number = 0;
  while (n > 0)
    close (fds[--n]);
  return *number == EMFILE || *number == ENFILE;
}

/* A resource limit may also forbid the process to write files of this size. */
static gboolean
lacks_space (const gchar *folder)
{
  struct rlimit limit;
  struct statvfs st;

  if (getrlimit (RLIMIT_FSIZE, &limit) == 0
      && limit.rlim_cur < SHORTAGE_MIN_SPACE)
    return TRUE;
  return statvfs (folder, &st) == 0
         && ((guint64) st.f_bavail * st.f_frsize < SHORTAGE_MIN_SPACE
             || (st.f_files > 0 && st.f_favail == 0));
}

gchar *
gst_vkgdr_shortage_explain (void)
{
  const gchar *folder = g_getenv ("TMPDIR");
  gint number;

  if (!folder || !*folder)
    folder = "/tmp";
  if (lacks_descriptors (&number))
    return g_strdup_printf (
        " The process has no file descriptors left (%s): see ulimit -n.",
        g_strerror (number));
  if (lacks_space (folder))
    return g_strdup_printf (" There is no space left for temporary files in %s "
                            "(TMPDIR names another folder).",
        folder);
  return g_strdup ("");
}
