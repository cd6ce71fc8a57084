// How rows, their state, fp16 copies and blocks that are sent share the memory of a device. No part of CUDA is needed.
#include "kernels/cuda/runtime/device_use.h"

#include <algorithm>

namespace kith::cuda {

DeviceUse device_use(const DeviceShape& shape) {
  constexpr std::int64_t kState = 32;              // bytes of each row
  constexpr std::int64_t kBlocks = 4 * kMostSent;  // of blocks that are sent, and what is made of them
  constexpr std::int64_t kFp16Columns = 64;        // rows in fp16 have a multiple of so many
  const auto [rows, columns, row_bytes, free, by_block] = shape;
  const std::int64_t working = std::min(kWorkingMemory, free / 4), left = free - rows * kState - working;
  std::int64_t resident = rows;
  if (rows * row_bytes > left) {
    const std::int64_t fitting = (left - std::min(kBlocks, free / 2)) / row_bytes;
    resident = by_block ? 0 : std::clamp<std::int64_t>(fitting, 0, rows);
  }
  const std::int64_t block =
      std::clamp(rows * row_bytes / kSearchBlocks, kLeastSearchBlock, kMostSearchBlock) / row_bytes;
  const std::int64_t block_rows = by_block && resident == 0 ? std::min(block, rows) : 0;
  // fp16 copies of all rows, or of as many as fit; two blocks that are searched, and the copies of one.
  const std::int64_t copied = block_rows > 0 ? block_rows : rows;
  const std::int64_t copies = 2 * copied * ((columns + kFp16Columns - 1) / kFp16Columns * kFp16Columns);
  const std::int64_t used = copied * kState + (resident + 2 * block_rows) * row_bytes + copies;
  return {resident, std::min(used + working / 4, std::max<std::int64_t>(free - working / 4, 0))};
}

}  // namespace kith::cuda
