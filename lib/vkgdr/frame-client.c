/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frame-client.c: receives the frames of a frame server
 *
 * Nothing in a message is used before it was checked. A frame keeps a reference
 * to its memories and to the connection: both live as long as the frame.
 */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "driver.h"
#include "frame-server.h"
#include "frame-socket.h"

/* Nanoseconds between the first two attempts to connect, and between later
 * ones. */
#define FIRST_PAUSE 10000000
#define LAST_PAUSE 1000000000

/* A memory of the server. */
typedef struct import import;
struct import {
  import *next;     /* of those that the server has not withdrawn */
  atomic_uint refs; /* one of the connection, and one of each frame */
  uint64_t id;
  uint64_t size;
  void *object; /* vkgdr_memory_t, or of vkgdr_frames_params.import */
};

typedef struct {
  void *data; /* or NULL: the server has not sent this state */
  size_t size;
  uint64_t serial;
} state;

struct vkgdr_frames {
  atomic_uint refs; /* one of the owner, and one of each frame in use */
  vkgdr_frames_params params;
  int fd;
  atomic_uint_fast64_t lost;
  atomic_uint max_frames; /* from WELCOME; 0: it is still to come */

  /* Used by the thread that receives. */
  import *imports;
  uint32_t n_imports;
  state states[VKGDR_FRAMES_N_STATES];
  uint64_t last_serial;
  uint64_t last_number;    /* of the last frame; 0: none yet */
  vkgdr_frames_status end; /* BYE, REFUSED or ERROR; TIMEOUT: not ended */
  vkgdr_error failure;

  /* Opened before the first import. NULL with vkgdr_frames_params.import. */
  vkgdr_t device;

  pthread_mutex_t lock; /* for the fields below */
  vkgdr_frame_t unsent; /* released; the socket had no room for RELEASE */
  bool must_stop;       /* the socket had no room for STOP */
  bool is_closed;
  CUstream stream;    /* waits for the work of frames; NULL: not used yet */
  vkgdr_frame_t done; /* frames that a callback of CUDA has released */

  uint8_t packet[VKGDR_WIRE_MAX_PACKET];
};

struct vkgdr_frame {
  vkgdr_frames_t frames;
  vkgdr_frame_t next; /* in `unsent` or `done` */
  bool release_is_sent;
  vkgdr_frame_info info;
  vkgdr_frame_format format; /* all 0: no raw video */
  vkgdr_frame_tensor tensor; /* all 0: no tensor */
  import *imports[VKGDR_FRAME_MAX_MEMORIES];
  uint8_t metas[];
};

/* --- memories ------------------------------------------------------------ */

static void
import_unref (vkgdr_frames_t self, import *one)
{
  if (atomic_fetch_sub (&one->refs, 1) != 1)
    return;
  if (!self->params.import)
    vkgdr_memory_free (one->object);
  else if (self->params.forget)
    self->params.forget (self->params.user_data, one->object);
  free (one);
}

/* Returns the link to the memory with the number, or to NULL. */
static import **
find_import (vkgdr_frames_t self, uint64_t id)
{
  import **link = &self->imports;

  while (*link && (*link)->id != id)
    link = &(*link)->next;
  return link;
}

static void
forget (vkgdr_frames_t self, uint64_t id)
{
  import **link = find_import (self, id), *one = *link;

  if (!one)
    return;
  *link = one->next;
  self->n_imports--;
  import_unref (self, one);
}

/* Opens the device with the UUID, unless one is open already. */
static bool
open_device (vkgdr_frames_t self, const uint8_t *uuid)
{
  const vkgdr_cuda *cu = vkgdr_driver_load ();
  CUuuid one;
  int i, n = 0;

  if (self->device)
    return true;
  if (!cu)
    return false;
  cu->cuDeviceGetCount (&n);
  for (i = 0; i < n; i++)
    if (vkgdr_device_get_cuda_uuid (cu, i, &one) == CUDA_SUCCESS
        && memcmp (one.bytes, uuid, sizeof (one.bytes)) == 0) {
      self->device = vkgdr_device_open_primary (i);
      return self->device != NULL;
    }
  vkgdr_error_set ("the frames are on a GPU that this process does not have: "
                   "make it visible here (CUDA_VISIBLE_DEVICES, --gpus)");
  return false;
}

