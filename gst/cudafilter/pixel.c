/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/pixel.c: a pixel's expression as a kernel
 *
 * Puts the statements of the property into the source of a kernel. The
 * compiler's messages have the lines and columns of the property. Knows neither
 * devices nor elements; vkgdr/kernel.h reads and writes the pixels.
 */

#include <gst/vkgdr/vkgdr.h>

#include "cudafilter/pixel.h"

/* Names that are defined in an expression, and names that have another meaning
 * for the compiler. */
static const gchar *const taken[] = { "rgba", "x", "y", "width", "height",
  "frame", "time", "pixel", "threadIdx", "blockIdx", "blockDim", "gridDim",
  "warpSize", "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand",
  "bitor", "bool", "break", "case", "catch", "char", "char16_t", "char32_t",
  "class", "compl", "const", "const_cast", "constexpr", "continue", "decltype",
  "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
  "explicit", "export", "extern", "false", "float", "for", "friend", "goto",
  "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept",
  "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected",
  "public", "register", "reinterpret_cast", "return", "short", "signed",
  "sizeof", "static", "static_assert", "static_cast", "struct", "switch",
  "template", "this", "thread_local", "throw", "true", "try", "typedef",
  "typeid", "typename", "union", "unsigned", "using", "virtual", "void",
  "volatile", "wchar_t", "while", "xor", "xor_eq", NULL };

/* The prefix of names of vkgdr/kernel.h and of the text here. */
#define RESERVED_PREFIX "vkgdr"

/* The user did not write these lines, so the compiler's messages give another
 * file name for them. Variables that the expression does not use cause no
 * warning. */
#define HEAD \
  "#line 1 \"the kernel around pixel\"\n" \
  "#pragma vkgdr in-place\n" \
  "__global__ void __launch_bounds__ (256, 4)\n" GST_CUDA_PIXEL_ENTRY \
  " (VkgdrFrame vkgdr_in, VkgdrFrame vkgdr_out%s)\n" \
  "{\n" \
  "  const int width = vkgdr_out.width, height = vkgdr_out.height;\n" \
  "  const unsigned long long frame = vkgdr_in.frame;\n" \
  "  const float time = vkgdr_in.time < 0 ? 0.0f\n" \
  "      : (float) ((double) vkgdr_in.time * 1e-9);\n" \
  "\n" \
  "  (void) width, (void) height, (void) frame, (void) time;\n" \
  "  vkgdr_shade (vkgdr_in, vkgdr_out,\n" \
  "      blockIdx.x * blockDim.x + threadIdx.x,\n" \
  "      blockIdx.y * blockDim.y + threadIdx.y,\n" \
  "      [&](VkgdrRgba &rgba, int x, int y) {\n" \
  "#line 1 \"pixel\"\n"

/* Begins on a new line, because the expression may end with a comment. A second
 * semicolon is harmless. */
#define TAIL \
  "\n;\n" \
  "  });\n" \
  "}\n"

/* Returns the type in CUDA C, or NULL if a kernel cannot have a parameter of
 * this type. */
static const gchar *
type_to_c (GType type)
{
  switch (G_TYPE_FUNDAMENTAL (type)) {
  case G_TYPE_INT:
  case G_TYPE_ENUM:
    return "int";
  case G_TYPE_UINT:
  case G_TYPE_FLAGS:
    return "unsigned int";
  case G_TYPE_INT64:
    return "long long";
  case G_TYPE_UINT64:
    return "unsigned long long";
  case G_TYPE_FLOAT:
    return "float";
  case G_TYPE_DOUBLE:
    return "double";
  case G_TYPE_BOOLEAN:
    return "bool";
  default:
    return NULL;
  }
}

static gboolean
is_identifier (const gchar *name)
{
  const gchar *p = name;

  while (g_ascii_isalnum (*p) || *p == '_')
    p++;
  return p > name && !*p && !g_ascii_isdigit (*name);
}

static gboolean
check_name (const gchar *name, GError **error)
{
  if (is_identifier (name) && !g_strv_contains (taken, name)
      && g_ascii_strncasecmp (name, RESERVED_PREFIX, strlen (RESERVED_PREFIX))
             != 0
      && !g_str_has_prefix (name, "__"))
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "The parameter \"%s\" cannot be used in a pixel's expression: its name "
      "has to consist of letters, digits and _, without a digit at the "
      "beginning, and must not have another meaning there, as x, time or int "
      "have",
      name);
  return FALSE;
}

gboolean
gst_cuda_pixel_same_params (const GstStructure *one, const GstStructure *other)
{
  gint i, n = one ? gst_structure_n_fields (one) : 0;

  if (n != (other ? gst_structure_n_fields (other) : 0))
    return FALSE;
  for (i = 0; i < n; i++) {
    const gchar *name = gst_structure_nth_field_name (one, i);

    if (!g_str_equal (name, gst_structure_nth_field_name (other, i))
        || gst_structure_get_field_type (one, name)
               != gst_structure_get_field_type (other, name))
      return FALSE;
  }
  return TRUE;
}

/* Returns the declarations of the parameters, each after a comma. */
static GString *
declare_params (const GstStructure *params, GError **error)
{
  gint i, n = params ? gst_structure_n_fields (params) : 0;
  GString *declared = g_string_new (NULL);

  for (i = 0; i < n; i++) {
    const gchar *name = gst_structure_nth_field_name (params, i);
    GType type = gst_structure_get_field_type (params, name);
    const gchar *c_type = type_to_c (type);

    if (check_name (name, error) && c_type) {
      g_string_append_printf (declared, ", %s %s", c_type, name);
      continue;
    }
    if (!*error)
      g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
          "The parameter \"%s\" of a pixel's expression cannot be a %s: only "
          "numbers and booleans can be given",
          name, g_type_name (type));
    g_string_free (declared, TRUE);
    return NULL;
  }
  return declared;
}

gchar *
gst_cuda_pixel_make_source (
    const gchar *expression, const GstStructure *params, GError **error)
{
  GError *reason = NULL;
  GString *declared = declare_params (params, &reason), *source;

  if (!declared) {
    g_propagate_error (error, reason);
    return NULL;
  }
  source = g_string_new (NULL);
  g_string_append_printf (source, HEAD, declared->str);
  g_string_append (source, expression);
  g_string_append (source, TAIL);
  g_string_free (declared, TRUE);
  return g_string_free (source, FALSE);
}
