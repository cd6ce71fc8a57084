// The one exception kith throws, with the exit code that it ends the program with.
#pragma once

#include <stdexcept>
#include <string>

namespace kith {

/// Exit codes of the program. A run ended by signal n exits with 128 + n.
enum class ExitCode : int { done = 0, internal = 1, usage = 2, data = 3, device = 4, output = 5 };

/// The message says what was expected, what was found, where, and what to do.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

}  // namespace kith
