// Lists of numbers of clusters as they are typed: 2-10, 2,4,8,16, 2-64:log.
#include "app/evaluate/cluster_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "app/cli/units.h"
#include "core/error.h"

namespace kith::app {
namespace {

constexpr std::size_t kMostCounts = 10'000;

[[noreturn]] void refuse(const std::string& where, const std::string& item) {
  throw Error(ExitCode::usage,
              fmt::format("{}: expected numbers of clusters as in 2-10, 2,4,8 or 2-64:log, found '{}'", where, item));
}

void add_counts_of(const std::string& item, const std::string& where, std::set<std::int64_t>& counts) {
  const auto number = [&](const std::string& text) {
    if (text.empty() || text.find_first_not_of("0123456789") != text.npos) refuse(where, item);
    return parse_integer(text, where, {1, std::numeric_limits<std::int32_t>::max()});
  };
  const std::size_t dash = item.find('-'), colon = item.find(':');
  if (dash == item.npos) {
    counts.insert(number(item));
    return;
  }
  const std::int64_t first = number(item.substr(0, dash));
  const std::int64_t last = number(item.substr(dash + 1, colon == item.npos ? colon : colon - dash - 1));
  const std::string how = colon == item.npos ? "1" : item.substr(colon + 1);
  if (last < first) refuse(where, item);
  const std::int64_t step = how == "log" ? 0 : number(how);
  for (std::int64_t k = first; k <= last && counts.size() <= kMostCounts; k = step == 0 ? 2 * k : k + step) {
    counts.insert(k);
  }
  if (step == 0) counts.insert(last);
}

}  // namespace

std::vector<std::int64_t> parse_cluster_counts(const std::string& text, const std::string& where) {
  std::set<std::int64_t> counts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    add_counts_of(text.substr(at, comma - at), where, counts);
    at = comma + 1;
  }
  if (counts.size() > kMostCounts) {
    throw Error(ExitCode::usage, fmt::format("{}: expected at most {} numbers of clusters, found more; give a step, as "
                                             "in 2-100000:1000",
                                             where, kMostCounts));
  }
  return {counts.begin(), counts.end()};
}

}  // namespace kith::app
