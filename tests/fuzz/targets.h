// What is fuzzed: readers of files and of options, each as a function of bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace kith::fuzz {

/// The memory limit of the readers.
constexpr std::int64_t kMemory = std::int64_t{64} << 20;

struct Target {
  const char* name;  // also of its folder of seeds and its dictionary
  /// Ends normally for every input. Whatever but kith::Error leaves it, or a crash, is a defect.
  void (*run)(std::string_view bytes);
};

std::span<const Target> targets();

/// Sets the memory limit of the readers and the folder of their files. Call it once.
void prepare();

}  // namespace kith::fuzz
