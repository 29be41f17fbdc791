/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cooperative_groups.h: groups of threads: the part of CUDA's header that the
 * software device supports
 *
 * Supports the block, tiles of 1 to 32 threads (powers of two), and the threads
 * that are active together. There are no groups of several blocks.
 */

#ifndef SOFTCUDA_COOPERATIVE_GROUPS_H
#define SOFTCUDA_COOPERATIVE_GROUPS_H

namespace cooperative_groups
{

/* ---- the block ---- */

class thread_block
{
public:
  static void
  sync ()
  {
    __syncthreads ();
  }
  static unsigned int
  thread_rank ()
  {
    return softcuda_thread_rank ();
  }
  static unsigned int
  num_threads ()
  {
    return blockDim.x * blockDim.y * blockDim.z;
  }
  static unsigned int
  size ()
  {
    return num_threads ();
  }
  static dim3
  dim_threads ()
  {
    return blockDim;
  }
  static dim3
  group_dim ()
  {
    return blockDim;
  }
  static dim3
  thread_index ()
  {
    return dim3 (threadIdx);
  }
  static dim3
  group_index ()
  {
    return dim3 (blockIdx);
  }
};

__device__ static inline thread_block
this_thread_block ()
{
  return thread_block ();
}

/* ---- some lanes of a warp ---- */

/* The lanes of a mask. Ranks only count the lanes of the mask. */
class softcuda_lane_group
{
public:
  void
  sync () const
  {
    __syncwarp (mask);
  }
  unsigned int
  thread_rank () const
  {
    return (unsigned int) __popc (mask & ((1u << softcuda_lane ()) - 1));
  }
  unsigned int
  num_threads () const
  {
    return (unsigned int) __popc (mask);
  }
  unsigned int
  size () const
  {
    return num_threads ();
  }
  unsigned int
  ballot (int predicate) const
  {
    return pack (__ballot_sync (mask, predicate));
  }
  int
  any (int predicate) const
  {
    return __any_sync (mask, predicate);
  }
  int
  all (int predicate) const
  {
    return __all_sync (mask, predicate);
  }
  template <typename T>
  unsigned int
  match_any (T value) const
  {
    return pack (__match_any_sync (mask, value));
  }
  template <typename T>
  unsigned int
  match_all (T value, int &predicate) const
  {
    return pack (__match_all_sync (mask, value, &predicate));
  }
  template <typename T>
  T
  shfl (T value, int rank) const
  {
    return take (value, rank);
  }
  template <typename T>
  T
  shfl_up (T value, unsigned int delta) const
  {
    return take (
        value, delta <= thread_rank () ? (int) (thread_rank () - delta) : -1);
  }
  template <typename T>
  T
  shfl_down (T value, unsigned int delta) const
  {
    return take (value, delta < num_threads () - thread_rank ()
                            ? (int) (thread_rank () + delta)
                            : -1);
  }

  /* Combines the values of the threads that still run. */
  template <typename T, typename Operator>
  T
  softcuda_reduce (T value, Operator &&change) const
  {
    softcuda_lanes<T> lanes = softcuda_exchange (mask, value);
    T result = value;
    bool first = true;

    for (int lane = 0; lane < 32; lane++) {
      if ((mask >> lane & 1) == 0 || !lanes.has (lane))
        continue;
      result = first ? lanes[lane] : change (result, lanes[lane]);
      first = false;
    }
    return result;
  }

protected:
  friend class thread_group;

  explicit softcuda_lane_group (unsigned int mask) : mask (mask)
  {
  }
  /* Returns the value of the thread with this rank, or the caller's own value
   * if there is none. */
  template <typename T>
  T
  take (T value, int rank) const
  {
    softcuda_lanes<T> lanes = softcuda_exchange (mask, value);
    int lane = lane_of (rank);

    return lane >= 0 && lanes.has (lane) ? lanes[lane] : value;
  }

  unsigned int mask;

private:
  int
  lane_of (int rank) const
  {
    for (int lane = 0; lane < 32; lane++)
      if ((mask >> lane & 1) != 0 && rank-- == 0)
        return lane;
    return -1;
  }
  unsigned int
  pack (unsigned int lanes) const
  {
    unsigned int result = 0;
    int rank = 0;

    for (int lane = 0; lane < 32; lane++)
      if ((mask >> lane & 1) != 0)
        result |= (lanes >> lane & 1) << rank++;
    return result;
  }
};

class coalesced_group : public softcuda_lane_group
{
public:
  explicit coalesced_group (unsigned int mask) : softcuda_lane_group (mask)
  {
  }
};

/* This is a macro like __activemask(), because the result depends on the place
 * of the call. */
__device__ static inline coalesced_group
softcuda_coalesced (unsigned int mask)
{
  return coalesced_group (mask);
}
#define coalesced_threads() softcuda_coalesced (__activemask ())

/* ---- tiles ---- */

/* The group whose tiles are counted. Without a parent, it is the block. */
template <typename Parent> struct softcuda_parent {
  typedef Parent group;
};

template <> struct softcuda_parent<void> {
  typedef thread_block group;
  typedef int is_unnamed;
};

template <unsigned int Size, typename Parent = void>
class thread_block_tile : public softcuda_lane_group
{
  unsigned int rank, count; /* among the tiles of the parent */

