/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvrtc-declaration.c: whether a declaration is of the host
 *
 * NVRTC compiles for the device only. It refuses functions of the host, and
 * variables of the host that can change. Knows declarations of namespaces, but
 * not those of classes. Without a doubt, a declaration is accepted.
 */

#include <string.h>

#include "nvrtc-private.h"

static bool
is_one_of (const char *const *words, const char *word, size_t size)
{
  for (; *words != NULL; words++)
    if (strlen (*words) == size && memcmp (*words, word, size) == 0)
      return true;
  return false;
}

void
rt_declaration_add_word (
    rt_declaration *declaration, const char *word, size_t size)
{
  static const char *const device[] = { "__device__", "__global__",
    "__constant__", "__shared__", "__managed__", NULL };
  static const char *const host[] = { "__host__", NULL };
  static const char *const constant[] = { "const", "constexpr", NULL };
  static const char *const template[] = { "template", NULL };
  static const char *const other[] = { "typedef", "using", "struct", "class",
    "union", "enum", "namespace", "static_assert", "asm", "__asm__", "friend",
    "concept", "operator", NULL };
  static const char *const attributes[] = { "__attribute__", "alignas",
    "decltype", "__align__", "noexcept", NULL };

  if (is_one_of (device, word, size))
    declaration->is_device = true;
  else if (is_one_of (host, word, size))
    declaration->is_host = true;
  else if (is_one_of (constant, word, size))
    declaration->is_constant = true;
  else if (is_one_of (template, word, size))
    declaration->is_template = true;
  else if (declaration->n_angles == 0 && is_one_of (other, word, size))
    declaration->is_other = true;
  declaration->is_attribute = is_one_of (attributes, word, size);
  declaration->n_words++;
}

void
rt_declaration_add_sign (rt_declaration *declaration, char sign)
{
  if (sign == '<' && declaration->is_template)
    declaration->n_angles++;
  else if (sign == '>' && declaration->n_angles > 0)
    declaration->n_angles--;
  if (declaration->n_angles > 0)
    return;
  if (sign == '(' && !declaration->is_attribute && !declaration->has_value)
    declaration->is_function = true;
  if (sign == '=' && !declaration->is_function)
    declaration->has_value = true;
}

const char *
rt_declaration_find_fault (const rt_declaration *declaration)
{
  const rt_declaration *d = declaration;

  if (d->is_other || d->is_device || d->n_words < 2)
    return NULL;
  if (d->is_host)
    return "A function of the host (__host__) is not allowed in NVRTC";
  if (d->allows_unmarked || (d->is_constant && !d->is_function))
    return NULL;
  return d->is_function ? "A function without __device__ or __global__ is one "
                          "of the host, which is not allowed in NVRTC without "
                          "the option -default-device"
                        : "A variable without __device__ or __constant__ is "
                          "one of the host, which is not allowed in NVRTC "
                          "without the option -default-device";
}

void
rt_declaration_end (rt_declaration *declaration)
{
  bool allows_unmarked = declaration->allows_unmarked;

  memset (declaration, 0, sizeof *declaration);
  declaration->allows_unmarked = allows_unmarked;
}
