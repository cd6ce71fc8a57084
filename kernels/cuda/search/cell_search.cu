// Searches cells of rows for batches of queries, which are uploaded once and stay on the device with their lists: each
// query in the cell to which it would belong, and then in the others that its list may need (CellReach).
//
// The host waits for the numbers of queries of all cells and of dense ones among them, twice a batch, and for the
// lists. A query reads 4 d bytes for the distance to each center, and 8 d or 16 d for each cell that it needs, besides
// the search in the cell.
#include "kernels/cuda/search/cells.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/screen/fp16_rows.h"
#include "kernels/cuda/search/fp16_search.h"
#include "kernels/cuda/search/row_sample.h"
#include "kernels/cuda/search/tree.h"

namespace kith::cuda {
namespace {

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

/// Stores found lists as those of the queries.
__global__ void store_kernel(FoundLists found, DeviceLists lists) {
  const std::int64_t k = found.k;
  for (std::int64_t i = thread_index(); i < found.count * k; i += thread_count()) {
    const std::int64_t to = found.chosen[i / k] * k + i % k;
    lists.distance[to] = found.lists.distance[i];
    lists.index[to] = found.rows.number(found.lists.index[i]);
  }
}

/// Merges list i of the found ones into list q, with list i of `merged` as memory. All lanes of a warp call it. Lists
/// of fallback queries, which have no first entry, stay; where none was found, the query becomes a fallback query.
__device__ void merge_list(const FoundLists& found, std::int64_t i, const DeviceLists& merged, const DeviceLists& lists,
                           std::int64_t q) {
  const std::int64_t k = found.k, own = q * k, other = i * k;
  if (lists.index[own] < 0) return;
  if (found.lists.index[other] < 0) {
    __syncwarp();  // all lanes have read the entry
    if (lane_index() == 0) lists.index[own] = -1;
    __syncwarp();
    return;
  }
  const auto kept = [&](std::int64_t at) { return ListEntry{lists.distance[own + at], lists.index[own + at]}; };
  const auto added = [&](std::int64_t at) {
    return ListEntry{found.lists.distance[other + at], found.rows.number(found.lists.index[other + at])};
  };
  merge_by_rank(ListPair{kept, added, k, k}, lane_index(), kWarp, [&](std::int64_t at, const ListEntry& entry) {
    if (at >= k) return;
    merged.distance[other + at] = entry.distance;
    merged.index[other + at] = entry.index;
  });
  __syncwarp();  // all lanes have read the list and written the merged one
  for (std::int64_t j = lane_index(); j < k; j += kWarp) {
    lists.distance[own + j] = merged.distance[other + j];
    lists.index[own + j] = merged.index[other + j];
  }
  __syncwarp();
}

/// Merges found lists into those of the queries, a warp per query. memory of `merged`: (count, k) lists.
__global__ void merge_kernel(FoundLists found, DeviceLists merged, DeviceLists lists) {
  for (std::int64_t i = warp_index(); i < found.count; i += warp_count()) {
    merge_list(found, i, merged, lists, found.chosen[i]);
  }
}

/// out (count): the places in a cell of `rows` rows of the held rows at positions first + chosen[i], -1 for those of
/// other cells.
__global__ void places_kernel(CellRows cell, std::int64_t rows, const std::int32_t* chosen, std::int64_t count,
                              std::int64_t first, std::int32_t* out) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    out[i] = cell.place(first + chosen[i], rows);
  }
}

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

constexpr double kNormRounding = 1 + 0x1p-8;  // covers that of fp16, in norms

/// The reach of a query in RowsSearch.
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
struct ChosenQueries {
  const double* values = nullptr;        // (n, d) all queries
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
  Word* candidates = nullptr;  // (1) increased as in ListOutput
};

/// Stores the nearest rows of a cell as the lists of the chosen queries if they are new, and merges them into these if
/// not. Those of fallback queries have no first entry. Throws OutOfMemory. Asynchronous.
template <class T>
void search_chosen(const HeldRows<T>& rows, const CellRows& numbers, const ChosenQueries& queries,
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
      places_kernel<<<context.grid(count, kBlock), kBlock, 0, context.stream>>>(numbers, rows.rows(), chosen, count,
                                                                                queries.excluded, excluded.data());
      check(cudaGetLastError());
      batch.excluded_rows = excluded.data();
    }
    search.search(batch, {found.distance.data(), found.index.data(), out.candidates});
    const FoundLists of_cell{found.lists(), count, k, numbers, chosen};
    if (queries.are_new) {
      store_kernel<<<context.grid(count * k, kBlock), kBlock, 0, context.stream>>>(of_cell, out.lists);
    } else {
      merge_kernel<<<context.grid(count, kBlockWarps), kBlock, 0, context.stream>>>(of_cell, merged.lists(), out.lists);
    }
    check(cudaGetLastError());
  }
}

