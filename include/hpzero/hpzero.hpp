// SPDX-License-Identifier: BSD-2-Clause
//
// C++17 sugar over the C interface, header only. Adds types, no behaviour: the rules of the C
// headers hold. What fails throws std::system_error where the C call returns a negative errno
// value.
#ifndef HPZERO_HPZERO_HPP
#define HPZERO_HPZERO_HPP

#include <hpzero/hpzero.h>

#include <memory>
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

// hpz_team: pinned workers. Moves, does not copy; a moved-from team is none, and stands for the
// calling thread alone. Since 0.1.0.
class team {
 public:
  explicit team(uint32_t threads = 0, const std::string &cpus = {}) {
    hpz_team_options options = HPZ_TEAM_OPTIONS_INIT;
    options.threads = threads;
    options.cpus = cpus.empty() ? nullptr : cpus.c_str();
    hpz_team *created = nullptr;
    detail::check(hpz_team_create(&options, &created), "hpz_team_create");
    handle_.reset(created);
  }
  hpz_team *get() const noexcept { return handle_.get(); }
  [[nodiscard]] hpz_team_info info() const {
    hpz_team_info out = HPZ_TEAM_INFO_INIT;
    detail::check(hpz_team_info_get(get(), &out), "hpz_team_info_get");
    return out;
  }

 private:
  struct destroyer {
    void operator()(hpz_team *handle) const noexcept { hpz_team_destroy(handle); }
  };
  std::unique_ptr<hpz_team, destroyer> handle_;
};

// hpz_space: memory as one run of offsets. The verbs throw what they return; whoever wants the
// report of a job that failed calls the C interface with get(). Moves, does not copy. Since 0.1.0.
class space {
 public:
  explicit space(const std::vector<hpz_range> &ranges) {
    hpz_space *created = nullptr;
    detail::check(hpz_space_direct(ranges.data(), ranges.size(), nullptr, &created),
                  "hpz_space_direct");
    handle_.reset(created);
  }
  space(void *base, size_t len) : space(std::vector<hpz_range>{{base, len}}) {}
  // Of memory that callbacks reach.
  space(const hpz_space_ops &ops, void *context) {
    hpz_space *created = nullptr;
    detail::check(hpz_space_custom(&ops, context, &created), "hpz_space_custom");
    handle_.reset(created);
  }
  // Of a file; options NULL: defaults.
  space(int fd, uint64_t offset, uint64_t len, const hpz_space_options *options = nullptr) {
    hpz_space *created = nullptr;
    detail::check(hpz_space_file(fd, offset, len, options, &created), "hpz_space_file");
    handle_.reset(created);
  }
  hpz_space *get() const noexcept { return handle_.get(); }

  // All of it, by the team, or without one by the calling thread.
  hpz_job_report zero_all(const team *who = nullptr, const hpz_job_options *options = nullptr) {
    return run(hpz_space_zero, "hpz_space_zero", who, nullptr, 0, options);
  }
  hpz_job_report populate_all(const team *who = nullptr, const hpz_job_options *options = nullptr) {
    return run(hpz_space_populate, "hpz_space_populate", who, nullptr, 0, options);
  }
  hpz_job_report reset_all(const team *who = nullptr, const hpz_job_options *options = nullptr) {
    return run(hpz_space_reset, "hpz_space_reset", who, nullptr, 0, options);
  }
  hpz_job_report release_all(const team *who = nullptr, const hpz_job_options *options = nullptr) {
    return run(hpz_space_release, "hpz_space_release", who, nullptr, 0, options);
  }

  // These extents of it; none means nothing.
  hpz_job_report zero(const std::vector<hpz_extent> &extents, const team *who = nullptr,
                      const hpz_job_options *options = nullptr) {
    return run_on(hpz_space_zero, "hpz_space_zero", extents, who, options);
  }
  hpz_job_report populate(const std::vector<hpz_extent> &extents, const team *who = nullptr,
                          const hpz_job_options *options = nullptr) {
    return run_on(hpz_space_populate, "hpz_space_populate", extents, who, options);
  }
  hpz_job_report reset(const std::vector<hpz_extent> &extents, const team *who = nullptr,
                       const hpz_job_options *options = nullptr) {
    return run_on(hpz_space_reset, "hpz_space_reset", extents, who, options);
  }
  hpz_job_report release(const std::vector<hpz_extent> &extents, const team *who = nullptr,
                         const hpz_job_options *options = nullptr) {
    return run_on(hpz_space_release, "hpz_space_release", extents, who, options);
  }

