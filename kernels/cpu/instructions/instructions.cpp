// Chooses the instruction set: the best supported one, or the one that KITH_CPU names.
#include "kernels/cpu/instructions/instructions.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.h"

namespace kith::cpu {
namespace {

#if defined(__x86_64__)
/// AVX-512 with other products. This file runs on any processor, so it is here that tables are copied.
Instructions avx512_with(const LowPrecision& products, const Instructions* finer, const BitKernels* bit_tiles) {
  Instructions set = kAvx512;
  set.name = products.name;
  set.summary = products.summary;
  set.supported = products.supported;
  set.low_precision = products.screen;
  set.finer = finer;
  set.bit_tiles = bit_tiles;
  return set;
}
#endif

}  // namespace

std::span<const Instructions* const> instruction_sets() {
#if defined(__x86_64__)
  static const Instructions vnni = avx512_with(kVnni, nullptr, nullptr);
  static const Instructions bf16 = avx512_with(kBf16, &vnni, nullptr);
  static const Instructions amx = avx512_with(kAmx, &vnni, &kTileBits);
  // Best first. bfloat16 products without AMX measured slower than float32.
  static const std::array<const Instructions*, 6> table{&amx, &vnni, &kAvx512, &bf16, &kAvx2, &kPlain};
#elif defined(__aarch64__)
  static constexpr std::array<const Instructions*, 2> table{&kNeon, &kPlain};
#else
  static constexpr std::array<const Instructions*, 1> table{&kPlain};
#endif
  return table;
}

const Instructions& instructions() {
  const char* forced = std::getenv("KITH_CPU");
  std::string names;
  for (const Instructions* set : instruction_sets()) {
    if (forced == nullptr || *forced == '\0') {
      if (set->supported()) return *set;
    } else if (std::string_view(forced) == set->name) {
      if (set->supported()) return *set;
      throw Error(ExitCode::device,
                  fmt::format("KITH_CPU={}: this processor does not have it; unset KITH_CPU", forced));
    }
    names += names.empty() ? set->name : fmt::format(", {}", set->name);
  }
  throw Error(ExitCode::usage, fmt::format("KITH_CPU={}: expected one of {}; or unset it", forced, names));
}

}  // namespace kith::cpu
