// Finds rows that are far longer than the others: those beyond a few times the length that nearly all rows of a sample
// have. A tree of boxes (cell_build.h) holds them, which a search visits after its lists hold the nearest other rows.
//
// The sample is a copy of some thousand norms; only where it shows that there may be long rows, all norms are copied,
// 8 n bytes, once.
#include "kernels/cuda/search/long_rows.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cuda/search/cell_build.h"
#include "kernels/cuda/search/cell_launch.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kSample = 4096;
constexpr double kQuantile = 0.95;   // of the sampled norms: that of an ordinary row
constexpr float kRatio = 3.0F;       // norm of a long row / norm of an ordinary row, at least
constexpr std::int64_t kShare = 32;  // at most 1 / kShare of the rows are held apart

__global__ void sample_kernel(const float* norm, std::int64_t stride, std::int64_t count, float* out) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) out[i] = norm[i * stride];
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
  const std::int64_t n = held.rows();
  std::vector<float> norm(static_cast<std::size_t>(n)), residual(static_cast<std::size_t>(n));
  held.stream().download(norm.data(), held.fp16.norm.data(), n);
  held.stream().download(residual.data(), held.fp16.residual.data(), n);
  std::vector<std::int32_t> positions;
  LargestNorms others;
  double shortest = std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto rounding = static_cast<double>(residual[at]);
    if (!(norm[at] <= max_norm)) {
      positions.push_back(static_cast<std::int32_t>(i));
      const double length = static_cast<double>(norm[at]) * (1 - 0x1p-20) - rounding;
      shortest = length > 0 ? std::min(shortest, length) : 0.0;  // not a number: nothing is known
      continue;
    }
    others.norm = std::max(others.norm, static_cast<double>(norm[at]) + rounding);  // |x'| <= |x^| + |x' - x^|
    others.residual = std::max(others.residual, rounding);
  }
  const std::int64_t count = std::ssize(positions);
  if (count == 0 || count > n / kShare) return;
  const Buffer<std::int32_t> device_positions(held.pool(), count);
  held.stream().upload(device_positions.data(), positions.data(), count);
  Buffer<float> score_base = make_score_base(held, usual_limits(held, others).bound, max_norm);
  parted.tree = build_cell_tree(held, device_positions.data(), 1, count);
  parted.others = others;
  parted.max_norm = max_norm;
  parted.shortest = shortest;
  parted.score_base = std::move(score_base);
}

}  // namespace

template <class T>
const LongRows<T>& find_long_rows(const HeldRows<T>& held) {
  LongRows<T>& parted = held.long_rows;
  if (parted.examined) return parted;
  parted.others = held.fp16.largest;
  parted.max_norm = std::numeric_limits<float>::infinity();
  if (!held.sent && held.columns() <= kMostCellColumns) {
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
