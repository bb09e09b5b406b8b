// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/mounted.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/loop.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/program.h"
#include "tests/support/sandbox.h"

namespace hpz::test {
namespace {

std::string find_mkfs(const std::string &type) {
  for (const char *const folder : {"/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/"}) {
    std::string path = folder + ("mkfs." + type);
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

// The device that shows this file; -1: none to be had. It goes with its last user.
int open_loop(int image, std::string &path) {
  const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  int device = -1;
  // Another process may take the same one meanwhile.
  for (int i = 0; control >= 0 && device < 0 && i < 20; ++i) {
    const int number = ioctl(control, LOOP_CTL_GET_FREE);
    if (number < 0) break;
    path = "/dev/loop" + std::to_string(number);
    device = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (device < 0) break;
    loop_info64 info = {};
    info.lo_flags = LO_FLAGS_AUTOCLEAR;
    if (ioctl(device, LOOP_SET_FD, image) == 0) {
      if (ioctl(device, LOOP_SET_STATUS64, &info) == 0) break;
      ioctl(device, LOOP_CLR_FD);
    }
    close(device);
    device = -1;
  }
  if (control >= 0) close(control);
  return device;
}

}  // namespace

Mounted::Mounted(const std::string &type, unsigned mib) {
  if (geteuid() != 0) {
    why_not_ = "NOT TESTED HERE: wants root, to mount " + type;
    return;
  }
  static const std::string kWhyNoNamespace = [] {
    try {
      enter_own_mounts();
    } catch (const std::exception &e) {
      return std::string(e.what());
    }
    return std::string();
  }();
  if (!kWhyNoNamespace.empty()) {
    why_not_ = "NOT TESTED HERE: no mount namespace (" + kWhyNoNamespace + ")";
    return;
  }
  const std::string at = folder_.path("mount");
  mkdir(at.c_str(), 0700);
  const std::string size = "size=" + std::to_string(mib) + "m";
  if (type == "tmpfs") {
    if (!mount_over("none", at, "tmpfs", size)) ADD_FAILURE() << why_not_;
  } else if (type == "overlay") {
    // Its layers on a tmpfs: some kernels do not stack it upon itself.
    const std::string layers = folder_.path("layers");
    mkdir(layers.c_str(), 0700);
    if (!mount_over("none", layers, "tmpfs", size)) return;
    std::string options;
    for (const char *const name : {"lowerdir", "upperdir", "workdir"}) {
      const std::string path = layers + '/' + name;
      mkdir(path.c_str(), 0700);
      options += (options.empty() ? "" : ",") + (name + ('=' + path));
    }
    mount_over("none", at, "overlay", options);
  } else {
    mount_loop(type, mib);
  }
}

void Mounted::mount_loop(const std::string &type, unsigned mib) {
  const bool is_bare = type == "device";
  const std::string mkfs = is_bare ? "" : find_mkfs(type);
  if (mkfs.empty() && !is_bare) {
    why_not_ = "no mkfs." + type + ", which tools/setup installs";
    ADD_FAILURE() << why_not_;
    return;
  }
  const std::string image = folder_.write("image", "");
  const int fd = open(image.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(mib) << 20) != 0) {
    ADD_FAILURE() << "no image of a file system";
  }
  std::string device;
  device_ = open_loop(fd, device);
  close(fd);
  if (device_ < 0) {
    why_not_ = "NOT TESTED HERE: no loop device to be had";
    return;
  }
  if (is_bare) return;
  const Outcome made = run({mkfs, "-q", type == "ext4" ? "-F" : "-f", device});
  if (made.status != 0) {
    why_not_ = mkfs + " failed";
    ADD_FAILURE() << made;
    return;
  }
  mount_over(device, folder_.path("mount"), type.c_str(), "");
}

bool Mounted::mount_over(const std::string &from, const std::string &at, const char *type,
                         const std::string &options) {
  if (mount(from.c_str(), at.c_str(), type, 0, options.c_str()) != 0) {
    why_not_ = "NOT TESTED HERE: this kernel does not mount " + std::string(type) + " (" +
               strerror(errno) + ")";
    return false;
  }
  ++mounts_;
  return true;
}

Mounted::~Mounted() {
  for (const char *const name : {"mount", "layers"}) {
    if (mounts_ != 0) umount2(folder_.path(name).c_str(), MNT_DETACH);
  }
  if (device_ >= 0) close(device_);
}

int Mounted::file() const {
  const std::string path = folder_.path("mount/file");
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  EXPECT_GE(fd, 0) << strerror(errno);
  unlink(path.c_str());
  return fd;
}

}  // namespace hpz::test
