// Searches blocks of queries in all held points; searches a set in itself with a symmetric join if the backend can.
#include "core/neighbors/neighbors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/neighbors/merge_lists.h"

namespace kith {

NeighborLists NeighborLists::uninitialized(std::int64_t queries, std::int64_t neighbors) {
  NeighborLists lists;
  lists.distance = Matrix<double>(queries, neighbors);
  lists.index = Matrix<std::int64_t>(queries, neighbors);
  return lists;
}

NeighborLists::NeighborLists(std::int64_t queries, std::int64_t neighbors)
    : NeighborLists(uninitialized(queries, neighbors)) {
  ListsView(*this).clear();
}

namespace {

/// base: its number of rows
std::int64_t queries_per_block(const NeighborOptions& options, std::int64_t base, std::int64_t queries,
                               std::int64_t columns) {
  constexpr double kSoon = 0x1p41;            // products of a few seconds on two cores
  constexpr std::int64_t kFewQueries = 1024;  // smaller blocks are less efficient
  std::int64_t chosen = kQueryBlockBytes / bytes_per_query(options.neighbors, columns);
  if (options.soon) {
    const double most = kSoon / (static_cast<double>(base) * static_cast<double>(columns));
    chosen = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::min(most, 0x1p40)), std::min(kFewQueries, chosen),
                                      chosen);
  }
  return std::clamp<std::int64_t>(options.block_queries > 0 ? options.block_queries : chosen, 1,
                                  std::max<std::int64_t>(queries, 1));
}

void check(const Points& base, const PointsView& queries, const NeighborOptions& options) {
  check_queries(base, queries, options.measure);
  const bool excludes_self = options.base_is_queries && !options.include_self;
  const std::int64_t available = base.rows() - (excludes_self ? 1 : 0);
  if (options.neighbors < 1 || options.neighbors > available) {
    throw Error(ExitCode::usage,
                fmt::format("k = {} neighbours: expected 1 to {}, the number of rows{}", options.neighbors, available,
                            excludes_self ? " other than the query itself" : ""),
                excludes_self ? Cause::own_row_excluded : Cause::other);
  }
}

/// Searches the base in itself with a symmetric join. Returns false if the backend has none for this problem.
bool join_itself(const Points& base, const NeighborOptions& options, const NeighborSink& sink, Observer& observer) {
  constexpr std::int64_t kPlaceBytes = 16;
  if (options.block_queries > 0 || options.soon || options.join_bytes / kPlaceBytes / options.neighbors < base.rows())
    return false;
  const std::int64_t list_bytes = kPlaceBytes * options.neighbors * base.rows();
  const auto lists = base.self_join({.neighbors = options.neighbors,
                                     .include_self = options.include_self,
                                     .measure = options.measure,
                                     .bytes = options.join_bytes - list_bytes,
                                     .progress = [&](std::int64_t rows) { observer.progress(rows); }});
  if (!lists) {
    observer.progress(0);  // discards the progress of the declined join
    return false;
  }
  const std::int64_t k = options.neighbors,
                     block = queries_per_block(options, base.rows(), base.rows(), base.columns());
  NeighborLists part(block, k);  // reused: fresh memory costs more than the copy
  for (std::int64_t first = 0; first < base.rows(); first += block) {
    if (base.rows() - first < block) part = NeighborLists(base.rows() - first, k);
    std::copy_n(lists->distance.row(first).data(), part.distance.size(), part.distance.data());
    std::copy_n(lists->index.row(first).data(), part.index.size(), part.index.data());
    sink(first, part);
    observer.progress(first + part.index.rows());
  }
  return true;
}

}  // namespace

void copy_queries(const PointsView& queries, std::int64_t first, MatrixView<double> out) {
  std::visit(
      [&](const auto& view) {
        const auto part = view.middle(first, out.rows);
        std::copy(part.data, part.data + part.size(), out.data);
      },
      queries);
}

