/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-filter.c: see bench-filter.h
 */

#include "bench-filter.h"

#include <gst/vkgdr/vkgdr.h>

static GstVkgdrFilterClass *parent_class;
static guint launched;

static gboolean
bench_filter_filter (GstVkgdrFilter *filter, GstBuffer *input,
    GstBuffer *output, GstVkgdrStream *stream, GError **error)
{
  if (!parent_class->filter (filter, input, output, stream, error))
    return FALSE;
  g_signal_emit (filter, launched, 0);
  return TRUE;
}

static void
bench_filter_class_init (gpointer klass, gpointer data)
{
  parent_class = g_type_class_peek_parent (klass);
  GST_VKGDR_FILTER_CLASS (klass)->filter = bench_filter_filter;
  launched = g_signal_new ("launched", G_TYPE_FROM_CLASS (klass),
      G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

/* Returns the type of the elements of a plugin, or G_TYPE_INVALID. */
static GType
load_type (const gchar *name)
{
  GstElementFactory *factory = gst_element_factory_find (name);
  GstPluginFeature *loaded =
      factory ? gst_plugin_feature_load (GST_PLUGIN_FEATURE (factory)) : NULL;
  GType type = G_TYPE_INVALID;

  if (loaded)
    type = gst_element_factory_get_element_type (GST_ELEMENT_FACTORY (loaded));
  gst_clear_object (&loaded);
  gst_clear_object (&factory);
  return type;
}

/* cudafilter is in a plugin, without a header for its structures. So GObject is
 * asked for their sizes. */
static GType
derive (GType parent)
{
  GTypeQuery sizes;

  g_type_query (parent, &sizes);
  return g_type_register_static_simple (parent, "BenchFilter", sizes.class_size,
      bench_filter_class_init, sizes.instance_size, NULL, 0);
}

gboolean
bench_filter_register (void)
{
  GType parent = load_type ("cudafilter");

  return parent != G_TYPE_INVALID
         && gst_element_register (
             NULL, "vkgdrbenchfilter", GST_RANK_NONE, derive (parent));
}
