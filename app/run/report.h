// The report of a run, which --json prints and the summary draws on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/plan/plan.h"
#include "app/run/profile.h"
#include "core/points/decision.h"
#include "core/points/observer.h"
#include "core/scores/agreement.h"
#include "data/format/point_source.h"

namespace kith::app {

/// Time and volume of one kind of work, summed over the run.
struct Phase {
  std::string name{};         // open, read, upload, prepare, seed, iterate, assign, search, write
  double seconds = 0.0;       // that the run waited for it; the seconds of all phases sum to those of the run
  double busy_seconds = 0.0;  // that it took, while other phases may have run too; 0: unknown
  std::int64_t bytes = 0;     // moved from or to files, or to the device; 0: unknown
  double flops = 0.0;         // by the formula 2 n k d; 0: unknown
  /// Bytes per second while it ran, 0 if unknown.
  double rate() const;
};

struct PointsReport {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::string type;  // in the file
  bool kept_as_bytes = false;
  data::SkippedLines skipped = {};  // of a text file
};

/// Points that were read in passes.
struct StreamReport {
  std::int64_t held_rows = 0;  // that stayed in memory
  std::int64_t passes = 0;
  std::int64_t bytes = 0;          // of values that were read
  std::int64_t spooled_bytes = 0;  // in a file of --scratch; 0: the rows are read from their own file
};

struct WeightReport {
  std::string name;
  double total = 0.0;
  std::int64_t absent = 0;  // rows of weight 0
};

struct ClusterReport {
  std::int64_t clusters = 0;
  std::int64_t smallest = 0;
  std::int64_t largest = 0;
  std::int64_t empty = 0;
  double imbalance = 0.0;  // 1: clusters of equal size; k: all rows in one cluster
};

/// Clusters by density.
struct DensityReport {
  std::int64_t clusters = 0;
  std::int64_t core = 0, border = 0, noise = 0;  // points
};

/// A search of all rows within a distance.
struct RadiusReport {
  double radius = 0.0;           // in the unit of displayed distances
  std::optional<double> cosine;  // the same, with --metric cosine
};

struct TruthReport {
  std::int64_t lists = 0;
  std::int64_t equal = 0;
  std::int64_t ties = 0;          // lists that differ only in the order of equal distances
  double recall = 0.0;            // share of the true neighbours that were found
  double recall_with_ties = 0.0;  // share of the true neighbours no farther than the last row found
  double largest_excess = 0.0;    // largest (true D - found D) / true D over all positions
};

/// Rows whose own label wins among this many neighbours, as shares.
struct AccuracyReport {
  std::int64_t neighbors = 0;
  double equal = 0.0, by_distance = 0.0;
};

/// Classes that were found, compared with the known ones.
struct ClassificationReport {
  std::string truth;               // where the known ones come from
  std::vector<std::string> names;  // of the classes
  Classification scores;
  std::vector<Contingency::Cell> confusion;  // rows of a known class (`cluster`) and a found one
};

/// Labels compared with known classes, and with the points.
struct EvaluationReport {
  std::string labels;  // where they come from
  std::string truth;   // empty: no classes
  std::int64_t rows = 0;
  std::int64_t clusters = 0;
  std::int64_t classes = 0;
  std::vector<std::pair<std::string, double>> scores;
  std::vector<double> silhouette_per_cluster;          // empty: no points
  std::vector<std::vector<std::int64_t>> contingency;  // rows of each cluster and class; empty: too large to show
};

/// A sweep over numbers of clusters.
struct SweepReport {
  struct Row {
    std::int64_t clusters = 0;
    std::int64_t iterations = 0;
    std::string stopped_by;
    std::vector<std::pair<std::string, double>> scores;  // NaN: not defined
  };
  std::string silhouette;      // "simplified" or "exact"
  std::int64_t suggested = 0;  // clusters; 0: no suggestion
  std::string reason;
  std::vector<std::pair<std::string, std::int64_t>> criteria;  // name, and the number of clusters it prefers
  std::vector<Row> rows;
};

/// One of several processes.
struct ProcessReport {
  std::int64_t rows = 0;                               // that it held
  std::int64_t messages = 0;                           // sums, maxima and copies exchanged with the others
  std::int64_t bytes = 0;                              // of these
  double waiting = 0.0;                                // seconds in them
  std::vector<std::pair<std::string, double>> phases;  // seconds
};

struct Report {
  std::string command{};
  std::string backend{};
  std::string device{};
  std::int64_t threads = 0;
  std::optional<std::uint64_t> seed{};
  std::optional<PointsReport> points{};
  std::optional<PointsReport> queries{};
  std::string prepared{};  // how the points were prepared, in words
  std::optional<WeightReport> weights{};
  std::optional<StreamReport> streamed{};
  std::vector<ProcessReport> processes{};  // if there are several
  std::optional<Plan> plan{};              // with --verbose
  std::vector<Decision> decisions{};       // of the run, then those of its backend
  std::vector<Phase> phases{};
  std::vector<IterationRecord> iterations{};  // of the run with the lowest inertia
  std::vector<RunRecord> runs{};
  int kept_run = 0;
  std::optional<ClusterReport> clusters{};
  std::optional<DensityReport> density{};
  std::optional<double> inertia{};
  std::optional<double> total_inertia{};  // inertia of one cluster of all rows
  std::string method{};                   // variant of k-means, in words
  std::string stopped_by{};
  double stopped_value = 0.0;
  double shift_threshold = 0.0;      // of the rule `tolerance`
  std::int64_t iterations_done = 0;  // including those of the resumed run
  std::int64_t changed = 0;          // labels that the last assignment changed
  std::optional<Profile> profile{};  // of the clusters, in the units of the file
  bool explains = false;             // it was asked for, so that the summary need not have it
  std::optional<TruthReport> truth{};
  std::optional<RadiusReport> radius{};
  std::optional<std::int64_t> edges{};       // of a graph, or rows within a radius
  bool has_pairs = false;                    // the edges are pairs, each of which counts once
  std::optional<std::int64_t> components{};  // groups of connected rows
  std::vector<AccuracyReport> accuracy{};    // of --classify
  std::optional<ClassificationReport> classification{};
  std::optional<EvaluationReport> evaluation{};
  std::optional<SweepReport> sweep{};
  std::int64_t device_memory = 0;  // bytes
  std::int64_t host_memory = 0;    // bytes at the peak of the run; 0 until its end
  std::string output{};
  std::vector<std::pair<std::string, std::string>> beside{};  // what else was written, and the file: "labels"
  std::vector<std::string> warnings{};

  /// The phase of that name, which is added if it is new.
  Phase& phase(const std::string& name);
  double seconds() const;
};

/// One JSON object and a line feed. Includes the peak host memory so far.
std::string to_json(const Report& report);

/// Lines of a name and a value, as wide as standard error; long values continue below their beginning. `next` is a
/// command that continues from the result, or empty.
std::string summary(const Report& report, const std::string& next);

/// A line for each decision, which continues below its beginning: "search: tree (a query measures 0.4 % of the rows);
/// considered: products 12 ms, tree 1.3 ms".
std::vector<std::string> decision_lines(const std::vector<Decision>& decisions);

/// "2 comment lines and 1 blank line skipped"; empty if none was.
std::string show_skipped(const data::SkippedLines& skipped);

}  // namespace kith::app
