/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/params.c: a kernel's parameters as an object with properties
 *
 * In GObject, properties belong to classes, not to objects. So each list of
 * parameters gets a class of its own. Knows nothing of kernels.
 */

#include "cudafilter/params.h"

GST_DEBUG_CATEGORY_STATIC (gst_cuda_params_debug);
#define GST_CAT_DEFAULT gst_cuda_params_debug

/* The name of the child object. */
#define PARAMS_NAME "params"

typedef struct {
  GstStructure *values; /* NULL if there are none */
  guint *set_at;        /* the serial at which each field was set last */
  guint serial;
} GstCudaParamsPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_CODE (GstCudaParams, gst_cuda_params,
    GST_TYPE_OBJECT,
    G_ADD_PRIVATE (GstCudaParams) GST_DEBUG_CATEGORY_INIT (
        gst_cuda_params_debug, "cudaparams", 0, "parameters of kernels"))

#define private_of(self) \
  ((GstCudaParamsPrivate *) gst_cuda_params_get_instance_private (self))

/* --- one class for each list ---------------------------------------------- */

/* Initialises @value with the default value of the property for a field: the
 * one in @defaults, or 0. */
static void
default_init (GValue *value, const GstStructure *values,
    const GstStructure *defaults, const gchar *field)
{
  GType type = gst_structure_get_field_type (values, field);
  const GValue *given =
      defaults ? gst_structure_get_value (defaults, field) : NULL;

  g_value_init (value, type);
  if (given && G_VALUE_TYPE (given) == type)
    g_value_copy (given, value);
}

/* Returns NULL if a field cannot be a property: if it is neither a number nor a
 * boolean, if GObject does not allow its name, or if GstObject has a property
 * of this name. */
static GParamSpec *
make_property (const gchar *name, const GValue *initial)
{
  const GParamFlags flags =
      G_PARAM_READWRITE | GST_PARAM_CONTROLLABLE | GST_PARAM_MUTABLE_PLAYING;
  const gchar *blurb = "Parameter of the kernel";

  if (!g_param_spec_is_valid_name (name) || g_str_equal (name, "name")
      || g_str_equal (name, "parent"))
    return NULL;
  switch (G_VALUE_TYPE (initial)) {
  case G_TYPE_INT:
    return g_param_spec_int (name, name, blurb, G_MININT, G_MAXINT,
        g_value_get_int (initial), flags);
  case G_TYPE_UINT:
    return g_param_spec_uint (
        name, name, blurb, 0, G_MAXUINT, g_value_get_uint (initial), flags);
  case G_TYPE_INT64:
    return g_param_spec_int64 (name, name, blurb, G_MININT64, G_MAXINT64,
        g_value_get_int64 (initial), flags);
  case G_TYPE_UINT64:
    return g_param_spec_uint64 (
        name, name, blurb, 0, G_MAXUINT64, g_value_get_uint64 (initial), flags);
  case G_TYPE_FLOAT:
    return g_param_spec_float (name, name, blurb, -G_MAXFLOAT, G_MAXFLOAT,
        g_value_get_float (initial), flags);
  case G_TYPE_DOUBLE:
    return g_param_spec_double (name, name, blurb, -G_MAXDOUBLE, G_MAXDOUBLE,
        g_value_get_double (initial), flags);
  case G_TYPE_BOOLEAN:
    return g_param_spec_boolean (
        name, name, blurb, g_value_get_boolean (initial), flags);
  default:
    return NULL;
  }
}

static void
gst_cuda_params_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstCudaParamsPrivate *priv = private_of (GST_CUDA_PARAMS (object));
  const gchar *field;

  GST_OBJECT_LOCK (object);
  field = gst_structure_nth_field_name (priv->values, id - 1);
  gst_structure_set_value (priv->values, field, value);
  priv->set_at[id - 1] = ++priv->serial;
  GST_OBJECT_UNLOCK (object);
}

