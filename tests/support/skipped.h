// What a test cannot try on this machine, in the form that ./dev test lists at its end.
#pragma once

#include <cstdio>
#include <set>
#include <string>

#include "tests/support/catch.h"

namespace kith::testing {

/// Reports, once for a reason, that the current test case or a part of it is not tried.
inline void skipped(const std::string& reason) {
  static std::set<std::string> reported;
  const std::string line = "skipped: " + Catch::getResultCapture().getCurrentTestName() + ": " + reason + "\n";
  if (reported.insert(line).second) std::fputs(line.c_str(), stderr);
}

}  // namespace kith::testing
