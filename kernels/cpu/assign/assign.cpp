// Assigns every row to its nearest centroid: a screen with the certificate of core/numbers/screen.h, and the definition
// for ambiguous rows.
//
// Cost per row: k d multiply-adds in the type that the processor multiplies fastest. The panel of rows stays in the
// first-level cache while packed centroids stream from the second; no distance matrix exists. A row keeps the best
// score of every group of 16 centroids. The group bests within its limit are its candidates: a single one is its label,
// several are compared by the definition. If a centroid that is not the best of its group may be within the limit, a
// refinement pass screens the row again, in a full panel of such rows, for all its candidates.
#include <memory>

#include "kernels/cpu/assign/assigner.h"
#include "kernels/cpu/assign/local_screen.h"
#include "kernels/cpu/assign/narrow_screen.h"
#include "kernels/cpu/assign/screen_choice.h"
#include "kernels/cpu/operations.h"

namespace kith::cpu {
namespace {

/// One assignment of all rows.
template <class T>
class ScreenedAssignment {
 public:
  ScreenedAssignment(HeldRows<T>& held, const AssignRequest& request)
      : held_(held),
        request_(request),
        clusters_(request.centroids.rows),
        fastest_(held.set.screen_for(held.columns(), clusters_)),
        is_low_precision_(&fastest_ != &held.set.float32),
        chooses_(local_screen_is_possible(held, clusters_)),
        is_local_(chooses_ && local_is_best()),
        kernels_(!is_local_ && is_low_precision_ && held.backoff.active() ? held.set.finer_screen() : fastest_),
        centroids_(packed()),
        bounds_(held, request.centroids, centroids_.largest_norm()),
        assigners_(held.threads.count()),
        result_(clusters_) {}

  Assignment run() {
    if (is_local_) {
      assign_locally();
    } else {
      assign_globally();
    }
    if (bounds_) bounds_.finish(held_, result_.screened);
    held_.labelled_clusters = clusters_;
    return std::move(result_);
  }

 private:
  ScreenColumns packed() const {
    ScreenColumns columns(held_, kernels_, clusters_, Scores::marked);
    columns.pack(held_, request_.centroids.data, clusters_);
    return columns;
  }
  /// Whether every row has one of the clusters as label.
  bool labels_known() const { return held_.labelled_clusters == clusters_; }

  /// Whether to begin with the local screen.
  bool local_is_best() {
    LocalScreenChoice& choice = held_.local_choice;
    if (!labels_known()) return false;
    if (held_.forced.local_screen || choice.best) return true;
    if (choice.wait > 0) {
      --choice.wait;
      return false;
    }
    choice.pause();
    choice.best = local_cost(held_, request_.centroids, held_.rows()) < kGain * choice.global_cost;
    return choice.best;
  }

  /// Starts with each row's label. Rows far from their centroid are screened against all centroids.
  void assign_locally() {
    std::vector<std::int64_t> rows;
    rows.reserve(static_cast<std::size_t>(held_.rows()));
    LabelWriter<T> certified(held_, request_.centroids, bounds_);
    for (std::int64_t i = 0; i < held_.rows(); ++i) {
      if (bounds_.known() && bounds_.certifies(held_.bounds.bound[i], held_.label[i])) {
        certified.count(i, held_.label[i]);
      } else {
        rows.push_back(i);
      }
    }
    add(certified.totals, result_);
    if (rows.empty()) return;
    const std::int64_t packed = screen_locally(rows);
    const double cost =
        global_cost(result_) + kColumnCost * static_cast<double>(packed) / static_cast<double>(rows.size());
    if (cost > held_.local_choice.global_cost) held_.local_choice.best = false;
  }

  /// Labels rows that have a label near the nearest centroid. Returns the number of packed columns.
  std::int64_t screen_locally(const std::vector<std::int64_t>& rows) {
    LocalScreen<T> screen(held_, request_.centroids, fastest_, bounds_);
    const std::vector<std::int64_t> far =
        screen.run(sort_by_label(held_.threads, rows, held_.label.data(), clusters_), result_);
    screen_list(far);
    return screen.packed();
  }