 private:
  using verb = decltype(&hpz_space_zero);
  hpz_job_report run(verb call, const char *what, const team *who, const hpz_extent *extents,
                     size_t count, const hpz_job_options *options) {
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    hpz_team *const its_team = who != nullptr ? who->get() : nullptr;
    detail::check(call(get(), its_team, extents, count, options, &report), what);
    return report;
  }
  hpz_job_report run_on(verb call, const char *what, const std::vector<hpz_extent> &extents,
                        const team *who, const hpz_job_options *options) {
    const hpz_extent none = {0, 0};
    return run(call, what, who, extents.empty() ? &none : extents.data(), extents.size(), options);
  }

  struct destroyer {
    void operator()(hpz_space *handle) const noexcept { hpz_space_destroy(handle); }
  };
  std::unique_ptr<hpz_space, destroyer> handle_;
};

// hpz_map: what of a space is known to be zero. The verbs throw what they return, as those of space
// do; they name the range. Since 0.1.0.
class map {
 public:
  explicit map(const hpz_map_options &options) {
    hpz_map *created = nullptr;
    detail::check(hpz_map_create(&options, &created), "hpz_map_create");
    handle_.reset(created);
  }
  // Page sizes of 0 are the usual ones.
  explicit map(uint64_t len, hpz_page_state initial = HPZ_PAGE_DIRTY, uint64_t page_bytes = 0,
               uint64_t subpage_bytes = 0)
      : map(options_of(len, initial, page_bytes, subpage_bytes)) {}
  hpz_map *get() const noexcept { return handle_.get(); }

  void set(uint64_t offset, uint64_t len, hpz_page_state state) {
    detail::check(hpz_map_set(get(), offset, len, state), "hpz_map_set");
  }
  void set_dirty_bitmap(uint64_t offset, const uint64_t *words, size_t bits) {
    detail::check(hpz_map_set_dirty_bitmap(get(), offset, words, bits), "hpz_map_set_dirty_bitmap");
  }
  [[nodiscard]] hpz_map_counts counts() const {
    hpz_map_counts out = HPZ_MAP_COUNTS_INIT;
    detail::check(hpz_map_counts_get(get(), &out), "hpz_map_counts_get");
    return out;
  }

  hpz_job_report zero(const space &what, uint64_t offset, uint64_t len, const team *who = nullptr,
                      const hpz_job_options *options = nullptr) {
    return run(hpz_map_zero, "hpz_map_zero", what, offset, len, who, options);
  }
  hpz_job_report populate(const space &what, uint64_t offset, uint64_t len,
                          const team *who = nullptr, const hpz_job_options *options = nullptr) {
    return run(hpz_map_populate, "hpz_map_populate", what, offset, len, who, options);
  }
  hpz_job_report release(const space &what, uint64_t offset, uint64_t len,
                         const team *who = nullptr, const hpz_job_options *options = nullptr) {
    return run(hpz_map_release, "hpz_map_release", what, offset, len, who, options);
  }

 private:
  static hpz_map_options options_of(uint64_t len, hpz_page_state initial, uint64_t page_bytes,
                                    uint64_t subpage_bytes) noexcept {
    hpz_map_options options = HPZ_MAP_OPTIONS_INIT;
    options.len = len;
    options.initial_state = static_cast<int32_t>(initial);
    options.page_bytes = page_bytes;
    options.subpage_bytes = subpage_bytes;
    return options;
  }
  hpz_job_report run(decltype(&hpz_map_zero) call, const char *name, const space &what,
                     uint64_t offset, uint64_t len, const team *who,
                     const hpz_job_options *options) {
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    hpz_team *const its_team = who != nullptr ? who->get() : nullptr;
    detail::check(call(get(), what.get(), its_team, offset, len, options, &report), name);
    return report;
  }

