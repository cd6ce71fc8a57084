// A limit for the scores of each query, one product that counts the rows below it and lists them while there is room, a
// second one for queries that had too little, now that it is known how much they need; and distances by the definition.
//
// Cost: 2 q n d operations, once or twice, and 12 bytes and a row's values for every row that is found or near the
// limit.
#include "kernels/cuda/search/fp16_radius.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/search/fp16_operands.h"
#include "kernels/cuda/search/minima_epilogue.h"

namespace kith::cuda {
namespace {

/// What the limits of scores are made of.
struct LimitRequest {
  const double* factor = nullptr;   // (queries) of inner products
  const float* center = nullptr;    // (d)
  const float* norm = nullptr;      // (queries) of fp16
  const float* residual = nullptr;  // (queries)
  double largest = 0.0;             // D that is still within
  double scale = 1.0;               // 2^-exponent of the screen
  std::int64_t count = 0;
};

/// limit[q]: a higher score proves that D is above request.largest; negative: none is as low, or, where uncertain[q] is
/// set, nothing is certain. A warp takes a query.
template <class T>
__global__ void limits_kernel(const SearchBase<T> base, const double* queries, LimitRequest request, float* limit,
                              unsigned* uncertain) {
  constexpr double kUp = 1 << kFp16Shift;
  const double rounding = static_cast<double>(base.d + 64) * 0x1p-52;  // of the sums here, relative
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
    float most = 0.0F;
    if (is_product) {
      // D = -x.q is a score, less what the query has with the center, in units of the row's and of the query's.
      const double in_units = request.largest * request.scale * kUp * (scale * kUp);
      const double sum = in_units + product + static_cast<double>(margin) / 2;
      most = __double2float_ru(sum + (fabs(in_units) + magnitude + fabs(sum)) * rounding);
    } else {
      // Proves D >= the next number, which is D > the limit.
      const double next = nextafter(request.largest, std::numeric_limits<double>::infinity());
      most = score_limit(next, scale * kUp, squares / 2 * (1 - rounding), margin);
    }
    const float at =
        fminf(__fadd_ru(most, base.bound.grid.bias), QuantizationGrid::kNever / 2);  // rows that do not exist
    const bool certain = __fadd_ru(norm, residual) <= base.reach && most == most;
    limit[q] = certain ? at : -1.0F;
    uncertain[q] = certain ? 0 : 1;
  }
}

/// Listed rows of consecutive queries.
struct Listed {
  RowLists lists;
  std::int64_t first_query = 0;         // of the batch, whose list is list 0
  const std::int64_t* begin = nullptr;  // (queries + 1) of each list in `row` and `distance`
  std::int32_t* row = nullptr;
  double* distance = nullptr;
};

/// Rows that are listed, and their distances, one list behind the other. A block takes a query.
template <class T, Measure M>
__global__ void measure_kernel(const SearchBase<T> base, const double* queries, const Listed listed) {
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
    const std::int64_t mine = first + lane_index() / (kWarp / kPairs);
    if (lane_index() % (kWarp / kPairs) != 0 || mine >= count) continue;
    listed.row[begin + mine] = rows[mine];
    listed.distance[begin + mine] = distance;
  }
}

/// How much is looked at together.
struct WithinSizes {
  std::int64_t queries = 0;  // of a batch
  std::int64_t listed = 0;   // rows that there is room for in lists
  std::int64_t rows = 0;     // whose distances there is room for, one query's list at least
};

template <class T>
WithinSizes sizes_of(const HeldRows<T>& held, std::int64_t queries) {
  constexpr std::int64_t kMostRows = std::int64_t{1} << 24, kLeastRoom = 256, kRowBytes = 12;
  constexpr std::int64_t kListed = 4;  // for each row whose distance there is room for
  constexpr std::int64_t kMostQueryBytes = std::int64_t{1} << 28;
  WithinSizes sizes;
  const std::int64_t each = kRowBytes + kListed * static_cast<std::int64_t>(sizeof(std::int32_t));
  sizes.rows = std::clamp<std::int64_t>(held.pool().available() / 4 / each, kLeastRoom, kMostRows);
  sizes.listed = sizes.rows * kListed;
  const std::int64_t fitting = kMostQueryBytes / (held.columns() * 10 + 64);
  sizes.queries = std::clamp<std::int64_t>(std::min(sizes.listed / kLeastRoom, fitting), 1, queries);
  return sizes;
}