static void
gst_cuda_params_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstCudaParamsPrivate *priv = private_of (GST_CUDA_PARAMS (object));
  const gchar *field;

  GST_OBJECT_LOCK (object);
  field = gst_structure_nth_field_name (priv->values, id - 1);
  g_value_copy (gst_structure_get_value (priv->values, field), value);
  GST_OBJECT_UNLOCK (object);
}

typedef struct {
  GstStructure *values;
  GstStructure *defaults;
} List;

static void
list_class_init (gpointer klass, gpointer class_data)
{
  GObjectClass *object_class = klass;
  const List *list = class_data;
  gint i, n = list->values ? gst_structure_n_fields (list->values) : 0;

  object_class->set_property = gst_cuda_params_set_property;
  object_class->get_property = gst_cuda_params_get_property;
  for (i = 0; i < n; i++) {
    const gchar *field = gst_structure_nth_field_name (list->values, i);
    GValue initial = G_VALUE_INIT;
    GParamSpec *pspec;

    default_init (&initial, list->values, list->defaults, field);
    pspec = make_property (field, &initial);
    g_value_unset (&initial);
    /* "a_b" and "a-b" are the same for GObject; the first one becomes the
     * property. */
    if (pspec && g_object_class_find_property (object_class, pspec->name))
      g_clear_pointer (&pspec, g_param_spec_unref);
    if (pspec)
      g_object_class_install_property (object_class, i + 1, pspec);
    else
      GST_INFO ("parameter %s cannot be a property", field);
  }
}

/* Lists with the same key share a class. */
static gchar *
list_to_key (const GstStructure *values, const GstStructure *defaults)
{
  GString *key = g_string_new (NULL);
  gint i, n = values ? gst_structure_n_fields (values) : 0;

  for (i = 0; i < n; i++) {
    const gchar *field = gst_structure_nth_field_name (values, i);
    GValue initial = G_VALUE_INIT;
    gchar *text;

    default_init (&initial, values, defaults, field);
    text = gst_value_serialize (&initial);
    g_string_append_printf (
        key, "%s %s %s\n", G_VALUE_TYPE_NAME (&initial), field, text);
    g_free (text);
    g_value_unset (&initial);
  }
  return g_string_free (key, FALSE);
}

static GType
list_register (const GstStructure *values, const GstStructure *defaults)
{
  static guint n_classes;
  List *list = g_new0 (List, 1); /* owned by the class, which is never freed */
  GTypeInfo info = { 0 };
  GTypeQuery parent;
  gchar *name;
  GType type;

  list->values = values ? gst_structure_copy (values) : NULL;
  list->defaults = defaults ? gst_structure_copy (defaults) : NULL;
  g_type_query (GST_TYPE_CUDA_PARAMS, &parent);
  info.class_size = parent.class_size;
  info.class_init = list_class_init;
  info.class_data = list;
  info.instance_size = parent.instance_size;
  name = g_strdup_printf ("GstCudaParams%u", n_classes++);
  type = g_type_register_static (GST_TYPE_CUDA_PARAMS, name, &info, 0);
  g_free (name);
  return type;
}

static GType
list_get_type (const GstStructure *values, const GstStructure *defaults)
{
  static GMutex lock;
  static GHashTable *types;
  gchar *key = list_to_key (values, defaults);
  GType type;

  g_mutex_lock (&lock);
  if (!types)
    types = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  type = GPOINTER_TO_SIZE (g_hash_table_lookup (types, key));
  if (!type) {
    type = list_register (values, defaults);
    g_hash_table_insert (types, g_strdup (key), GSIZE_TO_POINTER (type));
  }
  g_mutex_unlock (&lock);
  g_free (key);
  return type;
}

/* --- the object ---------------------------------------------------------- */

static void
gst_cuda_params_finalize (GObject *object)
{
  GstCudaParamsPrivate *priv = private_of (GST_CUDA_PARAMS (object));

  g_clear_pointer (&priv->values, gst_structure_free);
  g_free (priv->set_at);
  G_OBJECT_CLASS (gst_cuda_params_parent_class)->finalize (object);
}

