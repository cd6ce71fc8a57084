// Tests for results that may mislead, and what is said of them.
#include "app/run/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "app/cli/terminal.h"
#include "app/run/preparation.h"
#include "data/format/column_choice.h"

namespace kith::app {
namespace {

constexpr std::int64_t kFewRows = 20;  // of fewer nothing can be said

void say(const CommonOptions& common, const std::string& text) {
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

/// The column with the most variance in a sample of the rows, and its share of that of all columns.
template <class T>
std::pair<std::int64_t, double> largest_variance(MatrixView<const T> rows, const std::vector<double>& mean) {
  constexpr std::int64_t kValues = std::int64_t{1} << 18, kLeastRows = 64;
  const std::int64_t sampled =
      std::min(rows.rows, std::max(kLeastRows, kValues / std::max<std::int64_t>(1, rows.columns)));
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

}  // namespace

void advise_on_points(const HeldPoints& held, const data::PointSource& source, const CommonOptions& common) {
  const bool prepared = !preparation_request(common).is_none() || metric_of(common) == Metric::cosine;
  if (common.no_advice || prepared || held.plan.columns < 2) return;
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
      say(common, fmt::format("{} looks like an identifier (whole numbers in ascending order), but distances use "
                              "it; leave it out with --drop-columns {}",
                              data::show_column(names, identifier), option));
    }
    const auto [most, share] = largest_variance(rows, held.plan.mean);
    if (share > 0.99 && most != identifier) {
      say(common, fmt::format("columns differ in scale: {} has {:.1f} % of the variance, so that distances hardly use "
                              "the others; --scale zscore gives all columns the same",
                              data::show_column(names, most), std::floor(1000.0 * share) / 10.0));
    }
  };
  std::visit(look, held.rows());
}

void advise_on_clusters(std::int64_t clusters, std::int64_t rows, const CommonOptions& common) {
  if (rows < kFewRows || 2 * clusters <= rows) return;
  say(common, fmt::format("{} clusters of {} rows: most clusters have one row; give a smaller -k", clusters, rows));
}

void advise_on_starts(std::int64_t runs, const CommonOptions& common) {
  if (runs > 1) return;
  say(common,
      "one start for each number of clusters, so that a bad start looks like a bad number; --n-init 10 keeps "
      "the best of ten");
}

}  // namespace kith::app
