// Nearest centroid of every row: a screen with the certificate, and the definition where it does not decide.
//
// Per row k d multiply-adds in what the processor multiplies fastest; the panel of rows stays in the first-level cache
// while packed centroids stream from the second, and no distance matrix exists. Of every run of 16 centroids a row
// keeps the best; what is within its limit are its candidates, and a single one is its label. Rows for which a centroid
// that won no run is within the limit wait until a panel of them is full, and are screened once more for all their
// candidates. Candidates, and only those, get float64 distances.
#include <bit>
#include <memory>

#include "kernels/cpu/assign/bounds.h"
#include "kernels/cpu/assign/narrow_screen.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/runtime/panels.h"

namespace kith::cpu {
namespace {

/// Labels rows of one range after another for one thread; what it adds up is merged at the end.
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
        waiting_rows_(held, kernels),
        winners_(groups_of(centroids.count(), tile_columns(kernels)) * kWinnersOfTile, kernels.lanes),
        hits_(static_cast<std::size_t>(kTileColumns) * kernels.lanes),
        summed_((static_cast<double>(held.columns()) + 16) * 0x1p-23),
        sums(request.centroids.rows) {}

  void run(std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      if (bounds_.known() && bounds_.vouches(held_.bounds.bound[i], held_.label[i])) {
        count(i, held_.label[i]);
        continue;
      }
      row_[queued_] = i;
      if (++queued_ == kernels_.lanes) screen();
    }
  }

  /// Labels the rows that fill no panel.
  void finish() {
    if (queued_ > 0) screen();
    if (waiting_ > 0) refine();
  }

 private:
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

  /// By the definition, of the candidates seen so far.
  struct Nearest {
    Nearest() { std::fill_n(label, kMaxLanes, -1); }
    std::int32_t label[kMaxLanes];
    double distance[kMaxLanes], second[kMaxLanes];  // to that centroid, and to the next one
  };

  /// What the first look found of the rows of the panel, as Leaders say it; scores are negated.
  struct Look {
    Look() {
      for (float* each : {surest, first, second, runner_up}) std::fill_n(each, kMaxLanes, -kInfinity);
    }
    float surest[kMaxLanes], first[kMaxLanes], second[kMaxLanes], runner_up[kMaxLanes];
  };

  /// Screens the waiting rows once more for the columns within their limits, and compares those by the definition.
  void refine() {
    Nearest nearest;
    std::fill(limit_ + waiting_, limit_ + kMaxLanes, -kInfinity);
    float limit[kMaxLanes];
    waiting_rows_.pack(waiting_, [&](int lane) { return waiting_row_[lane]; });
    centroids_.multiply(waiting_rows_.panel(), waiting_rows_.tile(),
                        [&](std::int64_t from, std::int64_t columns, const float* half_sq_norm) {
                          centroids_.errors(from, waiting_rows_.norms(), limit);
                          for (int lane = 0; lane < kernels_.lanes; ++lane) limit[lane] += limit_[lane];
                          const std::int64_t found =
                              kernels_.scores.within(waiting_rows_.tile(), half_sq_norm, columns, limit, hits_.data());
                          for (std::int64_t h = 0; h < found; ++h) {
                            const int lane = hits_[h].lane;
                            if (lane >= waiting_) continue;  // a NaN in a lane that repeats the last row
                            compare(nearest, lane, waiting_row_[lane], from + hits_[h].column);
                          }
                        });
    for (int lane = 0; lane < waiting_; ++lane)
      settle(waiting_row_[lane], nearest.label[lane], measured_bound(nearest, lane, others_[lane]));
    sums.ambiguous += waiting_;
    waiting_ = 0;
  }

