// Quantizes rows to one byte a value, and searches them for few queries: (d + 8) bytes a row are read, instead of those
// of its values, and d float64 operations are done for each row that remains.
#include "kernels/cpu/search/quantized.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <new>
#include <span>

#include "core/neighbors/merge_lists.h"
#include "kernels/cpu/choice/search.h"
#include "kernels/cpu/runtime/lists.h"

namespace kith::cpu {
namespace {

constexpr float kLongest = 0x1p50F;    // squares of longer differences might overflow in float32
constexpr double kVanished = 0x1p-60;  // at least what underflow changes of a distance, and far below all that matters
constexpr std::int64_t kLanes = 16;    // partial sums of a row; rows are padded to a multiple of this
constexpr int kMostSearches = 64;      // without quantized rows, after some that did not pay
constexpr std::int64_t kBlockRows = 64;  // rows whose distances are computed together

/// Packs a row centred in float32. lost: its rounding error before that.
void quantize(const float* centred, std::int64_t pitch, double length, double lost, std::int8_t* out, float& step,
              float& error) {
  constexpr float kSteps = 127.0F;
  float largest[kLanes] = {}, squares[kLanes] = {};
  for (std::int64_t j = 0; j < pitch; j += kLanes) {
    for (std::int64_t l = 0; l < kLanes; ++l) {
      const float size = std::abs(centred[j + l]);
      largest[l] = size > largest[l] ? size : largest[l];
    }
  }
  const float longest = *std::max_element(largest, largest + kLanes);
  const bool is_usable = length < kLongest && longest < kLongest;  // else the row is always among those that remain
  step = is_usable ? longest / kSteps : 0.0F;
  const float per_step = is_usable && longest > 0x1p-100F ? kSteps / longest : 0.0F;
  for (std::int64_t j = 0; j < pitch; j += kLanes) {
    for (std::int64_t l = 0; l < kLanes; ++l) {
      const float x = is_usable ? centred[j + l] : 0.0F, steps = x * per_step;
      const auto value = static_cast<std::int32_t>(steps + (steps < 0.0F ? -0.5F : 0.5F));
      const float difference = x - step * static_cast<float>(value);
      squares[l] += difference * difference;
      out[j + l] = static_cast<std::int8_t>(value);
    }
  }
  double squared = 0.0;
  for (const float part : squares) squared += static_cast<double>(part);
  // The sums of squares have at most d / 16 + 16 roundings; two roundings of each difference are relative to the row.
  const double summed = 1 + static_cast<double>(pitch / kLanes + 32) * 0x1p-23;
  const double bound = std::sqrt(squared) * summed + lost + length * 0x1p-21 + kVanished;
  error = is_usable ? static_cast<float>(bound * (1 + 0x1p-20)) : std::numeric_limits<float>::infinity();
}

template <class T>
void quantize_rows(const HeldRows<T>& held, QuantizedRows& rows) {
  const std::int64_t d = held.columns();
  std::vector<std::vector<float>> centred(static_cast<std::size_t>(held.threads.count()),
                                          std::vector<float>(static_cast<std::size_t>(rows.pitch)));
  held.for_ranges(held.rows_per_task(8 * d), [&](std::int64_t first, std::int64_t last, std::int64_t, int thread) {
    float* const row = centred[static_cast<std::size_t>(thread)].data();
    for (std::int64_t i = first; i < last; ++i) {
      const CentredNorms norms =
          held.set.template rows<T>().centre(held.row(i), d, rows.scale, rows.center.data(), row);
      quantize(row, rows.pitch, std::sqrt(norms.squared_norm), std::sqrt(norms.squared_residual),
               rows.values.data() + i * rows.pitch, rows.step[i], rows.error[i]);
    }
  });
}

/// A query in the scale of the quantized rows.
struct QuantizedQuery {
  std::vector<float> values;  // (pitch)
  double error = 0.0;         // at least what its rounding, and underflow, change of a distance
};

/// The rows of one task that may be among the nearest of a query.
class Remaining {
 public:
  struct Row {
    double lower;  // bound of the distance
    std::int64_t number;
  };
  Remaining(std::int64_t k, double relative, double query_error, std::size_t most)
      : nearest_(k), relative_(relative), query_error_(query_error), most_(most) {}

