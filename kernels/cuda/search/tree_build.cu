// Orders rows by repeated splits (J. L. Bentley: Multidimensional binary search trees used for associative searching,
// 1975): every segment of 2^s positions is sorted by the column in which a sample of its rows differs most, until the
// segments are leaves of 32, or with many columns until they have 4 d rows, since boxes of fewer rows are hardly
// smaller. Any order gives right results; near rows together make small boxes.
//
// All segments of a size are sorted at once, by the keys (segment, value): log2(n / 32) sorts of n keys of 64 bits, 18
// for 5 million rows of 3 columns. The samples are small beside the segments, except for the last sorts. The values of
// a column are compared in float32 after the transform of the screen, which keeps small differences of values far from
// zero.
#include "kernels/cuda/search/tree.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/cuda/device/select.h"
#include "kernels/cuda/search/sort.h"

namespace kith::cuda {
namespace {

constexpr int kRangeRows = 128;    // rows whose ranges a warp finds before it combines them with those of other warps
constexpr int kRangeSample = 256;  // rows of a segment that show in which column it is widest
static_assert(kRangeRows % kLeafRows == 0 && kLeafRows == kWarp, "a lane has one row of each leaf");

/// The rows, and the transform of their values for comparisons: float(value * scale - center).
template <class T>
struct SplitValues {
  const T* values;
  const float* center;
  std::int64_t d;
  double scale;

  __device__ std::uint32_t order_of(std::int64_t row, std::int64_t j) const {
    const double value = static_cast<double>(values[row * d + j]) * scale - static_cast<double>(center[j]);
    return ordered(static_cast<float>(value));
  }
};

__global__ void positions_kernel(const std::int32_t* positions, std::int64_t stride, std::int64_t count,
                                 std::int32_t* out) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    // One row of each `stride`, not always the same one, since the rows may repeat with a period (Knuth's constant).
    const std::int64_t among = static_cast<std::int64_t>((static_cast<unsigned>(i) * 2654435769U >> 16) % stride);
    out[i] = positions != nullptr ? positions[i] : static_cast<std::int32_t>(i * stride + among);
  }
}

/// The range of each column in a sample of each segment of 2^shift positions. low, high: (segments, d) as of ordered(),
/// filled with ones and zeros.
template <class T>
__global__ void ranges_kernel(SplitValues<T> values, const std::int32_t* row, std::int64_t count, int shift,
                              std::uint32_t* low, std::uint32_t* high) {
  const std::int64_t segments = ((count - 1) >> shift) + 1;
  const std::int64_t size = std::int64_t{1} << shift, sample = min(size, std::int64_t{kRangeSample});
  const std::int64_t rows = min(std::int64_t{kRangeRows}, sample);  // of a warp at a time; both are powers of two
  for (std::int64_t first = warp_index() * rows; first < segments * sample; first += warp_count() * rows) {
    const std::int64_t segment = first / sample;
    std::int64_t mine[kRangeRows / kWarp];
#pragma unroll
    for (int i = 0; i < kRangeRows / kWarp; ++i) {
      const std::int64_t in_sample = first % sample + min(std::int64_t{i} * kWarp, rows - kWarp) + lane_index();
      // Positions beyond the last repeat the last, which is in the same segment.
      mine[i] = row[min(segment * size + in_sample * (size / sample), count - 1)];
    }
    for (std::int64_t j = 0; j < values.d; ++j) {
      std::uint32_t smallest = ~0U, largest = 0;
#pragma unroll
      for (int i = 0; i < kRangeRows / kWarp; ++i) {
        const std::uint32_t value = values.order_of(mine[i], j);
        smallest = min(smallest, value);
        largest = max(largest, value);
      }
      smallest = __reduce_min_sync(kAllLanes, smallest);
      largest = __reduce_max_sync(kAllLanes, largest);
      if (lane_index() != 0) continue;
      atomicMin(&low[segment * values.d + j], smallest);
      atomicMax(&high[segment * values.d + j], largest);
    }
  }
}

/// The column of each segment with the largest range.
__global__ void widest_kernel(const std::uint32_t* low, const std::uint32_t* high, std::int64_t segments,
                              std::int64_t d, std::int32_t* column) {
  for (std::int64_t segment = warp_index(); segment < segments; segment += warp_count()) {
    unsigned widest = 0;
    std::int32_t best = 0;
    for (std::int64_t j = lane_index(); j < d; j += kWarp) {
      const float range = __fsub_rn(unordered(high[segment * d + j]), unordered(low[segment * d + j]));
      if (!(range > 0)) continue;
      if (__float_as_uint(range) <= widest) continue;
      widest = __float_as_uint(range);  // orders like the range, which is positive
      best = static_cast<std::int32_t>(j);
    }
    const unsigned largest = __reduce_max_sync(kAllLanes, widest);
    const unsigned lanes = __ballot_sync(kAllLanes, widest == largest);
    best = __shfl_sync(kAllLanes, best, __ffs(static_cast<int>(lanes)) - 1);
    if (lane_index() == 0) column[segment] = best;
  }
}

