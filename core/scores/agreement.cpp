// Scores of two labelings from their contingency table; degenerate tables score as in scikit-learn.
//
// L. Hubert, P. Arabie: Comparing partitions (1985): adjusted Rand index. A. Rosenberg, J. Hirschberg: V-measure
// (2007). E. B. Fowlkes, C. L. Mallows: A method for comparing two hierarchical clusterings (1983). N. X. Vinh, J.
// Epps, J. Bailey: Information theoretic measures for clusterings comparison (2010): adjusted mutual information.
#include "core/scores/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "core/kmeans/rows_by_label.h"

namespace kith {
namespace {

using Wide = __int128;     // holds every product of two counts of pairs
using Real = long double;  // 64 bits: holds every product of two counts of rows

/// One more than the largest label.
std::size_t groups_of(std::span<const std::int32_t> labels) {
  const auto [least, most] = std::minmax_element(labels.begin(), labels.end());
  if (*least >= 0) return static_cast<std::size_t>(*most) + 1;
  throw Error(ExitCode::internal, fmt::format("contingency: expected labels of at least 0, found {}", *least));
}

/// The number of pairs among `rows` rows.
Wide pairs_of(std::int64_t rows) { return Wide{rows} * (rows - 1) / 2; }

Wide pairs_within(const std::vector<std::int64_t>& groups) {
  Wide pairs = 0;
  for (const std::int64_t rows : groups) pairs += pairs_of(rows);
  return pairs;
}

std::int64_t used(const std::vector<std::int64_t>& groups) {
  return static_cast<std::int64_t>(groups.size()) - std::count(groups.begin(), groups.end(), 0);
}

Real entropy(const std::vector<std::int64_t>& groups, std::int64_t n) {
  Real sum = 0.0L;
  for (const std::int64_t rows : groups) {
    if (rows > 0) sum += static_cast<Real>(rows) * std::log(static_cast<Real>(n) / static_cast<Real>(rows));
  }
  return sum / static_cast<Real>(n);
}

/// n * cell.rows and the product of the two totals are exact in a 64-bit mantissa. They are equal in each cell of
/// independent labelings, so that every logarithm is exactly 0.
Real mutual_information(const Contingency& table) {
  const auto n = static_cast<Real>(table.rows);
  Real sum = 0.0L;
  for (const Contingency::Cell& cell : table.cells) {
    const Real expected =
        static_cast<Real>(table.clusters[cell.cluster]) * static_cast<Real>(table.classes[cell.class_label]);
    sum += static_cast<Real>(cell.rows) * std::log(n * static_cast<Real>(cell.rows) / expected);
  }
  return std::max(sum / n, 0.0L);
}

/// The expected contribution of two random groups of a and b out of n rows to the mutual information. The number of
/// shared rows is hypergeometric. Ratios of neighbouring probabilities give all probabilities relative to the mode;
/// their sum normalises them. Terms below kLeast are smaller than any rounding. Evaluates about twenty standard
/// deviations of the distribution and no factorial.
class ExpectedContribution {
 public:
  ExpectedContribution(std::int64_t n, std::int64_t most_shared) : n_(n) {
    constexpr std::int64_t kTable = std::int64_t{1} << 20;
    log_.resize(static_cast<std::size_t>(std::min(most_shared, kTable)) + 1);
    for (std::size_t m = 1; m < log_.size(); ++m) log_[m] = std::log(static_cast<Real>(m));
  }

