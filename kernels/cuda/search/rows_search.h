// Searches of the rows of a cell, or of all, for queries on the device, whose lists stay there; their lists are stored
// or merged as lists of rows among all held ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/search/cells.h"
#include "kernels/cuda/search/device_lists.h"
#include "kernels/cuda/search/fp16_operands.h"
#include "kernels/cuda/search/fp16_search.h"
#include "kernels/cuda/search/row_sample.h"
#include "kernels/cuda/search/tree.h"

namespace kith::cuda {

/// How the rows of a cell are numbered among all rows.
struct CellRows {
  const std::int32_t* position = nullptr;  // (rows of the cell) ascending, among the held rows
  std::int64_t first_row = 0;              // row number of position 0

  __device__ std::int64_t number(std::int64_t row) const { return row < 0 ? -1 : first_row + position[row]; }
  /// The row of the cell, of `rows` rows, that is at this position among the held rows; -1: none.
  __device__ std::int32_t place(std::int64_t held, std::int64_t rows) const {
    const std::int64_t found = count_less(rows, [&](std::int64_t at) { return position[at] < held; });
    return found < rows && position[found] == held ? static_cast<std::int32_t>(found) : -1;
  }
};

/// Lists (count, k) that a search of a cell found for some queries, or rows.
struct FoundLists {
  DeviceLists lists;
  std::int64_t count = 0, k = 0;
  CellRows rows;
  const std::int32_t* chosen = nullptr;  // (count) the queries, each once
};

/// Stores found lists as those of the queries. Asynchronous.
void store_found(const Context& context, const FoundLists& found, const DeviceLists& lists);

/// Merges found lists into those of the queries, without fallback queries, which have no first entry. Where none was
/// found, the query becomes a fallback query. memory: of (count, k) lists. Asynchronous.
void merge_found(const Context& context, const FoundLists& found, const DeviceLists& memory, const DeviceLists& lists);

/// out (count): the places in a cell of `rows` rows of the held rows at positions first + chosen[i], -1 for those of
/// other cells. Asynchronous.
void find_places(const Context& context, const CellRows& cell, std::int64_t rows, const std::int32_t* chosen,
                 std::int64_t count, std::int64_t first, std::int32_t* out);

/// Searches rows by products, or in a tree where there are too few. Squared Euclidean distances only.
template <class T>
class RowsSearch {
 public:
  RowsSearch(const HeldRows<T>& rows, const BatchSearch& search) : rows_(rows), neighbors_(search.neighbors) {
    if (can_search_fp16(rows, search.measure, search.neighbors + 1)) {
      batch_.emplace(rows, search);
    } else if (rows.index.tree.is_empty()) {
      rows.index.tree = build_tree<T>(rows, nullptr, 1, rows.rows());
    }
  }

  bool is_fp16() const { return batch_.has_value(); }

  /// Asynchronous.
  void search(const SearchQueries& queries, const ListOutput& out) const {
    if (batch_) return batch_->search(queries, out);
    const TreeView<T>& tree = rows_.index.tree.view;
    const DeviceLists lists{out.distance, out.index};
    clear_lists(*rows_.context, lists, queries.count * neighbors_);
    launch_tree(*rows_.context, tree, in_tree(rows_, tree, queries, neighbors_), {lists, nullptr, out.candidates});
  }