template <class T>
__global__ void keys_kernel(SplitValues<T> values, const std::int32_t* row, const std::int32_t* column,
                            std::int64_t count, int shift, std::uint64_t* key) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    const std::int64_t segment = i >> shift;
    key[i] = static_cast<std::uint64_t>(segment) << 32 | values.order_of(row[i], column[segment]);
  }
}

/// The smallest and the largest of the lanes' values, in every lane.
template <class Side>
__device__ Side lanes_min(Side value) {
#pragma unroll
  for (int w = kWarp / 2; w > 0; w /= 2) value = fmin(value, __shfl_xor_sync(kAllLanes, value, w));
  return value;
}
template <class Side>
__device__ Side lanes_max(Side value) {
#pragma unroll
  for (int w = kWarp / 2; w > 0; w /= 2) value = fmax(value, __shfl_xor_sync(kAllLanes, value, w));
  return value;
}

/// Where a tree is written.
template <class T>
struct TreeOutput {
  T* values;
  std::int32_t *row, *first_row;
  BoxSide<T>* box;
};

/// Writes a node's side of column j. family: number of the node's family.
template <class Side>
__device__ void write_box(Side* box, std::int64_t d, std::int64_t family, int sibling, std::int64_t j, Side low,
                          Side high) {
  Side* sides = box + (family * d + j) * 2 * kLeafRows + sibling;
  sides[0] = low;
  sides[kLeafRows] = high;
}

/// Copies the rows in their order, and finds the boxes of the leaves. A warp per leaf.
template <class T>
__global__ void leaves_kernel(const T* values, const std::int32_t* order, std::int64_t count, std::int64_t leaves,
                              std::int64_t d, TreeOutput<T> out) {
  for (std::int64_t leaf = warp_index(); leaf < leaves; leaf += warp_count()) {
    const std::int64_t at = leaf * kLeafRows + lane_index();
    const std::int32_t row = order[min(at, count - 1)];  // the values of missing rows are in the box already
    const std::int32_t first_row = static_cast<std::int32_t>(__reduce_min_sync(kAllLanes, static_cast<unsigned>(row)));
    out.row[at] = at < count ? row : kNoTreeRow;
    if (lane_index() == 0) out.first_row[leaf] = first_row;
    for (std::int64_t j = 0; j < d; ++j) {
      const T value = values[row * d + j];
      out.values[(leaf * d + j) * kLeafRows + lane_index()] = value;
      const auto side = static_cast<BoxSide<T>>(value);
      const auto low = lanes_min(side), high = lanes_max(side);
      if (lane_index() == 0) {
        write_box(out.box, d, leaf / kLeafRows, static_cast<int>(leaf % kLeafRows), j, low, high);
      }
    }
  }
}

/// The boxes of the nodes of a level from those of the level below. below, above: the first families of the levels.
template <class T>
__global__ void nodes_kernel(std::int64_t d, std::int64_t children, std::int64_t below, std::int64_t nodes,
                             std::int64_t above, TreeOutput<T> out) {
  using Side = BoxSide<T>;
  constexpr Side kInfinity = std::numeric_limits<Side>::infinity();
  for (std::int64_t node = warp_index(); node < nodes; node += warp_count()) {
    const bool exists = node * kLeafRows + lane_index() < children;
    const std::int64_t family = below + node;
    const std::int32_t first_row = exists ? out.first_row[family * kLeafRows + lane_index()] : kNoTreeRow;
    const unsigned smallest = __reduce_min_sync(kAllLanes, static_cast<unsigned>(first_row));
    const int sibling = static_cast<int>(node % kLeafRows);
    if (lane_index() == 0) out.first_row[above * kLeafRows + node] = static_cast<std::int32_t>(smallest);
    for (std::int64_t j = 0; j < d; ++j) {
      const Side* sides = out.box + (family * d + j) * 2 * kLeafRows + lane_index();
      const Side low = lanes_min(exists ? sides[0] : kInfinity);
      const Side high = lanes_max(exists ? sides[kLeafRows] : -kInfinity);
      if (lane_index() == 0) write_box(out.box, d, above + node / kLeafRows, sibling, j, low, high);
    }
  }
}

/// The smallest s with 2^s >= count.
int log2_above(std::int64_t count) { return std::bit_width(static_cast<std::uint64_t>(count) - 1); }

constexpr int kLeafShift = 5;
static_assert(1 << kLeafShift == kLeafRows, "a segment of 2^5 positions is a leaf");

/// Segments of 2^s positions are not divided.
int last_shift(std::int64_t d) {
  return std::max(kLeafShift, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(4 * d))) - 1);
}

