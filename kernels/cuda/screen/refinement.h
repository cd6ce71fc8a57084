// The refinement pass: decides ambiguous rows by the distances of their candidates by the definition.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/device/tile.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Chosen rows of a block.
struct RowChoice {
  const std::int32_t* chosen;  // positions; null: all
  std::int64_t count;

  __device__ std::int32_t position(std::int64_t i) const {
    return chosen != nullptr ? chosen[i] : static_cast<std::int32_t>(i);
  }
};

/// The rows of a block that the screening pass could not decide, in any order. A column is a candidate of a row unless
/// its score is above the row's limit.
struct AmbiguousRows {
  std::int32_t* row;  // (rows of the block) position
  float* limit;       // (rows of the block)
  Word* count;        // (1)

  __host__ __device__ explicit operator bool() const { return count != nullptr; }

  /// Appends this lane's row if it is selected. All lanes call it.
  __device__ void append(bool selected, std::int64_t position, float row_limit) const {
    const Word place = reserve_slot(selected, count);
    if (!selected) return;
    row[place] = static_cast<std::int32_t>(position);
    limit[place] = row_limit;
  }
};

/// A candidate: the index of its row in a batch, and its column.
struct Candidate {
  std::int32_t place;
  std::int32_t column;
};

/// A list of candidates: all are counted, and those within its capacity are listed.
struct CandidateOutput {
  Candidate* list;  // (capacity)
  std::int64_t capacity;
  Word* count;  // (1)

  /// Appends columns first + i, for the set bits i, of this lane's place. All lanes call it.
  __device__ void add(unsigned bits, std::int32_t place, std::int32_t first) const {
    int inclusive = __popc(bits);
#pragma unroll
    for (int w = 1; w < kWarp; w *= 2) {
      const int lower = __shfl_up_sync(kAllLanes, inclusive, w);
      if (lane_index() >= w) inclusive += lower;
    }
    Word at = 0;
    if (lane_index() == kWarp - 1 && inclusive > 0) at = atomicAdd(count, static_cast<Word>(inclusive));
    at = __shfl_sync(kAllLanes, at, kWarp - 1) + static_cast<Word>(inclusive - __popc(bits));
    put(at, bits, place, first);
  }
  /// Stores them from index `at` on.
  __device__ void put(Word at, unsigned bits, std::int32_t place, std::int32_t first) const {
    for (; bits != 0 && at < static_cast<Word>(capacity); bits &= bits - 1, ++at) {
      list[at] = {place, first + __ffs(static_cast<int>(bits)) - 1};
    }
  }
};

/// Device memory of the refinement pass, allocated before an assignment changes any state.
class RefinementWorkspace {
 public:
  /// For blocks of up to `rows` rows and `clusters` columns. The candidates of one row always fit.
  RefinementWorkspace(Pool& pool, std::int64_t rows, std::int64_t clusters);

  AmbiguousRows ambiguous() const { return {row_.data(), limit_.data(), counters_.data()}; }
  Word* candidate_count() const { return counters_.data() + 1; }
  Candidate* candidates() const { return candidates_.data(); }
  CandidateOutput list() const { return {candidates(), capacity(), candidate_count()}; }
  double* distances() const { return distances_.data(); }
  std::int64_t capacity() const { return candidates_.size(); }
  Word* smallest() const { return smallest_.data(); }
  std::int32_t* nearest() const { return nearest_.data(); }

 private:
  Buffer<std::int32_t> row_;
  Buffer<float> limit_;
  Buffer<Word> counters_;
  Buffer<Candidate> candidates_;
  Buffer<double> distances_;      // of the candidates
  Buffer<Word> smallest_;         // (rows) bits of the smallest distance, by place
  Buffer<std::int32_t> nearest_;  // (rows) lowest column that has it
};

struct RefinementCounts {
  std::int64_t rows = 0;
  std::int64_t candidates = 0;
};

/// The operand for all rows of a block.
template <class T>
PointOperand<T> point_operand(const HeldRows<T>& held, const T* values, std::int64_t rows) {
  return {values,
          nullptr,
          rows,
          static_cast<int>(held.columns()),
          static_cast<Arithmetic<T>>(power_of_two(-held.plan.screen.exponent)),
          held.center.data()};
}

/// Queues the search for candidates of ambiguous rows first .. first + count - 1: all are counted in the workspace's
/// candidate_count, and those within its capacity are listed.
using Collect = std::function<void(std::int64_t first, std::int64_t count)>;

/// The ambiguous rows of a screening pass, and the function that finds their candidates.
struct RefinementWork {
  AmbiguousRows ambiguous;
  std::int64_t count = 0;          // of ambiguous rows
  std::int64_t largest_batch = 0;  // rows for one call of `collect`
  Collect collect;
};

/// Collects candidates by a second pass of the float32 screen over ambiguous rows. rows, columns, half_sq_norm: as in
/// the first.
template <class T>
void collect_candidates(const HeldRows<T>& held, const CandidateOutput& candidates, const AmbiguousRows& ambiguous,
                        PointOperand<T> rows, const ScreenedOperand& columns, const float* half_sq_norm,
                        std::int64_t first, std::int64_t count);

/// Decides the ambiguous rows of a block: nearest[row] = argmin of D over their candidates, ties to the lowest column.
/// centroids: (k, d). Waits for the device.
template <class T>
RefinementCounts refine(const HeldRows<T>& held, const Block<T>& block, const RefinementWorkspace& workspace,
                        const RefinementWork& work, const double* centroids, std::int32_t* nearest);

/// Decides rows by `count` candidates in the workspace whose places are positions in the block. Before the call, the
/// rows' workspace.smallest() is all ones and `nearest` above every column. Does not wait.
template <class T>
void decide_listed(const HeldRows<T>& held, const RefinementWorkspace& workspace, const PointOperand<T>& rows,
                   const double* centroids, Count count, std::int32_t* nearest);

/// A batch of rows whose candidates are in the workspace, with places in the batch.
template <class T>
struct ListedBatch {
  PointOperand<T> rows;           // `chosen` maps a place to a row of values
  const std::int32_t* positions;  // (count) in the block
  Count count;
  Count candidates;
};

/// Decides the rows of a batch. Does not wait.
template <class T>
void decide_batch(const HeldRows<T>& held, const RefinementWorkspace& workspace, const ListedBatch<T>& batch,
                  const double* centroids, std::int32_t* nearest);

}  // namespace kith::cuda
