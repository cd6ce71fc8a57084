// Suite `sweep`: assignments over a grid of columns and centroids. If the time grew linearly in both, the time per row
// and multiply-add would be the same everywhere in the grid.
#include <fmt/format.h>

#include <algorithm>

#include "bench/suites/bench.h"

namespace kith::app {
namespace {

/// Enough rows to exceed the caches, to keep all threads busy, and for the largest K of the grid.
std::int64_t rows_for(std::int64_t columns) {
  constexpr std::int64_t kValues = std::int64_t{1} << 23, kFewest = 4096, kMost = std::int64_t{1} << 20;
  return std::clamp(kValues / columns, kFewest, kMost);
}

std::vector<BenchShape> own_shapes() {
  std::vector<BenchShape> shapes;
  for (std::int64_t columns = 2; columns <= 2048; columns *= 4) {
    for (const std::int64_t clusters : {2, 8, 32, 128, 512, 1024, 4096}) {
      shapes.push_back({rows_for(columns), columns, {clusters}});
    }
  }
  return shapes;
}

}  // namespace

std::vector<BenchRow> bench_sweep(BenchRun& run) {
  std::vector<BenchRow> rows;
  BenchPoints held(run);
  for (const BenchShape& shape : run.options.shapes.empty() ? own_shapes() : shapes_of(run, {}, {})) {
    for (const Kind* kind : run.kinds) {
      held.make(shape, *kind);
      BenchRow row = assigned_row(run, shape, held);
      if (row.timing) {
        const double each = row.timing->median / static_cast<double>(shape.rows);
        const auto products = static_cast<double>(shape.counts[0]) * static_cast<double>(shape.columns);
        row.note = fmt::format("{:.3g} ns per row, {:.3g} ps per multiply-add", each * 1e9, each * 1e12 / products);
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace kith::app
