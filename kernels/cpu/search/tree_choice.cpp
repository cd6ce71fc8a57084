// Estimates the work of a tree from trees of two samples of the rows, searched with a sample of the queries, and
// compares its time with that of products. The number of columns alone does not decide: 24 columns near three
// dimensions are searched as fast as three, and the estimate for 16 columns of noise is that all rows are read.
//
// The work V of a query in a sample of m rows grows like m^e, with e near 0 near few dimensions and near 1 for noise.
// Two samples give e, and V (n / m)^e that of all rows; since e falls with m, this is more than the work. A radius
// search reads a share of the rows, whatever their number.
#include "kernels/cpu/search/tree_choice.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace kith::cpu {
namespace {

// Seconds of one thread, measured on a Xeon with AMX (2.6 GHz). Only their ratios matter.
constexpr double kNano = 1e-9;
/// D of a query and a row of a tree, and a query and a node.
double distance_seconds(double d) { return (0.15 + 0.04 * d) * kNano; }
double visit_seconds(double d) { return (0.3 + 0.15 * d) * kNano; }
/// The construction of a tree, apart from its first splits, which are made by one thread.
double build_seconds(double n, double d) { return n * (9 * std::log2(n) + 10 * d) * kNano; }
double first_split_seconds(double n) { return n * 25 * kNano; }
/// A query and a row without a tree: by products in blocks of queries, or by the definition.
double product_seconds(double d) { return (d <= 8 ? 0.09 + 0.0095 * d : 0.09 + 0.003 * d) * kNano; }
double definition_seconds(double d) { return (2 + 0.1 * d) * kNano; }

constexpr double kLeastSeconds = 0.02;  // a search that takes less is not worth an estimate
constexpr std::int64_t kSample = 4096;  // rows of the larger sample
constexpr std::int64_t kSampleGroups = 12;
constexpr std::int64_t kMaxColumns = 32;  // with more, cells are faster (search/cells.h), and estimates take long

template <class T>
class TreeChoice {
 public:
  TreeChoice(const HeldRows<T>& held, const TreeRequest& request)
      : held_(held),
        request_(request),
        n_(held.rows()),
        d_(held.columns()),
        queries_(request.is_join ? n_ : request.queries.values.rows) {}

  bool is_possible() const {
    const bool few_columns = d_ <= kMaxColumns || request_.queries.measure != Measure::squared_euclidean;
    return (few_columns || held_.forced.trees) && request_.queries.measure != Measure::inner_product &&
           n_ < std::int64_t{1} << 31 && queries_ < std::int64_t{1} << 31 && tree_bytes(n_, d_) <= request_.bytes;
  }

  /// Whether to use a tree; `trees` keeps estimates and what searches without a tree would have saved.
  bool pays(TreeCache& trees) const {
    const auto threads = static_cast<double>(held_.threads.count());
    const double without = static_cast<double>(n_) * static_cast<double>(queries_) * pair_seconds() / threads;
    if (without < kLeastSeconds || 16 * request_.neighbors > n_) return false;
    const double with = work_seconds(trees) * static_cast<double>(queries_) / threads;
    if (with >= without) return false;
    if (trees.tree != nullptr) return true;
    trees.saved_seconds += without - with;
    const auto n = static_cast<double>(n_), d = static_cast<double>(d_);
    return trees.saved_seconds > build_seconds(n, d) / threads + first_split_seconds(n);
  }

 private:
  double pair_seconds() const {
    constexpr std::int64_t kFewQueries = 16;  // search.cpp measures fewer by the definition
    const bool has_products = request_.queries.measure == Measure::squared_euclidean && queries_ >= kFewQueries;
    return has_products ? product_seconds(static_cast<double>(d_)) : definition_seconds(static_cast<double>(d_));
  }

  /// Seconds of a thread per query in a tree of all rows.
  double work_seconds(TreeCache& trees) const {
    const bool is_same = trees.work_measure == request_.queries.measure && trees.work_neighbors == request_.neighbors &&
                         trees.work_limit == request_.limit && trees.work_queries == queries_;
    if (!is_same) {
      trees.work_seconds = estimate();
      trees.work_measure = request_.queries.measure;
      trees.work_neighbors = request_.neighbors;
      trees.work_limit = request_.limit;
      trees.work_queries = queries_;
    }
    return trees.work_seconds;
  }

  double estimate() const {
    const std::int64_t large = std::min(kSample, n_ / 2), small = large / 4;
    const double of_large = sample_seconds(large), rows = static_cast<double>(n_) / static_cast<double>(large);
    if (request_.neighbors == 0) return of_large * rows;
    if (8 * request_.neighbors > small) return of_large * rows;
    const double growth = std::log2(of_large / sample_seconds(small)) / 2;
    return of_large * std::pow(rows, std::clamp(growth, 0.0, 1.0));
  }

  /// Seconds of a thread per query in a tree of `rows` rows.
  double sample_seconds(std::int64_t rows) const {
    Matrix<T> sample(rows, d_);
    for (std::int64_t i = 0; i < rows; ++i) std::copy_n(held_.row(n_ * i / rows), d_, sample.row(i).data());
    Threads one(1);
    const SearchTree tree = make_tree(std::as_const(sample).view(), one);
    // As many queries for each row as in the search, so that groups are as wide.
    const std::int64_t count =
        std::clamp<std::int64_t>(queries_ * rows / n_, std::min<std::int64_t>(queries_, kTreeQueries), rows);
    Matrix<double> queries(count, d_);
    for (std::int64_t i = 0; i < count; ++i) {
      if (request_.is_join) {
        std::copy_n(sample.row(i).data(), d_, queries.row(i).data());
      } else {
        std::copy_n(request_.queries.values.row(queries_ * i / count).data(), d_, queries.row(i).data());
      }
    }
    const SampleWork work = sample_tree({tree, 0, held_.set, one}, {queries.view(), -1, request_.queries.measure},
                                        request_.neighbors, request_.limit, kSampleGroups);
    const auto d = static_cast<double>(d_);
    return (static_cast<double>(work.distances) * distance_seconds(d) +
            static_cast<double>(work.visits) * visit_seconds(d)) /
           static_cast<double>(work.queries);
  }

  const HeldRows<T>& held_;
  const TreeRequest& request_;
  std::int64_t n_, d_, queries_;
};

}  // namespace

template <class T>
std::shared_ptr<const SearchTree> tree_for(const HeldRows<T>& held, const TreeRequest& request) {
  const TreeChoice<T> choice(held, request);
  if (!choice.is_possible() || (held.forced.self_join && !held.forced.trees)) return nullptr;
  if (!held.forced.trees && !choice.pays(held.trees)) return nullptr;
  try {
    if (held.trees.tree == nullptr)
      held.trees.tree = std::make_shared<const SearchTree>(make_tree(held.values, held.threads));
  } catch (const std::bad_alloc&) {  // products need less memory
    return nullptr;
  }
  return held.trees.tree;
}

#define KITH_INSTANTIATE(T) template std::shared_ptr<const SearchTree> tree_for(const HeldRows<T>&, const TreeRequest&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
