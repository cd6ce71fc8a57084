// Every row within a distance of a query: on the tensor cores where it can be (fp16_radius.h); else, and for queries
// that this leaves, the scores of query_scores.h drop the rows that are certainly farther, and the definition decides
// the others, whose distances go to the host.
//
// Cost: 2 q n d operations and 4 bytes for each score, as of a search, and for every row that is found, and the few
// near the limit, its values gathered once and 16 bytes on the way to the host. No list is cut short: what does not fit
// the room for candidates is taken query by query, and one query's always fits.
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

/// limit[q]: a score above it proves that D is above `most`.
__global__ void radius_limit_kernel(const float* half_sq_norm, const float* norm, std::int64_t queries, double most,
                                    double scale, ScreenMargin margin, float* limit) {
  constexpr double kRoundedDown = 1 - 0x1p-22;  // half norms are float64 sums that were rounded to float32
  constexpr double kVanished = 0x1p-130;        // below what float32 holds
  for (std::int64_t q = thread_index(); q < queries; q += thread_count()) {
    const double least = static_cast<double>(half_sq_norm[q]) * kRoundedDown - kVanished;
    limit[q] = score_limit(most, scale, least, margin.at(norm[q]));
  }
}

__global__ void exact_limit_kernel(std::int64_t queries, double most, float* limit) {
  for (std::int64_t q = thread_index(); q < queries; q += thread_count()) limit[q] = __double2float_ru(most);
}

/// All device memory, taken at once.
template <class T>
struct RadiusWorkspace {
  RadiusWorkspace(const HeldRows<T>& held, const ScoreSizes& sizes)
      : queries(held.pool(), sizes.queries * held.columns()),
        screened(allocate_screened(held, sizes.queries)),
        scores(held.pool(), sizes.queries * sizes.pitch),
        smallest(held.pool(), sizes.queries * (sizes.pitch / kGroupColumns)),
        limit(held.pool(), sizes.queries),
        counts(held.pool(), sizes.queries),
        offset(held.pool(), sizes.queries + 1),
        row(held.pool(), sizes.candidates),
        query(held.pool(), sizes.candidates),
        distance(held.pool(), sizes.candidates) {}

  Buffer<double> queries;
  ScreenedCopies screened;
  Buffer<float> scores, smallest, limit;
  Buffer<std::int64_t> counts, offset;
  Buffer<std::int32_t> row, query;
  Buffer<double> distance;
};

template <class T>
class Within {
 public:
  Within(const HeldRows<T>& held, const Queries& queries, std::vector<QueryRange> runs, RadiusLists& found)
      : held_(held),
        queries_(queries),
        runs_(std::move(runs)),
        found_(found),
        sizes_(
            score_sizes(held.largest_block(), longest(runs_), held.pool().available(), held.columns() * 12 + 32, 16)),
        workspace_(held, sizes_),
        total_(found.total()) {}

  void run() {
    held_.for_blocks([&](const Block<T>& rows) {
      // Whole tiles of rows that are not wanted are left out, so that the others are where they would be.
      const std::int64_t skipped = std::max<std::int64_t>(found_.first_row - held_.first_row - rows.first, 0);
      if (skipped >= rows.rows) return;
      const std::int64_t first_row = skipped / kTileColumns * kTileColumns;
      const T* values = held_.on_device(rows);
      for (const QueryRange& run : runs_) {
        for (std::int64_t done = 0; done < run.count; done += sizes_.queries) {
          begin(run.first + done, std::min(sizes_.queries, run.count - done));
          for (std::int64_t piece = first_row; piece < rows.rows; piece += sizes_.rows) {
            look_at(values + piece * held_.columns(), rows.first + piece, std::min(sizes_.rows, rows.rows - piece));
          }
        }
      }
    });
  }

 private:
  QueryBatch batch() const { return {workspace_.queries.data(), count_, queries_.measure, &workspace_.screened}; }

