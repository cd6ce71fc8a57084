// All rows within a radius of each query: on the tensor cores if possible (fp16_radius.h); otherwise, and for fallback
// queries, the scores of query_scores.h exclude rows that are certainly farther, and the definition decides the others.
//
// The search takes 2 q n d operations and 4 bytes per score, and reads the values of each row within or near the limit
// once and downloads 16 bytes for it. No list is truncated: candidates that exceed the capacity are processed query by
// query, and one query's candidates always fit.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cuda/device/tile.h"
#include "kernels/cuda/search/fp16_radius.h"
#include "kernels/cuda/search/operations.h"
#include "kernels/cuda/search/query_ranges.h"
#include "kernels/cuda/search/query_scores.h"

namespace kith::cuda {
namespace {

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

/// All device memory of a search.
template <class T>
struct RadiusWorkspace {
  RadiusWorkspace(const HeldRows<T>& held, const ScoreSizes& sizes)
      : queries(held.pool(), sizes.queries * held.columns()),
        screened(allocate_screened(held, sizes.queries)),
        scores(held.pool(), sizes.queries * sizes.pitch),
        group_min(held.pool(), sizes.queries * (sizes.pitch / kGroupColumns)),
        limit(held.pool(), sizes.queries),
        counts(held.pool(), sizes.queries),
        offset(held.pool(), sizes.queries + 1),
        row(held.pool(), sizes.candidates),
        query(held.pool(), sizes.candidates),
        distance(held.pool(), sizes.candidates) {}

  Buffer<double> queries;
  ScreenedCopies screened;
  Buffer<float> scores, group_min, limit;
  Buffer<std::int64_t> counts, offset;
  Buffer<std::int32_t> row, query;
  Buffer<double> distance;
};

template <class T>
class RadiusSearch {
 public:
  RadiusSearch(const HeldRows<T>& held, const Queries& queries, std::vector<QueryRange> ranges, RadiusLists& result)
      : held_(held),
        queries_(queries),
        ranges_(std::move(ranges)),
        result_(result),
        sizes_(
            score_sizes(held.largest_block(), longest(ranges_), held.pool().available(), held.columns() * 12 + 32, 16)),
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
    const ScoreBlock block{workspace_.scores.data(),  workspace_.group_min.data(), sizes_.pitch, rows, count_, excluded,
                           queries_.excluded_row >= 0};
    score_rows(held_, batch(), values, first, block);
    count_candidates(stream, block, workspace_.limit.data(), workspace_.counts.data());
    std::vector<std::int64_t> counts(static_cast<std::size_t>(count_));
    stream.download(counts.data(), workspace_.counts.data(), count_);
    for (std::int64_t q = 0; q < count_;) {
      std::vector<std::int64_t> offset{0};
      std::int64_t last = q;
      while (last < count_ && (last == q || offset.back() + counts[last] <= workspace_.row.size())) {
        offset.push_back(offset.back() + counts[last++]);
      }
      if (offset.back() > 0) add_within_radius(values, first, block, {q, last - q}, offset);
      q = last;
    }
  }

  /// Computes the distances of the candidates of some queries, and adds the rows within the radius to the result.
  void add_within_radius(const T* values, std::int64_t first, const ScoreBlock& block, QueryRange range,
                         const std::vector<std::int64_t>& offset) {
    const Stream& stream = held_.stream();
    const std::int64_t count = offset.back();
    stream.upload(workspace_.offset.data() + range.first, offset.data(), range.count + 1);
    list_candidates(stream, block, workspace_.limit.data(), range.first, range.count,
                    {workspace_.row.data(), workspace_.query.data(), workspace_.offset.data()});
    measure_pairs(held_, batch(), values, {workspace_.row.data(), workspace_.query.data(), count},
                  workspace_.distance.data());
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
  RadiusWorkspace<T> workspace_;
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
  if (can_search_radius_fp16(held, queries.measure)) {
    try {
      ranges = ranges_of(search_radius_fp16(held, queries, result));
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
