// The neighbour search on the tensor cores: fp16 products, group minima of their scores, lists (fp16_lists.h). Queries
// are the rows of the product, base rows its columns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/search/fp16_lists.h"
#include "kernels/cuda/search/fp16_operands.h"
#include "kernels/cuda/search/tree.h"

namespace kith::cuda {

inline constexpr std::int64_t kMaxMinimaBytes = std::int64_t{1} << 32;  // of a batch of queries

/// The distance that is 1 in the unit of the fp16 rows.
template <class T>
double fp16_unit(const HeldRows<T>& rows) {
  return power_of_two(fp16_exponent(rows.plan.screen));
}

/// A search of all leaves of a tree of held rows for queries on the device.
template <class T>
TreeQueries in_tree(const HeldRows<T>& rows, const TreeView<T>& tree, const SearchQueries& queries,
                    std::int64_t neighbors) {
  return {.values = queries.values,
          .count = queries.count,
          .neighbors = neighbors,
          .excluded = queries.excluded,
          .has_excluded = queries.has_excluded,
          .excluded_rows = queries.excluded_rows,
          .first_row = rows.first_row,
          .most_leaves = tree.nodes[0]};
}

/// Whether long rows can be held apart in a search for lists of `neighbors`.
bool can_hold_apart(Measure measure, std::int64_t neighbors);

/// Lists of queries on the device.
struct ListBuffers {
  ListBuffers(Pool& pool, std::int64_t entries) : distance(pool, entries), index(pool, entries) {}
  DeviceLists lists() const { return {distance.data(), index.data()}; }
  Buffer<double> distance;
  Buffer<std::int64_t> index;
};

struct BatchSearch {
  Measure measure = Measure::squared_euclidean;
  std::int64_t neighbors = 0;   // length of the lists
  std::int64_t most = 0;        // queries of a batch, at most
  double max_query_norm = 0.0;  // in the unit of the fp16 rows; 0 for the usual limit
  std::int64_t sampled = 0;     // the queries are a sample of so many, and have the limits of these; 0: they are not

  std::int64_t alike() const { return std::max(most, sampled); }
};

/// Bytes of device memory of each query of a batch, besides the query and its lists: minima and listed candidates. Few
/// queries may list more, in 64 MiB for all of them. base: rows that are searched.
std::int64_t batch_query_bytes(std::int64_t base, std::int64_t neighbors);

/// Searches of some held rows. Requires that can_search_fp16(), and that the rows stay where they are.
template <class T>
class Fp16Batch {
 public:
  /// Throws OutOfMemory.
  Fp16Batch(const HeldRows<T>& held, const BatchSearch& search);

  /// Fills the lists of queries, which are given without minima and length of lists. Those of fallback queries stay
  /// unfilled: the screen cannot bound their scores, or too many candidates are equally near. Asynchronous.
  void search(SearchQueries queries, const ListOutput& output) const;

 private:
  void merge_long_rows(const SearchQueries& queries, const ListOutput& output) const;

  void list_dense(const SearchQueries& queries, const Fp16Problem& problem, const ListOutput& output) const;
  RowLists listed() const {
    return {limit_.data(), listed_.data(), listed_count_.data(), static_cast<unsigned>(listed_capacity_)};
  }
  DenseQueries dense() const { return {dense_.data(), limit_.data(), dense_count_.data()}; }

  const HeldRows<T>& held_;
  std::int64_t neighbors_;
  bool lists_all_;  // a second product lists the candidates of all queries, not only of dense ones
  std::int64_t listed_capacity_;
  bool apart_;                // long rows are held apart
  Buffer<float> score_base_;  // only with an unusual limit
  SearchBase<T> base_;
  GroupMinima minima_;
  Buffer<float> group_min_, block_min_;
  // For a second product.
  Buffer<float> limit_;
  Buffer<unsigned> listed_count_;
  Buffer<std::int32_t> listed_;  // (queries, capacity)
  Buffer<std::int32_t> dense_;
  Buffer<Word> dense_count_;
  Buffer<uint4> dense_tiles_;
};

/// Whether the held rows can be searched in fp16 by this measure, for lists of `neighbors` and an excluded row.
template <class T>
bool can_search_fp16(const HeldRows<T>& held, Measure measure, std::int64_t neighbors);

/// Fills the lists, which must be unfilled. Returns, in ascending order, the fallback queries, whose lists stay
/// unfilled: the screen cannot bound their scores, or too many candidates are equally near. Throws OutOfMemory, before
/// it changes a list. sampled: as in BatchSearch. Waits for the device.
template <class T>
std::vector<std::int64_t> search_fp16(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists,
                                      std::int64_t sampled = 0);

}  // namespace kith::cuda
