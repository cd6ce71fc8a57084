// Arrays that nobody has touched when they are made: the threads that fill them do, each in the memory near it.
#pragma once

#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace kith::cpu {

/// Leaves elements uninitialised; large arrays ask for large pages, so that first touches cost little.
template <class T>
struct UntouchedAllocator {
  using value_type = T;

  UntouchedAllocator() = default;
  template <class U>
  UntouchedAllocator(const UntouchedAllocator<U>&) {}  // NOLINT: allocators convert

  T* allocate(std::size_t count) {
    constexpr std::size_t kPage = std::size_t{1} << 21;
    const std::size_t bytes = count * sizeof(T), unit = bytes < 2 * kPage ? 64 : kPage;
    void* memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
    if (memory == nullptr) throw std::bad_alloc();
    if (unit == kPage) madvise(memory, bytes, MADV_HUGEPAGE);  // a hint: small pages do as well
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }

  template <class U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Values>
  void construct(U* at, Values&&... values) {
    ::new (static_cast<void*>(at)) U(std::forward<Values>(values)...);
  }
  bool operator==(const UntouchedAllocator&) const { return true; }
};

/// resize() does not initialise.
template <class T>
using Untouched = std::vector<T, UntouchedAllocator<T>>;

}  // namespace kith::cpu
