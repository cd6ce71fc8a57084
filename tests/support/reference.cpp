// The definition in plain nested loops.
#include "tests/support/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kith::test {

// For each processor the compiler uses its own vectors, and its instruction for fma in place of a slow call: the
// results are the same. Such functions are chosen before ThreadSanitizer has started.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_THREAD__)
#define KITH_FOR_EACH_PROCESSOR __attribute__((target_clones("default", "fma", "avx512f")))
#else
#define KITH_FOR_EACH_PROCESSOR
#endif

KITH_FOR_EACH_PROCESSOR double reference_distance(const double* x, const double* c, std::int64_t d) {
  double a[32] = {};
  for (std::int64_t first = 0; first < d; first += 32) {
    const std::int64_t lanes = d - first < 32 ? d - first : 32;
    for (std::int64_t l = 0; l < lanes; ++l) {
      const double t = x[first + l] - c[first + l];
      a[l] = std::fma(t, t, a[l]);
    }
  }
  for (const int w : {16, 8, 4, 2, 1}) {
    for (int l = 0; l < w; ++l) a[l] = a[l] + a[l + w];
  }
  return a[0];
}

KITH_FOR_EACH_PROCESSOR double reference_distance(Measure measure, const double* x, const double* c, std::int64_t d) {
  if (measure == Measure::squared_euclidean) return reference_distance(x, c, d);
  if (measure == Measure::hamming || measure == Measure::jaccard) {  // eight bits in each value
    double differ = 0, either = 0;
    for (std::int64_t bit = 0; bit < 8 * d; ++bit) {
      const bool of_x = (static_cast<int>(x[bit / 8]) >> bit % 8) % 2 == 1;
      const bool of_c = (static_cast<int>(c[bit / 8]) >> bit % 8) % 2 == 1;
      differ += of_x != of_c ? 1 : 0;
      either += of_x || of_c ? 1 : 0;
    }
    return measure == Measure::hamming || either == 0 ? differ : differ / either;
  }
  double a[32] = {};
  for (std::int64_t first = 0; first < d; first += 32) {
    const std::int64_t lanes = d - first < 32 ? d - first : 32;
    for (std::int64_t l = 0; l < lanes; ++l) {
      const double t = std::fabs(x[first + l] - c[first + l]);
      if (measure == Measure::inner_product) a[l] = std::fma(x[first + l], c[first + l], a[l]);
      if (measure == Measure::manhattan) a[l] = a[l] + t;
      if (measure == Measure::chebyshev) a[l] = t > a[l] ? t : a[l];
    }
  }
  for (const int w : {16, 8, 4, 2, 1}) {
    for (int l = 0; l < w; ++l) {
      const double larger = a[l] > a[l + w] ? a[l] : a[l + w];
      a[l] = measure == Measure::chebyshev ? larger : a[l] + a[l + w];
    }
  }
  return measure == Measure::inner_product ? 0.0 - a[0] : a[0];
}

namespace {

class ReferencePoints final : public Points {
 public:
  ReferencePoints(MatrixView<const double> values, std::span<const double> weights)
      : values_(values.rows, values.columns), weights_(weights.begin(), weights.end()) {
    std::copy(values.data, values.data + values.size(), values_.data());
  }

  std::int64_t rows() const override { return values_.rows(); }
  std::int64_t columns() const override { return values_.columns(); }

  std::unique_ptr<Points> hold(const PointBlock& block) const override {
    return std::visit(
        [&](const auto& rows) {
          Matrix<double> values(rows.rows, rows.columns);
          std::copy(rows.data, rows.data + rows.size(), values.data());
          return reference_points(values.view(), block.weights);
        },
        block.values);
  }

  void add_range(ColumnRange& range) const override {
    for (std::int64_t i = 0; i < rows(); ++i) {
      for (std::int64_t j = 0; j < columns(); ++j) {
        range.minimum[j] = std::min(range.minimum[j], values_(i, j));
        range.maximum[j] = std::max(range.maximum[j], values_(i, j));
      }
    }
  }
  void add_magnitudes(const ColumnScales& scales, ColumnMagnitudes& magnitudes) const override {
    const double small = std::ldexp(1.0, scales.low_bits - 13), lost = std::ldexp(1.0, 20 - scales.low_bits);
    for (std::int64_t i = 0; i < rows(); ++i) {
      for (std::int64_t j = 0; j < columns(); ++j) {
        const bool whole = scales.integral_weights;
        const double scaled = values_(i, j) * scales.first[j] * scales.second[j] * (whole ? 1.0 : weight(i));
        const auto q = static_cast<std::int64_t>(std::rint(scaled));
        const std::int64_t copies = whole ? static_cast<std::int64_t>(weight(i)) : 1;
        magnitudes.sum[j] += copies * q;
        magnitudes.absolute_sum[j] += copies * std::abs(q);
        if (std::rint(scaled) != scaled) magnitudes.on_grid[j] = 0;
        if (values_(i, j) == 0) continue;
        if (std::abs(scaled) < small) magnitudes.small[j] += copies;
        if (std::abs(scaled) < lost) magnitudes.lost[j] += copies;
      }
    }
  }
  void prepare(const DataPlan& plan) override {
    scales_ = plan.scales;
    weight_grid_ = plan.weights.grid();
    reset();
  }