/* Imports a memory. Sets *@fd to -1 if the result owns it. */
static void *
import_object (vkgdr_frames_t self, int *fd, const vkgdr_fd_info *info)
{
  char message[VKGDR_MAX_MESSAGE] = "it cannot be imported";
  void *object;

  if (self->params.import) {
    object = self->params.import (
        self->params.user_data, *fd, info, message, sizeof (message));
    if (!object)
      vkgdr_error_set ("memory of the server: %s", message);
    return object;
  }
  if (!open_device (self, info->device_uuid)
      || !vkgdr_device_enter (self->device))
    return NULL;
  object = vkgdr_memory_import_fd (self->device, *fd, info);
  vkgdr_device_leave (self->device);
  if (object)
    *fd = -1;
  return object;
}

/* --- answers ------------------------------------------------------------- */

/* Returns false if the socket has no room. */
static bool
send_answer (vkgdr_frames_t self, uint32_t type, uint64_t number)
{
  const vkgdr_wire_number message = { { type, sizeof (message) }, number };

  return vkgdr_socket_send (self->fd, &message, sizeof (message), -1)
         != VKGDR_SOCKET_AGAIN;
}

/* The socket has room for the answers to the frames that a client usually has,
 * so answers do not wait for long. */
static void
send_pending_answers_locked (vkgdr_frames_t self)
{
  vkgdr_frame_t frame;

  while ((frame = self->unsent)
         && send_answer (self, VKGDR_WIRE_RELEASE, frame->info.number)) {
    self->unsent = frame->next;
    free (frame);
  }
  if (self->must_stop && send_answer (self, VKGDR_WIRE_STOP, self->last_number))
    self->must_stop = false;
}

/* --- the end of a connection and of a frame ------------------------------ */

static void
frames_unref (vkgdr_frames_t self)
{
  vkgdr_frame_t frame;
  int i;

  if (atomic_fetch_sub (&self->refs, 1) != 1)
    return;
  while (self->imports)
    forget (self, self->imports->id);
  while ((frame = self->unsent)) {
    self->unsent = frame->next;
    free (frame);
  }
  if (self->stream && vkgdr_device_enter (self->device)) {
    self->device->cu->cuStreamDestroy (self->stream);
    vkgdr_device_leave (self->device);
  }
  vkgdr_close (self->device);
  if (self->fd >= 0)
    close (self->fd);
  for (i = 0; i < VKGDR_FRAMES_N_STATES; i++)
    free (self->states[i].data);
  pthread_mutex_destroy (&self->lock);
  free (self);
}

void
vkgdr_frame_release (vkgdr_frame_t frame)
{
  vkgdr_frames_t self = frame->frames;
  uint32_t i;

  for (i = 0; i < frame->info.n_memories; i++)
    import_unref (self, frame->imports[i]);
  if (frame->release_is_sent) {
    free (frame);
  } else {
    pthread_mutex_lock (&self->lock);
    frame->next = self->unsent;
    self->unsent = frame;
    send_pending_answers_locked (self);
    pthread_mutex_unlock (&self->lock);
  }
  frames_unref (self);
}

/* Called by CUDA. Does not free the memory, because a callback must not call
 * CUDA. */
static void
on_work_done (void *data)
{
  vkgdr_frame_t frame = data;
  vkgdr_frames_t self = frame->frames;

  pthread_mutex_lock (&self->lock);
  frame->release_is_sent =
      send_answer (self, VKGDR_WIRE_RELEASE, frame->info.number);
  frame->next = self->done;
  self->done = frame;
  pthread_mutex_unlock (&self->lock);
}

/* Frees the frames that callbacks have released. Must be called with a
 * reference to @self. */
