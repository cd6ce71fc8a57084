// Assigns every row to its nearest centroid: a screen with the certificate of core/numbers/screen.h, and the definition
// for ambiguous rows.
//
// Cost per row: k d multiply-adds in the type that the processor multiplies fastest. The panel of rows stays in the
// first-level cache while packed centroids stream from the second; no distance matrix exists. A row keeps the best
// score of every column block (16 centroids). Those within its limit are its candidates: a single one is its label,
// several are compared by the definition. If a centroid that is not the best of its column block may be within the
// limit, a refinement pass screens the row again, in a full panel of such rows, for all its candidates.
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cpu/assign/labels.h"
#include "kernels/cpu/assign/local_screen.h"
#include "kernels/cpu/assign/narrow_screen.h"
#include "kernels/cpu/choice/assignment.h"
#include "kernels/cpu/points.h"
#include "kernels/cpu/runtime/panels.h"

namespace kith::cpu {
namespace {

/// Screens rows against all centroids on one thread, and refines those that this cannot certify; the counts are merged
/// at the end.
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
        block_best_(centroids.tiles() * kTileColumnBlocks, kernels.lanes),
        hits_(static_cast<std::size_t>(kTileColumns) * kernels.lanes),
        norm_rounding_((static_cast<double>(held.columns()) + 16) * 0x1p-23) {
    std::fill_n(block_best_.data(), block_best_.size(), -kInfinity);  // of column blocks that do not exist
  }

  /// Labels the row, at the latest in finish().
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
    for (std::int64_t t = 0; t < centroids_.tiles(); ++t) {
      const MultipliedColumns columns = centroids_.multiply(t, ambiguous_panel_.panel(), ambiguous_panel_.tile());
      centroids_.errors(columns.first, ambiguous_panel_.norms(), limit);
      for (int lane = 0; lane < kernels_.lanes; ++lane) limit[lane] += ambiguous_limit_[lane];
      const std::int64_t hit_count =
          kernels_.scores.collect(ambiguous_panel_.tile(), columns.half_sq_norm, columns.count, limit, hits_.data());
      for (std::int64_t h = 0; h < hit_count; ++h) {
        const int lane = hits_[h].lane;
        if (lane >= ambiguous_count_) continue;  // a NaN in a lane that repeats the last row
        compare(nearest[lane], ambiguous_row_[lane], columns.first + hits_[h].column);
      }
    }
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
    for (std::int64_t t = 0; t < centroids_.tiles(); ++t) {
      const MultipliedColumns columns = centroids_.multiply(t, rows_.panel(), rows_.tile());
      centroids_.errors(columns.first, rows_.norms(), error);
      kernels_.scores.update_best(rows_.tile(), columns.half_sq_norm, columns.count, error,
                                  {block_best_.row(t * kTileColumnBlocks).data(), screening.best_lower,
                                   screening.best_upper, screening.second_upper, screening.others_upper});
    }
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

