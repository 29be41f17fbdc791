/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvrtc-folder.c: the folder that a compilation works in
 *
 * The folder is locked while it is used. A killed process leaves its folder
 * behind, but its lock ends. The next compilation removes such folders. Knows
 * nothing of compilers.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nvrtc-private.h"

#define PREFIX "softcuda-build-"

/* The number of folders that a removal keeps open at the same time. */
#define OPEN_FOLDERS 16

/* Another process may remove a new folder before it is locked. */
#define TRIES 10

/* ---- removal ---- */

static int
remove_one (const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  return remove (path);
}

static void
remove_all (const char *path)
{
  nftw (path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* Whether the folder belongs to this user and no process uses it. If so, it is
 * locked: close it only after the removal. */
static bool
is_left_behind (int folder)
{
  struct stat status;

  return fstat (folder, &status) == 0 && status.st_uid == geteuid ()
         && flock (folder, LOCK_EX | LOCK_NB) == 0;
}

static void
remove_left_behind (const char *parent)
{
  DIR *list = opendir (parent);
  struct dirent *entry;
  char path[PATH_MAX];

  if (list == NULL)
    return;
  while ((entry = readdir (list)) != NULL) {
    int folder;

    if (strncmp (entry->d_name, PREFIX, strlen (PREFIX)) != 0
        || snprintf (path, sizeof path, "%s/%s", parent, entry->d_name)
               >= (int) sizeof path)
      continue;
    folder = open (path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
      continue;
    if (is_left_behind (folder))
      remove_all (path);
    close (folder);
  }
  closedir (list);
}

/* ---- creation ---- */

/* If the file system does not support locks, folders of other processes are not
 * removed. */
static bool
lock (rt_folder *folder)
{
  struct stat opened;
  struct stat named;

  folder->lock =
      open (folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder->lock < 0)
    return false;
  flock (folder->lock, LOCK_EX);
  if (fstat (folder->lock, &opened) == 0 && stat (folder->path, &named) == 0
      && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev)
    return true;
  close (folder->lock);
  return false;
}

bool
rt_folder_make (rt_folder *folder)
{
  const char *parent = getenv ("TMPDIR");

  if (parent == NULL || *parent != '/')
    parent = "/tmp";
  remove_left_behind (parent);
  for (int i = 0; i < TRIES; i++) {
    if (asprintf (&folder->path, "%s/" PREFIX "XXXXXX", parent) < 0)
      return false;
    if (mkdtemp (folder->path) == NULL) {
      free (folder->path);
      return false;
    }
    if (lock (folder))
      return true;
    free (folder->path);
  }
  return false;
}

void
rt_folder_remove (rt_folder *folder)
{
  remove_all (folder->path);
  close (folder->lock);
  free (folder->path);
}

/* ---- files in it ---- */

/* Refuses absolute paths, and paths with the component `..`. */
bool
rt_name_is_inside (const char *file)
{
  const char *part = file;

  if (*file == '\0' || *file == '/' || file[strlen (file) - 1] == '/')
    return false;
  while (part != NULL) {
    size_t n = strcspn (part, "/");

    if (n == 2 && part[0] == '.' && part[1] == '.')
      return false;
    part = part[n] == '/' ? part + n + 1 : NULL;
  }
  return true;
}

bool
rt_folder_prepare (const char *folder, const char *file)
{
  char path[PATH_MAX];
  size_t base = strlen (folder);

  if (!rt_name_is_inside (file)
      || snprintf (path, sizeof path, "%s/%s", folder, file)
             >= (int) sizeof path)
    return false;
  for (char *slash = path + base; slash != NULL;
       slash = strchr (slash + 1, '/')) {
    *slash = '\0';
    if (mkdir (path, 0700) != 0 && errno != EEXIST)
      return false;
    *slash = '/';
  }
  return true;
}
