// Assignment: a first look at all rows decides most of them, in half precision where the device has the tensor cores
// for it, else in float32; the others get the distances of their few candidates by the definition.
//
// Cost: the first look, 2 n k d operations (device/half_product.h, device/tile.h and narrow_screen.cu state the
// floors), and 8 bytes per row to count labels. docs/contract.md, Screens.
//
// A block is queued whole, with room for as much as it usually leaves to the later steps, and what it left is asked for
// after the last one. Where there was no room, and where rows are not on the device, a block is done again step by
// step; so are the rows of a block that are looked at while most others keep their labels unseen.
#include <algorithm>
#include <vector>

#include "kernels/cuda/among_all.h"
#include "kernels/cuda/bounds.h"
#include "kernels/cuda/float_screen.h"
#include "kernels/cuda/half_screen.h"
#include "kernels/cuda/narrow_screen.h"
#include "kernels/cuda/operations.h"
#include "kernels/cuda/recheck.h"
#include "kernels/cuda/steps.h"
#include "kernels/cuda/update.h"

namespace kith::cuda {
namespace {

/// Rows per label, and rows whose label is not the one in the sums. Blocks count in shared memory where `clusters`
/// counters fit there, so that rows of few clusters do not all meet at a few addresses.
__global__ void count_kernel(const std::int32_t* label, const std::int32_t* summed, std::int64_t rows,
                             std::int64_t clusters, Word* counts, Word* changed) {
  extern __shared__ std::uint32_t block_counts[];
  const bool shared = clusters <= kSharedClusters;
  if (shared) {
    for (std::int64_t c = threadIdx.x; c < clusters; c += blockDim.x) block_counts[c] = 0;
    __syncthreads();
  }
  Word moved = 0;
  for (std::int64_t row = thread_index(); row < rows; row += thread_count()) {
    const std::int32_t mine = label[row];
    moved += mine != summed[row] ? 1 : 0;
    if (shared) {
      atomicAdd(&block_counts[mine], 1U);
    } else {
      atomicAdd(&counts[mine], Word{1});
    }
  }
  moved = block_sum(moved);  // all counters have been counted to as well
  if (threadIdx.x == 0 && moved != 0) atomicAdd(changed, moved);
  if (!shared) return;
  for (std::int64_t c = threadIdx.x; c < clusters; c += blockDim.x) {
    if (block_counts[c] != 0) atomicAdd(&counts[c], static_cast<Word>(block_counts[c]));
  }
}

/// The device memory and the steps of one assignment.
template <class T>
class NearestFinder {
 public:
  NearestFinder(HeldRows<T>& held, const double* centroids, std::int64_t clusters)
      : held_(held),
        centroids_(centroids),
        clusters_(clusters),
        narrow_(narrow_is_best(held.columns(), clusters)),
        room_(held.pool(), held.largest_block(), clusters),
        floats_(held, clusters) {
    if (held.half.values.size() > 0 && !narrow_) halves_ = HalfScreen(held, clusters);
    if (halves_) gaps_ = GapRoom(held, clusters);
    if (halves_) make_half_columns(held, centroids, halves_.columns);
    if (gaps_) gaps_.begin(held, centroids);
    if (!gaps_) held.gaps.clusters = 0;
  }

  void run(IterationRecord& record) {
    if (gaps_.known() && gaps_.lower(held_, halves_.columns) <= held_.rows() / 2) {
      run_open(record);
    } else if (narrow_ && few_pairs(held_.columns(), clusters_)) {
      run_narrow(record);
    } else if (halves_ && !held_.sent && !held_.half.crowded) {
      run_halves(record);
    } else {
      constexpr std::int64_t kCrowded = 8;  // one row in so many
      held_.for_blocks([&](const Block<T>& block) { step_by_step(block, whole(block), record); });
      held_.half.crowded = record.rechecked > held_.rows() / kCrowded;
    }
    if (gaps_) gaps_.finish(held_, record.screened);
  }

 private:
  LookedRows whole(const Block<T>& block) const { return whole_block(held_, block, static_cast<bool>(gaps_)); }
  bool one_look() const { return held_.context->left_out.one_look(); }
  std::int32_t* nearest(const Block<T>& block) const { return held_.label.data() + block.first; }
  // Asked for only where they are needed: rows that are not on the device may not have to travel.
  PointOperand<T> rows(const Block<T>& block) const { return point_operand(held_, held_.on_device(block), block.rows); }

