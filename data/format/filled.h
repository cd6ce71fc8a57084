// A source whose missing values are replaced by the mean or the median of their column.
#pragma once

#include <memory>

#include "data/format/point_source.h"

namespace kith::data {

/// NaN and infinities become what `fill` says, rounded to the type of the values. The source must keep them
/// (Missing::keep). The first read() reads the whole source once more; for medians it holds all of it then. Throws
/// Error(data) for a column without any value. Returns a source of bytes, which lack nothing, as it is.
std::unique_ptr<PointSource> filled(std::unique_ptr<PointSource> source, Fill fill);

}  // namespace kith::data
