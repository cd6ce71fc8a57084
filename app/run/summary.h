// The summary of a run on standard error: results, times, the output file, and the next command.
#pragma once

#include <string>
#include <vector>

#include "app/run/report.h"

namespace kith::app {

/// Lines of a name and a value, as wide as standard error; long values continue below their beginning. `next` is a
/// command that continues from the result, or empty.
std::string summary(const Report& report, const std::string& next);

}  // namespace kith::app