  Real operator()(std::int64_t a, std::int64_t b) const {
    const std::int64_t low = std::max<std::int64_t>(0, a + b - n_), high = std::min(a, b);
    const Real n = static_cast<Real>(n_), expected = static_cast<Real>(a) * static_cast<Real>(b);
    const std::int64_t mode = std::clamp(static_cast<std::int64_t>(expected / n), low, high);
    const Real log_expected = std::log(expected / n);
    Real total = 0.0L, sum = 0.0L;
    const auto add = [&](std::int64_t m, Real weight) {
      total += weight;
      if (m > 0) sum += weight * static_cast<Real>(m) * (log_of(m) - log_expected);
    };
    add(mode, 1.0L);
    // P(m + 1) / P(m).
    const auto ratio = [&](std::int64_t m) {
      return static_cast<Real>(a - m) * static_cast<Real>(b - m) /
             (static_cast<Real>(m + 1) * static_cast<Real>(n_ - a - b + m + 1));
    };
    Real weight = 1.0L;
    for (std::int64_t m = mode; m < high && weight > kLeast; ++m) add(m + 1, weight *= ratio(m));
    weight = 1.0L;
    for (std::int64_t m = mode; m > low && weight > kLeast; --m) add(m - 1, weight /= ratio(m - 1));
    return sum / total / n;
  }

 private:
  static constexpr Real kLeast = 1e-30L;

  Real log_of(std::int64_t m) const {
    const auto index = static_cast<std::size_t>(m);
    return index < log_.size() ? log_[index] : std::log(static_cast<Real>(m));
  }