  /// Labels the rows of the panel whose candidates are all bests of column blocks; the limit of the other rows
  /// is -infinity.
  void label_rows(const Screening& screening, const float* limit) {
    static constexpr float kZeros[kTileColumns] = {};  // the bests include half squared norms and errors
    const std::int64_t column_blocks = block_best_.rows();
    std::int64_t first_candidate[kMaxLanes];  // a column
    std::fill_n(first_candidate, kMaxLanes, -1);
    NearestCandidate nearest[kMaxLanes];
    for (std::int64_t first = 0; first < column_blocks; first += kTileColumns) {
      const std::int64_t hit_count =
          kernels_.scores.collect(block_best_.row(first).data(), kZeros,
                                  std::min<std::int64_t>(kTileColumns, column_blocks - first), limit, hits_.data());
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

  /// The column of the best score of a column block, which has its place in the column block in its lowest bits.
  std::int64_t column_of(std::int64_t column_block, float score) const {
    const std::int32_t in_block = std::bit_cast<std::int32_t>(score) & (kColumnBlock - 1);
    return column_block / kTileColumnBlocks * tile_columns(kernels_) + column_block % kTileColumnBlocks * kColumnBlock +
           in_block;
  }
  std::int32_t best_column(const Screening& screening, int lane) const {
    std::int64_t best = 0;
    for (std::int64_t column_block = 0; column_block < block_best_.rows(); ++column_block) {
      if (block_best_(column_block, lane) == screening.best_upper[lane]) best = column_block;
    }
    return static_cast<std::int32_t>(centroids_.row_of(column_of(best, block_best_(best, lane))));
  }

  // The bound of a row (core/kmeans/bounds.h), from an upper bound of its squared distance to its centroid (own) and a
  // lower bound of the difference to any other. A score s stands for |x'|^2 + 2 s (core/numbers/screen.h).

  /// The bound of a row that the screening pass certified.
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
  Matrix<float> block_best_;  // (column blocks, lanes)
  std::vector<Hit> hits_;
  double norm_rounding_;  // relative error of a squared norm in float32
  int queued_ = 0, ambiguous_count_ = 0;
  std::int64_t queued_row_[kMaxLanes];  // of the queue, then of the panel
  std::int64_t ambiguous_row_[kMaxLanes];
  float ambiguous_limit_[kMaxLanes];    // upper bounds of the best scores
  double ambiguous_others_[kMaxLanes];  // lower bounds of squared distances to non-candidates
};

/// One assignment of all rows by a screen.
template <class T>
class ScreenedAssignment {
 public:
  ScreenedAssignment(HeldRows<T>& held, const AssignRequest& request, AssignmentMethod method)
      : held_(held),
        request_(request),
        clusters_(request.centroids.rows),
        kernels_(assignment_screen(held, clusters_, method)),
        centroids_(held, kernels_, clusters_, Scores::marked),
        bounds_(held, request.centroids, packed().largest_norm()),
        assigners_(held.threads.count()),
        result_(clusters_) {}

  /// Starts with each row's label. Rows far from their centroid are screened against all centroids.
  Assignment run_locally() {
    std::vector<std::int64_t> rows;
    rows.reserve(static_cast<std::size_t>(held_.rows()));
    LabelWriter<T> certified(held_, request_.centroids, bounds_);
    for (std::int64_t i = 0; i < held_.rows(); ++i) {
      if (!keeps_label(i, certified)) rows.push_back(i);
    }
    add(certified.totals, result_);
    if (!rows.empty()) {
      screen_locally(rows);
      note_local_screen(held_, result_);
    }
    return end();
  }

  /// Screens all rows against all centroids. If that leaves many candidates in a sample, the other ambiguous rows go on
  /// to the local screen.
  Assignment run_globally() {
    const std::int64_t stride = sample_stride(held_, clusters_);
    bool with_guesses = held_.forced.local_screen;
    if (stride > 0) {
      std::vector<std::int64_t> sample;
      for (std::int64_t i = 0; i < held_.rows(); i += stride) sample.push_back(i);
      screen_list(sample);
      with_guesses = guesses_pay(held_, request_.centroids, result_);
    }
    held_.for_ranges(held_.rows_per_task((clusters_ + 8) * held_.columns(), kernels_.lanes),
                     [&](std::int64_t first, std::int64_t last, std::int64_t, int thread) {
                       Assigner<T>& assigner = assigner_of(thread, with_guesses);
                       for (std::int64_t i = first; i < last; ++i) {
                         const bool sampled = stride > 0 && i % stride == 0;
                         if (!sampled && !keeps_label(i, assigner.writer)) assigner.add(i);
                       }
                     });
    const std::vector<std::int64_t> guessed = finish();
    note_screen(held_, clusters_, result_, with_guesses);
    if (!guessed.empty()) {
      result_.screened -= std::ssize(guessed);  // counted again
      screen_locally(guessed);
    }
    return end();
  }

 private:
  /// Whether the bound of a row certifies its label, which is counted then.
  bool keeps_label(std::int64_t row, LabelWriter<T>& writer) const {
    if (!bounds_.known() || !bounds_.certifies(held_.bounds.bound[row], held_.label[row])) return false;
    writer.count(row, held_.label[row]);
    return true;
  }
  const ScreenColumns& packed() {
    centroids_.pack(held_, request_.centroids.data, clusters_);
    return centroids_;
  }
  Assignment end() {
    if (bounds_) bounds_.finish(held_, result_.screened);
    held_.labelled_clusters = clusters_;
    return std::move(result_);
  }

  /// Labels rows that have a label near the nearest centroid.
  void screen_locally(const std::vector<std::int64_t>& rows) {
    const ScreenKernels& fastest = assignment_screen(held_, clusters_, AssignmentMethod::local_screen);
    LocalScreen<T> screen(held_, request_.centroids, fastest, bounds_);
    screen_list(screen.run(sort_by_label(held_.threads, rows, held_.label.data(), clusters_), result_));
  }

  void screen_list(const std::vector<std::int64_t>& rows) {
    const std::int64_t step = std::max<std::int64_t>(ceil_div(std::ssize(rows), held_.threads.count()), kernels_.lanes);
    held_.threads.run(ceil_div(std::ssize(rows), step), [&](std::int64_t task, int thread) {
      Assigner<T>& assigner = assigner_of(thread, false);
      for (std::int64_t i = task * step; i < std::min((task + 1) * step, std::ssize(rows)); ++i) assigner.add(rows[i]);
    });
    finish();
  }

  Assigner<T>& assigner_of(int thread, bool with_guesses) {
    std::unique_ptr<Assigner<T>>& assigner = assigners_[thread];
    if (!assigner)
      assigner = std::make_unique<Assigner<T>>(held_, request_, kernels_, centroids_, bounds_, with_guesses);
    return *assigner;
  }

  /// Labels the queued rows, adds the totals, and returns the guessed rows.
  std::vector<std::int64_t> finish() {
    std::vector<Assigner<T>*> used;
    for (const auto& assigner : assigners_) {
      if (assigner) used.push_back(assigner.get());
    }
    held_.threads.run(std::ssize(used), [&](std::int64_t task, int) { used[task]->finish(); });
    std::vector<std::int64_t> guessed;
    for (const Assigner<T>* assigner : used) {
      add(assigner->writer.totals, result_);
      guessed.insert(guessed.end(), assigner->guessed.begin(), assigner->guessed.end());
    }
    for (auto& assigner : assigners_) assigner.reset();
    return guessed;
  }

  HeldRows<T>& held_;
  const AssignRequest& request_;
  std::int64_t clusters_;
  const ScreenKernels& kernels_;
  ScreenColumns centroids_;
  BoundWorkspace bounds_;
  std::vector<std::unique_ptr<Assigner<T>>> assigners_;
  Assignment result_;
};

/// Labels few rows by the definition alone, without panels.
template <class T>
void assign_by_definition(HeldRows<T>& held, const AssignRequest& request, Assignment& assignment) {
  const std::int64_t k = request.centroids.rows;
  held.skip_bounds();
  std::vector<double> distance(static_cast<std::size_t>(held.rows() * k));
  constexpr std::int64_t kMostColumns = 1 << 17;  // of a task, about 20 us
  const std::int64_t pairs = std::ssize(distance), step = std::max<std::int64_t>(kMostColumns / held.columns(), 1);
  held.threads.run(ceil_div(pairs, step), [&](std::int64_t task, int) {
    for (std::int64_t pair = task * step; pair < std::min((task + 1) * step, pairs); ++pair) {
      distance[pair] = held.set.template rows<T>().distance(held.row(pair / k), request.centroids.row(pair % k).data(),
                                                            held.columns());
    }
  });
  for (std::int64_t i = 0; i < held.rows(); ++i) {
    const auto own = distance.begin() + i * k;
    const auto label = static_cast<std::int32_t>(std::min_element(own, own + k) - own);  // ties to the lowest
    held.label[i] = label;
    assignment.changed += held.summed[i] != label;
    ++assignment.counts[label];
  }
  assignment.candidates += std::ssize(distance);
  held.labelled_clusters = k;
}

}  // namespace

template <class T>
void CpuPoints<T>::assign(const AssignRequest& request, Assignment& assignment) {
  held_.pristine = false;
  held_.unsummed = true;
  const AssignmentMethod method = choose_assignment(held_, request.centroids);
  if (method == AssignmentMethod::definition) return assign_by_definition(held_, request, assignment);
  if (method == AssignmentMethod::narrow_screen) return assign_narrow(held_, request, assignment);
  ScreenedAssignment<T> screened(held_, request, method);
  const Assignment result = method == AssignmentMethod::local_screen ? screened.run_locally() : screened.run_globally();
  held_.observed.screens.narrow.skips();
  note_labels(held_, result.changed);
  add(result, assignment);
}

#define KITH_INSTANTIATE(T) template void CpuPoints<T>::assign(const AssignRequest&, Assignment&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
