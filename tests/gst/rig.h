/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * rig.h: a cudafilter to which a test pushes frames, step by step
 *
 * The frames are in ordinary memory at both ends, because vkgdrupload and
 * vkgdrdownload are around the filter.
 *
 *   RIG_PLAY ({ SET ("kernel", "invert"), .red = 155 },
 *       { SET ("source", "nonsense"), .red = 155, .warns = "source|nonsense"
 * });
 */

#ifndef __TEST_RIG_H__
#define __TEST_RIG_H__

#include "folder.h"
#include "table.h"

G_BEGIN_DECLS

typedef struct {
  GstHarness *harness;
  GstElement *filter;
  GstBus *bus;
  guint n;    /* number of frames that were pushed, one for each second */
  guint8 red; /* of the last frame */
  gboolean is_started, is_held;
} Rig;

/* The caps of the frames of two pixels that rig_red_now () pushes. */
#define RGBA_2X1 \
  "video/x-raw,format=RGBA,width=2,height=1,framerate=1/1,colorimetry=sRGB"

/* A kernel that sets the first component of each pixel, such as red, to
 * @red. */
#define KERNEL(params, red) \
  "__global__ void own (VkgdrFrame in, VkgdrFrame out" params ")\n" \
  "{\n" \
  "  int x = blockIdx.x * blockDim.x + threadIdx.x;\n" \
  "  int y = blockIdx.y * blockDim.y + threadIdx.y;\n" \
  "  if (x < out.width && y < out.height)\n" \
  "    vkgdr_put (out, 0, x, y, " red ");\n" \
  "}\n"

#define ADD KERNEL (", int n", "vkgdr_get (in, 0, x, y) + n")
#define MIX KERNEL (", int n, float f", "(int) ((n + 10) * f)")
#define SEVEN KERNEL ("", "7")
#define EIGHT KERNEL ("", "8")

/* One step of a test. Its fields act in this order. Fields that are not set do
 * nothing. A step without `warns` and `tells` must cause no warning and no
 * info. In the values of properties, FOLDER is the folder of the test. */
typedef struct {
  gboolean stops; /* the filter stops; it starts again after `set` */
  enum { HOLD = 1, RELEASE } compiler; /* see rig_use_slow_compiler () */
  const gchar *write[7]; /* files of the folder: names and texts, or NULL */
  const gchar
      *link[3]; /* a symbolic link of the folder: its name, its target */
  guint rest;   /* milliseconds to wait */
  const gchar *set[18]; /* properties and their values in the syntax of
                         * gst-launch-1.0, or NULL; all in one change */
  const gchar *fails;   /* the error of the start, or else of the next frame */
  guint8 red;           /* red of the next frames */
  guint8 becomes;       /* red of a later frame; before, it stays */
  const gchar *warns, *tells; /* parts of a warning, and of an info */
  const gchar *params;        /* the value of the property */
  const gchar *caps;          /* of the output, without the media type */
} Step;

#define SET(...) .set = { __VA_ARGS__ }
#define WRITE(...) .write = { __VA_ARGS__ }

/* Makes a filter, and takes the steps. It starts after the first one's `set`.
 */
void rig_play (const Step *steps, guint n);
#define RIG_PLAY(...) \
  G_STMT_START \
  { \
    static const Step steps_[] = { __VA_ARGS__ }; \
\
    rig_play (steps_, G_N_ELEMENTS (steps_)); \
  } \
  G_STMT_END

/* A checked fixture beside folder_setup (): the compiler of the software device
 * waits from a step with HOLD to a step with RELEASE. Frames and setters must
 * not wait for it. */
void rig_use_slow_compiler (void);

/* Makes a filter with @properties in the syntax of gst-launch-1.0. It is
 * stopped, so that a test can set properties before rig_start (). */
void rig_init (Rig *rig, const gchar *properties);
void rig_start (Rig *rig, const gchar *caps);
void rig_step (Rig *rig, const Step *step);
/* Sets properties as one g_object_set () does. */
void rig_set (Rig *rig, const gchar *const *set);
void rig_clear (Rig *rig);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Rig, rig_clear)

/* Pushes a frame of RGBA_2X1 with the pixel 100, 60, 20, 255, at once. Returns
 * red of the result. */
guint8 rig_red_now (Rig *rig);

G_END_DECLS

#endif /* __TEST_RIG_H__ */
