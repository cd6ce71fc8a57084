// Compares two files of neighbours. What no file says cannot be decided: a row that the truth does not list has the
// distance that the judged file gives, and without distances no tie is found.
#include "app/evaluate/list_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "app/cli/terminal.h"
#include "app/knn/truth.h"
#include "app/run/memory.h"
#include "app/run/results.h"
#include "data/format/formats.h"
#include "data/io/file_kind.h"

namespace kith::app {
namespace {

constexpr std::int64_t kMostRows = std::int64_t{1} << 53;  // that a number of a file counts exactly
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// A matrix of a file, read in blocks of rows as float64.
class Blocks {
 public:
  explicit Blocks(const std::string& location)
      : source_(data::open_points(location, {.precision = data::Precision::f64, .missing = data::Missing::keep})) {}
  const data::PointSource& source() const { return *source_; }
  Matrix<double> read(std::int64_t first, std::int64_t rows) {
    Matrix<double> block(rows, source_->columns());
    source_->read(first, block.view());
    return block;
  }

 private:
  std::unique_ptr<data::PointSource> source_;
};

/// The distances beside these lists, if the file has some of their shape.
std::optional<Blocks> distances_beside(const data::PointSource& lists) {
  const data::Location location = data::parse_location(lists.name());
  constexpr std::string_view kLists = "neighbors", kDistances = "distances";
  if (!location.dataset.ends_with(kLists)) return std::nullopt;
  std::string path = location.dataset.substr(0, location.dataset.size() - kLists.size());
  path += kDistances;
  const auto all = data::list_datasets(location.file);
  const bool has_one = std::ranges::any_of(all, [&](const data::DatasetInfo& info) {
    return info.path == path && info.shape == std::vector<std::int64_t>{lists.rows(), lists.columns()};
  });
  return has_one ? std::optional<Blocks>(std::in_place, fmt::format("{}:{}", location.file, path)) : std::nullopt;
}

/// The measure that orders the distances of a file, and D of one of them.
struct FileUnit {
  Measure measure = Measure::squared_euclidean;
  bool are_roots = true;

  double d(double distance) const {
    return measure == Measure::inner_product ? -distance : are_roots ? distance * distance : distance;
  }
};

/// As the attribute `distances` of a result of kith says. Other files have distances that grow with the Euclidean one.
FileUnit unit_of_file(const std::string& file) {
  const std::string unit = data::has_hdf5_signature(file) ? data::read_root(file).text("distances") : "";
  if (unit == name_of(Unit::inner_product)) return {Measure::inner_product, false};
  if (unit == name_of(Unit::squared)) return {Measure::squared_euclidean, false};
  constexpr Unit kOthers[] = {Unit::manhattan, Unit::chebyshev,   Unit::hamming,
                              Unit::jaccard,   Unit::correlation, Unit::kilometers};
  const bool is_other = std::ranges::any_of(kOthers, [&](Unit other) { return unit == name_of(other); });
  return is_other ? FileUnit{Measure::manhattan, false} : FileUnit{};
}

/// The lists of one query in both files.
class Lists {
 public:
  /// judged_distance: empty if its file has none.
  Lists(std::span<const std::int64_t> truth, std::span<const double> truth_distance,
        std::span<const std::int64_t> judged, std::span<const double> judged_distance)
      : truth_(truth), judged_(judged), truth_distance_(truth_distance), judged_distance_(judged_distance) {
    std::int64_t common = 0, other = 0;
    for (std::size_t j = 0; j < judged_distance_.size(); ++j) {
      const std::size_t at = place_of(judged_[j], truth_);
      if (at == truth_.size()) continue;
      ++common;
      if (differ(judged_distance_[j], truth_distance_[at], kSameUnit)) ++other;
    }
    is_same_unit_ = common > 0 && other == 0;
  }

  /// The distance of a judged row: that of the truth, if the row is in its list, else that of the judged file if both
  /// files agree, to three digits, about the rows that both list. One that agrees to six digits with a distance of the
  /// truth is that one: programs round differently.
  double distance_of(std::int64_t row) const {
    const std::size_t at = place_of(row, truth_);
    if (at < truth_.size()) return truth_distance_[at];
    if (!is_same_unit_) return kNone;
    const double own = judged_distance_[place_of(row, judged_)];
    const auto known = std::find_if(truth_distance_.begin(), truth_distance_.end(),
                                    [own](double distance) { return !differ(own, distance, kSameDistance); });
    return known == truth_distance_.end() ? own : *known;
  }