static void
free_done (vkgdr_frames_t self)
{
  vkgdr_frame_t done, next;

  pthread_mutex_lock (&self->lock);
  done = self->done;
  self->done = NULL;
  send_pending_answers_locked (self);
  pthread_mutex_unlock (&self->lock);
  for (; done; done = next) {
    next = done->next;
    vkgdr_frame_release (done);
  }
}

/* The callback is on a stream of the connection, so that the caller's stream
 * does not wait for it. Must be called with the context current. */
static CUresult
queue_release (vkgdr_frames_t self, vkgdr_frame_t frame, CUstream stream)
{
  const vkgdr_cuda *cu = self->device->cu;
  CUevent event = NULL;
  CUresult result = CUDA_SUCCESS;

  pthread_mutex_lock (&self->lock);
  if (!self->stream)
    result = cu->cuStreamCreate (&self->stream, CU_STREAM_NON_BLOCKING);
  pthread_mutex_unlock (&self->lock);
  if (result == CUDA_SUCCESS)
    result = cu->cuEventCreate (&event, CU_EVENT_DISABLE_TIMING);
  if (result == CUDA_SUCCESS)
    result = cu->cuEventRecord (event, stream);
  if (result == CUDA_SUCCESS)
    result = cu->cuStreamWaitEvent (self->stream, event, 0);
  if (event)
    cu->cuEventDestroy (event);
  if (result == CUDA_SUCCESS)
    result = cu->cuLaunchHostFunc (self->stream, on_work_done, frame);
  return result;
}

/* After the close, no other function frees what callbacks have released. */
static void
free_done_if_closed (vkgdr_frames_t self)
{
  bool is_closed;

  pthread_mutex_lock (&self->lock);
  is_closed = self->is_closed;
  pthread_mutex_unlock (&self->lock);
  if (is_closed)
    self->device->cu->cuStreamSynchronize (self->stream);
  free_done (self);
}

bool
vkgdr_frame_release_on_stream (vkgdr_frame_t frame, void *stream)
{
  vkgdr_frames_t self = frame->frames;
  CUresult result;

  if (!self->device || !vkgdr_device_enter (self->device)) {
    if (!self->device)
      vkgdr_error_set ("the frame comes from a connection that does not import "
                       "memory: use vkgdr_frame_release()");
    vkgdr_frame_release (frame);
    return false;
  }
  atomic_fetch_add (&self->refs, 1);
  result = queue_release (self, frame, stream);
  if (result == CUDA_SUCCESS) {
    free_done_if_closed (self);
    vkgdr_error_clear ();
  } else {
    self->device->cu->cuStreamSynchronize (stream);
    vkgdr_error_set_cuda ("cuLaunchHostFunc", result,
        "cannot find out when the work on a frame is done; see whether an "
        "earlier kernel failed, and whether the stream belongs to the device's "
        "primary context");
    vkgdr_frame_release (frame);
  }
  vkgdr_device_leave (self->device);
  frames_unref (self);
  return result == CUDA_SUCCESS;
}

const vkgdr_frame_info *
vkgdr_frame_get_info (vkgdr_frame_t frame)
{
  return &frame->info;
}

bool
vkgdr_frame_invalidate (vkgdr_frame_t frame)
{
  vkgdr_frames_t self = frame->frames;
  uint32_t i;

  vkgdr_error_clear ();
  for (i = 0; !self->params.import && i < frame->info.n_memories; i++) {
    const vkgdr_frame_memory *memory = &frame->info.memories[i];

    if (!memory->host || vkgdr_memory_is_coherent (memory->object))
      continue;
    vkgdr_memory_invalidate (memory->object, memory->offset, memory->size);
    if (*vkgdr_error_peek ())
      return false;
  }
  return true;
}

/* --- messages ------------------------------------------------------------ */

static bool
refuse (const char *what)
{
  vkgdr_error_set ("the server has sent %s that is not valid: use the same "
                   "version of gst-vkgdr in both processes",
      what);
  return false;
}

static bool
read_welcome (vkgdr_frames_t self, const uint8_t *data, size_t size)
{
  vkgdr_wire_welcome message;

  if (size != sizeof (message) || self->max_frames > 0)
    return refuse ("a greeting");
  memcpy (&message, data, sizeof (message));
  if (message.version != VKGDR_WIRE_VERSION || message.max_frames == 0)
    return refuse ("a greeting");
  self->max_frames = message.max_frames;
  return true;
}

