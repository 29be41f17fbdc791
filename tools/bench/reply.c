/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * reply.c: what all commands of the helper need: members of requests, replies,
 * errors and the clock
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "helper.h"

static FILE *replies;

gboolean
bench_open_replies (void)
{
  int fd = dup (STDOUT_FILENO);

  replies = fd >= 0 ? fdopen (fd, "w") : NULL;
  return replies && dup2 (STDERR_FILENO, STDOUT_FILENO) >= 0;
}

void
bench_write_reply (JsonObject *reply, GError *error)
{
  JsonNode *root = json_node_new (JSON_NODE_OBJECT);
  gchar *text;

  if (error) {
    json_object_unref (reply);
    reply = json_object_new ();
    bench_set_text (reply, "error", error->message);
    g_error_free (error);
  }
  json_node_take_object (root, reply);
  text = json_to_string (root, FALSE);
  fprintf (replies, "%s\n", text);
  fflush (replies);
  g_free (text);
  json_node_unref (root);
}

void
bench_set_text (JsonObject *reply, const gchar *member, const gchar *text)
{
  gchar *valid = g_utf8_make_valid (text ? text : "", -1);

  json_object_set_string_member (reply, member, valid);
  g_free (valid);
}

void
bench_set_number (JsonObject *reply, const gchar *member, gdouble number)
{
  if (isfinite (number))
    json_object_set_double_member (reply, member, number);
  else
    json_object_set_null_member (reply, member);
}

gint64
bench_get_integer (JsonObject *request, const gchar *member)
{
  return json_object_get_int_member_with_default (request, member, 0);
}

gdouble
bench_get_number (JsonObject *request, const gchar *member)
{
  return json_object_get_double_member_with_default (request, member, 0);
}

const gchar *
bench_get_text (JsonObject *request, const gchar *member)
{
  return json_object_get_string_member_with_default (request, member, "");
}

gboolean
bench_fail (GError **error, const gchar *text)
{
  g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED, text);
  return FALSE;
}

gboolean
bench_set_last_error (GError **error)
{
  char *text = vkgdr_last_error ();

  bench_fail (error, text ? text : "the window has no memory");
  free (text);
  return FALSE;
}

gboolean
bench_check (CUresult result, const gchar *function, GError **error)
{
  const char *name = NULL;

  if (result == CUDA_SUCCESS)
    return TRUE;
  vkgdr_driver_load ()->cuGetErrorName (result, &name);
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
      "%s failed (%s, %d)", function, name ? name : "unknown", result);
  return FALSE;
}

gint64
bench_now (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (gint64) now.tv_sec * G_GINT64_CONSTANT (1000000000) + now.tv_nsec;
}
