// Lists of numbers of clusters as they are typed: 2-10, 2,4,8,16, 2-64:log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kith::app {

/// Parses a list of numbers of clusters. Returns them ascending, each once; all are at least 1. The items between
/// commas are N, FIRST-LAST, FIRST-LAST:STEP or FIRST-LAST:log (FIRST, its doubles, and LAST). Throws Error(usage)
/// naming `where` and the item.
std::vector<std::int64_t> parse_cluster_counts(const std::string& text, const std::string& where);

}  // namespace kith::app