/* A state without bytes is valid: the server does not have it any more. */
static bool
is_valid_state (uint32_t kind, const void *data, size_t size)
{
  vkgdr_frame_format format;
  vkgdr_frame_tensor tensor;

  if (size == 0)
    return true;
  switch (kind) {
  case VKGDR_FRAMES_FORMAT:
    if (size != sizeof (format))
      return false;
    memcpy (&format, data, size);
    return vkgdr_frame_format_is_valid (&format);
  case VKGDR_FRAMES_TENSOR:
    if (size != sizeof (tensor))
      return false;
    memcpy (&tensor, data, size);
    return vkgdr_frame_tensor_get_size (&tensor) > 0;
  default: /* the others are for GStreamer, which checks them */
    return true;
  }
}

static bool
set_state (vkgdr_frames_t self, uint32_t kind, const uint8_t *data, size_t size)
{
  static const char *const names[] = { "a format", "a tensor", "caps",
    "a segment", "tags", "tags", "a latency" };
  state *one = &self->states[kind];
  uint8_t *bytes;

  if (!is_valid_state (kind, data, size))
    return refuse (names[kind]);
  bytes = malloc (size + 1);
  if (!bytes) {
    vkgdr_error_set ("no memory is left: end other programs");
    return false;
  }
  memcpy (bytes, data, size);
  bytes[size] = 0;
  free (one->data);
  *one = (state){ bytes, size, ++self->last_serial };
  return true;
}

/* An empty text is the regular end. A reason is printable ASCII, because an
 * application may print it. */
static vkgdr_frames_status
read_bye (const uint8_t *text, size_t size)
{
  size_t i;

  for (i = 0; i < size; i++)
    if (text[i] < ' ' || text[i] > '~')
      break;
  if (i < size || size > VKGDR_WIRE_MAX_REASON) {
    refuse ("a farewell");
    return VKGDR_FRAMES_ERROR;
  }
  if (size == 0)
    return VKGDR_FRAMES_BYE;
  vkgdr_error_set (
      "the server refuses this client: %.*s", (int) size, (const char *) text);
  return VKGDR_FRAMES_REFUSED;
}

/* Kinds that are not known are skipped. */
static vkgdr_frames_status
read_state (vkgdr_frames_t self, const uint8_t *data, size_t size)
{
  vkgdr_wire_state head;

  if (size < sizeof (head) || size - sizeof (head) > VKGDR_WIRE_MAX_CONTENT) {
    refuse ("a state");
    return VKGDR_FRAMES_ERROR;
  }
  memcpy (&head, data, sizeof (head));
  data += sizeof (head);
  size -= sizeof (head);
  if (head.kind == VKGDR_WIRE_BYE)
    return read_bye (data, size);
  if (self->max_frames == 0) {
    refuse ("a state");
    return VKGDR_FRAMES_ERROR;
  }
  if (head.kind == VKGDR_WIRE_EOS)
    return VKGDR_FRAMES_EOS;
  if (head.kind < VKGDR_FRAMES_N_STATES
      && !set_state (self, head.kind, data, size))
    return VKGDR_FRAMES_ERROR;
  return VKGDR_FRAMES_TIMEOUT;
}

/* The UUID of the device is needed to find the device. */
static bool
is_valid_memory (vkgdr_frames_t self, const vkgdr_wire_memory *message)
{
  static const uint8_t unknown[sizeof (message->info.device_uuid)];

  return !*find_import (self, message->id) && message->info.size > 0
         && message->info.size <= PTRDIFF_MAX
         && memcmp (message->info.device_uuid, unknown, sizeof (unknown)) != 0;
}

