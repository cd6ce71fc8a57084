// The rows that the CUDA backend holds: on the device, or on the host and sent block by block; and their state, which
// is always on the device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/backend.h"
#include "core/screen.h"
#include "core/seeding.h"
#include "kernels/cuda/device/fp16_layout.h"
#include "kernels/cuda/runtime/memory.h"
#include "kernels/cuda/runtime/screen_path.h"
#include "kernels/cuda/runtime/sent_blocks.h"

namespace kith::cuda {

/// One device as every operation needs it.
struct Context {
  explicit Context(const BackendOptions& options);

  int device = 0;
  int multiprocessors = 1;
  ScreenPath screen = ScreenPath::float32;
  bool screen_named = false;  // then small problems are screened, too
  bool small_gaps = false;
  bool small_joins = false;
  Pool pool;
  Stream stream;
  Stream link{&stream};  // for copies beside the work

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
};

/// Some rows of a block on the device: row i is at values + chosen[i] d, or at values + i d where `chosen` is null.
template <class T>
struct ChosenRows {
  const T* values = nullptr;
  const std::int32_t* chosen = nullptr;
};

/// Half rows as the second operand of a product: columns that queries are multiplied with (fp16_operands.h). Empty
/// before the first search that wants them.
struct SearchColumns {
  Buffer<uint4> tiles;         // whole ones, where those of the half rows are not
  Buffer<float> score_base;    // (rows, padded, and a tile) added to the products of a search
  Buffer<float> product_base;  // the same of a search by inner product
};

/// Rows in half precision for the tensor cores (fp16_rows.h), empty where they are not used. They may be there when the
/// rows themselves are not.
struct Fp16Rows {
  Fp16Layout shape;
  Buffer<uint4> values;
  Buffer<float> norm;      // (rows) |x^|, rounded up
  Buffer<float> residual;  // (rows) |x' - x^|, rounded up
  LargestNorms largest;
  bool low_precision_ineffective = false;  // a pass left unusually many rows ambiguous
  mutable SearchColumns search;
};

/// What the last assignment proved of its labels (bounds.h): how much nearer each row is to its centroid than to any
/// other, in the unit of the half rows.
struct LabelBounds {
  /// As before the first assignment; memory is kept.
  void reset() {
    clusters = backoff = 0;
    next_backoff = 1;
    wanted = false;
  }

  Buffer<float> bound;                // (n)
  Buffer<double> centroids;           // (k, d) that the bounds are about
  std::int64_t clusters = 0;          // k; 0: nothing is known
  bool wanted = false;                // labels change so seldom that assignments are to keep bounds
  bool refused = false;               // there was no memory for them
  int backoff = 0, next_backoff = 1;  // assignments that keep none, since the bounds before them certified too few rows
};

/// The seeding candidates that were tried last.
struct SeedTrial {
  Buffer<double> candidates;   // (t, d)
  Buffer<std::uint32_t> near;  // (n) bit t: candidate t may be nearer than the kept distance
  FixedScale scale;
};

template <class T>
struct HeldRows {
  /// values: those of the block. Takes them as they arrive; all have when it returns. forced_rows: of a block that is
  /// sent; 0: all rows are held, if they fit. Throws OutOfMemory when not even the per-row state fits, and what ended
  /// the reading of the rows.
  HeldRows(std::shared_ptr<Context> where, MatrixView<const T> values, const PointBlock& block,
           std::int64_t forced_rows);

  std::shared_ptr<Context> context;
  MatrixView<const T> values;  // (n, d), the caller's memory
  std::int64_t first_row = 0;
  DataPlan plan;

  Buffer<T> resident;  // (n, d), or empty: then blocks of rows are sent
  mutable std::unique_ptr<SentBlocks<T>> sent;
  Buffer<T> gathered;  // a few rows of a block, where blocks are sent
  std::int64_t block_rows = 0;
  std::int64_t working_bytes = 0;  // of device memory, to be left to the operations where there are as many

  Buffer<double> weight;        // (n), or empty: every row weighs 1
  Buffer<std::int32_t> label;   // (n) -1 before the first assignment
  Buffer<std::int32_t> summed;  // (n) the label contained in the sums handed out
  Buffer<double> distance;      // (n) kept squared distance
  Buffer<float> norm;           // (n) |x^| of the screened rows, rounded up
  Buffer<float> half_sq_norm;   // (n) float(|x'|^2 / 2)
  Buffer<float> center;         // (d, then zeros to a multiple of the tile's depth) of the screen
  LargestNorms largest;         // of the screened rows
  Fp16Rows fp16;                // of all rows, or empty
  LabelBounds bounds;
  mutable DistanceTotals totals;
  SeedTrial trial;

  std::int64_t rows() const { return values.rows; }
  std::int64_t columns() const { return values.columns; }
  /// Of the rows from position `first` on.
  RowWeights weights(std::int64_t first) const {
    return RowWeights{weight.data(), plan.scales.whole_weights}.from(first);
  }
  const Stream& stream() const { return context->stream; }
  Pool& pool() const { return context->pool; }

  /// Frees the memory that an operation can best do without: the bounds, the half rows, then the rows, which are sent
  /// block by block from then on. False when none of them is on the device.
  bool give_way();
  std::int64_t largest_block() const { return std::min(block_rows, rows()); }

  /// work(block) on all rows, in order.
  template <class Work>
  void for_blocks(const Work& work) const {
    for (std::int64_t first = 0; first < rows(); first += block_rows) {
      work(Block<T>{first, std::min(block_rows, rows() - first)});
    }
  }
  /// The block's values on the device, sent there if need be. Valid until the next block's are asked for. An operation
  /// that may do without them asks only when it cannot: the next block begins its way then, too.
  const T* on_device(const Block<T>& block) const {
    return sent ? sent->on_device(block.first) : resident.data() + block.first * columns();
  }

  /// `count` rows of the block, at positions that are on the device. Few rows of a block that is not there are gathered
  /// on the host and sent alone. Valid until the next call of this or of on_device.
  ChosenRows<T> chosen_on_device(const Block<T>& block, const std::int32_t* chosen, std::int64_t count) const;

 private:
  void upload(Arrival* arrival);
  void send_blocks(std::int64_t forced_rows);
  std::int64_t resident_block_rows() const;
};

/// Runs the work; when device memory runs out, frees what can be done without, and runs it again. The work must take
/// all its buffers before it changes anything.
template <class T, class Work>
auto with_memory(HeldRows<T>& held, const Work& work) {
  check(cudaSetDevice(held.context->device));
  for (;;) {
    try {
      return work();
    } catch (const OutOfMemory&) {
      if (!held.give_way()) throw;
    }
  }
}

}  // namespace kith::cuda
