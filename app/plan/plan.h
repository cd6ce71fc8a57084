// The plan of a run: what the command does with its points, phase by phase, and what that costs; where its rows are,
// its passes over them, what bounds each phase, memory and time.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/kmeans/kmeans.h"
#include "core/points/decision.h"
#include "data/io/memory_limit.h"

namespace kith::app {

/// What is done with all rows. Its cost depends on the number of columns and on a size.
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

inline constexpr std::int64_t kTreeColumns = 16;  // with so few, trees may spare nearly all of a search

/// An operation on all rows, several times.
struct Work {
  std::string phase;  // as in the report
  Operation operation = Operation::prepare;
  std::int64_t times = 1;
  std::int64_t size = 0;    // clusters, candidates or queries
  std::int64_t passes = 1;  // over rows that are not in memory, all times together
  bool at_most = false;     // `times` is a limit; of a search: trees may spare nearly all of it
};

/// The cost of all times, as if every distance were computed: bounds and cells spare a part of them that depends on the
/// values. None for a search that trees may spare. machine: what it multiplies in is counted.
Cost cost_of(const Work& work, std::int64_t rows, std::int64_t columns, std::int64_t row_bytes, const Machine& machine);

/// Ranges and grids.
Work preparing();

/// Distances to all means of so many clusters.
Work simplified_silhouettes(std::int64_t clusters);

/// The work of a computation of k-means.
std::vector<Work> kmeans_work(const KMeansOptions& options);
/// The same work with k-means|| in place of k-means++.
std::vector<Work> with_parallel_seeding(const std::vector<Work>& work);

/// A place where rows are kept during the run.
struct Tier {
  std::string name;  // "gpu", "memory", "file"
  std::int64_t rows = 0;
  std::int64_t bytes = 0;
};

struct PlannedPhase {
  std::string name;         // as in the report
  std::int64_t times = 0;   // that all rows are processed: steps, iterations
  bool at_most = false;     // whether `times` is a limit
  std::int64_t passes = 0;  // over the rows that are not in memory
  double seconds = 0.0;     // 0: not known
  std::string bound_by;     // "computing", "memory", "page cache", "disk"; empty: not known
};

/// A change of the command line that makes a phase shorter.
struct Shortcut {
  std::string phase;     // as in the report
  std::string activity;  // in words, for "... takes about 86 s"
  std::string change;    // "with --init k-means||"
  double share = 1.0;    // of the phase's time that is left
};

struct Plan {
  std::string command;
  std::string points;  // name, shape and type; empty: none
  std::string backend, device;
  std::int64_t threads = 0;
  std::vector<Tier> tiers;
  std::vector<PlannedPhase> phases;
  std::int64_t host_bytes = 0;   // at the peak, the program included
  std::int64_t least_bytes = 0;  // the same for values of the points that need less
  std::string memory_reason;     // what the difference depends on
  std::int64_t program_bytes = 0;
  data::MemoryLimit limit;        // of the bytes besides the program
  std::int64_t device_bytes = 0;  // of all GPUs together
  std::int64_t devices = 1;       // GPUs, which have equal shares of these
  bool timed = false;             // whether the phases have times
  std::string basis;              // where the times come from
  std::vector<Shortcut> shortcuts = {};
  std::string advice;  // the change that would help most; empty: none is known

  double seconds() const;
  bool is_limit() const;  // whether a phase may end earlier
  /// Whether least_bytes differs from host_bytes by more than the model does. The program's part varies from process to
  /// process.
  bool has_range() const { return host_bytes - least_bytes > (least_bytes - program_bytes) / 10; }
  std::string show_memory() const;  // host_bytes, or both
};

/// A phase in words, since some names mean something else to people: "choose centroids" for seed.
std::string shown_phase(const std::string& name);

/// For people, in lines of at most `width` columns.
std::string as_text(const Plan& plan, std::size_t width);
nlohmann::ordered_json to_object(const Plan& plan);

}  // namespace kith::app
