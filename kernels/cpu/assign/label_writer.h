// Stores labels and bounds of rows, and counts them, for one thread of an assignment.
#pragma once

#include "kernels/cpu/assign/bounds.h"
#include "kernels/cpu/runtime/held_rows.h"

namespace kith::cpu {

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
