// Cluster sums: rows whose label is not the one in the sums are listed, their signed contributions are sorted by
// cluster (a counting sort) and added as integers in ranges, with one atomic addition per range and column.
//
// Reads 8 bytes of labels per row, and d values per contribution. The first call, which adds every row, reads the
// points once: 0.11 ms for 10^6 x 128 float32 on an H200. The conversions to float64 and to integers, 16 per clock and
// multiprocessor, take 0.07 ms; bytes are added without conversion. When few rows are reassigned, the labels are
// the cost.
#include "kernels/cuda/assign/update_sums.h"

#include <bit>
#include <type_traits>
#include <vector>

#include "core/numbers/fixed_point.h"
#include "kernels/cuda/operations.h"

namespace kith::cuda {
namespace {

/// Bytes of a block's counters in shared memory; 0 if there are too many clusters.
std::int64_t shared_bytes(std::int64_t clusters) {
  return clusters <= kSharedClusters ? 2 * clusters * static_cast<std::int64_t>(sizeof(std::uint32_t)) : 0;
}

/// Lists the reassigned rows, counts their contributions per bin, and stores their labels as summed. A warp processes
/// 128 rows and adds to the length of the list once.
__global__ void list_kernel(const std::int32_t* label, std::int32_t* summed, std::int64_t rows, std::int64_t clusters,
                            Reassignment* list, Word* length, std::uint32_t* bins) {
  constexpr int kEach = 4;
  extern __shared__ std::uint32_t block_bins[];
  const bool shared = clusters <= kSharedClusters;
  if (shared) {
    for (std::int64_t b = threadIdx.x; b < 2 * clusters; b += blockDim.x) block_bins[b] = 0;
    __syncthreads();
  }
  std::uint32_t* counters = shared ? block_bins : bins;
  for (std::int64_t base = warp_index() * kWarp * kEach; base < rows; base += warp_count() * kWarp * kEach) {
    std::int32_t now[kEach], before[kEach];
    unsigned reassigned[kEach];
    int total = 0;
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const std::int64_t row = base + e * kWarp + lane_index();
      now[e] = row < rows ? label[row] : -1;
      before[e] = row < rows ? summed[row] : -1;
    }
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      reassigned[e] = __ballot_sync(kAllLanes, now[e] != before[e]);
      total += __popc(reassigned[e]);
    }
    if (total == 0) continue;
    Word first = 0;
    if (lane_index() == 0) first = atomicAdd(length, static_cast<Word>(total));
    first = __shfl_sync(kAllLanes, first, 0);
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      if (now[e] != before[e]) {
        const auto row = static_cast<std::int32_t>(base + e * kWarp + lane_index());
        list[first + __popc(reassigned[e] & ((1U << lane_index()) - 1U))] = {row, before[e]};
        summed[row] = now[e];
        atomicAdd(&counters[now[e]], 1U);
        if (before[e] >= 0) atomicAdd(&counters[clusters + before[e]], 1U);
      }
      first += static_cast<Word>(__popc(reassigned[e]));
    }
  }
  if (!shared) return;
  __syncthreads();
  for (std::int64_t b = threadIdx.x; b < 2 * clusters; b += blockDim.x) {
    if (block_bins[b] != 0) atomicAdd(&bins[b], block_bins[b]);
  }
}