  /// The column of a candidate; ties keep the lowest centroid.
  void compare(Nearest& nearest, int lane, std::int64_t row, std::int64_t column) {
    const auto candidate = static_cast<std::int32_t>(centroids_.row_of(column));
    const double distance = distance_to(row, candidate);
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

  /// The queued rows.
  void screen() {
    const int queued = std::exchange(queued_, 0);
    sums.screened += queued;
    if (centroids_.count() == 1) {
      for (int lane = 0; lane < queued; ++lane) settle(row_[lane], 0, 0.0F);
      return;
    }
    Look look;
    rows_.pack(queued, [&](int lane) { return row_[lane]; });
    std::int64_t runs = 0;
    float error[kMaxLanes];
    centroids_.multiply(
        rows_.panel(), rows_.tile(), [&](std::int64_t from, std::int64_t columns, const float* half_sq_norm) {
          centroids_.errors(from, rows_.norms(), error);
          kernels_.scores.lead(rows_.tile(), half_sq_norm, columns, error,
                               {winners_.row(runs).data(), look.surest, look.first, look.second, look.runner_up});
          runs += groups_of(columns, kWinnerColumns);
        });
    float limit[kMaxLanes];
    std::fill_n(limit, kMaxLanes, -kInfinity);
    for (int lane = 0; lane < queued; ++lane) {
      const bool usable = centroids_.margin(rows_.norms().norm[lane], rows_.norms().residual[lane]) < kInfinity;
      if (usable && look.runner_up[lane] < look.surest[lane]) {
        limit[lane] = -look.surest[lane];
      } else {
        wait(row_[lane], usable ? -look.surest[lane] : kInfinity, beyond(look, lane));
      }
    }
    decide(look, limit, runs);
  }

  /// Labels the rows of the panel whose candidates are all among the winners; the limit of the others is -infinity.
  void decide(const Look& look, const float* limit, std::int64_t runs) {
    static constexpr float kNothing[kTileColumns] = {};  // winners have their half norms and errors in them
    constexpr std::int32_t kColumnMask = kWinnerColumns - 1;
    std::int64_t only[kMaxLanes];  // the first candidate, a column
    std::fill_n(only, kMaxLanes, -1);
    Nearest nearest;
    for (std::int64_t run = 0; run < runs; run += kTileColumns) {
      const std::int64_t found = kernels_.scores.within(
          winners_.row(run).data(), kNothing, std::min<std::int64_t>(kTileColumns, runs - run), limit, hits_.data());
      for (std::int64_t h = 0; h < found; ++h) {
        const int lane = hits_[h].lane;
        if (limit[lane] == -kInfinity) continue;  // a NaN
        const std::int64_t winner = run + hits_[h].column;
        const std::int32_t in_run = std::bit_cast<std::int32_t>(hits_[h].score) & kColumnMask;
        const std::int64_t candidate =
            winner / kWinnersOfTile * tile_columns(kernels_) + winner % kWinnersOfTile * kWinnerColumns + in_run;
        if (only[lane] < 0) {
          only[lane] = candidate;
          continue;
        }
        if (nearest.label[lane] < 0) compare(nearest, lane, row_[lane], only[lane]);
        compare(nearest, lane, row_[lane], candidate);
      }
    }
    for (int lane = 0; lane < kernels_.lanes; ++lane) {
      if (only[lane] < 0) continue;
      const bool several = nearest.label[lane] >= 0;
      sums.ambiguous += several;
      settle(row_[lane], several ? nearest.label[lane] : static_cast<std::int32_t>(centroids_.row_of(only[lane])),
             several ? measured_bound(nearest, lane, beyond(look, lane)) : screened_bound(look, lane));
    }
  }

  // The bound of a row (core/bounds.h), from an upper bound of its squared distance to its centroid and what any other
  // is farther. A score s stands for |x'|^2 + 2 s (core/screen.h).

  float bound_between(double own, double difference) const {
    constexpr double kToFloat = 0x1p-22;
    return bound_of(static_cast<float>(std::max(own, 0.0) * (1 + kToFloat)),
                    static_cast<float>(difference * (1 - kToFloat)));
  }
  /// Of a row that the first look decided.
  float screened_bound(const Look& look, int lane) const {
    if (!bounds_) return 0.0F;
    const double own = look.surest[lane], others = std::max(look.second[lane], look.runner_up[lane]);
    return bound_between(squared_norm(lane) * (1 + summed_) - 2 * own, 2 * (own - others));
  }
  /// Of a row that the definition decided among candidates; others: lower bound for what is no candidate.
  float measured_bound(const Nearest& nearest, int lane, double others) const {
    if (!bounds_) return 0.0F;
    const double unit = held_.scale() * held_.scale(), rounding = definition_rounding(held_.columns());
    const double own = nearest.distance[lane] * unit * (1 + rounding);
    return bound_between(own, std::min(nearest.second[lane] * unit * (1 - rounding), others) - own);
  }
  /// A lower bound of the squared distances to centroids that are no candidates: their scores are surely above the
  /// best.
  double beyond(const Look& look, int lane) const {
    return squared_norm(lane) * (1 - summed_) - 2.0 * look.surest[lane];
  }
  double squared_norm(int lane) const {
    const double norm = rows_.norms().norm[lane];
    return norm * norm;
  }

  void wait(std::int64_t row, float limit, double others) {
    waiting_row_[waiting_] = row;
    limit_[waiting_] = limit;
    others_[waiting_] = others;
    if (++waiting_ == kernels_.lanes) refine();
  }

  double distance_to(std::int64_t row, std::int32_t centroid) const {
    return held_.set.template rows<T>().distance(held_.row(row), request_.centroids.row(centroid).data(),
                                                 held_.columns());
  }

  void settle(std::int64_t row, std::int32_t label, float bound) {
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
  RowPanel<T> rows_, waiting_rows_;
  Matrix<float> winners_;  // (runs of columns, lanes)
  std::vector<Hit> hits_;
  double summed_;  // what summing squares in float32 loses of them, and rounding before
  int queued_ = 0, waiting_ = 0;
  std::int64_t row_[kMaxLanes];  // queued, then those of the panel
  std::int64_t waiting_row_[kMaxLanes];
  float limit_[kMaxLanes];    // the best score of each is not above
  double others_[kMaxLanes];  // what is beyond the limits

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
  const ScreenKernels& usual = held.set.screen_for(held.columns(), request.centroids.rows);
  const bool may_be_coarse = &usual != &held.set.fine;
  const ScreenKernels& kernels = may_be_coarse && held.coarse.passed_over() ? held.set.closer_screen() : usual;
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
  held.threads.run(static_cast<std::int64_t>(used.size()), [&](std::int64_t which, int) { used[which]->finish(); });
  Assignment found(request.centroids.rows);
  for (const Assigner<T>* assigner : used) add(assigner->sums, found);
  if (bounds) bounds.finish(held, found.screened);
  note_changed(held, found.changed);
  if (may_be_coarse) held.coarse.note(found);
  add(found, assignment);
}

#define KITH_INSTANTIATE(T) template void assign(HeldRows<T>&, const AssignRequest&, Assignment&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
