// SPDX-License-Identifier: BSD-2-Clause
#include "bench/crew.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>

#include "bench/clock.h"

namespace hpz::bench {

void check_call(int result, const char *call) {
  if (result != 0) throw std::runtime_error(std::string(call) + ": " + std::strerror(-result));
}

Crew::Crew(uint32_t threads, const char *cpus) {
  hpz_team_options options = HPZ_TEAM_OPTIONS_INIT;
  options.threads = threads;
  options.cpus = cpus;
  check_call(hpz_team_create(&options, &team_), "hpz_team_create");
}

Crew::~Crew() {
  hpz_team_destroy(team_);
}

hpz_team_info Crew::info() const {
  hpz_team_info info = HPZ_TEAM_INFO_INIT;
  check_call(hpz_team_info_get(team_, &info), "hpz_team_info_get");
  return info;
}

std::string Crew::knee(hpz_verb verb) const {
  const hpz_team_info about = info();
  const size_t nodes = std::min<size_t>(about.nodes, std::size(about.node));
  std::string text;
  for (size_t i = 0; i < nodes; ++i) {
    const auto &node = about.node[i];
    if (node.threads == 0) continue;
    if (!text.empty()) text += ", ";
    if (about.nodes > 1) text += "node " + std::to_string(node.id) + ": ";
    text += (node.knee[verb] == 0 ? std::string("(not found)") : std::to_string(node.knee[verb])) +
            " of " + std::to_string(node.threads) + " threads";
  }
  return text.empty() ? "no worker" : text;
}

bool Crew::has_knee(hpz_verb verb) const {
  const hpz_team_info about = info();
  const size_t nodes = std::min<size_t>(about.nodes, std::size(about.node));
  return std::all_of(about.node, about.node + nodes,
                     [&](const auto &node) { return node.threads == 0 || node.knee[verb] != 0; });
}

Space::Space(char *base, uint64_t bytes, uint64_t page_bytes) {
  const hpz_range range = {base, bytes};
  hpz_space_options options = HPZ_SPACE_OPTIONS_INIT;
  options.page_bytes = page_bytes;
  check_call(hpz_space_direct(&range, 1, &options, &space_), "hpz_space_direct");
}

Space Space::of_file(int fd, uint64_t bytes, uint64_t window_bytes, uint32_t flags) {
  hpz_space_options options = HPZ_SPACE_OPTIONS_INIT;
  options.window_bytes = window_bytes;
  options.flags = flags;
  hpz_space *space = nullptr;
  check_call(hpz_space_file(fd, 0, bytes, &options, &space), "hpz_space_file");
  return Space(space);
}

Space::~Space() {
  hpz_space_destroy(space_);
}

Sample time_job(const JobRequest &request, hpz_job_report *report) {
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.threads = request.threads;
  options.chunk_bytes = request.chunk_bytes;
  hpz_job_report own = HPZ_JOB_REPORT_INIT;
  const hpz_extent *const extents = request.extents == nullptr ? nullptr : request.extents->data();
  const size_t count = request.extents == nullptr ? 0 : request.extents->size();
  const uint64_t begin = now_ns();
  const int result =
      request.verb->call(request.space, request.team, extents, count, &options, &own);
  const uint64_t end = now_ns_all_stored();
  check_call(result, request.verb->name);
  Sample sample;
  sample.bytes = own.done_bytes;
  sample.ns = static_cast<double>(end - begin);
  sample.ranges = std::max<size_t>(count, 1);
  sample.sections = 1;
  sample.threads = own.threads;
  sample.cpu_ns = own.cpu_ns;
  sample.local_bytes = own.local_bytes;
  sample.remote_bytes = own.remote_bytes;
  if (report != nullptr) *report = own;
  return sample;
}

}  // namespace hpz::bench
