/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/policysearch.h: searches for the best number of direct writers
 *
 * Of a number of pools that write at the same time, some write directly and
 * the others are staged. The search says which number of direct writers to
 * measure next, takes the results, and ends with the best number. It knows
 * neither pools nor clocks. Not thread-safe: the caller locks.
 */

#ifndef __GST_VKGDR_POLICY_SEARCH_H__
#define __GST_VKGDR_POLICY_SEARCH_H__

#include <glib.h>

G_BEGIN_DECLS

/* What one measurement of all writers together gave. */
typedef struct {
  gdouble rate; /* bytes per nanosecond */
  gdouble load; /* time that writers spent, per time that passed: the number
                 * of writers where nothing else sets the pace */
} GstVkgdrPolicyScore;

#define GST_VKGDR_POLICY_PASSES 3
#define GST_VKGDR_POLICY_CANDIDATES 3

/* A number of direct writers, and its scores. */
typedef struct {
  guint n_direct;
  guint n_scores;
  GstVkgdrPolicyScore scores[GST_VKGDR_POLICY_PASSES];
} GstVkgdrPolicyCandidate;

typedef struct {
  guint n_writers;
  guint current; /* the number that is in force */
  guint step;    /* between the candidates of the next stage; 0: none */
  guint n;       /* candidates of this stage */
  guint pass;    /* times that all candidates of this stage were measured */
  guint index;   /* in this pass */
  gboolean is_over;
  GstVkgdrPolicyCandidate candidates[GST_VKGDR_POLICY_CANDIDATES];
} GstVkgdrPolicySearch;

/* Starts a search among @n_writers, of which @current write directly. */
void gst_vkgdr_policy_search_start (
    GstVkgdrPolicySearch *search, guint n_writers, guint current);

/* The number of direct writers to measure; the best one once `is_over`. */
guint gst_vkgdr_policy_search_get (const GstVkgdrPolicySearch *search);

/* Takes the result for the number that gst_vkgdr_policy_search_get() gave. */
void gst_vkgdr_policy_search_add (
    GstVkgdrPolicySearch *search, GstVkgdrPolicyScore score);

/* The score of the best number of the last stage. */
GstVkgdrPolicyScore gst_vkgdr_policy_search_get_score (
    const GstVkgdrPolicySearch *search);

G_END_DECLS

#endif /* __GST_VKGDR_POLICY_SEARCH_H__ */
