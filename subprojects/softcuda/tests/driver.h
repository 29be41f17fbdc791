/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * driver.h: loads softcuda's libcuda.so.1 in the same way as an application,
 * and has functions that all tests use
 */

#ifndef TEST_SOFTCUDA_DRIVER_H
#define TEST_SOFTCUDA_DRIVER_H

#include <dlfcn.h>

#include "driver-api.h"
#include "softcuda-check.h"
#include "softcuda.h"

/* The build file sets SOFTCUDA_MEMORY to this value. */
#define LIMIT ((size_t) 64 << 20)

static struct {
#define FIELD(name, symbol, args) CUresult (*name) args;
  SOFTCUDA_FUNCTIONS (FIELD)
#undef FIELD
} cu;
static CUresult (*set_fail) (const char *spec);
static unsigned long (*count_calls) (const char *name);

#define ok(call) \
  do { \
    int ok_result = (call); \
    ck_assert_msg (ok_result == 0, "%s: error %d", #call, ok_result); \
  } while (0)

#define fails(call, error) ck_assert_int_eq (call, error)
#define invalid(call) fails (call, CUDA_ERROR_INVALID_VALUE)

static inline void *
open_library (const char *name)
{
  g_autofree char *path =
      g_build_filename (g_getenv ("SOFTCUDA_DIR"), name, NULL);
  void *library = dlopen (path, RTLD_NOW | RTLD_LOCAL);

  ck_assert_msg (library != NULL, "%s: %s", path, dlerror ());
  return library;
}

static inline void *
find_symbol (void *library, const char *name)
{
  void *symbol = dlsym (library, name);

  ck_assert_msg (symbol != NULL, "no %s", name);
  return symbol;
}

static inline void
load_driver (void)
{
  void *library = open_library ("libcuda.so.1");

#define LOAD(name, symbol, args) \
  *(void **) &cu.name = find_symbol (library, #symbol);
  SOFTCUDA_FUNCTIONS (LOAD)
#undef LOAD
  *(void **) &set_fail = find_symbol (library, "softcudaFail");
  *(void **) &count_calls = find_symbol (library, "softcudaCountCalls");
}

/* A fixture that makes the primary context current. Its end frees what a test
 * has left in the context. */
static CUcontext primary;

static inline void
setup_context (void)
{
  load_driver ();
  ok (cu.cuInit (0));
  ok (cu.cuDevicePrimaryCtxRetain (&primary, 0));
  ok (cu.cuCtxPushCurrent (primary));
}

static inline size_t
free_memory (void)
{
  size_t n, total;

  ok (cu.cuMemGetInfo (&n, &total));
  ck_assert_uint_eq (total, LIMIT);
  return n;
}

static inline CUdeviceptr
new_memory (size_t size, guint8 value)
{
  CUdeviceptr pointer;

  ok (cu.cuMemAlloc (&pointer, size));
  ok (cu.cuMemsetD8 (pointer, value, size));
  ok (cu.cuCtxSynchronize ());
  return pointer;
}

/* New memory, which the CPU can use at the same address. */
static inline void *
zeroed (size_t size)
{
  return (void *) (uintptr_t) new_memory (size, 0);
}

static inline CUstream
new_stream (unsigned int flags)
{
  CUstream stream;

  ok (cu.cuStreamCreate (&stream, flags));
  return stream;
}

static inline void
teardown_context (void)
{
  CUcontext popped;

  ok (set_fail (NULL));
  ok (cu.cuCtxPopCurrent (&popped));
  ok (cu.cuDevicePrimaryCtxRelease (0));
}

/* ---- gates, which stop a stream until the test opens them ---- */

/* Time in which work would run if it were allowed to, in microseconds. */
#define A_WHILE_US 20000

/* All zeros: closed. */
typedef struct {
  gint reached, open;
} Gate;

static inline void
wait_until_true (gint *variable)
{
  while (!g_atomic_int_get (variable))
    g_usleep (100);
}

static inline void
gate_wait (void *data)
{
  Gate *gate = data;

  g_atomic_int_set (&gate->reached, TRUE);
  wait_until_true (&gate->open);
}

static inline void
gate_open (Gate *gate)
{
  g_atomic_int_set (&gate->open, TRUE);
}

/* Waits until a call in another thread has begun to stop the stream. */
static inline void
wait_until_stopping (CUstream stream)
{
  while (cu.cuStreamQuery (stream) != CUDA_ERROR_INVALID_HANDLE)
    g_usleep (1000);
}

#endif /* TEST_SOFTCUDA_DRIVER_H */
