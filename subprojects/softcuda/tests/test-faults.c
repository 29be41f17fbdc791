/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-faults.c: tests of kernels that access memory out of bounds, and of
 * signal handlers
 *
 * A fault of a kernel is an error of its context. Any other fault of the
 * process has the same effect as without softcuda.
 */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler.h"

/* The thread sanitizer blocks all signals in a handler, and the device's
 * handler does not return. So the second fault of a thread would end the
 * process. */
#ifdef __SANITIZE_THREAD__
#define HANDLES_FAULTS 0
#else
#define HANDLES_FAULTS !RUNNING_ON_VALGRIND
#endif

FIXTURE (setup_context, teardown_context);

/* Runs the kernel "stumble". *text becomes the output on stderr. */
static CUresult
run_and_listen (CUmodule module, int grid, int block, char **text)
{
  int file = memfd_create ("stderr", 0), before = dup (STDERR_FILENO);
  void *out = zeroed (4096);
  CUresult result;

  dup2 (file, STDERR_FILENO);
  result = run (find (module, "stumble"), grid, block, 0, &out);
  dup2 (before, STDERR_FILENO);
  *text = g_malloc0 (4096);
  ck_assert (pread (file, *text, 4095, 0) >= 0);
  close (file);
  close (before);
  return result;
}

/* A function and the body of a kernel that fails, the number of threads of its
 * blocks, and a part of the message, NULL if there is none. */
typedef struct {
  const char *function, *body;
  int block;
  CUresult error;
  const char *message;
} Fault;

/* Runs the kernel in a context of its own, which is lost afterwards. Other
 * contexts are not. */
static void
check_fault (const Fault *fault)
{
  g_autofree char *source =
      g_strdup_printf ("%s\n__global__ void stumble (int *out)\n"
                       "{ int b = blockIdx.x, t = threadIdx.x; %s }",
          fault->function, fault->body);
  CUcontext own;
  CUdeviceptr pointer;
  g_autofree char *text = NULL;

  ok (cu.cuCtxCreate (&own, 0, 0));
  fails (
      run_and_listen (build (source), 40, fault->block, &text), fault->error);
  if (fault->message != NULL) {
    ck_assert_msg (strstr (text, "kernel \"stumble\"") != NULL, "%s", text);
    ck_assert_msg (strstr (text, fault->message) != NULL, "%s", text);
    ck_assert_msg (
        strstr (text, "softcuda: ") == g_strrstr (text, "softcuda: "), "%s",
        text);
  }
  fails (cu.cuCtxSynchronize (), fault->error);
  fails (cu.cuMemAlloc (&pointer, 4), fault->error);
  ok (cu.cuCtxDestroy (own));
  ok (cu.cuMemAlloc (&pointer, 4));
}

/* These are tested with all tools, too. */
static const Fault gentle_faults[] = {
  { "", "if (b == 1 && t == 3) __trap (); atomicAdd (out, 1);", 8,
      CUDA_ERROR_LAUNCH_FAILED, NULL },
  { "", "__syncthreads (); assert (b != 1 || t != 3); __syncthreads ();", 8,
      CUDA_ERROR_ASSERT, NULL },
  { "__device__ __noinline__ int deep (volatile int *out, int n)\n"
    "{\n"
    "  volatile int room[1000];\n"
    "  room[n % 1000] = *out;\n"
    "  return deep (out, n + 1) + room[n % 1000];\n"
    "}\n",
      "__syncthreads (); *out = deep (out, t);", 32, CUDA_ERROR_ILLEGAL_ADDRESS,
      "illegal memory access" },
};

TEST_LOOP (gentle_faults, G_N_ELEMENTS (gentle_faults))
{
  check_fault (&gentle_faults[_i]);
}

/* Threads that wait for each other run on stacks of their own. */
static const Fault faults[] = {
  { "", "if (b == 7 && t == 3) *(volatile int *) 0x10 = 1;", 8,
      CUDA_ERROR_ILLEGAL_ADDRESS,
      "illegal memory access at 0x10, block (7, 0, 0), thread (3, 0, 0)" },
  { "", "*out = *(volatile int *) 0xdead000000000000ull;", 8,
      CUDA_ERROR_ILLEGAL_ADDRESS, "illegal memory access" },
  { "", "void (*volatile function) (void) = 0; function ();", 1,
      CUDA_ERROR_ILLEGAL_ADDRESS, "illegal memory access at 0x0" },
  { "",
      "__syncthreads ();\n"
      "if (b == 39 && t == 255) *(volatile char *) 0x123 = 1;\n"
      "__syncthreads ();",
      256, CUDA_ERROR_ILLEGAL_ADDRESS,
      "access at 0x123, block (39, 0, 0), thread (255, 0, 0)" },
  { "", "printf (\"%s\", (const char *) 8 + *out);", 8,
      CUDA_ERROR_ILLEGAL_ADDRESS, "illegal memory access at 0x" },
  { "", "__builtin_trap ();", 1, CUDA_ERROR_ILLEGAL_INSTRUCTION,
      "illegal instruction" },
#ifdef __x86_64__ /* on other processors, a division by zero has a result */
  { "", "*(volatile int *) out = 1000 / *(volatile int *) out;", 1,
      CUDA_ERROR_LAUNCH_FAILED, "division by zero" },
#endif
};

