// AMX: the bits that rows and queries have in common as products of tiles of bytes, 0 or 1, added in int32.
//
// A register tile is 16 rows of 64 bytes. The first operand holds 64 bits of each of 16 queries; the second holds the
// same bits of each of 16 rows, four of a row side by side. 32 rows are made bytes of once for all queries, and stay in
// the first-level cache, which queries only pass. A pair of rows of D bits takes D / 1024 cycles of products. Tiles are
// aligned: a row of 64 bytes in two lines of the cache took twice as long.
#include "kernels/cpu/instructions/bits.h"
#include "kernels/cpu/instructions/tiles.h"

namespace kith::cpu {
namespace {

constexpr int kStepBits = 64;  // of a row in a register tile
constexpr std::int64_t kTileBytes = std::int64_t{kSide} * kStepBits;

constexpr std::int64_t steps_of(std::int64_t words) { return (words * kWordBits + kStepBits - 1) / kStepBits; }
std::int64_t expanded_bytes(std::int64_t words) { return steps_of(words) * kStepBits; }

/// out [panel][step][four bits][lane][bit]
void expand_rows(const std::uint32_t* panels, std::int64_t count, std::int64_t words, void* out) {
  alignas(64) std::uint32_t bytes[16];  // of four bits
  for (std::uint32_t n = 0; n < 16; ++n) bytes[n] = (n & 1) | (n & 2) << 7 | (n & 4) << 14 | (n & 8) << 21;
  const __m512i table = _mm512_load_si512(bytes);
  const std::int64_t steps = steps_of(words);
  for (std::int64_t panel = 0; panel < count; ++panel) {
    auto* to = static_cast<std::uint8_t*>(out) + panel * steps * kTileBytes;
    for (std::int64_t w = 0; w < 2 * steps; ++w) {
      __m512i word = w < words ? _mm512_loadu_si512(panels + (panel * words + w) * kBitLanes) : _mm512_setzero_si512();
      for (int quad = 0; quad < kWordBits / 4; ++quad, to += 64) {
        _mm512_storeu_si512(to, _mm512_permutexvar_epi32(word, table));
        word = _mm512_srli_epi32(word, 4);
      }
    }
  }
}

/// out [half of the queries][step][query][bit]
void expand_queries(const std::uint32_t* queries, std::int64_t words, void* out) {
  const std::int64_t steps = steps_of(words);
  for (int q = 0; q < 2 * kSide; ++q) {
    for (std::int64_t s = 0; s < steps; ++s) {
      const std::uint32_t* from = queries + q * words + 2 * s;
      const std::uint64_t bits = from[0] | (2 * s + 1 < words ? std::uint64_t{from[1]} << kWordBits : 0);
      auto* to = static_cast<std::uint8_t*>(out) + (q / kSide * steps + s) * kTileBytes + q % kSide * kStepBits;
      _mm512_storeu_si512(to, _mm512_maskz_set1_epi8(bits, 1));
    }
  }
}

/// Lists the hits of a tile of products, a row for each query.
std::int64_t list_hits(const std::int32_t* products, const BitTask& task, std::int64_t row, std::int64_t query,
                       BitHit* hits) {
  const __m512 row_bits = _mm512_loadu_ps(task.row_bits + row);
  std::int64_t found = 0;
  for (int q = 0; q < kSide; ++q) {
    const __m512i common = _mm512_load_si512(products + q * kSide);
    const __m512 least =
        _mm512_fmsub_ps(_mm512_set1_ps(task.slopes[query + q]), row_bits, _mm512_set1_ps(task.bounds[query + q]));
    for (unsigned mask = _mm512_cmp_ps_mask(_mm512_cvtepi32_ps(common), least, _CMP_GE_OQ); mask != 0;
         mask &= mask - 1) {
      const int lane = __builtin_ctz(mask);
      hits[found++] = {static_cast<std::int32_t>(row + lane), static_cast<std::int32_t>(query + q),
                       products[q * kSide + lane]};
    }
  }
  return found;
}

std::int64_t collect(const BitTask& task, BitHit* hits) {
  configure_thread();
  const std::int64_t steps = steps_of(task.words), bytes = steps * kTileBytes;
  alignas(64) std::int32_t products[4][kSide * kSide];
  std::int64_t found = 0;
  for (std::int64_t q = 0; q < task.count; q += 2 * kSide) {
    for (std::int64_t panel = 0; panel < task.panels; panel += 2) {
      const auto* queries = static_cast<const std::uint8_t*>(task.queries) + q / kSide * bytes;
      const auto* rows = static_cast<const std::uint8_t*>(task.rows) + panel * bytes;
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
      for (std::int64_t s = 0; s < steps; ++s) {
        _tile_stream_loadd(4, queries + s * kTileBytes, kStepBits);
        _tile_loadd(6, rows + s * kTileBytes, kStepBits);
        _tile_stream_loadd(5, queries + bytes + s * kTileBytes, kStepBits);
        _tile_loadd(7, rows + bytes + s * kTileBytes, kStepBits);
        _tile_dpbuud(0, 4, 6);
        _tile_dpbuud(1, 4, 7);
        _tile_dpbuud(2, 5, 6);
        _tile_dpbuud(3, 5, 7);
      }
      _tile_stored(0, products[0], kStepBits);
      _tile_stored(1, products[1], kStepBits);
      _tile_stored(2, products[2], kStepBits);
      _tile_stored(3, products[3], kStepBits);
      for (int t = 0; t < 4; ++t) {
        found += list_hits(products[t], task, (panel + t % 2) * kBitLanes, q + t / 2 * kSide, hits + found);
      }
    }
  }
  return found;
}

bool supported() {
  constexpr unsigned kInt8 = 1U << 25;
  return kPopcountBits.supported() && has_tiles(kInt8);
}

void count(const std::uint32_t* panels, std::int64_t panel_count, std::int64_t words, std::int32_t* out) {
  kPopcountBits.count(panels, panel_count, words, out);
}
std::int64_t common(const std::uint8_t* x, const std::uint8_t* y, std::int64_t bytes) {
  return kPopcountBits.common(x, y, bytes);
}

}  // namespace

const BitKernels kTileBits{.name = "tiles",
                           .supported = supported,
                           .otherwise = &kPopcountBits,
                           .queries = 2 * kSide,
                           .panels = 2,
                           .expanded_bytes = expanded_bytes,
                           .expand_rows = expand_rows,
                           .expand_queries = expand_queries,
                           .collect = collect,
                           .count = count,
                           .common = common};

}  // namespace kith::cpu
