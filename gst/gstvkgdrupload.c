/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrupload.c: the element vkgdrupload
 *
 * Proposes its own memory to upstream, so that nothing has to be uploaded.
 * Other memory is sent by DMA or copied into the window.
 */

/**
 * SECTION:element-vkgdrupload
 * @title: vkgdrupload
 * @see_also: vkgdrdownload, cudafilter
 *
 * Uploads buffers to GPU memory. The element proposes a pool (raw video) or an
 * allocator (any other media type) to upstream, which then writes directly to
 * GPU memory; such buffers are passed through. Other buffers are copied.
 * VkgdrMemory of another context or device is copied by the device, if the
 * hardware supports it. Memory that upstream recycles is pinned once and then
 * sent by DMA, if the buffer has at least 256 KiB. Any other memory is written
 * to GPU memory by the CPU.
 *
 * Accepts any caps in system memory, and outputs the same caps with the feature
 * `memory:VkgdrMemory`. A stream without caps, such as filesrc's, becomes
 * `application/octet-stream`.
 *
 * If GStreamer's own CUDA elements (1.24 or later) are available, the element
 * also outputs raw video with the feature `memory:CUDAMemory`: the memory that
 * upstream wrote, wrapped as GstCudaMemory, without a copy. If the next element
 * announces its CUDA stream, the memory uses that stream, so that the CPU does
 * not wait for a transfer. It also accepts `memory:CUDAMemory` and outputs it
 * as `memory:VkgdrMemory` without a copy.
 *
 * Frames of raw video may have any layout: the element supports #GstVideoMeta.
 * If the next element does not support that meta, the device copies frames with
 * another layout into the default layout of the caps. If the device cannot copy
 * them, such as frames with tiles, the CPU does.
 *
 * The property `stats` has the fields `frames`, `frames-packed` (frames that
 * were copied into the default layout), `bytes`, and of these `bytes-direct`
 * (written by upstream through the window), `bytes-staged` (sent when upstream
 * unmapped them), `bytes-dma` (sent from upstream's own memory), `bytes-peer`
 * (copied from memory of another context or device), `bytes-copied` (copied by
 * the CPU) and `bytes-untouched` (not written by the CPU); `map-time`, the time
 * in nanoseconds for which upstream had proposed buffers mapped for writing,
 * and `wait-time`, the time for which mapping them had to wait (all uint64);
 * and `access`, the present access mode.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc ! vkgdrupload ! cudafilter kernel=invert !
 * vkgdrdownload ! autovideosink
 * gst-launch-1.0 videotestsrc ! vkgdrupload ! cudaconvertscale ! cudadownload !
 * autovideosink
 * ]|
 *
 * Since: 0.1
 */

#include "gstvkgdraccessallocator.h"
#include "gstvkgdrcopypool.h"
#include "gstvkgdrelements.h"
#include "gstvkgdrlayout.h"
#include "gstvkgdrtransfer.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_upload_debug);
#define GST_CAT_DEFAULT gst_vkgdr_upload_debug

/* For buffers of at least this size in bytes, a transfer is faster than the
 * CPU: queueing a transfer takes as long as the CPU needs to write a quarter of
 * this size. */
#define DMA_MIN (256 * 1024)

#define GST_TYPE_VKGDR_UPLOAD (gst_vkgdr_upload_get_type ())
G_DECLARE_FINAL_TYPE (
    GstVkgdrUpload, gst_vkgdr_upload, GST, VKGDR_UPLOAD, GstVkgdrTransfer)

struct _GstVkgdrUpload {
  GstVkgdrTransfer parent;

  /* From the base class, without a reference; NULL unless the element is open.
   */
  GstVkgdrContext *context;
  GstVkgdrAllocator *allocator;

  GstVkgdrAccess access;    /* under the object lock */
  GstVkgdrCopyPool copies;  /* of buffers in other memory */
  GstVkgdrCopyPool packed;  /* of frames that got another layout */
  gsize last_size;          /* of the last copy; 0 before the first one */
  GstVkgdrBufferPool *pool; /* the last proposed one; under the object lock */
};

enum { PROP_ACCESS = 1, N_PROPERTIES };

static GParamSpec *properties[N_PROPERTIES];

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

G_DEFINE_TYPE_WITH_CODE (GstVkgdrUpload, gst_vkgdr_upload,
    GST_TYPE_VKGDR_TRANSFER,
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_upload_debug, "vkgdrupload", 0, "vkgdrupload"))
GST_ELEMENT_REGISTER_DEFINE (
    vkgdrupload, "vkgdrupload", GST_RANK_NONE, GST_TYPE_VKGDR_UPLOAD)

