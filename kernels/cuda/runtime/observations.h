// What assignments of the held rows have shown, from which choice/assignment.h chooses how the next one is made.
#pragma once

#include <cstdint>

#include "core/runtime/backoff.h"

namespace kith::cuda {

/// How the lists of centroids near guesses are used (assign/near_labels.h).
struct ListUse {
  std::int64_t screened = 0;  // candidates of a row that the local screen scores; 0: it is not used
  bool merged = false;        // guesses near each other share a list of the local screen
};

struct AssignmentObservations {
  std::int64_t labelled_clusters = 0;  // k of the last assignment, whose labels are guesses for the next; 0: none
  double screen_seconds = 0.0;   // estimated, per row, of the last assignment by a screen of all centroids; 0: none yet
  bool left_many = false;        // that screen left unusually many rows ambiguous
  bool near_labels = false;      // the last estimate was for rows near their labels
  double near_seconds = 0.0;     // per row, by that estimate
  double near_candidates = 0.0;  // of a sampled row, by that estimate
  ListUse near_lists;            // the same
  Backoff estimate;              // of estimates; they did not pay if rows were not decided near their labels
  Backoff lists;                 // of lists of centroids for a block, which did not pay if they decided little
};

}  // namespace kith::cuda
