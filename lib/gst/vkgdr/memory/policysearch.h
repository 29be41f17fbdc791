/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/policysearch.h: searches for the best number of direct writers
 *
 * Some pools that write at the same time write directly, and the others are
 * staged. The search determines which number of direct writers to measure next,
 * takes the results, and ends with the best number. It knows neither pools nor
 * clocks. Not thread-safe: the caller must lock.
 */

#ifndef __GST_VKGDR_POLICY_SEARCH_H__
#define __GST_VKGDR_POLICY_SEARCH_H__

#include <glib.h>

G_BEGIN_DECLS

/* The result of one measurement of all writers together. */
typedef struct {
  gdouble rate; /* bytes per nanosecond */
  gdouble load; /* time that writers spent, per elapsed time: the number of
                 * writers if nothing else limits the speed */
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
  guint current; /* the present number */
  guint step;    /* between the candidates of the next stage; 0: none */
  guint n;       /* number of candidates in this stage */
  guint pass;    /* how often all candidates of this stage were measured */
  guint index;   /* in this pass */
  gboolean is_over;
  GstVkgdrPolicyCandidate candidates[GST_VKGDR_POLICY_CANDIDATES];
} GstVkgdrPolicySearch;

/* Starts a search among @n_writers, of which @current write directly. */
void gst_vkgdr_policy_search_start (
    GstVkgdrPolicySearch *search, guint n_writers, guint current);

/* Returns the number of direct writers to measure; the best one if `is_over`.
 */
guint gst_vkgdr_policy_search_get (const GstVkgdrPolicySearch *search);

/* Adds the result for the number of gst_vkgdr_policy_search_get(). */
void gst_vkgdr_policy_search_add (
    GstVkgdrPolicySearch *search, GstVkgdrPolicyScore score);

/* Returns the score of the best number of the last stage. */
GstVkgdrPolicyScore gst_vkgdr_policy_search_get_score (
    const GstVkgdrPolicySearch *search);

G_END_DECLS

#endif /* __GST_VKGDR_POLICY_SEARCH_H__ */
