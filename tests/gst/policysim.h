/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * policysim.h: simulates writers that share a machine
 *
 * The machine has two paths to the device: direct access and staging. The
 * writers of a path share its bandwidth. Rates are bytes per nanosecond, which
 * is GB/s. Time is simulated, and random numbers have a seed, so each run of a
 * simulation is the same.
 */

#ifndef POLICYSIM_H
#define POLICYSIM_H

#include "memory/policy.h"

#define SIM_MAX_STREAMS 16
#define SIM_MAX_THREADS 16

typedef struct {
  gdouble direct_total;  /* of all direct writers together */
  gdouble direct_thread; /* of one */
  gdouble staged_total;
  gdouble staged_thread;
  gdouble total; /* of all writers, both paths together */
} SimMachine;

/* A stream of frames, which writes into a pool of its own. Fields that are zero
 * do not matter. */
typedef struct {
  gsize size;            /* bytes of a frame */
  guint threads;         /* frames that are written at the same time; 0: 1 */
  gdouble direct_rate;   /* most bytes per ns of a thread, direct */
  gdouble staged_rate;   /* likewise, staged */
  GstClockTime period;   /* of a live source */
  guint readwrite_every; /* one of so many buffers is mapped for reading, too */
  gdouble noise;         /* a frame takes up to this fraction more or less */
  gdouble stalls;        /* probability that a frame takes STALL more */
  GstClockTime start;    /* when the stream begins */
  /* from this time on, the direct rate is another */
  GstClockTime change_time;
  gdouble changed_direct_rate;
} SimStream;

typedef struct {
  guint64 bytes;        /* written by all streams */
  guint64 direct_bytes; /* of these, with direct access */
  GstClockTime busy;    /* time that writers had buffers mapped */
  GstClockTime time;
} SimResult;

typedef struct _Sim Sim;

/* How a simulation gives access modes. */
typedef enum { SIM_AUTO, SIM_FIXED } SimChoice;

/* With SIM_FIXED the first @n_direct streams write directly. @streams has to
 * live as long as the simulation. */
Sim *sim_new (const SimMachine *machine, const SimStream *streams, guint n,
    SimChoice choice, guint n_direct);
void sim_free (Sim *sim);

/* Lets the writers run for @time. Returns what they did in it. */
SimResult sim_run (Sim *sim, GstClockTime time);

/* The policy of a stream. */
GstVkgdrPolicy *sim_get_policy (Sim *sim, guint stream);

static inline gdouble
sim_rate (SimResult result)
{
  return (gdouble) result.bytes / result.time;
}

#endif /* POLICYSIM_H */
