// The products of fp16 rows and columns, by the kernels of the screens with an epilogue that stores them.
#include "tests/kernels/tensor_products.h"

#include <cmath>
#include <vector>

#include "kernels/cuda/screen/product_launch.h"

namespace kith::cuda {

/// Epilogue: stores every product.
class StoreProducts {
 public:
  static constexpr bool kAnyColumns = true;
  struct Arguments {
    float* out;          // (rows, pitch)
    std::int64_t pitch;  // columns in whole tiles
  };

  __device__ StoreProducts(const Arguments& arguments, std::int64_t rows) : arguments_(arguments), rows_(rows) {}
  __device__ void begin(std::int64_t row) { row_ = row; }

  template <int kHalf>
  __device__ void take(const float (&product)[64], const float*, unsigned tile) {
    const std::int64_t column = static_cast<std::int64_t>(tile) * kFp16TileRows + threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      const std::int64_t row = row_ + kHalf * 64 + i / 2 % 2 * 8;
      if (row < rows_) arguments_.out[row * arguments_.pitch + column + i / 4 * 8 + i % 2] = product[i];
    }
  }
  __device__ void finish(std::int64_t) const {}

 private:
  const Arguments& arguments_;
  std::int64_t rows_, row_ = 0;
};

Matrix<float> tensor_products(const std::string& screen, MatrixView<const float> rows,
                              MatrixView<const double> columns) {
  BackendOptions options;
  options.screen = screen;
  const auto context = std::make_shared<Context>(options);
  const std::int64_t n = rows.rows, k = columns.rows, d = rows.columns;
  HeldRows<float> held(context, rows, PointBlock{rows}, 0);
  held.plan.screen.center.assign(d, 0.0F);  // exponent 0: values are unchanged
  held.center = Buffer<float>(held.pool(), d);
  held.stream().fill(held.center.data(), 0, d);
  Fp16Rows points = allocate_fp16(held.pool(), n, point_shape(d, context->screen));
  Fp16Centroids others = allocate_fp16_centroids(held.pool(), k, d);
  make_fp16_rows(held, held.resident.data(), n, points, 0);
  Buffer<double> uploaded(held.pool(), columns.size());
  held.stream().upload(uploaded.data(), columns.data, columns.size());
  make_fp16_centroids(held, uploaded.data(), k, others);

  const std::int64_t pitch = (k + kFp16TileRows - 1) / kFp16TileRows * kFp16TileRows;
  Buffer<float> products(held.pool(), n * pitch);
  launch_product<StoreProducts>(*context,
                                {.points = points.values.data(),
                                 .rows = n,
                                 .columns = others.values.data(),
                                 .count = k,
                                 .score_base = nullptr,
                                 .shape = points.shape},
                                {products.data(), pitch});
  std::vector<float> stored(products.size());
  held.stream().download(stored.data(), products.data(), products.size());
  Matrix<float> out(n, k);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t c = 0; c < k; ++c) {
      out(i, c) = std::ldexp(stored[i * pitch + slot_of_column(c)], -2 * kFp16Shift);
    }
  }
  return out;
}

}  // namespace kith::cuda
