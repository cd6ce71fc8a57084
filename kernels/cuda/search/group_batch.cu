// The queries of a group take whole tiles of 128, its slots. A product of a group with few queries reads its fp16 rows
// once, 2 d bytes each: all groups of 10^6 x 128 rows together take 0.1 ms at 2.6 TB/s.
//
// Queries with too many candidates for find_list() are searched once more, group by group. Groups of so few rows that
// minima would bound nothing are measured whole.
#include "kernels/cuda/search/group_batch.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "kernels/cuda/screen/fp16_rounding.h"
#include "kernels/cuda/search/few_query_minima.h"
#include "kernels/cuda/search/list_kernels.h"
#include "kernels/cuda/search/merge_list.h"

namespace kith::cuda {
namespace {

/// A group on the device, with its queries in slots.
template <class T>
struct PartView {
  SearchBase<T> base;
  SearchQueries queries;  // by slot of the part
  std::int64_t first_slot = 0, first_query = 0;
  ListLimits limits;
  DenseQueries dense;
  ListOutput out;
  GroupRows numbers;
  std::int64_t excluded = 0;  // the held row that query 0 excludes
  std::int32_t* excluded_rows = nullptr;
  const float* center = nullptr;  // of the group's screen
  double scale = 1.0;
  bool measures_all = false;  // it has so few rows that all are measured
};

/// The queries of all parts as input of fp16_rounding.h, by slot.
template <class T>
struct SlotRows {
  const PartView<T>* parts = nullptr;
  const std::int32_t* part_of_tile = nullptr;  // (tiles of slots)
  std::int64_t padded = 0;
  std::int64_t d = 0;

  __device__ RowToRound<double> row(std::int64_t slot) const {
    const PartView<T>& part = parts[part_of_tile[slot / kFp16TileRows]];
    const std::int64_t q = slot - part.first_slot;
    if (q >= part.queries.count) return {};
    return {part.queries.values + part.queries.number[q] * d, part.scale, part.center};
  }
};

/// A query of a part. Those of the same query are linked, in any order.
struct PartQuery {
  std::int32_t part, slot;
  std::int32_t next;  // -1: none
};

/// A block per part. Fills the table of queries, and the rows that they exclude. first: of the links of each query;
/// null: there are none.
template <class T>
__global__ void queries_kernel(const PartView<T>* parts, PartQuery* query, std::int32_t* first) {
  const PartView<T>& part = parts[blockIdx.x];
  for (std::int64_t i = threadIdx.x; i < part.queries.count; i += blockDim.x) {
    const auto entry = static_cast<std::int32_t>(part.first_query + i);
    const std::int32_t next = first != nullptr ? atomicExch(&first[part.queries.number[i]], entry) : -1;
    query[entry] = {static_cast<std::int32_t>(blockIdx.x), static_cast<std::int32_t>(i), next};
    if (part.excluded_rows == nullptr) continue;
    part.excluded_rows[i] = part.numbers.place(part.excluded + part.queries.number[i], part.base.rows);
  }
}

/// A block per query.
template <class T>
__global__ void __launch_bounds__(kMaxListThreads) part_lists_kernel(const PartView<T>* parts, const PartQuery* query) {
  extern __shared__ __align__(16) unsigned char candidate_memory[];
  __shared__ ListShared shared;
  const PartQuery own = query[blockIdx.x];
  const PartView<T>& part = parts[own.part];
  if (part.measures_all) {
    measure_all<Measure::squared_euclidean>(part.base, part.queries, own.slot, part.limits, part.out, candidate_memory,
                                            shared);
  } else {
    find_list<Measure::squared_euclidean>(part.base, part.queries, own.slot, part.limits, part.dense, part.out,
                                          candidate_memory, shared);
  }
}

/// A warp per query merges the lists that were found for it, one per part. Adding them in any order gives the same
/// list.
template <class T>
__global__ void merge_parts_kernel(const PartView<T>* parts, const PartQuery* query, const std::int32_t* first,
                                   std::int64_t count, std::int64_t k, DeviceLists found, DeviceLists merged,
                                   DeviceLists lists) {
  for (std::int64_t q = warp_index(); q < count; q += warp_count()) {
    for (std::int32_t entry = first[q]; entry >= 0; entry = query[entry].next) {
      merge_found_list(found, entry, k, parts[query[entry].part].numbers, merged, lists, q);
    }
  }
}

std::int64_t slots_of(std::int64_t count) { return (count + kFp16TileRows - 1) / kFp16TileRows * kFp16TileRows; }

/// Values of the minima of a query: of groups, and of blocks.
struct MinimaSize {
  template <class T>
  explicit MinimaSize(const GroupPart<T>& part) {
    if (part.measures_all) return;
    const GroupMinima minima{.tiles = row_groups_of(part.rows->rows())};
    groups = minima.groups(), blocks = minima.blocks();
  }
  std::int64_t groups = 0, blocks = 0;
};

/// Bytes that a part takes.
template <class T>
std::int64_t part_bytes(const GroupPart<T>& part, std::int64_t k) {
  const MinimaSize minima(part);
  return part.count * ((minima.groups + minima.blocks) * 4 + k * 32 + 24) +
         slots_of(part.count) * (fp16_row_bytes(part.rows->columns()) + kFp16StateBytes);
}

/// Parts that are searched by the same launches.
template <class T>
class PartsSearch {
 public:
  PartsSearch(std::span<const GroupPart<T>> parts, const ChosenQueries<double>& queries, const QueryLists& out)
      : parts_(parts),
        queries_(queries),
        out_(out),
        shape_(column_shape(first().columns())),
        mma_(mma_shape(context(), shape_.depth_tiles)) {
    for (const GroupPart<T>& part : parts) {
      const MinimaSize minima(part);
      slots_ += slots_of(part.count);
      query_count_ += part.count;
      group_minima_ += part.count * minima.groups;
      block_minima_ += part.count * minima.blocks;
      if (part.count <= kFewQueries) few_blocks_ += minima.blocks / kQuarters;
    }
    Pool& pool = first().pool();
    tiles_ = Buffer<uint4>(pool, slots_ * shape_.depth_tiles * shape_.chunks);
    norm_ = Buffer<float>(pool, slots_);
    residual_ = Buffer<float>(pool, slots_);
    excluded_ = Buffer<std::int32_t>(pool, queries.has_excluded ? slots_ : 0);
    group_min_ = Buffer<float>(pool, group_minima_);
    block_min_ = Buffer<float>(pool, block_minima_);
    dense_ = Buffer<std::int32_t>(pool, query_count_);
    dense_limit_ = Buffer<float>(pool, query_count_);
    dense_count_ = Buffer<Word>(pool, std::ssize(parts));
    query_ = Buffer<PartQuery>(pool, query_count_);
    if (queries.are_new) return;
    first_ = Buffer<std::int32_t>(pool, queries.batch);
    found_.emplace(pool, query_count_ * out.k);
    merged_.emplace(pool, query_count_ * out.k);
  }

