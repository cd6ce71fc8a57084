// What a test cannot try on this machine, in the form that ./dev test lists at its end.
#pragma once

#include <cstdio>
#include <set>
#include <string>

#include "tests/support/catch.h"

namespace kith::testing {

/// Whether a sanitizer is in the program: its library has to be loaded first, and it takes time and memory.
constexpr bool is_sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

/// Reports, once for a reason, that the current test case or a part of it is not tried.
inline void skipped(const std::string& reason) {
  static std::set<std::string> reported;
  const std::string line = "skipped: " + Catch::getResultCapture().getCurrentTestName() + ": " + reason + "\n";
  if (reported.insert(line).second) std::fputs(line.c_str(), stderr);
}

}  // namespace kith::testing
