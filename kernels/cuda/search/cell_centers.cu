// The centers of cells. The first ones are rows drawn in proportion to D to the centers before (D. Arthur, S.
// Vassilvitskii: k-means++, 2007), then moved to the means of their near rows, twice. The device measures samples of
// the rows and queries against all centers, per pair 4 d bytes from the caches and d subtractions and multiply-adds;
// the host decides.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "core/numbers/philox.h"
#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/search/cells.h"
#include "kernels/cuda/search/row_sample.h"

namespace kith::cuda {
namespace {

__global__ void distances_kernel(DistanceGrid<double> grid, CenterDistances out) {
  distances_of_grid(grid, [&](std::int64_t center, std::int64_t row, double squared) {
    out.squared[row * out.centers + center] = squared;
  });
}

}  // namespace

void measure_centers(const Context& context, const double* rows, std::int64_t count, std::int64_t d,
                     const double* centers, const CenterDistances& out) {
  const DistanceGrid<double> grid{centers, out.centers, out.centers, rows, count, d};
  distances_kernel<<<context.grid(grid.items(), kBlockWarps), kBlock, 0, context.stream>>>(grid, out);
  check(cudaGetLastError());
}

namespace {

constexpr std::int64_t kSampleRows = 1024;

double squared_distance(std::span<const double> x, std::span<const double> y) {
  double sum[4] = {};  // in any order
  const std::size_t whole = x.size() / 4 * 4;
  for (std::size_t j = 0; j < whole; j += 4) {
    for (std::size_t l = 0; l < 4; ++l) sum[l] += (x[j + l] - y[j + l]) * (x[j + l] - y[j + l]);
  }
  for (std::size_t j = whole; j < x.size(); ++j) sum[0] += (x[j] - y[j]) * (x[j] - y[j]);
  return sum[0] + sum[1] + sum[2] + sum[3];
}

/// Sampled rows and queries, also on the device.
class Samples {
 public:
  template <class T>
  Samples(const HeldRows<T>& held, const SearchSample& sample)
      : sample_(sample),
        rows_(draw_sample(held, kSampleRows, 1)),
        context_(*held.context),
        pool_(held.pool()),
        values_(held.pool(), all() * rows_.columns()),
        centers_(held.pool(), kMostCenters * rows_.columns()),
        squared_(held.pool(), all() * kMostCenters) {
    context_.stream.upload(values_.data(), rows_.data(), rows_.size());
    context_.stream.upload(values_.data() + rows_.size(), sample.queries.data(), sample.queries.size());
  }

  const Matrix<double>& rows() const { return rows_; }
  const Matrix<double>& queries() const { return sample_.queries; }
  /// D of each query to a near row.
  const std::vector<double>& nearest() const { return sample_.nearest; }
  double error() const { return sample_.error; }

  /// Squared distances of all rows, and then of all queries, to each center. Waits for the device.
  Matrix<double> distances(const Matrix<double>& centers) const {
    Matrix<double> squared(all(), centers.rows());
    context_.stream.upload(centers_.data(), centers.data(), centers.size());
    measure_centers(context_, values_.data(), all(), rows_.columns(), centers_.data(),
                    {squared_.data(), centers.rows()});
    context_.stream.download(squared.data(), squared_.data(), squared.size());
    return squared;
  }
  /// Squared distances between all rows. Waits for the device.
  Matrix<double> distances_between_rows() const {
    const std::int64_t rows = rows_.rows();
    Matrix<double> between(rows, rows);
    const Buffer<double> on_device(pool_, between.size());
    measure_centers(context_, values_.data(), rows, rows_.columns(), values_.data(), {on_device.data(), rows});
    context_.stream.download(between.data(), on_device.data(), between.size());
    return between;
  }

 private:
  std::int64_t all() const { return rows_.rows() + sample_.queries.rows(); }

  const SearchSample& sample_;
  Matrix<double> rows_;
  const Context& context_;
  Pool& pool_;
  Buffer<double> values_, centers_, squared_;
};

Matrix<double> chosen_rows(const Matrix<double>& rows, const std::vector<std::int64_t>& chosen) {
  Matrix<double> values(std::ssize(chosen), rows.columns());
  for (std::int64_t c = 0; c < values.rows(); ++c) {
    const auto from = rows.row(chosen[static_cast<std::size_t>(c)]);
    std::copy(from.begin(), from.end(), values.row(c).begin());
  }
  return values;
}

/// Draws sampled rows as first centers, one after another.
class FirstCenters {
 public:
  explicit FirstCenters(const Samples& samples)
      : samples_(samples),
        between_(samples.distances_between_rows()),
        distance_(static_cast<std::size_t>(samples.rows().rows()), std::numeric_limits<double>::infinity()) {}

