// The neighbour search on the tensor cores: queries are the rows of the product of fp16, base rows its columns, and
// blocks share out the columns, so that few queries keep the device busy too. Very few queries take fp16_stream.h.
//
// Complete as search.cu is, with fp16 in the first look and float32 sums of fp16 in the second. Cost: 2 q n d
// operations and q n / 8 bytes written for the minima. Queries whose scores fp16 cannot bound are left to search.cu.
#include "kernels/cuda/search/fp16_search.h"

#include <algorithm>

#include "kernels/cuda/search/fp16_lists.h"
#include "kernels/cuda/search/fp16_operands.h"
#include "kernels/cuda/search/fp16_stream.h"
#include "kernels/cuda/search/minima_epilogue.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kMostMinimaBytes = std::int64_t{1} << 32;  // of a batch of queries

/// Whether another product takes less than reading every group that may have a neighbour, about k for each query: at
/// 350 TFLOP/s, for whole tiles of queries, and 4 TB/s.
bool multiplies_twice(std::int64_t rows, std::int64_t queries, std::int64_t neighbors) {
  constexpr std::int64_t kGroupInRows = 2048;  // that are multiplied while a group is read
  const std::int64_t tiled = (queries + kQueryTile - 1) / kQueryTile * kQueryTile;
  return static_cast<double>(queries * neighbors) * kGroupInRows >
         static_cast<double>(tiled) * static_cast<double>(rows);
}

/// Queries that are searched together: few enough that the first of them are being searched while the next ones are on
/// their way, if the device has the memory for them.
template <class T>
std::int64_t batch_queries(const HeldRows<T>& held, const Queries& asked, std::int64_t neighbors) {
  constexpr std::int64_t kBatches = 2, kLeast = 2048;  // more and smaller ones fill the device less well
  constexpr std::int64_t kFewTogether = 64;            // where memory is dear
  const std::int64_t queries = asked.values.rows, tiles = row_groups_of(held.rows());
  const std::int64_t listed = multiplies_twice(held.rows(), queries, neighbors) ? candidates_of_list(neighbors) * 4 : 0;
  const std::int64_t each = tiles * kQuarters * 5 + 2 * (held.columns() * 16 + neighbors * 16) + listed;
  const std::int64_t bytes = asked.working_bytes > 0 ? asked.working_bytes : kMostMinimaBytes;
  const std::int64_t tile = asked.working_bytes > 0 ? kFewTogether : kQueryTile;
  const std::int64_t fitting = std::min(bytes, held.pool().available() / 2) / each / tile * tile;
  const std::int64_t part = (queries / kBatches + kQueryTile - 1) / kQueryTile * kQueryTile;
  return std::clamp(std::min(fitting, std::max(part, kLeast)), std::min(queries, tile), queries);
}

/// Batches of queries, one after the other: their lists are found while those before are on their way to the host, and
/// the next queries to the device.
template <class T>
class Fp16Search {
 public:
  Fp16Search(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists)
      : held_(held),
        queries_(queries),
        lists_(lists),
        base_(search_base(held, queries.measure)),
        size_(batch_queries(held, queries, k())),
        minima_{nullptr, nullptr, base_.tiles()},
        each_(held.pool(), size_ * minima_.groups()),
        coarse_(held.pool(), size_ * minima_.coarse_groups()),
        candidates_(held.pool(), 1) {
    minima_.each = each_.data();
    minima_.coarse = coarse_.data();
    for (int i = 0; i < (size_ < queries.values.rows ? 2 : 1); ++i) {
      workspaces_[i].queries = allocate_fp16_queries(held, queries.measure, size_);
      workspaces_[i].distance = Buffer<double>(held.pool(), size_ * k());
      workspaces_[i].index = Buffer<std::int64_t>(held.pool(), size_ * k());
    }
    if (!multiplies_twice(held.rows(), size_, k())) return;
    limit_ = Buffer<float>(held.pool(), size_);
    listed_count_ = Buffer<unsigned>(held.pool(), size_);
    listed_ = Buffer<std::int32_t>(held.pool(), size_ * candidates_of_list(k()));
  }

  /// Returns the queries that are left.
  std::vector<std::int64_t> run() {
    const Stream &stream = held_.stream(), &link = held_.context->link;
    const std::int64_t batches = (queries_.values.rows + size_ - 1) / size_;
    stream.fill(candidates_.data(), 0, 1);
    link.wait_for(stream);  // memory may have been somebody else's
    send(0);
    for (std::int64_t b = 0; b < batches; ++b) {
      stream.wait_for(link);
      find(b);
      if (b > 0) fetch(b - 1);
      if (b + 1 < batches) send(b + 1);
      link.wait_for(stream);
    }
    fetch(batches - 1);
    Word candidates = 0;
    stream.download(&candidates, candidates_.data(), 1);
    lists_.candidates += static_cast<std::int64_t>(candidates);
    return std::move(left_);
  }

