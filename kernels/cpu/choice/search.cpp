// The cost model of searches. The number of columns alone does not decide: 24 columns near three dimensions are
// searched by a tree as fast as three, and the estimate for 16 columns of noise is that all rows are read.
#include "kernels/cpu/choice/search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/cpu/choice/machine.h"
#include "kernels/cpu/runtime/lists.h"

namespace kith::cpu {
namespace {

std::string name_of(SearchMethod method) {
  constexpr const char* kNames[] = {"definition", "products",     "cells",          "ranges",
                                    "tree",       "first copies", "quantized rows", "symmetric join"};
  return kNames[static_cast<int>(method)];
}

Prices prices_of(const SearchSize& size) {
  return {size.set, size.set.screen_for(size.columns, size.rows), size.threads, size.columns};
}

/// Seconds of a search by products or, where there are none, by the definition.
double seconds_without_tree(const Prices& price, const SearchSize& size) {
  constexpr std::int64_t kFewQueries = 16;  // fewer are searched by the definition
  const bool has_products = size.measure == Measure::squared_euclidean && size.queries >= kFewQueries;
  return static_cast<double>(size.rows) * static_cast<double>(size.queries) *
         (has_products ? price.product : price.definition);
}

template <class T>
class SearchChoice {
 public:
  SearchChoice(const HeldRows<T>& held, const SearchRequest& request)
      : held_(held),
        request_(request),
        n_(held.rows()),
        d_(held.columns()),
        q_(request.queries.values.rows),
        size_{.set = held.set,
              .rows = n_,
              .columns = d_,
              .queries = q_,
              .neighbors = request.neighbors,
              .measure = request.queries.measure,
              .threads = held.threads.count(),
              .bytes = request.queries.host_bytes},
        pairs_(static_cast<double>(n_) * static_cast<double>(q_)),
        is_euclidean_(request.queries.measure == Measure::squared_euclidean),
        has_products_((is_euclidean_ || (request.queries.measure == Measure::inner_product && request.neighbors > 0)) &&
                      !held.are_few_and_long(request.is_join ? n_ : q_)),
        screen_(held.set.screen_for(d_, n_)),
        price_(held.set, screen_, held.threads.count(), d_) {}

  SearchMethod method() {
    if (!request_.is_join && copies_pay()) return take(SearchMethod::first_copies, "many rows are equal");
    if (tree_pays()) return take(SearchMethod::tree, "a query reads few rows of a tree");
    if (request_.is_join && has_products_ && copies_pay()) return SearchMethod::first_copies;
    if (const SearchMethod kind = best_cells(); kind != SearchMethod::products) {
      if (request_.is_join) return kind;
      return take(kind, kind == SearchMethod::cells ? "a query is near few cells" : "few rows are far from the mean");
    }
    if (request_.is_join) {
      return join_pays() ? take(SearchMethod::join, "each product serves both rows") : SearchMethod::products;
    }
    if (quantized_pays()) return take(SearchMethod::quantized, "few queries take as long as the rows are read");
    if (!has_products_) return take(SearchMethod::definition, "no screen has this distance, or rows of this length");
    if (is_few()) return take(SearchMethod::definition, "few queries do not fill a panel");
    return take(SearchMethod::products, "no other method is expected to be faster");
  }

 private:
  // Each of these adds a method to what was considered, once.

  bool exclude(SearchMethod method, const char* reason) {
    decision_.considered.push_back({name_of(method), 0.0, 0, reason});
    return false;
  }
  void consider(SearchMethod method, double seconds, std::int64_t bytes = 0) {
    const auto is_same = [&](const Option& option) { return option.method == name_of(method); };
    if (std::ranges::any_of(decision_.considered, is_same)) return;
    decision_.considered.push_back({name_of(method), seconds, bytes, ""});
  }

  SearchMethod take(SearchMethod method, const char* reason) {
    if (held_.decisions == nullptr) return method;
    decision_.subject = "search";
    decision_.method = name_of(method);
    decision_.reason = reason;
    consider(method, method == SearchMethod::definition ? pairs_ * price_.definition
                     : method == SearchMethod::products ? pairs_ * price_.product
                                                        : 0.0);
    held_.decisions->add(std::move(decision_));
    return method;
  }

