// Seeding for k-means++: the smallest distance of every row to any seed, totals, draws, and gains of candidates.
//
// A candidate lowers the minimum of few rows. Rows much nearer to their seed than any candidate is to that seed are not
// read; the float32 screen proves for most other rows that their minimum does not fall; the remaining rows get the
// float64 distance. Each trial takes one pass over the points, n t d multiply-adds for t candidates, and records for
// each row which candidates lower it, so that committing one updates only those rows. The triangle inequality is used
// as in E. Raff: Exact acceleration of k-means++ and k-means|| (2021).
#include <mutex>

#include "kernels/cpu/points.h"
#include "kernels/cpu/runtime/panels.h"

namespace kith::cpu {
namespace {

constexpr std::int64_t kCandidates = 32;  // at most, at a time: the bits of Seeding::lowered_by

std::int64_t fixed(double distance, FixedScale scale, RowWeight weight) {
  return weighted_fixed(distance, scale.first, scale.second, weight);
}

/// skip_limit[s]: rows whose nearest seed is s and whose kept distance is at most this are nearer to that seed than to
/// every candidate: by the triangle inequality |x - c| >= |s - c| - |x - s| >= |x - s| if D(s, c) >= 4 D(x, s).
/// Negative if no row can be skipped: in the range of subnormal numbers, and if there are too many seeds or none.
template <class T>
std::vector<double> skip_limits(const HeldRows<T>& held, MatrixView<const double> candidates) {
  constexpr std::int64_t kMinRowsPerSeed = 16;
  constexpr double kRounding = 1 - 0x1p-20, kSubnormal = 0x1p-900;
  const std::int64_t d = held.columns(), seeds = std::ssize(held.seeding.seeds) / d;
  const auto distance = held.set.template rows<double>().distance;
  std::vector<double> skip_limit(std::max<std::int64_t>(seeds, 1), -1.0);
  if (seeds * kMinRowsPerSeed > held.rows()) return skip_limit;
  for (std::int64_t s = 0; s < seeds; ++s) {
    double nearest = std::numeric_limits<double>::infinity();
    for (std::int64_t t = 0; t < candidates.rows; ++t) {
      nearest = std::min(nearest, distance(held.seeding.seeds.data() + s * d, candidates.row(t).data(), d));
    }
    if (nearest >= kSubnormal) skip_limit[s] = nearest / 4 * kRounding;
  }
  return skip_limit;
}

/// Tries candidates on one range of rows.
template <class T>
class Trial {
 public:
  Trial(HeldRows<T>& held, const ScreenColumns& columns, const std::vector<double>& skip_limit)
      : held_(held),
        columns_(columns),
        skip_limits_(skip_limit),
        panel_(held, held.set.float32),
        hits_(static_cast<std::size_t>(kTileColumns) * held.set.float32.lanes),
        gain(columns.count(), 0) {}

  void run(std::int64_t first, std::int64_t last) {
    std::fill(held_.seeding.lowered_by.begin() + first, held_.seeding.lowered_by.begin() + last, 0U);
    next_ = first;
    last_ = last;
    for (Rows rows = next_rows(); rows.count > 0;) {
      panel_.pack(rows.count, [&](int lane) { return rows.row[lane]; });
      const Rows after = next_rows();  // prefetched while the current rows are multiplied
      screen(rows);
      rows = after;
    }
  }

 private:
  struct Rows {
    int count = 0;
    std::int64_t row[kMaxLanes];
  };

