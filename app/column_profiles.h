// What kith info says about the columns of a text table: as a table for people, and as JSON.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "data/text/column_types.h"

namespace kith::app {

/// A line or more for each column: type, missing and different values, range or commonest values, examples; at most 50
/// columns.
std::string profile_table_text(const data::TableProfile& table, std::size_t width);

/// A list with an object for each column.
nlohmann::ordered_json profile_json(const data::TableProfile& table);

}  // namespace kith::app
