/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gst-init.h: the start of a fuzzer that uses GStreamer
 */

#ifndef TEST_FUZZ_GST_INIT_H
#define TEST_FUZZ_GST_INIT_H

#include <gst/gst.h>

int LLVMFuzzerInitialize (int *argc, char ***argv);

/* GStreamer's parsers log critical errors about some values, such as a range
 * from 9 to 5, and go on. */
static void
ignore_message (const gchar *domain, GLogLevelFlags level, const gchar *message,
    gpointer user_data)
{
}

int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
  gst_init (NULL, NULL);
  g_log_set_default_handler (ignore_message, NULL);
  return 0;
}

#endif /* TEST_FUZZ_GST_INIT_H */
