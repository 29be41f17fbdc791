/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/share.c: see memory/share.h
 */

#include "memory/share.h"

GstMemory *
gst_vkgdr_share_root (GstMemory *mem)
{
  return mem->parent ? mem->parent : mem;
}

void
gst_vkgdr_share_init (
    GstMemory *part, GstMemory *mem, gssize offset, gssize size)
{
  GstMemory *root = gst_vkgdr_share_root (mem);

  if (size == -1)
    size = mem->size - offset;
  gst_memory_init (part,
      GST_MINI_OBJECT_FLAGS (root) | GST_MINI_OBJECT_FLAG_LOCK_READONLY,
      mem->allocator, root, mem->maxsize, mem->align, mem->offset + offset,
      size);
}

gboolean
gst_vkgdr_share_is_span (GstMemory *a, GstMemory *b, gsize *offset)
{
  if (offset)
    *offset = a->offset - (a->parent ? a->parent->offset : 0);
  return gst_vkgdr_share_root (a) == gst_vkgdr_share_root (b)
         && a->offset + a->size == b->offset;
}