static bool
read_memory (vkgdr_frames_t self, const uint8_t *data, size_t size, int *fd)
{
  vkgdr_wire_memory message;
  import *one;

  if (size != sizeof (message) || self->n_imports >= VKGDR_WIRE_MAX_MEMORIES)
    return refuse ("memory");
  if (*fd < 0) {
    vkgdr_error_set (
        "the file descriptor of the server's memory has not arrived: see "
        "whether the process has reached its limit of open files (ulimit -n)");
    return false;
  }
  memcpy (&message, data, sizeof (message));
  if (!is_valid_memory (self, &message))
    return refuse ("memory");
  one = calloc (1, sizeof (*one));
  if (one)
    one->object = import_object (self, fd, &message.info);
  if (!one || !one->object) {
    free (one);
    return false;
  }
  atomic_init (&one->refs, 1);
  one->id = message.id;
  one->size = message.info.size;
  one->next = self->imports;
  self->imports = one;
  self->n_imports++;
  return true;
}

static bool
read_forget (vkgdr_frames_t self, const uint8_t *data, size_t size)
{
  vkgdr_wire_number message;

  if (size != sizeof (message))
    return refuse ("a number");
  memcpy (&message, data, sizeof (message));
  forget (self, message.number);
  return true;
}

/* --- frames -------------------------------------------------------------- */

static bool
read_range (
    vkgdr_frames_t self, vkgdr_frame_t frame, const vkgdr_wire_range *range)
{
  vkgdr_frame_memory *memory = &frame->info.memories[frame->info.n_memories];
  import *one = *find_import (self, range->memory);

  if (!one || range->size == 0 || range->offset > one->size
      || range->size > one->size - range->offset)
    return false;
  memory->object = one->object;
  memory->offset = range->offset;
  memory->size = range->size;
  if (!self->params.import) {
    uint8_t *host = vkgdr_memory_get_host_ptr (one->object);

    memory->device = vkgdr_memory_get_device_ptr (one->object) + range->offset;
    memory->host = host ? host + range->offset : NULL;
  }
  atomic_fetch_add (&one->refs, 1);
  frame->imports[frame->info.n_memories++] = one;
  return true;
}

static bool
read_plane (vkgdr_frame_t frame, const vkgdr_wire_plane *plane)
{
  vkgdr_frame_info *info = &frame->info;
  const vkgdr_frame_memory *memory;
  vkgdr_frame_plane *to = &info->planes[info->n_planes];

  if (plane->range >= info->n_memories)
    return false;
  memory = &info->memories[plane->range];
  if (!vkgdr_frame_plane_fits (&frame->format.planes[info->n_planes],
          plane->offset, plane->stride, memory->size))
    return false;
  to->device = memory->device ? memory->device + plane->offset : 0;
  to->host = memory->host ? (uint8_t *) memory->host + plane->offset : NULL;
  to->stride = plane->stride;
  to->offset = plane->offset;
  to->memory = plane->range;
  info->n_planes++;
  return true;
}

/* @data: after the head */
static bool
read_parts (vkgdr_frames_t self, vkgdr_frame_t frame,
    const vkgdr_wire_frame *head, const uint8_t *data)
{
  vkgdr_wire_range range;
  vkgdr_wire_plane plane;
  uint32_t i;

  for (i = 0; i < head->n_ranges; i++, data += sizeof (range)) {
    memcpy (&range, data, sizeof (range));
    if (!read_range (self, frame, &range))
      return false;
  }
  for (i = 0; i < head->n_planes; i++, data += sizeof (plane)) {
    memcpy (&plane, data, sizeof (plane));
    if (!read_plane (frame, &plane))
      return false;
  }
  if (head->metas_size > 0)
    memcpy (frame->metas, data, head->metas_size);
  return !frame->info.tensor
         || (frame->info.n_memories == 1
             && frame->info.memories[0].size
                    >= vkgdr_frame_tensor_get_size (&frame->tensor));
}

static bool
is_valid_time (uint64_t time)
{
  return time == VKGDR_FRAME_NO_TIME || time <= INT64_MAX;
}