/// What decides whether a query needs a cell.
struct CellTest {
  CellReach reach;
  QueryReach queries;
  std::int32_t center = 0;
  bool is_far = false;    // the far rows of the center
  std::int64_t rows = 0;  // of the cell
};

/// The queries of each cell.
struct CellQueries {
  std::int32_t* query = nullptr;  // (cells, capacity) from the front usual ones, from the end longer ones
  Word* counts = nullptr;         // (cells, 3) of both, and the bits of the largest D of longer ones; 0 before
  std::int64_t capacity = 0;

  /// Appends a query with this distance to the center, once a cell. False if fp16 cannot hold it.
  __device__ bool append(std::int64_t g, const QueryReach& reach, std::int64_t q, double squared) const {
    std::int32_t* own = query + g * capacity;
    Word* count = counts + g * 3;
    if (squared <= reach.usual) {
      own[atomicAdd(&count[0], Word{1})] = static_cast<std::int32_t>(q);
    } else if (squared <= reach.most) {
      own[capacity - 1 - static_cast<std::int64_t>(atomicAdd(&count[1], Word{1}))] = static_cast<std::int32_t>(q);
      atomicMax(&count[2], bits_of(squared));
    } else {
      return false;
    }
    return true;
  }
};

/// A warp per query. own: the cell to which it would belong, or another one if its nearest center has none.
__global__ void choose_own_kernel(const CellTest* cells, int cell_count, CenterDistances distances, std::int64_t count,
                                  std::int32_t* own, CellQueries out) {
  for (std::int64_t q = warp_index(); q < count; q += warp_count()) {
    const double* squared = distances.squared + q * distances.centers;
    Word nearest = ~Word{0};  // bits of the distance, which order like it
    for (std::int64_t c = lane_index(); c < distances.centers; c += kWarp) nearest = min(nearest, bits_of(squared[c]));
    const double smallest = __longlong_as_double(static_cast<long long>(~warp_max(~nearest)));
    // The last cell of the nearest center that may hold the query; of several centers at the same distance, any.
    int chosen = 0;
    for (int g = lane_index(); g < cell_count; g += kWarp) {
      const CellTest& cell = cells[g];
      const bool holds = squared[cell.center] == smallest && !(cell.is_far && sqrt(smallest) < cell.reach.hole);
      if (holds) chosen = g;
    }
    chosen = __reduce_max_sync(kAllLanes, chosen);
    if (lane_index() != 0) continue;
    own[q] = chosen;
    // One that is not appended stays without a list.
    out.append(chosen, cells[chosen].queries, q, squared[cells[chosen].center]);
  }
}

/// An upper bound of the distance of query q to its k-th nearest row, from the cells with so many: k rows within the
/// radius of a center. Infinite if there are none. All lanes of a warp call it.
__device__ double reach_of_cells(const CellTest* cells, int cell_count, const CenterDistances& distances,
                                 std::int64_t q, std::int64_t k) {
  constexpr double kUp = 1 + 0x1p-30;
  Word least = bits_of(std::numeric_limits<double>::infinity());
  for (int g = lane_index(); g < cell_count; g += kWarp) {
    const CellTest& cell = cells[g];
    if (cell.rows <= k) continue;  // one of them may be excluded
    const double farthest = (sqrt(distances.squared[q * distances.centers + cell.center]) + cell.reach.radius) * kUp;
    least = min(least, bits_of(farthest));  // a NaN is above infinity
  }
  return __longlong_as_double(static_cast<long long>(~warp_max(~least)));
}

/// The other cells that each query needs, a warp per query. Queries without a list are fallback queries; those that
/// are too long for a cell become some.
__global__ void choose_others_kernel(const CellTest* cells, int cell_count, CenterDistances distances,
                                     std::int64_t count, const std::int32_t* own, DeviceLists lists, std::int64_t k,
                                     CellQueries out) {
  for (std::int64_t q = warp_index(); q < count; q += warp_count()) {
    if (lists.index[q * k] < 0) continue;
    const std::int64_t last = q * k + k - 1;
    const double reach =
        lists.index[last] < 0 ? reach_of_cells(cells, cell_count, distances, q, k) : sqrt(lists.distance[last]);
    bool holds = true;
    for (int g = lane_index(); g < cell_count; g += kWarp) {
      const CellTest& cell = cells[g];
      const double squared = distances.squared[q * distances.centers + cell.center];
      if (g == own[q] || cell.reach.is_beyond(squared, reach)) continue;
      holds = out.append(g, cell.queries, q, squared) && holds;
    }
    if (!__all_sync(kAllLanes, holds) && lane_index() == 0) lists.index[q * k] = -1;
  }
}