  /// The next rows whose minimum a candidate may lower. Branch-free, because the processor cannot predict which rows
  /// these are. Prefetches the rows, because packing reads them in strips, which is not predictable either.
  Rows next_rows() {
    constexpr std::int64_t kLine = 64, kMax = 4096;  // bytes; a panel of rows fits the second-level cache
    const std::int64_t bytes = std::min(held_.columns() * static_cast<std::int64_t>(sizeof(T)), kMax);
    const double* distance = held_.distance.data();
    const std::int32_t* nearest = held_.seeding.nearest.data();
    Rows rows;
    for (; next_ < last_ && rows.count < held_.set.float32.lanes; ++next_) {
      rows.row[rows.count] = next_;
      rows.count += !(distance[next_] <= skip_limits_[nearest[next_]]);
    }
    for (int lane = 0; lane < rows.count; ++lane) {
      const auto* row = reinterpret_cast<const char*>(held_.row(rows.row[lane]));
      for (std::int64_t at = 0; at < bytes; at += kLine) __builtin_prefetch(row + at, 0, 2);
    }
    return rows;
  }

  void screen(const Rows& rows) {
    float limit[kMaxLanes];
    std::fill_n(limit, kMaxLanes, -std::numeric_limits<float>::infinity());
    for (int lane = 0; lane < rows.count; ++lane) {
      const float norm = panel_.norm(lane);
      limit[lane] = score_limit(held_.distance[rows.row[lane]], scale_, lower_half_sq_norm(norm, held_.columns()),
                                columns_.margin(norm, panel_.residual(lane)));
    }
    for (std::int64_t t = 0; t < columns_.tiles(); ++t) {
      const MultipliedColumns columns = columns_.multiply(t, panel_.panel(), panel_.tile());
      const std::int64_t hit_count =
          held_.set.float32.scores.collect(panel_.tile(), columns.half_sq_norm, columns.count, limit, hits_.data());
      for (std::int64_t h = 0; h < hit_count; ++h) {
        if (hits_[h].lane < rows.count) compare(rows.row[hits_[h].lane], columns.first + hits_[h].column);
      }
    }
  }

  void compare(std::int64_t row, std::int64_t t) {
    const Seeding& seeding = held_.seeding;
    const double kept = held_.distance[row];
    const double distance =
        held_.set.template rows<T>().distance(held_.row(row), seeding.candidates.row(t).data(), held_.columns());
    if (!(distance < kept)) return;
    const RowWeight weight = held_.weights.of(row);
    gain[t] += fixed(distance, seeding.scale, weight) - fixed(kept, seeding.scale, weight);
    held_.seeding.lowered_by[row] |= 1U << t;
  }

  HeldRows<T>& held_;
  const ScreenColumns& columns_;
  const std::vector<double>& skip_limits_;
  const double scale_ = held_.scale();
  RowPanel<T> panel_;
  std::vector<Hit> hits_;
  std::int64_t next_ = 0, last_ = 0;  // the remaining rows

