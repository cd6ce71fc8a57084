// Finds the nearest centroid of every row: a screening pass over all rows decides most of them, in fp16 if the device
// has tensor cores, otherwise in float32; or rows are decided among the centroids near their labels. Ambiguous rows are
// decided by the distances of their few candidates. choice/assignment.h chooses.
//
// Cost: the screening pass, 2 n k d operations (screen/wgmma_product.h, device/tile.h and narrow_kernel.h state the
// floors). docs/contract.md, Screens.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cuda/assign/fp16_screen.h"
#include "kernels/cuda/assign/longer_rows.h"
#include "kernels/cuda/assign/narrow_screen.h"
#include "kernels/cuda/assign/near_labels.h"
#include "kernels/cuda/choice/assignment.h"
#include "kernels/cuda/operations.h"
#include "kernels/cuda/screen/float32_screen.h"
#include "kernels/cuda/screen/refinement.h"

namespace kith::cuda {
namespace {

template <class T>
AssignmentShape shape_of(const HeldRows<T>& held, std::int64_t clusters) {
  const Fp16Rows& fp16 = held.fp16;
  return {.rows = held.rows(),
          .columns = held.columns(),
          .clusters = clusters,
          .value_bytes = sizeof(T),
          .has_fp16 = fp16.values.size() > 0,
          .has_local_screen = LocalScreen::supports(held),
          .sends_rows = held.resident_rows == 0 || (held.sent && fp16.are_kept()),
          .longest = std::isfinite(fp16.screened.norm) ? fp16.screened.norm : fp16.largest.norm,
          .usual_length = static_cast<double>(fp16.usual_norm)};
}

/// The device memory and the passes of one assignment.
template <class T>
class NearestFinder {
 public:
  /// The arguments of find_nearest().
  NearestFinder(HeldRows<T>& held, const double* centroids, std::int64_t clusters, IterationRecord& record,
                const BlockWork<T>& after)
      : held_(held),
        centroids_(centroids),
        clusters_(clusters),
        record_(record),
        after_(after),
        choice_(shape_of(held, clusters), held.context->machine, held.context->forced, held.observed,
                held.context->decisions),
        method_(choose()),
        workspace_(held.pool(), held.largest_block(), clusters),
        float32_(held, clusters) {
    if (method_ == AssignmentMethod::near_labels && !make_lists()) method_ = choice_.choose_screen();
    if (method_ == AssignmentMethod::narrow) narrow_ = NarrowScreen(held, clusters);
    const bool in_groups = method_ == AssignmentMethod::fp16_groups;
    if (in_groups || method_ == AssignmentMethod::fp16) {
      longer_ = LongerRows(held);
      fp16_ = Fp16Screen(held, clusters, in_groups);
      make_fp16_columns(held, centroids, fp16_.columns);
    }
  }

  void run() {
    switch (method_) {
      case AssignmentMethod::narrow:
        assign_narrow();
        break;
      case AssignmentMethod::near_labels:
        assign_near_labels();
        break;
      case AssignmentMethod::fp16:
      case AssignmentMethod::fp16_groups:
        if (after_ || held_.sent || !choice_.queues_blocks()) {
          assign_blocks();
        } else {
          assign_queued();
        }
        break;
      case AssignmentMethod::float32:
        assign_blocks();
        break;
    }
    held_.observed.labelled_clusters = clusters_;
  }

 private:
  AssignmentMethod choose() {
    return choice_.choose([&] {
      return sample_candidates(held_, held_.resident.data(), {nullptr, held_.resident_rows}, held_.label.data(),
                               centroids_, clusters_);
    });
  }
  void finish(const Block<T>& block) const {
    if (after_) after_(block);
  }
  std::int32_t* nearest(const Block<T>& block) const { return held_.label.data() + block.first; }
  /// Sends the block if its rows are on the host, so it is called only where the values are needed.
  PointOperand<T> rows(const Block<T>& block) const { return point_operand(held_, held_.on_device(block), block.rows); }
  /// Rows that on_device() would send.
  std::int64_t sent_rows(const Block<T>& block) const { return held_.is_on_device(block) ? 0 : block.rows; }
  std::int64_t download_count(const Word* count) const {
    Word value = 0;
    held_.stream().download(&value, count, 1);
    return static_cast<std::int64_t>(value);
  }

  // One function for each way to assign all rows.

  void assign_narrow() {
    narrow_.begin(held_, centroids_);
    held_.for_blocks([&](const Block<T>& block) {
      narrow_.assign(held_, rows(block), workspace_.ambiguous(), nearest(block));
      finish(block);
    });
    const RefinementCounts counts = narrow_.download_counts(held_.stream());
    record_.screened += held_.rows();
    add_refined(static_cast<Word>(counts.rows), static_cast<Word>(counts.candidates), record_);
  }

