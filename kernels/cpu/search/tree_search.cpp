// Searches a k-d tree for groups of near queries: O(log n) nodes and O(k) rows a query if rows lie near few dimensions,
// and up to n otherwise (tree_choice.h).
//
// A group reads each row that is relevant to one of its queries once. Queries from outside are sorted by the leaf that
// they would be in, and these leaves are searched first, since the k-th nearest row so far is what leaves nodes out.
#include "kernels/cpu/search/tree_search.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>

#include "kernels/cpu/runtime/held_rows.h"
#include "kernels/cpu/search/stored_rows.h"
#include "kernels/cpu/search/tree_group.h"

namespace kith::cpu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kGroupsPerTask = 16;

/// One TreeQueries per thread, made on demand.
class ThreadQueries {
 public:
  explicit ThreadQueries(const Threads& threads) : own_(static_cast<std::size_t>(threads.count())) {}
  template <class Make>
  TreeQueries& of(int thread, const Make& make) {
    if (own_[thread] == nullptr) own_[thread] = make();
    return *own_[thread];
  }
  TreeWork work() const {
    TreeWork sum;
    for (const auto& each : own_) {
      if (each != nullptr) sum += each->work();
    }
    return sum;
  }

 private:
  std::vector<std::unique_ptr<TreeQueries>> own_;
};

std::unique_ptr<TreeQueries> nearest_queries(const TreeSearcher& searcher, Measure measure, std::int64_t k) {
  return std::make_unique<TreeQueries>(searcher, measure, k, [](TreeQueries& queries) { queries.keep_nearest(); });
}

/// Sorts the hits of a lane and writes the list of query q. excluded: a row, relative to the tree's, or -1.
void write(TreeQueries& queries, int lane, std::int64_t excluded, std::int64_t first_row, std::int64_t q,
           NeighborLists& lists) {
  const std::span<TreeHit> hits = queries.hits(lane);
  std::sort(hits.begin(), hits.end());
  std::int64_t place = 0;
  double* distance = lists.distance.row(q).data();
  std::int64_t* index = lists.index.row(q).data();
  for (const TreeHit& hit : hits) {
    if (hit.row == excluded) continue;
    if (place == lists.index.columns()) break;
    distance[place] = hit.distance;
    index[place++] = first_row + hit.row;
  }
  std::fill(distance + place, distance + lists.index.columns(), kInfinity);
  std::fill(index + place, index + lists.index.columns(), -1);
}

/// Queries sorted by the leaf that they would be in.
class SortedQueries {
 public:
  SortedQueries(const TreeSearcher& searcher, MatrixView<const double> queries)
      : queries_(queries), order_(static_cast<std::size_t>(queries.rows)) {
    constexpr std::int64_t kPart = 1024;
    searcher.threads.run(ceil_div(queries.rows, kPart), [&](std::int64_t task, int) {
      for (std::int64_t q = task * kPart; q < std::min((task + 1) * kPart, queries.rows); ++q)
        order_[q] = {searcher.tree.leaf_of(queries.row(q).data()), static_cast<std::int32_t>(q)};
    });
    std::sort(order_.begin(), order_.end());
  }

  std::int64_t groups() const { return ceil_div(queries_.rows, kTreeQueries); }
  /// Number of the query in a lane of a group.
  std::int64_t query(std::int64_t group, int lane) const { return order_[group * kTreeQueries + lane].second; }
  void begin(std::int64_t number, double limit, TreeQueries& group) const {
    const auto* own = order_.data() + number * kTreeQueries;
    const std::int64_t count = std::min<std::int64_t>(kTreeQueries, queries_.rows - number * kTreeQueries);
    group.begin(static_cast<int>(count), limit,
                [&](int lane, std::int64_t j) { return queries_(own[lane].second, j); });
    for (std::int64_t lane = 0; lane < count; ++lane) group.add_seed(own[lane].first);
  }

 private:
  MatrixView<const double> queries_;
  std::vector<std::pair<std::int32_t, std::int32_t>> order_;  // leaf, query
};

/// Searches for groups of sorted queries: begin(queries, thread, lane, q) and end(queries, lane, q) for each query.
template <class Make, class Begin, class End>
TreeWork for_groups(const TreeSearcher& searcher, const Queries& queries, double limit, const Make& make,
                    const Begin& begin, const End& end) {
  const SortedQueries sorted(searcher, queries.values);
  ThreadQueries workspaces(searcher.threads);
  searcher.threads.run(sorted.groups(), [&](std::int64_t task, int thread) {
    TreeQueries& group = workspaces.of(thread, [&] { return make(thread); });
    sorted.begin(task, limit, group);
    for (int lane = 0; lane < group.count(); ++lane) begin(group, thread, lane, sorted.query(task, lane));
    group.search();
    for (int lane = 0; lane < group.count(); ++lane) end(group, lane, sorted.query(task, lane));
  });
  return workspaces.work();
}

/// Searches for the rows of group `number` of the tree.
void search_own_group(TreeQueries& queries, const SearchTree& tree, std::int64_t number) {
  const std::int64_t first = number * kTreeQueries;
  queries.begin(static_cast<int>(std::min<std::int64_t>(kTreeQueries, tree.size() - first)), kInfinity,
                [&](int lane, std::int64_t j) { return tree.value(first + lane, j); });
  queries.add_seed(tree.leaf_at(first));
  queries.search();
}