/* --- the proposal to upstream --------------------------------------------- */

/* Stores @pool (transfer full), which is needed for the statistics. */
static void
set_pool (GstVkgdrUpload *self, GstBufferPool *pool)
{
  GstVkgdrBufferPool *old;

  GST_OBJECT_LOCK (self);
  old = self->pool;
  self->pool = pool ? GST_VKGDR_BUFFER_POOL (pool) : NULL;
  GST_OBJECT_UNLOCK (self);
  gst_clear_object (&old);
}

/* GStreamer's own CUDA elements sample planes as textures, which need an
 * alignment. */
static gboolean
outputs_cuda_memory (GstVkgdrUpload *self)
{
  GstCaps *caps = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SRC_PAD (self));
  gboolean yes = caps
                 && gst_caps_features_contains (gst_caps_get_features (caps, 0),
                     GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA);

  gst_clear_caps (&caps);
  return yes;
}

static GstVkgdrAccess
get_wanted_access (GstVkgdrUpload *self)
{
  GstVkgdrAccess access;

  GST_OBJECT_LOCK (self);
  access = self->access;
  GST_OBJECT_UNLOCK (self);
  return access;
}

static void
offer_pool (GstVkgdrUpload *self, GstQuery *query, GstCaps *caps)
{
  GstBufferPool *pool = gst_vkgdr_base_transform_new_pool (
      GST_VKGDR_BASE_TRANSFORM (self), caps, 0);
  GstStructure *config;
  guint size = 0;

  if (!pool) { /* not raw video: only the allocator is used */
    set_pool (self, NULL);
    return;
  }
  g_object_set (pool, "access", get_wanted_access (self), NULL);
  if (outputs_cuda_memory (self))
    g_object_set (pool, "textures", TRUE, NULL);
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_get_params (config, NULL, &size, NULL, NULL);
  gst_structure_free (config);
  gst_query_add_allocation_pool (query, pool, size, 0, 0);
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  set_pool (self, pool);
}

/* For audio and bytes, and for elements with their own pool that uses an
 * allocator from the query. */
static gboolean
propose_allocator (GstVkgdrUpload *self, GstQuery *query)
{
  GstAllocator *allocator = NULL, *with_access;
  GstAllocationParams params;
  guint last;

  if (!gst_vkgdr_base_transform_add_allocator (
          GST_VKGDR_BASE_TRANSFORM (self), query))
    return FALSE;
  last = gst_query_get_n_allocation_params (query) - 1;
  gst_query_parse_nth_allocation_param (query, last, &allocator, &params);
  with_access =
      gst_vkgdr_access_allocator_new (allocator, get_wanted_access (self));
  gst_query_set_nth_allocation_param (query, last, with_access, &params);
  gst_object_unref (with_access);
  gst_object_unref (allocator);
  return TRUE;
}

static gboolean
offer (GstVkgdrUpload *self, GstQuery *query)
{
  GstCaps *caps;

  if (!gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (self)))
    return FALSE;
  gst_query_parse_allocation (query, &caps, NULL);
  /* GStreamer's own CUDA elements can only write to their own memory. */
  if (caps
      && gst_caps_features_contains (gst_caps_get_features (caps, 0),
          GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA)) {
    gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
    return TRUE;
  }
  offer_pool (self, query, caps);
  return propose_allocator (self, query);
}

static gboolean
gst_vkgdr_upload_propose_allocation (
    GstBaseTransform *trans, GstQuery *decide_query, GstQuery *query)
{
  return offer (GST_VKGDR_UPLOAD (trans), query);
}

/* A source without caps sends this query before caps are negotiated. The base
 * class would refuse the query then. */
static gboolean
gst_vkgdr_upload_query (
    GstBaseTransform *trans, GstPadDirection direction, GstQuery *query)
{
  GstCaps *caps;

  if (direction == GST_PAD_SINK
      && GST_QUERY_TYPE (query) == GST_QUERY_ALLOCATION) {
    gst_query_parse_allocation (query, &caps, NULL);
    if (!caps)
      return offer (GST_VKGDR_UPLOAD (trans), query);
  }
  return GST_BASE_TRANSFORM_CLASS (gst_vkgdr_upload_parent_class)
      ->query (trans, direction, query);
}

/* --- buffers in other memory ---------------------------------------------- */