  /// Assigns rows among the centroids near their labels.
  void assign_near_labels() {
    const ListUse& lists = held_.observed.near_lists;
    held_.for_blocks([&](const Block<T>& block) {
      lists_.decide(held_, held_.on_device(block), centroids_,
                    {{nullptr, block.rows}, nullptr, nearest(block), 0, lists.screened, lists.merged});
      record_.ambiguous += block.rows;
      if (!lists_.complete()) decide_in_float32(block, lists_.rest(), download_count(lists_.rest().count));
      finish(block);
    });
    const auto distances = static_cast<double>(lists_.download_counts(held_.stream()).distances);
    record_.candidates += static_cast<std::int64_t>(distances);
    choice_.note_near(distances);
  }

  /// Screens the blocks one after another, and waits for the ambiguous rows of each.
  void assign_blocks() {
    held_.for_blocks([&](const Block<T>& block) {
      if (method_ == AssignmentMethod::float32) {
        screen_rows_in_float32(block);
      } else {
        screen_rows(block);
        decide_longer(block);
      }
      finish(block);
    });
    choice_.note_screen(record_.ambiguous, false, static_cast<bool>(lists_));
  }

  /// Queues the fp16 screen of all blocks and what decides their ambiguous rows. A block whose ambiguous rows
  /// overflowed their buffers is assigned again.
  void assign_queued() {
    held_.for_blocks([&](const Block<T>& block) { queue_block(block); });
    const std::vector<ScreeningCounts> all_counts = fp16_.download_counts(held_.stream());
    bool any_overflowed = false;
    held_.for_blocks([&](const Block<T>& block) {
      const ScreeningCounts& counts = all_counts[static_cast<std::size_t>(block.first / held_.block_rows)];
      const auto capacity = static_cast<Word>(workspace_.capacity());
      const bool overflowed = counts.ambiguous > static_cast<Word>(ambiguous_capacity(block)) ||
                              counts.listed_candidates > capacity || counts.ambiguous_candidates > capacity;
      any_overflowed = any_overflowed || overflowed;
      if (overflowed && all_counts.size() > 1) {
        screen_rows(block);
        return decide_longer(block);
      }
      record_.screened += block.rows;
      take_longer(block, counts.longer_candidates);
      if (overflowed) {  // the screen's lists are still there
        return decide_ambiguous(block, take_listed(block, counts, true));
      }
      choice_.add_pairs(static_cast<double>(counts.listed_candidates + counts.ambiguous_candidates));
      add_refined(counts.listed, counts.listed_candidates, record_);
      add_refined(counts.ambiguous, counts.ambiguous_candidates, record_);
    });
    choice_.note_screen(0, any_overflowed, static_cast<bool>(lists_));
  }
  void queue_block(const Block<T>& block) {
    screen_fp16(held_, fp16_, block, whole_block(held_, block), workspace_);
    const PointOperand<T> operand = rows(block);
    ScreeningCounts* counts = fp16_.counts(block);
    if (fp16_.groups.groups > 0) {
      decide_listed(held_, workspace_, operand, centroids_,
                    Count::all_or_none(workspace_.capacity(), &counts->listed_candidates), nearest(block));
    }
    const AmbiguousRows ambiguous = fp16_.ambiguous(block);
    const Count count = Count::all_or_none(ambiguous_capacity(block), &counts->ambiguous);
    collect_fp16_candidates(held_, fp16_, block, ambiguous,
                            {workspace_.candidates(), workspace_.capacity(), &counts->ambiguous_candidates}, 0, count);
    ListedBatch<T> batch{operand, ambiguous.row, count,
                         Count::all_or_none(workspace_.capacity(), &counts->ambiguous_candidates)};
    batch.rows.chosen = batch.positions;
    decide_batch(held_, workspace_, batch, centroids_, nearest(block));
    longer_.queue(held_, block, float32_, workspace_, centroids_, counts);
  }
  /// Ambiguous rows of a block that are refined without waiting for their number.
  static std::int64_t ambiguous_capacity(const Block<T>& block) {
    return std::min(Fp16Screen::kBatch, std::max<std::int64_t>(block.rows / 2, 1));
  }

  // Screens of rows of one block, which wait.

  void screen_rows_in_float32(const Block<T>& block) {
    record_.screened += block.rows;
    AmbiguousRows ambiguous = workspace_.ambiguous();
    std::int64_t count = screen_in_float32(block, {nullptr, block.rows});
    count = take_near_guesses(block, ambiguous, {count, kExpectedWithinMargin, block.rows, sent_rows(block)});
    refine_float32(block, ambiguous, count);
  }

