/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/sync-private.h: the interface of the folder sync for the other folders,
 * which docs/architecture.md calls rooms
 *
 * Streams, fences, launches, the order of accesses to a memory, and a thread
 * that waits for fences. Knows nothing of memory.
 */

#ifndef __GST_VKGDR_SYNC_PRIVATE_H__
#define __GST_VKGDR_SYNC_PRIVATE_H__

#include <gst/vkgdr/gstvkgdrstream.h>

#include "sync/fence.h"
#include "sync/launch.h"
#include "sync/order.h"
#include "sync/reclaim.h"

#endif /* __GST_VKGDR_SYNC_PRIVATE_H__ */
