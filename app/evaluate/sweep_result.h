// The result of a sweep over numbers of clusters: its rows, the suggested number, tables and reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/run/report.h"
#include "app/run/scores.h"
#include "core/kmeans/kmeans.h"
#include "core/scores/cluster_number.h"

namespace kith::app {

/// One number of clusters.
struct SweepRow {
  std::int64_t clusters = 0;
  KMeansResult result;
  Scores scores;
};

struct Sweep {
  std::vector<SweepRow> rows;             // by ascending number of clusters
  std::string silhouette = "simplified";  // "simplified" or "exact"
  std::int64_t sample = 0;                // rows with an exact silhouette; 0: all
  std::int64_t references = 0;            // sets of the gap statistic; 0: no gap statistic
};

/// The scores of a sweep; those of the gap statistic only with references.
std::vector<Score> scores_of(const Sweep& sweep);

/// The number of clusters that each criterion prefers, and the one to choose.
struct Suggestion {
  std::vector<std::pair<std::string, std::int64_t>> criteria;
  std::int64_t clusters = 0;  // 0: no silhouette is defined
  std::string reason;
  std::string disagreement;  // a warning; empty: all criteria agree
};
Suggestion suggestion_of(const Sweep& sweep);

/// A line for each number of clusters, with text bars for inertia and silhouette.
std::string show(const Sweep& sweep);
/// The same as CSV, without bars, with all digits.
std::string csv_of(const Sweep& sweep);
SweepReport report_of(const Sweep& sweep, const Suggestion& suggestion);

}  // namespace kith::app