  struct destroyer {
    void operator()(hpz_map *handle) const noexcept { hpz_map_destroy(handle); }
  };
  std::unique_ptr<hpz_map, destroyer> handle_;
};

// hpz_pool: pages that are zero before they are asked for. Moves, does not copy. Pages are plain
// values: give each back once, before the pool goes. Since 0.1.0.
class pool {
 public:
  explicit pool(const hpz_pool_options &options = HPZ_POOL_OPTIONS_INIT) {
    hpz_pool *created = nullptr;
    detail::check(hpz_pool_create(&options, &created), "hpz_pool_create");
    handle_.reset(created);
  }
  hpz_pool *get() const noexcept { return handle_.get(); }

  [[nodiscard]] hpz_page take(const hpz_take_options *options = nullptr) {
    hpz_page page = HPZ_PAGE_INIT;
    detail::check(hpz_pool_take(get(), options, &page, 1), "hpz_pool_take");
    return page;
  }
  // So many, or as many of them as there are; one at least.
  [[nodiscard]] std::vector<hpz_page> take(size_t count,
                                           const hpz_take_options *options = nullptr) {
    std::vector<hpz_page> pages(count, HPZ_PAGE_INIT);
    const int taken = hpz_pool_take(get(), options, pages.data(), pages.size());
    detail::check(taken, "hpz_pool_take");
    pages.resize(static_cast<size_t>(taken));
    return pages;
  }
  void give(const hpz_page &page, uint32_t flags = 0) {
    detail::check(hpz_pool_give(get(), &page, 1, flags), "hpz_pool_give");
  }
  void give(const std::vector<hpz_page> &pages, uint32_t flags = 0) {
    detail::check(hpz_pool_give(get(), pages.data(), pages.size(), flags), "hpz_pool_give");
  }

  size_t fill(size_t pages, int node = -1) {
    const int filled = hpz_pool_fill(get(), node, pages);
    detail::check(filled, "hpz_pool_fill");
    return static_cast<size_t>(filled);
  }
  void resize(size_t pages, int node = -1) {
    detail::check(hpz_pool_resize(get(), node, pages), "hpz_pool_resize");
  }
  void set_filling(bool on, int node = -1) {
    detail::check(hpz_pool_set_filling(get(), node, on ? 1 : 0), "hpz_pool_set_filling");
  }
  void poison(const void *address) {
    detail::check(hpz_pool_poison(get(), address), "hpz_pool_poison");
  }
  // The caller closes it.
  [[nodiscard]] int event_fd(size_t clean_below, int node = -1) {
    const int fd = hpz_pool_event_fd(get(), node, clean_below);
    detail::check(fd, "hpz_pool_event_fd");
    return fd;
  }
  bool rearm(int event_fd) {
    const int holds = hpz_pool_event_rearm(get(), event_fd);
    detail::check(holds, "hpz_pool_event_rearm");
    return holds != 0;
  }
  std::vector<int32_t> nodes() const {
    std::vector<int32_t> ids;
    int count = 1;
    while (static_cast<size_t>(count) > ids.size()) {
      ids.resize(static_cast<size_t>(count));
      count = hpz_pool_nodes_get(get(), ids.data(), ids.size());
      detail::check(count, "hpz_pool_nodes_get");
    }
    return ids;
  }
  [[nodiscard]] hpz_pool_stats stats(int node = -1) const {
    hpz_pool_stats out = HPZ_POOL_STATS_INIT;
    detail::check(hpz_pool_stats_get(get(), node, &out), "hpz_pool_stats_get");
    return out;
  }

 private:
  struct destroyer {
    void operator()(hpz_pool *handle) const noexcept { hpz_pool_destroy(handle); }
  };
  std::unique_ptr<hpz_pool, destroyer> handle_;
};

}  // namespace hpzero

#endif
