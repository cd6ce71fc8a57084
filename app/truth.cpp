// Compares found neighbours with a given answer: equal lists, recall, the first difference.
#include "app/truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "data/source.h"

namespace kith::app {
namespace {

std::string with_default_dataset(const std::string& location) {
  const data::Location parts = data::parse_location(location);
  if (!parts.dataset.empty()) return location;
  for (const data::DatasetInfo& dataset : data::list_datasets(parts.file)) {
    if (dataset.path == "/neighbors") return parts.file + ":/neighbors";
  }
  return location;
}

}  // namespace

TruthComparison::TruthComparison(const std::string& location, std::int64_t queries, std::int64_t neighbors) {
  const auto source = data::open_points(with_default_dataset(location), {.precision = data::Precision::f64});
  name_ = source->name();
  if (source->rows() != queries) {
    throw Error(ExitCode::data,
                fmt::format("{}: expected {} lists, one for each query, found {}", name_, queries, source->rows()));
  }
  truth_ = Matrix<double>(source->rows(), source->columns());
  source->read(0, truth_.view());
  compared_ = std::min(neighbors, truth_.columns());
}

void TruthComparison::compare(std::int64_t first, MatrixView<const std::int64_t> found) {
  const auto places = static_cast<std::size_t>(compared_);
  std::vector<std::int64_t> expected(places), both(places);
  for (std::int64_t i = 0; i < found.rows; ++i) {
    std::vector<std::int64_t> given(found.row(i).begin(), found.row(i).begin() + compared_);
    std::transform(truth_.row(first + i).begin(), truth_.row(first + i).begin() + compared_, expected.begin(),
                   [](double index) { return static_cast<std::int64_t>(index); });
    ++lists_;
    const auto [at, other] = std::mismatch(given.begin(), given.end(), expected.begin());
    if (at == given.end()) {
      ++equal_;
      recalled_ += compared_;
      continue;
    }
    if (first_difference_.empty()) {
      first_difference_ =
          fmt::format("query {}, place {}: found row {}, expected row {}", first + i, at - given.begin(), *at, *other);
    }
    std::sort(given.begin(), given.end());
    std::sort(expected.begin(), expected.end());
    recalled_ += std::set_intersection(given.begin(), given.end(), expected.begin(), expected.end(), both.begin()) -
                 both.begin();
  }
}

TruthReport TruthComparison::report() const {
  const double places = static_cast<double>(lists_) * static_cast<double>(compared_);
  return {lists_, equal_, static_cast<double>(recalled_) / places};
}

std::string TruthComparison::verdict() const {
  if (all_equal()) return fmt::format("all {} lists of {} neighbours equal {}", lists_, compared_, name_);
  return fmt::format("{} of {} lists of {} neighbours differ from {}, recall {:.6f}\nfirst difference: {}",
                     lists_ - equal_, lists_, compared_, name_, report().recall, first_difference_);
}

}  // namespace kith::app
