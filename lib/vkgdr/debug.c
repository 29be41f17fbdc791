/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * debug.c: VKGDR_DEBUG, which simulates a device with fewer features
 *
 * Parses the words, and counts the used bytes of a limited window. Must not
 * know Vulkan or CUDA.
 */

#include "debug.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <pthread.h>

#include "error.h"

/* Process-wide, like the window of a GPU, which all users share. */
static pthread_mutex_t window_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t window_used;

/* The number of bits that a suffix shifts by, -1 for an unknown one. */
static int
suffix_shift (const char *suffix, size_t length)
{
  if (length == 0)
    return 0;
  if (length > 1)
    return -1;
  switch (toupper ((unsigned char) *suffix)) {
  case 'K':
    return 10;
  case 'M':
    return 20;
  case 'G':
    return 30;
  default:
    return -1;
  }
}

/* Reads a size such as 16M, which ends at @end. Returns false if it is not a
 * size, or is 0. */
static bool
parse_size (const char *text, const char *end, uint64_t *size)
{
  unsigned long long value;
  char *suffix;
  int shift;

  if (!isdigit ((unsigned char) *text))
    return false;
  errno = 0;
  value = strtoull (text, &suffix, 10);
  if (errno || value == 0 || suffix > end)
    return false;
  shift = suffix_shift (suffix, end - suffix);
  if (shift < 0 || value > UINT64_MAX >> shift)
    return false;
  *size = (uint64_t) value << shift;
  return true;
}

/* The switch for a word, NULL if the word is unknown. */
static bool *
find_switch (const char *word, size_t length, vkgdr_debug *debug)
{
  const struct {
    const char *word;
    bool *value;
  } switches[] = {
    { "bar", &debug->bar },
    { "non-coherent", &debug->non_coherent },
    { "no-window", &debug->no_window },
    { "no-vulkan", &debug->no_vulkan },
  };
  size_t i;

  for (i = 0; i < sizeof (switches) / sizeof (switches[0]); i++) {
    if (length == strlen (switches[i].word)
        && strncmp (word, switches[i].word, length) == 0)
      return switches[i].value;
  }
  return NULL;
}

static bool
parse_word (const char *word, size_t length, vkgdr_debug *debug)
{
  bool *value = find_switch (word, length, debug);

  if (length == 0)
    return true;
  if (value) {
    *value = true;
    return true;
  }
  if (length > strlen ("bar=") && strncmp (word, "bar=", 4) == 0
      && parse_size (word + 4, word + length, &debug->window)) {
    debug->bar = true;
    return true;
  }
  vkgdr_error_set (
      "VKGDR_DEBUG has the word \"%.*s\", which is unknown: "
      "valid words are bar, bar=SIZE (such as bar=16M), non-coherent, "
      "no-window and no-vulkan, with commas between them",
      (int) length, word);
  return false;
}

bool
vkgdr_debug_parse (const char *text, vkgdr_debug *debug)
{
  size_t length;

  memset (debug, 0, sizeof (*debug));
  if (!text)
    return true;
  for (;;) {
    length = strcspn (text, ",");
    if (!parse_word (text, length, debug))
      return false;
    if (!text[length])
      return true;
    text += length + 1;
  }
}

bool
vkgdr_debug_hides_vulkan (void)
{
  static const char word[] = "no-vulkan";
  const char *text = getenv ("VKGDR_DEBUG");
  size_t length;

  for (; text && *text; text += length + (text[length] == ',')) {
    length = strcspn (text, ",");
    if (length == strlen (word) && strncmp (text, word, length) == 0)
      return true;
  }
  return false;
}

bool
vkgdr_debug_window_take (const vkgdr_debug *debug, uint64_t size)
{
  bool fits;

  if (!debug->window)
    return true;
  pthread_mutex_lock (&window_lock);
  fits = window_used <= debug->window && size <= debug->window - window_used;
  if (fits)
    window_used += size;
  pthread_mutex_unlock (&window_lock);
  return fits;
}

void
vkgdr_debug_window_give (const vkgdr_debug *debug, uint64_t size)
{
  if (!debug->window)
    return;
  pthread_mutex_lock (&window_lock);
  window_used -= size;
  pthread_mutex_unlock (&window_lock);
}

uint64_t
vkgdr_debug_window_used (void)
{
  uint64_t used;

  pthread_mutex_lock (&window_lock);
  used = window_used;
  pthread_mutex_unlock (&window_lock);
  return used;
}
