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

/* A stage finds the best of its candidates. The next stage searches around it.
 * The last stage compares the result with no direct writers, and with direct
 * writers only. Its measurements must be long. */
typedef enum {
  GST_VKGDR_POLICY_SEARCHING,
  GST_VKGDR_POLICY_COMPARING,
  GST_VKGDR_POLICY_OVER
} GstVkgdrPolicyStage;

/* The result of one measurement of all writers together. */
typedef struct {
  gdouble rate; /* bytes per nanosecond */
  gdouble load; /* time that writers wrote or waited for the device, per elapsed
                 * time: the number of writers if nothing else limits the speed
                 */
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
  GstVkgdrPolicyStage stage;
  gint last;                  /* result of the last search; -1: none */
  gboolean staged_is_cheaper; /* for writers that other elements limit, staged
                               * access is cheaper than direct access with the
                               * same score */
  GstVkgdrPolicyScore none;   /* without direct writers; 0: not measured */
  GstVkgdrPolicyScore all;    /* with direct writers only; 0: not measured */
  GstVkgdrPolicyScore score;  /* of the best number, when the search is over */
  GstVkgdrPolicyCandidate candidates[GST_VKGDR_POLICY_CANDIDATES];
} GstVkgdrPolicySearch;

/* Starts a search among @n_writers, of which @current write directly. If that
 * number is the result of a search among the same writers, @is_result must be
 * TRUE. */
void gst_vkgdr_policy_search_start (GstVkgdrPolicySearch *search,
    guint n_writers, guint current, gboolean is_result,
    gboolean staged_is_cheaper);

/* Returns the number of direct writers to measure; the best one if the search
 * is over. */
guint gst_vkgdr_policy_search_get (const GstVkgdrPolicySearch *search);

/* Adds the result for the number of gst_vkgdr_policy_search_get(). */
void gst_vkgdr_policy_search_add (
    GstVkgdrPolicySearch *search, GstVkgdrPolicyScore score);

G_END_DECLS

#endif /* __GST_VKGDR_POLICY_SEARCH_H__ */