/// Sorts the rows `order.row` into their leaves.
template <class T>
void order_rows(const HeldRows<T>& held, RowOrder& order) {
  const Context& context = *held.context;
  const Stream& stream = held.stream();
  const std::int64_t d = held.columns();
  const SplitValues<T> values{held.resident.data(), held.center.data(), d, std::ldexp(1.0, -held.plan.screen.exponent)};
  const int top = log2_above(order.count), last = last_shift(d);
  if (top <= last) return;
  const std::int64_t most_segments = std::int64_t{1} << (top - last - 1);
  const Buffer<std::uint32_t> low(held.pool(), most_segments * d), high(held.pool(), most_segments * d);
  const Buffer<std::int32_t> column(held.pool(), most_segments);
  std::size_t bytes = 0;
  sort_by_key(stream, order, 64, nullptr, bytes);
  const Buffer<std::byte> temporary(held.pool(), static_cast<std::int64_t>(bytes));
  for (int shift = top; shift > last; --shift) {
    const std::int64_t segments = ((order.count - 1) >> shift) + 1;
    stream.fill(low.data(), 0xFF, segments * d);
    stream.fill(high.data(), 0, segments * d);
    const std::int32_t* row = order.row[order.current];
    ranges_kernel<<<context.grid(segments * std::min(std::int64_t{1} << shift, std::int64_t{kRangeSample}), kBlock),
                    kBlock, 0, stream>>>(values, row, order.count, shift, low.data(), high.data());
    check(cudaGetLastError());
    widest_kernel<<<context.grid(segments, kBlockWarps), kBlock, 0, stream>>>(low.data(), high.data(), segments, d,
                                                                              column.data());
    check(cudaGetLastError());
    keys_kernel<<<context.grid(order.count, kBlock), kBlock, 0, stream>>>(values, row, column.data(), order.count,
                                                                          shift, order.key[order.current]);
    check(cudaGetLastError());
    sort_by_key(stream, order, 32 + log2_above(segments), temporary.data(), bytes);
  }
}

/// Sizes of the levels of a tree over `count` rows. Returns the number of families.
template <class T>
std::int64_t set_levels(std::int64_t count, TreeView<T>& view) {
  std::int64_t families = 0, nodes = (count + kLeafRows - 1) / kLeafRows;
  for (view.levels = 0;;) {
    view.nodes[view.levels] = nodes;
    view.families[view.levels++] = families;
    const std::int64_t parents = (nodes + kLeafRows - 1) / kLeafRows;
    families += parents;
    if (parents == 1) return families;
    nodes = parents;
  }
}

}  // namespace

template <class T>
std::int64_t tree_bytes(std::int64_t count, std::int64_t d) {
  constexpr std::int64_t kValue = sizeof(T), kSide = sizeof(BoxSide<T>);
  const std::int64_t leaves = (count + kLeafRows - 1) / kLeafRows;
  const std::int64_t tree = leaves * kLeafRows * (d * kValue + 4) + leaves * 17 / 16 * (d * 2 * kSide + 4);
  return tree + count * (2 * 12 + 4) + leaves * (d * 8 + 4);
}

template <class T>
BoxTree<T> build_tree(const HeldRows<T>& held, const std::int32_t* positions, std::int64_t stride, std::int64_t count) {
  const Context& context = *held.context;
  const Stream& stream = held.stream();
  const std::int64_t d = held.columns();
  BoxTree<T> tree;
  TreeView<T>& view = tree.view;
  const std::int64_t families = set_levels(count, view), leaves = view.nodes[0];
  view.d = d;
  tree.values = Buffer<T>(held.pool(), leaves * kLeafRows * d);
  tree.row = Buffer<std::int32_t>(held.pool(), leaves * kLeafRows);
  tree.first_row = Buffer<std::int32_t>(held.pool(), families * kLeafRows);
  tree.box = Buffer<BoxSide<T>>(held.pool(), families * d * 2 * kLeafRows);
  const Buffer<std::uint64_t> keys(held.pool(), 2 * count);
  const Buffer<std::int32_t> rows(held.pool(), 2 * count);
  RowOrder order{{keys.data(), keys.data() + count}, {rows.data(), rows.data() + count}, count, 0};
  positions_kernel<<<context.grid(count, kBlock), kBlock, 0, stream>>>(positions, stride, count, order.row[0]);
  check(cudaGetLastError());
  order_rows(held, order);

  const TreeOutput<T> out{tree.values.data(), tree.row.data(), tree.first_row.data(), tree.box.data()};
  leaves_kernel<<<context.grid(leaves, kBlockWarps), kBlock, 0, stream>>>(
      held.resident.data(), order.row[order.current], count, leaves, d, out);
  check(cudaGetLastError());
  for (int level = 1; level < view.levels; ++level) {
    nodes_kernel<<<context.grid(view.nodes[level], kBlockWarps), kBlock, 0, stream>>>(
        d, view.nodes[level - 1], view.families[level - 1], view.nodes[level], view.families[level], out);
    check(cudaGetLastError());
  }
  view.values = out.values;
  view.row = out.row;
  view.first_row = out.first_row;
  view.box = out.box;
  return tree;
}

#define KITH_INSTANTIATE(T)                                        \
  template std::int64_t tree_bytes<T>(std::int64_t, std::int64_t); \
  template BoxTree<T> build_tree(const HeldRows<T>&, const std::int32_t*, std::int64_t, std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
