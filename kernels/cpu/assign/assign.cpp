// Assigns every row to its nearest centroid: a screen with the certificate of core/screen.h, and the definition for
// ambiguous rows.
//
// Cost per row: k d multiply-adds in the type that the processor multiplies fastest. The panel of rows stays in the
// first-level cache while packed centroids stream from the second; no distance matrix exists. A row keeps the best
// score of every group of 16 centroids. The group bests within its limit are its candidates: a single one is its label,
// several are compared by the definition. If a centroid that is not the best of its group may be within the limit, a
// refinement pass screens the row again, in a full panel of such rows, for all its candidates.
#include <bit>
#include <memory>

#include "kernels/cpu/assign/bounds.h"
#include "kernels/cpu/assign/narrow_screen.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/runtime/panels.h"

namespace kith::cpu {
namespace {

/// Labels ranges of rows on one thread; the counts are merged at the end.
template <class T>
class Assigner {
 public:
  Assigner(HeldRows<T>& held, const AssignRequest& request, const ScreenKernels& kernels,
           const ScreenColumns& centroids, const BoundWorkspace& bounds)
      : held_(held),
        request_(request),
        kernels_(kernels),
        centroids_(centroids),
        bounds_(bounds),
        rows_(held, kernels),
        ambiguous_panel_(held, kernels),
        group_best_(ceil_div(centroids.count(), tile_columns(kernels)) * kTileGroups, kernels.lanes),
        hits_(static_cast<std::size_t>(kTileColumns) * kernels.lanes),
        norm_rounding_((static_cast<double>(held.columns()) + 16) * 0x1p-23),
        sums(request.centroids.rows) {}

  void run(std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      if (bounds_.known() && bounds_.certifies(held_.bounds.bound[i], held_.label[i])) {
        count(i, held_.label[i]);
        continue;
      }
      queued_row_[queued_] = i;
      if (++queued_ == kernels_.lanes) screen();
    }
  }

  /// Labels the remaining rows, which do not fill a panel.
  void finish() {
    if (queued_ > 0) screen();
    if (ambiguous_count_ > 0) refine();
  }

 private:
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

  /// The nearest candidate of each lane so far, by the definition.
  struct Nearest {
    Nearest() { std::fill_n(label, kMaxLanes, -1); }
    std::int32_t label[kMaxLanes];
    double distance[kMaxLanes], second[kMaxLanes];  // to that candidate, and to the second nearest
  };

  /// Result of the screening pass for the rows of a panel (BestScores, negated scores).
  struct Screening {
    Screening() {
      for (float* each : {best_lower, best_upper, second_upper, others_upper}) std::fill_n(each, kMaxLanes, -kInfinity);
    }
    float best_lower[kMaxLanes], best_upper[kMaxLanes], second_upper[kMaxLanes], others_upper[kMaxLanes];
  };

  /// The refinement pass: screens the ambiguous rows again for the columns within their limits, and compares those by
  /// the definition.
  void refine() {
    Nearest nearest;
    std::fill(ambiguous_limit_ + ambiguous_count_, ambiguous_limit_ + kMaxLanes, -kInfinity);
    float limit[kMaxLanes];
    ambiguous_panel_.pack(ambiguous_count_, [&](int lane) { return ambiguous_row_[lane]; });
    centroids_.multiply(ambiguous_panel_.panel(), ambiguous_panel_.tile(),
                        [&](std::int64_t from, std::int64_t columns, const float* half_sq_norm) {
                          centroids_.errors(from, ambiguous_panel_.norms(), limit);
                          for (int lane = 0; lane < kernels_.lanes; ++lane) limit[lane] += ambiguous_limit_[lane];
                          const std::int64_t hit_count = kernels_.scores.collect(ambiguous_panel_.tile(), half_sq_norm,
                                                                                 columns, limit, hits_.data());
                          for (std::int64_t h = 0; h < hit_count; ++h) {
                            const int lane = hits_[h].lane;
                            if (lane >= ambiguous_count_) continue;  // a NaN in a lane that repeats the last row
                            compare(nearest, lane, ambiguous_row_[lane], from + hits_[h].column);
                          }
                        });
    for (int lane = 0; lane < ambiguous_count_; ++lane)
      store(ambiguous_row_[lane], nearest.label[lane], measured_bound(nearest, lane, ambiguous_others_[lane]));
    sums.ambiguous += ambiguous_count_;
    ambiguous_count_ = 0;
  }