/// One block: computes where each bin begins in the sorted list, updates the counts of rows, and clears the bins.
__global__ void place_kernel(std::uint32_t* bins, std::uint32_t* cursor, std::int64_t clusters, const Word* length,
                             ClusterTotals totals) {
  constexpr int kEach = 4;
  std::uint32_t placed = 0;
  for (std::int64_t first = 0; first < 2 * clusters; first += kBlock * kEach) {
    const std::int64_t own = first + std::int64_t{kEach} * threadIdx.x;
    std::uint32_t contributions[kEach], sum = 0;
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      contributions[e] = own + e < 2 * clusters ? bins[own + e] : 0;
      sum += contributions[e];
    }
    const BlockPrefix prefix = block_prefix(sum);
    std::uint32_t at = placed + prefix.before;
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const std::int64_t bin = own + e;
      if (bin >= 2 * clusters) break;
      cursor[bin] = at;
      at += contributions[e];
      if (contributions[e] == 0) continue;
      bins[bin] = 0;
      const bool subtracts = bin >= clusters;
      atomicAdd(&totals.counts[subtracts ? bin - clusters : bin],
                subtracts ? Word{0} - contributions[e] : Word{contributions[e]});
    }
    placed += prefix.total;
  }
  if (threadIdx.x == 0) *totals.changed += *length;
}

/// Sorts the contributions into their bins; the order within a bin does not matter. Afterwards each cursor is the end
/// of its bin. With counters in shared memory, a block reserves its places of a bin at once. gathered: the values of
/// the rows are in the order of the list.
__global__ void sort_kernel(const Reassignment* list, const Word* length, const std::int32_t* label,
                            std::int64_t clusters, bool gathered, std::uint32_t* cursor, Contribution* sorted) {
  constexpr int kEach = 8;
  extern __shared__ std::uint32_t block_bins[];
  const bool shared = clusters <= kSharedClusters;
  const auto count = static_cast<std::int64_t>(*length);
  for (std::int64_t base = std::int64_t{blockIdx.x} * kBlock * kEach; base < count;
       base += std::int64_t{gridDim.x} * kBlock * kEach) {
    if (shared) {
      for (std::int64_t b = threadIdx.x; b < 2 * clusters; b += kBlock) block_bins[b] = 0;
      __syncthreads();
    }
    std::uint32_t* counters = shared ? block_bins : cursor;
    Reassignment reassignment[kEach];
    std::uint32_t add_bin[kEach], subtract_bin[kEach], add_place[kEach],
        subtract_place[kEach];  // bins, and places in them
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const std::int64_t i = base + e * kBlock + threadIdx.x;
      reassignment[e] = i < count ? list[i] : Reassignment{-1, -1};
      if (reassignment[e].row < 0) continue;
      add_bin[e] = static_cast<std::uint32_t>(label[reassignment[e].row]);
      add_place[e] = atomicAdd(&counters[add_bin[e]], 1U);
      if (reassignment[e].before < 0) continue;
      subtract_bin[e] = static_cast<std::uint32_t>(clusters + reassignment[e].before);
      subtract_place[e] = atomicAdd(&counters[subtract_bin[e]], 1U);
    }
    if (shared) {
      __syncthreads();
      for (std::int64_t b = threadIdx.x; b < 2 * clusters; b += kBlock) {
        if (block_bins[b] != 0) block_bins[b] = atomicAdd(&cursor[b], block_bins[b]);
      }
      __syncthreads();
    }
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      if (reassignment[e].row < 0) continue;
      const auto place = static_cast<std::int32_t>(base + e * kBlock + threadIdx.x);
      const std::int32_t row = gathered ? place : reassignment[e].row;
      sorted[add_place[e] + (shared ? block_bins[add_bin[e]] : 0)] = {row, add_bin[e]};
      if (reassignment[e].before < 0) continue;
      sorted[subtract_place[e] + (shared ? block_bins[subtract_bin[e]] : 0)] = {row, subtract_bin[e]};
    }
    __syncthreads();
  }
}

constexpr int kMostTogether = 4;  // columns whose sums fit in the registers of a lane

/// Neighbouring values of a row that are loaded together.
template <class T, int Values>
struct alignas(sizeof(T) * Values) Vector {
  T value[Values];
};

/// The total over the lanes that have the same columns, which are `apart` lanes from each other.
template <class Number>
__device__ Number across_lanes(Number value, int apart) {
  for (int w = apart; w < kWarp; w *= 2) value += __shfl_xor_sync(kAllLanes, value, w);
  return value;
}

