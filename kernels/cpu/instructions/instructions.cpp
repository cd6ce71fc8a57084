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
// Best first. bfloat16 products without AMX measured slower than float32.
constexpr std::array<const Instructions*, 6> kTable{&kAmx, &kVnni, &kAvx512, &kBf16, &kAvx2, &kPlain};
#elif defined(__aarch64__)
constexpr std::array<const Instructions*, 2> kTable{&kNeon, &kPlain};
#else
constexpr std::array<const Instructions*, 1> kTable{&kPlain};
#endif

}  // namespace

std::span<const Instructions* const> instruction_sets() { return kTable; }

const Instructions& instructions() {
  const char* forced = std::getenv("KITH_CPU");
  std::string names;
  for (const Instructions* set : kTable) {
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
