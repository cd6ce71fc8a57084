// kith info of a folder, a pattern or a list of files: what they hold together, and which of them differ.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "data/source.h"

namespace kith::app {

/// Opens each file of the set `name`, without reading its values.
nlohmann::ordered_json summary_of_set(const std::string& name, const data::ReadOptions& options);
/// The same for people.
std::string summary_text(const nlohmann::ordered_json& summary);

}  // namespace kith::app
