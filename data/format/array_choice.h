// Chooses an array of a file that holds several.
#pragma once

#include <cstddef>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

/// The index of the array that the location names; else of the only matrix, else of the only vector if it may be a
/// column. Arrays that cannot be described have no type. Throws Error(data) with what the file holds.
std::size_t choose_array(const std::vector<DatasetInfo>& arrays, const Location& location, bool vector_as_column);

}  // namespace kith::data