  /// squared: distances of rows `first`, ... to the query, as float32 sums. Returns false if too many rows remain.
  bool add(const float* squared, const float* error, std::int64_t first, std::int64_t count, std::int64_t excluded) {
    for (std::int64_t i = 0; i < count; ++i) {
      const float highest = base_ + error[i];
      // Written so that infinite errors, and NaN, exclude nothing.
      if (squared[i] > highest * highest * growth()) continue;
      if (first + i == excluded) continue;
      const double root = std::sqrt(static_cast<double>(squared[i]));
      const double about = query_error_ + static_cast<double>(error[i]);
      const double lower = root * (1 - relative_) - about, upper = root * (1 + relative_) + about;
      rows_.push_back({std::isfinite(lower) ? lower : -std::numeric_limits<double>::infinity(), first + i});
      if (upper < nearest_.limit()) {
        nearest_.add({upper, first + i});
        base_ = static_cast<float>((nearest_.limit() + query_error_) * (1 + 0x1p-20));
      }
    }
    if (rows_.size() < capacity_) return true;
    keep(nearest_.limit());
    if (2 * rows_.size() > capacity_) capacity_ *= 2;
    return rows_.size() <= most_;
  }
  void keep(double limit) {
    std::erase_if(rows_, [&](const Row& row) { return row.lower > limit; });
  }
  const NearestHeap& nearest() const { return nearest_; }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  float growth() const { return static_cast<float>(1 + 3 * relative_); }

  NearestHeap nearest_;  // by the upper bounds of their distances
  double relative_, query_error_;
  std::size_t most_, capacity_ = 1024;
  float base_ = std::numeric_limits<float>::infinity();
  std::vector<Row> rows_;
};

template <class T>
class QuantizedSearch {
 public:
  QuantizedSearch(const HeldRows<T>& held, const QuantizedRows& rows, const Queries& queries, NeighborLists& lists)
      : held_(held), rows_(rows), queries_(queries), lists_(lists), k_(lists.index.columns()) {}

  bool run() {
    for (std::int64_t q = 0; q < queries_.values.rows; ++q) {
      if (!take_query(q)) return false;
    }
    const std::int64_t step = held_.rows_per_task(held_.columns() / 2), tasks = ceil_div(held_.rows(), step);
    parts_.resize(static_cast<std::size_t>(tasks));
    std::atomic<bool> is_full = false;
    held_.for_ranges(step, [&](std::int64_t first, std::int64_t last, std::int64_t task, int) {
      if (!scan(first, last, parts_[static_cast<std::size_t>(task)])) is_full = true;
    });
    if (is_full) {
      held_.observed.quantized.delay(kMostSearches);
      return false;
    }
    held_.observed.quantized.reward();
    for (std::int64_t q = 0; q < queries_.values.rows; ++q) rank(q);
    lists_.products += queries_.values.rows * held_.rows();
    return true;
  }

 private:
  std::int64_t excluded(std::int64_t q) const {
    return queries_.excluded_row < 0 ? -1 : queries_.excluded_row + q - held_.first_row;
  }

  bool take_query(std::int64_t q) {
    QuantizedQuery query{std::vector<float>(static_cast<std::size_t>(rows_.pitch))};
    const std::span<const double> values = queries_.values.row(q);
    double squared = 0.0;
    for (std::size_t j = 0; j < values.size(); ++j) {
      const double centred = values[j] * rows_.scale - static_cast<double>(rows_.center[j]);
      query.values[j] = static_cast<float>(centred);
      if (!(std::abs(centred) < static_cast<double>(kLongest))) return false;
      const double lost = centred - static_cast<double>(query.values[j]);
      squared += lost * lost;
    }
    query.error = std::sqrt(squared) * (1 + 0x1p-20) + kVanished;
    given_.push_back(std::move(query));
    return true;
  }

  /// Half of the relative error of a sum of squares bounds that of its root; the whole one also covers the definition
  /// and the roots.
  double relative() const { return (static_cast<double>(rows_.pitch) + 64) * 0x1p-24; }

