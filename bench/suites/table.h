// The result of a suite of `kith bench`, one row per measurement, and its forms: aligned table, Markdown, JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/measurement.h"

namespace kith::app {

/// Statistics of repeated timings, in seconds.
struct Timing {
  double median = 0.0;
  double lowest = 0.0;
  double highest = 0.0;
  std::int64_t count = 0;
};

/// seconds: of at least one repetition.
Timing timing_of(std::vector<double> seconds);

/// One measurement. Fields that do not apply are empty; columns in which every field is empty are not printed.
struct BenchRow {
  std::string name{};
  std::string shape{};
  std::string data{};  // kind of generated points
  std::optional<Timing> timing{};
  double rate = 0.0;  // units of work per second, at the median
  WorkUnit unit = WorkUnit::none;
  std::optional<double> share{};       // of the limit, which is measured in the same run
  std::string limit{};                 // its name
  std::optional<double> over_noise{};  // time over that of noise of the same shape in this run
  std::optional<double> certified{};   // share of the screened rows, or queries, that the screen certified
  std::optional<double> candidates{};  // distances computed by the definition per row, or per query
  std::string published{};
  std::string note{};
  std::string wrong{};  // first difference from the definition; empty: none
};

struct BenchReport {
  std::string suite;
  std::string backend;
  std::string device;
  std::int64_t threads = 0;
  std::vector<BenchRow> rows;
  bool wrong() const;
};

/// Fills over_noise of the other kinds where noise was measured.
void compare_with_noise(std::vector<BenchRow>& rows);
/// The heads, then a row of cells for each measurement.
std::vector<std::vector<std::string>> cells_of(const BenchReport& report);
/// A table of at most `width` columns of text.
std::string aligned_table(const std::vector<std::vector<std::string>>& cells, std::size_t width);
std::string markdown_table(const std::vector<std::vector<std::string>>& cells);
/// One JSON object and a line feed. Several reports are the `suites` of the suite all.
std::string to_json(const BenchReport& report);
std::string to_json(const std::vector<BenchReport>& reports);

}  // namespace kith::app
