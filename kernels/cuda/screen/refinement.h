// The second look at rows that the screen could not decide: their candidates' distances by the definition.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/cuda/device/count.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/device/tile.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Rows of a block that the first pass leaves ambiguous, in any order. A column is a candidate of the row unless its
/// score is above the row's limit.
struct AmbiguousRows {
  std::int32_t* row;  // (rows of the block) position
  float* limit;       // (rows of the block)
  Word* count;        // (1)

  __host__ __device__ explicit operator bool() const { return count != nullptr; }

  /// Adds this lane's row. Called by all lanes.
  __device__ void append(bool wanted, std::int64_t position, float row_limit) const {
    const Word place = reserve_slot(wanted, count);
    if (!wanted) return;
    row[place] = static_cast<std::int32_t>(position);
    limit[place] = row_limit;
  }
};

/// A candidate: the place of its row among the ambiguous of a batch, and its column.
struct Candidate {
  std::int32_t place;
  std::int32_t column;
};

/// Candidates: all are counted, and listed while there is room.
struct CandidateOutput {
  Candidate* list;  // (capacity)
  std::int64_t capacity;
  Word* count;  // (1)

  /// Adds columns first + i of bits i for this lane's place. Called by all lanes.
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
  /// Lists them from place `at` of the list on.
  __device__ void put(Word at, unsigned bits, std::int32_t place, std::int32_t first) const {
    for (; bits != 0 && at < static_cast<Word>(capacity); bits &= bits - 1, ++at) {
      list[at] = {place, first + __ffs(static_cast<int>(bits)) - 1};
    }
  }
};

/// Device memory of the second look, taken before an assignment changes anything.
class RefinementWorkspace {
 public:
  /// For blocks of up to `rows` rows against `clusters` columns. One row's candidates always fit.
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

/// Queues the search for candidates of ambiguous rows first .. first + count - 1: every candidate is counted in the
/// room's candidate_count, and listed while there is room.
using Collect = std::function<void(std::int64_t first, std::int64_t count)>;

/// Rows that an earlier pass left ambiguous, and how their candidates are found.
struct RefinementWork {
  AmbiguousRows ambiguous;
  std::int64_t count = 0;          // of ambiguous rows
  std::int64_t largest_batch = 0;  // rows that `collect` takes at a time
  Collect collect;
};

/// Collects by the float32 screen, run once more over the ambiguous rows. rows, columns, half_sq_norm: as in its first
/// pass.
template <class T>
void collect_candidates(const HeldRows<T>& held, const RefinementWorkspace& room, const AmbiguousRows& ambiguous,
                        PointOperand<T> rows, const ScreenedOperand& columns, const float* half_sq_norm,
                        std::int64_t first, std::int64_t count);

/// Decides the ambiguous rows of a block: nearest[row] = argmin of D over their candidates, ties to the lowest column.
/// centroids: (k, d). Waits for the device.
template <class T>
RefinementCounts refine(const HeldRows<T>& held, const Block<T>& block, const RefinementWorkspace& room,
                        const RefinementWork& work, const double* centroids, std::int32_t* nearest);

/// Decides rows from `count` candidates in the room whose places are positions in the block. Their room.smallest() is
/// all ones and their nearest above every column before. Queues only.
template <class T>
void decide_listed(const HeldRows<T>& held, const RefinementWorkspace& room, const PointOperand<T>& rows,
                   const double* centroids, Count count, std::int32_t* nearest);

/// Some rows whose candidates are in the room, with their places among them.
template <class T>
struct ListedBatch {
  PointOperand<T> rows;           // `chosen` leads from a place to the values
  const std::int32_t* positions;  // (count) in the block
  Count count;
  Count candidates;
};

/// Decides the rows of a batch. Queues only.
template <class T>
void decide_batch(const HeldRows<T>& held, const RefinementWorkspace& room, const ListedBatch<T>& batch,
                  const double* centroids, std::int32_t* nearest);

}  // namespace kith::cuda
