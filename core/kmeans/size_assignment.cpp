// Successive shortest paths on the graph of clusters, with heaps of the rows that may change between two of them.
#include "core/kmeans/size_assignment.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/numbers/fixed_point.h"

namespace kith {
namespace {

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
constexpr std::int32_t kNobody = -1;

/// For one cluster the cheapest of its rows to change to each other cluster, and what that adds to the cost.
class Exits {
 public:
  Exits(MatrixView<const std::int64_t> costs, std::int32_t cluster) : costs_(costs), from_(cluster) {}

  bool known() const { return !rows_.empty(); }
  std::int64_t cost(std::int64_t to) const { return added_[to]; }
  std::int32_t row(std::int64_t to) const { return rows_[to]; }

  void find(std::span<const std::int32_t> members) {
    rows_.assign(costs_.columns, kNobody);
    added_.assign(costs_.columns, kFar);
    heap_of_.assign(costs_.columns, kNobody);
    for (const std::int32_t row : members) offer(row);
  }
  /// A row has joined the cluster.
  void enter(std::int32_t row) {
    offer(row);
    for (auto& [to, heap] : heaps_) {
      heap.push_back(row);
      std::push_heap(heap.begin(), heap.end(), After{*this, to});
    }
  }
  /// A row has left the cluster, which has these members now.
  void leave(std::int32_t row, std::span<const std::int32_t> members, std::span<const std::int32_t> labels) {
    for (std::int32_t to = 0; to < costs_.columns; ++to) {
      if (rows_[to] == row) replace(to, members, labels);
    }
  }

 private:
  /// Orders rows for a heap whose front is the cheapest.
  struct After {
    const Exits& exits;
    std::int32_t to;
    bool operator()(std::int32_t a, std::int32_t b) const {
      return std::pair(exits.added(a, to), a) > std::pair(exits.added(b, to), b);
    }
  };

  std::int64_t added(std::int32_t row, std::int64_t to) const {
    const std::int64_t* cost = costs_.data + row * costs_.columns;
    return cost[to] - cost[from_];
  }
  void offer(std::int32_t row) {
    const std::int64_t* cost = costs_.data + row * costs_.columns;
    const std::int64_t own = cost[from_];
    for (std::int64_t to = 0; to < costs_.columns; ++to) {
      const std::int64_t candidate = cost[to] - own;
      if (candidate > added_[to] || (candidate == added_[to] && row > rows_[to])) continue;
      if (to == from_) continue;
      added_[to] = candidate;
      rows_[to] = row;
    }
  }
  void replace(std::int32_t to, std::span<const std::int32_t> members, std::span<const std::int32_t> labels) {
    if (heap_of_[to] == kNobody) {
      heap_of_[to] = static_cast<std::int32_t>(heaps_.size());
      heaps_.push_back({to, {members.begin(), members.end()}});
      std::make_heap(heaps_.back().second.begin(), heaps_.back().second.end(), After{*this, to});
    }
    std::vector<std::int32_t>& heap = heaps_[heap_of_[to]].second;
    while (!heap.empty() && labels[heap.front()] != from_) {  // those that left stay in the heap until they are first
      std::pop_heap(heap.begin(), heap.end(), After{*this, to});
      heap.pop_back();
    }
    rows_[to] = heap.empty() ? kNobody : heap.front();
    added_[to] = heap.empty() ? kFar : added(heap.front(), to);
  }

  MatrixView<const std::int64_t> costs_;
  std::int32_t from_;
  std::vector<std::int64_t> added_;    // (k)
  std::vector<std::int32_t> rows_;     // (k)
  std::vector<std::int32_t> heap_of_;  // (k) of heaps_; none before a row has left by this exit
  std::vector<std::pair<std::int32_t, std::vector<std::int32_t>>> heaps_;
};

class SizeAssignment {
 public:
  SizeAssignment(MatrixView<const std::int64_t> costs, const SizeRange& sizes, std::vector<std::int64_t>& prices)
      : costs_(costs), sizes_(sizes), clusters_(static_cast<std::int32_t>(costs.columns)), hub_(clusters_) {
    const std::size_t nodes = static_cast<std::size_t>(clusters_) + 1;
    potential_.resize(nodes);
    surplus_.resize(nodes);
    filled_.resize(clusters_);
    members_.resize(clusters_);
    distance_.resize(nodes);
    before_.resize(nodes);
    settled_.resize(nodes);
    for (std::int32_t c = 0; c < clusters_; ++c) exits_.emplace_back(costs, c);
    begin(prices);
  }

