// --nan drop: rows that are not among the points still have an entry in the results.
#include "app/run/dropped_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace kith::app {
namespace {

/// Expands entries of the kept rows to entries of all rows of the file.
template <class T>
void spread(UninitializedVector<T>& values, std::span<const std::int64_t> kept, std::int64_t rows, T elsewhere) {
  UninitializedVector<T> all(static_cast<std::size_t>(rows), elsewhere);
  for (std::size_t i = 0; i < kept.size(); ++i) all[static_cast<std::size_t>(kept[i])] = values[i];
  values = std::move(all);
}

}  // namespace

void add_missing_options(OptionSet& set, CommonOptions& common, bool fills, const char* help) {
  common.nan = "error";
  std::vector<std::string> choices{"error", "drop"};
  if (fills) choices.insert(choices.end(), {"mean", "median"});
  set.choice({.names = "--nan",
              .value = "HOW",
              .help = help,
              .section = Section::preparation,
              .stored = {Stored::if_changed, position::kMissing}},
             choices, common.nan);
  add_missing_texts_option(set, common);
  set["--na-values"].no_effect.push_back(
      when([&common] { return common.nan == "error"; }, "without --nan they are refused"));
}

bool may_drop_rows(const CommonOptions& common) { return !common.nan.empty() && common.nan != "error"; }

void warn_of_dropped_rows(const data::Reading& reading, const CommonOptions& common, Progress& progress) {
  const std::int64_t unknown = reading.source().unknown_rows();
  if (reading.dropped_rows() == unknown) return;  // a remark on the source has named these rows
  const bool is_cosine = takes_directions(metric_of(common));
  const char* why = common.nan == "drop"
                        ? (is_cosine ? "for NaN, infinity, empty fields or zeros" : "for NaN, infinity or empty fields")
                    : is_cosine ? "since they have no value, or zeros alone"
                                : "since they have no value at all";
  progress.warning(fmt::format("{}: {} of {} rows dropped {}{}; the first is row {} (counted from 1)",
                               reading.source().name(), reading.dropped_rows(), reading.source().rows(), why,
                               unknown > 0 ? ", or as unknown to the model" : "", reading.first_dropped_row() + 1));
}

void restore_rows(KMeansResult& result, const data::Reading& reading) {
  const std::span<const std::int64_t> kept = reading.kept_rows();
  if (kept.empty()) return;
  const std::int64_t rows = reading.source().rows();
  spread(result.labels, kept, rows, std::int32_t{-1});
  if (!result.distances.empty()) spread(result.distances, kept, rows, std::numeric_limits<double>::quiet_NaN());
  for (std::int64_t& row : result.nearest_row) {
    if (row >= 0) row = kept[static_cast<std::size_t>(row)];
  }
}

std::int64_t first_file_row(std::int64_t first, const data::Reading& reading) {
  const std::span<const std::int64_t> kept = reading.kept_rows();
  if (kept.empty() || first == 0) return first;
  return first < std::ssize(kept) ? kept[static_cast<std::size_t>(first) - 1] + 1 : reading.source().rows();
}

template <class T>
Matrix<T> in_file_rows(MatrixView<const T> values, std::int64_t first, T elsewhere, const data::Reading& reading) {
  const std::span<const std::int64_t> kept = reading.kept_rows();
  const std::int64_t begin = first_file_row(first, reading), end = first_file_row(first + values.rows, reading);
  Matrix<T> all(end - begin, values.columns);
  std::fill_n(all.data(), all.size(), elsewhere);
  for (std::int64_t i = 0; i < values.rows; ++i) {
    const std::int64_t row = kept.empty() ? first + i : kept[static_cast<std::size_t>(first + i)];
    std::copy(values.row(i).begin(), values.row(i).end(), all.row(row - begin).begin());
  }
  return all;
}

template Matrix<float> in_file_rows(MatrixView<const float>, std::int64_t, float, const data::Reading&);
template Matrix<double> in_file_rows(MatrixView<const double>, std::int64_t, double, const data::Reading&);
template Matrix<std::int32_t> in_file_rows(MatrixView<const std::int32_t>, std::int64_t, std::int32_t,
                                           const data::Reading&);
template Matrix<std::int64_t> in_file_rows(MatrixView<const std::int64_t>, std::int64_t, std::int64_t,
                                           const data::Reading&);

void write_dropped_rows(data::ResultFile& file, const CommonOptions& common, const data::Reading& reading) {
  if (common.nan == "drop" || reading.dropped_rows() > 0) file.attribute("dropped_rows", reading.dropped_rows());
}

}  // namespace kith::app
