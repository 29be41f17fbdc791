/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvrtc-host.c: the host's C++ compiler
 *
 * Runs the compiler without a shell. The compiler inherits the environment of
 * the process, but not its signal settings or, with glibc 2.34 or newer, its
 * open files. Knows nothing of CUDA.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvrtc-private.h"

/* The exit status of posix_spawn()'s child if it cannot report an error to its
 * parent, for example under valgrind. */
#define EXIT_NOT_FOUND 127

extern char **environ;

/* The environment, changed so that messages are in English, and temporary files
 * are in the folder and are removed with it. */
static bool
make_environment (const char *folder, rt_strings *environment)
{
  for (char **e = environ; *e != NULL; e++)
    if (strncmp (*e, "LC_ALL=", 7) != 0 && strncmp (*e, "TMPDIR=", 7) != 0)
      rt_strings_add (environment, *e, strlen (*e));
  rt_strings_print (environment, "LC_ALL=C");
  rt_strings_print (environment, "TMPDIR=%s", folder);
  return !environment->failed;
}

static int
set_files (posix_spawn_file_actions_t *actions, const char *log_path)
{
  int error = posix_spawn_file_actions_addopen (
      actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

  if (error == 0)
    error = posix_spawn_file_actions_addopen (
        actions, STDOUT_FILENO, log_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (error == 0)
    error = posix_spawn_file_actions_adddup2 (
        actions, STDOUT_FILENO, STDERR_FILENO);
#if __GLIBC_PREREQ(2, 34)
  if (error == 0)
    error =
        posix_spawn_file_actions_addclosefrom_np (actions, STDERR_FILENO + 1);
#endif
  return error;
}

/* The caller may have blocked or ignored signals that a compiler needs. */
static int
set_signals (posix_spawnattr_t *attributes)
{
  sigset_t none;
  sigset_t all;
  int error;

  sigemptyset (&none);
  sigfillset (&all);
  error = posix_spawnattr_setsigmask (attributes, &none);
  if (error == 0)
    error = posix_spawnattr_setsigdefault (attributes, &all);
  if (error == 0)
    error = posix_spawnattr_setflags (
        attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  return error;
}

/* Returns 0 or an errno. */
static int
spawn (const char *program, const rt_strings *arguments,
    const rt_strings *environment, const char *log_path, pid_t *pid)
{
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  char **argv = calloc (arguments->n + 2, sizeof *argv);
  int error;

  if (argv == NULL)
    return ENOMEM;
  argv[0] = (char *) program;
  memcpy (argv + 1, arguments->item, arguments->n * sizeof *argv);
  posix_spawn_file_actions_init (&actions);
  posix_spawnattr_init (&attributes);
  error = set_files (&actions, log_path);
  if (error == 0)
    error = set_signals (&attributes);
  if (error == 0)
    error = posix_spawnp (
        pid, program, &actions, &attributes, argv, environment->item);
  posix_spawnattr_destroy (&attributes);
  posix_spawn_file_actions_destroy (&actions);
  free (argv);
  return error;
}

/* The exit status, as in a shell. If the process ignores SIGCHLD, the status is
 * unknown, and the caller checks the compiler's output files instead. */
static int
wait_for (pid_t pid)
{
  int status;

  while (waitpid (pid, &status, 0) < 0)
    if (errno != EINTR)
      return errno == ECHILD ? 0 : EXIT_FAILURE;
  return WIFEXITED (status) ? WEXITSTATUS (status) : EXIT_FAILURE;
}

static rt_host_result
run (const char *program, const char *folder, const rt_strings *arguments,
    const rt_strings *environment, rt_text *log)
{
  char log_path[PATH_MAX];
  size_t before = log->size;
  pid_t pid;
  int status;
  int error;

  if (snprintf (log_path, sizeof log_path, "%s/log", folder)
      >= (int) sizeof log_path)
    return RT_HOST_FAILED;
  error = spawn (program, arguments, environment, log_path, &pid);
  if (error == ENOENT)
    return RT_HOST_NO_COMPILER;
  if (error != 0) {
    rt_text_print (
        log, "softcuda: cannot run %s: %s\n", program, strerror (error));
    return RT_HOST_FAILED;
  }
  status = wait_for (pid);
  rt_text_read_file (log, log_path);
  if (status == EXIT_NOT_FOUND && log->size == before)
    return RT_HOST_NO_COMPILER;
  return status == 0 ? RT_HOST_DONE : RT_HOST_FAILED;
}

rt_host_result
rt_host_compiler (const char *folder, const rt_strings *arguments, rt_text *log)
{
  const char *own = getenv ("SOFTCUDA_CXX");
  const char *const usual[] = { "c++", "g++", "clang++", NULL };
  const char *const only[] = { own, NULL };
  rt_strings environment = { NULL, 0, false };
  rt_host_result result = RT_HOST_NO_COMPILER;

  if (make_environment (folder, &environment)) {
    const char *const *name = own != NULL && *own != '\0' ? only : usual;

    for (; *name != NULL && result == RT_HOST_NO_COMPILER; name++)
      result = run (*name, folder, arguments, &environment, log);
  } else {
    result = RT_HOST_FAILED;
  }
  rt_strings_clear (&environment);
  if (result != RT_HOST_NO_COMPILER)
    return result;
  if (own != NULL && *own != '\0')
    rt_text_print (
        log, "softcuda: SOFTCUDA_CXX names %s, which was not found\n", own);
  else
    rt_text_print (log,
        "softcuda: no C++ compiler found, which the software "
        "device needs for CUDA kernels; on Debian install the package g++\n");
  return result;
}