  /// Rows that no gap vouches for.
  void run_open(IterationRecord& record) {
    held_.for_blocks([&](const Block<T>& block) {
      const RowList open = gaps_.open_rows(held_, block);
      for (std::int64_t first = 0; first < open.count; first += HalfScreen::kBatch) {
        const RowList batch{open.position + first, std::min(open.count - first, HalfScreen::kBatch)};
        step_by_step(block, gaps_.gather(held_, halves_, block, batch), record);
      }
    });
  }

  void run_narrow(IterationRecord& record) {
    const std::int64_t blocks = (held_.rows() + held_.block_rows - 1) / held_.block_rows;
    Buffer<Word> left(held_.pool(), blocks);
    Undecided undecided = room_.undecided();
    undecided.count = left.data();
    floats_.prepare(held_, centroids_);
    held_.for_blocks([&](const Block<T>& block) {
      const PointOperand<T> operand = rows(block);
      screen_narrow(held_, floats_, operand, nearest(block), undecided);
      if (!one_look()) {
        decide_among_all(held_, operand, undecided.row, {block.rows, undecided.count}, centroids_, clusters_,
                         nearest(block));
      }
      ++undecided.count;
    });
    std::vector<Word> found(blocks);
    held_.stream().download(found.data(), left.data(), blocks);
    record.screened += held_.rows();
    for (const Word count : found) add_rechecked(count, count * static_cast<Word>(clusters_), record);
  }

  void run_halves(IterationRecord& record) {
    held_.for_blocks([&](const Block<T>& block) {
      look_at_halves(held_, halves_, block, whole(block), room_);
      if (one_look()) return;
      const PointOperand<T> operand = rows(block);
      HalfLeft* left = halves_.left(block);
      if (halves_.groups.groups > 0) {
        decide_listed(held_, room_, operand, centroids_, {room_.capacity(), &left->candidates}, nearest(block));
      }
      const Count count{most_undecided(block), &left->undecided};
      collect_half_candidates(held_, halves_, block, {room_.candidates(), room_.capacity(), &left->second}, 0, count);
      ListedBatch<T> batch{operand, halves_.undecided(block).row, count, {room_.capacity(), &left->second}};
      batch.rows.chosen = batch.positions;
      decide_batch(held_, room_, batch, centroids_, nearest(block));
    });
    if (one_look()) {
      record.screened += held_.rows();
      return;
    }
    const std::vector<HalfLeft> found = halves_.download_left(held_.stream());
    held_.for_blocks([&](const Block<T>& block) {
      const HalfLeft& left = found[static_cast<std::size_t>(block.first / held_.block_rows)];
      const auto room = static_cast<Word>(room_.capacity());
      if (left.undecided > static_cast<Word>(most_undecided(block)) || left.candidates > room || left.second > room) {
        held_.half.crowded = true;
        step_by_step(block, whole(block), record);
        return;
      }
      record.screened += block.rows;
      add_rechecked(left.open, left.candidates, record);
      add_rechecked(left.undecided, left.second, record);
    });
  }

  /// Rows of a block that are looked at a second time without a question.
  static std::int64_t most_undecided(const Block<T>& block) {
    return std::min(HalfScreen::kBatch, std::max<std::int64_t>(block.rows / 2, 1));
  }

  /// All rows of a block, or some.
  void step_by_step(const Block<T>& block, const LookedRows& looked, IterationRecord& record) {
    std::int32_t* labels = nearest(block);
    Undecided undecided = room_.undecided();
    std::int64_t left = looked.count;
    if (narrow_) {
      floats_.prepare(held_, centroids_);
      screen_narrow(held_, floats_, rows(block), labels, undecided);
      left = downloaded(undecided.count);
    } else if (halves_) {
      left = look_and_decide_open(block, looked, record);
      undecided = halves_.undecided(block);
      if (looked.chosen != nullptr) gaps_.put_back(held_, block, looked, undecided, left);
    }
    // Where the first look decides little, the float32 product decides much of the rest at less cost than the
    // definition.
    bool floats = narrow_ || !halves_;
    if ((!narrow_ && !halves_) || left > looked.count / 2) {
      // All rows again after the screen of few columns: its list is where this one's goes.
      const bool all = narrow_ || (looked.chosen == nullptr && left == looked.count);
      const RowChoice which{all ? nullptr : undecided.row, all ? looked.count : left};
      floats_.prepare(held_, centroids_);
      left =
          screen_floats(held_, floats_, rows(block), which, held_.norm.data() + block.first, labels, room_.undecided());
      undecided = room_.undecided();
      floats = true;
    }
    if (one_look()) left = 0;
    RecheckWork work{undecided, left, left, {}};
    if (floats) {
      work.collect = [&](std::int64_t first, std::int64_t count) {
        collect_candidates(held_, room_, undecided, rows(block), floats_.columns(), floats_.half_norm(), first, count);
      };
    } else {
      work.largest_batch = std::min(left, HalfScreen::kBatch);
      work.collect = [&](std::int64_t first, std::int64_t count) {
        collect_half_candidates(held_, halves_, block, room_.list(), first, count);
      };
    }
    const Rechecked rechecked = recheck(held_, block, room_, work, centroids_, labels);
    record.screened += looked.count;
    record.rechecked += rechecked.rows;
    record.candidates += rechecked.candidates;
  }

