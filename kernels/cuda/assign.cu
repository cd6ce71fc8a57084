// Assignment: a screen of all rows against all centroids keeps the best two scores of each row, in half precision where
// the device has the tensor cores for it (then in float32 for what is left, if that is much), else in float32. Rows
// that the certificate does not decide get the distances of their few candidates by the definition; then every row gets
// the distance to its own centroid, and counts and inertia are summed as integers.
//
// Cost: the screen, 2 n k d float32 operations (device/tile.h states the floor), then one more pass over the points:
// n d values in and 16 bytes of state per row, 0.12 ms for 10^6 x 128 float32 on an H200. docs/contract.md, Screens.
#include <limits>
#include <vector>

#include "core/fixed_point.h"
#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/device/tile.h"
#include "kernels/cuda/half_screen.h"
#include "kernels/cuda/operations.h"
#include "kernels/cuda/recheck.h"
#include "kernels/cuda/screening.h"

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

/// What an assignment adds up, in copies so that rows of one cluster do not all meet at one address. The last slot of a
/// copy counts changed labels.
struct Tally {
  Word* slots = nullptr;  // (copies, clusters + 1, 3): count, high limb, low limb
  std::int64_t clusters = 0;
  std::int64_t copies = 1;

  static constexpr std::int64_t kSlots = 65536;  // wanted over all copies
  static std::int64_t copies_for(std::int64_t clusters) {
    return std::clamp<std::int64_t>(kSlots / (clusters + 1), 1, 256);
  }
  __host__ __device__ std::int64_t copy_size() const { return (clusters + 1) * 3; }
  __device__ Word* slot(std::int64_t cluster) const {
    return slots + (blockIdx.x % copies) * copy_size() + cluster * 3;
  }
};

__global__ void add_copies_kernel(Tally tally) {
  for (std::int64_t i = thread_index(); i < tally.copy_size(); i += thread_count()) {
    Word sum = 0;
    for (std::int64_t c = 0; c < tally.copies; ++c) sum += tally.slots[c * tally.copy_size() + i];
    tally.slots[i] = sum;
  }
}

struct RowState {
  const std::int32_t* nearest;  // (rows) the new label
  std::int32_t* label;          // (rows)
  double* distance;             // (rows)
};

struct InertiaGrid {
  double first, second, low_scale;
};

/// The distance of every row to its own centroid by the definition. A warp takes 32 rows, a lane keeps the result of
/// one, so that the state is read and written in whole lines.
template <class T>
__global__ void finish_kernel(const T* values, std::int64_t rows, std::int64_t d, const double* centroids,
                              InertiaGrid grid, RowState state, Tally tally) {
  const int lane = lane_index();
  for (std::int64_t base = warp_index() * kWarp; base < rows; base += warp_count() * kWarp) {
    const std::int64_t row = base + lane;
    const std::int32_t label = row < rows ? state.nearest[row] : 0;
    const double distance = distances_of_rows(values, base, rows, d, [&](int i) {
      return centroids + static_cast<std::int64_t>(__shfl_sync(kAllLanes, label, i)) * d;
    });
    bool changed = false;
    if (row < rows) {
      changed = state.label[row] != label;
      state.label[row] = label;
      state.distance[row] = distance;
      const Limbs limbs = to_limbs(distance, grid.first, grid.second, grid.low_scale);
      Word* slot = tally.slot(label);
      atomicAdd(&slot[0], Word{1});
      atomicAdd(&slot[1], static_cast<Word>(limbs.high));
      atomicAdd(&slot[2], static_cast<Word>(limbs.low));
    }
    const unsigned all_changed = __ballot_sync(kAllLanes, changed);
    if (lane == 0 && all_changed != 0) atomicAdd(tally.slot(tally.clusters), static_cast<Word>(__popc(all_changed)));
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
    const LargestNorms largest = screen_and_measure(held, centroids, count_, screened_);
    margin = tile_margin(largest, held.columns(), held.plan.screen.exponent);
    ready_ = true;
  }
  ScreenedOperand columns() const { return {screened_.values.data(), count_, screened_.pitch}; }
  const float* half_norm() const { return screened_.half_norm.data(); }

  ScreenMargin margin;

 private:
  ScreenedCopies screened_;
  std::int64_t count_;
  bool ready_ = false;
};

/// Some rows of a block.
struct ChosenRows {
  const std::int32_t* chosen;  // positions, null: all
  std::int64_t count;
};

