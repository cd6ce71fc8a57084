// A library to preload (LD_PRELOAD): makes one call of the C library fail, or ends the process there.
//
// KITH_FAULT=CALL:N:ACTION lets the N-th call of a kind (counted from 1; 0: every call) fail with the error number
// ACTION; with the action "short" it reads or writes one byte; with "kill" the process is killed before the call.
// KITH_FAULT_COUNTS=FILE makes a process that ends by itself write how often each kind was called, by itself or by one
// of the processes that it forked, whichever is more. Calls that the C
// library makes of itself, as in fopen(), are not seen. Writing to standard error is not counted, because that is where
// messages go.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

enum Kind {
  k_open,
  k_read,
  k_pread,
  k_write,
  k_pwrite,
  k_fsync,
  k_rename,
  k_close,
  k_mmap,
  k_malloc,
  k_thread,
  k_flock,
  kKinds
};
constexpr const char* kNames[kKinds] = {"open",   "read",  "pread", "write",  "pwrite",         "fsync",
                                        "rename", "close", "mmap",  "malloc", "pthread_create", "flock"};
std::atomic<long> calls[kKinds];

/// The largest counts of this process and of those that it forked, whose memory is shared.
std::atomic<long>* most_calls() {
  static auto* const most =
      reinterpret_cast<std::atomic<long>*>(syscall(SYS_mmap, nullptr, sizeof(std::atomic<long>) * kKinds,
                                                   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  return most;
}

struct Fault {
  int kind = -1;
  long call = 0;
  int error = 0;
  bool is_short = false, kills = false;
};

Fault read_fault() {
  Fault fault;
  const char* text = getenv("KITH_FAULT");
  if (text == nullptr) return fault;
  const char* colon = strchr(text, ':');
  const char* second = colon != nullptr ? strchr(colon + 1, ':') : nullptr;
  if (second == nullptr) return fault;
  for (int kind = 0; kind < kKinds; ++kind) {
    if (strlen(kNames[kind]) == static_cast<size_t>(colon - text) && strncmp(kNames[kind], text, colon - text) == 0)
      fault.kind = kind;
  }
  fault.call = atol(colon + 1);
  fault.is_short = strcmp(second + 1, "short") == 0;
  fault.kills = strcmp(second + 1, "kill") == 0;
  fault.error = atoi(second + 1);
  return fault;
}

/// Whether this call is the one that fails; then errno is set.
bool fails(Kind kind, bool* is_short = nullptr) {
  static const Fault fault = read_fault();
  const long call = ++calls[kind];
  std::atomic<long>& most = most_calls()[kind];
  for (long seen = most; seen < call && !most.compare_exchange_weak(seen, call);) {
  }
  if (fault.kind != kind || (fault.call != call && fault.call != 0)) return false;
  if (fault.kills) kill(getpid(), SIGKILL);
  if (fault.is_short) {
    if (is_short != nullptr) *is_short = true;
    return false;
  }
  errno = fault.error;
  return true;
}

__attribute__((destructor)) void write_counts() {
  const char* name = getenv("KITH_FAULT_COUNTS");
  if (name == nullptr) return;
  const long file = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  for (int kind = 0; kind < kKinds; ++kind) {
    char line[64];
    const int length = snprintf(line, sizeof line, "%s %ld\n", kNames[kind], most_calls()[kind].load());
    syscall(SYS_write, file, line, length);
  }
  syscall(SYS_close, file);
}

int open_at(int directory, const char* path, int flags, mode_t mode) {
  return fails(k_open) ? -1 : static_cast<int>(syscall(SYS_openat, directory, path, flags, mode));
}

mode_t mode_of(int flags, va_list rest) { return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0; }

ssize_t transfer(Kind kind, long number, int file, const void* bytes, size_t count, off_t offset) {
  bool is_short = false;
  if (fails(kind, &is_short)) return -1;
  return syscall(number, file, bytes, is_short && count > 1 ? 1 : count, offset);
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

#define KITH_OPEN(name)                          \
  int name(const char* path, int flags, ...) {   \
    va_list rest;                                \
    va_start(rest, flags);                       \
    const mode_t mode = mode_of(flags, rest);    \
    va_end(rest);                                \
    return open_at(AT_FDCWD, path, flags, mode); \
  }
#define KITH_OPENAT(name)                                     \
  int name(int directory, const char* path, int flags, ...) { \
    va_list rest;                                             \
    va_start(rest, flags);                                    \
    const mode_t mode = mode_of(flags, rest);                 \
    va_end(rest);                                             \
    return open_at(directory, path, flags, mode);             \
  }
KITH_OPEN(open)
KITH_OPEN(open64)
KITH_OPENAT(openat)
KITH_OPENAT(openat64)
int __open_2(const char* path, int flags) { return open_at(AT_FDCWD, path, flags, 0); }
int __open64_2(const char* path, int flags) { return open_at(AT_FDCWD, path, flags, 0); }

ssize_t read(int file, void* bytes, size_t count) { return transfer(k_read, SYS_read, file, bytes, count, 0); }
ssize_t __read_chk(int file, void* bytes, size_t count, size_t) { return read(file, bytes, count); }
ssize_t pread(int file, void* bytes, size_t count, off_t offset) {
  return transfer(k_pread, SYS_pread64, file, bytes, count, offset);
}
ssize_t pread64(int file, void* bytes, size_t count, off64_t offset) { return pread(file, bytes, count, offset); }
ssize_t __pread_chk(int file, void* bytes, size_t count, off_t offset, size_t) {
  return pread(file, bytes, count, offset);
}
ssize_t __pread64_chk(int file, void* bytes, size_t count, off64_t offset, size_t) {
  return pread(file, bytes, count, offset);
}
ssize_t write(int file, const void* bytes, size_t count) {
  if (file == STDERR_FILENO) return syscall(SYS_write, file, bytes, count);
  return transfer(k_write, SYS_write, file, bytes, count, 0);
}
ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  return transfer(k_pwrite, SYS_pwrite64, file, bytes, count, offset);
}
ssize_t pwrite64(int file, const void* bytes, size_t count, off64_t offset) {
  return pwrite(file, bytes, count, offset);
}
int fsync(int file) { return fails(k_fsync) ? -1 : static_cast<int>(syscall(SYS_fsync, file)); }
int flock(int file, int operation) noexcept {
  return fails(k_flock) ? -1 : static_cast<int>(syscall(SYS_flock, file, operation));
}
int renameat2(int from, const char* old_name, int to, const char* name, unsigned flags) noexcept {
  return fails(k_rename) ? -1 : static_cast<int>(syscall(SYS_renameat2, from, old_name, to, name, flags));
}
int renameat(int from, const char* old_name, int to, const char* name) noexcept {
  return renameat2(from, old_name, to, name, 0);
}
int rename(const char* old_name, const char* name) noexcept { return renameat2(AT_FDCWD, old_name, AT_FDCWD, name, 0); }
int close(int file) {
  if (!fails(k_close)) return static_cast<int>(syscall(SYS_close, file));
  const int error = errno;
  syscall(SYS_close, file);
  errno = error;
  return -1;
}
void* mmap(void* place, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  if (fails(k_mmap)) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, place, bytes, protection, flags, file, offset));
}
void* mmap64(void* place, size_t bytes, int protection, int flags, int file, off64_t offset) noexcept {
  return mmap(place, bytes, protection, flags, file, offset);
}

void* malloc(size_t bytes) noexcept { return fails(k_malloc) ? nullptr : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) noexcept { return fails(k_malloc) ? nullptr : __libc_calloc(count, bytes); }
void* realloc(void* old, size_t bytes) noexcept { return fails(k_malloc) ? nullptr : __libc_realloc(old, bytes); }
void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return fails(k_malloc) ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** place, size_t alignment, size_t bytes) noexcept {
  if (fails(k_malloc)) return ENOMEM;
  *place = __libc_memalign(alignment, bytes);
  return *place != nullptr ? 0 : ENOMEM;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*begin)(void*), void* data) noexcept {
  if (fails(k_thread)) return errno;
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, begin, data);
}

}  // extern "C"
