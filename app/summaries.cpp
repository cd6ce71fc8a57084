// Statistics of columns, what text tables hold, and sets of files by what their sources say of them.
//
// Sums are compensated: A. Neumaier, Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen (1974).
#include "app/summaries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "app/run/profile.h"
#include "core/error.h"
#include "core/numbers/fixed_point.h"
#include "data/file_names.h"
#include "data/format/shape.h"
#include "data/format/table_model.h"
#include "data/io/memory_limit.h"
#include "data/io/utf8.h"

namespace kith::app {
namespace {

/// Bytes of the rows that are read at a time: enough for speed, and a part of the memory.
std::int64_t block_bytes() {
  constexpr std::int64_t kLeast = std::int64_t{1} << 20, kMost = std::int64_t{64} << 20, kShare = 8;
  return std::clamp(data::memory_limit() / kShare, kLeast, kMost);
}

/// A sum of up to 2^63 values, which itself may leave the range of float64: before it can, it is divided by a power of
/// two, and so are the values after that.
class Sum {
 public:
  void add(double value) {
    value *= scale_;
    const double total = sum_ + value;
    lost_ += std::abs(sum_) >= std::abs(value) ? (sum_ - total) + value : (value - total) + sum_;
    sum_ = total;
    if (std::abs(sum_) > 0x1p959 && scale_ == 1.0) {
      for (double* part : {&scale_, &sum_, &lost_}) *part *= kSmaller;
    }
  }
  double divided_by(double count) const { return (sum_ + lost_) / count / scale_; }

 private:
  static constexpr double kSmaller = 0x1p-64;
  double scale_ = 1.0;
  double sum_ = 0.0;
  double lost_ = 0.0;
};

/// How the differences from the mean are made about 1, so that neither they nor their squares leave the range of
/// float64: by a power of two, and before that by half where the difference of two values is too large.
struct Spread {
  double first = 1.0;
  int exponent = 0;