 public:
  std::vector<std::int64_t> gain;  // (t) change of the total by each candidate
};

template <class T>
std::int64_t total_of_range(const HeldRows<T>& held, FixedScale scale, std::int64_t first, std::int64_t last) {
  std::int64_t sum = 0, terms[kMaxLanes];
  if (held.weights.weight != nullptr) {
    for (std::int64_t i = first; i < last; ++i) sum += fixed(held.distance[i], scale, held.weights.of(i));
    return sum;
  }
  for (std::int64_t i = first; i < last; i += kMaxLanes) {
    const std::int64_t count = std::min<std::int64_t>(kMaxLanes, last - i);
    held.set.to_grid(held.distance.data() + i, count, scale, 1.0, terms, nullptr);
    for (std::int64_t t = 0; t < count; ++t) sum += terms[t];
  }
  return sum;
}

/// Four independent maxima avoid dependent operations.
double largest_of(const double* distance, std::int64_t count) {
  constexpr int kWays = 4;
  double largest[kWays] = {};
  std::int64_t i = 0;
  for (; i + kWays <= count; i += kWays) {
    for (int way = 0; way < kWays; ++way) largest[way] = std::max(largest[way], distance[i + way]);
  }
  for (; i < count; ++i) largest[0] = std::max(largest[0], distance[i]);
  return std::max(std::max(largest[0], largest[1]), std::max(largest[2], largest[3]));
}

/// Calls update(first, last) for every group of rows, then computes the group's total and its largest kept distance.
template <class T, class Update>
void update_totals(const HeldRows<T>& held, FixedScale scale, const Update& update) {
  constexpr std::int64_t kWorkOfOneRow = 16;
  DistanceTotals& totals = held.totals;
  const std::int64_t groups = ceil_div(held.rows(), DistanceTotals::kGroup);
  const std::int64_t groups_per_task = ceil_div(held.rows_per_task(kWorkOfOneRow), DistanceTotals::kGroup);
  totals.inclusive.resize(groups);
  totals.largest = 0.0;
  std::mutex merging;
  held.for_ranges(groups_per_task * DistanceTotals::kGroup, [&](std::int64_t from, std::int64_t to, std::int64_t, int) {
    double largest = 0.0;
    for (std::int64_t first = from; first < to; first += DistanceTotals::kGroup) {
      const std::int64_t last = std::min(first + DistanceTotals::kGroup, to);
      update(first, last);
      totals.inclusive[first / DistanceTotals::kGroup] = total_of_range(held, scale, first, last);
      largest = std::max(largest, largest_of(held.distance.data() + first, last - first));
    }
    const std::lock_guard lock(merging);
    totals.largest = std::max(totals.largest, largest);
  });
  std::int64_t running = 0;
  for (std::int64_t& total : totals.inclusive) total = running += total;
  totals.shift = scale.shift;
  totals.current = true;
}

template <class T>
const std::vector<std::int64_t>& inclusive_totals(const HeldRows<T>& held, FixedScale scale) {
  if (!held.totals.current || held.totals.shift != scale.shift) update_totals(held, scale, [](auto, auto) {});
  return held.totals.inclusive;
}

/// Appends a seed and returns its number. Seeds serve skip_limits(), which few rows do not use.
template <class T>
std::int32_t add_seed(HeldRows<T>& held, std::span<const double> seed) {
  Seeding& seeding = held.seeding;
  if (held.are_few_and_long(kCandidates)) {
    seeding.nearest.resize(held.rows(), 0);
    return 0;
  }
  const auto number = static_cast<std::int32_t>(std::ssize(seeding.seeds) / held.columns());
  seeding.seeds.insert(seeding.seeds.end(), seed.begin(), seed.end());
  seeding.nearest.resize(held.rows(), 0);
  return number;
}

/// The gains of candidates by the definition alone, without panels.
template <class T>
void try_by_definition(HeldRows<T>& held, std::span<std::int64_t> totals) {
  Seeding& seeding = held.seeding;
  const std::int64_t count = seeding.candidates.rows();
  std::vector<double> distance(static_cast<std::size_t>(held.rows() * count));
  held.threads.run(std::ssize(distance), [&](std::int64_t pair, int) {
    distance[pair] = held.set.template rows<T>().distance(held.row(pair / count),
                                                          seeding.candidates.row(pair % count).data(), held.columns());
  });
  for (std::int64_t i = 0; i < held.rows(); ++i) {
    seeding.lowered_by[i] = 0;
    const std::int64_t kept = fixed(held.distance[i], seeding.scale, held.weights.of(i));
    for (std::int64_t t = 0; t < count; ++t) {
      if (!(distance[i * count + t] < held.distance[i])) continue;
      totals[t] += fixed(distance[i * count + t], seeding.scale, held.weights.of(i)) - kept;
      seeding.lowered_by[i] |= 1U << t;
    }
  }
}

}  // namespace

template <class T>
double CpuPoints<T>::update_min_distance(std::span<const double> seed) {
  held_.pristine = false;
  const std::int32_t number = add_seed(held_, seed);
  held_.totals.current = false;
  std::mutex merging;
  double largest = 0.0;
  held_.for_ranges(
      held_.rows_per_task(8 * held_.columns()), [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
        double part = 0.0;
        for (std::int64_t i = first; i < last; ++i) {
          const double distance = held_.set.template rows<T>().distance(held_.row(i), seed.data(), held_.columns());
          if (distance < held_.distance[i]) {
            held_.distance[i] = distance;
            held_.seeding.nearest[i] = number;
          }
          part = std::max(part, held_.distance[i]);
        }
        const std::lock_guard lock(merging);
        largest = std::max(largest, part);
      });
  return largest;
}

template <class T>
std::int64_t CpuPoints<T>::total_min_distance(FixedScale scale) const {
  return inclusive_totals(held_, scale).back();
}

template <class T>
void CpuPoints<T>::draw_rows(FixedScale scale, std::span<const std::int64_t> targets,
                             std::span<std::int64_t> rows) const {
  const std::vector<std::int64_t>& inclusive = inclusive_totals(held_, scale);
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const auto group = std::upper_bound(inclusive.begin(), inclusive.end(), targets[t]) - inclusive.begin();
    if (group == std::ssize(inclusive)) {
      throw Error(ExitCode::internal,
                  "a row was drawn beyond the total of the distances; expected 0 <= target < total");
    }
    std::int64_t row = group * DistanceTotals::kGroup;
    std::int64_t prefix = group > 0 ? inclusive[group - 1] : 0;
    while ((prefix += fixed(held_.distance[row], scale, held_.weights.of(row))) <= targets[t]) ++row;
    rows[t] = held_.first_row + row;
  }
}

