// The sum of the distances from every query to the rows of each cluster, as integers: q n distances by the definition.
//
// Compute-bound, q n d multiply-adds in float64. A task packs some queries in panels that stay in the second-level
// cache while it passes over blocks of rows, sorted by label and packed in groups. Clusters that no query of a panel
// wants are left out.
//
// Bounds of the sums come from a screen: q n d multiply-adds in low precision, and two square roots per pair. With s
// the score of a row y for a query x and E its error bound (core/numbers/screen.h), D(x, y) = 4^exponent (|x'|^2 + 2 s)
// lies within 2 E 4^exponent of what the screen gives. Every cluster has its own margin, that of its longest row.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "core/kmeans/rows_by_label.h"
#include "core/neighbors/tree_order.h"
#include "kernels/cpu/points.h"
#include "kernels/cpu/runtime/panels.h"

namespace kith::cpu {
namespace {

constexpr std::int64_t kPanelValues = 96 << 10;  // values of the queries of a task: 768 KiB
constexpr int kMaxGroup = 4;                     // rows of a group
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

/// packed[g][j][r] = column order[j] of row r of group g; the last row fills a partial group.
template <class T>
void pack_rows(const HeldRows<T>& held, std::span<const std::int64_t> rows, const std::vector<std::int32_t>& order,
               int width, double* packed) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const T* group[kMaxGroup];
  for (std::int64_t first = 0; first < count; first += width) {
    for (int r = 0; r < width; ++r) group[r] = held.row(rows[std::min(first + r, count - 1)]);
    for (const std::int32_t j : order) {
      for (int r = 0; r < width; ++r) *packed++ = static_cast<double>(group[r][j]);
    }
  }
}

/// The terms that scores need to become bounds of D 4^-exponent / 2, per lane of a panel; infinite: no bound.
struct RootTerms {
  float low[kMaxLanes], high[kMaxLanes];
};

/// An upper bound of |x'|^2 / 2 from the norm of a panel, which was summed in float32.
double upper_half_sq_norm(float norm, std::int64_t d) {
  const double most = static_cast<double>(norm) * (1 + (static_cast<double>(d) + 10) * 0x1p-24) + 0x1p-140;
  return most * most / 2;
}

template <class T>
RootTerms terms_of(const QueryPanels<T>& panels, const ScreenColumns& base, std::int64_t first, std::int64_t count,
                   std::int64_t d) {
  RootTerms terms;
  std::fill_n(terms.low, kMaxLanes, -kInfinity);
  std::fill_n(terms.high, kMaxLanes, kInfinity);
  for (std::int64_t lane = 0; lane < count; ++lane) {
    const double margin = panels.margin(base, first + lane);
    if (!(margin < kInfinity)) continue;
    const float norm = panels.norm(first + lane);
    const double most = upper_half_sq_norm(norm, d);
    // The scores are added to these terms in float32; no score exceeds |c'|^2 / 2 + |x'| |c'| by more than its margin.
    const double longest = base.largest_norm(),
                 error = margin / 2 + 0x1p-21 * (most + longest * (longest + norm) + margin);
    terms.low[lane] = static_cast<float>(lower_half_sq_norm(norm, d) - error);
    terms.high[lane] = static_cast<float>(most + error);
  }
  return terms;
}

}  // namespace

template <class T>
void CpuPoints<T>::cluster_distances(const ClusterDistancesRequest& request, MatrixView<std::int64_t> sums) const {
  const std::int64_t d = held_.columns(), k = sums.columns;
  const RootSumKernels& kernels = held_.set.root_sums;
  const std::vector<std::int32_t> order = tree_order(d);
  const RowsByLabel sorted = rows_by_label({held_.label.data(), held_.label.size()}, k);
  const std::int64_t block_rows = held_.block_rows > 0 ? held_.block_rows : std::max<std::int64_t>(kBlockValues / d, 8);
  const std::int64_t panels = ceil_div(request.queries.rows, kernels.queries);
  const std::int64_t task_queries =
      panels_per_task(panels, d * kernels.queries, held_.threads.count()) * kernels.queries;
  const std::int64_t tasks = ceil_div(request.queries.rows, task_queries);

  held_.threads.run(tasks, [&](std::int64_t task, int) {
    const std::int64_t first_query = task * task_queries;
    const std::int64_t query_count = std::min(task_queries, request.queries.rows - first_query);
    std::vector<double> packed_queries, packed_rows(static_cast<std::size_t>((block_rows + kernels.rows) * d));
    pack_queries(request.queries.middle(first_query, query_count), order, kernels.queries, packed_queries);
    std::vector<std::int64_t> partial(static_cast<std::size_t>(kernels.queries));
    std::vector<std::int64_t> panels_wanting;  // their first queries
    for (std::int64_t c = 0; c < k; ++c) {
      panels_wanting.clear();
      for (std::int64_t at = 0; at < query_count; at += kernels.queries) {
        const std::int64_t end = std::min<std::int64_t>(at + kernels.queries, query_count);
        if (request.any_wants(c, first_query + at, first_query + end)) panels_wanting.push_back(at);
      }
      if (panels_wanting.empty()) continue;
      for (std::int64_t begin = sorted.first[c]; begin < sorted.first[c + 1]; begin += block_rows) {
        const std::int64_t end = std::min(begin + block_rows, sorted.first[c + 1]);
        pack_rows(held_, {sorted.rows.data() + begin, sorted.rows.data() + end}, order, kernels.rows,
                  packed_rows.data());
        for (const std::int64_t at : panels_wanting) {
          std::fill(partial.begin(), partial.end(), 0);
          kernels.add(packed_queries.data() + at * d, packed_rows.data(), end - begin, d, request.scale,
                      partial.data());
          for (std::int64_t i = 0; i < std::min<std::int64_t>(kernels.queries, query_count - at); ++i) {
            sums(first_query + at + i, c) += partial[i];
          }
        }
      }
    }
  });
}

