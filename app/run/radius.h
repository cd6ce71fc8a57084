// --radius and --min-cosine, which knn and dbscan share.
#pragma once

#include <limits>
#include <vector>

#include "app/cli/common_options.h"
#include "app/run/report.h"

namespace kith::app {

/// A radius, given as such or by the cosine of its angle; NaN: not given.
struct RadiusChoice {
  double radius = std::numeric_limits<double>::quiet_NaN();
  double min_cosine = std::numeric_limits<double>::quiet_NaN();

  bool given() const;
  /// The radius in the unit of displayed distances. NaN if none is given.
  double value() const;
  /// D of the farthest row. Throws Error(usage) as limit_of_radius() does.
  double limit(Metric metric) const;
};

/// Declares both. `help` is that of --radius, which says what lies within it; `excludes` holds for both.
void add_radius_options(OptionSet& set, CommonOptions& common, RadiusChoice& choice, const char* help,
                        std::vector<const char*> excludes = {});

/// With --min-cosine, the metric becomes cosine unless the user gave it, which a line on standard error says; else the
/// files of the points may name it (take_file_metric).
void take_metric_of_radius(const RadiusChoice& choice, const std::vector<std::string>& points, const OptionSet& set,
                           CommonOptions& common);

/// For the report: the radius, with its cosine where distances are those of directions.
RadiusReport report_of(const RadiusChoice& choice, Metric metric);

}  // namespace kith::app
