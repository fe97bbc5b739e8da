// Strikes a process at its n-th call of the functions below: kills it just before or just after that call, or makes the call fail.
//
// Loaded with LD_PRELOAD into all processes of a run (benchmarks/faults/shim.py, which has the same layout). The plan lies in a file that all of them
// map. The calls are those of the program, of Python and of the core: what the C library calls in itself is not seen.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kOff, kCount, kKillBefore, kKillAfter, kFail };
enum { kByPid = 1, kByBirth, kZygote };
enum { kBirths = 1 << 16 };

// The order is that of NAMES in shim.py.
#define FUNCTIONS(X) \
  X(send) X(sendmsg) X(recv) X(recvmsg) X(read) X(write) X(pread) X(pwrite) X(mmap) X(munmap) X(ftruncate) X(fallocate) X(fork) X(posix_spawn) \
  X(epoll_create) X(epoll_ctl) X(epoll_wait) X(poll) X(futex_wait) X(futex_wake) X(memfd_create) X(eventfd) X(pidfd_open) X(pipe) X(socketpair) \
  X(socket) X(accept) X(connect) X(open) X(dup) X(close) X(waitid) X(kill) X(setpgid) X(nanosleep)
#define ENUM(name) k_##name,
enum { FUNCTIONS(ENUM) kFunctions };

struct Plan {
  uint32_t action, by;
  int32_t victim;  // pid, or the number of a process that the zygote forks: the first is 1
  int32_t error;   // of kFail
  uint64_t n;      // at which call, from 1
  uint64_t mask;   // of the functions that count
  uint64_t count;  // calls so far
  int32_t struck;  // pid of the process that was struck
  uint32_t function;
  int32_t driver, zygote;
  uint32_t births;
  uint32_t verbose;  // shows the stack where it strikes
  uint64_t counts[64];  // calls by function
  int32_t pid_of[kBirths];
};

static struct Plan* plan;
static int32_t me, birth;
static int zygote;

static void forked(void) {
  const int of_zygote = zygote;
  me = getpid();
  zygote = birth = 0;
  if (!plan || !of_zygote) return;
  birth = (int32_t)__atomic_add_fetch(&plan->births, 1, __ATOMIC_SEQ_CST);
  plan->pid_of[birth % kBirths] = me;
}

