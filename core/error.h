// The only exception that kith throws. It carries the exit code of the program.
#pragma once

#include <stdexcept>
#include <string>

namespace kith {

/// Exit codes of the program. A run that signal n ends exits with 128 + n.
enum class ExitCode : int {
  done = 0,
  internal = 1,
  usage = 2,
  data = 3,
  device = 4,
  output = 5,
  memory = 6,  // of the host or of a GPU, or a limit does not allow it: the same run can succeed with more
  time_limit = 124,
};

/// What went wrong, for callers that know a remedy: the program names the option that helps (app/cli/failure.h).
enum class Cause {
  other,
  faulty_hardware,   // a count or an objective that correct arithmetic cannot give
  empty_clusters,    // EmptyRule::error
  value_class,       // a value leaves the range of its class when it is scaled
  column_products,   // products of columns leave the range of float64
  component_count,   // more principal components than rows or columns
  cluster_sizes,     // limits of cluster sizes that no clustering can keep
  radius,            // a radius that no distance can have
  own_row_excluded,  // more neighbours than other rows
  value,             // a value that was read and cannot be used: NaN, infinity, a word, too many digits
};

/// The message states what was expected, what was found, and where.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message, Cause cause = Cause::other)
      : std::runtime_error(message), code_(code), cause_(cause) {}
  ExitCode code() const { return code_; }
  Cause cause() const { return cause_; }

 private:
  ExitCode code_;
  Cause cause_;
};

}  // namespace kith
