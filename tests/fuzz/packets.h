/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * packets.h: how an input of a fuzzer is a list of packets
 *
 * Each packet is a byte with flags, its size (2 bytes, little-endian), and its
 * bytes. The last one may be shorter than its size.
 */

#ifndef TEST_FUZZ_PACKETS_H
#define TEST_FUZZ_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define CHECK(condition) \
  do { \
    if (!(condition)) \
      abort (); \
  } while (0)

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

typedef struct {
  uint8_t flags;
  const uint8_t *data;
  size_t size;
} packet;

/* Takes the next packet from an input. Returns false at its end. */
static inline bool
take_packet (const uint8_t **data, size_t *size, packet *next)
{
  if (*size < 3)
    return false;
  next->flags = (*data)[0];
  next->size = (*data)[1] | (size_t) (*data)[2] << 8;
  next->data = *data + 3;
  *size -= 3;
  if (next->size > *size)
    next->size = *size;
  *data = next->data + next->size;
  *size -= next->size;
  return true;
}

#endif /* TEST_FUZZ_PACKETS_H */
