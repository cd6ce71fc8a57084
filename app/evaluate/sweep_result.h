// What comes out of a sweep over numbers of clusters: its rows, what the criteria say of them, and how both are shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/run/report.h"
#include "core/cluster_number.h"
#include "core/kmeans.h"

namespace kith::app {

/// One number of clusters. Scores that are not defined for it are NaN.
struct SweepRow {
  std::int64_t clusters = 0;
  KMeansResult result;
  double silhouette = 0.0;
  double calinski_harabasz = 0.0;
  double davies_bouldin = 0.0;
  double bic = 0.0;
  Gap gap{};
};

struct Sweep {
  std::vector<SweepRow> rows;             // by ascending number of clusters
  std::string silhouette = "simplified";  // which one: "simplified" or "exact"
  std::int64_t sample = 0;                // rows with an exact silhouette; 0: all
  std::int64_t references = 0;            // sets of the gap statistic; 0: it was not computed
};

/// A number of a row under its name: "inertia", "silhouette", ...
struct SweepColumn {
  const char* name;   // in files and reports
  const char* shown;  // in the table
  double (*value)(const SweepRow&);
};
/// Those that the sweep has.
std::vector<SweepColumn> columns_of(const Sweep& sweep);

/// The number of clusters that each criterion prefers, and what to make of it.
struct Suggestion {
  std::vector<std::pair<std::string, std::int64_t>> criteria;
  std::int64_t clusters = 0;  // 0: nothing can be compared
  std::string reason;
  std::string disagreement;  // a warning; empty: all criteria agree
};
Suggestion suggestion_of(const Sweep& sweep);

/// A line for each number of clusters, with bars of text for inertia and silhouette.
std::string show(const Sweep& sweep);
/// The same as CSV, without bars, with all digits.
std::string csv_of(const Sweep& sweep);
SweepReport report_of(const Sweep& sweep, const Suggestion& suggestion);

}  // namespace kith::app
