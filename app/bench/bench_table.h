// What a suite of `kith bench` found, line by line, and how it is printed: an aligned table, Markdown, or JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/bench.h"

namespace kith::app {

/// Repetitions of one piece of work, in seconds.
struct Timing {
  double median = 0.0;
  double lowest = 0.0;
  double highest = 0.0;
  std::int64_t count = 0;
};

/// Of at least one repetition.
Timing timing_of(std::vector<double> seconds);

/// One line. What is empty was not asked or does not apply; columns without any value are not printed.
struct BenchRow {
  std::string name{};
  std::string shape{};
  std::optional<Timing> timing{};
  double rate = 0.0;  // units of work per second, at the median
  WorkUnit unit = WorkUnit::none;
  std::optional<double> share{};       // of the limit measured in the same run
  std::string limit{};                 // which one
  std::optional<double> certified{};   // share of rows, or of queries, that the screen decided at once
  std::optional<double> candidates{};  // distances computed for each row that it did not; for each query
  std::string published{};
  std::string note{};
  bool exact = true;    // false: a part of the contract was left out, as the note says
  std::string wrong{};  // how the answer differs from the definition; empty: it is right
};

struct BenchReport {
  std::string suite;
  std::string backend;
  std::string device;
  std::int64_t threads = 0;
  std::vector<BenchRow> rows;
  bool wrong() const;
};

/// Rows of cells, each column as wide as its widest cell. The first row is the head.
std::string aligned_table(const std::vector<std::vector<std::string>>& cells);
std::string markdown_table(const std::vector<std::vector<std::string>>& cells);

/// The head and a row of cells for each line.
std::vector<std::vector<std::string>> cells_of(const BenchReport& report);
/// One JSON object and a line feed.
std::string to_json(const BenchReport& report);

}  // namespace kith::app
