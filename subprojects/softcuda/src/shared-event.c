/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * shared-event.c: the state of an event that several processes use
 *
 * It is two numbers in a memfd: of the last record, and of the last record that
 * was reached. Processes wait for the second one by a futex. Knows nothing of
 * streams.
 */

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "private.h"

typedef struct {
  _Atomic uint32_t recorded;
  _Atomic uint32_t reached;
} event_state;

struct sc_shared_event {
  int fd;
  event_state *state;
};

#define SIZE sc_whole_pages (sizeof (event_state))

sc_shared_event *
sc_shared_event_new (int fd)
{
  sc_shared_event *made = calloc (1, sizeof *made);

  if (made == NULL || fd < 0) {
    free (made);
    return NULL;
  }
  made->state = mmap (NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (made->state == MAP_FAILED) {
    free (made);
    return NULL;
  }
  made->fd = fd;
  return made;
}

sc_shared_event *
sc_shared_event_create (void)
{
  int fd = memfd_create ("softcuda-event", MFD_CLOEXEC);
  sc_shared_event *made = NULL;

  if (fd >= 0 && ftruncate (fd, SIZE) == 0)
    made = sc_shared_event_new (fd);
  if (made == NULL && fd >= 0)
    close (fd);
  return made;
}

void
sc_shared_event_free (sc_shared_event *event)
{
  if (event == NULL)
    return;
  munmap (event->state, SIZE);
  close (event->fd);
  free (event);
}

int
sc_shared_event_fd (const sc_shared_event *event)
{
  return event->fd;
}

uint32_t
sc_shared_event_record (sc_shared_event *event)
{
  return atomic_fetch_add (&event->state->recorded, 1) + 1;
}

uint32_t
sc_shared_event_last (const sc_shared_event *event)
{
  return atomic_load (&event->state->recorded);
}

/* The numbers may wrap around. */
static bool
is_before (uint32_t one, uint32_t other)
{
  return (int32_t) (one - other) < 0;
}

bool
sc_shared_event_is_reached (const sc_shared_event *event, uint32_t number)
{
  return !is_before (atomic_load (&event->state->reached), number);
}

void
sc_shared_event_reach (sc_shared_event *event, uint32_t number)
{
  uint32_t now = atomic_load (&event->state->reached);

  while (
      is_before (now, number)
      && !atomic_compare_exchange_weak (&event->state->reached, &now, number))
    ;
  syscall (
      SYS_futex, &event->state->reached, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void
sc_shared_event_wait (const sc_shared_event *event, uint32_t number)
{
  uint32_t now;

  while (is_before (now = atomic_load (&event->state->reached), number))
    syscall (SYS_futex, &event->state->reached, FUTEX_WAIT, now, NULL, NULL, 0);
}
