/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * curand.c: the functions of libcurand that PyCUDA is linked with
 *
 * The tests use no random numbers, but PyCUDA requests the version when it is
 * imported.
 */

#define API __attribute__ ((visibility ("default")))

enum { STATUS_SUCCESS = 0, STATUS_INTERNAL_ERROR = 999 };

API int curandGetVersion (int *version);
API int curandGetDirectionVectors32 (void);
API int curandGetDirectionVectors64 (void);
API int curandGetScrambleConstants32 (void);
API int curandGetScrambleConstants64 (void);

int
curandGetVersion (int *version)
{
  *version = 10000;
  return STATUS_SUCCESS;
}

int
curandGetDirectionVectors32 (void)
{
  return STATUS_INTERNAL_ERROR;
}

int
curandGetDirectionVectors64 (void)
{
  return STATUS_INTERNAL_ERROR;
}

int
curandGetScrambleConstants32 (void)
{
  return STATUS_INTERNAL_ERROR;
}

int
curandGetScrambleConstants64 (void)
{
  return STATUS_INTERNAL_ERROR;
}
