/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bytes.h: checks of single bytes, and of texts
 */

#ifndef __TEST_BYTES_H__
#define __TEST_BYTES_H__

#include <gst/check/gstcheck.h>
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

/* Fails the test unless @text contains @part. */
static inline void
test_assert_contains (const gchar *text, const gchar *part)
{
  fail_unless (text && strstr (text, part), "\"%s\" lacks \"%s\"",
      text ? text : "", part);
}

G_END_DECLS

#endif /* __TEST_BYTES_H__ */