  bool scan(std::int64_t first, std::int64_t last, std::vector<Remaining>& parts) const {
    // Rows that remain are read at scattered places: too many of them take longer than all in order.
    const auto most = static_cast<std::size_t>(4 * k_ + 1024 + (last - first) / 16);
    for (const QuantizedQuery& query : given_) parts.emplace_back(k_, relative(), query.error, most);
    constexpr std::size_t kMostAsked = 4;  // queries that share the conversion of a block
    float squared[kMostAsked * kBlockRows];
    for (std::int64_t begin = first; begin < last; begin += kBlockRows) {
      const std::int64_t count = std::min(kBlockRows, last - begin);
      for (std::size_t q = 0; q < given_.size();) {
        const std::size_t asked = std::bit_floor(std::min(kMostAsked, given_.size() - q));
        const float* values[kMostAsked];
        for (std::size_t a = 0; a < asked; ++a) values[a] = given_[q + a].values.data();
        held_.set.quantized_distances(rows_.values.data() + begin * rows_.pitch, rows_.step.data() + begin, count,
                                      rows_.pitch, values, static_cast<int>(asked), squared);
        for (std::size_t a = 0; a < asked; ++a, ++q) {
          if (!parts[q].add(squared + static_cast<std::int64_t>(a) * count, rows_.error.data() + begin, begin, count,
                            excluded(static_cast<std::int64_t>(q)))) {
            return false;
          }
        }
      }
    }
    return true;
  }

  /// Ranks the rows that remain by the definition.
  void rank(std::int64_t q) {
    const auto at = static_cast<std::size_t>(q);
    NearestHeap bounds(k_);
    for (const auto& part : parts_) {
      for (const Neighbor& each : part[at].nearest().kept()) bounds.add(each);
    }
    std::vector<Neighbor> nearest;
    for (auto& part : parts_) {
      part[at].keep(bounds.limit());
      for (const Remaining::Row& row : part[at].rows()) nearest.push_back({0.0, row.number});
    }
    constexpr std::int64_t kRowsPerTask = 1024;
    const std::int64_t count = std::ssize(nearest), d = held_.columns();
    held_.threads.run(ceil_div(count, kRowsPerTask), [&](std::int64_t task, int) {
      for (std::int64_t i = task * kRowsPerTask; i < std::min((task + 1) * kRowsPerTask, count); ++i) {
        Neighbor& each = nearest[static_cast<std::size_t>(i)];
        each.distance = held_.set.template rows<T>().distance(held_.row(each.row), queries_.values.row(q).data(), d);
        each.row += held_.first_row;
      }
    });
    for (std::int64_t i = 0; i < k_ && lists_.index(q, i) >= 0; ++i) {
      nearest.push_back({lists_.distance(q, i), lists_.index(q, i)});
    }
    set_nearest(nearest, q, lists_);
    lists_.candidates += count;
  }

  const HeldRows<T>& held_;
  const QuantizedRows& rows_;
  const Queries& queries_;
  NeighborLists& lists_;
  std::int64_t k_;
  std::vector<QuantizedQuery> given_;
  std::vector<std::vector<Remaining>> parts_;  // [task][query]
};

}  // namespace

std::int64_t quantized_bytes(std::int64_t rows, std::int64_t columns) {
  constexpr auto kBesides = static_cast<std::int64_t>(2 * sizeof(float));  // step and error
  return rows * (ceil_div(columns, kLanes) * kLanes + kBesides);
}

template <class T>
std::shared_ptr<const QuantizedRows> quantized_rows(const HeldRows<T>& held) {
  if (held.quantized != nullptr) return held.quantized;
  try {
    auto rows = std::make_shared<QuantizedRows>();
    rows->pitch = ceil_div(held.columns(), kLanes) * kLanes;
    rows->scale = held.scale();
    rows->center = held.plan.screen.center;
    rows->center.resize(static_cast<std::size_t>(rows->pitch));
    rows->values.resize(static_cast<std::size_t>(held.rows() * rows->pitch));
    rows->step.resize(static_cast<std::size_t>(held.rows()));
    rows->error.resize(static_cast<std::size_t>(held.rows()));
    quantize_rows(held, *rows);
    held.quantized = std::move(rows);
  } catch (const std::bad_alloc&) {  // other searches need less memory
    return nullptr;
  }
  return held.quantized;
}

template <class T>
bool search_quantized(const HeldRows<T>& held, const QuantizedRows& rows, const Queries& queries,
                      NeighborLists& lists) {
  return QuantizedSearch<T>(held, rows, queries, lists).run();
}

#define KITH_INSTANTIATE(T)                                                         \
  template std::shared_ptr<const QuantizedRows> quantized_rows(const HeldRows<T>&); \
  template bool search_quantized(const HeldRows<T>&, const QuantizedRows&, const Queries&, NeighborLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
