/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * inspect.c: tests of the metadata of the plugin and its elements, and that
 * reading it opens no device
 *
 * Other tests check what the elements do with frames.
 */

#include <gst/base/gstaggregator.h>
#include <gst/base/gstbasesink.h>
#include <gst/base/gstpushsrc.h>

#include "util.h"

GST_ELEMENT_REGISTER_DECLARE (vkgdrexampleborder)
GST_ELEMENT_REGISTER_DECLARE (vkgdrexampletint)

static const gchar *element_names[] = { "vkgdrupload", "cudafilter",
  "vkgdrdownload", "vkgdrtensor", "vkgdripcsink", "vkgdripcsrc",
  "vkgdrexampletint", "vkgdrexampleborder" };

/* The number of elements of the plugin, which come first in the list. */
#define N_OF_PLUGIN 6

static GstElementFactory *factory;
static GstElement *element;

static void
make_element (guint i)
{
  GST_ELEMENT_REGISTER (vkgdrexampleborder, NULL);
  GST_ELEMENT_REGISTER (vkgdrexampletint, NULL);
  factory = gst_element_factory_find (element_names[i]);
  fail_unless (factory != NULL, "there is no %s", element_names[i]);
  element = gst_object_ref_sink (gst_element_factory_create (factory, NULL));
}

/* --- texts --------------------------------------------------------------- */

/* Checks a text for users: it must not be empty, and not be left over from a
 * template. */
static void
check_text (const gchar *of, const gchar *what, const gchar *text)
{
  fail_unless (text && *text, "%s has no %s", of, what);
  fail_unless (g_utf8_validate (text, -1, NULL), "%s: %s", of, what);
  fail_unless (
      !g_ascii_isspace (text[0]) && !g_ascii_isspace (text[strlen (text) - 1]),
      "%s: %s: \"%s\"", of, what, text);
  fail_unless (!strstr (text, "FIXME") && !strstr (text, "TODO"),
      "%s: %s: \"%s\"", of, what, text);
}

TEST_LOOP (metadata, G_N_ELEMENTS (element_names))
{
  static const gchar *keys[] = { GST_ELEMENT_METADATA_LONGNAME,
    GST_ELEMENT_METADATA_KLASS, GST_ELEMENT_METADATA_DESCRIPTION,
    GST_ELEMENT_METADATA_AUTHOR };
  /* The classes that the elements can have. */
  static const gchar *classes[] = { "Filter/Video/Uploader",
    "Filter/Video/Downloader", "Filter/Effect/Video", "Filter/Converter/Video",
    "Sink/Video", "Source/Video", NULL };
  guint i;

  make_element (__i__);
  for (i = 0; i < G_N_ELEMENTS (keys); i++)
    check_text (element_names[__i__], keys[i],
        gst_element_factory_get_metadata (factory, keys[i]));
  fail_unless (g_strv_contains (classes,
      gst_element_factory_get_metadata (factory, GST_ELEMENT_METADATA_KLASS)));
  /* The elements are not plugged automatically. */
  fail_unless_equals_int (
      gst_plugin_feature_get_rank (GST_PLUGIN_FEATURE (factory)),
      GST_RANK_NONE);
}

TEST_LOOP (pads, G_N_ELEMENTS (element_names))
{
  const GList *templates, *l;

  make_element (__i__);
  templates = gst_element_factory_get_static_pad_templates (factory);
  for (l = templates; l; l = l->next) {
    const GstStaticPadTemplate *t = l->data;
    gboolean is_request = t->presence == GST_PAD_REQUEST;
    g_autoptr (GstPad) pad =
        is_request ? gst_element_request_pad_simple (element, t->name_template)
                   : gst_element_get_static_pad (element, t->name_template);
    g_autoptr (GstCaps) caps =
        gst_static_pad_template_get_caps ((GstStaticPadTemplate *) t);

    fail_unless (pad != NULL, "%s has no pad %s", element_names[__i__],
        t->name_template);
    fail_unless (is_request || t->presence == GST_PAD_ALWAYS);
    fail_unless_equals_int (gst_pad_get_direction (pad), t->direction);
    fail_unless (!gst_caps_is_empty (caps));
  }
  fail_unless_equals_int (
      element->numpads, g_list_length ((GList *) templates));
}

/* --- properties ---------------------------------------------------------- */

/* Whether the property is not one of GStreamer's base classes. */
static gboolean
is_ours (const GParamSpec *pspec)
{
  return !g_type_is_a (GST_TYPE_BASE_TRANSFORM, pspec->owner_type)
         && !g_type_is_a (GST_TYPE_AGGREGATOR, pspec->owner_type)
         && !g_type_is_a (GST_TYPE_BASE_SINK, pspec->owner_type)
         && !g_type_is_a (GST_TYPE_PUSH_SRC, pspec->owner_type);
}

