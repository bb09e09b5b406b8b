// SPDX-License-Identifier: BSD-2-Clause
//
// Process 1 of the guest: mounts what the test program needs, puts huge pages on every node, runs
// the program that the kernel's command line names behind "--" with its arguments, prints its exit
// status in a line that boot.py looks for, and turns the machine off. Static, for the guest has no
// system; knows nothing of what is tested.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

_Noreturn static void power_off(void) {
  fflush(stdout);
  // What is in the serial port's queue would be lost.
  sync();
  usleep(100 * 1000);
  reboot(RB_POWER_OFF);
  _exit(1);  // the kernel panics, and with panic=-1 and no reboot the emulator ends
}

_Noreturn static void fail(const char *what, const char *which) {
  printf("GUEST: init: %s %s: %s\n", what, which, strerror(errno));
  power_off();
}

static void mount_at(const char *type, const char *path, const char *options) {
  mkdir(path, 0755);
  if (mount("none", path, type, 0, options) != 0) fail("mount", path);
}

static void write_text(const char *path, const char *text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) fail("open", path);
  const ssize_t length = (ssize_t)strlen(text);
  if (write(fd, text, (size_t)length) != length) fail("write", path);
  close(fd);
}

static long read_number(const char *path) {
  FILE *const file = fopen(path, "re");
  long number;
  if (file == NULL || fscanf(file, "%ld", &number) != 1) fail("read", path);
  fclose(file);
  return number;
}

// The kernel hands us, as environment, what it does not know on its command line.
static long number_from_kernel(const char *name) {
  const char *const text = getenv(name);
  if (text == NULL) {
    errno = ENOENT;
    fail("kernel command line", name);
  }
  return strtol(text, NULL, 10);
}

static void put_huge_pages(long nodes, long pages) {
  for (long node = 0; node < nodes; ++node) {
    char path[128], text[32];
    snprintf(path, sizeof path,
             "/sys/devices/system/node/node%ld/hugepages/hugepages-2048kB/nr_hugepages", node);
    snprintf(text, sizeof text, "%ld", pages);
    write_text(path, text);
    if (read_number(path) != pages) {
      errno = ENOMEM;
      fail("huge pages", path);
    }
  }
}

int main(int count, char **arguments) {
  mkdir("/dev", 0755);
  // Ignored: the kernel may have mounted it. Before the first line is printed, for /dev/console is
  // there only then.
  mount("none", "/dev", "devtmpfs", 0, NULL);
  const int console = open("/dev/console", O_RDWR);
  for (int fd = 0; console >= 0 && fd < 3; ++fd) dup2(console, fd);
  if (console > 2) close(console);

  mount_at("proc", "/proc", NULL);
  mount_at("sysfs", "/sys", NULL);
  mount_at("tmpfs", "/tmp", NULL);
  mount_at("tmpfs", "/dev/shm", NULL);
  mount_at("cgroup2", "/sys/fs/cgroup", NULL);
  write_text("/sys/fs/cgroup/cgroup.subtree_control", "+hugetlb +cpu");
  put_huge_pages(number_from_kernel("guest_nodes"), number_from_kernel("guest_huge_pages"));

  if (count < 2) {
    errno = EINVAL;
    fail("no program behind \"--\" on the", "kernel command line");
  }
  setenv("LD_LIBRARY_PATH", "/lib", 1);
  setenv("TERM", "dumb", 1);  // no colours in the log
  printf("GUEST: booted\n");
  fflush(stdout);
  const pid_t child = fork();
  if (child < 0) fail("fork", arguments[1]);
  if (child == 0) {
    execv(arguments[1], arguments + 1);
    fail("exec", arguments[1]);
  }
  int status = 0;
  // Process 1 inherits orphans of the test, which it waits for and forgets.
  for (pid_t ended = 0; ended != child;) {
    ended = wait(&status);
    if (ended < 0 && errno != EINTR) fail("wait", arguments[1]);
  }
  if (WIFEXITED(status)) {
    printf("\nGUEST: exit status %d\n", WEXITSTATUS(status));
  } else {
    printf("\nGUEST: killed by signal %d\n", WTERMSIG(status));
  }
  power_off();
}
