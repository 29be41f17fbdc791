/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/params.c: fields of a GstStructure as arguments of a kernel
 *
 * Converts values to the bytes of the arguments, and reports values that do not
 * fit. Knows neither driver nor frames: only the size of a parameter is known.
 */

#include <string.h>

#include "kernel/params.h"

#include <gst/vkgdr/gstvkgdrerror.h>

/* A value of params, as an integer or a floating-point number. It has @size
 * bytes if the size of the parameter is unknown. */
typedef struct {
  gboolean is_real;
  gsize size;
  gint64 integer;
  gdouble real;
} ParamValue;

/* Returns FALSE if a kernel cannot have an argument of this type. */
static gboolean
value_read (ParamValue *self, const GValue *value)
{
  GType type = G_TYPE_FUNDAMENTAL (G_VALUE_TYPE (value));

  memset (self, 0, sizeof (*self));
  self->size = 4;
  if (type == G_TYPE_INT)
    self->integer = g_value_get_int (value);
  else if (type == G_TYPE_UINT)
    self->integer = g_value_get_uint (value);
  else if (type == G_TYPE_ENUM)
    self->integer = g_value_get_enum (value);
  else if (type == G_TYPE_FLAGS)
    self->integer = g_value_get_flags (value);
  else if (type == G_TYPE_BOOLEAN)
    self->integer = g_value_get_boolean (value) ? 1 : 0;
  else if (type == G_TYPE_INT64 || type == G_TYPE_UINT64) {
    self->size = 8;
    self->integer = type == G_TYPE_INT64 ? g_value_get_int64 (value)
                                         : (gint64) g_value_get_uint64 (value);
  } else if (type == G_TYPE_FLOAT || type == G_TYPE_DOUBLE) {
    self->is_real = TRUE;
    self->size = type == G_TYPE_FLOAT ? 4 : 8;
    self->real = type == G_TYPE_FLOAT ? (gdouble) g_value_get_float (value)
                                      : g_value_get_double (value);
  } else
    return FALSE;
  return TRUE;
}

/* Whether the value fits in a parameter of @size bytes. A floating-point number
 * fits in a float and a double. An integer fits in an integer that is at least
 * as wide. An integer of 4 bytes also fits in one of 1 or 2 bytes that can
 * represent the value. */
static gboolean
value_fits (const ParamValue *self, gsize size)
{
  gint64 limit;

  if (self->is_real)
    return size == 4 || size == 8;
  if (size == self->size || (self->size == 4 && size == 8))
    return TRUE;
  if (self->size != 4 || (size != 1 && size != 2))
    return FALSE;
  limit = (gint64) 1 << (8 * size);
  return self->integer >= -limit / 2 && self->integer < limit;
}

/* The bytes are in little-endian order, as on all machines with a CUDA driver.
 */
static void
value_write (const ParamValue *self, gsize size, guint8 *slot)
{
  gfloat narrow = (gfloat) self->real;

  if (!self->is_real)
    memcpy (slot, &self->integer, size);
  else if (size == 4)
    memcpy (slot, &narrow, size);
  else
    memcpy (slot, &self->real, size);
}

static gboolean
check_count (const gchar *entry, guint given, guint wanted, GError **error)
{
  if (given == wanted)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "Kernel \"%s\" takes %u parameter%s after its two buffers, but params "
      "has %u",
      entry, wanted, wanted == 1 ? "" : "s", given);
  return FALSE;
}

/* Returns the bytes of a GBytes, or NULL with @error set if they do not have
 * the size of the parameter. */
static void *
find_bytes (const GValue *value, const gchar *field, guint index,
    const gchar *entry, const gsize *size, GError **error)
{
  gsize given;
  gconstpointer data = g_bytes_get_data (g_value_get_boxed (value), &given);

  if (data && (!size || *size == given))
    return (void *) data;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "Parameter %u (%s) of kernel \"%s\" has %" G_GSIZE_FORMAT
      " bytes, but the GBytes that is given has %" G_GSIZE_FORMAT
      ": it has to have exactly as many",
      index + 1, field, entry, size ? *size : 1, given);
  return NULL;
}

/* Writes field @index of @params to @slot, and sets *@argument to its address.
 * @size is NULL if the size of the parameter is unknown. */
static gboolean
pack_field (const GstStructure *params, guint index, const gchar *entry,
    const gsize *size, guint8 *slot, void **argument, GError **error)
{
  const gchar *field = gst_structure_nth_field_name (params, index);
  const GValue *value = gst_structure_get_value (params, field);
  gsize wanted;
  ParamValue v;

  *argument = slot;
  if (G_VALUE_HOLDS (value, G_TYPE_BYTES) && g_value_get_boxed (value)) {
    *argument = find_bytes (value, field, index, entry, size, error);
    return *argument != NULL;
  }
  if (!value_read (&v, value)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "Parameter %u (%s) of kernel \"%s\" cannot be a %s: only numbers, "
        "booleans and GBytes can be given",
        index + 1, field, entry, G_VALUE_TYPE_NAME (value));
    return FALSE;
  }
  wanted = size ? *size : v.size;
  if (!value_fits (&v, wanted)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "Parameter %u (%s) of kernel \"%s\" has %" G_GSIZE_FORMAT
        " bytes, but the %s that is given has %" G_GSIZE_FORMAT
        " and does not fit",
        index + 1, field, entry, wanted, G_VALUE_TYPE_NAME (value), v.size);
    return FALSE;
  }
  value_write (&v, wanted, slot);
  return TRUE;
}

gboolean
gst_vkgdr_params_pack (const GstStructure *params, const gchar *entry,
    const gsize *sizes, guint n_sizes, guint8 *slots, void **arguments,
    GError **error)
{
  guint i, n = params ? gst_structure_n_fields (params) : 0;

  if (sizes && !check_count (entry, n, n_sizes, error))
    return FALSE;
  for (i = 0; i < n; i++)
    if (!pack_field (params, i, entry, sizes ? &sizes[i] : NULL,
            slots + i * GST_VKGDR_PARAMS_SLOT_SIZE, &arguments[i], error))
      return FALSE;
  return TRUE;
}
