// What a result says about itself: its attributes, and the sizes of its clusters or lists.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "data/results/stored_result.h"

namespace kith::app {

/// The root attributes by name, in a fixed order; texts of several lines, the names of columns and classes, as arrays.
/// With `k`, the number of clusters, groups or neighbours, where the format has one, and `sizes` of clusters:
/// {"smallest", "largest", "empty", "counts"}. Throws Error(data) if the file is damaged.
nlohmann::ordered_json result_facts(const data::StoredResult& result);

/// The same for people, a line each, at most `width` columns wide.
std::string result_text(const nlohmann::ordered_json& facts, std::size_t width);

}  // namespace kith::app
