/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frame-format.c: the planes of pixel formats
 *
 * For programs without GStreamer; vkgdripcsink knows all formats of GStreamer.
 * Also checks the descriptions of pictures and tensors that another process has
 * sent.
 */

#include <stdio.h>
#include <string.h>

#include "frame-server.h"

/* One plane of a format: how often its width and height are halved, and the
 * channels and bits of an element. */
typedef struct {
  uint8_t x, y, channels, bits;
} plane;

typedef struct {
  char name[16];
  plane planes[VKGDR_FRAME_MAX_PLANES];
} row;

/* Code point of H.273 for "unspecified". */
#define UNKNOWN 2

static const row rows[] = {
  { "GRAY8", { { 0, 0, 1, 8 } } },
  { "GRAY16_LE", { { 0, 0, 1, 16 } } },
  { "RGB", { { 0, 0, 3, 8 } } },
  { "BGR", { { 0, 0, 3, 8 } } },
  { "RGBA", { { 0, 0, 4, 8 } } },
  { "BGRA", { { 0, 0, 4, 8 } } },
  { "ARGB", { { 0, 0, 4, 8 } } },
  { "ABGR", { { 0, 0, 4, 8 } } },
  { "RGBx", { { 0, 0, 4, 8 } } },
  { "BGRx", { { 0, 0, 4, 8 } } },
  { "xRGB", { { 0, 0, 4, 8 } } },
  { "xBGR", { { 0, 0, 4, 8 } } },
  { "RGBA64_LE", { { 0, 0, 4, 16 } } },
  { "AYUV", { { 0, 0, 4, 8 } } },
  { "YUY2", { { 0, 0, 2, 8 } } },
  { "UYVY", { { 0, 0, 2, 8 } } },
  { "NV12", { { 0, 0, 1, 8 }, { 1, 1, 2, 8 } } },
  { "NV21", { { 0, 0, 1, 8 }, { 1, 1, 2, 8 } } },
  { "NV16", { { 0, 0, 1, 8 }, { 1, 0, 2, 8 } } },
  { "NV24", { { 0, 0, 1, 8 }, { 0, 0, 2, 8 } } },
  { "P010_10LE", { { 0, 0, 1, 16 }, { 1, 1, 2, 16 } } },
  { "P012_LE", { { 0, 0, 1, 16 }, { 1, 1, 2, 16 } } },
  { "P016_LE", { { 0, 0, 1, 16 }, { 1, 1, 2, 16 } } },
  { "I420", { { 0, 0, 1, 8 }, { 1, 1, 1, 8 }, { 1, 1, 1, 8 } } },
  { "YV12", { { 0, 0, 1, 8 }, { 1, 1, 1, 8 }, { 1, 1, 1, 8 } } },
  { "Y42B", { { 0, 0, 1, 8 }, { 1, 0, 1, 8 }, { 1, 0, 1, 8 } } },
  { "Y444", { { 0, 0, 1, 8 }, { 0, 0, 1, 8 }, { 0, 0, 1, 8 } } },
  { "GBR", { { 0, 0, 1, 8 }, { 0, 0, 1, 8 }, { 0, 0, 1, 8 } } },
  { "I420_10LE", { { 0, 0, 1, 16 }, { 1, 1, 1, 16 }, { 1, 1, 1, 16 } } },
  { "I422_10LE", { { 0, 0, 1, 16 }, { 1, 0, 1, 16 }, { 1, 0, 1, 16 } } },
  { "Y444_10LE", { { 0, 0, 1, 16 }, { 0, 0, 1, 16 }, { 0, 0, 1, 16 } } },
};

/* GStreamer's YUY2 and UYVY have an even number of elements in a row. */
static bool
has_pairs (const row *found)
{
  return strcmp (found->name, "YUY2") == 0 || strcmp (found->name, "UYVY") == 0;
}

