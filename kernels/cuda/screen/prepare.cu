// Prepares the held rows for the screens: the float32 norms of all rows and, where the device can use them, fp16
// copies.
//
// Reads the rows once for the norms and once for the copies (float32_screen.cu and fp16_rows.cu state the floors),
// once per data set.
#include "kernels/cuda/screen/prepare.h"

#include <vector>

#include "kernels/cuda/device/tile.h"
#include "kernels/cuda/screen/float32_screen.h"
#include "kernels/cuda/screen/fp16_rows.h"

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
Preparation<T>::Preparation(HeldRows<T>& held, const DataPlan& plan) : held_(held) {
  const std::int64_t d = held.columns(), n = held.rows();
  const std::int64_t blocks = n > 0 ? (n + held.block_rows - 1) / held.block_rows : 0;
  largest_ = Buffer<Word>(held.pool(), 2 * (1 + blocks));
  Buffer<float> center(held.pool(), padded_depth(d));
  held.stream().fill(center.data(), 0, padded_depth(d));
  held.stream().upload(center.data(), plan.screen.center.data(), d);
  held.stream().fill(largest_.data(), 0, largest_.size());
  held.plan = plan;
  held.center = std::move(center);
  held.fp16 = {};
  held.long_rows = {};
  fp16_ = allocate_held_fp16(held);
  Word* of_block = largest_.data() + 2;
  held.for_blocks([&](const Block<T>& block) {
    const T* values = held.on_device(block);
    screen_norms(held, values, block.rows, held.norm.data() + block.first, held.half_sq_norm.data() + block.first,
                 largest_.data());
    if (fp16_.values.size() > 0) queue_fp16_rows(held, values, block.rows, fp16_, block.first, of_block);
    of_block += 2;
  });
  if (fp16_.values.size() > 0) lengths_ = count_lengths(*held.context, held.pool(), n, fp16_);
}

template <class T>
void Preparation<T>::finish() {
  std::vector<Word> largest(static_cast<std::size_t>(largest_.size()));
  held_.stream().download(largest.data(), largest_.data(), largest_.size());
  held_.largest = norms_of_bits(largest.data());
  if (fp16_.values.size() > 0) {
    for (std::size_t b = 2; b < largest.size(); b += 2) include_largest(norms_of_bits(&largest[b]), fp16_);
    limit_screened_lengths(*held_.context, held_.pool(), held_.rows(), lengths_, fp16_);
  }
  held_.fp16 = std::move(fp16_);
}

#define KITH_INSTANTIATE(T) template class Preparation<T>;
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
