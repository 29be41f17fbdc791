/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/bufferpool.c: a pool of buffers in the window
 *
 * GstVideoBufferPool handles layout, alignment and GstVideoMeta. This file
 * makes sure that the memory is of this library, that its old content is
 * discarded, and that the device has finished with it. The access mode of
 * writers is chosen by memory/policy.c.
 */

#include "memory/allocator.h"

/**
 * SECTION:gstvkgdrbufferpool
 * @title: GstVkgdrBufferPool
 * @short_description: a pool of buffers in the window
 *
 * Each buffer of the pool has one memory of type %GST_VKGDR_MEMORY_NAME, of an
 * allocator that belongs to the pool. An allocator in the configuration is
 * ignored, so that an exported file descriptor of a buffer gives access to the
 * buffers of this pool and to nothing else. If the caps are raw video, the pool
 * supports all options of #GstVideoBufferPool. For other caps, or none, it
 * allocates buffers of the configured size.
 *
 * The pool hands out a buffer that the device has finished with, if there is
 * one; otherwise it waits for one. #GstVkgdrBufferPool:access says how writers
 * get access to the buffers.
 *
 * All functions may be called from any thread.
 *
 * Since: 0.1
 */

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_buffer_pool_debug);
#define GST_CAT_DEFAULT gst_vkgdr_buffer_pool_debug

struct _GstVkgdrBufferPool {
  GstVideoBufferPool parent;

  GstVkgdrContext *context;
  gboolean textures; /* the property; protected by the object lock */
  GstVkgdrPolicy *policy;
  GstVkgdrAllocator *allocator; /* of all its buffers */
  gboolean is_video;
  gint n_free; /* buffers that nobody has acquired; atomic */
};

/* Textures must begin at a multiple of TEXTURE_ALIGNMENT bytes, and their
 * strides must be a multiple of TEXTURE_PITCH_ALIGNMENT bytes. */
#define TEXTURE_ALIGNMENT 512
#define TEXTURE_PITCH_ALIGNMENT 32

enum { PROP_ACCESS = 1, PROP_TEXTURES, N_PROPERTIES };
enum { SIGNAL_ACQUIRE_FAILED, SIGNAL_MAP_FAILED, N_SIGNALS };

static GParamSpec *properties[N_PROPERTIES];
static guint signals[N_SIGNALS];

G_DEFINE_TYPE_WITH_CODE (GstVkgdrBufferPool, gst_vkgdr_buffer_pool,
    GST_TYPE_VIDEO_BUFFER_POOL,
    GST_DEBUG_CATEGORY_INIT (gst_vkgdr_buffer_pool_debug, "vkgdrbufferpool", 0,
        "vkgdr buffer pools"))

#define parent_class GST_BUFFER_POOL_CLASS (gst_vkgdr_buffer_pool_parent_class)

/* The class to chain up to: for raw video the parent, otherwise GstBufferPool,
 * which only needs a size. */
static GstBufferPoolClass *
chain_class (GstVkgdrBufferPool *self)
{
  return self->is_video ? parent_class
                        : g_type_class_peek (GST_TYPE_BUFFER_POOL);
}

static gboolean
is_for_textures (GstVkgdrBufferPool *self)
{
  gboolean textures;

  GST_OBJECT_LOCK (self);
  textures = self->textures;
  GST_OBJECT_UNLOCK (self);
  return textures;
}

/* Whether planes are misaligned for textures though strides are aligned. */
static gboolean
needs_padding (const GstVideoInfo *info)
{
  gboolean aligned = TRUE;
  guint i;

  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++) {
    if (info->stride[i] % TEXTURE_PITCH_ALIGNMENT != 0)
      return FALSE;
    if (info->offset[i] % TEXTURE_ALIGNMENT != 0)
      aligned = FALSE;
  }
  return !aligned;
}

