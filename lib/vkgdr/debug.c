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
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

/* Process-wide, because all handles of the process share the limited window. */
static atomic_uint_fast64_t window_used;

/* Reads a size such as 16M, which ends at @end. Returns false if it is not a
 * size, or is 0. */
static bool
parse_size (const char *text, const char *end, uint64_t *size)
{
  static const char suffixes[] = "kmgKMG";
  const char *found;
  char *suffix;
  int shift = 0;

  errno = 0;
  *size = strtoull (text, &suffix, 10);
  found = suffix < end ? strchr (suffixes, *suffix) : NULL;
  if (found) {
    shift = 10 * (int) ((found - suffixes) % 3 + 1);
    suffix++;
  }
  if (!isdigit ((unsigned char) *text) || errno || suffix != end || *size == 0
      || *size > UINT64_MAX >> shift)
    return false;
  *size <<= shift;
  return true;
}

static bool
parse_word (const char *word, size_t length, vkgdr_debug *debug)
{
  const struct {
    const char *word;
    bool *value;
  } switches[] = {
    { "", &(bool){ false } },
    { "bar", &debug->bar },
    { "non-coherent", &debug->non_coherent },
    { "no-window", &debug->no_window },
    { "no-vulkan", &debug->no_vulkan },
  };
  size_t i;

  for (i = 0; i < sizeof (switches) / sizeof (switches[0]); i++)
    if (length == strlen (switches[i].word)
        && strncmp (word, switches[i].word, length) == 0) {
      *switches[i].value = true;
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
vkgdr_debug_window_take (const vkgdr_debug *debug, uint64_t size)
{
  uint64_t used = atomic_load (&window_used);

  if (!debug->window)
    return true;
  do {
    if (used > debug->window || size > debug->window - used)
      return false;
  } while (!atomic_compare_exchange_weak (&window_used, &used, used + size));
  return true;
}

void
vkgdr_debug_window_give (const vkgdr_debug *debug, uint64_t size)
{
  if (debug->window)
    atomic_fetch_sub (&window_used, size);
}

uint64_t
vkgdr_debug_window_used (void)
{
  return atomic_load (&window_used);
}
