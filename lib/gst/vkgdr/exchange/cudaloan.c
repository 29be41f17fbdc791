/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * exchange/cudaloan.c: our bytes as a memory of GStreamer's own CUDA library
 *
 * For as long as somebody has it; then the buffer that they are of goes its
 * way. Knows nothing of what makes a layout fit for their elements.
 */

#include "exchange/exchange-private.h"

/* What a memory of theirs with the bytes of ours knows. */
typedef struct {
  GstVideoInfo layout;
  CUdeviceptr pointer;
  GstCudaStream *stream; /* theirs has the reference; or NULL */

  /* While somebody has it. */
  GstMemory *memory;
  GstBuffer *buffer;
} Loan;

static GQuark
loan_quark (void)
{
  return g_quark_from_static_string ("gst-vkgdr-loan");
}

static Loan *
loan_of (GstMemory *theirs)
{
  return gst_mini_object_get_qdata (
      GST_MINI_OBJECT_CAST (theirs), loan_quark ());
}

/* Their memory's dispose function: it is kept, with the textures and whatever
 * else was made for it, for the next frame that lies there; and a kernel that
 * samples a texture may still be queued. */
static gboolean
loan_end (GstMiniObject *theirs)
{
  Loan *loan = loan_of (GST_MEMORY_CAST (theirs));
  GstMemory *memory = g_steal_pointer (&loan->memory);
  GstBuffer *buffer = g_steal_pointer (&loan->buffer);

  /* Whoever has the bytes next waits, so freeing this need not. */
  GST_MINI_OBJECT_FLAG_UNSET (theirs, GST_VKGDR_CUDA_MEMORY_NEED_SYNC);
  gst_vkgdr_memory_end_loan (memory);
  theirs->dispose = NULL;
  gst_mini_object_ref (theirs);
  gst_vkgdr_memory_give_cuda_wrapper (memory, GST_MEMORY_CAST (theirs));
  gst_memory_unref (memory);
  gst_buffer_unref (buffer);
  return FALSE;
}

static gboolean
is_as_wanted (GstMemory *theirs, GstCudaContext *cuda, const Loan *wanted)
{
  const Loan *loan = loan_of (theirs);

  return ((GstVkgdrCudaMemory *) theirs)->context == cuda
         && loan->pointer == wanted->pointer && loan->stream == wanted->stream
         && gst_video_info_is_equal (&loan->layout, &wanted->layout);
}

static GstMemory *
make_theirs (
    const GstVkgdrCudaLib *lib, GstCudaContext *cuda, const Loan *wanted)
{
  Loan *loan = g_memdup2 (wanted, sizeof (*wanted));
  /* What is freed without a function is freed on the device. */
  GstMemory *theirs = lib->allocator_alloc_wrapped (
      NULL, cuda, loan->stream, &loan->layout, loan->pointer, loan, g_free);

  if (!theirs) {
    g_free (loan);
    return NULL;
  }
  /* Somebody else may have the buffer, too: who writes gets a copy. */
  GST_MINI_OBJECT_FLAG_SET (theirs, GST_MEMORY_FLAG_READONLY);
  /* As a decoder's: who would share it with another process copies it. CUDA has
   * no handle of memory that was imported. */
  if (lib->memory_set_pooled)
    lib->memory_set_pooled (theirs);
  gst_mini_object_set_qdata (
      GST_MINI_OBJECT_CAST (theirs), loan_quark (), loan, NULL);
  return theirs;
}

/* Their memory with the bytes of @memory, that which was there before if it
 * will do. Nobody has it yet. */
static GstMemory *
find_theirs (const GstVkgdrCudaLib *lib, GstCudaContext *cuda,
    GstMemory *memory, const Loan *wanted, GError **error)
{
  GstMemory *theirs = gst_vkgdr_memory_take_cuda_wrapper (memory);

  if (theirs && is_as_wanted (theirs, cuda, wanted))
    return theirs;
  if (theirs) {
    gst_vkgdr_memory_wait_idle (memory, NULL);
    gst_memory_unref (theirs);
  }
  theirs = make_theirs (lib, cuda, wanted);
  if (!theirs)
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "GStreamer's CUDA library does not wrap a memory");
  return theirs;
}

/* Takes @theirs over where it fails. */
static gboolean
loan_begin (const GstVkgdrCudaLib *lib, GstMemory *theirs, GstBuffer *buffer,
    GError **error)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  Loan *loan = loan_of (theirs);
  CUstream stream = loan->stream ? lib->stream_get_handle (loan->stream) : NULL;
  gboolean is_there;

  if (!gst_vkgdr_memory_lend (
          memory, loan->stream ? &stream : NULL, &is_there, error)) {
    gst_vkgdr_memory_give_cuda_wrapper (memory, theirs);
    return FALSE;
  }
  loan->memory = gst_memory_ref (memory);
  loan->buffer = gst_buffer_ref (buffer);
  GST_MINI_OBJECT_CAST (theirs)->dispose = loan_end;
  /* What its last user fetched for the CPU is of another frame. */
  GST_MINI_OBJECT_FLAG_SET (
      theirs, GST_VKGDR_CUDA_MEMORY_NEED_DOWNLOAD
                  | (is_there ? 0 : GST_VKGDR_CUDA_MEMORY_NEED_SYNC));
  return TRUE;
}

GstMemory *
gst_vkgdr_cuda_lend (const GstVkgdrCudaLib *lib, GstCudaContext *cuda,
    GstBuffer *buffer, const GstVideoInfo *layout, GstCudaStream *stream,
    GError **error)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0), *theirs;
  Loan wanted = { .layout = *layout,
    .pointer = gst_vkgdr_memory_get_device_pointer (memory),
    .stream = stream };

  theirs = find_theirs (lib, cuda, memory, &wanted, error);
  return theirs && loan_begin (lib, theirs, buffer, error) ? theirs : NULL;
}
