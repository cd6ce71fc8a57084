// Creates temporary files and lock files without following links, and removes those that killed processes left behind.
#include "data/io/temporary_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace kith::data {
namespace {

/// A temporary file of this process, in memory that a signal handler may read at any moment.
struct Slot {
  enum State : int { free, claimed, named };
  std::atomic<int> state{free};
  int directory = -1;
  char name[NAME_MAX + 1] = {};
};
constexpr int kSlots = 16;
Slot slots[kSlots];
std::atomic<bool> named_files{false};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler reads the state");

int claim_slot(int directory, const std::string& name) {
  for (int i = 0; i < kSlots; ++i) {
    int expected = Slot::free;
    if (!slots[i].state.compare_exchange_strong(expected, Slot::claimed)) continue;
    slots[i].directory = directory;
    std::memcpy(slots[i].name, name.c_str(), name.size() + 1);
    slots[i].state.store(Slot::named);
    return i;
  }
  return -1;
}

constexpr std::string_view kEnding = ".part";
constexpr int kRandomDigits = 16;

/// ".NAME.PROCESS-RANDOM.part", within the length limit of file names. The process number is for people who look at
/// the directory; the random part makes the name unique.
std::string temporary_name(const std::string& target) {
  constexpr std::size_t max_name_bytes = 200;
  std::random_device random;
  return fmt::format(".{}.{}-{:08x}{:08x}{}", target.substr(0, max_name_bytes), getpid(), random(), random(), kEnding);
}

/// The name of a LockFile: one of the temporary names, so that stale ones are removed, and always the same.
std::string lock_name(const std::string& target) {
  constexpr std::size_t max_name_bytes = 200;
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, for names that differ only behind the first 200 bytes
  for (const char c : target) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format(".{}.0-{:016x}{}", target.substr(0, max_name_bytes), hash, kEnding);
}

/// Whether temporary_name() or lock_name() can have made this name.
bool is_temporary_name(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(kEnding)) return false;
  name.remove_suffix(kEnding.size());
  const auto dash = name.rfind('-'), dot = name.rfind('.');
  if (dash == name.npos || dot == 0 || dot > dash) return false;
  const std::string_view process = name.substr(dot + 1, dash - dot - 1), random = name.substr(dash + 1);
  return !process.empty() && process.find_first_not_of("0123456789") == process.npos &&
         random.size() == kRandomDigits && random.find_first_not_of("0123456789abcdef") == random.npos;
}