  void reset() override {
    label_.assign(rows(), -1);
    summed_.assign(rows(), -1);
    distance_.assign(rows(), std::numeric_limits<double>::infinity());
  }
  void assign(const AssignRequest& request, Assignment& assignment) override {
    for (std::int64_t i = 0; i < rows(); ++i) {
      std::int32_t best = -1;
      double nearest = std::numeric_limits<double>::infinity();
      for (std::int64_t c = 0; c < request.centroids.rows; ++c) {
        const double distance = to(i, request.centroids.row(c).data());
        if (distance < nearest || best < 0) {
          nearest = distance;
          best = static_cast<std::int32_t>(c);
        }
      }
      assignment.changed += summed_[i] != best;
      label_[i] = best;
      ++assignment.counts[best];
    }
  }
  void measure(const MeasureRequest& request, std::span<Limbs> inertia) override {
    for (std::int64_t i = 0; i < rows(); ++i) {
      distance_[i] = to(i, request.centroids.row(label_[i]).data());
      add_limbs(i, distance_[i] * request.inertia.first * request.inertia.second, request.inertia_bits, 1,
                inertia[label_[i]]);
    }
  }
  void update_sums(ClusterSums& sums) override {
    for (std::int64_t i = 0; i < rows(); ++i) {
      if (summed_[i] >= 0) add_row(i, summed_[i], -1, sums);
      if (label_[i] >= 0) add_row(i, label_[i], 1, sums);
      summed_[i] = label_[i];
    }
  }
  void relabel(std::int64_t row, std::int32_t label) override { label_[row] = label; }
  void set_labels(std::span<const std::int32_t> labels) override { label_.assign(labels.begin(), labels.end()); }
  std::vector<FarRow> farthest(std::int64_t count) const override {
    std::vector<FarRow> all;
    for (std::int64_t i = 0; i < rows(); ++i) all.push_back({distance_[i], i, label_[i]});
    std::stable_sort(all.begin(), all.end(), [](const FarRow& a, const FarRow& b) { return a.distance > b.distance; });
    all.resize(std::min<std::size_t>(all.size(), count));
    return all;
  }
  void labels(std::span<std::int32_t> out) const override { std::copy(label_.begin(), label_.end(), out.begin()); }
  void distances(std::span<double> out) const override { std::copy(distance_.begin(), distance_.end(), out.begin()); }
  void copy_rows(std::span<const std::int64_t> rows, MatrixView<double> out) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::int64_t j = 0; j < columns(); ++j) out(static_cast<std::int64_t>(i), j) = values_(rows[i], j);
    }
  }

  double update_min_distance(std::span<const double> seed) override {
    for (std::int64_t i = 0; i < rows(); ++i) distance_[i] = std::min(distance_[i], to(i, seed.data()));
    return *std::max_element(distance_.begin(), distance_.end());
  }
  void try_candidates(MatrixView<const double> candidates, FixedScale scale, std::span<std::int64_t> totals) override {
    candidates_.clear();
    for (std::int64_t t = 0; t < candidates.rows; ++t) {
      candidates_.emplace_back(candidates.row(t).begin(), candidates.row(t).end());
      for (std::int64_t i = 0; i < rows(); ++i) {
        totals[t] += fixed(i, std::min(distance_[i], to(i, candidates.row(t).data())), scale);
      }
    }
  }
  double commit_candidate(std::int64_t chosen) override { return update_min_distance(candidates_[chosen]); }
  std::int64_t total_min_distance(FixedScale scale) const override {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < rows(); ++i) sum += fixed(i, distance_[i], scale);
    return sum;
  }
  void draw_rows(FixedScale scale, std::span<const std::int64_t> targets, std::span<std::int64_t> rows) const override {
    for (std::size_t t = 0; t < targets.size(); ++t) {
      std::int64_t prefix = 0;
      rows[t] = -1;
      while (prefix <= targets[t]) {
        ++rows[t];
        prefix += fixed(rows[t], distance_[rows[t]], scale);
      }
    }
  }

  void search(const Queries& queries, NeighborLists& lists) const override {
    const std::int64_t k = lists.index.columns();
    std::vector<std::pair<double, std::int64_t>> all;
    for (std::int64_t q = 0; q < queries.values.rows; ++q) {
      all.clear();
      for (std::int64_t i = 0; i < k && lists.index(q, i) >= 0; ++i)
        all.emplace_back(lists.distance(q, i), lists.index(q, i));
      for (std::int64_t i = 0; i < rows(); ++i) {
        if (queries.excluded_row >= 0 && i == queries.excluded_row + q) continue;
        all.emplace_back(to(i, queries, q), i);
      }
      const std::int64_t found = std::min(k, static_cast<std::int64_t>(all.size()));
      std::nth_element(all.begin(), all.begin() + found, all.end());
      std::sort(all.begin(), all.begin() + found);
      for (std::int64_t i = 0; i < found; ++i) {
        lists.distance(q, i) = all[i].first;
        lists.index(q, i) = all[i].second;
      }
    }
  }
  void search_radius(const Queries& queries, RadiusLists& found) const override {
    for (std::int64_t q = 0; q < queries.values.rows; ++q) {
      for (std::int64_t i = 0; i < rows(); ++i) {
        if (queries.excluded_row >= 0 && i == queries.excluded_row + q) continue;
        const double distance = to(i, queries, q);
        if (i < found.first_row || !(distance <= found.limit)) continue;
        ++found.counts[q];
        found.rows[q].push_back({distance, i});
      }
    }
  }
  void all_distances(const Queries& queries, MatrixView<double> out) const override {
    for (std::int64_t q = 0; q < queries.values.rows; ++q) {
      for (std::int64_t i = 0; i < rows(); ++i) out(q, i) = to(i, queries, q);
    }
  }
  void cluster_distances(const ClusterDistancesRequest& request, MatrixView<std::int64_t> sums) const override {
    for (std::int64_t q = 0; q < request.queries.rows; ++q) {
      for (std::int64_t i = 0; i < rows(); ++i) {
        if (label_[i] < 0 || label_[i] >= sums.columns) continue;
        const double distance = std::sqrt(to(i, request.queries.row(q).data()));  // rows are not weighted
        sums(q, label_[i]) +=
            static_cast<std::int64_t>(std::rint(distance * request.scale.first * request.scale.second));
      }
    }
  }

 private:
  double to(std::int64_t i, const double* other) const {
    return reference_distance(values_.row(i).data(), other, columns());
  }
  double to(std::int64_t i, const Queries& queries, std::int64_t q) const {
    return reference_distance(queries.measure, values_.row(i).data(), queries.values.row(q).data(), columns());
  }
  double weight(std::int64_t i) const { return weights_.empty() ? 1.0 : weights_[static_cast<std::size_t>(i)]; }
  /// The contribution of row i to a sum on the grid: whole weights multiply the integer, others the value.
  std::int64_t fixed(std::int64_t i, double v, FixedScale scale) const {
    const double scaled = v * scale.first * scale.second;
    if (scales_.integral_weights) return static_cast<std::int64_t>(std::rint(scaled)) * std::llrint(weight(i));
    return static_cast<std::int64_t>(std::rint(scaled * weight(i)));
  }
  /// The same in two limbs.
  void add_limbs(std::int64_t i, double scaled, int low_bits, std::int64_t sign, Limbs& sum) const {
    const std::int64_t times = sign * (scales_.integral_weights ? std::llrint(weight(i)) : 1);
    if (!scales_.integral_weights) scaled *= weight(i);
    sum.high += times * static_cast<std::int64_t>(std::floor(scaled));
    sum.low += times * static_cast<std::int64_t>(std::rint(std::ldexp(scaled - std::floor(scaled), low_bits)));
  }
  void add_row(std::int64_t i, std::int32_t cluster, std::int64_t sign, ClusterSums& sums) const {
    for (std::int64_t j = 0; j < columns(); ++j) {
      const FixedScale scale{scales_.first[j], scales_.second[j], scales_.shift[j]};
      const std::int64_t at = cluster * columns() + j;
      if (sums.limbs == 1) {
        sums.high[at] += sign * fixed(i, values_(i, j), scale);
      } else {
        Limbs sum{sums.high[at], sums.low[at]};
        add_limbs(i, values_(i, j) * scale.first * scale.second, scales_.low_bits, sign, sum);
        sums.high[at] = sum.high;
        sums.low[at] = sum.low;
      }
    }
    if (!weights_.empty()) {
      add_limbs(i, weight_grid_.first * weight_grid_.second, scales_.low_bits, sign, sums.weights[cluster]);
    }
  }

  Matrix<double> values_;
  std::vector<double> weights_;  // (n) or empty
  ColumnScales scales_;
  FixedScale weight_grid_;
  std::vector<std::int32_t> label_, summed_;
  std::vector<double> distance_;
  std::vector<std::vector<double>> candidates_;  // of the last trial
};

}  // namespace

std::unique_ptr<Points> reference_points(MatrixView<const double> values, std::span<const double> weights) {
  return std::make_unique<ReferencePoints>(values, weights);
}

}  // namespace kith::test
