// Assignments of all rows; and with rows that are sent, all that an iteration does, so that each block is sent once.
//
// For the latter the link is the limit: n d values less those of the resident rows, 50 GB/s with PCIe 5.
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cuda/assign/measure.h"
#include "kernels/cuda/assign/update_sums.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/operations.h"
#include "kernels/cuda/runtime/held_rows.h"

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

/// Labels of rows, and the labels that the sums include.
struct LabelSpan {
  const std::int32_t* label;   // (count)
  const std::int32_t* summed;  // (count)
  std::int64_t count;
};

/// Sums over blocks of rows.
class LabelCounts {
 public:
  LabelCounts(Pool& pool, const Stream& stream, std::int64_t clusters);
  Word* counts() const { return counts_.data(); }               // (k) rows of each label
  Word* changed() const { return counts_.data() + clusters_; }  // (1) rows whose label is not the one in the sums

  /// Does not wait.
  void add(const Context& context, const LabelSpan& rows) const;
  /// Restores the state before add() except for the changed labels. Does not wait.
  void forget_counts(const Stream& stream) const { stream.fill(counts_.data(), 0, clusters_); }
  /// Adds the counts and the number of changed labels to the assignment. Waits.
  void download(const Stream& stream, Assignment& assignment) const;

 private:
  std::int64_t clusters_;
  Buffer<Word> counts_;  // (k + 1)
};

LabelCounts::LabelCounts(Pool& pool, const Stream& stream, std::int64_t clusters)
    : clusters_(clusters), counts_(pool, clusters + 1) {
  stream.fill(counts_.data(), 0, clusters + 1);
}

void LabelCounts::add(const Context& context, const LabelSpan& rows) const {
  const std::int64_t counters =
      clusters_ <= kSharedClusters ? clusters_ * static_cast<std::int64_t>(sizeof(std::uint32_t)) : 0;
  count_kernel<<<context.multiprocessors * 4, kBlock, counters, context.stream>>>(rows.label, rows.summed, rows.count,
                                                                                  clusters_, counts(), changed());
  check(cudaGetLastError());
}

void LabelCounts::download(const Stream& stream, Assignment& assignment) const {
  std::vector<Word> downloaded(static_cast<std::size_t>(clusters_ + 1));
  stream.download(downloaded.data(), counts_.data(), clusters_ + 1);
  for (std::int64_t c = 0; c < clusters_; ++c) assignment.counts[c] += static_cast<std::int64_t>(downloaded[c]);
  assignment.changed += static_cast<std::int64_t>(downloaded[clusters_]);
}

}  // namespace

template <class T>
void assign(HeldRows<T>& held, const AssignRequest& request, Assignment& assignment) {
  const std::int64_t k = request.centroids.rows;
  const Stream& stream = held.stream();
  Buffer<double> centroids(held.pool(), request.centroids.size());
  LabelCounts counts(held.pool(), stream, k);
  stream.upload(centroids.data(), request.centroids.data, request.centroids.size());
  IterationRecord record;
  find_nearest(held, centroids.data(), k, record);
  counts.add(*held.context, {held.label.data(), held.summed.data(), held.rows()});
  counts.download(stream, assignment);
  add_to(assignment, record);
}

template <class T>
void find_nearest_retrying(HeldRows<T>& held, const double* centroids, std::int64_t k, IterationRecord& record,
                           const BlockWork<T>& after, const std::function<void()>& restart) {
  for (;;) {
    try {
      return find_nearest(held, centroids, k, record, after);
    } catch (const OutOfMemory&) {
      if (!held.free_optional_memory()) throw;
      record = {};
      restart();
    }
  }
}

template <class T>
void sweep(HeldRows<T>& held, const SweepRequest& request, Assignment& assignment) {
  const std::int64_t k = request.centroids.rows;
  const Stream& stream = held.stream();
  Buffer<double> centroids(held.pool(), request.centroids.size());
  stream.upload(centroids.data(), request.centroids.data, request.centroids.size());
  const LabelCounts counts(held.pool(), stream, k);
  std::optional<SumChanges<T>> changes;
  std::optional<Measurement<T>> measurement;
  if (request.sums != nullptr) changes.emplace(held, *request.sums);
  if (request.measure != nullptr) measurement.emplace(held, *request.measure);

  IterationRecord record;
  const auto after = [&](const Block<T>& block) {
    counts.add(*held.context, {held.label.data() + block.first, held.summed.data() + block.first, block.rows});
    if (changes) changes->update(held, block);
    if (measurement) measurement->add(held, block);
  };
  // Labels that are in the sums already are those that a second attempt finds.
  find_nearest_retrying<T>(held, centroids.data(), k, record, after, [&] {
    counts.forget_counts(stream);
    if (measurement) measurement->forget(held);
  });
  counts.download(stream, assignment);
  add_to(assignment, record);
  if (changes) changes->add_to(held, *request.sums);
  if (measurement) measurement->add_to(held, request.inertia);
}

#define KITH_INSTANTIATE(T)                                                                        \
  template void assign(HeldRows<T>&, const AssignRequest&, Assignment&);                           \
  template void find_nearest_retrying(HeldRows<T>&, const double*, std::int64_t, IterationRecord&, \
                                      const BlockWork<T>&, const std::function<void()>&);          \
  template void sweep(HeldRows<T>&, const SweepRequest&, Assignment&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
