// Assignment: a screening pass over all rows decides most of them, in half precision if the device has tensor cores,
// otherwise in float32. A refinement pass decides the ambiguous rows by the distances of their few candidates.
//
// Cost: the screening pass, 2 n k d operations (screen/wgmma_product.h, device/tile.h and narrow_kernel.h state the
// floors), and 8 bytes per row to count labels. docs/contract.md, Screens.
//
// All passes of all blocks are queued without waiting; buffers hold the typical number of ambiguous rows. A block whose
// buffers overflowed is redone synchronously. Rows that are not on the device, and the few rows that no bound
// certifies, are assigned synchronously at once.
#include <algorithm>
#include <vector>

#include "kernels/cuda/assign/bounds.h"
#include "kernels/cuda/assign/exact_assign.h"
#include "kernels/cuda/assign/fp16_screen.h"
#include "kernels/cuda/assign/iterate.h"
#include "kernels/cuda/assign/narrow_screen.h"
#include "kernels/cuda/assign/operations.h"
#include "kernels/cuda/assign/update.h"
#include "kernels/cuda/screen/float32_screen.h"
#include "kernels/cuda/screen/refinement.h"

namespace kith::cuda {
namespace {

/// Counts the rows of each label, and rows whose label is not the one in the sums. Blocks count in shared memory if
/// `clusters` counters fit there, so that rows of few clusters do not contend for a few addresses.
__global__ void count_kernel(const std::int32_t* label, const std::int32_t* summed, std::int64_t rows,
                             std::int64_t clusters, Word* counts, Word* changed) {
  extern __shared__ std::uint32_t block_counts[];
  const bool shared = clusters <= kSharedClusters;
  if (shared) {
    for (std::int64_t c = threadIdx.x; c < clusters; c += blockDim.x) block_counts[c] = 0;
    __syncthreads();
  }
  Word differing = 0;
  for (std::int64_t row = thread_index(); row < rows; row += thread_count()) {
    const std::int32_t mine = label[row];
    differing += mine != summed[row] ? 1 : 0;
    if (shared) {
      atomicAdd(&block_counts[mine], 1U);
    } else {
      atomicAdd(&counts[mine], Word{1});
    }
  }
  differing = block_sum(differing);  // its barrier also completes the block's counters
  if (threadIdx.x == 0 && differing != 0) atomicAdd(changed, differing);
  if (!shared) return;
  for (std::int64_t c = threadIdx.x; c < clusters; c += blockDim.x) {
    if (block_counts[c] != 0) atomicAdd(&counts[c], static_cast<Word>(block_counts[c]));
  }
}

/// The device memory and the passes of one assignment.
template <class T>
class NearestFinder {
 public:
  NearestFinder(HeldRows<T>& held, const double* centroids, std::int64_t clusters)
      : held_(held),
        centroids_(centroids),
        clusters_(clusters),
        narrow_(narrow_is_best(held.columns(), clusters)),
        workspace_(held.pool(), held.largest_block(), clusters),
        float32_(held, clusters) {
    if (held.fp16.values.size() > 0 && !narrow_) fp16_ = Fp16Screen(held, clusters);
    if (fp16_) bounds_ = BoundWorkspace(held, clusters);
    if (fp16_) make_fp16_columns(held, centroids, fp16_.columns);
    if (bounds_) bounds_.begin(held, centroids);
    if (!bounds_) held.bounds.clusters = 0;
  }

  void run(IterationRecord& record) {
    if (bounds_.known() && bounds_.lower(held_, fp16_.columns) <= held_.rows() / 2) {
      assign_uncertified(record);
    } else if (narrow_ && few_pairs(held_.columns(), clusters_)) {
      assign_narrow(record);
    } else if (fp16_ && !held_.sent && !held_.fp16.low_precision_ineffective) {
      assign_fp16(record);
    } else {
      constexpr std::int64_t kTypical = 8;  // at most one row in this many is ambiguous where fp16 is effective
      held_.for_blocks([&](const Block<T>& block) { assign_synchronously(block, whole(block), record); });
      held_.fp16.low_precision_ineffective = record.ambiguous > held_.rows() / kTypical;
    }
    if (bounds_) bounds_.finish(held_, record.screened);
  }

 private:
  ScreeningInput whole(const Block<T>& block) const { return whole_block(held_, block, static_cast<bool>(bounds_)); }
  std::int32_t* nearest(const Block<T>& block) const { return held_.label.data() + block.first; }
  /// Sends the block if its rows are on the host, so it is called only where the values are needed.
  PointOperand<T> rows(const Block<T>& block) const { return point_operand(held_, held_.on_device(block), block.rows); }

