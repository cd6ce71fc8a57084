// The table of backends, best first.
#include "kernels/backends.h"

#include <array>

namespace kith {

std::span<const BackendEntry> backends() {
  static constexpr std::array<BackendEntry, 2> table{{
      {"cuda", "NVIDIA GPUs, compute capability 7.5 and later", true, cuda::missing, cuda::open, cuda::machine,
       cuda::rows_on_gpu},
      {"cpu", "any x86-64 or arm64 processor, all threads", false, cpu::missing, cpu::open, cpu::machine, nullptr},
  }};
  return table;
}

}  // namespace kith
