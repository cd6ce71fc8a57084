// The memory of a device that held rows take, by the shape of a problem: for plans that are made before the rows are
// read. The sizes are those by which held_rows.cu and block_search.cpp divide it.
#pragma once

#include <cstdint>

namespace kith::cuda {

inline constexpr std::int64_t kWorkingMemory = std::int64_t{1} << 30;  // bytes left to the operations, at most
inline constexpr std::int64_t kMostSent = std::int64_t{64} << 20;      // bytes of a block that is sent
// Rows that are read while others are searched are divided into kSearchBlocks blocks, of so many bytes each. A block
// takes a few times as long as what is done once for a block: to round all queries, and to merge their lists. With
// 10 000 queries in 17 GB, blocks of 1 GiB took 48 ms each on an H100, twice what their reading takes.
inline constexpr std::int64_t kLeastSearchBlock = std::int64_t{1} << 28, kMostSearchBlock = std::int64_t{1} << 32;
inline constexpr std::int64_t kSearchBlocks = 8;

/// The rows of one device.
struct DeviceShape {
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_bytes = 0;
  std::int64_t free_bytes = 0;        // of the device
  bool is_searched_by_block = false;  // the rows are only searched, and read again for it if they do not fit
};

struct DeviceUse {
  std::int64_t resident_rows = 0;  // on the device during the whole run
  std::int64_t bytes = 0;          // at the peak
};

DeviceUse device_use(const DeviceShape& shape);

}  // namespace kith::cuda