  /// Compares a candidate (a column) with the nearest so far; ties keep the lowest centroid.
  void compare(Nearest& nearest, int lane, std::int64_t row, std::int64_t column) {
    const auto candidate = static_cast<std::int32_t>(centroids_.row_of(column));
    const double* centroid = request_.centroids.row(candidate).data();
    const double distance = held_.set.template rows<T>().distance(held_.row(row), centroid, held_.columns());
    ++sums.candidates;
    const bool is_first = nearest.label[lane] < 0;
    const bool is_lower = distance == nearest.distance[lane] && candidate < nearest.label[lane];
    if (!is_first && !(distance < nearest.distance[lane] || is_lower)) {
      nearest.second[lane] = std::min(nearest.second[lane], distance);
      return;
    }
    nearest.second[lane] = is_first ? std::numeric_limits<double>::infinity() : nearest.distance[lane];
    nearest.distance[lane] = distance;
    nearest.label[lane] = candidate;
  }

  /// The screening pass, for the queued rows.
  void screen() {
    const int queued = std::exchange(queued_, 0);
    sums.screened += queued;
    if (centroids_.count() == 1) {
      for (int lane = 0; lane < queued; ++lane) store(queued_row_[lane], 0, 0.0F);
      return;
    }
    Screening screening;
    rows_.pack(queued, [&](int lane) { return queued_row_[lane]; });
    std::int64_t groups = 0;
    float error[kMaxLanes];
    centroids_.multiply(
        rows_.panel(), rows_.tile(), [&](std::int64_t from, std::int64_t columns, const float* half_sq_norm) {
          centroids_.errors(from, rows_.norms(), error);
          kernels_.scores.update_best(rows_.tile(), half_sq_norm, columns, error,
                                      {group_best_.row(groups).data(), screening.best_lower, screening.best_upper,
                                       screening.second_upper, screening.others_upper});
          groups += ceil_div(columns, kGroupColumns);
        });
    float limit[kMaxLanes];
    std::fill_n(limit, kMaxLanes, -kInfinity);
    for (int lane = 0; lane < queued; ++lane) {
      const bool usable = centroids_.margin(rows_.norms().norm[lane], rows_.norms().residual[lane]) < kInfinity;
      if (usable && screening.others_upper[lane] < screening.best_lower[lane]) {
        limit[lane] = -screening.best_lower[lane];
      } else {
        append_ambiguous(queued_row_[lane], usable ? -screening.best_lower[lane] : kInfinity,
                         others_bound(screening, lane));
      }
    }
    label_rows(screening, limit, groups);
  }

  /// Labels the rows of the panel whose candidates are all group bests; the limit of the other rows is -infinity.
  void label_rows(const Screening& screening, const float* limit, std::int64_t groups) {
    static constexpr float kZeros[kTileColumns] = {};  // group bests include half norms and errors
    constexpr std::int32_t kColumnMask = kGroupColumns - 1;
    std::int64_t first_candidate[kMaxLanes];  // a column
    std::fill_n(first_candidate, kMaxLanes, -1);
    Nearest nearest;
    for (std::int64_t first = 0; first < groups; first += kTileColumns) {
      const std::int64_t hit_count =
          kernels_.scores.collect(group_best_.row(first).data(), kZeros,
                                  std::min<std::int64_t>(kTileColumns, groups - first), limit, hits_.data());
      for (std::int64_t h = 0; h < hit_count; ++h) {
        const int lane = hits_[h].lane;
        if (limit[lane] == -kInfinity) continue;  // a NaN
        const std::int64_t group = first + hits_[h].column;
        const std::int32_t in_group = std::bit_cast<std::int32_t>(hits_[h].score) & kColumnMask;
        const std::int64_t candidate =
            group / kTileGroups * tile_columns(kernels_) + group % kTileGroups * kGroupColumns + in_group;
        if (first_candidate[lane] < 0) {
          first_candidate[lane] = candidate;
          continue;
        }
        if (nearest.label[lane] < 0) compare(nearest, lane, queued_row_[lane], first_candidate[lane]);
        compare(nearest, lane, queued_row_[lane], candidate);
      }
    }
    for (int lane = 0; lane < kernels_.lanes; ++lane) {
      if (first_candidate[lane] < 0) continue;
      const bool several = nearest.label[lane] >= 0;
      sums.ambiguous += several;
      store(queued_row_[lane],
            several ? nearest.label[lane] : static_cast<std::int32_t>(centroids_.row_of(first_candidate[lane])),
            several ? measured_bound(nearest, lane, others_bound(screening, lane)) : screened_bound(screening, lane));
    }
  }

  // The bound of a row (core/bounds.h), from an upper bound of its squared distance to its centroid (own) and a lower
  // bound of the difference to any other. A score s stands for |x'|^2 + 2 s (core/screen.h).