  void screen_rows(const Block<T>& block) {
    record_.screened += block.rows;
    screen_fp16(held_, fp16_, block, whole_block(held_, block), workspace_);
    ScreeningCounts counts;
    held_.stream().download(&counts, fp16_.counts(block), 1);
    decide_ambiguous(block, take_listed(block, counts, false));
  }

  /// Decides the rows of a block that the fp16 screen listed, or adds them to the ambiguous rows if it could not list
  /// all their candidates. decided: if it could, they are decided. Returns the number of ambiguous rows.
  std::int64_t take_listed(const Block<T>& block, const ScreeningCounts& counts, bool decided) {
    // refine() gathers ambiguous rows that are not on the device.
    if (counts.listed_candidates > static_cast<Word>(workspace_.capacity()) ||
        (counts.listed > 0 && !held_.is_on_device(block))) {
      append_listed_rows(held_, fp16_, block, whole_block(held_, block));
      return static_cast<std::int64_t>(counts.ambiguous + counts.listed);
    }
    if (counts.listed_candidates > 0 && !decided) {
      decide_listed(held_, workspace_, rows(block), centroids_, static_cast<std::int64_t>(counts.listed_candidates),
                    nearest(block));
    }
    choice_.add_pairs(static_cast<double>(counts.listed_candidates));
    add_refined(counts.listed, counts.listed_candidates, record_);
    return static_cast<std::int64_t>(counts.ambiguous);
  }

  // Rows that are too long for the fp16 screen.

  /// Decides them, and waits.
  void decide_longer(const Block<T>& block) {
    std::int64_t count = 0;
    AmbiguousRows longer = longer_.of(held_, block, count);
    if (count == 0) return;
    if (!held_.is_on_device(block)) {  // refine() gathers the rows; all columns are candidates
      longer.limit = workspace_.ambiguous().limit;
      held_.stream().fill(longer.limit, 0x7F, count);  // 3.4 x 10^38
      return refine_fp16(block, longer, count);
    }
    ScreeningCounts* counts = fp16_.counts(block);
    held_.stream().fill(&counts->longer_candidates, 0, 1);
    longer_.queue(held_, block, float32_, workspace_, centroids_, counts);
    take_longer(block, static_cast<Word>(download_count(&counts->longer_candidates)));
  }
  /// Takes their labels, or decides them again if their candidates overflowed.
  void take_longer(const Block<T>& block, Word candidates) {
    std::int64_t count = 0;
    const AmbiguousRows longer = longer_.of(held_, block, count);
    if (candidates > static_cast<Word>(workspace_.capacity())) return decide_in_float32(block, longer, count);
    choice_.add_pairs(static_cast<double>(candidates));
    add_refined(static_cast<Word>(count), candidates, record_);
  }

  // The tiers of ambiguous rows.

  /// Decides the first `count` ambiguous rows after the fp16 screen.
  void decide_ambiguous(const Block<T>& block, std::int64_t count) {
    if (count == 0) return;
    AmbiguousRows ambiguous = fp16_.ambiguous(block);
    AssignmentChoice::Ambiguous which{count, within_margin(block, ambiguous, count), block.rows, sent_rows(block)};
    which.count = take_near_guesses(block, ambiguous, which, [&] {
      if (fp16_.groups.groups == 0) return;
      guess_in_groups(held_, block, fp16_.columns, {ambiguous.row, count}, fp16_.groups.rows(), nearest(block));
    });
    if (which.count == 0) return;
    if (choice_.takes_float32(which)) return decide_in_float32(block, ambiguous, which.count);
    refine_fp16(block, ambiguous, which.count);
  }

  /// Columns of an ambiguous row within its margin, measured on a sample.
  double within_margin(const Block<T>& block, const AmbiguousRows& ambiguous, std::int64_t count) {
    constexpr std::int64_t kSample = 1024;
    const std::int64_t sample = std::min(count, kSample);
    held_.stream().fill(workspace_.candidate_count(), 0, 1);
    collect_fp16_candidates(held_, fp16_, block, ambiguous, workspace_.list(), 0, sample);
    return static_cast<double>(download_count(workspace_.candidate_count())) / static_cast<double>(sample);
  }

