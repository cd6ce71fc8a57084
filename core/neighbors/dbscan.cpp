// Counts the neighbours of every row, unites core rows, and labels border rows.
#include "core/neighbors/dbscan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/neighbors/graph.h"

namespace kith {
namespace {

/// A border row, and a core row within its limit.
struct Border {
  std::int64_t row, core;
};

}  // namespace

DbscanResult dbscan(const PointNeighbors& base, PointsView rows, const DbscanOptions& options, Observer& observer) {
  const std::int64_t n = rows_of(rows);
  RadiusOptions search{.limit = options.limit,
                       .measure = options.measure,
                       .base_is_queries = true,
                       .include_self = true,
                       .block_queries = options.block_queries};
  DbscanResult result;
  result.is_core.resize(static_cast<std::size_t>(n));
  {
    const std::vector<std::int64_t> counts = count_radius_neighbors(base, rows, search, observer);
    std::int64_t pairs = 0;
    for (std::size_t row = 0; row < counts.size(); ++row) {
      pairs += counts[row];
      result.is_core[row] = counts[row] >= options.min_points ? 1 : 0;
    }
    // Blocks whose lists fit.
    if (options.block_queries == 0)
      search.block_queries = std::clamp<std::int64_t>(search.capacity / (pairs / n), 1, n);
  }
  const auto is_core = [&](std::int64_t row) { return result.is_core[static_cast<std::size_t>(row)] != 0; };

  search.pairs_once = true;
  search.sorted = false;
  ConnectedComponents components(n);
  std::vector<Border> borders;
  std::vector<std::int64_t> last(static_cast<std::size_t>(n), -1);  // the core row of a border row's last entry
  const auto connect = [&](std::int64_t a, std::int64_t b) {
    if (is_core(a) && is_core(b)) return components.unite(a, b);
    if (!is_core(a) && !is_core(b)) return;
    const std::int64_t border = is_core(a) ? b : a, core = components.root(is_core(a) ? a : b);
    // Most border rows touch one cluster, so that one core row says enough.
    if (std::exchange(last[static_cast<std::size_t>(border)], core) != core) borders.push_back({border, core});
  };
  radius_neighbors(
      base, rows, search,
      [&](std::int64_t first, std::span<const std::vector<Neighbor>> lists) {
        for (std::size_t i = 0; i < lists.size(); ++i) {
          for (const Neighbor& neighbor : lists[i]) connect(first + static_cast<std::int64_t>(i), neighbor.row);
        }
        return true;
      },
      observer);

  // A cluster's lowest row is a core row: only core rows were united.
  result.labels.assign(static_cast<std::size_t>(n), -1);
  std::vector<std::int32_t> number(static_cast<std::size_t>(n), -1);  // of the cluster with this lowest row
  std::int64_t clusters = 0;
  for (std::int64_t row = 0; row < n; ++row) {
    if (!is_core(row)) continue;
    std::int32_t& own = number[static_cast<std::size_t>(components.root(row))];
    if (own < 0) {
      if (clusters == std::numeric_limits<std::int32_t>::max()) {
        throw Error(ExitCode::data, "expected at most 2147483647 clusters, found more; give a larger --radius");
      }
      own = static_cast<std::int32_t>(clusters++);
    }
    result.labels[static_cast<std::size_t>(row)] = own;
    ++result.core;
  }
  for (const Border& border : borders) {
    const std::int32_t cluster = number[static_cast<std::size_t>(components.root(border.core))];
    std::int32_t& label = result.labels[static_cast<std::size_t>(border.row)];
    if (label < 0 || cluster < label) label = cluster;
  }
  result.counts.assign(static_cast<std::size_t>(clusters), 0);
  for (const std::int32_t label : result.labels) {
    label < 0 ? ++result.noise : ++result.counts[static_cast<std::size_t>(label)];
  }
  return result;
}

double knee_of(const std::vector<double>& distances) {
  const double first = distances.front(), range = distances.back() - first;
  if (!(range > 0.0)) return first;
  const double last = static_cast<double>(distances.size() - 1);
  std::size_t knee = 0;
  double deepest = 0.0;
  for (std::size_t i = 0; i < distances.size(); ++i) {
    const double depth = static_cast<double>(i) / last - (distances[i] - first) / range;
    if (depth > deepest) {
      deepest = depth;
      knee = i;
    }
  }
  return distances[knee];
}

}  // namespace kith
