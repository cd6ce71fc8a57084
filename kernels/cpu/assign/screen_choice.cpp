// The cost model of assignments.
#include "kernels/cpu/assign/screen_choice.h"

#include <atomic>

#include "kernels/cpu/assign/label_writer.h"

namespace kith::cpu {

double global_cost(const Assignment& result) {
  const auto rows = static_cast<double>(std::max<std::int64_t>(result.screened, 1));
  return kPackCost +
         (static_cast<double>(result.products) + kDefinitionCost * static_cast<double>(result.candidates)) / rows;
}

template <class T>
double local_cost(const HeldRows<T>& held, MatrixView<const double> centroids, std::int64_t rows) {
  constexpr std::int64_t kSample = 64;
  const std::int64_t clusters = centroids.rows, sample = std::min(kSample, held.rows());
  std::atomic<std::int64_t> near{0};
  held.threads.run(sample, [&](std::int64_t task, int) {
    const std::int64_t row = task * (held.rows() / sample);
    const std::int32_t label = held.label[row];
    if (label < 0 || label >= clusters) {
      near += clusters;
      return;
    }
    const double* own = centroids.row(label).data();
    constexpr double kPanel = 1.5;  // squared: a panel multiplies what its farthest row needs
    const double reach = 4 * kPanel * held.set.template rows<T>().distance(held.row(row), own, held.columns());
    std::int64_t count = 0;
    for (std::int64_t c = 0; c < clusters; ++c) {
      count += held.set.template rows<double>().distance(own, centroids.row(c).data(), held.columns()) <= reach ? 1 : 0;
    }
    near += count;
  });
  // Tiles are multiplied whole; the distances between centroids are in float32.
  constexpr double kFloat32 = 6, kCertain = 10;
  const double columns = static_cast<double>(near) / static_cast<double>(sample) + kTileColumns / 2.0;
  const double rows_per_centroid = std::max(static_cast<double>(rows) / static_cast<double>(clusters), 1.0);
  return kPackCost + columns + kCertain +
         (kColumnCost * columns + kFloat32 * static_cast<double>(clusters)) / rows_per_centroid;
}

#define KITH_INSTANTIATE(T) template double local_cost(const HeldRows<T>&, MatrixView<const double>, std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
