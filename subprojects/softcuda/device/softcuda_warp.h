/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softcuda_warp.h: functions for the threads of a warp
 *
 * All of them use one exchange: each lane of a mask contributes a value, and
 * gets the values of all these lanes. Threads do not run in lock-step. As on a
 * GPU since Volta, only these functions order the lanes of a warp. Part of
 * softcuda_runtime.h.
 */

#ifndef SOFTCUDA_WARP_DEVICE_H
#define SOFTCUDA_WARP_DEVICE_H

static inline unsigned int
softcuda_thread_rank ()
{
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

static inline unsigned int
softcuda_lane ()
{
  return softcuda_thread_rank () % 32;
}

/* The values of the lanes of a warp. Only those in present are valid. */
template <typename T> struct softcuda_lanes {
  unsigned int present;
  unsigned long long bits[32];

  bool
  has (int lane) const
  {
    return present >> lane & 1;
  }
  T
  operator[] (int lane) const
  {
    T value;

    memcpy ((void *) &value, &bits[lane], sizeof value);
    return value;
  }
};

template <typename T>
static inline softcuda_lanes<T>
softcuda_exchange (unsigned int mask, T value)
{
  static_assert (sizeof (T) <= 8 && __is_trivially_copyable(T),
      "warp functions take values of at most 8 bytes");
  softcuda_lanes<T> lanes;
  unsigned long long bits = 0;

  memcpy (&bits, &value, sizeof value);
  lanes.present = softcuda_wait ([&] (const softcuda_hooks *hooks) {
    return hooks->exchange (softcuda_current, mask, bits, lanes.bits);
  });
  return lanes;
}

/* ---- synchronization and votes ---- */

static inline void
__syncwarp (unsigned int mask = 0xffffffffu)
{
  softcuda_wait ([=] (const softcuda_hooks *hooks) {
    return hooks->exchange (softcuda_current, mask, 0, NULL);
  });
}

static inline unsigned int
softcuda_activemask (const void *place)
{
  return softcuda_wait ([=] (const softcuda_hooks *hooks) {
    return hooks->active (softcuda_current, place);
  });
}

/* Threads are active together if they call this at the same place, and wait
 * there at the same time. */
#define __activemask() \
  softcuda_activemask ([] () -> const void * { \
    static char place; \
    return &place; \
  }())

/* The scanner puts this at the end of a loop that uses volatile memory: the
 * lanes that come here do so together. */
template <int PLACE>
static inline void
softcuda_meet ()
{
  softcuda_activemask ((const void *) (size_t) PLACE);
}

/* The scanner puts this around each use of a variable of volatile memory. */
template <int PLACE, typename T>
static inline T &
softcuda_lockstep (T &variable)
{
  softcuda_meet<PLACE> ();
  return variable;
}

static inline unsigned int
__ballot_sync (unsigned int mask, int predicate)
{
  softcuda_lanes<int> lanes = softcuda_exchange (mask, predicate);
  unsigned int result = 0;

  for (int i = 0; i < 32; i++)
    if (lanes.has (i) && lanes[i] != 0)
      result |= 1u << i;
  return result;
}

static inline int
__any_sync (unsigned int mask, int predicate)
{
  return __ballot_sync (mask, predicate) != 0;
}

static inline int
__all_sync (unsigned int mask, int predicate)
{
  return __ballot_sync (mask, predicate == 0) == 0;
}

template <typename T>
static inline unsigned int
__match_any_sync (unsigned int mask, T value)
{
  softcuda_lanes<T> lanes = softcuda_exchange (mask, value);
  unsigned int result = 0;

  for (int i = 0; i < 32; i++)
    if (lanes.has (i)
        && __builtin_memcmp (&lanes.bits[i], &value, sizeof value) == 0)
      result |= 1u << i;
  return result;
}

template <typename T>
static inline unsigned int
__match_all_sync (unsigned int mask, T value, int *predicate)
{
  softcuda_lanes<T> lanes = softcuda_exchange (mask, value);

  *predicate = 1;
  for (int i = 0; i < 32; i++)
    if (lanes.has (i)
        && __builtin_memcmp (&lanes.bits[i], &value, sizeof value) != 0)
      *predicate = 0;
  return *predicate ? mask : 0;
}

/* ---- shuffles: without a source lane, return the caller's value ---- */

/* of (lane, first lane of the group) returns the lane whose value is read. */
template <typename T, typename F>
static inline T
softcuda_shuffle (unsigned int mask, T value, int width, F of)
{
  softcuda_lanes<T> lanes = softcuda_exchange (mask, value);
  int lane = (int) softcuda_lane ();
  int from = of (lane, lane & ~(width - 1));

  return from >= 0 && from < 32 && lanes.has (from) ? lanes[from] : value;
}

template <typename T>
static inline T
__shfl_sync (unsigned int mask, T value, int source, int width = 32)
{
  return softcuda_shuffle (mask, value, width,
      [=] (int lane, int first) { return first + (source & (width - 1)); });
}

template <typename T>
static inline T
__shfl_up_sync (unsigned int mask, T value, unsigned int delta, int width = 32)
{
  return softcuda_shuffle (mask, value, width, [=] (int lane, int first) {
    return delta <= (unsigned int) (lane - first) ? lane - (int) delta : lane;
  });
}

template <typename T>
static inline T
__shfl_down_sync (
    unsigned int mask, T value, unsigned int delta, int width = 32)
{
  return softcuda_shuffle (mask, value, width, [=] (int lane, int first) {
    return delta < (unsigned int) (first + width - lane) ? lane + (int) delta
                                                         : lane;
  });
}

/* A lane can read from earlier groups, but not from later ones. */
template <typename T>
static inline T
__shfl_xor_sync (unsigned int mask, T value, int lane_mask, int width = 32)
{
  return softcuda_shuffle (mask, value, width, [=] (int lane, int first) {
    int from = lane ^ lane_mask;

    return from < first + width ? from : lane;
  });
}

/* ---- reductions ---- */

template <typename T, typename F>
static inline T
softcuda_reduce (unsigned int mask, T value, F combine)
{
  softcuda_lanes<T> lanes = softcuda_exchange (mask, value);
  T result = value;

  for (int i = 0; i < 32; i++)
    if (lanes.has (i) && i != (int) softcuda_lane ())
      result = combine (result, lanes[i]);
  return result;
}

#define SOFTCUDA_REDUCE(name, type, expression) \
  static inline type __reduce_##name##_sync (unsigned int mask, type value) \
  { \
    return softcuda_reduce ( \
        mask, value, [] (type a, type b) -> type { return expression; }); \
  }

SOFTCUDA_REDUCE (add, unsigned int, a + b)
SOFTCUDA_REDUCE (add, int, (int) ((unsigned int) a + (unsigned int) b))
SOFTCUDA_REDUCE (min, unsigned int, a < b ? a : b)
SOFTCUDA_REDUCE (min, int, a < b ? a : b)
SOFTCUDA_REDUCE (max, unsigned int, a > b ? a : b)
SOFTCUDA_REDUCE (max, int, a > b ? a : b)
SOFTCUDA_REDUCE (and, unsigned int, a &b)
SOFTCUDA_REDUCE (or, unsigned int, a | b)
SOFTCUDA_REDUCE (xor, unsigned int, a ^ b)

#undef SOFTCUDA_REDUCE

/* The special registers that inline PTX may read (nvrtc-scan.c). */
#define SOFTCUDA_REGISTER(name, type, value) \
  static inline type softcuda_register_##name () \
  { \
    return value; \
  }
SOFTCUDA_REGISTER (laneid, unsigned int, softcuda_lane ())
SOFTCUDA_REGISTER (warpid, unsigned int, softcuda_thread_rank () / 32)
SOFTCUDA_REGISTER (lanemask_eq, unsigned int, 1u << softcuda_lane ())
SOFTCUDA_REGISTER (lanemask_lt, unsigned int, (1u << softcuda_lane ()) - 1)
SOFTCUDA_REGISTER (lanemask_le, unsigned int, (2u << softcuda_lane ()) - 1)
SOFTCUDA_REGISTER (lanemask_gt, unsigned int, ~softcuda_register_lanemask_le ())
SOFTCUDA_REGISTER (lanemask_ge, unsigned int, ~softcuda_register_lanemask_lt ())
SOFTCUDA_REGISTER (clock, unsigned int, (unsigned int) clock64 ())
SOFTCUDA_REGISTER (clock64, unsigned long long, clock64 ())
SOFTCUDA_REGISTER (globaltimer, unsigned long long, clock64 ())
#undef SOFTCUDA_REGISTER

#endif /* SOFTCUDA_WARP_DEVICE_H */