  double difference(double value, double mean) const { return scaled_by(value * first - mean * first, -exponent); }
  double undone(double deviation) const { return scaled_by(deviation, exponent) / first; }
};

Spread spread_of(const ColumnStatistics& column) {
  Spread spread;
  if (std::isnan(column.mean)) return spread;
  if (!std::isfinite(column.maximum - column.minimum)) spread.first = 0.5;
  const double above = spread.difference(column.maximum, column.mean);
  const double below = spread.difference(column.mean, column.minimum);
  spread.exponent = exponent_above(std::max(above, below));
  return spread;
}

/// visit(row) for every row in order, as float64. `passed`: rows that earlier passes have read, for the progress.
template <class Visit>
void for_rows(data::PointSource& source, Progress& progress, std::int64_t passed, const Visit& visit) {
  const std::int64_t bytes = block_bytes();
  const auto read = [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t block = std::max<std::int64_t>(bytes / (source.columns() * sizeof(T)), 1);
    Matrix<T> values(std::min(block, source.rows()), source.columns());
    for (std::int64_t first = 0; first < source.rows(); first += block) {
      const std::int64_t here = std::min(block, source.rows() - first);
      source.read(first, values.view().middle(0, here));
      for (std::int64_t i = 0; i < here; ++i) visit(values.row(i));
      progress.progress(passed + first + here);
    }
  };
  source.value_class() == ValueClass::f32 ? read(0.0F) : read(0.0);
}

}  // namespace

std::vector<ColumnStatistics> column_statistics(data::PointSource& source, Progress& progress) {
  const auto columns = static_cast<std::size_t>(source.columns());
  constexpr std::int64_t kBytesPerColumn = 1200;  // statistics, sums, a row of values; then its text, or its JSON
  const std::int64_t needed =
      checked_product(source.columns(), kBytesPerColumn, source.name().c_str()) + block_bytes() + source.held_bytes();
  if (const std::int64_t left = data::memory_limit(); needed > left) {
    throw Error(ExitCode::memory,
                fmt::format("{}: statistics of {} columns need about {} of memory, but only {} are left; give "
                            "a larger --memory, or fewer columns with --columns",
                            source.name(), source.columns(), data::show_bytes(needed), data::show_bytes(left)));
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  progress.phase("read", 2 * source.rows());
  std::vector<ColumnStatistics> result(columns, {0, kInfinity, -kInfinity, 0.0, 0.0});
  std::vector<Sum> sums(columns);
  for_rows(source, progress, 0, [&](auto row) {
    for (std::size_t j = 0; j < columns; ++j) {
      const double value = row[j];
      if (!std::isfinite(value)) {
        ++result[j].missing;
        continue;
      }
      result[j].minimum = std::min(result[j].minimum, value);
      result[j].maximum = std::max(result[j].maximum, value);
      sums[j].add(value);
    }
  });
  std::vector<Spread> spreads;
  const auto count = [&](std::size_t j) { return static_cast<double>(source.rows() - result[j].missing); };
  for (std::size_t j = 0; j < columns; ++j) {
    if (count(j) == 0.0) result[j].minimum = result[j].maximum = kNaN;
    result[j].mean = sums[j].divided_by(count(j));  // NaN without values
    spreads.push_back(spread_of(result[j]));
  }
  std::vector<Sum> squares(columns);
  for_rows(source, progress, source.rows(), [&](auto row) {
    for (std::size_t j = 0; j < columns; ++j) {
      if (!std::isfinite(row[j])) continue;
      const double difference = spreads[j].difference(row[j], result[j].mean);
      squares[j].add(difference * difference);
    }
  });
  for (std::size_t j = 0; j < columns; ++j) {
    result[j].deviation = spreads[j].undone(std::sqrt(squares[j].divided_by(count(j))));
  }
  return result;
}

namespace {

constexpr std::size_t kMostShown = 50;   // columns
constexpr std::size_t kNameBytes = 24;   // of a column
constexpr std::size_t kValueBytes = 20;  // of a value

using data::ColumnProfile;
using data::ColumnType;

bool has_range(const ColumnProfile& column) {
  return column.type == ColumnType::date || column.type == ColumnType::time ||
         (column.is_number() && (column.type == ColumnType::number || column.type == ColumnType::identifier));
}

std::string shown_value(const ColumnProfile& column, double value) {
  return column.type == ColumnType::date ? data::date_text(value) : shown_number(value);
}

std::string shown_text(const std::string& text) { return unbreakable(quoted(text, kValueBytes)); }

/// "18 to 90; as 34, 27, 51", "Lyon 34 %, Paris 31 %", "as a7f3, 09bc".
std::string shown_values(const ColumnProfile& column, std::int64_t present) {
  if (column.type == ColumnType::empty) return "";
  if (column.type == ColumnType::constant) return shown_text(column.examples.front());
  std::vector<std::string> values;
  if (column.type == ColumnType::category || column.type == ColumnType::yesno) {
    for (const auto& [text, count] : column.commonest) {
      values.push_back(unbreakable(fmt::format("{} {:.0f} %", quoted(text, kValueBytes),
                                               100.0 * static_cast<double>(count) / static_cast<double>(present))));
    }
    return fmt::format("{}", fmt::join(values, ", "));
  }
  for (const std::string& text : column.examples) values.push_back(shown_text(text));
  const std::string range = has_range(column) ? unbreakable(fmt::format("{} to {}", shown_value(column, column.minimum),
                                                                        shown_value(column, column.maximum))) +
                                                    "; "
                                              : "";
  return fmt::format("{}as {}", range, fmt::join(values, ", "));
}

std::string shown_distinct(const ColumnProfile& column) {
  return fmt::format("{}{}", column.has_more_distinct ? "> " : "", column.distinct);
}

}  // namespace

std::string profile_table_text(const data::TableProfile& table, std::size_t width) {
  TextTable text{{Align::left, Align::left, Align::right, Align::right, Align::wrapped},
                 {{"column", "type", "missing", "distinct", "values"}},
                 1,
                 2};
  for (const ColumnProfile& column : table.columns) {
    if (text.rows.size() > kMostShown) break;
    text.rows.push_back({quoted(column.name, kNameBytes), name_of(column.type), std::to_string(column.missing),
                         shown_distinct(column), shown_values(column, table.rows - column.missing)});
  }
  std::string out = lay_out(text, width);
  if (table.columns.size() > kMostShown) {
    out += fmt::format("  and {} more columns, which --json lists\n", table.columns.size() - kMostShown);
  }
  return out;
}

nlohmann::ordered_json profile_json(const data::TableProfile& table) {
  auto list = nlohmann::ordered_json::array();
  for (const ColumnProfile& column : table.columns) {
    nlohmann::ordered_json object{{"column", column.name},
                                  {"type", name_of(column.type)},
                                  {"missing", column.missing},
                                  {"distinct", column.distinct}};
    if (column.has_more_distinct) object["has_more_distinct"] = true;
    if (!column.why.empty()) object["why"] = column.why;
    if (column.type == ColumnType::date) {
      object["minimum"] = data::date_text(column.minimum);
      object["maximum"] = data::date_text(column.maximum);
    } else if (has_range(column)) {
      object["minimum"] = column.minimum;
      object["maximum"] = column.maximum;
    }
    for (const auto& [text, count] : column.commonest)
      object["commonest"].push_back({{"value", text}, {"rows", count}});
    object["examples"] = column.examples;
    list.push_back(std::move(object));
  }
  return list;
}

namespace {

/// "a, b" of the columns of points, or how many there are.
std::string columns_of(const data::PointSource& points) {
  const std::vector<std::string> names = points.column_names();
  return names.empty() ? fmt::format("{} columns", points.columns())
                       : fmt::format("{} columns: {}", names.size(), data::show_list(names));
}

}  // namespace

nlohmann::ordered_json summary_of_set(const std::string& name, const data::ReadOptions& options) {
  const auto set = data::named_set(name);
  std::int64_t rows = 0;
  std::uintmax_t bytes = 0;
  std::map<std::string, std::int64_t> types, endings;
  std::string columns, first;
  auto differ = nlohmann::ordered_json::array(), unreadable = nlohmann::ordered_json::array();
  for (const std::string& file : set->files) {
    const std::filesystem::path path = data::parse_location(file).file;
    std::error_code failure;
    bytes += std::filesystem::file_size(path, failure);
    ++endings[path.extension().string()];
    try {
      const auto points = data::open_points(file, options);
      const std::string found = columns_of(*points);
      if (first.empty()) first = file, columns = found;
      rows += points->rows();
      ++types[points->element_type()];
      if (found != columns) differ.push_back({{"file", file}, {"columns", found}});
    } catch (const Error& error) {
      unreadable.push_back({{"file", file}, {"reason", error.what()}});
    }
  }
  return {{"files", set->files.size()},
          {"endings", endings},
          {"rows", rows},
          {"bytes", bytes},
          {"types", types},
          {"columns", columns},
          {"first", first},
          {"differ", differ},
          {"unreadable", unreadable},
          {"skipped", set->skipped}};
}

std::string summary_text(const nlohmann::ordered_json& summary) {
  constexpr std::size_t kMost = 20;
  const std::size_t width = text_width(Stream::output);
  std::string out;
  const auto line = [&](const std::string& text) { out += hang("  ", wrap(visible(text), width - 2)); };
  const auto counted = [](const nlohmann::ordered_json& counts) {
    std::vector<std::string> items;
    for (const auto& [name, count] : counts.items()) {
      items.push_back(fmt::format("{} {}", count.get<std::int64_t>(), name.empty() ? "without an ending" : name));
    }
    return data::show_list(items);
  };
  line(fmt::format("{} files ({}), {} rows, {} bytes", summary["files"].get<std::int64_t>(),
                   counted(summary["endings"]), summary["rows"].get<std::int64_t>(),
                   summary["bytes"].get<std::int64_t>()));
  if (!summary["types"].empty()) line("values by file: " + counted(summary["types"]));
  if (!summary["types"].empty()) line(summary["columns"].get<std::string>());
  const auto list = [&](const char* key, const char* what, const std::string& title) {
    const auto& items = summary[key];
    if (items.empty()) return;
    out += "\n";
    line(fmt::format("{} of these files {}:", items.size(), title));
    for (std::size_t i = 0; i < std::min(items.size(), kMost); ++i) {
      const auto text = items[i][what].get<std::string>();
      const auto file = items[i]["file"].get<std::string>();
      out += hang("    ", wrap(visible(text.starts_with(file) ? text : file + ": " + text), width - 4));
    }
    if (items.size() > kMost) out += fmt::format("    and {} more\n", items.size() - kMost);
  };
  list("differ", "columns", "differ from " + summary["first"].get<std::string>());
  list("unreadable", "reason", "cannot be read");
  if (!summary["skipped"].empty()) {
    line(fmt::format("{} skipped, which have no name of points: {}", summary["skipped"].size(),
                     data::show_list(summary["skipped"].get<std::vector<std::string>>(), kMost)));
  }
  return out;
}

}  // namespace kith::app