  void run() {
    describe();
    search();
    if (!queries_.are_new) merge();
    search_dense();
  }

 private:
  const HeldRows<T>& first() const { return *parts_.front().rows; }
  const Context& context() const { return *first().context; }
  const Stream& stream() const { return context().stream; }

  /// Uploads what the kernels need.
  void describe() {
    std::vector<PartView<T>> views;
    std::vector<ProductPart<KeepMinima>> products;
    std::vector<FewQueryPart> few;
    std::vector<FewQueryItem> few_items;
    std::vector<std::int32_t> part_of_tile;
    // The kernel for few queries has a block per 16 tiles.
    const bool few_fill = few_blocks_ >= 2 * std::int64_t{context().multiprocessors};
    std::int64_t slot = 0, query = 0, group_minimum = 0, block_minimum = 0, tiles = 0;
    for (const GroupPart<T>& part : parts_) {
      const HeldRows<T>& rows = *part.rows;
      const MinimaSize size(part);
      const auto number = static_cast<std::int32_t>(views.size());
      PartView<T>& view = views.emplace_back();
      view.measures_all = part.measures_all;
      view.base =
          view.measures_all
              ? SearchBase<T>{.values = rows.resident.data(), .rows = rows.rows(), .d = rows.columns(), .bound = {}}
              : search_base(rows, Measure::squared_euclidean);
      view.queries = SearchQueries{.values = queries_.values,
                                   .tiles = tiles_.data() + shape_.place(slot, 0, 0),
                                   .shape = shape_,
                                   .norm = norm_.data() + slot,
                                   .residual = residual_.data() + slot,
                                   .minima = {group_min_.data() + group_minimum, block_min_.data() + block_minimum,
                                              view.base.tile_count(), true},
                                   .count = part.count,
                                   .neighbors = out_.k,
                                   .number = part.chosen};
      view.first_slot = slot, view.first_query = query;
      view.limits = limits_of_query(rows.rows(), out_.k);
      view.dense = {dense_.data() + query, dense_limit_.data() + query, dense_count_.data() + number};
      view.numbers = part.numbers;
      if (queries_.has_excluded) {
        view.excluded = queries_.excluded;
        view.excluded_rows = excluded_.data() + slot;
        view.queries.excluded_rows = view.excluded_rows;
      }
      if (queries_.are_new) {
        view.base.position = part.numbers.position, view.base.first_row = part.numbers.first_row;
        view.out = {out_.lists.distance, out_.lists.index, out_.candidates, part.chosen};
      } else {
        const DeviceLists found = found_of(query);
        view.out = {found.distance, found.index, out_.candidates};
      }
      view.center = rows.center.data();
      view.scale = power_of_two(-rows.plan.screen.exponent);
      if (!view.measures_all && few_fill && part.count <= kFewQueries) {
        for (std::int64_t block = 0; block < view.queries.minima.tile_blocks(); ++block)
          few_items.push_back({static_cast<std::int32_t>(few.size()), static_cast<std::int32_t>(block)});
        few.push_back({view.base.tiles, view.base.score_base, view.queries});
        most_few_ = std::max(most_few_, part.count);
      } else if (!view.measures_all) {
        const auto column_tiles = static_cast<unsigned>(view.base.tile_count());
        products.push_back(
            {{view.queries.tiles, view.base.tiles, view.base.score_base, part.count, column_tiles, mma_, column_tiles},
             view.queries.minima});
        tiles += slots_of(part.count) / kFp16TileRows * column_tiles;
      }
      part_of_tile.insert(part_of_tile.end(), static_cast<std::size_t>(slots_of(part.count) / kFp16TileRows), number);
      slot += slots_of(part.count);
      query += part.count;
      group_minimum += part.count * size.groups;
      block_minimum += part.count * size.blocks;
    }
    upload(views_, views);
    upload(products_, products);
    upload(part_of_tile_, part_of_tile);
    upload(items_, divided(products, tiles));
    upload(few_, few);
    upload(few_items_, few_items);
  }

