// Assignment: a screen of all rows against all centroids keeps the best two scores of each row, in half precision where
// the device has the tensor cores for it (then in float32 for what is left, if that is much), else in float32. Rows
// that the certificate does not decide get the distances of their few candidates by the definition.
//
// Cost: the screen, 2 n k d float32 operations (device/tile.h states the floor), and 8 bytes per row to count labels.
// docs/contract.md, Screens.
#include <limits>
#include <vector>

#include "core/fixed_point.h"
#include "kernels/cuda/bounds.h"
#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/device/tile.h"
#include "kernels/cuda/half_screen.h"
#include "kernels/cuda/narrow_screen.h"
#include "kernels/cuda/operations.h"
#include "kernels/cuda/recheck.h"
#include "kernels/cuda/screening.h"
#include "kernels/cuda/update.h"

namespace kith::cuda {
namespace {

/// The smallest score of a row, the second smallest, and whose the smallest is.
struct BestTwo {
  float best, second;
  std::int32_t column;

  __device__ static BestTwo none() {
    return {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity(), 0};
  }
  /// A NaN becomes a second best that equals the best: nothing is certified.
  __device__ void take(float score, std::int32_t at) {
    second = fminf(second, fmaxf(score, best));
    column = score < best ? at : column;
    best = fminf(best, score);
  }
  __device__ void merge(const BestTwo& other) {
    second = fminf(fminf(second, other.second), fmaxf(best, other.best));
    column = other.best < best ? other.column : column;
    best = fminf(best, other.best);
  }
  __device__ BestTwo across(int w) const {
    BestTwo other;
    other.best = __shfl_xor_sync(kAllLanes, best, w);
    other.second = __shfl_xor_sync(kAllLanes, second, w);
    other.column = __shfl_xor_sync(kAllLanes, column, w);
    return other;
  }
};

/// Epilogue of the first pass: decides rows, and lists those that it cannot decide with the limit of their candidates.
/// Between tiles the best two of each row and thread wait in shared memory: with the products in 64 registers there is
/// no room for them.
class Nearest {
 public:
  struct Arguments {
    const float* half_norm;  // (k)
    std::int64_t clusters;
    std::int64_t rows;
    const std::int32_t* chosen;  // positions of the rows in the block, null: all
    const float* norm;           // (rows of the block) |x^|
    ScreenMargin margin;
    std::int32_t* nearest;  // (rows of the block) out
    Undecided undecided;    // out
  };
  struct Shared {
    float best[8][kTileThreads];
    float second[8][kTileThreads];
    std::int32_t column[8][kTileThreads];
    BestTwo other_half[kTileRows];  // from the warp that has the other columns of the same rows
  };

  __device__ Nearest(const Arguments& arguments, Shared& shared, const TilePlace& place, std::int64_t first_row)
      : arguments_(arguments), shared_(shared), place_(place), first_row_(first_row) {
    for (int i = 0; i < 8; ++i) keep(i, BestTwo::none());
  }

  __device__ void take(const float (&product)[8][8], std::int64_t first_column) {
    float half_norm[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const std::int64_t column = first_column + place_.column(j);
      half_norm[j] =
          column < arguments_.clusters ? __ldg(&arguments_.half_norm[column]) : std::numeric_limits<float>::infinity();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      BestTwo row = kept(i);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        row.take(__fsub_rn(half_norm[j], product[i][j]), static_cast<std::int32_t>(first_column) + place_.column(j));
      }
      keep(i, row);
    }
  }

  __device__ void finish() {
    const bool has_second_half = place_.column0 >= kWarpColumns;
    for (int i = 0; i < 8; ++i) {
      BestTwo row = kept(i);
#pragma unroll
      for (int w = 2; w <= 8; w *= 2) row.merge(row.across(w));
      keep(i, row);
      if (has_second_half && place_.first_of_row()) shared_.other_half[place_.row(i)] = row;
    }
    __syncthreads();
    if (has_second_half || !place_.first_of_row()) return;
    for (int i = 0; i < 8; ++i) {
      BestTwo found = kept(i);
      found.merge(shared_.other_half[place_.row(i)]);
      const std::int64_t row = first_row_ + place_.row(i);
      if (row < arguments_.rows) decide(arguments_.chosen != nullptr ? arguments_.chosen[row] : row, found);
    }
  }

