// Lists of numbers of clusters as they are typed: 2-10, 2,4,8,16, 2-64:log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kith::app {

/// Ascending, each once, every one 1 or more. Parts between commas: a number, FIRST-LAST, FIRST-LAST:STEP, or
/// FIRST-LAST:log, each number twice the one before and LAST. Throws Error(usage) naming `where` and the part.
std::vector<std::int64_t> parse_cluster_counts(const std::string& text, const std::string& where);

}  // namespace kith::app
