// Temporary data of a run in a folder that the user names, in files that vanish with the process; and bytes that arrive
// one after another, from a stream or a decoder, in memory or in such a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/io/input_bytes.h"
#include "data/io/temporary_file.h"

namespace kith::data {

/// A file without a name: nothing stays behind, however the process ends. Every function throws Error(output) with the
/// folder and the system's reason.
class ScratchFile {
 public:
  /// Creates a file in `folder` and removes its name at once. A process that is killed in between leaves a file that
  /// the next one removes (TemporaryFile).
  explicit ScratchFile(std::string folder);

  /// Throws unless the file system has this many bytes free.
  void require_space(std::int64_t bytes) const;
  void write(std::int64_t at, const void* bytes, std::int64_t count);
  /// Bytes at .. at + count - 1, which have been written. Thread-safe.
  void read(std::int64_t at, std::int64_t count, void* out) const;
  /// As InputBytes::bypass_cache_from().
  void bypass_cache_from(std::int64_t at) { direct_ = std::make_unique<DirectReads>(file_.get(), at); }
  /// The end of the bytes that have been written.
  std::int64_t size() const { return size_; }
  /// Gives the open file away.
  Descriptor release() { return std::move(file_); }

 private:
  [[noreturn]] void fail(const std::string& why) const;

  std::string folder_;
  Descriptor file_;
  std::unique_ptr<DirectReads> direct_;  // null: all reads are those of the page cache
  std::int64_t size_ = 0;
};

/// Whether data of this size stay in memory: always without a scratch folder, else up to a quarter of the memory.
bool stays_in_memory(std::int64_t bytes, const std::string& scratch);

class ByteStore {
 public:
  static constexpr std::size_t kStep = std::size_t{1} << 20;

  /// name: for messages. scratch: a folder, or empty. expected: the number of bytes, if it is known.
  ByteStore(std::string name, std::string scratch, std::int64_t expected = 0);

  /// Where the next bytes go: at least kStep bytes, or all that are expected and missing. Throws as require_memory()
  /// and ScratchFile do.
  std::span<std::byte> next();
  /// The first `count` bytes of next() have arrived.
  void add(std::size_t count) { used_ += count; }
  void append(std::string_view text);
  std::int64_t size() const { return flushed_ + static_cast<std::int64_t>(used_); }
  /// All bytes under the name. shrink: memory beyond them is given back, which takes a copy.
  InputBytes finish(bool shrink = false);

 private:
  void flush();

  std::string name_, scratch_;
  std::size_t expected_;
  std::vector<std::byte> bytes_;
  std::size_t used_ = 0;      // of bytes_
  std::int64_t flushed_ = 0;  // bytes in the file
  std::optional<ScratchFile> file_;
};

}  // namespace kith::data