 private:
  __device__ BestTwo kept(int i) const {
    return {shared_.best[i][threadIdx.x], shared_.second[i][threadIdx.x], shared_.column[i][threadIdx.x]};
  }
  __device__ void keep(int i, const BestTwo& row) {
    shared_.best[i][threadIdx.x] = row.best;
    shared_.second[i][threadIdx.x] = row.second;
    shared_.column[i][threadIdx.x] = row.column;
  }
  __device__ void decide(std::int64_t row, const BestTwo& found) const {
    arguments_.nearest[row] = found.column;
    const float margin = arguments_.margin.at(arguments_.norm[row]);
    if (__fsub_rd(found.second, found.best) > margin) return;
    const Word place = atomicAdd(arguments_.undecided.count, Word{1});
    arguments_.undecided.row[place] = static_cast<std::int32_t>(row);
    arguments_.undecided.limit[place] = __fadd_ru(found.best, margin);
  }

  const Arguments& arguments_;
  Shared& shared_;
  const TilePlace& place_;
  std::int64_t first_row_;
};

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

/// The centroids of one assignment as the float32 screen sees them, prepared when they are first wanted.
class FloatScreen {
 public:
  template <class T>
  FloatScreen(const HeldRows<T>& held, std::int64_t count) : screened_(room_for_screened(held, count)), count_(count) {}

  template <class T>
  void prepare(const HeldRows<T>& held, const double* centroids) {
    if (ready_) return;
    largest = screen_and_measure(held, centroids, count_, screened_);
    margin = tile_margin(largest, held.columns(), held.plan.screen.exponent);
    ready_ = true;
  }
  ScreenedOperand columns() const { return {screened_.values.data(), count_, screened_.pitch}; }
  const float* half_norm() const { return screened_.half_norm.data(); }

  ScreenMargin margin;
  LargestNorms largest;

 private:
  ScreenedCopies screened_;
  std::int64_t count_;
  bool ready_ = false;
};

/// Some rows of a block.
struct RowChoice {
  const std::int32_t* chosen;  // positions, null: all
  std::int64_t count;
};

/// The float32 screen of a block's rows: writes nearest for those it decides, lists the others, and returns their
/// number.
template <class T>
std::int64_t screen_floats(const HeldRows<T>& held, const FloatScreen& screen, PointOperand<T> rows,
                           const RowChoice& which, const float* norm, std::int32_t* nearest,
                           const Undecided& undecided) {
  rows.chosen = which.chosen;
  rows.rows = which.count;
  held.stream().fill(undecided.count, 0, 1);
  const ScreenedOperand columns = screen.columns();
  if (!narrow_is_best(held.columns(), columns.rows) ||
      !screen_narrow(held, rows, {columns, screen.half_norm(), screen.margin, screen.largest}, nearest, undecided)) {
    const TileGrid tiles = tile_grid(which.count, columns.rows, 1);
    tile_kernel<PointOperand<T>, ScreenedOperand, Nearest><<<tiles.blocks(), kTileThreads, 0, held.stream()>>>(
        rows, columns, rows.d, tiles,
        {screen.half_norm(), columns.rows, which.count, which.chosen, norm, screen.margin, nearest, undecided});
    check(cudaGetLastError());
  }
  Word left = 0;
  held.stream().download(&left, undecided.count, 1);
  return static_cast<std::int64_t>(left);
}

}  // namespace

