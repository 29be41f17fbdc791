/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * infer/run.c: one run of a network
 *
 * The CPU provider gets mapped memory, and the CUDA provider device pointers.
 * An output whose size is not known before gets memory of ONNX Runtime.
 */

#include <string.h>

#include "infer/network.h"

/* The memory that ONNX Runtime reads or writes. */
typedef struct {
  GstMemory *memory; /* NULL: memory of ONNX Runtime */
  GstMapInfo map;    /* for the CPU provider */
  OrtValue *value;
} Binding;

typedef struct {
  GstInferNetwork *network;
  GstVkgdrStream *stream;
  Binding input;
  Binding *outputs;
} Run;

void
gst_infer_network_terminate (GstInferNetwork *self)
{
  gst_ort_check (self->ort,
      self->ort->api->RunOptionsSetTerminate (self->run_options),
      "RunOptionsSetTerminate", NULL);
}

/* --- memory -------------------------------------------------------------- */

/* Makes the memory accessible to the provider, and a value of it. */
static gboolean
begin (Run *run, Binding *binding, GstMapFlags flags, const gint64 *dims,
    guint n_dims, ONNXTensorElementDataType type, GError **error)
{
  const GstOrt *ort = run->network->ort;
  gpointer data;

  if (run->network->is_cuda) {
    if (!gst_vkgdr_memory_begin_access (
            binding->memory, run->stream, flags, error))
      return FALSE;
    data = (gpointer) (guintptr) gst_vkgdr_memory_get_device_pointer (
        binding->memory);
  } else {
    if (!gst_memory_map (binding->memory, &binding->map, flags)) {
      memset (&binding->map, 0, sizeof (binding->map));
      g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
          "The memory of a tensor cannot be mapped: an earlier transfer or "
          "kernel failed");
      return FALSE;
    }
    data = binding->map.data;
  }
  return gst_ort_check (ort,
      ort->api->CreateTensorWithDataAsOrtValue (run->network->memory_info, data,
          binding->memory->size, dims, n_dims, type, &binding->value),
      "CreateTensorWithDataAsOrtValue", error);
}

/* Marks the memory: what the provider wrote is its content now. */
static gboolean
end (Run *run, Binding *binding, GstMapFlags flags, GError **error)
{
  gboolean ok = TRUE;

  if (binding->value)
    run->network->ort->api->ReleaseValue (binding->value);
  binding->value = NULL;
  if (binding->memory && run->network->is_cuda)
    ok = gst_vkgdr_memory_end_access (
        binding->memory, run->stream, flags, error);
  else if (binding->map.memory)
    gst_memory_unmap (binding->memory, &binding->map);
  memset (&binding->map, 0, sizeof (binding->map));
  return ok;
}

static gsize
get_size (const GstInferOutput *output, const gint64 *dims, guint n_dims)
{
  GstTensorDataType type;
  gsize size = gst_infer_type_get (output->onnx_type, &type);
  guint i;

  for (i = 0; i < n_dims; i++)
    if (!g_size_checked_mul (&size, size, (gsize) MAX (dims[i], 0)))
      return G_MAXSIZE;
  return size;
}

/* The CPU provider writes to staging buffers, so the memory needs no window. */
static GstMemory *
allocate (Run *run, gsize size, GError **error)
{
  return gst_vkgdr_allocator_alloc_device_only (
      run->network->allocator, size, error);
}

/* --- binding ------------------------------------------------------------- */

static gboolean
bind_input (Run *run, const GstVkgdrTensorConfig *config, GError **error)
{
  GstInferNetwork *self = run->network;
  gint64 n = gst_vkgdr_tensor_config_get_n_channels (config);
  gint64 nchw[] = { 1, n, config->height, config->width };
  gint64 nhwc[] = { 1, config->height, config->width, n };
  const gint64 *dims =
      config->layout == GST_VKGDR_TENSOR_LAYOUT_NCHW ? nchw : nhwc;

  return begin (run, &run->input, GST_MAP_READ, dims + 4 - self->input_rank,
             self->input_rank, self->input_type, error)
         && gst_ort_check (self->ort,
             self->ort->api->BindInput (
                 self->binding, self->input, run->input.value),
             "BindInput", error);
}