/// Sums of `Values` columns over rows of one bin.
template <int Values>
struct RunningSum {
  Word high[Values] = {}, low[Values] = {};

  __device__ void add(int v, double value, const SumGrid& grid, double first, double second, bool two_limbs) {
    if (two_limbs) {
      const Limbs limbs = to_limbs(value, first, second, grid.low_scale);
      high[v] += static_cast<Word>(limbs.high);
      low[v] += static_cast<Word>(limbs.low);
    } else {
      high[v] += static_cast<Word>(to_fixed(value, first, second));
    }
  }
  /// Adds the sums of this range to the totals. Of the lanes with the same columns, the lowest adds.
  __device__ void flush(std::uint32_t bin, std::int64_t clusters, std::int64_t d, std::int64_t column, int apart,
                        const SumGrid&, const ClusterTotals& totals) {
    const bool subtracts = bin >= clusters;
    const std::int64_t at = (subtracts ? bin - clusters : bin) * d + column;
#pragma unroll
    for (int v = 0; v < Values; ++v) {
      high[v] = across_lanes(high[v], apart);
      low[v] = across_lanes(low[v], apart);
      if (lane_index() < apart && column < d) {
        if (high[v] != 0) atomicAdd(&totals.high[at + v], subtracts ? Word{0} - high[v] : high[v]);
        if (low[v] != 0) atomicAdd(&totals.low[at + v], subtracts ? Word{0} - low[v] : low[v]);
      }
      high[v] = low[v] = 0;
    }
  }
};

/// The same for bytes. Integers are on the grid, so only their sum is converted.
template <int Values>
struct ByteSum {
  int total[Values] = {};  // of a range

  __device__ void add(int v, int value, const SumGrid&, double, double, bool) { total[v] += value; }
  __device__ void flush(std::uint32_t bin, std::int64_t clusters, std::int64_t d, std::int64_t column, int apart,
                        const SumGrid& grid, const ClusterTotals& totals) {
    const bool subtracts = bin >= clusters;
    const std::int64_t at = (subtracts ? bin - clusters : bin) * d + column;
#pragma unroll
    for (int v = 0; v < Values; ++v) {
      const int sum = across_lanes(total[v], apart);
      total[v] = 0;
      if (lane_index() >= apart || column >= d || sum == 0) continue;
      const auto q =
          static_cast<Word>(to_fixed(static_cast<double>(sum), grid.first[column + v], grid.second[column + v]));
      atomicAdd(&totals.high[at + v], subtracts ? Word{0} - q : q);  // with two limbs, the lower one is 0
    }
  }
};