  /// Whether many rows are equal, so that a search among the first row of each kind is faster. Finding these rows takes
  /// time: it is worth it once the searches so far would have saved more.
  bool copies_pay() {
    constexpr std::int64_t kLeastRows = 4096;
    constexpr double kFewEqual = 1.0 / 64;  // the probability that two rows are equal, below which ties cost little
    constexpr double kTie = 80;             // columns of a definition: a distance, and its place in a full list
    constexpr double kHashed = 68;          // bytes of a row that are gathered, hashed and compared
    constexpr auto kMethod = SearchMethod::first_copies;
    const bool is_forced = held_.forced.trees || held_.forced.cells || held_.forced.self_join;
    if (request_.neighbors == 0 || is_forced || request_.has_failed(kMethod)) return false;
    const std::int64_t bytes = n_ * (d_ * static_cast<std::int64_t>(sizeof(T)) / 2 + 64);  // at most half of the rows
    if (n_ < kLeastRows || 2 * request_.places() > n_) return exclude(kMethod, "few rows");
    if (bytes > request_.queries.host_bytes) return exclude(kMethod, "little memory");
    CopyObservations& observed = held_.observed.copies;
    if (observed.equal_share < 0) observed.equal_share = equal_share(held_);
    if (observed.equal_share < kFewEqual) return exclude(kMethod, "few rows are equal");
    if (request_.places() >= observed.too_many) return exclude(kMethod, "lists need most copies");
    observed.saved_seconds += seconds(Cost{{.definitions = pairs_ * observed.equal_share * kTie}}, price_.machine);
    const double finding = seconds(Cost{{.gathered = static_cast<double>(n_) * kHashed}}, price_.machine);
    if (held_.first_copies == nullptr && observed.saved_seconds < finding) {
      return exclude(kMethod, "searches so far would not repay that copies are found");
    }
    consider(kMethod, 0.0, bytes);
    return true;
  }

  bool tree_pays() {
    constexpr auto kMethod = SearchMethod::tree;
    if (held_.forced.self_join && !held_.forced.trees) return false;
    if (request_.has_failed(kMethod)) return exclude(kMethod, "memory is short");
    if (const char* reason = tree_excluded(size_, held_.forced.trees)) return exclude(kMethod, reason);
    if (held_.forced.trees) return true;
    const double without = seconds_without_tree(price_, size_);
    const double with = tree_query_seconds() * static_cast<double>(q_);
    consider(kMethod, with, tree_bytes(n_, d_));
    if (with >= without) return false;
    if (held_.tree != nullptr) return true;
    double& saved = held_.observed.trees.saved_seconds;
    saved += without - with;
    if (saved > tree_building_seconds(price_.machine, size_)) return true;
    decision_.considered.back().excluded = "searches so far would not repay that it is built";
    return false;
  }

  /// Seconds of a query in a tree of all rows. Kept for searches with the same properties.
  double tree_query_seconds() {
    TreeObservations& observed = held_.observed.trees;
    const bool is_same = observed.measure == request_.queries.measure && observed.neighbors == request_.neighbors &&
                         observed.limit == request_.limit && observed.queries == q_;
    if (!is_same) {
      observed.query_seconds = estimate_tree();
      observed.measure = request_.queries.measure;
      observed.neighbors = request_.neighbors;
      observed.limit = request_.limit;
      observed.queries = q_;
    }
    return observed.query_seconds;
  }

  /// The work V of a query in a sample of m rows grows like m^e, with e near 0 near few dimensions and near 1 for
  /// noise. Two samples give e, and V (n / m)^e that of all rows; since e falls with m, this is more than the work. A
  /// radius search reads a share of the rows, whatever their number.
  double estimate_tree() const {
    constexpr std::int64_t kSample = 4096;  // rows of the larger sample
    const auto seconds_in = [&](std::int64_t rows) {
      // In columns of a definition: one thread computes 16 distances, or visits a node for 16 queries, at a time.
      const auto d = static_cast<double>(d_);
      const double of_distance = 0.4 * d + 1.5, of_visit = 1.5 * d + 3;
      const TreeSample work = sample_tree(held_, request_, rows);
      return seconds(Cost{{.definitions = work.distances * of_distance + work.visits * of_visit}}, price_.machine);
    };
    const std::int64_t large = std::min(kSample, n_ / 2), small = large / 4;
    const double of_large = seconds_in(large), rows = static_cast<double>(n_) / static_cast<double>(large);
    if (request_.neighbors == 0 || 8 * request_.neighbors > small) return of_large * rows;
    const double growth = std::log2(of_large / seconds_in(small)) / 2;
    return of_large * std::pow(rows, std::clamp(growth, 0.0, 1.0));
  }

