// Finds rows that are far longer than the others: those beyond a few times the length that nearly all rows of a sample
// have. A tree of boxes (cell_build.h) holds them, which a search visits after its lists hold the nearest other rows.
//
// The sample is a copy of some thousand norms, where the longest row is far longer than half of them; only where it
// shows that there may be long rows, all norms are read, 8 n bytes on the device, once.
#include "kernels/cuda/search/long_rows.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/search/cell_build.h"
#include "kernels/cuda/search/cell_launch.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kSample = 4096;
constexpr double kQuantile = 0.95;   // of the sampled norms: that of an ordinary row
constexpr float kRatio = 3.0F;       // norm of a long row / norm of an ordinary row, at least
constexpr double kBelowUsual = 0.8;  // the first norm of a bin of Fp16Rows::usual_norm / the last one, at most
constexpr std::int64_t kShare = 32;  // at most 1 / kShare of the rows are held apart

__global__ void sample_kernel(const float* norm, std::int64_t stride, std::int64_t count, float* out) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) out[i] = norm[i * stride];
}

/// What the parting of the rows finds. Lengths as their bits, which order like them.
struct Parting {
  Word longer;          // number of long rows
  Word norm, residual;  // largest of the others, |x'| at most and |x' - x^|
  Word not_shorter;     // complement of the bits of the smallest |x'| of the long rows
};

/// parting: zero on entry. longer: (capacity) positions of the long rows, in any order.
__global__ void part_kernel(const float* norm, const float* residual, std::int64_t rows, float max_norm,
                            std::int32_t* longer, std::int64_t capacity, Parting* parting) {
  Word largest_norm = 0, largest_residual = 0, not_shorter = 0;
  for (std::int64_t base = warp_index() * kWarp; base < rows; base += warp_count() * kWarp) {
    const std::int64_t row = base + lane_index();
    const bool exists = row < rows;
    const double length = exists ? static_cast<double>(norm[row]) : 0.0;
    const double rounding = exists ? static_cast<double>(residual[row]) : 0.0;
    const bool is_longer = exists && !(length <= static_cast<double>(max_norm));
    const Word place = reserve_slot(is_longer, &parting->longer);
    if (is_longer) {
      if (place < static_cast<Word>(capacity)) longer[place] = static_cast<std::int32_t>(row);
      const double least = length * (1 - 0x1p-20) - rounding;
      not_shorter = max(not_shorter, ~bits_of(least > 0.0 ? least : 0.0));  // 0 also for what is not a number
    } else {
      largest_norm = max(largest_norm, bits_of(length + rounding));  // |x'| <= |x^| + |x' - x^|
      largest_residual = max(largest_residual, bits_of(rounding));
    }
  }
  largest_norm = warp_max(largest_norm);
  largest_residual = warp_max(largest_residual);
  not_shorter = warp_max(not_shorter);
  if (lane_index() != 0) return;
  atomicMax(&parting->norm, largest_norm);
  atomicMax(&parting->residual, largest_residual);
  atomicMax(&parting->not_shorter, not_shorter);
}

/// The largest norm of an ordinary row.
template <class T>
float max_ordinary_norm(const HeldRows<T>& held) {
  const std::int64_t stride = std::max<std::int64_t>(held.rows() / kSample, 1), count = held.rows() / stride;
  const Buffer<float> sample(held.pool(), count);
  sample_kernel<<<held.context->grid(count, kBlock), kBlock, 0, held.stream()>>>(held.fp16.norm.data(), stride, count,
                                                                                 sample.data());
  check(cudaGetLastError());
  std::vector<float> norms(static_cast<std::size_t>(count));
  held.stream().download(norms.data(), sample.data(), count);
  const auto place = norms.begin() + static_cast<std::int64_t>(kQuantile * static_cast<double>(count - 1));
  std::nth_element(norms.begin(), place, norms.end());
  return kRatio * *place;
}

/// Parts the rows, and builds the tree of the long ones.
template <class T>
void part_rows(const HeldRows<T>& held, float max_norm, LongRows<T>& parted) {
  const Stream& stream = held.stream();
  const std::int64_t n = held.rows(), most = n / kShare;
  if (most == 0) return;
  const Buffer<std::int32_t> positions(held.pool(), most);
  const Buffer<Parting> parting(held.pool(), 1);
  stream.fill(parting.data(), 0, 1);
  part_kernel<<<held.context->grid(n, kBlock), kBlock, 0, stream>>>(held.fp16.norm.data(), held.fp16.residual.data(), n,
                                                                    max_norm, positions.data(), most, parting.data());
  check(cudaGetLastError());
  Parting found;
  stream.download(&found, parting.data(), 1);
  const auto count = static_cast<std::int64_t>(found.longer);
  if (count == 0 || count > most) return;
  std::vector<std::int32_t> sorted(static_cast<std::size_t>(count));
  stream.download(sorted.data(), positions.data(), count);
  std::sort(sorted.begin(), sorted.end());
  stream.upload(positions.data(), sorted.data(), count);
  const LargestNorms others{std::bit_cast<double>(found.norm), std::bit_cast<double>(found.residual)};
  Buffer<float> score_base = make_score_base(held, usual_limits(held, others).bound, max_norm);
  parted.tree = build_cell_tree(held, positions.data(), 1, count);
  parted.others = others;
  parted.max_norm = max_norm;
  parted.shortest = std::bit_cast<double>(~found.not_shorter);
  parted.score_base = std::move(score_base);
}

}  // namespace

template <class T>
const LongRows<T>& find_long_rows(const HeldRows<T>& held) {
  LongRows<T>& parted = held.long_rows;
  if (parted.examined) return parted;
  parted.others = held.fp16.largest;
  parted.max_norm = std::numeric_limits<float>::infinity();
  // Half of the rows are at least this long, nearly.
  const double half = static_cast<double>(held.fp16.usual_norm) * kBelowUsual;
  const bool may_be_long = held.fp16.largest.norm > static_cast<double>(kRatio) * half;
  if (may_be_long && !held.sent && held.columns() <= kMostCellColumns) {
    const float max_norm = max_ordinary_norm(held);
    if (max_norm < std::numeric_limits<float>::infinity() && held.fp16.largest.norm > static_cast<double>(max_norm)) {
      part_rows(held, max_norm, parted);
    }
  }
  parted.examined = true;
  return parted;
}

template <class T>
SearchBase<T> without_long_rows(const HeldRows<T>& held, double max_query_norm, Buffer<float>& score_base) {
  const LongRows<T>& parted = find_long_rows(held);
  SearchBase<T> base = search_base(held, Measure::squared_euclidean);
  const bool usual = max_query_norm == 0;
  if (usual && parted.tree.is_empty()) return base;
  const QueryLimits limits =
      usual ? usual_limits(held, parted.others) : limits_for(held, parted.others, max_query_norm);
  base.bound = limits.bound;
  base.max_query_norm = static_cast<float>(limits.max_query_norm);
  if (!usual) score_base = make_score_base(held, limits.bound, parted.max_norm);
  base.score_base = usual ? parted.score_base.data() : score_base.data();
  return base;
}

#define KITH_INSTANTIATE(T)                                       \
  template const LongRows<T>& find_long_rows(const HeldRows<T>&); \
  template SearchBase<T> without_long_rows(const HeldRows<T>&, double, Buffer<float>&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
