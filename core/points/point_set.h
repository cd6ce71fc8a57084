// Rows that a backend holds where it computes: their statistics, and the state that it keeps for each row.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/points/data_plan.h"
#include "core/points/matrix.h"

namespace kith {

/// A row and its squared distance to the centroid of its cluster.
struct FarRow {
  double distance = 0.0;
  std::int64_t row = 0;
  std::int32_t label = 0;
};

/// What a backend keeps for n rows.
struct RowState {
  std::int64_t clusters = 0;              // if not 0, all labels are those of an assignment to so many centroids
  std::span<std::int32_t> label, summed;  // (n) the label, and the label in the sums
  std::span<double> distance;             // (n) kept squared distance
};

/// The base of all parts of Points; every backend implements it. Row numbers are global: first_row of the block +
/// position. Not thread-safe: one caller at a time.
///
/// Per row, the backend keeps a label (-1 at first), the label that the sums of update_sums() contain, and a squared
/// distance (+inf at first).
class PointSet {
 public:
  virtual ~PointSet() = default;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t columns() const = 0;

  // Called once, before every other operation: what make_plan() needs, then its result.
  /// Extends the range of each column by these rows.
  virtual void add_range(ColumnRange&) const = 0;
  /// ADDS the integer sums of each column on the grid of the scales.
  virtual void add_magnitudes(const ColumnScales&, ColumnMagnitudes&) const = 0;
  /// Makes the points ready. The plan is that of the whole data set.
  virtual void prepare(const DataPlan&) = 0;

  /// Restores the state after prepare(): labels -1, no row in the sums, distances +inf.
  virtual void reset() = 0;
  /// The `count` rows (or all, if fewer) with the largest kept distance, by (distance descending, row ascending).
  virtual std::vector<FarRow> farthest(std::int64_t count) const = 0;
  /// Values of the given rows as float64. out: (rows.size(), d)
  virtual void copy_rows(std::span<const std::int64_t> rows, MatrixView<double> out) const = 0;
  /// Sets the state of all rows, as copy_state() has returned it for rows of these values, and copies it.
  virtual void set_state(const RowState& /*from*/) { unsupported("rows that are read in each pass"); }
  virtual void copy_state(const RowState& /*out*/) const { unsupported("rows that are read in each pass"); }
  /// Takes over which screens were the fastest for other rows of the data set, held by the same backend. No result
  /// depends on it.
  virtual void take_choices(const PointSet& /*from*/) {}

 protected:
  /// The default of the operations in the other parts, so that a new backend can begin with some of them.
  [[noreturn]] static void unsupported(const std::string& operation) {
    throw Error(ExitCode::device, "this backend does not implement " + operation);
  }
};

}  // namespace kith
