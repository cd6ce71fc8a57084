// Temporary data of a run in a folder that the user names, in files that vanish with the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "data/io/direct_reads.h"
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

}  // namespace kith::data
