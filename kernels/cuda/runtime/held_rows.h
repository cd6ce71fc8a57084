// The rows that the CUDA backend holds, and their state. The state is always on the device, and so are the rows if they
// fit. If not, only the first are; the others are on the host and sent block by block.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/kmeans/seeding.h"
#include "core/numbers/screen.h"
#include "core/points/backend.h"
#include "core/points/decision.h"
#include "kernels/cuda/device/fp16_layout.h"
#include "kernels/cuda/runtime/box_tree.h"
#include "kernels/cuda/runtime/memory.h"
#include "kernels/cuda/runtime/observations.h"
#include "kernels/cuda/runtime/screen_path.h"
#include "kernels/cuda/runtime/sent_blocks.h"

namespace kith::cuda {

/// One device: its stream, its memory and its properties.
struct Context {
  explicit Context(const BackendOptions& options, const ForcedPaths& paths = {});

  int device = 0;
  int multiprocessors = 1;
  ScreenPath screen = ScreenPath::float32;
  Machine machine;  // by which methods are chosen (kernels/cuda/choice)
  mutable Decisions decisions;
  ForcedPaths forced;
  Pool pool;
  Stream stream;
  Stream link{&stream};  // for copies that overlap the work
  Stream ahead;          // for blocks that a thread sends while others are searched

  /// The blocks of a grid-stride kernel: enough for `items` at `per_block` each, and no more than keep the device busy.
  unsigned grid(std::int64_t items, std::int64_t per_block) const {
    const std::int64_t needed = (items + per_block - 1) / per_block;
    return static_cast<unsigned>(std::clamp<std::int64_t>(needed, 1, std::int64_t{multiprocessors} * 16));
  }
};

/// Consecutive held rows that an operation processes together. Their state is at `first` of the per-row buffers.
template <class T>
struct Block {
  std::int64_t first = 0;  // position of the first row
  std::int64_t rows = 0;
};

/// Chosen rows of a block on the device: row i is at values + chosen[i] d, or at values + i d where `chosen` is null.
template <class T>
struct ChosenValues {
  const T* values = nullptr;
  const std::int32_t* chosen = nullptr;
};

/// The fp16 rows as columns of a product with queries (search/fp16_operands.h). Empty before the first search that uses
/// them.
struct SearchColumns {
  Buffer<uint4> tiles;         // full ones; empty where the fp16 rows have full ones already
  Buffer<float> score_base;    // (rows, padded, and a tile) added to the products of a search
  Buffer<float> product_base;  // the same for a search by inner product
};

/// Rows far longer than the others (Fp16Rows::longer_rows), which searches measure apart (search/fp16_operands.h), so
/// that the error bound of the scores is that of the others.
template <class T>
struct LongRows {
  bool examined = false;
  BoxTree<T> tree;           // of the long rows; empty: there are none
  LargestNorms others;       // fp16 norms of the other rows
  float max_norm = 0.0F;     // |x^| of the other rows, at most
  Buffer<float> score_base;  // that of SearchColumns, except that long rows do not exist
};

/// Rows in fp16 for the tensor cores (screen/fp16_rows.h), empty where they are not used. They may be on the
/// device while the rows themselves are on the host. Where memory is short, those of the first blocks are kept, and
/// fp16_tiles() makes those of another block in a place behind them.
struct Fp16Rows {
  bool are_kept() const { return values.size() > 0 && !by_block; }
  /// The row of the tiles in `values` where a block begins.
  std::int64_t place_of_block(std::int64_t first) const { return by_block && first >= kept_rows ? kept_rows : first; }

  Fp16Layout shape;
  Buffer<uint4> values;        // of all rows; or of kept_rows, and of the block that begins at row `made`
  bool by_block = false;       // not all rows are kept
  std::int64_t kept_rows = 0;  // of whole blocks; only if by_block
  mutable std::int64_t made = -1;
  Buffer<float> norm;      // (rows) |x^|, rounded up
  Buffer<float> residual;  // (rows) |x' - x^|, rounded up
  LargestNorms largest;
  /// Rows with |x^| up to screened.norm are screened, of which the largest |x' - x^| is screened.residual
  /// (screen/fp16_rows.h). Infinite: all rows.
  LargestNorms screened{std::numeric_limits<double>::infinity(), 0.0};
  Buffer<std::int32_t> longer_rows;               // positions of the few longer ones, ascending
  std::vector<std::int32_t> longer_rows_on_host;  // the same
  double shortest_longer = 0.0;                   // |x'| of the longer rows, at least
  float usual_norm = 0.0F;                        // half of the rows are not longer
  mutable SearchColumns search;
};

/// The most recent seeding candidates.
struct SeedTrial {
  Buffer<double> candidates;   // (t, d)
  Buffer<std::uint32_t> near;  // (n) bit t: candidate t may be nearer than the kept distance
  FixedScale scale;
};

template <class T>
struct HeldRows {
  /// values: those of the block. Uploads them as they arrive, and returns after the last has. forced_rows: rows of a
  /// block, so that a third of the blocks are on the device and the others are sent; 0: all rows are on the device if
  /// they fit. Rows of a reader that are only searched stay unread. Throws OutOfMemory when not even the per-row state
  /// fits, and rethrows an error of the reader.
  HeldRows(std::shared_ptr<Context> where, MatrixView<const T> values, const PointBlock& block,
           std::int64_t forced_rows);
  /// Rows (count, d) that are on the device, and only there. They have the state that searches need, and no labels;
  /// they can free no memory of rows.
  HeldRows(std::shared_ptr<Context> where, Buffer<T> values, std::int64_t count, std::int64_t d);

