// Assignment: a screening pass over all rows decides most of them, in fp16 if the device has tensor cores,
// otherwise in float32. A refinement pass decides the ambiguous rows by the distances of their few candidates.
//
// Cost: the screening pass, 2 n k d operations (screen/wgmma_product.h, device/tile.h and narrow_kernel.h state the
// floors), and 8 bytes per row to count labels. docs/contract.md, Screens.
//
// All passes of all blocks are queued without waiting. A block whose ambiguous rows overflowed their buffers is redone
// synchronously. Rows that are not on the device, and the few that no bound certifies, are so at once.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cuda/assign/bounds.h"
#include "kernels/cuda/assign/fp16_screen.h"
#include "kernels/cuda/assign/longer_rows.h"
#include "kernels/cuda/assign/narrow_screen.h"
#include "kernels/cuda/assign/operations.h"
#include "kernels/cuda/assign/pruned_assign.h"
#include "kernels/cuda/assign/screen_choice.h"
#include "kernels/cuda/screen/float32_screen.h"
#include "kernels/cuda/screen/refinement.h"

namespace kith::cuda {
namespace {

/// The device memory and the passes of one assignment.
template <class T>
class NearestFinder {
 public:
  NearestFinder(HeldRows<T>& held, const double* centroids, std::int64_t clusters)
      : held_(held),
        centroids_(centroids),
        clusters_(clusters),
        narrow_(narrow_is_best(held.columns(), clusters)),
        pruned_(!narrow_ && choose_pruned(held, centroids, clusters)),
        workspace_(held.pool(), held.largest_block(), clusters),
        float32_(held, clusters) {
    if (narrow_) narrow_screen_ = NarrowScreen(held, clusters);
    if (held.fp16.values.size() > 0 && !narrow_) fp16_ = Fp16Screen(held, clusters);
    if (fp16_) longer_ = LongerRows(held), bounds_ = BoundWorkspace(held, clusters);
    pruned_ = pruned_ && make_lists();
    if (fp16_ && (bounds_ || !pruned_)) make_fp16_columns(held, centroids, fp16_.columns);
    if (bounds_) bounds_.begin(held, centroids);
    if (!bounds_) held.bounds.clusters = 0;
  }

  /// after: called for each block when its labels are final; empty: blocks need not be complete one by one.
  void run(IterationRecord& record, const BlockWork<T>& after) {
    after_ = &after;
    const bool skips = bounds_.known() && bounds_.lower(held_, fp16_.columns) <= held_.rows() / 2;
    if (pruned_) {
      assign_pruned(skips, record);
    } else if (skips) {
      assign_uncertified(record);
    } else if (narrow_) {
      assign_narrow(record);
    } else {
      assign_screened(record);
    }
    if (bounds_) bounds_.finish(held_, pruned_ ? record.ambiguous : record.screened);
    held_.choice.labelled_clusters = clusters_;
  }

 private:
  ScreeningInput whole(const Block<T>& block) const { return whole_block(held_, block, static_cast<bool>(bounds_)); }
  void finish(const Block<T>& block) const {
    if (*after_) (*after_)(block);
  }
  std::int32_t* nearest(const Block<T>& block) const { return held_.label.data() + block.first; }
  float* bound(const Block<T>& block) const { return bounds_ ? held_.bounds.bound.data() + block.first : nullptr; }
  /// Sends the block if its rows are on the host, so it is called only where the values are needed.
  PointOperand<T> rows(const Block<T>& block) const { return point_operand(held_, held_.on_device(block), block.rows); }

  /// Makes the lists of centroids unless that is done. False if there is no memory for them.
  bool make_lists() {
    try {
      if (!lists_) lists_ = PrunedAssignment(held_, centroids_, clusters_);
      return true;
    } catch (const OutOfMemory&) {  // they are optional
      return false;
    }
  }