bool is_same(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

/// Whether the name in the directory stands for the open file.
bool is_named(int file, int directory, const std::string& name) {
  struct stat opened {
  }, named{};
  return fstat(file, &opened) == 0 && fstatat(directory, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         is_same(opened, named);
}

/// Removes the file if it belongs to this user and no process holds its lock. Holding the lock ourselves meanwhile
/// makes the process that is about to lock a new file see that it was removed.
void remove_if_stale(int directory, const char* name) {
  const Descriptor file(openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat opened {
  }, named{};
  if (!file || fstat(file.get(), &opened) != 0 || !S_ISREG(opened.st_mode) || opened.st_uid != geteuid()) return;
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) return;
  const bool unchanged = fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && is_same(opened, named);
  if (unchanged) unlinkat(directory, name, 0);
}

/// Whether this process has searched the directory within the last seconds, as one that writes many files there has.
bool was_searched(int directory) {
  constexpr int kFirstSearches = 8;  // in a row, for whom it matters more what is left behind
  constexpr auto kSoon = std::chrono::seconds(5);
  static std::mutex mutex;
  static struct stat last {};
  static std::chrono::steady_clock::time_point until;
  static int searches = 0;
  struct stat status {};
  const std::lock_guard lock(mutex);
  if (fstat(directory, &status) != 0) return false;
  searches = is_same(status, last) ? searches + 1 : 0;
  last = status;
  const auto now = std::chrono::steady_clock::now();
  if (searches >= kFirstSearches && now < until) return true;
  until = now + kSoon;
  return false;
}

void remove_stale_files(int directory) {
  if (was_searched(directory)) return;
  const int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return;  // the directory may be writable but not readable
  const std::unique_ptr<DIR, int (*)(DIR*)> list(fdopendir(copy), &closedir);
  if (!list) {
    close(copy);
    return;
  }
  constexpr int kMostEntries = 20'000;  // 2 ms
  for (int entries = 0; entries < kMostEntries; ++entries) {
    const dirent* entry = readdir(list.get());
    if (entry == nullptr) return;
    if (is_temporary_name(entry->d_name)) remove_if_stale(directory, entry->d_name);
  }
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

int Descriptor::release() { return std::exchange(number_, -1); }

std::int64_t write_at(int descriptor, std::int64_t at, const void* bytes, std::int64_t count) {
  const auto* from = static_cast<const std::byte*>(bytes);
  std::int64_t done = 0;
  while (done < count) {
    const ssize_t written = pwrite(descriptor, from + done, static_cast<std::size_t>(count - done), at + done);
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) break;
    done += written;
  }
  return done;
}

std::int64_t missing_space(int descriptor, std::int64_t bytes) {
  struct statvfs space {};
  // Some file systems do not know their size and report 0.
  if (fstatvfs(descriptor, &space) != 0 || space.f_blocks == 0) return 0;
  const double free = static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
  return static_cast<double>(bytes) <= free ? 0 : bytes - static_cast<std::int64_t>(free);
}

bool remove_temporary_files_from_signal() noexcept {
  bool removed = false;
  for (auto& slot : slots) {
    if (slot.state.load() == Slot::named && unlinkat(slot.directory, slot.name, 0) == 0) removed = true;
  }
  return removed;
}

TemporaryFile::TemporaryFile(int directory, const std::string& target, mode_t mode) : directory_(directory) {
  remove_stale_files(directory);
  constexpr int kTries = 10;  // more only if somebody keeps replacing the files
  for (int tries = 0; tries < kTries; ++tries) {
    name_ = temporary_name(target);
    if (create(mode)) return;
  }
  throw std::system_error(EBUSY, std::generic_category());
}

/// Returns false if another process took the new file for a stale one before it was locked.
bool TemporaryFile::create(mode_t mode) {
  // The slot holds the name before the file exists, so that a signal at any time removes it. O_EXCL ensures that the
  // file is new and no link.
  slot_ = claim_slot(directory_, name_);
  if (slot_ < 0) throw std::system_error(EMFILE, std::generic_category());
  file_ = Descriptor(openat(directory_, name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  const int error = file_ ? 0 : errno;
  // File systems without locks let nobody take the file for stale either.
  const bool locked = file_ && (flock(file_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK);
  if (locked && is(name_)) return true;
  slots[std::exchange(slot_, -1)].state.store(Slot::free);
  file_ = Descriptor();
  if (error != 0) throw std::system_error(error, std::generic_category());
  return false;
}

TemporaryFile::~TemporaryFile() {
  if (slot_ < 0) return;
  // If the name stands for another file, somebody else put it there, and it is not ours to remove.
  if (is(name_) && unlinkat(directory_, name_.c_str(), 0) != 0) {
    fmt::print(stderr, "kith: {} could not be removed: {}\n", name_, std::strerror(errno));
  }
  slots[slot_].state.store(Slot::free);
}

bool TemporaryFile::is(const std::string& name) const { return is_named(file_.get(), directory_, name); }

bool has_named_files() noexcept { return named_files.load(); }

bool TemporaryFile::rename_to(const std::string& target, bool replace) {
  named_files.store(true);
  int result = -1;
  if (replace) {
    result = renameat(directory_, name_.c_str(), directory_, target.c_str());
  } else {
    result = renameat2(directory_, name_.c_str(), directory_, target.c_str(), RENAME_NOREPLACE);
    // Some file systems cannot rename without replacing; there a check just before the renaming has to be enough.
    if (result != 0 && errno == EINVAL && faccessat(directory_, target.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0)
      result = renameat(directory_, name_.c_str(), directory_, target.c_str());
  }
  if (result != 0) return false;
  slots[std::exchange(slot_, -1)].state.store(Slot::free);
  return true;
}

LockFile::LockFile(int directory, const std::string& target) : directory_(directory), name_(lock_name(target)) {
  constexpr int kTries = 20;  // a process that removes stale files holds the lock for a moment
  state_ = take();
  for (int tries = 1; tries < kTries && state_ == State::taken; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    state_ = take();
  }
  if (state_ == State::held) slot_ = claim_slot(directory_, name_);
}

LockFile::State LockFile::take() {
  constexpr mode_t kOwnerOnly = 0600;
  file_ =
      Descriptor(openat(directory_, name_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kOwnerOnly));
  if (!file_) throw std::system_error(errno, std::generic_category());
  if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return State::taken;
    unlinkat(directory_, name_.c_str(), 0);
    return State::not_locked;
  }
  // The process that held the lock may have removed the file after it was opened here.
  return is_named(file_.get(), directory_, name_) ? State::held : State::taken;
}

LockFile::~LockFile() {
  if (state_ != State::held) return;
  if (is_named(file_.get(), directory_, name_)) unlinkat(directory_, name_.c_str(), 0);
  if (slot_ >= 0) slots[slot_].state.store(Slot::free);
}

}  // namespace kith::data
