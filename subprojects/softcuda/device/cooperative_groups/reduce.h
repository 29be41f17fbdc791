/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cooperative_groups/reduce.h: reductions over tiles and coalesced groups
 *
 * Values have at most 8 bytes. The order of the operations is that of the
 * ranks.
 */

#ifndef SOFTCUDA_COOPERATIVE_GROUPS_REDUCE_H
#define SOFTCUDA_COOPERATIVE_GROUPS_REDUCE_H

#include <cooperative_groups.h>

namespace cooperative_groups
{

#define SOFTCUDA_OPERATOR(name, result) \
  template <typename T> struct name { \
    T \
    operator() (T a, T b) const \
    { \
      return result; \
    } \
  };

SOFTCUDA_OPERATOR (plus, a + b)
SOFTCUDA_OPERATOR (less, b < a ? b : a)
SOFTCUDA_OPERATOR (greater, a < b ? b : a)
SOFTCUDA_OPERATOR (bit_and, a &b)
SOFTCUDA_OPERATOR (bit_or, a | b)
SOFTCUDA_OPERATOR (bit_xor, a ^ b)

#undef SOFTCUDA_OPERATOR

template <typename Group, typename T, typename Operator>
__device__ static inline T
reduce (const Group &group, T value, Operator &&change)
{
  return group.softcuda_reduce (value, change);
}

} // namespace cooperative_groups

#endif /* SOFTCUDA_COOPERATIVE_GROUPS_REDUCE_H */
