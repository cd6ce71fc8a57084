// Uploads queries batch by batch, searches them on the tensor cores (fp16_batch.h), and downloads their lists.
#include "kernels/cuda/search/fp16_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/cuda/search/fp16_batch.h"
#include "kernels/cuda/search/gathered_queries.h"
#include "kernels/cuda/search/long_rows.h"

namespace kith::cuda {
namespace {

/// Queries per batch: few enough that a batch is searched while the next one is uploaded, within the device's memory.
template <class T>
std::int64_t batch_queries(const HeldRows<T>& held, const Queries& request, std::int64_t neighbors) {
  constexpr std::int64_t kBatches = 2, kMinBatch = 2048;  // smaller batches do not fill the device
  constexpr std::int64_t kSmallTile = 64;                 // used if the caller limits the memory
  const std::int64_t queries = request.values.rows;
  const std::int64_t query_bytes =
      batch_query_bytes(held.rows(), neighbors) + 2 * (held.columns() * 16 + neighbors * 16);
  const std::int64_t bytes = request.working_bytes > 0 ? request.working_bytes : kMaxMinimaBytes;
  const std::int64_t tile = request.working_bytes > 0 ? kSmallTile : kQueryTile;
  const std::int64_t fitting = std::min(bytes, held.pool().available() / 2) / query_bytes / tile * tile;
  const std::int64_t share = (queries / kBatches + kQueryTile - 1) / kQueryTile * kQueryTile;
  return std::clamp(std::min(fitting, std::max(share, kMinBatch)), std::min(queries, tile), queries);
}

/// Searches batches of queries. A batch is searched while the lists of the previous one are downloaded and the queries
/// of the next one uploaded.
template <class T>
class Fp16Search {
 public:
  /// max_query_norm, sampled: as in BatchSearch.
  Fp16Search(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists, double max_query_norm,
             std::int64_t sampled)
      : held_(held),
        queries_(queries),
        lists_(lists),
        size_(batch_queries(held, queries, k())),
        batch_(held, {queries.measure, k(), size_, max_query_norm, sampled}),
        candidates_(held.pool(), 1) {
    for (int i = 0; i < (size_ < queries.values.rows ? 2 : 1); ++i) {
      buffers_[i].queries = allocate_fp16_queries(held, queries.measure, size_);
      buffers_[i].distance = Buffer<double>(held.pool(), size_ * k());
      buffers_[i].index = Buffer<std::int64_t>(held.pool(), size_ * k());
    }
  }

  /// Returns the fallback queries.
  std::vector<std::int64_t> run() {
    const Stream &stream = held_.stream(), &link = held_.context->link;
    const std::int64_t batches = (queries_.values.rows + size_ - 1) / size_;
    stream.fill(candidates_.data(), 0, 1);
    link.wait_for(stream);  // earlier work on the stream may still use the pool's memory
    upload(0);
    for (std::int64_t b = 0; b < batches; ++b) {
      stream.wait_for(link);
      search(b);
      if (b > 0) download(b - 1);
      if (b + 1 < batches) upload(b + 1);
      link.wait_for(stream);
    }
    download(batches - 1);
    Word candidates = 0;
    stream.download(&candidates, candidates_.data(), 1);
    lists_.candidates += static_cast<std::int64_t>(candidates);
    return std::move(fallback_);
  }

 private:
  /// Queries and lists of a batch; batches alternate between two of them.
  struct BatchBuffers {
    Fp16Queries queries;
    Buffer<double> distance;
    Buffer<std::int64_t> index;
  };

  std::int64_t k() const { return lists_.index.columns(); }
  std::int64_t count(std::int64_t batch) const { return std::min(size_, queries_.values.rows - batch * size_); }
  const BatchBuffers& buffers(std::int64_t batch) const { return buffers_[batch % 2]; }

  void upload(std::int64_t batch) {
    upload_queries(held_, held_.context->link, queries_.values.data + batch * size_ * held_.columns(), count(batch),
                   buffers_[batch % 2].queries);
  }

  /// Asynchronous.
  void search(std::int64_t batch) const {
    const Fp16Queries& fp16_queries = buffers(batch).queries;
    round_queries(held_, count(batch), fp16_queries);
    batch_.search({.values = fp16_queries.values.data(),
                   .tiles = fp16_queries.fp16.values.data(),
                   .shape = held_.fp16.shape,
                   .norm = fp16_queries.fp16.norm.data(),
                   .residual = fp16_queries.fp16.residual.data(),
                   .minima = {},
                   .count = count(batch),
                   .excluded = queries_.excluded_row + batch * size_ - held_.first_row,
                   .has_excluded = queries_.excluded_row >= 0},
                  {buffers(batch).distance.data(), buffers(batch).index.data(), candidates_.data()});
  }

