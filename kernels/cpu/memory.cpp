// The memory of each method of a search, and the conditions under which it may be chosen.
#include "kernels/cpu/memory.h"

#include <algorithm>
#include <vector>

#include "kernels/cpu/choice/machine.h"
#include "kernels/cpu/choice/search.h"
#include "kernels/cpu/runtime/lists.h"
#include "kernels/cpu/search/tree.h"

namespace kith::cpu {
namespace {

constexpr std::int64_t kPlace = 16;    // of a list: a row and its D
constexpr std::int64_t kWritten = 8;   // of a place that is written: its distance
constexpr std::int64_t kPerQuery = 8;  // its place in an order of the queries

class SearchMemory {
 public:
  explicit SearchMemory(const SearchShape& search)
      : s_(search),
        kernels_(instructions().screen_for(search.columns, search.rows)),
        price_(instructions(), kernels_, static_cast<int>(search.threads), search.columns) {}

  std::int64_t products() const {
    if (are_few_and_long(s_.rows, s_.queries, s_.columns)) return block();
    const std::int64_t list = CandidateList<std::int64_t>::bytes(s_.neighbors);
    return block() + s_.block * (list + kernels_.panel_bytes(s_.columns) / kernels_.lanes);
  }

  SearchBytes bytes() const {
    const std::int64_t lists = kPlace * s_.neighbors * s_.rows;
    const bool joins = s_.may_join && lists <= s_.spare;
    const std::int64_t spare = joins ? s_.spare - lists : s_.spare;
    std::vector<std::int64_t> ways;
    if (tree_may_pay(spare)) ways.push_back(joins ? tree_join(lists) : tree());
    if (!ways.empty() && tree_pays()) return {ways.front(), ways.front()};
    ways.push_back(joins && join_excluded(size(spare)) == nullptr ? lists + std::max(join(spare), written())
                                                                  : products());
    if (cells_may_pay(spare)) ways.push_back(cells());
    const auto [least, most] = std::minmax_element(ways.begin(), ways.end());
    return {*least, *most};
  }

 private:
  /// The lists of a block, and as they are written.
  std::int64_t written() const { return s_.block * (kPlace + kWritten) * s_.neighbors; }
  /// The same, and its queries as float64.
  std::int64_t block() const { return written() + s_.block * (8 * s_.columns + kPerQuery); }
  double pairs() const { return static_cast<double>(s_.rows) * static_cast<double>(s_.queries); }

  SearchSize size(std::int64_t spare) const {
    return {instructions(), s_.rows, s_.columns, s_.queries, s_.neighbors, s_.measure, static_cast<int>(s_.threads),
            spare};
  }
  double building_seconds() const { return tree_building_seconds(price_.machine, size(0)); }

  bool tree_may_pay(std::int64_t spare) const {
    const bool is_euclidean = s_.measure == Measure::squared_euclidean;
    return tree_excluded(size(spare)) == nullptr &&
           pairs() * (is_euclidean ? price_.product : price_.definition) > building_seconds();
  }
  /// Whether it does for all points but those of very few values: with few columns and many queries.
  bool tree_pays() const {
    constexpr std::int64_t kFewColumns = 3;
    constexpr double kManyTimes = 10;
    return s_.columns <= kFewColumns && pairs() * price_.product > kManyTimes * building_seconds();
  }
  std::int64_t tree_nodes() const {
    const std::int64_t nodes = 2 * (s_.rows / kTreeLeafRows + 1);
    return nodes * (16 * s_.columns + static_cast<std::int64_t>(sizeof(TreeNode)));
  }
  std::int64_t tree_rows() const { return s_.rows * (s_.columns * (s_.is_wide ? 8 : 4) + 4) + tree_nodes(); }
  /// Keys of all rows, and a copy of some rows for each thread.
  std::int64_t tree_building() const {
    constexpr std::int64_t kKey = 16, kCopiedRows = 1 << 15;
    return kKey * s_.rows + 8 * s_.threads * std::min(kCopiedRows, s_.rows) * s_.columns;
  }
  std::int64_t tree() const { return tree_rows() + tree_building() + block(); }
  /// The lists are there when the tree is complete.
  std::int64_t tree_join(std::int64_t lists) const {
    return tree_rows() + std::max(tree_building(), lists + written());
  }

  bool cells_may_pay(std::int64_t spare) const {
    constexpr std::int64_t kLeastQueries = 4, kLeastRows = 128;  // fewer are searched by the definition
    constexpr std::int64_t kFewColumns = 8;  // whose products have small errors, and whose rows a tree searches sooner
    constexpr double kLeastWork = 0x1p26;
    return s_.measure == Measure::squared_euclidean && s_.columns > kFewColumns && s_.queries >= kLeastQueries &&
           s_.rows >= kLeastRows && pairs() * static_cast<double>(s_.columns) >= kLeastWork &&
           cell_bytes(kernels_, s_.rows, s_.columns) <= spare;
  }
  /// Rows in tiles that are not all full; labels and two orders of the rows during the construction.
  std::int64_t cells() const {
    constexpr std::int64_t kBuilding = 40;
    const std::int64_t packed = kernels_.column_bytes(s_.columns) + 12;
    return s_.rows * (packed + packed / 5 + kBuilding) + products();
  }

  std::int64_t join(std::int64_t spare) const {
    constexpr std::int64_t kPanelBytes = std::int64_t{1} << 28, kNorms = 12;
    const std::int64_t panels = s_.rows * (kernels_.panel_bytes(s_.columns) / kernels_.lanes);
    return s_.rows * (CandidateList<std::int32_t>::bytes(s_.neighbors) + kNorms) +
           std::min({panels, kPanelBytes, spare / 4});
  }

  const SearchShape& s_;
  const ScreenKernels& kernels_;
  Prices price_;
};

}  // namespace

std::int64_t block_search_bytes(const SearchShape& shape) { return SearchMemory(shape).products(); }

SearchBytes search_bytes(const SearchShape& shape) { return SearchMemory(shape).bytes(); }

std::int64_t long_row_bytes(std::int64_t rows, std::int64_t columns, std::int64_t clusters, std::int64_t threads) {
  constexpr std::int64_t kSums = 16, kTile = 64;          // bytes of a column; columns
  constexpr std::int64_t kUsual = std::int64_t{1} << 20;  // of a thread: what every run needs
  const auto of_threads = [&](std::int64_t tasks, std::int64_t bytes) {
    return std::min(threads, tasks) * std::max<std::int64_t>(bytes - kUsual, 0);
  };
  const std::int64_t sums = of_threads(rows, kSums * columns);
  if (columns < kLongRow || !is_screened(rows, columns, clusters)) return sums;
  const ScreenKernels& screen = instructions().screen_for(columns, clusters);
  return sums + of_threads(ceil_div(clusters, kTile), 4 * std::min(kTile, clusters) * columns) +
         of_threads(ceil_div(rows, screen.lanes), 2 * screen.panel_bytes(columns));
}

bool is_screened(std::int64_t rows, std::int64_t columns, std::int64_t others) {
  return !are_few_and_long(rows, others, columns);
}

}  // namespace kith::cpu
