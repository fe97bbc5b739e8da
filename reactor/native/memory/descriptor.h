// A file descriptor that the runtime owns in a process which runs a program's code.
#pragma once
#include <algorithm>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace reactor {

// A program may close descriptors that it has not opened (`os.closerange(3, 256)`, as daemons do), and its own files then have their numbers. So the
// file that has the number is compared with the one that was opened, before each use.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {
    struct stat s;
    if (number < 0 || fstat(number, &s) != 0) return;
    device_ = s.st_dev;
    inode_ = s.st_ino;
  }
  int number() const { return number_; }  // -1: none
  bool is_own() const {
    struct stat s;
    return number_ >= 0 && fstat(number_, &s) == 0 && s.st_dev == device_ && s.st_ino == inode_;
  }
  void close() {
    if (is_own()) ::close(number_);
    number_ = -1;
  }

 private:
  int number_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Moves a descriptor to a number beyond those that programs close in a row; close-on-exec. Not to the highest of a large limit: the kernel's table of a
// process, which each fork copies, has eight bytes for each number up to the highest. Returns the new number; that of before, if none is free there.
inline int move_high(int fd) {
  constexpr rlim_t kTable = 8192, kRoom = 64;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return fd;
  const rlim_t end = std::min(limit.rlim_cur, kTable);
  int moved = fcntl(fd, F_DUPFD_CLOEXEC, int(end - std::min(kRoom, end / 4)));
  if (moved < 0 && fd <= 2) moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);  // a standard stream of the program's would have this number
  if (moved < 0) return fcntl(fd, F_SETFD, FD_CLOEXEC), fd;
  close(fd);
  return moved;
}

}  // namespace reactor