  /// Cells, ranges, or else products.
  SearchMethod best_cells() {
    constexpr std::int64_t kLeastWork = std::int64_t{1} << 26, kLeastQueries = 64, kLeastRows = 128;
    constexpr auto kNone = SearchMethod::products;
    const auto none = [&](const char* reason) {
      exclude(SearchMethod::cells, reason);
      return kNone;
    };
    if (!is_euclidean_) return none("not the Euclidean distance");
    if (request_.is_join && (held_.forced.self_join || !has_products_)) return kNone;
    if (held_.cells != nullptr) return SearchMethod::cells;
    if (cell_bytes(screen_, n_, d_) > request_.queries.cell_bytes) return none("little memory");
    if (held_.forced.cells) return n_ % 2 == 0 ? SearchMethod::cells : SearchMethod::ranges;
    if (q_ < kLeastQueries || n_ < kLeastRows || n_ * d_ < kLeastWork / q_) return none("few queries or rows");
    return estimate_cells();
  }

  /// Estimates cells and ranges from the distances of a sample of queries to a sample of rows.
  SearchMethod estimate_cells() {
    constexpr std::int64_t kMaxSample = 1024, kQueries = 32, kLeastClustered = 8 * kMaxSample;
    constexpr double kGain = 0.8;  // cells must be expected to cost at most this share
    const std::int64_t rows = std::min(n_, kMaxSample);
    const std::vector<double>& mean = held_.plan.mean;
    Matrix<double> distance(kQueries, rows), sample(kQueries, d_);
    held_.threads.run(kQueries, [&](std::int64_t q, int) {
      const std::int64_t number = q * (q_ / kQueries);
      if (request_.is_join) {
        std::copy_n(held_.row(number), d_, sample.row(q).data());
      } else {
        std::copy_n(request_.queries.values.row(number).data(), d_, sample.row(q).data());
      }
      for (std::int64_t i = 0; i < rows; ++i) {
        distance(q, i) = held_.set.template rows<T>().distance(held_.row(i * (n_ / rows)), sample.row(q).data(), d_);
      }
      std::sort(distance.row(q).data(), distance.row(q).data() + rows);
    });
    double longest = 0.0;
    for (std::int64_t i = 0; i < rows; ++i) {
      longest = std::max(longest, held_.set.template rows<T>().distance(held_.row(i * (n_ / rows)), mean.data(), d_));
    }
    // The sample may lack the few longest rows, but the range of the columns shows them.
    for (std::int64_t j = 0; j < d_; ++j) {
      const double extent = std::max(held_.plan.range.maximum[j] - mean[j], mean[j] - held_.plan.range.minimum[j]);
      longest = std::max(longest, extent * extent);
    }
    // Error of scores of the packed rows around the mean; the smallest distances of the sample stand for those of
    // neighbours.
    const double roundoff = screen_.value_bytes < 4 ? 0x1p-8 : 0x1p-20;
    double candidates = 0.0, near = 0.0;
    for (std::int64_t q = 0; q < kQueries; ++q) {
      const double norm = held_.set.template rows<double>().distance(sample.row(q).data(), mean.data(), d_);
      const double* sorted = distance.row(q).data();
      const double* const end = sorted + rows;
      const double nearest = sorted[0] > 0 ? sorted[0] : sorted[1];
      candidates += static_cast<double>(std::upper_bound(sorted, end, nearest + roundoff * std::sqrt(norm * longest)) -
                                        sorted - 1);
      // Cells are about as wide as the distance to the nearest row of the sample.
      const double reach = 1.5 * std::sqrt(nearest) + std::sqrt(std::min(request_.limit, nearest));
      near += static_cast<double>(std::upper_bound(sorted, end, reach * reach) - sorted);
    }
    // Of a query. Cells are made by an assignment of the rows, which are packed twice.
    const double share = static_cast<double>(n_) / static_cast<double>(kQueries * rows);
    const auto n = static_cast<double>(n_), queries = static_cast<double>(q_);
    const auto count = static_cast<double>(cell_count(n_, q_));
    const double products = n * price_.product + candidates * share * price_.candidate;
    const double packing = 2 * price_.packing * n / queries;
    const double cells = n_ < kLeastClustered
                             ? kInfinity
                             : (1.5 * near * share + 8 * count + n * count / queries) * price_.product +
                                   0.1 * count * price_.packing + packing;
    const double ranges = 1.3 * n * price_.product + packing;
    consider(SearchMethod::products, products * queries);
    if (n_ < kLeastClustered) {
      exclude(SearchMethod::cells, "fewer than 8192 rows");
    } else {
      consider(SearchMethod::cells, cells * queries, cell_bytes(screen_, n_, d_));
    }
    consider(SearchMethod::ranges, ranges * queries, cell_bytes(screen_, n_, d_));
    if (std::min(cells, ranges) >= kGain * products) return SearchMethod::products;
    return cells < ranges ? SearchMethod::cells : SearchMethod::ranges;
  }

