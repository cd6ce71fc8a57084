// How fast a machine does the phases of a run: measured by `kith bench limits` and kept in a file for `kith plan`.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace kith::app {

/// What is done with all rows. Its time depends on the number of columns and on a size.
enum class Operation {
  prepare,  // ranges, grids and the spread of the columns
  seed,     // a step of k-means++; size: candidates
  iterate,  // an iteration; size: clusters
  assign,   // labels and distances; size: clusters
  finish,   // the same, and the rows nearest to the centroids
  search,   // neighbours; size: queries
  join,     // neighbours of all rows in their own set; size: rows
  measure,  // distances to all means; size: clusters
};
inline constexpr std::array<const char*, 8> kOperationNames{"prepare", "seed",   "iterate", "assign",
                                                            "finish",  "search", "join",    "measure"};

struct Rates {
  /// Seconds per row, ordered by columns, then by size.
  struct Entry {
    std::int64_t columns = 0;
    std::int64_t size = 0;
    double seconds = 0.0;
  };

  double memory = 0.0;  // bytes per second that are read from memory
  double load = 0.0;    // the same for a file in the page cache, to memory that is used for the first time
  double reread = 0.0;  // and to memory in use
  std::array<std::vector<Entry>, kOperationNames.size()> entries = {};
  bool measured = false;  // on this machine

  void add(Operation operation, const Entry& entry) { entries[static_cast<std::size_t>(operation)].push_back(entry); }
  /// Between entries the logarithm of the time is linear in those of columns and size; beyond the largest the time
  /// grows like both, but that of a join as between the largest two: a tree does not compare all pairs. 0: unknown.
  double seconds_per_row(Operation operation, std::int64_t columns, std::int64_t size) const;
  /// Neighbours of so many queries in all rows, by products or by a tree, whichever takes less.
  double search_seconds(std::int64_t rows, std::int64_t columns, std::int64_t queries) const;
};

/// $XDG_CACHE_HOME/kith/limits-BACKEND-*.json, or in ~/.cache: of this device. Empty if there is no such folder.
std::string rates_file(const std::string& backend, const std::string& device);
/// Throws Error(output).
void write_rates(const std::string& file, const Rates& rates);
/// Those of the file; without one, those of a processor of two cores for as many threads, and none for a GPU.
Rates rates_for(const std::string& backend, const std::string& device, std::int64_t threads);

}  // namespace kith::app
