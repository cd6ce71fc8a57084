// Compares somebody's neighbours with the true ones: equal lists, ties, recall, the first difference.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "app/run/report.h"
#include "core/numbers/distance.h"
#include "core/points/backend.h"
#include "core/points/matrix.h"

namespace kith::app {

/// FILE means FILE:/neighbors, if the file has that.
std::string location_of_lists(const std::string& location);

/// The judged lists are a matrix of row numbers, one list per query; the shorter of both list lengths is compared. Two
/// lists differ only in ties if the rows at every place are, by the definition, equally far from the query: both are
/// correct.
class TruthComparison {
 public:
  /// D of a query and a row of the searched set; NaN: unknown, or the row cannot be in this list.
  using DistanceOf = std::function<double(std::int64_t query, std::int64_t row)>;

  /// Opens the lists that are judged; the default dataset is /neighbors, if the file has it. Throws Error(data) unless
  /// there is a list for each of the `queries`.
  TruthComparison(const std::string& location, std::int64_t queries, std::int64_t neighbors);

  /// Host bytes that read() allocates.
  std::int64_t bytes() const;
  /// Reads the lists. Throws Error(data) with row and column of a value that is not a row number below `base_rows`;
  /// with `may_lack` it may be -1: no row.
  void read(std::int64_t base_rows, bool may_lack = false);
  /// Must be called before compare(). measure: of D.
  void measure_with(Measure measure, DistanceOf distance_of) {
    measure_ = measure;
    distance_of_ = std::move(distance_of);
  }

  /// Compares the judged lists of queries first, first + 1, ... with the true ones.
  void compare(std::int64_t first, const NeighborLists& lists);
  /// The rows that are judged.
  std::span<const std::int64_t> judged(std::int64_t query) const { return judged_.row(query); }

  /// Whether all lists are equal up to the order of ties.
  bool all_right() const { return equal_ + ties_ == lists_; }
  TruthReport report() const;
  /// Some lines for people, `width` columns wide.
  std::string verdict(std::size_t width) const;

 private:
  std::int64_t block_rows() const;  // read at a time
  std::string file_name() const;    // for sentences
  void compare_list(std::int64_t query, std::span<const std::int64_t> truth, std::span<const double> distance);
  void note_excess(double measured, double distance);

  std::unique_ptr<data::PointSource> source_;
  Measure measure_ = Measure::squared_euclidean;
  DistanceOf distance_of_;
  std::string name_;
  std::int64_t compared_ = 0;    // places of each list
  Matrix<std::int64_t> judged_;  // (queries, compared)
  std::int64_t lists_ = 0;
  std::int64_t equal_ = 0;
  std::int64_t ties_ = 0;
  std::int64_t recalled_ = 0;            // judged rows that are true neighbours
  std::int64_t recalled_with_ties_ = 0;  // judged rows no farther than the last true neighbour
  double excess_ = 0.0;                  // largest (judged D - true D) / judged D of a place
  double farther_ = 0.0;                 // the same of distances, as a share of the true one; of products
  std::string first_difference_;
};

}  // namespace kith::app
