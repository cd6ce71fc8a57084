// The bytes of an input: a regular file, or memory or a scratch file with a stream or an inflated file.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/points/matrix.h"
#include "data/io/temporary_file.h"

namespace kith::data {

/// Reads bytes at .. at + count - 1 of an open file. Thread-safe. Returns the reason for a failure, or "".
std::string read_at(int descriptor, std::int64_t at, std::int64_t count, std::byte* out);

/// Size and modification time of an open file, to detect that it changed while it was read.
class FileState {
 public:
  FileState() = default;
  /// `file` is the name for messages. Throws Error(data).
  FileState(int descriptor, const std::string& file);
  std::int64_t size() const { return size_; }
  /// Throws Error(data) if the file has changed.
  void check_unchanged(int descriptor, const std::string& file) const;
  bool operator==(const FileState&) const = default;
  template <class Archive>
  friend void each_field(Archive& archive, FileState& state) {
    archive(state.size_, state.modified_ns_);
  }

 private:
  std::int64_t size_ = 0;
  std::int64_t modified_ns_ = 0;
};

class DirectReads;

class InputBytes {
 public:
  /// Opens a regular file. Throws Error(data) if it is missing, not readable, or not regular; `expected` describes it
  /// in the message ("a NumPy array").
  static InputBytes open(const std::string& file, const std::string& expected);
  /// Takes bytes from memory; `name` is for messages.
  static InputBytes held(std::string name, std::vector<std::byte> bytes);
  /// Takes an open file that nobody else changes; `name` is for messages.
  static InputBytes stored(std::string name, Descriptor file);
  InputBytes(InputBytes&& other) noexcept;
  InputBytes& operator=(InputBytes&& other) noexcept;
  ~InputBytes();

  /// Marks the bytes as the text of a table in another format: kith has written them, with commas between columns, a
  /// header and quotation marks. rows_are_lines: no text has a line end.
  void mark_as_own_text(bool rows_are_lines) { own_text_ = rows_are_lines ? OwnText::of_lines : OwnText::other; }
  bool is_own_text() const { return own_text_ != OwnText::no; }
  /// Whether line i + 1 is row i of the table, both counted from 1.
  bool has_own_lines() const { return own_text_ == OwnText::of_lines; }
  const std::string& name() const { return name_; }
  std::int64_t size() const { return descriptor_ >= 0 ? state_.size() : static_cast<std::int64_t>(memory_.size()); }
  /// The user to whom the open file belongs.
  uid_t owner() const;
  /// Bytes of memory in use; 0 for a file.
  std::int64_t held_bytes() const { return static_cast<std::int64_t>(memory_.capacity()); }
  /// The open file, or one in memory with these bytes, for another process. Throws Error(memory).
  Descriptor shared() const;
  /// Bytes at .. at + count - 1. Thread-safe. Throws Error(data) if the input is shorter.
  void read(std::int64_t at, std::int64_t count, std::byte* out) const;
  /// The same, but returns the reason for a failure, or "".
  std::string try_read(std::int64_t at, std::int64_t count, std::byte* out) const;
  /// From now on bytes from this position on are read past the page cache, if the file system can do so. No read may be
  /// in progress.
  void bypass_cache_from(std::int64_t at);
  /// The first bytes, at most `count`.
  std::string begin(std::int64_t count) const;
  /// Throws Error(data) if the file has changed since it was opened.
  void check_unchanged() const;
  /// Throws Error(data) unless this file had `state` when it was opened, in another process.
  void require_state(const FileState& state) const { state.check_unchanged(descriptor_, name_); }

 private:
  InputBytes();

  std::string name_;
  int descriptor_ = -1;
  FileState state_;
  std::vector<std::byte> memory_;
  std::unique_ptr<DirectReads> direct_;  // null: all reads are those of the page cache
  enum class OwnText { no, of_lines, other } own_text_ = OwnText::no;
};

// Reads of a file past the page cache: a scan of more than the cache holds would evict all of it and find nothing
// there.

/// Reads whole blocks of the file system (O_DIRECT) into buffers, and copies the wanted bytes from there. Where the
/// file system cannot do so, reads are those of the page cache.
class DirectReads {
 public:
  /// file: an open descriptor, which must stay open. from: bytes before this position are read through the page cache.
  DirectReads(int file, std::int64_t from);

  /// As read_at(). Thread-safe.
  std::string read(std::int64_t at, std::int64_t count, std::byte* out);
  /// Whether the file system has taken part so far.
  bool is_direct() const { return direct_; }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  using Buffer = std::unique_ptr<std::byte, Free>;
  Buffer take();
  void release(Buffer buffer);
  /// Returns the number of bytes that were copied, or -1 if the file system refuses.
  std::int64_t read_piece(std::byte* buffer, std::int64_t at, std::int64_t count, std::byte* out) const;

  int cached_;
  Descriptor uncached_;
  std::int64_t from_;
  std::atomic<bool> direct_;
  std::mutex mutex_;
  std::vector<Buffer> buffers_;  // not in use
};

/// Calls read(block, buffer) for every block in [0, blocks). Each thread reuses one buffer for all of its blocks.
/// Blocks start in order. If several blocks throw, the exception of the lowest one is rethrown, as if one thread had
/// read all blocks; no later block starts. If the system provides fewer threads, the function uses those that it gets.
/// `least`: fewer blocks for each thread are not worth the thread.
void read_in_blocks(std::int64_t blocks, int threads,
                    const std::function<void(std::int64_t block, Matrix<std::byte>& buffer)>& read,
                    std::int64_t least = 8);

}  // namespace kith::data