  /// Assigns rows among the centroids near their labels: all rows, or those that no bound certifies.
  void assign_pruned(bool skips, IterationRecord& record) {
    held_.for_blocks([&](const Block<T>& block) {
      const RowList uncertified = skips ? bounds_.uncertified_rows(held_, block) : RowList{nullptr, block.rows};
      const RowChoice chosen{uncertified.position, uncertified.count};
      lists_.decide(held_, held_.on_device(block), centroids_,
                    {chosen, nullptr, nearest(block), bound(block), 0, held_.choice.screened, held_.choice.merged});
      record.ambiguous += chosen.count;
      if (!lists_.complete()) decide_in_float32(block, lists_.rest(), download_count(lists_.rest().count), record);
      finish(block);
    });
    work_.pruned_distances = lists_.download_counts(held_.stream()).distances;
    record.candidates += static_cast<std::int64_t>(work_.pruned_distances);
    const double mean = static_cast<double>(work_.pruned_distances) / static_cast<double>(held_.rows());
    // The rows of the estimate may not be typical, and memory may be short for local screens.
    if (pruned_cost(held_, clusters_, mean) > held_.choice.screened_cost) {
      delay_estimate(held_.choice);
    } else {
      held_.choice.estimate.reward();
    }
  }

  /// Assigns the rows that no bound certifies.
  void assign_uncertified(IterationRecord& record) {
    held_.for_blocks([&](const Block<T>& block) {
      const RowList uncertified = bounds_.uncertified_rows(held_, block);
      for (std::int64_t first = 0; first < uncertified.count; first += Fp16Screen::kBatch) {
        const RowList batch{uncertified.position + first, std::min(uncertified.count - first, Fp16Screen::kBatch)};
        assign_synchronously(block, bounds_.gather(held_, fp16_, block, batch), record);
      }
      decide_longer(block, record);
      finish(block);
    });
  }

  void assign_narrow(IterationRecord& record) {
    narrow_screen_.begin(held_, centroids_);
    held_.for_blocks([&](const Block<T>& block) {
      narrow_screen_.assign(held_, rows(block), workspace_.ambiguous(), nearest(block));
      finish(block);
    });
    const RefinementCounts counts = narrow_screen_.download_counts(held_.stream());
    record.screened += held_.rows();
    add_refined(static_cast<Word>(counts.rows), static_cast<Word>(counts.candidates), record);
  }

  /// Screens all rows against all centroids, and keeps the cost for choose_pruned().
  void assign_screened(IterationRecord& record) {
    constexpr std::int64_t kTypical = 32;  // at most one row in this many is ambiguous where fp16 is effective
    constexpr double kDear = 0.25;         // the share of a pass that other work may cost there
    if (fp16_ && !*after_ && !held_.sent && !held_.fp16.low_precision_ineffective) {
      assign_fp16(record);
    } else {
      held_.for_blocks([&](const Block<T>& block) {
        assign_synchronously(block, whole(block), record);
        decide_longer(block, record);
        finish(block);
      });
      held_.fp16.low_precision_ineffective = record.ambiguous > held_.rows() / kTypical;
    }
    const double other = work_.cost(*held_.context) / static_cast<double>(held_.rows());
    if (other > kDear * static_cast<double>(clusters_)) held_.fp16.low_precision_ineffective = true;
    held_.choice.screened_cost = (fp16_ ? static_cast<double>(clusters_) : 0.0) + other;
    if (lists_) held_.choice.screened_cost += pruned_cost(held_, clusters_, 0.0) - kPrunedRowCost;
  }

