// The screen of rows against all centroids, and the refinement of the rows that it cannot certify, for one thread.
#pragma once

#include <bit>
#include <utility>
#include <vector>

#include "kernels/cpu/assign/label_writer.h"
#include "kernels/cpu/runtime/panels.h"

namespace kith::cpu {

/// Screens rows against all centroids on one thread; the counts are merged at the end.
template <class T>
class Assigner {
 public:
  /// With guesses, an ambiguous row is not refined: it gets its best column as label and is listed in `guessed`.
  Assigner(HeldRows<T>& held, const AssignRequest& request, const ScreenKernels& kernels,
           const ScreenColumns& centroids, const BoundWorkspace& bounds, bool with_guesses)
      : writer(held, request.centroids, bounds),
        held_(held),
        kernels_(kernels),
        with_guesses_(with_guesses),
        centroids_(centroids),
        bounds_(bounds),
        rows_(held, kernels),
        ambiguous_panel_(held, kernels),
        group_best_(centroids.tiles() * kTileGroups, kernels.lanes),
        hits_(static_cast<std::size_t>(kTileColumns) * kernels.lanes),
        norm_rounding_((static_cast<double>(held.columns()) + 16) * 0x1p-23) {
    std::fill_n(group_best_.data(), group_best_.size(), -kInfinity);  // of groups that do not exist
  }

  /// Labels the row unless its bound certifies its label.
  void add_uncertified(std::int64_t row) {
    if (bounds_.known() && bounds_.certifies(held_.bounds.bound[row], held_.label[row])) {
      writer.count(row, held_.label[row]);
    } else {
      add(row);
    }
  }
  void add(std::int64_t row) {
    queued_row_[queued_] = row;
    if (++queued_ == kernels_.lanes) screen();
  }

  /// Labels the remaining rows, which do not fill a panel.
  void finish() {
    if (queued_ > 0) screen();
    if (ambiguous_count_ > 0) refine();
  }

  LabelWriter<T> writer;
  std::vector<std::int64_t> guessed;

