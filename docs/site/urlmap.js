// SPDX-License-Identifier: LGPL-2.1-or-later
//
// urlmap.js: where the types of other libraries are documented. GStreamer's pages
// have other names than gi-docgen's, so that a type leads to the list of them.

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
