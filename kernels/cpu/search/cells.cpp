// Makes the cells of rows that searches use.
//
// Cost: one assignment of all rows to the centers, and packing, which is about that of a search for 100 queries.
#include "kernels/cpu/search/cells.h"

#include <algorithm>
#include <numeric>

#include "core/numbers/philox.h"
#include "kernels/cpu/points.h"
#include "kernels/cpu/runtime/sorted_rows.h"

namespace kith::cpu {
namespace {

/// Holds `values` as separate points with the same screen.
template <class T>
CpuPoints<T> hold_alone(const HeldRows<T>& held, MatrixView<const T> values) {
  HeldRows<T> alone{.values = values, .set = held.set, .threads = held.threads, .forced = {}, .plan = held.plan};
  alone.reset();
  return CpuPoints<T>(std::move(alone));
}

}  // namespace

template <class T>
Matrix<double> Cells<T>::choose_centers(const HeldRows<T>& held, std::int64_t count) const {
  constexpr std::int64_t kSamplePerCell = 16;
  const std::int64_t n = held.rows(), d = held.columns(), sample = std::min(n, kSamplePerCell * count);
  Matrix<T> values(sample, d);
  for (std::int64_t i = 0; i < sample; ++i) {
    const std::int64_t row = random_below(0, 0, static_cast<std::uint64_t>(i), n);
    std::copy_n(held.row(row), d, values.row(i).data());
  }
  const std::int64_t uniform = ceil_div(count, 2);
  Matrix<double> centers(count, d);
  for (std::int64_t c = 0; c < uniform; ++c) std::copy_n(values.row(c).data(), d, centers.row(c).data());
  CpuPoints<T> alone = hold_alone(held, MatrixView<const T>(values.view()));
  Assignment assignment(uniform);
  const MatrixView<const double> first = centers.view().middle(0, uniform);
  alone.assign({first}, assignment);
  std::vector<double> total(static_cast<std::size_t>(sample));
  held.threads.run(sample, [&](std::int64_t i, int) {
    const double* center = first.row(alone.held().label[i]).data();
    total[i] = held.set.template rows<T>().distance(values.row(i).data(), center, d);
  });
  std::partial_sum(total.begin(), total.end(), total.begin());
  std::int64_t chosen = uniform;
  for (; chosen < count && total.back() > 0; ++chosen) {
    const double at =
        total.back() * (static_cast<double>(chosen - uniform) + 0.5) / static_cast<double>(count - uniform);
    const auto row =
        std::min<std::int64_t>(std::upper_bound(total.begin(), total.end(), at) - total.begin(), sample - 1);
    std::copy_n(values.row(row).data(), d, centers.row(chosen).data());
  }
  Matrix<double> result(chosen, d);
  std::copy_n(centers.data(), result.size(), result.data());
  return result;
}

/// Near centers get near numbers, so that queries of neighbouring cells share panels.
template <class T>
void Cells<T>::order_centers(const HeldRows<T>& held) {
  const std::int64_t count = center_rows_.rows(), d = center_rows_.columns();
  const auto groups = static_cast<std::int64_t>(std::sqrt(static_cast<double>(count)));
  std::vector<std::pair<std::int64_t, std::int64_t>> order(static_cast<std::size_t>(count));
  const auto distance = held.set.template rows<double>().distance;
  held.threads.run(count, [&](std::int64_t c, int) {
    std::int64_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t g = 0; g < groups; ++g) {
      const double each = distance(center_rows_.row(c).data(), center_rows_.row(g).data(), d);
      if (each < least) least = each, nearest = g;
    }
    order[c] = {nearest, c};
  });
  std::sort(order.begin(), order.end());
  Matrix<double> sorted(count, d);
  for (std::int64_t c = 0; c < count; ++c)
    std::copy_n(center_rows_.row(order[c].second).data(), d, sorted.row(c).data());
  center_rows_ = std::move(sorted);
}

