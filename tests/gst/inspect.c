/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * inspect.c: tests of the properties of the elements, and that looking at the
 * elements opens no device
 *
 * tests/launch checks the other metadata.
 */

#include "util.h"

static const gchar *const names[] = { "vkgdrupload", "cudafilter",
  "vkgdrdownload", "vkgdrtensor", "vkgdripcsink", "vkgdripcsrc" };

/* Returns a driver or a compiler that the process has loaded, or NULL. */
static const gchar *
find_loaded (void)
{
  static const gchar *const drivers[] = { "libcuda.so", "libvulkan", "libnvrtc",
    "libnvidia", "libLLVM" };
  g_autofree gchar *maps = NULL;
  guint i;

  fail_unless (g_file_get_contents ("/proc/self/maps", &maps, NULL, NULL));
  for (i = 0; i < G_N_ELEMENTS (drivers); i++)
    if (strstr (maps, drivers[i]))
      return drivers[i];
  return NULL;
}

/* --- properties ---------------------------------------------------------- */

static GstElement *element;

static void
check_property (GParamSpec *pspec)
{
  g_autofree gchar *of =
      g_strdup_printf ("%s:%s", G_OBJECT_TYPE_NAME (element), pspec->name);
  const GParamFlags mutable = GST_PARAM_MUTABLE_READY | GST_PARAM_MUTABLE_PAUSED
                              | GST_PARAM_MUTABLE_PLAYING;
  const gchar *nick = g_param_spec_get_nick (pspec);
  const gchar *blurb = g_param_spec_get_blurb (pspec);
  GValue value = G_VALUE_INIT;

  fail_unless (nick && *nick && blurb && *blurb, "%s has no text", of);
  fail_if (g_str_equal (nick, blurb), "%s: the blurb says no more", of);
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
  }
  g_value_unset (&value);
}

TEST_LOOP (properties, G_N_ELEMENTS (names))
{
  GParamSpec **pspecs;
  guint n, i, ours = 0;

  element = gst_element_factory_make (names[__i__], NULL);
  pspecs = g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);
  for (i = 0; i < n; i++) {
    const gchar *owner = g_type_name (pspecs[i]->owner_type);

    if (!g_str_has_prefix (owner, "GstVkgdr")
        && !g_str_has_prefix (owner, "GstCudaFilter"))
      continue;
    check_property (pspecs[i]);
    ours++;
  }
  fail_unless (ours >= 2); /* device and stats */
  fail_unless_equals_string (find_loaded (), NULL);
  g_free (pspecs);
}

/* --- no device ----------------------------------------------------------- */

/* Does what a program that lists caps does. */
static void
look_at (const gchar *name)
{
  g_autoptr (GstElement) one = gst_element_factory_make (name, NULL);
  const GList *l;

  fail_unless_equals_int (
      gst_element_set_state (one, GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
  for (l = one->pads; l; l = l->next)
    gst_caps_unref (gst_pad_query_caps (l->data, NULL));
  gst_element_set_state (one, GST_STATE_NULL);
}

TEST (looking_opens_no_device)
{
  guint fds = test_count_fds (), i;
  g_autoptr (GstVkgdrContext) context = NULL;

  for (i = 0; i < G_N_ELEMENTS (names); i++) {
    look_at (names[i]);
    fail_unless_equals_string (find_loaded (), NULL);
    fail_unless_equals_int (test_count_fds (), fds);
  }
  /* A context opens the device. */
  context = test_context_new ();
  fail_unless_equals_string (find_loaded (), "libcuda.so");
}
