/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * private.h: what the files of softcuda's driver share
 *
 * One lock guards all state: the device is for development and tests, and one
 * lock is easy to be right about. Work runs without it. A function whose name
 * ends in _locked is called with it held; some of them wait, and then give it
 * up meanwhile, as their comments say.
 */

#ifndef SOFTCUDA_PRIVATE_H
#define SOFTCUDA_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "further.h"
#include "softcuda.h"

/* The exported symbols are the API's and softcuda.h's, and no others. */
#define SC_DECLARE(name, symbol, need, args) SOFTCUDA_API CUresult symbol args;
SOFTCUDA_FUNCTIONS (SC_DECLARE)
#undef SC_DECLARE

/* ---- entry (entry.c) ---- */

typedef enum sc_call {
#define SC_CALL(name, symbol, need, args) SC_CALL_##name,
  SOFTCUDA_FUNCTIONS (SC_CALL)
#undef SC_CALL
      SC_N_CALLS
} sc_call;

/* First statement of every entry point that needs cuInit(). */
#define SC_ENTER(name) \
  do { \
    CUresult sc_enter_result = sc_enter (SC_CALL_##name); \
    if (sc_enter_result != CUDA_SUCCESS) \
      return sc_enter_result; \
  } while (0)

CUresult sc_enter (sc_call call);
CUresult sc_fail_check (sc_call call);
CUresult sc_fail_read_environment (void);
bool sc_is_initialized (void);

/* Calls of the API are refused between these two, on the calling thread. */
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
  SC_KIND_TEXTURE
} sc_kind;

/* First member of every object that a caller holds a handle of. The table of
 * live handles makes a stale one an error instead of a crash. */
typedef struct sc_handle {
  sc_kind kind;
  int refs;
  CUcontext context;
  struct sc_handle *chain;
} sc_handle;

void sc_lock (void);
void sc_unlock (void);
void sc_wait_progress_locked (void);
void sc_signal_progress_locked (void);
void sc_wait_wake_locked (pthread_cond_t *wake);

/* Gives the object its first reference, which is the table's. */
void sc_handle_add_locked (sc_handle *handle, sc_kind kind, CUcontext context);
bool sc_handle_is_live_locked (const void *handle, sc_kind kind);
/* The table's reference becomes the caller's. */
void sc_handle_remove_locked (sc_handle *handle);

/* Frees an object that handles stood for, or an array of them, later: another
 * one is not allocated at its address before that. With the lock held or
 * without. */
void sc_handle_free (void *object);

/* Some live object of that kind and context, or NULL. */
void *sc_handle_any_locked (sc_kind kind, CUcontext context);
/* Calls each for every live object of that kind. */
void sc_handle_each_locked (
    sc_kind kind, void (*each) (sc_handle *handle, void *data), void *data);

/* ---- contexts (context.c) ---- */

struct CUctx_st {
  sc_handle handle;
  bool alive;
  CUresult error; /* of asynchronous work: stays until the context dies */
  CUstream null_stream;
  CUstream joining;  /* see sc_stream_joining_locked (); NULL at first */
  size_t stack_size; /* CU_LIMIT_STACK_SIZE */
  int attached;      /* calls of cuCtxAttach() that no cuCtxDetach() ended */
};

/* For those who wait: the context may be destroyed meanwhile. unref gives its
 * error. */
CUcontext sc_context_ref_locked (CUcontext context);
CUresult sc_context_unref_locked (CUcontext context);

/* The calling thread's context; its sticky error is no concern of theirs. */
CUresult sc_current_locked (CUcontext *context);
/* The same, and an error where its asynchronous work has failed. */
CUresult sc_current_usable_locked (CUcontext *context);

/* ---- streams (stream.c) ---- */

/* A place in a stream: reached when the item of that number is complete. */
typedef struct sc_point {
  CUstream stream; /* a reference, or NULL: always reached */
  uint64_t seq;
} sc_point;