/// Fetches the lists of the rows of a group, which are scattered over memory, while these are searched for.
void prefetch(NeighborLists& lists, const SearchTree& tree, std::int64_t group) {
  constexpr std::int64_t kLine = 64 / sizeof(double), kMostLines = 4;
  const std::int64_t places = std::min(lists.index.columns(), kMostLines * kLine);
  const std::int64_t end = std::min((group + 1) * kTreeQueries, tree.size());
  for (std::int64_t position = group * kTreeQueries; position < end; ++position) {
    for (std::int64_t place = 0; place < places; place += kLine) {
      __builtin_prefetch(&lists.distance(tree.numbers[position], place), 1);
      __builtin_prefetch(&lists.index(tree.numbers[position], place), 1);
    }
  }
}

}  // namespace

TreeWork search_tree(const TreeSearcher& searcher, const Queries& queries, NeighborLists& lists) {
  const std::int64_t k = lists.index.columns(), first_row = searcher.first_row;
  const bool excludes = queries.excluded_row >= 0;
  return for_groups(
      searcher, queries, kInfinity,
      [&](int) { return nearest_queries(searcher, queries.measure, k + (excludes ? 1 : 0)); },
      [&](TreeQueries& group, int, int lane, std::int64_t q) {
        for (std::int64_t i = 0; i < k && lists.index(q, i) >= 0; ++i)
          group.add_earlier(lane, {lists.distance(q, i), lists.index(q, i) - first_row});
      },
      [&](TreeQueries& group, int lane, std::int64_t q) {
        // A difference, which is never the number of a row if nothing is excluded.
        const std::int64_t excluded =
            excludes ? queries.excluded_row + q - first_row : std::numeric_limits<std::int64_t>::min();
        write(group, lane, excluded, first_row, q, lists);
      });
}

NeighborLists join_tree(const TreeSearcher& searcher, const SelfJoin& join) {
  const SearchTree& tree = searcher.tree;
  NeighborLists lists(0, 0);  // the threads that write the lists touch their memory first
  lists.distance = Matrix<double>(tree.size(), join.neighbors);
  lists.index = Matrix<std::int64_t>(tree.size(), join.neighbors);
  const std::int64_t tasks = ceil_div(ceil_div(tree.size(), kTreeQueries), kGroupsPerTask);
  const std::int64_t rounds = std::clamp<std::int64_t>(tasks / (8 * searcher.threads.count()), 1, 20);
  ThreadQueries workspaces(searcher.threads);
  for (std::int64_t round = 0; round < rounds; ++round) {
    const std::int64_t begin = tasks * round / rounds, end = tasks * (round + 1) / rounds;
    searcher.threads.run(end - begin, [&](std::int64_t task, int thread) {
      TreeQueries& group = workspaces.of(thread, [&] {
        return nearest_queries(searcher, join.measure, join.neighbors + (join.include_self ? 0 : 1));
      });
      const std::int64_t first = (begin + task) * kGroupsPerTask;
      for (std::int64_t g = first; g < first + kGroupsPerTask && g * kTreeQueries < tree.size(); ++g) {
        prefetch(lists, tree, g);
        search_own_group(group, tree, g);
        for (int lane = 0; lane < group.count(); ++lane) {
          const std::int64_t row = tree.numbers[g * kTreeQueries + lane];
          write(group, lane, join.include_self ? -1 : row, searcher.first_row, row, lists);
        }
      }
    });
    if (join.progress) join.progress(std::min(end * kGroupsPerTask * kTreeQueries, tree.size()));
  }
  lists.candidates += workspaces.work().distances;
  return lists;
}

TreeWork search_tree_radius(const TreeSearcher& searcher, const Queries& queries, RadiusLists& lists) {
  std::atomic<std::int64_t> reserved{lists.total()};
  const std::int64_t threads = searcher.threads.count();
  std::vector<StoredRows> stored(static_cast<std::size_t>(threads), StoredRows(reserved, lists.capacity, threads));
  std::vector<std::vector<std::int64_t>> query_of(static_cast<std::size_t>(searcher.threads.count()));
  const auto make = [&](int thread) {
    query_of[thread].resize(kTreeQueries);
    return std::make_unique<TreeQueries>(searcher, queries.measure, 0, [&, thread](TreeQueries& group) {
      group.drain();
      for (int lane = 0; lane < group.count(); ++lane) {
        const std::int64_t q = query_of[thread][lane];
        for (const TreeHit& hit : group.hits(lane)) {
          const std::int64_t row = searcher.first_row + hit.row;
          if (row < lists.first_row || (queries.excluded_row >= 0 && row == queries.excluded_row + q)) continue;
          ++lists.counts[q];
          if (stored[thread].may_store()) lists.rows[q].push_back({hit.distance, row});
        }
      }
      group.clear_hits();
    });
  };
  return for_groups(
      searcher, queries, lists.limit, make,
      [&](TreeQueries&, int thread, int lane, std::int64_t q) { query_of[thread][lane] = q; },
      [](TreeQueries&, int, std::int64_t) {});
}

SampleWork sample_tree(const TreeSearcher& searcher, const Queries& queries, std::int64_t neighbors, double limit,
                       std::int64_t groups) {
  TreeQueries group(searcher, queries.measure, neighbors, [&](TreeQueries& full) {
    full.keep_nearest();
    if (neighbors == 0) full.clear_hits();
  });
  const SortedQueries sorted(searcher, queries.values);
  const std::int64_t sampled = std::min(groups, sorted.groups());
  SampleWork result;
  for (std::int64_t i = 0; i < sampled; ++i) {
    sorted.begin(sorted.groups() * i / sampled, neighbors > 0 ? kInfinity : limit, group);
    group.search();
    result.queries += group.count();
  }
  static_cast<TreeWork&>(result) += group.work();
  return result;
}

}  // namespace kith::cpu
