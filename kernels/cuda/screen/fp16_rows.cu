// Makes fp16 copies of rows: centres, scales, rounds and swizzles them, and measures their norms. As many lanes of a
// warp share a row as it has chunks.
//
// 10^6 x 128 float32 points move 0.77 GB, 0.16 ms on an H200 (4.8 TB/s), once per data set.
//
// A histogram of the lengths of the rows, four bins per octave, tells how long a row may be to be screened; it reads 8
// bytes per row, once per data set.
#include "kernels/cuda/screen/fp16_rows.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

namespace kith::cuda {
namespace {

/// A row whose copy holds (x scale - center) 2^kFp16Shift.
template <class X>
struct RowToRound {
  const X* values = nullptr;  // (d); null: there is no row, and the copy is zero
  double scale = 1.0;
  const float* center = nullptr;  // (d); null: zero
};

struct Fp16Output {
  uint4* values = nullptr;
  Fp16Layout shape;
  int lanes = kWarp;              // that share a row; a power of two
  Word* largest = nullptr;        // (2); null: the rows have been measured before
  float* norm = nullptr;          // (rows) points only
  float* residual = nullptr;      // (rows)
  float* half_sq_norm = nullptr;  // (rows) centroids only, in the order of slot_of_column
};

/// Input has padded, d, and row(i).
template <class Input>
__global__ void fp16_kernel(const Input in, Fp16Output out) {
  constexpr double kUp = 1 << kFp16Shift;
  double largest_norm = 0.0, largest_residual = 0.0;
  const int rows_together = kWarp / out.lanes, lane = lane_index() % out.lanes;
  for (std::int64_t first = warp_index() * rows_together; first < in.padded; first += warp_count() * rows_together) {
    const std::int64_t i = first + lane_index() / out.lanes;  // `padded` is a multiple of rows_together
    const std::int64_t place = out.half_sq_norm != nullptr ? slot_of_column(i) : i;
    const auto row = in.row(i);
    const bool is_row = row.values != nullptr, centres = row.center != nullptr;
    double exact = 0.0, rounded = 0.0, lost = 0.0;
    for (std::int64_t chunk = lane; chunk < out.shape.depth_tiles * out.shape.chunks; chunk += out.lanes) {
      __half packed[kChunkValues];
#pragma unroll
      for (int t = 0; t < kChunkValues; ++t) {
        const std::int64_t j = chunk * kChunkValues + t;
        const bool exists = is_row && j < in.d;
        const double center = exists && centres ? static_cast<double>(row.center[j]) : 0.0;
        const double centred = exists ? kUp * (static_cast<double>(row.values[j]) * row.scale - center) : 0.0;
        packed[t] = __double2half(centred);
        const double value = static_cast<double>(__half2float(packed[t]));
        exact += centred * centred;
        rounded += value * value;
        lost += (centred - value) * (centred - value);
      }
      uint4 bits;
      memcpy(&bits, packed, sizeof bits);
      const int at = static_cast<int>(chunk);
      out.values[out.shape.place(place, at / out.shape.chunks, at % out.shape.chunks)] = bits;
    }
    exact = group_total(exact, out.lanes);
    rounded = group_total(rounded, out.lanes);
    lost = group_total(lost, out.lanes);
    if (!(lost <= exact)) exact = lost = std::numeric_limits<double>::infinity();  // a value beyond the range of fp16
    largest_norm = exact > largest_norm ? exact : largest_norm;
    largest_residual = lost > largest_residual ? lost : largest_residual;
    if (lane != 0 || !is_row) continue;
    if (out.norm != nullptr) out.norm[i] = __double2float_ru(__dsqrt_ru(rounded));
    if (out.residual != nullptr) out.residual[i] = __double2float_ru(__dsqrt_ru(lost));
    if (out.half_sq_norm != nullptr) out.half_sq_norm[i] = static_cast<float>(exact / 2);
  }
  if (lane != 0 || out.largest == nullptr) return;
  atomicMax(&out.largest[0], bits_of(largest_norm));
  atomicMax(&out.largest[1], bits_of(largest_residual));
}

/// Rounds in.padded rows, which are whole groups of 128. Asynchronous.
template <class Input>
void round_to_fp16(const Context& context, const Input& in, Fp16Output out) {
  out.lanes = lanes_sharing(out.shape.depth_tiles * out.shape.chunks);
  if (out.largest != nullptr) context.stream.fill(out.largest, 0, 2);
  fp16_kernel<<<context.grid(in.padded * out.lanes, kBlock), kBlock, 0, context.stream>>>(in, out);
  check(cudaGetLastError());
}

/// Rows, of which the copies hold (x scale - center) 2^kFp16Shift.
template <class X>
struct Fp16Input {
  const X* rows = nullptr;  // (count, d)
  std::int64_t count = 0;
  std::int64_t padded = 0;  // rows count .. padded - 1 become zero
  std::int64_t d = 0;
  double scale = 1.0;
  const double* factor = nullptr;  // (count) replaces scale and center; null: they apply
  const float* center = nullptr;   // (d)