  /// Assigns the rows that no bound certifies.
  void assign_uncertified(IterationRecord& record) {
    held_.for_blocks([&](const Block<T>& block) {
      const RowList uncertified = bounds_.uncertified_rows(held_, block);
      for (std::int64_t first = 0; first < uncertified.count; first += Fp16Screen::kBatch) {
        const RowList batch{uncertified.position + first, std::min(uncertified.count - first, Fp16Screen::kBatch)};
        assign_synchronously(block, bounds_.gather(held_, fp16_, block, batch), record);
      }
    });
  }

  void assign_narrow(IterationRecord& record) {
    const std::int64_t blocks = (held_.rows() + held_.block_rows - 1) / held_.block_rows;
    Buffer<Word> ambiguous_counts(held_.pool(), blocks);
    AmbiguousRows ambiguous = workspace_.ambiguous();
    ambiguous.count = ambiguous_counts.data();
    float32_.prepare(held_, centroids_);
    held_.for_blocks([&](const Block<T>& block) {
      const PointOperand<T> operand = rows(block);
      screen_narrow(held_, float32_, operand, nearest(block), ambiguous);
      decide_among_all(held_, operand, ambiguous.row, {block.rows, ambiguous.count}, centroids_, clusters_,
                       nearest(block));
      ++ambiguous.count;
    });
    std::vector<Word> downloaded(blocks);
    held_.stream().download(downloaded.data(), ambiguous_counts.data(), blocks);
    record.screened += held_.rows();
    for (const Word count : downloaded) add_refined(count, count * static_cast<Word>(clusters_), record);
  }

  void assign_fp16(IterationRecord& record) {
    held_.for_blocks([&](const Block<T>& block) {
      screen_fp16(held_, fp16_, block, whole(block), workspace_);
      const PointOperand<T> operand = rows(block);
      ScreeningCounts* counts = fp16_.counts(block);
      if (fp16_.groups.groups > 0) {
        decide_listed(held_, workspace_, operand, centroids_, {workspace_.capacity(), &counts->listed_candidates},
                      nearest(block));
      }
      const Count count{ambiguous_capacity(block), &counts->ambiguous};
      collect_fp16_candidates(held_, fp16_, block,
                              {workspace_.candidates(), workspace_.capacity(), &counts->ambiguous_candidates}, 0,
                              count);
      ListedBatch<T> batch{
          operand, fp16_.ambiguous(block).row, count, {workspace_.capacity(), &counts->ambiguous_candidates}};
      batch.rows.chosen = batch.positions;
      decide_batch(held_, workspace_, batch, centroids_, nearest(block));
    });
    const std::vector<ScreeningCounts> all_counts = fp16_.download_counts(held_.stream());
    held_.for_blocks([&](const Block<T>& block) {
      const ScreeningCounts& counts = all_counts[static_cast<std::size_t>(block.first / held_.block_rows)];
      const auto capacity = static_cast<Word>(workspace_.capacity());
      if (counts.ambiguous > static_cast<Word>(ambiguous_capacity(block)) || counts.listed_candidates > capacity ||
          counts.ambiguous_candidates > capacity) {
        held_.fp16.low_precision_ineffective = true;
        assign_synchronously(block, whole(block), record);
        return;
      }
      record.screened += block.rows;
      add_refined(counts.listed, counts.listed_candidates, record);
      add_refined(counts.ambiguous, counts.ambiguous_candidates, record);
    });
  }

  /// Ambiguous rows of a block that are refined without waiting for their number.
  static std::int64_t ambiguous_capacity(const Block<T>& block) {
    return std::min(Fp16Screen::kBatch, std::max<std::int64_t>(block.rows / 2, 1));
  }