/// Queries of a batch: all, if they fit.
template <class T>
std::int64_t batch_queries(const HeldRows<T>& held, const Queries& request, std::int64_t k) {
  constexpr std::int64_t kSmallTile = 64;  // used if the caller limits the memory
  const Cells<T>& all = *held.index.cells;
  const std::int64_t d = held.columns(), cells = std::ssize(all.cells);
  std::int64_t largest = 0;  // rows of a cell
  for (const Cell<T>& cell : all.cells) largest = std::max(largest, cell.rows->rows());
  const std::int64_t query_bytes =
      batch_query_bytes(largest, k) + 2 * (d * 12 + fp16_row_bytes(d)) + k * 48 + all.center_count * 8 + cells * 4 + 8;
  const std::int64_t bytes = request.working_bytes > 0 ? request.working_bytes : kMaxMinimaBytes;
  const std::int64_t tile = request.working_bytes > 0 ? kSmallTile : kQueryTile;
  const std::int64_t fitting = std::min(bytes, held.pool().available() / 2) / query_bytes / tile * tile;
  return std::clamp(fitting, std::min(request.values.rows, tile), request.values.rows);
}

template <class T>
class CellSearch {
 public:
  /// rows: the queries where they are on the device, as rows of the held type; null: they are on the host.
  CellSearch(const HeldRows<T>& held, const Queries& queries, const T* rows, std::int64_t k)
      : held_(held),
        all_(*held.index.cells),
        queries_(queries),
        rows_(rows),
        k_(k),
        size_(batch_queries(held, queries, k)),
        values_(held.pool(), size_ * held.columns()),
        squared_(held.pool(), size_ * all_.center_count),
        tests_(held.pool(), cells()),
        chosen_(held.pool(), cells() * size_),
        own_(held.pool(), size_),
        counts_(held.pool(), cells() * 3),
        candidates_(held.pool(), 1),
        lists_(held.pool(), size_ * k) {
    std::vector<CellTest> tests;
    for (const Cell<T>& cell : all_.cells) {
      tests.push_back({cell.reach, query_reach(*cell.rows, k), static_cast<std::int32_t>(cell.center), cell.is_far,
                       cell.rows->rows()});
    }
    stream().upload(tests_.data(), tests.data(), cells());
    stream().fill(candidates_.data(), 0, 1);
  }

  /// Returns the number of distances computed by the definition. progress(queries): called after each batch; or empty.
  std::int64_t run(const ListsView& lists, const std::function<void(std::int64_t)>& progress) {
    for (std::int64_t first = 0; first < queries_.values.rows; first += size_) {
      const std::int64_t count = std::min(size_, queries_.values.rows - first);
      search_batch(first, count);
      // The first use of so much memory takes long: the device works meanwhile.
      if (rows_ != nullptr && first == 0) lists.clear();
      download(first, count, lists);
      if (progress) progress(first + count);
    }
    Word candidates = 0;
    stream().download(&candidates, candidates_.data(), 1);
    return static_cast<std::int64_t>(candidates);
  }
  const std::vector<std::int64_t>& fallback() const { return fallback_; }

 private:
  const Context& context() const { return *held_.context; }
  const Stream& stream() const { return held_.stream(); }
  std::int64_t cells() const { return std::ssize(all_.cells); }
  CellQueries cell_queries() const { return {chosen_.data(), counts_.data(), size_}; }

  void search_batch(std::int64_t first, std::int64_t count) const {
    const CenterDistances distances{squared_.data(), all_.center_count};
    const int cell_count = static_cast<int>(cells());
    upload(first * held_.columns(), count * held_.columns());
    measure_centers(context(), values_.data(), count, held_.columns(), all_.centers.data(), distances);
    clear_lists(context(), lists_.lists(), count * k_);
    stream().fill(counts_.data(), 0, counts_.size());
    choose_own_kernel<<<context().grid(count, kBlockWarps), kBlock, 0, stream()>>>(tests_.data(), cell_count, distances,
                                                                                   count, own_.data(), cell_queries());
    check(cudaGetLastError());
    search_chosen_queries(first, true);
    stream().fill(counts_.data(), 0, counts_.size());
    choose_others_kernel<<<context().grid(count, kBlockWarps), kBlock, 0, stream()>>>(
        tests_.data(), cell_count, distances, count, own_.data(), lists_.lists(), k_, cell_queries());
    check(cudaGetLastError());
    search_chosen_queries(first, false);
  }

