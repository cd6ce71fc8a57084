// The sum of the distances from every query to the rows of each cluster, as integers: q n distances by the definition.
//
// Compute-bound, q n d multiply-adds in float64. A task packs some queries in panels that stay in the second-level
// cache while it passes over blocks of rows, sorted by label and packed.
#include "core/rows_by_label.h"
#include "core/tree_order.h"
#include "kernels/cpu/operations.h"

namespace kith::cpu {
namespace {

constexpr std::int64_t kPanelValues = 32 << 10;  // values of the queries of a task: 256 KiB
constexpr std::int64_t kBlockValues = 8 << 10;   // values of a block of rows: 64 KiB

/// Panels of queries per task: few enough to keep all threads busy until the end.
std::int64_t panels_per_task(std::int64_t panels, std::int64_t panel_values, int threads) {
  constexpr std::int64_t kTasksEach = 8;
  const std::int64_t share = panels / (kTasksEach * threads);
  return std::max<std::int64_t>(std::min(share, kPanelValues / panel_values), 1);
}

/// packed[p][j][i] = column order[j] of query i of panel p; the last query fills a partial panel.
void pack_queries(MatrixView<const double> queries, const std::vector<std::int32_t>& order, int width,
                  std::vector<double>& packed) {
  const std::int64_t panels = ceil_div(queries.rows, width);
  packed.resize(static_cast<std::size_t>(panels * queries.columns * width));
  double* to = packed.data();
  for (std::int64_t p = 0; p < panels; ++p) {
    for (const std::int32_t j : order) {
      for (int i = 0; i < width; ++i) *to++ = queries(std::min(p * width + i, queries.rows - 1), j);
    }
  }
}

}  // namespace

template <class T>
void cluster_distances(const HeldRows<T>& held, const ClusterDistancesRequest& request, MatrixView<std::int64_t> sums) {
  const std::int64_t d = held.columns(), k = sums.columns;
  const RootSumKernels& kernels = held.set.root_sums;
  const std::vector<std::int32_t> order = tree_order(d);
  const RowsByLabel sorted = rows_by_label({held.label.data(), held.label.size()}, k);
  const auto count = static_cast<std::int64_t>(sorted.rows.size());
  const std::int64_t block_rows = held.block_rows > 0 ? held.block_rows : std::max<std::int64_t>(kBlockValues / d, 8);
  const std::int64_t panels = ceil_div(request.queries.rows, kernels.queries);
  const std::int64_t task_queries =
      panels_per_task(panels, d * kernels.queries, held.threads.count()) * kernels.queries;
  const std::int64_t tasks = ceil_div(request.queries.rows, task_queries);

  held.threads.run(tasks, [&](std::int64_t task, int) {
    const std::int64_t first_query = task * task_queries;
    const std::int64_t query_count = std::min(task_queries, request.queries.rows - first_query);
    std::vector<double> packed_queries, packed_rows(static_cast<std::size_t>(std::min(block_rows, count) * d));
    pack_queries(request.queries.middle(first_query, query_count), order, kernels.queries, packed_queries);
    std::vector<std::int64_t> partial(static_cast<std::size_t>(kernels.queries));
    std::int64_t cluster = 0;  // cluster of the first row of the block
    for (std::int64_t begin = 0; begin < count; begin += block_rows) {
      const std::int64_t end = std::min(begin + block_rows, count);
      double* to = packed_rows.data();
      for (std::int64_t i = begin; i < end; ++i) {
        const T* row = held.row(sorted.rows[i]);
        for (const std::int32_t j : order) *to++ = static_cast<double>(row[j]);
      }
      while (sorted.first[cluster + 1] <= begin) ++cluster;
      for (std::int64_t at = 0; at < query_count; at += kernels.queries) {
        const double* panel = packed_queries.data() + at * d;
        for (std::int64_t c = cluster; c < k && sorted.first[c] < end; ++c) {
          const std::int64_t from = std::max(sorted.first[c], begin), to_row = std::min(sorted.first[c + 1], end);
          if (from >= to_row) continue;
          std::fill(partial.begin(), partial.end(), 0);
          kernels.add(panel, packed_rows.data() + (from - begin) * d, to_row - from, d, request.scale, partial.data());
          for (std::int64_t i = 0; i < std::min<std::int64_t>(kernels.queries, query_count - at); ++i) {
            sums(first_query + at + i, c) += partial[i];
          }
        }
      }
    }
  });
}

#define KITH_INSTANTIATE(T) \
  template void cluster_distances(const HeldRows<T>&, const ClusterDistancesRequest&, MatrixView<std::int64_t>);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
