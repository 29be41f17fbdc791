/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-faults.c: tests of kernels that access memory out of bounds, and of
 * signal handlers
 *
 * A fault of a kernel is an error of its context. Any other fault of the
 * process has the same effect as without softcuda.
 */

#include <fcntl.h>
#include <glib/gstdio.h>
#include <setjmp.h>
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
#define THREAD_SANITIZER 1
#else
#define THREAD_SANITIZER 0
#endif

/* Runs the kernel "stumble". *text becomes the output on stderr. */
static CUresult
run_and_listen (CUmodule module, int grid, int block, char **text)
{
  char path[] = "/tmp/test-softcuda-XXXXXX";
  int file = mkstemp (path);
  int before = dup (STDERR_FILENO);
  CUdeviceptr out = zeroed (4096);
  void *params[] = { &out };
  CUresult result;

  ck_assert (file >= 0 && before >= 0);
  fflush (stderr);
  dup2 (file, STDERR_FILENO);
  result = run (find (module, "stumble"), grid, block, 0, params);
  fflush (stderr);
  dup2 (before, STDERR_FILENO);
  close (before);
  close (file);
  ck_assert (g_file_get_contents (path, text, NULL, NULL));
  g_unlink (path);
  return result;
}

/* Runs the kernel in a context of its own, which is lost afterwards. Other
 * contexts are not. expected: a part of the message, NULL if there is none */
static void
check_fault (
    const char *source, int block, CUresult error, const char *expected)
{
  CUcontext own;
  CUdeviceptr pointer;
  char *text;

  ok (cu.cuCtxCreate (&own, 0, 0));
  fails (run_and_listen (build (source), 40, block, &text), error);
  if (expected != NULL) {
    ck_assert_msg (strstr (text, "kernel \"stumble\"") != NULL, "%s", text);
    ck_assert_msg (strstr (text, expected) != NULL, "%s", text);
    ck_assert_msg (
        g_strstr_len (text, -1, "softcuda: ") == g_strrstr (text, "softcuda: "),
        "%s", text);
  }
  fails (cu.cuCtxSynchronize (), error);
  fails (cu.cuMemAlloc (&pointer, 4), error);
  ok (cu.cuCtxDestroy (own));
  ok (cu.cuMemAlloc (&pointer, 4));
  ok (cu.cuMemFree (pointer));
  g_free (text);
}

START_TEST (test_wild_accesses)
{
  check_fault ("__global__ void stumble (int *out)\n"
               "{\n"
               "  if (blockIdx.x == 7 && threadIdx.x == 3)\n"
               "    *(volatile int *) 0x10 = 1;\n"
               "}\n",
      8, CUDA_ERROR_ILLEGAL_ADDRESS,
      "illegal memory access at 0x10, block (7, 0, 0), thread (3, 0, 0)");
  check_fault ("__global__ void stumble (int *out)\n"
               "{\n"
               "  *out = *(volatile int *) 0xdead000000000000ull;\n"
               "}\n",
      8, CUDA_ERROR_ILLEGAL_ADDRESS, "illegal memory access");
  check_fault ("__global__ void stumble (int *out)\n"
               "{\n"
               "  void (*volatile function) (void) = 0;\n"
               "  function ();\n"
               "}\n",
      1, CUDA_ERROR_ILLEGAL_ADDRESS, "illegal memory access at 0x0");
}
END_TEST;

START_TEST (test_traps_and_assertions)
{
  check_fault ("__global__ void stumble (int *out)\n"
               "{\n"
               "  if (blockIdx.x == 1 && threadIdx.x == 3)\n"
               "    __trap ();\n"
               "  atomicAdd (out, 1);\n"
               "}\n",
      8, CUDA_ERROR_LAUNCH_FAILED, NULL);
  check_fault ("#include <assert.h>\n"
               "__global__ void stumble (int *out)\n"
               "{\n"
               "  __syncthreads ();\n"
               "  assert (blockIdx.x != 1 || threadIdx.x != 3);\n"
               "  __syncthreads ();\n"
               "  atomicAdd (out, 1);\n"
               "}\n",
      8, CUDA_ERROR_ASSERT, NULL);
}
END_TEST;

/* Threads that wait for each other run on stacks of their own. */
START_TEST (test_wild_access_beside_a_barrier)
{
  check_fault ("__global__ void stumble (int *out)\n"
               "{\n"
               "  __syncthreads ();\n"
               "  if (blockIdx.x == 39 && threadIdx.x == 255)\n"
               "    *(volatile char *) 0x123 = 1;\n"
               "  __syncthreads ();\n"
               "}\n",
      256, CUDA_ERROR_ILLEGAL_ADDRESS,
      "access at 0x123, block (39, 0, 0), thread (255, 0, 0)");
}
END_TEST;

START_TEST (test_stack_overflow)
{
  check_fault ("__device__ __noinline__ int deep (volatile int *out, int n)\n"
               "{\n"
               "  volatile int room[1000];\n"
               "  room[n % 1000] = *out;\n"
               "  return deep (out, n + 1) + room[n % 1000];\n"
               "}\n"
               "__global__ void stumble (int *out)\n"
               "{\n"
               "  __syncthreads ();\n"
               "  *out = deep (out, threadIdx.x);\n"
               "}\n",
      32, CUDA_ERROR_ILLEGAL_ADDRESS, "illegal memory access");
}
END_TEST;

