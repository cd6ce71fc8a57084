// Chooses the first step of an assignment by its cost: a screen against all centroids, or the centroids near each row's
// label (pruned_assign.h). Results do not depend on it.
#pragma once

#include <algorithm>

#include "kernels/cuda/assign/candidate_sample.h"
#include "kernels/cuda/assign/pruned_assign.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

// Costs are in products of the fp16 screen (d multiply-adds each), 0.8 ns / 1000 at d = 128 on an H200.
inline constexpr double kFloat32Cost = 32;       // a product of the float32 tiles
inline constexpr double kPairCost = 4;           // a distance of refine(), in distances of pruned_assign.h
inline constexpr double kPrunedRowCost = 200;    // reading and sorting a row
inline constexpr double kLocalRowCost = 300;     // rounding a row for the local screen
inline constexpr double kLocalCost = 2;          // a product of the local screen
inline constexpr double kLocalListCost = 500;    // rounding a centroid of a list
double definition_cost(const Context& context);  // a distance of pruned_assign.h, by the rate of float64

/// What an assignment computes besides the fp16 screen.
struct OtherWork {
  Word pruned_distances = 0;      // near guesses
  double pairs = 0.0;             // distances pair by pair
  double local_cost = 0.0;        // of local screens
  double float32_products = 0.0;  // rows times centroids

  double cost(const Context& context) const {
    const double distances = pairs * kPairCost + static_cast<double>(pruned_distances);
    return definition_cost(context) * distances + kFloat32Cost * float32_products + local_cost;
  }
};

/// The cost per row of deciding rows near their labels, with this number of distances per row.
template <class T>
double pruned_cost(const HeldRows<T>& held, std::int64_t clusters, double distances);

/// How to decide rows near their guesses.
struct PrunedChoice {
  double cost = 0.0;          // per row
  std::int64_t screened = 0;  // of PrunedRows
  bool merged = false;        // of PrunedRows
};
/// The cheaper of the local screen and the definition for `count` rows with such candidates. The local screen is not
/// chosen if it costs more than `other`, what these rows cost per row elsewhere.
template <class T>
PrunedChoice choose_local(const HeldRows<T>& held, std::int64_t clusters, std::int64_t count,
                          const CandidateSample& candidates, double other);

/// Whether this assignment decides rows near their labels. Estimates the costs now and then, and waits for the device
/// only then. centroids: (clusters, d) on the device.
template <class T>
bool choose_pruned(HeldRows<T>& held, const double* centroids, std::int64_t clusters);

inline constexpr int kLongestBackoff = 16;  // assignments

/// Screens all centroids for some assignments, each time for twice as many, before the next estimate.
inline void delay_estimate(ScreenChoice& choice) {
  choice.pruned = false;
  choice.estimate.delay(kLongestBackoff);
}

/// Notes that lists of centroids left `rest` of `count` rows ambiguous. Where these are nearly all, the next
/// assignments make no lists, each time twice as many.
inline void note_lists(ScreenChoice& choice, std::int64_t count, std::int64_t rest) {
  if (rest > count - count / 8) {
    choice.lists.delay(kLongestBackoff);
  } else {
    choice.lists.reward();
  }
}

/// Whether `count` ambiguous rows are worth the lists of centroids. within_margin: columns that refine() would measure
/// for each.
template <class T>
bool lists_are_worthwhile(HeldRows<T>& held, std::int64_t clusters, std::int64_t count, const Block<T>& block,
                          double within_margin);

}  // namespace kith::cuda
