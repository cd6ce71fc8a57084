// The integers of results in one array, so that several processes add them in one message.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/points/point_clustering.h"

namespace kith {

/// Results go in by add() and come out by take(), in the same order.
class Integers {
 public:
  Integers() = default;
  /// `count` zeros.
  explicit Integers(std::size_t count) : values_(count, 0) {}

  Integers& add(std::int64_t value) {
    values_.push_back(value);
    return *this;
  }
  Integers& add(std::span<const std::int64_t> values) {
    values_.insert(values_.end(), values.begin(), values.end());
    return *this;
  }
  Integers& add(std::span<const Limbs> values) {
    for (const Limbs& limbs : values) add(limbs.high).add(limbs.low);
    return *this;
  }
  Integers& add(const Assignment& assignment) {
    return add(assignment.counts)
        .add(assignment.changed)
        .add(assignment.screened)
        .add(assignment.products)
        .add(assignment.ambiguous)
        .add(assignment.candidates);
  }
  Integers& add(const ClusterSums& sums) { return add(sums.high).add(sums.low).add(std::span(sums.weights)); }

  /// Adds the integers of a result of the same shape to these.
  void add_each(const Integers& other) {
    for (std::size_t i = 0; i < other.values_.size(); ++i) values_[i] += other.values_[i];
  }
  std::span<std::int64_t> values() { return values_; }

  /// In the order of add(): adds the next integers to a result.
  void take(std::int64_t& to) { to += values_[next_++]; }
  void take(std::span<std::int64_t> to) {
    for (std::int64_t& value : to) take(value);
  }
  void take(std::span<Limbs> to) {
    for (Limbs& limbs : to) {
      take(limbs.high);
      take(limbs.low);
    }
  }
  void take(Assignment& assignment) {
    take(assignment.counts);
    for (std::int64_t* count : {&assignment.changed, &assignment.screened, &assignment.products, &assignment.ambiguous,
                                &assignment.candidates})
      take(*count);
  }
  void take(ClusterSums& sums) {
    take(sums.high);
    take(sums.low);
    take(std::span(sums.weights));
  }

 private:
  std::vector<std::int64_t> values_;
  std::size_t next_ = 0;
};

}  // namespace kith
