// Looks at the rows that a run holds in memory, or at a sample of them, and at the ranges of all columns.
#include "app/run/preparation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <variant>

#include "app/cli/terminal.h"
#include "app/run/points_run.h"
#include "app/run/processes.h"
#include "app/run/profile.h"
#include "data/format/column_choice.h"
#include "data/format/shape.h"
#include "data/text/number_ranges.h"

namespace kith::app {
namespace {

constexpr std::int64_t kFewRows = 20;  // of fewer nothing can be said

void print_advice(const CommonOptions& common, const std::string& text) {
  if (!common.no_advice) Terminal::instance().say("advice: " + text + " (--no-advice omits this)");
}

/// Whether a column has whole numbers of which at least 99 % ascend; ends where one in a hundred does not.
template <class T>
bool is_identifier(MatrixView<const T> rows, std::int64_t column) {
  double before = 0.0;
  std::int64_t falls = 0;
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const auto value = static_cast<double>(rows(i, column));
    if (value != std::floor(value)) return false;
    falls += i > 0 && value <= before ? 1 : 0;
    if (100 * falls > rows.rows) return false;
    before = value;
  }
  return true;
}

/// How many rows, at equal distances, are a sample.
template <class T>
std::int64_t sampled_rows(MatrixView<const T> rows) {
  constexpr std::int64_t kValues = std::int64_t{1} << 18, kLeastRows = 64;
  return std::min(rows.rows, std::max(kLeastRows, kValues / std::max<std::int64_t>(1, rows.columns)));
}

/// The column with the most variance in a sample of the rows, and its share of that of all columns.
template <class T>
std::pair<std::int64_t, double> largest_variance(MatrixView<const T> rows, const std::vector<double>& mean) {
  const std::int64_t sampled = sampled_rows(rows);
  std::vector<double> squares(mean.size());
  for (std::int64_t s = 0; s < sampled; ++s) {
    const std::int64_t i = s * (rows.rows / sampled);
    for (std::int64_t j = 0; j < rows.columns; ++j) {
      const auto column = static_cast<std::size_t>(j);
      const double difference = static_cast<double>(rows(i, j)) - mean[column];
      squares[column] += difference * difference;
    }
  }
  double sum = 0.0;
  for (const double square : squares) sum += square;
  const auto most = std::max_element(squares.begin(), squares.end());
  return {most - squares.begin(), sum > 0.0 && std::isfinite(sum) ? *most / sum : 0.0};
}

/// Advice on columns that distances should perhaps not use: one that looks like an identifier, or one with nearly all
/// of the variance. Looks at rows that are in memory: all of a column whose first values may be an identifier, else a
/// sample.
void advise_on_points(const HeldPoints& held, const data::PointSource& source, const CommonOptions& common) {
  const Metric metric = metric_of(common);
  const bool prepared = prepares(common) || takes_directions(metric) || metric == Metric::haversine;
  if (common.no_advice || prepared || compares_bits(common) || held.plan.columns < 2) return;
  const std::vector<std::string> names = source.column_names();
  const auto look = [&](const auto& rows) {
    if (rows.rows < kFewRows || rows.columns != held.plan.columns) return;
    std::int64_t identifier = -1;
    if constexpr (sizeof(rows(0, 0)) > 1) {  // bytes are no identifiers
      for (std::int64_t j = 0; j < rows.columns && identifier < 0; ++j) {
        const auto column = static_cast<std::size_t>(j);
        const double width = held.plan.range.maximum[column] - held.plan.range.minimum[column];
        const bool may_differ = width + 1.0 >= 0.99 * static_cast<double>(held.plan.rows);
        if (may_differ && is_identifier(rows, j)) identifier = j;
      }
    }
    if (identifier >= 0) {
      const std::string option = data::option_text(names, identifier);
      print_advice(common,
                   fmt::format("{} looks like an identifier (whole numbers in ascending order), but distances use "
                               "it; leave it out with --drop-columns {}",
                               data::show_column(names, identifier), option));
    }
    const auto [most, share] = largest_variance(rows, held.plan.mean);
    if (share > 0.99 && most != identifier) {
      print_advice(common,
                   fmt::format("columns differ in scale: {} has {:.1f} % of the variance, so that distances hardly use "
                               "the others; --scale zscore gives all columns the same",
                               data::show_column(names, most), std::floor(1000.0 * share) / 10.0));
    }
  };
  std::visit(look, held.rows());
}

/// The value in the units of the file of one that was scaled, with at most two decimals if it nearly has no others.
double in_units(double value, const ColumnScaling& scaling, std::size_t column) {
  if (scaling.center.empty()) return value;
  constexpr double kCents = 100.0, kNear = 1e-6;
  const double original = value * scaling.scale[column] + scaling.center[column];
  const double rounded = std::round(kCents * original) / kCents;
  const double size = std::max(std::abs(original), std::abs(scaling.center[column]));
  return std::abs(original - rounded) <= kNear * size ? rounded : original;
}

/// The columns whose least or largest value of all rows is one that programs write where there is none, and far from
/// the others, as a sample of the rows in memory shows.
template <class T>
std::vector<FarValue> far_values(MatrixView<const T> rows, const HeldPoints& held) {
  std::vector<FarValue> found;
  if (sizeof(T) == 1 || rows.rows == 0 || rows.columns != held.plan.columns) return found;
  const std::int64_t sampled = sampled_rows(rows);
  for (std::int64_t j = 0; j < rows.columns; ++j) {
    const auto column = static_cast<std::size_t>(j);
    const auto of_file = [&](double value) { return in_units(value, held.preparation.columns, column); };
    const double least = of_file(held.plan.range.minimum[column]), most = of_file(held.plan.range.maximum[column]);
    if (!data::StandIns::is_one(least) && !data::StandIns::is_one(most)) continue;
    data::StandIns values;
    values.add(least);
    values.add(most);
    for (std::int64_t s = 0; s < sampled; ++s) {
      values.add(of_file(static_cast<double>(rows(s * (rows.rows / sampled), j))));
    }
    const std::string far_value = values.far_value();
    if (!far_value.empty()) found.push_back({j, far_value, values.rest().least, values.rest().most});
  }
  return found;
}

void look_for_far_values(const PointsRun& run) {
  const HeldPoints& held = run.held;
  const Metric metric = metric_of(run.common);
  const bool has_other_values = takes_directions(metric) || metric == Metric::haversine || compares_bits(run.common) ||
                                held.preparation.pca.size() > 0 || held.preparation.scaling == Scaling::unit;
  if (has_other_values || run.common.prepare == "auto") return;  // --prepare auto has looked at all rows
  const auto found = std::visit([&held](const auto& rows) { return far_values(rows, held); }, held.rows());
  warn_of_far_values(run.source->name(), run.source->column_names(), found, run.common);
}

}  // namespace

