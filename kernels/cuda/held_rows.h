// The rows that the CUDA backend holds: on the device, or on the host and sent block by block; and their state, which
// is always on the device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/backend.h"
#include "core/screen.h"
#include "kernels/cuda/device/memory.h"

namespace kith::cuda {

/// One device as every operation needs it.
struct Context {
  explicit Context(const BackendOptions& options);

  int device = 0;
  int multiprocessors = 1;
  Pool pool;
  Stream stream;

  /// Blocks of a grid-stride kernel: enough for `items` at `per_block` each, and not more than keep the device busy.
  unsigned grid(std::int64_t items, std::int64_t per_block) const {
    const std::int64_t wanted = (items + per_block - 1) / per_block;
    return static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, std::int64_t{multiprocessors} * 16));
  }
};

/// Some of the held rows, while an operation works on them. Their state is at `first` of the per-row buffers.
template <class T>
struct Block {
  std::int64_t first = 0;  // position of the first row
  std::int64_t rows = 0;
  const T* resident = nullptr;  // where the values are on the device, null if they have to be sent
  const T* host = nullptr;
  T* staging = nullptr;  // where they are sent
};

/// Rows in half precision for the tensor cores (half_rows.h), empty where they are not used.
struct HalfRows {
  Buffer<uint4> values;
  Buffer<float> norm;      // (rows) |x^|, rounded up
  Buffer<float> residual;  // (rows) |x' - x^|, rounded up
  LargestNorms largest;
};

/// Running totals of rint(kept distance x scale) over groups of rows, for drawing rows.
struct DistanceTotals {
  static constexpr std::int64_t kGroup = 4096;  // rows per total
  bool current = false;                         // no kept distance has changed since
  int shift = 0;                                // of the scale
  std::vector<std::int64_t> inclusive;          // (groups) prefix sums
};

template <class T>
struct HeldRows {
  /// Throws OutOfMemory when not even the per-row state fits.
  HeldRows(std::shared_ptr<Context> where, MatrixView<const T> values, std::int64_t first_row, std::int64_t block_rows);

  std::shared_ptr<Context> context;
  MatrixView<const T> values;  // (n, d), the caller's memory
  std::int64_t first_row = 0;
  DataPlan plan;

  Buffer<T> resident;  // (n, d), or empty: then rows are sent through `staging`
  Buffer<T> staging;   // (block_rows, d)
  std::int64_t block_rows = 0;

  Buffer<std::int32_t> label;   // (n) -1 before the first assignment
  Buffer<std::int32_t> summed;  // (n) the label contained in the sums handed out
  Buffer<double> distance;      // (n) kept squared distance
  Buffer<float> norm;           // (n) |x^| of the screened rows, rounded up
  Buffer<float> half_norm;      // (n) float(|x'|^2 / 2)
  Buffer<float> center;         // (d, then zeros to a multiple of the tile's depth) of the screen
  LargestNorms largest;         // of the screened rows
  HalfRows half;                // of the resident rows
  mutable DistanceTotals totals;

  std::int64_t rows() const { return values.rows; }
  std::int64_t columns() const { return values.columns; }
  const Stream& stream() const { return context->stream; }
  Pool& pool() const { return context->pool; }

  /// Takes the points off the device for good; from now on they are sent block by block.
  void evict();
  std::int64_t largest_block() const { return std::min(block_rows, rows()); }

  /// work(block) on all rows, in order.
  template <class Work>
  void for_blocks(const Work& work) const {
    for (std::int64_t first = 0; first < rows(); first += block_rows) {
      const T* at = resident.size() > 0 ? resident.data() + first * columns() : nullptr;
      work(Block<T>{first, std::min(block_rows, rows() - first), at, values.data + first * columns(), staging.data()});
    }
  }
  /// The block's values on the device, sent there if need be. Valid until the next block's are.
  const T* on_device(const Block<T>& block) const {
    if (block.resident != nullptr) return block.resident;
    stream().upload(block.staging, block.host, block.rows * columns());
    return block.staging;
  }

 private:
  void make_staging(std::int64_t forced_rows);
};

/// Runs the work; when device memory runs out while the points take some of it, takes them off the device and runs it
/// again. The work must take all its buffers before it changes anything.
template <class T, class Work>
auto with_memory(HeldRows<T>& held, const Work& work) {
  check(cudaSetDevice(held.context->device));
  try {
    return work();
  } catch (const OutOfMemory&) {
    if (held.resident.size() == 0) throw;
  }
  held.evict();
  return work();
}

}  // namespace kith::cuda
