// Arrays that nobody has touched when they are made: the threads that fill them do, each in the memory near it.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/large_pages.h"

namespace kith::cpu {

/// Leaves elements uninitialised.
template <class T>
struct UntouchedAllocator {
  using value_type = T;

  UntouchedAllocator() = default;
  template <class U>
  UntouchedAllocator(const UntouchedAllocator<U>&) {}  // NOLINT: allocators convert

  T* allocate(std::size_t count) { return static_cast<T*>(allocate_pages(count * sizeof(T))); }
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