static bool
is_valid_frame (vkgdr_frames_t self, const vkgdr_wire_frame *head, size_t size)
{
  const vkgdr_frame_format *format = self->states[VKGDR_FRAMES_FORMAT].data;
  uint32_t n_planes =
      self->states[VKGDR_FRAMES_FORMAT].size > 0 ? format->n_planes : 0;

  return is_valid_time (head->pts) && is_valid_time (head->dts)
         && is_valid_time (head->duration) && head->time >= -1
         && head->n_ranges <= VKGDR_FRAME_MAX_MEMORIES
         && (head->n_planes == 0 || head->n_planes == n_planes)
         && head->metas_size <= size
         && size
                == sizeof (*head) + head->n_ranges * sizeof (vkgdr_wire_range)
                       + head->n_planes * sizeof (vkgdr_wire_plane)
                       + head->metas_size
         && head->number > self->last_number;
}

/* Returns false if the server has no such state. */
static bool
copy_state (vkgdr_frames_t self, vkgdr_frames_state kind, void *to)
{
  if (self->states[kind].size == 0)
    return false;
  memcpy (to, self->states[kind].data, self->states[kind].size);
  return true;
}

static void
describe (
    vkgdr_frames_t self, vkgdr_frame_t frame, const vkgdr_wire_frame *head)
{
  vkgdr_frame_info *info = &frame->info;
  uint64_t last = self->last_number;

  info->number = head->number;
  info->lost = last != 0 ? head->number - last - 1 : 0;
  info->time = head->time;
  info->pts = head->pts;
  info->dts = head->dts;
  info->duration = head->duration;
  info->flags = head->flags | (info->lost > 0 ? VKGDR_FRAME_DISCONT : 0);
  info->metas_size = head->metas_size;
  info->metas = frame->metas;
  info->format = &frame->format;
  copy_state (self, VKGDR_FRAMES_FORMAT, &frame->format);
  if (copy_state (self, VKGDR_FRAMES_TENSOR, &frame->tensor))
    info->tensor = &frame->tensor;
}

static vkgdr_frame_t
read_frame (vkgdr_frames_t self, const uint8_t *data, size_t size)
{
  vkgdr_wire_frame head;
  vkgdr_frame_t frame;

  if (size >= sizeof (head))
    memcpy (&head, data, sizeof (head));
  if (size < sizeof (head) || !is_valid_frame (self, &head, size)) {
    refuse ("a frame");
    return NULL;
  }
  frame = calloc (1, sizeof (*frame) + head.metas_size);
  if (!frame) {
    vkgdr_error_set ("no memory is left: end other programs");
    return NULL;
  }
  frame->frames = self;
  atomic_fetch_add (&self->refs, 1);
  describe (self, frame, &head);
  if (!read_parts (self, frame, &head, data + sizeof (head))) {
    frame->release_is_sent = true; /* not needed: the connection ends */
    vkgdr_frame_release (frame);
    refuse ("a frame");
    return NULL;
  }
  atomic_fetch_add (&self->lost, frame->info.lost);
  self->last_number = head.number;
  return frame;
}

/* --- receiving ----------------------------------------------------------- */

/* Handles a message. Returns TIMEOUT if the caller does not have to know about
 * it. */
static vkgdr_frames_status
handle (vkgdr_frames_t self, const uint8_t *data, size_t size, int *fd,
    vkgdr_frame_t *frame)
{
  vkgdr_wire_header header = { 0, 0 };
  bool ok = false;

  if (size >= sizeof (header))
    memcpy (&header, data, sizeof (header));
  if (header.size != size)
    header.type = 0;
  if (header.type == VKGDR_WIRE_STATE)
    return read_state (self, data, size);
  if (header.type == VKGDR_WIRE_WELCOME) {
    ok = read_welcome (self, data, size);
  } else if (self->max_frames == 0) {
    refuse ("a message");
  } else if (header.type == VKGDR_WIRE_FRAME) {
    *frame = read_frame (self, data, size);
    return *frame ? VKGDR_FRAMES_FRAME : VKGDR_FRAMES_ERROR;
  } else if (header.type == VKGDR_WIRE_MEMORY) {
    ok = read_memory (self, data, size, fd);
  } else if (header.type == VKGDR_WIRE_FORGET) {
    ok = read_forget (self, data, size);
  } else {
    refuse ("a message");
  }
  return ok ? VKGDR_FRAMES_TIMEOUT : VKGDR_FRAMES_ERROR;
}

