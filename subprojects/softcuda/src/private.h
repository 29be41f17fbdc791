/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * private.h: declarations that the files of softcuda's driver share
 *
 * One lock guards all state. This is simple, and fast enough for a device that
 * is meant for development and tests. Kernels and copies run without the lock.
 * A function whose name ends in _locked must be called with the lock held. Some
 * of these functions wait, and release the lock while they wait; their comments
 * say so.
 */

#ifndef SOFTCUDA_PRIVATE_H
#define SOFTCUDA_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "driver-api.h"
#include "softcuda.h"

/* Only the symbols of the API and of softcuda.h are exported. */
#define SC_DECLARE(name, symbol, args) SOFTCUDA_API CUresult symbol args;
SOFTCUDA_FUNCTIONS (SC_DECLARE)
#undef SC_DECLARE

/* ---- entry (entry.c) ---- */

typedef enum sc_call {
#define SC_CALL(name, symbol, args) SC_CALL_##name,
  SOFTCUDA_FUNCTIONS (SC_CALL)
#undef SC_CALL
      SC_N_CALLS
} sc_call;

/* Must be the first statement of every entry point that needs cuInit(). */
#define SC_ENTER(name) \
  do { \
    CUresult sc_enter_result = sc_enter (SC_CALL_##name); \
    if (sc_enter_result != CUDA_SUCCESS) \
      return sc_enter_result; \
  } while (0)

CUresult sc_enter (sc_call call);
CUresult sc_fail_check (sc_call call);

/* Sets @uuid to that of Vulkan's software device, or to a constant if there is
 * none. Thread-safe. */
void sc_device_uuid (CUuuid *uuid);

/* Between these two calls, the API refuses all calls of the calling thread. */
void sc_host_function_begin (void);
void sc_host_function_end (void);

CUresult sc_error_from_text (const char *text, CUresult *error);

/* ---- the lock and the handles (handle.c) ---- */

typedef enum sc_kind {
  SC_KIND_CONTEXT,
  SC_KIND_STREAM,
  SC_KIND_EVENT,
  SC_KIND_EXTERNAL,
  SC_KIND_MODULE,
  SC_KIND_FUNCTION,
  SC_KIND_TEXTURE,
  SC_KIND_ARRAY,
  SC_KIND_LINK,
  SC_KIND_PHYSICAL
} sc_kind;

/* Must be the first member of every object of which callers have handles. With
 * the table of live handles, a stale handle is an error, and not a crash. */
typedef struct sc_handle {
  sc_kind kind;
  int refs;
  CUcontext context;
  struct sc_handle *chain;
} sc_handle;

void sc_lock (void);
void sc_unlock (void);
/* Waits for the next sc_signal_progress_locked (), and releases the lock while
 * it waits. */
void sc_wait_progress_locked (void);
void sc_signal_progress_locked (void);
/* Waits for a signal of `wake`, and releases the lock while it waits. */
void sc_wait_wake_locked (pthread_cond_t *wake);

/* Adds the object to the table, which owns its first reference. */
void sc_handle_add_locked (sc_handle *handle, sc_kind kind, CUcontext context);
bool sc_handle_is_live_locked (const void *handle, sc_kind kind);
/* Removes the object from the table. The caller gets the table's reference. */
void sc_handle_remove_locked (sc_handle *handle);

/* Frees an object, or an array of objects, later, so that a new object does not
 * get its address soon. May be called with or without the lock. */
void sc_handle_free (void *object);

/* Returns any live object of this kind and context, or NULL. */
void *sc_handle_any_locked (sc_kind kind, CUcontext context);
/* Calls `each` for every live object of this kind. */
void sc_handle_each_locked (
    sc_kind kind, void (*each) (sc_handle *handle, void *data), void *data);

/* ---- contexts (context.c, current.c) ---- */

struct CUctx_st {
  sc_handle handle;
  bool alive;
  CUresult
      error; /* of asynchronous work; it stays until the context is destroyed */
  CUstream null_stream;
  CUstream joining; /* see sc_stream_joining_locked (); NULL at first */
  size_t limits[3]; /* by CUlimit */
  int attached;     /* calls of cuCtxAttach() without a cuCtxDetach() yet */
  bool is_primary;  /* never freed */
};

/* A reference for functions that wait, because the context may be destroyed in
 * the meantime. unref returns the context's error. */
CUcontext sc_context_ref_locked (CUcontext context);
CUresult sc_context_unref_locked (CUcontext context);

/* Returns the calling thread's context, even if its asynchronous work has
 * failed. */
CUresult sc_current_locked (CUcontext *context);
/* Returns the calling thread's context, or an error if its asynchronous work
 * has failed. */
CUresult sc_current_usable_locked (CUcontext *context);
/* Puts the context on the calling thread's stack. */
CUresult sc_current_push_locked (CUcontext context);
/* Removes the context if it is on top of the calling thread's stack. The caller
 * must have another reference. */
void sc_current_drop_locked (CUcontext context);

/* ---- streams (stream.c) ---- */

/* A point in a stream. It is reached when the item of this number is
 * complete. */
typedef struct sc_point {
  CUstream stream; /* a reference; NULL: the point is always reached */
  uint64_t seq;
} sc_point;

typedef struct sc_work {
  CUresult (*run) (void *data); /* an error becomes the error of the context */
  void (*drop) (void *data); /* frees data in any case, even if the item has not
                                run; may be NULL */
  void *data;
  bool even_after_error;
} sc_work;

struct sc_item;

struct CUstream_st {
  sc_handle handle;
  bool non_blocking;
  bool joins; /* each item waits for all streams of the context */
  bool started;
  bool quit;
  uint64_t submitted; /* number of the last item */
  uint64_t completed;
  struct sc_item *head;
  struct sc_item **tail;
  pthread_cond_t wake;
};

/* Takes ownership of work->data, even on failure. after: another point to wait
 * for, or NULL. If point is not NULL, *point becomes the point of the item,
 * without a reference. */
CUresult sc_submit_locked (CUstream stream, const sc_work *work,
    const sc_point *after, sc_point *point);
/* Waits until the point is reached, and releases the lock while it waits. */
void sc_wait_point_locked (const sc_point *point);
bool sc_point_is_reached_locked (const sc_point *point);
void sc_point_clear_locked (sc_point *point);
sc_point sc_point_copy_locked (const sc_point *point);
/* Submits the work, waits until it is complete, and releases the lock while it
 * waits. */
CUresult sc_submit_and_wait_locked (CUstream stream, const sc_work *work);

CUstream sc_stream_new_locked (CUcontext context, bool non_blocking);
/* Stops a stream: it accepts no more work. When its work is done, it leaves the
 * table and signals progress. Does not wait. */
void sc_stream_destroy_locked (CUstream stream);
/* Returns an internal stream of the context. Its work begins when all earlier
 * work of all streams of the context is done. Returns NULL if there is no
 * memory. */
CUstream sc_stream_joining_locked (CUcontext context);
/* Finds the stream of a caller's handle. NULL is the default stream of the
 * current context. */
CUresult sc_stream_find_locked (CUstream handle, CUstream *stream);
/* Waits for all work that was submitted to a context, or to all contexts if it
 * is NULL. Releases the lock while it waits. */
void sc_wait_idle_locked (CUcontext context);
/* Waits until no work is running in any context, and releases the lock while it
 * waits. Work begins again when the caller releases the lock. */
void sc_wait_until_paused_locked (void);

/* ---- events (event.c) ---- */

/* The state of an event that several processes use (shared-event.c). Its
 * records have numbers. */
typedef struct sc_shared_event sc_shared_event;

/* Both return NULL on failure. The first one takes ownership of the file
 * descriptor on success. */
sc_shared_event *sc_shared_event_new (int fd);
sc_shared_event *sc_shared_event_create (void);
void sc_shared_event_free (sc_shared_event *event); /* may be NULL */
int sc_shared_event_fd (const sc_shared_event *event);
uint32_t sc_shared_event_record (sc_shared_event *event);
uint32_t sc_shared_event_last (const sc_shared_event *event);
bool sc_shared_event_is_reached (const sc_shared_event *event, uint32_t number);
void sc_shared_event_reach (sc_shared_event *event, uint32_t number);
/* Must be called without the lock. */
void sc_shared_event_wait (const sc_shared_event *event, uint32_t number);

struct CUevent_st {
  sc_handle handle;
  bool timed;
  sc_shared_event *shared; /* NULL if other processes cannot use the event */
  sc_point recorded;
  uint64_t n_records;
  uint64_t
      time; /* of the latest record, in ns; valid when its point is reached */
};

/* Takes ownership of `shared`, even on failure. */
CUresult sc_event_new (CUevent *event, bool timed, sc_shared_event *shared);
void sc_event_destroy_locked (CUevent event);

/* ---- memory (range.c, memory.c, register.c, external.c, ipc.c, virtual.c)
 * ---- */

typedef enum sc_range_kind {
  SC_RANGE_DEVICE,
  SC_RANGE_MAPPED,  /* a part of an external memory */
  SC_RANGE_OPENED,  /* memory of another process */
  SC_RANGE_GLOBAL,  /* a module's variable */
  SC_RANGE_VIRTUAL, /* a mapping of physical memory; of no context */
  SC_RANGE_HOST,
  SC_RANGE_REGISTERED
} sc_range_kind;

/* What belongs to a range that is shared between processes (ipc.c). */
typedef struct sc_shared {
  int fd; /* of the exporting process; -1 in a process that opens the handle */
  struct stat file;   /* identifies the memfd */
  unsigned int opens; /* in a process that opens the handle: how often it has to
                         be closed */
} sc_shared;

size_t sc_whole_pages (size_t size);

typedef struct sc_range {
  uintptr_t start;
  size_t size;
  sc_range_kind kind;
  CUcontext context;
  void *map; /* the mapping that munmap() removes, for SC_RANGE_MAPPED and
                _OPENED; for _REGISTERED the second mapping of its pages, or
                NULL */
  size_t map_size;
  sc_shared *shared;  /* for SC_RANGE_DEVICE, NULL unless it was exported, and
                         _OPENED */
  bool is_managed;    /* SC_RANGE_DEVICE that the CPU may use, too */
  unsigned int flags; /* SC_RANGE_HOST: those of cuMemHostAlloc() */
} sc_range;

CUresult sc_range_add_locked (const sc_range *range);
/* Returns the range that contains the address, or NULL. Valid while the lock is
 * held. */
const sc_range *sc_range_find_locked (uintptr_t address);
bool sc_range_overlaps_locked (uintptr_t start, size_t size);
bool sc_range_covers_locked (uintptr_t start, size_t size);
/* Returns the address that the device uses for this address. For registered
 * memory it is in the page that was registered, even if another page is mapped
 * there now. */
uintptr_t sc_range_device_address_locked (uintptr_t address);
void sc_range_remove_locked (uintptr_t start);
/* Both set a member of the range that begins at `start`, if there is one. */
void sc_range_set_shared_locked (uintptr_t start, sc_shared *shared);
void sc_range_set_managed_locked (uintptr_t start);
/* Returns any range of the context, or NULL. */
const sc_range *sc_range_any_locked (CUcontext context);
/* Returns the first range of this kind for which is_it returns true, or
 * NULL. */
const sc_range *sc_range_search_locked (sc_range_kind kind,
    bool (*is_it) (const sc_range *range, const void *data), const void *data);

size_t sc_memory_limit (void);
/* Counts memory of the device. Returns false if it has not so much left. */
bool sc_memory_take_locked (size_t size);
void sc_memory_give_back_locked (size_t size);
/* Waits for all work, and frees the memory of the range. Releases the lock
 * while it waits. */
void sc_memory_remove_locked (const sc_range *range);
/* Frees the memory that begins at @start, if it is of one of these kinds.
 * Otherwise, returns @otherwise. */
CUresult sc_memory_free (uintptr_t start, sc_range_kind kind,
    sc_range_kind other, CUresult otherwise);
/* Does the same for all ranges of the context. */
void sc_memory_release_all_locked (CUcontext context);
void sc_shared_free (sc_shared *shared);
void sc_external_destroy_locked (CUexternalMemory memory);

/* ---- modules (module.c) ---- */

/* Waits for all work, and unloads the module. Releases the lock while it
 * waits. */
void sc_module_destroy_locked (CUmodule module);
/* Removes the ranges of its variables (global.c). */
void sc_module_forget_globals_locked (CUmodule module);

/* ---- textures (texture.c) ---- */

/* handle: the texture's entry in the table of live handles. */
void sc_texture_destroy_locked (sc_handle *handle);

/* ---- arrays (array.c) ---- */

struct softcuda_texture;
/* Returns false if the array does not exist. */
bool sc_array_get_locked (CUarray array, struct softcuda_texture *texels);
void sc_array_destroy_locked (CUarray array);
/* Sets the format, the channels and the size of a texel. */
CUresult sc_array_set_format (
    struct softcuda_texture *t, CUarray_format format, unsigned int channels);

/* ---- linking (link.c) ---- */

void sc_link_destroy_locked (CUlinkState state);

#endif /* SOFTCUDA_PRIVATE_H */