  bool is_few() const { return 3 * q_ < screen_.lanes; }

  /// Whether few queries are searched faster in quantized rows. Making these takes time, as for first copies.
  bool quantized_pays() {
    constexpr std::int64_t kMostQueries = 64, kMostColumns = 1 << 15, kLeastValues = 1 << 20;
    constexpr double kRow = 200, kValue = 5;  // of a distance, as float32 multiply-adds
    constexpr auto kMethod = SearchMethod::quantized;
    const bool is_wide = sizeof(T) >= sizeof(float) && d_ <= kMostColumns && held_.plan.screen.exponent >= -126;
    if (!is_euclidean_ || !is_wide || request_.neighbors == 0 || q_ > kMostQueries || request_.has_failed(kMethod)) {
      return false;
    }
    if (n_ * d_ < kLeastValues || 64 * request_.places() > n_) return exclude(kMethod, "few rows");
    if (held_.observed.quantized.skips()) return exclude(kMethod, "too many rows were about as near lately");
    const std::int64_t bytes = quantized_bytes(n_, d_);
    if (bytes > request_.queries.host_bytes) return exclude(kMethod, "little memory");
    const auto q = static_cast<double>(q_), n = static_cast<double>(n_), d = static_cast<double>(d_);
    const double reading = seconds(Cost{{.copied = n * d * static_cast<double>(sizeof(T))}}, price_.machine);
    const double quantized_reading = seconds(Cost{{.copied = static_cast<double>(bytes)}}, price_.machine);
    const bool takes_products = has_products_ && !is_few();
    const double without = takes_products ? n * (price_.packing + q * price_.product) + reading
                                          : std::max(pairs_ * price_.definition, reading);
    const double with =
        std::max(seconds(Cost{{.float32 = pairs_ * (kRow + kValue * d)}}, price_.machine), quantized_reading);
    consider(takes_products ? SearchMethod::products : SearchMethod::definition, without);
    consider(kMethod, with, bytes);
    if (with >= without) return false;
    if (held_.quantized != nullptr) return true;
    held_.observed.quantized_saved += without - with;
    if (held_.observed.quantized_saved > n * price_.packing + reading + quantized_reading) return true;
    decision_.considered.back().excluded = "searches so far would not repay that rows are quantized";
    return false;
  }

  bool join_pays() {
    if (const char* reason = join_excluded(size_, held_.forced.self_join)) return exclude(SearchMethod::join, reason);
    consider(SearchMethod::join, 0.0, n_ * CandidateList<std::int32_t>::bytes(request_.neighbors));
    return true;
  }

