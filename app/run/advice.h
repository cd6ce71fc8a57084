// Numbers that may stand for missing values; other advice about points is in points_run.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/common_options.h"

namespace kith::app {

/// A number such as -999 in a column, whose other values are far from it, between these.
struct FarValue {
  std::int64_t column = 0;
  std::string value;
  double least = 0.0, most = 0.0;
};
/// One warning about all of them, if there are any. names: of the columns of the points.
void warn_of_far_values(const std::string& points, const std::vector<std::string>& names,
                        const std::vector<FarValue>& found, const CommonOptions& common);

}  // namespace kith::app
