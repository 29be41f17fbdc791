/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/launcher.c: see sync/launcher.h
 */

#include "sync/launcher.h"

struct _GstVkgdrLauncher {
  gint refcount; /* atomic */
  gint limit;    /* milliseconds, or 0; atomic */
  gchar *name;   /* of the stream; NULL before it is needed; atomic */
  GWeakRef stream;
};

GstVkgdrLauncher *
gst_vkgdr_launcher_new (GstVkgdrStream *stream)
{
  GstVkgdrLauncher *self = g_new0 (GstVkgdrLauncher, 1);

  self->refcount = 1;
  g_weak_ref_init (&self->stream, stream);
  return self;
}

GstVkgdrLauncher *
gst_vkgdr_launcher_ref (GstVkgdrLauncher *self)
{
  g_atomic_int_inc (&self->refcount);
  return self;
}

void
gst_vkgdr_launcher_unref (GstVkgdrLauncher *self)
{
  if (!g_atomic_int_dec_and_test (&self->refcount))
    return;
  g_weak_ref_clear (&self->stream);
  g_free (self->name);
  g_free (self);
}

void
gst_vkgdr_launcher_set_limit (GstVkgdrLauncher *self, guint limit)
{
  g_atomic_int_set (&self->limit, MIN (limit, G_MAXINT));
}

guint
gst_vkgdr_launcher_get_limit (GstVkgdrLauncher *self)
{
  return g_atomic_int_get (&self->limit);
}

const gchar *
gst_vkgdr_launcher_get_name (GstVkgdrLauncher *self)
{
  GstVkgdrStream *stream;
  gchar *name;

  if (g_atomic_pointer_get (&self->name))
    return self->name;
  stream = g_weak_ref_get (&self->stream);
  g_return_val_if_fail (stream != NULL, "a stream");
  name = gst_object_get_name (GST_OBJECT (stream));
  gst_object_unref (stream);
  if (!g_atomic_pointer_compare_and_exchange (&self->name, NULL, name))
    g_free (name);
  return self->name;
}

GstVkgdrStream *
gst_vkgdr_launcher_ref_stream (GstVkgdrLauncher *self)
{
  return g_weak_ref_get (&self->stream);
}
