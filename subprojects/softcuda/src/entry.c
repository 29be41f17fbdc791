/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * entry.c: cuInit(), code that every call runs first, and calls that
 * SOFTCUDA_FAIL makes fail
 *
 * Refuses calls from host functions and calls before cuInit(), counts calls,
 * and has the list of SOFTCUDA_FAIL. It has its own lock, and knows nothing of
 * what a call does.
 */

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "absent.h"
#include "private.h"

/* This name stands for every entry point. */
#define ANY "*"

typedef struct fail_rule {
  char *name;
  unsigned long left; /* calls until the one that fails; 0: it has failed */
  bool for_good;      /* all later calls fail, too */
  CUresult error;
  struct fail_rule *next;
} fail_rule;

static pthread_mutex_t fail_lock = PTHREAD_MUTEX_INITIALIZER;
static fail_rule *fail_rules;
static char *fail_environment;
static atomic_bool any_rules;
static atomic_bool initialized;
static __thread int host_function_depth;
static __thread unsigned long n_calls[SC_N_CALLS];

static const char *const call_names[SC_N_CALLS] = {
#define CALL_NAME(name, symbol, args) #name,
  SOFTCUDA_FUNCTIONS (CALL_NAME)
#undef CALL_NAME
};

static void
free_rules (fail_rule *rule)
{
  while (rule != NULL) {
    fail_rule *next = rule->next;

    free (rule->name);
    free (rule);
    rule = next;
  }
}

/* Whether there is an entry point of this name. Without this check, a misspelt
 * name would have no effect. */
static bool
name_is_known (const char *name)
{
  if (strcmp (name, ANY) == 0)
    return true;
  for (int i = 0; i < SC_N_CALLS; i++)
    if (strcmp (call_names[i], name) == 0)
      return true;
  return false;
}

static bool
parse_count (const char *text, fail_rule *rule)
{
  char *end;

  errno = 0;
  rule->left = strtoul (text, &end, 10);
  rule->for_good = *end == '+';
  if (rule->for_good)
    end++;
  return errno == 0 && end != text && *end == '\0' && *text != '-'
         && rule->left != 0;
}

/* Parses one NAME:N[+][:ERROR]. Changes the string. */
static fail_rule *
parse_rule (char *text)
{
  char *rest = text;
  const char *name = strsep (&rest, ":");
  const char *count = strsep (&rest, ":");
  fail_rule *rule = calloc (1, sizeof *rule);

  if (rule == NULL)
    return NULL;
  rule->error = CUDA_ERROR_UNKNOWN;
  if (!name_is_known (name) || count == NULL || !parse_count (count, rule)
      || (rest != NULL
          && sc_error_from_text (rest, &rule->error) != CUDA_SUCCESS)) {
    free (rule);
    return NULL;
  }
  rule->name = strdup (name);
  return rule;
}

static CUresult
parse_rules (const char *spec, fail_rule **rules)
{
  char *copy = strdup (spec);
  char *rest = copy;
  char *one;

  *rules = NULL;
  if (copy == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  while ((one = strsep (&rest, ",")) != NULL) {
    fail_rule *rule;

    if (*one == '\0')
      continue;
    rule = parse_rule (one);
    if (rule == NULL) {
      free_rules (*rules);
      free (copy);
      return CUDA_ERROR_INVALID_VALUE;
    }
    rule->next = *rules;
    *rules = rule;
  }
  free (copy);
  return CUDA_SUCCESS;
}

static CUresult
set_rules (const char *spec)
{
  fail_rule *rules;
  CUresult result = parse_rules (spec, &rules);

  if (result != CUDA_SUCCESS)
    return result;
  free_rules (fail_rules);
  fail_rules = rules;
  atomic_store (&any_rules, rules != NULL);
  return CUDA_SUCCESS;
}

CUresult
softcudaFail (const char *spec)
{
  CUresult result;

  pthread_mutex_lock (&fail_lock);
  result = set_rules (spec != NULL ? spec : "");
  pthread_mutex_unlock (&fail_lock);
  return result;
}

/* The variable is read again only when it has changed. Otherwise each cuInit()
 * would restart the count. */
static CUresult
fail_read_environment (void)
{
  const char *spec = getenv ("SOFTCUDA_FAIL");
  CUresult result = CUDA_SUCCESS;

  pthread_mutex_lock (&fail_lock);
  if (spec == NULL)
    spec = "";
  if (strcmp (spec, fail_environment != NULL ? fail_environment : "") != 0) {
    result = set_rules (spec);
    free (fail_environment);
    fail_environment = strdup (spec);
    if (result != CUDA_SUCCESS)
      fprintf (stderr,
          "softcuda: cannot understand SOFTCUDA_FAIL=%s: "
          "it takes NAME:N[+][:ERROR],...\n",
          spec);
  }
  pthread_mutex_unlock (&fail_lock);
  return result;
}

static bool
names_match (const char *rule, const char *call)
{
  size_t len = strlen (rule);

  if (strcmp (rule, ANY) == 0)
    return true;
  return strncmp (rule, call, len) == 0
         && (call[len] == '\0' || strcmp (call + len, "_v2") == 0);
}

unsigned long
softcudaCountCalls (const char *name)
{
  unsigned long n = 0;

  for (int i = 0; name != NULL && i < SC_N_CALLS; i++)
    if (names_match (name, call_names[i]))
      n += n_calls[i];
  return n;
}

CUresult
sc_fail_check (sc_call call)
{
  CUresult result = CUDA_SUCCESS;

  n_calls[call]++;
  if (!atomic_load (&any_rules))
    return CUDA_SUCCESS;
  pthread_mutex_lock (&fail_lock);
  for (fail_rule *rule = fail_rules; rule != NULL; rule = rule->next) {
    if (rule->left == 0 || !names_match (rule->name, call_names[call]))
      continue;
    if (rule->left > 1) {
      rule->left--;
      continue;
    }
    if (!rule->for_good)
      rule->left = 0;
    result = rule->error;
  }
  pthread_mutex_unlock (&fail_lock);
  return result;
}

CUresult
sc_enter (sc_call call)
{
  CUresult result;

  if (host_function_depth != 0)
    return CUDA_ERROR_NOT_PERMITTED;
  result = sc_fail_check (call);
  if (result != CUDA_SUCCESS)
    return result;
  return atomic_load (&initialized) ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult
sc_enter_absent (void)
{
  if (host_function_depth != 0)
    return CUDA_ERROR_NOT_PERMITTED;
  return atomic_load (&initialized) ? CUDA_ERROR_NOT_SUPPORTED
                                    : CUDA_ERROR_NOT_INITIALIZED;
}

void
sc_host_function_begin (void)
{
  host_function_depth++;
}

void
sc_host_function_end (void)
{
  host_function_depth--;
}

CUresult
cuInit (unsigned int flags)
{
  CUresult result = fail_read_environment ();

  if (result == CUDA_SUCCESS)
    result = sc_fail_check (SC_CALL_cuInit);
  if (result != CUDA_SUCCESS)
    return result;
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  atomic_store (&initialized, true);
  return CUDA_SUCCESS;
}
