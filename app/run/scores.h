// The table of scores of clusterings: their names, which values are better, and where they are kept.
#pragma once

#include <limits>
#include <vector>

#include "core/scores/agreement.h"

namespace kith::app {

/// Values of all scores; NaN where one was not computed or is not defined.
struct Scores : Agreement {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double inertia = kNone;
  double silhouette = kNone;  // of a sweep, the requested kind; else the exact one
  double simplified_silhouette = kNone;
  double calinski_harabasz = kNone;
  double davies_bouldin = kNone;
  double bic = kNone;
  double gap = kNone;
  double gap_error = kNone;
};

/// What a score is computed for: numbers of clusters, labels and points, labels and known classes.
enum class ScoreUse : unsigned { sweep = 1, points = 2, classes = 4 };

struct Score {
  const char* name;     // in files and reports
  const char* shown;    // for people
  const char* heading;  // the same in at most 12 characters, as the heading of a column
  bool higher_is_better;
  unsigned uses;  // of ScoreUse
  double Scores::*value;
};

/// The scores with this use, in the order in which they are shown and stored.
std::vector<Score> scores_for(ScoreUse use);

}  // namespace kith::app