  /// Decides ambiguous rows near their guesses, which guess() makes, if that may pay and there is memory for it.
  /// `ambiguous` becomes the list of the others, of which there are as many as the result.
  template <class Guess>
  std::int64_t take_near_guesses(const Block<T>& block, AmbiguousRows& ambiguous,
                                 const AssignmentChoice::Ambiguous& which, const Guess& guess) {
    if (!choice_.takes_lists(which) || !make_lists()) return which.count;
    guess();
    const T* values = held_.on_device(block);
    const RowChoice rows{ambiguous.row, which.count};
    const NearChoice near = choice_.choose_near(which, lists_.sample(held_, values, rows, nearest(block), centroids_));
    if (near.lists.screened > 0) choice_.add_local(near.seconds * static_cast<double>(which.count));
    lists_.decide(
        held_, values, centroids_,
        {rows, ambiguous.limit, nearest(block), choice_.most_walked(which), near.lists.screened, near.lists.merged});
    ambiguous = lists_.rest();
    const NearCounts counts = lists_.download_counts(held_.stream());
    const Word distances = counts.distances - walked_;
    walked_ = counts.distances;
    choice_.add_walked(static_cast<double>(distances));
    add_refined(static_cast<Word>(which.count) - counts.rest, distances, record_);
    choice_.note_lists(which.count, static_cast<std::int64_t>(counts.rest));
    return static_cast<std::int64_t>(counts.rest);
  }
  std::int64_t take_near_guesses(const Block<T>& block, AmbiguousRows& ambiguous,
                                 const AssignmentChoice::Ambiguous& which) {
    return take_near_guesses(block, ambiguous, which, [] {});
  }
  /// Makes the lists of centroids unless that is done. False if there is no memory for them.
  bool make_lists() {
    try {
      if (!lists_) lists_ = NearAssignment(held_, centroids_, clusters_);
      return true;
    } catch (const OutOfMemory&) {  // they are optional
      return false;
    }
  }

  /// Decides rows of a block by the float32 screen.
  void decide_in_float32(const Block<T>& block, const AmbiguousRows& which, std::int64_t count) {
    if (count == 0) return;
    refine_float32(block, workspace_.ambiguous(), screen_in_float32(block, {which.row, count}));
  }
  /// The float32 screening pass of rows of a block. Ambiguous rows are in the workspace; returns their number.
  std::int64_t screen_in_float32(const Block<T>& block, const RowChoice& which) {
    float32_.prepare(held_, centroids_);
    choice_.add_float32(which.count);
    const AmbiguousRows ambiguous = workspace_.ambiguous();
    held_.stream().fill(ambiguous.count, 0, 1);
    screen_float32(held_, float32_, rows(block), which, held_.norm.data() + block.first, nearest(block), ambiguous);
    return download_count(ambiguous.count);
  }

  // The refinement passes over rows with limits of a screen.

  void refine_fp16(const Block<T>& block, const AmbiguousRows& ambiguous, std::int64_t count) {
    RefinementWork work{ambiguous, count, std::min(count, Fp16Screen::kBatch), {}};
    work.collect = [&](std::int64_t first, std::int64_t batch_rows) {
      collect_fp16_candidates(held_, fp16_, block, ambiguous, workspace_.list(), first, batch_rows);
    };
    refine_rows(block, work);
  }
  void refine_float32(const Block<T>& block, const AmbiguousRows& ambiguous, std::int64_t count) {
    RefinementWork work{ambiguous, count, count, {}};
    work.collect = [&](std::int64_t first, std::int64_t batch_rows) {
      collect_candidates(held_, workspace_.list(), ambiguous, rows(block), float32_.columns(), float32_.half_sq_norm(),
                         first, batch_rows);
    };
    refine_rows(block, work);
  }
  void refine_rows(const Block<T>& block, const RefinementWork& work) {
    const RefinementCounts refined = refine(held_, block, workspace_, work, centroids_, nearest(block));
    add_refined(static_cast<Word>(refined.rows), static_cast<Word>(refined.candidates), record_);
    choice_.add_pairs(static_cast<double>(refined.candidates));
  }

  HeldRows<T>& held_;
  const double* centroids_;
  std::int64_t clusters_;
  IterationRecord& record_;
  const BlockWork<T>& after_;
  AssignmentChoice choice_;
  AssignmentMethod method_;
  RefinementWorkspace workspace_;
  Float32Screen float32_;
  NarrowScreen narrow_;
  Fp16Screen fp16_;
  LongerRows longer_;
  NearAssignment lists_;
  Word walked_ = 0;  // distances that the lists have taken so far
};

}  // namespace

template <class T>
void find_nearest(HeldRows<T>& held, const double* centroids, std::int64_t k, IterationRecord& record,
                  const BlockWork<T>& after) {
  if (k > 1) return NearestFinder<T>(held, centroids, k, record, after).run();
  held.stream().fill(held.label.data(), 0, held.rows());
  record.screened += held.rows();
  if (after) held.for_blocks(after);
}

#define KITH_INSTANTIATE(T) \
  template void find_nearest(HeldRows<T>&, const double*, std::int64_t, IterationRecord&, const BlockWork<T>&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
