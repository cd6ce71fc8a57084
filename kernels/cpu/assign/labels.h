// Labels of rows and their bounds: rows whose label is proved unchanged since the last assignment
// (core/kmeans/bounds.h) are skipped, once few labels change.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/kmeans/bounds.h"
#include "kernels/cpu/runtime/held_rows.h"

namespace kith::cpu {

/// The bounds of rows during one assignment, which may keep none.
class BoundWorkspace {
 public:
  /// Measures how far the centroids (k, d) moved since held.bounds were kept; the bounds are invalid until finish().
  /// largest_norm: max |c'| of the screen.
  template <class T>
  BoundWorkspace(HeldRows<T>& held, MatrixView<const double> centroids, double largest_norm);

  /// Whether this assignment keeps bounds of the rows that it screens.
  explicit operator bool() const { return !shift_.empty(); }
  /// Whether there are bounds from an earlier assignment.
  bool known() const { return known_; }
  /// Lowers the bound of a row with this label by the centroid shifts. True if the row certainly keeps its label.
  bool certifies(float& bound, std::int32_t label) const {
    bound = lowered_bound(bound, shift_[label], label == most_shifted_ ? second_shift_ : largest_shift_);
    return bound > guard_;  // false for NaN
  }

  /// Marks the labels and bounds of all rows as those of the current centroids. screened: rows that the bounds of an
  /// earlier assignment did not certify.
  template <class T>
  void finish(HeldRows<T>& held, std::int64_t screened) const;

 private:
  bool known_ = false;
  std::vector<float> shift_;                          // (k) in the scale of the screen
  float largest_shift_ = 0.0F, second_shift_ = 0.0F;  // the largest shifts of two centroids
  std::int32_t most_shifted_ = 0;                     // the centroid with the largest shift
  float guard_ = 0.0F;
};

/// The bound (core/kmeans/bounds.h) of a row from an upper bound of its squared distance to its centroid (own) and a
/// lower bound of the difference to any other.
inline float bound_between(double own, double difference) {
  constexpr double kToFloat = 0x1p-22;
  return bound_of(static_cast<float>(std::max(own, 0.0) * (1 + kToFloat)),
                  static_cast<float>(difference * (1 - kToFloat)));
}

/// The nearest of the candidates of a row so far, by the definition; ties keep the lowest centroid.
struct NearestCandidate {
  void add(double candidate_distance, std::int32_t candidate) {
    const bool is_first = label < 0;
    const bool is_lower = candidate_distance == distance && candidate < label;
    if (!is_first && !(candidate_distance < distance || is_lower)) {
      second = std::min(second, candidate_distance);
      return;
    }
    second = is_first ? std::numeric_limits<double>::infinity() : distance;
    distance = candidate_distance;
    label = candidate;
  }
  std::int32_t label = -1;
  double distance = 0.0, second = 0.0;  // to that candidate, and to the second nearest
};

/// Stores labels and bounds of rows, and counts them, for one thread of an assignment.
template <class T>
class LabelWriter {
 public:
  LabelWriter(HeldRows<T>& held, MatrixView<const double> centroids, const BoundWorkspace& bounds)
      : totals(centroids.rows), held_(held), centroids_(centroids), bounds_(bounds) {}

  /// D of a row and a candidate by the definition.
  double distance(std::int64_t row, std::int32_t candidate) {
    ++totals.candidates;
    return held_.set.template rows<T>().distance(held_.row(row), centroids_.row(candidate).data(), held_.columns());
  }
  void store(std::int64_t row, std::int32_t label, float bound) {
    held_.label[row] = label;
    if (bounds_) held_.bounds.bound[row] = bound;
    count(row, label);
  }
  void count(std::int64_t row, std::int32_t label) {
    totals.changed += held_.summed[row] != label;
    ++totals.counts[label];
  }
  /// The bound of a row labelled by the definition. others: a lower bound of the squared distances to centroids that
  /// are not candidates, in the scale of the screen.
  float measured_bound(const NearestCandidate& nearest, double others) const {
    if (!bounds_) return 0.0F;
    const double squared_scale = held_.scale() * held_.scale(), rounding = definition_rounding(held_.columns());
    const double own = nearest.distance * squared_scale * (1 + rounding);
    return bound_between(own, std::min(nearest.second * squared_scale * (1 - rounding), others) - own);
  }

  Assignment totals;

 private:
  HeldRows<T>& held_;
  MatrixView<const double> centroids_;
  const BoundWorkspace& bounds_;
};

inline void add(const Assignment& part, Assignment& total) {
  for (std::size_t c = 0; c < total.counts.size(); ++c) total.counts[c] += part.counts[c];
  total.changed += part.changed;
  total.screened += part.screened;
  total.products += part.products;
  total.ambiguous += part.ambiguous;
  total.candidates += part.candidates;
}

}  // namespace kith::cpu
