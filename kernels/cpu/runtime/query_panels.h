// Queries packed in row panels, and their products with blocks of the base, for searches and sums of distances.
#pragma once

#include "kernels/cpu/runtime/panels.h"

namespace kith::cpu {

/// One panel of queries and one partition of the tiles of a block.
struct QueryTask {
  std::int64_t panel, partition, first_tile, last_tile;
  int thread;
};

/// Partitions of the rows, to give every thread work on `groups` groups of queries.
inline std::int64_t partitions_for(const Threads& threads, std::int64_t groups) {
  return std::clamp<std::int64_t>(4 * threads.count() / groups, 1, 64);
}

template <class T>
class QueryPanels {
 public:
  /// center: (d), subtracted from the queries.
  QueryPanels(const HeldRows<T>& held, const ScreenKernels& kernels, MatrixView<const double> queries,
              const std::vector<float>& center)
      : held_(held),
        kernels_(kernels),
        queries_(queries.rows),
        packed_(ceil_div(queries_, kernels.lanes), kernels.panel_bytes(held.columns())),
        norms_(packed_.rows()) {
    held.threads.run(count(), [&](std::int64_t p, int) {
      const double* rows[kMaxLanes];
      for (int lane = 0; lane < kernels.lanes; ++lane) {
        rows[lane] = queries.row(std::min(p * kernels.lanes + lane, queries_ - 1)).data();
      }
      kernels.pack_rows.of<double>()(rows, held.columns(), held.scale(), center.data(), packed_.row(p).data(),
                                     &norms_[p]);
    });
  }

  std::int64_t count() const { return packed_.rows(); }
  const std::byte* panel(std::int64_t number) const { return packed_.row(number).data(); }
  float norm(std::int64_t query) const { return norms_[query / kernels_.lanes].norm[query % kernels_.lanes]; }
  /// 2 E of a query for the rows packed so far.
  float margin(const ScreenColumns& base, std::int64_t query) const {
    return base.margin(norm(query), norms_[query / kernels_.lanes].residual[query % kernels_.lanes]);
  }

  /// Packs the base from row `first` on, block by block. For each block, calls begin(base), then work(base, first row,
  /// task) for each panel and partition on all threads.
  template <class Begin, class Work>
  void for_blocks(std::int64_t first, std::int64_t partitions, Scores scores, const Begin& begin,
                  const Work& work) const {
    const std::int64_t step = tile_columns(kernels_);
    constexpr std::int64_t kBlockBytes = 1 << 20;  // fits the second-level cache
    const std::int64_t target = held_.block_rows > 0
                                    ? held_.block_rows
                                    : std::max(kBlockBytes / kernels_.column_bytes(held_.columns()), 4 * step);
    const std::int64_t block = std::min(ceil_div(target, step), ceil_div(held_.rows() - first, step)) * step;
    ScreenColumns base(held_, kernels_, std::min(block, held_.rows() - first), scores);
    for (; first < held_.rows(); first += block) {
      base.pack(held_, held_.row(first), std::min(block, held_.rows() - first));
      begin(base);
      const std::int64_t tiles = ceil_div(base.count(), step);
      held_.threads.run(count() * partitions, [&](std::int64_t number, int thread) {
        const std::int64_t panel = number / partitions, partition = number % partitions;
        work(base, first,
             QueryTask{panel, partition, tiles * partition / partitions, tiles * (partition + 1) / partitions, thread});
      });
    }
  }

  /// Calls add(query, row position, score) for every score within the limits of a task. update(limit) sets the limits
  /// (lanes) before each tile.
  template <class Update, class Add>
  void collect(const ScreenColumns& base, std::int64_t first, const QueryTask& task, const Update& update,
               const Add& add) const {
    const int lanes = kernels_.lanes;
    Matrix<float> products(kTileColumns, lanes);
    std::vector<Hit> hits(static_cast<std::size_t>(kTileColumns) * lanes);
    float limit[kMaxLanes];
    const auto visit = [&](std::int64_t from, std::int64_t columns, const float* half_sq_norm) {
      const std::int64_t count = kernels_.scores.collect(products.data(), half_sq_norm, columns, limit, hits.data());
      for (std::int64_t h = 0; h < count; ++h) {
        const std::int64_t q = task.panel * lanes + hits[h].lane;
        if (q < queries_) add(q, first + from + hits[h].column, hits[h].score);
      }
    };
    for (std::int64_t tile = task.first_tile; tile < task.last_tile; ++tile) {
      update(limit);
      base.multiply_tile(tile, panel(task.panel), products.data(), visit);
    }
  }

 private:
  const HeldRows<T>& held_;
  const ScreenKernels& kernels_;
  std::int64_t queries_;
  Matrix<std::byte> packed_;  // (panels, bytes)
  std::vector<PanelNorms> norms_;
};

}  // namespace kith::cpu
