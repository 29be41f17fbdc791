/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bytes.h: a check of single bytes
 */

#ifndef __TEST_BYTES_H__
#define __TEST_BYTES_H__

#include <gst/check/gstcheck.h>

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

G_END_DECLS

#endif /* __TEST_BYTES_H__ */