/* Sets @is_empty if there is no message. */
static vkgdr_frames_status
receive_one (vkgdr_frames_t self, vkgdr_frame_t *frame, bool *is_empty)
{
  size_t size = sizeof (self->packet);
  vkgdr_frames_status status;
  int fd;

  *is_empty = false;
  switch (vkgdr_socket_receive (self->fd, self->packet, &size, &fd)) {
  case VKGDR_SOCKET_OK:
    break;
  case VKGDR_SOCKET_AGAIN:
    *is_empty = true;
    return VKGDR_FRAMES_TIMEOUT;
  default:
    vkgdr_error_set (
        "the process of the server has ended, or has closed the "
        "connection, before the end of the stream: start the server again");
    return VKGDR_FRAMES_ERROR;
  }
  status = handle (self, self->packet, size, &fd, frame);
  if (fd >= 0)
    close (fd);
  return status;
}

/* Remembers how the connection has ended, if it has. */
static void
note_end (vkgdr_frames_t self, vkgdr_frames_status status)
{
  if (status < 0)
    vkgdr_error_save (&self->failure);
  if (status < 0 || status == VKGDR_FRAMES_BYE)
    self->end = status;
}

/* Waits until there is a message, and until the deadline at most. Returns false
 * if it has come. @timeout: 0: does not wait; -1: without a limit */
static bool
wait_for_message (vkgdr_frames_t self, int64_t timeout, int64_t deadline)
{
  int64_t left = timeout < 0 ? -1 : deadline - vkgdr_socket_now ();

  if (timeout >= 0 && left <= 0)
    return false;
  vkgdr_socket_wait (self->fd, left);
  return true;
}

static int64_t
get_deadline (int64_t timeout)
{
  return timeout > 0 ? vkgdr_socket_now () + timeout : 0;
}

vkgdr_frames_status
vkgdr_frames_receive (
    vkgdr_frames_t self, int64_t timeout, vkgdr_frame_t *frame)
{
  int64_t deadline = get_deadline (timeout);

  *frame = NULL;
  free_done (self);
  vkgdr_error_clear ();
  while (self->end == VKGDR_FRAMES_TIMEOUT) {
    bool is_empty;
    vkgdr_frames_status status = receive_one (self, frame, &is_empty);

    if (status == VKGDR_FRAMES_FRAME || status == VKGDR_FRAMES_EOS)
      return status;
    note_end (self, status);
    if (is_empty && !wait_for_message (self, timeout, deadline))
      return VKGDR_FRAMES_TIMEOUT;
  }
  if (self->end < 0)
    vkgdr_error_restore (&self->failure);
  return self->end;
}

/* Before WELCOME, there is no frame and no EOS. */
bool
vkgdr_frames_wait_accepted (vkgdr_frames_t self, int64_t timeout)
{
  int64_t deadline = get_deadline (timeout);
  vkgdr_frame_t none = NULL;

  while (self->max_frames == 0 && self->end == VKGDR_FRAMES_TIMEOUT) {
    bool is_empty;

    note_end (self, receive_one (self, &none, &is_empty));
    if (is_empty && !wait_for_message (self, timeout, deadline)) {
      vkgdr_error_set ("the process that serves this socket does not answer: "
                       "see whether it is stopped or busy, or wait longer");
      errno = ETIMEDOUT;
      return false;
    }
  }
  if (self->max_frames > 0)
    return true;
  if (self->end == VKGDR_FRAMES_BYE)
    vkgdr_error_set ("the server has stopped before it accepted this client: "
                     "start it again");
  else
    vkgdr_error_restore (&self->failure);
  errno = ECONNREFUSED;
  return false;
}

int
vkgdr_frames_get_fd (vkgdr_frames_t self)
{
  return self->fd;
}