  /// The first look at rows of a block by halves, and the open ones; returns the number of undecided ones.
  std::int64_t look_and_decide_open(const Block<T>& block, const LookedRows& looked, IterationRecord& record) {
    look_at_halves(held_, halves_, block, looked, room_);
    if (one_look()) return 0;
    HalfLeft left;
    held_.stream().download(&left, halves_.left(block), 1);
    // Rows that are not on the device are gathered from the list of undecided ones.
    if (left.candidates > static_cast<Word>(room_.capacity()) || (left.open > 0 && held_.sent)) {
      leave_open_rows(held_, halves_, block, looked);
      return static_cast<std::int64_t>(left.undecided + left.open);
    }
    if (left.candidates > 0) {
      PointOperand<T> operand = rows(block);
      operand.chosen = looked.chosen;
      decide_listed(held_, room_, operand, centroids_, static_cast<std::int64_t>(left.candidates), looked.nearest);
    }
    add_rechecked(left.open, left.candidates, record);
    return static_cast<std::int64_t>(left.undecided);
  }

  std::int64_t downloaded(const Word* count) const {
    Word value = 0;
    held_.stream().download(&value, count, 1);
    return static_cast<std::int64_t>(value);
  }
  static void add_rechecked(Word rows, Word candidates, IterationRecord& record) {
    record.rechecked += static_cast<std::int64_t>(rows);
    record.candidates += static_cast<std::int64_t>(candidates);
  }

  HeldRows<T>& held_;
  const double* centroids_;
  std::int64_t clusters_;
  bool narrow_;
  RecheckRoom room_;
  FloatScreen floats_;
  HalfScreen halves_;
  GapRoom gaps_;
};

}  // namespace

template <class T>
void find_nearest(HeldRows<T>& held, const double* centroids, std::int64_t k, IterationRecord& record) {
  if (k == 1) {
    held.gaps.clusters = 0;
    held.stream().fill(held.label.data(), 0, held.rows());
    record.screened += held.rows();
    return;
  }
  NearestFinder<T>(held, centroids, k).run(record);
}

template <class T>
void assign(HeldRows<T>& held, const AssignRequest& request, Assignment& assignment) {
  const std::int64_t k = request.centroids.rows;
  const Stream& stream = held.stream();
  Buffer<double> centroids(held.pool(), request.centroids.size());
  Buffer<Word> counts(held.pool(), k + 1);  // and rows that changed
  stream.upload(centroids.data(), request.centroids.data, request.centroids.size());
  stream.fill(counts.data(), 0, k + 1);
  IterationRecord record;
  if (is_small_assignment(held, k)) {
    assign_small(held, centroids.data(), k, counts.data(), counts.data() + k);
  } else {
    find_nearest(held, centroids.data(), k, record);
    const std::int64_t counters = k <= kSharedClusters ? k * static_cast<std::int64_t>(sizeof(std::uint32_t)) : 0;
    count_kernel<<<held.context->multiprocessors * 4, kBlock, counters, stream>>>(
        held.label.data(), held.summed.data(), held.rows(), k, counts.data(), counts.data() + k);
    check(cudaGetLastError());
  }
  std::vector<Word> found(k + 1);
  stream.download(found.data(), counts.data(), k + 1);
  for (std::int64_t c = 0; c < k; ++c) assignment.counts[c] += static_cast<std::int64_t>(found[c]);
  assignment.changed += static_cast<std::int64_t>(found[k]);
  note_changed(held, static_cast<std::int64_t>(found[k]));
  assignment.screened += record.screened;
  assignment.rechecked += record.rechecked;
  assignment.candidates += record.candidates;
}

#define KITH_INSTANTIATE(T)                                                                \
  template void find_nearest(HeldRows<T>&, const double*, std::int64_t, IterationRecord&); \
  template void assign(HeldRows<T>&, const AssignRequest&, Assignment&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