  __device__ RowToRound<X> row(std::int64_t i) const {
    if (i >= count) return {};
    if (factor != nullptr) return {rows + i * d, factor[i], nullptr};
    return {rows + i * d, scale, center};
  }
};

/// Input for rows that are screened as the held rows are.
template <class T, class X>
Fp16Input<X> screened(const HeldRows<T>& held, const X* rows, std::int64_t count) {
  return {.rows = rows,
          .count = count,
          .padded = row_groups_of(count) * kFp16TileRows,
          .d = held.columns(),
          .scale = power_of_two(-held.plan.screen.exponent),
          .center = held.center.data()};
}

/// The power of two for each row; a warp per row.
__global__ void factor_kernel(const double* rows, std::int64_t count, std::int64_t d, double* factor) {
  constexpr int kMostExponent = 500;  // beyond it D may underflow and exceed the margin
  for (std::int64_t i = warp_index(); i < count; i += warp_count()) {
    Word largest = 0;
    for (std::int64_t j = lane_index(); j < d; j += kWarp) largest = max(largest, bits_of(fabs(rows[i * d + j])));
    int exponent = 0;
    (void)frexp(__longlong_as_double(static_cast<long long>(warp_max(largest))), &exponent);
    if (lane_index() != 0) continue;
    const bool usable = exponent >= -kMostExponent && exponent <= kMostExponent;
    factor[i] = usable ? ldexp(1.0, -exponent) : std::numeric_limits<double>::quiet_NaN();
  }
}

std::int64_t chunks_for(std::int64_t rows, const Fp16Layout& shape) {
  return checked_product(row_groups_of(rows) * shape.depth_tiles, shape.tile_bytes() / 16, "fp16 rows");
}

}  // namespace

Fp16Rows allocate_fp16(Pool& pool, std::int64_t rows, Fp16Layout shape, std::int64_t norms) {
  Fp16Rows fp16;
  fp16.shape = shape;
  fp16.values = Buffer<uint4>(pool, chunks_for(rows, shape));
  fp16.norm = Buffer<float>(pool, norms > 0 ? norms : rows);
  fp16.residual = Buffer<float>(pool, norms > 0 ? norms : rows);
  return fp16;
}

template <class T, class X>
void queue_fp16_rows(const HeldRows<T>& held, const X* rows, std::int64_t count, Fp16Rows& out, std::int64_t first,
                     Word* largest) {
  Fp16Output output{out.values.data() + out.shape.place(out.place_of_block(first), 0, 0), out.shape};
  output.largest = largest;
  output.norm = out.norm.data() + first;
  output.residual = out.residual.data() + first;
  round_to_fp16(*held.context, screened(held, rows, count), output);
  if (first >= out.kept_rows) out.made = first;
}

LargestNorms norms_of_bits(const Word* bits) {
  return {std::sqrt(std::bit_cast<double>(bits[0])), std::sqrt(std::bit_cast<double>(bits[1]))};
}

void include_largest(const LargestNorms& norms, Fp16Rows& out) {
  out.largest.norm = std::max(out.largest.norm, norms.norm);
  out.largest.residual = std::max(out.largest.residual, norms.residual);
}

template <class T, class X>
void make_fp16_rows(const HeldRows<T>& held, const X* rows, std::int64_t count, Fp16Rows& out, std::int64_t first) {
  const Buffer<Word> largest(held.pool(), 2);
  queue_fp16_rows(held, rows, count, out, first, largest.data());
  Word bits[2];
  held.stream().download(bits, largest.data(), 2);
  include_largest(norms_of_bits(bits), out);
}

template <class T>
const uint4* fp16_tiles(const HeldRows<T>& held, const Block<T>& block) {
  const Fp16Rows& fp16 = held.fp16;
  uint4* const tiles = fp16.values.data() + fp16.shape.place(fp16.place_of_block(block.first), 0, 0);
  if (fp16.by_block && block.first >= fp16.kept_rows && fp16.made != block.first) {
    queue_fp16_tiles(held, held.on_device(block), block.rows, tiles);
    fp16.made = block.first;
  }
  return tiles;
}

template <class T>
void queue_fp16_tiles(const HeldRows<T>& held, const T* rows, std::int64_t count, uint4* tiles) {
  round_to_fp16(*held.context, screened(held, rows, count), {tiles, held.fp16.shape});
}

namespace {

Fp16Output output_of(const Fp16Rows& out, Word* largest) {
  Fp16Output output{out.values.data(), out.shape};
  output.largest = largest;
  output.norm = out.norm.data();
  output.residual = out.residual.data();
  return output;
}

}  // namespace

template <class T>
void queue_fp16(const HeldRows<T>& held, const double* rows, std::int64_t count, const Fp16Rows& out, Word* largest) {
  round_to_fp16(*held.context, screened(held, rows, count), output_of(out, largest));
}

template <class T>
void queue_factored_fp16(const HeldRows<T>& held, const double* rows, std::int64_t count, const Fp16Rows& out,
                         Word* largest, double* factor) {
  const Context& context = *held.context;
  factor_kernel<<<context.grid(count, kBlockWarps), kBlock, 0, context.stream>>>(rows, count, held.columns(), factor);
  check(cudaGetLastError());
  Fp16Input<double> in = screened(held, rows, count);
  in.factor = factor;
  round_to_fp16(context, in, output_of(out, largest));
}

namespace {

__global__ void gather_kernel(const uint4* from, const std::int32_t* chosen, Count rows, Fp16Layout shape, uint4* to) {
  const std::int64_t count = rows.get(), pair = 2 * kFp16TileRows, padded = (count + pair - 1) / pair * pair;
  const int chunks = shape.depth_tiles * shape.chunks;
  for (std::int64_t i = thread_index(); i < padded * chunks; i += thread_count()) {
    const std::int64_t row = i / chunks;
    const int at = static_cast<int>(i % chunks), depth_tile = at / shape.chunks, chunk = at % shape.chunks;
    to[shape.place(row, depth_tile, chunk)] = row < count ? from[shape.place(chosen[row], depth_tile, chunk)] : uint4{};
  }
}

}  // namespace

void gather_fp16_tiles(const Context& context, const uint4* from, const std::int32_t* chosen, Count count,
                       Fp16Layout shape, uint4* to) {
  const std::int64_t padded = row_groups_of(count.most) * kFp16TileRows;
  gather_kernel<<<context.grid(padded * shape.depth_tiles * shape.chunks, kBlock), kBlock, 0, context.stream>>>(
      from, chosen, count, shape, to);
  check(cudaGetLastError());
}

Fp16Centroids allocate_fp16_centroids(Pool& pool, std::int64_t count, std::int64_t columns) {
  return {Buffer<uint4>(pool, chunks_for(count, column_shape(columns))), Buffer<float>(pool, count),
          Buffer<Word>(pool, 2), Buffer<float>(pool, count)};
}

template <class T>
void make_fp16_centroids(const HeldRows<T>& held, const double* centroids, std::int64_t count, Fp16Centroids& out) {
  Fp16Output output{out.values.data(), column_shape(held.columns())};
  output.largest = out.largest.data();
  output.half_sq_norm = out.half_sq_norm.data();
  output.residual = out.residual.data();
  round_to_fp16(*held.context, screened(held, centroids, count), output);
}

// Candidates of seeding are float64 for every type of points.
template void make_fp16_rows(const HeldRows<float>&, const double*, std::int64_t, Fp16Rows&, std::int64_t);
template void make_fp16_rows(const HeldRows<std::uint8_t>&, const double*, std::int64_t, Fp16Rows&, std::int64_t);
template void make_fp16_rows(const HeldRows<std::int8_t>&, const double*, std::int64_t, Fp16Rows&, std::int64_t);

namespace {

constexpr int kBinsPerOctave = 4;
constexpr int kBinShift = 21;                 // drops all but two bits of the mantissa
constexpr int kBins = 1 << (31 - kBinShift);  // positive floats, infinity and NaN order like their bits

/// counts, residuals: (kBins) rows of each bin, and the bits of their largest residual; zero on entry.
__global__ void histogram_kernel(const float* norm, const float* residual, std::int64_t rows, unsigned* counts,
                                 unsigned* residuals) {
  __shared__ unsigned block_counts[kBins], block_residuals[kBins];
  for (int b = static_cast<int>(threadIdx.x); b < kBins; b += kBlock) block_counts[b] = block_residuals[b] = 0;
  __syncthreads();
  for (std::int64_t i = thread_index(); i < rows; i += thread_count()) {
    const unsigned bin = (__float_as_uint(norm[i]) & 0x7FFFFFFFU) >> kBinShift;
    atomicAdd(&block_counts[bin], 1U);
    atomicMax(&block_residuals[bin], __float_as_uint(residual[i]));
  }
  __syncthreads();
  for (int b = static_cast<int>(threadIdx.x); b < kBins; b += kBlock) {
    if (block_counts[b] == 0) continue;
    atomicAdd(&counts[b], block_counts[b]);
    atomicMax(&residuals[b], block_residuals[b]);
  }
}

/// Lists the rows that are not up to `longest` long, in any order.
__global__ void longer_rows_kernel(const float* norm, std::int64_t rows, float longest, std::int32_t* listed,
                                   Word* count) {
  for (std::int64_t base = warp_index() * kWarp; base < rows; base += warp_count() * kWarp) {
    const std::int64_t row = base + lane_index();
    const bool longer = row < rows && !(norm[row] <= longest);
    const Word place = reserve_slot(longer, count);
    if (longer) listed[place] = static_cast<std::int32_t>(row);
  }
}

void list_longer_rows(const Context& context, Pool& pool, std::int64_t rows, std::int64_t count, Fp16Rows& fp16) {
  const Stream& stream = context.stream;
  const Buffer<Word> listed(pool, 1);
  fp16.longer_rows = Buffer<std::int32_t>(pool, count);
  stream.fill(listed.data(), 0, 1);
  longer_rows_kernel<<<context.grid(rows, kBlock), kBlock, 0, stream>>>(
      fp16.norm.data(), rows, static_cast<float>(fp16.screened.norm), fp16.longer_rows.data(), listed.data());
  check(cudaGetLastError());
  std::vector<std::int32_t>& on_host = fp16.longer_rows_on_host;
  on_host.resize(static_cast<std::size_t>(count));
  stream.download(on_host.data(), fp16.longer_rows.data(), count);
  std::sort(on_host.begin(), on_host.end());
  stream.upload(fp16.longer_rows.data(), on_host.data(), count);
}

}  // namespace

Buffer<unsigned> count_lengths(const Context& context, Pool& pool, std::int64_t rows, const Fp16Rows& fp16) {
  Buffer<unsigned> bins(pool, 2 * kBins);
  context.stream.fill(bins.data(), 0, 2 * kBins);
  histogram_kernel<<<context.grid(rows, kBlock * 4), kBlock, 0, context.stream>>>(
      fp16.norm.data(), fp16.residual.data(), rows, bins.data(), bins.data() + kBins);
  check(cudaGetLastError());
  return bins;
}

void limit_screened_lengths(const Context& context, Pool& pool, std::int64_t rows, const Buffer<unsigned>& bins,
                            Fp16Rows& fp16) {
  constexpr std::int64_t kFew = 64;          // at most one row in this many is longer than the lengths of the others
  constexpr int kWider = kBinsPerOctave;     // the limit is twice that length,
  constexpr int kMuch = 2 * kBinsPerOctave;  // if a row is longer than four times that length
  constexpr float kLeast = 0x1p-30F;         // of a limit; the widest column has about 2^8
  std::vector<unsigned> found(2 * kBins);
  context.stream.download(found.data(), bins.data(), 2 * kBins);

  // The first and the last length of a bin.
  const auto shortest_of = [](int bin) { return std::bit_cast<float>(static_cast<unsigned>(bin) << kBinShift); };
  const auto longest_of = [](int bin) {
    return std::bit_cast<float>(((static_cast<unsigned>(bin) + 1) << kBinShift) - 1);
  };
  int half = 0;
  for (std::int64_t rows_below = found[0]; half < kBins - 1 && rows_below < rows / 2; rows_below += found[half]) ++half;
  fp16.usual_norm = longest_of(half);
  int last = kBins - 1;  // of the bins that have rows
  while (last > 0 && found[last] == 0) --last;
  int typical = last;
  for (std::int64_t longer = found[typical]; typical > 0 && longer <= rows / kFew; longer += found[typical]) --typical;
  fp16.screened = {std::numeric_limits<double>::infinity(), 0.0};
  if (last <= typical + kMuch) return;
  const int limit = typical + kWider;
  const float longest = longest_of(limit);
  unsigned residual = 0;
  for (int b = 0; b <= limit; ++b) residual = std::max(residual, found[kBins + b]);
  if (longest < kLeast) return;
  fp16.screened = {static_cast<double>(longest), static_cast<double>(std::bit_cast<float>(residual))};
  fp16.shortest_longer = std::numeric_limits<double>::infinity();
  for (int b = limit + 1; b < kBins; ++b) {
    if (found[b] == 0) continue;
    // |x'| >= |x^| - |x' - x^|, where |x^| has been rounded up. What is not a number proves nothing.
    const double least = static_cast<double>(shortest_of(b)) * (1 - 0x1p-20) -
                         static_cast<double>(std::bit_cast<float>(found[kBins + b]));
    fp16.shortest_longer = std::min(fp16.shortest_longer, least > 0.0 ? least : 0.0);
  }
  list_longer_rows(context, pool, rows, std::accumulate(&found[limit + 1], &found[kBins], std::int64_t{0}), fp16);
}

#define KITH_INSTANTIATE(T)                                                                                            \
  template void make_fp16_rows(const HeldRows<T>&, const T*, std::int64_t, Fp16Rows&, std::int64_t);                   \
  template void queue_fp16_rows(const HeldRows<T>&, const T*, std::int64_t, Fp16Rows&, std::int64_t, Word*);           \
  template const uint4* fp16_tiles(const HeldRows<T>&, const Block<T>&);                                               \
  template void queue_fp16_tiles(const HeldRows<T>&, const T*, std::int64_t, uint4*);                                  \
  template void queue_fp16(const HeldRows<T>&, const double*, std::int64_t, const Fp16Rows&, Word*);                   \
  template void queue_factored_fp16(const HeldRows<T>&, const double*, std::int64_t, const Fp16Rows&, Word*, double*); \
  template void make_fp16_centroids(const HeldRows<T>&, const double*, std::int64_t, Fp16Centroids&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
