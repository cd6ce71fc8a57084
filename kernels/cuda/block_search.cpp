// Divides rows into blocks that are sent in turn (runtime/sent_blocks.h), and holds each as points of its own.
//
// While the device searches a block, threads read the next one into page-locked buffers, and the link sends it. A pass
// takes as long as the slower of both, and the first block's reading or the last block's search.
#include "kernels/cuda/points.h"

#include <algorithm>

#include "kernels/cuda/runtime/device_use.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kMostRows = std::int64_t{1} << 30;  // positions are int32
constexpr std::int64_t kWholeRows = 256;                   // a pair of fp16 tiles
constexpr std::int64_t kStateBytes = 64;                   // of a row

std::int64_t whole(std::int64_t rows) { return rows > kWholeRows ? rows / kWholeRows * kWholeRows : rows; }

/// Memory for all rows; empty if it does not suffice.
template <class T>
Buffer<T> memory_for_all(const HeldRows<T>& held) {
  const std::int64_t bytes = checked_product(held.rows(), held.host.row_bytes(), "bytes of the points");
  const std::int64_t free = held.pool().available(), norm_bytes = 2 * sizeof(float) * held.rows();
  const bool is_forced = held.block_rows < held.rows();
  if (is_forced && !held.context->forced.kept_parts) return {};
  if (bytes > free - norm_bytes - std::min(kWorkingMemory, free / 4)) return {};
  try {
    return Buffer<T>(held.pool(), held.rows() * held.columns());
  } catch (const OutOfMemory&) {  // another process took the memory meanwhile
    return {};
  }
}

/// Rows of a block, 0 if there is no memory for one. are_kept: the rows have memory already.
template <class T>
std::int64_t searched_block_rows(const HeldRows<T>& held, bool are_kept) {
  const bool is_forced = held.unread ? held.block_rows < held.rows() : held.context->forced.fp16_by_block;
  if (is_forced) return held.block_rows;
  // Two blocks are on the device, and what is made of one of them; half of the memory is left to the search.
  const std::int64_t row_bytes = held.host.row_bytes();
  const std::int64_t device_bytes = (are_kept ? 0 : 2 * row_bytes) + fp16_row_bytes(held.columns()) + kStateBytes;
  const std::int64_t fitting = held.pool().available() / 2 / device_bytes;
  const std::int64_t wanted =
      std::clamp(held.rows() * row_bytes / kSearchBlocks, kLeastSearchBlock, kMostSearchBlock) / row_bytes;
  return whole(std::min({fitting, std::max<std::int64_t>(wanted, 1), kMostRows, held.rows()}));
}

template <class T>
void keep(HeldRows<T>& held, Buffer<T> values) {
  try {
    held.keep(std::move(values));
  } catch (const OutOfMemory&) {  // the next search reads them again
  }
}

}  // namespace

template <class T>
bool searches_in_blocks(const HeldRows<T>& held, const Queries& queries) {
  if (held.unread) return true;
  constexpr std::int64_t kManyQueries = 64;  // whose products take longer than sending the rows
  const bool multiplies = queries.measure == Measure::squared_euclidean || queries.measure == Measure::inner_product;
  return held.sent && held.rows() > held.block_rows && multiplies && queries.values.rows >= kManyQueries &&
         held.columns() > kMostFloat32Columns && held.context->screen != ScreenPath::float32 &&
         held.block_rows % (2 * kFp16TileRows) == 0;
}

template <class T>
void search_blocks(HeldRows<T>& held, Measure measure, const std::function<void(const Points&)>& search) {
  check(cudaSetDevice(held.context->device));
  Buffer<T> kept = held.unread ? memory_for_all(held) : Buffer<T>();
  std::int64_t rows = searched_block_rows(held, kept.size() > 0);
  while (rows == 0 && held.free_optional_memory()) rows = searched_block_rows(held, false);
  rows = std::max<std::int64_t>(rows, 1);
  ColumnRange seen(held.columns());
  SearchKnowledge known;
  std::unique_ptr<SentBlocks<T>> blocks;
  for (std::int64_t first = 0; first < held.rows();) {
    try {
      if (!blocks) {
        blocks = std::make_unique<SentBlocks<T>>(typename SentBlocks<T>::Route{.device = held.context->device,
                                                                               .pool = held.pool(),
                                                                               .work = held.stream(),
                                                                               .rows = held.host,
                                                                               .block_rows = rows,
                                                                               .first = first,
                                                                               .all = kept.data(),
                                                                               .once = true,
                                                                               .copies = &held.context->ahead});
      }
      const std::int64_t count = std::min(rows, held.rows() - first);
      const auto points =
          hold_block<T>(held.context, {blocks->on_device(first), count, held.columns(), held.first_row + first}, known);
      if (!is_of_bits(measure)) points->prepare(held.plan.columns > 0 ? held.plan : make_block_plan(*points, seen));
      search(*points);
      first += count;
    } catch (const OutOfMemory&) {  // the lists are those of the blocks before
      blocks.reset();
      kept.release();
      const bool freed = held.free_optional_memory();
      if (rows == 1 && !freed) throw;
      rows = whole(std::max<std::int64_t>(freed ? searched_block_rows(held, false) : rows / 2, 1));
    }
  }
  blocks.reset();
  if (held.plan.columns == 0) require_digits(seen, measure);
  if (kept.size() > 0) keep(held, std::move(kept));
}

#define KITH_INSTANTIATE(T)                                             \
  template bool searches_in_blocks(const HeldRows<T>&, const Queries&); \
  template void search_blocks(HeldRows<T>&, Measure, const std::function<void(const Points&)>&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