static void
gst_cuda_params_class_init (GstCudaParamsClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_cuda_params_finalize;
}

static void
gst_cuda_params_init (GstCudaParams *self)
{
}

GstCudaParams *
gst_cuda_params_new (const GstStructure *values, const GstStructure *defaults)
{
  GstCudaParams *self = g_object_new (
      list_get_type (values, defaults), "name", PARAMS_NAME, NULL);

  if (values) {
    private_of (self)->values = gst_structure_copy (values);
    private_of (self)->set_at = g_new0 (guint, gst_structure_n_fields (values));
  }
  return gst_object_ref_sink (self);
}

gboolean
gst_cuda_params_has_list (GstCudaParams *self, const GstStructure *values,
    const GstStructure *defaults)
{
  return G_OBJECT_TYPE (self) == list_get_type (values, defaults);
}

void
gst_cuda_params_set_values (
    GstCudaParams *self, const GstStructure *values, guint serial)
{
  GstCudaParamsPrivate *priv = private_of (self);
  gint i, n;

  GST_OBJECT_LOCK (self);
  n = priv->values ? gst_structure_n_fields (priv->values) : 0;
  priv->serial++;
  for (i = 0; i < n; i++) {
    const gchar *field = gst_structure_nth_field_name (priv->values, i);

    if (priv->set_at[i] > serial)
      continue;
    priv->set_at[i] = priv->serial;
    gst_structure_set_value (
        priv->values, field, gst_structure_get_value (values, field));
  }
  GST_OBJECT_UNLOCK (self);
}

/* Copies the current values to the fields of @params; with @serial, only those
 * that were set after it. */
static void
copy_values (GstCudaParams *self, GstStructure *params, const guint *serial)
{
  GstCudaParamsPrivate *priv = private_of (self);
  gint i, n;

  GST_OBJECT_LOCK (self);
  n = priv->values ? gst_structure_n_fields (priv->values) : 0;
  for (i = 0; i < n; i++) {
    const gchar *field = gst_structure_nth_field_name (priv->values, i);

    if (gst_structure_has_field (params, field)
        && (!serial || priv->set_at[i] > *serial))
      gst_structure_set_value (
          params, field, gst_structure_get_value (priv->values, field));
  }
  GST_OBJECT_UNLOCK (self);
}

void
gst_cuda_params_read (GstCudaParams *self, GstStructure *values, guint *serial)
{
  /* The order matters: a value that is set in between is read now and again the
   * next time. */
  *serial = gst_cuda_params_get_serial (self);
  if (values)
    copy_values (self, values, NULL);
}

void
gst_cuda_params_notify (GstCudaParams *self)
{
  guint i, n;
  GParamSpec **pspecs =
      g_object_class_list_properties (G_OBJECT_GET_CLASS (self), &n);

  g_object_freeze_notify (G_OBJECT (self));
  for (i = 0; i < n; i++)
    if (pspecs[i]->owner_type == G_OBJECT_TYPE (self))
      g_object_notify_by_pspec (G_OBJECT (self), pspecs[i]);
  g_object_thaw_notify (G_OBJECT (self));
  g_free (pspecs);
}

GstStructure *
gst_cuda_params_get_values (GstCudaParams *self, guint *serial)
{
  GstCudaParamsPrivate *priv = private_of (self);
  GstStructure *values = NULL;

  GST_OBJECT_LOCK (self);
  if (priv->values)
    values = gst_structure_copy (priv->values);
  if (serial)
    *serial = priv->serial;
  GST_OBJECT_UNLOCK (self);
  return values;
}

guint
gst_cuda_params_get_serial (GstCudaParams *self)
{
  guint serial;

  GST_OBJECT_LOCK (self);
  serial = private_of (self)->serial;
  GST_OBJECT_UNLOCK (self);
  return serial;
}

void
gst_cuda_params_update (GstCudaParams *self, GstStructure *params, guint serial)
{
  copy_values (self, params, &serial);
}
