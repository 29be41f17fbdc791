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
  gdouble direct_thread; /* of one direct writer */
  gdouble staged_total;
  gdouble staged_thread;
  gdouble total; /* of all writers, direct and staged together */
} SimMachine;

/* A stream of frames that are written to a pool of its own. Fields that are
 * zero have no effect. */
typedef struct {
  gsize size;            /* bytes of a frame */
  guint threads;         /* number of frames that are written at the same time;
                          * 0 means 1 */
  gdouble direct_rate;   /* highest rate of a thread with direct access, in
                          * bytes per ns */
  gdouble staged_rate;   /* likewise, with staged access */
  GstClockTime period;   /* the interval of a live source */
  guint readwrite_every; /* one buffer in this many is mapped for reading,
                          * too */
  gdouble noise;         /* the time of a frame varies by this fraction */
  gdouble stalls;        /* probability that a frame is delayed by STALL */
  GstClockTime start;    /* the time when the stream begins */
  GstClockTime slow_for; /* for this time after a change from direct to staged
                          * access, it writes at half the rate */
  /* from this time on, direct_rate is changed_direct_rate */
  GstClockTime change_time;
  gdouble changed_direct_rate;
} SimStream;

typedef struct {
  guint64 bytes;        /* written by all streams */
  guint64 direct_bytes; /* of these, with direct access */
  GstClockTime busy;    /* time for which writers had buffers mapped */
  GstClockTime time;
} SimResult;

typedef struct _Sim Sim;

/* How access modes are chosen in a simulation. */
typedef enum { SIM_AUTO, SIM_FIXED } SimChoice;

/* With SIM_FIXED, the first @n_direct streams have direct access. @streams must
 * outlive the simulation. */
Sim *sim_new (const SimMachine *machine, const SimStream *streams, guint n,
    SimChoice choice, guint n_direct);
void sim_free (Sim *sim);

/* Runs the simulation for @time. Returns what the writers did in this time. */
SimResult sim_run (Sim *sim, GstClockTime time);

/* Returns the policy of a stream. */
GstVkgdrPolicy *sim_get_policy (Sim *sim, guint stream);

static inline gdouble
sim_rate (SimResult result)
{
  return (gdouble) result.bytes / result.time;
}

#endif /* POLICYSIM_H */
