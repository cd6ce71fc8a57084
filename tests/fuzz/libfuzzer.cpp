// One target as libFuzzer calls it (https://llvm.org/docs/LibFuzzer.html); KITH_FUZZ_TARGET names it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const kith::fuzz::Target* target = [] {
    kith::fuzz::prepare();
    for (const kith::fuzz::Target& known : kith::fuzz::targets()) {
      if (std::string_view(known.name) == KITH_FUZZ_TARGET) return &known;
    }
    std::abort();
  }();
  target->run({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
