// Philox4x32-10, a counter-based random generator: (seed, stream, draw) determines each number on every machine.
//
// J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
#pragma once

#include <array>
#include <cstdint>

namespace kith {

/// Four random words for the counter (draw, stream) and the key `seed`.
inline std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t draw) {
  std::uint32_t c0 = static_cast<std::uint32_t>(draw), c1 = static_cast<std::uint32_t>(draw >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(stream), c3 = static_cast<std::uint32_t>(stream >> 32);
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0;
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c2;
    const std::uint32_t n0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const std::uint32_t n2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(p1);
    c3 = static_cast<std::uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

/// Sixty-four random bits: output words 0 (low) and 1 (high).
inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t draw) {
  const auto w = philox(seed, stream, draw);
  return w[0] | (std::uint64_t{w[1]} << 32);
}

/// A random number in [0, total): the high 64 bits of (64 random bits x total).
inline std::int64_t random_below(std::uint64_t seed, std::uint64_t stream, std::uint64_t draw, std::int64_t total) {
  const auto wide = static_cast<unsigned __int128>(random_bits(seed, stream, draw)) * static_cast<std::uint64_t>(total);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(wide >> 64));
}

}  // namespace kith