  std::int64_t n_;
  std::vector<Real> log_;
};

/// The number of groups of each size.
std::map<std::int64_t, std::int64_t> sizes(const std::vector<std::int64_t>& groups) {
  std::map<std::int64_t, std::int64_t> groups_of_size;
  for (const std::int64_t rows : groups) {
    if (rows > 0) ++groups_of_size[rows];
  }
  return groups_of_size;
}

/// The mean of the mutual information over all labelings with these sizes. Equal sizes are computed once; there are at
/// most sqrt(2 n) different sizes.
Real expected_information(const Contingency& table) {
  const auto clusters = sizes(table.clusters), classes = sizes(table.classes);
  const ExpectedContribution expected_contribution(table.rows,
                                                   std::min(clusters.rbegin()->first, classes.rbegin()->first));
  Real sum = 0.0L;
  for (const auto& [a, as_a] : clusters) {
    for (const auto& [b, as_b] : classes)
      sum += static_cast<Real>(as_a) * static_cast<Real>(as_b) * expected_contribution(a, b);
  }
  return sum;
}

Real adjusted_rand_index(const Contingency& table, Wide both) {
  const Wide in_cluster = pairs_within(table.clusters) - both, in_class = pairs_within(table.classes) - both;
  if (in_cluster == 0 && in_class == 0) return 1.0L;
  const Wide neither = pairs_of(table.rows) - both - in_cluster - in_class;
  return 2.0L * static_cast<Real>(both * neither - in_cluster * in_class) /
         static_cast<Real>((both + in_class) * (in_class + neither) + (both + in_cluster) * (in_cluster + neither));
}

Real purity(const Contingency& table) {
  std::vector<std::int64_t> largest(table.clusters.size(), 0);
  for (const Contingency::Cell& cell : table.cells) largest[cell.cluster] = std::max(largest[cell.cluster], cell.rows);
  std::int64_t rows = 0;
  for (const std::int64_t most : largest) rows += most;
  return static_cast<Real>(rows) / static_cast<Real>(table.rows);
}

/// Fills in the scores that rest on entropies; the labelings differ.
void add_information(const Contingency& table, Agreement& out) {
  const Real of_clusters = entropy(table.clusters, table.rows), of_classes = entropy(table.classes, table.rows);
  const Real shared = mutual_information(table), mean = (of_clusters + of_classes) / 2;
  const bool trivial = used(table.clusters) == 1 || used(table.classes) == 1;  // one group carries no information
  const Real homogeneity = of_classes > 0 ? shared / of_classes : 1.0L;
  const Real completeness = of_clusters > 0 ? shared / of_clusters : 1.0L;
  out.homogeneity = static_cast<double>(homogeneity);
  out.completeness = static_cast<double>(completeness);
  // The harmonic mean of both equals the mutual information divided by the arithmetic mean of the entropies.
  out.v_measure = out.normalized_mutual_information = static_cast<double>(shared / mean);
  if (trivial) return;
  const Real expected = expected_information(table);
  out.adjusted_mutual_information = static_cast<double>((shared - expected) / (mean - expected));
}

}  // namespace

Contingency contingency(std::span<const std::int32_t> labels, std::span<const std::int32_t> classes,
                        std::span<const std::int64_t> copies) {
  const auto count_of = [copies](std::int64_t row) { return copies.empty() ? 1 : copies[row]; };
  std::int64_t n = 0;
  for (std::size_t i = 0; i < labels.size() && n <= kMaxContingencyRows; ++i) n += count_of(i);
  if (labels.size() != classes.size() || n == 0 || n > kMaxContingencyRows) {
    throw Error(ExitCode::internal,
                fmt::format("contingency: expected 1 to {} rows and one class for each label, found "
                            "{} labels and {} classes",
                            kMaxContingencyRows, labels.size(), classes.size()));
  }
  Contingency table{.rows = n, .clusters = {}, .classes = {}, .cells = {}};
  table.clusters.resize(groups_of(labels));
  table.classes.resize(groups_of(classes));
  const RowsByLabel sorted = rows_by_label(labels, std::ssize(table.clusters));
  std::vector<std::int64_t> rows(table.classes.size(), 0);
  for (std::size_t c = 0; c < table.clusters.size(); ++c) {
    std::vector<std::int32_t> present;
    for (std::int64_t at = sorted.first[c]; at < sorted.first[c + 1]; ++at) {
      const std::int64_t row = sorted.rows[at];
      if (rows[classes[row]] == 0) present.push_back(classes[row]);
      rows[classes[row]] += count_of(row);
    }
    std::sort(present.begin(), present.end());
    for (const std::int32_t class_label : present) {
      table.cells.push_back({static_cast<std::int64_t>(c), class_label, rows[class_label]});
      table.clusters[c] += rows[class_label];
      table.classes[class_label] += rows[class_label];
      rows[class_label] = 0;
    }
  }
  return table;
}

Agreement agreement(const Contingency& table) {
  Wide both = 0;  // pairs of rows that are together in both labelings
  for (const Contingency::Cell& cell : table.cells) both += pairs_of(cell.rows);
  Agreement out;
  out.purity = static_cast<double>(purity(table));
  out.adjusted_rand_index = static_cast<double>(adjusted_rand_index(table, both));
  if (both > 0) {
    const auto in_both = static_cast<Real>(both);
    out.fowlkes_mallows = static_cast<double>(std::sqrt(in_both / static_cast<Real>(pairs_within(table.clusters))) *
                                              std::sqrt(in_both / static_cast<Real>(pairs_within(table.classes))));
  }
  const auto cells = static_cast<std::int64_t>(table.cells.size());
  if (cells == used(table.clusters) && cells == used(table.classes)) {
    out.homogeneity = out.completeness = out.v_measure = 1.0;
    out.normalized_mutual_information = out.adjusted_mutual_information = 1.0;
  } else {
    add_information(table, out);
  }
  return out;
}

Classification classification(const Contingency& table) {
  const auto share = [](std::int64_t part, std::int64_t all) {
    return all == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(all);
  };
  Classification result{.rows = table.rows, .classes = std::vector<ClassScores>(table.clusters.size()), .mean = {}};
  std::vector<std::int64_t> right(table.clusters.size(), 0);
  for (const Contingency::Cell& cell : table.cells) {
    if (cell.cluster == cell.class_label) right[static_cast<std::size_t>(cell.cluster)] = cell.rows;
  }
  std::int64_t counted = 0;
  for (std::size_t c = 0; c < table.clusters.size(); ++c) {
    const std::int64_t known = table.clusters[c], found = c < table.classes.size() ? table.classes[c] : 0;
    ClassScores& scores = result.classes[c];
    scores = {share(right[c], found), share(right[c], known), share(2 * right[c], known + found), known};
    result.right += right[c];
    if (known + found == 0) continue;
    ++counted;
    result.mean.precision += scores.precision;
    result.mean.recall += scores.recall;
    result.mean.f1 += scores.f1;
  }
  for (double* sum : {&result.mean.precision, &result.mean.recall, &result.mean.f1}) {
    *sum /= static_cast<double>(counted);
  }
  result.mean.rows = table.rows;
  return result;
}

}  // namespace kith
