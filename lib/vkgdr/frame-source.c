/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frame-source.c: a frame server with buffers of its own
 *
 * The buffers are parts of one allocation, which clients import once.
 */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "frame-server.h"
#include "frame-socket.h"

/* Rows and planes begin at multiples of this number of bytes, as CUDA's own
 * allocations of pictures do. */
#define ALIGNMENT 256

#define DEFAULT_BUFFERS 8
#define DEFAULT_MAX_BUFFERS 4
#define MAX_BUFFERS 1024

typedef struct {
  vkgdr_frame_buffer buffer;
  vkgdr_frame_server_t server;
  bool is_used;
  bool has_event;
  CUevent event; /* the end of the writer's work */
} slot;

struct vkgdr_frame_server {
  /* Under the lock: of the owner, of each buffer in use, and of each thread
   * that waits for one. */
  unsigned refs;
  vkgdr_t device;
  vkgdr_memory_t memory;
  vkgdr_export *export;
  vkgdr_server *server;
  vkgdr_frame_format format; /* all 0: tensors */
  vkgdr_frame_tensor tensor; /* all 0: pictures */
  size_t size;               /* of a buffer */
  int64_t start;

  pthread_mutex_t lock;
  pthread_cond_t cond; /* a buffer is not used any more, or is_closed */
  bool is_closed;
  uint32_t n_slots;
  slot slots[];
};