__attribute__((constructor)) static void begin(void) {
  const char* path = getenv("FAULTS_SHIM");
  const int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void* at = (void*)syscall(SYS_mmap, 0, sizeof(struct Plan), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  syscall(SYS_close, fd);
  if (at == MAP_FAILED) return;
  plan = at;
  me = getpid();
  char command[4096];
  const int file = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  const ssize_t n = file < 0 ? 0 : syscall(SYS_read, file, command, sizeof command - 1);
  if (file >= 0) syscall(SYS_close, file);
  zygote = n > 0 && getppid() == plan->driver && memmem(command, (size_t)n, "reactor.runtime.zygote", 22);
  if (zygote) plan->zygote = me;
  for (uint32_t i = 1; !zygote && i <= plan->births && i < kBirths; ++i)
    if (plan->pid_of[i] == me) birth = (int32_t)i;  // a worker that starts an interpreter of its own
  pthread_atfork(0, 0, forked);
}

static void die(void) {
  if (plan->verbose) {
    void* stack[40];
    backtrace_symbols_fd(stack, backtrace(stack, 40), 2);
  }
  syscall(SYS_kill, me, SIGKILL);
  for (;;) pause();
}

static int is_victim(void) {
  switch (plan->by) {
    case kByPid: return plan->victim == me;
    case kByBirth: return plan->victim == birth;
    default: return zygote;
  }
}

// Whether this call is the one: 0 no, 1 kill after it, 2 let it fail with errno set.
static int strikes(int function) {
  if (!plan || __atomic_load_n(&plan->action, __ATOMIC_ACQUIRE) == kOff || !is_victim() || !(plan->mask >> function & 1)) return 0;
  __atomic_add_fetch(&plan->counts[function], 1, __ATOMIC_RELAXED);
  const uint64_t n = __atomic_add_fetch(&plan->count, 1, __ATOMIC_SEQ_CST);
  if (plan->action == kCount || n != plan->n) return 0;
  plan->function = (uint32_t)function;
  plan->struck = me;
  if (plan->action == kKillAfter) return 1;
  if (plan->action == kKillBefore) die();
  if (plan->verbose) {
    void* stack[40];
    backtrace_symbols_fd(stack, backtrace(stack, 40), 2);
  }
  errno = plan->error;
  return 2;
}

#define AROUND(function, failed, call)         \
  const int strike_ = strikes(k_##function);   \
  if (strike_ == 2) return failed;             \
  __typeof__(call) result_ = call;             \
  if (strike_ == 1) die();                     \
  return result_;
#define REAL(name) \
  static __typeof__(name)* real; \
  if (!real) real = (__typeof__(name)*)dlsym(RTLD_NEXT, #name);

ssize_t send(int fd, const void* b, size_t n, int f) { REAL(send) AROUND(send, -1, real(fd, b, n, f)) }
ssize_t sendto(int fd, const void* b, size_t n, int f, const struct sockaddr* a, socklen_t l) { REAL(sendto) AROUND(send, -1, real(fd, b, n, f, a, l)) }
ssize_t sendmsg(int fd, const struct msghdr* m, int f) { REAL(sendmsg) AROUND(sendmsg, -1, real(fd, m, f)) }
ssize_t recv(int fd, void* b, size_t n, int f) { REAL(recv) AROUND(recv, -1, real(fd, b, n, f)) }
ssize_t recvfrom(int fd, void* b, size_t n, int f, struct sockaddr* a, socklen_t* l) { REAL(recvfrom) AROUND(recv, -1, real(fd, b, n, f, a, l)) }
ssize_t recvmsg(int fd, struct msghdr* m, int f) { REAL(recvmsg) AROUND(recvmsg, -1, real(fd, m, f)) }
ssize_t read(int fd, void* b, size_t n) { REAL(read) AROUND(read, -1, real(fd, b, n)) }
ssize_t write(int fd, const void* b, size_t n) { REAL(write) AROUND(write, -1, real(fd, b, n)) }
ssize_t pread64(int fd, void* b, size_t n, off64_t o) { REAL(pread64) AROUND(pread, -1, real(fd, b, n, o)) }
ssize_t pread(int fd, void* b, size_t n, off_t o) { REAL(pread) AROUND(pread, -1, real(fd, b, n, o)) }
ssize_t pwrite64(int fd, const void* b, size_t n, off64_t o) { REAL(pwrite64) AROUND(pwrite, -1, real(fd, b, n, o)) }
ssize_t pwrite(int fd, const void* b, size_t n, off_t o) { REAL(pwrite) AROUND(pwrite, -1, real(fd, b, n, o)) }
void* mmap(void* a, size_t n, int p, int f, int fd, off_t o) { AROUND(mmap, MAP_FAILED, (void*)syscall(SYS_mmap, a, n, p, f, fd, o)) }
void* mmap64(void* a, size_t n, int p, int f, int fd, off64_t o) { AROUND(mmap, MAP_FAILED, (void*)syscall(SYS_mmap, a, n, p, f, fd, o)) }
int munmap(void* a, size_t n) { AROUND(munmap, -1, (int)syscall(SYS_munmap, a, n)) }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64) AROUND(ftruncate, -1, real(fd, n)) }
int ftruncate(int fd, off_t n) { REAL(ftruncate) AROUND(ftruncate, -1, real(fd, n)) }
int fallocate64(int fd, int m, off64_t o, off64_t n) { REAL(fallocate64) AROUND(fallocate, -1, real(fd, m, o, n)) }
int fallocate(int fd, int m, off_t o, off_t n) { REAL(fallocate) AROUND(fallocate, -1, real(fd, m, o, n)) }
int posix_fallocate64(int fd, off64_t o, off64_t n) { REAL(posix_fallocate64) AROUND(fallocate, errno, real(fd, o, n)) }
int posix_fallocate(int fd, off_t o, off_t n) { REAL(posix_fallocate) AROUND(fallocate, errno, real(fd, o, n)) }
int epoll_create1(int f) { REAL(epoll_create1) AROUND(epoll_create, -1, real(f)) }
int epoll_ctl(int e, int o, int fd, struct epoll_event* v) { REAL(epoll_ctl) AROUND(epoll_ctl, -1, real(e, o, fd, v)) }
int epoll_wait(int e, struct epoll_event* v, int n, int t) { REAL(epoll_wait) AROUND(epoll_wait, -1, real(e, v, n, t)) }
int poll(struct pollfd* p, nfds_t n, int t) { REAL(poll) AROUND(poll, -1, real(p, n, t)) }
int memfd_create(const char* s, unsigned f) { REAL(memfd_create) AROUND(memfd_create, -1, real(s, f)) }
int eventfd(unsigned n, int f) { REAL(eventfd) AROUND(eventfd, -1, real(n, f)) }
int pipe2(int fd[2], int f) { REAL(pipe2) AROUND(pipe, -1, real(fd, f)) }
int socketpair(int d, int t, int p, int fd[2]) { REAL(socketpair) AROUND(socketpair, -1, real(d, t, p, fd)) }
int socket(int d, int t, int p) { REAL(socket) AROUND(socket, -1, real(d, t, p)) }
int accept4(int fd, struct sockaddr* a, socklen_t* l, int f) { REAL(accept4) AROUND(accept, -1, real(fd, a, l, f)) }
int connect(int fd, const struct sockaddr* a, socklen_t l) { REAL(connect) AROUND(connect, -1, real(fd, a, l)) }
int dup(int fd) { REAL(dup) AROUND(dup, -1, real(fd)) }
int dup2(int fd, int to) { REAL(dup2) AROUND(dup, -1, real(fd, to)) }
int dup3(int fd, int to, int f) { REAL(dup3) AROUND(dup, -1, real(fd, to, f)) }
int close(int fd) { AROUND(close, -1, (int)syscall(SYS_close, fd)) }
int waitid(idtype_t t, id_t i, siginfo_t* s, int o) { REAL(waitid) AROUND(waitid, -1, real(t, i, s, o)) }
pid_t waitpid(pid_t p, int* s, int o) { REAL(waitpid) AROUND(waitid, -1, real(p, s, o)) }
int kill(pid_t p, int s) { REAL(kill) AROUND(kill, -1, real(p, s)) }
int setpgid(pid_t p, pid_t g) { REAL(setpgid) AROUND(setpgid, -1, real(p, g)) }
int nanosleep(const struct timespec* a, struct timespec* b) { REAL(nanosleep) AROUND(nanosleep, -1, real(a, b)) }

int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  AROUND(open, -1, (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, mode))
}

// In the child nothing happens: it is struck by its own plan.
pid_t fork(void) {
  REAL(fork)
  const int strike = strikes(k_fork);
  if (strike == 2) return -1;
  const pid_t child = real();
  if (strike == 1 && child != 0) die();
  return child;
}

int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* a, const posix_spawnattr_t* t, char* const argv[], char* const e[]) {
  REAL(posix_spawn) AROUND(posix_spawn, errno, real(pid, path, a, t, argv, e))
}

long syscall(long number, ...) {
  va_list more;
  va_start(more, number);
  const long a = va_arg(more, long), b = va_arg(more, long), c = va_arg(more, long), d = va_arg(more, long), e = va_arg(more, long),
             f = va_arg(more, long);
  va_end(more);
  static long (*real)(long, ...);
  if (!real) real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  int function = -1;
  if (number == SYS_futex) function = (b & FUTEX_CMD_MASK) == FUTEX_WAKE ? k_futex_wake : k_futex_wait;
  if (number == SYS_pidfd_open) function = k_pidfd_open;
  if (function < 0) return real(number, a, b, c, d, e, f);
  const int strike = strikes(function);
  if (strike == 2) return -1;
  const long result = real(number, a, b, c, d, e, f);
  if (strike == 1) die();
  return result;
}