 private:
  /// Of a batch on its way: every second one has the same.
  struct Room {
    Fp16Queries queries;
    Buffer<double> distance;
    Buffer<std::int64_t> index;
  };

  std::int64_t k() const { return lists_.index.columns(); }
  std::int64_t count(std::int64_t batch) const { return std::min(size_, queries_.values.rows - batch * size_); }
  const Room& room(std::int64_t batch) const { return workspaces_[batch % 2]; }

  void send(std::int64_t batch) {
    send_queries(held_, held_.context->link, queries_.values.data + batch * size_ * base_.d, count(batch),
                 workspaces_[batch % 2].queries);
  }

  /// Queues only.
  void find(std::int64_t batch) const {
    const Context& context = *held_.context;
    const Fp16Queries& taken = room(batch).queries;
    round_queries(held_, count(batch), taken);
    const SearchQueries queries{.values = taken.values.data(),
                                .tiles = taken.fp16.values.data(),
                                .shape = held_.fp16.shape,
                                .norm = taken.fp16.norm.data(),
                                .residual = taken.fp16.residual.data(),
                                .minima = minima_,
                                .count = count(batch),
                                .neighbors = k(),
                                .excluded = queries_.excluded_row + batch * size_ - held_.first_row,
                                .leaves_out = queries_.excluded_row >= 0};
    const ListOutput found{room(batch).distance.data(), room(batch).index.data(), candidates_.data()};
    const Fp16Problem problem = search_problem(held_, base_, queries.tiles, queries.count);
    if (queries.count <= kFewQueries) {
      stream_minima(context.stream, base_.tiles, base_.score_base, queries);
    } else if (queries.count <= kFp16TileRows && context.screen == ScreenPath::wgmma) {
      context.stream.fill(minima_.coarse, 0x7F, queries.count * minima_.coarse_groups());
      launch_wgmma<KeepMinimaOfFew>(context, problem, minima_);
    } else {
      launch_product<KeepMinima>(context, problem, minima_);
    }
    if (listed_.size() == 0) return find_lists(context, base_, queries, found);
    const RowLists listed{limit_.data(), listed_.data(), listed_count_.data(),
                          static_cast<unsigned>(candidates_of_list(k()))};
    find_limits(context, base_, queries, limit_.data());
    context.stream.fill(listed_count_.data(), 0, queries.count);
    launch_product<ListWithin>(context, problem, listed);
    finish_lists(context, base_, queries, listed, found);
  }

  /// Waits for the lists.
  void fetch(std::int64_t batch) {
    const std::int64_t first = batch * size_;
    const Stream& link = held_.context->link;
    link.download(lists_.distance.data() + first * k(), room(batch).distance.data(), count(batch) * k());
    link.download(lists_.index.data() + first * k(), room(batch).index.data(), count(batch) * k());
    for (std::int64_t q = first; q < first + count(batch); ++q) {
      if (lists_.index(q, 0) < 0) left_.push_back(q);
    }
  }

  const HeldRows<T>& held_;
  const Queries& queries_;
  NeighborLists& lists_;
  SearchBase<T> base_;
  std::int64_t size_;  // of a batch
  GroupMinima minima_;
  Buffer<float> each_, coarse_;
  Buffer<Word> candidates_;
  Room workspaces_[2];
  // For a second product, else empty.
  Buffer<float> limit_;
  Buffer<unsigned> listed_count_;
  Buffer<std::int32_t> listed_;  // (queries, room of a list)
  std::vector<std::int64_t> left_;
};

}  // namespace

template <class T>
bool searches_fp16(const HeldRows<T>& held, Measure measure, std::int64_t neighbors) {
  return multiplies_base(held, measure) &&
         can_find_lists(*held.context, held.rows(), neighbors, candidates_of_list(neighbors));
}

template <class T>
std::vector<std::int64_t> search_fp16(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists) {
  return Fp16Search<T>(held, queries, lists).run();
}

#define KITH_INSTANTIATE(T)                                               \
  template bool searches_fp16(const HeldRows<T>&, Measure, std::int64_t); \
  template std::vector<std::int64_t> search_fp16(const HeldRows<T>&, const Queries&, NeighborLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
