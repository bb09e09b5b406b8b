// SPDX-License-Identifier: BSD-2-Clause
//
// The event descriptors of a node. Callers hold the node's lock, also while one is written to: that
// happens once each time that it is armed, and takes less than to hand it to somebody else.
#ifndef HPZERO_LIB_POOL_EVENTS_H
#define HPZERO_LIB_POOL_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/pool/node_pages.h"
#include "lib/team/array.h"

namespace hpz {

class NodeEvents {
 public:
  NodeEvents() noexcept = default;
  ~NodeEvents();
  NodeEvents(const NodeEvents &) = delete;
  NodeEvents &operator=(const NodeEvents &) = delete;

  bool empty() const noexcept { return events_.empty(); }

  // An eventfd of the caller's, of which this keeps a duplicate: the caller may close it at any
  // time, and the number then be anybody's. 0 or a negative errno value.
  int add(int callers_fd, uint64_t clean_below, const NodePages::Counts &counts) noexcept;
  // The caller has a new descriptor of this number, so the one we know is closed.
  void forget(int callers_fd) noexcept;
  // 1 or 0: whether the condition holds; -EBADF.
  int rearm(int callers_fd, const NodePages::Counts &counts) noexcept;

  // After each change of the counts.
  void look(const NodePages::Counts &counts) noexcept {
    if (!events_.empty()) look_at_each(counts);
  }

 private:
  struct Event {
    int fd;  // our duplicate
    int callers_fd;
    uint64_t clean_below;
    bool is_armed;
    bool holds;
  };
  static bool holds(const Event &event, const NodePages::Counts &counts) noexcept;
  static void tell(Event &event) noexcept;
  void look_at_each(const NodePages::Counts &counts) noexcept;
  Event *find(int callers_fd) noexcept;

  Array<Event> events_;
};

}  // namespace hpz

#endif
