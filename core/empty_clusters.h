// What becomes of clusters that an assignment leaves without rows: the rule, and those that are dropped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/backend.h"

namespace kith {

/// relocate: they are given a row (core/cluster_update.h); keep: their centroids stay where they are; drop: they
/// disappear and k shrinks; error: the run ends.
enum class EmptyRule { relocate, keep, drop, error };
inline const char* name_of(EmptyRule rule) {
  constexpr const char* kNames[] = {"relocate", "keep", "drop", "error"};
  return kNames[static_cast<int>(rule)];
}

/// Clusters without rows, from number `first` on: those before it are not asked to have any.
std::int64_t count_empty(const std::vector<std::int64_t>& counts, std::int64_t first);

/// Takes these out of centroids and counts. The others move up, and the labels that `points` hold become their new
/// numbers; the sums are those of no row, so that update_sums() brings all. Returns how many there were.
std::int64_t drop_empty_clusters(Points& points, LloydState& state, std::int64_t first);

/// What a run says of them. iteration: from 1; 0: the last assignment.
std::string dropped_message(std::int64_t dropped, const LloydState& state, std::int64_t iteration);

/// Throws Error(data) with the number of these, the first of them and what to do. iteration: from 1; 0: the last
/// assignment.
[[noreturn]] void refuse_empty_clusters(const std::vector<std::int64_t>& counts, std::int64_t first,
                                        std::int64_t iteration);

}  // namespace kith
