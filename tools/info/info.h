/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info.h: the data that vkgdr-info collects, and its verdict on a device
 */

#ifndef INFO_INFO_H
#define INFO_INFO_H

#include <glib.h>

#include <vkgdr/vkgdr.h>

/* The result of a trial with a small allocation. */
typedef enum {
  INFO_TRIAL_NONE, /* the device cannot be used, so nothing was tried */
  INFO_TRIAL_PASSED,
  INFO_TRIAL_NO_CONTEXT,  /* CUDA cannot create a context on it */
  INFO_TRIAL_NO_MEMORY,   /* no memory can be allocated */
  INFO_TRIAL_WRONG_BYTES, /* it does not see what the CPU wrote */
  INFO_N_TRIALS
} InfoTrial;

/* Unknown numbers are 0. Texts may be NULL. */
typedef struct {
  gint ordinal;            /* its number in CUDA */
  vkgdr_obstacle obstacle; /* why it has no window, or cannot be used at all */
  vkgdr_device_info info;  /* the description by libvkgdr */
  guint64 memory_size;     /* bytes, from CUDA */
  gint compute_mode;       /* CU_COMPUTEMODE_* */
  gint capability_major, capability_minor;
  InfoTrial trial;
  gchar *error;          /* the message about the obstacle or the trial */
  gchar *compiler;       /* of kernels for it */
  gchar *compiler_error; /* why there is no compiler, if one was searched */
} InfoDevice;

/* The data of the machine that the drivers depend on. */
typedef struct {
  GStrv settings;  /* variables that select drivers and such, as NAME=VALUE */
  GStrv manifests; /* of Vulkan drivers. Settings of the loader that filter
                    * drivers by name are not considered */
  gchar *manifest_error; /* nullable: why the library of NVIDIA's manifest
                          * cannot be loaded */
  gchar *host_compiler;  /* nullable: the C++ compiler of the software device */
  gboolean kernel_driver; /* NVIDIA's kernel module is loaded */
  gboolean container;
  gboolean wsl; /* WSL 2 */
} InfoMachine;

typedef struct {
  InfoMachine machine;
  gboolean software;   /* the CUDA driver is softcuda */
  gchar *why_software; /* nullable: why it is not NVIDIA's driver */
  gchar *driver_error; /* nullable: why there is no driver, and no device */
  GPtrArray *devices;  /* of InfoDevice, in CUDA's order */
} InfoReport;

typedef enum { INFO_READY, INFO_LIMITED, INFO_UNUSABLE } InfoLevel;

typedef struct {
  const gchar *id; /* a word for programs, which stays the same */
  gchar *text;     /* part of a sentence for the user */
  gchar *remedy;   /* nullable: what to do */
} InfoFinding;

typedef struct {
  InfoLevel level;
  gchar *text;         /* the level in words, in one line */
  gchar *remedy;       /* nullable: all remedies, in one line */
  GPtrArray *findings; /* of InfoFinding; empty only if the level is ready */
} InfoVerdict;

/* collect.c: fills @report with what the drivers say. Needs
 * gst_vkgdr_init(). */
void info_collect (InfoReport *report);
void info_report_clear (InfoReport *report);

/* machine.c: fills @machine. May load the library of NVIDIA's Vulkan driver, so
 * it should be called when the devices are not used any more. */
void info_machine_collect (InfoMachine *machine);
void info_machine_clear (InfoMachine *machine);

/* verdict.c: the only place that has remedies. Calls no driver. @device is NULL
 * if the machine has none. */
InfoVerdict *info_verdict_new (
    const InfoReport *report, const InfoDevice *device);
void info_verdict_free (InfoVerdict *verdict);

/* Whether the device works without a window. Then writers use a staging
 * buffer. */
gboolean info_device_is_staged (const InfoDevice *device);

/* Returns how much of the window is left for this process, in bytes. */
guint64 info_device_window_free (const InfoDevice *device);

/* Returns: (transfer full): a text such as "256 MiB" or "1.5 GiB". */
gchar *info_format_bytes (guint64 bytes);

/* output.c: returns the report as text for users or, if @json is TRUE, as JSON,
 * in which sizes are bytes and unknown values null. The caller frees it. */
gchar *info_write (const InfoReport *report, gboolean json);

#endif /* INFO_INFO_H */
