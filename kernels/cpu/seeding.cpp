// Seeding and relocation: the smallest distance to any seed so far, its integer totals and draws, and the farthest
// rows.
//
// A candidate changes few rows' minimum, so the float32 screen first proves for most rows that their minimum cannot
// fall; only the others get the float64 distance. One pass over the points per call, n t d multiply-adds.
#include <atomic>
#include <mutex>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/panels.h"

namespace kith::cpu {
namespace {

/// A score above this proves D(x, candidate) >= kept. The true D is |x'|^2 + 2 score (times 4^exponent), and the score
/// is off by at most margin / 2; |x'| is bounded from below since its norm was summed in float32.
float limit_of(double kept, double scale, float norm, float margin, std::int64_t d) {
  const double shrink = 1 - (static_cast<double>(d) + 10) * 0x1p-24;
  const double least = std::max(0.0, static_cast<double>(norm) * shrink - 0x1p-140);
  const double limit = (kept * scale * scale - least * least + static_cast<double>(margin)) / 2;
  return static_cast<float>(limit + std::abs(limit) * 0x1p-20);
}

/// see(row, candidate, D) for every pair in which D may be below the row's kept distance; candidates ascend for a row.
/// begin() makes a thread's own visitor for a range of rows, end(visitor) takes it back.
template <class T, class Begin, class End>
void for_near_pairs(const HeldRows<T>& held, MatrixView<const double> candidates, const Begin& begin, const End& end) {
  const ScreenColumns columns(held, candidates);
  const int lanes = held.set.lanes;
  const auto& kernels = held.set.template rows<T>();
  held.for_ranges(held.rows_per_task((candidates.rows + 8) * held.columns()), [&](std::int64_t first, std::int64_t last,
                                                                                  std::int64_t, int) {
    RowPanel<T> panel(held);
    std::vector<Hit> hits(static_cast<std::size_t>(kTileColumns) * lanes);
    auto visitor = begin(first, last);
    for (std::int64_t i = first; i < last; i += lanes) {
      const int count = static_cast<int>(std::min<std::int64_t>(lanes, last - i));
      panel.pack(count, [&](int lane) { return i + lane; });
      float limit[kMaxLanes];
      std::fill_n(limit, kMaxLanes, -std::numeric_limits<float>::infinity());
      for (int lane = 0; lane < count; ++lane) {
        limit[lane] = limit_of(held.distance[i + lane], held.scale(), panel.norm(lane),
                               columns.margin(panel.norm(lane)), held.columns());
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

constexpr std::int64_t kWorkOfOneTerm = 16;

}  // namespace

template <class T>
double lower(HeldRows<T>& held, std::span<const double> seed) {
  struct Visitor {
    std::vector<double>& kept;
    std::int64_t first, last;
    void see(std::int64_t row, std::int64_t, double distance) { kept[row] = std::min(kept[row], distance); }
  };
  std::mutex merging;
  double largest = 0.0;
  for_near_pairs(
      held, {seed.data(), 1, held.columns()},
      [&](std::int64_t first, std::int64_t last) {
        return Visitor{held.distance, first, last};
      },
      [&](const Visitor& visitor) {
        const double part =
            *std::max_element(held.distance.begin() + visitor.first, held.distance.begin() + visitor.last);
        const std::lock_guard lock(merging);
        largest = std::max(largest, part);
      });
  return largest;
}

template <class T>
void add_trial_totals(const HeldRows<T>& held, MatrixView<const double> candidates, FixedScale scale,
                      std::span<std::int64_t> totals) {
  struct Visitor {
    const std::vector<double>& kept;
    FixedScale scale;
    std::vector<std::int64_t> gain;  // (t) by how much a candidate changes the total
    void see(std::int64_t row, std::int64_t t, double distance) {
      if (distance < kept[row]) gain[t] += fixed(distance, scale) - fixed(kept[row], scale);
    }
  };
  const std::int64_t before = total(held, scale);
  for (std::int64_t& sum : totals) sum += before;
  std::mutex merging;
  for_near_pairs(
      held, candidates,
      [&](std::int64_t, std::int64_t) {
        return Visitor{held.distance, scale, std::vector<std::int64_t>(candidates.rows, 0)};
      },
      [&](const Visitor& visitor) {
        const std::lock_guard lock(merging);
        for (std::size_t t = 0; t < visitor.gain.size(); ++t) totals[t] += visitor.gain[t];
      });
}

template <class T>
std::int64_t total(const HeldRows<T>& held, FixedScale scale) {
  std::atomic<std::int64_t> sum{0};
  held.for_ranges(held.rows_per_task(kWorkOfOneTerm), [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
    sum += total_of_range(held, scale, first, last);
  });
  return sum;
}

template <class T>
std::int64_t draw(const HeldRows<T>& held, FixedScale scale, std::int64_t target) {
  const std::int64_t step = held.rows_per_task(kWorkOfOneTerm);
  std::vector<std::int64_t> totals((held.rows() + step - 1) / step);
  held.for_ranges(step, [&](std::int64_t first, std::int64_t last, std::int64_t task, int) {
    totals[task] = total_of_range(held, scale, first, last);
  });
  std::int64_t prefix = 0, row = 0;
  for (const std::int64_t part : totals) {
    if (prefix + part > target) break;
    prefix += part;
    row += step;
  }
  for (; row < held.rows(); ++row) {
    prefix += fixed(held.distance[row], scale);
    if (prefix > target) return held.first_row + row;
  }
  throw Error(ExitCode::internal, "a random draw fell outside the total of the distances");
}

#define KITH_INSTANTIATE(T)                                                                                          \
  template double lower(HeldRows<T>&, std::span<const double>);                                                      \
  template void add_trial_totals(const HeldRows<T>&, MatrixView<const double>, FixedScale, std::span<std::int64_t>); \
  template std::int64_t total(const HeldRows<T>&, FixedScale);                                                       \
  template std::int64_t draw(const HeldRows<T>&, FixedScale, std::int64_t);
KITH_INSTANTIATE(float)
KITH_INSTANTIATE(double)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