static gboolean
bind_output (Run *run, guint i, GError **error)
{
  GstInferNetwork *self = run->network;
  const OrtApi *api = self->ort->api;
  GstInferOutput *output = gst_infer_network_get_output (self, i);
  gsize size = get_size (output, output->dims, output->n_dims);

  if (output->n_dims == 0 || size == 0)
    return gst_ort_check (self->ort,
        api->BindOutputToDevice (
            self->binding, output->name, self->memory_info),
        "BindOutputToDevice", error);
  run->outputs[i].memory = allocate (run, size, error);
  return run->outputs[i].memory
         && begin (run, &run->outputs[i], GST_MAP_WRITE, output->dims,
             output->n_dims, output->onnx_type, error)
         && gst_ort_check (self->ort,
             api->BindOutput (
                 self->binding, output->name, run->outputs[i].value),
             "BindOutput", error);
}

/* --- outputs in memory of ONNX Runtime ----------------------------------- */

typedef struct {
  const OrtApi *api;
  OrtValue *value;
} Kept;

static void
release_kept (gpointer data)
{
  Kept *kept = data;

  kept->api->ReleaseValue (kept->value);
  g_free (kept);
}

/* Memory of the CUDA provider is used where it lies, and lives as long as the
 * buffer. Memory of the CPU provider is copied, because it is no device memory.
 * Takes ownership of @value. */
static GstMemory *
take_value (Run *run, OrtValue *value, gsize size, GError **error)
{
  GstInferNetwork *self = run->network;
  GstMemory *memory = NULL;
  void *data = NULL;
  Kept *kept;

  if (!gst_ort_check (self->ort,
          self->ort->api->GetTensorMutableData (value, &data),
          "GetTensorMutableData", error)) {
    self->ort->api->ReleaseValue (value);
    return NULL;
  }
  if (!self->is_cuda) {
    memory = allocate (run, size, error);
    if (memory && !gst_vkgdr_memory_write (memory, 0, data, size, error))
      g_clear_pointer (&memory, gst_memory_unref);
    self->ort->api->ReleaseValue (value);
    return memory;
  }
  kept = g_new (Kept, 1);
  kept->api = self->ort->api;
  kept->value = value;
  memory = gst_vkgdr_allocator_alloc_wrapped (self->allocator,
      (guint64) (guintptr) data, size, 0, release_kept, kept, error);
  if (!memory) {
    release_kept (kept);
    return NULL;
  }
  /* The run may not have ended. */
  if (!gst_vkgdr_memory_begin_access (memory, run->stream, GST_MAP_WRITE, error)
      || !gst_vkgdr_memory_end_access (
          memory, run->stream, GST_MAP_WRITE, error))
    g_clear_pointer (&memory, gst_memory_unref);
  return memory;
}

/* Sets the dims and the memory of @result. Takes ownership of @value. */
static gboolean
take_result (
    Run *run, guint i, OrtValue *value, GstInferResult *result, GError **error)
{
  GstInferOutput *output = gst_infer_network_get_output (run->network, i);
  const GstOrt *ort = run->network->ort;
  OrtTensorTypeAndShapeInfo *info = NULL;
  gint64 dims[GST_INFER_MAX_DIMS] = { 0 };
  gsize size;
  size_t n = 0;
  guint k;
  gboolean ok;

  ok = gst_ort_check (ort, ort->api->GetTensorTypeAndShape (value, &info),
           "GetTensorTypeAndShape", error)
       && gst_ort_check (ort, ort->api->GetDimensionsCount (info, &n),
           "GetDimensionsCount", error);
  if (ok && n > GST_INFER_MAX_DIMS) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "The output \"%s\" of the network has %" G_GSIZE_FORMAT
        " dims, more than %d",
        output->name, n, GST_INFER_MAX_DIMS);
    ok = FALSE;
  }
  ok = ok
       && gst_ort_check (ort, ort->api->GetDimensions (info, dims, n),
           "GetDimensions", error);
  if (info)
    ort->api->ReleaseTensorTypeAndShapeInfo (info);
  /* A single number is a tensor of one dim for GStreamer. */
  if (ok && n == 0)
    dims[n++] = 1;
  for (k = 0; ok && k < n; k++)
    result->dims[k] = (gsize) dims[k];
  result->n_dims = (guint) n;
  size = ok ? get_size (output, dims, result->n_dims) : 0;
  if (size == 0) {
    ort->api->ReleaseValue (value);
    return ok;
  }
  result->memory = take_value (run, value, size, error);
  return result->memory != NULL;
}