 private:
  static constexpr double kSameUnit = 1e-3, kSameDistance = 1e-6;
  static bool differ(double a, double b, double share) {
    return !(std::abs(a - b) <= share * std::max(std::abs(a), std::abs(b)));
  }
  static std::size_t place_of(std::int64_t row, std::span<const std::int64_t> rows) {
    return static_cast<std::size_t>(std::find(rows.begin(), rows.end(), row) - rows.begin());
  }

  std::span<const std::int64_t> truth_, judged_;
  std::span<const double> truth_distance_, judged_distance_;
  bool is_same_unit_ = false;
};

}  // namespace

bool names_lists(const std::string& location) {
  if (location.empty() || location == "-") return false;
  try {
    const data::Location parts = data::parse_location(location);
    if (data::is_read_as_text(parts.file)) return false;
    const auto all = data::list_datasets(parts.file);
    const bool has_labels =
        std::ranges::any_of(all, [](const data::DatasetInfo& info) { return info.path == "/labels"; });
    if (parts.dataset.empty() && has_labels) return false;
    const std::string lists = location_of_lists(location);
    if (data::parse_location(lists).dataset.ends_with("neighbors")) return true;
    const auto found = data::list_datasets(data::parse_location(lists), {});
    if (found.size() != 1 || !found[0].is_readable || found[0].shape.size() != 2) return false;
    const bool is_vector = found[0].shape[0] == 1 && data::has_ending(parts.file, ".mat");  // MATLAB's vectors are rows
    return found[0].shape[1] > 1 && !is_vector;
  } catch (const Error&) {  // who opens the file says what is wrong with it
    return false;
  }
}

std::string compare_lists(const std::string& judged, const std::string& truth, PointsRun& run) {
  Blocks lists(location_of_lists(truth));
  const std::int64_t queries = lists.source().rows(), places = lists.source().columns();
  TruthComparison comparison(judged, queries, places);
  require_memory(comparison.bytes() + 4 * places * std::min<std::int64_t>(queries, 4096) * 8, judged,
                 run.common.memory);
  comparison.read(kMostRows, true);
  const auto judged_source =
      data::open_points(location_of_lists(judged), {.precision = data::Precision::f64, .missing = data::Missing::keep});
  std::optional<Blocks> distances = distances_beside(lists.source()), others = distances_beside(*judged_source);
  const FileUnit unit = unit_of_file(data::parse_location(truth).file);
  const auto compared = static_cast<std::size_t>(std::min(places, judged_source->columns()));

  constexpr std::int64_t kBlockRows = 4096;
  for (std::int64_t first = 0; first < queries; first += kBlockRows) {
    const std::int64_t here = std::min(kBlockRows, queries - first);
    const Matrix<double> rows = lists.read(first, here);
    const Matrix<double> of_truth = distances ? distances->read(first, here) : Matrix<double>();
    const Matrix<double> of_judged = others ? others->read(first, here) : Matrix<double>();
    NeighborLists block(here, places);
    for (std::int64_t i = 0; i < here; ++i) {
      for (std::int64_t j = 0; j < places; ++j) {
        const double row = rows(i, j);
        if (!(row >= -1.0 && row < static_cast<double>(kMostRows) && row == std::floor(row))) {
          throw Error(ExitCode::data,
                      fmt::format("{}: row {}, column {} (counted from 1): expected the number of a row, or -1 for "
                                  "none, found {}; give lists of neighbours",
                                  lists.source().name(), first + i + 1, j + 1, row));
        }
        block.index(i, j) = static_cast<std::int64_t>(row);
        block.distance(i, j) = distances ? unit.d(of_truth(i, j)) : kNone;
      }
    }
    std::optional<Lists> of_query;
    std::int64_t last = -1;
    comparison.measure_with(unit.measure, [&](std::int64_t query, std::int64_t row) {
      if (!distances) return kNone;
      if (query != last) {
        const std::int64_t i = query - first;
        of_query.emplace(std::as_const(block.index).row(i), of_truth.row(i), comparison.judged(query),
                         others ? of_judged.row(i).first(compared) : std::span<const double>());
        last = query;
      }
      return unit.d(of_query->distance_of(row));
    });
    comparison.compare(first, block);
  }
  run.report.truth = comparison.report();
  return comparison.verdict(text_width(Stream::output));
}

}  // namespace kith::app
