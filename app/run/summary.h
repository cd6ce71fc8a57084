// The summary of a run on standard error: results, times, the output file, and the next command.
#pragma once

#include <string>
#include <vector>

#include "app/run/report.h"

namespace kith::app {

/// Lines of a name and a value, as wide as standard error; long values continue below their beginning. `next` is a
/// command that continues from the result, or empty.
std::string summary(const Report& report, const std::string& next);

/// A line for each decision, which continues below its beginning: "search: tree (a query measures 0.4 % of the rows);
/// considered: products 12 ms, tree 1.3 ms".
std::vector<std::string> decision_lines(const std::vector<Decision>& decisions);

/// "2 comment lines and 1 blank line skipped"; empty if none was.
std::string show_skipped(const data::SkippedLines& skipped);

}  // namespace kith::app