bool
vkgdr_frame_format_init (vkgdr_frame_format *format, const char *name,
    uint32_t width, uint32_t height)
{
  const row *found = NULL;
  size_t i;

  for (i = 0; i < sizeof (rows) / sizeof (rows[0]); i++)
    if (name && strcmp (rows[i].name, name) == 0)
      found = &rows[i];
  memset (format, 0, sizeof (*format));
  if (!found || width == 0 || height == 0 || width > INT16_MAX
      || height > INT16_MAX)
    return false;
  memcpy (format->name, found->name, sizeof (format->name));
  format->width = width;
  format->height = height;
  format->fps_d = format->par_n = format->par_d = 1;
  format->matrix = format->transfer = format->primaries = UNKNOWN;
  for (i = 0; i < VKGDR_FRAME_MAX_PLANES && found->planes[i].channels; i++) {
    const plane *one = &found->planes[i];
    uint32_t columns = has_pairs (found) ? (width + 1) / 2 * 2 : width;

    format->planes[i].width = (columns + one->x) >> one->x;
    format->planes[i].height = (height + one->y) >> one->y;
    format->planes[i].channels = one->channels;
    format->planes[i].bits = one->bits;
  }
  format->n_planes = (uint32_t) i;
  return true;
}

/* --- checks of what another process has sent ----------------------------- */

static bool
is_valid_plane (const vkgdr_frame_plane_format *plane)
{
  return plane->width > 0 && plane->width <= VKGDR_FRAME_MAX_SIZE
         && plane->height > 0 && plane->height <= VKGDR_FRAME_MAX_SIZE
         && plane->channels > 0 && plane->channels <= 64
         && (plane->bits == 8 || plane->bits == 16 || plane->bits == 32);
}

static bool
is_valid_name (const char *name, size_t size)
{
  size_t i = 0;

  while (i < size && name[i] > ' ' && name[i] <= '~')
    i++;
  return i > 0 && i < size && name[i] == '\0';
}

bool
vkgdr_frame_format_is_valid (const vkgdr_frame_format *format)
{
  uint32_t i;

  if (!is_valid_name (format->name, sizeof (format->name)) || format->width == 0
      || format->width > VKGDR_FRAME_MAX_SIZE || format->height == 0
      || format->height > VKGDR_FRAME_MAX_SIZE || format->fps_n < 0
      || format->fps_d <= 0 || format->par_n <= 0 || format->par_d <= 0
      || format->interlace_mode > 4 || format->range > 2
      || format->n_planes > VKGDR_FRAME_MAX_PLANES)
    return false;
  for (i = 0; i < format->n_planes; i++)
    if (!is_valid_plane (&format->planes[i]))
      return false;
  return true;
}

bool
vkgdr_frame_plane_fits (const vkgdr_frame_plane_format *format, uint64_t offset,
    int64_t stride, uint64_t size)
{
  int64_t row = (int64_t) format->width * format->channels * format->bits / 8;
  int64_t span = ((int64_t) format->height - 1) * stride;

  if (offset > size || size > INT64_MAX
      || (format->height > 1 && stride < row && stride > -row))
    return false;
  return (int64_t) offset + (span < 0 ? span : 0) >= 0
         && (int64_t) offset + (span > 0 ? span : 0) <= (int64_t) size - row;
}

/* The elements of a row, and the rows, have to be counted without an
 * overflow. */
size_t
vkgdr_frame_tensor_get_size (const vkgdr_frame_tensor *tensor)
{
  const uint32_t bits = tensor->bits;
  uint64_t last = 0; /* the element with the highest address */
  uint32_t i;

  if (tensor->n_dims == 0 || tensor->n_dims > VKGDR_FRAME_MAX_DIMS
      || tensor->code > 6 || tensor->code == 3
      || (bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != 128))
    return 0;
  for (i = 0; i < tensor->n_dims; i++) {
    uint64_t shape = (uint64_t) tensor->shape[i], distance;

    if (tensor->shape[i] <= 0 || tensor->strides[i] < 0
        || __builtin_mul_overflow (
            shape - 1, (uint64_t) tensor->strides[i], &distance)
        || __builtin_add_overflow (last, distance, &last)
        || last > INT64_MAX / 32)
      return 0;
  }
  return (size_t) (last + 1) * bits / 8;
}
