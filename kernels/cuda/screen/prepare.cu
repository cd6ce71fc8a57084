// Prepares the held rows for the screens: the float32 norms of all rows and, where the device can use them, fp16
// copies.
//
// Reads the rows once for the norms and once for the copies (float32_rows.cu and fp16_rows.cu state the floors),
// once per data set.
#include "kernels/cuda/screen/prepare.h"

#include "kernels/cuda/device/tile.h"
#include "kernels/cuda/screen/float32_rows.h"
#include "kernels/cuda/screen/fp16_rows.h"
#include "kernels/cuda/screen/row_lengths.h"

namespace kith::cuda {
namespace {

/// Memory for fp16 copies of all rows, or of some blocks where the operations would have too little memory; empty where
/// the device does not use them, or has none for one block. Copies of several blocks need blocks that begin at a
/// multiple of two groups.
template <class T>
Fp16Rows allocate_held_fp16(const HeldRows<T>& held) {
  const std::int64_t n = held.rows(), d = held.columns(), block = held.largest_block();
  if (n == 0 || d <= kMostFloat32Columns || held.context->screen == ScreenPath::float32) return {};
  const Fp16Layout shape = point_shape(d, held.context->screen);
  const bool forced = held.context->forced.fp16_by_block, whole_groups = block % (2 * kFp16TileRows) == 0;
  const std::int64_t block_bytes = row_groups_of(block) * shape.depth_tiles * shape.tile_bytes();
  const std::int64_t free = held.pool().available() - n * kFp16StateBytes;
  const std::int64_t blocks = (n + block - 1) / block, fitting = (free - held.working_bytes / 2) / block_bytes;
  constexpr std::int64_t kFewRows = 64;  // of a block, for which one launch more is too much
  const bool by_block = blocks > 1 && (!whole_groups || forced || fitting < blocks);
  if (by_block && block < kFewRows) return {};
  if (by_block ? free - held.working_bytes / 4 < block_bytes : fitting < blocks) return {};
  // Where rows are sent, making the copies takes less time than sending, and the memory is for rows.
  std::int64_t kept = held.sent ? 0 : std::clamp<std::int64_t>(fitting - 1, 0, blocks - 1);
  if (forced) kept = 1;
  if (!whole_groups) kept = 0;
  try {
    Fp16Rows fp16 = allocate_fp16(held.pool(), by_block ? (kept + 1) * block : n, shape, n);
    fp16.by_block = by_block;
    fp16.kept_rows = by_block ? kept * block : 0;
    return fp16;
  } catch (const OutOfMemory&) {  // the float32 screen needs no copies
    return {};
  }
}

}  // namespace

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
  held.fp16 = {};
  held.bounds = {};
  Fp16Rows fp16 = allocate_held_fp16(held);
  held.for_blocks([&](const Block<T>& block) {
    const T* values = held.on_device(block);
    screen_norms(held, values, block.rows, held.norm.data() + block.first, held.half_sq_norm.data() + block.first,
                 largest.data());
    if (fp16.values.size() > 0) make_fp16_rows(held, values, block.rows, fp16, block.first);
  });
  held.largest = download_largest(held.stream(), largest.data());
  if (fp16.values.size() > 0) limit_screened_lengths(*held.context, held.pool(), held.rows(), fp16);
  held.fp16 = std::move(fp16);
}

#define KITH_INSTANTIATE(T) template void prepare(HeldRows<T>&, const DataPlan&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
