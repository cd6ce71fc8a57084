// Undoing the filters of an HDF5 chunk, within known sizes. HDF5 1.10 itself lets a damaged chunk that inflates to too
// few bytes be read past its end, and one that inflates to too many fill the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kith::data {

struct FilterStep {
  enum Kind { shuffle, deflate, fletcher32 } kind;
  std::int64_t element_bytes = 1;  // of shuffle
};

/// A chunk being decoded; kept between chunks so that memory is asked for once.
class ChunkDecoder {
 public:
  /// Where a chunk of `size` stored bytes is to be put before decode().
  std::byte* stored(std::int64_t size);
  /// Undoes the steps, last first, but for those whose bit is set in `skipped`. Returns what is wrong with the chunk,
  /// nothing if it decodes to exactly `expected` bytes.
  std::string decode(std::span<const FilterStep> steps, std::uint32_t skipped, std::int64_t expected);
  const std::byte* decoded() const { return bytes_.data(); }

 private:
  std::string undo(const FilterStep& step, std::size_t most);

  std::vector<std::byte> bytes_;
  std::vector<std::byte> other_;  // the output of a step
};

}  // namespace kith::data