  /// Queries first .. first + count - 1 go to the device, and get their limits.
  void begin(std::int64_t first, std::int64_t count) {
    const Stream& stream = held_.stream();
    first_ = first;
    count_ = count;
    stream.upload(workspace_.queries.data(), queries_.values.data + first * held_.columns(), count * held_.columns());
    screen_queries(held_, batch(), workspace_.screened);
    const unsigned blocks = held_.context->grid(count, kBlock);
    if (queries_.measure == Measure::squared_euclidean) {
      // Proves D >= the next number, which is D > the limit.
      const double most = std::nextafter(found_.limit, std::numeric_limits<double>::infinity());
      radius_limit_kernel<<<blocks, kBlock, 0, stream>>>(
          workspace_.screened.half_sq_norm.data(), workspace_.screened.norm.data(), count, most,
          power_of_two(-held_.plan.screen.exponent), score_margin(held_, queries_.measure), workspace_.limit.data());
    } else {
      exact_limit_kernel<<<blocks, kBlock, 0, stream>>>(count, found_.limit, workspace_.limit.data());
    }
    check(cudaGetLastError());
  }

  /// The batch against rows at positions first .. first + rows - 1 of the held ones.
  void look_at(const T* values, std::int64_t first, std::int64_t rows) {
    const Stream& stream = held_.stream();
    const std::int64_t excluded = queries_.excluded_row + first_ - held_.first_row - first;
    const ScoreBlock block{workspace_.scores.data(),  workspace_.smallest.data(), sizes_.pitch, rows, count_, excluded,
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
      if (offset.back() > 0) take(values, first, block, {q, last - q}, offset);
      q = last;
    }
  }

  /// Measures the candidates of some queries of the batch, and adds those within the limit.
  void take(const T* values, std::int64_t first, const ScoreBlock& block, QueryRange run,
            const std::vector<std::int64_t>& offset) {
    const Stream& stream = held_.stream();
    const std::int64_t count = offset.back();
    stream.upload(workspace_.offset.data() + run.first, offset.data(), run.count + 1);
    list_candidates(stream, block, workspace_.limit.data(), run.first, run.count,
                    {workspace_.row.data(), workspace_.query.data(), workspace_.offset.data()});
    measure_pairs(held_, batch(), values, {workspace_.row.data(), workspace_.query.data(), count},
                  workspace_.distance.data());
    row_.resize(static_cast<std::size_t>(count));
    distance_.resize(static_cast<std::size_t>(count));
    stream.download(row_.data(), workspace_.row.data(), count);
    stream.download(distance_.data(), workspace_.distance.data(), count);
    for (std::int64_t i = 0; i < run.count; ++i) {
      const std::int64_t query = first_ + run.first + i;
      for (std::int64_t c = offset[i]; c < offset[i + 1]; ++c) {
        const std::int64_t row = held_.first_row + first + row_[c];
        if (row < found_.first_row || !(distance_[c] <= found_.limit)) continue;
        ++found_.counts[query];
        if (total_++ < found_.capacity) found_.rows[query].push_back({distance_[c], row});
      }
    }
  }

  const HeldRows<T>& held_;
  const Queries& queries_;
  std::vector<QueryRange> runs_;
  RadiusLists& found_;
  ScoreSizes sizes_;
  RadiusWorkspace<T> workspace_;
  std::int64_t total_;                  // rows found so far
  std::int64_t first_ = 0, count_ = 0;  // of the batch
  std::vector<std::int32_t> row_;
  std::vector<double> distance_;
};

}  // namespace

template <class T>
void search_radius(const HeldRows<T>& held, const Queries& queries, RadiusLists& found) {
  if (queries.values.rows == 0 || found.first_row >= held.first_row + held.rows()) return;
  const RadiusLists before = found;
  std::vector<QueryRange> runs{{0, queries.values.rows}};
  if (finds_within_fp16(held, queries.measure)) {
    try {
      runs = runs_of(search_radius_fp16(held, queries, found));
    } catch (const OutOfMemory&) {  // float32 needs less
      found = before;
    }
  }
  if (runs.empty()) return;
  try {
    Within<T>(held, queries, std::move(runs), found).run();
  } catch (const OutOfMemory&) {  // it will be tried again, from the start
    found = before;
    throw;
  }
}

#define KITH_INSTANTIATE(T) template void search_radius(const HeldRows<T>&, const Queries&, RadiusLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
