// Runs over one table: the mean of its rows, and the command that a refusal proposes for it.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/program.h"
#include "tests/support/result_values.h"

namespace kith::testing {

/// The mean of the rows, by a run with these options.
inline std::vector<double> mean_of(const std::string& file, const Setting& there, const Words& more = {}) {
  Words words{"cluster", file, "-k", "1", "-q", "-f", "-o", "mean.h5"};
  words.insert(words.end(), more.begin(), more.end());
  done(words, there);
  return values(there.folder + "mean.h5:/centroids");
}

/// Runs the command of a shell at the end of a message, which makes OUT of IN.
inline void convert(const Outcome& refused, const std::string& in, const Setting& there) {
  const std::size_t at = refused.err.rfind("\n  ");
  REQUIRE(at != std::string::npos);
  std::string command = refused.err.substr(at + 3);
  INFO(command);
  REQUIRE(command.find(" IN ") != std::string::npos);
  command.replace(command.find(" IN "), 4, " " + in + " ");
  command.replace(command.find("> OUT"), std::string::npos, "> OUT");
  REQUIRE(std::system(("cd '" + there.folder + "' && " + command).c_str()) == 0);
}

}  // namespace kith::testing
