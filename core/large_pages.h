// Memory for large arrays: aligned, not initialised, and in large pages where the system has them.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace kith {

/// At least `bytes` of memory, 64-byte aligned, for std::free. Large arrays ask for large pages: first touches and
/// walks through them then cost less. Throws std::bad_alloc.
inline void* allocate_pages(std::size_t bytes) {
  constexpr std::size_t kLine = 64, kPage = std::size_t{1} << 21;
  const std::size_t unit = bytes < 2 * kPage ? kLine : kPage;
  void* memory = bytes > SIZE_MAX - unit ? nullptr : std::aligned_alloc(unit, (bytes / unit + 1) * unit);
  if (memory == nullptr) throw std::bad_alloc();
  if (unit == kPage) madvise(memory, bytes, MADV_HUGEPAGE);  // a hint: small pages do as well
  return memory;
}

}  // namespace kith
