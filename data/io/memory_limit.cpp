// Holds the limit for the whole process.
#include "data/io/memory_limit.h"

#include <atomic>

#include "data/io/physical_memory.h"

namespace kith::data {
namespace {

std::atomic<std::int64_t> limit{0};  // 0: none was given

}  // namespace

std::int64_t memory_limit() {
  const std::int64_t given = limit;
  return given > 0 ? given : physical_memory();
}

void set_memory_limit(std::int64_t bytes) { limit = bytes; }

}  // namespace kith::data
