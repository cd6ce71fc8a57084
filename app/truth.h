// Compares found neighbours with a given answer: equal lists, recall, the first difference.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "app/report.h"
#include "core/matrix.h"
#include "data/source.h"

namespace kith::app {

/// The answer is a matrix of row numbers, one list per query; the shorter of both list lengths is compared.
class TruthComparison {
 public:
  /// Opens the answer. `location` without a dataset means /neighbors, where the file has it. Throws Error(data) unless
  /// there is a list for each of the `queries`.
  TruthComparison(const std::string& location, std::int64_t queries, std::int64_t neighbors);

  /// Host bytes that read() takes.
  std::int64_t bytes() const;
  /// Reads the answer. Throws Error(data) with row and column where a value to compare is no number of one of the
  /// `base_rows`.
  void read(std::int64_t base_rows);

  /// found: (rows, k), the lists of queries first .. first + rows - 1.
  void compare(std::int64_t first, MatrixView<const std::int64_t> found);

  bool all_equal() const { return equal_ == lists_; }
  TruthReport report() const;
  /// One or two lines for people.
  std::string verdict() const;

 private:
  std::int64_t block_rows() const;  // read at a time

  std::unique_ptr<data::PointSource> source_;
  std::string name_;
  std::int64_t compared_ = 0;   // places of each list
  Matrix<std::int64_t> truth_;  // (queries, compared)
  std::int64_t lists_ = 0;
  std::int64_t equal_ = 0;
  std::int64_t recalled_ = 0;
  std::string first_difference_;
};

}  // namespace kith::app
