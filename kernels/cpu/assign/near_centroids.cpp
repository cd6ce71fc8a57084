// Distances between centroids in float32, rounded down: k d multiply-adds per centroid.
#include "kernels/cpu/assign/near_centroids.h"

#include <algorithm>

namespace kith::cpu {
namespace {

std::int32_t count_within(std::span<const float> squared, float reach) {
  std::int32_t within = 0;
  for (const float each : squared) within += each <= reach ? 1 : 0;
  return within;
}

}  // namespace

template <class T>
NearCentroids<T>::NearCentroids(const HeldRows<T>& held, MatrixView<const double> centroids,
                                const ScreenColumns& columns)
    : held_(held),
      centroids_(centroids),
      columns_(columns),
      panel_(1, held.set.float32.panel_bytes(held.columns())),
      products_(kTileColumns, held.set.float32.lanes),
      squared_(held.set.float32.lanes, centroids.rows) {}

template <class T>
void NearCentroids<T>::measure(std::span<const std::int64_t> some) {
  const ScreenKernels& float32 = held_.set.float32;
  const std::int64_t d = held_.columns();
  const double* rows[kMaxLanes];
  for (int lane = 0; lane < float32.lanes; ++lane)
    rows[lane] = centroids_.row(some[std::min<std::size_t>(lane, some.size() - 1)]).data();
  PanelNorms norms;
  float32.pack_rows.template of<double>()(rows, d, held_.scale(), held_.plan.screen.center.data(), panel_.data(),
                                          &norms);
  float least[kMaxLanes];  // score + least is a lower bound of half the squared distance
  for (int lane = 0; lane < float32.lanes; ++lane) {
    const double exact =
        lower_half_sq_norm(norms.norm[lane], d) - columns_.margin(norms.norm[lane], norms.residual[lane]);
    least[lane] = static_cast<float>(exact - std::abs(exact) * 0x1p-23);
  }
  columns_.multiply(panel_.data(), products_.data(),
                    [&](std::int64_t from, std::int64_t count, const float* half_sq_norm) {
                      for (std::int64_t c = 0; c < count; ++c) {
                        float* product = products_.row(c).data();
                        for (int lane = 0; lane < float32.lanes; ++lane) {
                          const float squared = 2 * (half_sq_norm[c] - product[lane] + least[lane]) * (1 - 0x1p-22F);
                          // A distance is not negative, so 0 is a lower bound too; NaN also gives 0.
                          product[lane] = squared > 0 ? squared : 0.0F;
                        }
                      }
                      for (std::size_t place = 0; place < some.size(); ++place) {
                        float* out = squared_.row(static_cast<std::int64_t>(place)).data() + from;
                        const float* squared = products_.data() + place;
                        for (std::int64_t c = 0; c < count; ++c) out[c] = squared[c * float32.lanes];
                      }
                    });
}

template <class T>
void NearCentroids<T>::begin(int place) {
  current_ = std::as_const(squared_).row(place);
  list_.clear();
  reach_ = -1.0F;
}

template <class T>
std::int64_t NearCentroids<T>::count(float reach) const {
  return count_within(current_, reach);
}

template <class T>
void NearCentroids<T>::extend(float reach) {
  if (reach <= reach_) return;
  const auto listed = static_cast<std::ptrdiff_t>(list_.size());
  constexpr std::size_t kBlock = 32;  // most blocks have no centroid within the reach
  for (std::size_t first = 0; first < current_.size(); first += kBlock) {
    const auto block = current_.subspan(first, std::min(kBlock, current_.size() - first));
    if (count_within(block, reach) == 0) continue;
    for (std::size_t c = 0; c < block.size(); ++c) {
      if (block[c] <= reach && block[c] > reach_) list_.push_back({block[c], static_cast<std::int32_t>(first + c)});
    }
  }
  std::sort(list_.begin() + listed, list_.end());
  reach_ = reach;
}

#define KITH_INSTANTIATE(T) template class NearCentroids<T>;
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