/// A warp processes a range of sorted contributions and a tile of columns, with `lanes` lanes per row and up to
/// kInFlight loads in flight per lane.
template <class T, int Values, class Accumulator>
__global__ void sum_kernel(const T* values, std::int64_t d, const Contribution* contributions,
                           const std::uint32_t* last_cursor, std::int64_t clusters, int lanes, SumGrid grid,
                           ClusterTotals totals) {
  constexpr int kInFlight = 8;
  constexpr std::int64_t kLongestRange = 256;
  const std::int64_t count = *last_cursor;
  const std::int64_t tiles = (d + lanes * Values - 1) / (lanes * Values);
  const std::int64_t share = (count * tiles + warp_count() - 1) / warp_count();
  const std::int64_t range_length = min(max(share, std::int64_t{4}), kLongestRange);
  const std::int64_t ranges = (count + range_length - 1) / range_length;
  const int lane = lane_index(), together = kWarp / lanes;  // rows at a time
  const bool two_limbs = totals.low != nullptr;

  for (std::int64_t work = warp_index(); work < ranges * tiles; work += warp_count()) {
    const std::int64_t column = (work % tiles * lanes + lane % lanes) * Values;
    const std::int64_t range_begin = work / tiles * range_length, range_end = min(range_begin + range_length, count);
    double first[Values], second[Values];
#pragma unroll
    for (int v = 0; v < Values; ++v) {
      first[v] = column < d ? grid.first[column + v] : 0.0;
      second[v] = column < d ? grid.second[column + v] : 0.0;
    }
    Accumulator sum;
    std::uint32_t bin = contributions[range_begin].bin;
    for (std::int64_t base = range_begin; base < range_end; base += kWarp) {
      const int here = static_cast<int>(min(range_end - base, std::int64_t{kWarp}));
      const Contribution end = contributions[base + min(lane, here - 1)];
      for (int from = 0; from < here;) {
        const std::uint32_t next = __shfl_sync(kAllLanes, end.bin, from);
        if (next != bin) {
          sum.flush(bin, clusters, d, column, lanes, grid, totals);
          bin = next;
        }
        const unsigned others = __ballot_sync(kAllLanes, lane >= from && end.bin != bin);
        const int to = others != 0 ? __ffs(static_cast<int>(others)) - 1 : here;
        for (int i = from; i < to; i += together * kInFlight) {
          Vector<T, Values> vector[kInFlight];
#pragma unroll
          for (int u = 0; u < kInFlight; ++u) {
            const int at = i + u * together + lane / lanes;
            const std::int64_t row = __shfl_sync(kAllLanes, end.row, min(at, kWarp - 1));
            vector[u] = {};
            if (at < to && column < d) {
              vector[u] = *reinterpret_cast<const Vector<T, Values>*>(values + row * d + column);
            }
          }
#pragma unroll
          for (int u = 0; u < kInFlight; ++u) {
            if (i + u * together >= to) break;
#pragma unroll
            for (int v = 0; v < Values; ++v) {
              sum.add(v, vector[u].value[v], grid, first[v], second[v], two_limbs);
            }
          }
        }
        from = to;
      }
    }
    sum.flush(bin, clusters, d, column, lanes, grid, totals);
  }
}

/// The kernel that loads Values values at a time.
template <class T, int Values>
auto sum_kernel_for() {
  return sum_kernel<T, Values, std::conditional_t<sizeof(T) == 1, ByteSum<Values>, RunningSum<Values>>>;
}

/// Lanes per row: a power of two.
int lanes_for(std::int64_t vectors) {
  return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::min<std::int64_t>(vectors, kWarp))));
}

// Weighted rows: each reassigned row is added by 64-bit integer atomics, one per column and limb, whose order does not
// matter: n d of them the first time, few later. Whole weights multiply integers, others multiply values
// (core/points/weights.h).

/// The grid of the sums of weights. Their low limbs have the scale of those of the columns.
struct WeightGrid {
  double first, second;
};

/// Adds a row to a cluster, or subtracts it (sign -1). All lanes of a warp call it.
template <class T>
__device__ void add_row(const T* x, std::int64_t d, std::int64_t cluster, std::int64_t sign, RowWeight weight,
                        const SumGrid& grid, const WeightGrid& weight_grid, const WeightedTotals& totals) {
  for (std::int64_t j = lane_index(); j < d; j += kWarp) {
    const auto value = static_cast<double>(x[j]);
    const std::int64_t at = cluster * d + j;
    if (totals.low != nullptr) {
      const Limbs limbs = weighted_limbs(value, grid.first[j], grid.second[j], grid.low_scale, weight);
      atomicAdd(&totals.high[at], static_cast<Word>(sign * limbs.high));
      atomicAdd(&totals.low[at], static_cast<Word>(sign * limbs.low));
    } else {
      const std::int64_t q = weighted_fixed(value, grid.first[j], grid.second[j], weight);
      atomicAdd(&totals.high[at], static_cast<Word>(sign * q));
    }
  }
  if (lane_index() != 0) return;
  const Limbs own = weighted_limbs(1.0, weight_grid.first, weight_grid.second, grid.low_scale, weight);
  atomicAdd(&totals.weights[2 * cluster], static_cast<Word>(sign * own.high));
  atomicAdd(&totals.weights[2 * cluster + 1], static_cast<Word>(sign * own.low));
}