  static_assert (Size != 0 && Size <= 32 && (Size & (Size - 1)) == 0,
      "a tile has a power of two of up to 32 threads");

public:
  thread_block_tile ()
      : softcuda_lane_group ((Size == 32 ? ~0u : (1u << Size % 32) - 1)
                             << (softcuda_lane () & ~(Size - 1))),
        rank (softcuda_parent<Parent>::group::thread_rank () / Size),
        count (
            (softcuda_parent<Parent>::group::num_threads () + Size - 1) / Size)
  {
  }
  /* A tile of any group is a thread_block_tile<Size>, too. */
  template <typename Group, typename P = Parent,
      typename = typename softcuda_parent<P>::is_unnamed>
  thread_block_tile (const thread_block_tile<Size, Group> &tile)
      : softcuda_lane_group (tile), rank (tile.meta_group_rank ()),
        count (tile.meta_group_size ())
  {
  }
  static unsigned int
  thread_rank ()
  {
    return softcuda_thread_rank () % Size;
  }
  static constexpr unsigned int
  num_threads ()
  {
    return Size;
  }
  static constexpr unsigned int
  size ()
  {
    return Size;
  }
  unsigned int
  meta_group_rank () const
  {
    return rank;
  }
  unsigned int
  meta_group_size () const
  {
    return count;
  }
  template <typename T>
  T
  shfl (T value, int source) const
  {
    return __shfl_sync (mask, value, source, (int) Size);
  }
  template <typename T>
  T
  shfl_xor (T value, unsigned int lane_mask) const
  {
    return __shfl_xor_sync (mask, value, (int) lane_mask, (int) Size);
  }
};

template <unsigned int Size, typename Parent>
__device__ static inline thread_block_tile<Size, Parent>
tiled_partition (const Parent &)
{
  return thread_block_tile<Size, Parent> ();
}

/* ---- any group ---- */

/* The block, or some lanes of a warp: a tile whose size is known only when the
 * kernel runs, for example. */
class thread_group
{
  bool is_block;
  unsigned int mask;

  thread_group (bool is_block, unsigned int mask)
      : is_block (is_block), mask (mask)
  {
  }

public:
  thread_group (const thread_block &) : thread_group (true, ~0u)
  {
  }
  thread_group (const softcuda_lane_group &lanes)
      : thread_group (false, lanes.mask)
  {
  }
  void
  sync () const
  {
    if (is_block)
      __syncthreads ();
    else
      __syncwarp (mask);
  }
  unsigned int
  thread_rank () const
  {
    return is_block ? thread_block::thread_rank ()
                    : softcuda_lane_group (mask).thread_rank ();
  }
  unsigned int
  num_threads () const
  {
    return is_block ? thread_block::num_threads ()
                    : (unsigned int) __popc (mask);
  }
  unsigned int
  size () const
  {
    return num_threads ();
  }
  /* The tile of the caller among tiles of `size` threads. */
  thread_group
  softcuda_tile (unsigned int size) const
  {
    unsigned int own = softcuda_lane_group (mask).thread_rank () / size;
    unsigned int lanes = 0;
    unsigned int rank = 0;

    for (int lane = 0; lane < 32; lane++)
      if ((mask >> lane & 1) != 0 && rank++ / size == own)
        lanes |= 1u << lane;
    return thread_group (false, lanes);
  }
};

__device__ static inline thread_group
tiled_partition (const thread_group &parent, unsigned int size)
{
  return parent.softcuda_tile (size);
}

/* ---- the same as functions ---- */

template <typename Group>
__device__ static inline void
sync (const Group &group)
{
  group.sync ();
}

template <typename Group>
__device__ static inline unsigned int
thread_rank (const Group &group)
{
  return group.thread_rank ();
}

template <typename Group>
__device__ static inline unsigned int
group_size (const Group &group)
{
  return group.size ();
}

} // namespace cooperative_groups

#endif /* SOFTCUDA_COOPERATIVE_GROUPS_H */