double largest_value(const PointsView& values) {
  return std::visit(
      [](const auto& view) {
        double largest = 0.0;
        for (std::int64_t i = 0; i < view.size(); ++i) {
          largest = std::max(largest, std::abs(static_cast<double>(view.data[i])));
        }
        return largest;
      },
      values);
}

void check_queries(const Points& base, const PointsView& queries, Measure measure) {
  if (columns_of(queries) != base.columns()) {
    throw Error(ExitCode::data, fmt::format("queries have {} columns, the base has {}; expected the same number",
                                            columns_of(queries), base.columns()));
  }
  if (measure != Measure::inner_product) return;
  ColumnRange range(base.columns());
  base.add_range(range);
  double largest = 0.0;
  for (std::size_t j = 0; j < range.minimum.size(); ++j) {
    largest = std::max({largest, std::abs(range.minimum[j]), std::abs(range.maximum[j])});
  }
  const double bound = largest * largest_value(queries) * static_cast<double>(base.columns());
  const bool small = bound > 0.0 && bound < 0x1p-900;
  if (bound < 0x1p1020 && !small) return;
  throw Error(ExitCode::data,
              fmt::format("inner products of these values may reach {:g}, {} the range of float64; {} "
                          "the values by a power of two",
                          bound, small ? "so that most leave" : "beyond", small ? "multiply" : "divide"));
}

std::optional<CompletedLists> complete_join(const JoinedRows& rows, const SelfJoin& join, NeighborLists& lists) {
  constexpr std::int64_t kShare = 16, kBatchBytes = std::int64_t{1} << 27;
  std::vector<std::int64_t> missing;
  for (std::int64_t i = rows.own.first; i < rows.own.first + rows.own.count; ++i) {
    if (lists.index(i, 0) < 0) missing.push_back(i);
  }
  // A row finds itself, and is then left out of its own list.
  const std::int64_t searched = join.neighbors + (join.include_self ? 0 : 1), d = rows.columns;
  if (std::ssize(missing) * kShare > rows.own.count) return std::nullopt;
  const std::int64_t batch = std::max<std::int64_t>(kBatchBytes / (d * 8 + searched * 16), 1);
  CompletedLists completed{std::ssize(missing), 0};
  std::vector<Neighbor> merged;
  for (std::int64_t first = 0; first < std::ssize(missing); first += batch) {
    const std::int64_t count = std::min(batch, std::ssize(missing) - first);
    std::vector<std::int64_t> numbers(missing.begin() + first, missing.begin() + first + count);
    for (std::int64_t& number : numbers) number += rows.first_row;
    Matrix<double> values(count, d);
    rows.copy(numbers, values.view());
    NeighborLists found(count, searched);
    rows.search({.values = std::as_const(values).view(), .measure = join.measure}, found);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = missing[static_cast<std::size_t>(first + i)];
      merge_list(lists, row, found, i, join.include_self ? -1 : rows.first_row + row, merged);
    }
    completed.candidates += found.candidates;
  }
  return completed;
}

void nearest_neighbors(const Points& base, PointsView queries, const NeighborOptions& options, const NeighborSink& sink,
                       Observer& observer) {
  check(base, queries, options);
  const std::int64_t count = rows_of(queries), columns = base.columns();
  const std::int64_t block = queries_per_block(options, base.rows(), count, columns);
  const bool excludes_self = options.base_is_queries && !options.include_self;
  observer.phase("search", count);
  if (options.base_is_queries && join_itself(base, options, sink, observer)) return;
  Matrix<double> values(block, columns);
  for (std::int64_t first = options.first_query; first < count; first += block) {
    const std::int64_t rows = std::min(block, count - first);
    const MatrixView<double> block_values = values.view().middle(0, rows);
    copy_queries(queries, first, block_values);
    NeighborLists lists(rows, options.neighbors);
    base.search({.values = block_values,
                 .excluded_row = excludes_self ? first : -1,
                 .measure = options.measure,
                 .host_bytes = options.join_bytes,
                 .cell_bytes = options.join_bytes},
                lists);
    sink(first, lists);
    observer.progress(first + rows);
  }
}

}  // namespace kith
