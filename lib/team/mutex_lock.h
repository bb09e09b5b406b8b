// SPDX-License-Identifier: BSD-2-Clause
//
// Holds a mutex for as long as it lives. (std::lock_guard<std::mutex> throws, by the C++ run-time
// library.)
#ifndef HPZERO_LIB_TEAM_MUTEX_LOCK_H
#define HPZERO_LIB_TEAM_MUTEX_LOCK_H

#include <pthread.h>

namespace hpz {

class MutexLock {
 public:
  explicit MutexLock(pthread_mutex_t &mutex) noexcept : mutex_(mutex) {
    pthread_mutex_lock(&mutex_);
  }
  ~MutexLock() { pthread_mutex_unlock(&mutex_); }
  MutexLock(const MutexLock &) = delete;
  MutexLock &operator=(const MutexLock &) = delete;

 private:
  pthread_mutex_t &mutex_;
};

}  // namespace hpz

#endif
