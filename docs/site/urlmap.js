// SPDX-License-Identifier: LGPL-2.1-or-later
//
// urlmap.js: the pages that document the types of other libraries. GStreamer's
// pages do not have the names that gi-docgen expects. So a type of GStreamer is
// a link to the list of types.

const gstreamer = "https://gstreamer.freedesktop.org/documentation/";

baseURLs = [
  ["Gst", gstreamer + "gstreamer/gi-index.html?"],
  ["GstAudio", gstreamer + "audio/index.html?"],
  ["GstBase", gstreamer + "base/index.html?"],
  ["GstVideo", gstreamer + "video/index.html?"],
  ["GLib", "https://docs.gtk.org/glib/"],
  ["GObject", "https://docs.gtk.org/gobject/"],
  ["Gio", "https://docs.gtk.org/gio/"],
];