/* Returns the vertical subsampling of the plane that has the fewest rows. */
static guint
get_subsampling (const GstVideoInfo *info)
{
  guint i, shift = 0;

  for (i = 0; i < GST_VIDEO_INFO_N_COMPONENTS (info); i++)
    shift = MAX (shift, GST_VIDEO_FORMAT_INFO_H_SUB (info->finfo, i));
  return 1 << shift;
}

/* Whether @config requests an alignment. GStreamer 1.28 always sets the option;
 * an alignment of zeros is no request. */
static gboolean
has_alignment (GstStructure *config)
{
  GstVideoAlignment align;
  guint i, any;

  if (!gst_buffer_pool_config_has_option (
          config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT)
      || !gst_buffer_pool_config_get_video_alignment (config, &align))
    return FALSE;
  any = align.padding_top | align.padding_bottom | align.padding_left
        | align.padding_right;
  for (i = 0; i < GST_VIDEO_MAX_PLANES; i++)
    any |= align.stride_align[i];
  return any != 0;
}

/* Adds invisible rows at the bottom, so that the size of each plane, also of a
 * subsampled one, is a multiple of the texture alignment. Does nothing without
 * GstVideoMeta, which describes the rows, or if the user configured an
 * alignment. */
static void
pad_for_textures (GstStructure *config, const GstVideoInfo *info)
{
  guint rows =
      get_subsampling (info) * TEXTURE_ALIGNMENT / TEXTURE_PITCH_ALIGNMENT;
  guint height = GST_VIDEO_INFO_HEIGHT (info);
  GstVideoAlignment padding;

  if (!gst_buffer_pool_config_has_option (
          config, GST_BUFFER_POOL_OPTION_VIDEO_META)
      || has_alignment (config) || !needs_padding (info))
    return;
  gst_video_alignment_reset (&padding);
  padding.padding_bottom = (height + rows - 1) / rows * rows - height;
  gst_buffer_pool_config_add_option (
      config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
  gst_buffer_pool_config_set_video_alignment (config, &padding);
}

static gboolean
gst_vkgdr_buffer_pool_set_config (GstBufferPool *pool, GstStructure *config)
{
  GstVkgdrBufferPool *self = GST_VKGDR_BUFFER_POOL (pool);
  GstAllocationParams params;
  GstVideoInfo info;
  GstCaps *caps;
  guint size, min, max;

  if (!gst_buffer_pool_config_get_params (config, &caps, &size, &min, &max)) {
    GST_WARNING_OBJECT (self, "the configuration has no parameters");
    return FALSE;
  }
  gst_vkgdr_blocks_expect (self->allocator->blocks, min);
  self->is_video = gst_vkgdr_caps_get_video_info (caps, &info);

  if (self->is_video && is_for_textures (self))
    pad_for_textures (config, &info);

  gst_allocation_params_init (&params);
  gst_buffer_pool_config_get_allocator (config, NULL, &params);
  gst_buffer_pool_config_set_allocator (
      config, GST_ALLOCATOR (self->allocator), &params);
  return chain_class (self)->set_config (pool, config);
}

/* Upstream only learns that it gets no buffer, but not the reason. The element
 * that proposed the pool listens to the signal and reports the reason. */
static void
emit_acquire_failed (GstVkgdrBufferPool *self)
{
  GError *error = gst_vkgdr_allocator_take_error (self->allocator);

  if (error)
    g_signal_emit (self, signals[SIGNAL_ACQUIRE_FAILED], 0, error);
  g_clear_error (&error);
}

/* If a pool cannot allocate all its initial buffers, the start fails, and the
 * allocated ones are freed here: GStreamer frees buffers only when a started
 * pool is stopped. */
static gboolean
gst_vkgdr_buffer_pool_start (GstBufferPool *pool)
{
  GstVkgdrBufferPool *self = GST_VKGDR_BUFFER_POOL (pool);

  if (parent_class->start (pool)) {
    /* Each buffer was counted twice: when it was allocated, and when it was
     * released to the queue. */
    self->n_free /= 2;
    return TRUE;
  }
  parent_class->stop (pool);
  self->n_free = 0;
  return FALSE;
}

static GstFlowReturn
gst_vkgdr_buffer_pool_alloc_buffer (
    GstBufferPool *pool, GstBuffer **buffer, GstBufferPoolAcquireParams *params)
{
  GstVkgdrBufferPool *self = GST_VKGDR_BUFFER_POOL (pool);
  GstFlowReturn result =
      chain_class (self)->alloc_buffer (pool, buffer, params);

  if (result != GST_FLOW_OK) {
    emit_acquire_failed (self);
    return result;
  }
  g_atomic_int_inc (&self->n_free);
  return GST_FLOW_OK;
}

static void
gst_vkgdr_buffer_pool_release_buffer (GstBufferPool *pool, GstBuffer *buffer)
{
  g_atomic_int_inc (&GST_VKGDR_BUFFER_POOL (pool)->n_free);
  parent_class->release_buffer (pool, buffer);
}

/* Each buffer that is freed was counted in `n_free`, also if the parent's
 * release_buffer () frees it instead of queueing it. */
static void
gst_vkgdr_buffer_pool_free_buffer (GstBufferPool *pool, GstBuffer *buffer)
{
  g_atomic_int_add (&GST_VKGDR_BUFFER_POOL (pool)->n_free, -1);
  parent_class->free_buffer (pool, buffer);
}

static void
gst_vkgdr_buffer_pool_reset_buffer (GstBufferPool *pool, GstBuffer *buffer)
{
  guint i;

  for (i = 0; i < gst_buffer_n_memory (buffer); i++) {
    GstMemory *memory = gst_buffer_peek_memory (buffer, i);

    if (gst_is_vkgdr_memory (memory))
      gst_vkgdr_memory_discard (memory);
  }
  parent_class->reset_buffer (pool, buffer);
}

static GstFlowReturn
acquire (GstVkgdrBufferPool *self, GstBuffer **buffer,
    GstBufferPoolAcquireParams *params)
{
  GstFlowReturn result =
      parent_class->acquire_buffer (GST_BUFFER_POOL (self), buffer, params);

  if (result == GST_FLOW_OK)
    g_atomic_int_add (&self->n_free, -1);
  return result;
}

/* See gst_vkgdr_order_is_idle (). */
static gboolean
is_idle (GstBuffer *buffer, GstVkgdrFence **pending)
{
  return gst_vkgdr_memory_check_idle (
      gst_buffer_peek_memory (buffer, 0), pending);
}

/* Returns an idle buffer of the queue instead of @first, if there is one. If
 * the device uses all buffers, returns @first, which was released first. No
 * buffer is allocated in this case: the source has to wait, so that a fast
 * source does not fill the window.
 *
 * Mostly one stream uses all buffers, so that one query of the driver answers
 * for all of them. On an H200, the query of a fence that is not reached takes
 * 1.5 microseconds.
 */
static GstBuffer *
prefer_idle (
    GstVkgdrBufferPool *self, GstBuffer *first, GstVkgdrFence **pending)
{
  GstBufferPoolAcquireParams params = {
    .flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT
  };
  GstBuffer *chosen = first;
  GQueue busy = G_QUEUE_INIT;
  gint n = g_atomic_int_get (&self->n_free);

  while (chosen == first && n-- > 0) {
    GstBuffer *next = NULL;

    if (acquire (self, &next, &params) != GST_FLOW_OK)
      break;
    if (is_idle (next, pending)) {
      g_queue_push_head (&busy, first);
      chosen = next;
    } else {
      g_queue_push_tail (&busy, next);
    }
  }
  while (!g_queue_is_empty (&busy))
    gst_vkgdr_buffer_pool_release_buffer (
        GST_BUFFER_POOL (self), g_queue_pop_head (&busy));
  return chosen;
}

static GstFlowReturn
gst_vkgdr_buffer_pool_acquire_buffer (
    GstBufferPool *pool, GstBuffer **buffer, GstBufferPoolAcquireParams *params)
{
  GstVkgdrBufferPool *self = GST_VKGDR_BUFFER_POOL (pool);
  GstFlowReturn result = acquire (self, buffer, params);
  GstClockTime asked = gst_util_get_timestamp ();
  GstVkgdrFence *pending = NULL;
  GError *error = NULL;
  GstMemory *memory;

  if (result != GST_FLOW_OK)
    return result;
  if (!is_idle (*buffer, &pending))
    *buffer = prefer_idle (self, *buffer, &pending);
  g_clear_pointer (&pending, gst_vkgdr_fence_unref);

  memory = gst_buffer_peek_memory (*buffer, 0);
  if (!gst_vkgdr_memory_wait_idle (memory, &error)) {
    GST_ERROR_OBJECT (
        self, "the device does not finish with a buffer: %s", error->message);
    g_signal_emit (self, signals[SIGNAL_ACQUIRE_FAILED], 0, error);
    g_clear_error (&error);
    gst_vkgdr_buffer_pool_release_buffer (pool, *buffer);
    *buffer = NULL;
    return GST_FLOW_ERROR;
  }
  gst_vkgdr_memory_begin_turn (
      memory, self->policy, gst_util_get_timestamp () - asked);
  return GST_FLOW_OK;
}

static void
gst_vkgdr_buffer_pool_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstVkgdrBufferPool *self = GST_VKGDR_BUFFER_POOL (object);

  switch (id) {
  case PROP_ACCESS:
    gst_vkgdr_policy_set (self->policy, g_value_get_enum (value));
    break;
  case PROP_TEXTURES:
    GST_OBJECT_LOCK (self);
    self->textures = g_value_get_boolean (value);
    GST_OBJECT_UNLOCK (self);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  }
}

