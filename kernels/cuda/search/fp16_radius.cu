// The fp16 radius search: a limit for the scores of each query; a product that counts the rows within it and lists them
// up to a capacity; a second product, with the exact capacities, for queries whose lists overflowed; and distances by
// the definition for the listed rows.
//
// The search takes 2 q n d operations, once or twice, and 12 bytes and a row's values for each row within the limit.
#include "kernels/cuda/search/fp16_radius.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/search/fp16_operands.h"
#include "kernels/cuda/search/search_epilogues.h"

namespace kith::cuda {
namespace {

/// Inputs of limits_kernel.
struct LimitRequest {
  const double* factor = nullptr;   // (queries) for inner products, or null
  const float* center = nullptr;    // (d)
  const float* norm = nullptr;      // (queries) of fp16
  const float* residual = nullptr;  // (queries)
  double largest = 0.0;             // largest D within the radius
  double scale = 1.0;               // 2^-exponent of the screen
  std::int64_t count = 0;
};

/// limit[q]: a higher score proves that D is above request.largest; negative if no row is within it or, if ambiguous[q]
/// is set, if the screen cannot bound the scores. One warp per query.
template <class T>
__global__ void limits_kernel(const SearchBase<T> base, const double* queries, LimitRequest request, float* limit,
                              unsigned* ambiguous) {
  constexpr double kUp = 1 << kFp16Shift;
  const double rounding = static_cast<double>(base.d + 64) * 0x1p-52;  // relative error of the sums below
  for (std::int64_t q = warp_index(); q < request.count; q += warp_count()) {
    double squares = 0.0, product = 0.0, magnitude = 0.0;
    const bool is_product = request.factor != nullptr;
    const double scale = is_product ? request.factor[q] : request.scale;
    for (std::int64_t j = lane_index(); j < base.d; j += kWarp) {
      const double center = static_cast<double>(request.center[j]), value = queries[q * base.d + j] * scale;
      const double centred = kUp * (value - center);
      squares += centred * centred;
      product += kUp * center * (kUp * value);
      magnitude += fabs(kUp * center * (kUp * value));
    }
    squares = lanes_total(squares);
    product = lanes_total(product);
    magnitude = lanes_total(magnitude);
    if (lane_index() != 0) continue;
    const float norm = request.norm[q], residual = request.residual[q];
    const float margin = base.bound.at(norm, residual);
    float unbiased = 0.0F;
    if (is_product) {
      // D = -x.q is the score minus the query's product with the center, in the units of row and query.
      const double in_units = request.largest * request.scale * kUp * (scale * kUp);
      const double sum = in_units + product + static_cast<double>(margin) / 2;
      unbiased = __double2float_ru(sum + (fabs(in_units) + magnitude + fabs(sum)) * rounding);
    } else {
      // The limit proves D >= the next double, that is, D > request.largest.
      const double next = nextafter(request.largest, std::numeric_limits<double>::infinity());
      unbiased = score_limit(next, scale * kUp, squares / 2 * (1 - rounding), margin);
    }
    const float biased =
        fminf(__fadd_ru(unbiased, base.bound.grid.bias), QuantizationGrid::kNever / 2);  // below the padding rows
    const bool bounded = __fadd_ru(norm, residual) <= base.max_query_norm && unbiased == unbiased;
    limit[q] = bounded ? biased : -1.0F;
    ambiguous[q] = bounded ? 0 : 1;
  }
}

/// The lists of consecutive queries.
struct ListedRows {
  RowLists lists;
  std::int64_t first_query = 0;         // query of the batch with list 0
  const std::int64_t* begin = nullptr;  // (queries + 1) offsets of the lists in `row` and `distance`
  std::int32_t* row = nullptr;
  double* distance = nullptr;
};

/// Copies the listed rows to consecutive lists and computes their distances. One thread block per query.
template <class T, Measure M>
__global__ void measure_kernel(const SearchBase<T> base, const double* queries, const ListedRows listed) {
  constexpr int kPairs = 4;  // of a warp at a time
  const std::int64_t q = blockIdx.x, begin = listed.begin[q], count = listed.begin[q + 1] - begin;
  const std::int32_t* rows = listed.lists.row + listed.lists.first(q);
  const double* query = queries + (listed.first_query + q) * base.d;
  for (std::int64_t first = threadIdx.x / kWarp * kPairs; first < count; first += blockDim.x / kWarp * kPairs) {
    const T* x[kPairs];
    const double* c[kPairs];
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      x[i] = base.values + rows[min(first + i, count - 1)] * base.d;
      c[i] = query;
    }
    double sum[kPairs];
    accumulate_pairs<M>(x, c, base.d, sum);
    const double distance = add_lanes<kPairs, M>(sum);
    const std::int64_t pair = first + lane_index() / (kWarp / kPairs);
    if (lane_index() % (kWarp / kPairs) != 0 || pair >= count) continue;
    listed.row[begin + pair] = rows[pair];
    listed.distance[begin + pair] = distance;
  }
}

/// Capacities of a batch.
struct RadiusSizes {
  std::int64_t queries = 0;
  std::int64_t listed = 0;  // rows in the lists of all queries
  std::int64_t rows = 0;    // distances, at least those of one query's list
};

template <class T>
RadiusSizes choose_sizes(const HeldRows<T>& held, std::int64_t queries) {
  constexpr std::int64_t kMaxRows = std::int64_t{1} << 24, kMinListed = 256, kRowBytes = 12;
  constexpr std::int64_t kListed = 4;  // listed rows per distance
  constexpr std::int64_t kMaxQueryBytes = std::int64_t{1} << 28;
  RadiusSizes sizes;
  const std::int64_t row_bytes = kRowBytes + kListed * static_cast<std::int64_t>(sizeof(std::int32_t));
  sizes.rows = std::clamp<std::int64_t>(held.pool().available() / 4 / row_bytes, kMinListed, kMaxRows);
  sizes.listed = sizes.rows * kListed;
  const std::int64_t fitting = kMaxQueryBytes / (held.columns() * 10 + 64);
  sizes.queries = std::clamp<std::int64_t>(std::min(sizes.listed / kMinListed, fitting), 1, queries);
  return sizes;
}

template <class T>
class Fp16RadiusSearch {
 public:
  Fp16RadiusSearch(const HeldRows<T>& held, const Queries& queries, RadiusLists& result)
      : held_(held),
        queries_(queries),
        result_(result),
        base_(from_row(held, search_base(held, queries.measure), result.first_row)),
        sizes_(choose_sizes(held, queries.values.rows)),
        fp16_queries_(allocate_fp16_queries(held, queries.measure, sizes_.queries)),
        limit_(held.pool(), sizes_.queries),
        ambiguous_(held.pool(), sizes_.queries),
        count_(held.pool(), sizes_.queries),
        list_begin_(held.pool(), sizes_.queries + 1),
        begin_(held.pool(), sizes_.queries + 1),
        listed_(held.pool(), sizes_.listed),
        row_(held.pool(), sizes_.rows),
        distance_(held.pool(), sizes_.rows),
        total_(result.total()) {}

