/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * encode.c: libnvidia-encode.so.1 of a device without a video encoder
 *
 * GStreamer registers its CUDA elements, including those that do not encode,
 * only if it finds this library or the library of the decoder. GStreamer asks
 * this library for a table of functions. Every function of the table returns
 * that there is no encoder. The layout and the values are ABI facts of NVIDIA's
 * encoder. They are the same in all versions up to 12.0.
 */

#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__ ((visibility ("default")))

#define MAJOR_VERSION 12u
#define MINOR_VERSION 0u

/* The functions that all versions have, from opening a session to reconfiguring
 * the encoder. */
#define N_CALLS 33

enum { SUCCESS = 0, NO_ENCODE_DEVICE = 1, INVALID_PTR = 6 };

typedef int (*encoder_call) (void);

typedef struct {
  uint32_t version;
  uint32_t reserved;
  encoder_call call[N_CALLS];
} encoder_interface;

EXPORT int NvEncodeAPIGetMaxSupportedVersion (uint32_t *version);
EXPORT int NvEncodeAPICreateInstance (encoder_interface *interface);

/* Ignores all arguments. */
static int
no_encoder (void)
{
  return NO_ENCODE_DEVICE;
}

int
NvEncodeAPIGetMaxSupportedVersion (uint32_t *version)
{
  if (version == NULL)
    return INVALID_PTR;
  *version = MAJOR_VERSION << 4 | MINOR_VERSION;
  return SUCCESS;
}

int
NvEncodeAPICreateInstance (encoder_interface *interface)
{
  if (interface == NULL)
    return INVALID_PTR;
  for (int i = 0; i < N_CALLS; i++)
    interface->call[i] = no_encoder;
  return SUCCESS;
}