  float bound_between(double own, double difference) const {
    constexpr double kToFloat = 0x1p-22;
    return bound_of(static_cast<float>(std::max(own, 0.0) * (1 + kToFloat)),
                    static_cast<float>(difference * (1 - kToFloat)));
  }
  /// For a row that the screening pass certified.
  float screened_bound(const Screening& screening, int lane) const {
    if (!bounds_) return 0.0F;
    const double own = screening.best_lower[lane];
    const double others = std::max(screening.second_upper[lane], screening.others_upper[lane]);
    return bound_between(squared_norm(lane) * (1 + norm_rounding_) - 2 * own, 2 * (own - others));
  }
  /// For a row labelled by the definition; others: lower bound of squared distances to non-candidates.
  float measured_bound(const Nearest& nearest, int lane, double others) const {
    if (!bounds_) return 0.0F;
    const double squared_scale = held_.scale() * held_.scale(), rounding = definition_rounding(held_.columns());
    const double own = nearest.distance[lane] * squared_scale * (1 + rounding);
    return bound_between(own, std::min(nearest.second[lane] * squared_scale * (1 - rounding), others) - own);
  }
  /// A lower bound of the squared distances to centroids that are not candidates: their scores are above the best.
  double others_bound(const Screening& screening, int lane) const {
    return squared_norm(lane) * (1 - norm_rounding_) - 2.0 * screening.best_lower[lane];
  }
  double squared_norm(int lane) const {
    const double norm = rows_.norms().norm[lane];
    return norm * norm;
  }

  void append_ambiguous(std::int64_t row, float limit, double others) {
    ambiguous_row_[ambiguous_count_] = row;
    ambiguous_limit_[ambiguous_count_] = limit;
    ambiguous_others_[ambiguous_count_] = others;
    if (++ambiguous_count_ == kernels_.lanes) refine();
  }

  void store(std::int64_t row, std::int32_t label, float bound) {
    held_.label[row] = label;
    if (bounds_) held_.bounds.bound[row] = bound;
    count(row, label);
  }

  void count(std::int64_t row, std::int32_t label) {
    sums.changed += held_.summed[row] != label;
    ++sums.counts[label];
  }

  HeldRows<T>& held_;
  const AssignRequest& request_;
  const ScreenKernels& kernels_;
  const ScreenColumns& centroids_;
  const BoundWorkspace& bounds_;
  RowPanel<T> rows_, ambiguous_panel_;
  Matrix<float> group_best_;  // (groups of columns, lanes)
  std::vector<Hit> hits_;
  double norm_rounding_;  // relative error of a squared norm in float32
  int queued_ = 0, ambiguous_count_ = 0;
  std::int64_t queued_row_[kMaxLanes];  // of the queue, then of the panel
  std::int64_t ambiguous_row_[kMaxLanes];
  float ambiguous_limit_[kMaxLanes];    // upper bounds of the best scores
  double ambiguous_others_[kMaxLanes];  // lower bounds of squared distances to non-candidates

 public:
  Assignment sums;
};

void add(const Assignment& part, Assignment& total) {
  for (std::size_t c = 0; c < total.counts.size(); ++c) total.counts[c] += part.counts[c];
  total.changed += part.changed;
  total.screened += part.screened;
  total.ambiguous += part.ambiguous;
  total.candidates += part.candidates;
}

}  // namespace

template <class T>
void assign(HeldRows<T>& held, const AssignRequest& request, Assignment& assignment) {
  if (narrow_is_best(held, request.centroids.rows) && !bounds_pay(held, request.centroids.rows)) {
    return assign_narrow(held, request, assignment);
  }
  const ScreenKernels& fastest = held.set.screen_for(held.columns(), request.centroids.rows);
  const bool is_low_precision = &fastest != &held.set.float32;
  const ScreenKernels& kernels = is_low_precision && held.backoff.active() ? held.set.finer_screen() : fastest;
  ScreenColumns centroids(held, kernels, request.centroids.rows, Scores::marked);
  centroids.pack(held, request.centroids.data, request.centroids.rows);
  const BoundWorkspace bounds(held, request.centroids, centroids.largest_norm());
  const std::int64_t rows_per_task = held.rows_per_task((request.centroids.rows + 8) * held.columns(), kernels.lanes);
  std::vector<std::unique_ptr<Assigner<T>>> assigners(held.threads.count());
  held.for_ranges(rows_per_task, [&](std::int64_t first, std::int64_t last, std::int64_t, int thread) {
    if (!assigners[thread])
      assigners[thread] = std::make_unique<Assigner<T>>(held, request, kernels, centroids, bounds);
    assigners[thread]->run(first, last);
  });
  std::vector<Assigner<T>*> used;
  for (const auto& assigner : assigners) {
    if (assigner) used.push_back(assigner.get());
  }
  held.threads.run(static_cast<std::int64_t>(used.size()), [&](std::int64_t task, int) { used[task]->finish(); });
  Assignment result(request.centroids.rows);
  for (const Assigner<T>* assigner : used) add(assigner->sums, result);
  if (bounds) bounds.finish(held, result.screened);
  held.bounds.note_changed(result.changed, held.rows());
  if (is_low_precision) held.backoff.update(result);
  add(result, assignment);
}

#define KITH_INSTANTIATE(T) template void assign(HeldRows<T>&, const AssignRequest&, Assignment&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