  /// Assigns all rows of a block, or a batch of them, and waits for each pass.
  void assign_synchronously(const Block<T>& block, const ScreeningInput& input, IterationRecord& record) {
    std::int32_t* labels = nearest(block);
    AmbiguousRows ambiguous = workspace_.ambiguous();
    std::int64_t count = input.count;
    if (narrow_) {
      float32_.prepare(held_, centroids_);
      screen_narrow(held_, float32_, rows(block), labels, ambiguous);
      count = download_count(ambiguous.count);
    } else if (fp16_) {
      count = screen_and_decide_listed(block, input, record);
      ambiguous = fp16_.ambiguous(block);
      if (input.chosen != nullptr) bounds_.scatter(held_, block, input, ambiguous, count);
    }
    // If the screening pass decides few rows, the float32 screen decides many of the others at less cost than the
    // definition.
    bool uses_float32 = narrow_ || !fp16_;
    if ((!narrow_ && !fp16_) || count > input.count / 2) {
      // All rows after the narrow screen: this pass overwrites its list of ambiguous rows.
      const bool all = narrow_ || (input.chosen == nullptr && count == input.count);
      const RowChoice which{all ? nullptr : ambiguous.row, all ? input.count : count};
      float32_.prepare(held_, centroids_);
      count = screen_float32(held_, float32_, rows(block), which, held_.norm.data() + block.first, labels,
                             workspace_.ambiguous());
      ambiguous = workspace_.ambiguous();
      uses_float32 = true;
    }
    RefinementWork work{ambiguous, count, count, {}};
    if (uses_float32) {
      work.collect = [&](std::int64_t first, std::int64_t batch_rows) {
        collect_candidates(held_, workspace_, ambiguous, rows(block), float32_.columns(), float32_.half_sq_norm(),
                           first, batch_rows);
      };
    } else {
      work.largest_batch = std::min(count, Fp16Screen::kBatch);
      work.collect = [&](std::int64_t first, std::int64_t batch_rows) {
        collect_fp16_candidates(held_, fp16_, block, workspace_.list(), first, batch_rows);
      };
    }
    const RefinementCounts refined = refine(held_, block, workspace_, work, centroids_, labels);
    record.screened += input.count;
    record.ambiguous += refined.rows;
    record.candidates += refined.candidates;
  }

  /// The fp16 screening pass over rows of a block; also decides the listed rows. Returns the number of ambiguous rows.
  std::int64_t screen_and_decide_listed(const Block<T>& block, const ScreeningInput& input, IterationRecord& record) {
    screen_fp16(held_, fp16_, block, input, workspace_);
    ScreeningCounts counts;
    held_.stream().download(&counts, fp16_.counts(block), 1);
    // refine() gathers ambiguous rows that are not on the device.
    if (counts.listed_candidates > static_cast<Word>(workspace_.capacity()) || (counts.listed > 0 && held_.sent)) {
      append_listed_rows(held_, fp16_, block, input);
      return static_cast<std::int64_t>(counts.ambiguous + counts.listed);
    }
    if (counts.listed_candidates > 0) {
      PointOperand<T> operand = rows(block);
      operand.chosen = input.chosen;
      decide_listed(held_, workspace_, operand, centroids_, static_cast<std::int64_t>(counts.listed_candidates),
                    input.nearest);
    }
    add_refined(counts.listed, counts.listed_candidates, record);
    return static_cast<std::int64_t>(counts.ambiguous);
  }

  std::int64_t download_count(const Word* count) const {
    Word value = 0;
    held_.stream().download(&value, count, 1);
    return static_cast<std::int64_t>(value);
  }
  static void add_refined(Word rows, Word candidates, IterationRecord& record) {
    record.ambiguous += static_cast<std::int64_t>(rows);
    record.candidates += static_cast<std::int64_t>(candidates);
  }

  HeldRows<T>& held_;
  const double* centroids_;
  std::int64_t clusters_;
  bool narrow_;
  RefinementWorkspace workspace_;
  Float32Screen float32_;
  Fp16Screen fp16_;
  BoundWorkspace bounds_;
};

}  // namespace

template <class T>
void find_nearest(HeldRows<T>& held, const double* centroids, std::int64_t k, IterationRecord& record) {
  if (k == 1) {
    held.bounds.clusters = 0;
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
  Buffer<Word> counts(held.pool(), k + 1);  // the last counts rows whose label changed
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
  std::vector<Word> downloaded(k + 1);
  stream.download(downloaded.data(), counts.data(), k + 1);
  for (std::int64_t c = 0; c < k; ++c) assignment.counts[c] += static_cast<std::int64_t>(downloaded[c]);
  assignment.changed += static_cast<std::int64_t>(downloaded[k]);
  note_changed(held, static_cast<std::int64_t>(downloaded[k]));
  assignment.screened += record.screened;
  assignment.ambiguous += record.ambiguous;
  assignment.candidates += record.candidates;
}

#define KITH_INSTANTIATE(T)                                                                \
  template void find_nearest(HeldRows<T>&, const double*, std::int64_t, IterationRecord&); \
  template void assign(HeldRows<T>&, const AssignRequest&, Assignment&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
