// Synthetic points by kind: a row is a function of the recipe and its number, in every thread and block.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/points/matrix.h"
#include "core/runtime/threads.h"

namespace kith::app {

struct Kind;

/// Points to make.
struct Recipe {
  const Kind* kind = nullptr;
  std::int64_t rows = 10'000;
  std::int64_t columns = 16;
  std::int64_t clusters = 0;  // 0: as many as the kind has by default
  std::uint64_t seed = 0;
  double offset = 0.0;          // added to every value
  std::int64_t duplicates = 0;  // of the last rows, each repeats one of the rows before them
  bool integers = false;        // whole numbers 0 .. 255 (whole_number()), before the offset
};

/// One row while it is made.
struct SyntheticRow {
  const Recipe& recipe;          // with the number of clusters
  const Matrix<double>& common;  // of Kind::common
  std::int64_t number = 0;
  std::int64_t label = 0;  // 0 if the kind has no clusters
  std::span<double> out;   // (columns)
};

/// A kind of points. Their rows are in random order, so that the first rows are a random sample of all.
struct Kind {
  const char* name;
  const char* summary;    // for the help
  std::int64_t clusters;  // by default; 0: rows have no labels
  double zero, unit;      // whole numbers are 128 + unit (v - zero)
  void (*make)(const SyntheticRow&);
  Matrix<double> (*common)(const Recipe&) = nullptr;  // what all rows share, such as centres; nullptr: nothing
};

/// All kinds; the first one is noise.
std::span<const Kind> kinds();
std::vector<std::string> kind_names();
/// Throws Error(usage), which begins with `where`, names the nearest kind and lists all.
const Kind& kind_of(const std::string& name, const std::string& where);

/// A value of this kind as a whole number from 0 to 255.
template <class T>
T whole_number(const Kind& kind, T value) {
  const T scaled = static_cast<T>(kind.unit) * (value - static_cast<T>(kind.zero));
  return std::clamp(std::nearbyint(T{128} + scaled), T{0}, T{255});
}

/// e^x for |x| <= 128, to about 11 digits: a Taylor series at x / 2^16, squared 16 times.
double exponential(double x);

class Synthetic {
 public:
  explicit Synthetic(const Recipe& recipe);

  /// Values of one row. out: (columns)
  void row(std::int64_t number, std::span<double> out) const;
  /// Cluster of a row, 0 if the kind has none.
  std::int32_t label(std::int64_t number) const;
  /// Rows `first` and following, rounded to T. out: (rows, columns)
  template <class T>
  void fill(std::int64_t first, MatrixView<T> out, Threads& threads) const;

 private:
  /// The row that `number` repeats, or itself.
  std::int64_t original_row(std::int64_t number) const;

  Recipe recipe_;
  Matrix<double> common_;
};

template <class T>
void Synthetic::fill(std::int64_t first, MatrixView<T> out, Threads& threads) const {
  constexpr std::int64_t kTaskValues = 1 << 14;
  const std::int64_t task_rows = std::max<std::int64_t>(kTaskValues / out.columns, 1);
  threads.run((out.rows + task_rows - 1) / task_rows, [&](std::int64_t task, int) {
    std::vector<double> values(static_cast<std::size_t>(out.columns));
    for (std::int64_t i = task * task_rows; i < std::min((task + 1) * task_rows, out.rows); ++i) {
      row(first + i, values);
      std::transform(values.begin(), values.end(), out.row(i).begin(), [](double v) { return static_cast<T>(v); });
    }
  });
}

}  // namespace kith::app
