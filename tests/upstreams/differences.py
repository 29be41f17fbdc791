# SPDX-License-Identifier: LGPL-2.1-or-later
"""What differs for a reason: by element, and by a part of the name of the case and way.

A reason that begins with "a defect:" is one of this project that is not mended yet.
"""

DIFFERENCES = {
    "cc708overlay": {
        "around": "It draws into system memory alone. In other memory it needs a next element "
                  "that offers GstVideoOverlayCompositionMeta in the answer to the allocation "
                  "query. appsink and fakesink do not, so the caps are refused."},
    "textoverlay": {
        "around": "In memory that is not the system's it attaches its text as a "
                  "GstVideoOverlayCompositionMeta, which the caps say, and does not draw it."},
    "vulkanupload": {
        "before": "GStreamer 1.22 ends the process with an assertion if the frames are not in "
                  "the pool of vulkanupload, also behind identity drop-allocation=true."},
}