  void screen_list(const std::vector<std::int64_t>& rows) {
    const std::int64_t step = std::max<std::int64_t>(ceil_div(std::ssize(rows), held_.threads.count()), kernels_.lanes);
    held_.threads.run(ceil_div(std::ssize(rows), step), [&](std::int64_t task, int thread) {
      Assigner<T>& assigner = assigner_of(thread, false);
      for (std::int64_t i = task * step; i < std::min((task + 1) * step, std::ssize(rows)); ++i) assigner.add(rows[i]);
    });
    finish();
  }

  /// Screens all rows against all centroids. If that leaves many candidates in a sample, the other ambiguous rows go on
  /// to the local screen.
  void assign_globally() {
    std::int64_t stride = 0;
    bool with_guesses = held_.forced.local_screen;
    if (chooses_ && !with_guesses && held_.rows() >= 8 * kSampleRows && !labels_known()) {
      stride = held_.rows() / kSampleRows;
      std::vector<std::int64_t> sample;
      for (std::int64_t i = 0; i < held_.rows(); i += stride) sample.push_back(i);
      screen_list(sample);
      const double cost = global_cost(result_), guessing = kPackCost + static_cast<double>(clusters_);
      if (cost > guessing / kGain) {
        with_guesses = guessing + local_cost(held_, request_.centroids, held_.rows()) < kGain * cost;
      }
    }
    held_.for_ranges(held_.rows_per_task((clusters_ + 8) * held_.columns(), kernels_.lanes),
                     [&](std::int64_t first, std::int64_t last, std::int64_t, int thread) {
                       Assigner<T>& assigner = assigner_of(thread, with_guesses);
                       for (std::int64_t i = first; i < last; ++i) {
                         if (stride == 0 || i % stride != 0) assigner.add_uncertified(i);
                       }
                     });
    const std::vector<std::int64_t> guessed = finish();
    held_.local_choice.global_cost =
        with_guesses ? 2 * kPackCost + 2.0 * static_cast<double>(clusters_) : global_cost(result_);
    if (with_guesses) held_.local_choice.wait = 0;
    if (is_low_precision_ && !with_guesses) held_.backoff.update(result_, clusters_);
    if (!guessed.empty()) {
      result_.screened -= std::ssize(guessed);  // counted again
      screen_locally(guessed);
    }
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

  static constexpr std::int64_t kSampleRows = 1024;
  static constexpr double kGain = 0.8;  // another screen must be expected to cost at most this share

  HeldRows<T>& held_;
  const AssignRequest& request_;
  std::int64_t clusters_;
  const ScreenKernels& fastest_;
  bool is_low_precision_, chooses_, is_local_;
  const ScreenKernels& kernels_;
  ScreenColumns centroids_;
  BoundWorkspace bounds_;
  std::vector<std::unique_ptr<Assigner<T>>> assigners_;
  Assignment result_;
};

/// Labels rows by the definition alone, without panels.
template <class T>
void assign_by_definition(HeldRows<T>& held, const AssignRequest& request, Assignment& assignment) {
  const std::int64_t k = request.centroids.rows;
  held.bounds.skip();
  std::vector<double> distance(static_cast<std::size_t>(held.rows() * k));
  held.threads.run(std::ssize(distance), [&](std::int64_t pair, int) {
    distance[pair] = held.set.template rows<T>().distance(held.row(pair / k), request.centroids.row(pair % k).data(),
                                                          held.columns());
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
void assign(HeldRows<T>& held, const AssignRequest& request, Assignment& assignment) {
  const std::int64_t k = request.centroids.rows;
  if (held.are_few_and_long(k)) return assign_by_definition(held, request, assignment);
  if (narrow_is_best(held, k) && !bounds_pay(held, k)) return assign_narrow(held, request, assignment);
  const Assignment result = ScreenedAssignment<T>(held, request).run();
  if (held.narrow_backoff.active()) held.narrow_backoff.update(result, k);
  held.bounds.note_changed(result.changed, held.rows());
  add(result, assignment);
}

#define KITH_INSTANTIATE(T) template void assign(HeldRows<T>&, const AssignRequest&, Assignment&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
