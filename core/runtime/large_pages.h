// Memory for large arrays: aligned, in huge pages where available, spread over the NUMA nodes, and not initialised, so
// that the threads that fill it touch it first.
#pragma once

#include <sched.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace kith {

/// The NUMA nodes of these processors, ascending, read from `folder` (/sys/devices/system/node). Empty if the system
/// lists none.
std::vector<int> numa_nodes_of(const cpu_set_t& processors, const std::string& folder);

/// The number of NUMA nodes whose processors this process may use, as of the first call. 1 if the system reports no
/// nodes, and if a memory policy was set from outside (numactl), which then takes precedence.
int numa_nodes();

/// The node of the processor that the calling thread currently runs on, 0 <= node < numa_nodes().
int current_numa_node();

/// Asks the system to place the untouched pages of `memory` on the nodes in equal contiguous parts, whichever thread
/// touches them first. This is only a hint: if a node is full or a container forbids it, only speed changes. memory: a
/// multiple of `page`. Does nothing if numa_nodes() is 1.
void spread_over_numa_nodes(void* memory, std::size_t bytes, std::size_t page);

/// At least `bytes` of memory, 64-byte aligned, to be released by std::free. Large arrays use huge pages, which make
/// page faults and address translation cheaper. Each NUMA node gets an equal part of a large array: the rows that its
/// threads process first (core/runtime/threads.h). Throws std::bad_alloc.
inline void* allocate_pages(std::size_t bytes) {
  constexpr std::size_t kLine = 64, kPage = std::size_t{1} << 21;
  const std::size_t unit = bytes < 2 * kPage ? kLine : kPage;
  void* memory = bytes > SIZE_MAX - unit ? nullptr : std::aligned_alloc(unit, (bytes / unit + 1) * unit);
  if (memory == nullptr) throw std::bad_alloc();
  if (unit == kPage) {
    madvise(memory, bytes, MADV_HUGEPAGE);  // only a hint
    spread_over_numa_nodes(memory, bytes, kPage);
  }
  return memory;
}

/// An allocator that does not initialise elements.
template <class T>
struct UninitializedAllocator {
  using value_type = T;

  UninitializedAllocator() = default;
  template <class U>
  UninitializedAllocator(const UninitializedAllocator<U>&) {}  // NOLINT: allocators convert

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
  bool operator==(const UninitializedAllocator&) const { return true; }
};

/// A vector whose resize() does not initialise.
template <class T>
using UninitializedVector = std::vector<T, UninitializedAllocator<T>>;

}  // namespace kith
