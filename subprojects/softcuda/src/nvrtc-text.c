/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvrtc-text.c: strings that grow, and files as strings
 *
 * Knows nothing of compiling.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvrtc-private.h"

static bool
reserve (rt_text *text, size_t more)
{
  size_t room = text->room != 0 ? text->room : 256;
  char *data;

  if (text->failed)
    return false;
  while (room - text->size <= more)
    room *= 2;
  if (room == text->room)
    return true;
  data = realloc (text->data, room);
  if (data == NULL) {
    text->failed = true;
    return false;
  }
  text->data = data;
  text->room = room;
  return true;
}

void
rt_text_add (rt_text *text, const char *bytes, size_t n)
{
  if (!reserve (text, n))
    return;
  if (n != 0)
    memcpy (text->data + text->size, bytes, n);
  text->size += n;
  text->data[text->size] = '\0';
}

void
rt_text_print (rt_text *text, const char *format, ...)
{
  char *line;
  va_list args;
  int n;

  va_start (args, format);
  n = vasprintf (&line, format, args);
  va_end (args);
  if (n < 0) {
    text->failed = true;
    return;
  }
  rt_text_add (text, line, n);
  free (line);
}

void
rt_text_clear (rt_text *text)
{
  free (text->data);
  *text = (rt_text){ NULL, 0, 0, false };
}

bool
rt_text_read_file (rt_text *text, const char *path)
{
  FILE *file = fopen (path, "re");
  char part[4096];
  size_t n;
  bool good;

  if (file == NULL)
    return false;
  while ((n = fread (part, 1, sizeof part, file)) > 0)
    rt_text_add (text, part, n);
  good = !ferror (file) && !text->failed;
  fclose (file);
  return good;
}

bool
rt_text_write_file (const rt_text *text, const char *path)
{
  FILE *file = text->failed ? NULL : fopen (path, "wxe");
  bool good;

  if (file == NULL)
    return false;
  good = fwrite (text->data, 1, text->size, file) == text->size;
  return fclose (file) == 0 && good;
}

void
rt_text_remove_all (rt_text *text, const char *what)
{
  size_t n = strlen (what);
  const char *from = text->data;
  char *to = text->data;

  while (from != NULL) {
    const char *next = strstr (from, what);
    size_t kept = next != NULL ? (size_t) (next - from) : strlen (from);

    memmove (to, from, kept);
    to += kept;
    from = next != NULL ? next + n : NULL;
  }
  if (to != NULL) {
    *to = '\0';
    text->size = to - text->data;
  }
}

void
rt_strings_add (rt_strings *strings, const char *text, size_t n)
{
  char **item = realloc (strings->item, (strings->n + 2) * sizeof *item);

  if (item == NULL) {
    strings->failed = true;
    return;
  }
  strings->item = item;
  item[strings->n] = strndup (text, n);
  if (item[strings->n] == NULL)
    strings->failed = true;
  else
    strings->n++;
  item[strings->n] = NULL;
}

void
rt_strings_print (rt_strings *strings, const char *format, ...)
{
  char *text;
  va_list args;
  int n;

  va_start (args, format);
  n = vasprintf (&text, format, args);
  va_end (args);
  if (n < 0) {
    strings->failed = true;
    return;
  }
  rt_strings_add (strings, text, n);
  free (text);
}

bool
rt_strings_contain (const rt_strings *strings, const char *text)
{
  for (int i = 0; i < strings->n; i++)
    if (strcmp (strings->item[i], text) == 0)
      return true;
  return false;
}

void
rt_strings_clear (rt_strings *strings)
{
  for (int i = 0; i < strings->n; i++)
    free (strings->item[i]);
  free (strings->item);
  *strings = (rt_strings){ NULL, 0, false };
}
