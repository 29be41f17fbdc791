/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/samples.c: fills the VkgdrSamples that a kernel gets for a buffer
 *
 * Checks everything on which a kernel relies, because an access to a wrong
 * address makes the CUDA context unusable. Knows nothing of the code and the
 * launches of kernels.
 */

#include <string.h>

#include "memory/memory-private.h"
#include "kernel/samples.h"

/* Returns the only memory of @buffer. @buffer must not be empty. */
static GstMemory *
samples_find_memory (GstBuffer *buffer, GError **error)
{
  guint n = gst_buffer_n_memory (buffer);
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);

  if (n != 1) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "The buffer is spread over %u memories, and a kernel of samples needs "
        "one",
        n);
    return NULL;
  }
  return memory;
}

static gboolean
samples_set_data (VkgdrSamples *samples, GstVkgdrContext *context,
    GstBuffer *buffer, GError **error)
{
  gsize bytes = gst_buffer_get_size (buffer);
  GstMemory *memory;
  guint64 address;

  if (bytes % samples->size != 0) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "A buffer of %" G_GSIZE_FORMAT
        " bytes is no whole number of samples of %d bytes",
        bytes, samples->size);
    return FALSE;
  }
  samples->n = bytes / samples->size;
  if (samples->n == 0)
    return TRUE;
  memory = samples_find_memory (buffer, error);
  if (!memory || !gst_vkgdr_memory_check (memory, context, error))
    return FALSE;
  address = gst_vkgdr_memory_get_device_pointer (memory);
  /* Samples of 3 bytes are read byte by byte. */
  if ((samples->size & (samples->size - 1)) == 0
      && address % samples->size != 0) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "The buffer has samples of %d bytes at an address that is no multiple "
        "of %d",
        samples->size, samples->size);
    return FALSE;
  }
  samples->data = (unsigned char *) (guintptr) address;
  return TRUE;
}

gboolean
gst_vkgdr_samples_check_info (const GstAudioInfo *info, GError **error)
{
  if (GST_AUDIO_INFO_LAYOUT (info) == GST_AUDIO_LAYOUT_INTERLEAVED
      && GST_AUDIO_INFO_WIDTH (info) >= 8)
    return TRUE;
  g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "Kernels are run on audio whose channels are interleaved: convert it "
      "first, with audioconvert");
  return FALSE;
}

gboolean
gst_vkgdr_samples_fill (VkgdrSamples *samples, GstVkgdrContext *context,
    GstBuffer *buffer, const GstAudioInfo *info, guint64 number, GError **error)
{
  if (info && !gst_vkgdr_samples_check_info (info, error))
    return FALSE;

  memset (samples, 0, sizeof (*samples));
  samples->size = info ? GST_AUDIO_INFO_WIDTH (info) / 8 : 1;
  samples->channels = info ? GST_AUDIO_INFO_CHANNELS (info) : 1;
  samples->rate = info ? GST_AUDIO_INFO_RATE (info) : 0;
  samples->format = info ? GST_AUDIO_INFO_FORMAT (info) : 0;
  samples->frame = number;
  samples->time = GST_BUFFER_PTS_IS_VALID (buffer)
                      ? (long long) GST_BUFFER_PTS (buffer)
                      : -1;
  return samples_set_data (samples, context, buffer, error);
}