/// A warp processes a row at a time.
template <class T>
__global__ void update_kernel(const T* values, std::int64_t rows, std::int64_t d, RowWeights weights,
                              const std::int32_t* label, std::int32_t* summed, SumGrid grid, WeightGrid weight_grid,
                              WeightedTotals totals) {
  for (std::int64_t row = warp_index(); row < rows; row += warp_count()) {
    const std::int32_t now = label[row], before = summed[row];
    __syncwarp();  // every lane has read summed[row] before lane 0 overwrites it
    if (now == before) continue;
    const RowWeight weight = weights.of(row);
    const T* x = values + row * d;
    if (before >= 0) add_row(x, d, before, -1, weight, grid, weight_grid, totals);
    add_row(x, d, now, 1, weight, grid, weight_grid, totals);
    if (lane_index() == 0) summed[row] = now;
  }
}

}  // namespace

template <class T>
SumUpdater<T>::SumUpdater(const HeldRows<T>& held, std::int64_t clusters)
    : clusters_(clusters),
      factors_(held.pool(), 2 * held.columns()),
      reassignments_(held.pool(), held.largest_block()),
      reassignment_count_(held.pool(), 1),
      bins_(held.pool(), 2 * clusters),
      cursor_(held.pool(), 2 * clusters),
      contributions_(held.pool(), 2 * held.largest_block()) {
  held.stream().upload(factors_.data(), held.plan.scales.first.data(), held.columns());
  held.stream().upload(factors_.data() + held.columns(), held.plan.scales.second.data(), held.columns());
  held.stream().fill(bins_.data(), 0, bins_.size());
}

template <class T>
void SumUpdater<T>::update(HeldRows<T>& held, const Block<T>& block, const ClusterTotals& totals) {
  constexpr int kVector = std::min<int>(16 / sizeof(T), kMostTogether);
  const Stream& stream = held.stream();
  const std::int64_t d = held.columns(), shared = shared_bytes(clusters_);
  const std::int32_t* label = held.label.data() + block.first;
  const unsigned blocks = static_cast<unsigned>(held.context->multiprocessors) * 4;
  stream.fill(reassignment_count_.data(), 0, 1);
  list_kernel<<<blocks, kBlock, shared, stream>>>(label, held.summed.data() + block.first, block.rows, clusters_,
                                                  reassignments_.data(), reassignment_count_.data(), bins_.data());
  check(cudaGetLastError());
  bool gathered = false;
  std::vector<std::int32_t> chosen;
  if (!held.is_on_device(block)) {
    Word length = 0;
    stream.download(&length, reassignment_count_.data(), 1);
    if (length == 0) return;
    gathered = held.can_gather(static_cast<std::int64_t>(length));
    if (gathered) {
      std::vector<Reassignment> list(length);
      stream.download(list.data(), reassignments_.data(), static_cast<std::int64_t>(length));
      for (const Reassignment& reassignment : list) chosen.push_back(reassignment.row);
    }
  }
  place_kernel<<<1, kBlock, 0, stream>>>(bins_.data(), cursor_.data(), clusters_, reassignment_count_.data(), totals);
  check(cudaGetLastError());
  sort_kernel<<<blocks, kBlock, shared, stream>>>(reassignments_.data(), reassignment_count_.data(), label, clusters_,
                                                  gathered, cursor_.data(), contributions_.data());
  check(cudaGetLastError());

  const T* values = gathered ? held.gather(block, chosen) : held.on_device(block);
  const SumGrid grid{factors_.data(), factors_.data() + d, held.plan.scales.low_scale()};
  const std::uint32_t* last_cursor = cursor_.data() + 2 * clusters_ - 1;
  const bool vectors = d % kVector == 0;
  const auto kernel = vectors ? sum_kernel_for<T, kVector>() : sum_kernel_for<T, 1>();
  kernel<<<2 * blocks, kBlock, 0, stream>>>(values, d, contributions_.data(), last_cursor, clusters_,
                                            lanes_for(vectors ? d / kVector : d), grid, totals);
  check(cudaGetLastError());
}

