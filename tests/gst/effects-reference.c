/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * effects-reference.c: finds the reference of an effect, and applies it to
 * frames
 *
 * Contains no effect itself.
 */

#include <string.h>

#include "effects-reference.h"

static const EffectReference *
find_in (const EffectReference *list, const gchar *name)
{
  for (; list->name; list++)
    if (g_str_equal (list->name, name))
      return list;
  return NULL;
}

const EffectReference *
effect_reference_find (const gchar *name)
{
  const EffectReference *found = find_in (effect_references_colour, name);

  if (!found)
    found = find_in (effect_references_shape, name);
  if (!found)
    g_error ("no reference for the effect %s", name);
  return found;
}

gdouble
effect_reference_param (
    const GstStructure *params, const gchar *name, gdouble otherwise)
{
  const GValue *given = params ? gst_structure_get_value (params, name) : NULL;
  GValue value = G_VALUE_INIT;
  gdouble result;

  if (!given)
    return otherwise;
  g_value_init (&value, G_TYPE_DOUBLE);
  g_assert (g_value_transform (given, &value));
  result = g_value_get_double (&value);
  g_value_unset (&value);
  return result;
}

void
effect_reference_convert (const gchar *name, const GstVideoInfo *in_info,
    const guint8 *in_data, const GstVideoInfo *out_info, guint8 *out_data,
    const GstStructure *params)
{
  const EffectReference *reference = effect_reference_find (name);
  gboolean alike =
      GST_VIDEO_INFO_FORMAT (in_info) == GST_VIDEO_INFO_FORMAT (out_info)
      && GST_VIDEO_INFO_WIDTH (in_info) == GST_VIDEO_INFO_WIDTH (out_info)
      && GST_VIDEO_INFO_HEIGHT (in_info) == GST_VIDEO_INFO_HEIGHT (out_info);
  Picture in, out;

  picture_read (&in, in_info, in_data);
  if (alike)
    picture_read (&out, out_info, in_data);
  else
    picture_init (&out, out_info);
  reference->apply (&in, &out, params);
  picture_write (&out, out_info, out_data);
  picture_clear (&out);
  picture_clear (&in);
}

void
effect_reference (const gchar *name, const GstVideoInfo *info,
    const guint8 *in_data, guint8 *out_data, const GstStructure *params)
{
  effect_reference_convert (name, info, in_data, info, out_data, params);
}

guint
effect_reference_count_differences (
    const GstVideoInfo *info, const guint8 *a, const guint8 *b)
{
  return picture_count_differences (info, a, b, 0);
}
