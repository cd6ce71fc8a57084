// Compares neighbours with a given answer: equal lists, ties, recall, the first difference.
#include "app/knn/truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "app/cli/terminal.h"
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
                fmt::format("{}: expected {} lists, one for each query, found {}; give the answer to these queries",
                            name_, queries, source_->rows()));
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
                      fmt::format("{}: row {}, column {} (counted from 1): expected a row number of BASE, 0 to "
                                  "{}, found {}; give the answer for this BASE",
                                  name_, first + i + 1, j + 1, base_rows - 1, value));
        }
        truth_(first + i, j) = static_cast<std::int64_t>(value);
      }
    }
  }
}

void TruthComparison::compare(std::int64_t first, const NeighborLists& lists) {
  const auto places = static_cast<std::size_t>(compared_);
  for (std::int64_t i = 0; i < lists.index.rows(); ++i) {
    compare_list(first + i, lists.index.row(i).first(places), lists.distance.row(i).first(places));
  }
}

void TruthComparison::compare_list(std::int64_t query, std::span<const std::int64_t> result,
                                   std::span<const double> distance) {
  const std::span<const std::int64_t> expected = truth_.row(query);
  ++lists_;
  const auto at = std::mismatch(result.begin(), result.end(), expected.begin()).first;
  if (at == result.end()) {
    ++equal_;
    recalled_ += compared_;
    recalled_with_ties_ += compared_;
    return;
  }
  std::vector<std::int64_t> ours(result.begin(), result.end()), theirs(expected.begin(), expected.end()), both(theirs);
  std::sort(ours.begin(), ours.end());
  std::sort(theirs.begin(), theirs.end());
  const auto common = std::set_intersection(ours.begin(), ours.end(), theirs.begin(), theirs.end(), both.begin());
  recalled_ += common - both.begin();

  const bool has_twice = std::adjacent_find(theirs.begin(), theirs.end()) != theirs.end();
  std::size_t wrong = result.size();  // the first place with another distance
  std::set<std::int64_t> near;
  for (std::size_t j = 0; j < result.size(); ++j) {
    const double measured = distance_of_(query, expected[j]);
    if (!(measured == distance[j])) wrong = std::min(wrong, j);
    if (measured <= distance.back()) near.insert(expected[j]);
    if (measured > distance[j]) excess_ = std::max(excess_, (measured - distance[j]) / std::abs(measured));
  }
  recalled_with_ties_ += std::ssize(near);
  if (wrong == result.size() && !has_twice) {
    ++ties_;
    return;
  }
  if (!first_difference_.empty()) return;
  if (wrong == result.size()) wrong = static_cast<std::size_t>(at - result.begin());
  first_difference_ = fmt::format("query {}, place {}: found row {}, expected row {} (all counted from 0)", query,
                                  wrong, result[wrong], expected[wrong]);
}

TruthReport TruthComparison::report() const {
  const double places = static_cast<double>(lists_) * static_cast<double>(compared_);
  return {.lists = lists_,
          .equal = equal_,
          .ties = ties_,
          .recall = static_cast<double>(recalled_) / places,
          .recall_with_ties = static_cast<double>(recalled_with_ties_) / places,
          .largest_excess = excess_};
}

std::string TruthComparison::verdict() const {
  if (equal_ == lists_) {
    return fmt::format("all {} lists of {} neighbours equal {}", lists_, compared_, visible(name_));
  }
  const TruthReport scores = report();
  const std::string recall =
      fmt::format("recall@{} {:.6f}, {:.6f} with ties", compared_, scores.recall, scores.recall_with_ties);
  const std::string ties = fmt::format("{} differ only in rows of equal distance", ties_);
  if (all_right()) {
    return fmt::format("{} of {} lists of {} neighbours equal {}, the other {}\n{}", equal_, lists_, compared_,
                       visible(name_), ties, recall);
  }
  return fmt::format(
      "{} of {} lists of {} neighbours differ from {}; {} are equal, {}\n{}; its distances are larger by up to {:.3g} "
      "of "
      "D\nfirst difference: {}",
      lists_ - equal_ - ties_, lists_, compared_, visible(name_), equal_, ties, recall, excess_, first_difference_);
}

}  // namespace kith::app
