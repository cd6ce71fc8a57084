// Lists of neighbours on the device, the order of their entries, and places of entries in merged lists.
#pragma once

#include <cstdint>

namespace kith::cuda {

/// A list per query, ordered by (distance, index); unfilled entries are (+inf, -1).
struct DeviceLists {
  double* distance = nullptr;     // (queries, k)
  std::int64_t* index = nullptr;  // (queries, k)
};

/// Order of list entries, by (distance, index). The index -1 of an unfilled entry is larger than all others.
__device__ inline bool before(double a_distance, std::int64_t a_index, double b_distance, std::int64_t b_index) {
  if (a_distance != b_distance) return a_distance < b_distance;
  return static_cast<std::uint64_t>(a_index) < static_cast<std::uint64_t>(b_index);
}

/// The number of positions in [0, size) for which `less` holds: the first ones, found by binary search.
template <class Less>
__device__ std::int64_t count_less(std::int64_t size, const Less& less) {
  std::int64_t low = 0, high = size;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (less(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// An entry of a list.
struct ListEntry {
  double distance;
  std::int64_t index;
};
__device__ inline bool before(const ListEntry& a, const ListEntry& b) {
  return before(a.distance, a.index, b.distance, b.index);
}

/// Two ordered lists: entry i of each is kept(i) and added(i).
template <class Kept, class Added>
struct ListPair {
  Kept kept;
  Added added;
  std::int64_t kept_count, added_count;
};
template <class Kept, class Added>
ListPair(Kept, Added, std::int64_t, std::int64_t) -> ListPair<Kept, Added>;

/// Merges the lists: entries first, first + step, ... of both go to place(position, entry). A position is that in its
/// own list plus the number of entries before it in the other one. Of equal entries, which are unfilled ones, the kept
/// ones are first.
template <class Kept, class Added, class Place>
__device__ void merge_by_rank(const ListPair<Kept, Added>& lists, std::int64_t first, std::int64_t step,
                              const Place& place) {
  for (std::int64_t i = first; i < lists.kept_count; i += step) {
    const ListEntry entry = lists.kept(i);
    place(i + count_less(lists.added_count, [&](std::int64_t at) { return before(lists.added(at), entry); }), entry);
  }
  for (std::int64_t i = first; i < lists.added_count; i += step) {
    const ListEntry entry = lists.added(i);
    place(i + count_less(lists.kept_count, [&](std::int64_t at) { return !before(entry, lists.kept(at)); }), entry);
  }
}

}  // namespace kith::cuda