typedef struct sc_work {
  CUresult (*run) (void *data); /* an error fails the context */
  void (*drop) (void *data);    /* frees data, run or not; may be NULL */
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

/* Takes work->data in any case. after: another point to wait for, or NULL. The
 * item's place is *point, without a reference, if point is not NULL. */
CUresult sc_submit_locked (CUstream stream, const sc_work *work,
    const sc_point *after, sc_point *point);
/* Waits without the lock. */
void sc_wait_point_locked (const sc_point *point);
bool sc_point_is_reached_locked (const sc_point *point);
void sc_point_clear_locked (sc_point *point);
sc_point sc_point_copy_locked (const sc_point *point);
/* Submits and waits. */
CUresult sc_submit_and_wait_locked (CUstream stream, const sc_work *work);

CUstream sc_stream_new_locked (CUcontext context, bool non_blocking);
/* Takes no more work; the stream leaves the table, and signals progress, when
 * what it has is done. Does not wait. */
void sc_stream_destroy_locked (CUstream stream);
/* The stream, which no caller has a handle of, whose work begins when all is
 * done that any stream of the context had before; NULL without memory. */
CUstream sc_stream_joining_locked (CUcontext context);
/* A caller's handle: NULL is the default stream of the current context. */
CUresult sc_stream_find_locked (CUstream handle, CUstream *stream);
/* Waits, without the lock, for all that was submitted to a context, or to all
 * contexts if it is NULL. */
void sc_wait_idle_locked (CUcontext context);

/* ---- events (event.c) ---- */

struct CUevent_st {
  sc_handle handle;
  bool timed;
  sc_point recorded;
  uint64_t n_records;
  uint64_t time; /* ns of the latest record, once its point is reached */
};

void sc_event_destroy_locked (CUevent event);

/* ---- memory (range.c, memory.c, register.c, external.c, ipc.c) ---- */

typedef enum sc_range_kind {
  SC_RANGE_DEVICE,
  SC_RANGE_MAPPED, /* of an external memory */
  SC_RANGE_OPENED, /* of another process's */
  SC_RANGE_GLOBAL, /* a module's variable */
  SC_RANGE_HOST,
  SC_RANGE_REGISTERED
} sc_range_kind;

/* What ipc.c knows of a range that several processes have. */
typedef struct sc_shared sc_shared;

typedef struct sc_range {
  uintptr_t start;
  size_t size;
  sc_range_kind kind;
  CUcontext context;
  void *map; /* what munmap() takes, for SC_RANGE_MAPPED and _OPENED; for
                _REGISTERED the second mapping of its pages, or NULL */
  size_t map_size;
  sc_shared *shared; /* for SC_RANGE_DEVICE, NULL unless it was exported, and
                        _OPENED */
} sc_range;

CUresult sc_range_add_locked (const sc_range *range);
/* The range that the address lies in, or NULL; valid until the lock is left. */
const sc_range *sc_range_find_locked (uintptr_t address);
bool sc_range_overlaps_locked (uintptr_t start, size_t size);
bool sc_range_covers_locked (uintptr_t start, size_t size);
/* Where the device finds the byte at this address. For registered memory this
 * is the page that was registered, whatever is mapped there now. */
uintptr_t sc_range_device_address_locked (uintptr_t address);
void sc_range_remove_locked (uintptr_t start);
/* The range that begins there has that from now on. */
void sc_range_set_shared_locked (uintptr_t start, sc_shared *shared);
/* Some range of the context, or NULL. */
const sc_range *sc_range_any_locked (CUcontext context);
/* The first range of that kind for which is_it answers true, or NULL. */
const sc_range *sc_range_search_locked (sc_range_kind kind,
    bool (*is_it) (const sc_range *range, const void *data), const void *data);

size_t sc_memory_limit (void);
/* Waits for all work, and frees what the range stands for. */
void sc_memory_remove_locked (const sc_range *range);
void sc_memory_release_all_locked (CUcontext context);
/* The range is the process's own again; false if that cannot be done, and its
 * memory must not be freed. */
bool sc_shared_end_export (const sc_range *range);
void sc_shared_free (sc_shared *shared);
void sc_external_destroy_locked (CUexternalMemory memory);

/* ---- modules (module.c) ---- */

void sc_module_destroy_locked (CUmodule module);
/* Ends what was told of its variables (global.c). */
void sc_module_forget_globals_locked (CUmodule module);

/* ---- textures (texture.c) ---- */

/* handle: what the table of live handles has of it. */
void sc_texture_destroy_locked (sc_handle *handle);

#endif /* SOFTCUDA_PRIVATE_H */