static gboolean
gst_vkgdr_upload_is_suitable (GstVkgdrTransfer *transfer, GstMemory *memory)
{
  return gst_is_vkgdr_memory_of (memory, GST_VKGDR_UPLOAD (transfer)->context);
}

static gboolean
write_all (GstBuffer *input, GstMemory *output, GError **error)
{
  guint n = gst_buffer_n_memory (input), i;
  gsize offset = 0;

  for (i = 0; i < n; i++) {
    GstMemory *memory = gst_buffer_peek_memory (input, i);
    GstMapInfo map;
    gboolean ok;

    if (!gst_memory_map (memory, &map, GST_MAP_READ)) {
      g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
          "memory of type %s cannot be read by the CPU",
          memory->allocator->mem_type);
      return FALSE;
    }
    ok = gst_vkgdr_memory_write (output, offset, map.data, map.size, error);
    offset += map.size;
    gst_memory_unmap (memory, &map);
    if (!ok)
      return FALSE;
  }
  return TRUE;
}

static void
unmap_first (GstBuffer *buffer, GstMapInfo *maps, guint n)
{
  while (n-- > 0)
    gst_memory_unmap (gst_buffer_peek_memory (buffer, n), &maps[n]);
  g_free (maps);
}

/* Maps all memories of the buffer for reading and returns the maps, if all are
 * pinned; otherwise NULL. */
static GstMapInfo *
map_pinned (GstVkgdrUpload *self, GstBuffer *buffer)
{
  guint n = gst_buffer_n_memory (buffer), i;
  GstMapInfo *maps = g_new0 (GstMapInfo, n);
  gboolean pinned = TRUE;

  /* Also called if an earlier memory is not pinned, so that each use of a
   * memory is counted. */
  for (i = 0; i < n; i++)
    pinned = gst_vkgdr_context_get_pinned_data (
                 self->context, gst_buffer_peek_memory (buffer, i))
             && pinned;
  for (i = 0; pinned && i < n; i++) {
    if (!gst_memory_map (
            gst_buffer_peek_memory (buffer, i), &maps[i], GST_MAP_READ))
      break;
  }
  if (pinned && i == n)
    return maps;
  unmap_first (buffer, maps, pinned ? i : 0);
  return NULL;
}

/* A buffer that the device reads. */
typedef struct {
  GstBuffer *buffer;
  GstMapInfo *maps; /* of its memories */
} Source;

static void
release_source (gpointer user_data)
{
  Source *source = user_data;

  unmap_first (
      source->buffer, source->maps, gst_buffer_n_memory (source->buffer));
  gst_buffer_unref (source->buffer);
  g_free (source);
}

/* Keeps @buffer mapped until @fence is reached. */
static void
release_later (GstBuffer *buffer, GstMapInfo *maps, GstVkgdrFence *fence)
{
  Source *source = g_new (Source, 1);

  source->buffer = gst_buffer_ref (buffer);
  source->maps = maps;
  gst_vkgdr_fence_release_later (fence, release_source, source);
  gst_vkgdr_fence_unref (fence);
}

/* Queues the transfers of @maps (transfer full). */
static gboolean
queue_transfers (GstVkgdrUpload *self, GstBuffer *input, GstMapInfo *maps,
    GstMemory *output, GError **error)
{
  GstVkgdrStream *stream =
      gst_vkgdr_base_transform_get_stream (GST_VKGDR_BASE_TRANSFORM (self));
  guint n = gst_buffer_n_memory (input), i;
  GstVkgdrFence *fence = NULL;
  gboolean ok = TRUE;
  gsize offset = 0;

  for (i = 0; ok && i < n; i++) {
    gconstpointer data = gst_vkgdr_context_get_pinned_data (
        self->context, gst_buffer_peek_memory (input, i));

    ok = gst_vkgdr_memory_upload (
        output, offset, data, maps[i].size, stream, error);
    offset += maps[i].size;
  }
  if (ok)
    fence = gst_vkgdr_stream_record (stream, error);
  if (fence) {
    release_later (input, maps, fence);
    return TRUE;
  }
  gst_vkgdr_stream_synchronize (stream, NULL);
  unmap_first (input, maps, n);
  return FALSE;
}