  std::vector<std::int32_t> solve(std::vector<std::int64_t>& prices) {
    while (std::any_of(surplus_.begin(), surplus_.end(), [](std::int64_t s) { return s > 0; })) {
      for (const std::int32_t node : shortest_paths()) augment(node);
    }
    for (std::int32_t c = 0; c < clusters_; ++c) prices[c] = potential_[hub_] - potential_[c];
    if (sizes_.smallest == sizes_.largest) {  // prices count relative to each other alone
      const std::int64_t lowest = *std::min_element(prices.begin(), prices.end());
      for (std::int64_t& price : prices) price -= lowest;
    }
    return std::move(labels_);
  }

 private:
  /// Labels of least cost + price, and how far the sizes are from those that the prices ask for: the largest for a
  /// price above 0, the smallest for one below.
  void begin(std::vector<std::int64_t>& prices) {
    constexpr std::int64_t kMost = std::int64_t{1} << 59;
    const std::int64_t rows = costs_.rows;
    for (std::int64_t& price : prices) price = std::clamp(price, -kMost, kMost);
    labels_.resize(rows);
    place_.resize(rows);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t* cost = costs_.data + i * clusters_;
      std::int32_t best = 0;
      for (std::int32_t c = 1; c < clusters_; ++c) {
        if (cost[c] + prices[c] < cost[best] + prices[best]) best = c;
      }
      join(static_cast<std::int32_t>(i), best);
    }
    surplus_[hub_] = -rows;
    for (std::int32_t c = 0; c < clusters_; ++c) {
      const std::int64_t size = std::ssize(members_[c]), least = sizes_.smallest[c], most = sizes_.largest[c];
      potential_[c] = -prices[c];
      filled_[c] = prices[c] > 0 ? most : prices[c] < 0 ? least : std::clamp(size, least, most);
      surplus_[c] = size - filled_[c];
      surplus_[hub_] += filled_[c];
    }
  }

  void join(std::int32_t row, std::int32_t cluster) {
    labels_[row] = cluster;
    place_[row] = static_cast<std::int32_t>(members_[cluster].size());
    members_[cluster].push_back(row);
  }

  void move(std::int32_t row, std::int32_t to) {
    const std::int32_t from = labels_[row];
    std::vector<std::int32_t>& old = members_[from];
    old[place_[row]] = old.back();
    place_[old.back()] = place_[row];
    old.pop_back();
    join(row, to);
    if (exits_[from].known()) exits_[from].leave(row, old, labels_);
    if (exits_[to].known()) exits_[to].enter(row);
  }

  /// Moves a row's worth along the path to a node with too few, if every edge of it still has reduced cost 0: paths of
  /// the same search may have used one of them.
  bool augment(std::int32_t last) {
    std::vector<std::pair<std::int32_t, std::int32_t>> moves;  // row and target, by the exits before any of them
    std::int32_t node = last;
    for (; before_[node] != kNobody; node = before_[node]) {
      const std::int32_t from = before_[node];
      const bool joins = node == hub_, leaves = from == hub_;
      const std::int64_t cost = joins || leaves ? 0 : exits_[from].cost(node);
      if (cost == kFar || cost + potential_[from] != potential_[node]) return false;
      if (joins && filled_[from] == sizes_.largest[from]) return false;
      if (leaves && filled_[node] == sizes_.smallest[node]) return false;
      if (!joins && !leaves) moves.emplace_back(exits_[from].row(node), node);
    }
    if (surplus_[node] <= 0) return false;
    --surplus_[node];
    ++surplus_[last];
    for (node = last; before_[node] != kNobody; node = before_[node]) {
      if (node == hub_) ++filled_[before_[node]];
      if (before_[node] == hub_) --filled_[node];
    }
    for (const auto& [row, to] : moves) move(row, to);
    return true;
  }

