// The closing summary on standard error: what came out, where it is, which command comes next.
#pragma once

#include <string>
#include <vector>

#include "app/run/report.h"

namespace kith::app {

/// One "name   value" line each; lines that the report has nothing to say about are left out. `next` is a command line
/// that continues from the result, or empty.
std::string summary(const Report& report, const std::string& next);

}  // namespace kith::app