  const HeldRows<T>& held_;
  const SearchRequest& request_;
  std::int64_t n_, d_, q_;
  SearchSize size_;
  double pairs_;
  bool is_euclidean_, has_products_;
  const ScreenKernels& screen_;
  Prices price_;
  Decision decision_;
};

}  // namespace

template <class T>
SearchMethod choose_search(const HeldRows<T>& held, const SearchRequest& request) {
  return SearchChoice<T>(held, request).method();
}

const BitKernels& choose_bit_kernels(const HeldRows<std::uint8_t>& held, std::int64_t queries) {
  // Cycles on a Xeon with both: three instructions for 16 words of 32 bits, two of which run in a cycle; a product of
  // 32 rows and 32 queries by 64 bits with the reading of its tiles, measured, and the bytes that rows become.
  constexpr double kClock = 2.6e9, kWord = 3.0 / 16 / 2, kPair = 0.25;
  constexpr double kStep = 0.1, kTilePair = 0.2, kExpanded = 4;
  const BitKernels &counts = held.set.bit_kernels(), *tiles = held.set.bit_tiles;
  Decision decision{.subject = "search", .method = counts.name, .reason = "the instructions that this processor has"};
  const BitKernels* chosen = &counts;
  if (tiles != nullptr && tiles->supported()) {
    const auto n = static_cast<double>(held.rows()), q = static_cast<double>(queries);
    const auto words = static_cast<double>(ceil_div(held.columns(), 4)), steps = std::ceil(words / 2);
    const auto padded = static_cast<double>(ceil_div(queries, tiles->queries) * tiles->queries);
    const double rate = kClock * held.threads.count();
    const double by_counts = n * q * (words * kWord + kPair) / rate;
    const double by_tiles = n * (padded * (steps * kStep + kTilePair) + steps * kExpanded) / rate;
    decision.considered = {{counts.name, by_counts, 0, {}}, {tiles->name, by_tiles, 0, {}}};
    if (by_tiles < by_counts) chosen = tiles;
    decision.method = chosen->name;
    decision.reason = chosen == tiles ? "many queries share the bytes that rows become"
                                      : "few queries, or short rows, do not fill tiles";
  }
  if (held.decisions != nullptr) held.decisions->add(std::move(decision));
  return *chosen;
}

template <class T>
bool overflowed_take_cells(const HeldRows<T>& held, const Queries& queries, std::int64_t count) {
  constexpr std::int64_t kManyQueries = 4;  // then cells are faster than the definition
  const ScreenKernels& screen = held.set.screen_for(held.columns(), held.rows());
  return queries.measure == Measure::squared_euclidean && count >= kManyQueries &&
         (held.cells != nullptr || cell_bytes(screen, held.rows(), held.columns()) <= queries.cell_bytes);
}

std::int64_t cell_count(std::int64_t rows, std::int64_t queries) {
  constexpr std::int64_t kCellRows = 384, kMinCells = 16;
  return std::clamp(std::min(rows / kCellRows, queries / 4), kMinCells, rows);
}

std::int64_t cell_bytes(const ScreenKernels& screen, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kBesides = 48;
  const std::int64_t place = screen.column_bytes(columns) + 12;
  return rows * (place + place / 2 + kBesides);
}

const char* tree_excluded(const SearchSize& size, bool forced) {
  constexpr std::int64_t kMaxColumns = 32;  // with more, cells are faster, and estimates take long
  constexpr double kLeastSeconds = 0.02;    // a search that takes less is not worth an estimate
  constexpr auto kMostRows = std::int64_t{1} << 31;
  const bool few_columns = size.columns <= kMaxColumns || size.measure != Measure::squared_euclidean;
  if (size.measure == Measure::inner_product) return "inner products";
  if (is_of_bits(size.measure)) return "rows of bits";
  if (size.rows >= kMostRows || size.queries >= kMostRows) return "2^31 rows or more";
  if (tree_bytes(size.rows, size.columns) > size.bytes) return "little memory";
  if (forced) return nullptr;
  if (!few_columns) return "more than 32 columns";
  if (16 * size.neighbors > size.rows) return "long lists";
  return seconds_without_tree(prices_of(size), size) < kLeastSeconds ? "a short search" : nullptr;
}

const char* join_excluded(const SearchSize& size, bool forced) {
  constexpr std::int64_t kInsertCost = 16384;  // multiply-adds for each place of a list: rows that leave it again
  using List = CandidateList<std::int32_t>;
  const std::int64_t most =
      std::min<std::int64_t>(size.bytes / 2 / List::bytes(size.neighbors), std::numeric_limits<std::int32_t>::max());
  if (size.measure != Measure::squared_euclidean && size.measure != Measure::inner_product) {
    return "no screen has this distance";
  }
  if (are_few_and_long(size.rows, size.rows, size.columns)) return "few long rows";
  if (size.rows > most) return "little memory";
  // Half of the products are saved; the others are scanned twice, and lists change more often.
  const std::int64_t added =
      size.set.screen_for(size.columns, size.rows).scan_cost + kInsertCost * size.neighbors / size.rows;
  return forced || added < size.columns ? nullptr : "a product saves less than its second scan costs";
}

double tree_building_seconds(const Machine& machine, const SearchSize& size) {
  constexpr double kKey = 16, kFirstSplits = 42;  // bytes
  const auto n = static_cast<double>(size.rows), d = static_cast<double>(size.columns);
  return seconds(Cost{{.gathered = n * (kKey * (std::log2(n) + d) + kFirstSplits * size.threads)}}, machine);
}

#define KITH_INSTANTIATE(T)                                                      \
  template SearchMethod choose_search(const HeldRows<T>&, const SearchRequest&); \
  template bool overflowed_take_cells(const HeldRows<T>&, const Queries&, std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