static gboolean
take_open_results (Run *run, GstInferResult *results, GError **error)
{
  GstInferNetwork *self = run->network;
  OrtValue **values = NULL;
  gboolean ok = TRUE;
  size_t i, n = 0;

  if (!gst_ort_check (self->ort,
          self->ort->api->GetBoundOutputValues (
              self->binding, self->ort->allocator, &values, &n),
          "GetBoundOutputValues", error))
    return FALSE;
  for (i = 0; i < n; i++)
    if (ok && !run->outputs[i].memory)
      ok = take_result (run, (guint) i, values[i], &results[i], error);
    else
      self->ort->api->ReleaseValue (values[i]);
  gst_ort_check (self->ort,
      self->ort->api->AllocatorFree (self->ort->allocator, values),
      "AllocatorFree", NULL);
  return ok;
}

/* --- running ------------------------------------------------------------- */

/* On the element's stream, the run is in order: nothing waits before it. On a
 * stream of the provider, which does not wait for other streams, the work on
 * the element's stream is waited for first. In both cases the run waits for its
 * own work: with "disable_synchronize_execution_providers" on a stream of the
 * caller, the CUDA provider of ONNX Runtime 1.29 frees pinned memory in a
 * callback of the driver, which may call no function of CUDA, and the process
 * ends. */
static gboolean
run_in_order (Run *run, GError **error)
{
  GstInferNetwork *self = run->network;

  return (!self->is_cuda || self->has_stream
             || gst_vkgdr_stream_synchronize (run->stream, error))
         && gst_ort_check (self->ort,
             self->ort->api->RunWithBinding (
                 self->session, self->run_options, self->binding),
             "Run", error);
}

/* Frees the results that there are, if the run failed. */
static gboolean
finish (Run *run, gboolean ok, GstInferResult *results, GError **error)
{
  GstInferNetwork *self = run->network;
  guint i, k, n = self->outputs->len;

  ok = end (run, &run->input, GST_MAP_READ, ok ? error : NULL) && ok;
  for (i = 0; i < n; i++) {
    GstInferOutput *output = gst_infer_network_get_output (self, i);

    ok = end (run, &run->outputs[i], GST_MAP_WRITE, ok ? error : NULL) && ok;
    if (!run->outputs[i].memory)
      continue;
    results[i].memory = run->outputs[i].memory;
    results[i].n_dims = output->n_dims;
    for (k = 0; k < output->n_dims; k++)
      results[i].dims[k] = (gsize) output->dims[k];
  }
  for (i = 0; !ok && i < n; i++)
    g_clear_pointer (&results[i].memory, gst_memory_unref);
  self->ort->api->ClearBoundInputs (self->binding);
  self->ort->api->ClearBoundOutputs (self->binding);
  return ok;
}

gboolean
gst_infer_network_run (GstInferNetwork *self, GstVkgdrStream *stream,
    GstMemory *input, const GstVkgdrTensorConfig *config,
    GstInferResult *results, GError **error)
{
  Run run = { self, stream, { input } };
  guint i, n = self->outputs->len;
  gboolean ok, has_open = FALSE;

  memset (results, 0, n * sizeof (*results));
  run.outputs = g_new0 (Binding, n);
  ok = bind_input (&run, config, error);
  for (i = 0; ok && i < n; i++) {
    ok = bind_output (&run, i, error);
    has_open = has_open || !run.outputs[i].memory;
  }
  ok = ok && run_in_order (&run, error)
       && (!has_open || take_open_results (&run, results, error));
  ok = finish (&run, ok, results, error);
  g_free (run.outputs);
  return ok;
}
