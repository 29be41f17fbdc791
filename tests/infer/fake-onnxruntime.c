/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fake-onnxruntime.c: a libonnxruntime for what the software device cannot show
 *
 * It has a CUDA provider, whose "network" copies with the driver: x of 1x3x8x8
 * float32 becomes y of 1x5x1 (the mean of x, then 1, 2, 3, 4), and z, an output
 * of open size, of 2x4 (all of them the mean of x).
 *
 * Environment: FAKE_VERSION; FAKE_FAIL, the number of the call that fails;
 * FAKE_PCI, the address of the provider's device; FAKE_NAME, its name;
 * FAKE_REFUSES, if it refuses options; FAKE_ENDLESS, if a run ends only when it
 * is told to terminate: meanwhile fake_running () is 1. Without the option
 * user_compute_stream, it waits for no stream. fake_calls () is the number of
 * calls that could fail, and fake_live () that of objects that were not
 * released.
 */

#include <dlfcn.h>
#include <onnxruntime_c_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__ ((visibility ("default")))

int fake_calls (void);
int fake_live (void);
int fake_running (void);

struct OrtStatus {
  char text[128];
};
struct OrtEnv {
  int n;
};
struct OrtThreadingOptions {
  int n;
};
struct OrtSessionOptions {
  int n;
};
struct OrtSession {
  int n;
};
struct OrtRunOptions {
  _Atomic int terminate;
};
struct OrtMemoryInfo {
  int is_cuda;
};
struct OrtEpDevice {
  int n;
};
struct OrtHardwareDevice {
  int n;
};
struct OrtKeyValuePairs {
  int n;
};
struct OrtTypeInfo {
  const int64_t *dims;
  size_t n;
};
struct OrtTensorTypeAndShapeInfo {
  int n;
};
struct OrtValue {
  void *data;
  size_t n;
  int64_t dims[4];
  int is_cuda, is_owned;
};
struct OrtIoBinding {
  const OrtValue *x, *y;
  int z_is_cuda;
  OrtValue *z;
};

static const int64_t x_dims[] = { 1, 3, 8, 8 }, y_dims[] = { 1, 5, 1 },
                     z_dims[] = { -1, 4 };
static struct OrtEpDevice ep_device;
static struct OrtHardwareDevice hardware;
static struct OrtKeyValuePairs metadata;
static OrtAllocator allocator;
static int calls, live;
static _Atomic int running;

EXPORT int
fake_calls (void)
{
  return calls;
}
EXPORT int
fake_live (void)
{
  return live;
}
EXPORT int
fake_running (void)
{
  return running;
}

static OrtStatus *
check (const char *name)
{
  const char *fail = getenv ("FAKE_FAIL");
  OrtStatus *status;

  if (++calls != (fail ? atoi (fail) : -1))
    return NULL;
  status = calloc (1, sizeof *status);
  snprintf (status->text, sizeof status->text, "%s is told to fail", name);
  return status;
}

static OrtStatus *
fail (const char *text)
{
  OrtStatus *status = calloc (1, sizeof *status);

  strcpy (status->text, text);
  return status;
}

static void *
make (size_t size)
{
  live++;
  return calloc (1, size);
}

static void
drop (void *object)
{
  if (object)
    live--;
  free (object);
}

