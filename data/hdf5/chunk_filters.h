// Decodes the filters of an HDF5 chunk within known sizes. HDF5 1.10 itself reads past the end of a damaged chunk that
// inflates to too few bytes, and lets one that inflates to too many fill the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kith::data {

struct FilterStep {
  enum Kind { shuffle, deflate, fletcher32, lzf, zstd } kind = shuffle;
  std::int64_t element_bytes = 1;  // of shuffle
};
constexpr FilterStep::Kind last_value(FilterStep::Kind) { return FilterStep::zstd; }
template <class Archive>
void each_field(Archive& archive, FilterStep& step) {
  archive(step.kind, step.element_bytes);
}

/// The numbers that the HDF Group has registered for filters which the library lacks and ChunkDecoder decodes; zstd
/// only if kith was built with libzstd.
constexpr int kLzfFilter = 32000, kZstdFilter = 32015;

/// Decodes deflate, lzf or zstd to at most `max_bytes` bytes. Returns a description of the damage, or "".
std::string unpack(FilterStep::Kind kind, const std::vector<std::byte>& in, std::vector<std::byte>& out,
                   std::size_t max_bytes);

/// Decodes chunks one after another and reuses its memory.
class ChunkDecoder {
 public:
  /// The buffer for a chunk of `size` stored bytes; fill it before decode().
  std::byte* stored(std::int64_t size);
  /// Inverts the steps, last first, except those whose bit is set in `skipped`. Returns a description of the damage, or
  /// "" if the chunk decodes to exactly `expected` bytes.
  std::string decode(std::span<const FilterStep> steps, std::uint32_t skipped, std::int64_t expected);
  const std::byte* decoded() const { return bytes_.data(); }

 private:
  std::string invert(const FilterStep& step, std::size_t max_bytes);

  std::vector<std::byte> bytes_;
  std::vector<std::byte> other_;  // the output of a step
};

}  // namespace kith::data
