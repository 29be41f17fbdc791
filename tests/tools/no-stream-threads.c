/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * no-stream-threads.c: a library that is loaded into vkgdr-bench, so that the
 * second thread of several streams cannot be created
 */

#include <dlfcn.h>

#include <glib.h>

__attribute__ ((visibility ("default"))) GThread *
g_thread_try_new (
    const gchar *name, GThreadFunc func, gpointer data, GError **error)
{
  static GThread *(*real) (const gchar *, GThreadFunc, gpointer, GError **);
  static gint streams;

  if (g_strcmp0 (name, "bench-stream") == 0
      && g_atomic_int_add (&streams, 1) == 1) {
    g_set_error_literal (
        error, G_THREAD_ERROR, G_THREAD_ERROR_AGAIN, "no thread is available");
    return NULL;
  }
  if (!real)
    *(void **) &real = dlsym (RTLD_NEXT, "g_thread_try_new");
  return real (name, func, data, error);
}
