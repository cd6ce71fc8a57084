// What PointData holds, for the parts of the library.
#pragma once

#include <kith/points.h>

#include "core/points/matrix.h"

namespace kith {

struct PointData::Held {
  PointsMatrix own;  // of points from files
  PointsView view;
};

}  // namespace kith