template <class T>
WeightedSumUpdater<T>::WeightedSumUpdater(const HeldRows<T>& held) : factors_(held.pool(), 2 * held.columns()) {
  held.stream().upload(factors_.data(), held.plan.scales.first.data(), held.columns());
  held.stream().upload(factors_.data() + held.columns(), held.plan.scales.second.data(), held.columns());
}

template <class T>
void WeightedSumUpdater<T>::update(HeldRows<T>& held, const Block<T>& block, const WeightedTotals& totals) const {
  const std::int64_t d = held.columns();
  const FixedScale weight_scale = held.plan.weights.grid();
  update_kernel<<<held.context->grid(block.rows, kBlockWarps), kBlock, 0, held.stream()>>>(
      held.on_device(block), block.rows, d, held.weights(block.first), held.label.data() + block.first,
      held.summed.data() + block.first, SumGrid{factors_.data(), factors_.data() + d, held.plan.scales.low_scale()},
      WeightGrid{weight_scale.first, weight_scale.second}, totals);
  check(cudaGetLastError());
}

template <class T>
SumChanges<T>::SumChanges(const HeldRows<T>& held, const ClusterSums& sums)
    : cells_(static_cast<std::int64_t>(sums.high.size())),
      clusters_(cells_ / held.columns()),
      limbs_(sums.limbs),
      changes_(held.pool(), limbs_ * cells_ + 2 * clusters_ + 1) {
  if (held.weight.size() > 0) {
    weighted_.emplace(held);
  } else {
    updater_.emplace(held, clusters_);
  }
  held.stream().fill(changes_.data(), 0, changes_.size());
}

template <class T>
void SumChanges<T>::update(HeldRows<T>& held, const Block<T>& block) {
  Word* const low = limbs_ == 2 ? changes_.data() + cells_ : nullptr;
  Word* const counts = changes_.data() + limbs_ * cells_;
  if (updater_) {
    updater_->update(held, block, {changes_.data(), low, counts, counts + clusters_});
  } else {
    weighted_->update(held, block, {changes_.data(), low, counts});
  }
}

template <class T>
void SumChanges<T>::add_to(const HeldRows<T>& held, ClusterSums& sums) const {
  const Word* const counts = changes_.data() + limbs_ * cells_;
  if (updater_) {
    Word changed = 0;
    held.stream().download(&changed, counts + clusters_, 1);
    if (changed == 0) return;
  }
  std::vector<Word> downloaded(static_cast<std::size_t>(changes_.size()));
  held.stream().download(downloaded.data(), changes_.data(), changes_.size());
  const auto number = [&](std::int64_t i) {
    return static_cast<std::int64_t>(downloaded[static_cast<std::size_t>(i)]);
  };
  for (std::int64_t i = 0; i < cells_; ++i) {
    sums.high[i] += number(i);
    if (limbs_ == 2) sums.low[i] += number(cells_ + i);
  }
  if (updater_) return;
  for (std::int64_t c = 0; c < clusters_; ++c) {
    sums.weights[c].high += number(limbs_ * cells_ + 2 * c);
    sums.weights[c].low += number(limbs_ * cells_ + 2 * c + 1);
  }
}

template <class T>
void update_sums(HeldRows<T>& held, ClusterSums& sums) {
  SumChanges<T> changes(held, sums);
  held.for_blocks([&](const Block<T>& block) { changes.update(held, block); });
  changes.add_to(held, sums);
}

#define KITH_INSTANTIATE(T)             \
  template class SumUpdater<T>;         \
  template class WeightedSumUpdater<T>; \
  template class SumChanges<T>;         \
  template void update_sums(HeldRows<T>&, ClusterSums&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