template <class T>
void CpuPoints<T>::try_candidates(MatrixView<const double> candidates, FixedScale scale,
                                  std::span<std::int64_t> totals) {
  held_.pristine = false;
  const std::int64_t before = total_min_distance(scale);
  for (std::int64_t& sum : totals) sum += before;
  Seeding& seeding = held_.seeding;
  seeding.scale = scale;
  seeding.candidates = Matrix<double>(candidates.rows, candidates.columns);
  std::copy(candidates.data, candidates.data + candidates.size(), seeding.candidates.data());
  seeding.lowered_by.resize(held_.rows());
  seeding.nearest.resize(held_.rows(), 0);  // without seeds if the distances were set
  if (held_.are_few_and_long(kCandidates)) return try_by_definition(held_, totals);
  ScreenColumns columns(held_, held_.set.float32, candidates.rows);
  columns.pack(held_, candidates.data, candidates.rows);
  const std::vector<double> skip_limit = skip_limits(held_, candidates);
  std::mutex merging;
  held_.for_ranges(held_.rows_per_task((candidates.rows + 8) * held_.columns(), held_.set.float32.lanes),
                   [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
                     Trial<T> trial(held_, columns, skip_limit);
                     trial.run(first, last);
                     const std::lock_guard lock(merging);
                     for (std::size_t t = 0; t < totals.size(); ++t) totals[t] += trial.gain[t];
                   });
}

template <class T>
double CpuPoints<T>::commit_candidate(std::int64_t chosen) {
  held_.pristine = false;
  const double* seed = held_.seeding.candidates.row(chosen).data();
  const std::int32_t number = add_seed(held_, {seed, static_cast<std::size_t>(held_.columns())});
  update_totals(held_, held_.seeding.scale, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      if ((held_.seeding.lowered_by[i] >> chosen & 1U) == 0) continue;
      held_.distance[i] = held_.set.template rows<T>().distance(held_.row(i), seed, held_.columns());
      held_.seeding.nearest[i] = number;
    }
  });
  return held_.totals.largest;
}

#define KITH_INSTANTIATE(T)                                                                                        \
  template double CpuPoints<T>::update_min_distance(std::span<const double>);                                      \
  template std::int64_t CpuPoints<T>::total_min_distance(FixedScale) const;                                        \
  template void CpuPoints<T>::draw_rows(FixedScale, std::span<const std::int64_t>, std::span<std::int64_t>) const; \
  template void CpuPoints<T>::try_candidates(MatrixView<const double>, FixedScale, std::span<std::int64_t>);       \
  template double CpuPoints<T>::commit_candidate(std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