  /// `size` values of the queries from value `first` on.
  void upload(std::int64_t first, std::int64_t size) const {
    if (rows_ == nullptr) return stream().upload(values_.data(), queries_.values.data + first, size);
    to_double_kernel<<<context().grid(size, kBlock), kBlock, 0, stream()>>>(rows_ + first, size, values_.data());
    check(cudaGetLastError());
  }

  /// Searches each cell for its queries. first: the number of the batch's first query. are_new: they have no lists.
  void search_chosen_queries(std::int64_t first, bool are_new) const {
    std::vector<Word> counts(static_cast<std::size_t>(counts_.size()));
    stream().download(counts.data(), counts_.data(), counts_.size());
    ChosenQueries queries{.values = values_.data(),
                          .batch = size_,
                          .excluded = queries_.excluded_row + first - held_.first_row,
                          .has_excluded = queries_.excluded_row >= 0,
                          .are_new = are_new};
    const QueryLists out{lists_.lists(), k_, candidates_.data()};
    CellRows numbers{all_.position.data(), held_.first_row};
    for (std::int64_t g = 0; g < cells(); ++g) {
      const HeldRows<T>& rows = *all_.cells[static_cast<std::size_t>(g)].rows;
      const Word* count = counts.data() + g * 3;
      const auto usual = static_cast<std::int64_t>(count[0]), longer = static_cast<std::int64_t>(count[1]);
      queries.chosen = chosen_.data() + g * size_;
      queries.count = usual;
      queries.max_query_norm = 0.0;
      search_chosen(rows, numbers, queries, out);
      queries.chosen += size_ - longer;
      queries.count = longer;
      queries.max_query_norm = longest_norm(rows, count[2]);
      search_chosen(rows, numbers, queries, out);
      numbers.position += rows.rows();
    }
  }

  /// Waits for the lists.
  void download(std::int64_t first, std::int64_t count, const ListsView& lists) {
    stream().download(lists.distance.data + first * k_, lists_.distance.data(), count * k_);
    stream().download(lists.index.data + first * k_, lists_.index.data(), count * k_);
    for (std::int64_t q = first; q < first + count; ++q) {
      if (lists.index(q, 0) >= 0) continue;
      fallback_.push_back(q);
      std::fill_n(lists.distance.row(q).data(), k_, std::numeric_limits<double>::infinity());
      std::fill_n(lists.index.row(q).data(), k_, -1);
    }
  }

  const HeldRows<T>& held_;
  const Cells<T>& all_;
  const Queries& queries_;
  const T* rows_;
  std::int64_t k_, size_;  // length of lists, queries of a batch
  Buffer<double> values_;  // (queries, d)
  Buffer<double> squared_;
  Buffer<CellTest> tests_;
  Buffer<std::int32_t> chosen_, own_;
  Buffer<Word> counts_;
  Buffer<Word> candidates_;
  ListBuffers lists_;
  std::vector<std::int64_t> fallback_;
};

}  // namespace

template <class T>
std::vector<std::int64_t> search_cells(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists) {
  CellSearch<T> search(held, queries, nullptr, lists.index.columns());
  lists.candidates += search.run(ListsView(lists), {});
  return search.fallback();
}

template <class T>
std::int64_t join_cells(const HeldRows<T>& held, const Shard& own, bool include_self,
                        const std::function<void(std::int64_t)>& progress, const ListsView& lists) {
  const Queries queries{{nullptr, own.count, held.columns()}, include_self ? -1 : held.first_row + own.first};
  const T* const rows = held.resident.data() + own.first * held.columns();
  return CellSearch<T>(held, queries, rows, lists.index.columns).run(lists, progress);
}

#define KITH_INSTANTIATE(T)                                                                                          \
  template std::vector<std::int64_t> search_cells(const HeldRows<T>&, const Queries&, NeighborLists&);               \
  template std::int64_t join_cells(const HeldRows<T>&, const Shard&, bool, const std::function<void(std::int64_t)>&, \
                                   const ListsView&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
