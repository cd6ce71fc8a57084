// A temporary file next to an output, held by descriptors: nobody else can put another file in its place unnoticed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace kith::data {

/// A descriptor that is closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  int release();

 private:
  int number_ = -1;
};

/// Writes bytes at .. at + count - 1 of an open file. Returns how many it wrote; errno tells the reason if some are
/// missing.
std::int64_t write_at(int descriptor, std::int64_t at, const void* bytes, std::int64_t count);

/// How many of these bytes the file system of an open file has no space for; 0 if it does not know.
std::int64_t missing_space(int descriptor, std::int64_t bytes);

/// Removes the temporary files of this process. Returns whether there was one. Async-signal-safe.
bool remove_temporary_files_from_signal() noexcept;

/// Whether a file of this process has got its final name, or is about to. Async-signal-safe.
bool has_named_files() noexcept;

/// A hidden file with a name that nobody can guess, in an open directory. The process holds a lock on it (flock) until
/// the end, so that a later process recognises the files of processes that were killed: nobody holds their locks. The
/// constructor removes such files of this user from the directory. The destructor and
/// remove_temporary_files_from_signal() remove the file unless it was renamed.
class TemporaryFile {
 public:
  /// directory: open during the lifetime of the object. target: the name of the output, without directories.
  /// Throws std::system_error with the reason if the file cannot be created.
  TemporaryFile(int directory, const std::string& target, mode_t mode);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int descriptor() const { return file_.get(); }
  const std::string& name() const { return name_; }
  /// Whether the name in the directory, this one or another, stands for this very file.
  bool is(const std::string& name) const;
  /// Renames the file in its directory; errno tells the reason if that fails. Without `replace` an existing file of
  /// that name is an error, EEXIST.
  bool rename_to(const std::string& target, bool replace);

 private:
  bool create(mode_t mode);

  int directory_;
  std::string name_;
  Descriptor file_;
  int slot_ = -1;  // in the table that the signal handler reads
};

/// A hidden file that says, by its lock (flock), that a process uses the file beside it. The lock ends with the
/// process, however that ends. What a killed process leaves of the file is one more temporary file that the next one
/// removes.
class LockFile {
 public:
  enum class State {
    held,
    taken,       // another process holds it
    not_locked,  // the file system has no locks
  };

  /// directory: open during the lifetime of the object. target: the name of the file that is used, without directories.
  /// Throws std::system_error with the reason if the file cannot be created.
  LockFile(int directory, const std::string& target);
  /// Removes the file if the lock is held.
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  State state() const { return state_; }

 private:
  State take();

  int directory_;
  std::string name_;
  Descriptor file_;
  State state_;
  int slot_ = -1;  // as that of a TemporaryFile
};

}  // namespace kith::data
