// SPDX-License-Identifier: BSD-2-Clause
#include "lib/pool/events.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

namespace hpz {

NodeEvents::~NodeEvents() {
  for (const Event &event : events_) close(event.fd);
}

bool NodeEvents::holds(const Event &event, const NodePages::Counts &counts) noexcept {
  if (event.clean_below == 0) return counts.dirty == 0 && counts.busy == 0;
  return counts.clean < event.clean_below;
}

void NodeEvents::tell(Event &event) noexcept {
  const uint64_t one = 1;
  event.is_armed = false;
  (void)!write(event.fd, &one, sizeof one);  // it cannot be full, unless the caller filled it
}

NodeEvents::Event *NodeEvents::find(int callers_fd) noexcept {
  for (Event &event : events_) {
    if (event.callers_fd == callers_fd) return &event;
  }
  return nullptr;
}

int NodeEvents::add(int callers_fd, uint64_t clean_below,
                    const NodePages::Counts &counts) noexcept {
  Event event = {fcntl(callers_fd, F_DUPFD_CLOEXEC, 0), callers_fd, clean_below, true, false};
  if (event.fd < 0) return -errno;
  event.holds = holds(event, counts);
  if (!events_.push_back(event)) {
    close(event.fd);
    return -ENOMEM;
  }
  if (event.holds) tell(events_.back());
  return 0;
}

void NodeEvents::forget(int callers_fd) noexcept {
  Event *const event = find(callers_fd);
  if (event == nullptr) return;
  close(event->fd);
  *event = events_.back();
  (void)events_.resize(events_.size() - 1);
}

int NodeEvents::rearm(int callers_fd, const NodePages::Counts &counts) noexcept {
  Event *const event = find(callers_fd);
  if (event == nullptr) return -EBADF;
  uint64_t told;
  (void)!read(event->fd, &told, sizeof told);  // non-blocking: -EAGAIN where nothing was told
  event->is_armed = true;
  event->holds = holds(*event, counts);
  return event->holds ? 1 : 0;
}

void NodeEvents::look_at_each(const NodePages::Counts &counts) noexcept {
  for (Event &event : events_) {
    const bool before = event.holds;
    event.holds = holds(event, counts);
    if (event.holds && !before && event.is_armed) tell(event);
  }
}

}  // namespace hpz