  std::shared_ptr<Context> context;
  HostRows<T> host;  // (n, d), in the caller's memory or a file
  std::int64_t first_row = 0;
  DataPlan plan;

  Buffer<T> resident;  // (resident_rows, d) of the first blocks
  std::int64_t resident_rows = 0;
  mutable std::unique_ptr<SentBlocks<T>> sent;  // of the other blocks; null: there are none
  Buffer<T> gathered;                           // a few rows of a block; only where blocks are sent
  std::int64_t block_rows = 0;
  std::int64_t working_bytes = 0;  // of device memory that the operations should have
  bool unread = false;  // nothing is on the device: each search reads the rows, block by block (block_search.cpp)

  Buffer<double> weight;        // (n); empty: every row weighs 1
  Buffer<std::int32_t> label;   // (n) -1 before the first assignment
  Buffer<std::int32_t> summed;  // (n) the label that the cluster sums include; -1: none
  Buffer<double> distance;      // (n) squared distance to the centroid of the label, or to the nearest seed
  Buffer<float> norm;           // (n) |x^| of the screened rows, rounded up
  Buffer<float> half_sq_norm;   // (n) float(|x'|^2 / 2)
  Buffer<float> center;         // (d, zero up to a multiple of the tile depth) of the screen
  LargestNorms largest;         // of the screened rows
  Fp16Rows fp16;                // of all rows; or empty
  AssignmentObservations observed;
  mutable SearchIndex<T> index;
  mutable LongRows<T> long_rows;
  mutable DistanceTotals totals;
  SeedTrial trial;

  std::int64_t rows() const { return host.values.rows; }
  std::int64_t columns() const { return host.values.columns; }
  /// The weights of the rows from position `first` on.
  RowWeights weights(std::int64_t first) const {
    return RowWeights{weight.data(), plan.scales.integral_weights}.from(first);
  }
  const Stream& stream() const { return context->stream; }
  Pool& pool() const { return context->pool; }

  /// Frees memory that results do not depend on: first the tree of boxes, then the fp16 rows, then the rows, which are
  /// sent block by block from then on. False when none of them is on the device.
  bool free_optional_memory();
  bool is_resident(const Block<T>& block) const { return block.first < resident_rows; }
  /// Whether on_device() has the block without sending it.
  bool is_on_device(const Block<T>& block) const { return is_resident(block) || sent->holds(block.first); }
  std::int64_t largest_block() const { return std::min(block_rows, rows()); }
  /// Makes all rows (n, d), which are on the device already, resident, with the state that searches need. They have no
  /// plan yet. Throws OutOfMemory.
  void keep(Buffer<T> values);

  /// Calls work(block) for all blocks, in order.
  template <class Work>
  void for_blocks(const Work& work) const {
    for (std::int64_t first = 0; first < rows(); first += block_rows) {
      work(Block<T>{first, std::min(block_rows, rows() - first)});
    }
  }
  /// The block's values on the device, sent there if necessary. Valid until the next call. The call also starts to send
  /// the next block, so an operation that may not need the values should call it late.
  const T* on_device(const Block<T>& block) const {
    return is_resident(block) ? resident.data() + block.first * columns() : sent->on_device(block.first);
  }

  /// `count` rows of the block; `chosen` (their positions) is on the device. Few rows of a block that is not there are
  /// gathered on the host and sent instead of the block. Valid until the next call of this function or of on_device.
  ChosenValues<T> chosen_on_device(const Block<T>& block, const std::int32_t* chosen, std::int64_t count) const;
  /// The same for positions on the host, of a block that is not there and of which so few rows can be gathered.
  bool can_gather(std::int64_t count) const { return count <= gathered.size() / columns(); }
  const T* gather(const Block<T>& block, std::span<const std::int32_t> chosen) const;

 private:
  void upload(Arrival* arrival);
  /// Chooses the blocks, and keeps the first ones on the device: at most most_resident rows.
  void send_blocks(std::int64_t forced_rows, std::int64_t most_resident);
  /// Makes the first `count` rows resident, if there is memory, and prepares to send the others.
  void divide(std::int64_t count);
  std::int64_t resident_block_rows() const;
};

/// Runs the work; when device memory runs out, frees optional memory and runs the work again. The work must allocate
/// all its buffers before it changes any state.
template <class T, class Work>
auto with_memory(HeldRows<T>& held, const Work& work) {
  check(cudaSetDevice(held.context->device));
  for (;;) {
    try {
      return work();
    } catch (const OutOfMemory&) {
      if (!held.free_optional_memory()) throw;
    }
  }
}

}  // namespace kith::cuda