  void assign_fp16(IterationRecord& record) {
    held_.for_blocks([&](const Block<T>& block) {
      screen_fp16(held_, fp16_, block, whole(block), workspace_);
      const PointOperand<T> operand = rows(block);
      ScreeningCounts* counts = fp16_.counts(block);
      if (fp16_.groups.groups > 0) {
        decide_listed(held_, workspace_, operand, centroids_,
                      Count::all_or_none(workspace_.capacity(), &counts->listed_candidates), nearest(block));
      }
      const Count count = Count::all_or_none(ambiguous_capacity(block), &counts->ambiguous);
      collect_fp16_candidates(held_, fp16_, block, fp16_.ambiguous(block),
                              {workspace_.candidates(), workspace_.capacity(), &counts->ambiguous_candidates}, 0,
                              count);
      ListedBatch<T> batch{operand, fp16_.ambiguous(block).row, count,
                           Count::all_or_none(workspace_.capacity(), &counts->ambiguous_candidates)};
      batch.rows.chosen = batch.positions;
      decide_batch(held_, workspace_, batch, centroids_, nearest(block));
      longer_.queue(held_, block, float32_, workspace_, centroids_, counts);
    });
    const std::vector<ScreeningCounts> all_counts = fp16_.download_counts(held_.stream());
    held_.for_blocks([&](const Block<T>& block) {
      const ScreeningCounts& counts = all_counts[static_cast<std::size_t>(block.first / held_.block_rows)];
      const auto capacity = static_cast<Word>(workspace_.capacity());
      const bool overflowed = counts.ambiguous > static_cast<Word>(ambiguous_capacity(block)) ||
                              counts.listed_candidates > capacity || counts.ambiguous_candidates > capacity;
      held_.fp16.low_precision_ineffective = held_.fp16.low_precision_ineffective || overflowed;
      if (overflowed && all_counts.size() > 1) {
        assign_synchronously(block, whole(block), record);
        return decide_longer(block, record);
      }
      record.screened += block.rows;
      take_longer(block, counts.longer_candidates, record);
      if (overflowed) {  // the screen's lists are still there
        return decide_ambiguous(block, whole(block), take_listed(block, whole(block), counts, true, record), record);
      }
      work_.pairs += static_cast<double>(counts.listed_candidates + counts.ambiguous_candidates);
      add_refined(counts.listed, counts.listed_candidates, record);
      add_refined(counts.ambiguous, counts.ambiguous_candidates, record);
    });
  }

  /// Takes the labels of rows that are too long for the fp16 screen, or decides them again if their candidates
  /// overflowed.
  void take_longer(const Block<T>& block, Word candidates, IterationRecord& record) {
    std::int64_t count = 0;
    const AmbiguousRows longer = longer_.of(held_, block, count);
    if (candidates > static_cast<Word>(workspace_.capacity())) return decide_in_float32(block, longer, count, record);
    work_.pairs += static_cast<double>(candidates);
    add_refined(static_cast<Word>(count), candidates, record);
  }

  /// Decides these rows, and waits.
  void decide_longer(const Block<T>& block, IterationRecord& record) {
    std::int64_t count = 0;
    AmbiguousRows longer = longer_.of(held_, block, count);
    if (!fp16_ || count == 0) return;
    if (!held_.is_on_device(block)) {  // refine() gathers the rows; all columns are candidates
      longer.limit = workspace_.ambiguous().limit;
      held_.stream().fill(longer.limit, 0x7F, count);  // 3.4 x 10^38
      return refine_fp16(block, longer, count, record);
    }
    ScreeningCounts* counts = fp16_.counts(block);
    held_.stream().fill(&counts->longer_candidates, 0, 1);
    longer_.queue(held_, block, float32_, workspace_, centroids_, counts);
    take_longer(block, static_cast<Word>(download_count(&counts->longer_candidates)), record);
  }

  /// Ambiguous rows of a block that are refined without waiting for their number.
  static std::int64_t ambiguous_capacity(const Block<T>& block) {
    return std::min(Fp16Screen::kBatch, std::max<std::int64_t>(block.rows / 2, 1));
  }

  /// Assigns all rows of a block, or a batch of them, and waits for each pass.
  void assign_synchronously(const Block<T>& block, const ScreeningInput& input, IterationRecord& record) {
    record.screened += input.count;
    if (fp16_) return assign_fp16_synchronously(block, input, record);
    float32_.prepare(held_, centroids_);
    const std::int64_t count = screen_in_float32(block, {nullptr, input.count});
    AmbiguousRows ambiguous = workspace_.ambiguous();
    constexpr double kExpected = 8, kMost = 0.7;  // columns within the margin; a list that costs as much as refine()
    const bool prunes = lists_are_worthwhile(held_, clusters_, count, block, kExpected);
    const auto most = static_cast<std::int64_t>(kMost * static_cast<double>(clusters_)) + 1;
    const double other = kFloat32Cost * static_cast<double>(clusters_);
    refine_float32(block, ambiguous, prunes ? prune(block, ambiguous, count, most, other, record) : count, record);
  }

