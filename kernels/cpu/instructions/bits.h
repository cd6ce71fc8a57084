// Rows of bits against queries in registers: a vector has a word of each of several rows, and adds up the bits that
// they have in common with some queries at a time, whose words are broadcast.
#pragma once

#include "kernels/cpu/instructions/instructions.h"

namespace kith::cpu {

/// V: words (W) of `words` rows, their operations, and add_bits(sum, w), which adds the bits of each word to sums that
/// hold those of up to kMostAdded words; wide_sums() makes numbers of int32 of them.
template <class V>
struct BitCounts {
  using W = typename V::W;
  static constexpr int kQueries = 4, kVectors = kBitLanes / V::words;

  static std::int64_t collect(const BitTask& task, BitHit* hits) {
    const auto* panels = static_cast<const std::uint32_t*>(task.rows);
    const auto* queries = static_cast<const std::uint32_t*>(task.queries);
    std::int64_t found = 0;
    for (std::int64_t panel = 0; panel < task.panels; ++panel) {
      for (std::int64_t q = 0; q < task.count; q += kQueries) {
        for (int v = 0; v < kVectors; ++v) {
          const std::int64_t row = panel * kBitLanes + v * V::words;
          W sums[kQueries];
          add_up(panels + panel * task.words * kBitLanes + v * V::words, queries + q * task.words, task.words, sums);
          for (int k = 0; k < kQueries; ++k) {
            const unsigned mask = V::not_below(sums[k], task.row_bits + row, task.slopes[q + k], task.bounds[q + k]);
            if (mask != 0) found += store(sums[k], mask, row, q + k, hits + found);
          }
        }
      }
    }
    return found;
  }

  static void count(const std::uint32_t* panels, std::int64_t count, std::int64_t words, std::int32_t* out) {
    for (std::int64_t panel = 0; panel < count; ++panel) {
      for (int v = 0; v < kVectors; ++v) {
        W sum = V::none();
        for (std::int64_t first = 0; first < words; first += V::kMostAdded) {
          W part = V::none();
          for (std::int64_t w = first; w < words && w < first + V::kMostAdded; ++w) {
            part = V::add_bits(part, V::load(panels + (panel * words + w) * kBitLanes + v * V::words));
          }
          sum = V::add(sum, V::wide_sums(part));
        }
        V::store(out + panel * kBitLanes + v * V::words, sum);
      }
    }
  }

 private:
  static void add_up(const std::uint32_t* rows, const std::uint32_t* queries, std::int64_t words, W* sums) {
    for (int k = 0; k < kQueries; ++k) sums[k] = V::none();
    for (std::int64_t first = 0; first < words; first += V::kMostAdded) {
      const std::int64_t last = words < first + V::kMostAdded ? words : first + V::kMostAdded;
      W part[kQueries];
      for (int k = 0; k < kQueries; ++k) part[k] = V::none();
      for (std::int64_t w = first; w < last; ++w) {
        const W row = V::load(rows + w * kBitLanes);
        for (int k = 0; k < kQueries; ++k) {
          part[k] = V::add_bits(part[k], V::both(row, V::broadcast(queries + k * words + w)));
        }
      }
      for (int k = 0; k < kQueries; ++k) sums[k] = V::add(sums[k], V::wide_sums(part[k]));
    }
  }

  static std::int64_t store(W sums, unsigned mask, std::int64_t row, std::int64_t query, BitHit* hits) {
    std::int32_t common[V::words];
    V::store(common, sums);
    std::int64_t found = 0;
    for (; mask != 0; mask &= mask - 1) {
      const int lane = __builtin_ctz(mask);
      hits[found++] = {static_cast<std::int32_t>(row + lane), static_cast<std::int32_t>(query), common[lane]};
    }
    return found;
  }
};

/// bit_panels: of rows that a block of the search has.
template <class V>
constexpr BitKernels bit_kernels_of(const char* name, bool (*supported)(), const BitKernels* otherwise) {
  return {.name = name,
          .supported = supported,
          .otherwise = otherwise,
          .queries = BitCounts<V>::kQueries,
          .panels = 16,
          .expanded_bytes = nullptr,
          .expand_rows = nullptr,
          .expand_queries = nullptr,
          .collect = BitCounts<V>::collect,
          .count = BitCounts<V>::count,
          .common = V::common};
}

}  // namespace kith::cpu
