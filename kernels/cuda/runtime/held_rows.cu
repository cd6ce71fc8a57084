// Places the held rows: on the device if they fit, uploaded as they arrive; otherwise on the host, sent block by block.
#include "kernels/cuda/runtime/held_rows.h"

#include "kernels/cuda/runtime/staging.h"

namespace kith::cuda {
namespace {

// The size of a block bounds the memory of an operation.
constexpr std::int64_t kMostRows = std::int64_t{1} << 24;
constexpr std::int64_t kMostValues = std::int64_t{1} << 26;  // where a block has more than kManyRows rows
constexpr std::int64_t kManyRows = std::int64_t{1} << 20;
constexpr std::int64_t kMostSent = std::int64_t{256} << 20;     // bytes of a block that is sent
constexpr std::int64_t kWorkingMemory = std::int64_t{1} << 30;  // bytes reserved for the operations, at most
constexpr std::int64_t kFewRows = 8;      // `gathered` has a buffer for one row of a block in this many
constexpr std::int64_t kWholeRows = 256;  // two groups of fp16 rows; blocks are multiples of it where they can be

}  // namespace

template <class T>
HeldRows<T>::HeldRows(std::shared_ptr<Context> where, MatrixView<const T> from, const PointBlock& block,
                      std::int64_t forced_rows)
    : context(std::move(where)), values(from), first_row(block.first_row) {
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
  if (!forced && value_bytes <= free - state_bytes - working_bytes) {
    try {
      resident = Buffer<T>(pool(), n * columns());
    } catch (const OutOfMemory&) {  // another process took the memory meanwhile
    }
  }
  if (resident.size() > 0) {
    block_rows = std::clamp<std::int64_t>(n, 1, resident_block_rows());
    upload(block.arrival);
  } else {
    send_blocks(forced ? forced_rows : 0);
    if (block.arrival != nullptr) block.arrival->wait_for(n);
  }
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
  const std::int64_t n = rows(), row_bytes = columns() * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t batch = Staging::kWorthwhile / row_bytes + 1;  // rows worth a staged upload
  for (std::int64_t first = 0; first < n;) {
    const std::int64_t arrived = arrival != nullptr ? arrival->wait_for(std::min(first + batch, n)) : n;
    stream().upload(resident.data() + first * columns(), values.data + first * columns(),
                    (arrived - first) * columns());
    first = arrived;
  }
}

template <class T>
void HeldRows<T>::send_blocks(std::int64_t forced_rows) {
  const std::int64_t row_bytes = columns() * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t most_bytes = std::min(kMostSent, pool().available() / 8);  // two blocks are on the device
  std::int64_t requested = forced_rows;
  if (requested == 0) {
    requested = most_bytes / row_bytes;
    if (requested > kWholeRows) requested = requested / kWholeRows * kWholeRows;
  }
  block_rows = std::clamp<std::int64_t>(requested, 1, std::clamp<std::int64_t>(rows(), 1, kMostRows));
  sent = std::make_unique<SentBlocks<T>>(
      typename SentBlocks<T>::Route{context->device, pool(), stream(), values, block_rows});
  gathered = Buffer<T>(pool(), (block_rows + kFewRows - 1) / kFewRows * columns());
}

template <class T>
ChosenRows<T> HeldRows<T>::chosen_on_device(const Block<T>& block, const std::int32_t* chosen,
                                            std::int64_t count) const {
  if (!sent || count > gathered.size() / columns()) return {on_device(block), chosen};
  std::vector<std::int32_t> positions(static_cast<std::size_t>(count));
  stream().download(positions.data(), chosen, count);
  Matrix<T> rows(count, columns());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto row = values.row(block.first + positions[static_cast<std::size_t>(i)]);
    std::copy(row.begin(), row.end(), rows.row(i).begin());
  }
  stream().upload(gathered.data(), rows.data(), rows.size());
  return {gathered.data(), nullptr};
}

template <class T>
bool HeldRows<T>::free_optional_memory() {
  if (!cells.tree.is_empty()) {
    cells = {};
    cells.refused = true;
    return true;
  }
  if (bounds.bound.size() > 0) {
    bounds = {};
    bounds.refused = true;
    return true;
  }
  if (fp16.values.size() > 0) {
    fp16 = {};
    long_rows = {};
    return true;
  }
  if (resident.size() == 0) return false;
  stream().wait();
  resident.release();
  send_blocks(0);
  return true;
}

#define KITH_INSTANTIATE(T) template struct HeldRows<T>;
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