/* A function that can fail, and otherwise does BODY. */
#define CALL(name, args, ...) \
  static OrtStatus *ORT_API_CALL name args \
  { \
    OrtStatus *status = check (#name); \
    if (status) \
      return status; \
    __VA_ARGS__ \
    return NULL; \
  }
#define NEW(name, type, args) \
  CALL (name, args, { *out = make (sizeof (type)); })
#define RELEASE(type) \
  static void ORT_API_CALL Release##type (Ort##type *object) \
  { \
    drop (object); \
  }

/* --- memory of both kinds ------------------------------------------------ */

/* Makes the primary context current, as the CUDA runtime does. */
static void *
driver (const char *name)
{
  void *library = dlopen ("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  int (*retain) (void **, int) = dlsym (library, "cuDevicePrimaryCtxRetain");
  int (*set_current) (void *) = dlsym (library, "cuCtxSetCurrent");
  static void *context;

  if (!context)
    retain (&context, 0);
  set_current (context);
  return dlsym (library, name);
}

/* The stream of the option user_compute_stream, or NULL. */
static void *stream;

static int
copy (void *to, const void *from, size_t size, int to_device, int from_device)
{
  int (*transfer) (void *, const void *, size_t);
  int (*queue) (void *, const void *, size_t, void *);
  int (*synchronize) (void *);

  if (!to_device && !from_device) {
    memcpy (to, from, size);
    return 0;
  }
  if (!stream) {
    transfer = driver (to_device ? "cuMemcpyHtoD_v2" : "cuMemcpyDtoH_v2");
    return transfer (to, from, size);
  }
  queue = driver (to_device ? "cuMemcpyHtoDAsync_v2" : "cuMemcpyDtoHAsync_v2");
  synchronize = driver ("cuStreamSynchronize");
  return queue (to, from, size, stream) || synchronize (stream);
}

static void *
allocate (size_t size, int is_cuda)
{
  int (*alloc) (void **, size_t);
  void *data = NULL;

  if (!is_cuda)
    return malloc (size);
  alloc = driver ("cuMemAlloc_v2");
  alloc (&data, size);
  return data;
}

static void ORT_API_CALL
ReleaseValue (OrtValue *value)
{
  int (*free_device) (void *);

  if (value->is_owned && value->is_cuda) {
    free_device = driver ("cuMemFree_v2");
    free_device (value->data);
  } else if (value->is_owned)
    free (value->data);
  drop (value);
}

/* --- the API ------------------------------------------------------------- */

static const char *ORT_API_CALL
GetErrorMessage (const OrtStatus *status)
{
  return status->text;
}
static OrtErrorCode ORT_API_CALL
GetErrorCode (const OrtStatus *status)
{
  return ORT_FAIL;
}
static void ORT_API_CALL
ReleaseStatus (OrtStatus *status)
{
  free (status);
}

NEW (CreateThreadingOptions, OrtThreadingOptions, (OrtThreadingOptions * *out))
CALL (SetGlobalIntraOpNumThreads, (OrtThreadingOptions * o, int n), {})
CALL (SetGlobalInterOpNumThreads, (OrtThreadingOptions * o, int n), {})
CALL (SetGlobalSpinControl, (OrtThreadingOptions * o, int n), {})
NEW (CreateEnvWithCustomLoggerAndGlobalThreadPools, OrtEnv,
    (OrtLoggingFunction f, void *data, OrtLoggingLevel level, const char *id,
        const OrtThreadingOptions *options, OrtEnv **out))
CALL (GetAllocatorWithDefaultOptions, (OrtAllocator * *out),
    { *out = &allocator; })
CALL (AllocatorFree, (OrtAllocator * a, void *data), { drop (data); })
CALL (RegisterExecutionProviderLibrary,
    (OrtEnv * env, const char *name, const char *path), {})
CALL (GetEpDevices,
    (const OrtEnv *env, const OrtEpDevice *const **out, size_t *n), {
      static const OrtEpDevice *const list[] = { &ep_device };
      *out = list;
      *n = getenv ("FAKE_PCI") ? 1 : 0;
    })
static const char *ORT_API_CALL
EpDevice_EpName (const OrtEpDevice *device)
{
  const char *name = getenv ("FAKE_NAME");

  return name ? name : "CUDAExecutionProvider";
}
static const OrtHardwareDevice *ORT_API_CALL
EpDevice_Device (const OrtEpDevice *device)
{
  return &hardware;
}
static const OrtKeyValuePairs *ORT_API_CALL
HardwareDevice_Metadata (const OrtHardwareDevice *device)
{
  return &metadata;
}
static const char *ORT_API_CALL
GetKeyValue (const OrtKeyValuePairs *pairs, const char *key)
{
  return strcmp (key, "pci_bus_id") ? NULL : getenv ("FAKE_PCI");
}

NEW (CreateSessionOptions, OrtSessionOptions, (OrtSessionOptions * *out))
CALL (DisablePerSessionThreads, (OrtSessionOptions * o), {})
CALL (SessionOptionsAppendExecutionProvider_V2,
    (OrtSessionOptions * o, OrtEnv *env, const OrtEpDevice *const *devices,
        size_t n, const char *const *keys, const char *const *values,
        size_t n_options),
    {
      if (n_options > 0 && getenv ("FAKE_REFUSES"))
        return fail ("no such option");
      stream = NULL;
      for (size_t i = 0; i < n_options; i++)
        if (strcmp (keys[i], "user_compute_stream") == 0)
          stream = (void *) strtoull (values[i], NULL, 10);
    })
NEW (CreateSession, OrtSession,
    (const OrtEnv *env, const char *path, const OrtSessionOptions *options,
        OrtSession **out))
CALL (SessionGetInputCount, (const OrtSession *s, size_t *n), { *n = 1; })
CALL (SessionGetOutputCount, (const OrtSession *s, size_t *n), { *n = 2; })

static char *
new_name (const char *name)
{
  live++;
  return strdup (name);
}

CALL (SessionGetInputName,
    (const OrtSession *s, size_t i, OrtAllocator *a, char **out),
    { *out = new_name ("x"); })
CALL (SessionGetOutputName,
    (const OrtSession *s, size_t i, OrtAllocator *a, char **out),
    { *out = new_name (i ? "z" : "y"); })

static OrtTypeInfo *
new_info (const int64_t *dims, size_t n)
{
  OrtTypeInfo *info = make (sizeof *info);

  info->dims = dims;
  info->n = n;
  return info;
}

CALL (SessionGetInputTypeInfo,
    (const OrtSession *s, size_t i, OrtTypeInfo **out),
    { *out = new_info (x_dims, 4); })
CALL (SessionGetOutputTypeInfo,
    (const OrtSession *s, size_t i, OrtTypeInfo **out),
    { *out = i ? new_info (z_dims, 2) : new_info (y_dims, 3); })
CALL (CastTypeInfoToTensorInfo,
    (const OrtTypeInfo *info, const OrtTensorTypeAndShapeInfo **out),
    { *out = (const OrtTensorTypeAndShapeInfo *) info; })
CALL (GetTensorElementType,
    (const OrtTensorTypeAndShapeInfo *info, ONNXTensorElementDataType *out),
    { *out = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; })
CALL (GetDimensionsCount, (const OrtTensorTypeAndShapeInfo *info, size_t *n),
    { *n = ((const OrtTypeInfo *) info)->n; })
CALL (GetDimensions,
    (const OrtTensorTypeAndShapeInfo *info, int64_t *dims, size_t n),
    { memcpy (dims, ((const OrtTypeInfo *) info)->dims, n * sizeof *dims); })
CALL (GetSymbolicDimensions,
    (const OrtTensorTypeAndShapeInfo *info, const char *names[], size_t n), {
      for (size_t i = 0; i < n; i++)
        names[i] = "";
    })

CALL (CreateMemoryInfo,
    (const char *name, enum OrtAllocatorType type, int id,
        enum OrtMemType memory, OrtMemoryInfo **out),
    {
      *out = make (sizeof **out);
      (*out)->is_cuda = strcmp (name, "Cuda") == 0;
    })
NEW (CreateCpuMemoryInfo, OrtMemoryInfo,
    (enum OrtAllocatorType type, enum OrtMemType memory, OrtMemoryInfo **out))
NEW (CreateRunOptions, OrtRunOptions, (OrtRunOptions * *out))
CALL (RunOptionsSetTerminate, (OrtRunOptions * o), { o->terminate = 1; })
NEW (CreateIoBinding, OrtIoBinding, (OrtSession * s, OrtIoBinding **out))

static OrtValue *
new_value (void *data, const int64_t *dims, size_t n, int is_cuda, int is_owned)
{
  OrtValue *value = make (sizeof *value);

  value->data = data;
  value->n = n;
  memcpy (value->dims, dims, n * sizeof *dims);
  value->is_cuda = is_cuda;
  value->is_owned = is_owned;
  return value;
}

CALL (CreateTensorWithDataAsOrtValue,
    (const OrtMemoryInfo *info, void *data, size_t size, const int64_t *dims,
        size_t n, ONNXTensorElementDataType type, OrtValue **out),
    { *out = new_value (data, dims, n, info->is_cuda, 0); })
CALL (BindInput, (OrtIoBinding * b, const char *name, const OrtValue *value),
    { b->x = value; })
CALL (BindOutput, (OrtIoBinding * b, const char *name, const OrtValue *value),
    { b->y = value; })
CALL (BindOutputToDevice,
    (OrtIoBinding * b, const char *name, const OrtMemoryInfo *info),
    { b->z_is_cuda = info->is_cuda; })
static OrtStatus *
wait_for_termination (const OrtRunOptions *options)
{
  const struct timespec interval = { 0, 1000000 };

  for (running = 1; !options->terminate;)
    nanosleep (&interval, NULL);
  running = 0;
  return fail ("terminated");
}

CALL (RunWithBinding,
    (OrtSession * s, const OrtRunOptions *o, const OrtIoBinding *c), {
      static const int64_t dims[] = { 2, 4 };
      OrtIoBinding *b = (OrtIoBinding *) c;
      float x[192];
      float y[5] = { 0, 1, 2, 3, 4 };
      float z[8];

      if (getenv ("FAKE_ENDLESS"))
        return wait_for_termination (o);
      if (copy (x, b->x->data, sizeof x, 0, b->x->is_cuda))
        abort ();
      for (int i = 0; i < 192; i++)
        y[0] += x[i] / 192;
      for (int i = 0; i < 8; i++)
        z[i] = y[0];
      b->z = new_value (
          allocate (sizeof z, b->z_is_cuda), dims, 2, b->z_is_cuda, 1);
      if (copy (b->y->data, y, sizeof y, b->y->is_cuda, 0)
          || copy (b->z->data, z, sizeof z, b->z_is_cuda, 0))
        abort ();
    })
CALL (GetBoundOutputValues,
    (const OrtIoBinding *b, OrtAllocator *a, OrtValue ***out, size_t *n), {
      *n = 2;
      *out = make (2 * sizeof **out);
      (*out)[0] = new_value (b->y->data, y_dims, 3, b->y->is_cuda, 0);
      (*out)[1] = b->z;
      ((OrtIoBinding *) b)->z = NULL;
    })
CALL (GetTensorMutableData, (OrtValue * value, void **out),
    { *out = value->data; })
CALL (GetTensorTypeAndShape,
    (const OrtValue *value, OrtTensorTypeAndShapeInfo **out),
    { *out = (OrtTensorTypeAndShapeInfo *) new_info (value->dims, value->n); })
static void ORT_API_CALL
ReleaseTensorTypeAndShapeInfo (OrtTensorTypeAndShapeInfo *info)
{
  drop (info);
}
static void ORT_API_CALL
ClearBoundInputs (OrtIoBinding *b)
{
  b->x = NULL;
}
static void ORT_API_CALL
ClearBoundOutputs (OrtIoBinding *b)
{
  if (b->z)
    ReleaseValue (b->z);
  b->z = NULL;
}

RELEASE (ThreadingOptions)
RELEASE (Env)
RELEASE (SessionOptions)
RELEASE (Session)
RELEASE (RunOptions)
RELEASE (MemoryInfo)
RELEASE (TypeInfo)
RELEASE (IoBinding)

static const OrtApi api = {
#define F(name) .name = name
  F (GetErrorMessage),
  F (GetErrorCode),
  F (ReleaseStatus),
  F (CreateThreadingOptions),
  F (SetGlobalIntraOpNumThreads),
  F (SetGlobalInterOpNumThreads),
  F (SetGlobalSpinControl),
  F (CreateEnvWithCustomLoggerAndGlobalThreadPools),
  F (GetAllocatorWithDefaultOptions),
  F (AllocatorFree),
  F (RegisterExecutionProviderLibrary),
  F (GetEpDevices),
  F (EpDevice_EpName),
  F (EpDevice_Device),
  F (HardwareDevice_Metadata),
  F (GetKeyValue),
  F (CreateSessionOptions),
  F (DisablePerSessionThreads),
  F (SessionOptionsAppendExecutionProvider_V2),
  F (CreateSession),
  F (SessionGetInputCount),
  F (SessionGetOutputCount),
  F (SessionGetInputName),
  F (SessionGetOutputName),
  F (SessionGetInputTypeInfo),
  F (SessionGetOutputTypeInfo),
  F (CastTypeInfoToTensorInfo),
  F (GetTensorElementType),
  F (GetDimensionsCount),
  F (GetDimensions),
  F (GetSymbolicDimensions),
  F (CreateMemoryInfo),
  F (CreateCpuMemoryInfo),
  F (CreateRunOptions),
  F (RunOptionsSetTerminate),
  F (CreateIoBinding),
  F (CreateTensorWithDataAsOrtValue),
  F (BindInput),
  F (BindOutput),
  F (BindOutputToDevice),
  F (RunWithBinding),
  F (GetBoundOutputValues),
  F (GetTensorMutableData),
  F (GetTensorTypeAndShape),
  F (ReleaseTensorTypeAndShapeInfo),
  F (ClearBoundInputs),
  F (ClearBoundOutputs),
  F (ReleaseThreadingOptions),
  F (ReleaseEnv),
  F (ReleaseSessionOptions),
  F (ReleaseSession),
  F (ReleaseRunOptions),
  F (ReleaseMemoryInfo),
  F (ReleaseTypeInfo),
  F (ReleaseIoBinding),
  F (ReleaseValue),
};

/* No call of the API is permitted with an old version. */
static const OrtApi *ORT_API_CALL
GetApi (uint32_t version)
{
  return getenv ("FAKE_VERSION") ? NULL : &api;
}

static const char *ORT_API_CALL
GetVersionString (void)
{
  const char *version = getenv ("FAKE_VERSION");

  return version ? version : "1.99.0";
}

EXPORT const OrtApiBase *ORT_API_CALL
OrtGetApiBase (void)
{
  static const OrtApiBase base = { GetApi, GetVersionString };

  return &base;
}
