// Reads of a file past the page cache: a scan of more than the cache holds would evict all of it and find nothing
// there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "data/io/temporary_file.h"

namespace kith::data {

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

}  // namespace kith::data
