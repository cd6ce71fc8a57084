// Compares found neighbours with a given answer: equal lists, recall, the first difference.
#include "app/truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/terminal.h"
#include "core/error.h"

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
  source_ = data::open_points(with_default_dataset(location), {.precision = data::Precision::f64});
  name_ = source_->name();
  if (source_->rows() != queries) {
    throw Error(ExitCode::data,
                fmt::format("{}: expected {} lists, one for each query, found {}", name_, queries, source_->rows()));
  }
  compared_ = std::min(neighbors, source_->columns());
}

std::int64_t TruthComparison::block_rows() const {
  constexpr std::int64_t kBlockBytes = std::int64_t{16} << 20;
  return std::clamp<std::int64_t>(kBlockBytes / (8 * source_->columns()), 1, source_->rows());
}

std::int64_t TruthComparison::bytes() const {
  return 8 * (checked_product(source_->rows(), compared_, name_.c_str()) + block_rows() * source_->columns());
}

void TruthComparison::read(std::int64_t base_rows) {
  truth_ = Matrix<std::int64_t>(source_->rows(), compared_);
  Matrix<double> block(block_rows(), source_->columns());
  for (std::int64_t first = 0; first < source_->rows(); first += block.rows()) {
    const std::int64_t here = std::min(block.rows(), source_->rows() - first);
    source_->read(first, block.view().middle(0, here));
    for (std::int64_t i = 0; i < here; ++i) {
      for (std::int64_t j = 0; j < compared_; ++j) {
        const double value = block(i, j);
        if (!(value >= 0.0 && value < static_cast<double>(base_rows) && value == std::floor(value))) {
          throw Error(ExitCode::data,
                      fmt::format("{}: row {}, column {} (counted from 0): expected the number of a row that was "
                                  "searched, 0 to {}, found {}; give the answer for this BASE",
                                  name_, first + i, j, base_rows - 1, value));
        }
        truth_(first + i, j) = static_cast<std::int64_t>(value);
      }
    }
  }
}

void TruthComparison::compare(std::int64_t first, MatrixView<const std::int64_t> found) {
  const auto places = static_cast<std::size_t>(compared_);
  std::vector<std::int64_t> expected(places), both(places);
  for (std::int64_t i = 0; i < found.rows; ++i) {
    std::vector<std::int64_t> given(found.row(i).begin(), found.row(i).begin() + compared_);
    std::copy(truth_.row(first + i).begin(), truth_.row(first + i).end(), expected.begin());
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
  if (all_equal()) return fmt::format("all {} lists of {} neighbours equal {}", lists_, compared_, visible(name_));
  return fmt::format("{} of {} lists of {} neighbours differ from {}, recall {:.6f}\nfirst difference: {}",
                     lists_ - equal_, lists_, compared_, visible(name_), report().recall, first_difference_);
}

}  // namespace kith::app
