// Rules for clusters that have no rows after an assignment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/points/backend.h"

namespace kith {

/// relocate: an empty cluster takes a row (core/kmeans/cluster_update.h); keep: its centroid stays unchanged; drop: it
/// is removed and k decreases; error: the run ends.
enum class EmptyRule { relocate, keep, drop, error };
inline const char* name_of(EmptyRule rule) {
  constexpr const char* kNames[] = {"relocate", "keep", "drop", "error"};
  return kNames[static_cast<int>(rule)];
}

/// The number of clusters without rows among clusters first .. k - 1; clusters before `first` may be empty.
std::int64_t count_empty(const std::vector<std::int64_t>& counts, std::int64_t first);

/// Removes clusters without rows from centroids and counts and renumbers the rest, also in the labels that `points`
/// hold. Clears the sums, so the next update_sums() adds all rows. Returns the number of removed clusters.
std::int64_t drop_empty_clusters(Points& points, LloydState& state, std::int64_t first);

/// The warning about dropped clusters. iteration: from 1; 0: the last assignment.
std::string dropped_message(std::int64_t dropped, const LloydState& state, std::int64_t iteration);

/// Throws Error(data) with the number of empty clusters and the first one. iteration: from 1; 0: the last assignment.
[[noreturn]] void refuse_empty_clusters(const std::vector<std::int64_t>& counts, std::int64_t first,
                                        std::int64_t iteration);

}  // namespace kith
