/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bytes.h: checks of single bytes, of texts and of errors
 */

#ifndef __TEST_BYTES_H__
#define __TEST_BYTES_H__

#include <gst/check/gstcheck.h>
#include <gst/vkgdr/vkgdr.h>
#include <string.h>

G_BEGIN_DECLS

/* Fails the test unless @byte, the one at @index, is @expected. In a loop over
 * many bytes, libcheck's own checks take long: each of them makes a system
 * call.
 */
static inline void
test_check_byte (gsize index, guint8 byte, guint8 expected)
{
  if (byte != expected)
    fail (
        "byte %" G_GSIZE_FORMAT " is %u instead of %u", index, byte, expected);
}

/* Whether @text contains each of @parts, which are separated by "|". */
static inline gboolean
test_contains (const gchar *text, const gchar *parts)
{
  gchar **list = g_strsplit (parts, "|", -1);
  gboolean has_all = text != NULL;
  guint i;

  for (i = 0; has_all && list[i]; i++)
    has_all = strstr (text, list[i]) != NULL;
  g_strfreev (list);
  return has_all;
}

static inline void
test_assert_contains (const gchar *text, const gchar *parts)
{
  fail_unless (test_contains (text, parts), "\"%s\" lacks \"%s\"",
      text ? text : "", parts);
}

/* Fails the test unless @error is GST_VKGDR_ERROR and @code, and its message
 * contains @parts. Clears it. */
static inline void
test_assert_error_says (GError **error, gint code, const gchar *parts)
{
  fail_unless (g_error_matches (*error, GST_VKGDR_ERROR, code), "%s",
      *error ? (*error)->message : "there is no error");
  test_assert_contains ((*error)->message, parts);
  g_clear_error (error);
}

/* The same, with any message. */
#define test_assert_error(error, code) test_assert_error_says (error, code, "")

G_END_DECLS

#endif /* __TEST_BYTES_H__ */
