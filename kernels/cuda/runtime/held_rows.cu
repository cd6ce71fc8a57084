// Places the held rows: on the device if they fit, uploaded as they arrive; otherwise on the host, sent block by block.
#include "kernels/cuda/runtime/held_rows.h"

#include "kernels/cuda/runtime/device_use.h"
#include "kernels/cuda/runtime/staging.h"

namespace kith::cuda {
namespace {

// The size of a block bounds the memory of an operation.
constexpr std::int64_t kMostRows = std::int64_t{1} << 24;
constexpr std::int64_t kMostValues = std::int64_t{1} << 26;  // where a block has more than kManyRows rows
constexpr std::int64_t kManyRows = std::int64_t{1} << 20;
constexpr std::int64_t kFewRows = 8;      // `gathered` has a buffer for one row of a block in this many
constexpr std::int64_t kWholeRows = 256;  // two groups of fp16 rows; blocks are multiples of it where they can be

/// Rows that the caller has in the memory of the device, aligned as an allocation is; else null.
template <class T>
T* rows_in_place(const RowReader* reader, int device) {
  constexpr std::uintptr_t kAlignment = 256;
  const void* const memory = reader != nullptr ? reader->gpu_memory() : nullptr;
  cudaPointerAttributes where{};
  if (memory == nullptr || reinterpret_cast<std::uintptr_t>(memory) % kAlignment != 0) return nullptr;
  check(cudaPointerGetAttributes(&where, memory));
  const bool is_here = where.device == device && where.type == cudaMemoryTypeDevice;
  return is_here ? const_cast<T*>(static_cast<const T*>(memory)) : nullptr;  // which no kernel writes to
}

}  // namespace

template <class T>
HeldRows<T>::HeldRows(std::shared_ptr<Context> where, MatrixView<const T> from, const PointBlock& block,
                      std::int64_t forced_rows)
    : context(std::move(where)), host{from, block.reader}, first_row(block.first_row) {
  if (block.only_searched && block.reader != nullptr) {
    unread = true;
    const bool forced = forced_rows > 0 && (context->forced.fp16_by_block || context->forced.kept_parts);
    block_rows = std::clamp<std::int64_t>(forced ? forced_rows : rows(), 1, std::max<std::int64_t>(rows(), 1));
    return;
  }
  const auto weight_count = static_cast<std::int64_t>(block.weights.size());
  const std::int64_t n = rows(), state_bytes = n * (4 + 4 + 8 + 4 + 4) + weight_count * 8;
  const std::int64_t value_bytes =
      checked_product(checked_product(n, columns(), "points"), sizeof(T), "bytes of the points");
  const std::int64_t free = pool().available();
  if (weight_count > 0) {
    weight = Buffer<double>(pool(), weight_count);
    stream().upload(weight.data(), block.weights.data(), weight_count);
  }
  label = Buffer<std::int32_t>(pool(), n);
  summed = Buffer<std::int32_t>(pool(), n);
  distance = Buffer<double>(pool(), n);
  norm = Buffer<float>(pool(), n);
  half_sq_norm = Buffer<float>(pool(), n);

  const bool forced = forced_rows > 0 && forced_rows < n;
  working_bytes = std::min(kWorkingMemory, free / 4);
  if (T* const there = forced ? nullptr : rows_in_place<T>(block.reader, context->device)) {
    resident = Buffer<T>(there, n * columns());
    resident_rows = n;
    block_rows = std::clamp<std::int64_t>(n, 1, resident_block_rows());
    return;
  }
  if (!forced && value_bytes <= free - state_bytes - working_bytes) {
    try {
      resident = Buffer<T>(pool(), n * columns());
      resident_rows = n;
      block_rows = std::clamp<std::int64_t>(n, 1, resident_block_rows());
    } catch (const OutOfMemory&) {  // another process took the memory meanwhile
    }
  }
  if (resident_rows < n) send_blocks(forced ? forced_rows : 0, n);
  upload(block.arrival);
  if (block.arrival != nullptr) block.arrival->wait_for(n);
}

template <class T>
HeldRows<T>::HeldRows(std::shared_ptr<Context> where, Buffer<T> values, std::int64_t count, std::int64_t d)
    : context(std::move(where)), host{{nullptr, count, d}, nullptr} {
  keep(std::move(values));
}

template <class T>
void HeldRows<T>::keep(Buffer<T> values) {
  Buffer<float> norms(pool(), rows()), half_sq_norms(pool(), rows());
  norm = std::move(norms);
  half_sq_norm = std::move(half_sq_norms);
  resident = std::move(values);
  resident_rows = rows();
  working_bytes = std::min(kWorkingMemory, pool().available() / 4);
  block_rows = std::clamp<std::int64_t>(rows(), 1, resident_block_rows());
  unread = false;
}

/// A multiple of the rows that all multiprocessors process at once, each two groups of fp16 rows.
template <class T>
std::int64_t HeldRows<T>::resident_block_rows() const {
  const std::int64_t rows = std::clamp(kMostValues / columns(), kManyRows, kMostRows);
  const std::int64_t round = kWholeRows * context->multiprocessors;
  return std::max<std::int64_t>(rows / round, 1) * round;
}

template <class T>
void HeldRows<T>::upload(Arrival* arrival) {
  const std::int64_t batch = Staging::kWorthwhile / host.row_bytes() + 1;  // rows worth a staged upload
  for (std::int64_t first = 0; first < resident_rows;) {
    const std::int64_t arrived =
        arrival != nullptr ? std::min(arrival->wait_for(std::min(first + batch, resident_rows)), resident_rows)
                           : resident_rows;
    host.upload(stream(), resident.data() + first * columns(), first, arrived - first);
    first = arrived;
  }
}

template <class T>
void HeldRows<T>::send_blocks(std::int64_t forced_rows, std::int64_t most_resident) {
  const std::int64_t n = rows(), row_bytes = host.row_bytes();
  const std::int64_t available = pool().available();
  const bool has_fp16 = context->screen != ScreenPath::float32 && columns() > kMostFloat32Columns;
  const std::int64_t fp16_bytes = has_fp16 ? fp16_row_bytes(columns()) : 0;
  const std::int64_t most_bytes = std::min(kMostSent, available / 8);
  std::int64_t requested = forced_rows;
  if (requested == 0) {
    requested = most_bytes / row_bytes;
    if (requested > kWholeRows) requested = requested / kWholeRows * kWholeRows;
  }
  // Operations in progress have buffers for blocks of the size before.
  if (block_rows > 0) requested = std::min(requested, block_rows);
  block_rows = std::clamp<std::int64_t>(requested, 1, std::clamp<std::int64_t>(n, 1, kMostRows));
  const std::int64_t blocks = (n - 1) / block_rows;  // that may be resident
  const std::int64_t others =
      working_bytes + 3 * block_rows * row_bytes + block_rows * fp16_bytes + n * kFp16StateBytes;
  const std::int64_t fitting = std::clamp<std::int64_t>((available - others) / (block_rows * row_bytes), 0, blocks);
  divide(std::min(most_resident, (forced_rows > 0 ? blocks / 3 : fitting) * block_rows));
}

template <class T>
void HeldRows<T>::divide(std::int64_t count) {
  stream().wait();
  sent.reset();
  gathered.release();
  resident.release();
  resident_rows = 0;
  if (count > 0) {
    try {
      resident = Buffer<T>(pool(), count * columns());
      resident_rows = count;
    } catch (const OutOfMemory&) {  // another process took the memory meanwhile
    }
  }
  sent = std::make_unique<SentBlocks<T>>(
      typename SentBlocks<T>::Route{context->device, pool(), stream(), host, block_rows, resident_rows});
  gathered = Buffer<T>(pool(), (block_rows + kFewRows - 1) / kFewRows * columns());
}

template <class T>
ChosenValues<T> HeldRows<T>::chosen_on_device(const Block<T>& block, const std::int32_t* chosen,
                                              std::int64_t count) const {
  if (is_on_device(block) || !can_gather(count)) return {on_device(block), chosen};
  std::vector<std::int32_t> positions(static_cast<std::size_t>(count));
  stream().download(positions.data(), chosen, count);
  return {gather(block, positions), nullptr};
}

template <class T>
const T* HeldRows<T>::gather(const Block<T>& block, std::span<const std::int32_t> chosen) const {
  host.upload_chosen(stream(), gathered.data(), block.first, chosen);
  return gathered.data();
}

template <class T>
bool HeldRows<T>::free_optional_memory() {
  if (!index.tree.is_empty() || index.cells != nullptr) {
    index = {};
    index.refused = true;
    return true;
  }
  if (fp16.values.size() > 0) {
    fp16 = {};
    long_rows = {};
    return true;
  }
  const bool is_elsewhere = host.reader != nullptr || host.values.data != nullptr;
  if (resident_rows == 0 || !is_elsewhere) return false;
  if (sent != nullptr) {
    divide(0);
  } else {
    resident.release();
    resident_rows = 0;
    send_blocks(0, 0);
  }
  return true;
}

#define KITH_INSTANTIATE(T) template struct HeldRows<T>;
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