template <class T>
class Fp16RadiusSearch {
 public:
  Fp16RadiusSearch(const HeldRows<T>& held, const Queries& queries, RadiusLists& found)
      : held_(held),
        queries_(queries),
        found_(found),
        base_(from_row(held, search_base(held, queries.measure), found.first_row)),
        sizes_(sizes_of(held, queries.values.rows)),
        taken_(allocate_fp16_queries(held, queries.measure, sizes_.queries)),
        limit_(held.pool(), sizes_.queries),
        uncertain_(held.pool(), sizes_.queries),
        count_(held.pool(), sizes_.queries),
        list_begin_(held.pool(), sizes_.queries + 1),
        begin_(held.pool(), sizes_.queries + 1),
        listed_(held.pool(), sizes_.listed),
        row_(held.pool(), sizes_.rows),
        distance_(held.pool(), sizes_.rows),
        total_(found.total()) {}

  std::vector<std::int64_t> run() {
    for (std::int64_t first = 0; first < queries_.values.rows; first += sizes_.queries) {
      look_at(first, std::min(sizes_.queries, queries_.values.rows - first));
    }
    return std::move(left_);
  }

 private:
  /// A batch of queries.
  void look_at(std::int64_t first, std::int64_t count) {
    const Context& context = *held_.context;
    first_ = first;
    send_queries(held_, context.stream, queries_.values.data + first * base_.d, count, taken_);
    round_queries(held_, count, taken_);
    limits_kernel<<<context.grid(count, kBlockWarps), kBlock, 0, context.stream>>>(
        base_, taken_.values.data(),
        {.factor = taken_.factor.size() > 0 ? taken_.factor.data() : nullptr,
         .center = held_.center.data(),
         .norm = taken_.fp16.norm.data(),
         .residual = taken_.fp16.residual.data(),
         .largest = found_.limit,
         .scale = power_of_two(-held_.plan.screen.exponent),
         .count = count},
        limit_.data(), uncertain_.data());
    check(cudaGetLastError());
    const auto room =
        static_cast<unsigned>(std::min<std::int64_t>(sizes_.listed / count, std::numeric_limits<std::int32_t>::max()));
    list(0, count, {.capacity = room});

    std::vector<unsigned> uncertain(static_cast<std::size_t>(count)), counts(uncertain.size());
    context.stream.download(uncertain.data(), uncertain_.data(), count);
    context.stream.download(counts.data(), count_.data(), count);
    // More than a few rows near the limit are better told apart by a finer screen than by the definition, if there is
    // one.
    const std::int64_t share = base_.measure == Measure::inner_product ? 2 : 16;
    const std::int64_t most = std::min(sizes_.rows, std::max<std::int64_t>(room, base_.rows / share));
    Counts short_lists(counts.size()), long_lists(counts.size());
    for (std::size_t q = 0; q < counts.size(); ++q) {
      if (uncertain[q] != 0 || counts[q] > most) {
        left_.push_back(first + static_cast<std::int64_t>(q));
      } else {
        (counts[q] <= room ? short_lists : long_lists)[q] = counts[q];
      }
    }
    for_runs(short_lists, [&](std::int64_t q, std::int64_t end) { take(short_lists, q, end, {.capacity = room}); });
    for_runs(long_lists, [&](std::int64_t q, std::int64_t end) {
      // Queries before the run that share its first tile are listed nowhere.
      const std::int64_t tile = q / kQueryTile * kQueryTile;
      std::vector<std::int64_t> begin(static_cast<std::size_t>(q - tile + 1), 0);
      for (std::int64_t i = q; i < end; ++i) begin.push_back(begin.back() + long_lists[i]);
      context.stream.upload(list_begin_.data(), begin.data(), std::ssize(begin));
      list(tile, end - tile, {.begin = list_begin_.data()});
      take(long_lists, q, end, {.begin = list_begin_.data() + (q - tile)});
    });
  }

  /// Rows of the lists of a batch's queries.
  using Counts = std::vector<std::int64_t>;

