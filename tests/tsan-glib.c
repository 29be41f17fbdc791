/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tsan-glib.c: tells the thread sanitizer how GLib and GStreamer synchronise
 *
 * Distributions build both without the sanitizer. So it sees neither their
 * futexes nor their atomic operations, and reports data races between accesses
 * that these order. This library is preloaded. Its functions replace the
 * synchronising functions of GLib and GStreamer, call the real ones, and tell
 * the sanitizer what they order. The library itself is built without the
 * sanitizer. It must not depend on what is tested, and must not tell more order
 * than the real function has. If it tells too little, there are false reports,
 * which are noticed. If it tells too much, a race is not noticed.
 *
 * Calls inside of GLib and GStreamer do not reach this library, and the
 * sanitizer does not see their accesses to memory. For example, two threads
 * that add to one GPtrArray are not reported unless the code of this project
 * accesses the array, too.
 */

#include <dlfcn.h>
#include <gst/gst.h>

/* These functions are weak, so that a program without the sanitizer can load
 * this library. Tests start such programs, which inherit LD_PRELOAD. */
extern void __tsan_acquire (void *address) __attribute__ ((weak));
extern void __tsan_release (void *address) __attribute__ ((weak));

static void
acquire (gpointer address)
{
  if (__tsan_acquire && address)
    __tsan_acquire (address);
}

static void
release (gpointer address)
{
  if (__tsan_release && address)
    __tsan_release (address);
}

#define GLIB "libglib-2.0.so.0"
#define GOBJECT "libgobject-2.0.so.0"
#define GSTREAMER "libgstreamer-1.0.so.0"

/* Returns the real function. Its library is loaded, because the caller uses it.
 * RTLD_NEXT would not find a library that was loaded by dlopen(). Several
 * threads may look up the same function at the same time, and get the same
 * result. */
static gpointer
find (gpointer *cache, const gchar *library, const gchar *name)
{
  gpointer real = __atomic_load_n (cache, __ATOMIC_RELAXED);

  if (real)
    return real;
  real = dlsym (dlopen (library, RTLD_LAZY | RTLD_NOLOAD), name);
  if (!real)
    __builtin_trap ();
  __atomic_store_n (cache, real, __ATOMIC_RELAXED);
  return real;
}