  /// Waits for the lists.
  void download(std::int64_t batch) {
    const std::int64_t first = batch * size_;
    const Stream& link = held_.context->link;
    link.download(lists_.distance.data() + first * k(), buffers(batch).distance.data(), count(batch) * k());
    link.download(lists_.index.data() + first * k(), buffers(batch).index.data(), count(batch) * k());
    for (std::int64_t q = first; q < first + count(batch); ++q) {
      if (lists_.index(q, 0) < 0) fallback_.push_back(q);
    }
  }

  const HeldRows<T>& held_;
  const Queries& queries_;
  NeighborLists& lists_;
  std::int64_t size_;  // queries of a batch
  Fp16Batch<T> batch_;
  Buffer<Word> candidates_;
  BatchBuffers buffers_[2];
  std::vector<std::int64_t> fallback_;
};

}  // namespace

template <class T>
bool can_search_fp16(const HeldRows<T>& held, Measure measure, std::int64_t neighbors) {
  return has_fp16_scores(held, measure) &&
         can_find_lists(*held.context, held.rows(), neighbors, candidate_capacity(neighbors));
}

template <class T>
std::vector<std::int64_t> search_fp16(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists,
                                      std::int64_t sampled) {
  return Fp16Search<T>(held, queries, lists, 0, sampled).run();
}

namespace {

/// The norm of a row in the unit of the fp16 rows, without their rounding; infinite if fp16 cannot hold it.
template <class T>
double fp16_norm(const HeldRows<T>& held, std::span<const double> row) {
  constexpr double kUp = 1 << kFp16Shift, kLargest = 65000.0;
  const ScreenTransform& screen = held.plan.screen;
  const double scale = std::ldexp(1.0, -screen.exponent);
  double sum = 0.0, largest = 0.0;
  for (std::size_t j = 0; j < row.size(); ++j) {
    const double value = kUp * (row[j] * scale - static_cast<double>(screen.center[j]));
    largest = std::max(largest, std::abs(value));
    sum += value * value;
  }
  return largest < kLargest ? std::sqrt(sum) : std::numeric_limits<double>::infinity();
}

}  // namespace

template <class T>
std::vector<std::int64_t> search_long_queries(const HeldRows<T>& held, const Queries& queries,
                                              const std::vector<std::int64_t>& fallback, NeighborLists& lists) {
  constexpr double kRounding = 1 + 0x1p-8;  // covers that of fp16
  const bool excludes = queries.excluded_row >= 0;
  // The queries are no longer consecutive rows, so that each finds itself.
  const std::int64_t k = lists.index.columns(), searched = k + (excludes ? 1 : 0);
  if (!can_hold_apart(queries.measure, searched) || !can_search_fp16(held, queries.measure, searched)) return fallback;
  const double usual = usual_limits(held, find_long_rows(held).others).max_query_norm;
  std::vector<std::int64_t> chosen, remaining;
  double longest = 0.0;
  for (const std::int64_t q : fallback) {
    const double norm = fp16_norm(held, queries.values.row(q));
    const bool is_long = norm > usual / kRounding && std::isfinite(norm);
    (is_long ? chosen : remaining).push_back(q);
    if (is_long) longest = std::max(longest, norm);
  }
  search_gathered(queries, chosen, lists, [&](const Queries& long_queries, NeighborLists& found) {
    Fp16Search<T>(held, long_queries, found, longest * kRounding, 0).run();
  });
  for (const std::int64_t q : chosen) {
    if (lists.index(q, 0) < 0) remaining.push_back(q);
  }
  std::sort(remaining.begin(), remaining.end());
  return remaining;
}

#define KITH_INSTANTIATE(T)                                                                                         \
  template bool can_search_fp16(const HeldRows<T>&, Measure, std::int64_t);                                         \
  template std::vector<std::int64_t> search_fp16(const HeldRows<T>&, const Queries&, NeighborLists&, std::int64_t); \
  template std::vector<std::int64_t> search_long_queries(const HeldRows<T>&, const Queries&,                        \
                                                         const std::vector<std::int64_t>&, NeighborLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
