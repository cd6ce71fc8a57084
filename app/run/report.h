// The report of a run: what --json prints, and where the closing summary takes its numbers from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/observer.h"

namespace kith::app {

/// Time spent in one kind of work, added up over the run.
struct Phase {
  std::string name{};         // open, read, upload, prepare, seed, iterate, assign, search, write
  double seconds = 0.0;       // in which the run waited for this; the phases' seconds add up to those of the run
  double busy_seconds = 0.0;  // in which this went on, beside other phases too; 0: not stated
  std::int64_t bytes = 0;     // moved from or to files, or to the device; 0: not stated
  double flops = 0.0;         // by the formula 2 n k d; 0: not stated
  /// Bytes a second while it went on, 0 if not stated.
  double rate() const;
};

struct PointsReport {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::string type;  // as in the file
  bool kept_as_bytes = false;
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
  double imbalance = 0.0;  // 1: all of one size; k: all rows in one
};

/// A column that sets a cluster apart from all rows.
struct Explanation {
  std::int64_t cluster = 0;
  std::string column;  // its name, or its number from 1
  double centroid = 0.0;
  double mean = 0.0;        // of all rows
  double difference = 0.0;  // centroid less mean, in standard deviations of all rows
};

struct TruthReport {
  std::int64_t lists = 0;
  std::int64_t equal = 0;
  std::int64_t ties = 0;          // lists that differ in the order of equal distances alone
  double recall = 0.0;            // share of the given rows that were found
  double recall_with_ties = 0.0;  // share of them no farther than the last row found
  double largest_excess = 0.0;    // (given D - found D) / given D, the largest of all places
};

/// Labels compared with known classes, and with the points.
struct EvaluationReport {
  std::string labels;  // where they come from
  std::string truth;   // empty: there are no classes
  std::int64_t rows = 0;
  std::int64_t clusters = 0;
  std::int64_t classes = 0;
  std::vector<std::pair<std::string, double>> scores;
  std::vector<double> silhouette_per_cluster;          // empty: there are no points
  std::vector<std::vector<std::int64_t>> contingency;  // rows of each cluster and class; empty: too large to show
};

/// A sweep over numbers of clusters.
struct SweepReport {
  struct Row {
    std::int64_t clusters = 0;
    std::int64_t iterations = 0;
    std::string stopped_by;
    std::vector<std::pair<std::string, double>> scores;  // NaN where one is not defined
  };
  std::string silhouette;      // "simplified" or "exact"
  std::int64_t suggested = 0;  // clusters; 0: nothing could be compared
  std::string reason;
  std::vector<std::pair<std::string, std::int64_t>> criteria;  // and the number that each prefers
  std::vector<Row> rows;
};

struct Report {
  std::string command{};
  std::string backend{};
  std::string device{};
  std::int64_t threads = 0;
  std::optional<std::int64_t> seed{};
  std::optional<PointsReport> points{};
  std::optional<PointsReport> queries{};
  std::string prepared{};  // what was done to the points before anything else
  std::optional<WeightReport> weights{};
  std::vector<Phase> phases{};
  std::vector<IterationRecord> iterations{};  // of the run that was kept
  std::vector<RunRecord> runs{};
  int kept_run = 0;
  std::optional<ClusterReport> clusters{};
  std::optional<double> inertia{};
  std::optional<double> total_inertia{};  // of all rows as one cluster
  std::string method{};                   // what was done apart from plain k-means
  std::string stopped_by{};
  double stopped_value = 0.0;
  double shift_threshold = 0.0;      // of the rule `tolerance`
  std::int64_t iterations_done = 0;  // those of a run that this one went on from, too
  std::int64_t changed = 0;          // labels, by the last assignment
  std::vector<Explanation> explanations{};
  std::optional<TruthReport> truth{};
  std::optional<std::int64_t> edges{};       // of a graph, or rows within a radius
  std::optional<std::int64_t> components{};  // groups of connected rows
  std::optional<EvaluationReport> evaluation{};
  std::optional<SweepReport> sweep{};
  std::int64_t device_memory = 0;  // bytes
  std::string output{};
  std::vector<std::string> warnings{};

  /// The phase of that name, made when it is new.
  Phase& phase(const std::string& name);
  double seconds() const;
};

/// One JSON object and a line feed. Takes the peak of the host memory at this moment.
std::string to_json(const Report& report);

}  // namespace kith::app
