// Bytes that arrive one after another, from a stream or from a decoder: in memory, or in a scratch file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/io/input_bytes.h"
#include "data/io/scratch_file.h"

namespace kith::data {

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