/// The float32 screen of a block's rows: writes nearest for those it decides, lists the others, and returns their
/// number.
template <class T>
std::int64_t screen_floats(const HeldRows<T>& held, const FloatScreen& screen, PointOperand<T> rows,
                           const ChosenRows& which, const float* norm, std::int32_t* nearest,
                           const Undecided& undecided) {
  rows.chosen = which.chosen;
  rows.rows = which.count;
  held.stream().fill(undecided.count, 0, 1);
  const ScreenedOperand columns = screen.columns();
  const TileGrid tiles = tile_grid(which.count, columns.rows, 1);
  tile_kernel<PointOperand<T>, ScreenedOperand, Nearest><<<tiles.blocks(), kTileThreads, 0, held.stream()>>>(
      rows, columns, rows.d, tiles,
      {screen.half_norm(), columns.rows, which.count, which.chosen, norm, screen.margin, nearest, undecided});
  check(cudaGetLastError());
  Word left = 0;
  held.stream().download(&left, undecided.count, 1);
  return static_cast<std::int64_t>(left);
}

}  // namespace

template <class T>
void assign(HeldRows<T>& held, const AssignRequest& request, Assignment& assignment) {
  const std::int64_t k = request.centroids.rows, d = held.columns();
  const Stream& stream = held.stream();
  Buffer<double> centroids(held.pool(), request.centroids.size());
  const std::int64_t copies = Tally::copies_for(k);
  Buffer<Word> slots(held.pool(), copies * (k + 1) * 3);
  Buffer<std::int32_t> nearest(held.pool(), held.largest_block());
  RecheckRoom room(held.pool(), held.largest_block(), k);
  FloatScreen floats(held, k);
  HalfScreen halves;
  if (k > 1 && held.half.values.size() > 0) halves = HalfScreen(held, k);

  stream.upload(centroids.data(), request.centroids.data, request.centroids.size());
  stream.fill(slots.data(), 0, slots.size());
  const Tally tally{slots.data(), k, copies};
  const InertiaGrid grid{request.inertia.first, request.inertia.second, power_of_two(request.inertia_bits)};
  held.totals.current = false;
  if (halves) make_half_columns(held, centroids.data(), halves.columns);

  held.for_blocks([&](const Block<T>& block) {
    const T* values = held.on_device(block);
    if (k == 1) {
      stream.fill(nearest.data(), 0, block.rows);
    } else {
      const PointOperand<T> rows = point_operand(held, values, block.rows);
      Undecided undecided = room.undecided();
      std::int64_t left = block.rows;
      if (halves) {
        left = screen_halves(held, halves, block, nearest.data());
        undecided = halves.undecided();
      }
      // Where halves decide little, float32 decides much of the rest at less cost than the definition.
      const bool float_screen = !halves || left > block.rows / 2;
      if (float_screen) {
        floats.prepare(held, centroids.data());
        left = screen_floats(held, floats, rows, {left < block.rows ? undecided.row : nullptr, left},
                             held.norm.data() + block.first, nearest.data(), room.undecided());
        undecided = room.undecided();
      }
      RecheckWork work{undecided, left, left, {}};
      if (float_screen) {
        work.collect = [&](std::int64_t first, std::int64_t count) {
          collect_candidates(held, room, undecided, rows, floats.columns(), floats.half_norm(), first, count);
        };
      } else {
        work.largest_batch = std::min(left, HalfScreen::kBatch);
        work.collect = [&](std::int64_t first, std::int64_t count) {
          collect_half_candidates(held, halves, block, room, first, count);
        };
      }
      const Rechecked rechecked = recheck(held, room, work, rows, centroids.data(), nearest.data());
      assignment.screened += block.rows;
      assignment.rechecked += rechecked.rows;
      assignment.candidates += rechecked.candidates;
    }
    finish_kernel<<<held.context->grid(block.rows, kBlock), kBlock, 0, stream>>>(
        values, block.rows, d, centroids.data(), grid,
        RowState{nearest.data(), held.label.data() + block.first, held.distance.data() + block.first}, tally);
    check(cudaGetLastError());
  });

  add_copies_kernel<<<held.context->grid(tally.copy_size(), kBlock), kBlock, 0, stream>>>(tally);
  check(cudaGetLastError());
  std::vector<Word> sums(tally.copy_size());
  stream.download(sums.data(), slots.data(), tally.copy_size());
  for (std::int64_t c = 0; c < k; ++c) {
    assignment.counts[c] += static_cast<std::int64_t>(sums[3 * c]);
    assignment.inertia[c].high += static_cast<std::int64_t>(sums[3 * c + 1]);
    assignment.inertia[c].low += static_cast<std::int64_t>(sums[3 * c + 2]);
  }
  assignment.changed += static_cast<std::int64_t>(sums[3 * k]);
}

template void assign(HeldRows<float>&, const AssignRequest&, Assignment&);
template void assign(HeldRows<double>&, const AssignRequest&, Assignment&);

}  // namespace kith::cuda
