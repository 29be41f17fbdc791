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

#include "driver.h"
#include "error.h"
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
  CUevent event; /* the end of the writer's work */
  bool has_event;
} slot;

struct vkgdr_frame_server {
  unsigned refs; /* under the lock: of the owner, and of each buffer in use */
  const vkgdr_cuda *cu;
  CUdevice device;
  CUcontext context;
  vkgdr_t handle;
  vkgdr_memory_t memory;
  vkgdr_export *export;
  vkgdr_server *server;
  vkgdr_frame_format format;
  size_t offsets[VKGDR_FRAME_MAX_PLANES];
  size_t strides[VKGDR_FRAME_MAX_PLANES];
  size_t size; /* of a buffer */
  int64_t start;

  pthread_mutex_t lock;
  pthread_cond_t cond; /* a buffer is not used any more */
  uint32_t n_slots;
  slot slots[];
};

static size_t
align (size_t size)
{
  return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* --- the end ------------------------------------------------------------- */

static void
free_events (vkgdr_frame_server_t self)
{
  uint32_t i;

  if (!vkgdr_driver_enter (self->cu, self->context))
    return;
  for (i = 0; i < self->n_slots; i++)
    if (self->slots[i].event)
      self->cu->cuEventDestroy (self->slots[i].event);
  vkgdr_driver_leave (self->cu);
}

static void
free_source (vkgdr_frame_server_t self)
{
  if (self->context)
    free_events (self);
  if (self->export)
    vkgdr_export_unref (self->export);
  vkgdr_memory_free (self->memory);
  vkgdr_close (self->handle);
  if (self->context)
    self->cu->cuDevicePrimaryCtxRelease (self->device);
  if (self->server)
    vkgdr_server_unref (self->server);
  pthread_cond_destroy (&self->cond);
  pthread_mutex_destroy (&self->lock);
  free (self);
}

/* --- the start ----------------------------------------------------------- */

static bool
open_device (vkgdr_frame_server_t self)
{
  CUresult result;

  self->cu = vkgdr_driver_load ();
  if (!self->cu)
    return false;
  self->handle = vkgdr_open (self->device, VKGDR_OPEN_WINDOW_OPTIONAL_BIT);
  if (!self->handle)
    return false;
  result = self->cu->cuDevicePrimaryCtxRetain (&self->context, self->device);
  if (result == CUDA_SUCCESS)
    return true;
  self->context = NULL;
  vkgdr_error_set ("CUDA has no context on device %d: "
                   "cuDevicePrimaryCtxRetain failed with %s",
      self->device, vkgdr_cuda_result_name (result));
  return false;
}

static void
lay_out (vkgdr_frame_server_t self)
{
  uint32_t i;

  for (i = 0; i < self->format.n_planes; i++) {
    const vkgdr_frame_plane_format *plane = &self->format.planes[i];

    self->offsets[i] = self->size;
    self->strides[i] =
        align ((size_t) plane->width * plane->channels * plane->bits / 8);
    self->size += self->strides[i] * plane->height;
  }
}

static bool
allocate (vkgdr_frame_server_t self)
{
  bool has_window = vkgdr_get_window_obstacle (self->handle, NULL, NULL)
                    == VKGDR_OBSTACLE_NONE;
  vkgdr_fd_info info;
  int fd;

  if (!vkgdr_driver_enter (self->cu, self->context))
    return false;
  self->memory = vkgdr_memory_alloc (self->handle, self->size * self->n_slots,
      has_window ? 0 : VKGDR_MEMORY_DEVICE_BIT);
  vkgdr_driver_leave (self->cu);
  if (!self->memory)
    return false;
  fd = vkgdr_memory_get_fd (self->memory);
  if (fd < 0)
    return false;
  vkgdr_memory_describe_fd (self->memory, &info);
  self->export = vkgdr_export_new (fd, &info);
  if (!self->export)
    close (fd);
  return self->export != NULL;
}

static void
set_up_slots (vkgdr_frame_server_t self)
{
  uint8_t *host = vkgdr_memory_get_host_ptr (self->memory);
  CUdeviceptr device = vkgdr_memory_get_device_ptr (self->memory);
  uint32_t i, p;

  for (i = 0; i < self->n_slots; i++) {
    vkgdr_frame_buffer *buffer = &self->slots[i].buffer;

    self->slots[i].server = self;
    buffer->size = self->size;
    buffer->index = i;
    for (p = 0; p < self->format.n_planes; p++) {
      size_t offset = i * self->size + self->offsets[p];

      buffer->planes[p].device = device + offset;
      buffer->planes[p].host = host ? host + offset : NULL;
      buffer->planes[p].stride = (int64_t) self->strides[p];
      buffer->planes[p].offset = self->offsets[p];
    }
  }
}

static bool
start_server (
    vkgdr_frame_server_t self, const vkgdr_frame_server_params *params)
{
  const vkgdr_server_params server_params = {
    .path = params->path,
    .peers = params->allowed_peers,
    .leaky = VKGDR_SERVER_LEAKY_DOWNSTREAM,
    .max_buffers =
        params->max_buffers ? params->max_buffers : DEFAULT_MAX_BUFFERS,
  };

  self->server = vkgdr_server_new (&server_params);
  if (!self->server)
    return false;
  return vkgdr_server_set_format (self->server, &self->format);
}

vkgdr_frame_server_t
vkgdr_frame_server_open (const vkgdr_frame_server_params *params)
{
  uint32_t n = params->n_buffers ? params->n_buffers : DEFAULT_BUFFERS;
  pthread_condattr_t attributes;
  vkgdr_frame_server_t self = NULL;

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
  self->device = params->device;
  self->start = vkgdr_socket_now ();
  if (!vkgdr_frame_format_init (
          &self->format, params->format, params->width, params->height)) {
    vkgdr_error_set ("there are no frames of format '%s' and of %u x %u "
                     "pixels: see vkgdr_frame_format_init()",
        params->format ? params->format : "", params->width, params->height);
    free_source (self);
    return NULL;
  }
  if (params->fps_n > 0 && params->fps_d > 0) {
    self->format.fps_n = params->fps_n;
    self->format.fps_d = params->fps_d;
  }
  lay_out (self);
  if (open_device (self) && allocate (self)) {
    set_up_slots (self);
    if (start_server (self, params)) {
      vkgdr_error_clear ();
      return self;
    }
  }
  if (self->server)
    vkgdr_server_close (self->server);
  free_source (self);
  return NULL;
}

const vkgdr_frame_format *
vkgdr_frame_server_get_format (vkgdr_frame_server_t self)
{
  return &self->format;
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

vkgdr_frame_buffer *
vkgdr_frame_server_acquire (vkgdr_frame_server_t self, int64_t timeout)
{
  int64_t deadline = timeout > 0 ? vkgdr_socket_now () + timeout : 0;
  const struct timespec limit = { .tv_sec = deadline / 1000000000,
    .tv_nsec = deadline % 1000000000 };
  slot *found;
  int result = 0;

  pthread_mutex_lock (&self->lock);
  while (!(found = find_free_locked (self)) && timeout != 0 && result == 0)
    result = timeout < 0
                 ? pthread_cond_wait (&self->cond, &self->lock)
                 : pthread_cond_timedwait (&self->cond, &self->lock, &limit);
  if (found) {
    found->is_used = true;
    self->refs++;
  }
  pthread_mutex_unlock (&self->lock);
  if (found)
    vkgdr_error_clear ();
  else
    vkgdr_error_set ("all %u buffers are in use: wait longer, or make more of "
                     "them",
        self->n_slots);
  return found ? &found->buffer : NULL;
}

/* Called when no client uses the buffer any more. */
static void
release_slot (void *data)
{
  slot *one = data;
  vkgdr_frame_server_t self = one->server;
  bool is_last;

  pthread_mutex_lock (&self->lock);
  one->is_used = false;
  is_last = --self->refs == 0;
  pthread_cond_broadcast (&self->cond);
  pthread_mutex_unlock (&self->lock);
  if (is_last)
    free_source (self);
}

void
vkgdr_frame_server_cancel (
    vkgdr_frame_server_t self, vkgdr_frame_buffer *buffer)
{
  release_slot (&self->slots[buffer->index]);
}

static int
is_slot_written (void *data, bool wait)
{
  slot *one = data;
  vkgdr_frame_server_t self = one->server;
  CUresult result;

  if (!one->has_event)
    return 1;
  if (!vkgdr_driver_enter (self->cu, self->context))
    return -1;
  result = wait ? self->cu->cuEventSynchronize (one->event)
                : self->cu->cuEventQuery (one->event);
  vkgdr_driver_leave (self->cu);
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
    .offset = UINT64_MAX,
    .offset_end = UINT64_MAX,
    .base = self->start,
    .time = now,
    .n_ranges = 1,
    .n_planes = self->format.n_planes,
    .ranges = { { self->export, one->buffer.index * self->size, self->size } },
    .is_written = is_slot_written,
    .release = release_slot,
    .user_data = one,
  };
  uint32_t i;

  for (i = 0; i < frame.n_planes; i++)
    frame.planes[i] =
        (vkgdr_server_plane){ self->offsets[i], (int32_t) self->strides[i], 0 };
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

  one->has_event = false;
  if (buffer->planes[0].host)
    vkgdr_memory_flush (self->memory, buffer->index * self->size, self->size);
  else
    vkgdr_error_clear ();
  if (!*vkgdr_error_peek ())
    return send (self, one, time);
  release_slot (one);
  return false;
}

/* Must be called with the context current. */
static CUresult
record (vkgdr_frame_server_t self, slot *one, CUstream stream)
{
  CUresult result = CUDA_SUCCESS;

  if (!one->event)
    result = self->cu->cuEventCreate (&one->event, CU_EVENT_DISABLE_TIMING);
  if (result == CUDA_SUCCESS)
    result = self->cu->cuEventRecord (one->event, stream);
  return result;
}

bool
vkgdr_frame_server_send_on_stream (vkgdr_frame_server_t self,
    vkgdr_frame_buffer *buffer, int64_t time, void *stream)
{
  slot *one = &self->slots[buffer->index];
  CUresult result = CUDA_ERROR_UNKNOWN;

  if (vkgdr_driver_enter (self->cu, self->context)) {
    result = record (self, one, stream);
    vkgdr_driver_leave (self->cu);
  }
  one->has_event = true;
  if (result == CUDA_SUCCESS) {
    vkgdr_error_clear ();
    return send (self, one, time);
  }
  vkgdr_error_set ("the end of the work on a frame cannot be noticed (%s): see "
                   "whether an earlier kernel failed, and whether the stream "
                   "is of the primary context",
      vkgdr_cuda_result_name (result));
  release_slot (one);
  return false;
}

void
vkgdr_frame_server_end (vkgdr_frame_server_t self)
{
  vkgdr_server_end (self->server);
}

uint32_t
vkgdr_frame_server_count_clients (vkgdr_frame_server_t self)
{
  vkgdr_server_figures figures;

  vkgdr_server_get_figures (self->server, &figures);
  return figures.clients;
}

void
vkgdr_frame_server_close (vkgdr_frame_server_t self)
{
  bool is_last;

  if (!self)
    return;
  vkgdr_server_close (self->server);
  pthread_mutex_lock (&self->lock);
  is_last = --self->refs == 0;
  pthread_mutex_unlock (&self->lock);
  if (is_last)
    free_source (self);
}