 private:
  const HeldRows<T>& rows_;
  std::int64_t neighbors_;
  std::optional<Fp16Batch<T>> batch_;
};

/// Lists of queries on the device.
struct ListBuffers {
  ListBuffers(Pool& pool, std::int64_t entries) : distance(pool, entries), index(pool, entries) {}
  DeviceLists lists() const { return {distance.data(), index.data()}; }
  Buffer<double> distance;
  Buffer<std::int64_t> index;
};

inline constexpr double kNormRounding = 1 + 0x1p-8;  // covers that of fp16, in norms

/// Of RowsSearch.
template <class T>
QueryReach query_reach(const HeldRows<T>& rows, std::int64_t neighbors) {
  if (!can_search_fp16(rows, Measure::squared_euclidean, neighbors + 1)) return {};
  constexpr double kLargest = 65000.0;  // of a value; the screen leaves queries with a larger one to fallback
  const double unit = fp16_unit(rows) / kNormRounding;
  return {std::pow(usual_limits(rows, find_long_rows(rows).others).max_query_norm * unit, 2),
          static_cast<double>(rows.columns()) * std::pow(kLargest * unit, 2)};
}

/// max_query_norm of BatchSearch for queries beyond the usual limit. largest: the bits of the largest D of them.
template <class T>
double longest_norm(const HeldRows<T>& rows, Word largest) {
  double squared = 0.0;
  std::memcpy(&squared, &largest, sizeof squared);
  return std::sqrt(squared) / fp16_unit(rows) * kNormRounding;
}

/// Some of the queries on the device, for a cell of rows.
template <class X>
struct ChosenQueries {
  const X* values = nullptr;             // (n, d) all queries
  const std::int32_t* chosen = nullptr;  // (count)
  std::int64_t count = 0;
  std::int64_t batch = 0;       // searched at a time, at most
  double max_query_norm = 0.0;  // as in BatchSearch
  std::int64_t excluded = -1;   // if has_excluded: query i excludes the held row at position excluded + i
  bool has_excluded = false;
  bool are_new = false;  // they have no lists
};

/// Lists of all queries.
struct QueryLists {
  DeviceLists lists;
  std::int64_t k = 0;
  Word* candidates = nullptr;  // (1) ADDED to, as in ListOutput
};

/// Stores the nearest rows of a cell as the lists of the chosen queries if they are new, and merges them into these if
/// not. Those of fallback queries have no first entry. Throws OutOfMemory. Asynchronous.
template <class T, class X>
void search_chosen(const HeldRows<T>& rows, const CellRows& numbers, const ChosenQueries<X>& queries,
                   const QueryLists& out) {
  if (queries.count == 0) return;
  const Context& context = *rows.context;
  const std::int64_t d = rows.columns(), k = out.k;
  // Whole tiles, so that memory of the pool serves searches of similar counts.
  const std::int64_t size = std::min(queries.batch, (queries.count + kQueryTile - 1) / kQueryTile * kQueryTile);
  const RowsSearch<T> search(rows, {.neighbors = k, .most = size, .max_query_norm = queries.max_query_norm});
  const Fp16Queries gathered = allocate_fp16_queries(rows, Measure::squared_euclidean, size);
  const ListBuffers found(rows.pool(), size * k), merged(rows.pool(), queries.are_new ? 0 : size * k);
  const Buffer<std::int32_t> excluded(rows.pool(), queries.has_excluded ? size : 0);
  for (std::int64_t first = 0; first < queries.count; first += size) {
    const std::int64_t count = std::min(size, queries.count - first);
    const std::int32_t* chosen = queries.chosen + first;
    gather_kernel<<<context.grid(count * d, kBlock), kBlock, 0, context.stream>>>(queries.values, chosen, count, d,
                                                                                  gathered.values.data());
    check(cudaGetLastError());
    if (search.is_fp16()) round_queries(rows, count, gathered);
    SearchQueries batch;
    batch.values = gathered.values.data();
    batch.tiles = gathered.fp16.values.data();
    batch.shape = rows.fp16.shape;
    batch.norm = gathered.fp16.norm.data();
    batch.residual = gathered.fp16.residual.data();
    batch.count = count;
    if (queries.has_excluded) {
      find_places(context, numbers, rows.rows(), chosen, count, queries.excluded, excluded.data());
      batch.excluded_rows = excluded.data();
    }
    search.search(batch, {found.distance.data(), found.index.data(), out.candidates});
    const FoundLists of_cell{found.lists(), count, k, numbers, chosen};
    if (queries.are_new) {
      store_found(context, of_cell, out.lists);
    } else {
      merge_found(context, of_cell, merged.lists(), out.lists);
    }
  }
}

}  // namespace kith::cuda