static void
gst_vkgdr_buffer_pool_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstVkgdrBufferPool *self = GST_VKGDR_BUFFER_POOL (object);

  switch (id) {
  case PROP_ACCESS:
    g_value_set_enum (value, gst_vkgdr_policy_get_wanted (self->policy));
    break;
  case PROP_TEXTURES:
    g_value_set_boolean (value, is_for_textures (self));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  }
}

static void
gst_vkgdr_buffer_pool_finalize (GObject *object)
{
  GstVkgdrContext *context = GST_VKGDR_BUFFER_POOL (object)->context;
  GstVkgdrAllocator *allocator = GST_VKGDR_BUFFER_POOL (object)->allocator;
  GstVkgdrPolicy *policy = GST_VKGDR_BUFFER_POOL (object)->policy;

  /* The parent's finalize frees the buffers, which need the context. */
  G_OBJECT_CLASS (gst_vkgdr_buffer_pool_parent_class)->finalize (object);
  gst_clear_object (&allocator);
  g_clear_pointer (&policy, gst_vkgdr_policy_unref);
  gst_clear_object (&context);
}

static void
gst_vkgdr_buffer_pool_class_init (GstVkgdrBufferPoolClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstBufferPoolClass *pool_class = GST_BUFFER_POOL_CLASS (klass);

  object_class->set_property = gst_vkgdr_buffer_pool_set_property;
  object_class->get_property = gst_vkgdr_buffer_pool_get_property;
  object_class->finalize = gst_vkgdr_buffer_pool_finalize;

  /**
   * GstVkgdrBufferPool:access:
   *
   * The access mode of writers of the pool's buffers. A change takes effect
   * when the next buffer is mapped.
   *
   * With %GST_VKGDR_ACCESS_AUTO, writers that only write get direct access
   * while at most three such pools of the device are active. If four or more
   * are active, only the two oldest ones get direct access. Writers that read
   * the buffer, or that wait for other elements for more than 15 percent of the
   * time, get staging buffers.
   *
   * Since: 0.1
   */
  properties[PROP_ACCESS] = g_param_spec_enum ("access", "Access",
      "Access mode of writers of the pool's buffers", GST_TYPE_VKGDR_ACCESS,
      GST_VKGDR_ACCESS_AUTO, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);

  /**
   * GstVkgdrBufferPool:textures:
   *
   * Whether planes are aligned for CUDA textures if their strides are aligned.
   * Needs up to 15 additional rows, or up to 31 or 63 if the rows of a plane
   * are subsampled by two or four. Also needs
   * %GST_BUFFER_POOL_OPTION_VIDEO_META in the configuration. Takes effect with
   * the next configuration.
   *
   * Since: 0.1
   */
  properties[PROP_TEXTURES] = g_param_spec_boolean ("textures", "Textures",
      "Align planes for CUDA textures", FALSE,
      G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);

  /**
   * GstVkgdrBufferPool::acquire-failed:
   * @pool: the pool
   * @error: the reason
   *
   * No buffer can be handed out: none could be allocated, or the device does
   * not finish with the existing ones. Emitted in the thread that tried to
   * acquire the buffer.
   *
   * Since: 0.1
   */
  signals[SIGNAL_ACQUIRE_FAILED] =
      g_signal_new ("acquire-failed", G_TYPE_FROM_CLASS (klass),
          G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_ERROR);

  /**
   * GstVkgdrBufferPool::map-failed:
   * @pool: the pool
   * @error: the reason
   *
   * The CPU cannot write to a buffer of the pool: mapping it has failed.
   * Emitted in the thread that tried to map it.
   *
   * Since: 0.2
   */
  signals[SIGNAL_MAP_FAILED] =
      g_signal_new ("map-failed", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST,
          0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_ERROR);

  pool_class->set_config = gst_vkgdr_buffer_pool_set_config;
  pool_class->start = gst_vkgdr_buffer_pool_start;
  pool_class->alloc_buffer = gst_vkgdr_buffer_pool_alloc_buffer;
  pool_class->reset_buffer = gst_vkgdr_buffer_pool_reset_buffer;
  pool_class->release_buffer = gst_vkgdr_buffer_pool_release_buffer;
  pool_class->free_buffer = gst_vkgdr_buffer_pool_free_buffer;
  pool_class->acquire_buffer = gst_vkgdr_buffer_pool_acquire_buffer;
}

