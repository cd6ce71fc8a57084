// Screens rows: values, norms, half norms and the largest of them. The device's twin of core's screen_rows.
//
// One warp per row. Moves the rows in once and, for copies, float32 values out; for 10^6 x 128 float32 points on an
// H200 (4.8 TB/s) the floor is 0.11 ms, once per data set.
#include "kernels/cuda/screening.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/device/screened.h"
#include "kernels/cuda/device/tile.h"
#include "kernels/cuda/half_screen.h"
#include "kernels/cuda/operations.h"

namespace kith::cuda {
namespace {

/// Beyond this norm products of rows could overflow float32: such a row certifies nothing, its norm counts as infinite.
constexpr float kLargestNorm = 0x1p60F;

struct ScreenOutput {
  float* values = nullptr;  // (rows, pitch), null: not wanted
  std::int64_t pitch = 0;
  float* norm = nullptr;       // (rows)
  float* half_norm = nullptr;  // (rows)
  Word* largest = nullptr;     // (2) bits of the largest |x'|^2 and |x' - x^|^2, null: not wanted
};

template <class T>
__global__ void screen_kernel(const T* rows, std::int64_t count, std::int64_t d, T scale, const float* center,
                              ScreenOutput out) {
  double largest_norm = 0.0, largest_residual = 0.0;
  for (std::int64_t i = warp_index(); i < count; i += warp_count()) {
    double exact = 0.0, rounded = 0.0, lost = 0.0;  // squares of x', x^ and x' - x^
    for (std::int64_t j = lane_index(); j < d; j += kWarp) {
      const T x = rows[i * d + j];
      const float value = screened(x, scale, center[j]);
      const double centred = static_cast<double>(x) * static_cast<double>(scale) - static_cast<double>(center[j]);
      const double residual = centred - static_cast<double>(value);
      exact += centred * centred;
      rounded += static_cast<double>(value) * static_cast<double>(value);
      lost += residual * residual;
      if (out.values != nullptr) out.values[i * out.pitch + j] = value;
    }
    exact = lanes_total(exact);
    rounded = lanes_total(rounded);
    lost = lanes_total(lost);
    // A value beyond float32 leaves an infinity or a NaN behind; a maximum would pass over the NaN.
    if (!(lost <= exact)) exact = lost = std::numeric_limits<double>::infinity();
    largest_norm = exact > largest_norm ? exact : largest_norm;
    largest_residual = lost > largest_residual ? lost : largest_residual;
    if (lane_index() == 0) {
      const float norm = __double2float_ru(__dsqrt_ru(rounded));
      out.norm[i] = norm < kLargestNorm ? norm : std::numeric_limits<float>::infinity();
      out.half_norm[i] = static_cast<float>(exact / 2);
    }
  }
  if (out.largest == nullptr || lane_index() != 0) return;
  atomicMax(&out.largest[0], bits_of(largest_norm));
  atomicMax(&out.largest[1], bits_of(largest_residual));
}

template <class T, class X>
void launch(const HeldRows<T>& held, const X* rows, std::int64_t count, const ScreenOutput& out) {
  const auto scale = static_cast<X>(power_of_two(-held.plan.screen.exponent));
  screen_kernel<<<held.context->grid(count, kBlockWarps), kBlock, 0, held.stream()>>>(rows, count, held.columns(),
                                                                                      scale, held.center.data(), out);
  check(cudaGetLastError());
}

LargestNorms download_largest(const Stream& stream, const Buffer<Word>& largest) {
  Word bits[2];
  stream.download(bits, largest.data(), 2);
  return {std::sqrt(std::bit_cast<double>(bits[0])), std::sqrt(std::bit_cast<double>(bits[1]))};
}

}  // namespace

template <class T>
ScreenedCopies room_for_screened(const HeldRows<T>& held, std::int64_t rows) {
  const std::int64_t pitch = padded_depth(held.columns());
  return {Buffer<float>(held.pool(), checked_product(rows, pitch, "screened rows")), Buffer<float>(held.pool(), rows),
          Buffer<float>(held.pool(), rows), static_cast<int>(pitch)};
}

template <class T>
void screen_copies(const HeldRows<T>& held, const double* rows, std::int64_t count, ScreenedCopies& out) {
  held.stream().fill(out.values.data(), 0, count * out.pitch);
  launch(held, rows, count, {out.values.data(), out.pitch, out.norm.data(), out.half_norm.data(), nullptr});
}

template <class T>
LargestNorms screen_and_measure(const HeldRows<T>& held, const double* rows, std::int64_t count, ScreenedCopies& out) {
  Buffer<Word> largest(held.pool(), 2);
  held.stream().fill(largest.data(), 0, 2);
  held.stream().fill(out.values.data(), 0, count * out.pitch);
  launch(held, rows, count, {out.values.data(), out.pitch, out.norm.data(), out.half_norm.data(), largest.data()});
  return download_largest(held.stream(), largest);
}

template <class T>
void prepare(HeldRows<T>& held, const DataPlan& plan) {
  const std::int64_t d = held.columns();
  Buffer<Word> largest(held.pool(), 2);
  Buffer<float> center(held.pool(), padded_depth(d));
  held.stream().fill(center.data(), 0, padded_depth(d));
  held.stream().upload(center.data(), plan.screen.center.data(), d);
  held.stream().fill(largest.data(), 0, 2);
  held.plan = plan;
  held.center = std::move(center);
  held.for_blocks([&](const Block<T>& block) {
    launch(held, held.on_device(block), block.rows,
           {nullptr, 0, held.norm.data() + block.first, held.half_norm.data() + block.first, largest.data()});
  });
  held.largest = download_largest(held.stream(), largest);
  held.half = {};
  if (held.resident.size() == 0 || !device_multiplies_halves(held.context->device)) return;
  try {
    held.half = room_for_halves(held.pool(), held.rows(), d);
  } catch (const OutOfMemory&) {
    return;  // float32 alone will do
  }
  make_halves(held, held.resident.data(), held.rows(), held.half);
}

ScreenMargin tile_margin(LargestNorms largest, std::int64_t columns, int exponent) {
  return screen_margin(largest, columns, exponent, {0x1p-24, tile_accumulation(columns)});
}

template ScreenedCopies room_for_screened(const HeldRows<float>&, std::int64_t);
template ScreenedCopies room_for_screened(const HeldRows<double>&, std::int64_t);
template void screen_copies(const HeldRows<float>&, const double*, std::int64_t, ScreenedCopies&);
template void screen_copies(const HeldRows<double>&, const double*, std::int64_t, ScreenedCopies&);
template LargestNorms screen_and_measure(const HeldRows<float>&, const double*, std::int64_t, ScreenedCopies&);
template LargestNorms screen_and_measure(const HeldRows<double>&, const double*, std::int64_t, ScreenedCopies&);
template void prepare(HeldRows<float>&, const DataPlan&);
template void prepare(HeldRows<double>&, const DataPlan&);

}  // namespace kith::cuda