static size_t
align (size_t size)
{
  return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* --- closing ------------------------------------------------------------- */

static void
free_events (vkgdr_frame_server_t self)
{
  uint32_t i;

  if (!vkgdr_device_enter (self->device))
    return;
  for (i = 0; i < self->n_slots; i++)
    if (self->slots[i].event)
      self->device->cu->cuEventDestroy (self->slots[i].event);
  vkgdr_device_leave (self->device);
}

static void
server_unref (vkgdr_frame_server_t self)
{
  unsigned refs;

  pthread_mutex_lock (&self->lock);
  refs = --self->refs;
  pthread_mutex_unlock (&self->lock);
  if (refs > 0)
    return;
  if (self->device)
    free_events (self);
  if (self->export)
    vkgdr_export_unref (self->export);
  vkgdr_memory_free (self->memory);
  vkgdr_close (self->device);
  if (self->server)
    vkgdr_server_unref (self->server);
  pthread_cond_destroy (&self->cond);
  pthread_mutex_destroy (&self->lock);
  free (self);
}

void
vkgdr_frame_server_close (vkgdr_frame_server_t self)
{
  if (!self)
    return;
  pthread_mutex_lock (&self->lock);
  self->is_closed = true;
  pthread_cond_broadcast (&self->cond);
  pthread_mutex_unlock (&self->lock);
  if (self->server)
    vkgdr_server_close (self->server);
  server_unref (self);
}

/* --- opening ------------------------------------------------------------- */

static vkgdr_frame_server_t
new_server (uint32_t n)
{
  vkgdr_frame_server_t self = NULL;
  pthread_condattr_t attributes;

  if (n <= MAX_BUFFERS)
    self = calloc (1, sizeof (*self) + n * sizeof (slot));
  if (!self) {
    vkgdr_error_set (
        "%u buffers cannot be made: at most %d are allowed", n, MAX_BUFFERS);
    return NULL;
  }
  pthread_mutex_init (&self->lock, NULL);
  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (&self->cond, &attributes);
  pthread_condattr_destroy (&attributes);
  self->refs = 1;
  self->n_slots = n;
  self->start = vkgdr_socket_now ();
  return self;
}

static bool
set_tensor (vkgdr_frame_server_t self, const vkgdr_frame_server_params *params)
{
  self->tensor = *params->tensor;
  self->size = align (vkgdr_frame_tensor_get_size (params->tensor));
  if (self->size > 0 && !params->format)
    return true;
  vkgdr_error_set ("there are no tensors of this type and shape: see "
                   "vkgdr_frame_tensor, and leave out the format");
  return false;
}

static bool
set_format (vkgdr_frame_server_t self, const vkgdr_frame_server_params *params)
{
  if (params->tensor)
    return set_tensor (self, params);
  if (!vkgdr_frame_format_init (
          &self->format, params->format, params->width, params->height)) {
    vkgdr_error_set ("there are no frames of format '%s' and of %u x %u "
                     "pixels: see the list in vkgdr/frames.h, such as NV12",
        params->format ? params->format : "", params->width, params->height);
    return false;
  }
  if (params->fps_n > 0 && params->fps_d > 0) {
    self->format.fps_n = params->fps_n;
    self->format.fps_d = params->fps_d;
  }
  return true;
}

/* Sets the planes of the first buffer, without addresses. */
static void
lay_out (vkgdr_frame_server_t self)
{
  vkgdr_frame_plane *planes = self->slots[0].buffer.planes;
  uint32_t i;

  for (i = 0; i < self->format.n_planes; i++) {
    const vkgdr_frame_plane_format *plane = &self->format.planes[i];

    planes[i].offset = self->size;
    planes[i].stride = (int64_t) align (
        (size_t) plane->width * plane->channels * plane->bits / 8);
    self->size += (size_t) planes[i].stride * plane->height;
  }
}

static bool
allocate (vkgdr_frame_server_t self, uint32_t flags)
{
  bool has_window = self->device->obstacle == VKGDR_OBSTACLE_NONE;
  vkgdr_fd_info info;
  size_t size;
  int fd;

  if (__builtin_mul_overflow (self->size, (size_t) self->n_slots, &size))
    size = PTRDIFF_MAX; /* which is refused */
  if (!vkgdr_device_enter (self->device))
    return false;
  self->memory = vkgdr_memory_alloc (
      self->device, size, has_window ? flags : VKGDR_MEMORY_DEVICE_BIT);
  vkgdr_device_leave (self->device);
  fd = self->memory ? vkgdr_memory_get_fd (self->memory) : -1;
  if (fd < 0)
    return false;
  vkgdr_memory_describe_fd (self->memory, &info);
  self->export = vkgdr_export_new (
      vkgdr_memory_get_device_ptr (self->memory), fd, &info, NULL);
  if (!self->export)
    close (fd);
  return self->export != NULL;
}

static void
set_up_slots (vkgdr_frame_server_t self)
{
  const vkgdr_frame_buffer layout = self->slots[0].buffer;
  uint8_t *host = vkgdr_memory_get_host_ptr (self->memory);
  CUdeviceptr device = vkgdr_memory_get_device_ptr (self->memory);
  uint32_t n = self->format.n_planes ? self->format.n_planes : 1, i, p;

  for (i = 0; i < self->n_slots; i++) {
    vkgdr_frame_buffer *buffer = &self->slots[i].buffer;

    *buffer = layout;
    buffer->size = self->size;
    buffer->index = i;
    self->slots[i].server = self;
    for (p = 0; p < n; p++) {
      size_t offset = i * self->size + buffer->planes[p].offset;

      buffer->planes[p].device = device + offset;
      buffer->planes[p].host = host ? host + offset : NULL;
    }
  }
}

static bool
set_state (vkgdr_frame_server_t self)
{
  if (self->tensor.n_dims > 0)
    return vkgdr_server_set_state (self->server, VKGDR_FRAMES_TENSOR,
        &self->tensor, sizeof (self->tensor));
  return vkgdr_server_set_state (
      self->server, VKGDR_FRAMES_FORMAT, &self->format, sizeof (self->format));
}

static bool
start (vkgdr_frame_server_t self, const vkgdr_frame_server_params *params)
{
  const vkgdr_server_params server_params = {
    .path = params->path,
    .peers = params->allowed_peers,
    .is_leaky = true,
    .max_buffers =
        params->max_buffers ? params->max_buffers : DEFAULT_MAX_BUFFERS,
  };

  lay_out (self);
  self->device = vkgdr_device_open_primary (params->device);
  if (!self->device || !allocate (self, params->memory_flags))
    return false;
  set_up_slots (self);
  self->server = vkgdr_server_new (&server_params);
  return self->server && set_state (self);
}

vkgdr_frame_server_t
vkgdr_frame_server_open (const vkgdr_frame_server_params *params)
{
  vkgdr_frame_server_t self =
      new_server (params->n_buffers ? params->n_buffers : DEFAULT_BUFFERS);

  if (!self)
    return NULL;
  if (set_format (self, params) && start (self, params)) {
    vkgdr_error_clear ();
    return self;
  }
  vkgdr_frame_server_close (self);
  return NULL;
}

const vkgdr_frame_format *
vkgdr_frame_server_get_format (vkgdr_frame_server_t self)
{
  return &self->format;
}

uint32_t
vkgdr_frame_server_count_clients (vkgdr_frame_server_t self)
{
  vkgdr_server_figures figures;

  vkgdr_server_get_figures (self->server, &figures);
  return figures.clients;
}

/* --- buffers ------------------------------------------------------------- */

static slot *
find_free_locked (vkgdr_frame_server_t self)
{
  uint32_t i;

  for (i = 0; i < self->n_slots; i++)
    if (!self->slots[i].is_used)
      return &self->slots[i];
  return NULL;
}

/* Waits for a buffer that is not used. Returns NULL if there is none in time,
 * or if the server is closed. */
static slot *
wait_for_free_locked (vkgdr_frame_server_t self, int64_t timeout)
{
  int64_t deadline = timeout > 0 ? vkgdr_socket_now () + timeout : 0;
  const struct timespec limit = { .tv_sec = deadline / 1000000000,
    .tv_nsec = deadline % 1000000000 };
  slot *found = NULL;
  int result = 0;

  while (!self->is_closed && !(found = find_free_locked (self)) && timeout != 0
         && result == 0)
    result = timeout < 0
                 ? pthread_cond_wait (&self->cond, &self->lock)
                 : pthread_cond_timedwait (&self->cond, &self->lock, &limit);
  return found;
}

static void
report_no_buffer (bool is_closed, uint32_t n)
{
  if (is_closed)
    vkgdr_error_set ("the server was closed");
  else
    vkgdr_error_set (
        "all %u buffers are in use: wait longer, or make more of them", n);
}

vkgdr_frame_buffer *
vkgdr_frame_server_acquire (vkgdr_frame_server_t self, int64_t timeout)
{
  slot *found;
  bool is_closed;
  uint32_t n;

  pthread_mutex_lock (&self->lock);
  self->refs++;
  found = wait_for_free_locked (self, timeout);
  if (found) {
    found->is_used = true;
    found->has_event = false;
  }
  is_closed = self->is_closed;
  n = self->n_slots;
  pthread_mutex_unlock (&self->lock);
  if (found) { /* which keeps the reference */
    vkgdr_error_clear ();
    return &found->buffer;
  }
  server_unref (self);
  report_no_buffer (is_closed, n);
  return NULL;
}

/* Called when no client uses the buffer any more. */
static void
release_slot (void *data)
{
  slot *one = data;
  vkgdr_frame_server_t self = one->server;

  pthread_mutex_lock (&self->lock);
  one->is_used = false;
  pthread_cond_broadcast (&self->cond);
  pthread_mutex_unlock (&self->lock);
  server_unref (self);
}

void
vkgdr_frame_server_cancel (
    vkgdr_frame_server_t self, vkgdr_frame_buffer *buffer)
{
  release_slot (&self->slots[buffer->index]);
}

static int
check_written (void *data, bool wait)
{
  slot *one = data;
  vkgdr_t device = one->server->device;
  CUresult result;

  if (!one->has_event)
    return 1;
  if (!vkgdr_device_enter (device))
    return -1;
  result = wait ? device->cu->cuEventSynchronize (one->event)
                : device->cu->cuEventQuery (one->event);
  vkgdr_device_leave (device);
  return result == CUDA_SUCCESS ? 1 : result == CUDA_ERROR_NOT_READY ? 0 : -1;
}

static bool
send (vkgdr_frame_server_t self, slot *one, int64_t time)
{
  int64_t now = time < 0 ? vkgdr_socket_now () : time;
  vkgdr_server_frame frame = {
    .pts = now > self->start ? (uint64_t) (now - self->start) : 0,
    .dts = VKGDR_FRAME_NO_TIME,
    .duration = VKGDR_FRAME_NO_TIME,
    .time = now,
    .n_ranges = 1,
    .n_planes = self->format.n_planes,
    .ranges = { { self->export, one->buffer.index * self->size, self->size } },
    .check_written = check_written,
    .release = release_slot,
    .user_data = one,
  };
  uint32_t i;

  for (i = 0; i < frame.n_planes; i++)
    frame.planes[i] = (vkgdr_server_plane){ one->buffer.planes[i].offset,
      (int32_t) one->buffer.planes[i].stride, 0 };
  if (vkgdr_server_send (self->server, &frame) == VKGDR_SERVER_SENT)
    return true;
  vkgdr_error_set ("the frame cannot be sent: no memory is left, or the server "
                   "was closed");
  release_slot (one);
  return false;
}

bool
vkgdr_frame_server_send (
    vkgdr_frame_server_t self, vkgdr_frame_buffer *buffer, int64_t time)
{
  slot *one = &self->slots[buffer->index];

  vkgdr_memory_flush (self->memory, buffer->index * self->size, self->size);
  if (!*vkgdr_error_peek ())
    return send (self, one, time);
  release_slot (one);
  return false;
}

static bool
record (vkgdr_frame_server_t self, slot *one, CUstream stream)
{
  const vkgdr_cuda *cu = self->device->cu;
  CUresult result = CUDA_SUCCESS;

  if (!vkgdr_device_enter (self->device))
    return false;
  if (!one->event)
    result = cu->cuEventCreate (&one->event, CU_EVENT_DISABLE_TIMING);
  if (result == CUDA_SUCCESS)
    result = cu->cuEventRecord (one->event, stream);
  vkgdr_device_leave (self->device);
  one->has_event = result == CUDA_SUCCESS;
  if (!one->has_event)
    vkgdr_error_set_cuda ("cuEventRecord", result,
        "cannot find out when the work on a frame is done; see whether an "
        "earlier kernel failed, and whether the stream belongs to the device's "
        "primary context");
  return one->has_event;
}

bool
vkgdr_frame_server_send_on_stream (vkgdr_frame_server_t self,
    vkgdr_frame_buffer *buffer, int64_t time, void *stream)
{
  slot *one = &self->slots[buffer->index];

  if (record (self, one, stream)) {
    vkgdr_error_clear ();
    return send (self, one, time);
  }
  release_slot (one);
  return false;
}

void
vkgdr_frame_server_end (vkgdr_frame_server_t self)
{
  vkgdr_server_end (self->server);
}