 private:
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

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
    NearestCandidate nearest[kMaxLanes];
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
                            compare(nearest[lane], ambiguous_row_[lane], from + hits_[h].column);
                          }
                        });
    for (int lane = 0; lane < ambiguous_count_; ++lane)
      writer.store(ambiguous_row_[lane], nearest[lane].label,
                   writer.measured_bound(nearest[lane], ambiguous_others_[lane]));
    writer.totals.ambiguous += ambiguous_count_;
    writer.totals.products += ambiguous_count_ * centroids_.count();
    ambiguous_count_ = 0;
  }

  /// Compares a candidate (a column) with the nearest so far.
  void compare(NearestCandidate& nearest, std::int64_t row, std::int64_t column) {
    const auto candidate = static_cast<std::int32_t>(centroids_.row_of(column));
    nearest.add(writer.distance(row, candidate), candidate);
  }

  /// The screening pass, for the queued rows.
  void screen() {
    const int queued = std::exchange(queued_, 0);
    writer.totals.screened += queued;
    if (centroids_.count() == 1) {
      for (int lane = 0; lane < queued; ++lane) writer.store(queued_row_[lane], 0, 0.0F);
      return;
    }
    writer.totals.products += queued * centroids_.count();
    Screening screening;
    rows_.pack(queued, [&](int lane) { return queued_row_[lane]; });
    float error[kMaxLanes];
    centroids_.multiply(
        rows_.panel(), rows_.tile(), [&](std::int64_t from, std::int64_t columns, const float* half_sq_norm) {
          centroids_.errors(from, rows_.norms(), error);
          kernels_.scores.update_best(
              rows_.tile(), half_sq_norm, columns, error,
              {group_best_.row(from / tile_columns(kernels_) * kTileGroups).data(), screening.best_lower,
               screening.best_upper, screening.second_upper, screening.others_upper});
        });
    float limit[kMaxLanes];
    std::fill_n(limit, kMaxLanes, -kInfinity);
    for (int lane = 0; lane < queued; ++lane) {
      const bool usable = centroids_.margin(rows_.norms().norm[lane], rows_.norms().residual[lane]) < kInfinity;
      if (usable && screening.others_upper[lane] < screening.best_lower[lane]) {
        limit[lane] = -screening.best_lower[lane];
      } else if (with_guesses_ && usable) {
        held_.label[queued_row_[lane]] = best_column(screening, lane);
        guessed.push_back(queued_row_[lane]);
      } else {
        append_ambiguous(queued_row_[lane], usable ? -screening.best_lower[lane] : kInfinity,
                         others_bound(screening, lane));
      }
    }
    label_rows(screening, limit);
  }

  /// Labels the rows of the panel whose candidates are all group bests; the limit of the other rows is -infinity.
  void label_rows(const Screening& screening, const float* limit) {
    static constexpr float kZeros[kTileColumns] = {};  // group bests include half squared norms and errors
    const std::int64_t groups = group_best_.rows();
    std::int64_t first_candidate[kMaxLanes];  // a column
    std::fill_n(first_candidate, kMaxLanes, -1);
    NearestCandidate nearest[kMaxLanes];
    for (std::int64_t first = 0; first < groups; first += kTileColumns) {
      const std::int64_t hit_count =
          kernels_.scores.collect(group_best_.row(first).data(), kZeros,
                                  std::min<std::int64_t>(kTileColumns, groups - first), limit, hits_.data());
      for (std::int64_t h = 0; h < hit_count; ++h) {
        const int lane = hits_[h].lane;
        if (limit[lane] == -kInfinity) continue;  // a NaN
        const std::int64_t candidate = column_of(first + hits_[h].column, hits_[h].score);
        if (first_candidate[lane] < 0) {
          first_candidate[lane] = candidate;
          continue;
        }
        if (nearest[lane].label < 0) compare(nearest[lane], queued_row_[lane], first_candidate[lane]);
        compare(nearest[lane], queued_row_[lane], candidate);
      }
    }
    for (int lane = 0; lane < kernels_.lanes; ++lane) {
      if (first_candidate[lane] < 0) continue;
      const bool several = nearest[lane].label >= 0;
      writer.totals.ambiguous += several;
      writer.store(queued_row_[lane],
                   several ? nearest[lane].label : static_cast<std::int32_t>(centroids_.row_of(first_candidate[lane])),
                   several ? writer.measured_bound(nearest[lane], others_bound(screening, lane))
                           : screened_bound(screening, lane));
    }
  }

  /// The column of the best score of a group, which has its place in the group in its lowest bits.
  std::int64_t column_of(std::int64_t group, float score) const {
    const std::int32_t in_group = std::bit_cast<std::int32_t>(score) & (kGroupColumns - 1);
    return group / kTileGroups * tile_columns(kernels_) + group % kTileGroups * kGroupColumns + in_group;
  }
  std::int32_t best_column(const Screening& screening, int lane) const {
    std::int64_t best = 0;
    for (std::int64_t group = 0; group < group_best_.rows(); ++group) {
      if (group_best_(group, lane) == screening.best_upper[lane]) best = group;
    }
    return static_cast<std::int32_t>(centroids_.row_of(column_of(best, group_best_(best, lane))));
  }

  // The bound of a row (core/kmeans/bounds.h), from an upper bound of its squared distance to its centroid (own) and a
  // lower bound of the difference to any other. A score s stands for |x'|^2 + 2 s (core/numbers/screen.h).

  /// For a row that the screening pass certified.
  float screened_bound(const Screening& screening, int lane) const {
    if (!bounds_) return 0.0F;
    const double own = screening.best_lower[lane];
    const double others = std::max(screening.second_upper[lane], screening.others_upper[lane]);
    return bound_between(squared_norm(lane) * (1 + norm_rounding_) - 2 * own, 2 * (own - others));
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

  HeldRows<T>& held_;
  const ScreenKernels& kernels_;
  bool with_guesses_;
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
};

}  // namespace kith::cpu