/* Copies memory of another context, which may be of another device. */
static gboolean
copy_across (GstVkgdrUpload *self, GstBuffer *input, GstMemory *output)
{
  guint n = gst_buffer_n_memory (input), i;
  GstVkgdrStream *stream;
  GError *error = NULL;
  gboolean ok = TRUE;
  gsize offset = 0;

  for (i = 0; i < n; i++)
    if (!gst_is_vkgdr_memory (gst_buffer_peek_memory (input, i)))
      return FALSE;
  stream =
      gst_vkgdr_base_transform_get_stream (GST_VKGDR_BASE_TRANSFORM (self));
  for (i = 0; ok && i < n; i++) {
    GstMemory *memory = gst_buffer_peek_memory (input, i);

    ok = gst_vkgdr_memory_copy_rect (
        output, offset, 0, memory, 0, 0, memory->size, 1, stream, &error);
    offset += memory->size;
  }
  if (!ok)
    GST_DEBUG_OBJECT (self, "copying with the CPU: %s", error->message);
  g_clear_error (&error);
  return ok;
}

static gboolean
fill (GstVkgdrUpload *self, GstBuffer *input, gsize size, GstMemory *output,
    GstVkgdrPath *path, GError **error)
{
  GstMapInfo *maps;

  if (copy_across (self, input, output)) {
    *path = GST_VKGDR_PATH_PEER;
    return TRUE;
  }
  maps = size >= DMA_MIN ? map_pinned (self, input) : NULL;
  *path = maps ? GST_VKGDR_PATH_DMA : GST_VKGDR_PATH_COPIED;
  if (maps)
    return queue_transfers (self, input, maps, output, error);
  return write_all (input, output, error);
}

/* Streams whose buffers have different sizes, as those of JPEG, would make a
 * pool for each buffer. */
static GstBuffer *
new_copy (GstVkgdrUpload *self, gsize size, GError **error)
{
  gboolean is_same = self->last_size == 0 || self->last_size == size;
  GstMemory *memory;
  GstBuffer *copy;

  self->last_size = size;
  if (is_same)
    return gst_vkgdr_copy_pool_acquire (
        &self->copies, self->context, size, error);
  memory = gst_vkgdr_allocator_alloc (self->allocator, size, error);
  if (!memory)
    return NULL;
  copy = gst_buffer_new ();
  gst_buffer_append_memory (copy, memory);
  return copy;
}

static GstBuffer *
gst_vkgdr_upload_move (GstVkgdrTransfer *transfer, GstBuffer *input, gsize size,
    GstVkgdrPath *path, GError **error)
{
  GstVkgdrUpload *self = GST_VKGDR_UPLOAD (transfer);
  GstBuffer *copy = new_copy (self, size, error);

  if (copy
      && !fill (
          self, input, size, gst_buffer_peek_memory (copy, 0), path, error))
    gst_clear_buffer (&copy);
  return copy;
}

/* Downstream does not support GstVideoMeta, so the device copies the frame, or
 * the CPU if the device cannot. The element offers the meta to upstream in any
 * case: without it, upstream would copy with the CPU, which is slower. */
static GstBuffer *
gst_vkgdr_upload_pack (GstVkgdrTransfer *transfer, GstBuffer *input,
    const GstVideoInfo *info, GstVkgdrPath *path, GError **error)
{
  GstVkgdrUpload *self = GST_VKGDR_UPLOAD (transfer);
  GstVkgdrStream *stream =
      gst_vkgdr_base_transform_get_stream (GST_VKGDR_BASE_TRANSFORM (transfer));
  GstBuffer *frame, *packed;
  gboolean by_cpu = FALSE;

  if (gst_is_vkgdr_buffer_of (input, self->context)
      || gst_vkgdr_layout_is_upside_down (input)) {
    frame = gst_buffer_ref (input);
  } else {
    frame = gst_vkgdr_upload_move (
        transfer, input, gst_buffer_get_size (input), path, error);
    if (!frame)
      return NULL;
    gst_vkgdr_transfer_copy_data (frame, input);
  }
  packed = gst_vkgdr_copy_pool_acquire (
      &self->packed, self->context, GST_VIDEO_INFO_SIZE (info), error);
  if (packed
      && !gst_vkgdr_layout_pack (info, frame, packed, stream, &by_cpu, error))
    gst_clear_buffer (&packed);
  if (by_cpu)
    *path = GST_VKGDR_PATH_COPIED;
  gst_buffer_unref (frame);
  return packed;
}

static gboolean
gst_vkgdr_upload_open (GstVkgdrBaseTransform *transform, GError **error)
{
  GstVkgdrUpload *self = GST_VKGDR_UPLOAD (transform);

  self->context = gst_vkgdr_base_transform_get_context (transform);
  self->allocator = gst_vkgdr_base_transform_get_allocator (transform);
  return TRUE;
}