  /// The products as work of blocks, of `tiles` tiles in all: enough for some rounds of blocks, to balance them.
  std::vector<ProductItem> divided(const std::vector<ProductPart<KeepMinima>>& products, std::int64_t tiles) const {
    constexpr std::int64_t kRounds = 4;
    const std::int64_t blocks = std::int64_t{context().multiprocessors} * kMmaBlocks * kRounds;
    const std::int64_t share = (tiles / blocks + kFineTiles - 1) / kFineTiles * kFineTiles;
    const auto range = static_cast<unsigned>(std::max<std::int64_t>(share, kFineTiles));
    std::vector<ProductItem> items;
    for (std::size_t p = 0; p < products.size(); ++p) {
      const MmaArguments& product = products[p].product;
      const auto groups = static_cast<unsigned>(slots_of(product.rows.most) / kFp16TileRows);
      for (unsigned at = 0; at < product.column_tiles; at += range) {
        for (unsigned group = 0; group < groups; ++group) {
          items.push_back({static_cast<std::int32_t>(p), group, at, std::min(at + range, product.column_tiles)});
        }
      }
    }
    return items;
  }

  template <class V>
  void upload(Buffer<V>& to, const std::vector<V>& from) const {
    if (from.empty()) return;
    to = Buffer<V>(first().pool(), std::ssize(from));
    stream().upload(to.data(), from.data(), to.size());
  }

  /// Asynchronous.
  void search() const {
    stream().fill(dense_count_.data(), 0, dense_count_.size());
    stream().fill(block_min_.data(), 0x7F, block_min_.size());
    if (first_.size() > 0) stream().fill(first_.data(), 0xFF, first_.size());
    queries_kernel<<<static_cast<unsigned>(parts_.size()), kBlock, 0, stream()>>>(views_.data(), query_.data(),
                                                                                  first_.data());
    check(cudaGetLastError());
    Fp16Output rounded{tiles_.data(), shape_};
    rounded.norm = norm_.data();
    rounded.residual = residual_.data();
    round_to_fp16(context(), SlotRows<T>{views_.data(), part_of_tile_.data(), slots_, first().columns()}, rounded);
    find_parts_minima(stream(), few_.data(), few_items_.data(), few_items_.size(), most_few_);
    launch_parts<KeepMinima>(context(), products_.data(), items_.data(), items_.size(), mma_);
    launch_lists(context(), part_lists_kernel<T>, query_count_, candidate_capacity(out_.k),
                 static_cast<const PartView<T>*>(views_.data()), static_cast<const PartQuery*>(query_.data()));
  }