#define REAL(library, name) \
  ({ \
    static gpointer cache; \
    (__typeof__ (&name)) find (&cache, library, #name); \
  })

/* --- locks --------------------------------------------------------------- */

/* The functions of a lock, whose names begin with @name. */
#define LOCK(name, Type) \
  void (name##_lock) (Type * lock) \
  { \
    REAL (GLIB, name##_lock) (lock); \
    acquire (lock); \
  } \
  void (name##_unlock) (Type * lock) \
  { \
    release (lock); \
    REAL (GLIB, name##_unlock) (lock); \
  }

LOCK (g_mutex, GMutex)
LOCK (g_rec_mutex, GRecMutex)
/* The unlock of a reader also orders it before other readers. This is more than
 * the real function does, but readers do not race. */
LOCK (g_rw_lock_reader, GRWLock)
LOCK (g_rw_lock_writer, GRWLock)

/* A condition orders nothing by itself, but its mutex does. */
void
g_cond_wait (GCond *cond, GMutex *mutex)
{
  release (mutex);
  REAL (GLIB, g_cond_wait) (cond, mutex);
  acquire (mutex);
}

gboolean
g_cond_wait_until (GCond *cond, GMutex *mutex, gint64 end)
{
  gboolean woken;

  release (mutex);
  woken = REAL (GLIB, g_cond_wait_until) (cond, mutex, end);
  acquire (mutex);
  return woken;
}

/* --- once ---------------------------------------------------------------- */

gboolean (g_once_init_enter) (volatile void *location)
{
  gboolean first = REAL (GLIB, g_once_init_enter) (location);

  if (!first)
    acquire ((gpointer) location);
  return first;
}

/* If the initialisation is already done, the caller's own code reads the
 * location, with an atomic load that the sanitizer sees. */
void (g_once_init_leave) (volatile void *location, gsize result)
{
  release ((gpointer) location);
  REAL (GLIB, g_once_init_leave) (location, result);
}

gpointer
g_once_impl (GOnce *once, GThreadFunc func, gpointer arg)
{
  gpointer result = REAL (GLIB, g_once_impl) (once, func, arg);

  release (once);
  acquire (once);
  return result;
}

/* --- queues -------------------------------------------------------------- */

/* GLib locks the mutex of a queue inside the library, where this file does not
 * see it. So the address of the queue is used instead. */
void
g_async_queue_push (GAsyncQueue *queue, gpointer data)
{
  release (queue);
  REAL (GLIB, g_async_queue_push) (queue, data);
}

#define POP(name, parameters, arguments) \
  gpointer name parameters \
  { \
    gpointer data = REAL (GLIB, name) arguments; \
\
    if (data) \
      acquire (queue); \
    return data; \
  }

POP (g_async_queue_pop, (GAsyncQueue * queue), (queue))
POP (g_async_queue_try_pop, (GAsyncQueue * queue), (queue))
POP (g_async_queue_timeout_pop, (GAsyncQueue * queue, guint64 us), (queue, us))

/* The last reference frees what was pushed and never popped. */
void
g_async_queue_unref (GAsyncQueue *queue)
{
  release (queue);
  acquire (queue);
  REAL (GLIB, g_async_queue_unref) (queue);
}

/* --- references ---------------------------------------------------------- */

/* Every thread that drops a reference is ordered before the thread that drops
 * the last one. When a real function has dropped a reference, it is too late to
 * see whether this was the last one, because then the object is finalised. So
 * all references except the last one are dropped here, in the same way as in
 * the real functions.
 *
 * Returns: TRUE if this was done, FALSE if the caller holds the last
 * reference */
static gboolean
drop_shared_reference (gpointer object, volatile gint *count)
{
  gint n = __atomic_load_n (count, __ATOMIC_RELAXED);

  release (object);
  while (n > 1) {
    if (__atomic_compare_exchange_n (
            count, &n, n - 1, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return TRUE;
  }
  acquire (object);
  return FALSE;
}

void (g_object_unref) (gpointer object)
{
  GObject *self = object;

  /* The flags of the data list show whether there are toggle references. If
   * there are, the real function has to notify them. */
  if (self && REAL (GLIB, g_datalist_get_flags) (&self->qdata) == 0
      && drop_shared_reference (self, (volatile gint *) &self->ref_count))
    return;
  REAL (GOBJECT, g_object_unref) (object);
}

void
gst_mini_object_unref (GstMiniObject *object)
{
  if (object && drop_shared_reference (object, &object->refcount))
    return;
  REAL (GSTREAMER, gst_mini_object_unref) (object);
}

/* A thread that finds that it is the only owner runs after all former owners
 * have dropped their references. */
gboolean
gst_mini_object_is_writable (const GstMiniObject *object)
{
  gboolean writable = REAL (GSTREAMER, gst_mini_object_is_writable) (object);

  if (writable)
    acquire ((gpointer) object);
  return writable;
}

GstMiniObject *
gst_mini_object_make_writable (GstMiniObject *object)
{
  GstMiniObject *result;

  release (object);
  result = REAL (GSTREAMER, gst_mini_object_make_writable) (object);
  acquire (result);
  return result;
}

/* --- arrays and boxes with a reference count ------------------------------ */

void
g_ptr_array_unref (GPtrArray *array)
{
  release (array);
  acquire (array);
  REAL (GLIB, g_ptr_array_unref) (array);
}

static _Thread_local GDestroyNotify box_clear;

static void
acquire_and_clear (gpointer box)
{
  GDestroyNotify clear = box_clear;

  acquire (box);
  if (clear)
    clear (box);
}

void
g_atomic_rc_box_release_full (gpointer box, GDestroyNotify clear)
{
  GDestroyNotify outer = box_clear;

  release (box);
  box_clear = clear;
  REAL (GLIB, g_atomic_rc_box_release_full) (box, acquire_and_clear);
  box_clear = outer;
}