  /// work(first, end) on queries, from one with a list on, whose rows there is room for together; one's there always
  /// is.
  template <class Work>
  void for_runs(const Counts& counts, const Work& work) const {
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

  RowLists with_room(RowLists lists, std::int64_t first) const {
    lists.limit = limit_.data() + first;
    lists.row = listed_.data() + first * lists.capacity;
    lists.count = count_.data() + first;
    return lists;
  }

  /// Lists of queries of the batch from `first` on, a multiple of kQueryTile. Queues only.
  void list(std::int64_t first, std::int64_t count, const RowLists& lists) const {
    const uint4* tiles = taken_.fp16.values.data() + held_.fp16.shape.place(first, 0, 0);
    held_.stream().fill(count_.data() + first, 0, count);
    launch_product<ListWithin>(*held_.context, search_problem(held_, base_, tiles, count), with_room(lists, first));
  }

  /// Measures the listed rows of queries first .. end - 1 of the batch, and adds those within the limit.
  void take(const Counts& counts, std::int64_t first, std::int64_t end, const RowLists& lists) {
    const Stream& stream = held_.stream();
    const std::int64_t count = end - first;
    std::vector<std::int64_t> begin{0};
    for (std::int64_t q = first; q < end; ++q) begin.push_back(begin.back() + counts[q]);
    const std::int64_t total = begin.back();
    stream.upload(begin_.data(), begin.data(), count + 1);
    const auto kernel = base_.measure == Measure::inner_product ? measure_kernel<T, Measure::inner_product>
                                                                : measure_kernel<T, Measure::squared_euclidean>;
    kernel<<<static_cast<unsigned>(count), kBlock, 0, stream>>>(
        base_, taken_.values.data(), {with_room(lists, first), first, begin_.data(), row_.data(), distance_.data()});
    check(cudaGetLastError());
    found_row_.resize(static_cast<std::size_t>(total));
    found_distance_.resize(static_cast<std::size_t>(total));
    stream.download(found_row_.data(), row_.data(), total);
    stream.download(found_distance_.data(), distance_.data(), total);
    for (std::int64_t q = 0; q < count; ++q) {
      const std::int64_t query = first_ + first + q;
      const std::int64_t own = queries_.excluded_row < 0 ? -1 : queries_.excluded_row + query;
      std::vector<Neighbor>& kept = found_.rows[query];
      const std::int64_t room = std::clamp<std::int64_t>(found_.capacity - total_, 0, begin[q + 1] - begin[q]);
      kept.reserve(kept.size() + static_cast<std::size_t>(room));
      for (std::int64_t i = begin[q]; i < begin[q + 1]; ++i) {
        const std::int64_t at = base_.first_row + found_row_[i];
        if (at == own || at < found_.first_row || !(found_distance_[i] <= found_.limit)) continue;
        ++found_.counts[query];
        if (total_++ < found_.capacity) kept.push_back({found_distance_[i], at});
      }
    }
  }

  const HeldRows<T>& held_;
  const Queries& queries_;
  RadiusLists& found_;
  SearchBase<T> base_;
  WithinSizes sizes_;
  Fp16Queries taken_;
  Buffer<float> limit_;
  Buffer<unsigned> uncertain_, count_;
  Buffer<std::int64_t> list_begin_, begin_;
  Buffer<std::int32_t> listed_, row_;
  Buffer<double> distance_;
  std::vector<std::int32_t> found_row_;
  std::vector<double> found_distance_;
  std::int64_t total_;  // rows found so far
  std::int64_t first_ = 0;
  std::vector<std::int64_t> left_;
};

}  // namespace

template <class T>
bool finds_within_fp16(const HeldRows<T>& held, Measure measure) {
  return multiplies_base(held, measure);
}

template <class T>
std::vector<std::int64_t> search_radius_fp16(const HeldRows<T>& held, const Queries& queries, RadiusLists& found) {
  return Fp16RadiusSearch<T>(held, queries, found).run();
}

#define KITH_INSTANTIATE(T)                                     \
  template bool finds_within_fp16(const HeldRows<T>&, Measure); \
  template std::vector<std::int64_t> search_radius_fp16(const HeldRows<T>&, const Queries&, RadiusLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
