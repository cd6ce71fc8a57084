// Compares neighbours with a given answer: equal lists, ties, recall, the first difference.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "app/run/report.h"
#include "core/points/backend.h"
#include "core/points/matrix.h"
#include "data/source.h"

namespace kith::app {

/// The answer is a matrix of row numbers, one list per query; the shorter of both list lengths is compared. Two lists
/// differ only in ties if the rows at every place are, by the definition, equally far from the query: both are correct.
class TruthComparison {
 public:
  /// D of a query and a row of the searched set, by the definition.
  using DistanceOf = std::function<double(std::int64_t query, std::int64_t row)>;

  /// Opens the answer; the default dataset is /neighbors, if the file has it. Throws Error(data) unless there is a list
  /// for each of the `queries`.
  TruthComparison(const std::string& location, std::int64_t queries, std::int64_t neighbors);

  /// Host bytes that read() allocates.
  std::int64_t bytes() const;
  /// Reads the answer. Throws Error(data) with row and column of a value that is not a row number below `base_rows`.
  void read(std::int64_t base_rows);
  /// Must be called before compare().
  void measure_with(DistanceOf distance_of) { distance_of_ = std::move(distance_of); }

  /// Compares the lists of queries first, first + 1, ...
  void compare(std::int64_t first, const NeighborLists& lists);

  /// Whether all lists are equal up to the order of ties.
  bool all_right() const { return equal_ + ties_ == lists_; }
  TruthReport report() const;
  /// Some lines for people.
  std::string verdict() const;

 private:
  std::int64_t block_rows() const;  // read at a time
  void compare_list(std::int64_t query, std::span<const std::int64_t> result, std::span<const double> distance);

  std::unique_ptr<data::PointSource> source_;
  DistanceOf distance_of_;
  std::string name_;
  std::int64_t compared_ = 0;   // places of each list
  Matrix<std::int64_t> truth_;  // (queries, compared)
  std::int64_t lists_ = 0;
  std::int64_t equal_ = 0;
  std::int64_t ties_ = 0;
  std::int64_t recalled_ = 0;            // rows of the answer in the result
  std::int64_t recalled_with_ties_ = 0;  // rows of the answer no farther than the last one of the result
  double excess_ = 0.0;                  // largest relative excess of an answer's distance over that of the result
  std::string first_difference_;
};

}  // namespace kith::app
