/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softcuda_texture.h: textures, as the driver describes them and kernels sample
 * them
 *
 * The description is C and C++. The sampling is only C++, and
 * softcuda_runtime.h includes it. Does not depend on how a texture is created.
 */

#ifndef SOFTCUDA_TEXTURE_H
#define SOFTCUDA_TEXTURE_H

#ifndef SOFTCUDA_RUNTIME_H
#include <stddef.h>
#endif

typedef enum softcuda_texel_format {
  SOFTCUDA_TEXEL_U8,
  SOFTCUDA_TEXEL_S8,
  SOFTCUDA_TEXEL_U16,
  SOFTCUDA_TEXEL_S16,
  SOFTCUDA_TEXEL_U32,
  SOFTCUDA_TEXEL_S32,
  SOFTCUDA_TEXEL_F32
} softcuda_texel_format;

/* The texel that is read beyond the edge. The values are those of
 * CUaddress_mode. */
typedef enum softcuda_address {
  SOFTCUDA_ADDRESS_WRAP,
  SOFTCUDA_ADDRESS_CLAMP,
  SOFTCUDA_ADDRESS_MIRROR,
  SOFTCUDA_ADDRESS_BORDER
} softcuda_address;

typedef struct softcuda_texture {
  const void *data;
  size_t width; /* in texels */
  size_t height;
  size_t pitch; /* in bytes */
  size_t texel_size;
  softcuda_texel_format format;
  unsigned int channels;
  unsigned int linear;
  unsigned int normalized; /* coordinates are fractions of the size */
  softcuda_address address[2];
  float border[4];
} softcuda_texture;

#ifdef __cplusplus

typedef unsigned long long cudaTextureObject_t;

/* Returns one channel as a number. For integers this is the integer, or its
 * fraction of the largest integer if the kernel reads floating-point
 * numbers. */
template <typename C>
static inline C
softcuda_channel (const softcuda_texture *t, const unsigned char *texel, int i)
{
  constexpr bool fraction = softcuda_is_float<C>;
  const void *at = texel + i * (t->texel_size / t->channels);

#define SOFTCUDA_READ(type, divisor, smallest) \
  { \
    type v; \
    memcpy (&v, at, sizeof v); \
    if (!fraction) \
      return (C) v; \
    float f = (float) v / divisor; \
    return (C) (f < smallest ? smallest : f); \
  }
  switch (t->format) {
  case SOFTCUDA_TEXEL_U8:
    SOFTCUDA_READ (unsigned char, 255.0f, 0.0f)
  case SOFTCUDA_TEXEL_S8:
    SOFTCUDA_READ (signed char, 127.0f, -1.0f)
  case SOFTCUDA_TEXEL_U16:
    SOFTCUDA_READ (unsigned short, 65535.0f, 0.0f)
  case SOFTCUDA_TEXEL_S16:
    SOFTCUDA_READ (short, 32767.0f, -1.0f)
  case SOFTCUDA_TEXEL_U32: {
    unsigned int v;
    memcpy (&v, at, sizeof v);
    return (C) v;
  }
  case SOFTCUDA_TEXEL_S32: {
    int v;
    memcpy (&v, at, sizeof v);
    return (C) v;
  }
  case SOFTCUDA_TEXEL_F32: {
    float v;
    memcpy (&v, at, sizeof v);
    return (C) v;
  }
  }
#undef SOFTCUDA_READ
  return 0;
}

/* Returns the index that is read for index i, or -1 for the border. Wrapping
 * and mirroring need normalized coordinates. Otherwise the index is clamped. */
static inline long
softcuda_texel_index (
    softcuda_address address, bool normalized, long i, long size)
{
  if (i >= 0 && i < size)
    return i;
  if (address == SOFTCUDA_ADDRESS_BORDER)
    return -1;
  if (address == SOFTCUDA_ADDRESS_CLAMP || !normalized)
    return i < 0 ? 0 : size - 1;
  if (address == SOFTCUDA_ADDRESS_WRAP)
    return (i % size + size) % size;
  i = (i % (2 * size) + 2 * size) % (2 * size);
  return i < size ? i : 2 * size - 1 - i;
}

template <typename C>
static inline C
softcuda_texel (const softcuda_texture *t, long x, long y, int channel)
{
  if ((unsigned int) channel >= t->channels)
    return 0;
  x = softcuda_texel_index (t->address[0], t->normalized, x, (long) t->width);
  y = softcuda_texel_index (t->address[1], t->normalized, y, (long) t->height);
  if (x < 0 || y < 0)
    return (C) t->border[channel];
  return softcuda_channel<C> (t,
      (const unsigned char *) t->data + y * t->pitch + x * t->texel_size,
      channel);
}

/* The weights have 8 fractional bits, as those of a GPU. */
static inline float
softcuda_weight (float v)
{
  return floorf ((v - floorf (v)) * 256.0f + 0.5f) / 256.0f;
}

template <typename C>
static inline C
softcuda_sample (const softcuda_texture *t, float x, float y, int channel)
{
  if (t->normalized) {
    x *= (float) t->width;
    y *= (float) t->height;
  }
  if (!t->linear || !softcuda_is_float<C>)
    return softcuda_texel<C> (t, (long) floorf (x), (long) floorf (y), channel);
  x -= 0.5f;
  y -= 0.5f;
  float a = softcuda_weight (x);
  float b = softcuda_weight (y);
  long i = (long) floorf (x);
  long j = (long) floorf (y);
  float upper = (1.0f - a) * softcuda_texel<float> (t, i, j, channel)
                + a * softcuda_texel<float> (t, i + 1, j, channel);
  float lower = (1.0f - a) * softcuda_texel<float> (t, i, j + 1, channel)
                + a * softcuda_texel<float> (t, i + 1, j + 1, channel);
  return (C) ((1.0f - b) * upper + b * lower);
}

/* T is a number, or a vector of one, two or four numbers. get returns a
 * channel. */
template <typename T, typename F>
static inline T
softcuda_gather (F get)
{
  if constexpr (softcuda_is_number<T>) {
    return get ((T) 0, 0);
  } else {
    using C = decltype (T::x);
    C v[sizeof (T) / sizeof (C)];
    T result;

    for (int i = 0; i < (int) (sizeof (T) / sizeof (C)); i++)
      v[i] = get ((C) 0, i);
    static_assert (sizeof v == sizeof result);
    memcpy (&result, v, sizeof result);
    return result;
  }
}

template <typename T>
static inline T
tex2D (cudaTextureObject_t texture, float x, float y)
{
  const softcuda_texture *t = (const softcuda_texture *) texture;

  return softcuda_gather<T> ([=] (auto type, int channel) {
    return softcuda_sample<decltype (type)> (t, x, y, channel);
  });
}

template <typename T>
static inline T
tex1D (cudaTextureObject_t texture, float x)
{
  const softcuda_texture *t = (const softcuda_texture *) texture;

  return softcuda_gather<T> ([=] (auto type, int channel) {
    return softcuda_sample<decltype (type)> (t, x, 0.5f, channel);
  });
}

template <typename T>
static inline T
tex1Dfetch (cudaTextureObject_t texture, int x)
{
  const softcuda_texture *t = (const softcuda_texture *) texture;

  return softcuda_gather<T> ([=] (auto type, int channel) {
    return softcuda_texel<decltype (type)> (t, x, 0, channel);
  });
}

#endif /* __cplusplus */

#endif /* SOFTCUDA_TEXTURE_H */