START_TEST (test_other_faults)
{
#ifdef __x86_64__ /* on other processors, a division by zero has a result */
  check_fault ("__global__ void stumble (volatile int *out)\n"
               "{\n"
               "  *out = 1000 / *out;\n"
               "}\n",
      1, CUDA_ERROR_LAUNCH_FAILED, "division by zero");
#endif
  check_fault ("__global__ void stumble (int *out) { __builtin_trap (); }\n", 1,
      CUDA_ERROR_ILLEGAL_INSTRUCTION, "illegal instruction");
}
END_TEST;

/* If a kernel faults while it prints, the process can still use stdout. */
START_TEST (test_fault_in_printf)
{
  check_fault ("__global__ void stumble (int *out)\n"
               "{\n"
               "  printf (\"%s\", (const char *) 8 + *out);\n"
               "}\n",
      8, CUDA_ERROR_ILLEGAL_ADDRESS, "illegal memory access at 0x");
  ck_assert_int_eq (ftrylockfile (stdout), 0);
  funlockfile (stdout);
}
END_TEST;

/* As on a GPU, the primary context is lost until the process ends. */
START_TEST (test_primary_context_is_lost)
{
  static const char source[] =
      "__global__ void stumble (int *out) { *(volatile int *) 8 = 1; }\n";
  CUcontext popped;
  CUdeviceptr out;
  char *text;

  fails (
      run_and_listen (build (source), 1, 1, &text), CUDA_ERROR_ILLEGAL_ADDRESS);
  g_free (text);
  fails (cu.cuMemAlloc (&out, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
  ok (cu.cuCtxPopCurrent (&popped));
  ok (cu.cuDevicePrimaryCtxRelease (0));
  fails (cu.cuDevicePrimaryCtxRetain (&primary, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
}
END_TEST;

/* ---- signals of the process ---- */

static const char waiting[] = "__global__ void waiting (volatile int *flags)\n"
                              "{\n"
                              "  flags[0] = 1;\n"
                              "  while (flags[1] == 0)\n"
                              "    __nanosleep (1000000);\n"
                              "}\n";

/* Starts a kernel that runs until flags[1] is set. */
static volatile int *
start_waiting (void)
{
  CUdeviceptr flags = zeroed (8);
  volatile int *at = (volatile int *) (uintptr_t) flags;
  void *params[] = { &flags };

  ok (cu.cuLaunchKernel (find (build (waiting), "waiting"), 1, 1, 1, 1, 1, 1, 0,
      NULL, params, NULL));
  while (at[0] == 0)
    g_usleep (1000);
  return at;
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

/* Faults outside of kernels are passed to the handlers that were installed
 * before, and these are restored afterwards. */
START_TEST (test_handlers_are_chained)
{
  struct sigaction action = { .sa_sigaction = open_page,
    .sa_flags = SA_SIGINFO };
  struct sigaction plain = { .sa_handler = count_signal };
  struct sigaction before;
  struct sigaction seen;
  volatile int *flags;

  protected_page =
      mmap (NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  n_handled = 0;
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
  munmap (protected_page, 1);
}
END_TEST;

static void
fault_while_kernel_runs (int how)
{
  struct rlimit none = { 0, 0 };
  volatile char *page =
      mmap (NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  setrlimit (RLIMIT_CORE, &none);
  for (int i = 0; how != 2 && i < NSIG; i++)
    if (i == SIGSEGV || i == SIGBUS)
      signal (i, SIG_DFL);
  if (how == 2)
    signal (SIGSEGV, SIG_IGN); /* an ignored signal does not prevent the end by
                                * a fault */
  setup ();
  start_waiting ();
  if (how == 1)
    kill (getpid (), SIGSEGV);
  else
    *page = 1;
  g_usleep (10 * G_USEC_PER_SEC);
  _exit (0);
}

/* _i is 0 for a fault, 1 for a signal that another process could send, and 2
 * for a fault while the signal is ignored. */
START_TEST (test_process_ends_by_its_own_fault)
{
  pid_t child = fork ();
  int status;

  ck_assert (child >= 0);
  if (child == 0)
    fault_while_kernel_runs (_i);
  ck_assert_int_eq (waitpid (child, &status, 0), child);
  ck_assert_msg (
      WIFSIGNALED (status) && WTERMSIG (status) == SIGSEGV, "%x", status);
}
END_TEST;

static Suite *
softcuda_faults_suite (void)
{
  Suite *s = suite_create ("softcuda-faults");
  TCase *tc = tcase_create ("faults");
  TCase *bare = tcase_create ("processes");
  TCase *lost = tcase_create ("lost");

  suite_add_tcase (s, tc);
  tcase_add_checked_fixture (tc, setup, teardown_context);
  tcase_add_test (tc, test_traps_and_assertions);
  tcase_add_test (tc, test_stack_overflow);
  suite_add_tcase (s, bare);
  suite_add_tcase (s, lost);
  tcase_add_checked_fixture (lost, setup, NULL);
  tcase_add_loop_test (bare, test_process_ends_by_its_own_fault, 0, 3);
  if (RUNNING_ON_VALGRIND || THREAD_SANITIZER)
    return s;
  tcase_add_test (tc, test_wild_accesses);
  tcase_add_test (tc, test_wild_access_beside_a_barrier);
  tcase_add_test (tc, test_other_faults);
  tcase_add_test (tc, test_fault_in_printf);
  tcase_add_test (lost, test_primary_context_is_lost);
  tcase_add_test (tc, test_handlers_are_chained);
  return s;
}

TEST_MAIN (softcuda_faults);
