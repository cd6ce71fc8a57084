// Nearest rows of bits: every D is a function of two numbers of bits and of those that both rows have, which are
// counted for all pairs, q n d / 512 instructions of 512 bits or products of tiles.
//
// A block of rows is packed once for all queries and stays in the first-level cache. For each query the worst D of its
// list becomes a bound of the common bits, in float32 and rounded outwards, so that a pair that cannot enter the list
// costs a comparison. The others are decided by integers: a D is an integer, or a quotient of integers that float64
// orders as the fractions themselves (kMostBits).
//
// Two rows have no more bits in common than the one with fewer. A search by radius therefore takes rows and queries by
// their numbers of bits, and leaves out blocks of rows that have too few or too many for all queries of a group: S. J.
// Swamidass, P. Baldi: Bounds and Algorithms for Fast Exact Searches of Chemical Fingerprints (2007).
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "kernels/cpu/choice/search.h"
#include "kernels/cpu/points.h"
#include "kernels/cpu/runtime/lists.h"

namespace kith::cpu {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();

/// Numbers 0 .. count - 1 in the order of bits[number].
std::vector<std::int64_t> order_by_bits(std::span<const std::int32_t> bits) {
  std::vector<std::int64_t> begin, order(bits.size());
  for (const std::int32_t count : bits) {
    if (std::ssize(begin) < count + 2) begin.resize(static_cast<std::size_t>(count) + 2);
    ++begin[static_cast<std::size_t>(count) + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  for (std::size_t i = 0; i < bits.size(); ++i) {
    order[static_cast<std::size_t>(begin[static_cast<std::size_t>(bits[i])]++)] = static_cast<std::int64_t>(i);
  }
  return order;
}

/// Writes the bytes of a query. Returns the number of its bits.
std::int64_t pack_query(std::span<const double> values, const BitKernels& kernels, std::uint8_t* bytes) {
  std::transform(values.begin(), values.end(), bytes, [](double v) { return static_cast<std::uint8_t>(v); });
  return kernels.common(bytes, bytes, std::ssize(values));
}

/// Some of the queries, packed.
class BitQueries {
 public:
  /// The queries with these numbers, which stay where they are.
  BitQueries(const HeldRows<std::uint8_t>& held, const Queries& queries, const BitKernels& kernels,
             std::span<const std::int64_t> numbers)
      : kernels_(kernels),
        numbers_(numbers),
        padded_(ceil_div(count(), kernels.queries) * kernels.queries),
        words_(ceil_div(held.columns(), 4)),
        packed_(static_cast<std::size_t>(padded_ * words_), 0),
        bits_(static_cast<std::size_t>(padded_), 0) {
    for (std::int64_t q = 0; q < count(); ++q) {
      auto* bytes = reinterpret_cast<std::uint8_t*>(packed_.data() + q * words_);
      bits_[q] = pack_query(queries.values.row(number(q)), kernels, bytes);
    }
    if (kernels.expanded_bytes == nullptr) return;
    const std::int64_t bytes = kernels.expanded_bytes(words_);
    expanded_.resize(static_cast<std::size_t>(padded_ * bytes));
    for (std::int64_t q = 0; q < padded_; q += kernels.queries) {
      kernels.expand_queries(packed_.data() + q * words_, words_, expanded_.data() + q * bytes);
    }
  }

  std::int64_t number(std::int64_t q) const { return numbers_[static_cast<std::size_t>(q)]; }
  std::int64_t count() const { return std::ssize(numbers_); }
  std::int64_t padded() const { return padded_; }
  std::int64_t words() const { return words_; }
  std::int64_t bits(std::int64_t q) const { return bits_[q]; }
  const std::uint8_t* bytes(std::int64_t q) const {
    return reinterpret_cast<const std::uint8_t*>(packed_.data() + q * words_);
  }
  /// The queries from q on, as the kernels take them.
  const void* from(std::int64_t q) const {
    if (kernels_.expanded_bytes == nullptr) return packed_.data() + q * words_;
    return expanded_.data() + q * kernels_.expanded_bytes(words_);
  }

 private:
  const BitKernels& kernels_;
  std::span<const std::int64_t> numbers_;
  std::int64_t padded_, words_;
  std::vector<std::uint32_t> packed_;             // (padded, words)
  std::vector<std::int64_t> bits_;                // (padded)
  UninitializedVector<std::uint8_t> expanded_{};  // (padded, expanded bytes), aligned
};

/// A block of rows, packed in panels, and the hits of some queries among them. One for each thread.
class BitBlock {
 public:
  BitBlock(const HeldRows<std::uint8_t>& held, const BitKernels& kernels)
      : held_(held), kernels_(kernels), words_(ceil_div(held.columns(), 4)) {
    constexpr std::int64_t kCacheBytes = 32 << 10;
    const std::int64_t bytes = kBitLanes * words_ * 4;
    panels_ = kernels.expanded_bytes != nullptr ? kernels.panels
                                                : std::clamp<std::int64_t>(kCacheBytes / bytes, 1, kernels.panels);
    packed_.resize(static_cast<std::size_t>(panels_ * kBitLanes * words_));
    counts_.resize(static_cast<std::size_t>(panels_ * kBitLanes));
    row_bits_.resize(counts_.size());
    if (kernels.expanded_bytes != nullptr) {
      expanded_.resize(counts_.size() * static_cast<std::size_t>(kernels.expanded_bytes(words_)));
    }
    hits_.resize(counts_.size() * static_cast<std::size_t>(kernels.queries));
  }

  std::int64_t rows() const { return panels_ * kBitLanes; }
  std::int64_t bits(std::int64_t row) const { return counts_[row]; }

  /// Takes rows row_at(first) .. row_at(last - 1), no more than rows().
  template <class RowAt>
  void pack(std::int64_t first, std::int64_t last, const RowAt& row_at) {
    const std::int64_t step = kernels_.expanded_bytes != nullptr ? kernels_.panels : 1;
    used_ = ceil_div(ceil_div(last - first, kBitLanes), step) * step;
    std::fill_n(packed_.begin(), used_ * kBitLanes * words_, 0U);
    const std::int64_t whole = held_.columns() / 4;
    for (std::int64_t i = first; i < last; ++i) {
      const std::uint8_t* row = held_.row(row_at(i));
      std::uint32_t* to = packed_.data() + (i - first) / kBitLanes * words_ * kBitLanes + (i - first) % kBitLanes;
      for (std::int64_t w = 0; w < whole; ++w) std::memcpy(to + w * kBitLanes, row + 4 * w, 4);
      if (whole < words_) std::memcpy(to + whole * kBitLanes, row + 4 * whole, held_.columns() - 4 * whole);
    }
    kernels_.count(packed_.data(), used_, words_, counts_.data());
    for (std::int64_t i = 0; i < used_ * kBitLanes; ++i) {
      row_bits_[i] = i < last - first ? static_cast<float>(counts_[i]) : kInfinite;
    }
    if (kernels_.expanded_bytes != nullptr) {
      kernels_.expand_rows(packed_.data(), used_, words_, expanded_.data());
    }
  }

  /// The hits of queries q .. q + BitKernels::queries - 1.
  std::span<const BitHit> collect(const BitQueries& queries, std::int64_t q, const float* slopes, const float* bounds) {
    const bool expands = kernels_.expanded_bytes != nullptr;
    const std::int64_t found =
        kernels_.collect({.rows = expands ? static_cast<const void*>(expanded_.data()) : packed_.data(),
                          .row_bits = row_bits_.data(),
                          .panels = used_,
                          .words = words_,
                          .queries = queries.from(q),
                          .slopes = slopes,
                          .bounds = bounds,
                          .count = kernels_.queries},
                         hits_.data());
    return {hits_.data(), static_cast<std::size_t>(found)};
  }

 private:
  const HeldRows<std::uint8_t>& held_;
  const BitKernels& kernels_;
  std::int64_t words_, panels_ = 0, used_ = 0;    // panels of a full block, and of this one
  UninitializedVector<std::uint32_t> packed_{};   // [panel][word][lane]
  std::vector<std::int32_t> counts_;              // [panel][lane] bits of a row
  std::vector<float> row_bits_;                   // the same; of lanes without a row infinity
  UninitializedVector<std::uint8_t> expanded_{};  // as the kernels expand it
  UninitializedVector<BitHit> hits_{};
};

/// Rows with common >= slope x their bits - bound may have D <= limit.
struct BitBound {
  float slope = 0.5F, bound = kInfinite;
};

BitBound bound_of(Measure measure, double limit, std::int64_t query_bits, std::int64_t row_bytes) {
  // Far above the rounding of the comparison in float32, and for rows of usual length below half a bit.
  const double margin = static_cast<double>(8 * row_bytes + 1) * 0x1p-20;
  const auto bits = static_cast<double>(query_bits);
  if (limit < 0.0) return {0.5F, -kInfinite};
  if (measure == Measure::hamming) {  // a + b - 2 common <= limit
    return {0.5F, static_cast<float>((std::floor(limit) - bits) / 2.0 + margin)};
  }
  // common >= s (a + b - common) for a similarity s, hence common >= s / (1 + s) (a + b)
  const double similarity = std::max(1.0 - limit, 0.0), slope = similarity / (1.0 + similarity);
  // Lists of rows with nothing in common take no more of them.
  if (limit < 1.0 && similarity < 0x1p-40 && query_bits > 0) return {0.0F, -0.5F};
  return {static_cast<float>(slope), static_cast<float>(margin - slope * bits)};
}

/// Whether rows with at least `fewest` and at most `most` bits may be within the bound of a query.
bool may_reach(const BitBound& bound, std::int64_t query_bits, std::int64_t fewest, std::int64_t most) {
  // The bits that a row can have in common grow with its bits up to those of the query, the bits that it needs always.
  const std::int64_t best = std::clamp(query_bits, fewest, most);
  return static_cast<double>(std::min(query_bits, best)) >=
         static_cast<double>(bound.slope) * static_cast<double>(best) - static_cast<double>(bound.bound);
}

/// All pairs of the queries and the held rows from the first requested one on.
class BitSearch {
 public:
  BitSearch(const HeldRows<std::uint8_t>& held, const Queries& queries, std::int64_t first_row = 0)
      : held_(held),
        queries_(queries),
        kernels_(choose_bit_kernels(held, queries.values.rows)),
        first_(std::clamp<std::int64_t>(first_row - held.first_row, 0, held.rows())),
        query_order_(static_cast<std::size_t>(queries.values.rows)) {
    std::iota(query_order_.begin(), query_order_.end(), 0);
  }

  void nearest(NeighborLists& lists) {
    const std::int64_t k = lists.index.columns(), threads = held_.threads.count();
    for_queries(k * threads, [&](const BitQueries& some) {
      std::vector<std::vector<NearestHeap>> heaps(static_cast<std::size_t>(threads));
      const auto worst_of = [&](std::int64_t q, int thread) {
        Neighbor worst{std::numeric_limits<double>::infinity(), std::numeric_limits<std::int64_t>::max()};
        if (lists.index(some.number(q), k - 1) >= 0) {
          worst = {lists.distance(some.number(q), k - 1), lists.index(some.number(q), k - 1)};
        }
        const NearestHeap& own = heaps[thread][q];
        return own.full() ? std::min(worst, own.kept().front()) : worst;
      };
      pass(
          some, [&](int thread) { heaps[thread].assign(static_cast<std::size_t>(some.count()), NearestHeap(k)); },
          [&](std::int64_t q, int thread, std::int64_t next) {  // later rows are behind equally near ones
            const Neighbor worst = worst_of(q, thread);
            return worst.row < next ? std::nextafter(worst.distance, -1.0) : worst.distance;
          },
          [&](std::int64_t q, int thread, const Neighbor& row) { heaps[thread][q].add(row); });
      for (std::int64_t q = 0; q < some.count(); ++q) {
        NearestHeap all(k);
        all.add(lists, some.number(q));
        for (const std::vector<NearestHeap>& own : heaps) {
          if (own.empty()) continue;
          for (const Neighbor& row : own[q].kept()) all.add(row);
        }
        all.store(some.number(q), lists);
      }
    });
    lists.candidates += queries_.values.rows * held_.rows();
  }

  void within(RadiusLists& lists) {
    sort_by_bits(lists.limit);
    std::atomic<std::int64_t> reserved = lists.total();
    const std::int64_t threads = held_.threads.count();
    std::vector<StoredRows> stored(static_cast<std::size_t>(threads), StoredRows(reserved, lists.capacity, threads));
    for_queries(threads, [&](const BitQueries& some) {
      struct Result {
        std::int64_t count = 0;
        std::vector<Neighbor> rows = {};
      };
      std::vector<std::vector<Result>> results(static_cast<std::size_t>(threads));
      pass(
          some, [&](int thread) { results[thread].resize(static_cast<std::size_t>(some.count())); },
          [&](std::int64_t, int, std::int64_t) { return lists.limit; },
          [&](std::int64_t q, int thread, const Neighbor& row) {
            if (!(row.distance <= lists.limit)) return;
            ++results[thread][q].count;
            if (stored[thread].may_store()) results[thread][q].rows.push_back(row);
          });
      for (const std::vector<Result>& own : results) {
        for (std::size_t q = 0; q < own.size(); ++q) {
          const auto to = static_cast<std::size_t>(some.number(static_cast<std::int64_t>(q)));
          lists.counts[to] += own[q].count;
          lists.rows[to].insert(lists.rows[to].end(), own[q].rows.begin(), own[q].rows.end());
        }
      }
    });
  }

 private:
  /// From now on rows and queries are taken in the order of their bits, if that leaves out enough pairs to pay.
  void sort_by_bits(double limit) {
    constexpr std::int64_t kLeastQueries = 128;
    if (queries_.values.rows < kLeastQueries) return;
    std::vector<std::int32_t> of_rows(static_cast<std::size_t>(held_.rows())), of_queries(query_order_.size());
    held_.for_ranges(held_.rows_per_task(held_.columns()), [&](std::int64_t first, std::int64_t last, auto, int) {
      for (std::int64_t i = first; i < last; ++i) {
        of_rows[i] = static_cast<std::int32_t>(kernels_.common(held_.row(i), held_.row(i), held_.columns()));
      }
    });
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(held_.columns()));
    for (std::size_t q = 0; q < of_queries.size(); ++q) {
      const std::span<const double> values = queries_.values.row(static_cast<std::int64_t>(q));
      of_queries[q] = static_cast<std::int32_t>(pack_query(values, kernels_, bytes.data()));
    }
    if (!leaves_out(of_rows, of_queries, limit)) return;
    row_order_ = order_by_bits(std::span(of_rows).subspan(static_cast<std::size_t>(first_)));
    query_order_ = order_by_bits(of_queries);
  }

  /// Whether the bits of rows and queries exclude enough pairs, by a sample: rows in another order take longer to read.
  bool leaves_out(std::span<const std::int32_t> of_rows, std::span<const std::int32_t> of_queries, double limit) const {
    constexpr std::size_t kRows = 1000, kQueries = 50;
    constexpr double kShare = 0.2;
    std::int64_t pairs = 0, excluded = 0;
    for (std::size_t q = 0; q < of_queries.size(); q += of_queries.size() / kQueries) {
      const BitBound bound = bound_of(queries_.measure, limit, of_queries[q], held_.columns());
      for (std::size_t i = 0; i < of_rows.size(); i += of_rows.size() / kRows + 1) {
        ++pairs;
        excluded += may_reach(bound, of_queries[q], of_rows[i], of_rows[i]) ? 0 : 1;
      }
    }
    return static_cast<double>(excluded) > kShare * static_cast<double>(pairs);
  }

  /// The held row at a place of the order of computation.
  std::int64_t row_at(std::int64_t place) const { return first_ + (row_order_.empty() ? place : row_order_[place]); }

  /// Calls work for the queries, so many at a time that they and what they find stay small.
  template <class Work>
  void for_queries(std::int64_t places, const Work& work) {
    constexpr std::int64_t kMost = 1024, kMostPlaces = std::int64_t{1} << 22;
    const std::int64_t step = std::clamp<std::int64_t>(kMostPlaces / places, kernels_.queries, kMost);
    for (std::int64_t first = 0; first < queries_.values.rows; first += step) {
      const auto count = static_cast<std::size_t>(std::min(step, queries_.values.rows - first));
      work(BitQueries(held_, queries_, kernels_, std::span(query_order_).subspan(first, count)));
    }
  }

  static constexpr int kTaskRows = 512;  // whole blocks

  /// What a thread needs to compare rows with the queries.
  struct Worker {
    BitBlock block;
    std::vector<float> slopes, bounds;  // [query]
    std::int64_t next = 0;              // row
  };

  /// Calls take(query, thread, row) for all rows with D <= limit(query, thread, next), and others. A thread calls
  /// begin(thread) first. next: a row below those that follow in the order of rows, or one of them. The limit may fall
  /// with each row that is taken.
  template <class Begin, class Limit, class Take>
  void pass(const BitQueries& some, const Begin& begin, const Limit& limit, const Take& take) {
    const std::int64_t rows = held_.rows() - first_;
    constexpr std::int64_t kPairBytes = 16;  // that are compared in the time of a multiply-add
    const std::int64_t per_task = held_.rows_per_task(some.count() * held_.columns() / kPairBytes, kTaskRows);
    std::vector<std::optional<Worker>> workers(static_cast<std::size_t>(held_.threads.count()));
    held_.threads.run(ceil_div(rows, per_task), [&](std::int64_t task, int thread) {
      std::optional<Worker>& worker = workers[thread];
      const std::int64_t from = task * per_task, end = std::min(from + per_task, rows);
      const auto set_bound = [&](std::int64_t q, std::int64_t next) {
        const BitBound bound = bound_of(queries_.measure, limit(q, thread, held_.first_row + first_ + next),
                                        some.bits(q), held_.columns());
        worker->slopes[q] = bound.slope;
        worker->bounds[q] = bound.bound;
      };
      const bool begins = !worker;
      if (begins) {
        begin(thread);
        const auto padded = static_cast<std::size_t>(some.padded());
        worker.emplace(Worker{BitBlock(held_, kernels_), std::vector<float>(padded, 0.5F),
                              std::vector<float>(padded, -kInfinite)});
      }
      // On several memory nodes, the rows of another task may come before.
      for (std::int64_t q = 0; (begins || from < worker->next) && q < some.count(); ++q) set_bound(q, from);
      worker->next = end;
      for (std::int64_t first = from; first < end; first += worker->block.rows()) {
        const std::int64_t last = std::min(first + worker->block.rows(), end);
        worker->block.pack(first, last, [this](std::int64_t place) { return row_at(place); });
        const auto may_hit = [&](std::int64_t q) {
          return q < some.count() && may_reach({worker->slopes[q], worker->bounds[q]}, some.bits(q),
                                               worker->block.bits(0), worker->block.bits(last - 1 - first));
        };
        for (std::int64_t group = 0; group < some.padded(); group += kernels_.queries) {
          bool any = row_order_.empty();
          for (std::int64_t q = group; !any && q < group + kernels_.queries; ++q) any = may_hit(q);
          if (!any) continue;
          const auto hits =
              worker->block.collect(some, group, worker->slopes.data() + group, worker->bounds.data() + group);
          for (const BitHit& hit : hits) {
            const std::int64_t q = group + hit.query, row = held_.first_row + row_at(first + hit.row);
            if (queries_.excluded_row >= 0 && row == queries_.excluded_row + some.number(q)) continue;
            const std::int64_t bits = some.bits(q) + worker->block.bits(hit.row);
            take(q, thread, Neighbor{bit_distance(queries_.measure, bits - 2 * hit.common, bits - hit.common), row});
          }
          for (std::size_t i = 0; i < hits.size(); ++i) {  // once for hits of one query that follow each other
            if (i + 1 == hits.size() || hits[i + 1].query != hits[i].query) set_bound(group + hits[i].query, last);
          }
        }
      }
    });
  }

  const HeldRows<std::uint8_t>& held_;
  const Queries& queries_;
  const BitKernels& kernels_;
  std::int64_t first_;
  std::vector<std::int64_t> row_order_{};  // places of the rows from first_ on; empty: as they are held
  std::vector<std::int64_t> query_order_;  // all numbers
};

}  // namespace

void search_bits(const HeldRows<std::uint8_t>& held, const Queries& queries, NeighborLists& lists) {
  if (queries.values.rows > 0) BitSearch(held, queries).nearest(lists);
}

void search_bits_radius(const HeldRows<std::uint8_t>& held, const Queries& queries, RadiusLists& lists) {
  if (queries.values.rows > 0) BitSearch(held, queries, lists.first_row).within(lists);
}

void all_bit_distances(const HeldRows<std::uint8_t>& held, const Queries& queries, MatrixView<double> out) {
  const BitKernels& kernels = held.set.bit_kernels();
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(queries.values.rows));
  std::iota(numbers.begin(), numbers.end(), 0);
  const BitQueries all(held, queries, kernels, numbers);
  held.for_ranges(held.rows_per_task(queries.values.rows * held.columns()),
                  [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
                    for (std::int64_t i = first; i < last; ++i) {
                      const std::int64_t row_bits = kernels.common(held.row(i), held.row(i), held.columns());
                      for (std::int64_t q = 0; q < all.count(); ++q) {
                        const std::int64_t common = kernels.common(held.row(i), all.bytes(q), held.columns());
                        const std::int64_t bits = row_bits + all.bits(q);
                        out(q, i) = bit_distance(queries.measure, bits - 2 * common, bits - common);
                      }
                    }
                  });
}

}  // namespace kith::cpu