void warn_of_far_values(const std::string& points, const std::vector<std::string>& names,
                        const std::vector<FarValue>& found, const CommonOptions& common) {
  if (found.empty()) return;
  constexpr std::size_t kShown = 10;
  const FarValue& first = found.front();
  std::vector<std::string> others;
  std::set<std::string> values;
  for (const FarValue& each : found) {
    if (&each != &first) others.push_back(data::show_column(names, each.column));
    values.insert(each.value);
  }
  const std::string also =
      others.empty() ? ""
                     : fmt::format("; so {} {}", others.size() == 1 ? "does" : "do", data::show_list(others, kShown));
  const std::string remedy =
      common.nan.empty()
          ? "remove the rows"
          : fmt::format("say {}--na-values {}", common.nan == "error" ? "--nan drop " : "", fmt::join(values, ","));
  Terminal::instance().warn(
      fmt::format("{}: {} holds {}, far from its other values, {} to {}{}; if it stands for a missing value, {}",
                  points, data::show_column(names, first.column), first.value, shown_number(first.least),
                  shown_number(first.most), also, remedy));
}

void advise(const PointsRun& run) {
  if (run.given || !processes().is_alone()) return;
  look_for_far_values(run);
  advise_on_points(run.held, *run.source, run.common);
}

void check_counted(std::int64_t clusters, const PointsRun& run) {
  const std::int64_t counted = run.held.plan.rows, rows = run.source->rows(), ignored = rows - counted;
  if (clusters > counted) {
    throw Error(
        ExitCode::usage,
        fmt::format("-k {}: {} has {} rows, of which {} {} ignored (dropped by --nan, or of weight 0); expected at "
                    "most {} clusters",
                    clusters, run.source->name(), rows, ignored, ignored == 1 ? "is" : "are", counted));
  }
  if (counted < kFewRows || 2 * clusters <= counted) return;
  print_advice(run.common,
               fmt::format("{} clusters of {} rows: most clusters have one row; give a smaller -k", clusters, counted));
}

void advise_on_starts(std::int64_t runs, const CommonOptions& common) {
  if (runs > 1) return;
  print_advice(common,
               "one start for each number of clusters, so that a bad start looks like a bad number; --n-init 10 keeps "
               "the best of ten");
}

}  // namespace kith::app
