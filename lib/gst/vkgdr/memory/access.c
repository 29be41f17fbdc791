/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/access.c: the names of the access modes
 */

#include <gst/vkgdr/gstvkgdrmemory.h>

GType
gst_vkgdr_access_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { GST_VKGDR_ACCESS_AUTO,
        "Direct for writers that only write, staged for others", "auto" },
    { GST_VKGDR_ACCESS_DIRECT, "Writers get a pointer into the window",
        "direct" },
    { GST_VKGDR_ACCESS_STAGED,
        "Writers get a pinned staging buffer, sent by DMA on unmap", "staged" },
    { 0, NULL, NULL },
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstVkgdrAccess", values));
  return type;
}
