// SPDX-License-Identifier: BSD-2-Clause
//
// The public handle of a pool is the address of the Pool.
#ifndef HPZERO_LIB_POOL_HANDLE_H
#define HPZERO_LIB_POOL_HANDLE_H

#include "lib/pool/pool.h"

namespace hpz {

inline Pool *pool_of(struct hpz_pool *handle) noexcept {
  return reinterpret_cast<Pool *>(handle);
}
inline struct hpz_pool *handle_of(Pool *pool) noexcept {
  return reinterpret_cast<struct hpz_pool *>(pool);
}

}  // namespace hpz

#endif