template <class T>
bool CpuPoints<T>::bound_cluster_distances(const ClusterDistancesRequest& request, MatrixView<double> lower,
                                           MatrixView<double> upper) const {
  constexpr std::int64_t kFewestColumns =
      32;  // for fewer, the square roots of the bounds cost as much as the definition
  constexpr std::int64_t kBlockBytes = 1 << 20;
  const std::int64_t d = held_.columns(), k = lower.columns, queries = request.queries.rows;
  const ScreenKernels& screen = held_.set.finer_screen();  // the products cost less than what a small margin saves
  if (d < kFewestColumns || queries < screen.lanes) return false;
  const RowsByLabel sorted = rows_by_label({held_.label.data(), held_.label.size()}, k);
  const QueryPanels<T> panels(held_, screen, request.queries, held_.plan.screen.center);
  const std::int64_t block = std::max(kBlockBytes / screen.column_bytes(d), tile_columns(screen));
  // Twice the score has the square root sqrt(2) root; sums of a tile are rounded by less than 2^-17, and this outwards.
  const double unit = std::ldexp(std::sqrt(2.0), held_.plan.screen.exponent);
  Matrix<T> rows(block, d);
  std::fill_n(lower.data, lower.size(), 0.0);
  std::fill_n(upper.data, upper.size(), 0.0);
  for (std::int64_t c = 0; c < k; ++c) {
    std::vector<std::int64_t> wanting;  // panels
    for (std::int64_t p = 0; p < panels.count(); ++p) {
      if (request.any_wants(c, p * screen.lanes, std::min((p + 1) * screen.lanes, queries))) wanting.push_back(p);
    }
    ScreenColumns base(held_, screen, block);
    for (std::int64_t begin = sorted.first[c]; !wanting.empty() && begin < sorted.first[c + 1]; begin += block) {
      const std::int64_t count = std::min(block, sorted.first[c + 1] - begin);
      for (std::int64_t i = 0; i < count; ++i) std::copy_n(held_.row(sorted.rows[begin + i]), d, rows.row(i).data());
      base.pack(held_, rows.data(), count);
      held_.threads.run(std::ssize(wanting), [&](std::int64_t task, int) {
        const std::int64_t panel = wanting[task], first = panel * screen.lanes;
        const std::int64_t lanes = std::min<std::int64_t>(screen.lanes, queries - first);
        const RootTerms terms = terms_of(panels, base, first, lanes, d);
        Matrix<float> tile(kTileColumns, screen.lanes);
        float below[kMaxLanes], above[kMaxLanes];
        for (std::int64_t t = 0; t < base.tiles(); ++t) {
          const MultipliedColumns columns = base.multiply(t, panels.panel(panel), tile.data());
          screen.scores.root_sums(tile.data(), columns.half_sq_norm, columns.count, terms.low, terms.high, below,
                                  above);
          for (std::int64_t lane = 0; lane < lanes; ++lane) {
            const bool bounded = terms.high[lane] < std::numeric_limits<float>::infinity();
            lower(first + lane, c) += bounded ? below[lane] * unit * (1 - 0x1p-16) : 0.0;
            upper(first + lane, c) +=
                bounded ? above[lane] * unit * (1 + 0x1p-16) : std::numeric_limits<double>::infinity();
          }
        }
      });
    }
  }
  return true;
}

#define KITH_INSTANTIATE(T)                                                                                      \
  template void CpuPoints<T>::cluster_distances(const ClusterDistancesRequest&, MatrixView<std::int64_t>) const; \
  template bool CpuPoints<T>::bound_cluster_distances(const ClusterDistancesRequest&, MatrixView<double>,        \
                                                      MatrixView<double>) const;
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