  /// Adds a row as a center; false if no row differs from the centers.
  bool add() {
    const auto draw = static_cast<std::uint64_t>(chosen_.size());
    const std::int64_t rows = samples_.rows().rows();
    std::int64_t row = random_below(0, 0, draw, rows);
    if (draw > 0) {
      std::vector<double> total(distance_);
      std::partial_sum(total.begin(), total.end(), total.begin());
      if (!(total.back() > 0) || !std::isfinite(total.back())) return false;
      const double at = total.back() * std::ldexp(static_cast<double>(random_bits(0, 0, draw) >> 12), -52);
      row = std::min<std::int64_t>(std::upper_bound(total.begin(), total.end(), at) - total.begin(), rows - 1);
    }
    const std::span<const double> squared = between_.row(row);
    for (std::int64_t i = 0; i < rows; ++i) {
      double& nearest = distance_[static_cast<std::size_t>(i)];
      nearest = std::min(nearest, squared[static_cast<std::size_t>(i)]);
    }
    chosen_.push_back(row);
    return true;
  }

  Matrix<double> centers() const { return chosen_rows(samples_.rows(), chosen_); }

 private:
  const Samples& samples_;
  Matrix<double> between_;        // squared distances between all rows
  std::vector<double> distance_;  // D to the nearest center
  std::vector<std::int64_t> chosen_;
};

/// Sampled rows divided among centers.
struct Division {
  std::vector<std::size_t> nearest;  // the center of each row
  std::vector<double> distance;      // D of each row to it
  std::vector<double> limit;         // of each center: D of its near rows is not above this
  std::vector<double> usual[2];      // of each center: D of most near rows, and of most far ones; 0: there are none
};

double quantile(std::span<const double> sorted) {
  constexpr double kQuantile = 0.95;
  return sorted.empty() ? 0.0 : sorted[static_cast<std::size_t>(kQuantile * static_cast<double>(sorted.size() - 1))];
}

/// How many of the sorted distances are near ones: all, or those before the widest free interval if it is wide.
std::size_t near_count(std::span<const double> sorted) {
  constexpr double kWide = 8.0;  // D behind it / D before it
  constexpr std::size_t kFewest = 4, kShare = 32;
  const std::size_t fewest = std::max(kFewest, sorted.size() / kShare);
  std::size_t count = sorted.size();
  double widest = kWide;
  for (std::size_t i = fewest; i + fewest <= sorted.size(); ++i) {
    if (!(sorted[i] > widest * sorted[i - 1])) continue;
    widest = sorted[i] / sorted[i - 1];
    count = i;
  }
  return count;
}

/// squared: of Samples::distances().
Division divide(const Matrix<double>& squared, std::int64_t rows) {
  Division division;
  std::vector<std::vector<double>> distances(static_cast<std::size_t>(squared.columns()));
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::span<const double> row = squared.row(i);
    const auto center = static_cast<std::size_t>(std::min_element(row.begin(), row.end()) - row.begin());
    division.nearest.push_back(center);
    division.distance.push_back(row[center]);
    distances[center].push_back(row[center]);
  }
  for (std::vector<double>& each : distances) {
    std::sort(each.begin(), each.end());
    const std::size_t near = near_count(each);
    const std::span<const double> all(each);
    // The geometric mean of the distances beside it.
    division.limit.push_back(near < all.size() ? std::sqrt(all[near - 1]) * std::sqrt(all[near])
                                               : std::numeric_limits<double>::infinity());
    division.usual[0].push_back(quantile(all.first(near)));
    division.usual[1].push_back(quantile(all.subspan(near)));
  }
  return division;
}

/// The means of the near rows of each center, which stays where it is if it has none.
Matrix<double> near_means(const Samples& samples, const Matrix<double>& centers) {
  const Matrix<double>& rows = samples.rows();
  const Division division = divide(samples.distances(centers), rows.rows());
  Matrix<double> means(centers.rows(), rows.columns());
  std::fill_n(means.data(), means.size(), 0.0);
  std::vector<double> count(static_cast<std::size_t>(centers.rows()));
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    const std::size_t center = division.nearest[static_cast<std::size_t>(i)];
    if (division.distance[static_cast<std::size_t>(i)] > division.limit[center]) continue;
    const auto sum = means.row(static_cast<std::int64_t>(center));
    for (std::int64_t j = 0; j < rows.columns(); ++j) sum[static_cast<std::size_t>(j)] += rows(i, j);
    ++count[center];
  }
  for (std::int64_t c = 0; c < means.rows(); ++c) {
    const double rows_of_center = count[static_cast<std::size_t>(c)];
    for (std::int64_t j = 0; j < means.columns(); ++j)
      means(c, j) = rows_of_center > 0 ? means(c, j) / rows_of_center : centers(c, j);
  }
  return means;
}

/// Centers, and what they make of the samples.
struct CenterTrial {
  CenterTrial(const Samples& samples, Matrix<double> centers)
      : values(std::move(centers)),
        squared(samples.distances(values)),
        division(divide(squared, samples.rows().rows())) {}

  Matrix<double> values, squared;
  Division division;
  double share = 1.0;

  std::span<const double> of_query(const Samples& samples, std::int64_t q) const {
    return squared.row(samples.rows().rows() + q);
  }
};