  DeviceLists found_of(std::int64_t query) const {
    return {found_->distance.data() + query * out_.k, found_->index.data() + query * out_.k};
  }

  /// Asynchronous.
  void merge() const {
    merge_parts_kernel<<<context().grid(first_.size(), kBlockWarps), kBlock, 0, stream()>>>(
        views_.data(), query_.data(), first_.data(), first_.size(), out_.k, found_->lists(), merged_->lists(),
        out_.lists);
    check(cudaGetLastError());
  }

  void search_dense() const {
    std::vector<Word> counts(parts_.size());
    stream().download(counts.data(), dense_count_.data(), dense_count_.size());
    std::int64_t query = 0;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      ChosenQueries<double> again = queries_;
      again.chosen = dense_.data() + query;
      again.count = static_cast<std::int64_t>(counts[p]);
      search_chosen(*parts_[p].rows, parts_[p].numbers, again, out_);
      query += parts_[p].count;
    }
  }

  std::span<const GroupPart<T>> parts_;
  const ChosenQueries<double>& queries_;
  const QueryLists& out_;
  Fp16Layout shape_;
  MmaShape mma_;
  std::int64_t slots_ = 0, query_count_ = 0, group_minima_ = 0, block_minima_ = 0, few_blocks_ = 0;
  Buffer<uint4> tiles_;
  Buffer<float> norm_, residual_;  // (slots)
  Buffer<std::int32_t> excluded_;  // (slots)
  Buffer<float> group_min_, block_min_;
  Buffer<std::int32_t> dense_;  // (queries) those of each part from its first query on
  Buffer<float> dense_limit_;
  Buffer<Word> dense_count_;  // (parts)
  Buffer<PartQuery> query_;   // (queries)
  Buffer<PartView<T>> views_;
  Buffer<ProductPart<KeepMinima>> products_;
  Buffer<ProductItem> items_;
  Buffer<FewQueryPart> few_;  // parts of few queries
  Buffer<FewQueryItem> few_items_;
  std::int64_t most_few_ = 0;
  Buffer<std::int32_t> part_of_tile_;
  // Only of queries with lists:
  Buffer<std::int32_t> first_;  // (queries of the batch) in `query_`
  std::optional<ListBuffers> found_, merged_;
};

}  // namespace

template <class T>
GroupPath path_of_group(const HeldRows<T>& rows, std::int64_t neighbors) {
  GroupPath path{query_reach(rows, neighbors)};
  const std::int64_t candidates = candidate_capacity(neighbors);
  // With a list nearly as long as the number of groups of minima, a few hundred rows are within its limit.
  constexpr double kMostFilled = 0.8;
  const bool bounds = static_cast<double>(neighbors + 1) <= kMostFilled * static_cast<double>(rows.rows()) / kWarp;
  if (candidates > largest_candidate_capacity(*rows.context)) return path;
  if (bounds && has_fp16_scores(rows, Measure::squared_euclidean) &&
      device_has_product<KeepMinima>(ScreenPath::mma, rows.context->device)) {
    path.together = find_long_rows(rows).tree.is_empty();
    if (path.together) path.reach = fp16_reach(rows);
  } else {
    path.measures_all = path.together = rows.rows() <= candidates;
  }
  return path;
}

template <class T>
bool fills_device(const HeldRows<T>& rows, std::int64_t count) {
  constexpr std::int64_t kMost = std::int64_t{1} << 34;  // multiply-adds of a launch that is worth its preparation
  return slots_of(count) * rows.rows() * rows.columns() > kMost;
}

template <class T>
void search_together(const std::vector<GroupPart<T>>& parts, const ChosenQueries<double>& queries,
                     const QueryLists& out, std::int64_t bytes) {
  for (std::size_t first = 0; first < parts.size();) {
    std::size_t last = first;
    for (std::int64_t taken = 0; last < parts.size(); ++last) {
      taken += part_bytes(parts[last], out.k);
      if (last > first && taken > bytes) break;
    }
    PartsSearch<T>(std::span(parts).subspan(first, last - first), queries, out).run();
    first = last;
  }
}

#define KITH_INSTANTIATE(T)                                                                                        \
  template GroupPath path_of_group(const HeldRows<T>&, std::int64_t);                                              \
  template bool fills_device(const HeldRows<T>&, std::int64_t);                                                    \
  template void search_together(const std::vector<GroupPart<T>>&, const ChosenQueries<double>&, const QueryLists&, \
                                std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
