// SPDX-License-Identifier: BSD-2-Clause
#include "lib/pool/events.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace hpz {
namespace {

// Does not wait either where the caller, whose descriptor shares that flag with ours, has taken
// O_NONBLOCK away: it would with the node's lock held.
void drain(int fd) noexcept {
  uint64_t told;
  const iovec into = {&told, sizeof told};
  const long at_its_place = -1;
  // By number, for its flag is not in every C library. A kernel before 5.8 or so refuses it, and so
  // do emulators.
  const long result =
      syscall(SYS_preadv2, fd, &into, 1L, at_its_place, at_its_place, long{RWF_NOWAIT});
  if (result < 0 && errno != EAGAIN) (void)!read(fd, &told, sizeof told);
}

}  // namespace

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
  drain(event->fd);
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