template <class T>
Cells<T>::Cells(const HeldRows<T>& held, const ScreenKernels& kernels, bool ranges, std::int64_t count) {
  const std::int64_t d = held.columns(), n = held.rows();
  if (!ranges) {
    center_rows_ = choose_centers(held, count);
    order_centers(held);
    count = center_rows_.rows();
  } else {
    center_rows_ = Matrix<double>(count, d);
    for (std::int64_t c = 0; c < count; ++c) std::copy_n(held.plan.mean.data(), d, center_rows_.row(c).data());
  }
  centers_ = Matrix<float>(count, d);
  const double scale = held.scale();
  for (std::int64_t i = 0; i < center_rows_.size(); ++i) {
    centers_.data()[i] = static_cast<float>(center_rows_.data()[i] * scale);
    center_rows_.data()[i] = static_cast<double>(centers_.data()[i]) / scale;
  }
  CpuPoints<T> alone = hold_alone(held, held.values);
  if (!ranges) {
    Assignment assignment(count);
    alone.assign({center_rows_.view()}, assignment);
  } else {
    for (std::int64_t i = 0; i < n; ++i) alone.held().label[i] = static_cast<std::int32_t>(i * count / n);
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(held.rows()));
  std::iota(all.begin(), all.end(), 0);
  const SortedRows sorted = sort_by_label(held.threads, all, alone.held().label.data(), count);

  // Cells without rows disappear.
  std::int64_t used = 0;
  std::vector<std::int64_t> start;
  for (std::int64_t c = 0; c < count; ++c) {
    if (sorted.start[c] == sorted.start[c + 1]) continue;
    std::copy_n(center_rows_.row(c).data(), d, center_rows_.row(used).data());
    std::copy_n(centers_.row(c).data(), d, centers_.row(used).data());
    start.push_back(sorted.start[c]);
    ++used;
  }
  start.push_back(held.rows());
  Matrix<double> kept(used, d);
  std::copy_n(center_rows_.data(), kept.size(), kept.data());
  center_rows_ = std::move(kept);

  columns_.reserve(static_cast<std::size_t>(used));
  for (std::int64_t cell = 0; cell < used; ++cell) columns_.emplace_back(held, kernels);
  rows_ = sorted.row;
  std::vector<Matrix<float>> centred(held.threads.count());
  constexpr double kGrowth = 4;  // of distances within a tile
  first_.assign(static_cast<std::size_t>(used), 0);
  std::vector<std::vector<std::int64_t>> tile_rows(static_cast<std::size_t>(used));
  held.threads.run(used, [&](std::int64_t cell, int thread) {
    if (centred[thread].size() == 0) centred[thread] = Matrix<float>(tile_columns(kernels), d);
    LocalColumns& columns = columns_[cell];
    columns.reset(centers_.row(cell).data());
    std::vector<std::pair<double, std::int64_t>> rows;
    for (std::int64_t i = start[cell]; i < start[cell + 1]; ++i) {
      const double distance =
          held.set.template rows<T>().distance(held.row(rows_[i]), center_rows_.row(cell).data(), d);
      rows.emplace_back(distance, rows_[i]);
    }
    std::sort(rows.begin(), rows.end());
    const double median = rows[rows.size() / 2].first;
    // A tile ends where distances grow by a factor, so that outliers do not widen the others.
    std::vector<std::int64_t> ends;
    double most = 0.0;
    std::int64_t begin = 0;
    for (std::int64_t i = 0; i < std::ssize(rows); ++i) {
      const bool grows = rows[i].first > most && std::ssize(ends) < i / columns.step() + 16;
      if (i == 0 || (i - begin < columns.step() && !grows)) {
        if (i == 0) most = kGrowth * kGrowth * std::max(rows[0].first, median / 64);
        continue;
      }
      ends.push_back(i);
      begin = i;
      most = kGrowth * kGrowth * std::max(rows[i].first, median / 64);
    }
    ends.push_back(std::ssize(rows));
    columns.reserve(std::ssize(ends));
    std::vector<std::int64_t>& places = tile_rows[cell];
    places.assign(ends.size() * columns.step(), -1);
    begin = 0;
    for (std::size_t t = 0; t < ends.size(); ++t) {
      columns.template add_tile<T>(
          ends[t] - begin, [&](std::int64_t c) { return held.row(rows[begin + c].second); }, centred[thread]);
      for (std::int64_t i = begin; i < ends[t]; ++i) places[t * columns.step() + (i - begin)] = rows[i].second;
      begin = ends[t];
    }
  });
  std::int64_t places = 0;
  for (std::int64_t cell = 0; cell < used; ++cell) {
    first_[cell] = places;
    places += std::ssize(tile_rows[cell]);
  }
  rows_.resize(static_cast<std::size_t>(places));
  for (std::int64_t cell = 0; cell < used; ++cell)
    std::copy(tile_rows[cell].begin(), tile_rows[cell].end(), rows_.begin() + first_[cell]);
}

template <class T>
const Cells<T>& cells_of(const HeldRows<T>& held, const ScreenKernels& kernels, SearchMethod method,
                         std::int64_t queries) {
  if (!held.cells) {
    constexpr std::int64_t kRangesPerThread = 8;
    const bool ranges = method == SearchMethod::ranges;
    const std::int64_t count =
        ranges ? std::min(kRangesPerThread * held.threads.count(), held.rows()) : cell_count(held.rows(), queries);
    held.cells = std::make_shared<const Cells<T>>(held, kernels, ranges, count);
  }
  return *held.cells;
}

#define KITH_INSTANTIATE(T) \
  template class Cells<T>;  \
  template const Cells<T>& cells_of(const HeldRows<T>&, const ScreenKernels&, SearchMethod, std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