  /// The nearest nodes with too few, half of all; sets before_. Ties: the lowest node (the hub last).
  std::vector<std::int32_t> shortest_paths() {
    const std::int64_t all = std::count_if(surplus_.begin(), surplus_.end(), [](std::int64_t s) { return s < 0; });
    std::vector<std::int32_t> found;
    std::fill(settled_.begin(), settled_.end(), false);
    for (std::int32_t u = 0; u <= hub_; ++u) {
      distance_[u] = surplus_[u] > 0 ? 0 : kFar;
      before_[u] = kNobody;
    }
    std::int32_t u = kNobody;
    do {
      std::int64_t least = kFar;
      for (std::int32_t v = 0; v <= hub_; ++v) {
        if (distance_[v] >= least || settled_[v]) continue;
        least = distance_[v];
        u = v;
      }
      settled_[u] = true;
      if (surplus_[u] < 0) found.push_back(u);
      if (2 * std::ssize(found) < all) relax(u);
    } while (2 * std::ssize(found) < all);
    for (std::int32_t v = 0; v <= hub_; ++v) {
      if (settled_[v]) potential_[v] += distance_[v] - distance_[u];
    }
    return found;
  }

  void relax(std::int32_t u) {
    const std::int64_t base = distance_[u] + potential_[u];
    const auto reach = [&](std::int32_t v, std::int64_t cost) {  // no node that was visited is farther than this one
      const std::int64_t distance = base + cost - potential_[v];
      if (distance >= distance_[v]) return;
      distance_[v] = distance;
      before_[v] = u;
    };
    if (u == hub_) {
      for (std::int32_t c = 0; c < clusters_; ++c) {
        if (filled_[c] > sizes_.smallest[c]) reach(c, 0);
      }
      return;
    }
    if (filled_[u] < sizes_.largest[u]) reach(hub_, 0);
    if (members_[u].empty()) return;
    Exits& exits = exits_[u];
    if (!exits.known()) exits.find(members_[u]);
    for (std::int32_t v = 0; v < clusters_; ++v) {
      if (v != u) reach(v, exits.cost(v));
    }
  }

  MatrixView<const std::int64_t> costs_;
  const SizeRange& sizes_;
  std::int32_t clusters_, hub_;       // the hub takes filled_[c] rows from each cluster, and gives all of them away
  std::vector<std::int32_t> labels_;  // (n)
  std::vector<std::int32_t> place_;   // (n) in members_
  std::vector<std::vector<std::int32_t>> members_;  // (k)
  std::vector<Exits> exits_;                        // (k)
  std::vector<std::int64_t> filled_;                // (k) sizes within the limits, to be reached
  std::vector<std::int64_t> surplus_;               // (k + 1) rows that a node has too many
  std::vector<std::int64_t> potential_;             // (k + 1)
  std::vector<std::int64_t> distance_;              // (k + 1) of the current search, as the next two
  std::vector<std::int32_t> before_;
  std::vector<char> settled_;
};

}  // namespace

int cost_bits(std::int64_t clusters) { return 59 - ceil_log2(clusters + 2); }

std::vector<std::int32_t> assign_within_sizes(MatrixView<const std::int64_t> costs, const SizeRange& sizes,
                                              std::vector<std::int64_t>& prices) {
  constexpr std::int64_t kStep = 4, kLeastRows = 2;  // rows of the sample: one of 4, and at least 2 for each cluster
  const std::int64_t sampled = costs.rows / kStep;
  if (sampled >= kLeastRows * costs.columns) {
    Matrix<std::int64_t> some(sampled, costs.columns);
    for (std::int64_t i = 0; i < sampled; ++i) {
      std::copy_n(costs.data + i * kStep * costs.columns, costs.columns, some.row(i).data());
    }
    assign_within_sizes(std::as_const(some).view(), share_of(sizes, sampled, costs.rows), prices);
  }
  return SizeAssignment(costs, sizes, prices).solve(prices);
}

SizeRange share_of(const SizeRange& sizes, std::int64_t part, std::int64_t rows) {
  SizeRange share = sizes;
  std::int64_t required = part - rows;  // of the part, so that the others suffice for the smallest sizes
  for (std::size_t c = 0; c < sizes.smallest.size(); ++c) {
    share.largest[c] = (sizes.largest[c] * part + rows - 1) / rows;
    share.smallest[c] = sizes.smallest[c] * part / rows;
    required += sizes.smallest[c] - share.smallest[c];
  }
  for (std::size_t c = 0; c < sizes.smallest.size() && required > 0; ++c) {
    if (sizes.smallest[c] * part % rows == 0) continue;
    ++share.smallest[c];
    --required;
  }
  return share;
}

std::int64_t size_assignment_bytes(std::int64_t rows, std::int64_t clusters) {
  constexpr std::int64_t kPerRow = 12, kPerExit = 40, kPerHeapEntry = 8;
  return rows * (kPerRow + kPerHeapEntry * clusters) + kPerExit * clusters * std::min(rows, clusters);
}

}  // namespace kith
