/* SPDX-License-Identifier: LGPL-2.1-or-later */

/**
 * SECTION:frames
 * @title: Frames of other processes
 * @short_description: receives frames in GPU memory, and sends them
 *
 * A frame server gives frames to any number of clients in other processes and
 * containers. The frames are in GPU memory, and are not copied. The server may
 * be the element `vkgdripcsink` or a program that uses #vkgdr_frame_server_t.
 * The client may be the element `vkgdripcsrc` or a program that uses
 * #vkgdr_frames_t. Neither program needs GStreamer. The protocol is in
 * docs/ipc-protocol.md.
 *
 * All times are in nanoseconds. Functions that fail return %NULL, false or an
 * error status, and vkgdr_last_error() then returns the reason. Any function
 * may be called from any thread, except where its description says otherwise.
 *
 * Since: 0.3
 */

#ifndef VKGDR_FRAMES_H
#define VKGDR_FRAMES_H

#include <vkgdr/vkgdr.h>

#ifdef __cplusplus
extern "C" {
#endif

/** VKGDR_FRAME_MAX_PLANES: the maximum number of planes of a frame. */
#define VKGDR_FRAME_MAX_PLANES 4

/** VKGDR_FRAME_MAX_MEMORIES: the maximum number of memories of a frame. */
#define VKGDR_FRAME_MAX_MEMORIES 16

/** VKGDR_FRAME_NO_TIME: the value of a time that is not known. */
#define VKGDR_FRAME_NO_TIME UINT64_MAX

/** vkgdr_frames_t: a client's connection to a frame server. */
typedef struct vkgdr_frames *vkgdr_frames_t;

/** vkgdr_frame_t: a frame that a client has received. */
typedef struct vkgdr_frame *vkgdr_frame_t;

/**
 * vkgdr_frame_peers:
 * @VKGDR_FRAME_PEERS_USER: processes of the same user
 * @VKGDR_FRAME_PEERS_GROUP: processes of the same user or group
 * @VKGDR_FRAME_PEERS_ALL: all processes that can open the socket
 *
 * Which processes may be at the other end of a connection.
 *
 * Since: 0.3
 */
typedef enum vkgdr_frame_peers {
  VKGDR_FRAME_PEERS_USER,
  VKGDR_FRAME_PEERS_GROUP,
  VKGDR_FRAME_PEERS_ALL
} vkgdr_frame_peers;

/**
 * vkgdr_frame_plane_format:
 * @width: elements of a row
 * @height: rows
 * @channels: numbers of an element: 2 for the second plane of NV12, 4 for RGBA
 * @bits: of a number: 8, 16 or 32. A row has @width * @channels * @bits / 8
 *   bytes
 *
 * One plane of a picture. Formats whose samples are packed differently, such as
 * `v210`, have rows of bytes.
 *
 * Since: 0.3
 */
typedef struct vkgdr_frame_plane_format {
  uint32_t width;
  uint32_t height;
  uint32_t channels;
  uint32_t bits;
} vkgdr_frame_plane_format;

/**
 * vkgdr_frame_format:
 * @name: GStreamer's name of the pixel format, for example `NV12`, ended by 0;
 *   "" if the frames are not raw video
 * @width: of the picture in pixels
 * @height: of the picture in pixels
 * @fps_n: frames per second, the numerator; 0 if the rate is not constant
 * @fps_d: frames per second, the denominator
 * @par_n: the ratio of a pixel's width to its height, the numerator
 * @par_d: the denominator
 * @interlace_mode: 0 progressive, 1 interleaved, 2 mixed, 3 fields, 4 alternate
 * @range: 0 unknown, 1 full (0 to 255), 2 limited (16 to 235)
 * @matrix: the code point of ITU-T H.273 (MatrixCoefficients), 2 if unknown
 * @transfer: the code point of H.273 (TransferCharacteristics), 2 if unknown
 * @primaries: the code point of H.273 (ColourPrimaries), 2 if unknown
 * @n_planes: the number of valid entries in @planes, 0 if not raw video
 * @planes: the planes
 *
 * What the frames contain. The structure is sent as it is.
 *
 * Since: 0.3
 */
typedef struct vkgdr_frame_format {
  char name[16];
  uint32_t width;
  uint32_t height;
  int32_t fps_n;
  int32_t fps_d;
  int32_t par_n;
  int32_t par_d;
  uint32_t interlace_mode;
  uint32_t range;
  uint32_t matrix;
  uint32_t transfer;
  uint32_t primaries;
  uint32_t n_planes;
  vkgdr_frame_plane_format planes[VKGDR_FRAME_MAX_PLANES];
} vkgdr_frame_format;

/** VKGDR_FRAME_MAX_DIMS: the maximum number of dimensions of a tensor. */
#define VKGDR_FRAME_MAX_DIMS 8

/**
 * vkgdr_frame_tensor:
 * @code: DLPack's code of the type: 0 signed, 1 unsigned, 2 floating point, 4
 *   bfloat, 5 complex, 6 boolean
 * @bits: of an element: 8, 16, 32, 64 or 128
 * @n_dims: the number of valid entries in @shape and @strides, at least 1
 * @shape: the dimensions, the outermost one first
 * @strides: the distance between two elements of a dimension, in elements, as
 *   in DLPack; not negative
 *
 * The type and the shape of a tensor. The structure is sent as it is.
 *
 * Since: 0.3
 */
typedef struct vkgdr_frame_tensor {
  uint16_t code;
  uint16_t bits;
  uint32_t n_dims;
  int64_t shape[VKGDR_FRAME_MAX_DIMS];
  int64_t strides[VKGDR_FRAME_MAX_DIMS];
} vkgdr_frame_tensor;

/**
 * vkgdr_frame_plane:
 * @device: CUDA's pointer to the first row
 * @host: (nullable): the CPU's pointer to the same bytes, %NULL if the memory
 *   is not in the window. Reading through it is slow unless the window is
 *   host-cached
 * @stride: from one row to the next one, in bytes; may be negative
 * @offset: of the first row in its memory or in its buffer, in bytes
 * @memory: index of its memory in vkgdr_frame_info.memories
 *
 * Where a plane of a frame is.
 *
 * Since: 0.3
 */
typedef struct vkgdr_frame_plane {
  CUdeviceptr device;
  void *host;
  int64_t stride;
  uint64_t offset;
  uint32_t memory;
} vkgdr_frame_plane;

/**
 * vkgdr_frame_memory:
 * @object: what vkgdr_frames_params.import returned, or libvkgdr's memory
 * @offset: of the frame's bytes in that memory
 * @size: of the frame's bytes
 * @device: CUDA's pointer to these bytes; 0 with vkgdr_frames_params.import
 * @host: (nullable): the CPU's pointer to them
 *
 * A range of memory that belongs to a frame. A frame of video usually has one.
 *
 * Since: 0.3
 */
typedef struct vkgdr_frame_memory {
  void *object;
  uint64_t offset;
  uint64_t size;
  CUdeviceptr device;
  void *host;
} vkgdr_frame_memory;

/**
 * vkgdr_frame_flags:
 * @VKGDR_FRAME_DISCONT: frames are missing before this one
 * @VKGDR_FRAME_CORRUPTED: parts of the content are damaged
 * @VKGDR_FRAME_GAP: the frame has no content of interest
 * @VKGDR_FRAME_DELTA: the frame cannot be decoded alone
 * @VKGDR_FRAME_INTERLACED: two fields, in a mixed stream
 * @VKGDR_FRAME_TOP_FIELD_FIRST: the top field is the earlier one
 *
 * Flags of a frame. Their values are those of GstBufferFlags and
 * GstVideoBufferFlags; other bits of these may be set as well.
 *
 * Since: 0.3
 */
typedef enum vkgdr_frame_flags {
  VKGDR_FRAME_DISCONT = 1 << 6,
  VKGDR_FRAME_CORRUPTED = 1 << 8,
  VKGDR_FRAME_GAP = 1 << 11,
  VKGDR_FRAME_DELTA = 1 << 13,
  VKGDR_FRAME_INTERLACED = 1 << 20,
  VKGDR_FRAME_TOP_FIELD_FIRST = 1 << 21
} vkgdr_frame_flags;

/**
 * vkgdr_frame_info:
 * @number: number of the frame; the server counts from 1
 * @lost: number of frames between the last received one and this one that were
 *   not received
 * @time: when the frame was due on the server's side, on CLOCK_MONOTONIC; -1 if
 *   unknown
 * @pts: presentation time of the server's stream, or %VKGDR_FRAME_NO_TIME
 * @dts: decoding time, or %VKGDR_FRAME_NO_TIME
 * @duration: or %VKGDR_FRAME_NO_TIME
 * @flags: #vkgdr_frame_flags
 * @n_planes: the number of valid entries in @planes, 0 if not raw video
 * @n_memories: the number of valid entries in @memories
 * @metas_size: size of @metas in bytes
 * @metas: GStreamer's metas (docs/ipc-protocol.md)
 * @format: what the frame contains
 * @tensor: (nullable): the type and the shape of its first memory, if the
 *   frame is a tensor
 * @planes: where the planes are
 * @memories: where all bytes of the frame are
 *
 * The description of a frame. It is valid until the frame is released.
 *
 * Since: 0.3
 */
typedef struct vkgdr_frame_info {
  uint64_t number;
  uint64_t lost;
  int64_t time;
  uint64_t pts;
  uint64_t dts;
  uint64_t duration;
  uint32_t flags;
  uint32_t n_planes;
  uint32_t n_memories;
  uint32_t metas_size;
  const void *metas;
  const vkgdr_frame_format *format;
  const vkgdr_frame_tensor *tensor;
  vkgdr_frame_plane planes[VKGDR_FRAME_MAX_PLANES];
  vkgdr_frame_memory memories[VKGDR_FRAME_MAX_MEMORIES];
} vkgdr_frame_info;

/* --- the client ---------------------------------------------------------- */

/**
 * vkgdr_frames_params:
 * @path: of the server's socket, at most 107 bytes
 * @timeout: how long to wait until a server has accepted this client, in
 *   nanoseconds; 0: not at all; -1: without a limit
 * @allowed_peers: which processes may be the server
 * @import: (nullable): imports a memory of the server instead of libvkgdr, and
 *   returns an object for vkgdr_frame_memory.object. On failure, returns %NULL
 *   and writes the reason to @message, which has room for @size bytes. The
 *   caller still owns @fd
 * @forget: (nullable): frees an object of @import; called in any thread
 * @user_data: for @import and @forget
 *
 * Parameters of vkgdr_frames_connect(). All fields except @path may be 0, which
 * is the default.
 *
 * Since: 0.3
 */
typedef struct vkgdr_frames_params {
  const char *path;
  int64_t timeout;
  vkgdr_frame_peers allowed_peers;
  void *(*import) (void *user_data, int fd, const vkgdr_fd_info *info,
      char *message, size_t size);
  void (*forget) (void *user_data, void *object);
  void *user_data;
} vkgdr_frames_params;

/**
 * vkgdr_frames_connect:
 * @params: the parameters, which are copied
 *
 * Connects to a frame server. Without vkgdr_frames_params.import, the first
 * frame opens the server's device and its primary CUDA context in this process.
 *
 * With a timeout of 0, the server may not have accepted this client yet when
 * the function returns; see vkgdr_frames_wait_accepted().
 *
 * Returns: the connection, which the caller closes with vkgdr_frames_close(),
 *   or %NULL. Then errno is ENOENT if no process serves @path, and ETIMEDOUT if
 *   the process does not answer, so that another attempt may succeed later; any
 *   other value means that it will not
 *
 * Since: 0.3
 */
VKGDR_API vkgdr_frames_t vkgdr_frames_connect (
    const vkgdr_frames_params *params);

/**
 * vkgdr_frames_wait_accepted:
 * @frames: a connection
 * @timeout: how long to wait, in nanoseconds; 0: not at all; -1: without a
 *   limit
 *
 * Waits until the server has accepted this client. Must be called by the thread
 * that calls vkgdr_frames_receive().
 *
 * Returns: whether it has. If not, errno is ETIMEDOUT if the server has not
 *   answered yet; any other value means that the connection has ended, and
 *   vkgdr_frames_receive() returns how
 *
 * Since: 0.3
 */
VKGDR_API bool vkgdr_frames_wait_accepted (
    vkgdr_frames_t frames, int64_t timeout);

/**
 * vkgdr_frames_get_fd:
 * @frames: a connection
 *
 * Returns: (transfer none): a file descriptor that is readable (POLLIN) when
 *   vkgdr_frames_receive() has something to do. It must not be read or closed
 *
 * Since: 0.3
 */
VKGDR_API int vkgdr_frames_get_fd (vkgdr_frames_t frames);

/**
 * vkgdr_frames_status:
 * @VKGDR_FRAMES_REFUSED: the server has ended the connection, and
 *   vkgdr_last_error() has its reason; later calls return the same
 * @VKGDR_FRAMES_ERROR: the connection is broken, or the server has sent
 *   something that is not valid; later calls return the same
 * @VKGDR_FRAMES_TIMEOUT: there is no frame yet
 * @VKGDR_FRAMES_FRAME: a frame
 * @VKGDR_FRAMES_EOS: the stream has ended; another one may follow
 * @VKGDR_FRAMES_BYE: the server has stopped; later calls return the same
 *
 * Results of vkgdr_frames_receive().
 *
 * Since: 0.3
 */
typedef enum vkgdr_frames_status {
  VKGDR_FRAMES_REFUSED = -2,
  VKGDR_FRAMES_ERROR,
  VKGDR_FRAMES_TIMEOUT,
  VKGDR_FRAMES_FRAME,
  VKGDR_FRAMES_EOS,
  VKGDR_FRAMES_BYE
} vkgdr_frames_status;

/**
 * vkgdr_frames_receive:
 * @frames: a connection
 * @timeout: how long to wait, in nanoseconds; 0: not at all; -1: without a
 *   limit
 * @frame: (out): the frame, which the caller releases; %NULL if the result is
 *   not %VKGDR_FRAMES_FRAME
 *
 * Receives the next frame. It is written completely: the work of the server's
 * device is done. A server gives a client a limited number of frames, 4 by
 * default, and sends no more until the client releases one. Only one thread may
 * call this function at a time.
 *
 * Returns: what was received
 *
 * Since: 0.3
 */
VKGDR_API vkgdr_frames_status vkgdr_frames_receive (
    vkgdr_frames_t frames, int64_t timeout, vkgdr_frame_t *frame);

/**
 * vkgdr_frames_state:
 * @VKGDR_FRAMES_FORMAT: a #vkgdr_frame_format
 * @VKGDR_FRAMES_TENSOR: a #vkgdr_frame_tensor
 * @VKGDR_FRAMES_CAPS: GStreamer's caps as text, not ended by 0
 * @VKGDR_FRAMES_SEGMENT: GStreamer's segment
 * @VKGDR_FRAMES_STREAM_TAGS: tags of the stream
 * @VKGDR_FRAMES_GLOBAL_TAGS: tags of all streams
 * @VKGDR_FRAMES_LATENCY: the latency of GStreamer's pipeline, a uint64_t
 *
 * What a server says about the frames that follow. docs/ipc-protocol.md
 * describes the bytes of those that are for GStreamer.
 *
 * Since: 0.3
 */
typedef enum vkgdr_frames_state {
  VKGDR_FRAMES_FORMAT,
  VKGDR_FRAMES_TENSOR,
  VKGDR_FRAMES_CAPS,
  VKGDR_FRAMES_SEGMENT,
  VKGDR_FRAMES_STREAM_TAGS,
  VKGDR_FRAMES_GLOBAL_TAGS,
  VKGDR_FRAMES_LATENCY
} vkgdr_frames_state;

#define VKGDR_FRAMES_N_STATES 7

/**
 * vkgdr_frames_get_state:
 * @frames: a connection
 * @state: which one
 * @size: (out): its number of bytes
 * @serial: (out) (optional): a number that increases with each change
 *
 * Must be called by the thread that calls vkgdr_frames_receive().
 *
 * Returns: (transfer none) (nullable): the bytes, which belong to the last
 *   received frame; valid until the next call of vkgdr_frames_receive(). If
 * they are none, the server has no such state any more; %NULL: it never had one
 *
 * Since: 0.3
 */
VKGDR_API const void *vkgdr_frames_get_state (vkgdr_frames_t frames,
    vkgdr_frames_state state, size_t *size, uint64_t *serial);

/**
 * vkgdr_frames_get_room:
 * @frames: a connection
 *
 * Returns: how many frames the server can send before this client releases one.
 *   A client that keeps frames for long should copy them before this is 0
 *
 * Since: 0.3
 */
VKGDR_API uint32_t vkgdr_frames_get_room (vkgdr_frames_t frames);

/**
 * vkgdr_frames_get_lost:
 * @frames: a connection
 *
 * Returns: the number of the server's frames that were not received, since the
 *   first received one
 *
 * Since: 0.3
 */
VKGDR_API uint64_t vkgdr_frames_get_lost (vkgdr_frames_t frames);

/**
 * vkgdr_frames_get_device:
 * @frames: a connection
 *
 * Returns: the CUDA device of the frames; -1 before the first frame, and with
 *   vkgdr_frames_params.import
 *
 * Since: 0.3
 */
VKGDR_API CUdevice vkgdr_frames_get_device (vkgdr_frames_t frames);

/**
 * vkgdr_frames_close:
 * @frames: (nullable): a connection
 *
 * Tells the server to send no more frames, and waits for the work of all calls
 * of vkgdr_frame_release_on_stream(). Frames that were sent but not received go
 * back to the server at once. Frames that were not released stay valid, and
 * keep the connection open.
 *
 * Since: 0.3
 */
VKGDR_API void vkgdr_frames_close (vkgdr_frames_t frames);

/**
 * vkgdr_frame_get_info:
 * @frame: a frame
 *
 * Returns: (transfer none): its description
 *
 * Since: 0.3
 */
VKGDR_API const vkgdr_frame_info *vkgdr_frame_get_info (vkgdr_frame_t frame);

/**
 * vkgdr_frame_invalidate:
 * @frame: a frame
 *
 * Makes the content visible to the CPU, before it reads through
 * vkgdr_frame_plane.host. Does nothing if the memory is coherent.
 *
 * Returns: false on failure
 *
 * Since: 0.3
 */
VKGDR_API bool vkgdr_frame_invalidate (vkgdr_frame_t frame);

/**
 * vkgdr_frame_release:
 * @frame: a frame that neither the CPU nor the device uses any more
 *
 * Returns the frame to the server.
 *
 * Since: 0.3
 */
VKGDR_API void vkgdr_frame_release (vkgdr_frame_t frame);

/**
 * vkgdr_frame_release_on_stream:
 * @frame: a frame
 * @stream: (nullable): a CUstream of the device's primary context; %NULL is the
 *   legacy default stream
 *
 * Returns the frame to the server when the work that is queued on @stream at
 * present has ended. Does not wait for it. Not for frames of a connection with
 * vkgdr_frames_params.import.
 *
 * Returns: false on failure; the function has then waited for the stream and
 *   released the frame
 *
 * Since: 0.3
 */
VKGDR_API bool vkgdr_frame_release_on_stream (
    vkgdr_frame_t frame, void *stream);

/* --- the server ---------------------------------------------------------- */

/** vkgdr_frame_server_t: a frame server with buffers of its own. */
typedef struct vkgdr_frame_server *vkgdr_frame_server_t;

/**
 * vkgdr_frame_server_params:
 * @path: of the socket, at most 107 bytes. A socket that an ended process has
 *   left there is replaced
 * @allowed_peers: which processes may be clients
 * @device: a CUDA device, as cuDeviceGet() returns it
 * @format: GStreamer's name of a pixel format: GRAY8, GRAY16_LE, RGB, BGR,
 * RGBA, BGRA, ARGB, ABGR, RGBx, BGRx, xRGB, xBGR, RGBA64_LE, AYUV, YUY2, UYVY,
 * NV12, NV21, NV16, NV24, P010_10LE, P012_LE, P016_LE, I420, YV12, Y42B, Y444,
 * GBR, I420_10LE, I422_10LE or Y444_10LE
 * @width: in pixels, at most 32,767
 * @height: in pixels, at most 32,767
 * @fps_n: frames per second, the numerator; 0: unknown
 * @fps_d: the denominator
 * @tensor: (nullable): the frames are tensors; @format must be %NULL
 * @memory_flags: %VKGDR_MEMORY_DEVICE_BIT for memory that the CPU cannot
 *   address, also if the device has a window
 * @n_buffers: buffers that are allocated; 0: 8
 * @max_buffers: frames that one client may have at a time; 0: 4
 *
 * Parameters of vkgdr_frame_server_open().
 *
 * Since: 0.3
 */
typedef struct vkgdr_frame_server_params {
  const char *path;
  vkgdr_frame_peers allowed_peers;
  CUdevice device;
  const char *format;
  uint32_t width;
  uint32_t height;
  int32_t fps_n;
  int32_t fps_d;
  const vkgdr_frame_tensor *tensor;
  uint32_t memory_flags;
  uint32_t n_buffers;
  uint32_t max_buffers;
} vkgdr_frame_server_params;

/**
 * vkgdr_frame_buffer:
 * @planes: where the content goes; that of a tensor goes to the first one
 * @size: number of bytes
 * @index: of the buffer in the server
 *
 * A buffer of a frame server, to be written by the CPU or by a kernel.
 *
 * Since: 0.3
 */
typedef struct vkgdr_frame_buffer {
  vkgdr_frame_plane planes[VKGDR_FRAME_MAX_PLANES];
  size_t size;
  uint32_t index;
} vkgdr_frame_buffer;

/**
 * vkgdr_frame_server_open:
 * @params: the parameters, which are copied
 *
 * Allocates the buffers, and listens. If the device has no window, the buffers
 * have no host pointer, and are written by kernels.
 *
 * Returns: the server, which the caller closes, or %NULL
 *
 * Since: 0.3
 */
VKGDR_API vkgdr_frame_server_t vkgdr_frame_server_open (
    const vkgdr_frame_server_params *params);

/**
 * vkgdr_frame_server_get_format:
 * @server: a server
 *
 * Returns: (transfer none): its format, valid as long as the server; all fields
 *   are 0 if the frames are tensors
 *
 * Since: 0.3
 */
VKGDR_API const vkgdr_frame_format *vkgdr_frame_server_get_format (
    vkgdr_frame_server_t server);

/**
 * vkgdr_frame_server_acquire:
 * @server: a server
 * @timeout: how long to wait for a buffer that no client uses, in nanoseconds;
 *   0: not at all; -1: without a limit
 *
 * Returns: (transfer none) (nullable): a buffer, which the caller gives back
 *   with vkgdr_frame_server_send() or vkgdr_frame_server_cancel(); %NULL if all
 *   buffers are in use, or if another thread closes the server
 *
 * Since: 0.3
 */
VKGDR_API vkgdr_frame_buffer *vkgdr_frame_server_acquire (
    vkgdr_frame_server_t server, int64_t timeout);

/**
 * vkgdr_frame_server_send:
 * @server: a server
 * @buffer: a buffer of vkgdr_frame_server_acquire(), which the call takes
 * @time: when the frame was made, on CLOCK_MONOTONIC, in nanoseconds; -1: now
 *
 * Sends a buffer that the CPU has written. If a client has too many frames, one
 * frame waits for it, always the newest one.
 *
 * Returns: false on failure
 *
 * Since: 0.3
 */
VKGDR_API bool vkgdr_frame_server_send (
    vkgdr_frame_server_t server, vkgdr_frame_buffer *buffer, int64_t time);

/**
 * vkgdr_frame_server_send_on_stream:
 * @server: a server
 * @buffer: a buffer of vkgdr_frame_server_acquire(), which the call takes
 * @time: see vkgdr_frame_server_send()
 * @stream: (nullable): a CUstream of the device's primary context
 *
 * Sends a buffer as soon as the work that is queued on @stream at present has
 * ended. Does not wait for it.
 *
 * Returns: false on failure
 *
 * Since: 0.3
 */
VKGDR_API bool vkgdr_frame_server_send_on_stream (vkgdr_frame_server_t server,
    vkgdr_frame_buffer *buffer, int64_t time, void *stream);

/**
 * vkgdr_frame_server_cancel:
 * @server: a server
 * @buffer: a buffer of vkgdr_frame_server_acquire()
 *
 * Gives a buffer back without sending it. No work may use it any more.
 *
 * Since: 0.3
 */
VKGDR_API void vkgdr_frame_server_cancel (
    vkgdr_frame_server_t server, vkgdr_frame_buffer *buffer);

/**
 * vkgdr_frame_server_end:
 * @server: a server
 *
 * Ends the stream (EOS) after all frames, also for clients that come later. The
 * next frame begins another stream.
 *
 * Since: 0.3
 */
VKGDR_API void vkgdr_frame_server_end (vkgdr_frame_server_t server);

/**
 * vkgdr_frame_server_count_clients:
 * @server: a server
 *
 * Returns: the number of clients that are connected at present
 *
 * Since: 0.3
 */
VKGDR_API uint32_t vkgdr_frame_server_count_clients (
    vkgdr_frame_server_t server);

/**
 * vkgdr_frame_server_close:
 * @server: (nullable): a server
 *
 * Sends all frames, ends the connections, and frees the buffers. Waits two
 * seconds at most for clients that do not read. Clients may still use the
 * frames that they have. A buffer that the caller has acquired is valid until
 * it is given back, with vkgdr_frame_server_cancel() for example.
 *
 * Since: 0.3
 */
VKGDR_API void vkgdr_frame_server_close (vkgdr_frame_server_t server);

#ifdef __cplusplus
}
#endif

#endif /* VKGDR_FRAMES_H */
