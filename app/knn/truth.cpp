// Compares somebody's neighbours with the true ones: equal lists, ties, recall, the first difference.
#include "app/knn/truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "core/error.h"

namespace kith::app {
namespace {

/// How far rows of the file are from where they should be; farther: as a share of the true distance or product.
std::string farther_sentence(const std::string& name, double farther, Measure measure) {
  const bool is_product = measure == Measure::inner_product;
  if (std::isinf(farther)) {
    return fmt::format("a row in {} is {} where the true neighbour in its place is at {} 0", name,
                       is_product ? "worse" : "farther away", is_product ? "a product of" : "distance");
  }
  const double percent = 100.0 * farther;
  const std::string shown = percent < 10.0 ? fmt::format("{:.2g} %", percent) : fmt::format("{:.0f} %", percent);
  return is_product
             ? fmt::format(
                   "the product of a row in {} is up to {} smaller than that of the true neighbour in its "
                   "place",
                   name, shown)
             : fmt::format("a row in {} is up to {} farther away than the true neighbour in its place", name, shown);
}

}  // namespace

std::string location_of_lists(const std::string& location) {
  const data::Location parts = data::parse_location(location);
  if (!parts.dataset.empty()) return location;
  for (const data::DatasetInfo& dataset : data::list_datasets(parts.file)) {
    if (dataset.path == "/neighbors") return parts.file + ":/neighbors";
  }
  return location;
}

TruthComparison::TruthComparison(const std::string& location, std::int64_t queries, std::int64_t neighbors) {
  source_ = data::open_points(location_of_lists(location), {.precision = data::Precision::f64});
  name_ = source_->name();
  if (source_->rows() != queries) {
    throw Error(
        ExitCode::data,
        fmt::format("{}: expected {} lists, one for each query, found {}; give the answer to these queries, a list "
                    "in each row",
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

void TruthComparison::read(std::int64_t base_rows, bool may_lack) {
  judged_ = Matrix<std::int64_t>(source_->rows(), compared_);
  Matrix<double> block(block_rows(), source_->columns());
  for (std::int64_t first = 0; first < source_->rows(); first += block.rows()) {
    const std::int64_t here = std::min(block.rows(), source_->rows() - first);
    source_->read(first, block.view().middle(0, here));
    for (std::int64_t i = 0; i < here; ++i) {
      for (std::int64_t j = 0; j < compared_; ++j) {
        const double value = block(i, j);
        if (may_lack && value == -1.0) {
          judged_(first + i, j) = -1;
          continue;
        }
        if (!(value >= 0.0 && value < static_cast<double>(base_rows) && value == std::floor(value))) {
          throw Error(ExitCode::data,
                      fmt::format("{}: row {}, column {} (counted from 1): expected a row number of BASE, 0 to "
                                  "{}, found {}; give the answer for this BASE",
                                  name_, first + i + 1, j + 1, base_rows - 1, value));
        }
        judged_(first + i, j) = static_cast<std::int64_t>(value);
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

void TruthComparison::compare_list(std::int64_t query, std::span<const std::int64_t> truth,
                                   std::span<const double> distance) {
  const std::span<const std::int64_t> judged = judged_.row(query);
  ++lists_;
  const auto at = std::mismatch(truth.begin(), truth.end(), judged.begin()).first;
  if (at == truth.end()) {
    ++equal_;
    recalled_ += compared_;
    recalled_with_ties_ += compared_;
    return;
  }
  std::vector<std::int64_t> ours(truth.begin(), truth.end()), theirs(judged.begin(), judged.end()), both(theirs);
  std::sort(ours.begin(), ours.end());
  std::sort(theirs.begin(), theirs.end());
  const auto common = std::set_intersection(ours.begin(), ours.end(), theirs.begin(), theirs.end(), both.begin());
  recalled_ += common - both.begin();

  const bool has_twice = std::adjacent_find(theirs.begin(), theirs.end()) != theirs.end();
  std::size_t wrong = truth.size();  // the first place with another distance
  std::set<std::int64_t> near;
  for (std::size_t j = 0; j < truth.size(); ++j) {
    const bool is_true = std::binary_search(ours.begin(), ours.end(), judged[j]);
    const double measured = judged[j] < 0 ? std::numeric_limits<double>::quiet_NaN() : distance_of_(query, judged[j]);
    if (judged[j] != truth[j] && !(measured == distance[j])) wrong = std::min(wrong, j);
    if (is_true || measured <= distance.back()) near.insert(judged[j]);
    if (measured > distance[j]) note_excess(measured, distance[j]);
  }
  recalled_with_ties_ += std::ssize(near);
  if (wrong == truth.size() && !has_twice) {
    ++ties_;
    return;
  }
  if (!first_difference_.empty()) return;
  if (wrong == truth.size()) wrong = static_cast<std::size_t>(at - truth.begin());
  const std::string place = fmt::format("query {}, place {} (all counted from 0)", query, wrong);
  const std::string theirs_there = judged[wrong] < 0 ? "no row" : fmt::format("row {}", judged[wrong]);
  first_difference_ = fmt::format("{}: {} has {}, the {} is row {}", place, file_name(), theirs_there,
                                  wrong == 0 ? "nearest" : "neighbour in its place", truth[wrong]);
}

void TruthComparison::note_excess(double measured, double distance) {
  excess_ = std::max(excess_, (measured - distance) / std::abs(measured));
  const double ratio = measured / distance - 1.0;  // infinite where the true neighbour is at distance 0
  farther_ = std::max(farther_, measure_ == Measure::squared_euclidean ? std::sqrt(measured / distance) - 1.0
                                : measure_ == Measure::inner_product   ? std::abs(ratio)
                                                                       : ratio);
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

std::string TruthComparison::file_name() const { return visible(data::parse_location(name_).file); }

std::string TruthComparison::verdict(std::size_t width) const {
  const std::string name = visible(name_);
  std::vector<std::string> sentences;
  if (equal_ == lists_) {
    sentences = {fmt::format("all {} lists of {} neighbours equal {}", lists_, compared_, name)};
  } else {
    const TruthReport scores = report();
    const std::string ties = fmt::format("{} differ only in rows of equal distance", ties_);
    sentences = {all_right() ? fmt::format("{} of {} lists of {} neighbours equal {}, the other {}", equal_, lists_,
                                           compared_, name, ties)
                             : fmt::format("{} of {} lists of {} neighbours differ from {}; {} are equal, {}",
                                           lists_ - equal_ - ties_, lists_, compared_, name, equal_, ties),
                 fmt::format("recall@{} {:.6f}, {:.6f} with ties", compared_, scores.recall, scores.recall_with_ties)};
    if (farther_ > 0.0) sentences.push_back(farther_sentence(file_name(), farther_, measure_));
    if (!all_right()) sentences.push_back("first difference: " + first_difference_);
  }
  std::string text;
  for (const std::string& sentence : sentences) text += hang("", wrap(sentence, width));
  return text;
}

}  // namespace kith::app