static void
gst_vkgdr_buffer_pool_init (GstVkgdrBufferPool *self)
{
}

/**
 * gst_vkgdr_buffer_pool_new:
 * @context: a context
 *
 * Makes a pool, which has to be configured and activated like any other pool.
 *
 * Returns: (transfer full): the pool
 *
 * Since: 0.1
 */
GstBufferPool *
gst_vkgdr_buffer_pool_new (GstVkgdrContext *context)
{
  GstVkgdrBufferPool *self;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);

  self = g_object_new (GST_TYPE_VKGDR_BUFFER_POOL, NULL);
  gst_object_ref_sink (self);
  self->context = gst_object_ref (context);
  self->allocator =
      gst_vkgdr_allocator_new_for_pool (context, GST_BUFFER_POOL (self));
  self->policy = gst_vkgdr_policy_new (gst_vkgdr_context_get_device (context),
      gst_vkgdr_context_is_host_cached (context));
  return GST_BUFFER_POOL (self);
}

/**
 * gst_vkgdr_buffer_pool_get_access:
 * @pool: a pool
 *
 * Returns the present access mode of writers. If #GstVkgdrBufferPool:access is
 * %GST_VKGDR_ACCESS_AUTO, that is the mode of the last buffer that was written.
 *
 * Returns: %GST_VKGDR_ACCESS_DIRECT or %GST_VKGDR_ACCESS_STAGED
 *
 * Since: 0.1
 */
GstVkgdrAccess
gst_vkgdr_buffer_pool_get_access (GstVkgdrBufferPool *pool)
{
  g_return_val_if_fail (
      GST_IS_VKGDR_BUFFER_POOL (pool), GST_VKGDR_ACCESS_DIRECT);

  return gst_vkgdr_policy_get (pool->policy);
}