static void
check_property (GParamSpec *pspec)
{
  g_autofree gchar *of =
      g_strdup_printf ("%s:%s", G_OBJECT_TYPE_NAME (element), pspec->name);
  const GParamFlags mutable = GST_PARAM_MUTABLE_READY | GST_PARAM_MUTABLE_PAUSED
                              | GST_PARAM_MUTABLE_PLAYING;
  GValue value = G_VALUE_INIT;

  check_text (of, "nick", g_param_spec_get_nick (pspec));
  check_text (of, "blurb", g_param_spec_get_blurb (pspec));
  fail_unless (
      g_strcmp0 (g_param_spec_get_nick (pspec), g_param_spec_get_blurb (pspec))
          != 0,
      "%s: the blurb says no more than the nick", of);
  if (pspec->flags & G_PARAM_WRITABLE)
    fail_unless (pspec->flags & (mutable | G_PARAM_CONSTRUCT_ONLY),
        "%s does not say when it may be set", of);

  fail_unless (pspec->flags & G_PARAM_READABLE, "%s cannot be read", of);
  g_value_init (&value, pspec->value_type);
  g_object_get_property (G_OBJECT (element), pspec->name, &value);
  /* The value of the property is the documented default, and can be set. */
  if (pspec->flags & G_PARAM_WRITABLE) {
    if (!G_TYPE_IS_BOXED (pspec->value_type))
      fail_unless (g_param_value_defaults (pspec, &value),
          "%s: the default is another", of);
    g_object_set_property (G_OBJECT (element), pspec->name, &value);
    g_value_unset (&value);
    g_value_init (&value, pspec->value_type);
    g_param_value_set_default (pspec, &value);
    g_object_set_property (G_OBJECT (element), pspec->name, &value);
  }
  g_value_unset (&value);
}

TEST_LOOP (properties, G_N_ELEMENTS (element_names))
{
  GParamSpec **pspecs;
  GType type;
  guint n, i, ours = 0;

  make_element (__i__);
  pspecs = g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);
  for (i = 0; i < n; i++) {
    if (!is_ours (pspecs[i]))
      continue;
    check_property (pspecs[i]);
    ours++;
  }
  fail_unless (ours >= 2); /* device and stats */
  g_free (pspecs);
  /* Base classes in the plugin have to be marked, so that the documentation of
   * the plugin contains them. */
  type = g_type_parent (G_OBJECT_TYPE (element));
  if (g_str_equal (g_type_name (type), "GstVkgdrTransfer"))
    fail_unless (gst_type_is_plugin_api (type, NULL));
}

/* --- no device ----------------------------------------------------------- */

static guint
count_threads (void)
{
  GDir *dir = g_dir_open ("/proc/self/task", 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir))
    n++;
  g_dir_close (dir);
  return n;
}

/* Fails if the process has loaded a driver or a compiler. */
static void
check_nothing_loaded (const gchar *after)
{
  static const gchar *names[] = { "libcuda.so", "libvulkan", "libnvrtc",
    "libnvidia", "libLLVM" };
  g_autofree gchar *maps = NULL;
  guint i;

  fail_unless (g_file_get_contents ("/proc/self/maps", &maps, NULL, NULL));
  for (i = 0; i < G_N_ELEMENTS (names); i++)
    fail_unless (!strstr (maps, names[i]), "%s: %s is loaded", after, names[i]);
}

/* Does what gst-inspect-1.0, an editor of pipelines, or a program that lists
 * caps does, up to READY. */
static void
look_at (const gchar *name)
{
  g_autoptr (GstElement) one = gst_element_factory_make (name, NULL);
  GParamSpec **pspecs;
  const GList *l;
  guint n, i;

  fail_unless (one != NULL, "there is no %s", name);
  pspecs = g_object_class_list_properties (G_OBJECT_GET_CLASS (one), &n);
  for (i = 0; i < n; i++) {
    GValue value = G_VALUE_INIT;

    if (!(pspecs[i]->flags & G_PARAM_READABLE))
      continue;
    g_value_init (&value, pspecs[i]->value_type);
    g_object_get_property (G_OBJECT (one), pspecs[i]->name, &value);
    g_value_unset (&value);
  }
  g_free (pspecs);
  for (l = one->pads; l; l = l->next)
    gst_caps_unref (gst_pad_query_caps (l->data, NULL));
  fail_unless_equals_int (
      gst_element_set_state (one, GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
  for (l = one->pads; l; l = l->next)
    gst_caps_unref (gst_pad_query_caps (l->data, NULL));
  gst_element_set_state (one, GST_STATE_NULL);
}

TEST (looking_opens_no_device)
{
  guint threads = count_threads (), fds = test_count_fds (), i;

  check_nothing_loaded ("before");
  for (i = 0; i < N_OF_PLUGIN; i++) {
    look_at (element_names[i]);
    check_nothing_loaded (element_names[i]);
    fail_unless_equals_int (count_threads (), threads);
    fail_unless_equals_int (test_count_fds (), fds);
  }
}

/* Shows that the test above can fail: a context that opens the device does load
 * a driver. */
TEST (starting_opens_a_device)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  g_autofree gchar *maps = NULL;

  fail_unless (g_file_get_contents ("/proc/self/maps", &maps, NULL, NULL));
  fail_unless (strstr (maps, "libcuda.so") != NULL);
  if (test_has_window ())
    fail_unless (strstr (maps, "libvulkan") != NULL);
}
