/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/settings.h: the properties that describe how frames become a tensor
 *
 * Shared by the elements that have them. Knows nothing of these elements.
 */

#ifndef __GST_VKGDR_TENSOR_SETTINGS_H__
#define __GST_VKGDR_TENSOR_SETTINGS_H__

#include <gst/vkgdr/vkgdr.h>

G_BEGIN_DECLS

/* The properties, in the order in which an element numbers them. */
typedef enum {
  GST_TENSOR_SETTING_CHANNELS,
  GST_TENSOR_SETTING_RESIZE,
  GST_TENSOR_SETTING_FILTER,
  GST_TENSOR_SETTING_FIELDS,
  GST_TENSOR_SETTING_SCALE,
  GST_TENSOR_SETTING_MEAN,
  GST_TENSOR_SETTING_STD,
  GST_TENSOR_SETTING_PAD,
  GST_TENSOR_N_SETTINGS
} GstTensorSetting;

/* Set by the user, under the object lock of the element. */
typedef struct {
  GstVkgdrTensorConfig config; /* all but mean and std */
  GValue mean;                 /* arrays of numbers, as they were set */
  GValue std;
} GstTensorSettings;

void gst_tensor_settings_init (
    GstTensorSettings *self, GstVkgdrTensorResize resize);
void gst_tensor_settings_clear (GstTensorSettings *self);

/* Sets @specs[0] to @specs[GST_TENSOR_N_SETTINGS - 1]. @resize is the default
 * of the property resize. */
void gst_tensor_settings_make_specs (
    GParamSpec **specs, GstVkgdrTensorResize resize);

/* Returns the field of a property. */
gpointer gst_tensor_settings_get_field (
    GstTensorSettings *self, GstTensorSetting setting);

/* Sets the mean and std of @config, which has the channels of the tensor, to
 * those of the user. If the user set none, they stay. Returns FALSE with @error
 * set. */
gboolean gst_tensor_settings_read_numbers (const GstTensorSettings *self,
    GstVkgdrTensorConfig *config, GError **error);

/* Copies a property's value to the field that has it, and back. Enumerations
 * are stored as numbers, and strings are interned. */
void gst_tensor_field_set (gpointer field, const GValue *value);
void gst_tensor_field_get (gconstpointer field, GValue *value);

/* --- modelinfo.c --- */

/* Reads a file of version 1. Returns NULL with @error set. */
GKeyFile *gst_tensor_modelinfo_open (const gchar *path, GError **error);

/* Sets the fields of @config that @file describes, and *@batch and *@tensor_id
 * (interned) unless they are set. @path, that of the file, is for messages.
 * @input is the name of the network's input, or NULL for the first one in the
 * file. Returns FALSE with @error set. */
gboolean gst_tensor_modelinfo_read (GKeyFile *file, const gchar *path,
    const gchar *input, GstVkgdrTensorConfig *config, guint *batch,
    const gchar **tensor_id, GError **error);

/* Sets the size, layout and channels of @config. @dims has 3 or 4 numbers, of
 * which those that are not positive have any size. Returns FALSE if the last
 * three are no picture. */
gboolean gst_tensor_read_dims (
    const gint *dims, gsize n, GstVkgdrTensorConfig *config);

G_END_DECLS

#endif /* __GST_VKGDR_TENSOR_SETTINGS_H__ */
