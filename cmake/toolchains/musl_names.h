// SPDX-License-Identifier: BSD-2-Clause
//
// Names of glibc that the headers of a libstdc++ made for glibc mention and musl does not have.
// Given to every C++ compilation for musl by -include. Only lets those headers be parsed: no name
// here is ever called, which the link (-z defs against musl) proves. Delete where a C++ tool chain
// for musl is at hand.
#ifndef HPZERO_MUSL_NAMES_H
#define HPZERO_MUSL_NAMES_H

#include <pthread.h>

#define __GLIBC_PREREQ(major, minor) 0  // bits/os_defines.h

extern "C" {
using __locale_t = struct __locale_struct *;  // bits/c++locale.h
__locale_t __uselocale(__locale_t) noexcept;  // the same
// bits/std_mutex.h
int pthread_cond_clockwait(pthread_cond_t *, pthread_mutex_t *, clockid_t, const timespec *);
}

enum {  // bits/ctype_base.h
  _ISupper = 1 << 0,
  _ISlower = 1 << 1,
  _ISalpha = 1 << 2,
  _ISdigit = 1 << 3,
  _ISxdigit = 1 << 4,
  _ISspace = 1 << 5,
  _ISprint = 1 << 6,
  _ISblank = 1 << 8,
  _IScntrl = 1 << 9,
  _ISpunct = 1 << 10
};

#endif
