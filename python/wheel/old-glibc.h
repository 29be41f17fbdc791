/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Is included before each source of a wheel. From 2.34 on, glibc has functions of libdl and
 * libpthread in libc, under new versions of their symbols, from 2.33 on fstat() and its like,
 * and from 2.38 on functions that read numbers of C23. The old symbols are there, too. With
 * these, a wheel that was linked with a new glibc runs with the old one of RHEL 8 or Ubuntu
 * 20.04.
 */
#pragma once

#if defined __x86_64__
#define OLD_GLIBC "GLIBC_2.2.5"
#define OLD_GLIBC_CLOCK "GLIBC_2.3.3"
#define OLD_GLIBC_NAMES "GLIBC_2.12"
#define OLD_GLIBC_SCANF "GLIBC_2.7"
#define OLD_STAT_VERSION 1
#elif defined __aarch64__
#define OLD_GLIBC "GLIBC_2.17"
#define OLD_GLIBC_CLOCK OLD_GLIBC
#define OLD_GLIBC_NAMES OLD_GLIBC
#define OLD_GLIBC_SCANF OLD_GLIBC
#define OLD_STAT_VERSION 0
#endif

#ifdef OLD_GLIBC
#include <fcntl.h>
#include <sys/stat.h>

#define OLD_SYMBOL(name, version) __asm__ (".symver " #name ", " #name "@" version)

OLD_SYMBOL (dladdr, OLD_GLIBC);
OLD_SYMBOL (dlclose, OLD_GLIBC);
OLD_SYMBOL (dlerror, OLD_GLIBC);
OLD_SYMBOL (dlopen, OLD_GLIBC);
OLD_SYMBOL (dlsym, OLD_GLIBC);
OLD_SYMBOL (pthread_condattr_setclock, OLD_GLIBC_CLOCK);
OLD_SYMBOL (pthread_create, OLD_GLIBC);
OLD_SYMBOL (pthread_join, OLD_GLIBC);
OLD_SYMBOL (pthread_once, OLD_GLIBC);
OLD_SYMBOL (pthread_setname_np, OLD_GLIBC_NAMES);
OLD_SYMBOL (pthread_sigmask, OLD_GLIBC);

/* What new headers make of fscanf() and strtoull(). */
__asm__ (".symver __isoc23_fscanf, __isoc99_fscanf@" OLD_GLIBC_SCANF);
__asm__ (".symver __isoc23_strtoull, strtoull@" OLD_GLIBC);

int __xstat (int version, const char *path, struct stat *status);
int __lxstat (int version, const char *path, struct stat *status);
int __fxstat (int version, int fd, struct stat *status);
int __fxstatat (int version, int dir, const char *path, struct stat *status, int flags);

OLD_SYMBOL (__xstat, OLD_GLIBC);
OLD_SYMBOL (__lxstat, OLD_GLIBC);
OLD_SYMBOL (__fxstat, OLD_GLIBC);

#ifdef __x86_64__
OLD_SYMBOL (__fxstatat, "GLIBC_2.4");
#else
OLD_SYMBOL (__fxstatat, OLD_GLIBC);
#endif

/* With arguments, these are no types. */
#define stat(path, status) __xstat (OLD_STAT_VERSION, path, status)
#define lstat(path, status) __lxstat (OLD_STAT_VERSION, path, status)
#define fstat(fd, status) __fxstat (OLD_STAT_VERSION, fd, status)
#define fstatat(dir, path, status, flags) \
  __fxstatat (OLD_STAT_VERSION, dir, path, status, flags)
#endif