  std::vector<std::int64_t> run() {
    for (std::int64_t first = 0; first < queries_.values.rows; first += sizes_.queries) {
      search_batch(first, std::min(sizes_.queries, queries_.values.rows - first));
    }
    return std::move(fallback_);
  }

 private:
  /// Searches a batch of queries.
  void search_batch(std::int64_t first, std::int64_t count) {
    const Context& context = *held_.context;
    first_ = first;
    upload_queries(held_, context.stream, queries_.values.data + first * base_.d, count, fp16_queries_);
    round_queries(held_, count, fp16_queries_);
    limits_kernel<<<context.grid(count, kBlockWarps), kBlock, 0, context.stream>>>(
        base_, fp16_queries_.values.data(),
        {.factor = fp16_queries_.factor.size() > 0 ? fp16_queries_.factor.data() : nullptr,
         .center = held_.center.data(),
         .norm = fp16_queries_.fp16.norm.data(),
         .residual = fp16_queries_.fp16.residual.data(),
         .largest = result_.limit,
         .scale = power_of_two(-held_.plan.screen.exponent),
         .count = count},
        limit_.data(), ambiguous_.data());
    check(cudaGetLastError());
    const auto list_capacity =
        static_cast<unsigned>(std::min<std::int64_t>(sizes_.listed / count, std::numeric_limits<std::int32_t>::max()));
    list(0, count, {.capacity = list_capacity});

    std::vector<unsigned> ambiguous(static_cast<std::size_t>(count)), counts(ambiguous.size());
    context.stream.download(ambiguous.data(), ambiguous_.data(), count);
    context.stream.download(counts.data(), count_.data(), count);
    // If many rows are near the limit, a more precise screen is faster than distances by the definition. Inner products
    // have none.
    const std::int64_t share = base_.measure == Measure::inner_product ? 2 : 16;
    const std::int64_t max_rows = std::min(sizes_.rows, std::max<std::int64_t>(list_capacity, base_.rows / share));
    Counts short_lists(counts.size()), long_lists(counts.size());
    for (std::size_t q = 0; q < counts.size(); ++q) {
      if (ambiguous[q] != 0 || counts[q] > max_rows) {
        fallback_.push_back(first + static_cast<std::int64_t>(q));
      } else {
        (counts[q] <= list_capacity ? short_lists : long_lists)[q] = counts[q];
      }
    }
    for_ranges(short_lists, [&](std::int64_t q, std::int64_t end) {
      add_within_radius(short_lists, q, end, {.capacity = list_capacity});
    });
    for_ranges(long_lists, [&](std::int64_t q, std::int64_t end) {
      // Queries of the first tile that come before the range get lists of capacity 0.
      const std::int64_t tile = q / kQueryTile * kQueryTile;
      std::vector<std::int64_t> begin(static_cast<std::size_t>(q - tile + 1), 0);
      for (std::int64_t i = q; i < end; ++i) begin.push_back(begin.back() + long_lists[i]);
      context.stream.upload(list_begin_.data(), begin.data(), std::ssize(begin));
      list(tile, end - tile, {.begin = list_begin_.data()});
      add_within_radius(long_lists, q, end, {.begin = list_begin_.data() + (q - tile)});
    });
  }