/// Whether products in fp16 relative to these centers decide most of the sampled queries: those near which the error is
/// small beside the distance to their neighbours.
bool decides(const Samples& samples, const CenterTrial& trial) {
  constexpr double kSmall = 0.02;
  constexpr std::int64_t kShare = 8;
  std::int64_t ambiguous = 0;
  for (std::int64_t q = 0; q < samples.queries().rows(); ++q) {
    const std::span<const double> squared = trial.of_query(samples, q);
    const auto nearest = std::min_element(squared.begin(), squared.end());
    const auto center = static_cast<std::size_t>(nearest - squared.begin());
    const double scale = trial.division.usual[*nearest > trial.division.limit[center] ? 1 : 0][center];
    if (!(samples.error() * scale <= kSmall * samples.nearest()[static_cast<std::size_t>(q)])) ++ambiguous;
  }
  return kShare * ambiguous <= samples.queries().rows();
}

/// The share of the sampled rows in cells that a sampled query needs, on average.
double needed_share(const Samples& samples, const CenterTrial& trial) {
  constexpr double kLarger = 1.25;  // radius of all rows of a cell / of the sampled ones
  const Division& division = trial.division;
  const auto cells = static_cast<std::size_t>(2 * trial.values.rows());
  const auto cell_of = [&](std::size_t center, double distance) {
    return 2 * center + (distance > division.limit[center] ? 1 : 0);
  };
  std::vector<double> rows(cells), radius(cells);
  for (std::size_t i = 0; i < division.nearest.size(); ++i) {
    const std::size_t cell = cell_of(division.nearest[i], division.distance[i]);
    rows[cell] += 1;
    radius[cell] = std::max(radius[cell], kLarger * std::sqrt(division.distance[i]));
  }
  double needed = 0.0;
  for (std::int64_t q = 0; q < samples.queries().rows(); ++q) {
    const std::span<const double> squared = trial.of_query(samples, q);
    const auto nearest = std::min_element(squared.begin(), squared.end());
    const std::size_t own = cell_of(static_cast<std::size_t>(nearest - squared.begin()), *nearest);
    const double reach = std::sqrt(samples.nearest()[static_cast<std::size_t>(q)]);
    for (std::size_t g = 0; g < cells; ++g) {
      const double distance = std::sqrt(squared[g / 2]);
      const double hole = g % 2 == 1 ? std::sqrt(division.limit[g / 2]) : 0.0;
      const bool is_beyond = std::max(distance - radius[g], hole - distance) > reach;
      if (g == own || !is_beyond) needed += rows[g];
    }
  }
  return needed / static_cast<double>(samples.queries().rows() * std::ssize(division.nearest));
}

CenterTrial try_centers(const Samples& samples, const Matrix<double>& first) {
  CenterTrial trial(samples, near_means(samples, near_means(samples, first)));
  trial.share = needed_share(samples, trial);
  return trial;
}

/// The centers without those in the midst of the near rows of another one, where a query needs both cells.
Matrix<double> apart(const CenterTrial& trial) {
  constexpr double kNear = 2.0;  // D of two centers / D of usual rows of either; 4 where two balls touch
  const std::vector<double>& usual = trial.division.usual[0];
  std::vector<std::int64_t> kept;
  for (std::int64_t c = 0; c < trial.values.rows(); ++c) {
    const auto is_within = [&](std::int64_t other) {
      const double distance = squared_distance(trial.values.row(c), trial.values.row(other));
      return distance <= kNear * std::max(usual[static_cast<std::size_t>(c)], usual[static_cast<std::size_t>(other)]);
    };
    if (std::none_of(kept.begin(), kept.end(), is_within)) kept.push_back(c);
  }
  return chosen_rows(trial.values, kept);
}

ChosenCenters chosen(CenterTrial trial) {
  return {std::move(trial.values), std::move(trial.division.limit), trial.share};
}

}  // namespace

template <class T>
ChosenCenters choose_centers(const HeldRows<T>& held, const SearchSample& sample, CellPurpose purpose) {
  constexpr double kLargestShare = 0.25, kFewer = 0.9, kMore = 1.1;
  const Samples samples(held, sample);
  FirstCenters first(samples);
  std::optional<CenterTrial> best;
  const std::int64_t most = held.context->forced.cells ? kMostCenters : sample.most_centers;
  for (std::int64_t centers = 1; centers <= most && first.add(); ++centers) {
    if ((centers & (centers - 1)) != 0 && centers != most) continue;
    CenterTrial trial = try_centers(samples, first.centers());
    const bool enough = purpose == CellPurpose::precision && decides(samples, trial);
    const bool better = purpose == CellPurpose::precision || !best || trial.share < kFewer * best->share;
    if (better) best.emplace(std::move(trial));
    if (enough) return chosen(std::move(*best));
  }
  if (purpose == CellPurpose::pruning && best) {
    CenterTrial fewer = try_centers(samples, apart(*best));
    if (fewer.share <= kMore * best->share) best.emplace(std::move(fewer));
  }
  const bool serves = purpose == CellPurpose::pruning && best && best->share <= kLargestShare;
  if (best && (serves || held.context->forced.cells)) return chosen(std::move(*best));
  return {Matrix<double>(0, held.columns()), {}};
}

#define KITH_INSTANTIATE(T) template ChosenCenters choose_centers(const HeldRows<T>&, const SearchSample&, CellPurpose);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