const void *
vkgdr_frames_get_state (vkgdr_frames_t self, vkgdr_frames_state state,
    size_t *size, uint64_t *serial)
{
  *size = self->states[state].size;
  if (serial)
    *serial = self->states[state].serial;
  return self->states[state].data;
}

uint32_t
vkgdr_frames_get_room (vkgdr_frames_t self)
{
  uint32_t n = atomic_load (&self->refs) - 1;
  uint32_t max = atomic_load (&self->max_frames);

  return n < max ? max - n : 0;
}

uint64_t
vkgdr_frames_get_lost (vkgdr_frames_t self)
{
  return atomic_load (&self->lost);
}

CUdevice
vkgdr_frames_get_device (vkgdr_frames_t self)
{
  return self->device ? self->device->cu_device : -1;
}

/* --- the connection ------------------------------------------------------ */

/* Connects, perhaps after several attempts. The pauses between them grow. */
static int
connect_in_time (const vkgdr_frames_params *params, int64_t deadline)
{
  int64_t pause = FIRST_PAUSE;

  for (;;) {
    int fd = vkgdr_socket_connect (params->path);
    int64_t left = deadline - vkgdr_socket_now ();

    if (fd >= 0 || errno != ENOENT || params->timeout == 0
        || (params->timeout > 0 && left <= 0))
      return fd;
    if (params->timeout > 0 && left < pause)
      pause = left;
    nanosleep (
        &(struct timespec){ pause / 1000000000, pause % 1000000000 }, NULL);
    pause = pause * 2 < LAST_PAUSE ? pause * 2 : LAST_PAUSE;
  }
}

static bool
greet (vkgdr_frames_t self)
{
  const vkgdr_wire_hello hello = {
    .header = { VKGDR_WIRE_HELLO, sizeof (hello) },
    .magic = VKGDR_WIRE_MAGIC_BYTES,
    .min_version = VKGDR_WIRE_VERSION,
    .max_version = VKGDR_WIRE_VERSION,
  };

  /* A failure is ignored: if the server has already refused this client, its
   * message has the reason. */
  vkgdr_socket_send (self->fd, &hello, sizeof (hello), -1);
  return vkgdr_socket_check_peer (self->fd, self->params.allowed_peers);
}

/* How much of the timeout is left, and 0 at least. */
static int64_t
get_left (const vkgdr_frames_params *params, int64_t deadline)
{
  int64_t left = deadline - vkgdr_socket_now ();

  return params->timeout < 0 ? -1 : left > 0 ? left : 0;
}

/* Makes a connection, without a socket. */
static vkgdr_frames_t
new_frames (const vkgdr_frames_params *params)
{
  vkgdr_frames_t self = calloc (1, sizeof (*self));

  if (!self) {
    vkgdr_error_set ("no memory is left: end other programs");
    errno = ENOMEM;
    return NULL;
  }
  atomic_init (&self->refs, 1);
  pthread_mutex_init (&self->lock, NULL);
  self->params = *params;
  self->params.path = NULL;
  self->fd = -1;
  return self;
}

vkgdr_frames_t
vkgdr_frames_connect (const vkgdr_frames_params *params)
{
  int64_t deadline = get_deadline (params->timeout);
  vkgdr_frames_t self = new_frames (params);
  int number;

  if (!self)
    return NULL;
  self->fd = connect_in_time (params, deadline);
  if (self->fd >= 0 && greet (self)
      && (params->timeout == 0
          || vkgdr_frames_wait_accepted (self, get_left (params, deadline)))) {
    vkgdr_error_clear ();
    return self;
  }
  number = errno;
  frames_unref (self);
  errno = number;
  return NULL;
}

void
vkgdr_frames_close (vkgdr_frames_t self)
{
  if (!self)
    return;
  pthread_mutex_lock (&self->lock);
  self->is_closed = self->must_stop = true;
  send_pending_answers_locked (self);
  pthread_mutex_unlock (&self->lock);
  if (self->stream && vkgdr_device_enter (self->device)) {
    self->device->cu->cuStreamSynchronize (self->stream);
    vkgdr_device_leave (self->device);
  }
  free_done (self);
  frames_unref (self);
}
