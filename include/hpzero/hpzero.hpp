// SPDX-License-Identifier: BSD-2-Clause
//
// C++17 sugar over the C interface, header only. Adds types, no behaviour: the rules of the C
// headers hold. What fails throws std::system_error where the C call returns a negative errno
// value.
#ifndef HPZERO_HPZERO_HPP
#define HPZERO_HPZERO_HPP

#include <hpzero/hpzero.h>

#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

namespace hpzero {

namespace detail {
inline void check(int result, const char *what) {
  if (result < 0) throw std::system_error(-result, std::generic_category(), what);
}
}  // namespace detail

enum class policy {
  automatic = HPZ_POLICY_AUTO,
  cached = HPZ_POLICY_CACHED,
  stream = HPZ_POLICY_STREAM
};

// hpz_init. An empty path means HPZ_PROFILE of the environment, else no profile. Since 0.1.0.
inline void init(uint32_t flags = 0, const std::string &profile = {}) {
  hpz_init_options options = HPZ_INIT_OPTIONS_INIT;
  options.flags = flags;
  options.profile = profile.empty() ? nullptr : profile.c_str();
  detail::check(hpz_init(&options), "hpz_init");
}

// hpz_zero, hpz_zero_cached or hpz_zero_stream. Since 0.1.0.
inline void zero(void *dst, size_t len, policy how = policy::automatic) noexcept {
  switch (how) {
    case policy::automatic:
      return hpz_zero(dst, len);
    case policy::cached:
      return hpz_zero_cached(dst, len);
    case policy::stream:
      return hpz_zero_stream(dst, len);
  }
}

// All bytes of an object, or of the elements of an array; only where that is a meaningful value.
// Since 0.1.0.
template <class T> void zero(T &object, policy how = policy::automatic) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>,
                "only trivially copyable objects may be cleared bytewise; for memory behind a "
                "pointer give the length");
  zero(&object, sizeof(T), how);
}

// hpz_zero_pages. Since 0.1.0.
inline void zero_pages(const std::vector<void *> &pages, size_t page_bytes) noexcept {
  hpz_zero_pages(pages.data(), pages.size(), page_bytes);
}

// hpz_zero_with. Since 0.1.0.
inline void zero_with(const std::string &kernel, void *dst, size_t len) {
  detail::check(hpz_zero_with(kernel.c_str(), dst, len), "hpz_zero_with");
}

// hpz_zero_pages_with. Since 0.1.0.
inline void zero_pages_with(const std::string &kernel, const std::vector<void *> &pages,
                            size_t page_bytes) {
  detail::check(hpz_zero_pages_with(kernel.c_str(), pages.data(), pages.size(), page_bytes),
                "hpz_zero_pages_with");
}

// hpz_is_zero. Since 0.1.0.
[[nodiscard]] inline bool is_zero(const void *src, size_t len) noexcept {
  return hpz_is_zero(src, len) != 0;
}

// All rows of hpz_kernel_info_get, in order of preference. Since 0.1.0.
[[nodiscard]] inline std::vector<hpz_kernel_info> kernels() {
  std::vector<hpz_kernel_info> rows(hpz_kernel_count());
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = HPZ_KERNEL_INFO_INIT;
    detail::check(hpz_kernel_info_get(i, &rows[i]), "hpz_kernel_info_get");
  }
  return rows;
}

// hpz_plan_info_get. Since 0.1.0.
[[nodiscard]] inline hpz_plan_info plan(policy which = policy::automatic) {
  hpz_plan_info info = HPZ_PLAN_INFO_INIT;
  detail::check(hpz_plan_info_get(static_cast<hpz_policy>(which), &info), "hpz_plan_info_get");
  return info;
}

}  // namespace hpzero

#endif
