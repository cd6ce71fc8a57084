// Seeding: the smallest distance to any seed so far, its integer totals and draws, and what candidates would change.
//
// A candidate changes few rows' minimum, so the float32 screen first proves for most rows that their minimum cannot
// fall; only the others get the float64 distance. One pass over the points per seed, n t d multiply-adds for its t
// candidates, remembers for each row which of them lower it; the chosen one then touches only its rows.
#include <bit>
#include <mutex>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/panels.h"

namespace kith::cpu {
namespace {

/// A lower bound of |x'|^2 / 2 from the norm that a panel has, which was summed in float32.
double least_half_norm(float norm, std::int64_t d) {
  const double least =
      std::max(0.0, static_cast<double>(norm) * (1 - (static_cast<double>(d) + 10) * 0x1p-24) - 0x1p-140);
  return least * least / 2;
}

/// Asks for rows before they are packed: a panel takes them in strips, which the processor does not foresee.
template <class T>
void prefetch_rows(const HeldRows<T>& held, std::int64_t first, std::int64_t last) {
  constexpr std::int64_t kLine = 64, kMost = 256 << 10;  // bytes; the second-level cache holds more
  const auto* bytes = reinterpret_cast<const char*>(held.row(first));
  const std::int64_t count =
      std::min<std::int64_t>((last - first) * held.columns() * static_cast<std::int64_t>(sizeof(T)), kMost);
  for (std::int64_t at = 0; at < count; at += kLine) __builtin_prefetch(bytes + at, 0, 2);
}

/// see(row, candidate, D) for every pair in which D may be below the row's kept distance; candidates ascend for a row.
/// begin() makes a visitor for a range of rows, end(visitor) takes it back.
template <class T, class Begin, class End>
void for_near_pairs(const HeldRows<T>& held, MatrixView<const double> candidates, const Begin& begin, const End& end) {
  const ScreenColumns columns(held, candidates);
  const int lanes = held.set.lanes;
  const double scale = held.scale();
  const auto& kernels = held.set.template rows<T>();
  held.for_ranges(held.rows_per_task((candidates.rows + 8) * held.columns()), [&](std::int64_t first, std::int64_t last,
                                                                                  std::int64_t, int) {
    RowPanel<T> panel(held);
    std::vector<Hit> hits(static_cast<std::size_t>(kTileColumns) * lanes);
    auto visitor = begin(first, last);
    for (std::int64_t i = first; i < last; i += lanes) {
      const int count = static_cast<int>(std::min<std::int64_t>(lanes, last - i));
      panel.pack(count, [&](int lane) { return i + lane; });
      prefetch_rows(held, i + count, std::min(i + count + lanes, last));
      float limit[kMaxLanes];
      std::fill_n(limit, kMaxLanes, -std::numeric_limits<float>::infinity());
      for (int lane = 0; lane < count; ++lane) {
        const float norm = panel.norm(lane);
        limit[lane] =
            score_limit(held.distance[i + lane], scale, least_half_norm(norm, held.columns()), columns.margin(norm));
      }
      columns.multiply(panel.panel(), panel.tile(), [&](std::int64_t from, std::int64_t width, const float* half_norm) {
        const std::int64_t found = held.set.within(panel.tile(), half_norm, width, limit, hits.data());
        for (std::int64_t h = 0; h < found; ++h) {
          if (hits[h].lane >= count) continue;
          const std::int64_t row = i + hits[h].lane, t = from + hits[h].column;
          visitor.see(row, t, kernels.distance(held.row(row), candidates.row(t).data(), held.columns()));
        }
      });
    }
    end(visitor);
  });
}

std::int64_t fixed(double distance, FixedScale scale) { return to_fixed(distance, scale.first, scale.second); }

template <class T>
std::int64_t total_of_range(const HeldRows<T>& held, FixedScale scale, std::int64_t first, std::int64_t last) {
  std::int64_t sum = 0, terms[kMaxLanes];
  for (std::int64_t i = first; i < last; i += kMaxLanes) {
    const std::int64_t count = std::min<std::int64_t>(kMaxLanes, last - i);
    held.set.to_grid(held.distance.data() + i, count, scale, 1.0, terms, nullptr);
    for (std::int64_t t = 0; t < count; ++t) sum += terms[t];
  }
  return sum;
}

/// change(first, last) for every group of rows; then the group's total and largest kept distance are taken.
template <class T, class Change>
void renew_totals(const HeldRows<T>& held, FixedScale scale, const Change& change) {
  constexpr std::int64_t kWorkOfOneRow = 16;
  DistanceTotals& totals = held.totals;
  const std::int64_t groups = groups_of(held.rows(), DistanceTotals::kGroup);
  const std::int64_t groups_per_task = groups_of(held.rows_per_task(kWorkOfOneRow), DistanceTotals::kGroup);
  totals.inclusive.resize(groups);
  totals.largest = 0.0;
  std::mutex merging;
  held.for_ranges(groups_per_task * DistanceTotals::kGroup, [&](std::int64_t from, std::int64_t to, std::int64_t, int) {
    double largest = 0.0;
    for (std::int64_t first = from; first < to; first += DistanceTotals::kGroup) {
      const std::int64_t last = std::min(first + DistanceTotals::kGroup, to);
      change(first, last);
      totals.inclusive[first / DistanceTotals::kGroup] = total_of_range(held, scale, first, last);
      for (std::int64_t i = first; i < last; ++i) largest = std::max(largest, held.distance[i]);
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
  if (!held.totals.current || held.totals.shift != scale.shift) renew_totals(held, scale, [](auto, auto) {});
  return held.totals.inclusive;
}

}  // namespace

template <class T>
double lower(HeldRows<T>& held, std::span<const double> seed) {
  held.totals.current = false;
  std::mutex merging;
  double largest = 0.0;
  held.for_ranges(
      held.rows_per_task(8 * held.columns()), [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
        double part = 0.0;
        for (std::int64_t i = first; i < last; ++i) {
          double& kept = held.distance[i];
          kept = std::min(kept, held.set.template rows<T>().distance(held.row(i), seed.data(), held.columns()));
          part = std::max(part, kept);
        }
        const std::lock_guard lock(merging);
        largest = std::max(largest, part);
      });
  return largest;
}

template <class T>
std::int64_t total(const HeldRows<T>& held, FixedScale scale) {
  return inclusive_totals(held, scale).back();
}

template <class T>
void draw(const HeldRows<T>& held, FixedScale scale, std::span<const std::int64_t> targets,
          std::span<std::int64_t> rows) {
  const std::vector<std::int64_t>& inclusive = inclusive_totals(held, scale);
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const auto group = std::upper_bound(inclusive.begin(), inclusive.end(), targets[t]) - inclusive.begin();
    if (group == std::ssize(inclusive)) {
      throw Error(ExitCode::internal,
                  "a row was drawn beyond the total of the distances; expected 0 <= target < total");
    }
    std::int64_t row = group * DistanceTotals::kGroup;
    std::int64_t prefix = group > 0 ? inclusive[group - 1] : 0;
    while ((prefix += fixed(held.distance[row], scale)) <= targets[t]) ++row;
    rows[t] = held.first_row + row;
  }
}

template <class T>
void try_candidates(HeldRows<T>& held, MatrixView<const double> candidates, FixedScale scale,
                    std::span<std::int64_t> totals) {
  struct Visitor {
    SeedTrial& trial;
    const std::vector<double>& kept;
    std::vector<std::int64_t> gain;  // (t) by how much a candidate changes the total
    void see(std::int64_t row, std::int64_t t, double distance) {
      if (!(distance < kept[row])) return;
      gain[t] += fixed(distance, trial.scale) - fixed(kept[row], trial.scale);
      trial.near[row] |= 1U << t;
    }
  };
  const std::int64_t before = total(held, scale);
  SeedTrial& trial = held.trial;
  trial.scale = scale;
  trial.candidates = Matrix<double>(candidates.rows, candidates.columns);
  std::copy(candidates.data, candidates.data + candidates.size(), trial.candidates.data());
  trial.near.resize(held.rows());
  for (std::int64_t& sum : totals) sum += before;
  std::mutex merging;
  for_near_pairs(
      held, candidates,
      [&](std::int64_t first, std::int64_t last) {
        std::fill(trial.near.begin() + first, trial.near.begin() + last, 0U);
        return Visitor{trial, held.distance, std::vector<std::int64_t>(candidates.rows, 0)};
      },
      [&](const Visitor& visitor) {
        const std::lock_guard lock(merging);
        for (std::size_t t = 0; t < visitor.gain.size(); ++t) totals[t] += visitor.gain[t];
      });
}

template <class T>
double keep_candidate(HeldRows<T>& held, std::int64_t chosen) {
  const double* seed = held.trial.candidates.row(chosen).data();
  renew_totals(held, held.trial.scale, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      if ((held.trial.near[i] >> chosen & 1U) == 0) continue;
      held.distance[i] = held.set.template rows<T>().distance(held.row(i), seed, held.columns());
    }
  });
  return held.totals.largest;
}

#define KITH_INSTANTIATE(T)                                                                                   \
  template double lower(HeldRows<T>&, std::span<const double>);                                               \
  template std::int64_t total(const HeldRows<T>&, FixedScale);                                                \
  template void draw(const HeldRows<T>&, FixedScale, std::span<const std::int64_t>, std::span<std::int64_t>); \
  template void try_candidates(HeldRows<T>&, MatrixView<const double>, FixedScale, std::span<std::int64_t>);  \
  template double keep_candidate(HeldRows<T>&, std::int64_t);
KITH_INSTANTIATE(float)
KITH_INSTANTIATE(double)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