template <class T>
void find_nearest(HeldRows<T>& held, const double* centroids, std::int64_t k, IterationRecord& record) {
  const Stream& stream = held.stream();
  if (k == 1) {
    held.gaps.clusters = 0;
    stream.fill(held.label.data(), 0, held.rows());
    record.screened += held.rows();
    return;
  }
  RecheckRoom room(held.pool(), held.largest_block(), k);
  FloatScreen floats(held, k);
  HalfScreen halves;
  if (held.half.values.size() > 0 && !narrow_is_best(held.columns(), k)) halves = HalfScreen(held, k);
  GapRoom gaps;
  if (halves) gaps = GapRoom(held, k);
  if (halves) make_half_columns(held, centroids, halves.columns);
  if (gaps) gaps.begin(held, centroids);
  if (!gaps) held.gaps.clusters = 0;

  const auto look_at = [&](const Block<T>& block, const LookedRows& looked) {
    std::int32_t* nearest = held.label.data() + block.first;
    // Asked for only where they are needed: rows that are not on the device may not have to travel.
    const auto rows = [&] {
      PointOperand<T> operand = point_operand(held, held.on_device(block), looked.count);
      operand.chosen = looked.chosen;
      return operand;
    };
    Undecided undecided = room.undecided();
    std::int64_t left = looked.count;
    if (halves) {
      const HalfLeft found = screen_halves(held, halves, looked, room);
      const auto candidates = static_cast<std::int64_t>(found.candidates);
      if (candidates > 0) decide_listed(held, room, rows(), centroids, candidates, looked.nearest);
      record.rechecked += static_cast<std::int64_t>(found.open);
      record.candidates += candidates;
      left = static_cast<std::int64_t>(found.undecided);
      undecided = halves.undecided();
      if (looked.chosen != nullptr) gaps.put_back(held, block, looked, undecided, left);
    }
    // Where halves decide little, float32 decides much of the rest at less cost than the definition.
    const bool float_screen = !halves || left > looked.count / 2;
    if (float_screen) {
      floats.prepare(held, centroids);
      const bool some = looked.chosen != nullptr || left < looked.count;
      left = screen_floats(held, floats, rows(), {some ? undecided.row : nullptr, left}, held.norm.data() + block.first,
                           nearest, room.undecided());
      undecided = room.undecided();
    }
    if (held.context->left_out.one_look()) left = 0;
    RecheckWork work{undecided, left, left, {}};
    if (float_screen) {
      work.collect = [&](std::int64_t first, std::int64_t count) {
        collect_candidates(held, room, undecided, rows(), floats.columns(), floats.half_norm(), first, count);
      };
    } else {
      work.largest_batch = std::min(left, HalfScreen::kBatch);
      work.collect = [&](std::int64_t first, std::int64_t count) {
        collect_half_candidates(held, halves, block, room, first, count);
      };
    }
    const Rechecked rechecked = recheck(held, block, room, work, centroids, nearest);
    record.screened += looked.count;
    record.rechecked += rechecked.rows;
    record.candidates += rechecked.candidates;
  };
  held.for_blocks([&](const Block<T>& block) {
    RowList open{nullptr, block.rows};
    if (gaps.known()) open = gaps.lower(held, halves.columns, block);
    if (open.count > block.rows / 2) {
      look_at(block, whole_block(held, block, static_cast<bool>(gaps)));
      return;
    }
    for (std::int64_t first = 0; first < open.count; first += HalfScreen::kBatch) {
      const RowList batch{open.position + first, std::min(open.count - first, HalfScreen::kBatch)};
      look_at(block, gaps.gather(held, halves, block, batch));
    }
  });
  if (gaps) gaps.finish(held, record.screened);
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
  find_nearest(held, centroids.data(), k, record);

  const std::int64_t counters = k <= kSharedClusters ? k * static_cast<std::int64_t>(sizeof(std::uint32_t)) : 0;
  count_kernel<<<held.context->multiprocessors * 4, kBlock, counters, stream>>>(
      held.label.data(), held.summed.data(), held.rows(), k, counts.data(), counts.data() + k);
  check(cudaGetLastError());
  std::vector<Word> found(k + 1);
  stream.download(found.data(), counts.data(), k + 1);
  for (std::int64_t c = 0; c < k; ++c) assignment.counts[c] += static_cast<std::int64_t>(found[c]);
  assignment.changed += static_cast<std::int64_t>(found[k]);
  note_changed(held, static_cast<std::int64_t>(found[k]));
  assignment.screened += record.screened;
  assignment.rechecked += record.rechecked;
  assignment.candidates += record.candidates;
}

template void find_nearest(HeldRows<float>&, const double*, std::int64_t, IterationRecord&);
template void find_nearest(HeldRows<double>&, const double*, std::int64_t, IterationRecord&);
template void assign(HeldRows<float>&, const AssignRequest&, Assignment&);
template void assign(HeldRows<double>&, const AssignRequest&, Assignment&);

}  // namespace kith::cuda