  void assign_fp16_synchronously(const Block<T>& block, const ScreeningInput& input, IterationRecord& record) {
    screen_fp16(held_, fp16_, block, input, workspace_);
    ScreeningCounts counts;
    held_.stream().download(&counts, fp16_.counts(block), 1);
    decide_ambiguous(block, input, take_listed(block, input, counts, false, record), record);
  }

  /// Decides the first `count` ambiguous rows after the fp16 screen. They go from tier to tier: the centroids near
  /// their guess; the fp16 scores within their margin; the float32 screen.
  void decide_ambiguous(const Block<T>& block, const ScreeningInput& input, std::int64_t count,
                        IterationRecord& record) {
    AmbiguousRows ambiguous = fp16_.ambiguous(block);
    if (input.chosen != nullptr) bounds_.scatter(held_, block, input, ambiguous, count);
    if (count == 0) return;
    // Columns of a row within its margin, measured on a sample.
    constexpr std::int64_t kSample = 1024;
    const std::int64_t sample = std::min(count, kSample);
    held_.stream().fill(workspace_.candidate_count(), 0, 1);
    collect_fp16_candidates(held_, fp16_, block, ambiguous, workspace_.list(), 0, sample);
    const double within_margin =
        static_cast<double>(download_count(workspace_.candidate_count())) / static_cast<double>(sample);
    if (lists_are_worthwhile(held_, clusters_, count, block, within_margin)) {
      if (fp16_.groups.groups > 0 && input.chosen == nullptr) {
        guess_in_groups(held_, block, fp16_.columns, {ambiguous.row, count}, fp16_.groups.rows(), nearest(block));
      }
      // A longer list costs more than the next tier.
      constexpr double kLeast = 64;
      const double columns = static_cast<double>(clusters_), distance = definition_cost(*held_.context);
      const auto most = static_cast<std::int64_t>(kLeast + columns / distance + kPairCost * within_margin);
      count = prune(block, ambiguous, count, most, columns + kPairCost * distance * within_margin, record);
    }
    if (within_margin > 0.25 * static_cast<double>(clusters_) && count > input.count / 64) {
      return decide_in_float32(block, ambiguous, count, record);
    }
    refine_fp16(block, ambiguous, count, record);
  }

  /// The refinement pass over rows with limits of the fp16 screen.
  void refine_fp16(const Block<T>& block, const AmbiguousRows& ambiguous, std::int64_t count, IterationRecord& record) {
    RefinementWork work{ambiguous, count, std::min(count, Fp16Screen::kBatch), {}};
    work.collect = [&](std::int64_t first, std::int64_t batch_rows) {
      collect_fp16_candidates(held_, fp16_, block, ambiguous, workspace_.list(), first, batch_rows);
    };
    refine_rows(block, work, record);
  }

  /// Decides ambiguous rows near their guesses, if there is memory for that. `ambiguous` becomes the list of the
  /// others, of which there are as many as the result. other: of choose_local().
  std::int64_t prune(const Block<T>& block, AmbiguousRows& ambiguous, std::int64_t count, std::int64_t most,
                     double other, IterationRecord& record) {
    if (!make_lists()) return count;
    const T* values = held_.on_device(block);
    const RowChoice rows{ambiguous.row, count};
    const CandidateSample candidates = lists_.sample(held_, values, rows, nearest(block), centroids_);
    const PrunedChoice choice = choose_local(held_, clusters_, count, candidates, other);
    if (choice.screened > 0) work_.local_cost += choice.cost * static_cast<double>(count);
    lists_.decide(held_, values, centroids_,
                  {rows, ambiguous.limit, nearest(block), bound(block), most, choice.screened, choice.merged});
    ambiguous = lists_.rest();
    const PrunedCounts counts = lists_.download_counts(held_.stream());
    add_refined(static_cast<Word>(count) - counts.rest, counts.distances - work_.pruned_distances, record);
    work_.pruned_distances = counts.distances;
    note_lists(held_.choice, count, static_cast<std::int64_t>(counts.rest));
    return static_cast<std::int64_t>(counts.rest);
  }

