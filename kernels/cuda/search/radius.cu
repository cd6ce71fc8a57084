// All rows within a radius of each query: on the tensor cores if possible; otherwise, and for fallback queries, the
// scores of float32_scores.h exclude rows that are certainly farther, and the definition decides the others.
//
// In fp16: a limit for the scores of each query; a product that counts the rows within it and lists them up to a
// capacity; a second product, with the exact capacities, for queries whose lists overflowed; and distances by the
// definition for the listed rows. The search takes 2 q n d operations, once or twice, and 12 bytes and a row's values
// for each row within the limit.
//
// In float32 it takes 2 q n d operations and 4 bytes per score, and reads the values of each row within or near the
// limit once and downloads 16 bytes for it. No list is truncated: candidates that exceed the capacity are processed
// query by query, and one query's candidates always fit.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/device/tile.h"
#include "kernels/cuda/search/float32_scores.h"
#include "kernels/cuda/search/fp16_operands.h"
#include "kernels/cuda/search/operations.h"
#include "kernels/cuda/search/search_epilogues.h"

namespace kith::cuda {
namespace {

/// Inputs of limits_kernel.
struct Fp16LimitRequest {
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
__global__ void limits_kernel(const SearchBase<T> base, const double* queries, Fp16LimitRequest request, float* limit,
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

/// Adds every row within the limit to the lists of queries. run() returns, in ascending order, the fallback queries,
/// whose lists it did not change: the screen cannot bound their scores, or so many rows are near the limit that a more
/// precise screen is faster. Throws OutOfMemory, after which the lists are invalid.
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

/// limit[q]: a score above it proves D >= min_excluded.
__global__ void radius_limit_kernel(const float* half_sq_norm, const float* norm, std::int64_t queries,
                                    double min_excluded, double scale, ScreenMargin margin, float* limit) {
  constexpr double kRoundDown = 1 - 0x1p-22;  // covers the rounding of half_sq_norm to float32
  constexpr double kUnderflow = 0x1p-130;     // covers values below the float32 range
  for (std::int64_t q = thread_index(); q < queries; q += thread_count()) {
    const double norm_bound = static_cast<double>(half_sq_norm[q]) * kRoundDown - kUnderflow;
    limit[q] = score_limit(min_excluded, scale, norm_bound, margin.at(norm[q]));
  }
}

/// limit[q] = radius, rounded up, for scores by the definition.
__global__ void exact_limit_kernel(std::int64_t queries, double radius, float* limit) {
  for (std::int64_t q = thread_index(); q < queries; q += thread_count()) limit[q] = __double2float_ru(radius);
}

/// The search by float32 scores, or by the definition.
template <class T>
class RadiusSearch {
 public:
  RadiusSearch(const HeldRows<T>& held, const Queries& queries, std::vector<QueryRange> ranges, RadiusLists& result)
      : held_(held),
        queries_(queries),
        ranges_(std::move(ranges)),
        result_(result),
        sizes_(score_sizes(held.largest_block(), longest(ranges_), queries.measure, held.pool().available(),
                           held.columns() * 12 + 32, 16)),
        workspace_(held, sizes_),
        total_(result.total()) {}

  void run() {
    held_.for_blocks([&](const Block<T>& rows) {
      // Skips whole tiles of rows below first_row, so that the other tiles do not change.
      const std::int64_t skipped = std::max<std::int64_t>(result_.first_row - held_.first_row - rows.first, 0);
      if (skipped >= rows.rows) return;
      const std::int64_t first_row = skipped / kTileColumns * kTileColumns;
      const T* values = held_.on_device(rows);
      for (const QueryRange& range : ranges_) {
        for (std::int64_t done = 0; done < range.count; done += sizes_.queries) {
          begin(range.first + done, std::min(sizes_.queries, range.count - done));
          for (std::int64_t slice = first_row; slice < rows.rows; slice += sizes_.rows) {
            search_slice(values + slice * held_.columns(), rows.first + slice,
                         std::min(sizes_.rows, rows.rows - slice));
          }
        }
      }
    });
  }

 private:
  QueryBatch batch() const { return {workspace_.queries.data(), count_, queries_.measure, &workspace_.screened}; }

  /// Uploads and screens queries first .. first + count - 1, and computes their limits.
  void begin(std::int64_t first, std::int64_t count) {
    const Stream& stream = held_.stream();
    first_ = first;
    count_ = count;
    stream.upload(workspace_.queries.data(), queries_.values.data + first * held_.columns(), count * held_.columns());
    screen_queries(held_, batch(), workspace_.screened);
    const unsigned blocks = held_.context->grid(count, kBlock);
    if (queries_.measure == Measure::squared_euclidean) {
      // D >= the next double is D > the limit.
      const double min_excluded = std::nextafter(result_.limit, std::numeric_limits<double>::infinity());
      radius_limit_kernel<<<blocks, kBlock, 0, stream>>>(
          workspace_.screened.half_sq_norm.data(), workspace_.screened.norm.data(), count, min_excluded,
          power_of_two(-held_.plan.screen.exponent), score_margin(held_, queries_.measure), workspace_.limit.data());
    } else {
      exact_limit_kernel<<<blocks, kBlock, 0, stream>>>(count, result_.limit, workspace_.limit.data());
    }
    check(cudaGetLastError());
  }

  /// Searches the held rows at positions first .. first + rows - 1 for the batch.
  void search_slice(const T* values, std::int64_t first, std::int64_t rows) {
    const Stream& stream = held_.stream();
    const std::int64_t excluded = queries_.excluded_row + first_ - held_.first_row - first;
    ScoreBlock block = workspace_.block(rows, count_, excluded, queries_.excluded_row >= 0);
    block.stored_limit = workspace_.limit.data();
    score_rows(held_, batch(), values, first, block);
    workspace_.for_fitting(stream, workspace_.candidate_counts(stream, block),
                           [&](const QueryRange& range, const std::vector<std::int64_t>& offsets) {
                             if (offsets.back() > 0) add_within_radius(values, first, block, range, offsets);
                           });
  }

  /// Computes the distances of the candidates of some queries, and adds the rows within the radius to the result.
  void add_within_radius(const T* values, std::int64_t first, const ScoreBlock& block, QueryRange range,
                         const std::vector<std::int64_t>& offset) {
    const Stream& stream = held_.stream();
    const std::int64_t count = offset.back();
    workspace_.measure_candidates(held_, batch(), values, block, range, count);
    row_.resize(static_cast<std::size_t>(count));
    distance_.resize(static_cast<std::size_t>(count));
    stream.download(row_.data(), workspace_.row.data(), count);
    stream.download(distance_.data(), workspace_.distance.data(), count);
    for (std::int64_t i = 0; i < range.count; ++i) {
      const std::int64_t query = first_ + range.first + i;
      for (std::int64_t c = offset[i]; c < offset[i + 1]; ++c) {
        const std::int64_t row = held_.first_row + first + row_[c];
        if (row < result_.first_row || !(distance_[c] <= result_.limit)) continue;
        ++result_.counts[query];
        if (total_++ < result_.capacity) result_.rows[query].push_back({distance_[c], row});
      }
    }
  }

  const HeldRows<T>& held_;
  const Queries& queries_;
  std::vector<QueryRange> ranges_;
  RadiusLists& result_;
  ScoreSizes sizes_;
  ScoreWorkspace workspace_;
  std::int64_t total_;                  // rows in the result so far
  std::int64_t first_ = 0, count_ = 0;  // queries of the batch
  std::vector<std::int32_t> row_;
  std::vector<double> distance_;
};

}  // namespace

template <class T>
void search_radius(const HeldRows<T>& held, const Queries& queries, RadiusLists& result) {
  if (queries.values.rows == 0 || result.first_row >= held.first_row + held.rows()) return;
  const RadiusLists initial = result;
  std::vector<QueryRange> ranges{{0, queries.values.rows}};
  if (has_fp16_scores(held, queries.measure)) {
    try {
      ranges = ranges_of(Fp16RadiusSearch<T>(held, queries, result).run());
    } catch (const OutOfMemory&) {  // the float32 search needs less memory
      result = initial;
    }
  }
  if (ranges.empty()) return;
  try {
    RadiusSearch<T>(held, queries, std::move(ranges), result).run();
  } catch (const OutOfMemory&) {  // the caller frees memory and searches again
    result = initial;
    throw;
  }
}

#define KITH_INSTANTIATE(T) template void search_radius(const HeldRows<T>&, const Queries&, RadiusLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
