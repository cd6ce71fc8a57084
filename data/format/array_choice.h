// Chooses an array of a file that holds several.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

/// What may be a table, the preferred kind first: a matrix, a vector if it may be a column, named columns.
enum class TableKind { matrix, vector, records };
inline constexpr TableKind kTableKinds[] = {TableKind::matrix, TableKind::vector, TableKind::records};
bool is_of_kind(const DatasetInfo& info, TableKind kind, bool vector_as_column);
/// "2-dimensional array of numbers", for the noun "array".
std::string describe(TableKind kind, const char* noun);

/// The index of the array that the location names; else of the only one of the first of these kinds. Arrays that cannot
/// be described have no type. Throws Error(data) with what the file holds.
std::size_t choose_array(const std::vector<DatasetInfo>& arrays, const Location& location, bool vector_as_column);

}  // namespace kith::data