  /// The float32 screening pass of rows of a block. Ambiguous rows are in the workspace; returns their number.
  std::int64_t screen_in_float32(const Block<T>& block, const RowChoice& which) {
    float32_.prepare(held_, centroids_);
    work_.float32_products += static_cast<double>(which.count) * static_cast<double>(clusters_);
    const AmbiguousRows ambiguous = workspace_.ambiguous();
    held_.stream().fill(ambiguous.count, 0, 1);
    screen_float32(held_, float32_, rows(block), which, held_.norm.data() + block.first, nearest(block), ambiguous);
    return download_count(ambiguous.count);
  }

  /// Decides rows of a block by the float32 screen.
  void decide_in_float32(const Block<T>& block, const AmbiguousRows& which, std::int64_t count,
                         IterationRecord& record) {
    if (count == 0) return;
    refine_float32(block, workspace_.ambiguous(), screen_in_float32(block, {which.row, count}), record);
  }

  /// The refinement pass over rows with limits of the float32 screen.
  void refine_float32(const Block<T>& block, const AmbiguousRows& ambiguous, std::int64_t count,
                      IterationRecord& record) {
    RefinementWork work{ambiguous, count, count, {}};
    work.collect = [&](std::int64_t first, std::int64_t batch_rows) {
      collect_candidates(held_, workspace_.list(), ambiguous, rows(block), float32_.columns(), float32_.half_sq_norm(),
                         first, batch_rows);
    };
    refine_rows(block, work, record);
  }

  void refine_rows(const Block<T>& block, const RefinementWork& work, IterationRecord& record) {
    const RefinementCounts refined = refine(held_, block, workspace_, work, centroids_, nearest(block));
    add_refined(static_cast<Word>(refined.rows), static_cast<Word>(refined.candidates), record);
    work_.pairs += static_cast<double>(refined.candidates);
  }

  /// Decides the rows of a block that the fp16 screen listed, or adds them to the ambiguous rows if it could not list
  /// all their candidates. decided: if it could, they are decided. Returns the number of ambiguous rows.
  std::int64_t take_listed(const Block<T>& block, const ScreeningInput& input, const ScreeningCounts& counts,
                           bool decided, IterationRecord& record) {
    // refine() gathers ambiguous rows that are not on the device.
    if (counts.listed_candidates > static_cast<Word>(workspace_.capacity()) ||
        (counts.listed > 0 && !held_.is_on_device(block))) {
      append_listed_rows(held_, fp16_, block, input);
      return static_cast<std::int64_t>(counts.ambiguous + counts.listed);
    }
    if (counts.listed_candidates > 0 && !decided) {
      PointOperand<T> operand = rows(block);
      operand.chosen = input.chosen;
      decide_listed(held_, workspace_, operand, centroids_, static_cast<std::int64_t>(counts.listed_candidates),
                    input.nearest);
    }
    work_.pairs += static_cast<double>(counts.listed_candidates);
    add_refined(counts.listed, counts.listed_candidates, record);
    return static_cast<std::int64_t>(counts.ambiguous);
  }

  std::int64_t download_count(const Word* count) const {
    Word value = 0;
    held_.stream().download(&value, count, 1);
    return static_cast<std::int64_t>(value);
  }

  HeldRows<T>& held_;
  const double* centroids_;
  std::int64_t clusters_;
  bool narrow_;
  bool pruned_;
  RefinementWorkspace workspace_;
  Float32Screen float32_;
  NarrowScreen narrow_screen_;
  Fp16Screen fp16_;
  LongerRows longer_;
  BoundWorkspace bounds_;
  PrunedAssignment lists_;
  const BlockWork<T>* after_ = nullptr;
  OtherWork work_;
};

}  // namespace

template <class T>
void find_nearest(HeldRows<T>& held, const double* centroids, std::int64_t k, IterationRecord& record,
                  const BlockWork<T>& after) {
  if (k > 1) return NearestFinder<T>(held, centroids, k).run(record, after);
  held.bounds.clusters = 0;
  held.stream().fill(held.label.data(), 0, held.rows());
  record.screened += held.rows();
  if (after) held.for_blocks(after);
}

#define KITH_INSTANTIATE(T) \
  template void find_nearest(HeldRows<T>&, const double*, std::int64_t, IterationRecord&, const BlockWork<T>&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