/* If a kernel faults while it prints, the process can still use stdout. */
TEST_LOOP (faults, HANDLES_FAULTS ? G_N_ELEMENTS (faults) : 0)
{
  check_fault (&faults[_i]);
  ck_assert_int_eq (ftrylockfile (stdout), 0);
  funlockfile (stdout);
}

/* ---- signals of the process ---- */

/* Starts a kernel that runs until flags[1] is set. */
static volatile int *
start_waiting (void)
{
  CUmodule module = build ("__global__ void waiting (volatile int *flags)\n"
                           "{\n"
                           "  flags[0] = 1;\n"
                           "  while (flags[1] == 0)\n"
                           "    __nanosleep (1000000);\n"
                           "}\n");
  volatile int *flags = zeroed (2 * sizeof *flags);
  void *params[] = { &flags };

  ok (cu.cuLaunchKernel (
      find (module, "waiting"), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
  while (flags[0] == 0)
    g_usleep (1000);
  return flags;
}

static char *protected_page;
static volatile int n_handled;

static void
open_page (int number, siginfo_t *info, void *context)
{
  n_handled += info->si_addr == protected_page;
  mprotect (protected_page, 1, PROT_READ | PROT_WRITE);
}

static void
count_signal (int number)
{
  n_handled++;
}

static void
protect_page (void)
{
  protected_page =
      mmap (NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Faults outside of kernels are passed to the handlers that were installed
 * before, and these are restored afterwards. */
TEST_IF (handlers_are_chained, HANDLES_FAULTS)
{
  struct sigaction action = { .sa_sigaction = open_page,
    .sa_flags = SA_SIGINFO };
  struct sigaction plain = { .sa_handler = count_signal };
  struct sigaction before, seen;
  volatile int *flags;

  protect_page ();
  sigaction (SIGBUS, NULL, &before);
  sigaction (SIGSEGV, &action, NULL);
  sigaction (SIGFPE, &plain, NULL);
  flags = start_waiting ();
  *(volatile char *) protected_page = 1;
  ck_assert_int_eq (n_handled, 1);
  raise (SIGFPE);
  ck_assert_int_eq (n_handled, 2);
  flags[1] = 1;
  ok (cu.cuCtxSynchronize ());
  sigaction (SIGSEGV, NULL, &seen);
  ck_assert (seen.sa_sigaction == open_page);
  sigaction (SIGBUS, NULL, &seen);
  ck_assert (seen.sa_handler == before.sa_handler);
}

FIXTURE (setup_context, NULL);

/* As on a GPU, the primary context is lost until the process ends. */
TEST_IF (primary_context_is_lost, HANDLES_FAULTS)
{
  CUmodule module =
      build ("__global__ void stumble (int *out) { *(int *) 8 = 1; }\n");
  CUcontext popped;
  CUdeviceptr out;
  g_autofree char *text = NULL;

  fails (run_and_listen (module, 1, 1, &text), CUDA_ERROR_ILLEGAL_ADDRESS);
  fails (cu.cuMemAlloc (&out, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
  ok (cu.cuCtxPopCurrent (&popped));
  ok (cu.cuDevicePrimaryCtxRelease (0));
  fails (cu.cuDevicePrimaryCtxRetain (&primary, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
}

FIXTURE (NULL, NULL);

/* _i is 0 for a fault, 1 for a signal that another process could send, and 2
 * for a fault while the signal is ignored, which does not prevent the end. */
TEST_SIGNAL (process_ends_by_its_own_fault, SIGSEGV, 3)
{
  struct rlimit none = { 0, 0 };

  protect_page ();
  setrlimit (RLIMIT_CORE, &none);
  signal (SIGBUS, SIG_DFL);
  signal (SIGSEGV, _i == 2 ? SIG_IGN : SIG_DFL);
  setup_context ();
  start_waiting ();
  if (_i == 1)
    kill (getpid (), SIGSEGV);
  else
    *(volatile char *) protected_page = 1;
  g_usleep (10 * G_USEC_PER_SEC);
}
