// Runs over one table: the mean of its rows, and the command that a refusal proposes for it.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/program.h"
#include "tests/support/result_values.h"

namespace kith::testing {

/// A command line with more words.
inline Words plus(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// The mean of the rows, by a run with these options.
inline std::vector<double> mean_of(const std::string& file, const Setting& there, const Words& more = {}) {
  done(plus({"cluster", file, "-k", "1", "-q", "-f", "-o", "mean.h5"}, more), there);
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

/// A table that is refused with a command that makes one of it, whose rows have the mean (2, 3).
inline void check_conversion(const std::string& table, const Setting& there) {
  INFO(table);
  write_bytes(there.folder + "t.csv", table);
  const Outcome refused = run_kith({"cluster", "t.csv", "-k", "1"}, there);
  CHECK(refused.code == 3);
  convert(refused, "t.csv", there);
  CHECK(mean_of("OUT", there) == std::vector<double>{2, 3});
}

}  // namespace kith::testing