static void
gst_vkgdr_upload_close (GstVkgdrBaseTransform *transform)
{
  GstVkgdrUpload *self = GST_VKGDR_UPLOAD (transform);

  gst_vkgdr_copy_pool_clear (&self->copies);
  gst_vkgdr_copy_pool_clear (&self->packed);
  self->last_size = 0;
  set_pool (self, NULL);
  self->allocator = NULL;
  self->context = NULL;
}

/* The present access mode of the proposed memory. Without a pool, it is the
 * mode of the last buffer, which may differ from the property if the window is
 * cached or full. Before the first buffer, it is the mode that a new memory
 * would have. */
static GstVkgdrAccess
get_access (GstVkgdrUpload *self)
{
  GstVkgdrAccess access = GST_VKGDR_ACCESS_AUTO, wanted;
  gboolean has_pool;

  GST_OBJECT_LOCK (self);
  wanted = self->access;
  has_pool = self->pool != NULL;
  if (has_pool)
    access = gst_vkgdr_buffer_pool_get_access (self->pool);
  GST_OBJECT_UNLOCK (self);
  if (!has_pool)
    access = gst_vkgdr_transfer_get_written_access (GST_VKGDR_TRANSFER (self));
  if (access != GST_VKGDR_ACCESS_AUTO)
    return access;
  return wanted == GST_VKGDR_ACCESS_AUTO ? GST_VKGDR_ACCESS_DIRECT : wanted;
}

static void
gst_vkgdr_upload_fill_stats (
    GstVkgdrBaseTransform *transform, GstStructure *stats)
{
  GST_VKGDR_BASE_TRANSFORM_CLASS (gst_vkgdr_upload_parent_class)
      ->fill_stats (transform, stats);
  gst_structure_set (stats, "access", GST_TYPE_VKGDR_ACCESS,
      get_access (GST_VKGDR_UPLOAD (transform)), NULL);
}

/* --- GObject ------------------------------------------------------------- */

static void
gst_vkgdr_upload_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstVkgdrUpload *self = GST_VKGDR_UPLOAD (object);

  if (id != PROP_ACCESS) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    return;
  }
  GST_OBJECT_LOCK (self);
  self->access = g_value_get_enum (value);
  GST_OBJECT_UNLOCK (self);
}

static void
gst_vkgdr_upload_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstVkgdrUpload *self = GST_VKGDR_UPLOAD (object);

  if (id != PROP_ACCESS) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    return;
  }
  g_value_set_enum (value, get_wanted_access (self));
}

static void
gst_vkgdr_upload_class_init (GstVkgdrUploadClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstVkgdrTransferClass *transfer_class = GST_VKGDR_TRANSFER_CLASS (klass);

  object_class->set_property = gst_vkgdr_upload_set_property;
  object_class->get_property = gst_vkgdr_upload_get_property;

  /**
   * GstVkgdrUpload:access:
   *
   * The access mode when upstream maps proposed memory for writing: a buffer of
   * the pool, or for audio and bytes, memory of the allocator. With `auto`, the
   * pool chooses the mode (#GstVkgdrBufferPool:access), and memory of the
   * allocator is written directly.
   *
   * Since: 0.1
   */
  properties[PROP_ACCESS] = g_param_spec_enum ("access", "Access",
      "Access mode when upstream maps the proposed memory for writing; "
      "takes effect with the next negotiation",
      GST_TYPE_VKGDR_ACCESS, GST_VKGDR_ACCESS_AUTO,
      G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "vkgdr uploader",
      "Filter/Video/Uploader",
      "Lets upstream write its buffers directly to GPU memory",
      "gst-vkgdr developers");

  trans_class->query = gst_vkgdr_upload_query;
  trans_class->propose_allocation = gst_vkgdr_upload_propose_allocation;

  GST_VKGDR_BASE_TRANSFORM_CLASS (klass)->open = gst_vkgdr_upload_open;
  GST_VKGDR_BASE_TRANSFORM_CLASS (klass)->close = gst_vkgdr_upload_close;
  GST_VKGDR_BASE_TRANSFORM_CLASS (klass)->fill_stats =
      gst_vkgdr_upload_fill_stats;

  transfer_class->to_device = TRUE;
  transfer_class->is_suitable = gst_vkgdr_upload_is_suitable;
  transfer_class->move = gst_vkgdr_upload_move;
  transfer_class->pack = gst_vkgdr_upload_pack;
}

static void
gst_vkgdr_upload_init (GstVkgdrUpload *self)
{
}
