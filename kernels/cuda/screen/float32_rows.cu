// Screens rows: values, norms, half squared norms and the largest norms. The device version of screen_rows() of core.
//
// A warp screens eight rows at a time. Reads the rows once and, for copies, writes float32 values. The floor for 10^6 x
// 128 float32 points on an H200 (4.8 TB/s) is 0.11 ms, once per data set.
#include "kernels/cuda/screen/float32_rows.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/device/screened_value.h"
#include "kernels/cuda/device/tile.h"

namespace kith::cuda {
namespace {

/// Beyond this norm, products of rows may overflow float32. Such a row gets an infinite norm and is never certified.
constexpr float kLargestNorm = 0x1p60F;

struct ScreenOutput {
  float* values = nullptr;  // (rows, pitch); null: not requested
  std::int64_t pitch = 0;
  float* norm = nullptr;          // (rows)
  float* half_sq_norm = nullptr;  // (rows)
  Word* largest = nullptr;        // (2) bits of the largest |x'|^2 and |x' - x^|^2; null: not requested
};

constexpr int kTogether = 8;  // rows of a warp at a time, which share the additions across lanes

template <class T>
__global__ void __launch_bounds__(kBlock, 2) screen_kernel(const T* rows, std::int64_t count, std::int64_t d,
                                                           Arithmetic<T> scale, const float* center, ScreenOutput out) {
  constexpr int kLanesEach = kWarp / kTogether;
  double largest_norm = 0.0, largest_residual = 0.0;
  for (std::int64_t base = warp_index() * kTogether; base < count; base += warp_count() * kTogether) {
    const T* x[kTogether];
#pragma unroll
    for (int r = 0; r < kTogether; ++r) x[r] = rows + min(base + r, count - 1) * d;
    double exact[kTogether] = {}, rounded[kTogether] = {}, lost[kTogether] = {};  // squares of x', x^ and x' - x^
    for (std::int64_t j = lane_index(); j < d; j += kWarp) {
      const float at = center[j];
      T loaded[kTogether];
#pragma unroll
      for (int r = 0; r < kTogether; ++r) loaded[r] = x[r][j];
#pragma unroll
      for (int r = 0; r < kTogether; ++r) {
        const float value = screened(loaded[r], scale, at);
        const double wide = static_cast<double>(value);
        const double centred =
            __fma_rn(static_cast<double>(loaded[r]), static_cast<double>(scale), -static_cast<double>(at));
        const double residual = centred - wide;
        exact[r] = __fma_rn(centred, centred, exact[r]);
        rounded[r] = __fma_rn(wide, wide, rounded[r]);
        lost[r] = __fma_rn(residual, residual, lost[r]);
        if (out.values != nullptr && base + r < count) out.values[(base + r) * out.pitch + j] = value;
      }
    }
    // From here on, a lane has one row.
    double norm_squared = add_lanes<kTogether>(exact), lost_squared = add_lanes<kTogether>(lost);
    const double rounded_squared = add_lanes<kTogether>(rounded);
    const std::int64_t row = base + lane_index() / kLanesEach;
    // A value beyond float32 causes an infinity or a NaN; a maximum would ignore the NaN.
    if (!(lost_squared <= norm_squared)) norm_squared = lost_squared = std::numeric_limits<double>::infinity();
    largest_norm = norm_squared > largest_norm ? norm_squared : largest_norm;
    largest_residual = lost_squared > largest_residual ? lost_squared : largest_residual;
    if (lane_index() % kLanesEach == 0 && row < count) {
      const float norm = __double2float_ru(__dsqrt_ru(rounded_squared));
      out.norm[row] = norm < kLargestNorm ? norm : std::numeric_limits<float>::infinity();
      out.half_sq_norm[row] = static_cast<float>(norm_squared / 2);
    }
  }
  if (out.largest == nullptr) return;
  const Word norm_bits = warp_max(bits_of(largest_norm)), residual_bits = warp_max(bits_of(largest_residual));
  if (lane_index() != 0) return;
  atomicMax(&out.largest[0], norm_bits);
  atomicMax(&out.largest[1], residual_bits);
}

template <class T, class X>
void launch(const HeldRows<T>& held, const X* rows, std::int64_t count, const ScreenOutput& out) {
  const auto scale = static_cast<Arithmetic<X>>(power_of_two(-held.plan.screen.exponent));
  screen_kernel<<<held.context->grid(count, kBlockWarps * kTogether), kBlock, 0, held.stream()>>>(
      rows, count, held.columns(), scale, held.center.data(), out);
  check(cudaGetLastError());
}

}  // namespace

template <class T>
ScreenedCopies allocate_screened(const HeldRows<T>& held, std::int64_t rows) {
  const std::int64_t pitch = padded_depth(held.columns());
  return {Buffer<float>(held.pool(), checked_product(rows, pitch, "screened rows")), Buffer<float>(held.pool(), rows),
          Buffer<float>(held.pool(), rows), static_cast<int>(pitch)};
}

template <class T>
void screen_copies(const HeldRows<T>& held, const double* rows, std::int64_t count, ScreenedCopies& out) {
  held.stream().fill(out.values.data(), 0, count * out.pitch);
  launch(held, rows, count, {out.values.data(), out.pitch, out.norm.data(), out.half_sq_norm.data(), nullptr});
}

template <class T>
void screen_and_measure(const HeldRows<T>& held, const double* rows, std::int64_t count, ScreenedCopies& out,
                        Word* largest) {
  held.stream().fill(largest, 0, 2);
  held.stream().fill(out.values.data(), 0, count * out.pitch);
  launch(held, rows, count, {out.values.data(), out.pitch, out.norm.data(), out.half_sq_norm.data(), largest});
}

template <class T>
void screen_norms(const HeldRows<T>& held, const T* rows, std::int64_t count, float* norm, float* half_sq_norm,
                  Word* largest) {
  launch(held, rows, count, {nullptr, 0, norm, half_sq_norm, largest});
}

ScreenMargin tile_margin(LargestNorms largest, std::int64_t columns, int exponent) {
  return screen_margin(largest, columns, exponent, {0x1p-24, tile_accumulation(columns)});
}

namespace {

__global__ void margin_kernel(const Word* largest, std::int64_t columns, int exponent, ScreenArithmetic arithmetic,
                              ScreenMargin* margin) {
  const LargestNorms norms{sqrt(__longlong_as_double(static_cast<long long>(largest[0]))),
                           sqrt(__longlong_as_double(static_cast<long long>(largest[1])))};
  *margin = screen_margin(norms, columns, exponent, arithmetic);
}

}  // namespace

void queue_tile_margin(const Stream& stream, const Word* largest, std::int64_t columns, int exponent,
                       ScreenMargin* margin) {
  margin_kernel<<<1, 1, 0, stream>>>(largest, columns, exponent, {0x1p-24, tile_accumulation(columns)}, margin);
  check(cudaGetLastError());
}

#define KITH_INSTANTIATE(T)                                                                                  \
  template ScreenedCopies allocate_screened(const HeldRows<T>&, std::int64_t);                               \
  template void screen_copies(const HeldRows<T>&, const double*, std::int64_t, ScreenedCopies&);             \
  template void screen_and_measure(const HeldRows<T>&, const double*, std::int64_t, ScreenedCopies&, Word*); \
  template void screen_norms(const HeldRows<T>&, const T*, std::int64_t, float*, float*, Word*);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
