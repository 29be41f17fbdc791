/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * vkgdr.h: includes all headers of libgstvkgdr-1.0
 *
 * Programs include this header only.
 */

#ifndef __GST_VKGDR_H__
#define __GST_VKGDR_H__

#include <gst/vkgdr/vkgdr-prelude.h>
#include <gst/vkgdr/gstvkgdrerror.h>
#include <gst/vkgdr/gstvkgdrdevice.h>
#include <gst/vkgdr/gstvkgdrcontext.h>
#include <gst/vkgdr/gstvkgdrstream.h>
#include <gst/vkgdr/gstvkgdrmemory.h>
#include <gst/vkgdr/gstvkgdrcopy.h>
#include <gst/vkgdr/gstvkgdrmapping.h>
#include <gst/vkgdr/gstvkgdrdlpack.h>
#include <gst/vkgdr/gstvkgdrcuda.h>
#include <gst/vkgdr/gstvkgdrbufferpool.h>
#include <gst/vkgdr/gstvkgdrcompileoptions.h>
#include <gst/vkgdr/gstvkgdrmodule.h>
#include <gst/vkgdr/gstvkgdrkernel.h>
#include <gst/vkgdr/gstvkgdrtensor.h>
#include <gst/vkgdr/gstvkgdrtensormeta.h>
#include <gst/vkgdr/gstvkgdrelement.h>
#include <gst/vkgdr/gstvkgdrbasetransform.h>
#include <gst/vkgdr/gstvkgdrfilter.h>
#include <gst/vkgdr/gstvkgdrvideofilter.h>

#endif /* __GST_VKGDR_H__ */
