// The distinct colours of a picture and how many pixels have each: k-means of them, as weighted rows, is that of all
// pixels (docs/contract.md, Weights). One pass over the pixels to count, one to label; 8-bit colours are counted in a
// table of 2^24 entries, others are sorted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/pixel.h"
#include "kernels/cpu/runtime/threads.h"

namespace kith::cpu {

class DistinctColors {
 public:
  /// Transparent pixels (alpha 0) are left out. bits: 8 or 16 per channel. `pixels` must outlive the object.
  DistinctColors(std::span<const Pixel> pixels, int bits, Threads& threads);

  std::int64_t size() const { return static_cast<std::int64_t>(keys_.size()); }
  std::int64_t pixels() const { return visible_; }  // that are not transparent
  Pixel color(std::int64_t i) const;                // in ascending order
  /// (size) number of pixels of each colour.
  const std::vector<double>& counts() const { return counts_; }
  /// out: (n) labels[i] of the colour of each pixel; -1 for transparent ones.
  void spread(std::span<const std::int32_t> labels, std::span<std::int32_t> out) const;

 private:
  std::span<const Pixel> pixels_;
  Threads& threads_;
  std::int64_t visible_ = 0;
  std::vector<std::uint64_t> keys_;  // ascending
  std::vector<double> counts_;
  std::vector<std::int32_t> row_of_;  // (2^24) of 8-bit colours; empty: keys are searched
};

}  // namespace kith::cpu
