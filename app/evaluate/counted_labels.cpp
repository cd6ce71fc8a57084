// Which rows count in an evaluation: those with a label and a positive weight.
#include "app/evaluate/counted_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kith::app {
namespace {

bool counts(const std::optional<Weighting>& weighting, std::size_t row) {
  return !weighting || weighting->of_rows[row] > 0.0;
}

}  // namespace

void ignore_unlabelled(const data::Labels& labels, const char* none, std::optional<Weighting>& weighting,
                       Progress& progress) {
  std::vector<char> is_none;  // usually one value; a category may have the same name
  for (const std::string& value : labels.values) is_none.push_back(none != nullptr && value == none ? 1 : 0);
  const auto is_unlabelled = [&](std::int32_t code) {
    return code < 0 || is_none[static_cast<std::size_t>(code)] != 0;
  };
  const auto rows = std::count_if(labels.codes.begin(), labels.codes.end(), is_unlabelled);
  if (rows == 0) return;
  if (rows == std::ssize(labels.codes)) {
    throw Error(ExitCode::data, fmt::format("{}: expected labels, found only {}, in {} rows; give {}", labels.name,
                                            none != nullptr ? "-1, which means none" : "rows without one", rows,
                                            none != nullptr ? "the labels of clusters" : "the classes of these rows"));
  }
  if (!weighting) {
    weighting = Weighting{labels.name, std::vector<double>(labels.codes.size(), 1.0),
                          static_cast<double>(labels.codes.size()), 0};
  }
  for (std::size_t i = 0; i < labels.codes.size(); ++i) {
    if (!is_unlabelled(labels.codes[i]) || !counts(weighting, i)) continue;
    weighting->total -= weighting->of_rows[i];
    weighting->of_rows[i] = 0.0;
    ++weighting->absent;
  }
  if (weighting->absent == std::ssize(labels.codes)) {
    throw Error(ExitCode::data, fmt::format("{}: expected rows with a label, a class and a weight, found none; give "
                                            "the labels and classes of the same rows",
                                            labels.name));
  }
  progress.warning(fmt::format("{}: {} of {} rows have no label{}; the scores ignore them", labels.name, rows,
                               labels.codes.size(), none != nullptr ? ", or -1 (dropped rows, noise of DBSCAN)" : ""));
}

void keep_counted(data::Labels& labels, const std::optional<Weighting>& weighting) {
  std::vector<std::int32_t> code(labels.values.size(), -1);
  for (std::size_t i = 0; i < labels.codes.size(); ++i) {
    if (counts(weighting, i)) code[static_cast<std::size_t>(labels.codes[i])] = 0;
  }
  std::vector<std::string> values;
  for (std::size_t c = 0; c < code.size(); ++c) {
    if (code[c] < 0) continue;
    code[c] = static_cast<std::int32_t>(values.size());
    values.push_back(labels.values[c]);
  }
  for (std::size_t i = 0; i < labels.codes.size(); ++i) {
    labels.codes[i] = counts(weighting, i) ? code[static_cast<std::size_t>(labels.codes[i])] : -1;
  }
  labels.values = std::move(values);
}

Contingency contingency_of(const data::Labels& labels, const data::Labels& truth,
                           const std::optional<Weighting>& weighting) {
  if (!weighting) return contingency(labels.codes, truth.codes);
  std::vector<std::int32_t> clusters, classes;
  std::vector<std::int64_t> copies;
  double total = 0.0;
  for (std::size_t i = 0; i < labels.codes.size(); ++i) {
    const double weight = weighting->of_rows[i];
    if (weight == 0.0) continue;
    total += weight;
    if (weight != std::rint(weight) || total > static_cast<double>(kMaxContingencyRows)) {
      throw Error(
          ExitCode::usage,
          fmt::format("--truth: expected whole weights with a sum of at most {}, found {} in row {} (counted from "
                      "1) of {}; leave out the weights, or --truth",
                      kMaxContingencyRows, weight, i + 1, weighting->name));
    }
    clusters.push_back(labels.codes[i]);
    classes.push_back(truth.codes[i]);
    copies.push_back(static_cast<std::int64_t>(weight));
  }
  return contingency(clusters, classes, copies);
}

}  // namespace kith::app
