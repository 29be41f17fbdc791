/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/ring.c: see ipc/ring.h
 */

#include "ipc/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The number of messages that a ring has room for: more than the frames that a
 * client has by default, with the messages before each frame. A power of
 * two. */
#define N_SLOTS 16

/* The size of a cache line in bytes. The fields that one process writes are not
 * in a cache line to which the other process writes. */
#define CACHE_LINE 64

/* The size of the memory cannot change, so that no process gets SIGBUS. */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

typedef struct {
  guint64 stamp;
  guint32 size;
  guint32 unused;
  guint8 data[GST_VKGDR_IPC_RING_MAX_MESSAGE];
} Slot;

G_STATIC_ASSERT (sizeof (Slot) % CACHE_LINE == 0);

/* The shared memory. All numbers have the byte order of this machine. */
typedef struct {
  /* The reader writes these fields. */
  gint is_watched;
  gint n_read; /* messages that were read; wraps around */
  guint8 padding1[CACHE_LINE - 2 * sizeof (gint)];

  /* The writer writes these fields. */
  gint n_written; /* messages that were written; wraps around */
  guint8 padding2[CACHE_LINE - sizeof (gint)];
  Slot slots[N_SLOTS];
} Memory;

struct _GstVkgdrIpcRing {
  Memory *memory;
  guint32 n;           /* messages that this process has written, or has read */
  gboolean is_watched; /* the last value that the reader has set */
};

/* --- memory -------------------------------------------------------------- */

static GstVkgdrIpcRing *
map (gint fd)
{
  Memory *memory =
      mmap (NULL, sizeof (Memory), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  GstVkgdrIpcRing *self;

  if (memory == MAP_FAILED)
    return NULL;
  self = g_new0 (GstVkgdrIpcRing, 1);
  self->memory = memory;
  return self;
}

GstVkgdrIpcRing *
gst_vkgdr_ipc_ring_new (gint *fd)
{
  GstVkgdrIpcRing *self = NULL;

  *fd = memfd_create ("vkgdripc-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (*fd < 0)
    return NULL;
  if (ftruncate (*fd, sizeof (Memory)) == 0
      && fcntl (*fd, F_ADD_SEALS, SEALS) == 0)
    self = map (*fd);
  if (self)
    return self;
  close (*fd);
  *fd = -1;
  return NULL;
}

GstVkgdrIpcRing *
gst_vkgdr_ipc_ring_map (gint fd)
{
  struct stat status;
  gint seals = fcntl (fd, F_GET_SEALS);

  if (seals >= 0 && (seals & SEALS) == SEALS && fstat (fd, &status) == 0
      && status.st_size == sizeof (Memory))
    return map (fd);
  errno = EINVAL;
  return NULL;
}

void
gst_vkgdr_ipc_ring_free (GstVkgdrIpcRing *self)
{
  munmap (self->memory, sizeof (Memory));
  g_free (self);
}

/* --- for the writer ------------------------------------------------------ */

gboolean
gst_vkgdr_ipc_ring_is_watched (GstVkgdrIpcRing *self)
{
  return g_atomic_int_get (&self->memory->is_watched) != 0;
}

/* The reader may have written any number to the memory. In the worst case, it
 * loses its own messages. */
static gboolean
is_full (GstVkgdrIpcRing *self)
{
  guint32 n_read = (guint32) g_atomic_int_get (&self->memory->n_read);

  return self->n - n_read >= N_SLOTS;
}

gboolean
gst_vkgdr_ipc_ring_write (
    GstVkgdrIpcRing *self, gconstpointer data, gsize size, guint64 stamp)
{
  Slot *slot = &self->memory->slots[self->n % N_SLOTS];

  if (!gst_vkgdr_ipc_ring_is_watched (self) || is_full (self)
      || size > GST_VKGDR_IPC_RING_MAX_MESSAGE)
    return FALSE;
  slot->stamp = stamp;
  slot->size = size;
  memcpy (slot->data, data, size);
  self->n++;
  g_atomic_int_set (&self->memory->n_written, (gint) self->n);
  return TRUE;
}

/* --- for the reader ------------------------------------------------------ */

void
gst_vkgdr_ipc_ring_set_watched (GstVkgdrIpcRing *self, gboolean is_watched)
{
  if (self->is_watched == is_watched)
    return;
  self->is_watched = is_watched;
  g_atomic_int_set (&self->memory->is_watched, is_watched);
}

gboolean
gst_vkgdr_ipc_ring_has_message (GstVkgdrIpcRing *self, guint64 stamp)
{
  guint32 n_written = (guint32) g_atomic_int_get (&self->memory->n_written);

  return n_written != self->n
         && self->memory->slots[self->n % N_SLOTS].stamp <= stamp;
}

gsize
gst_vkgdr_ipc_ring_read (GstVkgdrIpcRing *self, gpointer data)
{
  const Slot *slot = &self->memory->slots[self->n % N_SLOTS];
  guint32 size = *(const volatile guint32 *) &slot->size;

  if (size > GST_VKGDR_IPC_RING_MAX_MESSAGE)
    size = 0;
  memcpy (data, slot->data, size);
  self->n++;
  g_atomic_int_set (&self->memory->n_read, (gint) self->n);
  return size;
}