  /// Rows in the list of each query of a batch.
  using Counts = std::vector<std::int64_t>;

  /// Calls work(first, end) for ranges of queries whose lists fit the capacity together. A range begins with a query
  /// with rows; one query always fits.
  template <class Work>
  void for_ranges(const Counts& counts, const Work& work) const {
    for (std::int64_t q = 0; q < std::ssize(counts);) {
      if (counts[q] == 0) {
        ++q;
        continue;
      }
      const std::int64_t first = q;
      std::int64_t total = 0;
      do {
        total += counts[q++];
      } while (q < std::ssize(counts) && total + counts[q] <= sizes_.rows);
      work(first, q);
    }
  }

  RowLists with_buffers(RowLists lists, std::int64_t first) const {
    lists.limit = limit_.data() + first;
    lists.row = listed_.data() + first * lists.capacity;
    lists.count = count_.data() + first;
    return lists;
  }

  /// Fills the lists of the batch's queries from `first` on, a multiple of kQueryTile. Asynchronous.
  void list(std::int64_t first, std::int64_t count, const RowLists& lists) const {
    const uint4* tiles = fp16_queries_.fp16.values.data() + held_.fp16.shape.place(first, 0, 0);
    held_.stream().fill(count_.data() + first, 0, count);
    launch_product<ListBelowLimit>(*held_.context, search_problem(held_, base_, tiles, count),
                                   with_buffers(lists, first));
  }

  /// Computes the distances of the listed rows of queries first .. end - 1 of the batch, and adds the rows within the
  /// radius to the result.
  void add_within_radius(const Counts& counts, std::int64_t first, std::int64_t end, const RowLists& lists) {
    const Stream& stream = held_.stream();
    const std::int64_t count = end - first;
    std::vector<std::int64_t> begin{0};
    for (std::int64_t q = first; q < end; ++q) begin.push_back(begin.back() + counts[q]);
    const std::int64_t total = begin.back();
    stream.upload(begin_.data(), begin.data(), count + 1);
    const auto kernel = base_.measure == Measure::inner_product ? measure_kernel<T, Measure::inner_product>
                                                                : measure_kernel<T, Measure::squared_euclidean>;
    kernel<<<static_cast<unsigned>(count), kBlock, 0, stream>>>(
        base_, fp16_queries_.values.data(),
        {with_buffers(lists, first), first, begin_.data(), row_.data(), distance_.data()});
    check(cudaGetLastError());
    host_row_.resize(static_cast<std::size_t>(total));
    host_distance_.resize(static_cast<std::size_t>(total));
    stream.download(host_row_.data(), row_.data(), total);
    stream.download(host_distance_.data(), distance_.data(), total);
    for (std::int64_t q = 0; q < count; ++q) {
      const std::int64_t query = first_ + first + q;
      const std::int64_t excluded = queries_.excluded_row < 0 ? -1 : queries_.excluded_row + query;
      std::vector<Neighbor>& query_rows = result_.rows[query];
      const std::int64_t free = std::clamp<std::int64_t>(result_.capacity - total_, 0, begin[q + 1] - begin[q]);
      query_rows.reserve(query_rows.size() + static_cast<std::size_t>(free));
      for (std::int64_t i = begin[q]; i < begin[q + 1]; ++i) {
        const std::int64_t row = base_.first_row + host_row_[i];
        if (row == excluded || row < result_.first_row || !(host_distance_[i] <= result_.limit)) continue;
        ++result_.counts[query];
        if (total_++ < result_.capacity) query_rows.push_back({host_distance_[i], row});
      }
    }
  }

  const HeldRows<T>& held_;
  const Queries& queries_;
  RadiusLists& result_;
  SearchBase<T> base_;
  RadiusSizes sizes_;
  Fp16Queries fp16_queries_;
  Buffer<float> limit_;
  Buffer<unsigned> ambiguous_, count_;
  Buffer<std::int64_t> list_begin_, begin_;
  Buffer<std::int32_t> listed_, row_;
  Buffer<double> distance_;
  std::vector<std::int32_t> host_row_;
  std::vector<double> host_distance_;
  std::int64_t total_;      // rows in the result so far
  std::int64_t first_ = 0;  // query of the batch
  std::vector<std::int64_t> fallback_;
};

}  // namespace

template <class T>
bool can_search_radius_fp16(const HeldRows<T>& held, Measure measure) {
  return has_fp16_scores(held, measure);
}

template <class T>
std::vector<std::int64_t> search_radius_fp16(const HeldRows<T>& held, const Queries& queries, RadiusLists& result) {
  return Fp16RadiusSearch<T>(held, queries, result).run();
}

#define KITH_INSTANTIATE(T)                                          \
  template bool can_search_radius_fp16(const HeldRows<T>&, Measure); \
  template std::vector<std::int64_t> search_radius_fp16(const HeldRows<T>&, const Queries&, RadiusLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
